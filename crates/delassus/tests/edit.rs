//! Bodies and joints that come and go while a world runs.
#![cfg(feature = "world")]

use delassus::collide::Shape;
use delassus::math::{DQuat, DVec3};
use delassus::world::{
    Attach, Batch, Body, ContactChange, Filter, Integrator, Joint, JointAxis, JointKind, MovedBy,
    Ray, Sleep, State, WorldError,
};
use delassus::{Auto, BodyId, Direct, JointId, Solver, Stop, World, WorldBuilder, scenes};

/// Steps take 10 ms.
const H: f64 = 0.01;

fn steps(world: &mut World, count: usize, solver: &mut dyn Solver) {
    for _ in 0..count {
        let step = world.step(H, solver).expect("the world can be stepped");
        assert_eq!(step.unsolved, 0);
    }
}

fn cube() -> Shape {
    Shape::Box { half: [0.5; 3] }
}

/// A pile of boxes of 1 m on the ground, one on top of the other.
fn pile(count: u32) -> (World, Vec<BodyId>) {
    let mut builder = WorldBuilder::default();
    builder.add_ground().expect("the world is empty");
    let ids = (0..count).map(|i| {
        let body = Body::at(&format!("box {i}"), DVec3::Z * (0.5 + f64::from(i)));
        let added = builder.add_solid(cube(), 100.0, body, Attach::default());
        added.expect("a box has a mass")
    });
    let ids = ids.collect();
    (builder.build().expect("boxes make a world"), ids)
}

/// Chains of ball joints along x, hung up at one end.
fn chains(count: u32, length: u32, skip: Option<u32>) -> World {
    let mut builder = WorldBuilder::default();
    for c in 0..count {
        let mut last = None;
        for l in 0..length {
            let at = DVec3::new(f64::from(l) + 0.5, f64::from(3 * c), 0.0);
            let body = builder.add_body(Body::at("", at)).expect("a bead");
            let axis = JointAxis::new(at - DVec3::X * 0.5, DVec3::Z);
            let joint = Joint::at(builder.bodies(), [Some(body), last], axis, JointKind::Ball);
            if skip != Some(c * length + l) {
                builder.add_joint(joint).expect("a joint");
            }
            last = Some(body);
        }
    }
    builder.build().expect("chains make a world")
}

#[test]
fn an_id_of_what_is_gone_says_so_and_the_others_stay() {
    let (mut world, ids) = pile(3);
    let first = world.remove_body(ids[0]).expect("it is there");
    assert_eq!(first.name, "box 0");
    assert!(!world.has_body(ids[0]) && world.has_body(ids[1]));
    assert_eq!(world.bodies().motion[ids[0].index()], MovedBy::Gone);
    let again = world.remove_body(ids[0]).expect_err("it is gone");
    assert!(matches!(&again, WorldError::BodyGone { name, .. } if name == "box 0"));
    assert!(again.to_string().contains("was taken away"), "{again}");
    let never = world.remove_body(BodyId(99)).expect_err("it never was");
    assert!(matches!(never, WorldError::NoBody { count: 4, .. }));
    assert_eq!(world.find_body("box 0"), None);
    assert_eq!(world.find_body("box 2"), Some(ids[2]));
    // A name is free again; the id is not.
    let body = Body::at("box 0", DVec3::Z * 9.0);
    let new = world.add_solid(cube(), 1.0, body, Attach::default());
    let new = new.expect("the name is free");
    assert!(new != ids[0] && world.find_body("box 0") == Some(new));
    let taken = world.add_body(Body::at("box 2", DVec3::ZERO));
    assert!(matches!(taken, Err(WorldError::Body { .. })));
    let on_nothing = world.add_collider(ids[0], cube(), Attach::default());
    assert!(matches!(on_nothing, Err(WorldError::UnknownBody { .. })));
}

#[test]
fn a_joint_goes_with_its_body_and_says_so() {
    let mut world = chains(1, 3, None);
    let named = world.joints()[1].name.clone();
    assert_eq!(world.find_joint(&named), Some(JointId(1)));
    world.remove_body(BodyId(1)).expect("it is there");
    assert!(world.has_joint(JointId(0)));
    for joint in [JointId(1), JointId(2)] {
        assert!(!world.has_joint(joint) && world.joint_mut(joint).is_none());
        let error = world.remove_joint(joint).expect_err("it is gone");
        assert!(matches!(error, WorldError::JointGone { .. }), "{error}");
    }
    assert_eq!(world.find_joint(&named), None);
    steps(&mut world, 10, &mut Direct::default());
    assert!(world.joint_impulse(JointId(1)).is_empty());
    assert_eq!(world.reaction(JointId(1)).force, DVec3::ZERO);
    // The last bead falls freely: ½ g t² and the half step of symplectic Euler.
    let fall = 0.5 * 9.81 * H * H * (10.0 * 11.0);
    assert!((world.bodies().position[2].z + fall).abs() < 1e-12);
}

