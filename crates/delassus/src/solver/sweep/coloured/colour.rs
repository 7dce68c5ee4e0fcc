//! Greedy colouring with colours of at most eight contacts, the groups: a contact goes into the oldest open group
//! that holds none of its bodies.
//!
//! Only the last 64 groups are open. So a body knows its groups by the bits of one number, and contacts stay near
//! their place in the order, which keeps convergence close to that of the order itself and bodies in cache.

use super::lanes::LANES;

/// Groups that are open at a time, one bit each.
const OPEN: usize = u64::BITS as usize;

/// The open groups; group g has bit and place g mod 64.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// Groups opened so far.
    groups: usize,
    /// Groups with a free lane.
    free: u64,
    /// Rows of the bodies in each group, lane by lane; ground is row 0.
    members: [[[u32; 2]; LANES]; OPEN],
    filled: [usize; OPEN],
}

impl Default for Window {
    fn default() -> Window {
        Window {
            groups: 0,
            free: 0,
            members: [[[0; 2]; LANES]; OPEN],
            filled: [0; OPEN],
        }
    }
}

impl Window {
    /// Group and lane of the next contact. `used` keeps for every row the groups that hold it, zero at first.
    pub(super) fn place(&mut self, rows: [u32; 2], used: &mut [u64]) -> (usize, usize) {
        // Everything touches ground, which does not move.
        let bodies = || rows.iter().map(|&row| row as usize).filter(|&row| row != 0);
        let taken = bodies().fold(0, |taken, row| taken | used[row]);
        let oldest = self.groups.saturating_sub(OPEN);
        let by_age = (self.free & !taken).rotate_right((oldest % OPEN) as u32);
        let group = if by_age == 0 {
            self.open(used)
        } else {
            oldest + by_age.trailing_zeros() as usize
        };
        let at = group % OPEN;
        bodies().for_each(|row| used[row] |= 1 << at);
        let lane = self.filled[at];
        self.members[at][lane] = rows;
        self.filled[at] += 1;
        if self.filled[at] == LANES {
            self.free &= !(1 << at);
        }
        (group, lane)
    }

    /// Opens a group in the place of the oldest one.
    fn open(&mut self, used: &mut [u64]) -> usize {
        let at = self.groups % OPEN;
        for row in self.members[at][..self.filled[at]].as_flattened() {
            used[*row as usize] &= !(1 << at);
        }
        self.filled[at] = 0;
        self.free |= 1 << at;
        self.groups += 1;
        self.groups - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Random;

    #[test]
    fn groups_hold_no_body_twice_and_are_nearly_full() {
        let mut random = Random::new(3);
        let (bodies, contacts) = (500, 2000);
        let mut used = vec![0; bodies + 1];
        let mut window = Window::default();
        let mut groups: Vec<Vec<u32>> = Vec::new();
        for _ in 0..contacts {
            let a = 1 + random.below(bodies) as u32;
            // Row 0 is ground, and may come as often as it likes.
            let rows = [a, (a + 1 + random.below(20) as u32) % (bodies as u32 + 1)];
            let (group, lane) = window.place(rows, &mut used);
            groups.resize(groups.len().max(group + 1), Vec::new());
            assert!(lane < LANES);
            groups[group].extend(rows.iter().filter(|row| **row != 0));
        }
        for group in &mut groups {
            let count = group.len();
            group.sort_unstable();
            group.dedup();
            assert_eq!(group.len(), count);
        }
        assert!(
            groups.len() * LANES < contacts + contacts / 10,
            "{}",
            groups.len()
        );
    }
}
