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

    /// The whole table, two blanks between columns, as wide as the terminal at most.
    pub(crate) fn text(&self) -> String {
        self.within(room())
    }

    /// The same within a width: cells of the widest columns go on in further lines, and columns that do not fit beside
    /// the others stand below, behind the first one again.
    fn within(&self, room: Option<usize>) -> String {
        let all: Vec<usize> = (0..self.leans.len()).collect();
        let widths = self.widths(&all, room);
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut used = 0;
        for k in 1..widths.len() {
            used += 2 + widths[k];
            if groups.is_empty() || room.is_some_and(|room| room < used) {
                groups.push(vec![0]);
                used = widths[0] + 2 + widths[k];
            }
            groups.last_mut().expect("there is a group").push(k);
        }
        if groups.is_empty() {
            groups.push(all);
        }
        let texts = groups
            .iter()
            .map(|group| self.columns(group, &self.widths(group, room)));
        texts.collect::<Vec<String>>().join("\n")
    }

    /// Some of the columns.
    fn columns(&self, group: &[usize], widths: &[usize]) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let cells = group
                .iter()
                .map(|&k| wrapped(row.get(k).map_or("", String::as_str), widths[k]));
            let cells: Vec<Vec<String>> = cells.collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            for i in 0..height {
                let mut line = String::new();
                for (cell, &k) in cells.iter().zip(group) {
                    let part = cell.get(i).map_or("", String::as_str);
                    let blanks = " ".repeat(widths[k].saturating_sub(part.chars().count()));
                    match self.leans[k] {
                        Lean::Left => line.extend([part, &blanks, "  "]),
                        Lean::Right => line.extend([blanks.as_str(), part, "  "]),
                    }
                }
                text.push_str(line.trim_end());
                text.push('\n');
            }
        }
        text
    }

    /// Widths of all columns: what their cells take, the widest of a group made narrower until the group fits or none
    /// can be.
    fn widths(&self, group: &[usize], room: Option<usize>) -> Vec<usize> {
        let mut widths = vec![0; self.leans.len()];
        let mut least = vec![0; self.leans.len()];
        for row in &self.rows {
            for (k, cell) in row.iter().enumerate().take(widths.len()) {
                widths[k] = widths[k].max(cell.chars().count());
                // Of two lines of words, the first keeps its indent.
                let lengths = pieces(cell).map(|piece| piece.trim_end().chars().count());
                let longest = lengths.max();
                least[k] = least[k]
                    .max(longest.unwrap_or(0))
                    .max(NARROWEST.min(widths[k]));
            }
        }
        let Some(room) = room else {
            return widths;
        };
        let taken = |widths: &[usize]| {
            let cells: usize = group.iter().map(|&k| widths[k]).sum();
            cells + 2 * group.len().saturating_sub(1)
        };
        while room < taken(&widths) {
            let shrinkable = group.iter().filter(|&&k| least[k] < widths[k]);
            let Some(&widest) = shrinkable.max_by_key(|&&k| widths[k]) else {
                break;
            };
            widths[widest] -= 1;
        }
        widths
    }
}

/// No column is made narrower than this.
const NARROWEST: usize = 6;

/// How wide a line may be: as the terminal, or as `COLUMNS` says where there is none; none where nobody says.
pub(crate) fn room() -> Option<usize> {
    if let Some((terminal_size::Width(width), _)) = terminal_size::terminal_size() {
        return Some(usize::from(width));
    }
    let told = std::env::var("COLUMNS").ok()?.parse().ok();
    told.filter(|width| 0 < *width)
}

/// Pieces of a text that stay together: with a blank, a comma or a bar at their end, or with a hyphen between words;
/// numbers and names such as `box-000001` are left whole.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    let is_end = move |&(i, c): &(usize, char)| match c {
        ' ' | ',' | '|' => true,
        '-' => is_letter(text[..i].chars().next_back()) && is_letter(text[i + 1..].chars().next()),
        _ => false,
    };
    let ends = text.char_indices().filter(is_end).map(|(i, _)| i + 1);
    let mut from = 0;
    ends.chain([text.len()]).map(move |end| {
        let piece = &text[from..end];
        from = end;
        piece
    })
}

/// A text in lines of a width; a piece that is longer has a line of its own.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    if text.chars().count() <= width {
        return vec![text.to_owned()];
    }
    let indent: String = text.chars().take_while(|c| *c == ' ').collect();
    let mut lines = vec![indent.clone()];
    for piece in pieces(text.trim_start()) {
        let last = lines.last_mut().expect("there is a first line");
        let long = last.chars().count() + piece.trim_end().chars().count();
        if width < long && indent.len() < last.len() {
            lines.push(indent.clone());
        }
        lines
            .last_mut()
            .expect("there is a first line")
            .push_str(piece);
    }
    let trimmed = lines.iter().map(|line| line.trim_end().to_owned());
    trimmed.collect()
}

/// A text in lines as wide as the terminal; all but the first begin with blanks.
pub(crate) fn paragraph(text: &str, indent: usize) -> String {
    let Some(room) = room() else {
        return format!("{text}\n");
    };
    let lines = wrapped(text, room.saturating_sub(indent).max(20));
    let blanks = " ".repeat(indent);
    let mut lines = lines.into_iter();
    let first = lines.next().unwrap_or_default();
    let rest = lines.map(|line| format!("\n{blanks}{}", line.trim_start()));
    format!("{first}{}\n", rest.collect::<String>())
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
        assert_eq!(
            table.within(None),
            "name    law\n≈ box     1\na      1000\n"
        );
    }

    #[test]
    fn a_table_is_no_wider_than_its_room_and_loses_no_word() {
        let mut table = Table::new(&["  name", ">size", "what it is"]);
        let about = "a masonry arch of many wedges, standing by friction alone";
        table.push(vec!["  arch".into(), "11".into(), about.into()]);
        for room in [30, 40, 60] {
            let text = table.within(Some(room));
            assert!(
                text.lines().all(|line| line.chars().count() <= room),
                "{room}:\n{text}"
            );
            let mut shown = text.split_whitespace();
            assert!(
                about
                    .split(' ')
                    .all(|word| shown.any(|other| other == word)),
                "{text}"
            );
        }
        assert_eq!(table.within(Some(200)), table.within(None));
        // Columns that do not fit stand below each other, each with the name again.
        let stacked = table.within(Some(20));
        assert!(2 <= stacked.matches("arch").count(), "{stacked}");
        // Numbers are not broken, and a column that stands below has the room of its own line.
        let mut table = Table::new(&["", ">worst law [m/s]", ">energy change [J]", "worst block"]);
        let block = "step 1, contact of \"box-000000\" and \"box-000001\"";
        let row = ["lemke-standard", "2.45e-16", "-3.89e-8", block];
        table.push(row.map(str::to_owned).to_vec());
        for room in [36, 50, 70] {
            let text = table.within(Some(room));
            let whole = ["2.45e-16", "-3.89e-8", "\"box-000001\""];
            assert!(whole.iter().all(|word| text.contains(word)), "{text}");
            assert!(text.lines().count() <= 9, "{room}:\n{text}");
        }
        // Where words are wider than the room, they are left whole.
        assert!(table.within(Some(1)).contains("contact"));
    }
}