#[test]
fn a_refused_shape_leaves_no_body_behind() {
    let (mut world, _) = pile(1);
    let count = world.bodies().len();
    let bad = Shape::Sphere { radius: -1.0 };
    let refused = world.add_solid(bad, 1.0, Body::at("bad", DVec3::ZERO), Attach::default());
    assert!(refused.is_err());
    let bad = Attach {
        position: DVec3::new(f64::NAN, 0.0, 0.0),
        ..Attach::default()
    };
    let refused = world.add_solid(cube(), 1.0, Body::at("bad", DVec3::Z * 5.0), bad);
    assert!(refused.is_err());
    assert_eq!(world.bodies().len(), count);
    steps(&mut world, 5, &mut Auto::default());
}

#[test]
fn boxes_fall_when_the_one_below_is_taken_away() {
    let (mut world, ids) = pile(3);
    steps(&mut world, 50, &mut Auto::default());
    world.remove_body(ids[0]).expect("it is there");
    assert!(world.touches().iter().all(|t| t.bodies().0 != ids[0]));
    steps(&mut world, 300, &mut Auto::default());
    for (place, id) in ids[1..].iter().enumerate() {
        let z = world.bodies().position[id.index()].z;
        assert!((z - 0.5 - place as f64).abs() < 1e-2, "{z}");
    }
}

#[test]
fn sleepers_wake_when_their_support_is_taken_away_or_something_is_put_on_them() {
    let (mut world, ids) = pile(3);
    world.settings.sleep = Some(Sleep::default());
    steps(&mut world, 200, &mut Auto::default());
    let asleep = |world: &World, id: BodyId| world.bodies().asleep[id.index()];
    assert!(ids.iter().all(|id| asleep(&world, *id)));
    assert!(world.in_contact(ids[0], ids[1]), "asleep on each other");
    assert!(world.contact_events().is_empty());
    world.remove_body(ids[0]).expect("it is there");
    steps(&mut world, 1, &mut Auto::default());
    assert!(!asleep(&world, ids[1]) && !asleep(&world, ids[2]));
    steps(&mut world, 400, &mut Auto::default());
    assert!((world.bodies().position[ids[2].index()].z - 1.5).abs() < 1e-2);
    assert!(asleep(&world, ids[2]), "they rest again");
    let heavy = Body::at("heavy", DVec3::Z * 2.49);
    let heavy = world.add_solid(cube(), 500.0, heavy, Attach::default());
    heavy.expect("a box has a mass");
    assert!(!asleep(&world, ids[2]));
}

#[test]
fn a_cut_chain_moves_as_one_that_was_never_whole_in_lanes_and_out_of_them() {
    for integrator in [Integrator::Spook, Integrator::Rattle] {
        let mut cut = chains(16, 6, None);
        cut.settings.integrator = integrator;
        cut.remove_joint(JointId(15)).expect("it is there");
        let mut never = chains(16, 6, Some(15));
        never.settings.integrator = integrator;
        steps(&mut cut, 40, &mut Direct::default());
        steps(&mut never, 40, &mut Direct::default());
        // The same equations in the same order, up to where rows stand.
        for i in 0..cut.bodies().len() {
            let off = cut.bodies().position[i] - never.bodies().position[i];
            assert!(
                off.length() < 1e-9,
                "{integrator:?}: body {i} is off by {off}"
            );
        }
    }
}

#[test]
fn contacts_begin_and_end_once() {
    let (mut world, ids) = pile(1);
    let ball = Shape::Sphere { radius: 0.1 };
    let body = Body::at("ball", DVec3::new(0.0, 0.0, 1.3));
    let ball = world.add_solid(ball, 100.0, body, Attach::default());
    let ball = ball.expect("a ball has a mass");
    let mut told = Vec::new();
    let mut solver = Auto::default();
    for step in 0..200 {
        if step == 100 {
            world.bodies_mut().velocity[ball.index()] = DVec3::Z * 3.0;
        }
        if step == 120 {
            world.remove_body(ids[0]).expect("it is there");
        }
        steps(&mut world, 1, &mut solver);
        let events = world.contact_events().iter();
        told.extend(events.map(|event| (step, event.change, event.bodies)));
    }
    let of = |a: BodyId, b: BodyId| {
        let both = |e: &&(usize, ContactChange, (BodyId, BodyId))| e.2 == (a, b) || e.2 == (b, a);
        let its = told.iter().filter(both).map(|e| (e.0, e.1));
        its.collect::<Vec<_>>()
    };
    use ContactChange::{Began, Ended};
    let ground = world.find_body("ground").expect("there is ground");
    assert_eq!(of(ground, ids[0]), [(0, Began), (120, Ended)]);
    let [(begin, Began), (100, Ended)] = of(ids[0], ball)[..] else {
        panic!("{told:?}");
    };
    // It falls 0.2 m: √(2 · 0.2/9.81) = 0.202 s.
    assert!((18..=21).contains(&begin), "{begin}");
    assert!(matches!(of(ground, ball)[..], [(_, Began)]), "{told:?}");
    assert!(world.in_contact(ground, ball));
}

