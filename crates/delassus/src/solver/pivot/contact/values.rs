//! Values of the basic variables and their rates along the driving one: q′ and m′ of a basis.   [Lemke05 §5.1, App. A]
//!
//! Both are one solve in the basis, with other constants: q for the values, the column of the driving variable for the
//! rates, −e_r where w_r drives. How this differs from the source: values are carried from pivot to pivot and computed
//! anew now and then, and the last point is solved for again in its basis and corrected twice if it is poor.

use super::ContactLcp;
use super::basis::{ContactBasis, Member, Slot};
use super::kernel::{Constants, Kernel, Table};
use super::point::Point;
use crate::solver::pivot::budget::Meter;
use crate::solver::pivot::lcp::ratio::RatioTest;

/// Solutions after the first with which a point is corrected.
const CORRECTIONS: usize = 2;

/// A basis with its values and rates, and the arrays of a run, to be used again.
#[derive(Clone, Debug, Default)]
pub struct PivotWork {
    pub(crate) basis: ContactBasis,
    pub(crate) kernel: Kernel,
    pub(crate) test: RatioTest,
    pub(crate) values: Table,
    pub(crate) rates: Table,
    /// The point reached, or looked at last.
    pub(crate) point: Point,
    /// Values of the point at which z₀ leaves.
    landing: Vec<f64>,
    /// What runs may cost and have cost.
    pub(crate) meter: Meter,
}

impl PivotWork {
    /// Writes the impulses of the point the last run ended at into the rows of its blocks.
    pub fn impulses(&self, lcp: &ContactLcp, lambda: &mut [f64]) {
        lcp.impulses(&self.point, lambda);
    }

    /// The basis of all w, with the normals alone. The covering vector is ones if it is of another length.
    pub(crate) fn reset(&mut self, lcp: &ContactLcp, cover: &[f64]) {
        let given = cover.len() == lcp.n_cover();
        self.basis.reset(lcp, if given { cover } else { &[] });
        if lcp.columns.single {
            self.kernel.one.reset(&self.basis, lcp);
        }
        self.kernel.several.reset();
        self.values.reset(lcp, self.basis.slots.len());
        self.rates.reset(lcp, self.basis.slots.len());
    }

    /// Makes a group part of the problem, its w basic. The covering vector of its directions is at least `need`.
    pub(crate) fn join(&mut self, lcp: &ContactLcp, g: usize, need: f64) -> Member {
        let member = self.basis.join(lcp, g, need);
        if lcp.columns.single {
            let place = self.basis.members.len() - 1;
            self.kernel.one.join(lcp, &member, place);
        }
        member
    }

    /// Builds and factors the kernel with the row of pair `r`, or that of the complementary basis. Returns the
    /// smallest pivot; zero means that there is no such basis.
    pub(crate) fn factor(&mut self, lcp: &ContactLcp, r: Option<usize>) -> f64 {
        self.kernel.factor(&mut self.basis, lcp, r)
    }

    /// Values of the basic variables, from q.
    pub(crate) fn refresh(&mut self, lcp: &ContactLcp) {
        self.basis.swap_constants();
        let everywhere = Constants::Everywhere;
        self.kernel
            .solve(&self.basis, lcp, everywhere, &mut self.values);
        self.basis.swap_constants();
    }

    /// Factors the basis with the row of a pair, and finds the rates of its variables along the driving one, z or w of
    /// that pair. Returns the smallest pivot; zero means that there is no such basis.
    pub(crate) fn drive(&mut self, lcp: &ContactLcp, pair: usize, z: bool) -> f64 {
        let constants = match z {
            true => self.set_column(lcp, pair),
            // m′ = +A⁻¹e_r: minus the column of B⁻¹.
            false => self.set_unit(pair, -1.0),
        };
        let PivotWork {
            basis,
            kernel,
            rates,
            ..
        } = self;
        let weakest = kernel.factor_and_solve(basis, lcp, pair, constants, rates);
        match z {
            true => self.clear_column(lcp, pair),
            false => self.basis.constant[pair] = 0.0,
        }
        weakest
    }

