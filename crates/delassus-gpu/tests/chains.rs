//! Chains stepped on the device against the same algorithm in double precision, and against physics.
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot build its scene must stop there"
)]

mod device;

use delassus::chains::Chain;
use delassus::math::{DMat3, DQuat, DVec3};
use delassus::problem::stabilise::Stabilise;
use delassus::solver::sweep::jacobi::Scheme;
use delassus_gpu::{BallJoint, Bead, ChainOptions, ChainScene, ChainState, GpuChains, GpuError};
use device::gpu;

/// Half the distance of one to the next single-precision number.
const EPSILON: f64 = f32::EPSILON as f64 / 2.0;

/// One body of the reference.
#[derive(Clone, Copy)]
struct Body {
    x: DVec3,
    q: DQuat,
    v: DVec3,
    w: DVec3,
    inverse: DMat3,
    free: (DVec3, DVec3),
}

/// The same algorithm, written out in double precision.
struct Reference {
    scene: ChainScene,
    options: ChainOptions,
    bodies: Vec<Body>,
    impulses: Vec<DVec3>,
}

fn skew(r: DVec3) -> DMat3 {
    DMat3::from_cols(r.cross(DVec3::X), r.cross(DVec3::Y), r.cross(DVec3::Z)).transpose() * -1.0
}

impl Reference {
    fn new(scene: &ChainScene, options: ChainOptions) -> Reference {
        let body = |bead: &Bead| Body {
            x: DVec3::from_array(bead.position),
            q: DQuat::from_array(bead.turn),
            v: DVec3::from_array(bead.velocity),
            w: DVec3::from_array(bead.spin),
            inverse: DMat3::ZERO,
            free: (DVec3::ZERO, DVec3::ZERO),
        };
        Reference {
            scene: scene.clone(),
            options,
            bodies: scene.beads.iter().map(body).collect(),
            impulses: vec![DVec3::ZERO; scene.joints.len()],
        }
    }

    fn arms(&self, k: usize) -> (DVec3, DVec3) {
        let joint = &self.scene.joints[k];
        let arm = self.bodies[joint.body].q * DVec3::from_array(joint.arm);
        let other = DVec3::from_array(joint.other_arm);
        match joint.other {
            Some(j) => (arm, self.bodies[j].q * other),
            None => (arm, other),
        }
    }

    fn violation(&self, k: usize) -> DVec3 {
        let joint = &self.scene.joints[k];
        let (arm, other) = self.arms(k);
        let x = joint.other.map_or(DVec3::ZERO, |j| self.bodies[j].x);
        self.bodies[joint.body].x + arm - x - other
    }

    fn relative_velocity(&self, k: usize, arms: (DVec3, DVec3)) -> DVec3 {
        let joint = &self.scene.joints[k];
        let at = |b: usize, arm: DVec3| self.bodies[b].v + self.bodies[b].w.cross(arm);
        let second = joint.other.map_or(DVec3::ZERO, |j| at(j, arms.1));
        at(joint.body, arms.0) - second
    }

    fn shares(&self) -> Vec<f64> {
        let mut on = vec![0.0_f64; self.bodies.len()];
        for joint in &self.scene.joints {
            on[joint.body] += 1.0;
            if let Some(other) = joint.other {
                on[other] += 1.0;
            }
        }
        let most = on.iter().fold(1.0_f64, |m, n| m.max(*n));
        on.into_iter()
            .map(|n| match self.options.scheme {
                Scheme::Plain => 1.0,
                Scheme::Split => n.max(1.0),
                Scheme::Damped => most,
            })
            .collect()
    }

    fn gather(&mut self, arms: &[(DVec3, DVec3)]) {
        let mut pushes = vec![(DVec3::ZERO, DVec3::ZERO); self.bodies.len()];
        for (k, joint) in self.scene.joints.iter().enumerate() {
            let impulse = self.impulses[k];
            pushes[joint.body].0 += impulse;
            pushes[joint.body].1 += arms[k].0.cross(impulse);
            if let Some(other) = joint.other {
                pushes[other].0 -= impulse;
                pushes[other].1 -= arms[k].1.cross(impulse);
            }
        }
        for (b, (push, twist)) in pushes.into_iter().enumerate() {
            let body = &mut self.bodies[b];
            body.v = body.free.0 + push / self.scene.beads[b].mass;
            body.w = body.free.1 + body.inverse * twist;
        }
    }

