// What all sweeps share: where things are, the row velocity of a block, and the rules that solve one block.
//
// The host keeps impulses λ₀ in double precision; the device sweeps the change x from there, so that single precision
// is relative to what is still missing and not to λ. Row velocities start from w₀ = w(λ₀), bounds are moved by λ₀.
// Numbers named `base` are λ₀ itself, for the rules that need the whole impulse.

// The numbers of one dispatch; offsets count elements of their array.
struct Pass {
    velocities: u32,
    // Blocks of this dispatch: `count` of them from place `first` of the order, partial sums from `sums_first`.
    count: u32,
    first: u32,
    sums_first: u32,
    // Partial sums of all dispatches of a sweep.
    sums_count: u32,
    // Places in `state`: the iterate x, the one before it (which a sweep overwrites), velocities, scratch of rows.
    x: u32,
    other: u32,
    u: u32,
    scratch: u32,
    rows: u32,
    // Places in `index`.
    bodies: u32,
    owners: u32,
    items: u32,
    order: u32,
    // From G to M⁻¹Gᵀ in `values`.
    lift: u32,
    // Nesterov's momentum: whether y differs from x, and whether `finish` computes the next β.
    extrapolate: u32,
    accelerate: u32,
    // Relaxation: above one it enters the law, below one it shortens the step.
    before: f32,
    after: f32,
    pad: u32,
}

struct Block {
    row: u32,
    rows: u32,
    // Its Jacobian entries in `index`, three words each: first velocity, velocities, place of G in `values`.
    entry: u32,
    entries: u32,
    // D̃ and D̃⁻¹ in `values`.
    matrix: u32,
    kind: u32,
    law: u32,
    pad: u32,
    // μ, or (μ₁, μ₂).
    mu: vec2<f32>,
    // 1/λ_max(D_tt), or 1/λ_max(D) for the convex relaxation; 1/d_nn. Zero where nothing moves.
    step: f32,
    normal_step: f32,
}

struct Row {
    w: f32,
    sigma: f32,
    base: f32,
    // Diagonal of S: the scale of the residual.
    d: f32,
    // Bounds of x; the first tangent of a round cone keeps |λ₀_t|² − μ²λ₀_n² in `lo`.
    lo: f32,
    hi: f32,
    pad0: f32,
    pad1: f32,
}

@group(0) @binding(0) var<uniform> pass_: Pass;
@group(0) @binding(1) var<storage, read> index: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<f32>;
@group(0) @binding(3) var<storage, read> blocks: array<Block>;
@group(0) @binding(4) var<storage, read> rows: array<Row>;
@group(0) @binding(5) var<storage, read_write> state: array<f32>;
@group(0) @binding(6) var<storage, read_write> sums: array<f32>;

const EQUALITY = 0u;
const BOUNDED = 1u;
const ISO = 2u;
const EXACT = 3u;
const BOX = 4u;
const PROJECT = 5u;
const NONLINEAR = 6u;
const CCP = 7u;

const LAW_EQUALITY = 0u;
const LAW_BOUNDED = 1u;
const LAW_BOX = 2u;
const LAW_CONE = 3u;
const LAW_ELLIPTIC = 4u;

// Bounds beyond this are none.
const FAR = 3e38;
const GROUP = 64u;
// In `sums`: θ and β of the momentum, sweeps done; lines of four, one for each sweep; partial sums.
const THETA = 0u;
const BETA = 1u;
const DONE = 2u;
const LINES = 8u;
const LINE_COUNT = 80u;
const PARTIALS = 328u;

fn item_of(group: vec3<u32>, groups: vec3<u32>, local: u32) -> u32 {
    return (group.x + group.y * groups.x) * GROUP + local;
}

// Scratch of a row: its velocity w, and the point y its step starts from.
fn scratch_w(row: u32) -> u32 { return pass_.scratch + row; }
fn scratch_y(row: u32) -> u32 { return pass_.scratch + pass_.rows + row; }

// w = w₀ + G u + Σy for one row.
fn row_velocity(b: Block, i: u32, y: f32) -> f32 {
    let r = rows[b.row + i];
    var w = r.w + r.sigma * y;
    for (var e = 0u; e < b.entries; e++) {
        let at = b.entry + 3u * e;
        let v = pass_.u + index[at];
        let width = index[at + 1u];
        let g = index[at + 2u] + i * width;
        for (var c = 0u; c < width; c++) {
            w += values[g + c] * state[v + c];
        }
    }
    return w;
}

