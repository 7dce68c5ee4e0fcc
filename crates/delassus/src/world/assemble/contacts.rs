//! Contacts of a step: who of them is in the problem, how fast each shall part, and what it feels of bodies that move
//! by themselves. Contacts with rolling or spinning friction have rows of relative spin and stand behind those without.

use glam::DVec3;

use super::super::warm::Key;
use super::super::{FrictionModel, Surface, World};
use super::joints::{MOST, SIDES, Written};
use super::{Assembling, Assembly, Work, dot, subtract};
use crate::collide::ContactPoint;
use crate::error::BuildError;
use crate::index::{BodyId, MassId, RobotId};
use crate::law::Law;
use crate::math::parallel::{self, CHUNK};
use crate::math::tangents;
use crate::problem::Contact;
use crate::problem::jacobian::{point_row, spin_axes, spin_row};
use crate::problem::place::{Place, Side};
use crate::problem::stabilise::{Approach, Coefficients, Restitution, RowTerms, Stabilise};

/// Bodies that overlap part at no more than this \[m/s\]; else a deep overlap becomes a jump of (4 g/9h)²/2 over gravity.
pub(in crate::world) const PUSH: f64 = 1.0;

/// Links of one robot that overlap by more than this are not parted, only kept from going deeper \[m\]: hulls around
/// meshes overlap where the meshes do not, and a finger between two of them cannot part from both.
const NESTED: f64 = 1e-3;

/// Contacts that a thread lists at a time.
const MANY: usize = 8 * CHUNK;