    fn substep(&mut self) {
        let h = self.options.frame / self.options.substeps as f64;
        let c = self.options.stabilise.coefficients(h);
        for (body, bead) in self.bodies.iter_mut().zip(&self.scene.beads) {
            let r = DMat3::from_quat(body.q);
            let inertia = r * DMat3::from_diagonal(DVec3::from_array(bead.moments)) * r.transpose();
            body.inverse = inertia.inverse();
            let torque = -body.w.cross(inertia * body.w);
            let gravity = DVec3::from_array(self.scene.gravity);
            body.free = (body.v + h * gravity, body.w + h * (body.inverse * torque));
        }
        let shares = self.shares();
        let joints = 0..self.scene.joints.len();
        let arms: Vec<_> = joints.clone().map(|k| self.arms(k)).collect();
        let mut inverses = Vec::new();
        let mut wanted = Vec::new();
        for k in joints.clone() {
            let joint = self.scene.joints[k];
            let share = |b: usize, arm: DVec3| {
                let s = skew(arm);
                let linear = DMat3::IDENTITY * (1.0 / self.scene.beads[b].mass);
                (linear + s * self.bodies[b].inverse * s.transpose()) * shares[b]
            };
            let mut d = share(joint.body, arms[k].0) + DMat3::IDENTITY * c.sigma;
            if let Some(other) = joint.other {
                d += share(other, arms[k].1);
            }
            inverses.push(d.inverse());
            let velocity = self.relative_velocity(k, arms[k]);
            wanted.push(c.upsilon * velocity - c.e / h * self.violation(k));
        }
        self.gather(&arms);
        for _ in 0..self.options.sweeps {
            for k in joints.clone() {
                let w = self.relative_velocity(k, arms[k]) + c.sigma * self.impulses[k] - wanted[k];
                self.impulses[k] -= inverses[k] * w;
            }
            self.gather(&arms);
        }
        for body in &mut self.bodies {
            body.x += h * body.v;
            body.q = (DQuat::from_scaled_axis(h * body.w) * body.q).normalize();
        }
    }

    fn opening(&self) -> f64 {
        let joints = 0..self.scene.joints.len();
        joints.fold(0.0, |m: f64, k| m.max(self.violation(k).length()))
    }
}

/// Largest differences of positions and quaternions, of velocities, and of spins.
fn differences(state: &ChainState, reference: &Reference) -> [f64; 3] {
    let mut worst = [0.0_f64; 3];
    for (b, body) in reference.bodies.iter().enumerate() {
        let off = |a: [f64; 3], b: DVec3| (DVec3::from_array(a) - b).length();
        let q = DQuat::from_array(state.turns[b]);
        // q and −q are the same orientation.
        let turn = (q - body.q).length().min((q + body.q).length());
        worst[0] = worst[0].max(off(state.positions[b], body.x)).max(turn);
        worst[1] = worst[1].max(off(state.velocities[b], body.v));
        worst[2] = worst[2].max(off(state.spins[b], body.w));
    }
    worst
}