#[test]
fn a_state_after_removal_goes_on_with_the_same_bits_in_a_new_world() {
    let (mut world, ids) = pile(4);
    world.settings.sleep = Some(Sleep::default());
    steps(&mut world, 30, &mut Auto::default());
    let whole = world.state();
    world.remove_body(ids[1]).expect("it is there");
    steps(&mut world, 10, &mut Auto::default());
    let text = serde_json::to_string(&world.state()).expect("a state is data");
    let state: State = serde_json::from_str(&text).expect("it was written");
    assert_eq!(state, world.state());
    let (mut other, _) = pile(4);
    other.settings = world.settings;
    other.restore(&state).expect("it is the same scene");
    assert!(!other.has_body(ids[1]));
    let mut solvers = [Auto::default(), Auto::default()];
    for _ in 0..100 {
        steps(&mut world, 1, &mut solvers[0]);
        steps(&mut other, 1, &mut solvers[1]);
        assert_eq!(world.state_hash(), other.state_hash());
        assert_eq!(world.contact_events(), other.contact_events());
    }
    let refused = world.restore(&whole).expect_err("a body is missing");
    assert!(refused.to_string().contains("box 1"), "{refused}");
    assert_eq!(
        world.state_hash(),
        other.state_hash(),
        "nothing has changed"
    );
}

#[test]
fn copies_of_a_batch_lose_their_own_bodies_alone() {
    let (world, ids) = pile(3);
    let mut batch = Batch::new(&world, 3, "auto", Stop::default()).expect("a solver");
    batch.worlds_mut()[1]
        .remove_body(ids[0])
        .expect("it is there");
    let mut alone = world.clone();
    alone.remove_body(ids[0]).expect("it is there");
    let mut solver = Auto::default();
    let mut untouched = world.clone();
    let mut other = Auto::default();
    for _ in 0..60 {
        assert!(batch.step(H, |_, _| {}).iter().all(Result::is_ok));
        steps(&mut alone, 1, &mut solver);
        steps(&mut untouched, 1, &mut other);
    }
    let hash = |i: usize| batch.worlds()[i].state_hash();
    assert_eq!(hash(1), alone.state_hash());
    assert_eq!([hash(0), hash(2)], [untouched.state_hash(); 2]);
    batch.reset(&[1]);
    assert!(batch.worlds()[1].has_body(ids[0]));
}

#[test]
fn the_number_of_threads_changes_nothing_after_removal() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().expect("threads").install(|| {
            let mut world = scenes::build("pile:300").expect("a pile").world;
            let mut solver = Auto::default();
            for step in 0..20 {
                if step % 5 == 4 {
                    let id = BodyId(20 + step as u32);
                    world.remove_body(id).expect("it is there");
                    let body = Body::at("", DVec3::Z * (20.0 + step as f64));
                    let added = world.add_solid(cube(), 100.0, body, Attach::default());
                    added.expect("a box has a mass");
                }
                world.step(H, &mut solver).expect("a step");
            }
            world.state_hash()
        })
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn what_is_gone_is_not_met_by_rays_and_a_link_stays() {
    let (mut world, ids) = pile(2);
    let down = Ray::new(DVec3::Z * 10.0, -DVec3::Z);
    let hit = |world: &World| {
        let hit = world.cast_ray(down, Filter::default()).expect("a ray");
        hit.expect("there is ground").body
    };
    assert_eq!(hit(&world), ids[1]);
    world.remove_body(ids[1]).expect("it is there");
    assert_eq!(hit(&world), ids[0]);
    let overlaps = world.overlaps(cube(), (DVec3::Z * 1.5, DQuat::IDENTITY), Filter::default());
    let bodies: Vec<BodyId> = overlaps.expect("a box").iter().map(|o| o.body).collect();
    assert!(!bodies.contains(&ids[1]));

    let mut world = scenes::build("double-pendulum").expect("a robot").world;
    let link = world.robots()[0].body(delassus::LinkId(0)).expect("a link");
    let name = world.robots()[0].tree().links()[0].name.clone();
    let robot = world
        .find_robot(world.robots()[0].name())
        .expect("it is there");
    assert_eq!(world.find_link(robot, &name), Some(link));
    let refused = world.remove_body(link).expect_err("a robot stays whole");
    assert!(refused.to_string().contains("link of robot"), "{refused}");
}
