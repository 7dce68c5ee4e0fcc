//! Mesh files: STL, as text or binary, OBJ, and MuJoCo's own MSH. Corners and triangles; nothing else is read.

use std::ops::Range;
use std::path::Path;

use glam::{DVec3, Vec2, Vec3};

use crate::problem::file::limit;

/// Corners and triangles of a mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Mesh {
    /// Corners \[m\].
    pub(super) points: Vec<DVec3>,
    /// Three corners each, counter-clockwise from outside; none where a file has corners alone.
    pub(super) faces: Vec<[u32; 3]>,
    /// How many of them belong to the first object of a file that has several.
    pub(super) first: Option<usize>,
    /// Those cut from polygons of more than 100 corners, which some readers leave out.
    pub(super) large: Vec<Range<usize>>,
}

/// Corners of a polygon from which on it is large.
const LARGE: usize = 101;

impl Mesh {
    /// The corners of each triangle.
    pub(super) fn triangles(&self) -> impl Iterator<Item = [DVec3; 3]> {
        let corner = |i: u32| self.points[i as usize];
        self.faces.iter().map(move |face| face.map(corner))
    }

    /// Larger by a factor along each axis; turned inside out where the factors mirror it, so that faces stay outward.
    pub(super) fn scaled(mut self, scale: DVec3) -> Mesh {
        self.points.iter_mut().for_each(|point| *point *= scale);
        if scale.x * scale.y * scale.z < 0.0 {
            self.faces.iter_mut().for_each(|face| face.swap(1, 2));
        }
        self
    }

    /// The same surface with equal corners made one: triangles of a file often have their own.
    pub(super) fn welded(self) -> Mesh {
        let bits = |p: DVec3| (p + DVec3::ZERO).to_array().map(f64::to_bits);
        let mut places = std::collections::HashMap::new();
        let mut points = Vec::new();
        let place = |point: &DVec3| {
            *places.entry(bits(*point)).or_insert_with(|| {
                points.push(*point);
                points.len() as u32 - 1
            })
        };
        let new: Vec<u32> = self.points.iter().map(place).collect();
        let faces = self.faces.iter().map(|face| face.map(|i| new[i as usize]));
        Mesh {
            faces: faces.collect(),
            points,
            first: self.first,
            large: self.large,
        }
    }

    /// Refuses corners that are not numbers, and triangles of corners that are not there.
    pub(super) fn check(self) -> Result<Mesh, String> {
        if self.points.len() < 4 {
            return Err("has fewer than four corners".to_owned());
        }
        if !self.points.iter().all(|p| p.is_finite()) {
            return Err("a corner is not finite".to_owned());
        }
        let known = |face: &[u32; 3]| face.iter().all(|i| (*i as usize) < self.points.len());
        if !self.faces.iter().all(known) {
            return Err("a face names a corner that is not there".to_owned());
        }
        Ok(self)
    }
}

/// A mesh file, told by its ending.
pub(super) fn read(path: &Path) -> Result<Mesh, String> {
    let name = path.display();
    let ending = path.extension().map(|e| e.to_ascii_lowercase());
    let ending = ending
        .and_then(|e| e.into_string().ok())
        .unwrap_or_default();
    if !matches!(ending.as_str(), "stl" | "obj" | "msh") {
        return Err(format!(
            "{name}: meshes are read from .stl, .obj and .msh files"
        ));
    }
    let bytes = limit::read(path).map_err(|error| format!("{name}: {error}"))?;
    let mesh = match ending.as_str() {
        "obj" => obj(&bytes),
        "msh" => msh(&bytes),
        _ => stl(&bytes),
    };
    let mesh = mesh.and_then(Mesh::check);
    mesh.map_err(|what| format!("{name}: {what}"))
}

/// Every three corners are a triangle.
fn soup(points: Vec<DVec3>) -> Mesh {
    let count = points.len() as u32 / 3;
    let faces = (0..count).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
    Mesh {
        points,
        faces,
        ..Mesh::default()
    }
}

