//! What a state says, by arithmetic of its own: energy, depth in the ground, bodies that went through.

use delassus::World;
use delassus::collide::Shape;
use delassus::math::{DQuat, DVec3};
use delassus::world::MovedBy;

use super::draw::Drawn;
use super::ground::Wall;

/// Share of the energy that could have become motion by which energy may exceed that of the start where nothing
/// supplies it.
pub(super) const ENERGY_BOUND: f64 = 0.1;
/// Speed at which overlapping bodies are parted \[m/s\].
const PARTING: f64 = 1.0;

/// A ball or a point that a body's outside reaches to, in the frame of the body.
#[derive(Clone, Copy, Debug)]
struct Knob {
    at: DVec3,
    radius: f64,
}

/// Balls and points at the corners of a shape; their hull is the shape, but for cylinders, whose rims have sixteen.
fn knobs(shape: &Shape) -> Vec<Knob> {
    let point = |at: DVec3| Knob { at, radius: 0.0 };
    match shape {
        Shape::Sphere { radius } => vec![Knob {
            at: DVec3::ZERO,
            radius: *radius,
        }],
        Shape::Box { half } => (0..8)
            .map(|k| {
                let side = |bit: usize| {
                    if k >> bit & 1 == 0 {
                        -half[bit]
                    } else {
                        half[bit]
                    }
                };
                point(DVec3::new(side(0), side(1), side(2)))
            })
            .collect(),
        Shape::Capsule {
            half_length,
            radius,
        } => [-1.0, 1.0]
            .map(|side| Knob {
                at: DVec3::Z * side * *half_length,
                radius: *radius,
            })
            .to_vec(),
        Shape::Cylinder {
            half_length,
            radius,
        } => (0..32)
            .map(|k| {
                let (sin, cos) = (std::f64::consts::TAU * f64::from(k / 2) / 16.0).sin_cos();
                let z = if k % 2 == 0 {
                    -half_length
                } else {
                    *half_length
                };
                point(DVec3::new(radius * cos, radius * sin, z))
            })
            .collect(),
        Shape::Hull { points } => points.iter().map(|p| point(DVec3::from(*p))).collect(),
        Shape::HalfSpace | Shape::Mesh { .. } | Shape::HeightField { .. } => Vec::new(),
    }
}

/// How far the outside is from the centre where it is nearest, over 26 directions \[m\].
fn radius(knobs: &[Knob]) -> f64 {
    let steps = || [-1.0, 0.0, 1.0].into_iter();
    let pairs = steps().flat_map(|x| steps().map(move |y| (x, y)));
    let all = pairs.flat_map(|(x, y)| steps().map(move |z| DVec3::new(x, y, z)));
    let directions = all.filter_map(DVec3::try_normalize);
    let reach = |d: DVec3| {
        let each = knobs.iter().map(|knob| knob.at.dot(d) + knob.radius);
        each.fold(f64::NEG_INFINITY, f64::max)
    };
    directions.map(reach).fold(f64::INFINITY, f64::min)
}

/// A body that went through something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Through {
    /// Way of its outside in the step in which its centre went through, over its least radius: (|Δx| + h|ω| reach) / r.
    pub(crate) radii: f64,
    /// Its speed then \[m/s\].
    pub(crate) speed: f64,
}

/// A free body, and what is known of its way.
struct Watched {
    /// Its place among all bodies.
    place: usize,
    knobs: Vec<Knob>,
    /// How far its outside is from its centre at least, and at most \[m\].
    least: f64,
    most: f64,
    /// Where its centre was.
    centre: DVec3,
    /// Its centre is on the wrong side since a step of this kind.
    sunk: Option<Through>,
    /// All of it was on the wrong side.
    gone: bool,
}

/// Watches a scene from its start.
pub(crate) struct Watch<'a> {
    drawn: &'a Drawn,
    bodies: Vec<Watched>,
    /// Kinetic and potential energy at the start \[J\], and what parting overlaps may bring.
    start: [f64; 2],
    parting: f64,
}

/// What one state shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sight {
    /// Energy above that of the start, over what could have become motion and ten times what parting brings.
    pub(crate) energy: f64,
    /// Depth of the deepest corner in the ground, and of the deepest ball in another \[m\].
    pub(crate) depth: f64,
    pub(crate) through: Vec<Through>,
}

/// Kinetic and potential energy \[J\]: ½ m v² + ½ (Rᵀω)ᵀ I (Rᵀω), −m g·x.
fn energy(world: &World, gravity: DVec3) -> [f64; 2] {
    let all = world.bodies();
    let (mut kinetic, mut potential) = (0.0, 0.0);
    for i in 0..all.len() {
        if all.motion[i] == MovedBy::Dynamic {
            let own = all.orientation[i].inverse() * all.spin[i];
            let turning = own.dot(all.inertia[i] * own);
            kinetic += 0.5 * (all.mass[i] * all.velocity[i].length_squared() + turning);
            potential -= all.mass[i] * gravity.dot(all.position[i]);
        }
    }
    [kinetic, potential]
}

