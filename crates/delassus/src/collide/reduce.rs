//! Fewer contact points: duplicates merged, at most four per flat patch.
//!
//! Why this is ours to do: parry gives eight points for crossed boxes, repeats points of hulls, and gives one manifold
//! per triangle of flat ground. Four corners of the support carry the same wrench as all of them.

use std::cell::RefCell;

use crate::math::{DVec3, Few, tangents};

/// Points kept per flat patch.
pub(crate) const KEEP: usize = 4;
/// Points closer than this share of the pair's size are one point.
const SAME: f64 = 1e-6;
/// Depths closer than this share of the size are equal: rounding must not choose the points.
const LEVEL: f64 = 1e-4;
/// Areas closer than this share are equal, for the same reason.
const AREA: f64 = 1e-3;
/// Cosine above which two normals belong to one flat patch.
const FLAT: f64 = 1.0 - 1e-6;

/// One contact of a pair, before its bodies are written to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Raw {
    /// On the first surface, in the world \[m\].
    pub(crate) a: DVec3,
    /// On the second surface \[m\].
    pub(crate) b: DVec3,
    /// From the second to the first.
    pub(crate) normal: DVec3,
    /// Negative in penetration \[m\].
    pub(crate) gap: f64,
    pub(crate) id: u64,
}

/// Reduces the contacts of one pair, in place; the order on return is by id. `size` is that of the smaller solid.
pub(crate) fn reduce(points: &mut Vec<Raw>, size: f64) {
    if points.len() < 2 {
        return;
    }
    merge(points, SAME * size);
    if 3 <= points.len() {
        split(points, size);
    }
    points.sort_by(|p, q| p.id.cmp(&q.id).then(p.gap.total_cmp(&q.gap)));
    rename(points);
}

/// Keeps the deepest of points that coincide and share a normal; of equal ones the smallest id.
fn merge(points: &mut Vec<Raw>, tolerance: f64) {
    points.sort_by_key(|p| p.id);
    let mut kept: usize = 0;
    for i in 0..points.len() {
        let p = points[i];
        let twin = points[..kept].iter().position(|q| {
            (q.b - p.b).length_squared() <= tolerance * tolerance && FLAT < q.normal.dot(p.normal)
        });
        match twin {
            None => {
                points[kept] = p;
                kept += 1;
            }
            Some(j) if p.gap < points[j].gap - tolerance => points[j] = p,
            Some(_) => {}
        }
    }
    points.truncate(kept);
}

/// Splits into flat patches and thins each.
fn split(points: &mut Vec<Raw>, size: f64) {
    let together = |p: &Raw, q: &Raw| {
        FLAT < p.normal.dot(q.normal) && (p.b - q.b).dot(p.normal).abs() <= LEVEL * size
    };
    // Nearly always there is one patch.
    if points.iter().all(|p| together(&points[0], p)) {
        thin(points, size);
        return;
    }
    let mut patches: Vec<Vec<Raw>> = Vec::new();
    for p in points.drain(..) {
        match patches.iter_mut().find(|patch| together(&patch[0], &p)) {
            Some(patch) => patch.push(p),
            None => patches.push(vec![p]),
        }
    }
    for patch in &mut patches {
        thin(patch, size);
        points.append(patch);
    }
}

/// Two contacts of one pair never share an id: the later ones are renamed in order.
fn rename(points: &mut [Raw]) {
    let mut run = 0;
    for i in 1..points.len() {
        let same = points[i].id == points[i - 1 - run].id;
        run = if same { run + 1 } else { 0 };
        if same {
            points[i].id = mix(points[i].id, run as u64);
        }
    }
    points.sort_by_key(|p| p.id);
}

/// Keeps four of the points of a flat patch: a deepest one and those that span the largest area with it. Points in
/// line keep their ends.
fn thin(patch: &mut Vec<Raw>, size: f64) {
    if patch.len() < 3 {
        return;
    }
    let (t1, t2) = tangents(patch[0].normal);
    let mut room = ROOM.take();
    let Thinned {
        flat,
        order,
        hull: kept,
        points,
    } = &mut room;
    flat.clear();
    flat.extend(patch.iter().map(|p| [p.b.dot(t1), p.b.dot(t2)]));
    outline(flat, SAME * size, order, kept);
    if KEEP < kept.len() {
        let four = best_four(patch, kept, flat, size);
        kept.clear();
        kept.extend(four);
    }
    // Over curved surfaces the deepest point may lie inside the outline.
    let depth = |i: &usize| patch[*i].gap;
    let deepest = (0..patch.len()).min_by(|i, j| depth(i).total_cmp(&depth(j)));
    let reached = kept.iter().map(depth).fold(f64::INFINITY, f64::min);
    if let Some(deepest) = deepest.filter(|i| depth(i) + LEVEL * size < reached) {
        kept.truncate(KEEP - 1);
        kept.push(deepest);
    }
    points.clear();
    points.extend(kept.iter().map(|i| patch[*i]));
    std::mem::swap(patch, points);
    ROOM.set(room);
}

thread_local! {
    /// What thinning a patch writes: a step does it for every pair. It is no state: every patch overwrites it.
    static ROOM: RefCell<Thinned> = RefCell::default();
}

/// Points of a patch in its plane, their order, the outline, and the points that are kept.
#[derive(Debug, Default)]
struct Thinned {
    flat: Vec<[f64; 2]>,
    order: Vec<usize>,
    hull: Vec<usize>,
    points: Vec<Raw>,
}

/// (a − o) × (b − o) in the plane: twice the area of the triangle, positive where it is anticlockwise.
fn cross(o: [f64; 2], a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])
}

