//! Constrained dynamics of a tree without its mass matrix: the KKT system by articulated-body passes.
//!
#![doc = include_str!("../../../docs/kkt.md")]

use super::{Fit, Monitor, Rank, Solver, Status, Stop, SweepStats, fit_of};
use crate::index::BlockId;
use crate::law::Law;
use crate::linalg::ranked::RankedCholesky;
use crate::math::DVec3;
use crate::problem::mass::{MassBlock, TreeMass};
use crate::problem::place::{At, Place};
use crate::problem::{Form, Primal, Problem, Solution};
use crate::tree::spatial::Force;
use crate::tree::{
    Data, Elimination, KktGiven, KktUnknowns, Propagation, Tree, TreeError, TreeRows,
};

/// From this many rows, or velocities, on, rows are propagated rather than put into a matrix.
const MANY_ROWS: usize = 36;
const MANY_DOFS: usize = 64;

/// Solves [M Jᵀ; J −Σ][x₁; x₂] = [y₁; y₂] on a tree. Keep one and use it again: it holds the work arrays.
#[derive(Clone, Debug, Default)]
pub struct TreeKkt {
    propagation: Propagation,
    elimination: Elimination,
    factor: RankedCholesky,
    rest: Vec<f64>,
    /// Rows of the last solve, where they were propagated: all are independent then.
    propagated: Option<usize>,
}

impl TreeKkt {
    /// x₁ and x₂ from y₁, y₂ and the compliance of each row, for the poses `data` holds: by propagation where there
    /// are many rows or velocities, else, and where rows depend on each other, by the four steps.
    ///
    /// Where rows depend on each other x₂ is one of many answers, but x₁ and Jᵀx₂ are the only ones.
    pub fn solve(
        &mut self,
        tree: &Tree,
        data: &mut Data,
        rows: &TreeRows,
        given: KktGiven<'_>,
        unknowns: KktUnknowns<'_>,
    ) -> Result<(), TreeError> {
        let KktUnknowns { x1, x2 } = unknowns;
        self.propagated = None;
        if MANY_ROWS <= rows.len() || MANY_DOFS <= tree.n_dofs() {
            let unknowns = KktUnknowns { x1, x2 };
            if tree.propagate(data, rows, &mut self.elimination, given, unknowns)? {
                self.propagated = Some(rows.len());
                return Ok(());
            }
        }
        self.four_steps(tree, data, rows, given, KktUnknowns { x1, x2 })
    }

    /// As [`TreeKkt::solve`], always by the four steps.
    pub fn four_steps(
        &mut self,
        tree: &Tree,
        data: &mut Data,
        rows: &TreeRows,
        given: KktGiven<'_>,
        unknowns: KktUnknowns<'_>,
    ) -> Result<(), TreeError> {
        let KktGiven { y1, y2, sigma } = given;
        let KktUnknowns { x1, x2 } = unknowns;
        let m = rows.len();
        self.propagated = None;
        for (what, values) in [("y2", y2), ("sigma", sigma), ("x2", &*x2)] {
            if values.len() != m {
                return Err(TreeError::WrongLength {
                    what,
                    expected: m,
                    found: values.len(),
                });
            }
        }
        self.rest.resize(m, 0.0);
        // ①  a₁ = J M⁻¹y₁
        tree.respond_at_rows(data, rows, y1, (x1, &mut self.rest))?;
        // ②  Λ⁻¹ = J M⁻¹Jᵀ, and Σ on its diagonal: errata KKT-sigma
        self.factor.matrix.resize(m * m, 0.0);
        tree.delassus(data, rows, &mut self.propagation, &mut self.factor.matrix)?;
        for i in 0..m {
            self.factor.matrix[i * m + i] += sigma[i];
        }
        // ③  (Λ⁻¹ + Σ) x₂ = a₁ − y₂
        for i in 0..m {
            self.rest[i] -= y2[i];
        }
        self.factor.factorise(m);
        self.factor.solve(&self.rest, x2);
        // ④  x₁ = M⁻¹(y₁ − Jᵀx₂): x₂ is what the mechanism exerts, −x₂ acts on it (errata KKT-24)
        for (f, x) in self.rest.iter_mut().zip(&*x2) {
            *f = -x;
        }
        tree.respond_with_rows(data, rows, &self.rest, x1);
        Ok(())
    }

    /// Λ⁻¹ + Σ of the last four steps, row-major.
    pub fn matrix(&self) -> &[f64] {
        &self.factor.matrix
    }

    /// Independent rows of the last solve.
    pub fn rank(&self) -> Rank {
        match self.propagated {
            Some(rank) => Rank {
                rank,
                redundant: Vec::new(),
            },
            None => self.factor.rank(),
        }
    }
}

/// Equality rows at once: the system above where one tree carries them all, else S λ = −c by a rank-revealing factor.
#[derive(Clone, Debug, Default)]
pub struct Kkt {
    /// When an answer counts as solved.
    pub stop: Stop,
    tree: TreeKkt,
    factor: RankedCholesky,
    /// Rows of the last problem.
    n_rows: usize,
    /// Whether some of them depend on others.
    redundant: bool,
}