/// Two chains far from the origin, a star of four arms on a free body that is no ball, and a ring: all of it turned
/// and moving.
fn zoo() -> ChainScene {
    let mut scene = ChainScene::necklaces(2, 6);
    for (b, bead) in scene.beads.iter_mut().enumerate() {
        bead.position[1] += 300.0;
        bead.velocity = [0.0, 0.02 * b as f64, 0.1];
        bead.spin = [0.3, 0.0, -0.2];
    }
    for joint in &mut scene.joints {
        if joint.other.is_none() {
            joint.other_arm[1] += 300.0;
        }
    }
    let hub = scene.beads.len();
    let turn = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 2.0) / 3.0, 0.7);
    scene.beads.push(Bead {
        position: [0.0, -3.0, 1.0],
        turn: turn.to_array(),
        velocity: [0.1, 0.0, 0.5],
        spin: [4.0, 0.3, -2.0],
        mass: 2.0,
        moments: [0.004, 0.009, 0.012],
    });
    for arm in 0..4 {
        let angle = std::f64::consts::FRAC_PI_2 * f64::from(arm);
        let out = DVec3::new(angle.cos(), angle.sin(), 0.0);
        let body = scene.beads.len();
        let place = DVec3::new(0.0, -3.0, 1.0) + turn * (out * 0.2);
        scene.beads.push(Bead::ball(place.to_array(), 0.1, 0.5));
        scene.joints.push(BallJoint {
            body: hub,
            other: Some(body),
            arm: (out * 0.1).to_array(),
            other_arm: (turn * (out * -0.1)).to_array(),
        });
    }
    scene
}

/// How far single precision leads velocities [m/s] and spins [rad/s] astray.
///
/// Every sweep rounds a row velocity by about √c ε s: c ≈ 40 operations, s the speeds in it. Seen through D̃⁻¹ this is
/// √c ε s/√d_min in the norm of D̃, in which sweeps of these schemes are nonexpansive; velocities are off by no more in
/// the norm of M, hence by 1/√m of the lightest body and spins by 1/√I of the least moment. Roundings are independent,
/// so that k sweeps of the rows add as the root of their number; motion over a tenth of a second at most doubles what
/// is there.
fn rounding(scene: &ChainScene, options: &ChainOptions, frames: usize, speed: f64) -> [f64; 2] {
    let least = |of: fn(&Bead) -> f64| scene.beads.iter().map(of).fold(f64::INFINITY, f64::min);
    let heaviest = scene.beads.iter().map(|bead| bead.mass).fold(0.0, f64::max);
    // D̃ is at least 1/m of one of its bodies.
    let d_min = 1.0 / heaviest;
    let count = frames * options.substeps * (options.sweeps + 2) * 3 * scene.joints.len() * 40;
    let momentum = 2.0 * (count as f64).sqrt() * EPSILON * speed / d_min.sqrt();
    let moment = least(|bead| bead.moments.into_iter().fold(f64::INFINITY, f64::min));
    [
        momentum / least(|bead| bead.mass).sqrt(),
        momentum / moment.sqrt(),
    ]
}

#[test]
fn steps_are_those_of_the_same_algorithm_in_double_precision() {
    let Some(gpu) = gpu() else { return };
    let scene = zoo();
    let spook = Stabilise::Spook {
        compliance: 1e-4,
        damping: 0.02,
    };
    let baumgarte = Stabilise::Baumgarte { rate: 20.0 };
    for (scheme, stabilise) in [
        (Scheme::Split, baumgarte),
        (Scheme::Split, spook),
        (Scheme::Damped, baumgarte),
    ] {
        let options = ChainOptions {
            substeps: 3,
            sweeps: 12,
            scheme,
            stabilise,
            ..ChainOptions::default()
        };
        let mut device = GpuChains::new(&gpu, &scene, options).unwrap();
        let mut reference = Reference::new(&scene, options);
        let frames = 5;
        let report = device.step(frames).unwrap();
        for _ in 0..frames * options.substeps {
            reference.substep();
        }
        let state = device.read().unwrap();
        let off = differences(&state, &reference);
        let fastest = |m: f64, body: &Body| m.max(body.v.length()).max(0.1 * body.w.length());
        let speed = reference.bodies.iter().fold(1.0, fastest);
        let bound = rounding(&scene, &options, frames, speed);
        println!("{scheme:?}: off by {off:?}, velocities and spins within {bound:?}");
        assert!(
            off[1] <= bound[0] && off[2] <= bound[1],
            "{off:?} {bound:?}"
        );
        // Positions gather velocities and turns spins; a coordinate of some metres is rounded at every substep.
        let time = frames as f64 * options.frame;
        let grain = (frames * options.substeps) as f64 * 4.0 * EPSILON;
        assert!(off[0] <= bound[1] * time + grain, "{off:?}");
        assert!((report.opening - reference.opening()).abs() <= bound[0] * time + grain);
        assert!(report.opening <= report.worst_opening && report.law <= report.worst_law);
    }
}

