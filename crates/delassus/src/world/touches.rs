//! Contacts of the last step with their impulses, put together on demand: after most steps they are not read.

use std::sync::OnceLock;

use super::assemble::Assembly;
use crate::collide::ContactPoint;
use crate::index::BodyId;
use crate::law::Law;

/// A contact of the last step with its impulse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// Where, and between which bodies.
    pub point: ContactPoint,
    /// Impulse (n, t₁, t₂) on the first body over the last substep \[N s\].
    pub impulse: [f64; 3],
    /// Impulse of torque of rolling and spinning friction about (n, t₁, t₂), on the first body over the last substep
    /// \[N m s\].
    pub torque: [f64; 3],
}

/// What a list of touches is made of, and the list once it was asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Touches {
    contacts: Vec<ContactPoint>,
    /// Places of the contacts that are in the problem, in the order of its blocks.
    used: Vec<usize>,
    impulses: Vec<[f64; 3]>,
    /// Of every contact, or empty where no contact has rows of spin.
    torques: Vec<[f64; 3]>,
    list: OnceLock<Vec<Touch>>,
}

impl Touches {
    /// All contacts of the last step that impulses act on, in the order of its problem.
    pub(super) fn list(&self) -> &[Touch] {
        self.list.get_or_init(|| {
            let torque = |i: usize| self.torques.get(i).copied().unwrap_or_default();
            let touches = self.used.iter().zip(&self.impulses).enumerate();
            let touch = |(i, (&c, &impulse)): (usize, (&usize, &[f64; 3]))| Touch {
                point: self.contacts[c],
                impulse,
                torque: torque(i),
            };
            touches.map(touch).collect()
        })
    }

    /// The contacts of the last substep with their impulses (n, t₁, t₂), in the order of its problem.
    pub(super) fn pushing(&self) -> impl Iterator<Item = (&ContactPoint, &[f64; 3])> {
        let points = self.used.iter().map(|c| &self.contacts[*c]);
        points.zip(&self.impulses)
    }

    /// Forgets what touched a body.
    pub(super) fn forget(&mut self, body: BodyId) {
        let others = |c: &usize| {
            let (a, b) = self.contacts[*c].bodies;
            a != body.index() && b != body.index()
        };
        let kept: Vec<bool> = self.used.iter().map(others).collect();
        if !kept.contains(&false) {
            return;
        }
        let mut keep = kept.iter().copied();
        self.used.retain(|_| keep.next() != Some(false));
        let mut keep = kept.iter().copied();
        self.impulses.retain(|_| keep.next() != Some(false));
        let mut keep = kept.iter().copied();
        self.torques.retain(|_| keep.next() != Some(false));
        self.list.take();
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.used.clear();
        self.impulses.clear();
        self.torques.clear();
        self.list.take();
    }

    /// Takes the contacts of a step over, with the places that its assembly needs no more. Gives the contacts of the step
    /// before, for the memory they stand in.
    pub(super) fn replace(
        &mut self,
        contacts: Vec<ContactPoint>,
        assembly: &mut Assembly,
        lambda: &[f64],
    ) -> Vec<ContactPoint> {
        self.clear();
        std::mem::swap(&mut self.used, &mut assembly.contacts);
        let blocks = assembly.problem.blocks().iter();
        let mut blocks = blocks.skip(assembly.first_contact).take(self.used.len());
        if assembly.spins {
            for block in blocks {
                let (impulse, torque) = split(&block.law, &lambda[block.rows()]);
                self.impulses.push(impulse);
                self.torques.push(torque);
            }
        } else {
            // Contacts have three rows each and stand one behind the other.
            let rows = blocks
                .next()
                .map_or(&[][..], |block| &lambda[block.start..]);
            let impulses = rows.as_chunks::<3>().0.iter().take(self.used.len());
            self.impulses.extend(impulses);
        }
        std::mem::replace(&mut self.contacts, contacts)
    }
}

/// Impulse and impulse of torque of a contact, both about (n, t₁, t₂).
fn split(law: &Law, lambda: &[f64]) -> ([f64; 3], [f64; 3]) {
    // A frictionless contact has the normal row alone.
    let impulse = std::array::from_fn(|i| lambda.get(i).copied().unwrap_or(0.0));
    let torque = match (law, lambda) {
        (Law::RollingCone { .. }, &[_, _, _, r1, r2]) => [0.0, r1, r2],
        (Law::TorsionalCone { .. }, &[_, _, _, s]) => [s, 0.0, 0.0],
        (_, &[_, _, _, r1, r2, s]) => [s, r1, r2],
        _ => [0.0; 3],
    };
    (impulse, torque)
}
