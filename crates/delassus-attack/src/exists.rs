//! Whether a solution is known to exist.
//!
//! Coulomb's law with joints has a solution where some motion opens all contacts with friction at once \[Acary11\]:
//!
//! ```text
//! x with G_e x = 0 (equalities), u_n ≥ 0 (contacts without friction), μ|u_t| < u_n (with friction), u = G x
//! ```
//!
//! Without such a motion nobody knows: it may have one or none. The shortest x with u_n − μ|u_t| ≥ 1 is found by least
//! squares with signs, which take the most violated direction of a cone again and again (Lawson and Hanson's LDP); what
//! is found is checked as it stands. Equalities are taken out in 32 digits first: joints a micrometre apart are two.

use crate::judge::{Block, Law, System};
use crate::wide::{Wide, dot};

/// Share of a row that must be left after others are taken out for it to count: exact copies leave 1e-32.
const INDEPENDENT: f64 = 1e-20;
/// Directions taken before nothing is known.
const MOST: usize = 400;
/// Longest x that counts: one that opens contacts by less than this share of itself is none but for rounding.
const LONGEST: f64 = 1e7;
/// Share of |x| that a contact without friction may close by: rounding.
const CLOSED: f64 = 1e-9;
/// Share of a column left, below which it is a combination of others.
const DEPENDENT: f64 = 1e-12;

/// A contact in units of its normal row: n, and the tangents times their coefficients.
struct Contact {
    normal: Vec<f64>,
    tangents: Vec<Vec<f64>>,
}

/// Whether the problem is known to have a solution, as far as friction against equalities goes.
pub(crate) fn is_known(system: &System) -> bool {
    let equalities = || {
        let blocks = system.blocks.iter();
        blocks.filter(|block| block.law == Law::Equality)
    };
    let friction: Vec<&Block> = system
        .blocks
        .iter()
        .filter(|block| !coefficients(block).is_empty())
        .collect();
    let slippery = friction.iter().all(|block| {
        let mu = coefficients(block);
        mu.iter().all(|mu| *mu == 0.0)
    });
    // Joints alone are linear, and contacts without friction convex.
    if equalities().next().is_none() || slippery {
        return true;
    }
    let length = system.longest_arm();
    let held = equalities().flat_map(|block| &block.rows);
    let basis = independent(held.map(|row| system.spread(row, length)));
    let contacts: Vec<Contact> = friction
        .iter()
        .map(|block| {
            let mut rows = block.rows.iter().map(|row| {
                let free = without(&basis, system.spread(row, length));
                free.into_iter().map(Wide::rounded).collect::<Vec<f64>>()
            });
            let mut normal = rows.next().expect("a contact has a normal row");
            let size = norm(&normal).max(f64::MIN_POSITIVE);
            normal.iter_mut().for_each(|x| *x /= size);
            let tangents = rows.zip(coefficients(block)).filter(|(_, mu)| *mu != 0.0);
            let tangents = tangents
                .map(|(row, mu)| row.into_iter().map(|x| mu * x / size).collect())
                .collect();
            Contact { normal, tangents }
        })
        .collect();
    opens(&contacts)
}

/// The coefficient of each tangent of a contact; that of a round cone around it, where it is not round.
fn coefficients(block: &Block) -> Vec<f64> {
    let tangents = block.q.len().saturating_sub(1);
    match &block.law {
        Law::Equality | Law::Bounds(..) => Vec::new(),
        Law::Box(mu) => vec![mu * std::f64::consts::SQRT_2; tangents],
        Law::Facets(mu, _) => vec![*mu; tangents],
        Law::Ellipsoid(mu) => mu.clone(),
        Law::Disks(disks) => {
            let each = disks.iter().map(|(mu, rows)| vec![*mu; *rows]);
            each.flatten().collect()
        }
    }
}

