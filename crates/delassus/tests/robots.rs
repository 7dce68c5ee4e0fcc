//! Robots from URDF and MJCF: what is read, what is refused and where, and dynamics of the models beside the checkout.

#![cfg(feature = "robots")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot read its robot must stop there"
)]

#[allow(dead_code, reason = "shared between tests")]
#[path = "common/dense.rs"]
mod dense;
#[allow(dead_code, reason = "shared between tests")]
#[path = "common/trees.rs"]
mod trees;

use delassus::LinkId;
use delassus::math::{DVec3, Random};
use delassus::model::robot::{Base, Loss, Options, RobotFile, parse};
use delassus::solver::exact::kkt::TreeKkt;
use delassus::tree::{Data, KktGiven, LinkPoint, TreeJoint, TreeRows};
use delassus::world::{ClosureKind, Posed, RobotModel};

/// Adds the rows that close the loops of a robot, and says how far each is open.
fn close(robot: &RobotModel, data: &Data, q: &[f64], rows: &mut TreeRows) -> Vec<f64> {
    let (tree, mut gap) = (&robot.tree, Vec::new());
    for closure in &robot.closures {
        let posed = Posed { tree, data, q };
        closure.kind.add_rows(posed, rows, &mut gap).unwrap();
    }
    gap
}

const ARM: &str = r#"<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0 0 0.5" rpy="0 0 1.5707963267948966"/><mass value="2"/>
      <inertia ixx="0.3" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.1"/></inertial>
    <visual><geometry><box size="1 1 1"/></geometry></visual>
  </link>
  <link name="finger">
    <inertial><mass value="0.5"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="2" effort="10" velocity="3"/><dynamics damping="0.4" friction="0.1"/>
  </joint>
  <joint name="slide" type="prismatic">
    <parent link="upper"/><child link="finger"/><origin xyz="0 0 1"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.1" effort="1" velocity="1"/><mimic joint="shoulder" multiplier="0.5" offset="0.1"/>
    <safety_controller k_velocity="1"/>
  </joint>
</robot>"#;

fn read(text: &str) -> RobotFile {
    parse(text, "robot", None, Base::Fixed).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn urdf_gives_joints_inertias_limits_and_mimics() {
    let RobotFile {
        robot, warnings, ..
    } = read(ARM);
    let tree = &robot.tree;
    assert_eq!(
        (robot.name.as_str(), tree.n_dofs(), tree.mass()),
        ("arm", 2, 2.5)
    );
    let upper = &tree.links()[1];
    assert_eq!(upper.joint, TreeJoint::Revolute { axis: DVec3::Y });
    // The inertial frame is turned by a quarter about z: x and y change places.
    assert!((upper.body.inertia.x_axis.x - 0.2).abs() < 1e-12);
    assert!((upper.body.inertia.y_axis.y - 0.3).abs() < 1e-12);
    assert_eq!(
        (upper.damping, upper.body.com),
        (0.4, DVec3::new(0.0, 0.0, 0.5))
    );
    let shoulder = &robot.joints[0];
    assert_eq!(
        (shoulder.range, shoulder.effort),
        (Some([-1.0, 2.0]), Some(10.0))
    );
    assert_eq!((shoulder.speed, shoulder.friction), (Some(3.0), 0.1));
    let ClosureKind::Joint {
        dependent,
        on,
        coefficients,
    } = robot.closures[0].kind
    else {
        panic!("{:?}", robot.closures);
    };
    assert_eq!((dependent, on), (LinkId(2), Some(LinkId(1))));
    assert_eq!(coefficients[..2], [0.1, 0.5]);
    let texts: Vec<&str> = warnings.iter().map(|w| w.text.as_str()).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].starts_with("<visual>") && texts[1].starts_with("<safety_controller>"));
    assert_eq!(warnings[0].line, 6);
    let floating = parse(ARM, "robot", None, Base::Floating).unwrap();
    assert_eq!(floating.robot.tree.n_dofs(), 8);
}

