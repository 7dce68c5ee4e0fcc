//! Coloured Gauss-Seidel: contacts that share no body are visited eight at a time, and parts of the problem that
//! share no body on different threads.
//!
#![doc = include_str!("../../../../docs/coloured.md")]

mod colour;
mod domain;
mod kernel;
mod lanes;
mod layout;
mod partition;
mod small;

use domain::{Course, Domain, Shared};
use lanes::Row;
use partition::Partition;

use super::gauss_seidel::{GaussSeidel, Order, REFRESH};
use super::inverse::of_body;
use super::{Fit, Monitor, Rule, Solver, Status, Stop, SweepStats};
use crate::index::BlockId;
use crate::law::Law;
use crate::math::parallel::{self, prelude::*};
use crate::problem::mass::MassBlock;
use crate::problem::{Form, Primal, Problem, Solution};
use crate::solver::SmallSteps;

/// Blocks that a thread hands to their domains at a time.
const MANY: usize = 4096;

/// Projected Gauss-Seidel in an order that can be swept in lanes and in parallel.
#[derive(Clone, Debug)]
pub struct Coloured {
    /// When to stop.
    pub stop: Stop,
    /// How contacts are solved; `Rule::Iso` goes in lanes.
    pub rule: Rule,
    /// Direction of the sweeps; there is no shuffled one.
    pub order: Order,
    /// Relaxation ω in (0, 2), as that of Gauss-Seidel.
    pub relax: f64,
    /// Arrays kept between solves; start from the default.
    pub work: Work,
}

/// Arrays kept between solves, so that a sweep allocates nothing.
#[derive(Clone, Debug)]
pub struct Work {
    partition: Partition,
    domains: Vec<Domain>,
    /// Of every part of the blocks those of each domain.
    lists: Vec<Vec<Vec<u32>>>,
    rows: Vec<Row>,
    arch: pulp::Arch,
    /// Of small steps: how far bodies have gone, and their velocities at the beginning of one.
    moved: Vec<small::Moved>,
    before: Vec<[f64; 6]>,
}

impl Default for Work {
    fn default() -> Work {
        Work {
            partition: Partition::default(),
            domains: Vec::new(),
            lists: Vec::new(),
            rows: Vec::new(),
            arch: pulp::Arch::new(),
            moved: Vec::new(),
            before: Vec::new(),
        }
    }
}

impl Default for Coloured {
    fn default() -> Coloured {
        Coloured {
            stop: Stop::default(),
            rule: Rule::default(),
            order: Order::default(),
            relax: 1.0,
            work: Work::default(),
        }
    }
}

impl Solver for Coloured {
    fn name(&self) -> &'static str {
        "coloured"
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        vec![
            ("rule", self.rule.name().to_owned()),
            ("order", self.order.name().to_owned()),
            ("relax", self.relax.to_string()),
        ]
    }

    fn fit(&self, law: &Law) -> Fit {
        self.rule.fit(law)
    }

    stops_by_its_field!();

    fn reads_velocity(&self) -> bool {
        false
    }

    fn takes_small_steps(&self) -> bool {
        true
    }

    fn sweep_small_steps(
        &mut self,
        problem: &Problem,
        lambda: &mut [f64],
        steps: &mut SmallSteps<'_>,
    ) -> bool {
        self.small_steps(problem, lambda, steps)
    }

    fn run(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
    ) -> Status {
        if !(0.0 < self.relax && self.relax < 2.0) {
            return Status::Breakdown;
        }
        // Lanes count rows and masses in 32 bits, and a dual problem names no masses, so that nothing tells which
        // blocks are independent.
        let few = u32::try_from(problem.n_rows().max(problem.n_velocities())).is_ok();
        let (Form::Primal(primal), true) = (problem.form(), few) else {
            solution.v.resize(problem.n_velocities(), 0.0);
            problem.velocity(&solution.lambda, &mut solution.v);
            return self.in_sequence().run(problem, solution, monitor);
        };
        self.work.partition.prepare(primal, problem.blocks().len());
        let parallel = 1 < self.work.partition.leaves() && 1 < parallel::current_num_threads();
        if parallel {
            // Inside the pool once, rather than at every sweep.
            parallel::scope(|_| self.iterate(problem, primal, solution, monitor, true))
        } else {
            self.iterate(problem, primal, solution, monitor, false)
        }
    }
}

impl Coloured {
    /// The sets in which blocks are visited, in the order of a forward sweep: no two blocks of a set share a mass.
    /// Empty for a dual problem.
    pub fn sets(&mut self, problem: &Problem) -> Vec<Vec<BlockId>> {
        let Form::Primal(primal) = problem.form() else {
            return Vec::new();
        };
        self.work.partition.prepare(primal, problem.blocks().len());
        self.prepare(problem, primal, None, false);
        let mut sets = Vec::new();
        in_order(&self.work.domains, &mut |domain| sets.extend(domain.sets()));
        sets
    }

    /// The sequential solver with the same options.
    fn in_sequence(&self) -> GaussSeidel {
        GaussSeidel {
            stop: self.stop,
            rule: self.rule,
            order: self.order,
            relax: self.relax,
            ..GaussSeidel::default()
        }
    }

