//! Muscles: a force that depends on how long and how fast a path is, by the curves of MuJoCo.
//!
//! Lengths and speeds are scaled by that length L₀ at which the muscle is strongest:
//!
//! ```text
//! L₀ = (l₁ − l₀)/(r₁ − r₀),   L = r₀ + (l − l₀)/L₀,   V = l̇/(L₀ v_max)
//! f = −F₀ (a F_L(L) F_V(V) + F_P(L))
//! ```

/// A muscle along a path. Its force is that of the beginning of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Muscle {
    /// Least and largest length of the path \[m\] or \[rad\], l₀ and l₁.
    pub lengths: [f64; 2],
    /// What these are in units of L₀: r₀ and r₁.
    pub range: [f64; 2],
    /// Largest active force at rest, F₀ \[N\] or \[N m\].
    pub force: f64,
    /// Scaled length below which it has no active force.
    pub shortest: f64,
    /// Scaled length above which it has no active force.
    pub longest: f64,
    /// Scaled speed of shortening at which it has no active force \[1/s\].
    pub speed: f64,
    /// Passive force at its longest, in units of F₀.
    pub passive: f64,
    /// Active force while it is stretched fast, in units of F₀.
    pub stretching: f64,
    /// How much of it is active, a, from 0 to 1.
    pub activation: f64,
    /// Least and largest force.
    pub bounds: [f64; 2],
}

/// Divisors are at least this.
const LEAST: f64 = 1e-15;

impl Muscle {
    /// Whether all its numbers are finite and its bounds in order.
    pub fn is_legal(&self) -> bool {
        let [lo, hi] = self.bounds;
        let numbers = [
            self.force,
            self.shortest,
            self.longest,
            self.speed,
            self.passive,
            self.stretching,
            self.activation,
        ];
        let pairs = self.lengths.iter().chain(&self.range);
        lo <= hi && numbers.iter().chain(pairs).all(|x| x.is_finite())
    }

    /// The force along the path at a length and a velocity; it pulls where it is negative.
    pub fn force(&self, length: f64, velocity: f64) -> f64 {
        let ([l0, l1], [r0, r1]) = (self.lengths, self.range);
        let unit = ((l1 - l0) / (r1 - r0).max(LEAST)).max(LEAST);
        let scaled = r0 + (length - l0) / unit;
        let speed = velocity / (unit * self.speed).max(LEAST);
        let active = self.activation * self.by_length(scaled) * self.by_speed(speed);
        let force = -self.force * (active + self.passive_at(scaled));
        force.max(self.bounds[0]).min(self.bounds[1])
    }

    /// F_L: a bump of height 1 at L = 1, of four parabolas that meet smoothly halfway down.
    fn by_length(&self, scaled: f64) -> f64 {
        let (lo, hi) = (self.shortest, self.longest);
        let end = if scaled <= 1.0 { lo } else { hi };
        if scaled < lo || hi < scaled {
            return 0.0;
        }
        let half = (0.5 * (1.0 - end)).abs().max(LEAST);
        let (from_end, from_top) = ((scaled - end).abs() / half, (scaled - 1.0).abs() / half);
        if from_end <= 1.0 {
            0.5 * from_end * from_end
        } else {
            1.0 - 0.5 * from_top * from_top
        }
    }

    /// F_V: nothing at V = −1, 1 at V = 0, and level from V = F_max − 1 on.
    fn by_speed(&self, speed: f64) -> f64 {
        let more = self.stretching - 1.0;
        if speed <= -1.0 {
            0.0
        } else if speed <= 0.0 {
            (speed + 1.0).powi(2)
        } else if speed <= more {
            self.stretching - (more - speed).powi(2) / more.max(LEAST)
        } else {
            self.stretching
        }
    }

    /// F_P: nothing up to L = 1, a parabola to halfway to the longest, a straight line from there.
    fn passive_at(&self, scaled: f64) -> f64 {
        let half = (0.5 * (self.longest - 1.0)).max(LEAST);
        let x = (scaled - 1.0) / half;
        if x <= 0.0 {
            0.0
        } else if x <= 1.0 {
            0.5 * self.passive * x * x
        } else {
            self.passive * (x - 0.5)
        }
    }
}
