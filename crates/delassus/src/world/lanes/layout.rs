//! Which body of a world stands in which lane: trees of bodies on ball joints, equal ones eight at a time.

use std::collections::HashMap;

use glam::{DMat3, DVec3};

use super::super::{JointKind, MovedBy, World};
use crate::index::BodyId;
use crate::math::simd::{LANES, Lane};

/// What a body hangs from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Parent {
    /// Nothing: it is the root of a tree that flies.
    None,
    /// A fixed point.
    Ground,
    /// A body of the tree, which comes before it.
    Link(u32),
}

/// A body of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TreeBody {
    pub(super) parent: Parent,
    /// Whether it is the first body of its joint.
    pub(super) first: bool,
    /// Whether it resists turning about all axes alike.
    pub(super) round: bool,
}

/// What a body of eight trees is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub(super) struct BodyMake {
    pub(super) mass: Lane,
    pub(super) mass_inverse: Lane,
    /// In body axes: xx, xy, xz, yy, yz, zz.
    pub(super) inertia: [Lane; 6],
    /// From its centre to its joint, in body axes; and from the centre of the body above to it in that one's, or
    /// where it is in the world.
    pub(super) arm: [Lane; 3],
    pub(super) above: [Lane; 3],
}

/// Up to eight equal trees.
#[derive(Clone, Debug)]
pub(super) struct Team {
    /// Which shape.
    pub(super) shape: usize,
    /// Trees; lanes that are left over repeat the last.
    pub(super) used: usize,
    /// Bodies and joints of each link, lane by lane; links without a joint have any.
    pub(super) bodies: Vec<[u32; LANES]>,
    pub(super) joints: Vec<[u32; LANES]>,
    pub(super) made: Vec<BodyMake>,
}

/// Where a body and its joint stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) team: u32,
    pub(super) link: u32,
    pub(super) lane: u32,
}

/// The trees of a world in lanes.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub(super) shapes: Vec<Vec<TreeBody>>,
    pub(super) teams: Vec<Team>,
    /// Places of all bodies and joints that are in a tree.
    pub(super) bodies: Vec<Option<Place>>,
    pub(super) joints: Vec<Option<Place>>,
    /// Whether there is nothing but these trees and what never moves.
    pub(super) is_whole: bool,
    /// What moved each body when the lanes were laid out.
    motion: Vec<MovedBy>,
}

/// A joint that a body has, and the body on its other side.
#[derive(Clone, Copy)]
struct Held {
    joint: u32,
    other: Option<u32>,
}

/// Bodies of one tree, parents first, with the joint of each.
type Tree = Vec<(u32, u32)>;

impl Layout {
    /// The trees of dynamic bodies on ball joints without compliance; `None` where there are none, or where most lanes
    /// would stay empty.
    pub(super) fn new(world: &World) -> Option<Layout> {
        let held = Neighbours::new(world)?;
        let mut kinds: HashMap<Vec<TreeBody>, usize> = HashMap::new();
        let (mut shapes, mut trees): (Vec<Vec<TreeBody>>, Vec<Vec<Tree>>) =
            (Vec::new(), Vec::new());
        let motion = world.bodies.motion.clone();
        let mut seen = vec![false; motion.len()];
        let dynamic = |b: u32| motion[b as usize] == MovedBy::Dynamic;
        let grounded = |b: &u32| held.of(*b).iter().any(|held| held.other.is_none());
        let moves = |motion: &MovedBy| matches!(motion, MovedBy::Kinematic | MovedBy::Link);
        let mut is_whole = !motion.iter().any(moves);
        // What hangs from a fixed point first; what is left then hangs from nothing.
        let all = || (0..motion.len() as u32).filter(|b| dynamic(*b));
        for root in all().filter(grounded).chain(all()) {
            if seen[root as usize] {
                continue;
            }
            let Some((links, tree)) = grow(world, root, &held, &mut seen) else {
                is_whole = false;
                continue;
            };
            let kind = *kinds.entry(links).or_insert_with_key(|links| {
                shapes.push(links.clone());
                trees.push(Vec::new());
                shapes.len() - 1
            });
            trees[kind].push(tree);
        }
        let mut teams = Vec::new();
        for (shape, trees) in trees.iter().enumerate() {
            teams.extend(trees.chunks(LANES).map(|trees| Team::new(shape, trees)));
        }
        let mut layout = Layout {
            shapes,
            teams,
            bodies: vec![None; motion.len()],
            joints: vec![None; world.joints.len()],
            is_whole,
            motion,
        };
        let count = |used: fn(&Team) -> usize| -> usize {
            let teams = layout.teams.iter();
            teams.map(|team| used(team) * team.bodies.len()).sum()
        };
        if 2 * count(|team| team.used) < count(|_| LANES) || layout.teams.is_empty() {
            return None;
        }
        layout.find_places();
        layout.fill(world);
        Some(layout)
    }

