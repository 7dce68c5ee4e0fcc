//! Problem files read into 32 digits, by a reader of their own.

use serde_json::Value;

use crate::judge::{Block, Law, Mass, Row, System};
use crate::tree::{Chain, Point};
use crate::wide::{Wide, apply, cross, dot, inverse, plus, rotation, scaled, times, transposed};

/// Why a file cannot be judged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum Unread {
    /// A key is missing or has another type.
    #[error("{key} is missing or not {expected}")]
    Key {
        /// Which.
        key: String,
        /// What was expected there.
        expected: &'static str,
    },
    /// A matrix that should be positive definite is not.
    #[error("{what} is not positive definite")]
    Indefinite {
        /// Which.
        what: &'static str,
    },
    /// A kind that has no impulses to judge.
    #[error("files of kind \"{kind}\" are not judged")]
    Kind {
        /// Which.
        kind: String,
    },
}

fn absent(key: &str, expected: &'static str) -> Unread {
    Unread::Key {
        key: key.to_owned(),
        expected,
    }
}

/// The value under a key.
pub(crate) fn at<'a>(value: &'a Value, key: &str) -> Result<&'a Value, Unread> {
    value.get(key).ok_or_else(|| absent(key, "there"))
}

/// A word under a key.
fn word<'a>(value: &'a Value, key: &str) -> Result<&'a str, Unread> {
    let found = at(value, key)?.as_str();
    found.ok_or_else(|| absent(key, "a word"))
}

/// A list under a key.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> Result<&'a [Value], Unread> {
    let found = at(value, key)?.as_array();
    Ok(found.ok_or_else(|| absent(key, "a list"))?)
}

/// A number under a key.
pub(crate) fn number(value: &Value, key: &str) -> Result<f64, Unread> {
    at(value, key)?
        .as_f64()
        .ok_or_else(|| absent(key, "a number"))
}

/// The same, or what the format says where it is left out.
pub(crate) fn number_or(value: &Value, key: &str, default: f64) -> Result<f64, Unread> {
    match value.get(key) {
        None => Ok(default),
        Some(_) => number(value, key),
    }
}

/// Whole number under a key: a body, a link.
pub(crate) fn whole(value: &Value, key: &str) -> Result<i64, Unread> {
    at(value, key)?
        .as_i64()
        .ok_or_else(|| absent(key, "a whole number"))
}

/// Numbers in 32 digits.
pub(crate) fn wides(value: &Value, key: &str) -> Result<Vec<Wide>, Unread> {
    let items = value.as_array().ok_or_else(|| absent(key, "a list"))?;
    let each = items.iter().map(|x| x.as_f64().map(Wide::from));
    each.collect::<Option<Vec<_>>>()
        .ok_or_else(|| absent(key, "numbers"))
}

/// Rows one after the other.
pub(crate) fn flat(value: &Value, key: &str) -> Result<Vec<Wide>, Unread> {
    let rows = value
        .as_array()
        .ok_or_else(|| absent(key, "a list of rows"))?;
    let mut all = Vec::new();
    for row in rows {
        all.extend(wides(row, key)?);
    }
    Ok(all)
}

/// N numbers under a key.
pub(crate) fn fixed<const N: usize>(value: &Value, key: &str) -> Result<[Wide; N], Unread> {
    let numbers = wides(at(value, key)?, key)?;
    numbers
        .try_into()
        .map_err(|_| absent(key, "of the right length"))
}

/// The same, or zeros where they are left out.
pub(crate) fn fixed_or_zero<const N: usize>(value: &Value, key: &str) -> Result<[Wide; N], Unread> {
    match value.get(key) {
        None => Ok([Wide::ZERO; N]),
        Some(_) => fixed(value, key),
    }
}

/// Three rows of three.
pub(crate) fn matrix3(value: &Value, key: &str) -> Result<[[Wide; 3]; 3], Unread> {
    let numbers = flat(at(value, key)?, key)?;
    let rows = numbers.as_chunks::<3>().0;
    rows.try_into()
        .map_err(|_| absent(key, "three rows of three"))
}

/// Reads a problem of any kind that has impulses.
pub(crate) fn system(file: &Value) -> Result<System, Unread> {
    let kind = word(file, "kind")?;
    match kind {
        "contact" | "joints" => bodies(file),
        "rows" => rows(file),
        "lcp" => lcp(file),
        "tree" => tree(file),
        "treecontact" => tree_contact(file),
        "problem" => own(file),
        "dual" => dual(file),
        _ => Err(Unread::Kind {
            kind: kind.to_owned(),
        }),
    }
}