// D̃ of the block, row i and column j.
fn d_of(b: Block, i: u32, j: u32) -> f32 {
    return values[b.matrix + i * b.rows + j];
}

// A row that moves nothing lets go of the bound that the sign of w forbids.
fn immobile(y: f32, w: f32, lo: f32, hi: f32) -> f32 {
    if w > 0.0 && -FAR < lo { return lo; }
    if w < 0.0 && hi < FAR { return hi; }
    return clamp(y, lo, hi);
}

// ---- contacts -------------------------------------------------------------------------------------------------

// A contact of three rows in the coordinates in which its cone is round.
struct Contact {
    d: mat3x3<f32>,
    inverse: mat3x3<f32>,
    w: vec3<f32>,
    y: vec3<f32>,
    base: vec3<f32>,
    mu: f32,
    step: f32,
    normal_step: f32,
    lo: vec3<f32>,
    hi: vec3<f32>,
}

// Scale of a block's rows: (1, μ₁, μ₂) for an elliptic cone, else ones.
fn scale_of(b: Block) -> vec3<f32> {
    if b.law == LAW_ELLIPTIC { return vec3<f32>(1.0, b.mu.x, b.mu.y); }
    return vec3<f32>(1.0);
}

fn over(x: f32, s: f32) -> f32 {
    if s > 0.0 { return x / s; }
    return 0.0;
}

fn over3(x: vec3<f32>, s: vec3<f32>) -> vec3<f32> {
    return vec3<f32>(x.x, over(x.y, s.y), over(x.z, s.z));
}

fn load_contact(b: Block) -> Contact {
    var c: Contact;
    let s = scale_of(b);
    // Rows of D stand in the columns of the type, so that M[i][j] is row i, column j, and D x is x * M.
    for (var i = 0u; i < b.rows; i++) {
        c.w[i] = pass_.before * state[scratch_w(b.row + i)] * s[i];
        c.y[i] = state[scratch_y(b.row + i)];
        c.base[i] = rows[b.row + i].base;
        c.lo[i] = rows[b.row + i].lo;
        c.hi[i] = rows[b.row + i].hi;
        for (var j = 0u; j < b.rows; j++) {
            c.d[i][j] = d_of(b, i, j) * s[i] * s[j];
            // Where it is needed the inverse is uploaded for the scaled rows.
            c.inverse[i][j] = values[b.matrix + (b.rows + i) * b.rows + j];
        }
    }
    // A second tangent that nothing drives keeps its zero impulse under every rule.
    if b.rows == 2u {
        c.d[2][2] = c.d[1][1];
    }
    c.y = over3(c.y, s);
    c.base = over3(c.base, s);
    c.mu = select(b.mu.x, 1.0, b.law == LAW_ELLIPTIC);
    c.step = b.step;
    c.normal_step = b.normal_step;
    return c;
}

// max(lo, y − w/d_nn), which is λ_n ≥ 0.   [GS13 Alg 2.1, line 10]
fn normal_of(c: Contact) -> f32 {
    if c.normal_step > 0.0 { return max(c.y.x - c.w.x * c.normal_step, c.lo.x); }
    return immobile(c.y.x, c.w.x, c.lo.x, FAR);
}

// The tangential change t cut so that |λ₀_t + t| ≤ μ(λ₀_n + n): by the excess of the squares, which is small where
// the change is, so that nothing is lost by subtracting impulses.
fn disk(c: Contact, n: f32, t: vec2<f32>) -> vec2<f32> {
    let base = c.base.yz;
    let radius = c.mu * max(c.base.x + n, 0.0);
    let gap = c.lo.y;
    let excess = gap + 2.0 * dot(base, t) + dot(t, t) - c.mu * c.mu * (2.0 * c.base.x * n + n * n);
    if excess <= 0.0 { return t; }
    let whole = base + t;
    let length = sqrt(dot(whole, whole));
    if length <= 0.0 || radius <= 0.0 { return -base; }
    return t - whole * (excess / (length * (length + radius)));
}

// Normal first; then the disk, with one scalar step for both tangents.
fn iso(c: Contact) -> vec3<f32> {
    let n = normal_of(c);
    let dn = n - c.y.x;
    let t = c.y.yz - c.step * (c.w.yz + vec2<f32>(c.d[1][0], c.d[2][0]) * dn);
    return vec3<f32>(n, disk(c, n, t));
}

