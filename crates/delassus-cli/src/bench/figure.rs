//! One quantity against another as an SVG picture, one line or cloud of points per method.

use plotters::prelude::*;

use crate::plot::{colour, decades, power};
use crate::refusal::PictureError;

const SIZE: (u32, u32) = (860, 480);
/// Room to the right for names: within the axes they would hide lines.
const NAMES: u32 = 150;

/// One picture.
pub(crate) struct Figure<'a> {
    pub(crate) title: &'a str,
    /// Meaning of the horizontal axis.
    pub(crate) size: &'a str,
    /// Meaning of the vertical axis.
    pub(crate) value: &'a str,
    pub(crate) series: Vec<Series<'a>>,
    /// Both axes by powers of ten.
    pub(crate) logarithmic: bool,
}

/// One method.
pub(crate) struct Series<'a> {
    pub(crate) name: &'a str,
    /// Sets the colour, the same in all figures.
    pub(crate) index: usize,
    /// Horizontal and vertical.
    pub(crate) points: Vec<(f64, f64)>,
    /// Draws a line through the points.
    pub(crate) joined: bool,
}

impl<'a> Figure<'a> {
    /// Time of a solve against the number of contacts.
    pub(crate) fn of_solves(
        title: &'a str,
        series: Vec<Series<'a>>,
        logarithmic: bool,
    ) -> Figure<'a> {
        Figure {
            title,
            size: "contacts n",
            value: "time per solve [s]",
            series,
            logarithmic,
        }
    }
}

/// The picture as text.
pub(crate) fn svg(figure: &Figure<'_>) -> Result<String, PictureError> {
    let mut text = String::new();
    draw(&mut text, figure)?;
    Ok(text)
}

fn draw(text: &mut String, figure: &Figure<'_>) -> Result<(), PictureError> {
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let points = || figure.series.iter().flat_map(|series| &series.points);
    let mut builder = ChartBuilder::on(&root);
    builder
        .caption(figure.title, ("sans-serif", 18))
        .margin(12)
        .margin_right(NAMES)
        .x_label_area_size(44)
        .y_label_area_size(72);
    // The two kinds of axes have two types, so the drawing is written once as a macro over both.
    macro_rules! chart {
        ($x:expr, $y:expr, $label:expr) => {{
            let mut chart = builder.build_cartesian_2d($x, $y)?;
            chart
                .configure_mesh()
                .x_desc(figure.size)
                .y_desc(figure.value)
                .x_label_formatter(&|x: &f64| format!("{x}"))
                .y_label_formatter(&$label)
                .light_line_style(RGBColor(238, 238, 238))
                .bold_line_style(RGBColor(215, 215, 215))
                .label_style(("sans-serif", 13))
                .draw()?;
            for series in &figure.series {
                let style = colour(series.index).stroke_width(2);
                if series.joined {
                    chart.draw_series(LineSeries::new(series.points.iter().copied(), style))?;
                }
                let dots = series
                    .points
                    .iter()
                    .map(|at| Circle::new(*at, 4, colour(series.index).filled()));
                chart.draw_series(dots)?;
            }
        }};
    }
    if figure.logarithmic {
        let (x, y) = (
            decades(points().map(|p| p.0), 1.0),
            decades(points().map(|p| p.1), 1e-6),
        );
        chart!((x.0..x.1).log_scale(), (y.0..y.1).log_scale(), |y: &f64| {
            power(*y)
        });
    } else {
        let top = |values: &mut dyn Iterator<Item = f64>| 1.05 * values.fold(1e-9, f64::max);
        let (x, y) = (
            top(&mut points().map(|p| p.0)),
            top(&mut points().map(|p| p.1)),
        );
        chart!(0.0..x, 0.0..y, |y: &f64| format!("{y:.1e}"));
    }
    for (i, series) in figure.series.iter().enumerate() {
        let (x, y) = ((SIZE.0 - NAMES) as i32 + 10, 60 + 22 * i as i32);
        let style = colour(series.index).stroke_width(2);
        root.draw(&PathElement::new(vec![(x, y), (x + 20, y)], style))?;
        let font = ("sans-serif", 14).into_font().color(&BLACK);
        root.draw(&Text::new(series.name.to_owned(), (x + 26, y - 8), font))?;
    }
    root.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_axes_can_be_drawn_even_when_empty() {
        for logarithmic in [false, true] {
            for points in [vec![], vec![(8.0, 1e-5), (16.0, 2e-5)]] {
                let series = vec![Series {
                    name: "reduced",
                    index: 2,
                    points,
                    joined: true,
                }];
                let svg = svg(&Figure::of_solves("t", series, logarithmic)).unwrap();
                assert!(
                    svg.contains("contacts n") && svg.contains("reduced") && !svg.contains("NaN")
                );
            }
        }
    }
}
