//! Contacts of the last step with their impulses, put together on demand: after most steps they are not read.

use std::sync::OnceLock;

use super::assemble::Assembly;
use crate::collide::ContactPoint;

/// A contact of the last step with its impulse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// Where, and between which bodies.
    pub point: ContactPoint,
    /// Impulse (n, t₁, t₂) on the first body over the last substep \[N s\].
    pub impulse: [f64; 3],
}

/// What a list of touches is made of, and the list once it was asked for.
#[derive(Debug, Default)]
pub(super) struct Touches {
    contacts: Vec<ContactPoint>,
    /// Places of the contacts that are in the problem, in the order of its blocks.
    used: Vec<usize>,
    impulses: Vec<[f64; 3]>,
    list: OnceLock<Vec<Touch>>,
}

impl Touches {
    /// All contacts of the last step that impulses act on, in the order of its problem.
    pub(super) fn list(&self) -> &[Touch] {
        self.list.get_or_init(|| {
            let touches = self.used.iter().zip(&self.impulses);
            let touch = |(&c, &impulse): (&usize, &[f64; 3])| Touch {
                point: self.contacts[c],
                impulse,
            };
            touches.map(touch).collect()
        })
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.used.clear();
        self.impulses.clear();
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
        let first = assembly.problem.blocks().get(assembly.first_contact);
        // Contacts have three rows each and stand one behind the other.
        let rows = first.map_or(&[][..], |block| &lambda[block.start..]);
        let impulses = rows.as_chunks::<3>().0.iter().take(self.used.len());
        self.impulses.extend(impulses);
        std::mem::replace(&mut self.contacts, contacts)
    }
}
