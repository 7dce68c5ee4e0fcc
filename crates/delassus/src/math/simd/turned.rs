//! Rows of eight numbers as columns and back: what stands at one place of several rows, side by side.
//!
//! Bodies have their numbers one behind the other, contacts in lanes want the same number of eight bodies. Where the
//! processor has eight lanes, eight rows are read whole and turned in registers; else number by number. Numbers are
//! only moved, so that both give the same bits.

use pulp::Simd;

#[cfg(target_arch = "x86_64")]
use super::each;
use super::{LANES, Lane, X};

/// The columns of as many rows as there are lanes.
#[inline(always)]
pub(crate) fn columns<'a, S: Simd>(simd: S, row: impl Fn(usize) -> &'a Lane) -> [X<S>; LANES] {
    #[cfg(target_arch = "x86_64")]
    if let Some(wide) = eight_lanes::<S>() {
        let zero = wide.splat_f64s(0.0);
        let columns = turned(wide, each!([zero; LANES], l => whole(row(l))));
        return each!([X::splat(simd, 0.0); LANES], i => X::load(simd, &pulp::cast(columns[i]), 0));
    }
    let mut lanes = [[0.0; LANES]; LANES];
    for l in 0..S::F64_LANES {
        let row = row(l);
        for i in 0..LANES {
            lanes[i][l] = row[i];
        }
    }
    X::load_all(simd, &lanes, 0)
}

/// Hands out the rows of these columns, one for each lane.
#[inline(always)]
pub(crate) fn rows<S: Simd>(columns: [X<S>; LANES], mut put: impl FnMut(usize, Lane)) {
    #[cfg(target_arch = "x86_64")]
    if let Some(wide) = eight_lanes::<S>() {
        let mut lanes = [[0.0; LANES]; LANES];
        for i in 0..LANES {
            columns[i].store(&mut lanes[i], 0);
        }
        let zero = wide.splat_f64s(0.0);
        let rows = turned(wide, each!([zero; LANES], i => whole(&lanes[i])));
        for l in 0..LANES {
            put(l, pulp::cast(rows[l]));
        }
        return;
    }
    let mut lanes = [[0.0; LANES]; LANES];
    for i in 0..LANES {
        columns[i].store(&mut lanes[i], 0);
    }
    for l in 0..S::F64_LANES {
        let mut row = [0.0; LANES];
        for i in 0..LANES {
            row[i] = lanes[i][l];
        }
        put(l, row);
    }
}

/// The instructions that turn rows, where these are the lanes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn eight_lanes<S: Simd>() -> Option<pulp::x86::V4> {
    use std::any::TypeId;
    let same = TypeId::of::<S>() == TypeId::of::<pulp::x86::V4>();
    // Known when this is compiled; then the processor is asked once, and remembers.
    if same { pulp::x86::V4::try_new() } else { None }
}

/// Eight numbers in a register.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn whole(lane: &Lane) -> pulp::f64x8 {
    pulp::x86::V4::as_simd_f64s(lane).0[0]
}

/// Eight rows of eight as eight columns.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn turned(simd: pulp::x86::V4, rows: [pulp::f64x8; LANES]) -> [pulp::f64x8; LANES] {
    let (wide, zero) = (simd.avx512f, simd.splat_f64s(0.0));
    // Pairs of rows: numbers 0, 2, 4 and 6 of both in turn, and numbers 1, 3, 5 and 7.
    let mut pairs = [zero; LANES];
    for k in 0..4 {
        let [a, b] = [pulp::cast(rows[2 * k]), pulp::cast(rows[2 * k + 1])];
        pairs[2 * k] = pulp::cast(wide._mm512_unpacklo_pd(a, b));
        pairs[2 * k + 1] = pulp::cast(wide._mm512_unpackhi_pd(a, b));
    }
    let mut columns = [zero; LANES];
    for k in 0..2 {
        let [p, q] = [pulp::cast(pairs[k]), pulp::cast(pairs[k + 2])];
        let [r, s] = [pulp::cast(pairs[k + 4]), pulp::cast(pairs[k + 6])];
        // The first and third quarters of each, and the second and fourth.
        let [a, b] = [
            wide._mm512_shuffle_f64x2::<0x88>(p, q),
            wide._mm512_shuffle_f64x2::<0xdd>(p, q),
        ];
        let [c, d] = [
            wide._mm512_shuffle_f64x2::<0x88>(r, s),
            wide._mm512_shuffle_f64x2::<0xdd>(r, s),
        ];
        columns[k] = pulp::cast(wide._mm512_shuffle_f64x2::<0x88>(a, c));
        columns[k + 4] = pulp::cast(wide._mm512_shuffle_f64x2::<0xdd>(a, c));
        columns[k + 2] = pulp::cast(wide._mm512_shuffle_f64x2::<0x88>(b, d));
        columns[k + 6] = pulp::cast(wide._mm512_shuffle_f64x2::<0xdd>(b, d));
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Turn<'a>(
        &'a [Lane; LANES],
        &'a mut [Lane; LANES],
        &'a mut [Lane; LANES],
    );

    impl pulp::WithSimd for Turn<'_> {
        type Output = usize;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> usize {
            let Turn(given, across, back) = self;
            let columns = columns(simd, |l| &given[l]);
            for i in 0..LANES {
                columns[i].store(&mut across[i], 0);
            }
            rows(columns, |l, row| back[l] = row);
            S::F64_LANES
        }
    }

    #[test]
    fn rows_become_columns_and_come_back() {
        let given: [Lane; LANES] =
            std::array::from_fn(|l| std::array::from_fn(|i| (10 * l + i) as f64));
        for arch in [pulp::Arch::new(), pulp::Arch::Scalar] {
            let (mut across, mut back) = ([[0.0; LANES]; LANES], [[0.0; LANES]; LANES]);
            let count = arch.dispatch(Turn(&given, &mut across, &mut back));
            for l in 0..count {
                assert_eq!(back[l], given[l]);
                for i in 0..LANES {
                    assert_eq!(across[i][l], given[l][i]);
                }
            }
        }
    }
}