impl Assembling<'_> {
    /// Adds the contacts of free bodies.
    pub(super) fn contacts(&mut self, contacts: &[ContactPoint]) -> Result<(), BuildError> {
        let robots = !self.world.robots().is_empty();
        let spins = self.world.resists_spin();
        let mut found = std::mem::take(&mut self.work.found);
        found.clear();
        let mut surfaces = std::mem::take(&mut self.work.surfaces);
        fill_surfaces(self.world, contacts.len(), &mut surfaces);
        let listed = !robots && !spins && self.list_all(contacts);
        let others = if listed { &[][..] } else { contacts };
        let known = (&self.work.free[..], &self.work.old[..]);
        let shared = Contacts::new(self.world, self.h, &surfaces, known);
        for (c, point) in others.iter().enumerate() {
            let (a, b) = point.bodies;
            let pair = [self.work.mass[a], self.work.mass[b]];
            let linked = robots && (self.is_link(a) || self.is_link(b));
            if pair == [None, None] || linked {
                continue;
            }
            if spins && self.world.surface_at(point.colliders).resists_spin() {
                found.push((c, shared.contact(point)));
                continue;
            }
            self.used.push(c);
            self.work.pairs.push(pair);
            self.keys.push(Key::contact(point));
        }
        let (used, pairs) = (&self.used, &self.work.pairs);
        self.builder
            .add_contacts(pairs, |i| shared.of_bodies(&contacts[used[i]], pairs[i]))?;
        let done = self.single_contacts(contacts, &found);
        (self.work.found, self.work.surfaces) = (found, surfaces);
        done
    }

    /// Lists all contacts as contacts of free bodies, where each acts on one; else nothing, and says so.
    fn list_all(&mut self, contacts: &[ContactPoint]) -> bool {
        let Assembling {
            keys, used, work, ..
        } = self;
        let Work { mass, pairs, .. } = &mut **work;
        let (mass, before) = (&mass[..], keys.len());
        let Some(first) = contacts.first() else {
            return true;
        };
        keys.resize(before + contacts.len(), Key::contact(first));
        pairs.resize(contacts.len(), [None; 2]);
        let parts = keys[before..].chunks_mut(MANY).zip(pairs.chunks_mut(MANY));
        let all = parallel::all(
            parts.zip(contacts.chunks(MANY)),
            |((keys, pairs), contacts)| {
                let mut all = true;
                for ((key, pair), point) in keys.iter_mut().zip(pairs).zip(contacts) {
                    let (a, b) = point.bodies;
                    *key = Key::contact(point);
                    *pair = [mass[a], mass[b]];
                    all &= *pair != [None, None];
                }
                all
            },
        );
        if all {
            used.extend(0..contacts.len());
        } else {
            keys.truncate(before);
            pairs.clear();
        }
        all
    }

    /// Adds the contacts of links. One that no joint can part is left out: no impulse changes how fast it parts, and any
    /// would do, without end. Such is a wheel under a bolted chassis, and a turntable that stands on the ground.
    pub(super) fn link_contacts(&mut self, contacts: &[ContactPoint]) -> Result<(), BuildError> {
        if self.world.robots().is_empty() {
            return Ok(());
        }
        let shared = Contacts::new(self.world, self.h, &[], (&self.work.free, &self.work.old));
        let mut found = std::mem::take(&mut self.work.found);
        found.clear();
        for (c, point) in contacts.iter().enumerate() {
            let linked = self.is_link(point.bodies.0) || self.is_link(point.bodies.1);
            if linked && self.can_part(point) {
                found.push((c, shared.contact(point)));
            }
        }
        let done = self.single_contacts(contacts, &found);
        self.work.found = found;
        done
    }

    /// Whether a free body, or a joint, can part a contact.
    fn can_part(&self, point: &ContactPoint) -> bool {
        let (a, b) = point.bodies;
        let at = (middle(point), point.normal);
        let robot = |id: RobotId| &self.world.robots()[id.index()];
        match [a, b].map(|body| self.work.mass[body].and(self.world.link_of(body))) {
            [Some(a), Some(b)] if a.robot == b.robot => {
                robot(a.robot).can_part((a.link, Some(b.link)), at)
            }
            ends => [a, b].into_iter().zip(ends).any(|(body, end)| match end {
                Some(end) => robot(end.robot).can_part((end.link, None), at),
                None => self.work.mass[body].is_some(),
            }),
        }
    }

    /// Adds contacts one by one, each with its place in the list.
    fn single_contacts(
        &mut self,
        contacts: &[ContactPoint],
        found: &[(usize, Contact)],
    ) -> Result<(), BuildError> {
        for (c, contact) in found {
            self.single_contact(&contacts[*c], contact)?;
            self.used.push(*c);
        }
        Ok(())
    }

    fn single_contact(
        &mut self,
        point: &ContactPoint,
        contact: &Contact,
    ) -> Result<(), BuildError> {
        let axes = spin_axes(&contact.law, &contact.frame);
        let n = (3 + axes.len()).min(MOST);
        let bodies = [point.bodies.0, point.bodies.1];
        // What rests whatever happens needs no rows.
        let rests =
            bodies.map(|body| self.work.mass[body].is_none() && self.work.free[body] == [0.0; 6]);
        let mut rows = [[0.0; 6 * MOST]; 2];
        for side in SIDES.into_iter().filter(|side| !rests[*side as usize]) {
            let rows = &mut rows[side as usize];
            rows[..18].copy_from_slice(&contact.rows(side));
            let about = rows[18..].as_chunks_mut::<6>().0.iter_mut();
            for (row, axis) in about.zip(&axes) {
                *row = spin_row(*axis, side.sign());
            }
        }
        let directions = contact.frame.map(|d| d.to_array());
        let ends = SIDES.into_iter().filter(|side| !rests[*side as usize]);
        let ends = ends.map(|side| Written {
            link: Some(BodyId(bodies[side as usize] as u32)),
            rows: &rows[side as usize][..6 * n],
            // Rows of spin act on a body and not at a point of it.
            point: axes.is_empty().then(|| {
                let arm = contact.arms[side as usize];
                (Place::Point { arm, side }, directions.as_flattened())
            }),
        });
        let (mut sigma, mut q) = ([0.0; MOST], [0.0; MOST]);
        sigma[..3].copy_from_slice(&contact.sigma);
        q[..3].copy_from_slice(&contact.q);
        let key = Key::contact(point);
        self.add(contact.law, ends, (&sigma[..n], &mut q[..n]), key)?;
        self.spins |= !axes.is_empty();
        Ok(())
    }
}