/// Convex hull in the plane, anticlockwise (Andrew's monotone chain), without points within `tolerance` of its edges.
fn outline(points: &[[f64; 2]], tolerance: f64, order: &mut Vec<usize>, hull: &mut Vec<usize>) {
    order.clear();
    order.extend(0..points.len());
    order.sort_by(|&i, &j| {
        let by_x = points[i][0].total_cmp(&points[j][0]);
        by_x.then(points[i][1].total_cmp(&points[j][1]))
    });
    hull.clear();
    hull.reserve(points.len() + 1);
    for pass in 0..2 {
        let start = hull.len();
        for k in 0..order.len() {
            let i = if pass == 0 {
                order[k]
            } else {
                order[order.len() - 1 - k]
            };
            // Exact here: a tolerance would drop corners whose neighbours are sorted by rounding.
            while start + 2 <= hull.len()
                && cross(
                    points[hull[hull.len() - 2]],
                    points[hull[hull.len() - 1]],
                    points[i],
                ) <= 0.0
            {
                hull.pop();
            }
            hull.push(i);
        }
        hull.pop();
    }
    let mut k = 0;
    while k < hull.len() && 2 < hull.len() {
        let n = hull.len();
        let [o, p, q] = [k + n - 1, k, k + 1].map(|m| points[hull[m % n]]);
        let between = (o[0] - p[0]) * (q[0] - p[0]) + (o[1] - p[1]) * (q[1] - p[1]) < 0.0;
        let base = (q[0] - o[0]).hypot(q[1] - o[1]);
        if between && cross(o, p, q).abs() <= tolerance * base {
            hull.remove(k);
        } else {
            k += 1;
        }
    }
}

/// Four of the points of a convex outline.
fn best_four(patch: &[Raw], rim: &[usize], xy: &[[f64; 2]], size: f64) -> [usize; 4] {
    let n = rim.len();
    let lowest = rim.iter().fold(f64::INFINITY, |m, &i| m.min(patch[i].gap));
    // Of the points that are as deep as the deepest the one with the least id.
    let shallow = |k: usize| !(patch[rim[k]].gap <= lowest + LEVEL * size);
    let start = (0..n).min_by_key(|&k| (shallow(k), patch[rim[k]].id));
    let start = start.expect("an outline of more than four points has one");
    let deep = rim[start];
    // Far more points than a box can give: every k-th is enough, and keeps the search short.
    let stride = n.div_ceil(16);
    let others = (1..n).step_by(stride).map(|k| rim[(start + k) % n]);
    let others: Few<usize, 16> = others.collect();
    let mut best: (f64, [u64; 3], [usize; 4]) = (0.0, [u64::MAX; 3], [deep; 4]);
    for (x, &i) in others.iter().enumerate() {
        for (y, &j) in others.iter().enumerate().skip(x + 1) {
            let near = cross(xy[deep], xy[i], xy[j]);
            for &k in &others[y + 1..] {
                let area = near + cross(xy[deep], xy[j], xy[k]);
                if area <= best.0 * (1.0 - AREA) {
                    continue;
                }
                let mut ids = [patch[i].id, patch[j].id, patch[k].id];
                ids.sort_unstable();
                if best.0 * (1.0 + AREA) < area || ids < best.1 {
                    best = (area.max(best.0), ids, [deep, i, j, k]);
                }
            }
        }
    }
    best.2
}

/// A well-spread number from two: the finaliser of SplitMix64.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.rotate_left(23) ^ b.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(x: f64, y: f64, gap: f64, id: u64) -> Raw {
        let b = DVec3::new(x, y, 0.0);
        Raw {
            a: b + DVec3::Z * gap,
            b,
            normal: DVec3::Z,
            gap,
            id,
        }
    }

    #[test]
    fn a_grid_reduces_to_its_corners() {
        let mut points: Vec<Raw> = (0..25)
            .map(|i| raw(f64::from(i % 5), f64::from(i / 5), 0.0, i as u64))
            .collect();
        points.push(raw(2.0, 2.0, 0.0, 99));
        reduce(&mut points, 1.0);
        let ids: Vec<u64> = points.iter().map(|p| p.id).collect();
        assert_eq!(ids, [0, 4, 20, 24]);
    }

    #[test]
    fn noise_does_not_choose_other_points() {
        let octagon = |noise: f64| -> Vec<u64> {
            let mut points: Vec<Raw> = (0..8)
                .map(|i| {
                    let (s, c) = (f64::from(i) * 0.25 * std::f64::consts::PI).sin_cos();
                    raw(c + noise * s, s, noise * f64::from(i % 3), i as u64)
                })
                .collect();
            reduce(&mut points, 1.0);
            points.iter().map(|p| p.id).collect()
        };
        let still = octagon(0.0);
        assert_eq!(still.len(), 4);
        for noise in [1e-6, -1e-6, 3e-5] {
            assert_eq!(octagon(noise), still);
        }
    }

    #[test]
    fn points_in_line_keep_their_ends() {
        let mut points: Vec<Raw> = (0..7)
            .map(|i| raw(f64::from(i), 0.0, 0.0, i as u64))
            .collect();
        reduce(&mut points, 1.0);
        assert_eq!(points.iter().map(|p| p.id).collect::<Vec<_>>(), [0, 6]);
    }

    #[test]
    fn shared_ids_are_told_apart() {
        let mut points = vec![
            raw(0.0, 0.0, 0.0, 5),
            raw(1.0, 0.0, 0.0, 5),
            raw(0.0, 1.0, 0.0, 5),
        ];
        reduce(&mut points, 1.0);
        assert!(points[0].id != points[1].id && points[1].id != points[2].id);
    }
}
