//! What a page can do with robots and runs: joints, actuators, keyframes, the past, files, recordings with forces.

#![allow(clippy::unwrap_used)]

mod client;
mod tape;

use client::{Page, event, frame, frame_of, open, paused, send, serve};
use delassus::scenes;
use delassus_view::{Options, Recording, Server, Show, Start};
use serde_json::json;

#[test]
fn recordings_show_velocities_joints_and_forces() {
    let folder = std::env::temp_dir().join(format!("delassus-acting-{}", std::process::id()));
    let world = tape::record(&folder, scenes::build("quadruped").unwrap(), 40);
    let scene = scenes::build("quadruped").unwrap();
    let recording = Recording::open(&folder, "quadruped", scene).unwrap();
    let show = Show::Recording(Box::new(recording));
    let server = Server::start(show, &Options::default()).unwrap();
    let mut page = open(&server);
    let layout = event(&mut page, "scene", |_| true);
    let dials = layout["dials"].as_array().unwrap().len();
    assert_eq!(dials, 8);
    let trunk = world.robots()[0].body(delassus::LinkId(0)).unwrap();
    send(&mut page, &json!({"type": "select", "body": trunk.0}));
    let display = json!({"type": "display", "contacts": true, "colour": "force", "history": false});
    send(&mut page, &display);
    send(&mut page, &json!({"type": "seek", "frame": 40}));
    let (head, numbers) = frame(&mut page, |head| {
        head["step"] == 40 && 0 < head["replay"]["colours"]["count"].as_u64().unwrap()
    });
    let replay = &head["replay"];
    let span = |key: &str| {
        let number = |part: &str| replay[key][part].as_u64().unwrap() as usize;
        &numbers[number("start")..number("start") + number("count")]
    };
    // The joints stand where the world's did, and the servos push as they did.
    let robot = &world.robots()[0];
    let single = robot.joints().iter().enumerate();
    let single: Vec<_> = single.filter(|(_, joint)| joint.dofs() == 1).collect();
    for (shown, (i, joint)) in span("dials").chunks(4).zip(single) {
        let drive = world.efforts(delassus::RobotId(0), i)[0].drive;
        assert_eq!(shown[0], robot.configuration()[joint.coordinate()] as f32);
        assert_eq!(shown[1], robot.velocity()[joint.dof()] as f32);
        assert_eq!(shown[2], drive as f32);
    }
    // Contacts carry about the weight of a robot that has come to stand.
    let lift: f32 = span("arrows").chunks(9).map(|arrow| arrow[5]).sum();
    let exact: f64 = world.touches().iter().map(|touch| touch.impulse[0]).sum();
    let exact = exact / world.last_substep();
    assert!(
        0.0 < exact && (f64::from(lift) - exact).abs() < 0.05 * exact,
        "{lift} {exact}"
    );
    let velocity = world.bodies().velocity[trunk.index()].to_array();
    assert_eq!(replay["selected"]["velocity"], json!(velocity));
    assert!(span("colours").iter().any(|force| 0.0 < *force));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What a killed run left behind, or somebody else changed, is shown as far as it goes.
#[test]
fn a_recording_whose_forces_are_cut_or_changed_is_shown_without_them() {
    let folder = std::env::temp_dir().join(format!("delassus-mangled-{}", std::process::id()));
    tape::record(&folder, scenes::build("four-bar").unwrap(), 3);
    let file = folder.join("dynamics.bin");
    let whole = std::fs::read(&file).unwrap();
    let stride = whole.len() / 24;
    for at in (0..whole.len()).step_by(stride.max(1)) {
        let mut changed = whole.clone();
        changed[at] ^= 0xFF;
        for bytes in [&whole[..at], &changed[..]] {
            std::fs::write(&file, bytes).unwrap();
            let scene = scenes::build("four-bar").unwrap();
            let recording = Recording::open(&folder, "four-bar", scene).unwrap();
            let show = Show::Recording(Box::new(recording));
            let server = Server::start(show, &Options::default()).unwrap();
            let mut page = open(&server);
            let (head, _) = frame(&mut page, |_| true);
            assert!(head["replay"]["poses"]["count"] != 0);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_robot_is_moved_by_its_joints_actuators_and_keyframes() {
    let text = r#"<mujoco><worldbody><body name="arm"><joint name="hinge" axis="0 1 0" range="-60 60"/>
        <geom contype="0" conaffinity="0" type="capsule" size=".05" fromto="0 0 0 .5 0 0"/></body></worldbody>
        <actuator><position joint="hinge" kp="500" kv="50"/></actuator>
        <keyframe><key name="up" qpos="-0.5"/></keyframe></mujoco>"#;
    let base = delassus::model::robot::Base::Fixed;
    let load = move || {
        Ok(delassus::model::scene::of_robot(
            text, "arm.xml", None, base,
        )?)
    };
    let show = Show::Live {
        name: "arm.xml".to_owned(),
        loader: Some(Box::new(load)),
        start: paused(),
    };
    let server = Server::start(show, &Options::default()).unwrap();
    let mut page = open(&server);
    let layout = event(&mut page, "scene", |_| true);
    assert_eq!(layout["dials"][0]["actuator"], "position");
    assert_eq!(layout["keyframes"][0]["name"], "up");
    let position = |page: &mut Page, wanted: f32| {
        frame_of(page, |head, numbers| {
            let at = head["panes"][0]["dials"]["start"].as_u64().unwrap() as usize;
            (numbers[at] - wanted).abs() < 1e-3
        })
    };
    send(
        &mut page,
        &json!({"type": "joint", "dial": 0, "position": 0.25}),
    );
    position(&mut page, 0.25);
    send(&mut page, &json!({"type": "keyframe", "index": 0}));
    position(&mut page, -0.5);
    send(
        &mut page,
        &json!({"type": "joint", "dial": 7, "position": 0.0}),
    );
    let notice = event(&mut page, "notice", |_| true);
    assert!(notice["text"].as_str().unwrap().contains("no such joint"));
    // Stiff enough to hold the arm within a few millirad of what is asked for.
    send(
        &mut page,
        &json!({"type": "actuator", "dial": 0, "value": 0.3}),
    );
    send(&mut page, &json!({"type": "step", "count": 1000}));
    let (head, numbers) = frame(&mut page, |head| 900 < head["step"].as_u64().unwrap());
    let at = head["panes"][0]["dials"]["start"].as_u64().unwrap() as usize;
    assert!(
        (numbers[at] - 0.3).abs() < 0.05 && numbers[at + 3] == 0.3,
        "{}",
        numbers[at]
    );
    // Back to a step that is remembered, and on from there to the same place.
    let last = head["step"].as_u64().unwrap();
    let first = head["past"][0].as_u64().unwrap();
    send(&mut page, &json!({"type": "seek", "frame": first}));
    let (head, _) = frame(&mut page, |head| head["step"] == first);
    assert_eq!(head["past"][1], last);
    send(&mut page, &json!({"type": "step", "count": last - first}));
    let (_, again) = frame(&mut page, |head| head["step"] == last);
    assert_eq!(again[at], numbers[at], "the same bits");
}

#[test]
fn problems_states_and_missed_numbers_are_given_to_who_asks() {
    let server = serve("stack:3", paused());
    let mut page = open(&server);
    send(&mut page, &json!({"type": "step", "count": 100}));
    frame(&mut page, |head| head["step"] == 100);
    send(&mut page, &json!({"type": "samples", "after": 20}));
    let samples = event(&mut page, "samples", |_| true);
    let steps = samples["panes"][0].as_array().unwrap();
    assert_eq!((steps.len(), &steps[0]["step"]), (80, &json!(21)));
    send(&mut page, &json!({"type": "problem", "tag": 7}));
    let file = event(&mut page, "file", |_| true);
    assert_eq!(
        (&file["tag"], &file["name"]),
        (&json!(7), &json!("stack-3-step-000101.json"))
    );
    let text = file["text"].as_str().unwrap();
    let read =
        delassus::problem::file::parse(text.as_bytes(), delassus::problem::file::Format::Json);
    assert!(read.is_ok(), "{:?}", read.err());
    send(&mut page, &json!({"type": "state", "tag": 8}));
    let file = event(&mut page, "file", |_| true);
    let start = Start {
        state: Some(file["text"].as_str().unwrap().to_owned()),
        ..paused()
    };
    let other = serve("stack:3", start);
    let mut page = open(&other);
    let (head, _) = frame(&mut page, |_| true);
    assert_eq!(head["step"], 100);
    let bad = Start {
        state: Some("{}".to_owned()),
        ..paused()
    };
    let show = Show::Live {
        name: "stack:3".to_owned(),
        loader: None,
        start: bad,
    };
    assert!(Server::start(show, &Options::default()).is_err());
}

#[test]
fn what_is_too_large_is_refused_by_its_bodies_and_not_by_its_size() {
    let server = serve("stack:2", paused());
    let mut page = open(&server);
    for name in ["necklaces:1000x40", "necklaces", "pile:20001"] {
        send(&mut page, &json!({"type": "scene", "name": name}));
        let notice = event(&mut page, "notice", |_| true);
        assert!(
            notice["text"].as_str().unwrap().contains("at most 20000"),
            "{name}: {notice}"
        );
    }
}