/// Most rows: S is dense and has a factor as large, at this size 134 MB each.
const MAX_ROWS: usize = 4096;

impl Kkt {
    /// A solver with this stopping rule.
    pub fn new(stop: Stop) -> Kkt {
        Kkt {
            stop,
            ..Kkt::default()
        }
    }

    /// v and λ of a tree's rows. With v = x₁ and λ = −x₂ the problem is
    /// [M Jᵀ; J −Σ][x₁; x₂] = [p; q].
    fn solve_tree(
        &mut self,
        carried: &Carried<'_>,
        solution: &mut Solution,
    ) -> Result<Rank, TreeError> {
        let Carried { primal, mass, rows } = carried;
        let mut data = mass.data().clone();
        let given = KktGiven {
            y1: primal.p(),
            y2: primal.q(),
            sigma: primal.sigma(),
        };
        let mut x2 = vec![0.0; rows.len()];
        solution.v.resize(mass.tree().n_dofs(), 0.0);
        let unknowns = KktUnknowns {
            x1: &mut solution.v,
            x2: &mut x2,
        };
        self.tree
            .solve(mass.tree(), &mut data, rows, given, unknowns)?;
        // Taken from zero, no λ is −0.
        solution.lambda = x2.iter().map(|x| 0.0 - x).collect();
        Ok(self.tree.rank())
    }

    /// λ of any rows: S λ = −c, S built from the masses block by block.
    fn solve_matrix(&mut self, problem: &Problem, solution: &mut Solution) -> Rank {
        self.factor.matrix = problem.delassus_dense();
        let minus_c: Vec<f64> = problem.c().iter().map(|c| -c).collect();
        self.factor.factorise(minus_c.len());
        self.factor.solve(&minus_c, &mut solution.lambda);
        *solution = Solution::from_lambda(problem, std::mem::take(&mut solution.lambda));
        self.factor.rank()
    }
}

impl Solver for Kkt {
    fn name(&self) -> &'static str {
        "kkt"
    }

    fn fit(&self, law: &Law) -> Fit {
        fit_of(law)
    }

    stops_by_its_field!();

    fn advice(&self, status: Status) -> Option<String> {
        let rows = self.n_rows;
        match status {
            Status::Unsupported if MAX_ROWS < rows => Some(format!(
                "kkt builds a dense matrix and takes at most {MAX_ROWS} rows, and there are {rows}; use direct, whose factor is sparse"
            )),
            Status::Stalled if self.redundant => Some(
                "rows that depend on each other ask for different velocities; the independent ones are met"
                    .to_owned(),
            ),
            _ => None,
        }
    }

    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        self.n_rows = problem.n_rows();
        self.redundant = false;
        if MAX_ROWS < self.n_rows {
            return Status::Unsupported;
        }
        let before = solution.lambda.clone();
        let mut w_before = vec![0.0; self.n_rows];
        problem.row_velocity(&solution.v, &before, &mut w_before);
        let found = match Carried::by_one_tree(problem) {
            Some(carried) => self.solve_tree(&carried, solution),
            None => Ok(self.solve_matrix(problem, solution)),
        };
        let Ok(rank) = found else {
            solution.lambda = before;
            return Status::Breakdown;
        };
        self.redundant = !rank.redundant.is_empty();
        monitor.rank(rank);
        let mut w = vec![0.0; self.n_rows];
        problem.row_velocity(&solution.v, &solution.lambda, &mut w);
        let stats = one_step((&before, &w_before), (&solution.lambda, &w));
        monitor
            .after_sweep(stats, &solution.lambda)
            .unwrap_or(Status::Solved)
    }
}

/// One step Δλ to the answer: η is how far it was, S Δλ = w − w₀, and with f = ½λᵀSλ + cᵀλ the decrease f(λ₀) − f(λ) is
/// −½(w₀ + w)ᵀΔλ.
fn one_step((before, w_before): (&[f64], &[f64]), (after, w): (&[f64], &[f64])) -> SweepStats {
    let mut stats = SweepStats::default();
    for i in 0..w.len() {
        let (step, rise) = (after[i] - before[i], w[i] - w_before[i]);
        stats.eta_squared += rise * rise;
        stats.eta_max = stats.eta_max.max(rise.abs());
        stats.dual_decrease -= 0.5 * (w_before[i] + w[i]) * step;
    }
    stats
}

/// A problem that one tree carries, with all its rows as forces on links.
struct Carried<'a> {
    primal: &'a Primal,
    mass: &'a TreeMass,
    rows: TreeRows,
}

