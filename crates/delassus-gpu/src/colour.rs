//! Greedy colouring: every block takes the first colour that none of its bodies has yet.
//!
//! Colours are as large as they can be, because a device wants many blocks at once and pays for every dispatch; the
//! groups of `coloured` on the CPU hold eight, because lanes want neighbours.

use delassus::problem::Primal;
use delassus::{BlockId, MassId};

/// The blocks of every colour, in block order; no two of a colour share a mass.
pub(crate) fn colours(primal: &Primal, blocks: usize) -> Vec<Vec<u32>> {
    // For every mass the colours taken on it, one bit each.
    let mut taken: Vec<Vec<u64>> = vec![Vec::new(); primal.mass().len()];
    let mut colours: Vec<Vec<u32>> = Vec::new();
    for k in 0..blocks as u32 {
        let masses = || primal.jacobian().masses(BlockId(k)).map(MassId::index);
        let word = |b: usize, at: usize| taken[b].get(at).copied().unwrap_or(0);
        let longest = masses().map(|b| taken[b].len()).max().unwrap_or(0);
        let free = (0..=longest).find_map(|at| {
            let used = masses().fold(0, |used, b| used | word(b, at));
            (used != u64::MAX).then(|| 64 * at + used.trailing_ones() as usize)
        });
        let colour = free.unwrap_or(64 * (longest + 1));
        for b in primal.jacobian().masses(BlockId(k)).map(MassId::index) {
            let at = colour / 64;
            if taken[b].len() <= at {
                taken[b].resize(at + 1, 0);
            }
            taken[b][at] |= 1 << (colour % 64);
        }
        if colours.len() <= colour {
            colours.resize(colour + 1, Vec::new());
        }
        colours[colour].push(k);
    }
    colours
}

#[cfg(test)]
mod tests {
    use super::*;
    use delassus::gallery;
    use delassus::problem::Form;

    #[test]
    fn no_colour_holds_a_body_twice_and_there_are_few() {
        for (name, most) in [("chain:40", 2), ("pile:500", 24), ("stack:5", 16)] {
            let problem = gallery::build(name).unwrap();
            let Form::Primal(primal) = problem.form() else {
                panic!("{name} has bodies");
            };
            let colours = colours(primal, problem.blocks().len());
            let count: usize = colours.iter().map(Vec::len).sum();
            assert_eq!(count, problem.blocks().len());
            assert!(colours.len() <= most, "{name}: {} colours", colours.len());
            for colour in &colours {
                let mut seen = vec![false; primal.mass().len()];
                for &k in colour {
                    for b in primal.jacobian().masses(BlockId(k)) {
                        assert!(!seen[b.index()], "{name}: body {b:?} twice");
                        seen[b.index()] = true;
                    }
                }
            }
        }
    }
}
