//! One view: a world under one solver, and the hand that may pull at it.

mod forces;

use delassus::solver::{Observed, Seen};
use delassus::world::{
    Frame, Joint, JointKind, MovedBy, Robot, Scene, StepError, Surface, WorldError,
};
use delassus::{BodyId, JointId, LinkId, Residual, Solver, World};
use glam::{DQuat, DVec3};
use serde::Serialize;

use crate::choice::{Choice, MakeSolver};
use crate::dials::{Dial, dials, place_keyframe};
use crate::frame::{Arrow, Floats, Span};
use crate::message::{Colour, Display, Parameters};
use crate::numbers::{Numbers, Sample, Samples};
use crate::past::Seen as Remembered;
use crate::refused::Refused;

/// Angular frequency of the hand's spring on the body it holds alone \[rad/s\]; it sags by g/ω² under its weight.
const GRIP: f64 = 20.0;
/// Name of the hand's joint.
const HAND: &str = "hand of the viewer";
/// A dial that was never there.
const NO_DIAL: Refused = Refused::NotNow("there is no such joint; the scene has changed");

/// A world, its solver and what its last step did.
pub(crate) struct Pane {
    pub(crate) world: World,
    pub(crate) choice: Choice,
    solver: Box<dyn Solver + Send>,
    make: MakeSolver,
    /// Law residual of each block of the last solve \[m/s\]; empty where nobody wants to see it.
    faults: Vec<f64>,
    /// Materials of the scene itself.
    surfaces: Vec<Surface>,
    hand: Option<JointId>,
    last: Option<Numbers>,
    samples: Samples,
    /// Bodies with a pose in every frame.
    moving: Vec<usize>,
    /// Joints of robots that can be turned by hand.
    dials: Vec<Dial>,
    /// Length of the last step \[s\], and the velocity of each body before it \[m/s\].
    before: (f64, Vec<DVec3>),
    /// Arrows of a state that was gone back to, until a step is taken.
    remembered: Option<Vec<Arrow>>,
    /// The residual of bodies is wanted for their colour, or for the one that is picked.
    coloured: bool,
    picked: bool,
}

/// A view in the head of a frame.
#[derive(Serialize)]
pub(crate) struct PaneHead<'a> {
    solver: &'a str,
    numbers: Option<&'a Numbers>,
    samples: Vec<Sample>,
    poses: Span,
    arrows: Span,
    colours: Span,
    /// Position, velocity, force of the actuator and what it is asked for, of each dial.
    dials: Span,
    selected: Option<Selected>,
    /// Where the hand holds the body and where it pulls to \[m\].
    hand: Option<[[f64; 3]; 2]>,
}

/// Numbers of the body picked.
#[derive(Debug, Serialize)]
pub(crate) struct Selected {
    body: u32,
    position: [f64; 3],
    /// Velocities and energy ½ m v² + ½ ωᵀIω \[J\], where they are known.
    velocity: Option<[f64; 3]>,
    spin: Option<[f64; 3]>,
    kinetic: Option<f64>,
    contacts: usize,
    /// Sum of the contact forces on it \[N\].
    contact_force: [f64; 3],
    /// Law residual of its rows where it was measured \[m/s\].
    residual: Option<f64>,
    asleep: bool,
}

impl Selected {
    /// A body of a world with the number and sum of its contact forces; its velocities count where they are known.
    pub(crate) fn of(
        world: &World,
        body: u32,
        (contacts, contact_force): (usize, DVec3),
        known: bool,
    ) -> Selected {
        let (bodies, i) = (world.bodies(), body as usize);
        let (velocity, spin) = (bodies.velocity[i], bodies.spin[i]);
        let kinetic = match bodies.motion[i] {
            MovedBy::Dynamic | MovedBy::Link => {
                let angular = bodies.world_inertia(BodyId(body)) * spin;
                0.5 * (bodies.mass[i] * velocity.length_squared() + spin.dot(angular))
            }
            _ => 0.0,
        };
        Selected {
            body,
            position: bodies.position[i].to_array(),
            velocity: known.then(|| velocity.to_array()),
            spin: known.then(|| spin.to_array()),
            kinetic: known.then_some(kinetic),
            contacts,
            contact_force: contact_force.to_array(),
            residual: None,
            asleep: bodies.asleep[i],
        }
    }
}

impl Pane {
    pub(crate) fn new(
        scene: Scene,
        choice: Choice,
        parameters: &Parameters,
        (display, make): (&Display, MakeSolver),
    ) -> Result<Pane, Refused> {
        let mut world = scene.world;
        let surfaces = world.surfaces_mut().to_vec();
        parameters.apply(&mut world, &surfaces);
        let solver = choice.solver(make, display.history)?;
        let moving = crate::geometry::moving(&world);
        let mut pane = Pane {
            dials: dials(&world),
            world,
            choice,
            solver,
            make,
            faults: Vec::new(),
            surfaces,
            hand: None,
            last: None,
            samples: Samples::default(),
            moving,
            before: (parameters.dt, Vec::new()),
            remembered: None,
            coloured: false,
            picked: false,
        };
        pane.display(display)?;
        Ok(pane)
    }

