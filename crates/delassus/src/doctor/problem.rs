//! What a single problem tells: ratios of mass, rows that depend on others, springs, and whether it can be solved.

use super::{Diagnosis, Finding, FindingKind, LookedAt, Severity};
use crate::index::{BlockId, MassId};
use crate::law::Law;
use crate::math::{dot, max_abs};
use crate::problem::mass::MassBlock;
use crate::problem::place::At;
use crate::problem::{Form, Primal, Problem, Solution};
use crate::solver::auto::{Auto, choose};
use crate::solver::exact::direct::Direct;
use crate::solver::{Solver, Status, Stop};

/// A constraint moves one of its bodies so many times as easily as the other before it is worth a word …
const HEAVY: f64 = 30.0;
/// … and diagonal entries of a matrix differ by so much.
const SPREAD: f64 = 1e8;
/// Compliance over the rest of the diagonal entry, (hω)⁻²: below this a row is rigid for all purposes …
const RIGID: f64 = 1e-4;
/// … and above this its swing takes at least two steps: 2π(hω)⁻¹ ≥ 2.
const RESOLVED: f64 = 0.101;
/// Share of the row velocities by which rows that depend on each other may differ.
const AGREEMENT: f64 = 1e-8;

/// Looks at a problem; `names` says whose each block is, where that is known.
pub fn of_problem(problem: &Problem, names: Option<&[String]>, stop: Stop) -> Diagnosis {
    let mut findings = structure(problem, names);
    findings.extend(unsolved(problem, names, stop));
    Diagnosis::new(
        findings,
        looked_at(problem),
        choose(problem, stop.tolerance),
    )
}

/// How large a problem is.
pub(super) fn looked_at(problem: &Problem) -> LookedAt {
    LookedAt {
        steps: 0,
        masses: match problem.form() {
            Form::Primal(primal) => primal.mass().len(),
            Form::Dual(_) => 0,
        },
        blocks: problem.blocks().len(),
        rows: problem.n_rows(),
    }
}

/// What can be told without solving.
pub(super) fn structure(problem: &Problem, names: Option<&[String]>) -> Vec<Finding> {
    let mut findings = Vec::new();
    match problem.form() {
        Form::Primal(primal) => {
            findings.extend(mass_ratio(problem, primal, names));
            findings.extend(stiff(problem, primal, names));
            findings.extend(dependent(problem, primal, names));
        }
        Form::Dual(_) => findings.extend(scaling(problem, names)),
    }
    findings
}

fn name(names: Option<&[String]>, block: usize) -> String {
    match names.and_then(|names| names.get(block)) {
        Some(name) => name.clone(),
        None => BlockId(block as u32).to_string(),
    }
}

/// Names of blocks with a number each, the largest first, none twice.
fn ordered(names: Option<&[String]>, mut blocks: Vec<(f64, usize)>) -> Vec<String> {
    blocks.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut places: Vec<String> = Vec::new();
    for (_, k) in blocks {
        let name = name(names, k);
        if !places.contains(&name) {
            places.push(name);
        }
    }
    places
}

/// Constraints between bodies of very different mass, by the two terms of D_kk = Σ_b G_kb M_b⁻¹ G_kbᵀ: how easily
/// each body yields to the constraint.
fn mass_ratio(problem: &Problem, primal: &Primal, names: Option<&[String]>) -> Option<Finding> {
    let mut heavy = Vec::new();
    for (k, block) in problem.blocks().iter().enumerate() {
        let mut shares: Vec<(f64, f64)> = vec![(f64::INFINITY, 0.0); block.n_rows];
        let mut bodies = 0;
        for (mass, values) in primal.written_rows(BlockId(k as u32)) {
            let mass = &primal.mass()[mass.index()];
            bodies += 1;
            for (i, row) in values.chunks_exact(mass.dim().max(1)).enumerate() {
                let share = share(mass, row);
                let (least, most) = &mut shares[i];
                (*least, *most) = (least.min(share), most.max(share));
            }
        }
        let ratios = shares.iter().filter(|(least, _)| 0.0 < *least);
        let ratio = ratios.map(|(least, most)| most / least).fold(0.0, f64::max);
        if 2 <= bodies && HEAVY < ratio {
            heavy.push((ratio, k));
        }
    }
    let worst = heavy.iter().map(|(ratio, _)| *ratio).fold(0.0, f64::max);
    let places = ordered(names, heavy);
    let first = places.first()?.clone();
    let what = format!(
        "{first} joins bodies that yield to it in a ratio of {worst:.0}: sweeps need about that many rounds to pass a load on"
    );
    let remedy = "use a solver that factors (newton, hybrid, direct; auto does so by itself) or pivots (lemke), bring the masses closer together, or shorten the step";
    Some(Finding::new(
        (Severity::Warning, FindingKind::MassRatio),
        (worst, "ratio of the two terms of the Delassus diagonal"),
        places,
        (what, remedy),
    ))
}