fn rows(file: &Value) -> Result<System, Unread> {
    let free = wides(at(file, "v1")?, "v1")?;
    let inverse = flat(at(file, "Minv")?, "Minv")?;
    let (q, sigma) = (
        wides(at(file, "q")?, "q")?,
        wides(at(file, "sigma")?, "sigma")?,
    );
    let (lo, hi) = (list(file, "lo")?, list(file, "hi")?);
    let mut blocks = Vec::new();
    for (i, row) in list(file, "G")?.iter().enumerate() {
        let bound = |bounds: &[Value], open: f64| bounds[i].as_f64().unwrap_or(open);
        let law = match (bound(lo, f64::NEG_INFINITY), bound(hi, f64::INFINITY)) {
            (f64::NEG_INFINITY, f64::INFINITY) => Law::Equality,
            (lo, hi) => Law::Bounds(lo, hi),
        };
        blocks.push(Block {
            law,
            rows: vec![vec![(0, wides(row, "G")?)]],
            sigma: vec![sigma[i]],
            q: vec![q[i]],
        });
    }
    Ok(System {
        masses: vec![Mass { inverse, free }],
        blocks,
        matrix: None,
    })
}

fn lcp(file: &Value) -> Result<System, Unread> {
    let c = wides(at(file, "q")?, "q")?;
    let free: Vec<usize> = match file.get("free") {
        None => Vec::new(),
        Some(_) => {
            let rows = list(file, "free")?.iter();
            rows.filter_map(|row| row.as_u64().map(|row| row as usize))
                .collect()
        }
    };
    let block = |(i, c): (usize, &Wide)| Block {
        law: match free.contains(&i) {
            true => Law::Equality,
            false => Law::Bounds(0.0, f64::INFINITY),
        },
        rows: Vec::new(),
        sigma: vec![Wide::ZERO],
        q: vec![-*c],
    };
    Ok(System {
        masses: Vec::new(),
        blocks: c.iter().enumerate().map(block).collect(),
        matrix: Some(flat(at(file, "M")?, "M")?),
    })
}

/// The law of a contact in files of bodies and of trees.
fn contact_law(cone: &str, contact: &Value, directions: u32) -> Result<Law, Unread> {
    let mu = at(contact, "mu")?;
    Ok(match (cone, mu.as_f64()) {
        ("box", Some(mu)) => Law::Box(mu),
        ("polyhedral", Some(mu)) if mu != 0.0 => Law::Facets(mu, directions),
        (_, Some(mu)) => Law::Disks(vec![(mu, 2)]),
        (_, None) => {
            let [first, second] = fixed::<2>(contact, "mu")?;
            Law::Ellipsoid(vec![first.rounded(), second.rounded()])
        }
    })
}

/// A free body: m, (R I⁻¹Rᵀ) and v¹ = v + h M⁻¹(f, τ − ω × Iω).
struct Body {
    centre: [Wide; 3],
    mass: Mass,
}

fn body(entry: &Value, h: Wide) -> Result<Body, Unread> {
    let m = Wide::from(number(entry, "m")?);
    let own = matrix3(entry, "I_body")?;
    let turn = rotation(fixed::<4>(entry, "q")?).ok_or_else(|| absent("q", "a quaternion"))?;
    let back = transposed(&turn);
    let world = times(&times(&turn, &own), &back);
    let own_inverse =
        inverse(own.as_flattened(), 3).ok_or(Unread::Indefinite { what: "I_body" })?;
    let own_inverse: [[Wide; 3]; 3] =
        [0, 3, 6].map(|i| [own_inverse[i], own_inverse[i + 1], own_inverse[i + 2]]);
    let moved = times(&times(&turn, &own_inverse), &back);
    let (v, spin) = (
        fixed_or_zero::<3>(entry, "v")?,
        fixed_or_zero::<3>(entry, "w")?,
    );
    let (f, tau) = (
        fixed_or_zero::<3>(entry, "f")?,
        fixed_or_zero::<3>(entry, "tau")?,
    );
    let torque = plus(tau, scaled(cross(spin, apply(&world, spin)), -Wide::ONE));
    let linear = plus(v, scaled(f, h / m));
    let angular = plus(spin, scaled(apply(&moved, torque), h));
    let mut all = vec![Wide::ZERO; 36];
    for i in 0..3 {
        all[i * 6 + i] = Wide::ONE / m;
        for j in 0..3 {
            all[(i + 3) * 6 + j + 3] = moved[i][j];
        }
    }
    Ok(Body {
        centre: fixed(entry, "x")?,
        mass: Mass {
            inverse: all,
            free: [linear, angular].concat(),
        },
    })
}