    /// Another solver goes on from the same state.
    pub(crate) fn choose(&mut self, choice: Choice, display: &Display) -> Result<(), Refused> {
        choice.solver(self.make, display.history)?;
        self.choice = choice;
        self.display(display)
    }

    /// Measures what is shown, and no more.
    pub(crate) fn display(&mut self, display: &Display) -> Result<(), Refused> {
        self.solver = self.choice.solver(self.make, display.history)?;
        self.coloured = display.colour == Colour::Residual;
        Ok(())
    }

    /// Whether somebody reads the numbers of one body.
    pub(crate) fn pick(&mut self, picked: bool) {
        self.picked = picked;
    }

    pub(crate) fn apply(&mut self, parameters: &Parameters) {
        parameters.apply(&mut self.world, &self.surfaces);
    }

    pub(crate) fn step(&mut self, number: u64, dt: f64) -> Result<(), StepError> {
        self.faults.clear();
        let (wanted, faults) = (self.coloured || self.picked, &mut self.faults);
        let mut solver = Observed::new(self.solver.as_mut(), |seen: Seen<'_>| {
            if wanted {
                *faults = Residual::by_block(seen.problem, &seen.solution.lambda);
            }
        });
        for dial in &self.dials {
            dial.push(&mut self.world);
        }
        self.before.1.clone_from(&self.world.bodies().velocity);
        let step = self.world.step(dt, &mut solver)?;
        self.before.0 = dt;
        self.remembered = None;
        let numbers = Numbers::of(step, &self.world);
        self.samples.forget_after(number.saturating_sub(1));
        self.samples.push(numbers.sample(number, self.world.time()));
        self.last = Some(numbers);
        Ok(())
    }

    /// Puts a joint of a robot into a position.
    pub(crate) fn place_joint(&mut self, dial: usize, position: f64) -> Result<(), Refused> {
        let dial = self.dials.get(dial).ok_or(NO_DIAL)?;
        dial.place(&mut self.world, position)
    }

    /// Asks the actuator of a joint for something.
    pub(crate) fn drive(&mut self, dial: usize, value: f64) -> Result<(), Refused> {
        let dial = self.dials.get_mut(dial).ok_or(NO_DIAL)?;
        dial.drive(&mut self.world, value)
    }

    /// Puts a robot into a state that its file comes with.
    pub(crate) fn keyframe(&mut self, index: usize) -> Result<(), Refused> {
        place_keyframe(&mut self.world, index)
    }

    /// What there is to see now, to come back to.
    pub(crate) fn remember(&self) -> Remembered {
        Remembered {
            state: self.world.state(),
            arrows: self.arrows(),
            last: self.last.clone(),
        }
    }

    /// Back to what was seen; steps after it are forgotten in the plots once another is taken.
    pub(crate) fn go_back(&mut self, to: &Remembered) -> Result<(), Refused> {
        self.release();
        self.world.restore(&to.state)?;
        self.last.clone_from(&to.last);
        self.remembered = Some(to.arrows.clone());
        self.faults.clear();
        Ok(())
    }

    /// Plotted numbers of the steps after one.
    pub(crate) fn samples_after(&self, step: u64) -> Vec<Sample> {
        self.samples.after(step)
    }

    /// Takes hold of a body at a point of it: a compliant ball joint to a point that the mouse moves.
    pub(crate) fn grab(
        &mut self,
        body: u32,
        local: DVec3,
        target: DVec3,
    ) -> Result<(), WorldError> {
        self.release();
        let mass = self.held_mass(body);
        let frame = |origin| Frame {
            origin,
            axes: DQuat::IDENTITY,
        };
        let hand = Joint {
            name: HAND.to_owned(),
            bodies: [Some(BodyId(body)), None],
            frames: [frame(local), frame(target)],
            kind: JointKind::Ball,
            // A spring of m ω², critically damped: force −(g + τ ġ)/ε with τ = 2/ω.
            compliance: 1.0 / (mass * GRIP * GRIP),
            damping: Some(2.0 / GRIP),
            collide: true,
            coordinate: 0.0,
        };
        self.hand = Some(self.world.add_joint(hand)?);
        Ok(())
    }

    pub(crate) fn drag(&mut self, target: DVec3) {
        if let Some(joint) = self.hand.and_then(|id| self.world.joint_mut(id)) {
            joint.frames[1].origin = target;
        }
    }

    pub(crate) fn release(&mut self) {
        if self.hand.take().is_some() {
            self.world.pop_joint();
        }
    }

    /// A body of the list that impulses move.
    pub(crate) fn can_grab(&self, body: u32) -> bool {
        match self.robot_of(body) {
            Some((robot, link)) => robot.tree().moves(link),
            None => self.world.bodies().motion.get(body as usize) == Some(&MovedBy::Dynamic),
        }
    }

    /// The robot that a body is a link of.
    fn robot_of(&self, body: u32) -> Option<(&Robot, LinkId)> {
        let found = |robot| {
            links(robot)
                .find(|(_, id)| id.0 == body)
                .map(|at| (robot, at.0))
        };
        self.world.robots().iter().find_map(found)
    }

    /// The mass that hangs on the hand \[kg\]: a link brings its whole robot.
    fn held_mass(&self, body: u32) -> f64 {
        let mass = &self.world.bodies().mass;
        match self.robot_of(body) {
            Some((robot, _)) => links(robot).map(|(_, id)| mass[id.index()]).sum(),
            None => mass[body as usize],
        }
    }

    /// A point of the world in a body's axes.
    pub(crate) fn local(&self, body: u32, point: DVec3) -> DVec3 {
        let (bodies, i) = (self.world.bodies(), body as usize);
        bodies.orientation[i].conjugate() * (point - bodies.position[i])
    }

    pub(crate) fn head(
        &self,
        display: &Display,
        selected: Option<u32>,
        floats: &mut Floats,
    ) -> PaneHead<'_> {
        let bodies = self.world.bodies();
        let poses = floats.span(self.moving.iter().flat_map(|&i| {
            let (x, q) = (bodies.position[i], bodies.orientation[i]);
            [x.x, x.y, x.z, q.x, q.y, q.z, q.w]
        }));
        let arrows = match display.contacts {
            true => floats.span(self.arrows().into_iter().flatten()),
            false => Span::default(),
        };
        let dials = floats.span(self.dials.iter().flat_map(|dial| dial.numbers(&self.world)));
        let colours = match display.colour {
            Colour::Body => Span::default(),
            Colour::Force => self.colours(&self.forces(), floats),
            Colour::Residual => self.colours(&self.residuals().unwrap_or_default(), floats),
        };
        PaneHead {
            solver: &self.choice.spec,
            numbers: self.last.as_ref(),
            samples: self.samples.newest(),
            poses,
            arrows,
            colours,
            dials,
            selected: selected.and_then(|body| self.selected(body)),
            hand: self.hand_line(),
        }
    }

    fn colours(&self, values: &[f64], floats: &mut Floats) -> Span {
        let moving = self.moving.iter();
        floats.span(moving.filter_map(|&i| values.get(i).copied()))
    }

    /// Law residual of each body's rows; none where it was not measured.
    fn residuals(&self) -> Option<Vec<f64>> {
        let blocks = self.world.last_blocks();
        if self.last.is_none() || blocks.len() != self.faults.len() {
            return None;
        }
        let mut residuals = vec![0.0; self.world.bodies().len()];
        for (key, fault) in blocks.into_iter().zip(&self.faults) {
            for body in self.world.bodies_of(key) {
                residuals[body.index()] = fault.max(residuals[body.index()]);
            }
        }
        Some(residuals)
    }

    fn selected(&self, body: u32) -> Option<Selected> {
        let i = body as usize;
        if self.world.bodies().len() <= i {
            return None;
        }
        let (mut contacts, mut contact_force) = (0, DVec3::ZERO);
        for touch in self.world.touches() {
            let (a, b) = touch.point.bodies;
            let sign = f64::from(i32::from(a == i) - i32::from(b == i));
            contact_force += sign * touch.force(self.world.last_substep());
            contacts += usize::from(sign != 0.0);
        }
        let selected = Selected::of(&self.world, body, (contacts, contact_force), true);
        Some(Selected {
            residual: self.residuals().map(|residuals| residuals[i]),
            ..selected
        })
    }

    fn hand_line(&self) -> Option<[[f64; 3]; 2]> {
        let joint = self.world.joints().get(self.hand?.index())?;
        let held = self
            .world
            .bodies()
            .to_world(joint.bodies[0]?, joint.frames[0].origin);
        Some([held.to_array(), joint.frames[1].origin.to_array()])
    }

    /// The largest distance between equal bodies of two views, and whose \[m\].
    pub(crate) fn apart(&self, other: &Pane) -> (f64, u32) {
        let (a, b) = (
            &self.world.bodies().position,
            &other.world.bodies().position,
        );
        let mut worst = (0.0, 0);
        for (i, (a, b)) in a.iter().zip(b).enumerate() {
            let distance = (*a - *b).length();
            if worst.0 < distance {
                worst = (distance, i as u32);
            }
        }
        worst
    }
}

/// Links of a robot with their bodies.
fn links(robot: &Robot) -> impl Iterator<Item = (LinkId, BodyId)> {
    let ids = (0..robot.tree().links().len() as u32).map(LinkId);
    ids.filter_map(|link| Some((link, robot.body(link)?)))
}

#[cfg(test)]
mod tests;
