//! A world that somebody else steps, on the page: the page shows where its bodies are and changes nothing.

use std::sync::{Arc, Mutex, PoisonError};

use delassus::World;
use delassus::world::Scene;
use glam::{DQuat, DVec3};

use crate::recording::Tape;
use crate::{Options, Server, Show, ViewError};

/// Where the bodies were when the program last showed them.
#[derive(Debug, Default)]
struct Latest {
    time: f64,
    shown: u64,
    poses: Vec<(DVec3, DQuat)>,
}

/// The live page of a program that steps its world itself: `show` after every step is all there is to do.
#[derive(Debug)]
pub struct Mirror {
    latest: Arc<Mutex<Latest>>,
    bodies: usize,
    server: Server,
}

/// What the page keeps of a mirrored world.
#[derive(Debug)]
pub struct Reflection {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) world: World,
    pub(crate) time: f64,
    pub(crate) shown: u64,
    latest: Arc<Mutex<Latest>>,
}

impl Mirror {
    /// Serves the page. `scene` is the world of the program, built once more: it tells the page names and shapes.
    pub fn start(name: &str, scene: Scene, options: &Options) -> Result<Mirror, ViewError> {
        let latest = Arc::new(Mutex::new(Latest::default()));
        let bodies = scene.world.bodies().len();
        let reflection = Reflection {
            name: name.to_owned(),
            title: scene.title,
            world: scene.world,
            time: 0.0,
            shown: 0,
            latest: Arc::clone(&latest),
        };
        let server = Server::start(Show::Mirror(Box::new(reflection)), options)?;
        Ok(Mirror {
            latest,
            bodies,
            server,
        })
    }

    /// Shows where the bodies of a world are now. Never waits for a page; a page that is slow sees the newest.
    /// False, and nothing is shown, where the world has not as many bodies as the scene, or one of them is not finite.
    pub fn show(&self, world: &World) -> bool {
        let bodies = world.bodies();
        let poses = bodies.position.iter().zip(&bodies.orientation);
        let finite = |(x, q): (&DVec3, &DQuat)| x.is_finite() && q.is_finite();
        if bodies.len() != self.bodies || !poses.clone().all(finite) {
            return false;
        }
        // Nothing in here panics half-way, so what a poisoned lock holds is whole.
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.time = world.time();
        latest.shown += 1;
        latest.poses.clear();
        latest.poses.extend(poses.map(|(x, q)| (*x, *q)));
        true
    }

    /// The address to open in a browser on this machine.
    pub fn url(&self) -> String {
        self.server.url()
    }
}

impl Reflection {
    /// Takes over what was shown last; true where that is new.
    pub(crate) fn look(&mut self) -> bool {
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if latest.shown == self.shown {
            return false;
        }
        (self.time, self.shown) = (latest.time, latest.shown);
        let bodies = self.world.bodies_mut();
        for (i, &(position, orientation)) in latest.poses.iter().enumerate() {
            bodies.position[i] = position;
            bodies.orientation[i] = orientation;
        }
        true
    }

    /// To the page it is a recording of one frame, which is always the newest.
    pub(crate) fn tape(&self) -> Tape {
        Tape::of_one_frame()
    }
}

#[cfg(test)]
mod tests {
    use delassus::scenes;

    use super::*;

    #[test]
    fn a_reflection_stands_where_the_world_was_last_shown() {
        let build = || scenes::build("stack:2").expect("there is such a scene");
        let mirror = Mirror::start("stack", build(), &Options::default());
        let mirror = mirror.expect("a free port of this machine can be had");
        let mut world = build().world;
        let scene = build();
        let mut reflection = Reflection {
            name: String::new(),
            title: scene.title,
            world: scene.world,
            time: 0.0,
            shown: 0,
            latest: Arc::clone(&mirror.latest),
        };
        assert!(!reflection.look(), "nothing was shown");
        world.bodies_mut().position[1].x = 7.0;
        assert!(mirror.show(&world));
        assert!(reflection.look() && !reflection.look());
        assert_eq!(reflection.world.bodies().position, world.bodies().position);
        world.bodies_mut().position[1].x = f64::NAN;
        assert!(!mirror.show(&world), "a page never sees what is no number");
        let other = scenes::build("stack:3").expect("there is such a scene");
        assert!(!mirror.show(&other.world), "it is another world");
    }
}
