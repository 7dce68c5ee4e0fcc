//! One picture of all curves: a line of small plots for every scene.

use std::fmt::Write;

use super::Point;

/// Width and height of a plot, and the room around it, in pixels.
const SIZE: [f64; 2] = [170.0, 60.0];
const ROOM: [f64; 2] = [75.0, 28.0];
/// Room for names on the left.
const LEFT: f64 = 130.0;

/// What is plotted, and whether by its logarithm.
type Column = (&'static str, bool, fn(&Point) -> f64);
const COLUMNS: [Column; 5] = [
    ("energy [J]", false, |point| point.energy),
    ("creep [m]", true, |point| point.creep),
    ("law residual [m/s]", true, |point| point.law),
    ("penetration [m]", true, |point| point.depth),
    ("memory [MB]", false, |point| point.memory),
];
/// The least value on a logarithmic axis.
const LEAST: f64 = 1e-12;

/// Curves of several scenes.
#[derive(Clone, Debug, Default)]
pub(super) struct Curves(Vec<(String, Vec<Point>)>);

impl Curves {
    pub(super) fn add(&mut self, name: &str, points: Vec<Point>) {
        self.0.push((name.to_owned(), points));
    }

    pub(super) fn svg(&self) -> String {
        let width = LEFT + COLUMNS.len() as f64 * (SIZE[0] + ROOM[0]);
        let height = 40.0 + self.0.len() as f64 * (SIZE[1] + ROOM[1]);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             font-family=\"sans-serif\" font-size=\"10\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        for (k, (title, ..)) in COLUMNS.iter().enumerate() {
            let x = LEFT + k as f64 * (SIZE[0] + ROOM[0]);
            let _ = writeln!(
                text,
                "<text x=\"{x}\" y=\"16\" font-weight=\"bold\">{title}</text>"
            );
        }
        for (i, (name, points)) in self.0.iter().enumerate() {
            let y = 30.0 + i as f64 * (SIZE[1] + ROOM[1]);
            let middle = y + 0.5 * SIZE[1];
            let _ = writeln!(
                text,
                "<text x=\"8\" y=\"{middle}\" font-size=\"12\">{name}</text>"
            );
            for (k, column) in COLUMNS.iter().enumerate() {
                let x = LEFT + k as f64 * (SIZE[0] + ROOM[0]);
                plot(&mut text, [x, y], points, column);
            }
        }
        text + "</svg>\n"
    }
}

/// One plot with the range of its values beside it and the time below.
fn plot(text: &mut String, [x, y]: [f64; 2], points: &[Point], (_, log, of): &Column) {
    let [width, height] = SIZE;
    let _ = writeln!(
        text,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"#999\"/>"
    );
    let scale = |value: f64| {
        if *log {
            value.max(LEAST).log10()
        } else {
            value
        }
    };
    let values = points.iter().map(|point| scale(of(point)));
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values.clone() {
        (low, high) = (low.min(value), high.max(value));
    }
    let (Some(last), true) = (points.last(), low.is_finite() && high.is_finite()) else {
        return;
    };
    let span = (high - low).max(1e-12 * high.abs()).max(f64::MIN_POSITIVE);
    let mut path = String::new();
    for (point, value) in points.iter().zip(values) {
        let across = x + width * point.time / last.time.max(f64::MIN_POSITIVE);
        let up = y + height * (1.0 - (value - low) / span);
        let _ = write!(path, "{across:.1},{up:.1} ");
    }
    let _ = writeln!(
        text,
        "<polyline points=\"{path}\" fill=\"none\" stroke=\"#1f5fa8\" stroke-width=\"1\"/>"
    );
    let shown = |value: f64| match log {
        true => format!("{:.1e}", 10_f64.powf(value)),
        false => format!("{value:.4}"),
    };
    let (right, bottom, end) = (x + width + 3.0, y + height, y + height + 11.0);
    let _ = writeln!(
        text,
        "<text x=\"{right}\" y=\"{}\">{}</text>",
        y + 8.0,
        shown(high)
    );
    let _ = writeln!(
        text,
        "<text x=\"{right}\" y=\"{bottom}\">{}</text>",
        shown(low)
    );
    let time = last.time;
    let _ = writeln!(
        text,
        "<text x=\"{}\" y=\"{end}\" text-anchor=\"end\">{time:.0} s</text>",
        x + width
    );
}
