//! A frame of a recording, or of a program's own world, as the page draws it.

use delassus::World;
use delassus::world::MovedBy;
use glam::DVec3;
use serde::Serialize;

use super::dynamics::Acting;
use crate::dials::dials;
use crate::frame::{Arrow, Floats, Span, arrow};
use crate::geometry::moving;
use crate::message::{Colour, Display};
use crate::pane::Selected;

/// What the head of a frame says about it.
#[derive(Serialize)]
pub(crate) struct ReplayHead {
    poses: Span,
    arrows: Span,
    colours: Span,
    dials: Span,
    selected: Option<Selected>,
}

impl ReplayHead {
    /// The world as it stands, with what acts where that is known.
    pub(crate) fn of(
        (world, acting): (&World, Option<&Acting>),
        display: &Display,
        selected: Option<u32>,
        floats: &mut Floats,
    ) -> ReplayHead {
        let bodies = world.bodies();
        let moving = moving(world);
        let poses = floats.span(moving.iter().flat_map(|&i| {
            let (x, q) = (bodies.position[i], bodies.orientation[i]);
            [x.x, x.y, x.z, q.x, q.y, q.z, q.w]
        }));
        let mut head = ReplayHead {
            poses,
            arrows: Span::default(),
            colours: Span::default(),
            dials: floats.span(dial_numbers(world, acting)),
            selected: selected.and_then(|body| picked(world, acting, body)),
        };
        let Some(acting) = acting else {
            return head;
        };
        if display.contacts {
            head.arrows = floats.span(arrows(world, acting).into_iter().flatten());
        }
        if display.colour == Colour::Force {
            let forces = forces(world, acting);
            head.colours = floats.span(moving.iter().map(|&i| forces[i]));
        }
        head
    }
}

/// Position, velocity and force of the drive of each joint of one dof; nothing is asked for.
fn dial_numbers(world: &World, acting: Option<&Acting>) -> Vec<f64> {
    let numbers = |dial: crate::dials::Dial| {
        let Some(acting) = acting else {
            return dial.numbers(world);
        };
        dial.recorded(world, &acting.robots)
            .unwrap_or([f64::NAN; 4])
    };
    dials(world).into_iter().flat_map(numbers).collect()
}

/// Where the force of a joint acts.
fn joint_point(world: &World, joint: usize) -> DVec3 {
    let joint = &world.joints()[joint];
    match joint.bodies[0] {
        Some(id) => world.bodies().to_world(id, joint.frames[0].origin),
        None => joint.frames[0].origin,
    }
}

fn arrows(world: &World, acting: &Acting) -> Vec<Arrow> {
    let contacts = acting.contacts.iter().map(|&((a, b), p, force)| {
        // The body that is carried shows the force.
        let f = if 0.0 < force.dot(world.gravity) {
            -force
        } else {
            force
        };
        arrow(p, f, (0.0, [Some(a), Some(b)]))
    });
    let joints = acting.reactions.iter().enumerate().map(|(j, &force)| {
        let on = world.joints()[j].bodies.map(|id| id.map(|id| id.index()));
        arrow(joint_point(world, j), force, (1.0, on))
    });
    contacts.chain(joints).collect()
}

/// Sum of the magnitudes of all forces on each body \[N\].
fn forces(world: &World, acting: &Acting) -> Vec<f64> {
    let mut sum = vec![0.0; world.bodies().len()];
    for ((a, b), _, force) in &acting.contacts {
        sum[*a] += force.length();
        sum[*b] += force.length();
    }
    for (joint, force) in world.joints().iter().zip(&acting.reactions) {
        for body in joint.links() {
            sum[body.index()] += force.length();
        }
    }
    sum
}

fn picked(world: &World, acting: Option<&Acting>, body: u32) -> Option<Selected> {
    let (bodies, i) = (world.bodies(), body as usize);
    if bodies.len() <= i {
        return None;
    }
    let (mut contacts, mut contact_force) = (0, DVec3::ZERO);
    for &((a, b), _, force) in acting.map_or(&[][..], |acting| &acting.contacts) {
        let sign = f64::from(i32::from(a == i) - i32::from(b == i));
        contact_force += sign * force;
        contacts += usize::from(sign != 0.0);
    }
    let known = acting.is_some() || bodies.motion[i] == MovedBy::Static;
    Some(Selected::of(world, body, (contacts, contact_force), known))
}
