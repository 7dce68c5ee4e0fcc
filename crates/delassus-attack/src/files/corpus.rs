//! Good files of every format, from which bad ones are made.

use delassus::math::Random;
use hdf5_pure::FileBuilder;

use crate::draw::Class;

/// A format that the command line or the page reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileFormat {
    /// Problems as JSON.
    Json,
    /// Problems of Siconos, in every one of its formats.
    Siconos,
    /// Problems of FCLIB, as HDF5.
    Fclib,
    /// Scenes as TOML.
    Scene,
    /// Robots, URDF and MJCF.
    Robot,
    /// Meshes and pictures of heights that a robot names.
    Mesh,
    /// Recordings of runs.
    Recording,
    /// States within checkpoints.
    State,
    /// Messages of the live page.
    Message,
}

impl FileFormat {
    /// All of them with their names.
    pub(crate) const ALL: [(&'static str, FileFormat); 9] = [
        ("json", FileFormat::Json),
        ("siconos", FileFormat::Siconos),
        ("fclib", FileFormat::Fclib),
        ("scene", FileFormat::Scene),
        ("robot", FileFormat::Robot),
        ("mesh", FileFormat::Mesh),
        ("recording", FileFormat::Recording),
        ("state", FileFormat::State),
        ("message", FileFormat::Message),
    ];

    /// Good files of this format, each with the ending of its name.
    pub(crate) fn corpus(self) -> Vec<Sample> {
        match self {
            FileFormat::Json => problems(),
            FileFormat::Siconos => SICONOS
                .iter()
                .map(|text| Sample::new("dat", *text))
                .collect(),
            FileFormat::Fclib => fclib(),
            FileFormat::Scene => seeds(&SCENES, "toml"),
            FileFormat::Robot => robots(),
            FileFormat::Mesh => meshes(),
            FileFormat::Recording => recordings(),
            FileFormat::State => vec![Sample::new("json", state())],
            FileFormat::Message => seeds(&MESSAGES, "json"),
        }
    }
}

/// One good file.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// How its name ends.
    pub(crate) ending: &'static str,
    pub(crate) bytes: Vec<u8>,
}

impl Sample {
    fn new(ending: &'static str, bytes: impl Into<Vec<u8>>) -> Sample {
        Sample {
            ending,
            bytes: bytes.into(),
        }
    }
}

macro_rules! seed {
    ($path:literal) => {
        include_str!(concat!("../../seeds/", $path))
    };
}

const PROBLEMS: [&str; 7] = [
    seed!("json_problem/stabilisation.json"),
    seed!("json_problem/problem.json"),
    seed!("json_problem/dual.json"),
    seed!("json_problem/contact.json"),
    seed!("json_problem/rows.json"),
    seed!("json_problem/elliptic.json"),
    seed!("json_problem/joints.json"),
];
const SCENES: [&str; 3] = [
    seed!("scene_toml/incline.toml"),
    seed!("scene_toml/pendulum.toml"),
    seed!("scene_toml/boxes.toml"),
];
const ROBOTS: [&str; 2] = [seed!("robot_xml/arm.urdf"), seed!("robot_xml/crank.xml")];
const MESSAGES: [&str; 9] = [
    seed!("view_message/grab.json"),
    seed!("view_message/scene.json"),
    seed!("view_message/play.json"),
    seed!("view_message/drag.json"),
    seed!("view_message/speed.json"),
    seed!("view_message/solver.json"),
    seed!("view_message/parameters.json"),
    seed!("view_message/select.json"),
    seed!("view_message/display.json"),
];
/// Dense, in blocks, triplets and columns; friction in the plane, local and global; mixed; rolling; between bounds; with
/// a law for each row.
const SICONOS: [&str; 11] = [
    "2\n0\n2\n2\n2\t2\n1 3\n2 4\n-1 -2\n",
    "2\n1\n2\n2\n4\n2\n2\n1 2\n1 2\n3\n4\n0 2 4\n0 1 0 1\n0\n1\n1\n2\n2\n3\n3\n4\n-1 -2\n",
    "2\n2\n2\n2\n1\nCSparse Version 3.1.9, Copyright (c) Timothy A. Davis\ntriplet: 2-by-2, nzmax: 9 nnz: 5\n 0 0 : 1\n 1 0 : 1\n 0 1 : 2\n 1 1 : 4\n 1 0 : 2\n-1 -2\n",
    "2\n2\n2\n2\n2\nCSparse Version 3.1.9, Copyright (c) Timothy A. Davis\n2-by-2, nzmax: 4 nnz: 4, 1-norm: 6\n col 0 : locations 0 to 1\n 0 : 1\n 1 : 3\ncol 1 : locations 2 to 3\n 0 : 2\n 1 : 4\n-1 -2\n",
    "2\n1\n0\n2\n2\n2\t2\n1 0\n0 1\n-1 0\n0.5\n",
    "2 1\n0 2 2 2 2 1 0 0 1\n0 2 2 2 2 1 0 0 1\n-1 0\n0 0\n0.5\n1\n",
    "1\n1\n1\n1\n0 1 2\n0 1\n0\n2\n2\n2\t2\n1 3\n2 4\n-1 -2\n1\n4\n2\n3\n-1\n-2\n",
    "5 1\n0 5 5 5 5\n2 0 0 0 0\n0 2 0 0 0\n0 0 2 0 0\n0 0 0 2 0\n0 0 0 0 2\n-1 0 0 0 1\n0.5\n0.25\n",
    "5 1\n0 1 1 1 1 2\n0 1 5 1 5 1 0 0 0 0\n-1\n0 0 0 0 0\n0.5\n0.25\n",
    "2\n0\n2\n2\n2\t2\n1 3\n2 4\n-1 -2\n-3 -4\n3 4\n",
    "1\n6\n6\n3\n3\n3\n2 3 6\n2 3 6\n4\n3\n0 1 2 3\n0 1 2\n0\n1 0 0 1\n1\n5\n2\n2 0 0 0 2 0 0 0 2\n1 2 3 4 5 6\n2\n0\n4\n0.5\n",
];
/// A scene whose runs are recorded and kept.
pub(crate) const RECORDED: &str = "[[bodies]]\nname = \"ball\"\nposition = [0, 0, 1]\nmass = 1\n[[bodies.shapes]]\n\
    sphere = { radius = 0.1 }\n[[bodies]]\nname = \"box\"\nposition = [1, 0, 1]\nmass = 1\n[[bodies.shapes]]\n\
    box = { half = [0.1, 0.1, 0.1] }\n[[bodies]]\nname = \"ground\"\nmotion = \"static\"\n[[bodies.shapes]]\n\
    half-space = {}\n[[joints]]\ntype = \"ball\"\nbodies = [\"ball\", \"box\"]\npoint = [0.5, 0, 1]\n";

