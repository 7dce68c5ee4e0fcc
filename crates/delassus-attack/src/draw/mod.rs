//! Problems drawn from a seed, as the JSON that the library reads.
//!
//! Every one of them has a solution but those with joints and contacts: where a joint holds a body against a contact
//! with friction, no motion may open all contacts at once, and then no theorem says that there is one.

mod bodies;
mod plain;
mod trees;

use delassus::math::Random;
use serde_json::Value;

/// A family of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Bodies with round cones.
    Round,
    /// Bodies with elliptic cones.
    Elliptic,
    /// Bodies with cones of flat sides.
    Faceted,
    /// Bodies with boxes of friction.
    Box,
    /// Bounded rows over a dense M⁻¹.
    Rows,
    /// Bodies and ball joints.
    Joints,
    /// Bodies with ball joints and round cones.
    JointsContacts,
    /// Complementarity problems with a matrix that is positive semidefinite, symmetric or not.
    Lcp,
    /// Constrained trees.
    Trees,
    /// Trees with contacts.
    TreesContacts,
}

impl Class {
    /// All of them with their names.
    pub(crate) const ALL: [(&'static str, Class); 10] = [
        ("round", Class::Round),
        ("elliptic", Class::Elliptic),
        ("faceted", Class::Faceted),
        ("box", Class::Box),
        ("rows", Class::Rows),
        ("joints", Class::Joints),
        ("joints-contacts", Class::JointsContacts),
        ("lcp", Class::Lcp),
        ("trees", Class::Trees),
        ("trees-contacts", Class::TreesContacts),
    ];

    /// Draws one problem.
    pub(crate) fn draw(self, random: &mut Random) -> (Variant, Value) {
        let variant = Variant::ALL[random.below(Variant::ALL.len())].1;
        let problem = match self {
            Class::Rows => plain::rows(random, variant),
            Class::Lcp => plain::lcp(random, variant),
            Class::Trees => trees::constrained(random, variant),
            Class::TreesContacts => trees::contacts(random, variant),
            class => bodies::draw(random, class, variant),
        };
        (variant, problem)
    }
}

/// What makes a problem harder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// Nothing.
    Plain,
    /// More rows than velocities.
    Redundant,
    /// Rows given twice, or a micrometre apart.
    Duplicated,
    /// Compliance.
    Soft,
    /// Masses up to a million times each other.
    Ratio,
    /// Bodies that hardly resist turning about one axis, or matrices of large condition.
    Thin,
    /// Lengths of a tenth of a millimetre.
    Tiny,
    /// Lengths of a kilometre.
    Huge,
}

impl Variant {
    /// All of them with their names.
    pub(crate) const ALL: [(&'static str, Variant); 8] = [
        ("plain", Variant::Plain),
        ("redundant", Variant::Redundant),
        ("duplicated", Variant::Duplicated),
        ("soft", Variant::Soft),
        ("ratio", Variant::Ratio),
        ("thin", Variant::Thin),
        ("tiny", Variant::Tiny),
        ("huge", Variant::Huge),
    ];

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        let found = Variant::ALL.iter().find(|(_, variant)| *variant == self);
        found.map_or("", |(name, _)| name)
    }

    /// The length of things \[m\].
    fn length(self) -> f64 {
        match self {
            Variant::Tiny => 1e-4,
            Variant::Huge => 1e3,
            _ => 1.0,
        }
    }
}

/// Uniform in the logarithm.
fn log(random: &mut Random, lo: f64, hi: f64) -> f64 {
    random.range(lo.ln(), hi.ln()).exp()
}

/// Whole, from lo to hi.
fn whole(random: &mut Random, lo: usize, hi: usize) -> usize {
    lo + random.below(hi - lo + 1)
}

/// True once in so many draws.
fn once_in(random: &mut Random, count: usize) -> bool {
    random.below(count) == 0
}

/// Rotation (w, x, y, z).
fn quaternion(random: &mut Random) -> [f64; 4] {
    loop {
        let q = [(); 4].map(|()| random.range(-1.0, 1.0));
        let length = q.iter().map(|x| x * x).sum::<f64>().sqrt();
        if 0.1 < length && length < 1.0 {
            return q.map(|x| x / length);
        }
    }
}

/// Principal moments of a box of such sides and a mass, or nearly of a rod or a disk where the variant is thin.
fn moments(random: &mut Random, variant: Variant, mass: f64, half: [f64; 3]) -> [f64; 3] {
    let [x, y, z] = half.map(|h| h * h);
    let third = mass / 3.0;
    let mut moments = [(y + z) * third, (x + z) * third, (x + y) * third];
    if variant == Variant::Thin {
        // A rod: hardly any moment about its own axis, and the other two alike.
        moments[1] = moments[2];
        moments[0] = moments[2] * log(random, 1e-12, 1e-3);
    }
    moments
}

/// A symmetric matrix with these moments about axes turned anew.
fn turned(random: &mut Random, moments: [f64; 3]) -> [[f64; 3]; 3] {
    let [w, x, y, z] = quaternion(random);
    let r = [
        [
            1.0 - 2.0 * (y * y + z * z),
            2.0 * (x * y - w * z),
            2.0 * (x * z + w * y),
        ],
        [
            2.0 * (x * y + w * z),
            1.0 - 2.0 * (x * x + z * z),
            2.0 * (y * z - w * x),
        ],
        [
            2.0 * (x * z - w * y),
            2.0 * (y * z + w * x),
            1.0 - 2.0 * (x * x + y * y),
        ],
    ];
    let mut inertia = [[0.0; 3]; 3];
    for i in 0..3 {
        for j in 0..=i {
            let sum: f64 = (0..3).map(|k| r[i][k] * moments[k] * r[j][k]).sum();
            inertia[i][j] = sum;
            inertia[j][i] = sum;
        }
    }
    inertia
}

/// A right-handed frame (n, t₁, t₂) with n near `up`.
fn frame(random: &mut Random, up: [f64; 3], tilt: f64) -> [[f64; 3]; 3] {
    let unit = |v: [f64; 3]| {
        let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        v.map(|x| x / length)
    };
    let cross = |a: [f64; 3], b: [f64; 3]| {
        [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ]
    };
    let n = unit(up.map(|x| x + random.range(-tilt, tilt)));
    loop {
        let any = [(); 3].map(|()| random.range(-1.0, 1.0));
        let t1 = cross(any, n);
        if 0.1 < t1.iter().map(|x| x * x).sum::<f64>() {
            let t1 = unit(t1);
            return [n, t1, cross(n, t1)];
        }
    }
}
