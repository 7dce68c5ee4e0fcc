//! Values of the basic variables and their rates along the driving one: q′ and m′ of a basis.   [Lemke05 §5.1, App. A]

use crate::solver::pivot::contact::ContactLcp;
use crate::solver::pivot::contact::basis::{Constants, Slot};
use crate::solver::pivot::contact::pivots::Work;

impl Work {
    /// The point at which z₀ leaves: values anew, one step along the rates. The driving variable is basic after.
    pub(crate) fn land(&mut self, lcp: &ContactLcp, pair: usize, z_drives: bool) {
        self.refresh(lcp);
        let step = self.values[0].max(0.0) / -self.rates[0];
        let mut values = std::mem::take(&mut self.landing);
        values.clear();
        let pairs = self.values.iter().zip(&self.rates);
        values.extend(pairs.map(|(value, rate)| value + step * rate));
        values[pair] = step;
        if z_drives {
            self.basis.set(pair, true);
        }
        self.basis.read(lcp, &values, &mut self.point);
        self.landing = values;
        let rates = self.free.iter().zip(&self.dfree);
        for (free, (value, rate)) in self.point.free.iter_mut().zip(rates) {
            *free = value + step * rate;
        }
    }

    /// Solves anew in the complementary basis reached, twice corrected by what is left over, and keeps the best
    /// point. Returns its residual.
    pub(crate) fn polish(&mut self, lcp: &ContactLcp, residual: f64) -> f64 {
        let mut best = (residual, self.point.clone());
        if self.basis.assemble(lcp, None) == 0.0 {
            return residual;
        }
        self.refresh(lcp);
        for round in 0..3 {
            if 0 < round {
                self.point.rows(
                    lcp,
                    &self.basis.at,
                    &mut self.basis.constant,
                    &mut self.basis.free_constant,
                );
                self.rates.resize(self.values.len(), 0.0);
                let (rates, dv, dfree) = (&mut self.rates, &mut self.dv, &mut self.dfree);
                self.basis
                    .solve(lcp, Constants::Everywhere, rates, dv, dfree);
                self.basis.constant.fill(0.0);
                self.basis.free_constant.fill(0.0);
                for (value, rate) in self.values.iter_mut().zip(&self.rates) {
                    *value += rate;
                }
                for (free, rate) in self.free.iter_mut().zip(&self.dfree) {
                    *free += rate;
                }
            }
            self.read_point(lcp);
            let residual = self.point.residual(lcp);
            if residual < best.0 {
                best = (residual, self.point.clone());
            }
        }
        self.point = best.1;
        best.0
    }

    /// The point of the values.
    pub(crate) fn read_point(&mut self, lcp: &ContactLcp) {
        self.basis.read(lcp, &self.values, &mut self.point);
        self.point.free.copy_from_slice(&self.free);
    }

    /// Values of the basic variables, from q.
    pub(crate) fn refresh(&mut self, lcp: &ContactLcp) {
        let basis = &mut self.basis;
        std::mem::swap(&mut basis.constant, &mut basis.q);
        std::mem::swap(&mut basis.free_constant, &mut basis.free_q);
        let (values, v, free) = (&mut self.values, &mut self.v, &mut self.free);
        basis.solve(lcp, Constants::Everywhere, values, v, free);
        std::mem::swap(&mut basis.constant, &mut basis.q);
        std::mem::swap(&mut basis.free_constant, &mut basis.free_q);
    }

    /// Rates of the basic variables along the driving variable.
    pub(crate) fn drive(&mut self, lcp: &ContactLcp, pair: usize, z: bool) {
        self.rates.resize(self.basis.slots.len(), 0.0);
        if !z {
            return self.unit_column(lcp, pair, -1.0);
        }
        let basis = &mut self.basis;
        match basis.slots[pair] {
            Slot::Cover => {}
            Slot::Normal(i) => {
                let normal = &lcp.normals[i];
                lcp.columns
                    .add(normal.unit, [1.0, 0.0, 0.0], &mut basis.base);
                basis.constant[pair] = normal.sigma;
                for g in normal.groups() {
                    basis.constant[basis.at[g] + lcp.groups[g].count] = lcp.groups[g].mu;
                }
            }
            Slot::Direction(g, j) => {
                let group = &lcp.groups[g];
                let [a, b] = lcp.directions[group.start + j];
                lcp.columns.add(group.unit, [0.0, a, b], &mut basis.base);
                basis.constant[basis.at[g] + group.count] = -1.0;
            }
            Slot::Bound(g) => {
                let at = basis.at[g];
                basis.constant[at..at + lcp.groups[g].count].fill(1.0);
            }
        }
        let constants = match basis.slots[pair] {
            Slot::Cover => Constants::Nowhere,
            Slot::Normal(i) => Constants::In(lcp.normals[i].groups.0, lcp.normals[i].groups.1),
            Slot::Direction(g, _) | Slot::Bound(g) => Constants::In(g, 1),
        };
        let (rates, dv, dfree) = (&mut self.rates, &mut self.dv, &mut self.dfree);
        basis.solve(lcp, constants, rates, dv, dfree);
        basis.base.fill(0.0);
        match basis.slots[pair] {
            Slot::Cover => {}
            Slot::Normal(i) => {
                basis.constant[pair] = 0.0;
                for g in lcp.normals[i].groups() {
                    basis.constant[basis.at[g] + lcp.groups[g].count] = 0.0;
                }
            }
            Slot::Direction(g, _) | Slot::Bound(g) => {
                let at = basis.at[g];
                basis.constant[at..=at + lcp.groups[g].count].fill(0.0);
            }
        }
    }

    /// Rates for a single constant in the row of a pair.
    pub(crate) fn unit_column(&mut self, lcp: &ContactLcp, pair: usize, x: f64) {
        let basis = &mut self.basis;
        basis.constant[pair] = x;
        let constants = match basis.slots[pair] {
            Slot::Direction(g, _) | Slot::Bound(g) => Constants::In(g, 1),
            _ => Constants::Nowhere,
        };
        let (rates, dv, dfree) = (&mut self.rates, &mut self.dv, &mut self.dfree);
        basis.solve(lcp, constants, rates, dv, dfree);
        basis.constant[pair] = 0.0;
    }
}
