// Jacobi in two passes: every block for its own impulse, then every velocity from the impulses on its body.
// [Chain, (34), (37)]

// λ-pass, one invocation for each block. What it writes over is the iterate before the last, which only y needed.
@compute @workgroup_size(64)
fn lambda_pass(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let k = item_of(group, groups, local);
    var line = vec4<f32>(0.0);
    if k < pass_.count { line = lambda_of(blocks[k]); }
    tally(group, groups, local, line);
}

fn lambda_of(b: Block) -> vec4<f32> {
    // Objective at y, counted from λ₀: ½(w₀ + w)ᵀy.
    var objective = 0.0;
    for (var i = 0u; i < b.rows; i++) {
        let r = b.row + i;
        let y = start_of(r);
        let w = row_velocity(b, i, y);
        objective += 0.5 * (rows[r].w + w) * y;
        state[scratch_w(r)] = w;
        state[scratch_y(r)] = y;
    }
    solve_block(b, pass_.other);
    // |D̃Δ|², and (y − z)ᵀD̃(z − x), positive where the momentum points uphill.
    var squared = 0.0;
    var uphill = 0.0;
    for (var i = 0u; i < b.rows; i++) {
        var moved = 0.0;
        for (var j = 0u; j < b.rows; j++) {
            moved += d_of(b, i, j) * (state[pass_.other + b.row + j] - state[scratch_y(b.row + j)]);
        }
        squared += moved * moved;
        uphill -= moved * (state[pass_.other + b.row + i] - state[pass_.x + b.row + i]);
    }
    return vec4<f32>(squared, squared, objective, uphill);
}

// The point a step starts from: y = x + β(x − x_old).
fn start_of(r: u32) -> f32 {
    let x = state[pass_.x + r];
    if pass_.extrapolate == 0u { return x; }
    return x + sums[BETA] * (x - state[pass_.other + r]);
}

// v-pass, one invocation for each velocity: u = M⁻¹Gᵀy, gathered anew so that rounding cannot pile up.
@compute @workgroup_size(64)
fn velocity_pass(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let v = item_of(group, groups, local);
    if pass_.velocities <= v { return; }
    // A body: its items from … to, its first velocity, its velocities.
    let body = pass_.bodies + 4u * index[pass_.owners + v];
    let column = v - index[body + 2u];
    let width = index[body + 3u];
    var u = 0.0;
    for (var item = index[body]; item < index[body + 1u]; item++) {
        // An item: first row of the block, its rows, place of M⁻¹Gᵀ.
        let at = pass_.items + 3u * item;
        let row = index[at];
        let count = index[at + 1u];
        let k = index[at + 2u] + column;
        for (var i = 0u; i < count; i++) {
            u += values[k + i * width] * start_of(row + i);
        }
    }
    state[pass_.u + v] = u;
}
