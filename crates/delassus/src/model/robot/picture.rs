//! Pictures of heights: the first channel of a PNG file, eight bits of each number.

use std::io::Read;

use flate2::read::ZlibDecoder;

/// Most pixels that are read.
const MAX_PIXELS: usize = 1 << 24;

/// Width, height and one number from 0 to 255 for each pixel, the top row first.
pub(super) fn read(bytes: &[u8]) -> Result<(usize, usize, Vec<u8>), String> {
    const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
    let mut rest = bytes
        .strip_prefix(SIGNATURE)
        .ok_or("is not a PNG picture")?;
    let (mut header, mut palette, mut packed) = (None, &[][..], Vec::new());
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        let kind = after.get(..4).ok_or("is cut off")?;
        let data = after[4..].get(..length).ok_or("is cut off")?;
        match kind {
            b"IHDR" => header = data.first_chunk::<13>(),
            b"PLTE" => palette = data,
            b"IDAT" => packed.extend_from_slice(data),
            b"IEND" => break,
            _ => {}
        }
        // A checksum of four bytes follows.
        rest = after[4 + length..].get(4..).unwrap_or_default();
    }
    let header = header.ok_or("has no header")?;
    let size = |bytes: [u8; 4]| u32::from_be_bytes(bytes) as usize;
    let [w0, w1, w2, w3, h0, h1, h2, h3, ..] = *header;
    let (width, height) = (size([w0, w1, w2, w3]), size([h0, h1, h2, h3]));
    let (depth, colour) = (usize::from(header[8]), header[9]);
    let pixels = width
        .checked_mul(height)
        .filter(|n| (1..=MAX_PIXELS).contains(n));
    pixels.ok_or_else(|| format!("has {width} by {height} pixels"))?;
    let channels = match colour {
        0 | 3 => 1,
        4 => 2,
        2 => 3,
        6 => 4,
        _ => return Err(format!("has colours of kind {colour}, which is not known")),
    };
    if !matches!(depth, 1 | 2 | 4 | 8 | 16) || header[12] != 0 {
        return Err("has a depth that is not known, or is interlaced".to_owned());
    }
    let line = (width * channels * depth).div_ceil(8);
    let mut raw = Vec::new();
    let most = ((line + 1) * height) as u64;
    let unpacked = ZlibDecoder::new(&packed[..])
        .take(most)
        .read_to_end(&mut raw);
    unpacked.map_err(|error| error.to_string())?;
    if raw.len() as u64 != most {
        return Err("has too few pixels".to_owned());
    }
    let lines = unfilter(&raw, line, (channels * depth).div_ceil(8))?;
    let mut heights = Vec::with_capacity(width * height);
    for row in lines.chunks_exact(line) {
        for x in 0..width {
            let value = match depth {
                8 | 16 => row[x * channels * depth / 8],
                _ => {
                    let bit = x * depth;
                    let most = (1_u16 << depth) - 1;
                    let part = u16::from(row[bit / 8]) >> (8 - depth - bit % 8) & most;
                    // A number of a palette is itself; grey is stretched to eight bits.
                    (if colour == 3 { part } else { part * 255 / most }) as u8
                }
            };
            heights.push(match colour {
                3 => *palette
                    .get(3 * usize::from(value))
                    .ok_or("has a colour that is not in its palette")?,
                _ => value,
            });
        }
    }
    Ok((width, height, heights))
}

/// Lines without their filters: each byte was written as a difference from those to the left and above.
fn unfilter(raw: &[u8], line: usize, step: usize) -> Result<Vec<u8>, String> {
    let mut before = vec![0_u8; line];
    let mut out = Vec::with_capacity(raw.len());
    for row in raw.chunks_exact(line + 1) {
        let mut now = row[1..].to_vec();
        for i in 0..line {
            let left = if i < step { 0 } else { now[i - step] };
            let corner = if i < step { 0 } else { before[i - step] };
            let up = before[i];
            let guess = match row[0] {
                0 => 0,
                1 => left,
                2 => up,
                3 => ((u16::from(left) + u16::from(up)) / 2) as u8,
                4 => paeth(left, up, corner),
                other => return Err(format!("has a line with filter {other}")),
            };
            now[i] = now[i].wrapping_add(guess);
        }
        out.extend_from_slice(&now);
        before = now;
    }
    Ok(out)
}

/// Of three neighbours that which is nearest to left + up − corner.
fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let [a, b, c] = [left, up, corner].map(i16::from);
    let p = a + b - c;
    let [far_a, far_b, far_c] = [a, b, c].map(|x| (p - x).abs());
    if far_a <= far_b && far_a <= far_c {
        left
    } else if far_b <= far_c {
        up
    } else {
        corner
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn png(header: [u8; 5], size: [u32; 2], raw: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(raw).unwrap();
        let mut head = Vec::new();
        head.extend(size.iter().flat_map(|n| n.to_be_bytes()));
        head.extend(header);
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        for (kind, data) in [
            (b"IHDR", head),
            (b"IDAT", packed.finish().unwrap()),
            (b"IEND", Vec::new()),
        ] {
            bytes.extend((data.len() as u32).to_be_bytes());
            bytes.extend(kind);
            bytes.extend(&data);
            bytes.extend([0; 4]);
        }
        bytes
    }

    #[test]
    fn lines_of_every_filter_come_back_as_they_were() {
        // Rows 1 2 3, each written by another filter, under each other.
        let raw = [0, 1, 2, 3, 1, 1, 1, 1, 2, 0, 0, 0, 3, 1, 1, 1, 4, 0, 0, 0];
        let bytes = png([8, 0, 0, 0, 0], [3, 5], &raw);
        let (width, height, pixels) = read(&bytes).unwrap();
        assert_eq!((width, height), (3, 5));
        assert_eq!(pixels[..9], [1, 2, 3, 1, 2, 3, 1, 2, 3]);
        assert_eq!(pixels[9..12], [1, 2, 3], "mean of left and up, and one");
        assert_eq!(pixels[12..], [1, 2, 3]);
        let bits = png([1, 0, 0, 0, 0], [3, 1], &[0, 0b1010_0000]);
        assert_eq!(read(&bits).unwrap().2, [255, 0, 255]);
        // Colours by number, and no palette that has them.
        let coloured = png([8, 3, 0, 0, 0], [3, 1], &[0, 1, 2, 3]);
        assert!(read(&coloured).unwrap_err().contains("palette"));
        for cut in 0..bytes.len() - 20 {
            assert!(read(&bytes[..cut]).is_err(), "{cut}");
        }
    }
}
