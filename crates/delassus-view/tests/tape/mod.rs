//! A recorded run written by the layout of `crates/delassus/docs/run.md`, for whoever reads it.

use std::path::Path;

use delassus::solver::from_spec;
use delassus::world::{MovedBy, Scene};
use delassus::{RobotId, Stop, World};

fn whole(bytes: &mut Vec<u8>, n: usize) {
    bytes.extend((n as u32).to_le_bytes());
}

fn name(bytes: &mut Vec<u8>, text: &str) {
    whole(bytes, text.len());
    bytes.extend(text.as_bytes());
}

fn numbers(bytes: &mut Vec<u8>, list: &[f64]) {
    bytes.extend(list.iter().flat_map(|x| x.to_le_bytes()));
}

fn moving(world: &World) -> Vec<usize> {
    let motion = &world.bodies().motion;
    let moves = |i: &usize| motion[*i] != MovedBy::Static;
    (0..motion.len()).filter(moves).collect()
}

fn heads(world: &World, dt: f64) -> [Vec<u8>; 2] {
    let names = &world.bodies().name;
    let moving = moving(world);
    let mut poses = b"DELASSUS\x01\0\0\0".to_vec();
    whole(&mut poses, moving.len());
    numbers(&mut poses, &[dt]);
    moving.iter().for_each(|&i| name(&mut poses, &names[i]));
    let mut acting = b"DELASSUD\x01\0\0\0".to_vec();
    whole(&mut acting, names.len());
    names.iter().for_each(|text| name(&mut acting, text));
    whole(&mut acting, moving.len());
    moving.iter().for_each(|&i| whole(&mut acting, i));
    whole(&mut acting, world.joints().len());
    for joint in world.joints() {
        name(&mut acting, &joint.name);
    }
    whole(&mut acting, world.robots().len());
    for robot in world.robots() {
        name(&mut acting, robot.name());
        whole(&mut acting, robot.configuration().len());
        whole(&mut acting, robot.velocity().len());
        whole(&mut acting, robot.joints().len());
        for joint in robot.joints() {
            name(&mut acting, &joint.name);
            let link = &robot.tree().links()[joint.link.index()];
            let coordinates = link.joint.coordinates();
            for n in [joint.coordinate(), coordinates, joint.dof(), joint.dofs()] {
                whole(&mut acting, n);
            }
        }
    }
    [poses, acting]
}

fn frame(world: &World, [poses, acting]: &mut [Vec<u8>; 2]) {
    let bodies = world.bodies();
    let mut bytes = Vec::new();
    numbers(poses, &[world.time()]);
    numbers(&mut bytes, &[world.time()]);
    for i in moving(world) {
        let (x, q) = (bodies.position[i], bodies.orientation[i]);
        numbers(poses, &[x.x, x.y, x.z, q.w, q.x, q.y, q.z]);
        numbers(&mut bytes, &bodies.velocity[i].to_array());
        numbers(&mut bytes, &bodies.spin[i].to_array());
    }
    for j in 0..world.joints().len() {
        let reaction = world.reaction(delassus::JointId(j as u32));
        numbers(&mut bytes, &reaction.force.to_array());
        numbers(&mut bytes, &reaction.torque.to_array());
    }
    for (r, robot) in world.robots().iter().enumerate() {
        numbers(&mut bytes, robot.configuration());
        numbers(&mut bytes, robot.velocity());
        let dofs = robot.velocity().len();
        let mut drive = vec![0.0; dofs];
        for (i, joint) in robot.joints().iter().enumerate() {
            for (k, effort) in world.efforts(RobotId(r as u32), i).iter().enumerate() {
                drive[joint.dof() + k] = effort.drive;
            }
        }
        numbers(&mut bytes, &drive);
        numbers(&mut bytes, &vec![0.0; 2 * dofs]);
    }
    let h = world.last_substep();
    whole(&mut bytes, world.touches().len());
    for touch in world.touches() {
        whole(&mut bytes, touch.point.bodies.0);
        whole(&mut bytes, touch.point.bodies.1);
        let point = 0.5 * (touch.point.point_a + touch.point.point_b);
        for vector in [point, touch.point.normal, touch.force(h)] {
            numbers(&mut bytes, &vector.to_array());
        }
        numbers(&mut bytes, &[touch.point.gap]);
    }
    whole(acting, bytes.len());
    acting.extend(bytes);
}

/// Steps a scene and writes `trajectory.bin` and `dynamics.bin` with a frame for each step; gives the world at the end.
pub(crate) fn record(folder: &Path, scene: Scene, steps: usize) -> World {
    let stop = Stop {
        tolerance: scene.run.tolerance,
        sweeps: scene.run.iterations,
        ..Stop::default()
    };
    let mut solver = from_spec(&scene.run.solver, stop, 0).unwrap();
    let (mut world, dt) = (scene.world, scene.run.dt);
    let mut files = heads(&world, dt);
    frame(&world, &mut files);
    for _ in 0..steps {
        world.step(dt, solver.as_mut()).unwrap();
        frame(&world, &mut files);
    }
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("trajectory.bin"), &files[0]).unwrap();
    std::fs::write(folder.join("dynamics.bin"), &files[1]).unwrap();
    world
}
