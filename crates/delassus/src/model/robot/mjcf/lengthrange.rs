//! How short and how long the path of a muscle can get, for files that do not say.
//!
//! MuJoCo simulates a pull at each end until nothing moves; what that finds, to within a twentieth, are the ends of a
//! descent and an ascent of the length from the configuration of the file within the limits of the joints. Those ends
//! are found here by steepest steps in coordinates that run from 0 to 1 between the limits.

use super::super::ImportError;
use super::Reader;
use super::element::View;
use crate::tree::{Tree, TreeRows};
use crate::world::{Posed, Tendon};

/// Most steps, and the least of them that is tried, in parts of the way between limits.
const STEPS: usize = 10_000;
const LEAST: f64 = 1e-9;

/// A coordinate that the path depends on, between its limits.
struct Way {
    q: usize,
    v: usize,
    range: [f64; 2],
}

impl<'a> Reader<'a> {
    /// Least and largest length of a path, or why they cannot be told.
    pub(super) fn length_range(
        &self,
        tree: &Tree,
        view: &View<'a>,
        path: &Tendon,
    ) -> Result<Result<[f64; 2], &'static str>, ImportError> {
        if self.root.section("equality").next().is_some() {
            return Ok(Err("a muscle without a lengthrange beside equalities"));
        }
        let mut ways = Vec::new();
        for joint in &self.joints {
            if let (Some(range), Some(at)) = (joint.model.range, tree.offsets(joint.model.link))
                && joint.is_single()
            {
                let (q, v) = (at.q, at.v);
                ways.push(Way { q, v, range });
            }
        }
        let fault = |error| view.element.fault(error);
        let ends = [-1.0, 1.0].map(|sign| reach(tree, path, &ways, sign).map_err(fault));
        let [least, most] = ends;
        Ok(match (least?, most?) {
            (Some(least), Some(most)) if least < most => Ok([least, most]),
            _ => Err("a muscle without a lengthrange on a joint without limits"),
        })
    }
}

/// The length where it cannot grow any more, or with the sign −1 shrink; none where a joint that it depends on has no
/// limits.
fn reach(
    tree: &Tree,
    path: &Tendon,
    ways: &[Way],
    sign: f64,
) -> Result<Option<f64>, crate::tree::TreeError> {
    let (mut q, zeros, mut data) = (tree.neutral(), vec![0.0; tree.n_dofs()], tree.data());
    for way in ways {
        q[way.q] = q[way.q].clamp(way.range[0], way.range[1]);
    }
    let mut measure = |q: &[f64]| {
        let mut rows = TreeRows::default();
        tree.velocities(q, &zeros, &mut data)?;
        let data = &data;
        let length = path.measure(Posed { tree, data, q }, &mut rows)?;
        Ok::<_, crate::tree::TreeError>((length, tree.rows_matrix(data, &rows)))
    };
    let (mut length, mut row) = measure(&q)?;
    let mut step = 0.1;
    for _ in 0..STEPS {
        let free = |v: usize| row[v] != 0.0 && !ways.iter().any(|way| way.v == v);
        if (0..row.len()).any(free) {
            return Ok(None);
        }
        // y = (q − lo)/(hi − lo):   ∂l/∂y = J (hi − lo)
        let slope = |way: &Way| sign * row[way.v] * (way.range[1] - way.range[0]);
        let most = ways.iter().map(|way| slope(way).abs()).fold(0.0, f64::max);
        if most == 0.0 || step < LEAST {
            break;
        }
        let mut tried = q.clone();
        for way in ways {
            let [lo, hi] = way.range;
            let moved = q[way.q] + step * (hi - lo) * slope(way) / most;
            tried[way.q] = moved.clamp(lo, hi);
        }
        let (reached, there) = measure(&tried)?;
        if sign * length < sign * reached {
            (q, length, row) = (tried, reached, there);
            step = (1.5 * step).min(0.1);
        } else {
            step *= 0.5;
        }
    }
    Ok(Some(length))
}