    /// The column of z in M, as constants of the rows and of the velocity.
    fn set_column(&mut self, lcp: &ContactLcp, pair: usize) -> Constants {
        let basis = &mut self.basis;
        match basis.slots[pair] {
            Slot::Cover => Constants::Nowhere,
            Slot::Normal(i) => {
                let normal = &lcp.normals[i];
                let unit = [1.0, 0.0, 0.0];
                lcp.columns.add(normal.unit, unit, &mut basis.base);
                basis.constant[pair] = normal.sigma;
                for g in normal.groups() {
                    basis.constant[basis.at[g] + lcp.groups[g].count] = lcp.groups[g].mu;
                }
                Constants::In(normal.first_group, normal.n_groups)
            }
            Slot::Direction(g, j) => {
                let group = &lcp.groups[g];
                let [a, b] = lcp.directions[group.start + j];
                lcp.columns.add(group.unit, [0.0, a, b], &mut basis.base);
                basis.constant[basis.at[g] + group.count] = -1.0;
                Constants::In(g, 1)
            }
            Slot::Bound(g) => {
                let at = basis.at[g];
                basis.constant[at..at + lcp.groups[g].count].fill(1.0);
                Constants::In(g, 1)
            }
        }
    }

    /// Zeros where that column was.
    fn clear_column(&mut self, lcp: &ContactLcp, pair: usize) {
        let basis = &mut self.basis;
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

    /// A single constant in the row of a pair.
    fn set_unit(&mut self, pair: usize, x: f64) -> Constants {
        self.basis.constant[pair] = x;
        match self.basis.slots[pair] {
            Slot::Direction(g, _) | Slot::Bound(g) => Constants::In(g, 1),
            _ => Constants::Nowhere,
        }
    }

    /// Rates for such a constant, in the basis factored last.
    pub(crate) fn unit_column(&mut self, lcp: &ContactLcp, pair: usize, x: f64) {
        let constants = self.set_unit(pair, x);
        self.kernel
            .solve(&self.basis, lcp, constants, &mut self.rates);
        self.basis.constant[pair] = 0.0;
    }

    /// The point at which z₀ leaves: values anew, one step along the rates. The driving variable is basic after.
    pub(crate) fn land(&mut self, lcp: &ContactLcp, pair: usize, z_drives: bool) {
        self.refresh(lcp);
        let (values, rates) = (&self.values, &self.rates);
        let step = values.pairs[0].max(0.0) / -rates.pairs[0];
        let ahead = |(value, rate): (&f64, &f64)| value + step * rate;
        self.landing.clear();
        let pairs = values.pairs.iter().zip(&rates.pairs);
        self.landing.extend(pairs.map(ahead));
        self.landing[pair] = step;
        if z_drives {
            self.basis.set(pair, true);
        }
        self.basis.read(lcp, &self.landing, &mut self.point);
        let frees = values.free.iter().zip(&rates.free);
        for (free, pair) in self.point.free.iter_mut().zip(frees) {
            *free = ahead(pair);
        }
    }

    /// Solves anew in the complementary basis reached, twice corrected by what is left over, and keeps the best
    /// point. Returns its residual.
    pub(crate) fn polish(&mut self, lcp: &ContactLcp, residual: f64) -> f64 {
        let mut best = (residual, self.point.clone());
        if self.factor(lcp, None) == 0.0 {
            return residual;
        }
        self.refresh(lcp);
        for round in 0..=CORRECTIONS {
            if 0 < round {
                let basis = &mut self.basis;
                self.point.rows(lcp, basis);
                let everywhere = Constants::Everywhere;
                self.kernel.solve(basis, lcp, everywhere, &mut self.rates);
                basis.clear_constants();
                let Table { pairs, free, .. } = &mut self.values;
                for (value, rate) in pairs.iter_mut().zip(&self.rates.pairs) {
                    *value += rate;
                }
                for (free, rate) in free.iter_mut().zip(&self.rates.free) {
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
        self.basis.read(lcp, &self.values.pairs, &mut self.point);
        self.point.free.copy_from_slice(&self.values.free);
    }
}