// Each tangent within ±μλ_n, w refreshed after each.   [GS13 (36)]
fn friction_box(c: Contact) -> vec3<f32> {
    let n = normal_of(c);
    let reach = c.mu * n;
    let lo = c.lo - reach;
    let hi = c.hi + reach;
    let dn = n - c.y.x;
    let t1 = min(max(free(c.y.y, c.w.y + c.d[1][0] * dn, c.d[1][1]), lo.y), hi.y);
    let w2 = c.w.z + c.d[2][0] * dn + c.d[2][1] * (t1 - c.y.y);
    let t2 = min(max(free(c.y.z, w2, c.d[2][2]), lo.z), hi.z);
    return vec3<f32>(n, t1, t2);
}

// y − w/d, where d moves anything.
fn free(y: f32, w: f32, d: f32) -> f32 {
    if d > 0.0 { return y - w / d; }
    return y;
}

// The impulse that stops all three rows.
fn stick(c: Contact) -> vec3<f32> {
    return c.y - c.w * c.inverse;
}

// The stick impulse cut to the cone.   [GS11 (18)-(19)]
fn project(c: Contact) -> vec3<f32> {
    let z = stick(c);
    if c.base.x + z.x < 0.0 { return -c.base; }
    return vec3<f32>(z.x, disk(c, z.x, z.yz));
}

// Row velocity without this contact's own impulse, w − Dλ.
fn without(c: Contact) -> vec3<f32> {
    return c.w - (c.base + c.y) * c.d;
}

// Stick, or slip along the stick impulse.   [GS11 (20)-(21)]
fn nonlinear(c: Contact) -> vec3<f32> {
    let g = without(c).x;
    if g >= 0.0 { return -c.base; }
    let z = stick(c);
    let whole = c.base + z;
    let t = length(whole.yz);
    if t <= c.mu * whole.x { return z; }
    let u = whole.yz / t;
    let denominator = c.d[0][0] + c.mu * (c.d[0][1] * u.x + c.d[0][2] * u.y);
    // Friction that would jam the contact: the normal alone.
    if denominator <= 1e-3 * c.d[0][0] { return vec3<f32>(-g / c.d[0][0], 0.0, 0.0) - c.base; }
    let n = -g / denominator;
    return vec3<f32>(n, c.mu * n * u) - c.base;
}

// P_K(x) of the round cone; the polar test comes first, at μ = 0 the cone is a ray.
fn cone(x: vec3<f32>, mu: f32) -> vec3<f32> {
    let t = length(x.yz);
    if mu * t <= -x.x { return vec3<f32>(0.0); }
    if t <= mu * x.x { return x; }
    let a = (x.x + mu * t) / (1.0 + mu * mu);
    return vec3<f32>(a, x.yz * over(mu * a, t));
}

// P_K(λ − w/λ_max(D)).
fn ccp(c: Contact) -> vec3<f32> {
    return cone(c.base + (c.y - c.step * c.w), c.mu) - c.base;
}

// The slip equation of one contact in the eigenbasis of W = D_tt − D_tn D_nt/d_nn.
struct Secular {
    mu: f32,
    e: vec2<f32>,
    h: vec2<f32>,
    coupling: vec2<f32>,
    lift: f32,
}

// (z_n, z_t) for the ratio κ of slip speed to friction.
fn slip(s: Secular, kappa: f32) -> vec3<f32> {
    var t = vec2<f32>(0.0);
    if s.h.x != 0.0 { t.x = -s.h.x / (s.e.x + kappa); }
    if s.h.y != 0.0 { t.y = -s.h.y / (s.e.y + kappa); }
    return vec3<f32>(-(s.lift + dot(s.coupling, t)), t);
}

fn secular(s: Secular, kappa: f32) -> f32 {
    let z = slip(s, kappa);
    return length(z.yz) - s.mu * z.x;
}

// Walks up from stick until the sign changes, then halves the bracket as far as single precision goes.
fn root(s: Secular) -> f32 {
    var lo = 0.0;
    var hi = s.e.x * 1e-6;
    for (var i = 0; i < 60 && secular(s, hi) > 0.0; i++) {
        lo = hi;
        hi *= 4.0;
    }
    for (var i = 0; i < 32; i++) {
        let middle = 0.5 * (lo + hi);
        if secular(s, middle) > 0.0 { lo = middle; } else { hi = middle; }
    }
    return hi;
}