impl System {
    /// The largest angular entry of a row: what a radian counts for \[m\].
    fn longest_arm(&self) -> Wide {
        let rows = self.blocks.iter().flat_map(|block| &block.rows).flatten();
        let angular = rows.flat_map(|(_, values)| values.iter().skip(3));
        let most = angular.fold(Wide::ZERO, |most, x| most.max(x.abs()));
        if most == Wide::ZERO { Wide::ONE } else { most }
    }

    /// A row over all velocities, angular ones in metres.
    fn spread(&self, row: &[(usize, Vec<Wide>)], length: Wide) -> Vec<Wide> {
        let mut all = vec![Wide::ZERO; 6 * self.masses.len()];
        for (mass, values) in row {
            for (i, value) in values.iter().enumerate().take(6) {
                let unit = if i < 3 { Wide::ONE } else { length };
                all[6 * mass + i] += *value / unit;
            }
        }
        all
    }
}

/// An orthonormal basis of rows.
fn independent(rows: impl Iterator<Item = Vec<Wide>>) -> Vec<Vec<Wide>> {
    let mut basis: Vec<Vec<Wide>> = Vec::new();
    for row in rows {
        let before = dot(&row, &row).sqrt();
        let left = without(&basis, row);
        let after = dot(&left, &left).sqrt();
        if Wide::from(INDEPENDENT) * before < after {
            basis.push(left.into_iter().map(|x| x / after).collect());
        }
    }
    basis
}

/// x without its parts along a basis, taken out twice.
fn without(basis: &[Vec<Wide>], mut x: Vec<Wide>) -> Vec<Wide> {
    for b in basis.iter().chain(basis) {
        let along = dot(b, &x);
        x.iter_mut().zip(b).for_each(|(x, b)| *x -= along * *b);
    }
    x
}

/// Whether some x opens all contacts.
fn opens(contacts: &[Contact]) -> bool {
    let Some(first) = contacts.first() else {
        return true;
    };
    let n = first.normal.len();
    // The residual of E u = (0, 1), u ≥ 0, with a column (a, h) for every a·x ≥ h.
    let mut target = vec![0.0; n + 1];
    target[n] = 1.0;
    let mut residual = target.clone();
    let mut taken = Vec::new();
    for _ in 0..MOST {
        let height = residual[n];
        if !(0.0 < height) || LONGEST * height < norm(&residual[..n]) {
            return false;
        }
        let x: Vec<f64> = residual[..n].iter().map(|r| -r / height).collect();
        match most_closed(contacts, &x) {
            None => return true,
            Some(column) => taken.push((column, 0.0)),
        }
        let Some(next) = least_squares_with_signs(&mut taken, &target) else {
            return false;
        };
        residual = next;
    }
    false
}

/// The row and bound that x is furthest from; none where all contacts open.
fn most_closed(contacts: &[Contact], x: &[f64]) -> Option<Vec<f64>> {
    let mut worst: Option<(f64, Vec<f64>)> = None;
    let mut all_open = true;
    for contact in contacts {
        let bound = f64::from(!contact.tangents.is_empty());
        let slip: Vec<f64> = contact.tangents.iter().map(|t| inner(t, x)).collect();
        let speed = norm(&slip);
        let opening = inner(&contact.normal, x) - speed;
        all_open &= match bound == 0.0 {
            true => -CLOSED * norm(x) <= opening,
            false => 0.5 <= opening,
        };
        let missing = bound - opening;
        if worst.as_ref().is_some_and(|(most, _)| missing <= *most) {
            continue;
        }
        let mut column = contact.normal.clone();
        for (t, slip) in contact.tangents.iter().zip(&slip) {
            let share = if 0.0 < speed { slip / speed } else { 0.0 };
            column.iter_mut().zip(t).for_each(|(c, t)| *c -= share * t);
        }
        column.push(bound);
        worst = Some((missing, column));
    }
    worst.filter(|_| !all_open).map(|(_, column)| column)
}

