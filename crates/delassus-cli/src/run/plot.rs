//! Energy, penetration, residual and iterations against time: four panels over one time axis, as SVG.

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::tally::Point;
use crate::plot::power;
use crate::refusal::PictureError;

const SIZE: (u32, u32) = (860, 1000);
const TITLE: u32 = 36;
/// Room to the right of every panel, for names of lines.
const NAMES: u32 = 96;
/// Residuals below this part of the tolerance are drawn there: they say no more than that all is well.
const FLOOR: f64 = 1e-3;
/// The same where there is no tolerance [m/s].
const SMALLEST: f64 = 1e-16;

const BLUE: RGBColor = RGBColor(0, 114, 178);
const VERMILION: RGBColor = RGBColor(213, 94, 0);
const GREY: RGBColor = RGBColor(110, 110, 110);

/// Where a text stands relative to its point: to the right of it and above.
const ABOVE: Pos = Pos {
    h_pos: HPos::Left,
    v_pos: VPos::Bottom,
};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// One line with its name.
struct Line<'a> {
    name: &'a str,
    colour: RGBColor,
    points: Vec<(f64, f64)>,
}

/// The picture.
pub(super) fn svg(title: &str, tolerance: f64, series: &[Point]) -> Result<String, PictureError> {
    let mut text = String::new();
    draw(&mut text, title, tolerance, series)?;
    Ok(text)
}

fn draw(
    text: &mut String,
    title: &str,
    tolerance: f64,
    series: &[Point],
) -> Result<(), PictureError> {
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (head, body) = root.split_vertically(TITLE);
    let font = ("sans-serif", 18).into_font().color(&BLACK);
    head.draw(&plotters::element::Text::new(
        title.to_owned(),
        (16, 12),
        font,
    ))?;
    let panels = body.split_evenly((4, 1));
    let line = |name, colour, value: fn(&Point) -> f64| Line {
        name,
        colour,
        points: series
            .iter()
            .map(|point| (point.time, value(point)))
            .collect(),
    };
    let energy = [
        line("total", BLACK, |p| p.kinetic + p.potential),
        line("kinetic", VERMILION, |p| p.kinetic),
        line("potential", BLUE, |p| p.potential),
    ];
    linear(&panels[0], "energy [J]", &energy)?;
    let deepest = series.iter().fold(0.0, |m: f64, p| m.max(p.penetration));
    let (unit, depth) = match deepest {
        _ if 1e-3 <= deepest => ("[mm]", line("", BLUE, |p| 1e3 * p.penetration)),
        _ if 1e-6 <= deepest => ("[µm]", line("", BLUE, |p| 1e6 * p.penetration)),
        _ => ("[nm]", line("", BLUE, |p| 1e9 * p.penetration)),
    };
    linear(&panels[1], &format!("penetration {unit}"), &[depth])?;
    let law = line("law residual", BLUE, |p| p.law);
    logarithmic(&panels[2], "law residual [m/s]", &law, tolerance)?;
    let sweeps = [line("iterations", BLUE, |p| p.iterations)];
    linear(&panels[3], "iterations per step", &sweeps)?;
    root.present()
}

/// A panel with an ordinary axis; lines are named where there are several.
fn linear<'a>(area: &Area<'a>, unit: &str, lines: &[Line<'_>]) -> Result<(), PictureError> {
    let values = lines.iter().flat_map(|line| &line.points).map(|p| p.1);
    let values = values.filter(|value| value.is_finite());
    let (low, high) = values.fold((0.0_f64, 0.0_f64), |(a, b), x| (a.min(x), b.max(x)));
    let room = if low < high { 0.06 * (high - low) } else { 1.0 };
    let low = if low < 0.0 { low - room } else { low };
    let times = times(&lines[0].points);
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(NAMES)
        .x_label_area_size(40)
        .y_label_area_size(84)
        .build_cartesian_2d(times.0..times.1, low..high + room)?;
    chart
        .configure_mesh()
        .x_desc("time [s]")
        .y_desc(unit)
        .y_labels(6)
        .y_label_formatter(&|y| short(*y))
        .x_label_formatter(&|x| short(*x))
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(220, 220, 220))
        .label_style(("sans-serif", 13))
        .draw()?;
    for line in lines {
        let style = line.colour.stroke_width(2);
        let points = line.points.iter().filter(|p| p.1.is_finite()).copied();
        chart.draw_series(LineSeries::new(points, style))?;
    }
    if 1 < lines.len() {
        name(area, lines)?;
    }
    Ok(())
}