fn seeds(texts: &[&str], ending: &'static str) -> Vec<Sample> {
    texts
        .iter()
        .map(|text| Sample::new(ending, *text))
        .collect()
}

/// The seeds of the fuzzer, and two drawn problems of every class.
fn problems() -> Vec<Sample> {
    let mut all = seeds(&PROBLEMS, "json");
    for (_, class) in Class::ALL {
        for seed in 0..2 {
            let (_, problem) = class.draw(&mut Random::new(seed));
            all.push(Sample::new("json", problem.to_string()));
        }
    }
    all
}

fn robots() -> Vec<Sample> {
    let mut all = seeds(&ROBOTS[..1], "urdf");
    all.extend(seeds(&ROBOTS[1..], "xml"));
    all.push(Sample::new("xml", RICH));
    all
}

/// Defaults, frames, keyframes, tendons, sensors, a height field within the text and every shape.
const RICH: &str = r#"<mujoco model="rich">
  <option timestep="0.005" gravity="0 0 -9.81"/>
  <default><joint damping="0.1"/><geom friction="0.8 0.01 0.001"/><default class="leg"><geom type="capsule" size="0.05"/></default></default>
  <asset><hfield name="hills" nrow="2" ncol="3" size="2 2 0.3 0.1" elevation="0 1 0 1 0 1"/></asset>
  <worldbody>
    <geom type="hfield" hfield="hills"/>
    <frame pos="0 0 1" euler="0 0 30">
      <body name="torso"><freejoint/><geom type="box" size="0.2 0.1 0.1"/><site name="s" pos="0 0 0.1"/>
        <body name="hip" pos="0.2 0 0" childclass="leg"><joint name="h" type="ball"/><geom fromto="0 0 0 0 0 -0.4"/>
          <body name="knee" pos="0 0 -0.4"><joint name="k" axis="0 1 0" range="-90 0" stiffness="2" springref="-0.3"/>
            <geom type="cylinder" size="0.05 0.1"/><geom type="ellipsoid" size="0.1 0.05 0.05"/></body></body>
        <body name="rail" pos="-0.2 0 0" gravcomp="0.5"><joint name="r" type="slide" axis="1 0 0" actuatorgravcomp="true" actuatorfrcrange="-1 2"/><geom type="sphere" size="0.08"/></body>
      </body>
    </frame>
  </worldbody>
  <contact><exclude body1="torso" body2="knee"/></contact>
  <tendon><fixed name="t"><joint joint="k" coef="1"/><joint joint="r" coef="2"/></fixed></tendon>
  <actuator><position joint="k" kp="20" ctrlrange="-1 1"/><motor joint="r" gear="5"/></actuator>
  <keyframe><key name="home" qpos="0 0 1 1 0 0 0 1 0 0 0 0.1 0.2"/></keyframe>
  <sensor><accelerometer name="a" site="s"/><rangefinder site="s" cutoff="2"/><jointpos joint="k"/><framepos objtype="site" objname="s"/></sensor>
