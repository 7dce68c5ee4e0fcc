//! A scene of chains as plain arrays: bodies, ball joints, gravity.

use delassus::chains::Chain;

use crate::device::GpuError;

/// A body of a scene of chains, as it is when the scene begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bead {
    /// Centre of mass \[m\].
    pub position: [f64; 3],
    /// Orientation as a unit quaternion (x, y, z, w).
    pub turn: [f64; 4],
    /// Velocity of the centre \[m/s\].
    pub velocity: [f64; 3],
    /// Angular velocity in world axes \[rad/s\].
    pub spin: [f64; 3],
    /// Mass \[kg\].
    pub mass: f64,
    /// Principal moments of inertia about the body's own axes \[kg m²\].
    pub moments: [f64; 3],
}

impl Bead {
    /// A solid ball at rest.
    pub fn ball(position: [f64; 3], radius: f64, mass: f64) -> Bead {
        Bead {
            position,
            turn: [0.0, 0.0, 0.0, 1.0],
            velocity: [0.0; 3],
            spin: [0.0; 3],
            mass,
            moments: [0.4 * mass * radius * radius; 3],
        }
    }
}

/// A ball joint: a point of one body is a point of another, or of the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BallJoint {
    /// The first body.
    pub body: usize,
    /// The second body; none is the ground.
    pub other: Option<usize>,
    /// The point in the axes of the first body, from its centre \[m\].
    pub arm: [f64; 3],
    /// The point in the axes of the second body, from its centre; on the ground, in the world \[m\].
    pub other_arm: [f64; 3],
}

/// Bodies, joints and gravity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChainScene {
    /// The bodies.
    pub beads: Vec<Bead>,
    /// The joints.
    pub joints: Vec<BallJoint>,
    /// Gravity \[m/s²\].
    pub gravity: [f64; 3],
}

impl ChainScene {
    /// So many chains of so many touching balls of 1 kg and 5 cm radius along x, each tied to a fixed point at the
    /// outer pole of its first ball, a quarter of a metre from the next chain, at rest under gravity along −z.
    pub fn necklaces(chains: usize, beads: usize) -> ChainScene {
        let (radius, apart) = (0.05, 0.25);
        let mut scene = ChainScene {
            gravity: [0.0, 0.0, -9.81],
            ..ChainScene::default()
        };
        for chain in 0..chains {
            let y = apart * chain as f64;
            for bead in 0..beads {
                let body = scene.beads.len();
                let x = (2 * bead + 1) as f64 * radius;
                scene.beads.push(Bead::ball([x, y, 0.0], radius, 1.0));
                let (other, other_arm) = match bead {
                    0 => (None, [0.0, y, 0.0]),
                    _ => (Some(body - 1), [radius, 0.0, 0.0]),
                };
                scene.joints.push(BallJoint {
                    body,
                    other,
                    arm: [-radius, 0.0, 0.0],
                    other_arm,
                });
            }
        }
        scene
    }

    /// Chains as the library has them, each hanging by its first joint from a fixed point.
    pub fn of(gravity: [f64; 3], chains: &[Chain]) -> ChainScene {
        let mut scene = ChainScene {
            gravity,
            ..ChainScene::default()
        };
        for chain in chains {
            let mut before: Option<f64> = None;
            for bead in &chain.beads {
                let body = scene.beads.len();
                scene.beads.push(Bead {
                    position: bead.position.to_array(),
                    turn: bead.orientation.to_array(),
                    velocity: bead.velocity.to_array(),
                    spin: bead.spin.to_array(),
                    mass: bead.mass,
                    moments: [bead.inertia; 3],
                });
                scene.joints.push(BallJoint {
                    body,
                    other: before.map(|_| body - 1),
                    arm: [-bead.arms[0], 0.0, 0.0],
                    other_arm: before.map_or(chain.anchor.to_array(), |arm| [arm, 0.0, 0.0]),
                });
                before = Some(bead.arms[1]);
            }
        }
        scene
    }

    /// The point each body's position is kept relative to: the anchor of its chain, or the first body without one.
    pub(crate) fn origins(&self) -> Vec<[f64; 3]> {
        let mut root: Vec<usize> = (0..self.beads.len()).collect();
        fn find(root: &mut [usize], mut b: usize) -> usize {
            while root[b] != b {
                root[b] = root[root[b]];
                b = root[b];
            }
            b
        }
        for joint in &self.joints {
            if let Some(other) = joint.other {
                let (a, b) = (find(&mut root, joint.body), find(&mut root, other));
                root[a.max(b)] = a.min(b);
            }
        }
        let mut origins: Vec<[f64; 3]> = self.beads.iter().map(|bead| bead.position).collect();
        let mut anchored = vec![false; self.beads.len()];
        for joint in self.joints.iter().filter(|joint| joint.other.is_none()) {
            let chain = find(&mut root, joint.body);
            if !std::mem::replace(&mut anchored[chain], true) {
                origins[chain] = joint.other_arm;
            }
        }
        (0..self.beads.len())
            .map(|b| origins[find(&mut root, b)])
            .collect()
    }

    pub(crate) fn check(&self) -> Result<(), GpuError> {
        let bad = |place: String, value: f64, needs| {
            Err(GpuError::Scene {
                place,
                value,
                needs,
            })
        };
        for (b, bead) in self.beads.iter().enumerate() {
            for (what, value) in [
                ("mass", bead.mass),
                ("moment", bead.moments[0]),
                ("moment", bead.moments[1]),
                ("moment", bead.moments[2]),
            ] {
                // Inverses must fit single precision too.
                if !(1e-30 < value && value < 1e30) {
                    let place = format!("{what} of bead {b}");
                    return bad(place, value, "a number between 1e-30 and 1e30");
                }
            }
            let length = bead.turn.iter().map(|x| x * x).sum::<f64>();
            if !((length - 1.0).abs() < 1e-6) {
                let place = format!("squared length of the quaternion of bead {b}");
                return bad(place, length, "one");
            }
        }
        for (k, joint) in self.joints.iter().enumerate() {
            for body in std::iter::once(joint.body).chain(joint.other) {
                if self.beads.len() <= body {
                    let place = format!("body of joint {k}");
                    return bad(place, body as f64, "the number of a bead");
                }
            }
            if joint.other == Some(joint.body) {
                let place = format!("second body of joint {k}");
                return bad(place, joint.body as f64, "another body than the first");
            }
        }
        Ok(())
    }
}
