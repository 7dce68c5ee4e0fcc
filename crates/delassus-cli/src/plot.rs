//! Residual against time as an SVG picture: one panel per work, one line per solver, one legend.
//!
//! The background is solid white, so that the picture can be read on a dark page too. Colours are those of
//! Okabe and Ito, told apart by colour-blind readers; beyond them the marks on the lines change.

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::refusal::PictureError;

/// Most works drawn into one picture.
pub(crate) const MOST_PANELS: usize = 6;
/// Points kept of a line: more cannot be seen.
const MOST_POINTS: usize = 200;
/// Marks put on each line.
const MARKS: usize = 6;
const PANEL: (u32, u32) = (560, 420);
const LEGEND: u32 = 280;
const LEGEND_LINE: i32 = 22;

/// Black, blue, vermilion, green, purple, orange and sky blue; yellow is too faint on white.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 0, 0),
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];
const GREY: RGBColor = RGBColor(110, 110, 110);

/// One work.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub(crate) title: String,
    /// Law residual to reach [m/s].
    pub(crate) tolerance: f64,
    pub(crate) curves: Vec<Curve>,
}

/// One solver on one work.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    /// Place in the list of solvers: sets colour and mark, the same in all panels.
    pub(crate) solver: usize,
    pub(crate) approximate: bool,
    /// Time \[s\] and law residual [m/s] after each sweep.
    pub(crate) points: Vec<(f64, f64)>,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// The picture.
pub(crate) fn svg(solvers: &[String], panels: &[Panel]) -> Result<String, PictureError> {
    let mut text = String::new();
    draw(&mut text, solvers, panels)?;
    Ok(text)
}

fn draw(text: &mut String, solvers: &[String], panels: &[Panel]) -> Result<(), PictureError> {
    let columns = match panels.len() {
        0 | 1 => 1,
        2..=4 => 2,
        _ => 3,
    };
    let rows = panels.len().div_ceil(columns).max(1);
    let legend_height = LEGEND_LINE as u32 * (entries(solvers, panels).len() as u32 + 3);
    let size = (
        PANEL.0 * columns as u32 + LEGEND,
        (PANEL.1 * rows as u32).max(legend_height),
    );
    let root = SVGBackend::with_string(text, size).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(size.0 - LEGEND);
    for (panel, area) in panels.iter().zip(left.split_evenly((rows, columns))) {
        draw_panel(&area, panel)?;
    }
    draw_legend(&right, solvers, panels)?;
    root.present()
}