fn bodies(file: &Value) -> Result<System, Unread> {
    let h = Wide::from(number(file, "h")?);
    let all = list(file, "bodies")?.iter().map(|entry| body(entry, h));
    let all = all.collect::<Result<Vec<Body>, Unread>>()?;
    let mut blocks = Vec::new();
    if file.get("contacts").is_some() {
        let cone = word(file, "cone")?;
        for contact in list(file, "contacts")? {
            let frame = [
                fixed(contact, "n")?,
                fixed(contact, "t1")?,
                fixed(contact, "t2")?,
            ];
            let mut sigma = vec![Wide::ZERO; 3];
            let mut q = sigma.clone();
            sigma[0] = Wide::from(number_or(contact, "sigma_n", 0.0)?);
            q[0] = Wide::from(number_or(contact, "q_n", 0.0)?);
            let directions = number_or(contact, "d", 8.0)? as u32;
            blocks.push(Block {
                law: contact_law(cone, contact, directions)?,
                rows: point_rows(&all, contact, &frame)?,
                sigma,
                q,
            });
        }
    }
    if file.get("joints").is_some() {
        for joint in list(file, "joints")? {
            let axis = |i: usize| [0, 1, 2].map(|j| Wide::from(f64::from(i == j)));
            let sigma = Wide::from(number_or(joint, "sigma", 0.0)?);
            blocks.push(Block {
                law: Law::Equality,
                rows: point_rows(&all, joint, &[axis(0), axis(1), axis(2)])?,
                sigma: vec![sigma; 3],
                q: fixed_or_zero::<3>(joint, "q")?.to_vec(),
            });
        }
    }
    Ok(System {
        masses: all.into_iter().map(|body| body.mass).collect(),
        blocks,
        matrix: None,
    })
}

/// ±(d, arm × d) for the first and the second body of each direction.
fn point_rows(
    bodies: &[Body],
    entry: &Value,
    directions: &[[Wide; 3]],
) -> Result<Vec<Row>, Unread> {
    let p: [Wide; 3] = fixed(entry, "p")?;
    let mut rows = vec![Vec::new(); directions.len()];
    for (key, sign) in [("a", Wide::ONE), ("b", -Wide::ONE)] {
        let Ok(id) = usize::try_from(whole(entry, key)?) else {
            continue;
        };
        let body = bodies.get(id).ok_or_else(|| absent(key, "a body"))?;
        let arm = plus(p, scaled(body.centre, -Wide::ONE));
        for (row, direction) in rows.iter_mut().zip(directions) {
            row.push((id, arm_row(*direction, arm, sign)));
        }
    }
    Ok(rows)
}

fn arm_row(direction: [Wide; 3], arm: [Wide; 3], sign: Wide) -> Vec<Wide> {
    let both = [direction, cross(arm, direction)].concat();
    both.into_iter().map(|x| x * sign).collect()
}

fn tree(file: &Value) -> Result<System, Unread> {
    let chain = Chain::read(list(file, "joints")?, &wides(at(file, "q")?, "q")?)?;
    let sigma = Wide::from(number_or(file, "sigma", 0.0)?);
    let q = wides(at(file, "y2")?, "y2")?;
    let mut rows: Vec<Row> = Vec::new();
    for constraint in list(file, "constraints")? {
        let weld = constraint.get("weld").and_then(Value::as_bool) == Some(true);
        let axes = [0, 1, 2].map(|i| [0, 1, 2].map(|j| Wide::from(f64::from(i == j))));
        let directions: Vec<[Wide; 3]> = match weld {
            true => axes.to_vec(),
            false => flat(at(constraint, "dirs")?, "dirs")?
                .as_chunks::<3>()
                .0
                .to_vec(),
        };
        let ends = Point::ends(constraint)?;
        let mut all: Vec<Vec<Wide>> = directions.iter().map(|d| chain.along(&ends, *d)).collect();
        if weld {
            all.extend(axes.iter().map(|axis| chain.about(&ends, *axis)));
        }
        rows.extend(all.into_iter().map(|row| vec![(0, row)]));
    }
    // All rows of a tree share one law.
    let blocks = vec![Block {
        law: Law::Equality,
        sigma: vec![sigma; rows.len()],
        rows,
        q,
    }];
    let p = wides(at(file, "y1")?, "y1")?;
    Ok(System {
        masses: vec![chain.mass(&p)?],
        blocks,
        matrix: None,
    })
}