#[test]
fn broken_urdf_is_refused_with_line_and_element() {
    let cases = [
        (
            "<parent link=\"upper\"/>",
            "<parent link=\"finger\"/>",
            8,
            "finger",
            "carried by itself",
        ),
        (
            "<parent link=\"upper\"/>",
            "<parent link=\"hand\"/>",
            15,
            "slide",
            "\"hand\", does not exist",
        ),
        (
            "<child link=\"finger\"/>",
            "<child link=\"upper\"/>",
            15,
            "slide",
            "already hangs on the joint of line 11",
        ),
        (
            "<mass value=\"2\"/>",
            "<mass value=\"-2\"/>",
            4,
            "mass",
            "mass of link \"upper\" is -2",
        ),
        (
            "<mass value=\"2\"/>",
            "<mass value=\"NaN\"/>",
            4,
            "mass",
            "finite",
        ),
        ("ixx=\"0.3\"", "ixx=\"x\"", 5, "inertia", "ixx=\"x\""),
        (
            "type=\"prismatic\"",
            "type=\"rubber\"",
            15,
            "slide",
            "\"rubber\" is not known",
        ),
        (
            "<axis xyz=\"1 0 0\"/>",
            "<axis xyz=\"0 0 0\"/>",
            15,
            "slide",
            "axis is zero",
        ),
        (
            "<axis xyz=\"1 0 0\"/>",
            "<axis xyz=\"1 0\"/>",
            16,
            "axis",
            "3 finite numbers",
        ),
        (
            "<link name=\"finger\">",
            "<link name=\"upper\">",
            8,
            "upper",
            "another link",
        ),
        (
            "mimic joint=\"shoulder\"",
            "mimic joint=\"slide\"",
            17,
            "mimic",
            "itself",
        ),
        (
            "<joint name=\"slide\"",
            "<joint name=\"shoulder\"",
            15,
            "shoulder",
            "another joint",
        ),
        ("</robot>", "", 21, "XML", ""),
        ("<robot name=\"arm\">", "<tobor>", 1, "XML", ""),
    ];
    for (from, to, line, element, clue) in cases {
        let text = ARM.replacen(from, to, 1);
        assert_ne!(text, ARM, "{from}");
        let error = parse(&text, "arm.urdf", None, Base::Fixed).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("arm.urdf:"), "{message}");
        if element != "XML" {
            assert_eq!(error.line, line, "{message}");
        }
        assert!(error.element.contains(element), "{message} ({element})");
        assert!(message.contains(clue), "{message} ({clue})");
    }
    let mesh = ARM.replace(
        "<visual><geometry><box size=\"1 1 1\"/></geometry></visual>",
        "<collision><geometry><mesh filename=\"gone.stl\"/></geometry></collision>",
    );
    let folder = std::env::temp_dir();
    let left = parse(&mesh, "arm.urdf", Some(&folder), Base::Fixed).unwrap();
    let said = left.warnings.iter().find(|w| w.text.contains("gone.stl"));
    assert!(said.is_some_and(|w| w.line == 6), "{:?}", left.warnings);
}

/// Dummies of files in the wild: an inertia that no body has, links without mass on joints, a leader that is fixed.
#[test]
fn urdf_with_impossible_inertia_or_massless_links_is_mended_and_says_so() {
    let text = ARM.replacen("ixx=\"0.3\"", "ixx=\"0.9\"", 1);
    assert_ne!(text, ARM);
    let RobotFile {
        robot, warnings, ..
    } = read(&text);
    let said = |clue: &str| warnings.iter().filter(|w| w.text.contains(clue)).count();
    assert_eq!(said("triangle inequality"), 1, "{warnings:?}");
    assert_eq!(robot.tree.n_dofs(), read(ARM).robot.tree.n_dofs());
    let alone = read(&ARM.replace("mimic joint=\"shoulder\"", "mimic joint=\"elbow\""));
    assert_eq!(alone.robot.closures, []);
    assert!(
        alone
            .warnings
            .iter()
            .any(|w| w.text.contains("\"elbow\", which does not exist"))
    );
    let dummy = r#"<link name="tip"/><link name="tip2"/>
        <joint name="t" type="continuous"><parent link="finger"/><child link="tip"/></joint>
        <joint name="u" type="prismatic"><parent link="tip"/><child link="tip2"/><mimic joint="t"/></joint>
        <joint name="v" type="continuous"><parent link="upper"/><child link="weight"/><mimic joint="t" offset="0.2"/></joint>
        <link name="weight"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link></robot>"#;
    let RobotFile {
        robot, warnings, ..
    } = read(&ARM.replace("</robot>", dummy));
    let said = |clue: &str| warnings.iter().filter(|w| w.text.contains(clue)).count();
    assert_eq!(
        (said("no mass"), said("<mimic> is not used")),
        (2, 1),
        "{warnings:?}"
    );
    assert_eq!(robot.tree.n_dofs(), read(ARM).robot.tree.n_dofs() + 1);
    let ClosureKind::Joint {
        on, coefficients, ..
    } = robot.closures.last().unwrap().kind
    else {
        panic!("a mimic")
    };
    assert_eq!((on, coefficients[0]), (None, 0.2));
}

