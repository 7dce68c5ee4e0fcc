//! Scenes drawn from a seed, as the text of a scene file.

use std::fmt::Write;

use delassus::math::{DVec3, Random};

use super::ground::{Ground, Terrain, Wall};

/// A family of scenes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Shapes of every kind fall on a plane.
    Plane,
    /// The same in a bowl of triangles.
    Mesh,
    /// The same in a height field.
    Field,
    /// Restitution up to 1.
    Bouncy,
    /// Bodies that overlap at the start.
    Overlap,
    /// Densities that differ by up to 10⁴.
    Ratio,
    /// Rings and chains of joints that fall on a plane.
    Loops,
    /// The same with motors, servos and a moving floor: something supplies energy.
    Machines,
    /// Projectiles against walls, the ground and each other, up to 1000 m/s.
    Fast,
}

impl Class {
    /// All of them with their names.
    pub(crate) const ALL: [(&'static str, Class); 9] = [
        ("plane", Class::Plane),
        ("mesh", Class::Mesh),
        ("field", Class::Field),
        ("bouncy", Class::Bouncy),
        ("overlap", Class::Overlap),
        ("ratio", Class::Ratio),
        ("loops", Class::Loops),
        ("machines", Class::Machines),
        ("fast", Class::Fast),
    ];
}

/// A scene file, and what its judge must know beside the states.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(crate) text: String,
    pub(crate) ground: Ground,
    pub(crate) walls: Vec<Wall>,
    /// Whether something supplies energy.
    pub(crate) supplied: bool,
    /// Step \[s\].
    pub(crate) dt: f64,
}

/// Sizes of bodies \[m\].
const SIZES: [f64; 2] = [0.03, 0.3];
/// Distance of bodies that must not overlap: more than twice the largest reach, 0.3·√3 m.
const APART: f64 = 1.1;

fn log(random: &mut Random, low: f64, high: f64) -> f64 {
    (random.range(low.ln(), high.ln())).exp()
}

fn size(random: &mut Random) -> f64 {
    log(random, SIZES[0], SIZES[1])
}

/// Draws one scene to be run for so long.
pub(crate) fn draw(class: Class, random: &mut Random, time: f64) -> Drawn {
    let dt = log(random, 1e-4, 0.1);
    let mut text = format!("[run]\ndt = {dt}\ntime = {time}\n\n[materials.stuff]\n");
    let restitution = match class {
        Class::Bouncy => random.range(0.0, 1.0),
        _ if random.below(4) == 0 => random.range(0.0, 0.5),
        _ => 0.0,
    };
    let friction = random.range(0.0, 1.2);
    let _ = writeln!(text, "friction = {friction}\nrestitution = {restitution}");
    if random.below(4) == 0 {
        let (rolling, spinning) = (random.range(0.0, 0.02), random.range(0.0, 0.02));
        let _ = writeln!(text, "rolling = {rolling}\nspinning = {spinning}");
    }
    let ground = lay(class, random, &mut text);
    let mut drawn = Drawn {
        text,
        ground,
        walls: Vec::new(),
        supplied: class == Class::Machines,
        dt,
    };
    match class {
        Class::Loops | Class::Machines => mechanism(class, random, &mut drawn.text),
        Class::Fast => projectiles(random, &mut drawn),
        _ => pile(class, random, &mut drawn),
    }
    drawn
}

/// The ground: z = 0, or a bowl of hills.
fn lay(class: Class, random: &mut Random, text: &mut String) -> Ground {
    let kind = match class {
        Class::Mesh => 1,
        Class::Field => 2,
        Class::Bouncy | Class::Overlap | Class::Ratio => random.below(3),
        _ => 0,
    };
    *text += "\n[[bodies]]\nname = \"ground\"\nmotion = \"static\"\n[[bodies.shapes]]\nmaterial = \"stuff\"\n";
    if kind == 0 {
        *text += "half-space = {}\n";
        return Ground::Plane;
    }
    let terrain = Terrain::draw(random);
    *text += &match kind {
        1 => terrain.mesh(),
        _ => terrain.height_field(),
    };
    Ground::Terrain(terrain)
}

/// One shape of every kind that may move.
fn shape(random: &mut Random) -> String {
    let r = size(random);
    match random.below(5) {
        0 => format!("sphere = {{ radius = {r} }}"),
        1 => format!(
            "box = {{ half = [{r}, {}, {}] }}",
            size(random),
            size(random)
        ),
        2 => {
            let half = random.range(0.03, 0.2);
            format!(
                "capsule = {{ half-length = {half}, radius = {} }}",
                r.min(0.2)
            )
        }
        3 => format!(
            "cylinder = {{ half-length = {}, radius = {r} }}",
            size(random)
        ),
        _ => {
            let count = 6 + random.below(15);
            let point = |random: &mut Random| {
                let p = random.vector().normalize_or(DVec3::X) * r;
                format!("[{}, {}, {}]", p.x, p.y, p.z)
            };
            let points: Vec<String> = (0..count).map(|_| point(random)).collect();
            format!("hull = {{ points = [{}] }}", points.join(", "))
        }
    }
}

fn triple(v: DVec3) -> String {
    format!("[{}, {}, {}]", v.x, v.y, v.z)
}

/// A body of one drawn shape, or two; its motion is a key or two more.
fn body(random: &mut Random, text: &mut String, name: &str, at: DVec3, motion: &str) {
    let turn = [(); 4].map(|()| random.range(-1.0, 1.0));
    let length = turn.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-3);
    let [w, x, y, z] = turn.map(|x| x / length);
    let place = triple(at);
    let _ = writeln!(
        text,
        "\n[[bodies]]\nname = \"{name}\"\nposition = {place}\nrotation = {{ quaternion = [{w}, {x}, {y}, {z}] }}\n{motion}"
    );
    let one = shape(random);
    let _ = writeln!(text, "[[bodies.shapes]]\nmaterial = \"stuff\"\n{one}");
}