    fn find_places(&mut self) {
        for (t, team) in self.teams.iter().enumerate() {
            let links = self.shapes[team.shape].iter();
            let both = team.bodies.iter().zip(&team.joints);
            for (i, (link, (bodies, joints))) in links.zip(both).enumerate() {
                for lane in 0..team.used {
                    let place = Place {
                        team: t as u32,
                        link: i as u32,
                        lane: lane as u32,
                    };
                    self.bodies[bodies[lane] as usize] = Some(place);
                    if link.parent != Parent::None {
                        self.joints[joints[lane] as usize] = Some(place);
                    }
                }
            }
        }
    }

    pub(super) fn link(&self, place: Place) -> TreeBody {
        self.shapes[self.teams[place.team as usize].shape][place.link as usize]
    }

    /// Whether nothing holds the bodies of a team.
    pub(super) fn is_lone(&self, team: &Team) -> bool {
        matches!(
            self.shapes[team.shape][..],
            [TreeBody {
                parent: Parent::None,
                ..
            }]
        )
    }

    /// Whether bodies are still moved by the same, and made of the same.
    pub(super) fn still_fits(&mut self, world: &World) -> bool {
        self.motion == world.bodies.motion && !self.fill(world)
    }

    /// Writes what bodies are made of into the lanes; true where something was another.
    fn fill(&mut self, world: &World) -> bool {
        let mut changed = false;
        for team in &mut self.teams {
            let links = &self.shapes[team.shape];
            for (i, made) in team.made.iter_mut().enumerate() {
                let mut new = BodyMake::default();
                for l in 0..LANES {
                    new.put(l, world, links[i], (team.bodies[i][l], team.joints[i][l]));
                }
                changed |= new != *made;
                *made = new;
            }
        }
        changed
    }
}

/// The joints of every dynamic body.
struct Neighbours {
    /// One list behind the other, and where each begins.
    held: Vec<Held>,
    starts: Vec<u32>,
    /// Bodies that something else holds, or something that moves by itself.
    odd: Vec<bool>,
}

impl Neighbours {
    /// `None` where there are no joints.
    fn new(world: &World) -> Option<Neighbours> {
        let (bodies, joints) = (&world.bodies, &world.joints);
        if joints.is_empty() {
            return None;
        }
        let motion = |id: BodyId| bodies.motion[id.index()];
        let dynamic = |id: &BodyId| motion(*id) == MovedBy::Dynamic;
        let mut odd = vec![false; bodies.len()];
        let mut sides = Vec::with_capacity(2 * joints.len());
        for (j, joint) in joints.iter().enumerate() {
            // What was cut has no sides.
            if joint.kind == JointKind::Gone {
                continue;
            }
            let simple =
                joint.kind == JointKind::Ball && joint.compliance == 0.0 && joint.damping.is_none();
            let stands = |id: BodyId| matches!(motion(id), MovedBy::Dynamic | MovedBy::Static);
            if !simple || !joint.each_link().all(stands) {
                joint.each_link().for_each(|id| odd[id.index()] = true);
                continue;
            }
            let ends = joint.bodies.map(|id| id.filter(dynamic).map(|id| id.0));
            for (body, other) in [(ends[0], ends[1]), (ends[1], ends[0])] {
                let joint = j as u32;
                sides.extend(body.map(|body| (body, Held { joint, other })));
            }
        }
        let mut starts = vec![0_u32; bodies.len() + 1];
        sides
            .iter()
            .for_each(|(body, _)| starts[*body as usize + 1] += 1);
        for b in 0..bodies.len() {
            starts[b + 1] += starts[b];
        }
        // In the order of the bodies, and for each in that of its joints.
        sides.sort_by_key(|(body, _)| *body);
        let held = sides.into_iter().map(|(_, held)| held).collect();
        Some(Neighbours { held, starts, odd })
    }