#[test]
fn entity_bombs_are_refused_at_once() {
    let mut text = String::from("<!DOCTYPE robot [<!ENTITY a0 \"ha\">");
    for i in 1..30 {
        text += &format!("<!ENTITY a{i} \"&a{};&a{};\">", i - 1, i - 1);
    }
    text += "]><robot name=\"&a29;\"/>";
    for file in [text.clone(), text.replace("robot", "mujoco")] {
        let error = parse(&file, "bomb", None, Base::Fixed).unwrap_err();
        assert!(
            error.what.to_string().to_lowercase().contains("dtd"),
            "{error}"
        );
    }
    // Deep nesting neither overflows nor hangs.
    let deep = format!(
        "<robot>{}{}</robot>",
        "<a>".repeat(5000),
        "</a>".repeat(5000)
    );
    assert!(parse(&deep, "deep", None, Base::Fixed).is_err());
}

const CRANK: &str = r#"<mujoco model="crank">
  <compiler angle="degree"/>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="crank" pos="0 0 1">
      <joint name="c" axis="0 1 0" range="-60 120" ref="30" armature="0.01" frictionloss="0.2"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 1 0 0" mass="2"/>
      <body name="rod" pos="1 0 0">
        <joint name="r1" axis="0 1 0" pos="0.1 0 0"/>
        <joint name="r2" axis="0 0 1" pos="0.1 0 0" damping="0.3"/>
        <inertial pos="0.5 0 0" mass="1" diaginertia="0.01 0.02 0.02"/>
      </body>
    </body>
    <body name="ball" pos="3 0 1">
      <freejoint/>
      <geom type="sphere" size="0.1"/>
    </body>
  </worldbody>
  <equality>
    <connect name="pin" body1="rod" body2="ball" anchor="1 0 0"/>
    <weld body1="ball"/>
    <joint joint1="r1" joint2="c" polycoef="0 -2 0 0 0"/>
  </equality>
  <actuator><motor joint="c"/></actuator>
</mujoco>"#;

#[test]
fn mjcf_gives_bodies_stacked_joints_geom_masses_and_equalities() {
    let RobotFile {
        robot, warnings, ..
    } = read(CRANK);
    let tree = &robot.tree;
    assert_eq!((tree.n_dofs(), tree.links().len()), (9, 4));
    let ball = 1000.0 * 4.0 / 3.0 * std::f64::consts::PI * 1e-3;
    assert!((tree.mass() - 3.0 - ball).abs() < 1e-12);
    let joint = |name: &str| robot.joints.iter().find(|j| j.name == name).unwrap();
    let quarter = std::f64::consts::FRAC_PI_2;
    let [lo, hi] = joint("c").range.unwrap();
    assert!((lo + quarter).abs() < 1e-15 && (hi - quarter).abs() < 1e-15);
    assert_eq!((joint("c").friction, tree.links()[0].armature), (0.2, 0.01));
    // Both joints of the rod turn about (0.1, 0, 0) of its body, and its mass is where the file has it.
    let data = tree.data();
    let rod = joint("r2").link;
    let pose = tree.pose(&data, rod).unwrap();
    assert!((pose.position - DVec3::new(1.1, 0.0, 1.0)).length() < 1e-15);
    let com = pose.point(tree.links()[rod.index()].body.com);
    assert!((com - DVec3::new(1.5, 0.0, 1.0)).length() < 1e-15);
    assert_eq!(robot.closures.len(), 3);
    let mut rows = TreeRows::default();
    let gap = close(&robot, &data, &tree.neutral(), &mut rows);
    assert_eq!((rows.len(), gap.len()), (10, 10));
    assert!(gap.iter().all(|gap| gap.abs() < 1e-15), "{gap:?}");
    assert_eq!(warnings, []);
}

