//! What is wrong with a scene before it moves: nothing to see, nothing to fall on, loops that are open.

use super::{Finding, FindingKind, Severity};
use crate::collide::Groups;
use crate::index::LinkId;
use crate::tree::TreeJoint;
use crate::world::{MovedBy, World};

/// Gap of a loop or joint that is put down to rounding of the numbers in a file \[m or rad\].
const CLOSED: f64 = 1e-4;

/// Everything that the scene tells at the start.
pub(super) fn setting(world: &World) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(empty(world));
    findings.extend(open(world));
    let loose = loose(world);
    let ground = ground(world);
    if world.gravity.length() != 0.0 && !loose.is_empty() {
        findings.extend(match ground {
            false => Some(no_ground(world, &loose)),
            true => untouchable(world, &loose),
        });
    }
    findings
}

fn named(world: &World, body: usize) -> String {
    format!("body \"{}\"", world.bodies().name[body])
}

/// Whether forces move a body.
fn moves(world: &World, body: usize) -> bool {
    matches!(
        world.bodies().motion[body],
        MovedBy::Dynamic | MovedBy::Link
    )
}

fn empty(world: &World) -> Option<Finding> {
    let count = world.bodies().len();
    if (0..count).any(|i| moves(world, i)) {
        return None;
    }
    let what = match count {
        0 => "the scene has no bodies".to_owned(),
        _ => format!("none of the {count} bodies is moved by forces: nothing will happen"),
    };
    let remedy = "add a body with a mass, or make one dynamic";
    let kind = (Severity::Warning, FindingKind::Empty);
    let number = (count as f64, "bodies");
    Some(Finding::new(kind, number, Vec::new(), (what, remedy)))
}

/// Whether anything that does not fall has a shape.
fn ground(world: &World) -> bool {
    let motion = &world.bodies().motion;
    let mut colliders = world.colliders().iter();
    colliders.any(|collider| !moves(world, collider.body) || motion.len() <= collider.body)
}

/// Bodies that no joint or tree holds to what does not fall.
fn loose(world: &World) -> Vec<usize> {
    let count = world.bodies().len();
    let mut held: Vec<bool> = (0..count).map(|i| !moves(world, i)).collect();
    let mut ties: Vec<Vec<usize>> = Vec::new();
    for joint in world.joints() {
        let links: Vec<usize> = joint.links().iter().map(|id| id.index()).collect();
        let to_world = joint.bodies.iter().any(Option::is_none);
        if let (Some(first), true) = (links.first(), to_world) {
            held[*first] = true;
        }
        ties.push(links);
    }
    for robot in world.robots() {
        let links = robot.tree().links();
        let body = |i: usize| robot.body(LinkId(i as u32)).map(|id| id.index());
        for (i, link) in links.iter().enumerate() {
            match (body(i), link.parent.and_then(|id| body(id.index()))) {
                (Some(own), Some(parent)) => ties.push(vec![own, parent]),
                (Some(own), None) if link.joint != TreeJoint::Floating => held[own] = true,
                _ => {}
            }
        }
    }
    // What is tied to something held is held; a chain takes several rounds.
    let mut spread = true;
    while spread {
        spread = false;
        for tie in &ties {
            if tie.iter().any(|&i| held[i]) && tie.iter().any(|&i| !held[i]) {
                tie.iter().for_each(|&i| held[i] = true);
                spread = true;
            }
        }
    }
    (0..count).filter(|&i| !held[i]).collect()
}

fn no_ground(world: &World, loose: &[usize]) -> Finding {
    let what = format!(
        "{} of the bodies fall, and there is nothing that does not fall with them",
        loose.len()
    );
    let remedy = "add a static body with a half-space, hold something by a joint to the world, or set gravity to zero";
    let places = loose.iter().map(|&i| named(world, i)).collect();
    let kind = (Severity::Warning, FindingKind::NoGround);
    let number = (loose.len() as f64, "bodies that fall");
    Finding::new(kind, number, places, (what, remedy))
}

/// Bodies that fall through everything: without a shape, or whose groups meet no other's. One body of a robot that
/// can be touched is enough for the robot; what a joint holds is left out.
fn untouchable(world: &World, loose: &[usize]) -> Option<Finding> {
    let touchable = touchable(world);
    let mut alone = vec![false; touchable.len()];
    loose.iter().for_each(|&i| alone[i] = true);
    let joined = world.joints().iter().flat_map(|joint| joint.links());
    joined.for_each(|id| alone[id.index()] = false);
    let mut places = Vec::new();
    for robot in world.robots() {
        let links = (0..robot.tree().links().len() as u32).map(LinkId);
        let bodies = links.filter_map(|link| robot.body(link));
        let bodies: Vec<usize> = bodies.map(|id| id.index()).collect();
        let falls = bodies.iter().any(|&i| alone[i]);
        if falls && !bodies.iter().any(|&i| touchable[i]) {
            places.push(format!("robot \"{}\"", robot.name()));
        }
        bodies.iter().for_each(|&i| alone[i] = false);
    }
    let bodies = (0..alone.len()).filter(|&i| alone[i] && !touchable[i]);
    places.extend(bodies.map(|i| named(world, i)));
    let first = places.first()?;
    let what = format!("{first} falls, and nothing can ever touch it");
    let remedy = "give it a shape, or let its groups meet those of the ground";
    let kind = (Severity::Warning, FindingKind::Untouchable);
    let number = (places.len() as f64, "bodies or robots");
    Some(Finding::new(kind, number, places, (what, remedy)))
}

/// Whether a shape of each body meets the groups of some other body's.
fn touchable(world: &World) -> Vec<bool> {
    let colliders = world.colliders();
    // Groups that are in use, with the first body of each and whether it is the only one.
    let mut groups: Vec<(Groups, usize, bool)> = Vec::new();
    for collider in colliders {
        match groups.iter_mut().find(|known| known.0 == collider.group) {
            Some(known) => known.2 &= known.1 == collider.body,
            None => groups.push((collider.group, collider.body, true)),
        }
    }
    let mut touchable = vec![false; world.bodies().len()];
    for collider in colliders {
        let other = |&(group, body, only): &(Groups, usize, bool)| {
            collider.group.meet(group) && !(only && body == collider.body)
        };
        touchable[collider.body] |= groups.iter().any(other);
    }
    touchable
}

/// Loops and joints that do not fit together at the start.
fn open(world: &World) -> Option<Finding> {
    let mut gaps: Vec<(f64, String)> = Vec::new();
    for robot in world.robots() {
        for (closure, gap) in robot.closures().iter().zip(robot.openings()) {
            let place = format!("loop \"{}\" of robot \"{}\"", closure.name, robot.name());
            gaps.push((gap, place));
        }
    }
    for joint in world.joints() {
        let gap = joint.violation(world.bodies());
        if joint.compliance == 0.0 {
            gaps.push((gap, format!("joint \"{}\"", joint.name)));
        }
    }
    gaps.retain(|(gap, _)| CLOSED < *gap);
    gaps.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (worst, place) = gaps.first()?;
    let what = format!(
        "{place} is open by {worst:.2e} m or rad at the start: it is closed in the first steps, which moves what it holds"
    );
    let remedy = "start in a configuration in which it is closed, such as a keyframe of the file";
    let number = (*worst, "gap [m or rad]");
    let kind = (Severity::Warning, FindingKind::Open);
    let places = gaps.into_iter().map(|(_, place)| place).collect();
    Some(Finding::new(kind, number, places, (what, remedy)))
}
