//! Bodies drawn with their contacts and ball joints, the problem of one step of them, and a judge that shares nothing
//! with the solvers.

#![allow(dead_code, reason = "each benchmark draws some of them")]

pub(crate) mod robots;
pub(crate) mod scenes;

use delassus::math::{DMat3, DQuat, DVec3, Random, tangents};
use delassus::problem::Form;
use delassus::problem::place::Point;
use delassus::{BlockId, Law, MassBlock, MassId, Problem, ProblemBuilder};

/// Step of time \[s\] and weight [m/s²].
pub(crate) const H: f64 = 0.01;
pub(crate) const G: f64 = 9.81;

/// A body as it is drawn.
pub(crate) struct Body {
    pub(crate) mass: f64,
    /// Half the sides of the box whose inertia it has.
    pub(crate) half: DVec3,
    pub(crate) at: DVec3,
    pub(crate) turn: DQuat,
    pub(crate) v: DVec3,
    pub(crate) spin: DVec3,
}

impl Body {
    pub(crate) fn new(mass: f64, half: DVec3, at: DVec3) -> Body {
        Body {
            mass,
            half,
            at,
            turn: DQuat::IDENTITY,
            v: DVec3::ZERO,
            spin: DVec3::ZERO,
        }
    }

    pub(crate) fn inertia(&self) -> DMat3 {
        let s = self.half * self.half * 4.0;
        let own = DVec3::new(s.y + s.z, s.x + s.z, s.x + s.y) * (self.mass / 12.0);
        let r = DMat3::from_quat(self.turn);
        let inertia = r * DMat3::from_diagonal(own) * r.transpose();
        (inertia + inertia.transpose()) * 0.5
    }
}

/// Bodies with their contacts and ball joints; `None` is the ground, the normal points to the first body.
#[derive(Default)]
pub(crate) struct Drawn {
    pub(crate) bodies: Vec<Body>,
    pub(crate) contacts: Vec<(usize, Option<usize>, DVec3, DVec3)>,
    pub(crate) joints: Vec<(usize, Option<usize>, DVec3)>,
}

impl Drawn {
    /// Contacts over a rectangle around `centre` with the normal, `nx` × `ny` points.
    pub(crate) fn face(
        &mut self,
        pair: (usize, Option<usize>),
        centre: DVec3,
        spread: [DVec3; 2],
        points: (usize, usize),
    ) {
        let normal = spread[0].cross(spread[1]).normalize();
        for i in 0..points.0 {
            for j in 0..points.1 {
                let share = |i: usize, n: usize| {
                    if n < 2 {
                        0.0
                    } else {
                        2.0 * i as f64 / (n - 1) as f64 - 1.0
                    }
                };
                let at = centre + spread[0] * share(i, points.0) + spread[1] * share(j, points.1);
                self.contacts.push((pair.0, pair.1, at, normal));
            }
        }
    }

    pub(crate) fn problem(&self, random: &mut Random, mu: (f64, f64), tilt: f64) -> Problem {
        let mut builder = Problem::builder();
        let angle = random.range(0.0, 6.3);
        let down = DVec3::new(tilt * angle.cos(), tilt * angle.sin(), -1.0).normalize() * G;
        let masses: Vec<MassId> = self
            .bodies
            .iter()
            .map(|body| {
                let block = MassBlock::rigid(body.mass, body.inertia()).expect("a body has mass");
                let (p, l) = (body.mass * (body.v + H * down), body.inertia() * body.spin);
                builder
                    .add_mass(block, &[p.x, p.y, p.z, l.x, l.y, l.z])
                    .expect("finite")
            })
            .collect();
        for (a, b, at) in &self.joints {
            self.rows(
                &mut builder,
                &masses,
                (*a, *b, *at, [DVec3::X, DVec3::Y, DVec3::Z]),
                Law::Equality,
            );
        }
        for (a, b, at, n) in &self.contacts {
            let (t1, t2) = tangents(*n);
            let law = Law::FrictionCone {
                mu: random.range(mu.0, mu.1),
            };
            self.rows(&mut builder, &masses, (*a, *b, *at, [*n, t1, t2]), law);
        }
        builder.build().expect("a problem")
    }