</mujoco>"#;

/// A tetrahedron as text and binary, and a picture of two by two heights.
fn meshes() -> Vec<Sample> {
    let corners = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0_f32],
    ];
    let faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3_usize]];
    let mut text = "solid a\n".to_owned();
    let mut binary = vec![0_u8; 80];
    binary.extend(4_u32.to_le_bytes());
    let mut object = String::new();
    for [x, y, z] in corners {
        object += &format!("v {x} {y} {z}\n");
    }
    for face in faces {
        text += "facet normal 0 0 1\nouter loop\n";
        binary.extend([0; 12]);
        for [x, y, z] in face.map(|k| corners[k]) {
            text += &format!("vertex {x} {y} {z}\n");
            binary.extend([x, y, z].map(f32::to_le_bytes).concat());
        }
        text += "endloop\nendfacet\n";
        binary.extend([0; 2]);
        let [a, b, c] = face.map(|k| k + 1);
        object += &format!("f {a} {b} {c}\n");
    }
    let mut packed = Vec::new();
    for count in [4_i32, 0, 0, 4] {
        packed.extend(count.to_le_bytes());
    }
    packed.extend(corners.as_flattened().iter().flat_map(|x| x.to_le_bytes()));
    packed.extend(
        faces
            .as_flattened()
            .iter()
            .flat_map(|k| (*k as u32).to_le_bytes()),
    );
    vec![
        Sample::new("stl", text),
        Sample::new("stl", binary),
        Sample::new("obj", object),
        Sample::new("msh", packed),
        Sample::new("png", PICTURE),
    ]
}

/// Two by two pixels of eight bits, stored without compression; checksums of chunks are not looked at.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x02\0\0\0\x02\x08\0\0\0\0\0\0\0\0\
    \0\0\0\x11IDAT\x78\x01\x01\x06\0\xf9\xff\0\x01\x02\0\x03\xff\x01\x18\x01\x06\0\0\0\0\
    \0\0\0\0IEND\0\0\0\0";

/// A local problem: W, q and μ of one contact in the plane.
fn fclib() -> Vec<Sample> {
    let mut builder = FileBuilder::new();
    let mut root = builder.create_group("fclib_local");
    root.create_dataset("spacedim").with_i32_data(&[2]);
    let mut matrix = root.create_group("W");
    for (name, value) in [("m", 2), ("n", 2), ("nz", -2), ("nzmax", 3)] {
        matrix.create_dataset(name).with_i32_data(&[value]);
    }
    matrix.create_dataset("p").with_i32_data(&[0, 1, 2]);
    matrix.create_dataset("i").with_i32_data(&[0, 1]);
    matrix.create_dataset("x").with_f64_data(&[1.0, 4.0]);
    root.add_group(matrix.finish());
    let mut vectors = root.create_group("vectors");
    vectors.create_dataset("q").with_f64_data(&[-1.0, 0.0]);
    vectors.create_dataset("mu").with_f64_data(&[0.5]);
    root.add_group(vectors.finish());
    builder.add_group(root.finish());
    let made = builder.finish().ok();
    made.into_iter()
        .map(|bytes| Sample::new("hdf5", bytes))
        .collect()
}

/// Three frames of two bodies, and the table beside them.
fn recordings() -> Vec<Sample> {
    let mut bytes = b"DELASSUS".to_vec();
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(2_u32.to_le_bytes());
    bytes.extend(0.01_f64.to_le_bytes());
    for name in ["ball", "box"] {
        bytes.extend((name.len() as u32).to_le_bytes());
        bytes.extend(name.bytes());
    }
    for frame in 0..3 {
        let time = 0.01 * f64::from(frame);
        let pose = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0];
        bytes.extend(
            [time]
                .iter()
                .chain(&pose)
                .chain(&pose)
                .flat_map(|x| x.to_le_bytes()),
        );
    }
    let table = "step,time,status,iterations,law,penetration,violation,kinetic,potential,contacts,collide_ms,\
        assemble_ms,solve_ms,integrate_ms\n1,0.01,solved,3,1e-9,0,0,0.5,19.6,2,0.1,0.1,0.1,0.1\n";
    vec![Sample::new("bin", bytes), Sample::new("csv", table)]
}

/// The state of a scene after some steps.
fn state() -> String {
    let scene = delassus::model::scene::parse(RECORDED);
    let mut scene = scene.expect("the recorded scene is a good one");
    let mut solver = delassus::Auto::default();
    for _ in 0..5 {
        let _ = scene.world.step(0.01, &mut solver);
    }
    serde_json::to_string(&scene.world.state()).expect("states have finite numbers")
}
