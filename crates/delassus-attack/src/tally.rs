//! What was tried and what was found: counts that add and figures of which the worst is kept, class by class.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What was found in one class of an attack.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// The attack and the class within it.
    pub(crate) attack: String,
    pub(crate) class: String,
    /// How many were tried.
    pub(crate) tried: u64,
    /// Promises broken, by kind: each must stay zero.
    failed: BTreeMap<String, u64>,
    /// Endings that break no promise, by kind.
    seen: BTreeMap<String, u64>,
    /// The worst of each figure.
    worst: BTreeMap<String, f64>,
    /// Which ones to look at, in words; they are not added up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) odd: Vec<String>,
}

impl Row {
    /// One more attempt.
    pub(crate) fn tried(&mut self) {
        self.tried += 1;
    }

    /// Counts broken promises of a kind; zero shows that it was looked for.
    pub(crate) fn failed(&mut self, kind: &str, count: u64) {
        *self.failed.entry(kind.to_owned()).or_default() += count;
    }

    /// Counts endings of a kind.
    pub(crate) fn seen(&mut self, kind: &str, count: u64) {
        *self.seen.entry(kind.to_owned()).or_default() += count;
    }

    /// Keeps a figure where it is the worst so far. What is not a number is the worst of all.
    pub(crate) fn worst(&mut self, figure: &str, value: f64) {
        let value = if value.is_nan() {
            f64::MAX
        } else {
            value.min(f64::MAX)
        };
        let kept = self.worst.entry(figure.to_owned()).or_insert(value);
        *kept = kept.max(value);
    }

    /// Broken promises in all.
    pub(crate) fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// Adds what another found in the same class.
    fn join(&mut self, other: &Row) {
        self.tried += other.tried;
        for (kind, count) in &other.failed {
            self.failed(kind, *count);
        }
        for (kind, count) in &other.seen {
            self.seen(kind, *count);
        }
        for (figure, value) in &other.worst {
            self.worst(figure, *value);
        }
    }
}

/// All that was tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tally(pub(crate) Vec<Row>);

impl Tally {
    /// The row of a class.
    pub(crate) fn row(&mut self, attack: &str, class: &str) -> &mut Row {
        let of = |row: &Row| row.attack == attack && row.class == class;
        let at = self.0.iter().position(of).unwrap_or_else(|| {
            self.0.push(Row {
                attack: attack.to_owned(),
                class: class.to_owned(),
                ..Row::default()
            });
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// Adds what others found.
    pub(crate) fn join(&mut self, other: &Tally) {
        for row in &other.0 {
            self.row(&row.attack, &row.class).join(row);
        }
    }

    /// Whether no promise was broken.
    pub(crate) fn is_clean(&self) -> bool {
        self.0.iter().all(|row| row.failures() == 0)
    }

    /// One line a figure: `attack,class,tried,kind,name,value`.
    pub(crate) fn csv(&self) -> String {
        let mut text = "attack,class,tried,kind,name,value\n".to_owned();
        for row in &self.0 {
            let head = format!("{},{},{}", row.attack, row.class, row.tried);
            for (name, count) in &row.failed {
                text += &format!("{head},failed,{name},{count}\n");
            }
            for (name, count) in &row.seen {
                text += &format!("{head},seen,{name},{count}\n");
            }
            for (name, value) in &row.worst {
                text += &format!("{head},worst,{name},{value:.3e}\n");
            }
        }
        text
    }
}

/// Names of a kind that any row has, in the order of the alphabet.
fn columns<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let names: std::collections::BTreeSet<&String> = names.collect();
    names.into_iter().cloned().collect()
}

/// One table an attack, as Markdown; what breaks a promise is in capitals.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut attacks: Vec<&str> = self.0.iter().map(|row| row.attack.as_str()).collect();
        attacks.dedup();
        for attack in attacks {
            let rows: Vec<&Row> = self.0.iter().filter(|row| row.attack == attack).collect();
            let failed = columns(rows.iter().flat_map(|row| row.failed.keys()));
            let seen = columns(rows.iter().flat_map(|row| row.seen.keys()));
            let worst = columns(rows.iter().flat_map(|row| row.worst.keys()));
            let mut lines = vec![vec![attack.to_owned(), "tried".to_owned()]];
            lines[0].extend(failed.iter().map(|name| name.to_uppercase()));
            lines[0].extend(seen.iter().chain(&worst).cloned());
            for row in rows {
                let mut line = vec![row.class.clone(), row.tried.to_string()];
                let count = |counts: &BTreeMap<String, u64>, name| {
                    counts.get(name).unwrap_or(&0).to_string()
                };
                line.extend(failed.iter().map(|name| count(&row.failed, name)));
                line.extend(seen.iter().map(|name| count(&row.seen, name)));
                let figure = |name| match row.worst.get(name) {
                    Some(value) => format!("{value:.1e}"),
                    None => String::new(),
                };
                line.extend(worst.iter().map(figure));
                lines.push(line);
            }
            table(f, &lines)?;
        }
        Ok(())
    }
}

fn table(f: &mut fmt::Formatter<'_>, lines: &[Vec<String>]) -> fmt::Result {
    let wide = |k: usize| lines.iter().map(|line| line[k].chars().count()).max();
    let widths: Vec<usize> = (0..lines[0].len()).map(|k| wide(k).unwrap_or(0)).collect();
    for (i, line) in lines.iter().enumerate() {
        for (k, (word, width)) in line.iter().zip(&widths).enumerate() {
            match k {
                0 => write!(f, "| {word:<width$} |")?,
                _ => write!(f, " {word:>width$} |")?,
            }
        }
        writeln!(f)?;
        if i == 0 {
            let rules = widths.iter().enumerate().map(|(k, width)| match k {
                0 => format!("|{}|", "-".repeat(width + 2)),
                _ => format!("{}:|", "-".repeat(width + 1)),
            });
            writeln!(f, "{}", rules.collect::<String>())?;
        }
    }
    writeln!(f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_and_the_worst_is_kept() {
        let mut all = Tally::default();
        for value in [1.0, f64::NAN, 2.0] {
            let mut one = Tally::default();
            let row = one.row("scenes", "pile");
            row.tried();
            row.failed("panics", 0);
            row.seen("unsolved", 2);
            row.worst("depth", value);
            all.join(&one);
        }
        assert!(all.is_clean());
        let row = all.row("scenes", "pile").clone();
        assert_eq!(
            (row.tried, row.seen["unsolved"], row.worst["depth"]),
            (3, 6, f64::MAX)
        );
        all.row("scenes", "pile").failed("panics", 1);
        assert!(!all.is_clean());
        let back: Tally = serde_json::from_str(&serde_json::to_string(&all).unwrap()).unwrap();
        assert_eq!(back, all);
        assert!(all.to_string().contains("PANICS"), "{all}");
    }
}