    fn rows(
        &self,
        builder: &mut ProblemBuilder,
        masses: &[MassId],
        (a, b, at, directions): (usize, Option<usize>, DVec3, [DVec3; 3]),
        law: Law,
    ) {
        let end = |body: usize| (masses[body], at - self.bodies[body].at);
        let point = Point {
            directions: &directions,
            first: Some(end(a)),
            second: b.map(end),
        };
        builder
            .add_point(law, &point, &[0.0; 3], &[0.0; 3])
            .expect("rows");
    }
}

/// The natural map of every block over the largest row velocity without impulses, written out here: v = M⁻¹(p + Gᵀλ)
/// and w = G v + Σλ − q from the rows as plain numbers.
pub(crate) fn residual(problem: &Problem, lambda: &[f64]) -> f64 {
    let Form::Primal(primal) = problem.form() else {
        return f64::NAN;
    };
    let rows: Vec<Vec<(MassId, Vec<f64>)>> = (0..problem.blocks().len() as u32)
        .map(|k| primal.written_rows(BlockId(k)))
        .collect();
    let mut starts = vec![0];
    for mass in primal.mass() {
        starts.push(starts[starts.len() - 1] + mass.dim());
    }
    let mut v = primal.p().to_vec();
    let mut diagonal = vec![0.0; problem.n_rows()];
    for (block, ends) in problem.blocks().iter().zip(&rows) {
        for (mass, rows) in ends {
            let (start, body) = (starts[mass.index()], &primal.mass()[mass.index()]);
            for (i, row) in rows.chunks_exact(body.dim()).enumerate() {
                let mut solved = row.to_vec();
                body.solve(&mut solved);
                let own: f64 = row.iter().zip(&solved).map(|(g, x)| g * x).sum();
                diagonal[block.start + i] += own;
                for (j, g) in row.iter().enumerate() {
                    v[start + j] += g * lambda[block.start + i];
                }
            }
        }
    }
    for (b, mass) in primal.mass().iter().enumerate() {
        mass.solve(&mut v[starts[b]..starts[b + 1]]);
    }
    let mut worst: f64 = 0.0;
    for (block, ends) in problem.blocks().iter().zip(&rows) {
        let i = block.start;
        let mut w: Vec<f64> = block
            .rows()
            .map(|k| primal.sigma()[k] * lambda[k] - primal.q()[k])
            .collect();
        for (mass, rows) in ends {
            let v = &v[starts[mass.index()]..starts[mass.index() + 1]];
            for (w, row) in w.iter_mut().zip(rows.chunks_exact(v.len())) {
                *w += row.iter().zip(v).map(|(g, v)| g * v).sum::<f64>();
            }
        }
        let l = &lambda[block.rows()];
        match block.law {
            Law::FrictionCone { mu } => {
                let rho = 3.0 / diagonal[i..i + 3].iter().sum::<f64>();
                let shift = mu * w[1].hypot(w[2]);
                let x = [
                    l[0] - rho * (w[0] + shift),
                    l[1] - rho * w[1],
                    l[2] - rho * w[2],
                ];
                let t = x[1].hypot(x[2]);
                let z = if t <= mu * x[0] {
                    x
                } else if mu * t <= -x[0] {
                    [0.0; 3]
                } else {
                    let a = (x[0] + mu * t) / (1.0 + mu * mu);
                    [a, x[1] * mu * a / t, x[2] * mu * a / t]
                };
                let off: f64 = (0..3).map(|k| (l[k] - z[k]).powi(2)).sum();
                worst = worst.max(off.sqrt() / rho);
            }
            law => {
                let (lo, hi) = match law {
                    Law::Unilateral => (0.0, f64::INFINITY),
                    Law::Interval { lo, hi } => (lo, hi),
                    _ => (f64::NEG_INFINITY, f64::INFINITY),
                };
                for (k, w) in w.iter().enumerate() {
                    let rho = 1.0 / diagonal[i + k];
                    let off = l[k] - (l[k] - rho * w).clamp(lo, hi);
                    worst = worst.max(off.abs() / rho);
                }
            }
        }
    }
    worst / scale(problem)
}

/// The largest row velocity without impulses, of rows that do not open \[m/s\].
pub(crate) fn scale(problem: &Problem) -> f64 {
    let mut scale: f64 = 1e-6;
    for block in problem.blocks() {
        let c = &problem.c()[block.rows()];
        let opens = !matches!(block.law, Law::Equality | Law::Interval { .. }) && 0.0 < c[0];
        if !opens {
            scale = c.iter().fold(scale, |scale, c| scale.max(c.abs()));
        }
    }
    scale
}
