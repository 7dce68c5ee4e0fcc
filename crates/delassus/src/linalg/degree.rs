//! The order in which bodies are eliminated: fewest neighbours first, on a graph of bits.
//!
//! Islands of contacts have few bodies and many couplings, so that a word compares sixty-four of them at once.

/// Who couples to whom among bodies that are left, a bit for each pair.
pub(crate) struct Graph {
    n: usize,
    words: usize,
    bits: Vec<u64>,
}

impl Graph {
    pub(crate) fn new(n: usize, elements: &[Vec<usize>]) -> Graph {
        let words = n.div_ceil(64);
        let mut bits = vec![0; n * words];
        for touched in elements {
            for &x in touched {
                for &y in touched.iter().filter(|&&y| y != x) {
                    bits[x * words + y / 64] |= 1 << (y % 64);
                }
            }
        }
        Graph { n, words, bits }
    }

    fn row(&self, x: usize) -> &[u64] {
        &self.bits[x * self.words..(x + 1) * self.words]
    }

    fn degree(&self, x: usize) -> usize {
        let ones = self.row(x).iter().map(|word| word.count_ones() as usize);
        ones.sum()
    }

    fn near(&self, x: usize) -> Vec<usize> {
        let mut list = Vec::new();
        for (k, &word) in self.row(x).iter().enumerate() {
            let mut word = word;
            while word != 0 {
                list.push(64 * k + word.trailing_zeros() as usize);
                word &= word - 1;
            }
        }
        list
    }

    /// Bodies in order of elimination, those that see the same others together; with each
    /// the ones that are left beside them.
    pub(crate) fn eliminate(mut self) -> Vec<(Vec<usize>, Vec<usize>)> {
        let mut degrees: Vec<usize> = (0..self.n).map(|x| self.degree(x)).collect();
        let mut left: Vec<usize> = (0..self.n).collect();
        let mut order = Vec::new();
        while let Some(&x) = left.iter().min_by_key(|&&x| (degrees[x], x)) {
            let near = self.near(x);
            let clique = self.row(x).to_vec();
            for &y in &near {
                let row = &mut self.bits[y * self.words..(y + 1) * self.words];
                for (word, other) in row.iter_mut().zip(&clique) {
                    *word |= other;
                }
                row[y / 64] &= !(1 << (y % 64));
                row[x / 64] &= !(1 << (x % 64));
            }
            near.iter().for_each(|&y| degrees[y] = self.degree(y));
            let (mut own, mut others) = (vec![x], Vec::new());
            for &y in &near {
                if degrees[y] + 1 == near.len() {
                    own.push(y);
                } else {
                    others.push(y);
                }
            }
            for &z in &others {
                for &y in &own[1..] {
                    self.bits[z * self.words + y / 64] &= !(1 << (y % 64));
                }
                degrees[z] -= own.len() - 1;
            }
            left.retain(|y| !own.contains(y));
            order.push((own, others));
        }
        order
    }
}
