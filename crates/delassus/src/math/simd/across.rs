//! Four numbers that stand side by side in memory, of another thing for each lane: read into lanes, and written back.
//!
//! The four of a thing are read at once and turned in registers. Number by number it takes half as long again.

use pulp::Simd;

use super::{LANES, Lane, X};

/// Fours of as many things as there are lanes, one behind the other.
type Fours = [Lane; 4];

/// Reads four numbers of the thing in each lane.
#[inline(always)]
pub(crate) fn gather<'a, S: Simd>(simd: S, of: impl Fn(usize) -> &'a [f64; 4]) -> [X<S>; 4] {
    let (lane, mut numbers) = (lane_of_place(simd), Fours::default());
    let fours = numbers.as_flattened_mut().as_chunks_mut::<4>().0;
    for place in 0..S::F64_LANES {
        fours[place] = *of(lane[place]);
    }
    let [a, b, c, d] = turn(simd, &numbers);
    [X(simd, a), X(simd, b), X(simd, c), X(simd, d)]
}

/// Hands out four numbers of every lane, `put(lane, numbers)`.
#[inline(always)]
pub(crate) fn scatter<S: Simd>(
    simd: S,
    [a, b, c, d]: [X<S>; 4],
    mut put: impl FnMut(usize, [f64; 4]),
) {
    let (lane, mut numbers) = (lane_of_place(simd), Fours::default());
    let back = simd.interleave_shfl_f64s([a.1, b.1, c.1, d.1]);
    S::as_mut_simd_f64s(numbers.as_flattened_mut()).0[..4].copy_from_slice(&back);
    let fours = numbers.as_flattened().as_chunks::<4>().0;
    for place in 0..S::F64_LANES {
        put(lane[place], fours[place]);
    }
}

/// Every register then holds one of the four numbers, of all things; these stand in an order that suits the processor.
#[inline(always)]
fn turn<S: Simd>(simd: S, numbers: &Fours) -> [S::f64s; 4] {
    let registers = S::as_simd_f64s(numbers.as_flattened()).0;
    simd.deinterleave_shfl_f64s([registers[0], registers[1], registers[2], registers[3]])
}

/// The lane in which the thing at each place of the fours comes out. The compiler knows it.
#[inline(always)]
fn lane_of_place<S: Simd>(simd: S) -> [usize; LANES] {
    let mut numbers = Fours::default();
    for place in 0..S::F64_LANES {
        for i in 0..4 {
            numbers.as_flattened_mut()[4 * place + i] = place as f64;
        }
    }
    let mut places = [0.0; LANES];
    X(simd, turn(simd, &numbers)[0]).store(&mut places, 0);
    let mut lanes = [0; LANES];
    for l in 0..S::F64_LANES {
        lanes[places[l] as usize] = l;
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    struct There(Vec<[f64; 4]>);

    impl pulp::WithSimd for There {
        type Output = (usize, [Lane; 4], Vec<[f64; 4]>);
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
            let (mut lanes, mut back) = (Fours::default(), vec![[0.0; 4]; S::F64_LANES]);
            let numbers = gather(simd, |l| &self.0[l]);
            for i in 0..4 {
                numbers[i].store(&mut lanes[i], 0);
            }
            scatter(simd, numbers, |l, four| back[l] = four);
            (S::F64_LANES, lanes, back)
        }
    }

    #[test]
    fn fours_stand_in_their_lanes_and_come_back_whatever_the_processor() {
        let given: Vec<[f64; 4]> = (0..LANES)
            .map(|l| [0.0, 0.1, 0.2, 0.3].map(|x| l as f64 + x))
            .collect();
        for arch in [pulp::Arch::new(), pulp::Arch::Scalar] {
            let (count, lanes, back) = arch.dispatch(There(given.clone()));
            assert_eq!(back, given[..count], "{arch:?}");
            for (l, four) in given[..count].iter().enumerate() {
                assert_eq!(lanes.map(|lane| lane[l]), *four, "{arch:?}");
            }
        }
    }
}
