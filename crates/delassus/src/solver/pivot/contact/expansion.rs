//! The reduced method: pivots start without friction, and that of a contact joins when its load appears.
//!
//! ```text
//! z₀, ν_i, θ_i alone;  before θ_i drives for the first time its group joins, σ and γ basic:
//! σ = σ⁰ + c_σ z₀ > 0      c_σ = max(1, (max(|σ⁰|, 10⁻³ max|q|) − min σ⁰)/z₀)        σ⁰: slip without covering
//! γ = r + c_γ z₀                                                                     [Lemke05 §5.3, App. D, (59)]
//! ```
//!
//! How this differs from the source: (1) friction joins before the ratio test, as z₀ may leave in that very pivot
//! (errata Lemke05-5.3-moment); (2) one value of the covering vector serves all directions of a group and leaves a margin
//! (errata Lemke05-59); (3) it is limited, and beyond the limit the run ends with `cover_limit`. A path is several times
//! shorter than that of the structural method, which has no such limit and is to be preferred where masses or
//! compliances differ by many orders of magnitude.

use super::basis::Slot;
use super::pivots::{self, Friction, PivotOptions, PivotOutcome};
use super::{ContactLcp, NONE, PivotWork};

/// Largest entry of the covering vector. It grows as z₀ shrinks, and beyond this the arithmetic suffers.
const COVER_LIMIT: f64 = 1e7;
/// New values are at least this much of max|q|, so that the margin is never lost in rounding.
const MARGIN: f64 = 1e-3;

/// Solves with the friction of a contact left out until its normal drives for the first time. Ends with
/// `cover_limit` where that comes too late; the structural method has no such limit.   [Lemke05 §5.3, App. D]
pub fn reduced(lcp: &ContactLcp, options: &PivotOptions<'_>, work: &mut PivotWork) -> PivotOutcome {
    pivots::run(lcp, options, work, Friction::WhereLoaded)
}

/// Adds the friction of the normal that is about to drive. False if the covering vector would be too large.
pub(super) fn expand(lcp: &ContactLcp, work: &mut PivotWork, pair: usize, scale: f64) -> bool {
    let Slot::Normal(i) = work.basis.slots[pair] else {
        return true;
    };
    for g in lcp.normals[i].groups() {
        if work.basis.at[g] != NONE {
            continue;
        }
        let group = &lcp.groups[g];
        let [_, v1, v2] = lcp.columns.dots(group.unit, &work.values.v);
        let at = work.values.pairs.len();
        let (mut least, mut largest) = (f64::INFINITY, MARGIN * scale);
        for j in group.range() {
            let [a, b] = lcp.directions[j];
            // σ as it would be without covering.
            let sigma = a * v1 + b * v2 + lcp.slip[j];
            work.values.pairs.push(sigma);
            least = least.min(sigma);
            largest = largest.max(sigma.abs());
        }
        // c_σ = (max|σ⁰| − min σ⁰)/z₀
        let z0 = work.values.pairs[0];
        let need = (largest - least) / z0;
        // Written so that a number that is not one is refused too.
        if !(need <= COVER_LIMIT) {
            return false;
        }
        let member = work.join(lcp, g, need);
        for value in &mut work.values.pairs[at..] {
            *value += member.slip * z0;
        }
        work.values.pairs.push(group.room + member.bound * z0);
    }
    true
}
