//! What a pivot does to A: a row or a column is exchanged, or both come or go.   [Lemke05 (15)–(21)]

use super::{Driving, Path};

/// Changes after which A is factored afresh, or as many as it has rows if those are more.
const REFACTOR: usize = 32;

impl Path<'_> {
    /// Whether z of pair i is basic.
    fn is_z(&self, i: usize) -> bool {
        self.cols.contains(&i)
    }

    /// The driving variable enters for the basic variable of pair `leaving` (n: z₀).
    pub(super) fn exchange(&mut self, leaving: usize) {
        let leaves_z = leaving == self.n() || self.is_z(leaving);
        match (self.driving, leaves_z) {
            (Driving::Z(j), false) => self.enter_z(j, leaving),
            (Driving::Z(j), true) => self.exchange_column(leaving, j),
            (Driving::W(i), false) => self.exchange_row(i, leaving),
            (Driving::W(i), true) => self.drop_pair(i, leaving),
        }
        self.driving = if leaves_z {
            Driving::W(leaving)
        } else {
            Driving::Z(leaving)
        };
        if REFACTOR.max(self.rows.len()) <= self.factor.changes() / 2 {
            self.refactor();
        }
    }

    /// z_j enters, w_i leaves.
    pub(super) fn enter_z(&mut self, j: usize, i: usize) {
        self.rows.push(i);
        self.cols.push(j);
        let (row, column) = (self.row(i), self.part(j));
        self.factor.grow(&row, &column);
    }

    /// z_new enters, z_old leaves.
    fn exchange_column(&mut self, old: usize, new: usize) {
        let Some(at) = self.cols.iter().position(|&j| j == old) else {
            return;
        };
        self.cols.remove(at);
        self.cols.push(new);
        let column = self.part(new);
        self.factor.exchange_column(at, &column);
    }

    /// w_old enters, w_new leaves.
    fn exchange_row(&mut self, old: usize, new: usize) {
        let Some(at) = self.rows.iter().position(|&i| i == old) else {
            return;
        };
        self.rows.remove(at);
        self.rows.push(new);
        let row = self.row(new);
        self.factor.exchange_row(at, &row);
    }

    /// w_i enters, z_j leaves.
    fn drop_pair(&mut self, i: usize, j: usize) {
        let row = self.rows.iter().position(|&r| r == i);
        let column = self.cols.iter().position(|&c| c == j);
        if let (Some(row), Some(column)) = (row, column) {
            self.rows.remove(row);
            self.cols.remove(column);
            self.factor.shrink(row, column);
        }
    }

    /// Row i of M̄ at α.
    fn row(&self, i: usize) -> Vec<f64> {
        self.cols.iter().map(|&j| self.column_of(j)[i]).collect()
    }

    /// Column j of M̄ at α̃.
    fn part(&self, j: usize) -> Vec<f64> {
        let column = self.column_of(j);
        self.rows.iter().map(|&i| column[i]).collect()
    }
}
