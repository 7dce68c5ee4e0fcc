//! MJCF files with bytes, attributes and elements changed at random: read or refused, never a panic, never a number that
//! is none. `DELASSUS_RUNS=100000 cargo test --release -p delassus --test mjcf_mangled` tries more of them.

#![cfg(feature = "robots")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests fail by panicking, and say what they skip"
)]

use std::path::Path;

use delassus::math::{DVec3, Random};
use delassus::model::robot::{Base, Loss, Options, parse};
use delassus::model::scene::of_robot;

/// A little of everything that is read.
const ALL: &str = r#"<mujoco model="all"><compiler angle="degree" eulerseq="xyz" boundmass="0.01" boundinertia="1e-6"/>
<option timestep="0.002" gravity="0 0 -9.81"><flag contact="enable"/></option>
<default><joint damping="0.1"/><default class="a"><geom type="capsule" size=".05 .1" euler="0 90 0"/>
<position kp="10" kv="1"/></default></default>
<asset><mesh name="t" vertex="0 0 0 1 0 0 0 2 0 0 0 3" face="0 2 1 0 1 3 0 3 2 1 2 3" scale=".1 .1 .1" inertia="exact"/>
<mesh name="p" vertex="0 0 0 1 0 0 0 2 0 0 0 3 1 1 1"/><hfield name="h" nrow="2" ncol="3" size="1 1 1 .1" elevation="0 1 2 3 4 5"/></asset>
<worldbody><geom name="floor" type="plane" size="1 1 1"/><geom type="hfield" hfield="h" pos="5 0 0"/><site name="w" pos="0 0 2"/>
<replicate count="2" offset="0 1 0" euler="0 0 10"><body name="x" pos="0 0 1"><joint name="j" axis="0 1 0" stiffness="3" range="-40 40"/>
<geom class="a" mass="1"/><site name="s" pos="0 0 .2"/></body></replicate>
<body name="b" pos="2 0 1" childclass="a"><freejoint name="f"/><geom type="mesh" mesh="t"/><geom type="box" mesh="p" fitscale="1.1"/>
<frame pos="0 0 .1" zaxis="1 1 0"><body name="c" gravcomp=".3"><joint name="k" type="ball" range="0 60" frictionloss=".1"/>
<joint name="l" type="slide" springdamper=".1 1" pos=".1 0 0"/><inertial pos="0 0 0" mass="1" fullinertia="1 1 1 .1 .1 .1"/>
<geom name="g" fromto="0 0 0 .1 .2 .3"/></body></frame></body>
<body name="d" pos="3 0 1" xyaxes="0 1 0 -1 0 0"><joint name="m" type="slide" actuatorgravcomp="true" actuatorfrcrange="-1 2"/><geom name="o" size=".1" shellinertia="true"/>
<geom name="y" type="cylinder" size=".1 .2" pos="0 0 .5"/><site name="n" pos="0 0 1"/></body></worldbody>
<contact><pair geom1="g" geom2="floor" condim="4"/><exclude body1="b" body2="d"/></contact>
<tendon><fixed name="u" range="-1 1" stiffness="2"><joint joint="l" coef="1"/><joint joint="m" coef="-2"/></fixed>
<spatial name="v" range="0 3" limited="true" damping="1"><site site="w"/><site site="s"/><pulley divisor="2"/><site site="w"/><site site="s"/></spatial>
<spatial stiffness="2" armature="1"><site site="w"/><geom geom="o" sidesite="n"/><site site="n"/><geom geom="y"/><site site="w"/></spatial></tendon>
<equality><connect body1="b" body2="d" anchor="0 0 1"/><weld body1="d" relpose="0 0 0 1 0 0 0"/><joint joint1="l" joint2="m" polycoef="0 1"/>
<tendon tendon1="u"/></equality>
<actuator><position class="a" joint="j" dampratio="1"/><general joint="m" biastype="affine" biasprm="1 -2 -3" ctrlrange="-1 1"/>
<motor tendon="u" gear="2"/><damper joint="l" kv="2" ctrlrange="0 1"/><velocity joint="m" kv="3" forcerange="-1 1"/>
<position cranksite="n" slidersite="w" cranklength="2" kp="3" dampratio="1"/><position site="n" refsite="w" gear="1 0 0 0 1 0" kp="2"/>
<general site="n" gear="1 2 0 0 0 1" biastype="affine" biasprm="1 0 -1"/><muscle tendon="u" lengthrange="-1 1" force="3" lmin=".4"/></actuator>
<sensor><gyro site="s"/><rangefinder site="n" cutoff="2"/><jointvel joint="m"/><framequat objtype="xbody" objname="d"/><touch site="n"/></sensor>
<keyframe><key name="up" qpos="0 0 2 0 1 1 0 0 0 1 0 0 0 0 0"/></keyframe></mujoco>"#;

/// Odd values that attributes may get.
const VALUES: [&str; 18] = [
    "",
    "0",
    "-1",
    "1e308",
    "-1e308",
    "1e-320",
    "nan",
    "inf",
    "1 2",
    "0 0 0",
    "0 0 0 0",
    "x",
    "true",
    "auto",
    "b",
    "a",
    "1 1 1 1 1 1",
    "99999999999999999999",
];

