//! Sweeps that are asked for are best spent on small steps: one that pushes and one that calms, as many times as the
//! sweeps allow. Contacts are found once, and their gaps follow the bodies.
//!
//! ```text
//! M v_A = M v + h f + Gᵀλ    w_n = G_n v_A − r(g)      push: r(g) = min(e|g|/h, fastest) in an overlap
//! x ← x + h v_A
//! M v_B = M v + h f + Gᵀλ    w_n = G_n v_B − min(r(g), 0)    calm: what parts overlaps does not stay as motion
//! ```
//!
//! and r(g) = −g/h before they touch. The error of sweeps that are cut short falls with h², so that n small steps of one
//! sweep do better than one step of n.   [Macklin19]

/// A step that is divided into small ones, for [`Solver::sweep_small_steps`](super::Solver::sweep_small_steps).
#[derive(Debug)]
pub struct SmallSteps<'a> {
    /// Length of the whole step \[s\].
    pub h: f64,
    /// Small steps in it: at most half as many as sweeps.
    pub count: usize,
    /// Velocities at its beginning.
    pub old: &'a [f64],
    /// Share e of an overlap that is parted in a small step.
    pub share: f64,
    /// Fastest that overlaps are parted \[m/s\].
    pub fastest: f64,
    /// The gap of every block: at the beginning, and then where the last small step begins \[m\].
    pub gaps: &'a mut [f64],
    /// The mean velocity of the way that bodies went.
    pub mean: &'a mut Vec<f64>,
}