fn float(bytes: &[u8; 4]) -> f64 {
    f64::from(f32::from_le_bytes(*bytes))
}

/// Binary files say how many triangles follow their header, and have exactly that length.
fn stl(bytes: &[u8]) -> Result<Mesh, String> {
    const HEADER: usize = 84;
    const TRIANGLE: usize = 50;
    let count = bytes.get(80..HEADER).and_then(|b| b.first_chunk::<4>());
    let count = count.map(|b| u32::from_le_bytes(*b) as usize);
    if count.is_none_or(|n| Some(bytes.len()) != n.checked_mul(TRIANGLE).map(|n| n + HEADER)) {
        return words(bytes, "vertex").map(soup);
    }
    let mut points = Vec::new();
    for triangle in bytes[HEADER..].chunks_exact(TRIANGLE) {
        // The normal comes first, then three corners.
        for corner in triangle[12..48].chunks_exact(12) {
            let numbers = corner.as_chunks::<4>().0;
            let [x, y, z] = [0, 1, 2].map(|i| float(&numbers[i]));
            points.push(DVec3::new(x, y, z));
        }
    }
    Ok(soup(points))
}

/// Four counts, of corners, normals, texture points and faces; then corners, two lists that are skipped, faces.
fn msh(bytes: &[u8]) -> Result<Mesh, String> {
    const SHORT: &str = "is shorter than its header says";
    let words = bytes.as_chunks::<4>().0;
    let header = words.first_chunk::<4>().ok_or(SHORT)?;
    let [corners, normals, textures, faces] = header.map(|b| i32::from_le_bytes(b).max(0) as usize);
    let from = |start: usize, count: usize| words.get(start..start + count).ok_or(SHORT);
    let skipped = 4 + 3 * corners + 3 * normals + 2 * textures;
    let point = |b: &[[u8; 4]; 3]| DVec3::new(float(&b[0]), float(&b[1]), float(&b[2]));
    let points = from(4, 3 * corners)?.as_chunks::<3>().0;
    let triples = from(skipped, 3 * faces)?.as_chunks::<3>().0;
    Ok(Mesh {
        points: points.iter().map(point).collect(),
        faces: triples.iter().map(|b| b.map(u32::from_le_bytes)).collect(),
        ..Mesh::default()
    })
}

/// Lines `v x y z` and `f a b c …`, whose corners count from one, or backwards from the last.
fn obj(bytes: &[u8]) -> Result<Mesh, String> {
    let points = words(bytes, "v")?;
    let text = str::from_utf8(bytes).map_err(|_| "is not text")?;
    let (mut polygons, mut seen) = (Vec::new(), 0i64);
    // Polygons before the second object begins.
    let mut ends = None;
    for (i, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => seen += 1,
            Some("f") => {
                let corner = |word: &str| {
                    let number: i64 = word.split('/').next()?.parse().ok()?;
                    let at = if number < 0 {
                        seen + number
                    } else {
                        number - 1
                    };
                    u32::try_from(at).ok()
                };
                let corners: Option<Vec<u32>> = words.map(corner).collect();
                let corners = corners.filter(|c| 3 <= c.len());
                let corners = corners.ok_or_else(|| {
                    format!("line {}: three or more corners should follow", i + 1)
                })?;
                polygons.push(corners);
            }
            Some("o" | "g") if words.next().is_some() && !polygons.is_empty() => {
                ends = ends.or(Some(polygons.len()));
            }
            _ => {}
        }
    }
    let (mut faces, mut first, mut large) = (Vec::new(), None, Vec::new());
    for (i, corners) in polygons.into_iter().enumerate() {
        let before = faces.len();
        if ends == Some(i) {
            first = Some(before);
        }
        let is_large = LARGE <= corners.len();
        faces.extend(cut(&points, corners));
        if is_large {
            large.push(before..faces.len());
        }
    }
    Ok(Mesh {
        points,
        faces,
        first,
        large,
    })
}

