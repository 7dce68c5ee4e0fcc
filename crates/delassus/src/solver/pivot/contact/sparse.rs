//! The kernel of several bodies: only unknowns that share a body couple.

use crate::solver::pivot::contact::ContactLcp;
use crate::solver::pivot::contact::basis::{Last, Partition};

/// Unknown k of the kernel on the body at `offset`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    offset: usize,
    k: usize,
    start: usize,
    width: usize,
}

impl Partition {
    /// c* = D_x c_γ.
    pub(crate) fn star_sparse(&mut self, lcp: &ContactLcp) {
        self.star.fill(0.0);
        for &g in &self.slips {
            let group = &lcp.groups[g];
            let [a, b] = lcp.directions[group.start + self.x[g]];
            let c = self.cover[self.at[g] + group.count];
            let share = [0.0, c * a, c * b];
            lcp.columns.add(group.unit, share, &mut self.star);
        }
    }

    /// LᵀR + Σ body by body: only unknowns that share one couple.
    pub(crate) fn fill_sparse(&mut self, lcp: &ContactLcp) {
        let count = self.unknowns.len();
        let bordered = count < self.n;
        self.kernel.reset(self.n);
        self.left.clear();
        self.right.clear();
        self.touches.clear();
        let last = match self.last {
            Some(Last::Row(unit, share, ..)) => Some((unit, share, share)),
            _ => None,
        };
        let shares = self.unknowns.iter().map(|u| (u.unit, u.left, u.right));
        for (k, (unit, left, right)) in shares.chain(last).enumerate() {
            for part in lcp.columns.parts(unit) {
                let start = self.left.len();
                let rows = lcp.columns.units[unit].rows;
                let values = &lcp.columns.values[part.start..part.start + rows * part.width];
                for w in 0..part.width {
                    let (mut l, mut r) = (0.0, 0.0);
                    for (i, row) in values.chunks_exact(part.width).enumerate() {
                        l += left[i] * row[w];
                        r += right[i] * row[w];
                    }
                    self.left.push(l);
                    self.right.push(r);
                }
                self.touches.push(Touch {
                    offset: part.offset,
                    k,
                    start,
                    width: part.width,
                });
                if bordered {
                    let star = &self.star[part.offset..part.offset + part.width];
                    let dot = crate::math::dot(&self.left[start..], star);
                    self.kernel.row_mut(k)[count] += dot;
                }
            }
        }
        self.touches
            .sort_unstable_by_key(|touch| (touch.offset, touch.k));
        for body in self.touches.chunk_by(|a, b| a.offset == b.offset) {
            for a in body {
                for b in body.iter().filter(|b| b.k < count) {
                    let left = &self.left[a.start..a.start + a.width];
                    let right = &self.right[b.start..b.start + b.width];
                    self.kernel.add(a.k, b.k, crate::math::dot(left, right));
                }
            }
        }
        for k in 0..count {
            self.kernel.add(k, k, self.unknowns[k].sigma);
        }
    }
}