// Separation, stick or slip: Coulomb's law of one contact solved.
fn exact(c: Contact) -> vec3<f32> {
    let g = without(c);
    if g.x >= 0.0 { return -c.base; }
    let z = stick(c);
    let whole = c.base + z;
    if length(whole.yz) <= c.mu * whole.x { return z; }
    let n = 1.0 / c.d[0][0];
    if c.mu == 0.0 { return vec3<f32>(-g.x * n, 0.0, 0.0) - c.base; }
    let w11 = c.d[1][1] - c.d[1][0] * c.d[0][1] * n;
    let w22 = c.d[2][2] - c.d[2][0] * c.d[0][2] * n;
    let w12 = c.d[1][2] - c.d[1][0] * c.d[0][2] * n;
    let mean = 0.5 * (w11 + w22);
    let half = 0.5 * (w11 - w22);
    let radius = sqrt(half * half + w12 * w12);
    // The eigenvector of the larger eigenvalue, by whichever column does not cancel.
    var axis = vec2<f32>(1.0, 0.0);
    if radius > 0.0 {
        if half >= 0.0 { axis = normalize(vec2<f32>(radius + half, w12)); }
        else { axis = normalize(vec2<f32>(w12, radius - half)); }
    }
    let h = vec2<f32>(g.y - c.d[1][0] * g.x * n, g.z - c.d[2][0] * g.x * n);
    let d = vec2<f32>(c.d[0][1] * n, c.d[0][2] * n);
    var s: Secular;
    s.mu = c.mu;
    s.e = vec2<f32>(mean + radius, max(mean - radius, 0.0));
    s.h = vec2<f32>(dot(axis, h), axis.x * h.y - axis.y * h.x);
    s.coupling = vec2<f32>(dot(axis, d), axis.x * d.y - axis.y * d.x);
    s.lift = g.x * n;
    let solved = slip(s, root(s));
    let load = max(solved.x, 0.0);
    let t = axis * solved.y + vec2<f32>(-axis.y, axis.x) * solved.z;
    let far = length(t);
    let cut = select(1.0, c.mu * load / far, far > c.mu * load);
    return vec3<f32>(load, t * cut) - c.base;
}

fn solve_contact(b: Block) -> vec3<f32> {
    let c = load_contact(b);
    var z: vec3<f32>;
    switch b.kind {
        case EXACT: { z = exact(c); }
        case BOX: { z = friction_box(c); }
        case PROJECT: { z = project(c); }
        case NONLINEAR: { z = nonlinear(c); }
        case CCP: { z = ccp(c); }
        default: { z = iso(c); }
    }
    return z * scale_of(b);
}

// ---- one block ------------------------------------------------------------------------------------------------

// From w and y of the scratch the new x of the block under its law, into `to`.
fn solve_block(b: Block, to: u32) {
    if b.kind == EQUALITY {
        // y − D̃⁻¹w   [GS11 (13)]
        for (var i = 0u; i < b.rows; i++) {
            var z = state[scratch_y(b.row + i)];
            for (var j = 0u; j < b.rows; j++) {
                let inverse = values[b.matrix + (b.rows + i) * b.rows + j];
                z -= inverse * (pass_.before * state[scratch_w(b.row + j)]);
            }
            state[to + b.row + i] = z;
        }
    } else if b.kind == BOUNDED {
        // Row after row, w refreshed in between.   [GS13 Alg 2.1]
        for (var i = 0u; i < b.rows; i++) {
            let r = b.row + i;
            let y = state[scratch_y(r)];
            var w = pass_.before * state[scratch_w(r)];
            for (var j = 0u; j < i; j++) {
                w += d_of(b, i, j) * (state[to + b.row + j] - state[scratch_y(b.row + j)]);
            }
            let d = d_of(b, i, i);
            if d > 0.0 {
                state[to + r] = min(max(y - w / d, rows[r].lo), rows[r].hi);
            } else {
                state[to + r] = immobile(y, w, rows[r].lo, rows[r].hi);
            }
        }
    } else {
        let z = solve_contact(b);
        for (var i = 0u; i < b.rows; i++) {
            state[to + b.row + i] = z[i];
        }
    }
}