    fn of(&self, body: u32) -> &[Held] {
        let body = body as usize;
        &self.held[self.starts[body] as usize..self.starts[body + 1] as usize]
    }
}

/// The tree that hangs by a body; `None` where it closes a loop, through the ground or without, or where something else
/// holds one of its bodies. `seen` are the bodies that have been looked at: all that hang together with it are.
fn grow(
    world: &World,
    root: u32,
    held: &Neighbours,
    seen: &mut [bool],
) -> Option<(Vec<TreeBody>, Tree)> {
    let ground = held.of(root).iter().find(|held| held.other.is_none());
    let (mut links, mut tree): (Vec<TreeBody>, Tree) = (Vec::new(), Vec::new());
    let mut add = |tree: &mut Tree, parent: Parent, body: u32, joint: u32| {
        let first = |id: BodyId| id.0 == body && parent != Parent::None;
        links.push(TreeBody {
            parent,
            first: world.joints[joint as usize].bodies[0].is_some_and(first),
            round: is_round(&world.bodies.inertia[body as usize]),
        });
        tree.push((body, joint));
    };
    seen[root as usize] = true;
    match ground {
        Some(held) => add(&mut tree, Parent::Ground, root, held.joint),
        None => add(&mut tree, Parent::None, root, 0),
    }
    let (mut i, mut fits) = (0, true);
    while let Some(&(body, own)) = tree.get(i) {
        fits &= !held.odd[body as usize];
        for held in held.of(body) {
            let is_own = held.joint == own && (0 < i || ground.is_some());
            match held.other {
                _ if is_own => {}
                Some(other) if !seen[other as usize] => {
                    seen[other as usize] = true;
                    add(&mut tree, Parent::Link(i as u32), other, held.joint);
                }
                _ => fits = false,
            }
        }
        i += 1;
    }
    fits.then_some((links, tree))
}

/// Whether all axes are alike.
fn is_round(inertia: &DMat3) -> bool {
    *inertia == DMat3::from_diagonal(DVec3::splat(inertia.x_axis.x))
}

impl Team {
    fn new(shape: usize, trees: &[Tree]) -> Team {
        let last = trees.len() - 1;
        let n = trees[last].len();
        let each = |i: usize| std::array::from_fn(|l| trees[l.min(last)][i]);
        let all: Vec<[(u32, u32); LANES]> = (0..n).map(each).collect();
        Team {
            shape,
            used: trees.len(),
            bodies: all
                .iter()
                .map(|lanes| lanes.map(|(body, _)| body))
                .collect(),
            joints: all
                .iter()
                .map(|lanes| lanes.map(|(_, joint)| joint))
                .collect(),
            made: vec![BodyMake::default(); n],
        }
    }
}

impl BodyMake {
    /// Writes one lane.
    fn put(&mut self, l: usize, world: &World, link: TreeBody, (body, joint): (u32, u32)) {
        let (bodies, body) = (&world.bodies, body as usize);
        self.mass[l] = bodies.mass[body];
        self.mass_inverse[l] = 1.0 / bodies.mass[body];
        let i = &bodies.inertia[body];
        let inertia = [
            i.x_axis.x, i.y_axis.x, i.z_axis.x, i.y_axis.y, i.z_axis.y, i.z_axis.z,
        ];
        for (place, x) in self.inertia.iter_mut().zip(inertia) {
            place[l] = x;
        }
        if link.parent == Parent::None {
            return;
        }
        let joint = &world.joints[joint as usize];
        let (own, other) = if link.first { (0, 1) } else { (1, 0) };
        let origin = joint.frames[other].origin;
        let above = match (link.parent, joint.bodies[other]) {
            // A fixed point of the world, or of a body that never moves.
            (Parent::Ground, Some(id)) => bodies.to_world(id, origin),
            _ => origin,
        };
        let arm = joint.frames[own].origin;
        for k in 0..3 {
            self.arm[k][l] = arm[k];
            self.above[k][l] = above[k];
        }
    }
}
