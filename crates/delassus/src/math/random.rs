//! The seeded generator: the same numbers on every machine [Steele14].

use glam::DVec3;

/// SplitMix64: the seeded generator behind shuffled orders and built-in problems, the same on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator that always gives the same numbers for the same seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in [lo, hi).
    pub fn range(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform among 0..n (n > 0).
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// A vector with components uniform in [−1, 1).
    pub fn vector(&mut self) -> DVec3 {
        DVec3::new(
            self.range(-1.0, 1.0),
            self.range(-1.0, 1.0),
            self.range(-1.0, 1.0),
        )
    }

    /// A uniformly random order of the entries.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_splitmix_and_stay_in_their_range() {
        let mut random = Random::new(1234567);
        // The first outputs of the published generator for this seed.
        assert_eq!(random.bits(), 6457827717110365317);
        assert_eq!(random.bits(), 3203168211198807973);
        let mut seen = [0; 5];
        for _ in 0..1000 {
            let x = random.range(-2.0, 3.0);
            assert!((-2.0..3.0).contains(&x));
            seen[random.below(5)] += 1;
        }
        assert!(seen.iter().all(|&count| 100 < count), "{seen:?}");
        let mut order: Vec<usize> = (0..20).collect();
        random.shuffle(&mut order);
        assert!(!order.is_sorted());
        order.sort_unstable();
        assert!(order.into_iter().eq(0..20));
    }
}