fn draw_panel<'a>(area: &Area<'a>, panel: &Panel) -> Result<(), PictureError> {
    let (x, y) = ranges(panel);
    let mut chart = ChartBuilder::on(area)
        .caption(shortened(&panel.title), ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d((x.0..x.1).log_scale(), (y.0..y.1).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("time [s]")
        .y_desc("law residual [m/s]")
        .x_label_formatter(&|x| power(*x))
        .y_label_formatter(&|y| power(*y))
        .x_labels(8)
        .y_labels(10)
        .light_line_style(RGBColor(238, 238, 238))
        .bold_line_style(RGBColor(215, 215, 215))
        .label_style(("sans-serif", 13))
        .draw()?;
    let target = [(x.0, panel.tolerance), (x.1, panel.tolerance)];
    chart.draw_series(LineSeries::new(target, GREY.stroke_width(1)))?;
    for curve in &panel.curves {
        let style = colour(curve.solver).stroke_width(2);
        let points = visible(&curve.points, y);
        if curve.approximate {
            chart.draw_series(DashedLineSeries::new(points.clone(), 6, 4, style))?;
        } else {
            chart.draw_series(LineSeries::new(points.clone(), style))?;
        }
        let step = points.len().div_ceil(MARKS).max(1);
        let marks = points.into_iter().rev().step_by(step);
        let fill = colour(curve.solver).filled();
        match mark(curve.solver) {
            Mark::Disc => chart.draw_series(marks.map(|at| Circle::new(at, 3, fill)))?,
            Mark::Triangle => {
                chart.draw_series(marks.map(|at| TriangleMarker::new(at, 6, fill)))?
            }
            Mark::Cross => chart.draw_series(marks.map(|at| Cross::new(at, 4, style)))?,
        };
    }
    Ok(())
}

/// The solvers that appear in some panel, and whether they are approximate in one.
fn entries(solvers: &[String], panels: &[Panel]) -> Vec<(usize, bool)> {
    let curves = || panels.iter().flat_map(|panel| &panel.curves);
    (0..solvers.len())
        .filter(|&i| curves().any(|curve| curve.solver == i))
        .map(|i| {
            (
                i,
                curves().any(|curve| curve.solver == i && curve.approximate),
            )
        })
        .collect()
}

fn draw_legend<'a>(
    area: &Area<'a>,
    solvers: &[String],
    panels: &[Panel],
) -> Result<(), PictureError> {
    let font = ("sans-serif", 14).into_font().color(&BLACK);
    let mut height = 36;
    let entries = entries(solvers, panels);
    for &(i, approximate) in &entries {
        let style = colour(i).stroke_width(2);
        // Dashes as on the lines themselves.
        let dashes: &[(i32, i32)] = if approximate {
            &[(6, 13), (18, 25), (30, 37)]
        } else {
            &[(6, 37)]
        };
        for &(from, to) in dashes {
            area.draw(&PathElement::new(vec![(from, height), (to, height)], style))?;
        }
        let (at, fill) = ((22, height), colour(i).filled());
        match mark(i) {
            Mark::Disc => area.draw(&Circle::new(at, 3, fill))?,
            Mark::Triangle => area.draw(&TriangleMarker::new(at, 6, fill))?,
            Mark::Cross => area.draw(&Cross::new(at, 4, style))?,
        }
        area.draw(&Text::new(
            solvers[i].clone(),
            (46, height - 6),
            font.clone(),
        ))?;
        height += LEGEND_LINE;
    }
    let grey = GREY.stroke_width(1);
    area.draw(&PathElement::new(vec![(6, height), (37, height)], grey))?;
    area.draw(&Text::new("tolerance", (46, height - 6), font.clone()))?;
    if entries.iter().any(|(_, approximate)| *approximate) {
        let text = "dashed: obeys an approximation of the law";
        area.draw(&Text::new(text, (6, height + LEGEND_LINE - 6), font))?;
    }
    Ok(())
}

pub(crate) fn colour(solver: usize) -> RGBColor {
    COLOURS[solver % COLOURS.len()]
}

/// What stands on a line: tells lines of one colour apart.
enum Mark {
    Disc,
    Triangle,
    Cross,
}

/// Discs for the first round of colours, then triangles, then crosses.
fn mark(solver: usize) -> Mark {
    match solver / COLOURS.len() {
        0 => Mark::Disc,
        1 => Mark::Triangle,
        _ => Mark::Cross,
    }
}

/// Whole decades around everything to be shown.
fn ranges(panel: &Panel) -> ((f64, f64), (f64, f64)) {
    let points = || panel.curves.iter().flat_map(|curve| &curve.points);
    let times = points().map(|point| point.0);
    let laws = points().map(|point| point.1);
    // A residual far below the tolerance, or far above the start, says no more than its sign does.
    let lowest = 1e-3 * panel.tolerance;
    let first = panel.curves.iter().filter_map(|curve| curve.points.first());
    let highest = 1e2 * first.map(|point| point.1).fold(panel.tolerance, f64::max);
    let laws = laws.map(|law| law.clamp(lowest, highest));
    (
        decades(times, 1e-6),
        decades(laws.chain([panel.tolerance]), panel.tolerance),
    )
}

/// The powers of ten that enclose the positive numbers, at least one decade apart.
pub(crate) fn decades(values: impl Iterator<Item = f64>, fallback: f64) -> (f64, f64) {
    let usable = |x: &f64| x.is_finite() && 0.0 < *x;
    let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
    for x in values.filter(usable) {
        low = low.min(x);
        high = high.max(x);
    }
    if high == 0.0 {
        (low, high) = (fallback, fallback);
    }
    let (low, high) = (low.log10().floor(), high.log10().ceil());
    let high = high.max(low + 1.0);
    // A hair wider, so that the powers of ten at both ends get their labels.
    (10f64.powf(low - 1e-6), 10f64.powf(high + 1e-6))
}

/// Points that a logarithmic axis can show, thinned evenly along it. What lies off the axis is
/// drawn at its end.
fn visible(points: &[(f64, f64)], (floor, ceiling): (f64, f64)) -> Vec<(f64, f64)> {
    let mut shown: Vec<(f64, f64)> = Vec::new();
    let usable = |point: &&(f64, f64)| 0.0 < point.0 && point.1.is_finite();
    let (Some(first), Some(last)) = (points.iter().find(usable), points.iter().rev().find(usable))
    else {
        return shown;
    };
    let ratio = (last.0 / first.0).powf(1.0 / MOST_POINTS as f64);
    let mut next = first.0;
    for point in points.iter().filter(usable) {
        if next <= point.0 || point == last {
            shown.push((point.0, point.1.clamp(floor, ceiling)));
            next = point.0 * ratio;
        }
    }
    shown
}

/// `1e-5` where the power of ten is meant and rounding says 9.999e-6.
pub(crate) fn power(x: f64) -> String {
    let exponent = x.log10().round();
    let mantissa = x / 10f64.powf(exponent);
    if (mantissa - 1.0).abs() < 1e-6 {
        format!("1e{exponent}")
    } else {
        format!("{x:.0e}")
    }
}

/// A file's name without its folders, which say nothing to the reader of a picture; the end of it if it is long.
fn shortened(title: &str) -> String {
    let name = title.rsplit(['/', '\\']).next().unwrap_or(title);
    let count = name.chars().count();
    if count <= 60 {
        return name.to_owned();
    }
    let end: String = name.chars().skip(count - 59).collect();
    format!("…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_labels_are_powers_of_ten() {
        assert_eq!(power(9.999_999_999e-6), "1e-5");
        assert_eq!(power(1.0), "1e0");
        assert_eq!(power(2.000_000_1e-5), "2e-5");
    }

    #[test]
    fn pictures_survive_empty_zero_and_infinite_histories() {
        let curve = |points: &[(f64, f64)]| Curve {
            solver: 0,
            approximate: true,
            points: points.to_vec(),
        };
        let panel = Panel {
            title: "<odd> & \"empty\"".to_owned(),
            tolerance: 1e-6,
            curves: vec![
                curve(&[]),
                curve(&[(0.0, 1.0), (1e-5, 0.0)]),
                curve(&[(1e-6, f64::INFINITY), (1e-5, f64::NAN), (2e-5, 3.0)]),
            ],
        };
        let svg = svg(&["a".to_owned()], &[panel]).unwrap();
        assert!(svg.contains("law residual [m/s]") && svg.contains("&lt;odd&gt;"));
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn lines_are_thinned_but_keep_both_ends() {
        let points: Vec<(f64, f64)> = (1..10_000).map(|i| (f64::from(i), 1.0)).collect();
        let shown = visible(&points, (0.1, 10.0));
        assert!(shown.len() <= MOST_POINTS + 2);
        assert_eq!((shown[0].0, shown[shown.len() - 1].0), (1.0, 9999.0));
    }
}