fn tree_contact(file: &Value) -> Result<System, Unread> {
    let chain = Chain::read(list(file, "joints")?, &wides(at(file, "q")?, "q")?)?;
    let h = Wide::from(number(file, "h")?);
    let v = wides(at(file, "v")?, "v")?;
    let tau = wides(at(file, "tau")?, "tau")?;
    let gravity = fixed::<3>(file, "gravity")?;
    // v¹ = v + h M⁻¹(τ − bias)
    let bias = chain.bias(&v, gravity);
    let pull: Vec<Wide> = tau.iter().zip(&bias).map(|(t, b)| h * (*t - *b)).collect();
    let mut mass = chain.mass(&pull)?;
    mass.free
        .iter_mut()
        .zip(&v)
        .for_each(|(free, v)| *free += *v);
    let cone = file
        .get("cone")
        .and_then(Value::as_str)
        .unwrap_or("polyhedral");
    let directions = number_or(file, "d", 8.0)? as u32;
    let mut blocks = Vec::new();
    for contact in list(file, "contacts")? {
        let frame: [[Wide; 3]; 3] = [
            fixed(contact, "n")?,
            fixed(contact, "t1")?,
            fixed(contact, "t2")?,
        ];
        let ends = Point::ends(contact)?;
        let zero = Wide::ZERO;
        blocks.push(Block {
            law: contact_law(cone, contact, directions)?,
            rows: frame.map(|d| vec![(0, chain.along(&ends, d))]).to_vec(),
            sigma: vec![Wide::from(number_or(contact, "sigma_n", 0.0)?), zero, zero],
            q: vec![Wide::from(number_or(contact, "q_n", 0.0)?), zero, zero],
        });
    }
    Ok(System {
        masses: vec![mass],
        blocks,
        matrix: None,
    })
}

/// A law by its name in files of masses and rows.
fn named_law(law: &Value, n_rows: usize) -> Result<Law, Unread> {
    let bound = |key: &str, open: f64| law.get(key).and_then(Value::as_f64).unwrap_or(open);
    let mu = || number(law, "mu");
    Ok(match word(law, "name")? {
        "equality" => Law::Equality,
        "unilateral" => Law::Bounds(0.0, f64::INFINITY),
        "interval" => Law::Bounds(bound("lo", f64::NEG_INFINITY), bound("hi", f64::INFINITY)),
        "friction-box" => Law::Box(mu()?),
        "friction-cone" => Law::Disks(vec![(mu()?, n_rows - 1)]),
        "elliptic-cone" => {
            let [first, second] = fixed::<2>(law, "mu")?;
            Law::Ellipsoid(vec![first.rounded(), second.rounded()])
        }
        "friction-facets" => Law::Facets(mu()?, number(law, "directions")? as u32),
        "rolling-cone" => {
            let each = (n_rows - 1) / 2;
            Law::Disks(vec![(mu()?, each), (number(law, "rolling")?, each)])
        }
        "rolling-spinning" => Law::Disks(vec![
            (mu()?, 2),
            (number(law, "rolling")?, 2),
            (number(law, "spinning")?, 1),
        ]),
        "torsional-cone" => Law::Ellipsoid(vec![mu()?, mu()?, number(law, "spinning")?]),
        "ellipsoid-cone" => {
            let (mu, roll) = (mu()?, number(law, "rolling")?);
            Law::Ellipsoid(vec![mu, mu, roll, roll, number(law, "spinning")?])
        }
        _ => return Err(absent("law", "a known law")),
    })
}

