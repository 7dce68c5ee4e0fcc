//! One frame as bytes: the length of its head (u32, little-endian), the head in JSON filled up with spaces to a
//! multiple of four, then the numbers of all views as f32.
//!
//! The head says where the numbers of a view begin and how many there are; poses are x, y, z, qx, qy, qz, qw of each
//! body that can move, arrows are point, force, kind of each contact (0, on the body that is carried) and joint (1, on its
//! first) and the two bodies that feel it (−1 where there is none), colours are one number per body that can move.

use glam::DVec3;
use serde::Serialize;

/// A force as it is drawn.
pub(crate) type Arrow = [f64; 9];

/// An arrow of a kind, and the bodies that feel it.
pub(crate) fn arrow(p: DVec3, f: DVec3, (kind, on): (f64, [Option<usize>; 2])) -> Arrow {
    let [a, b] = on.map(|body| body.map_or(-1.0, |i| i as f64));
    [p.x, p.y, p.z, f.x, f.y, f.z, kind, a, b]
}

/// Where numbers stand among those of the frame: the first, and how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Span {
    start: usize,
    count: usize,
}

/// The numbers of a frame while they are collected.
#[derive(Debug, Default)]
pub(crate) struct Floats(Vec<f32>);

impl Floats {
    /// Adds numbers and says where they stand.
    pub(crate) fn span(&mut self, numbers: impl IntoIterator<Item = f64>) -> Span {
        let start = self.0.len();
        self.0.extend(numbers.into_iter().map(|x| x as f32));
        Span {
            start,
            count: self.0.len() - start,
        }
    }
}

/// Head and numbers as bytes.
pub(crate) fn encode(head: &impl Serialize, floats: &Floats) -> Vec<u8> {
    let mut text = serde_json::to_vec(head).expect("heads are plain data with names for keys");
    text.resize(text.len().next_multiple_of(4), b' ');
    let mut bytes = Vec::with_capacity(4 + text.len() + 4 * floats.0.len());
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text);
    for number in &floats.0 {
        bytes.extend(number.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_where_the_head_says() {
        let mut floats = Floats::default();
        let first = floats.span([1.0, 2.0]);
        let second = floats.span([3.5]);
        let bytes = encode(&[first, second], &floats);
        let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        assert!(length.is_multiple_of(4));
        let head: serde_json::Value = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
        let at = 4 + length + 4 * head[1]["start"].as_u64().unwrap() as usize;
        assert_eq!(bytes[at..at + 4], 3.5f32.to_le_bytes());
        assert_eq!(bytes.len(), at + 4);
    }
}