impl Assembly {
    /// Takes the push that parts overlaps from the wanted velocities. Returns whether there was any.
    pub(in crate::world) fn take_pushes(
        &mut self,
        world: &World,
        contacts: &[ContactPoint],
        h: f64,
    ) -> bool {
        let known = (&self.work.free[..], &self.work.old[..]);
        let mut surfaces = std::mem::take(&mut self.work.surfaces);
        fill_surfaces(world, contacts.len(), &mut surfaces);
        let shared = Contacts::new(world, h, &surfaces, known);
        let mut any = false;
        for (i, c) in self.contacts.iter().enumerate() {
            let push = shared.push(&contacts[*c]);
            if 0.0 < push {
                let row = self.problem.blocks()[self.first_contact + i].start;
                let wanted = self.problem.wanted(row);
                self.problem.want(row, wanted - push);
                any = true;
            }
        }
        self.work.surfaces = surfaces;
        any
    }
}

impl World {
    /// How contacts are kept from overlapping in steps of h seconds.
    pub(in crate::world) fn hold_contacts(&self, h: f64) -> Stabilise {
        Stabilise::Spook {
            compliance: self.settings.contact_compliance,
            damping: self.settings.contact_damping * h,
        }
    }

    /// Whether any surface resists rolling or spinning.
    fn resists_spin(&self) -> bool {
        let pairs = self.pairs.iter().map(|(_, surface)| surface);
        self.surfaces.iter().chain(pairs).any(Surface::resists_spin)
    }

    /// Whether anything bounces.
    pub(super) fn has_restitution(&self) -> bool {
        let pairs = self.pairs.iter().map(|(_, surface)| surface);
        let mut all = self.surfaces.iter().chain(pairs);
        all.any(|surface| surface.restitution != 0.0)
    }

    /// The surface between two colliders that are there.
    fn surface_at(&self, (a, b): (u32, u32)) -> Surface {
        let material = |collider: u32| self.materials[collider as usize];
        self.surface_of(material(a), material(b))
    }
}

/// Surfaces of all pairs of materials, row by row; none where these are more than so many contacts.
fn fill_surfaces(world: &World, most: usize, table: &mut Vec<Surface>) {
    let count = world.surfaces.len();
    table.clear();
    if count * count <= most {
        let pair = |i: usize| world.surface_of((i / count) as u32, (i % count) as u32);
        table.extend((0..count * count).map(pair));
    }
}

/// What all contacts of a step share.
struct Contacts<'a> {
    world: &'a World,
    /// Surfaces of all pairs of materials, row by row; empty where these are more than the contacts.
    surfaces: &'a [Surface],
    h: f64,
    coefficients: Coefficients,
    /// Overlap beyond which bodies part no faster \[m\].
    deepest: f64,
    /// Share of its restitution that each has.
    bounce: f64,
    free: &'a [[f64; 6]],
    old: &'a [[f64; 6]],
}

impl<'a> Contacts<'a> {
    fn new(
        world: &'a World,
        h: f64,
        surfaces: &'a [Surface],
        (free, old): (&'a [[f64; 6]], &'a [[f64; 6]]),
    ) -> Contacts<'a> {
        let coefficients = world.hold_contacts(h).coefficients(h);
        Contacts {
            world,
            surfaces,
            h,
            deepest: PUSH * h / coefficients.e,
            coefficients,
            bounce: world.bounce(),
            free,
            old,
        }
    }

    fn surface(&self, (a, b): (u32, u32)) -> Surface {
        let material = |collider: u32| self.world.materials[collider as usize];
        let (a, b) = (material(a), material(b));
        let at = a as usize * self.world.surfaces.len() + b as usize;
        match self.surfaces.get(at) {
            Some(surface) => *surface,
            None => self.world.surface_of(a, b),
        }
    }

    /// A contact of free bodies; the velocity of one without a mass enters through q.
    #[inline(always)]
    fn of_bodies(&self, point: &ContactPoint, masses: [Option<MassId>; 2]) -> Contact {
        let mut contact = self.contact(point);
        let (a, b) = point.bodies;
        for (side, body) in [(Side::First, a), (Side::Second, b)] {
            if masses[side as usize].is_none() {
                let rows = contact.rows(side);
                subtract(&mut contact.q, &rows, &self.free[body]);
            }
        }
        contact
    }

    /// Where a contact acts on both bodies, its law, and how fast it shall part.
    #[inline(always)]
    fn contact(&self, point: &ContactPoint) -> Contact {
        let (t1, t2) = tangents(point.normal);
        let frame = [point.normal, t1, t2];
        let arms = self.arms(point);
        let surface = self.surface(point.colliders);
        let RowTerms { sigma, q } = self.wanted(point, arms, &surface, -self.deepest);
        let law = law(self.world.settings.friction, &surface);
        Contact {
            law,
            frame,
            arms,
            sigma: [sigma, 0.0, 0.0],
            q: [q, 0.0, 0.0],
        }
    }
}