/// G M⁻¹Gᵀ of one row on one mass; zero for a row that only turns a rigid body, whose inertia says little of its mass.
fn share(mass: &MassBlock, row: &[f64]) -> f64 {
    if matches!(mass, MassBlock::Rigid(_)) && row[..3].iter().all(|x| *x == 0.0) {
        return 0.0;
    }
    let mut solved = row.to_vec();
    mass.solve(&mut solved);
    dot(row, &solved)
}

/// Diagonal entries of a matrix that differ by many orders.
fn scaling(problem: &Problem, names: Option<&[String]>) -> Option<Finding> {
    let mut entries = Vec::new();
    for (k, block) in problem.blocks().iter().enumerate() {
        let diagonal = problem.diagonal_blocks().block(k);
        for i in 0..block.n_rows {
            entries.push((diagonal[i * (block.n_rows + 1)].abs(), k));
        }
    }
    entries.retain(|(d, _)| 0.0 < *d);
    entries.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (least, most) = (*entries.first()?, *entries.last()?);
    let spread = most.0 / least.0;
    let places = vec![name(names, most.1), name(names, least.1)];
    let what = format!("diagonal entries of the matrix differ by a factor of {spread:.0e}");
    let remedy = "scale the rows so that their diagonal entries are alike";
    (SPREAD < spread).then(|| {
        Finding::new(
            (Severity::Note, FindingKind::Scaling),
            (spread, "ratio of diagonal entries"),
            places,
            (what, remedy),
        )
    })
}

/// Springs that are neither rigid nor slow enough for the step: with (hω)² = (D − Σ)/Σ.
fn stiff(problem: &Problem, primal: &Primal, names: Option<&[String]>) -> Option<Finding> {
    let mut springs = Vec::new();
    for (k, block) in problem.blocks().iter().enumerate() {
        let diagonal = problem.diagonal_blocks().block(k);
        for (i, row) in block.rows().enumerate() {
            let sigma = primal.sigma()[row];
            let rest = diagonal[i * (block.n_rows + 1)] - sigma;
            if 0.0 < sigma && RIGID * rest < sigma && sigma < RESOLVED * rest {
                springs.push(((rest / sigma).sqrt(), k));
            }
        }
    }
    let worst = springs.iter().map(|(swing, _)| *swing).fold(0.0, f64::max);
    let places = ordered(names, springs);
    let first = places.first()?.clone();
    let what = format!(
        "{first} is a spring that swings by {worst:.1} rad in a step: the step cannot follow it and damps it away"
    );
    let remedy = "make it rigid if its swing does not matter, softer if it does, or shorten the step until a swing takes ten steps";
    Some(Finding::new(
        (Severity::Note, FindingKind::Stiff),
        (worst, "phase in a step [rad]"),
        places,
        (what, remedy),
    ))
}