/// What the columns, each as often as it may be but not less than never, leave of the target. The last column is new;
/// those that are not used are dropped.
fn least_squares_with_signs(
    columns: &mut Vec<(Vec<f64>, f64)>,
    target: &[f64],
) -> Option<Vec<f64>> {
    loop {
        let wanted = least_squares(columns, target)?;
        let each = columns.iter().zip(&wanted);
        // The longest step towards what is wanted that keeps all signs.
        let step = each
            .filter(|(_, wanted)| **wanted <= 0.0)
            .map(|((_, now), wanted)| now / (now - wanted).max(f64::MIN_POSITIVE))
            .fold(1.0, f64::min);
        for ((_, now), wanted) in columns.iter_mut().zip(&wanted) {
            *now += step * (wanted - *now);
        }
        if wanted.iter().all(|wanted| 0.0 < *wanted) {
            let mut left = target.to_vec();
            for (column, share) in &*columns {
                left.iter_mut()
                    .zip(column)
                    .for_each(|(l, c)| *l -= share * c);
            }
            return Some(left);
        }
        let before = columns.len();
        columns.retain(|(_, now)| 1e-14 < *now);
        if columns.is_empty() || columns.len() == before {
            return None;
        }
    }
}

/// The shares of columns that come nearest to the target, by an orthonormal basis of them.
fn least_squares(columns: &[(Vec<f64>, f64)], target: &[f64]) -> Option<Vec<f64>> {
    let k = columns.len();
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(k);
    let mut upper = vec![0.0; k * k];
    for (j, (column, _)) in columns.iter().enumerate() {
        let mut x = column.clone();
        for _ in 0..2 {
            for (i, b) in basis.iter().enumerate() {
                let along = inner(b, &x);
                upper[i * k + j] += along;
                x.iter_mut().zip(b).for_each(|(x, b)| *x -= along * b);
            }
        }
        let length = norm(&x);
        if length <= DEPENDENT * norm(column) {
            return None;
        }
        upper[j * k + j] = length;
        basis.push(x.into_iter().map(|x| x / length).collect());
    }
    let mut shares: Vec<f64> = basis.iter().map(|b| inner(b, target)).collect();
    for i in (0..k).rev() {
        let known: f64 = (i + 1..k).map(|j| upper[i * k + j] * shares[j]).sum();
        shares[i] = (shares[i] - known) / upper[i * k + i];
    }
    Some(shares)
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(x: &[f64]) -> f64 {
    inner(x, x).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Mass;

    /// A body on a contact with friction along z, held along one axis at its centre.
    fn held(along: usize, mu: f64) -> System {
        let row = |k: usize| {
            let unit = (0..6).map(|j| Wide::from(f64::from(j == k)));
            vec![(0, unit.collect())]
        };
        let block = |law, rows: Vec<usize>| Block {
            law,
            sigma: vec![Wide::ZERO; rows.len()],
            q: vec![Wide::ZERO; rows.len()],
            rows: rows.into_iter().map(row).collect(),
        };
        System {
            masses: vec![Mass {
                inverse: Vec::new(),
                free: vec![Wide::ZERO; 6],
            }],
            blocks: vec![
                block(Law::Disks(vec![(mu, 2)]), vec![2, 0, 1]),
                block(Law::Equality, vec![along]),
            ],
            matrix: None,
        }
    }

    #[test]
    fn a_contact_that_can_open_is_known_to_have_a_solution_and_one_that_cannot_is_not() {
        assert!(is_known(&held(0, 0.5)));
        assert!(!is_known(&held(2, 0.5)));
        // Without friction it is convex.
        assert!(is_known(&held(2, 0.0)));
        // Two contacts that face each other leave no way.
        let mut vice = held(0, 0.5);
        let mut other = vice.blocks[0].clone();
        for (_, values) in other.rows.iter_mut().flatten() {
            values.iter_mut().for_each(|x| *x = -*x);
        }
        vice.blocks.push(other);
        assert!(!is_known(&vice));
    }
}
