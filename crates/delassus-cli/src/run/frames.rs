//! A contact sheet: some frames of the run from the side, all to one scale, as SVG.

use std::fmt::Write;

use delassus::World;
use delassus::world::MovedBy;
use glam::DVec2;

use super::outline::{Outline, Pose, of_world, side};

/// Frames on a sheet.
const FRAMES: u64 = 8;
const COLUMNS: usize = 4;
/// Beyond so many bodies each is a dot.
const MOST_OUTLINES: usize = 5000;
/// Width of a frame, and bounds of its height, in pixels.
const WIDTH: f64 = 320.0;
const HEIGHTS: (f64, f64) = (140.0, 480.0);
const GAP: f64 = 16.0;
const TITLE: f64 = 40.0;
const LABEL: f64 = 22.0;
/// Colours of Okabe and Ito; bodies take them in turn.
const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
];
const STATIC: &str = "#b4b4b4";
const LINK: &str = "#444444";

/// Poses of all bodies at some moment.
#[derive(Clone, Debug)]
struct Frame {
    time: f64,
    poses: Vec<Pose>,
}

/// The frames kept so far.
#[derive(Clone, Debug)]
pub(super) struct Sheet {
    first: u64,
    last: u64,
    frames: Vec<Frame>,
}

impl Sheet {
    /// A sheet over the steps of a run.
    pub(super) fn new(first: u64, last: u64) -> Sheet {
        Sheet {
            first,
            last,
            frames: Vec::new(),
        }
    }

    /// Keeps the world as it is where the step is one of the sheet's.
    pub(super) fn offer(&mut self, step: u64, world: &World) {
        let (done, all) = (step - self.first, self.last - self.first);
        // The frames are spread evenly: number i is due once i/(FRAMES − 1) of the steps are done.
        let kept = self.frames.len() as u128;
        if kept * u128::from(all) <= u128::from(done) * u128::from(FRAMES - 1) {
            self.keep(world);
        }
    }

    /// Adds the last state, unless it is on the sheet already.
    pub(super) fn close(&mut self, world: &World) {
        let last = self.frames.last().map(|frame| frame.time);
        if last != Some(world.time()) {
            self.keep(world);
        }
    }

    fn keep(&mut self, world: &World) {
        let bodies = world.bodies();
        let positions = bodies.position.iter().copied();
        self.frames.push(Frame {
            time: world.time(),
            poses: positions.zip(bodies.orientation.iter().copied()).collect(),
        });
    }

