// The judge's measure of every block, and sums over blocks in an order that never changes.

var<workgroup> shared_lines: array<vec4<f32>, 64>;

// (Σ, max, Σ, Σ) of two lines.
fn joined(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(a.x + b.x, max(a.y, b.y), a.z + b.z, a.w + b.w);
}

// Sums the lines of a workgroup by halves; the result stands in its first place.
fn halves(local: u32, line: vec4<f32>) -> vec4<f32> {
    shared_lines[local] = line;
    workgroupBarrier();
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        if local < half { shared_lines[local] = joined(shared_lines[local], shared_lines[local + half]); }
        workgroupBarrier();
    }
    return shared_lines[0];
}

// One partial sum for each workgroup of a sweep.
fn tally(group: vec3<u32>, groups: vec3<u32>, local: u32, line: vec4<f32>) {
    let total = halves(local, line);
    let place = pass_.sums_first + group.x + group.y * groups.x;
    if local == 0u && place < pass_.sums_count { store(PARTIALS + 4u * place, total); }
}

fn store(at: u32, line: vec4<f32>) {
    for (var i = 0u; i < 4u; i++) { sums[at + i] = line[i]; }
}

fn load(at: u32) -> vec4<f32> {
    return vec4<f32>(sums[at], sums[at + 1u], sums[at + 2u], sums[at + 3u]);
}

// One workgroup sums the partial sums into the sweep's line and computes the next momentum.
@compute @workgroup_size(64)
fn finish(@builtin(local_invocation_index) local: u32) {
    var line = vec4<f32>(0.0);
    for (var place = local; place < pass_.sums_count; place += GROUP) {
        line = joined(line, load(PARTIALS + 4u * place));
    }
    let total = halves(local, line);
    if local != 0u { return; }
    let done = u32(sums[DONE]);
    store(LINES + 4u * min(done, LINE_COUNT - 1u), total);
    sums[DONE] = f32(done + 1u);
    if pass_.accelerate != 0u { momentum(total.w); }
}

// Nesterov's β, dropped where it points uphill.
fn momentum(uphill: f32) {
    let theta = sums[THETA];
    if uphill > 0.0 {
        sums[THETA] = 1.0;
        sums[BETA] = 0.0;
        return;
    }
    let next = 0.5 * (1.0 + sqrt(1.0 + 4.0 * theta * theta));
    sums[BETA] = (theta - 1.0) / next;
    sums[THETA] = next;
}

// The law residual of every block at x, one invocation for each: the natural map of docs/residual.md.
@compute @workgroup_size(64)
fn residual_pass(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let k = item_of(group, groups, local);
    var line = vec4<f32>(0.0);
    if k < pass_.count {
        let b = blocks[k];
        var objective = 0.0;
        for (var i = 0u; i < b.rows; i++) {
            let r = b.row + i;
            let x = state[pass_.x + r];
            let w = row_velocity(b, i, x);
            state[scratch_w(r)] = w;
            objective += 0.5 * (rows[r].w + w) * x;
        }
        let fault = fault_of(b);
        line = vec4<f32>(fault, fault, objective, 0.0);
    }
    tally(group, groups, local, line);
}

// d|x − clamp(x − w/d, lo, hi)| without subtracting x from itself.
fn bounded_fault(x: f32, w: f32, d: f32, lo: f32, hi: f32) -> f32 {
    let to = x - w / d;
    if to < lo { return d * (x - lo); }
    if hi < to { return d * (x - hi); }
    return w;
}

// Square of the block's natural map.
fn fault_of(b: Block) -> f32 {
    var sum = 0.0;
    switch b.law {
        case LAW_EQUALITY: {
            for (var i = 0u; i < b.rows; i++) {
                let w = state[scratch_w(b.row + i)];
                sum += w * w;
            }
        }
        case LAW_BOUNDED: {
            for (var i = 0u; i < b.rows; i++) {
                let r = b.row + i;
                let f = bounded_fault(state[pass_.x + r], state[scratch_w(r)], rows[r].d, rows[r].lo, rows[r].hi);
                sum += f * f;
            }
        }
        case LAW_BOX: {
            let n = state[pass_.x + b.row];
            let f = bounded_fault(n, state[scratch_w(b.row)], rows[b.row].d, rows[b.row].lo, FAR);
            sum = f * f;
            let reach = b.mu.x * max(n, rows[b.row].lo);
            for (var i = 1u; i < b.rows; i++) {
                let r = b.row + i;
                let f = bounded_fault(
                    state[pass_.x + r], state[scratch_w(r)], rows[r].d, rows[r].lo - reach, rows[r].hi + reach,
                );
                sum += f * f;
            }
        }
        default: { sum = cone_fault(b); }
    }
    return sum;
}

// |λ − P_K(λ − ρŵ)|²/ρ² with De Saxcé's shift ŵ = w + μ|w_t|e_n, in the rows in which the cone is round.
fn cone_fault(b: Block) -> f32 {
    let s = scale_of(b);
    var lambda = vec3<f32>(0.0);
    var w = vec3<f32>(0.0);
    var trace = 0.0;
    var count = 0.0;
    var forbidden = 0.0;
    for (var i = 0u; i < b.rows; i++) {
        let r = b.row + i;
        let whole = rows[r].base + state[pass_.x + r];
        if s[i] > 0.0 {
            lambda[i] = whole / s[i];
            w[i] = state[scratch_w(r)] * s[i];
            trace += rows[r].d * s[i] * s[i];
            count += 1.0;
        } else {
            let f = rows[r].d * whole;
            forbidden += f * f;
        }
    }
    let mu = select(b.mu.x, 1.0, b.law == LAW_ELLIPTIC);
    let rho = count / trace;
    w.x += mu * length(w.yz);
    let off = (lambda - cone(lambda - rho * w, mu)) / rho;
    return dot(off, off) + forbidden;
}
