//! No XML text makes the robot readers panic, and what they accept has dynamics or is refused with an error.
#![no_main]

use delassus::math::DVec3;
use delassus::model::robot::{Base, parse};
use delassus::tree::TreeRows;
use delassus::world::Posed;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(file) = parse(text, "fuzz", None, Base::Floating) else {
        return;
    };
    let robot = file.robot;
    let tree = &robot.tree;
    let (q, zeros) = (tree.neutral(), vec![0.0; tree.n_dofs()]);
    let (mut data, mut acceleration) = (tree.data(), zeros.clone());
    let state = (&q[..], &zeros[..], &zeros[..]);
    let _ = tree.forward_dynamics(&mut data, state, DVec3::Z, &mut acceleration);
    let (mut rows, mut gap) = (TreeRows::default(), Vec::new());
    for closure in &robot.closures {
        let _ = closure.kind.add_rows(Posed { tree, data: &data, q: &q }, &mut rows, &mut gap);
    }
});