    /// The picture.
    pub(super) fn svg(&self, title: &str, world: &World) -> String {
        let view = View::around(&self.frames, world);
        let columns = self.frames.len().clamp(1, COLUMNS);
        let rows = self.frames.len().div_ceil(columns);
        let cell = (WIDTH + GAP, view.height + LABEL + GAP);
        let (width, height) = (
            GAP + cell.0 * columns as f64,
            TITLE + cell.1 * rows as f64 + GAP,
        );
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
             <clipPath id=\"frame\"><rect width=\"{WIDTH}\" height=\"{:.1}\"/></clipPath>\n\
             <text x=\"{GAP}\" y=\"26\" font-size=\"18\">{}: x to the right, z up, {:.3} m wide</text>\n",
            view.height,
            escaped(title),
            WIDTH / view.scale,
        );
        for (i, frame) in self.frames.iter().enumerate() {
            let x = GAP + cell.0 * (i % columns) as f64;
            let y = TITLE + cell.1 * (i / columns) as f64;
            let _ = write!(
                svg,
                "<g transform=\"translate({x:.1} {y:.1})\">\n\
                 <text x=\"0\" y=\"14\" font-size=\"14\">t = {:.3} s</text>\n\
                 <g transform=\"translate(0 {LABEL})\"><g clip-path=\"url(#frame)\">\n{}</g>\
                 <rect width=\"{WIDTH}\" height=\"{:.1}\" fill=\"none\" stroke=\"#888888\"/></g></g>\n",
                frame.time,
                view.bodies(frame, world),
                view.height,
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// From metres to pixels, the same in all frames.
struct View {
    low: DVec2,
    scale: f64,
    height: f64,
}

impl View {
    /// Wide enough for every moving body in every frame.
    fn around(frames: &[Frame], world: &World) -> View {
        let moving = |body: usize| world.bodies().motion[body] != MovedBy::Static;
        let bounds = bounds(frames, world, moving).or_else(|| bounds(frames, world, |_| true));
        let (low, high) = bounds.unwrap_or((DVec2::NEG_ONE, DVec2::ONE));
        let size = (high - low).max(DVec2::splat(1e-6));
        let margin = 0.08 * size.max_element();
        let (low, size) = (low - margin, size + 2.0 * margin);
        let scale = (WIDTH / size.x).min(HEIGHTS.1 / size.y);
        let height = (size.y * scale).clamp(HEIGHTS.0, HEIGHTS.1);
        // What is narrower than the frame stands in its middle.
        let spare = WIDTH / scale - size.x;
        let low = DVec2::new(low.x - 0.5 * spare, low.y);
        View { low, scale, height }
    }

    fn pixel(&self, point: DVec2) -> DVec2 {
        let at = (point - self.low) * self.scale;
        DVec2::new(at.x, self.height - at.y)
    }

    /// All bodies of a frame, what is farther away first.
    fn bodies(&self, frame: &Frame, world: &World) -> String {
        let mut svg = String::new();
        let many = MOST_OUTLINES < frame.poses.len();
        let moving = |body: usize| world.bodies().motion[body] != MovedBy::Static;
        let mut drawn: Vec<(bool, f64, usize, Outline)> = of_world(world, &frame.poses)
            .filter(|(body, _)| !many || !moving(*body))
            .map(|(body, outline)| (moving(body), -frame.poses[body].0.y, body, outline))
            .collect();
        drawn.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        for (moves, _, body, outline) in &drawn {
            self.draw(&mut svg, outline, colour(*body, *moves));
        }
        let mut bare = vec![true; frame.poses.len()];
        if !many {
            let colliders = world.colliders().iter();
            colliders.for_each(|collider| bare[collider.body] = false);
        }
        for (body, pose) in frame.poses.iter().enumerate() {
            if bare[body] && moving(body) {
                let at = self.pixel(side(pose.0));
                let colour = colour(body, true);
                let radius = if many { 1.0 } else { 3.0 };
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\" fill=\"{colour}\"/>",
                    at.x, at.y
                );
            }
        }
        svg
    }

    fn draw(&self, svg: &mut String, outline: &Outline, colour: &str) {
        let style = format!("fill=\"{colour}\" fill-opacity=\"0.3\" stroke=\"{colour}\"");
        let list = |points: &[DVec2]| {
            let pairs = points.iter().map(|p| {
                let at = self.pixel(*p);
                format!("{:.2},{:.2}", at.x, at.y)
            });
            pairs.collect::<Vec<String>>().join(" ")
        };
        let _ = match outline {
            Outline::Circle {
                centre,
                radius,
                mark,
            } => {
                let (c, m) = (self.pixel(*centre), self.pixel(*mark));
                let r = radius * self.scale;
                writeln!(
                    svg,
                    "<circle cx=\"{:.2}\" cy=\"{:.2}\" r=\"{r:.2}\" {style}/>\
                     <path d=\"M{:.2} {:.2}L{:.2} {:.2}\" stroke=\"{colour}\"/>",
                    c.x, c.y, c.x, c.y, m.x, m.y
                )
            }
            Outline::Polygon(points) => {
                writeln!(svg, "<polygon points=\"{}\" {style}/>", list(points))
            }
            Outline::Line(points) => writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\"/>",
                list(points)
            ),
            Outline::Link(points) => writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{LINK}\" stroke-width=\"0.8\"/>",
                list(points)
            ),
            Outline::Ground { point, normal } => {
                let points = self.below(*point, *normal);
                writeln!(svg, "<polygon points=\"{}\" {style}/>", list(&points))
            }
        };
    }

    /// The part of the frame, a little enlarged, that lies below the surface of a half-space.
    fn below(&self, point: DVec2, normal: DVec2) -> Vec<DVec2> {
        let size = DVec2::new(WIDTH, self.height) / self.scale;
        let rim = 0.02 * size.max_element();
        let (low, high) = (self.low - rim, self.low + size + rim);
        let corners = [
            low,
            DVec2::new(high.x, low.y),
            high,
            DVec2::new(low.x, high.y),
        ];
        let depth = |p: DVec2| (p - point).dot(normal);
        let mut kept = Vec::new();
        for i in 0..4 {
            let (a, b) = (corners[i], corners[(i + 1) % 4]);
            let (da, db) = (depth(a), depth(b));
            if da <= 0.0 {
                kept.push(a);
            }
            if (da <= 0.0) != (db <= 0.0) {
                kept.push(a + (b - a) * (da / (da - db)));
            }
        }
        kept
    }
}

/// The box around some bodies in all frames; bodies without shapes count by their centres.
fn bounds(
    frames: &[Frame],
    world: &World,
    wanted: impl Fn(usize) -> bool,
) -> Option<(DVec2, DVec2)> {
    let mut found: Option<(DVec2, DVec2)> = None;
    let mut add = |low: DVec2, high: DVec2| {
        if low.is_finite() && high.is_finite() {
            found = Some(found.map_or((low, high), |(a, b)| (a.min(low), b.max(high))));
        }
    };
    for frame in frames {
        for (_, pose) in (0..).zip(&frame.poses).filter(|(body, _)| wanted(*body)) {
            add(side(pose.0), side(pose.0));
        }
        let outlines = of_world(world, &frame.poses).filter(|(body, _)| wanted(*body));
        for (low, high) in outlines.filter_map(|(_, outline)| outline.bounds()) {
            add(low, high);
        }
    }
    found
}

fn colour(body: usize, moves: bool) -> &'static str {
    if moves {
        COLOURS[body % COLOURS.len()]
    } else {
        STATIC
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