fn pile(class: Class, random: &mut Random, drawn: &mut Drawn) {
    let count = 3 + random.below(18);
    let apart = if class == Class::Overlap { 0.2 } else { APART };
    let floor = drawn.ground.top() + 0.6;
    for i in 0..count {
        let cell = DVec3::new((i % 2) as f64, (i / 2 % 2) as f64, (i / 4) as f64);
        let jitter = random.vector() * 0.02;
        let at = (cell - DVec3::new(0.5, 0.5, 0.0)) * apart + jitter + DVec3::Z * floor;
        let density = match class {
            Class::Ratio => log(random, 10.0, 1e5),
            _ => log(random, 200.0, 5000.0),
        };
        let (v, spin) = (random.vector() * 3.0, random.vector() * 5.0);
        let motion = format!(
            "velocity = {}\nspin = {}\ndensity = {density}",
            triple(v),
            triple(spin)
        );
        body(random, &mut drawn.text, &format!("b{i:02}"), at, &motion);
    }
}

/// Bodies on a circle, each joined to the next, the last to the first or not; motors where they are asked for.
fn mechanism(class: Class, random: &mut Random, text: &mut String) {
    let (count, closed) = (3 + random.below(8), random.below(2) == 0);
    let radius = APART * count as f64 / std::f64::consts::TAU + 0.3;
    // The circle stands upright and clear of the ground.
    let place = |turn: f64| {
        let (sin, cos) = (std::f64::consts::TAU * turn / count as f64).sin_cos();
        DVec3::new(radius * cos, 0.0, radius * (1.2 + sin) + 0.4)
    };
    for i in 0..count {
        let density = log(random, 200.0, 5000.0);
        let motion = format!("spin = {}\ndensity = {density}", triple(random.vector()));
        body(random, text, &format!("b{i:02}"), place(i as f64), &motion);
    }
    let hung = random.below(3) == 0;
    for i in 0..count - usize::from(!closed) {
        let pair = [i, (i + 1) % count].map(|k| format!("b{k:02}"));
        joint(class, random, text, (&pair, place(i as f64 + 0.5)));
    }
    if hung {
        let pair = ["b00".to_owned(), "world".to_owned()];
        joint(class, random, text, (&pair, place(0.0)));
    }
    if class == Class::Machines && random.below(2) == 0 {
        let v = random.range(-2.0, 2.0);
        let _ = writeln!(
            text,
            "\n[[bodies]]\nname = \"belt\"\nmotion = \"kinematic\"\nposition = [0, 0, 0.05]\nvelocity = [{v}, 0, 0]\n\
             [[bodies.shapes]]\nmaterial = \"stuff\"\nbox = {{ half = [30, 1, 0.05] }}"
        );
    }
}

fn joint(
    class: Class,
    random: &mut Random,
    text: &mut String,
    (pair, point): (&[String; 2], DVec3),
) {
    let axis = match random.below(2) {
        0 => DVec3::Y,
        _ => random.vector().normalize_or(DVec3::Y),
    };
    let (at, along) = (triple(point), triple(axis));
    let own = match random.below(6) {
        0 => format!("type = \"ball\"\npoint = {at}"),
        1 => format!("type = \"fixed\"\npoint = {at}"),
        2 => format!("type = \"slider\"\npoint = {at}\naxis = {along}\nlimits = [-0.3, 0.3]"),
        3 => {
            let other = triple(axis.any_orthonormal_vector());
            format!("type = \"universal\"\npoint = {at}\naxes = [{along}, {other}]")
        }
        _ => format!("type = \"hinge\"\npoint = {at}\naxis = {along}"),
    };
    let [a, b] = pair;
    let _ = writeln!(text, "\n[[joints]]\n{own}\nbodies = [\"{a}\", \"{b}\"]");
    let drives = own.contains("hinge") || own.contains("slider");
    if class == Class::Machines && drives {
        let force = log(random, 1.0, 300.0);
        let _ = match random.below(2) {
            0 => writeln!(
                text,
                "motor = {{ speed = {}, max-force = {force} }}",
                random.range(-10.0, 10.0)
            ),
            _ => writeln!(
                text,
                "servo = {{ position = {}, stiffness = {}, damping = {}, max-force = {force} }}",
                random.range(-0.3, 0.3),
                log(random, 1.0, 1e4),
                log(random, 0.01, 100.0)
            ),
        };
    }
}

/// Projectiles towards a wall that stands at x = 3 m, and some straight down.
fn projectiles(random: &mut Random, drawn: &mut Drawn) {
    let wall = Wall::draw(random);
    drawn.text += &wall.text();
    drawn.walls.push(wall);
    let count = 1 + random.below(4);
    for i in 0..count {
        let speed = log(random, 1.0, 1000.0);
        let at = DVec3::new(0.0, 1.2 * (i as f64 - 1.5), 2.0 + random.range(-0.2, 0.2));
        let heading = match random.below(4) {
            0 => DVec3::new(random.range(-0.1, 0.1), random.range(-0.1, 0.1), -1.0),
            _ => DVec3::new(1.0, random.range(-0.1, 0.1), random.range(-0.1, 0.1)),
        };
        let (v, density) = (heading * speed, log(random, 200.0, 5000.0));
        let spin = random.vector() * 20.0;
        let motion = format!(
            "velocity = {}\nspin = {}\ndensity = {density}",
            triple(v),
            triple(spin)
        );
        body(random, &mut drawn.text, &format!("b{i:02}"), at, &motion);
    }
}