    /// Hands every block to its subtree, where it is coloured and laid out, with its impulses where there are any.
    fn prepare(
        &mut self,
        problem: &Problem,
        primal: &Primal,
        lambda: Option<&[f64]>,
        parallel: bool,
    ) {
        let Work {
            partition,
            domains,
            lists,
            arch,
            ..
        } = &mut self.work;
        domains.resize_with(2 * partition.leaves() - 1, Domain::default);
        let jacobian = primal.jacobian();
        let node = |k: usize| {
            let masses = jacobian.entry_range(k).map(|e| jacobian.entry_mass(e));
            partition.node(masses)
        };
        share_out(problem.blocks().len(), lists, domains.len(), node);
        let lists = &*lists;
        let shared = Shared {
            problem,
            primal,
            partition,
            rule: self.rule,
        };
        let prepare = |(node, domain): (usize, &mut Domain)| {
            domain.blocks.clear();
            for list in lists {
                domain.blocks.extend_from_slice(&list[node]);
            }
            domain.prepare(node, shared, *arch);
            if let Some(lambda) = lambda {
                domain.load(problem.blocks(), lambda);
            }
        };
        if parallel {
            let domains = domains.par_iter_mut().with_max_len(1).enumerate();
            domains.for_each(prepare);
        } else {
            domains.iter_mut().enumerate().for_each(prepare);
        }
    }

    /// Sweeps until the monitor says stop.
    fn iterate(
        &mut self,
        problem: &Problem,
        primal: &Primal,
        solution: &mut Solution,
        monitor: &mut Monitor<'_>,
        parallel: bool,
    ) -> Status {
        if self.stop.sweeps == 0 {
            return Status::IterationLimit;
        }
        let Solution { v, lambda } = solution;
        self.prepare(problem, primal, Some(lambda), parallel);
        let store = |domains: &[Domain], lambda: &mut [f64]| {
            domains
                .iter()
                .for_each(|domain| domain.store(problem.blocks(), lambda));
        };
        let Work {
            partition,
            domains,
            rows,
            arch,
            ..
        } = &mut self.work;
        let shared = Shared {
            problem,
            primal,
            partition,
            rule: self.rule,
        };
        let mut course = Course {
            relax: (self.relax.max(1.0), self.relax.min(1.0)),
            backward: self.order == Order::Backward,
            parallel,
            arch: *arch,
        };
        rows.resize(partition.n_rows(), Row::default());
        fill(primal, partition, rows);
        domain::push(domains, shared, rows, course);
        loop {
            let stats = domain::sweep(domains, shared, rows, course);
            let stats = SweepStats {
                eta_squared: stats.squared,
                eta_max: stats.largest.sqrt() / course.relax.1,
                dual_decrease: -stats.change,
            };
            if self.order == Order::Symmetric {
                course.backward = !course.backward;
            }
            let looked_at = monitor.looks(&stats);
            if looked_at {
                store(domains, lambda);
            }
            let status = monitor.after_sweep(stats, lambda);
            if let Some(status) = status {
                if !looked_at {
                    store(domains, lambda);
                }
                // What was carried along is recomputed, by the judge unless somebody asked for it here.
                if !v.is_empty() {
                    problem.velocity(lambda, v);
                }
                return status;
            }
            if monitor.sweeps().is_multiple_of(REFRESH) {
                fill(primal, partition, rows);
                domain::push(domains, shared, rows, course);
            }
        }
    }
}

/// Lists for every part of so many blocks which of them belong to each node.
fn share_out(
    blocks: usize,
    lists: &mut Vec<Vec<Vec<u32>>>,
    nodes: usize,
    node: impl Fn(usize) -> usize + Send + Sync,
) {
    let length = parallel::share(blocks).max(MANY);
    lists.resize_with(blocks.div_ceil(length), Vec::new);
    parallel::each(lists.iter_mut().enumerate(), |(part, lists)| {
        lists.resize_with(nodes, Vec::new);
        lists.iter_mut().for_each(Vec::clear);
        for k in part * length..blocks.min((part + 1) * length) {
            lists[node(k)].push(k as u32);
        }
    });
}

/// Visits the domains as a forward sweep does: both halves, then what lies between.
fn in_order<'a>(domains: &'a [Domain], visit: &mut impl FnMut(&'a Domain)) {
    let (left, rest) = domains.split_at(domains.len() / 2);
    if let Some((own, right)) = rest.split_first() {
        in_order(left, visit);
        in_order(right, visit);
        visit(own);
    }
}

/// Velocities without constraints and inverse masses into the rows of the state; nothing into those of ground.
fn fill(primal: &Primal, partition: &Partition, rows: &mut [Row]) {
    parallel::each(partition.parts(rows), |(masses, start, rows)| {
        rows.fill(Row::default());
        for b in masses {
            let first = partition.row(b) - start;
            if let MassBlock::Rigid(body) = &primal.mass()[b] {
                rows[first] = Row::of_body(&of_body(body));
            }
            let v = primal.free_velocity()[primal.columns(b)].chunks(Row::WIDTH);
            for (v, row) in v.zip(&mut rows[first..]) {
                row.0[..v.len()].copy_from_slice(v);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;

    #[test]
    fn the_width_of_the_lanes_changes_no_bit() {
        for name in ["pile:1500", "stack:7"] {
            let problem = gallery::build(name).unwrap();
            let answer = |arch| {
                let mut solver = Coloured {
                    stop: Stop {
                        tolerance: 0.0,
                        sweeps: 20,
                        ..Stop::default()
                    },
                    ..Coloured::default()
                };
                solver.work.arch = arch;
                let mut solution = Solution::zeros(&problem);
                let report = solver.solve(&problem, &mut solution);
                let eta: Vec<f64> = report.history.iter().map(|sweep| sweep.eta).collect();
                (solution, eta)
            };
            let widest = pulp::Arch::new();
            assert_eq!(
                answer(pulp::Arch::Scalar),
                answer(widest),
                "{name} {widest:?}"
            );
        }
    }
}