/// Equality rows that depend on each other: harmless where they agree, impossible where they do not.
fn dependent(problem: &Problem, primal: &Primal, names: Option<&[String]>) -> Option<Finding> {
    let (joints, blocks) = equalities(problem, primal)?;
    let mut direct = Direct::default();
    let report = direct.solve(&joints, &mut Solution::zeros(&joints));
    let mut redundant: Vec<(f64, usize)> = Vec::new();
    for (place, block) in direct.redundant().iter().enumerate() {
        redundant.push((-(place as f64), *blocks.get(block.index())?));
    }
    if redundant.is_empty() {
        return None;
    }
    let allowed = AGREEMENT * max_abs(joints.c()).max(joints.velocity_scale()).max(1e-6);
    let law = report.residual.law;
    if law <= allowed {
        let places = ordered(names, redundant);
        let count = places.len();
        let what = format!(
            "{}{} has rows that say what others say already: their impulses are not unique",
            places.first()?,
            match count {
                1 => String::new(),
                _ => format!(", like {} more,", count - 1),
            }
        );
        let remedy = "replace a hinge of a closed chain by a ball joint, drop the surplus rows, or give them some compliance";
        let finding = (Severity::Note, FindingKind::Redundant);
        let number = (count as f64, "constraints with dependent rows");
        return Some(Finding::new(finding, number, places, (what, remedy)));
    }
    let worst = report.residual.worst_block;
    if let Some(worst) = worst.and_then(|block| blocks.get(block.index())) {
        redundant.insert(0, (1.0, *worst));
    }
    let places = ordered(names, redundant);
    let what = format!(
        "{} and others ask for velocities that no motion has: {law:.1e} m/s are left whatever the impulses",
        places.first()?
    );
    let remedy = "remove one of the constraints, let their frames agree, or give them compliance";
    Some(Finding::new(
        (Severity::Error, FindingKind::Conflict),
        (law, "velocity left over [m/s]"),
        places,
        (what, remedy),
    ))
}

/// The problem without everything that is no equality, and the place of each of its blocks.
fn equalities(problem: &Problem, primal: &Primal) -> Option<(Problem, Vec<usize>)> {
    let mut builder = Problem::builder();
    for (b, mass) in primal.mass().iter().enumerate() {
        let p = primal.slice(primal.p(), MassId(b as u32));
        builder.add_mass(mass.clone(), p).ok()?;
    }
    let mut blocks = Vec::new();
    for (k, block) in problem.blocks().iter().enumerate() {
        if block.law == Law::Equality {
            let on: Vec<At<'_>> = primal.places(BlockId(k as u32)).collect();
            let (sigma, q) = (&primal.sigma()[block.rows()], &primal.q()[block.rows()]);
            builder.add_block_at(block.law, &on, sigma, q).ok()?;
            blocks.push(k);
        }
    }
    let joints = builder.build().ok()?;
    (!blocks.is_empty()).then_some((joints, blocks))
}

/// Whether the solver of choice solves it.
fn unsolved(problem: &Problem, names: Option<&[String]>, stop: Stop) -> Option<Finding> {
    let report = Auto::new(stop, 0).solve(problem, &mut Solution::zeros(problem));
    if report.status == Status::Solved {
        return None;
    }
    // Whether the ray, where there is one, proves that there is no answer.
    let proven = report.certificate.map(|found| found.farkas.is_some());
    let law = report.residual.law;
    let worst = report.residual.worst_block.map(BlockId::index);
    let places: Vec<String> = worst.into_iter().map(|k| name(names, k)).collect();
    let at = places
        .first()
        .map_or_else(String::new, |place| format!(", worst at {place}"));
    let what = match proven {
        Some(true) => format!("no impulses satisfy all rows, which is proven{at}"),
        Some(false) => format!("impulses can grow for ever: rows clamp each other by friction{at}"),
        None => format!(
            "no solver of the table of auto reaches {:e} m/s: {law:.1e} m/s are left{at}",
            stop.tolerance
        ),
    };
    let remedy = match proven {
        Some(true) => "remove a row, turn its sign, or give rows compliance",
        Some(false) => "give rows compliance, lower the friction, or ask for less motion",
        None => {
            "allow more iterations or a coarser tolerance, give rows compliance, or compare all solvers"
        }
    };
    Some(Finding::new(
        (Severity::Error, FindingKind::Unsolved),
        (law, "law residual [m/s]"),
        places,
        (what, remedy),
    ))
}