impl Contacts<'_> {
    /// Compliance and wanted velocity of the normal, with overlaps no deeper than this gap.
    #[inline(always)]
    fn wanted(
        &self,
        point: &ContactPoint,
        arms: [DVec3; 2],
        surface: &Surface,
        deepest: f64,
    ) -> RowTerms {
        let (a, b) = point.bodies;
        // Only what may bounce asks how fast it approaches.
        let bounces = 0.0 < surface.restitution;
        let normal = |side: usize, sign| point_row(point.normal, arms[side], sign);
        let along = |v: &[[f64; 6]]| match bounces {
            true => dot(&normal(0, 1.0), &v[a]) + dot(&normal(1, -1.0), &v[b]),
            false => 0.0,
        };
        let approach = Approach {
            gap: self.gap(point).max(deepest),
            velocity: along(self.old),
            free_velocity: along(self.free),
        };
        let restitution = Restitution {
            coefficient: self.bounce * surface.restitution,
            threshold: self.world.settings.restitution_threshold,
        };
        self.coefficients.contact(self.h, approach, restitution)
    }

    /// The gap that counts: none where links of one robot are nested.
    #[inline(always)]
    fn gap(&self, point: &ContactPoint) -> f64 {
        if -NESTED <= point.gap || self.world.robots().is_empty() {
            return point.gap;
        }
        let robot = |body: usize| self.world.link_of(body).map(|link| link.robot);
        match (robot(point.bodies.0), robot(point.bodies.1)) {
            (Some(a), Some(b)) if a == b => 0.0,
            _ => point.gap,
        }
    }

    /// What parting the overlap adds to the wanted velocity of a contact.
    fn push(&self, point: &ContactPoint) -> f64 {
        if 0.0 <= self.gap(point) {
            return 0.0;
        }
        let arms = self.arms(point);
        let surface = self.surface(point.colliders);
        let with = self.wanted(point, arms, &surface, -self.deepest).q;
        with - self.wanted(point, arms, &surface, 0.0).q
    }

    /// From the centres of both bodies to the contact.
    #[inline(always)]
    fn arms(&self, point: &ContactPoint) -> [DVec3; 2] {
        let position = &self.world.bodies().position;
        let (a, b) = point.bodies;
        let at = middle(point);
        [at - position[a], at - position[b]]
    }
}

/// Where both bodies are pushed: at one point, so that no couple is left over.
#[inline(always)]
fn middle(point: &ContactPoint) -> DVec3 {
    0.5 * (point.point_a + point.point_b)
}

/// The law of a contact on this surface.
#[inline(always)]
pub(in crate::world) fn law(model: FrictionModel, surface: &Surface) -> Law {
    let mu = surface.friction;
    if surface.resists_spin() {
        return law_with_spin(model, surface);
    }
    match model {
        FrictionModel::Cone | FrictionModel::Ellipsoid => Law::FrictionCone { mu },
        FrictionModel::Box => Law::FrictionBox { mu },
        FrictionModel::Facets(directions) => Law::FrictionFacets { mu, directions },
    }
}

/// The same where rolling or spinning is resisted.
fn law_with_spin(model: FrictionModel, surface: &Surface) -> Law {
    let Surface {
        friction: mu,
        rolling,
        spinning,
        ..
    } = *surface;
    match model {
        FrictionModel::Ellipsoid if rolling == 0.0 => Law::TorsionalCone { mu, spinning },
        FrictionModel::Ellipsoid => Law::EllipsoidCone {
            mu,
            rolling,
            spinning,
        },
        _ if spinning == 0.0 => Law::RollingCone { mu, rolling },
        _ => Law::RollingSpinning {
            mu,
            rolling,
            spinning,
        },
    }
}
