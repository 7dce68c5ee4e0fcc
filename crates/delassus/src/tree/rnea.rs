//! Inverse dynamics by the recursive Newton-Euler algorithm: the joint forces of a given acceleration, O(n).
//!
//! ```text
//! τ = M(q) q̈ + C(q, q̇)q̇ + g(q) + damping q̇
//! ```
//!
//! Source: [Featherstone08 §5.3]. How this differs: (1) world axes about each link's origin; (2) accelerations
//! are those of points, so gravity and Coriolis terms look as in a textbook of mechanics. With q̈ = 0 it gives
//! the bias force, with q̇ = 0 and no gravity the product M q̈ without M.

use glam::DVec3;

use super::data::{Body, Pass, Passes};
use super::kinematics::{add_subspace, project};
use super::spatial::{Force, Motion};
use super::{Data, Tree, TreeError};

impl Tree {
    /// τ of a state and an acceleration.
    pub fn inverse_dynamics(
        &self,
        data: &mut Data,
        (q, v, a): (&[f64], &[f64], &[f64]),
        gravity: DVec3,
        tau: &mut [f64],
    ) -> Result<(), TreeError> {
        self.check_configuration(q)?;
        self.check("velocity", v, self.n_dofs)?;
        self.check("acceleration", a, self.n_dofs)?;
        self.check_length("force", tau, self.n_dofs)?;
        self.walk(data, (q, v), (gravity, true), |node, body| {
            // a_i = a_parent + Ṡq̇ + S q̈
            let mut acceleration = body.acceleration;
            add_subspace(node, body, a, &mut acceleration);
            body.acceleration = acceleration;
        });
        self.collect(&data.bodies, &mut data.passes, tau);
        for node in &self.nodes[1..] {
            for k in node.v_at..node.v_at + node.kind.dofs() {
                // τ += armature q̈ + damping q̇
                tau[k] += node.armature * a[k] + node.damping * v[k];
            }
        }
        Ok(())
    }

    /// C(q, q̇)q̇ + g(q) + damping q̇: the force that keeps q̈ = 0.
    pub fn bias(
        &self,
        data: &mut Data,
        (q, v): (&[f64], &[f64]),
        gravity: DVec3,
        tau: &mut [f64],
    ) -> Result<(), TreeError> {
        self.check_configuration(q)?;
        self.check("velocity", v, self.n_dofs)?;
        self.check_length("force", tau, self.n_dofs)?;
        self.walk(data, (q, v), (gravity, true), |_, _| {});
        self.collect(&data.bodies, &mut data.passes, tau);
        self.add_damping(v, tau);
        Ok(())
    }

    /// [`Tree::bias`] in a state of which [`Tree::velocities`] of the same links has found all but the weight: joints of
    /// that tree may have other damping and armature. Its poses and velocities are taken over.
    pub(crate) fn bias_from(
        &self,
        known: &Data,
        data: &mut Data,
        (v, gravity): (&[f64], DVec3),
        tau: &mut [f64],
    ) -> Result<(), TreeError> {
        self.check("velocity", v, self.n_dofs)?;
        self.check_length("force", tau, self.n_dofs)?;
        data.weigh(&self.own, known, gravity);
        self.add_burdens(gravity, data);
        self.collect(&data.bodies, &mut data.passes, tau);
        self.add_damping(v, tau);
        Ok(())
    }

    /// τ ← τ + damping q̇.
    fn add_damping(&self, v: &[f64], tau: &mut [f64]) {
        for node in &self.nodes[1..] {
            for k in node.v_at..node.v_at + node.kind.dofs() {
                tau[k] += node.damping * v[k];
            }
        }
    }

    /// y ← y − (A − A₀) x with the armatures A of this tree and A₀ of another one of the same links.
    pub(crate) fn take_added_armature(&self, other: &Tree, x: &[f64], y: &mut [f64]) {
        for (node, other) in self.nodes.iter().zip(&other.nodes).skip(1) {
            let added = node.armature - other.armature;
            for k in node.v_at..node.v_at + node.kind.dofs() {
                y[k] -= added * x[k];
            }
        }
    }

    /// y = M x for the present poses, O(n).
    pub fn mul_mass(&self, data: &mut Data, x: &[f64], y: &mut [f64]) -> Result<(), TreeError> {
        self.check_length("vector", x, self.n_dofs)?;
        self.check_length("product", y, self.n_dofs)?;
        self.mul_in(&data.bodies, &mut data.passes, x, y);
        Ok(())
    }

    /// y = M x with what is written kept apart.
    pub(crate) fn mul_shared(&self, data: &Data, passes: &mut Passes, x: &[f64], y: &mut [f64]) {
        passes.0.clear();
        passes.0.resize(self.nodes.len(), Pass::default());
        self.mul_in(&data.bodies, &mut passes.0, x, y);
    }

    fn mul_in(&self, bodies: &[Body], passes: &mut [Pass], x: &[f64], y: &mut [f64]) {
        passes[0].response = Motion::ZERO;
        for i in 1..self.nodes.len() {
            let (node, body) = (&self.nodes[i], &bodies[i]);
            // a_i = a_parent + S x,   f_i = I a_i
            let mut response = node.carried(body, passes[node.parent].response);
            add_subspace(node, body, x, &mut response);
            passes[i].response = response;
            passes[i].force = body.inertia.mul(response);
        }
        self.collect(bodies, passes, y);
        for node in &self.nodes[1..] {
            for k in node.v_at..node.v_at + node.kind.dofs() {
                y[k] += node.armature * x[k];
            }
        }
    }

    /// Sums forces towards the ground and projects them on the joints.
    fn collect(&self, bodies: &[Body], passes: &mut [Pass], tau: &mut [f64]) {
        // What the last node hands on goes straight to the next where that is its parent, not through memory.
        let mut carried = Force::ZERO;
        for i in (1..self.nodes.len()).rev() {
            let (node, body) = (&self.nodes[i], &bodies[i]);
            let mut force = passes[i].force;
            // f_i += Σ f_child,   τ_i = Sᵀf_i
            force += carried;
            project(node, body, force, tau);
            carried = node.handed(body, force);
            if node.parent + 1 != i {
                passes[node.parent].force += carried;
                carried = Force::ZERO;
            }
        }
    }

    pub(super) fn check_length(
        &self,
        what: &'static str,
        values: &[f64],
        expected: usize,
    ) -> Result<(), TreeError> {
        let found = values.len();
        if found == expected {
            return Ok(());
        }
        Err(TreeError::WrongLength {
            what,
            expected,
            found,
        })
    }
}