#[test]
fn mjcf_actuators_become_servos_and_largest_forces() {
    let actuators = r#"<default><position kp="40" kv="3"/></default>
  <actuator>
    <motor joint="c" gear="5" ctrlrange="-2 1" ctrllimited="true"/>
    <position joint="r1" gear="2" forcerange="-7 7" ctrlrange="0.2 1"/>
    <velocity joint="r2" kv="0.5"/>
    <general joint="r2" gainprm="9" biastype="affine" biasprm="0.6 -6 -1" forcerange="-4 4"/>
    <general joint="c" dyntype="integrator" biastype="none" gainprm="1" ctrlrange="-1 1"/>
  </actuator>"#;
    let text = CRANK.replace("<actuator><motor joint=\"c\"/></actuator>", actuators);
    let RobotFile {
        robot, warnings, ..
    } = read(&text);
    let joint = |name: &str| robot.joints.iter().find(|j| j.name == name).unwrap();
    assert_eq!((joint("c").effort, joint("c").servo), (Some(11.0), None));
    // Length is twice the angle, and the force acts with twice its arm; an input of 0.2 is the nearest to none.
    let servo = joint("r1").servo.unwrap();
    assert!((servo.position - 0.1).abs() < 1e-15, "{servo:?}");
    assert_eq!((servo.stiffness, servo.damping), (160.0, 12.0));
    assert_eq!(servo.max_force, 14.0);
    // One of the two has bounds, so that they stay two.
    let first = joint("r2").servo.unwrap();
    assert_eq!((first.stiffness, first.damping), (6.0, 1.0));
    assert!((first.position - 0.1).abs() < 1e-15, "{first:?}");
    let second = robot.tendons[0].servo.unwrap();
    assert_eq!((second.stiffness, second.damping), (0.0, 0.5));
    assert!(warnings[0].text.contains("second servo"), "{warnings:?}");
    let unbounded = text.replace(" forcerange=\"-4 4\"", "");
    let both = read(&unbounded).robot;
    let both = both.joints.iter().find(|j| j.name == "r2").unwrap().servo;
    let both = both.unwrap();
    assert_eq!((both.stiffness, both.damping), (6.0, 1.5));
    assert!((both.position - 0.1).abs() < 1e-15, "{both:?}");
    let ghost = text.replace("<velocity joint=\"r2\"", "<velocity joint=\"ghost\"");
    let error = parse(&ghost, "crank.xml", None, Base::Fixed).unwrap_err();
    assert!(
        error.to_string().contains("\"ghost\" does not exist"),
        "{error}"
    );
    assert!(error.element.contains("velocity"), "{error}");
}

#[test]
fn broken_mjcf_is_refused_with_line_and_element() {
    let cases = [
        (
            "mass=\"1\" diag",
            "mass=\"-1\" diag",
            11,
            "inertial",
            "mass",
        ),
        (
            "0.01 0.02 0.02",
            "0.01 0.02 0.05",
            8,
            "rod",
            "triangle inequality",
        ),
        (
            "body2=\"ball\"",
            "body2=\"ghost\"",
            20,
            "pin",
            "\"ghost\" does not exist",
        ),
        ("joint2=\"c\"", "joint2=\"ghost\"", 22, "joint", "\"ghost\""),
        ("size=\"0.1\"", "size=\"x\"", 16, "geom", ""),
        (
            "axis=\"0 1 0\" range",
            "axis=\"0 0 0\" range",
            6,
            "joint",
            "axis is zero",
        ),
    ];
    for (from, to, line, element, clue) in cases {
        let text = CRANK.replacen(from, to, 1);
        assert_ne!(text, CRANK, "{from}");
        let error = parse(&text, "crank.xml", None, Base::Fixed).unwrap_err();
        let message = error.to_string();
        assert!(message.contains(clue), "{message} ({clue})");
        assert!(error.element.contains(element), "{message} ({element})");
        assert_eq!(error.line, line, "{message}");
    }
}

/// One of the models has an actuator that is not simulated.
fn lossy(base: Base) -> Options {
    Options {
        base,
        loss: Loss::Allow,
    }
}