/// Which line is which, beside the panel: within it a legend would hide lines.
fn name<'a>(area: &Area<'a>, lines: &[Line<'_>]) -> Result<(), PictureError> {
    let (width, _) = area.dim_in_pixel();
    let left = (width - NAMES) as i32 + 8;
    for (i, line) in lines.iter().enumerate() {
        let y = 22 + 18 * i as i32;
        let style = line.colour.stroke_width(2);
        area.draw(&PathElement::new(vec![(left, y), (left + 16, y)], style))?;
        let font = ("sans-serif", 13).into_font().color(&BLACK);
        let words = line.name.to_owned();
        area.draw(&plotters::element::Text::new(
            words,
            (left + 21, y - 7),
            font,
        ))?;
    }
    Ok(())
}

/// A panel with a logarithmic axis and a grey line at the tolerance.
fn logarithmic<'a>(
    area: &Area<'a>,
    unit: &str,
    line: &Line<'_>,
    tolerance: f64,
) -> Result<(), PictureError> {
    let (low, high) = decades(&line.points, tolerance);
    let times = times(&line.points);
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(NAMES)
        .x_label_area_size(40)
        .y_label_area_size(84)
        .build_cartesian_2d(times.0..times.1, (low..high).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("time [s]")
        .y_desc(unit)
        .y_labels(6)
        .y_label_formatter(&|y| power(*y))
        .x_label_formatter(&|x| short(*x))
        .light_line_style(WHITE)
        .bold_line_style(RGBColor(220, 220, 220))
        .label_style(("sans-serif", 13))
        .draw()?;
    if low <= tolerance {
        let target = [(times.0, tolerance), (times.1, tolerance)];
        chart.draw_series(LineSeries::new(target, GREY.stroke_width(1)))?;
        let label = plotters::element::Text::new(
            "tolerance",
            (times.0, 1.1 * tolerance),
            ("sans-serif", 12).into_font().color(&GREY).pos(ABOVE),
        );
        chart.draw_series([label])?;
    }
    let points = line.points.iter().filter(|p| !p.1.is_nan());
    let points = points.map(|p| (p.0, p.1.clamp(low, high)));
    chart.draw_series(LineSeries::new(points, line.colour.stroke_width(2)))?;
    Ok(())
}

/// Whole decades around the residuals and the tolerance, with room for a line at the top.
fn decades(points: &[(f64, f64)], tolerance: f64) -> (f64, f64) {
    let floor = SMALLEST.max(FLOOR * tolerance);
    let values = points.iter().map(|point| point.1).chain([tolerance]);
    let values = values.filter(|x| x.is_finite()).map(|x| x.max(floor));
    let (low, high) = values.fold((1.0_f64, floor), |(a, b), x| (a.min(x), b.max(x)));
    let low = low.log10().floor();
    let high = (3.0 * high).log10().ceil().max(low + 1.0);
    // A hair wider, so that the powers of ten at both ends get their labels.
    (10f64.powf(low - 1e-6), 10f64.powf(high + 1e-6))
}

fn times(points: &[(f64, f64)]) -> (f64, f64) {
    let first = points.first().map_or(0.0, |point| point.0);
    let last = points.last().map_or(1.0, |point| point.0);
    // A run from the start shows its start.
    let first = if first < 0.1 * last { 0.0 } else { first };
    (first, if first < last { last } else { first + 1.0 })
}

/// A label without the digits that rounding leaves behind.
fn short(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || (1e-3..1e5).contains(&size) {
        let text = format!("{x:.4}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        return if text == "-0" { "0" } else { text }.to_owned();
    }
    format!("{x:.1e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_survive_empty_zero_and_infinite_runs() {
        let point = |time: f64, law: f64| Point {
            time,
            kinetic: 0.0,
            potential: -1.0,
            law,
            penetration: 0.0,
            iterations: 3.0,
        };
        let series = [
            point(0.1, 0.0),
            point(0.2, f64::INFINITY),
            point(0.3, f64::NAN),
        ];
        for series in [&series[..0], &series[..1], &series[..]] {
            let svg = svg("<a> & b", 0.0, series).unwrap();
            assert!(svg.contains("penetration [nm]") && svg.contains("time [s]"));
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn labels_are_short() {
        assert_eq!(short(0.300_000_000_1), "0.3");
        assert_eq!(short(-0.0), "0");
        assert_eq!(short(2e-7), "2.0e-7");
    }
}
