//! What was asked for on the command line.

use std::path::PathBuf;

/// Words and options.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// Words that are no options: the attack, a count, a seed.
    pub(crate) words: Vec<String>,
    /// The one class to be tried.
    pub(crate) class: Option<String>,
    /// Solvers, with semicolons between them.
    pub(crate) solvers: Option<String>,
    /// Where to keep what went wrong.
    pub(crate) keep: Option<PathBuf>,
    /// The first one to be drawn: a long attack is done in parts.
    pub(crate) first: u64,
    /// Simulated time \[s\].
    pub(crate) time: Option<f64>,
    /// Longest computing time of a scene \[s\].
    pub(crate) patience: Option<f64>,
    /// The command line under attack.
    pub(crate) binary: Option<PathBuf>,
    /// Folder of a long run.
    pub(crate) out: Option<PathBuf>,
    /// Go on with a long run.
    pub(crate) resume: bool,
    /// Seed of a long run.
    pub(crate) seed: u64,
    /// Share of the counts of a long run.
    pub(crate) share: Option<f64>,
    /// Say nothing of single findings.
    pub(crate) quiet: bool,
    /// Only say what can be asked for.
    pub(crate) help: bool,
}

fn number<T: std::str::FromStr>(what: &str, word: &str) -> Result<T, String> {
    word.parse()
        .map_err(|_| format!("{what} is \"{word}\", which is no such number"))
}

impl Asked {
    /// Reads words as they were typed.
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Asked, String> {
        let mut asked = Asked::default();
        while let Some(word) = words.next() {
            let mut next = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--class" => asked.class = Some(next()?),
                "--solvers" => asked.solvers = Some(next()?),
                "--keep" => asked.keep = Some(next()?.into()),
                "--binary" => asked.binary = Some(next()?.into()),
                "--out" => asked.out = Some(next()?.into()),
                "--first" => asked.first = number("--first", &next()?)?,
                "--time" => asked.time = Some(number("--time", &next()?)?),
                "--patience" => asked.patience = Some(number("--patience", &next()?)?),
                "--seed" => asked.seed = number("--seed", &next()?)?,
                "--share" => asked.share = Some(number("--share", &next()?)?),
                "--resume" => asked.resume = true,
                "--quiet" => asked.quiet = true,
                "--help" | "-h" => asked.help = true,
                _ if word.starts_with("--") => return Err(format!("there is no option {word}")),
                _ => asked.words.push(word),
            }
        }
        Ok(asked)
    }

    /// A count or a seed.
    pub(crate) fn number(what: &str, word: &str) -> Result<u64, String> {
        number(what, word)
    }

    /// Refuses a class that is not among those known.
    pub(crate) fn check_class(&self, known: &[&str]) -> Result<(), String> {
        match &self.class {
            Some(name) if !known.contains(&name.as_str()) => Err(format!(
                "no class \"{name}\"; there are {}",
                known.join(", ")
            )),
            _ => Ok(()),
        }
    }

    /// Whether another class alone was asked for.
    pub(crate) fn skips(&self, class: &str) -> bool {
        self.class.as_deref().is_some_and(|one| one != class)
    }

    /// Says what went wrong.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            eprintln!("{text}");
        }
    }

    /// Writes what went wrong into the folder for it, where there is one.
    pub(crate) fn keep(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let Some(folder) = &self.keep else {
            return Ok(());
        };
        let save = || {
            std::fs::create_dir_all(folder)?;
            std::fs::write(folder.join(name), bytes)
        };
        save().map_err(|e| format!("{}: {e}", folder.display()))
    }
}

/// Seed of the i-th draw of a class: each has its own, so that one can be drawn again alone.
pub(crate) fn own_seed(seed: u64, class: u64, i: u64) -> u64 {
    seed ^ (class << 56) ^ i.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