#[test]
fn published_models_are_read_and_their_loops_solved_like_a_dense_system() {
    let folder = trees::data_folder().join("models");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: there are no models beside this checkout");
        return;
    };
    let mut random = Random::new(41);
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let base = if name.contains("humanoid") {
            Base::Floating
        } else {
            Base::Fixed
        };
        let RobotFile {
            robot, warnings, ..
        } = parse(&text, name, None, lossy(base)).unwrap_or_else(|error| panic!("{error}"));
        let tree = &robot.tree;
        eprintln!(
            "{name}: {} links, {} dofs, {:.3} kg, {} closures, {} warnings",
            tree.links().len(),
            tree.n_dofs(),
            tree.mass(),
            robot.closures.len(),
            warnings.len()
        );
        if tree.mass() == 0.0 {
            continue;
        }
        let n = tree.n_dofs();
        let q = trees::random_configuration(&mut random, tree);
        let (mut data, mut mass) = (tree.data(), vec![0.0; n * n]);
        tree.mass_matrix(&mut data, &q, &mut mass).unwrap();
        let mut rows = TreeRows::default();
        close(&robot, &data, &q, &mut rows);
        let last = LinkId(tree.links().len() as u32 - 1);
        for axis in DVec3::AXES {
            rows.start();
            tree.add_linear(&data, &mut rows, LinkPoint::new(last, DVec3::ONE), axis)
                .unwrap();
        }
        let m = rows.len();
        let y1 = trees::random_vector(&mut random, n);
        let y2 = trees::random_vector(&mut random, m);
        // A touch of compliance makes redundant rows harmless for the dense side too.
        let sigma = vec![1e-3; m];
        let mut kkt = TreeKkt::default();
        let given = KktGiven {
            y1: &y1,
            y2: &y2,
            sigma: &sigma,
        };
        let (x1, x2) = trees::kkt_answer(&mut kkt, tree, &mut data, &rows, given);
        let j = tree.rows_matrix(&data, &rows);
        let mut h = dense::zeros(n + m, n + m);
        for a in 0..n {
            h[a][..n].copy_from_slice(&mass[a * n..(a + 1) * n]);
            for r in 0..m {
                h[a][n + r] = j[r * n + a];
                h[n + r][a] = j[r * n + a];
            }
        }
        (0..m).for_each(|r| h[n + r][n + r] = -sigma[r]);
        let y: Vec<f64> = y1.iter().chain(&y2).copied().collect();
        let x = dense::solve(&h, &y);
        let scale = x.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
        for (i, (a, b)) in x1.iter().chain(&x2).zip(&x).enumerate() {
            assert!((a - b).abs() < 1e-9 * scale, "{name}[{i}]: {a} {b}");
        }
    }
}

#[test]
fn mangled_files_are_read_or_refused_but_never_panic() {
    let mut random = Random::new(61);
    let words = [
        "\"",
        "<",
        ">",
        "/>",
        "NaN",
        "-1",
        "1e308",
        "inf",
        "",
        "<body>",
        "</body>",
        "<joint/>",
        "&lt;",
        "é",
        "<equality><joint joint1=\"c\"/></equality>",
        "<include file=\"x\"/>",
        "name=\"rod\"",
        " quat=\"0 0 0 0\"",
        " axis=\"0 0 0\"",
        "<freejoint/>",
        " type=\"free\"",
        " type=\"ball\"",
        "<frame pos=\"1 2 3\">",
        "</frame>",
        " pos=\"1\"",
        " class=\"x\"",
        " range=\"1\"",
        " fromto=\"0 0 0 0 0 0\"",
        " size=\"-1 -1 -1\"",
        " mass=\"0\"",
    ];
    let mut read = 0;
    for text in [ARM, CRANK] {
        for _ in 0..4000 {
            let mut text = text.to_owned();
            for _ in 0..1 + random.below(3) {
                let mut at = random.below(text.len());
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                match random.below(3) {
                    0 => text.truncate(at.max(1)),
                    1 => text.insert_str(at, words[random.below(words.len())]),
                    _ => {
                        let mut end = (at + random.below(12)).min(text.len());
                        while !text.is_char_boundary(end) {
                            end += 1;
                        }
                        text.replace_range(at..end, words[random.below(words.len())]);
                    }
                }
            }
            let base = if random.below(2) == 0 {
                Base::Fixed
            } else {
                Base::Floating
            };
            let Ok(RobotFile { robot, .. }) = parse(&text, "mangled", None, base) else {
                continue;
            };
            read += 1;
            let tree = &robot.tree;
            let (n, q) = (tree.n_dofs(), tree.neutral());
            let (mut data, mut rows) = (tree.data(), TreeRows::default());
            let zeros = vec![0.0; n];
            let mut a = zeros.clone();
            let done = tree.forward_dynamics(&mut data, (&q, &zeros, &zeros), DVec3::Z, &mut a);
            assert!(done.is_err() || a.iter().all(|a| !a.is_nan()), "{text}");
            close(&robot, &data, &q, &mut rows);
        }
    }
    assert!(100 < read, "{read}");
}