impl<'a> Carried<'a> {
    /// `None` where there are other masses, or where a row does not say which link or joint it acts on.
    fn by_one_tree(problem: &'a Problem) -> Option<Carried<'a>> {
        let Form::Primal(primal) = problem.form() else {
            return None;
        };
        let [MassBlock::Tree(mass)] = primal.mass() else {
            return None;
        };
        let mut rows = TreeRows::default();
        for (block, id) in problem.blocks().iter().zip((0..).map(BlockId)) {
            for i in 0..block.n_rows {
                rows.start();
                for at in primal.places(id) {
                    add_end(mass, &mut rows, at, i)?;
                }
            }
        }
        Some(Carried { primal, mass, rows })
    }
}

/// Adds row i of a block on a link or a joint to the row started last.
fn add_end(mass: &TreeMass, rows: &mut TreeRows, at: At<'_>, i: usize) -> Option<()> {
    let (tree, data) = (mass.tree(), mass.data());
    match at.place {
        Place::Link { link } => {
            let row = &at.rows[6 * i..6 * i + 6];
            let force = Force {
                torque: DVec3::from_slice(&row[3..]),
                force: DVec3::from_slice(&row[..3]),
            };
            tree.add_at_centre(data, rows, link, force);
            Some(())
        }
        Place::Coordinate { dof } => tree.add_dof(data, rows, dof, at.rows[i]).ok(),
        Place::Point { .. } | Place::Plain => None,
    }
}

/// J M⁻¹Jᵀ of a problem that one tree carries, by force propagators, row-major; `None` for other problems.
pub fn tree_delassus(problem: &Problem) -> Option<Vec<f64>> {
    let carried = Carried::by_one_tree(problem)?;
    let m = carried.rows.len();
    let mut out = vec![0.0; m * m];
    let mut data = carried.mass.data().clone();
    let work = &mut Propagation::default();
    let tree = carried.mass.tree();
    tree.delassus(&mut data, &carried.rows, work, &mut out)
        .ok()?;
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::LinkId;
    use crate::tree::spatial::Pose;
    use crate::tree::{Link, LinkPoint, MassProperties, TreeJoint};
    use glam::{DMat3, DQuat};
    use std::sync::Arc;

    /// Answers by different routes agree up to so much rounding.
    const ROUNDING: f64 = 1e-9;

    /// Five links on hinges, the last held at a point, once or twice; as rows on links or written out.
    fn held(twice: bool, written: bool) -> Problem {
        let body = MassProperties {
            mass: 2.0,
            com: DVec3::new(0.5, 0.1, 0.0),
            inertia: DMat3::from_diagonal(DVec3::new(0.1, 0.2, 0.3)),
        };
        let links = (0..5u32).map(|i| {
            let axis = [DVec3::Z, DVec3::Y, DVec3::X][i as usize % 3];
            let parent = i.checked_sub(1).map(LinkId);
            let place = Pose::new(DVec3::X, DQuat::from_rotation_z(0.3));
            Link::new(parent, TreeJoint::Revolute { axis }, place, body)
        });
        let tree = Arc::new(Tree::new(links.collect()).unwrap());
        let q = [0.2, -0.4, 0.6, 0.3, -0.1];
        let mut data = tree.data();
        tree.kinematics(&q, &mut data).unwrap();
        let mut rows = TreeRows::default();
        for _ in 0..if twice { 2 } else { 1 } {
            for direction in DVec3::AXES {
                rows.start();
                let point = LinkPoint::new(LinkId(4), DVec3::new(2.0, 1.0, 0.5));
                tree.add_linear(&data, &mut rows, point, direction).unwrap();
            }
        }
        let mut builder = Problem::builder();
        let mass = MassBlock::tree(Arc::clone(&tree), &q).unwrap();
        let mass = builder.add_mass(mass, &[1.0, 2.0, -1.0, 0.5, 3.0]).unwrap();
        let m = rows.len();
        let wanted: Vec<f64> = (0..m).map(|i| 0.1 * (i % 3) as f64).collect();
        let all: Vec<usize> = (0..m).collect();
        let on_links = tree.rows_on_links(&data, &rows, &all);
        let matrix = tree.rows_matrix(&data, &rows);
        let on = match written {
            true => vec![At {
                mass,
                place: Place::Plain,
                rows: &matrix,
            }],
            false => on_links
                .iter()
                .map(|(link, rows)| At {
                    mass,
                    place: Place::Link { link: *link },
                    rows,
                })
                .collect(),
        };
        builder
            .add_block_at(Law::Equality, &on, &vec![0.0; m], &wanted)
            .unwrap();
        builder.build().unwrap()
    }

    #[test]
    fn rows_on_links_and_rows_written_out_get_the_same_answer() {
        for twice in [false, true] {
            let [on_links, written] = [false, true].map(|written| held(twice, written));
            assert!(Carried::by_one_tree(&on_links).is_some());
            assert!(Carried::by_one_tree(&written).is_none());
            let [a, b] = [&on_links, &written].map(|problem| {
                let mut solution = Solution::zeros(problem);
                let report = Kkt::default().solve(problem, &mut solution);
                assert_eq!(report.status, Status::Solved, "{report}");
                (solution, report.rank.unwrap())
            });
            assert_eq!(a.1, b.1);
            assert_eq!((a.1.rank, a.1.redundant.is_empty()), (3, !twice));
            for (x, y) in a.0.v.iter().zip(&b.0.v) {
                assert!((x - y).abs() <= ROUNDING, "{x} {y}");
            }
        }
    }
}