#[test]
fn a_free_body_keeps_its_angular_momentum_only_with_the_gyroscopic_term() {
    let Some(gpu) = gpu() else { return };
    let bead = Bead {
        moments: [0.01, 0.02, 0.04],
        spin: [3.0, 0.1, 5.0],
        ..Bead::ball([0.0; 3], 0.1, 1.0)
    };
    let scene = ChainScene {
        beads: vec![bead],
        ..ChainScene::default()
    };
    let options = ChainOptions {
        substeps: 64,
        sweeps: 0,
        ..ChainOptions::default()
    };
    let mut chains = GpuChains::new(&gpu, &scene, options).unwrap();
    chains.step(12).unwrap();
    let state = chains.read().unwrap();
    let r = DMat3::from_quat(DQuat::from_array(state.turns[0]));
    let inertia = r * DMat3::from_diagonal(DVec3::from_array(bead.moments)) * r.transpose();
    let before = DVec3::from_array(bead.moments) * DVec3::from_array(bead.spin);
    let after = inertia * DVec3::from_array(state.spins[0]);
    // First order in h = 1/3840 s: 5 rad/s for 0.2 s off by about 25 · 0.2 · h.
    let off = (after - before).length() / before.length();
    assert!(off < 5e-3, "{off:e}");
    // Without the torque ω would have stayed, and the momentum would have turned with the body.
    let kept = DVec3::from_array(bead.spin);
    assert!(0.05 < (inertia * kept - before).length() / before.length());
}

#[test]
fn reruns_and_read_backs_change_no_bit() {
    let Some(gpu) = gpu() else { return };
    let scene = zoo();
    let options = ChainOptions {
        scheme: Scheme::Split,
        ..ChainOptions::default()
    };
    let mut once = GpuChains::new(&gpu, &scene, options).unwrap();
    let mut often = GpuChains::new(&gpu, &scene, options).unwrap();
    let report = once.step(4).unwrap();
    let mut last = report;
    for _ in 0..4 {
        last = often.step(1).unwrap();
        often.read().unwrap();
    }
    assert_eq!((report.law, report.opening), (last.law, last.opening));
    assert_eq!(once.read().unwrap(), often.read().unwrap());
}

#[test]
fn a_necklace_swings_as_the_reference_trajectory_says() {
    let Some(gpu) = gpu() else { return };
    let options = ChainOptions {
        substeps: 16,
        sweeps: 80,
        stabilise: Stabilise::Baumgarte { rate: 192.0 },
        ..ChainOptions::default()
    };
    let mut chains = GpuChains::new(&gpu, &ChainScene::necklaces(2, 40), options).unwrap();
    let report = chains.step(30).unwrap();
    let state = chains.read().unwrap();
    // Last bead of forty after half a second: Runge-Kutta at 20 kHz, converged to 1e-9.
    let (x, z) = (3.459_332_73, -1.226_250_00);
    for (chain, y) in [(39, 0.0), (79, 0.25)] {
        let p = state.positions[chain];
        let off = (DVec3::from_array(p) - DVec3::new(x, y, z)).length();
        println!(
            "tip off by {off:.1e} m, joints open by {:.1e} m",
            report.opening
        );
        // The step is of first order: half a second at h = 1/960 s and 9.81 m/s² is off by about g t h/2 = 2.6 mm.
        assert!(off < 5e-3, "{p:?} is off by {off:e}");
    }
    assert!(report.worst_opening < 1e-3, "{report:?}");
}