/// The triangles of a polygon, as most readers of OBJ files cut it, which tells what a polygon encloses that is not flat.
///
/// One of four corners is cut along its shorter diagonal. Of others ears are cut off: a corner, with those behind and
/// before it, that turns as the polygon does there and has no other corner inside.
fn cut(points: &[DVec3], mut corners: Vec<u32>) -> Vec<[u32; 3]> {
    let at = |k: u32| points.get(k as usize).map(|p| p.as_vec3());
    if let [a, b, c, d] = corners[..] {
        let length = |from, to| Some((at(from)? - at(to)?).length_squared());
        if length(b, d) <= length(a, c) {
            corners.rotate_left(1);
        }
    }
    let places: Option<Vec<Vec3>> = corners.iter().map(|&k| at(k)).collect();
    match places {
        Some(places) if 4 < corners.len() => ears(&places, corners),
        _ => corners[1..]
            .windows(2)
            .map(|w| [corners[0], w[0], w[1]])
            .collect(),
    }
}

/// Cuts off ears as they are met along the polygon, seen along the axis that its first corner is most across.
fn ears(places: &[Vec3], corners: Vec<u32>) -> Vec<[u32; 3]> {
    let count = places.len();
    let normals = (0..count).map(|k| {
        let [a, b, c] = [k, k + 1, k + 2].map(|k| places[k % count]);
        (b - a).cross(c - b).abs()
    });
    let normal = normals.into_iter().find(|n| f32::EPSILON < n.max_element());
    let n = normal.unwrap_or(Vec3::X);
    let flat = |p: Vec3| match () {
        () if n.y < n.x && n.z < n.x => Vec2::new(p.y, p.z),
        () if n.x < n.z && n.y < n.z => Vec2::new(p.x, p.y),
        () => Vec2::new(p.x, p.z),
    };
    let mut left: Vec<(u32, Vec2)> = corners
        .into_iter()
        .zip(places.iter().map(|&p| flat(p)))
        .collect();
    let (mut triangles, mut start) = (Vec::new(), 0);
    // As those readers do it, a whole round of tries ends the cutting, also where the last of them succeeds.
    let (mut tries, mut before) = (left.len(), left.len());
    while 3 < left.len() && 0 < tries {
        let count = left.len();
        tries = if before == count { tries - 1 } else { count };
        before = count;
        start %= count;
        let place = |k: usize| (start + k) % count;
        let [a, b, c] = [0, 1, 2].map(|k| left[place(k)].1);
        // Which way round the polygon goes is told from where the first side passes the origin.
        let against = (b - a).perp_dot(c - b) * a.perp_dot(b) < 0.0;
        let inside = |k: usize| is_inside([a, b, c], left[place(k)].1);
        if against || (3..count).any(inside) {
            start += 1;
            continue;
        }
        triangles.push([0, 1, 2].map(|k| left[place(k)].0));
        left.remove(place(1));
    }
    if let [a, b, c] = left[..] {
        triangles.push([a.0, b.0, c.0]);
    }
    triangles
}

/// Whether a ray from a point along x leaves a triangle once.
fn is_inside(corners: [Vec2; 3], p: Vec2) -> bool {
    let crosses = |(a, b): (Vec2, Vec2)| {
        (p.y < a.y) != (p.y < b.y) && p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x
    };
    let [a, b, c] = corners;
    [(a, c), (b, a), (c, b)]
        .into_iter()
        .filter(|side| crosses(*side))
        .count()
        % 2
        == 1
}

