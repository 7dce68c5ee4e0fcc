//! Contacts of a step: who of them is in the problem, how fast each shall part, and what it feels of bodies that move
//! by themselves.

use super::super::warm::Key;
use super::super::{FrictionModel, Surface, World};
use super::{Step, dot, subtract};
use crate::collide::ContactPoint;
use crate::error::BuildError;
use crate::index::{BodyId, MassId};
use crate::law::Law;
use crate::math::tangents;
use crate::problem::jacobian::point_rows;
use crate::problem::stabilise::{Approach, Coefficients, Restitution, Stabilise};

/// Bodies that overlap part at no more than this \[m/s\]; else a deep overlap becomes a jump of (4 g/9h)²/2 over gravity.
const PUSH: f64 = 1.0;

impl Step<'_> {
    /// Adds the contacts of free bodies.
    pub(super) fn contacts(&mut self, contacts: &[ContactPoint]) -> Result<(), BuildError> {
        let robots = !self.world.robots().is_empty();
        for (c, point) in contacts.iter().enumerate() {
            let (a, b) = point.bodies;
            let pair = [self.mass[a], self.mass[b]];
            let linked = robots && (self.is_link(a) || self.is_link(b));
            if pair != [None, None] && !linked {
                self.used.push(c);
                self.pairs.push(pair);
                self.keys.push(Key::contact(point));
            }
        }
        let shared = Contacts::new(self.world, self.h, contacts.len(), (&self.free, &self.old));
        let (used, pairs) = (&self.used, &self.pairs);
        self.builder.add_contacts(pairs, |i, rows| {
            shared.fill(&contacts[used[i]], pairs[i], rows)
        })
    }

    /// Adds the contacts of links.
    pub(super) fn link_contacts(&mut self, contacts: &[ContactPoint]) -> Result<(), BuildError> {
        if self.world.robots().is_empty() {
            return Ok(());
        }
        let shared = Contacts::new(self.world, self.h, 0, (&self.free, &self.old));
        let mut found = Vec::new();
        for (c, point) in contacts.iter().enumerate() {
            if self.is_link(point.bodies.0) || self.is_link(point.bodies.1) {
                let mut rows = [[0.0; 18]; 2];
                // Both sides are wanted here: what does not move is taken out below.
                let filled = shared.fill(point, [Some(MassId(0)); 2], &mut rows);
                found.push((c, rows, filled));
            }
        }
        for (c, rows, (law, sigma, q)) in &found {
            let point = &contacts[*c];
            let (a, b) = (BodyId(point.bodies.0 as u32), BodyId(point.bodies.1 as u32));
            let entries = [(a, rows[0].to_vec()), (b, rows[1].to_vec())];
            self.block(*law, &entries, (sigma, q), Key::contact(point))?;
            self.used.push(*c);
        }
        Ok(())
    }
}

fn surfaces(world: &World, most: usize) -> Vec<Surface> {
    let count = world.surfaces.len();
    if most < count * count {
        return Vec::new();
    }
    let pair = |i: usize| world.surface_of((i / count) as u32, (i % count) as u32);
    (0..count * count).map(pair).collect()
}

/// What all contacts of a step share.
struct Contacts<'a> {
    world: &'a World,
    /// Surfaces of all pairs of materials, row by row; empty where these are more than the contacts.
    surfaces: Vec<Surface>,
    h: f64,
    coefficients: Coefficients,
    /// Overlap beyond which bodies part no faster \[m\].
    deepest: f64,
    free: &'a [[f64; 6]],
    old: &'a [[f64; 6]],
}

impl<'a> Contacts<'a> {
    fn new(
        world: &'a World,
        h: f64,
        count: usize,
        (free, old): (&'a [[f64; 6]], &'a [[f64; 6]]),
    ) -> Contacts<'a> {
        let hold = Stabilise::Spook {
            compliance: world.settings.contact_compliance,
            damping: world.settings.contact_damping * h,
        };
        let coefficients = hold.coefficients(h);
        Contacts {
            world,
            surfaces: surfaces(world, count),
            h,
            deepest: PUSH * h / coefficients.e,
            coefficients,
            free,
            old,
        }
    }

    fn surface(&self, (a, b): (u32, u32)) -> Surface {
        let material = |collider: u32| self.world.materials[collider as usize] as usize;
        let at = material(a) * self.world.surfaces.len() + material(b);
        match self.surfaces.get(at) {
            Some(surface) => *surface,
            None => self.world.surface((a, b)),
        }
    }

    /// Writes the rows of one contact on the bodies that have a mass; the velocity of others enters through q.
    #[inline(always)]
    fn fill(
        &self,
        point: &ContactPoint,
        masses: [Option<MassId>; 2],
        out: &mut [[f64; 18]],
    ) -> (Law, [f64; 3], [f64; 3]) {
        let (a, b) = point.bodies;
        let position = &self.world.bodies().position;
        // Both bodies are pushed at one point, so that no couple is left over.
        let middle = 0.5 * (point.point_a + point.point_b);
        let (t1, t2) = tangents(point.normal);
        let frame = [point.normal, t1, t2];
        let rows = [
            point_rows(frame, middle - position[a], 1.0),
            point_rows(frame, middle - position[b], -1.0),
        ];
        let surface = self.surface(point.colliders);
        // Only what may bounce asks how fast it approaches.
        let bounces = 0.0 < surface.restitution;
        let along = |v: &[[f64; 6]]| match bounces {
            true => dot(&rows[0][..6], &v[a]) + dot(&rows[1][..6], &v[b]),
            false => 0.0,
        };
        let approach = Approach {
            gap: point.gap.max(-self.deepest),
            velocity: along(self.old),
            free_velocity: along(self.free),
        };
        let restitution = Restitution {
            coefficient: surface.restitution,
            threshold: self.world.settings.restitution_threshold,
        };
        let (sigma, q) = self.coefficients.contact(self.h, approach, restitution);
        let mu = surface.friction;
        let law = match self.world.settings.friction {
            FrictionModel::Cone => Law::FrictionCone { mu },
            FrictionModel::Box => Law::FrictionBox { mu },
            FrictionModel::Facets(directions) => Law::FrictionFacets { mu, directions },
        };
        let mut q = [q, 0.0, 0.0];
        let mut out = out.iter_mut();
        for (i, body) in [a, b].into_iter().enumerate() {
            if masses[i].is_none() {
                subtract(&mut q, &rows[i], &self.free[body]);
            } else if let Some(out) = out.next() {
                *out = rows[i];
            }
        }
        (law, [sigma, 0.0, 0.0], q)
    }
}
