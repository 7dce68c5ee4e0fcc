//! Damaged files end in an error, never in a panic.

use delassus::problem::file::fclib;
use delassus::problem::file::siconos::{DatFormat, parse};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::{FCLIB, shared, text};

/// Short files of every storage, to be damaged.
const SAMPLES: [&str; 8] = [
    "LCP/lcp_ortiz_block.dat",
    "LCP/lcp_CPS_1.dat",
    "MLCP/m2n1_mlcp.dat",
    "FrictionContact/GFC3D_Example1.dat",
    "FrictionContact/GFC3D_Example00_badly_scaled.dat",
    "FrictionContact/Rover11211.dat",
    "FrictionContact/FrictionContactProblem00031.dat",
    "RollingFrictionContact/rfc3d_sphere_from_grfc3d.dat",
];

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_text_never_panics(
        sample in 0..SAMPLES.len(),
        cut in 0.0..1.0_f64,
        edits in prop::collection::vec((0.0..1.0_f64, "[-0-9.e: \n]|nan|inf|1e999|99999999999"), 0..4),
        format in prop::option::of(prop::sample::select(&DatFormat::ALL[..])),
    ) {
        let Some(folder) = shared("siconos_dat") else { return Ok(()) };
        let mut text = text(&folder, SAMPLES[sample]);
        for (at, edit) in edits {
            let at = (at * text.len() as f64) as usize;
            text.replace_range(at..(at + 1).min(text.len()), &edit);
        }
        let _ = parse(&text, format);
        text.truncate((cut * text.len() as f64) as usize);
        let _ = parse(&text, format);
    }

    #[test]
    fn arbitrary_numbers_never_panic(
        numbers in prop::collection::vec(0..6_u64, 0..60),
        format in prop::option::of(prop::sample::select(&DatFormat::ALL[..])),
    ) {
        let text: Vec<_> = numbers.iter().map(u64::to_string).collect();
        let _ = parse(&text.join(" "), format);
    }
}

/// Truncation at many lengths, and every bit pattern of interest at many places. Metadata and the
/// first datasets fill the first pages, so those are visited densely.
#[test]
fn damaged_hdf5_never_panics() {
    let Some(folder) = shared("fclib_hdf5") else {
        return;
    };
    for (name, _) in &FCLIB {
        let whole = std::fs::read(folder.join(name)).unwrap();
        for length in (0..whole.len()).step_by(1 + whole.len() / 200) {
            let _ = fclib::read(&whole[..length]);
        }
        for at in (0..whole.len().min(8192))
            .step_by(11)
            .chain((8192..whole.len()).step_by(997))
        {
            for value in [0x00, 0x7f, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                let _ = fclib::read(&damaged);
            }
        }
    }
}