/// Lines of a text that start with a word and go on with three numbers, which have single precision.
fn words(bytes: &[u8], start: &str) -> Result<Vec<DVec3>, String> {
    let text = str::from_utf8(bytes).map_err(|_| "is neither text nor a whole binary file")?;
    let mut points = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        if words.next() != Some(start) {
            continue;
        }
        let mut number = || words.next()?.parse::<f64>().ok();
        match (number(), number(), number()) {
            (Some(x), Some(y), Some(z)) => points.push(DVec3::new(x, y, z)),
            _ => return Err(format!("line {}: three numbers should follow", i + 1)),
        }
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MuJoCo 4.0.0 cuts them: from the fourth corner on an ear of the seven would turn the other way about the origin.
    #[test]
    fn polygons_of_more_than_four_corners_lose_their_ears() {
        let ring = (0..7).map(|k| Vec2::from_angle(std::f32::consts::TAU * k as f32 / 7.0));
        let ring: Vec<DVec3> = ring.map(|p| p.as_dvec2().extend(0.0)).collect();
        let wanted = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [4, 5, 6], [0, 4, 6]];
        assert_eq!(cut(&ring, (0..7).collect()), wanted);
        let notch = [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [1.0, 0.5], [0.0, 2.0]];
        let notch = notch.map(|[x, y]| DVec3::new(x, y, 0.0));
        let wanted = [[1, 2, 3], [3, 4, 0], [0, 1, 3]];
        assert_eq!(cut(&notch, vec![0, 1, 2, 3, 4]), wanted);
    }

    #[test]
    fn text_and_binary_give_the_same_corners() {
        let text = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 2.5 0\nendloop\n";
        let from_text = stl(text.as_bytes()).unwrap();
        let mut binary = vec![0; 80];
        binary.extend(1_u32.to_le_bytes());
        for x in [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.5, 0.0] {
            binary.extend(f32::to_le_bytes(x));
        }
        binary.extend([0; 2]);
        assert_eq!(stl(&binary).unwrap(), from_text);
        assert_eq!(from_text.points[2], DVec3::new(0.0, 2.5, 0.0));
        binary.pop();
        assert!(stl(&binary).is_err());
        // Bent along 1-3, which is shorter than 2-4.
        let bent = "v 0 0 0\nv 2 1 0\nv 1 0 1\nv 0 1 0\nf 1 2 3 4\nf 2 3 4 1\n";
        assert_eq!(
            obj(bent.as_bytes()).unwrap().faces,
            [[0, 1, 2], [0, 2, 3], [2, 3, 0], [2, 0, 1]]
        );
        let quad = "# a\nv 0 0 0\nvn 1 0 0\nv 1 2 3\nv 1 0 0\nv 0 1 0\nf 1/2/3 2// 3 -1\n";
        let quad = obj(quad.as_bytes()).unwrap();
        assert_eq!(
            (quad.points.len(), quad.faces),
            (4, vec![[0, 1, 2], [0, 2, 3]])
        );
        let two = "o a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3 4\ng\nf 1 2 4\ng b\nf 2 3 4\no c\nf 1 3 4\n";
        let two = obj(two.as_bytes()).unwrap();
        assert_eq!((two.faces.len(), two.first), (5, Some(3)));
        assert!(words(b"v 1 2\n", "v").unwrap_err().contains("line 1"));
        assert!(words(&[0xFF, 0xFE], "v").is_err());
        assert!(obj(b"v 0 0 0\nf 1 x 2\n").unwrap_err().contains("line 2"));
    }

    #[test]
    fn a_binary_mesh_is_read_as_far_as_its_counts_reach() {
        let mut bytes = Vec::new();
        for count in [4_i32, 0, 1, 1] {
            bytes.extend(count.to_le_bytes());
        }
        for x in 0..14 {
            bytes.extend((x as f32).to_le_bytes());
        }
        for i in [0_u32, 1, 3] {
            bytes.extend(i.to_le_bytes());
        }
        let mesh = msh(&bytes).unwrap();
        assert_eq!(
            (mesh.points[3], &mesh.faces[..]),
            (DVec3::new(9.0, 10.0, 11.0), &[[0, 1, 3]][..])
        );
        bytes.truncate(20);
        assert!(msh(&bytes).is_err());
    }
}