/// Pieces of XML, and letters of several bytes.
const MARKS: [&str; 10] = [
    "\u{f04}",
    "\u{f04}a:b=\"\"",
    "é:",
    "\u{1f600}",
    ":",
    "</body>",
    "<!--",
    "-->",
    "&",
    "'",
];

fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Positions of the values of attributes, without their quotes.
fn values(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut rest = 0;
    while let Some(open) = text[rest..].find("=\"") {
        let start = rest + open + 2;
        let Some(length) = text[start..].find('"') else {
            break;
        };
        found.push((start, start + length));
        rest = start + length + 1;
    }
    found
}

/// Positions of the names of elements that open.
fn tags(text: &str) -> Vec<(usize, usize)> {
    let opens = text.match_indices('<').map(|(at, _)| at + 1);
    let word = |at: usize| {
        let end = text[at..].find(|c: char| !c.is_ascii_alphanumeric());
        (at, at + end.unwrap_or(0))
    };
    opens.map(word).filter(|(a, b)| a < b).collect()
}

fn pick<T: Copy>(random: &mut Random, list: &[T]) -> Option<T> {
    (!list.is_empty()).then(|| list[random.below(list.len())])
}

fn mangle(random: &mut Random, text: &mut String) {
    let values_of = values(text);
    match random.below(6) {
        // A byte, or letters and marks that the repair of XML looks at.
        0 => {
            let at = boundary(text, random.below(text.len()));
            let end = boundary(text, (at + 1).min(text.len()).max(at));
            let byte = char::from(32 + random.below(95) as u8);
            if random.below(3) == 0 {
                text.insert_str(at, MARKS[random.below(MARKS.len())]);
            } else if at < end {
                text.replace_range(at..end, &byte.to_string());
            }
        }
        // A value.
        1 | 2 => {
            if let Some((a, b)) = pick(random, &values_of) {
                text.replace_range(a..b, VALUES[random.below(VALUES.len())]);
            }
        }
        // A value from elsewhere in the file.
        3 => {
            if let (Some((a, b)), Some((c, d))) =
                (pick(random, &values_of), pick(random, &values_of))
            {
                let other = text[c..d].to_owned();
                text.replace_range(a..b, &other);
            }
        }
        // An attribute goes.
        4 => {
            if let Some((a, b)) = pick(random, &values_of) {
                let start = text[..a].rfind(' ').unwrap_or(a);
                if b < text.len() {
                    text.replace_range(start..b + 1, "");
                }
            }
        }
        // A tag becomes another of the file; where it closes itself the file stays whole.
        _ => {
            let all = tags(text);
            if let (Some((a, b)), Some((c, d))) = (pick(random, &all), pick(random, &all)) {
                let other = text[c..d].to_owned();
                text.replace_range(a..b, &other);
            }
        }
    }
}

#[test]
fn changed_files_are_read_or_refused_but_never_panic() {
    let runs = std::env::var("DELASSUS_RUNS").ok();
    let runs: usize = runs.and_then(|runs| runs.parse().ok()).unwrap_or(3000);
    let mut texts = vec![ALL.to_owned()];
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/models");
    match std::fs::read_dir(&models) {
        Ok(files) => {
            let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
            files.sort();
            texts.extend(
                files
                    .iter()
                    .map(|file| std::fs::read_to_string(file).unwrap()),
            );
        }
        Err(_) => eprintln!("models beside this checkout are skipped: there are none"),
    }
    let (mut random, mut read, mut built) = (Random::new(67), 0, 0);
    let options = Options {
        base: Base::Floating,
        loss: Loss::Allow,
    };
    for run in 0..runs {
        let mut text = texts[run % texts.len()].clone();
        for _ in 0..1 + random.below(4) {
            mangle(&mut random, &mut text);
        }
        let Ok(file) = parse(&text, "changed.xml", None, options) else {
            continue;
        };
        read += 1;
        let tree = &file.robot.tree;
        let (zeros, q, mut data) = (vec![0.0; tree.n_dofs()], tree.neutral(), tree.data());
        let mut a = zeros.clone();
        let done = tree.forward_dynamics(&mut data, (&q, &zeros, &zeros), DVec3::Z, &mut a);
        assert!(done.is_err() || a.iter().all(|a| !a.is_nan()), "{text}");
        if run % 8 == 0 && of_robot(&text, "changed.xml", None, options).is_ok() {
            built += 1;
        }
    }
    eprintln!("{runs} files: {read} read, {built} of every eighth built");
    assert!(runs / 20 < read, "{read}");
}

#[test]
fn the_file_itself_is_read_whole() {
    let file = parse(ALL, "all.xml", None, Base::Fixed).unwrap();
    let robot = &file.robot;
    assert_eq!(
        (
            robot.tree.n_dofs(),
            robot.closures.len(),
            robot.tendons.len()
        ),
        (13, 4, 9)
    );
    assert_eq!(
        (robot.keyframes.len(), robot.pairs.len(), robot.apart.len()),
        (1, 1, 1)
    );
    assert!(robot.joints.iter().filter(|j| j.servo.is_some()).count() >= 3);
    assert!(of_robot(ALL, "all.xml", None, Base::Fixed).is_ok());
}