/// Masses and rows written out; points and links are not among what is drawn in this form.
fn own(file: &Value) -> Result<System, Unread> {
    let mut masses = Vec::new();
    for entry in list(file, "masses")? {
        let p = wides(at(entry, "p")?, "p")?;
        let indefinite = Unread::Indefinite { what: "a mass" };
        let all = if let Some(rigid) = entry.get("rigid") {
            let moved = inverse(matrix3(rigid, "I")?.as_flattened(), 3).ok_or(indefinite)?;
            let light = Wide::ONE / Wide::from(number(rigid, "m")?);
            let mut all = vec![Wide::ZERO; 36];
            for i in 0..3 {
                all[i * 6 + i] = light;
                all[(i + 3) * 6 + 3..(i + 4) * 6].copy_from_slice(&moved[3 * i..3 * i + 3]);
            }
            all
        } else {
            inverse(&flat(at(entry, "dense")?, "dense")?, p.len()).ok_or(indefinite)?
        };
        let free = all.chunks_exact(p.len()).map(|row| dot(row, &p)).collect();
        masses.push(Mass { inverse: all, free });
    }
    let mut blocks = Vec::new();
    for entry in list(file, "blocks")? {
        let (q, sigma) = (
            wides(at(entry, "q")?, "q")?,
            wides(at(entry, "sigma")?, "sigma")?,
        );
        let mut rows = vec![Vec::new(); q.len()];
        for on in list(entry, "on")? {
            let id = whole(on, "mass")? as usize;
            for (row, values) in rows.iter_mut().zip(list(on, "G")?) {
                row.push((id, wides(values, "G")?));
            }
        }
        let law = named_law(at(entry, "law")?, q.len())?;
        blocks.push(Block {
            law,
            rows,
            sigma,
            q,
        });
    }
    Ok(System {
        masses,
        blocks,
        matrix: None,
    })
}

fn dual(file: &Value) -> Result<System, Unread> {
    let entries = list(file, "blocks")?;
    let (mut blocks, mut starts) = (Vec::new(), vec![0]);
    for entry in entries {
        let c = wides(at(entry, "c")?, "c")?;
        starts.push(starts[starts.len() - 1] + c.len());
        blocks.push(Block {
            law: named_law(at(entry, "law")?, c.len())?,
            rows: Vec::new(),
            sigma: vec![Wide::ZERO; c.len()],
            q: c.into_iter().map(|c| -c).collect(),
        });
    }
    let n = starts[starts.len() - 1];
    let mut matrix = vec![Wide::ZERO; n * n];
    for (k, entry) in entries.iter().enumerate() {
        for part in list(entry, "S")? {
            let column = starts[whole(part, "block")? as usize];
            for (i, row) in list(part, "values")?.iter().enumerate() {
                for (j, value) in wides(row, "values")?.into_iter().enumerate() {
                    matrix[(starts[k] + i) * n + column + j] += value;
                }
            }
        }
    }
    Ok(System {
        masses: Vec::new(),
        blocks,
        matrix: Some(matrix),
    })
}

#[cfg(test)]
mod tests {
    use delassus::math::Random;
    use delassus::problem::file::{FileContent, Format, parse};
    use delassus::{Residual, Solution};

    use super::*;
    use crate::draw::{Class, Variant};

    /// Two arithmetics of well-conditioned problems agree to so many digits of the larger residual.
    const AGREEMENT: f64 = 1e-9;

    /// Whatever the impulses are, both judges see the same fault of plain problems of every class.
    #[test]
    fn both_judges_agree_on_any_impulses_of_plain_problems() {
        for (name, class) in Class::ALL {
            let (mut seed, mut seen) = (1, 0);
            while seen < 30 {
                seed += 1;
                let mut random = Random::new(seed);
                let (variant, problem) = class.draw(&mut random);
                if !matches!(variant, Variant::Plain | Variant::Soft | Variant::Redundant) {
                    continue;
                }
                seen += 1;
                let loaded = parse(problem.to_string().as_bytes(), Format::Json)
                    .unwrap_or_else(|e| panic!("{name} {seed}: {e}"));
                let loaded = match loaded.content {
                    FileContent::Problem { problem, .. } => *problem,
                    FileContent::Tree(work) => work.problem,
                    FileContent::Stabilisation(_) => panic!("nothing to solve"),
                };
                let lambda = (0..loaded.n_rows()).map(|_| random.range(-1.0, 2.0));
                let solution = Solution::from_lambda(&loaded, lambda.collect());
                let theirs = Residual::of(&loaded, &solution);
                let judged = system(&problem).map(|s| s.judge(&solution.lambda, &solution.v));
                let Ok(Some(ours)) = judged else {
                    panic!("{name} {seed}: {judged:?}");
                };
                let off = (ours.law - theirs.law).abs();
                assert!(
                    off <= AGREEMENT * theirs.law.max(1.0),
                    "{name} {seed}: {ours:?} {theirs:?}"
                );
                assert!(
                    ours.momentum <= AGREEMENT * ours.speed.max(1.0),
                    "{name} {seed}: {ours:?}"
                );
            }
        }
    }
}
