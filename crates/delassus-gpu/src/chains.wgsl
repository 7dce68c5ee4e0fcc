// Ball-jointed bodies stepped on the device alone: inertia, free velocity, joints, sweeps, integration.   [Chain, Algorithm]
//
// Arrays are by field: field f of body b stands at f n + b. Impulses, not forces, and positive on the first body.

struct Params {
    bodies: u32,
    joints: u32,
    groups: u32,
    pad: u32,
    // Gravity, and the substep h.
    gravity: vec3<f32>,
    h: f32,
    // q = −(e/h) C + υ G v, and the compliance Σ.
    e_over_h: f32,
    upsilon: f32,
    sigma: f32,
    pad2: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
// Two bodies for each joint; first item of each body and one more; joints by body.
@group(0) @binding(1) var<storage, read> lists: array<u32>;
@group(0) @binding(2) var<storage, read_write> bodies: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> joints: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> sums: array<vec4<f32>>;

const GROUP = 64u;
const GROUND = 0xffffffffu;
// Fields of bodies. With the position goes 1/m, with the moments the share n_b of D̃.
const POSITION = 0u;
const TURN = 1u;
const VELOCITY = 2u;
const SPIN = 3u;
const MOMENTS = 4u;
const FREE_VELOCITY = 5u;
const FREE_SPIN = 6u;
const INVERSE = 7u;
// Fields of joints: arms in the axes of the bodies, arms in the world, q, λ, D̃⁻¹.
const OWN_ARM = 0u;
const ARM = 2u;
const WANTED = 4u;
const IMPULSE = 5u;
const MATRIX = 6u;

fn item_of(group: vec3<u32>, groups: vec3<u32>, local: u32) -> u32 {
    return (group.x + group.y * groups.x) * GROUP + local;
}

fn body(field: u32, b: u32) -> vec4<f32> { return bodies[field * params.bodies + b]; }
fn joint(field: u32, k: u32) -> vec4<f32> { return joints[field * params.joints + k]; }
fn set_body(field: u32, b: u32, x: vec3<f32>) {
    let at = field * params.bodies + b;
    bodies[at] = vec4<f32>(x, bodies[at].w);
}
fn set_joint(field: u32, k: u32, x: vec3<f32>) { joints[field * params.joints + k] = vec4<f32>(x, 0.0); }

// x turned by the unit quaternion q = (x, y, z, w).
fn turned(q: vec4<f32>, x: vec3<f32>) -> vec3<f32> {
    let t = 2.0 * cross(q.xyz, x);
    return x + q.w * t + cross(q.xyz, t);
}

fn axes(q: vec4<f32>) -> mat3x3<f32> {
    return mat3x3<f32>(
        turned(q, vec3<f32>(1.0, 0.0, 0.0)), turned(q, vec3<f32>(0.0, 1.0, 0.0)), turned(q, vec3<f32>(0.0, 0.0, 1.0)),
    );
}

fn inverse_inertia(b: u32) -> mat3x3<f32> {
    return mat3x3<f32>(body(INVERSE, b).xyz, body(INVERSE + 1u, b).xyz, body(INVERSE + 2u, b).xyz);
}

// World inertia, and the velocity after forces but before constraints; the gyroscopic torque −ω × Iω, which the source
// leaves out, is one of them.
@compute @workgroup_size(64)
fn prepare_bodies(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let b = item_of(group, groups, local);
    if params.bodies <= b { return; }
    let r = axes(body(TURN, b));
    let moments = body(MOMENTS, b).xyz;
    let back = transpose(r);
    let inverse = mat3x3<f32>(r[0] / moments.x, r[1] / moments.y, r[2] / moments.z) * back;
    for (var i = 0u; i < 3u; i++) {
        let column = select(select(inverse[2], inverse[1], i == 1u), inverse[0], i == 0u);
        set_body(INVERSE + i, b, column);
    }
    let spin = body(SPIN, b).xyz;
    let momentum = r * (moments * (back * spin));
    set_body(FREE_VELOCITY, b, body(VELOCITY, b).xyz + params.h * params.gravity);
    set_body(FREE_SPIN, b, spin - params.h * (inverse * cross(spin, momentum)));
}

// [r]ₓ: the matrix of r × x.
fn crossing(r: vec3<f32>) -> mat3x3<f32> {
    return mat3x3<f32>(vec3<f32>(0.0, r.z, -r.y), vec3<f32>(-r.z, 0.0, r.x), vec3<f32>(r.y, -r.x, 0.0));
}

// A body's share of D̃: n_b(1/m − [r]ₓI⁻¹[r]ₓ).
fn share(b: u32, arm: vec3<f32>) -> mat3x3<f32> {
    let s = crossing(arm);
    let rotation = s * inverse_inertia(b) * transpose(s);
    let linear = body(POSITION, b).w;
    let unit = mat3x3<f32>(
        vec3<f32>(linear, 0.0, 0.0), vec3<f32>(0.0, linear, 0.0), vec3<f32>(0.0, 0.0, linear),
    );
    return (unit + rotation) * body(MOMENTS, b).w;
}

// Velocity of the point at the arm.
fn point_velocity(b: u32, arm: vec3<f32>) -> vec3<f32> {
    return body(VELOCITY, b).xyz + cross(body(SPIN, b).xyz, arm);
}

// Arms, violation, wanted velocity and D̃⁻¹ of a joint.
@compute @workgroup_size(64)
fn prepare_joints(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let k = item_of(group, groups, local);
    if params.joints <= k { return; }
    let i = lists[2u * k];
    let j = lists[2u * k + 1u];
    let arm = turned(body(TURN, i), joint(OWN_ARM, k).xyz);
    set_joint(ARM, k, arm);
    var d = share(i, arm);
    var velocity = point_velocity(i, arm);
    if j != GROUND {
        let other = turned(body(TURN, j), joint(OWN_ARM + 1u, k).xyz);
        set_joint(ARM + 1u, k, other);
        d += share(j, other);
        velocity -= point_velocity(j, other);
    }
    d[0].x += params.sigma;
    d[1].y += params.sigma;
    d[2].z += params.sigma;
    set_joint(WANTED, k, params.upsilon * velocity - params.e_over_h * violation(k));
    // The inverse of a symmetric matrix, by cofactors.
    let a = cross(d[1], d[2]);
    let b = cross(d[2], d[0]);
    let c = cross(d[0], d[1]);
    let over = 1.0 / dot(d[0], a);
    set_joint(MATRIX, k, a * over);
    set_joint(MATRIX + 1u, k, b * over);
    set_joint(MATRIX + 2u, k, c * over);
}

// How far the two points of a joint are apart.   [Chain, (3)]
fn violation(k: u32) -> vec3<f32> {
    let i = lists[2u * k];
    let j = lists[2u * k + 1u];
    // Centres first: their difference is small and exact, the arms are as long.
    var gap = body(POSITION, i).xyz;
    var other = joint(OWN_ARM + 1u, k).xyz;
    if j != GROUND {
        gap -= body(POSITION, j).xyz;
        other = turned(body(TURN, j), other);
    }
    return gap + (turned(body(TURN, i), joint(OWN_ARM, k).xyz) - other);
}

// Row velocity w = G v + Σλ − q of a joint.
fn row_velocity(k: u32) -> vec3<f32> {
    let i = lists[2u * k];
    let j = lists[2u * k + 1u];
    var w = point_velocity(i, joint(ARM, k).xyz) + params.sigma * joint(IMPULSE, k).xyz - joint(WANTED, k).xyz;
    if j != GROUND { w -= point_velocity(j, joint(ARM + 1u, k).xyz); }
    return w;
}

// λ-pass.   [Chain, (37)]
@compute @workgroup_size(64)
fn lambda_pass(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let k = item_of(group, groups, local);
    if params.joints <= k { return; }
    let w = row_velocity(k);
    let step = vec3<f32>(
        dot(joint(MATRIX, k).xyz, w), dot(joint(MATRIX + 1u, k).xyz, w), dot(joint(MATRIX + 2u, k).xyz, w),
    );
    set_joint(IMPULSE, k, joint(IMPULSE, k).xyz - step);
}

// v-pass: gathered from the free velocity anew. Before the first sweep it makes the warm start count.   [Chain, (34)]
@compute @workgroup_size(64)
fn velocity_pass(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let b = item_of(group, groups, local);
    if params.bodies <= b { return; }
    let starts = 2u * params.joints;
    let items = starts + params.bodies + 1u;
    var push = vec3<f32>(0.0);
    var twist = vec3<f32>(0.0);
    for (var item = lists[starts + b]; item < lists[starts + b + 1u]; item++) {
        let k = lists[items + item];
        let impulse = joint(IMPULSE, k).xyz;
        if lists[2u * k] == b {
            push += impulse;
            twist += cross(joint(ARM, k).xyz, impulse);
        } else {
            push -= impulse;
            twist -= cross(joint(ARM + 1u, k).xyz, impulse);
        }
    }
    set_body(VELOCITY, b, body(FREE_VELOCITY, b).xyz + body(POSITION, b).w * push);
    set_body(SPIN, b, body(FREE_SPIN, b).xyz + inverse_inertia(b) * twist);
}

// (sin x)/x and cos x: the built-in ones need only be right to 2⁻¹¹.
fn sinc_cos(x: f32) -> vec2<f32> {
    let y = x * x;
    if y > 2.0 { return vec2<f32>(sin(x) / x, cos(x)); }
    let sinc = 1.0 - y / 6.0 * (1.0 - y / 20.0 * (1.0 - y / 42.0 * (1.0 - y / 72.0 * (1.0 - y / 110.0))));
    let cosine = 1.0 - y / 2.0 * (1.0 - y / 12.0 * (1.0 - y / 30.0 * (1.0 - y / 56.0 * (1.0 - y / 90.0))));
    return vec2<f32>(sinc, cosine);
}

// x + h v, and exp(hω) ⊗ q: spin is in world axes, so it multiplies from the left, not as printed from the right.
@compute @workgroup_size(64)
fn integrate(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let b = item_of(group, groups, local);
    if params.bodies <= b { return; }
    set_body(POSITION, b, body(POSITION, b).xyz + params.h * body(VELOCITY, b).xyz);
    let angle = 0.5 * params.h * body(SPIN, b).xyz;
    let parts = sinc_cos(length(angle));
    let a = vec4<f32>(angle * parts.x, parts.y);
    let q = body(TURN, b);
    let product = vec4<f32>(a.w * q.xyz + q.w * a.xyz + cross(a.xyz, q.xyz), a.w * q.w - dot(a.xyz, q.xyz));
    bodies[TURN * params.bodies + b] = normalize(product);
}

var<workgroup> shared_lines: array<vec4<f32>, 64>;

// (max, max, Σ) by halves, in an order that never changes.
fn halves(local: u32, line: vec4<f32>) -> vec4<f32> {
    shared_lines[local] = line;
    workgroupBarrier();
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        if local < half {
            let a = shared_lines[local];
            let b = shared_lines[local + half];
            shared_lines[local] = vec4<f32>(max(a.xy, b.xy), a.zw + b.zw);
        }
        workgroupBarrier();
    }
    return shared_lines[0];
}

// After a substep: squares of the law residual |w| and of the opening |C| of every joint, and their sum, which
// carries what is not a number past every maximum.
@compute @workgroup_size(64)
fn measure(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let k = item_of(group, groups, local);
    var line = vec4<f32>(0.0);
    if k < params.joints {
        let w = row_velocity(k);
        let gap = violation(k);
        line = vec4<f32>(dot(w, w), dot(gap, gap), dot(w, w) + dot(gap, gap), 0.0);
    }
    let total = halves(local, line);
    let place = group.x + group.y * groups.x;
    if local == 0u && place < params.groups { sums[2u + place] = total; }
}

// The line of this substep, and the worst since the last read-back.
@compute @workgroup_size(64)
fn finish(@builtin(local_invocation_index) local: u32) {
    var line = vec4<f32>(0.0);
    for (var place = local; place < params.groups; place += GROUP) {
        let next = sums[2u + place];
        line = vec4<f32>(max(line.xy, next.xy), line.zw + next.zw);
    }
    let total = halves(local, line);
    if local != 0u { return; }
    sums[0] = total;
    sums[1] = vec4<f32>(max(sums[1].xy, total.xy), sums[1].zw + total.zw);
}
