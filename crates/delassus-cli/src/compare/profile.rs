//! What a set of works says as a whole: performance profiles and growth of time with size.
//!
//! A performance profile (Dolan and Moré, 2002) shows for each solver the share of works it brings to the tolerance
//! within τ times the best solver's time. A work it does not bring there, or whose laws it does not know, counts as
//! never.

use std::collections::BTreeMap;

use serde::Serialize;

/// One solver on one work, as far as profiles care.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) work: usize,
    pub(super) solver: String,
    /// Time to the tolerance \[s\]; none where it was not reached.
    pub(super) time: Option<f64>,
}

/// The profile of one solver.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Profile {
    pub(super) solver: String,
    /// Works it brought to the tolerance, as a share.
    pub(super) solved: f64,
    /// Works on which nobody was faster, as a share.
    pub(super) fastest: f64,
    /// (τ, share of works done within τ times the best time), at every τ where the share rises.
    pub(super) points: Vec<(f64, f64)>,
}

/// Profiles over `works` works, the best solvers first: by works solved, then by works solved fastest.
pub(super) fn profiles(works: usize, entries: &[Entry]) -> Vec<Profile> {
    let mut best = vec![f64::INFINITY; works];
    for entry in entries {
        if let Some(time) = entry.time {
            best[entry.work] = best[entry.work].min(time);
        }
    }
    let mut ratios: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for entry in entries {
        let list = ratios.entry(&entry.solver).or_default();
        list.extend(entry.time.map(|time| time / best[entry.work].max(1e-12)));
    }
    let share = |count: usize| count as f64 / works.max(1) as f64;
    let mut profiles: Vec<Profile> = ratios
        .into_iter()
        .map(|(solver, mut ratios)| {
            ratios.sort_by(f64::total_cmp);
            let mut points: Vec<(f64, f64)> = Vec::new();
            for (i, &ratio) in ratios.iter().enumerate() {
                match points.last_mut() {
                    Some(last) if last.0 == ratio => last.1 = share(i + 1),
                    _ => points.push((ratio, share(i + 1))),
                }
            }
            Profile {
                solver: solver.to_owned(),
                solved: share(ratios.len()),
                fastest: share(ratios.iter().filter(|ratio| **ratio <= 1.0).count()),
                points,
            }
        })
        .collect();
    profiles.sort_by(|a, b| {
        let solved = b.solved.total_cmp(&a.solved);
        solved
            .then_with(|| b.fastest.total_cmp(&a.fastest))
            .then_with(|| mean_log(a).total_cmp(&mean_log(b)))
    });
    profiles
}

/// How far behind the best a solver is on average, as a logarithm.
fn mean_log(profile: &Profile) -> f64 {
    let sum: f64 = profile.points.iter().map(|point| point.0.ln()).sum();
    sum / profile.points.len().max(1) as f64
}

/// One solver on works of one family and different sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Growth {
    pub(super) family: String,
    pub(super) solver: String,
    /// What the size counts.
    pub(super) unit: &'static str,
    /// Slope of time against size in logarithms, by least squares.
    pub(super) exponent: f64,
    /// (size, time \[s\]) of the works brought to the tolerance, by size.
    pub(super) points: Vec<(f64, f64)>,
}

/// One measured point of [`growth`]: family, solver, unit, size and time \[s\].
pub(super) type Sized = (String, String, &'static str, f64, f64);

/// Time against size for every solver that has two sizes of a family.
pub(super) fn growth(sized: &[Sized]) -> Vec<Growth> {
    type Group<'a> = (&'a str, &'a str, &'static str);
    let mut groups: BTreeMap<Group<'_>, Vec<(f64, f64)>> = BTreeMap::new();
    for (family, solver, unit, size, time) in sized {
        let group = groups.entry((family, solver, unit)).or_default();
        group.push((*size, *time));
    }
    let mut growth = Vec::new();
    for ((family, solver, unit), mut points) in groups {
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        if let Some(exponent) = slope(&points) {
            growth.push(Growth {
                family: family.to_owned(),
                solver: solver.to_owned(),
                unit,
                exponent,
                points,
            });
        }
    }
    growth
}

/// Least-squares slope of ln y against ln x; none where all x are the same.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let usable = points.iter().filter(|(x, y)| 0.0 < *x && 0.0 < *y);
    let logs: Vec<(f64, f64)> = usable.map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len().max(1) as f64;
    let (x, y) = logs
        .iter()
        .fold((0.0, 0.0), |(sx, sy), (x, y)| (sx + x / n, sy + y / n));
    let (mut top, mut bottom) = (0.0, 0.0);
    for (u, v) in logs {
        top += (u - x) * (v - y);
        bottom += (u - x) * (u - x);
    }
    (1e-9 < bottom).then(|| top / bottom)
}

/// What works of different sizes have in common: the name before the last `:`, or the folder.
pub(super) fn family(work: &str) -> String {
    let stem = work
        .rsplit_once(':')
        .filter(|(_, size)| !size.contains(['/', '\\']));
    match (stem, work.rsplit_once(['/', '\\'])) {
        (Some((stem, size)), _) if size.starts_with(|c: char| c.is_ascii_digit()) => {
            stem.to_owned()
        }
        (_, Some((folder, _))) => format!("{folder}/"),
        _ => work.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(work: usize, solver: &str, time: Option<f64>) -> Entry {
        Entry {
            work,
            solver: solver.to_owned(),
            time,
        }
    }

    #[test]
    fn a_profile_is_the_share_of_works_within_a_factor_of_the_best() {
        let entries = [
            entry(0, "a", Some(1.0)),
            entry(0, "b", Some(2.0)),
            entry(1, "a", Some(3.0)),
            entry(1, "b", Some(1.0)),
            entry(2, "a", Some(5.0)),
            entry(2, "b", None),
        ];
        let profiles = profiles(4, &entries);
        assert_eq!(
            (profiles[0].solver.as_str(), profiles[0].solved),
            ("a", 0.75)
        );
        assert_eq!(profiles[0].fastest, 0.5);
        assert_eq!(profiles[0].points, [(1.0, 0.5), (3.0, 0.75)]);
        assert_eq!(profiles[1].points, [(1.0, 0.25), (2.0, 0.5)]);
    }

    #[test]
    fn growth_is_the_slope_in_logarithms() {
        let point = |size: f64| {
            let time = 1e-6 * size.powf(1.5);
            ("pile".to_owned(), "a".to_owned(), "rows", size, time)
        };
        let sized = [point(1000.0), point(10.0), point(100.0)];
        let growth = growth(&sized);
        assert_eq!(growth.len(), 1);
        assert!((growth[0].exponent - 1.5).abs() < 1e-12);
        assert_eq!(growth[0].points[0].0, 10.0);
        assert!(super::growth(&sized[..1]).is_empty());
    }

    #[test]
    fn families_are_names_before_sizes_or_folders() {
        assert_eq!(family("problem:pile:100"), "problem:pile");
        assert_eq!(family("stack:10"), "stack");
        assert_eq!(family("experiment:stack:2x8"), "experiment:stack");
        assert_eq!(family("some/folder/a.json"), "some/folder/");
        assert_eq!(family("problem:rod"), "problem:rod");
    }
}
