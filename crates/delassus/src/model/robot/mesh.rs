//! Corners of mesh files: STL, as text or binary, and OBJ. Faces are not needed: links collide as convex hulls.

use std::fs;
use std::path::Path;

use glam::DVec3;

/// Longest mesh file that is read, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// The corners of a mesh file, told by its ending.
pub(super) fn read(path: &Path) -> Result<Vec<DVec3>, String> {
    let name = path.display();
    let ending = path.extension().map(|e| e.to_ascii_lowercase());
    let ending = ending
        .and_then(|e| e.into_string().ok())
        .unwrap_or_default();
    if !matches!(ending.as_str(), "stl" | "obj") {
        return Err(format!("{name}: meshes are read from .stl and .obj files"));
    }
    let length = fs::metadata(path).map_err(|error| format!("{name}: {error}"))?;
    if MAX_BYTES < length.len() {
        return Err(format!("{name}: is longer than {MAX_BYTES} bytes"));
    }
    let bytes = fs::read(path).map_err(|error| format!("{name}: {error}"))?;
    let points = match ending.as_str() {
        "obj" => words(&bytes, "v"),
        _ => stl(&bytes),
    };
    let points = points.map_err(|what| format!("{name}: {what}"))?;
    if points.len() < 4 {
        return Err(format!("{name}: has fewer than four corners"));
    }
    if !points.iter().all(|p| p.is_finite()) {
        return Err(format!("{name}: a corner is not finite"));
    }
    Ok(points)
}

/// Binary files say how many triangles follow their header, and have exactly that length.
fn stl(bytes: &[u8]) -> Result<Vec<DVec3>, String> {
    const HEADER: usize = 84;
    const TRIANGLE: usize = 50;
    let count = bytes.get(80..HEADER).and_then(|b| b.first_chunk::<4>());
    let count = count.map(|b| u32::from_le_bytes(*b) as usize);
    if count.is_none_or(|n| Some(bytes.len()) != n.checked_mul(TRIANGLE).map(|n| n + HEADER)) {
        return words(bytes, "vertex");
    }
    let mut points = Vec::new();
    for triangle in bytes[HEADER..].chunks_exact(TRIANGLE) {
        // The normal comes first, then three corners.
        for corner in triangle[12..48].chunks_exact(12) {
            let numbers = corner.as_chunks::<4>().0;
            let number = |i: usize| f64::from(f32::from_le_bytes(numbers[i]));
            points.push(DVec3::new(number(0), number(1), number(2)));
        }
    }
    Ok(points)
}

/// Lines of a text that start with a word and go on with three numbers.
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
        assert_eq!(from_text[2], DVec3::new(0.0, 2.5, 0.0));
        binary.pop();
        assert!(stl(&binary).is_err());
        let obj = "# a\nv 0 0 0\nvn 1 0 0\nv 1 2 3\nf 1 2 1\n";
        assert_eq!(words(obj.as_bytes(), "v").unwrap().len(), 2);
        assert!(words(b"v 1 2\n", "v").unwrap_err().contains("line 1"));
        assert!(words(&[0xFF, 0xFE], "v").is_err());
    }
}