/// Weight of scenes that do not give their own [m/s²].
const GRAVITY: DVec3 = DVec3::new(0.0, 0.0, -9.81);

impl<'a> Watch<'a> {
    /// Looks at the start.
    pub(crate) fn new(world: &World, drawn: &'a Drawn) -> Watch<'a> {
        let all = world.bodies();
        let free = (0..all.len()).filter(|i| all.motion[*i] == MovedBy::Dynamic);
        let bodies: Vec<Watched> = free
            .map(|i| {
                let own = world.colliders().iter().filter(|c| c.body == i);
                let each = own.flat_map(|collider| {
                    let (shift, turn): (DVec3, DQuat) = collider.pose;
                    let moved = move |knob: Knob| Knob {
                        at: shift + turn * knob.at,
                        ..knob
                    };
                    knobs(&collider.shape).into_iter().map(moved)
                });
                let knobs: Vec<Knob> = each.collect();
                let reach = knobs.iter().map(|k| k.at.length() + k.radius);
                Watched {
                    place: i,
                    least: radius(&knobs),
                    most: reach.fold(0.0, f64::max),
                    knobs,
                    centre: all.position[i],
                    sunk: None,
                    gone: false,
                }
            })
            .collect();
        let mass: f64 = bodies.iter().map(|body| all.mass[body.place]).sum();
        Watch {
            drawn,
            start: energy(world, GRAVITY),
            parting: 0.5 * mass * PARTING * PARTING,
            bodies,
        }
    }

    /// Looks at the state after a step.
    pub(crate) fn see(&mut self, world: &World) -> Sight {
        let mut sight = Sight {
            energy: self.energy(world),
            depth: self.balls(world),
            ..Sight::default()
        };
        for body in &mut self.bodies {
            body.look(world, self.drawn, &mut sight);
        }
        sight
    }

    fn energy(&self, world: &World) -> f64 {
        if self.drawn.supplied {
            return 0.0;
        }
        let [kinetic, potential] = energy(world, GRAVITY);
        let excess = kinetic + potential - self.start[0] - self.start[1];
        let available = self.start[0] + (self.start[1] - potential).max(0.0);
        // excess ≤ bound · available + parting, as excess / (available + parting / bound) ≤ bound.
        excess / (available + self.parting / ENERGY_BOUND)
    }

    /// How deep the deepest ball lies in another \[m\].
    fn balls(&self, world: &World) -> f64 {
        let all = world.bodies();
        let ball = |body: &Watched| match body.knobs[..] {
            [one] => {
                let (x, turn) = (all.position[body.place], all.orientation[body.place]);
                Some((x + turn * one.at, one.radius))
            }
            _ => None,
        };
        let balls: Vec<(DVec3, f64)> = self.bodies.iter().filter_map(ball).collect();
        let mut depth = 0.0_f64;
        for (k, (a, r)) in balls.iter().enumerate() {
            for (b, s) in &balls[k + 1..] {
                depth = depth.max(r + s - (*a - *b).length());
            }
        }
        depth
    }
}

impl Watched {
    /// Looks at one body after a step.
    fn look(&mut self, world: &World, drawn: &Drawn, sight: &mut Sight) {
        let all = world.bodies();
        let (position, turn) = (all.position[self.place], all.orientation[self.place]);
        let mut under = !self.knobs.is_empty();
        for knob in &self.knobs {
            let above = drawn.ground.above(position + turn * knob.at, knob.radius);
            // What has gone through falls on and on.
            if let (Some(z), false) = (above, self.gone) {
                sight.depth = sight.depth.max(knob.radius - z);
            }
            // Every part of a knob is below the ground where its centre is by its radius.
            under &= above.is_some_and(|z| z < -knob.radius);
        }
        let is_under = |p| drawn.ground.above(p, 0.0).is_some_and(|z| z < 0.0);
        let crossed = |wall: &Wall| wall.is_crossed(self.centre, position);
        let behind = drawn.walls.iter().any(|wall| wall.is_behind(position, 0.0));
        let way = (position - self.centre).length();
        if is_under(position) || drawn.walls.iter().any(crossed) {
            let turned = drawn.dt * all.spin[self.place].length() * self.most;
            self.sunk.get_or_insert(Through {
                radii: (way + turned) / self.least,
                speed: way / drawn.dt,
            });
        } else if !behind {
            self.sunk = None;
        }
        let past = drawn
            .walls
            .iter()
            .any(|wall| wall.is_behind(position, self.most));
        if let (Some(through), true, false) = (self.sunk, under || past, self.gone) {
            self.gone = true;
            sight.through.push(through);
        }
        self.centre = position;
    }
}