#[test]
fn chains_of_the_library_are_the_same_scene() {
    let along = DVec3::X;
    let chain = |y: f64| Chain::straight(DVec3::Y * y, along, 7, 1.0, 0.05);
    let scene = ChainScene::of([0.0, 0.0, -9.81], &[chain(0.0), chain(0.25)]);
    let expected = ChainScene::necklaces(2, 7);
    assert_eq!((scene.beads.len(), &scene.joints), (14, &expected.joints));
    for (bead, expected) in scene.beads.iter().zip(&expected.beads) {
        let off = DVec3::from_array(bead.position) - DVec3::from_array(expected.position);
        assert!(off.length() < 1e-15);
        assert_eq!((bead.mass, bead.turn), (expected.mass, expected.turn));
        assert!((bead.moments[0] - expected.moments[0]).abs() < 1e-18);
    }
}

#[test]
fn what_grows_without_bound_is_an_error_and_never_handed_out() {
    let Some(gpu) = gpu() else { return };
    // Thirty heavy arms on a light hub: plain steps diverge.
    let mut scene = ChainScene {
        beads: vec![Bead::ball([0.0; 3], 0.1, 0.01)],
        gravity: [0.0, 0.0, -9.81],
        ..ChainScene::default()
    };
    for arm in 0..30 {
        let angle = 0.2 * f64::from(arm);
        let out = DVec3::new(angle.cos(), angle.sin(), 0.0);
        let other = Some(scene.beads.len());
        scene.beads.push(Bead {
            velocity: [0.0, 0.0, 0.1 * f64::from(arm)],
            ..Bead::ball((out * 0.2).to_array(), 0.1, 5.0)
        });
        scene.joints.push(BallJoint {
            body: 0,
            other,
            arm: (out * 0.1).to_array(),
            other_arm: (out * -0.1).to_array(),
        });
    }
    let mut plain = GpuChains::new(&gpu, &scene, ChainOptions::default()).unwrap();
    assert_eq!(plain.step(60), Err(GpuError::Diverged));
    assert_eq!(plain.read(), Err(GpuError::Diverged));
    assert_eq!(plain.step(1), Err(GpuError::Diverged));
    let options = ChainOptions {
        scheme: Scheme::Split,
        ..ChainOptions::default()
    };
    let mut split = GpuChains::new(&gpu, &scene, options).unwrap();
    assert!(split.step(60).is_ok());
}

#[test]
fn scenes_that_make_no_sense_are_refused_by_place_and_value() {
    let Some(gpu) = gpu() else { return };
    let good = ChainScene::necklaces(1, 3);
    let refuse = |change: &dyn Fn(&mut ChainScene, &mut ChainOptions)| {
        let (mut scene, mut options) = (good.clone(), ChainOptions::default());
        change(&mut scene, &mut options);
        GpuChains::new(&gpu, &scene, options)
            .unwrap_err()
            .to_string()
    };
    assert!(refuse(&|s, _| s.beads[1].mass = 0.0).contains("mass of bead 1: 0"));
    assert!(refuse(&|s, _| s.beads[2].moments[1] = f64::NAN).contains("moment of bead 2"));
    assert!(refuse(&|s, _| s.beads[0].turn = [0.0; 4]).contains("quaternion of bead 0"));
    assert!(refuse(&|s, _| s.joints[2].body = 9).contains("body of joint 2: 9"));
    assert!(refuse(&|s, _| s.joints[1].other = Some(1)).contains("second body of joint 1"));
    assert!(refuse(&|_, o| o.substeps = 0).contains("substeps"));
    assert!(refuse(&|_, o| o.frame = -1.0).contains("frame"));
    let far = |s: &mut ChainScene, _: &mut ChainOptions| s.beads[0].velocity[0] = f64::INFINITY;
    assert!(refuse(&far).contains("finite"));
    let empty = GpuChains::new(&gpu, &ChainScene::default(), ChainOptions::default());
    let mut empty = empty.unwrap();
    assert_eq!(empty.step(2).unwrap().opening, 0.0);
    assert_eq!(empty.read().unwrap(), ChainState::default());
}
