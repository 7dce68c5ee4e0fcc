// Gauss-Seidel by colours: the blocks of one colour share no body, so each may read and write its bodies' velocities
// while the others do. One dispatch for each colour.   [Chain, next step]

@compute @workgroup_size(64)
fn colour_pass(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let place = item_of(group, groups, local);
    var line = vec4<f32>(0.0);
    if place < pass_.count {
        line = visit(blocks[index[pass_.order + pass_.first + place]]);
    }
    tally(group, groups, local, line);
}

fn visit(b: Block) -> vec4<f32> {
    for (var i = 0u; i < b.rows; i++) {
        let r = b.row + i;
        let y = state[pass_.x + r];
        state[scratch_w(r)] = row_velocity(b, i, y);
        state[scratch_y(r)] = y;
    }
    solve_block(b, pass_.other);
    // Δ = ω(z − y), kept where z was.
    for (var i = 0u; i < b.rows; i++) {
        let r = b.row + i;
        let delta = pass_.after * (state[pass_.other + r] - state[scratch_y(r)]);
        state[pass_.other + r] = delta;
        state[pass_.x + r] = state[scratch_y(r)] + delta;
    }
    pass_on(b);
    // |DΔ|², and the exact change wᵀΔ + ½ΔᵀDΔ of the objective.
    var squared = 0.0;
    var change = 0.0;
    for (var i = 0u; i < b.rows; i++) {
        var moved = 0.0;
        for (var j = 0u; j < b.rows; j++) {
            moved += d_of(b, i, j) * state[pass_.other + b.row + j];
        }
        squared += moved * moved;
        change += state[pass_.other + b.row + i] * (state[scratch_w(b.row + i)] + 0.5 * moved);
    }
    return vec4<f32>(squared, squared, change, 0.0);
}

// v_b ← v_b + M_b⁻¹G_kbᵀΔ for the bodies of the block.
fn pass_on(b: Block) {
    for (var e = 0u; e < b.entries; e++) {
        let at = b.entry + 3u * e;
        let v = pass_.u + index[at];
        let width = index[at + 1u];
        let k = index[at + 2u] + pass_.lift;
        for (var c = 0u; c < width; c++) {
            var u = state[v + c];
            for (var i = 0u; i < b.rows; i++) {
                u += values[k + i * width + c] * state[pass_.other + b.row + i];
            }
            state[v + c] = u;
        }
    }
}
