//! Text tables with aligned columns, and numbers people can read.

use std::time::Duration;

/// Which side of its column a cell leans to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lean {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table growing row by row.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    leans: Vec<Lean>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings; those that start with `>` lean right.
    pub(crate) fn new(headings: &[&str]) -> Table {
        let lean = |heading: &&str| {
            if heading.starts_with('>') {
                Lean::Right
            } else {
                Lean::Left
            }
        };
        let head = headings
            .iter()
            .map(|heading| heading.trim_start_matches('>').to_owned());
        Table {
            leans: headings.iter().map(lean).collect(),
            rows: vec![head.collect()],
        }
    }

    pub(crate) fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// True while there is only the heading.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() < 2
    }

    /// The whole table, two blanks between columns.
    pub(crate) fn text(&self) -> String {
        let mut widths = vec![0; self.leans.len()];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, width), lean) in row.iter().zip(&widths).zip(&self.leans) {
                let blanks = " ".repeat(width - cell.chars().count());
                match lean {
                    Lean::Left => line.extend([cell.as_str(), &blanks, "  "]),
                    Lean::Right => line.extend([blanks.as_str(), cell, "  "]),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Three digits are enough to compare residuals by eye.
pub(crate) fn number(x: f64) -> String {
    match x {
        _ if x.is_nan() => "-".to_owned(),
        _ if x == 0.0 => "0".to_owned(),
        _ if x.is_finite() => format!("{x:.2e}"),
        _ => "inf".to_owned(),
    }
}

/// A time with the unit that suits it.
pub(crate) fn time(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    match seconds {
        _ if seconds < 1e-3 => format!("{:.1} µs", 1e6 * seconds),
        _ if seconds < 1.0 => format!("{:.2} ms", 1e3 * seconds),
        _ => format!("{seconds:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_whatever_the_letters() {
        let mut table = Table::new(&["name", ">law"]);
        table.push(vec!["≈ box".to_owned(), "1".to_owned()]);
        table.push(vec!["a".to_owned(), "1000".to_owned()]);
        assert_eq!(table.text(), "name    law\n≈ box     1\na      1000\n");
    }
}
