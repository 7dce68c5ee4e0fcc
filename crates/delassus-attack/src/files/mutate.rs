//! Files with something wrong in them: bytes, numbers and words changed, parts cut, doubled, moved or nested.

use delassus::math::Random;

/// Numbers that readers like least.
const NUMBERS: [&str; 18] = [
    "0",
    "-0",
    "-1",
    "1",
    "2",
    "3",
    "65536",
    "4294967296",
    "18446744073709551616",
    "1e308",
    "-1e308",
    "1e999",
    "1e-320",
    "nan",
    "inf",
    "0.1",
    "1e9",
    "-1e-9",
];
/// Longest file that is made of a shorter one, in bytes.
const LONGEST: usize = 1 << 16;

/// A place in the file.
fn place(random: &mut Random, bytes: &[u8]) -> usize {
    random.below(bytes.len() + 1)
}

/// A short stretch of the file.
fn stretch(random: &mut Random, bytes: &[u8]) -> std::ops::Range<usize> {
    let from = place(random, bytes);
    let length = match random.below(4) {
        0 => random.below(bytes.len() + 1),
        _ => random.below(24),
    };
    from..(from + length).min(bytes.len())
}

/// The first word from a place on, made of the bytes that a test takes.
fn word(bytes: &[u8], from: usize, is_in: impl Fn(u8) -> bool) -> Option<std::ops::Range<usize>> {
    let start = from + bytes[from..].iter().position(|b| is_in(*b))?;
    let length = bytes[start..].iter().position(|b| !is_in(*b));
    Some(start..length.map_or(bytes.len(), |length| start + length))
}

fn is_number(byte: u8) -> bool {
    byte.is_ascii_digit() || b"+-.eE".contains(&byte)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-".contains(&byte)
}

/// Changes a file in one to four places; `other` is a file of the same format to take parts from.
pub(crate) fn mutate(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    // Every other file has one fault alone, so that it comes as far as it can.
    let most = 1 + 3 * random.below(2);
    for _ in 0..1 + random.below(most) {
        once(random, bytes, other);
        bytes.truncate(LONGEST);
    }
}

fn once(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = place(random, bytes);
    match random.below(18) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 if at < bytes.len() => bytes[at] = random.bits() as u8,
        2 => bytes.truncate(at),
        3 => {
            bytes.drain(stretch(random, bytes));
        }
        4 => {
            let part = bytes[stretch(random, bytes)].to_vec();
            bytes.splice(at..at, part);
        }
        5 => {
            let part = other[stretch(random, other)].to_vec();
            bytes.splice(at..at, part);
        }
        6 => nest(random, bytes, at),
        7 => {
            if let Some(range) = word(bytes, at, is_word) {
                let from = place(random, other);
                // Where the other file has no word this one loses its own.
                let taken = match word(other, from, is_word) {
                    Some(range) => other[range].to_vec(),
                    None => Vec::new(),
                };
                bytes.splice(range, taken);
            }
        }
        // A digit: the file stays well formed.
        8..=12 => {
            let is_digit = |byte: u8| byte.is_ascii_digit();
            if let Some(range) = word(bytes, at, is_digit) {
                let digit = range.start + random.below(range.len());
                bytes[digit] = b'0' + random.below(10) as u8;
            }
        }
        // Numbers are what most files are made of.
        _ => {
            if let Some(range) = word(bytes, at, is_number) {
                let number = NUMBERS[random.below(NUMBERS.len())];
                bytes.splice(range, number.bytes());
            }
        }
    }
}

/// Many openings of the same bracket or element.
fn nest(random: &mut Random, bytes: &mut Vec<u8>, at: usize) {
    let openings: [&[u8]; 5] = [b"[", b"{\"a\":", b"<body>", b"(", b"[["];
    let opening = openings[random.below(openings.len())];
    let count = 1 << random.below(13);
    bytes.splice(at..at, opening.repeat(count));
}
