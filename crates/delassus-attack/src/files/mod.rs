//! Mutated files of every format: each is read, or refused with a message; nothing panics, aborts, hangs or takes the
//! memory of the machine.

mod commands;
mod corpus;
pub(crate) mod mutate;
mod trial;

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use delassus::math::Random;

use crate::asked::{Asked, own_seed};
use crate::process::{Scratch, peak_memory, wait};
use crate::tally::Tally;
pub(crate) use corpus::FileFormat;
use trial::End;

pub(crate) use commands::attack as attack_commands;

/// Files of one process: what ends a process ends no more than these.
const PART: u64 = 20_000;
/// Longest time of one process.
const PATIENCE: Duration = Duration::from_secs(600);
/// Most memory of a process that reads files one after the other \[MB\].
const MEMORY_BOUND: f64 = 1024.0;

/// Draws so many bad files of every format and has them read, in processes of their own.
pub(crate) fn attack(asked: &Asked, count: u64, seed: u64) -> Result<Tally, String> {
    asked.check_class(&FileFormat::ALL.map(|(name, _)| name))?;
    let mut tally = Tally::default();
    for (name, _) in FileFormat::ALL {
        if asked.skips(name) {
            continue;
        }
        let (mut next, end) = (asked.first, asked.first + count);
        while next < end {
            let most = PART.min(end - next);
            next = part(asked, &mut tally, name, (next, most), seed)?;
        }
    }
    Ok(tally)
}

/// Reads some files in another process; gives the number of the first that was not read.
fn part(
    asked: &Asked,
    tally: &mut Tally,
    name: &str,
    (first, count): (u64, u64),
    seed: u64,
) -> Result<u64, String> {
    let scratch = Scratch::new("files")?;
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut command = Command::new(own);
    let words = [count, seed, first].map(|number| number.to_string());
    command.args([
        "files-part",
        &words[0],
        &words[1],
        "--first",
        &words[2],
        "--class",
        name,
    ]);
    command.arg("--out").arg(scratch.path());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null());
    let mut child = command.spawn().map_err(|e| e.to_string())?;
    let ended = wait(&mut child, PATIENCE);
    let read = |file: &str| std::fs::read_to_string(scratch.path().join(file)).ok();
    let row = tally.row("files", name);
    for kind in ["aborts", "hung"] {
        row.failed(kind, 0);
    }
    if let Some(found) = read("found.json").and_then(|text| serde_json::from_str(&text).ok()) {
        tally.join(&found);
        for file in found.0.iter().flat_map(|row| row.odd.iter()) {
            asked.note(file);
            let known = file.split_once(' ');
            let known = known.and_then(|(number, word)| Some((number.parse().ok()?, word)));
            let (number, word) =
                known.ok_or_else(|| format!("{name}: no file is called {file}"))?;
            keep(asked, (name, word), number, seed)?;
        }
        return Ok(first + count);
    }
    let at = read("at").and_then(|text| text.parse::<u64>().ok());
    let at = at.ok_or(format!("{name}: the process ended before its first file"))?;
    let kind = if ended.is_some() { "aborts" } else { "hung" };
    let row = tally.row("files", name);
    row.tried += at + 1 - first;
    row.failed(kind, 1);
    asked.note(&format!("{name} {at}: {kind}"));
    keep(asked, (name, kind), at, seed)?;
    Ok(at + 1)
}

fn keep(asked: &Asked, (name, word): (&str, &str), number: u64, seed: u64) -> Result<(), String> {
    let found = (0_u64..)
        .zip(FileFormat::ALL)
        .find(|(_, (known, _))| *known == name);
    let Some((class, (_, kind))) = found else {
        return Ok(());
    };
    let (ending, bytes) = bad_file(&kind.corpus(), own_seed(seed, class, number));
    asked.keep(&format!("{name}-{word}-{number}.{ending}"), &bytes)
}

/// A good file of the format with something wrong in it.
fn bad_file(corpus: &[corpus::Sample], seed: u64) -> (&'static str, Vec<u8>) {
    let mut random = Random::new(seed);
    let sample = &corpus[random.below(corpus.len())];
    let other = &corpus[random.below(corpus.len())];
    let mut bytes = sample.bytes.clone();
    mutate::mutate(&mut random, &mut bytes, &other.bytes);
    (sample.ending, bytes)
}

/// The other process: reads files of one format, says which one it is at, and in the end what it found.
pub(crate) fn read_part(asked: &Asked, count: u64, seed: u64) -> Result<Tally, String> {
    let scratch = asked.out.as_deref().ok_or("files-part needs --out")?;
    // Every panic is counted; nobody needs to read about it.
    std::panic::set_hook(Box::new(|_| {}));
    let tally = read_files(asked, (count, seed), scratch)?;
    let text = serde_json::to_string(&tally).map_err(|e| e.to_string())?;
    let written = std::fs::write(scratch.join("found.json"), text);
    written.map_err(|e| e.to_string())?;
    Ok(tally)
}

fn read_files(asked: &Asked, (count, seed): (u64, u64), scratch: &Path) -> Result<Tally, String> {
    let mut tally = Tally::default();
    let disk = |e: std::io::Error| e.to_string();
    for (class, (name, kind)) in (0_u64..).zip(FileFormat::ALL) {
        if asked.skips(name) {
            continue;
        }
        let corpus = kind.corpus();
        let mut at = File::create(scratch.join("at")).map_err(disk)?;
        trial::prepare(kind, scratch).map_err(disk)?;
        let row = tally.row("files", name);
        for kind in ["panics", "not finite"] {
            row.failed(kind, 0);
        }
        for i in asked.first..asked.first + count {
            // Over the number before, and of the same length: nothing is made or cut.
            at.seek(SeekFrom::Start(0)).map_err(disk)?;
            at.write_all(format!("{i:020}").as_bytes()).map_err(disk)?;
            let (ending, bytes) = bad_file(&corpus, own_seed(seed, class, i));
            let begin = Instant::now();
            let reading = || trial::read(kind, (ending, &bytes), scratch, i);
            let end = catch_unwind(AssertUnwindSafe(reading));
            row.tried();
            row.worst("slowest ms", 1e3 * begin.elapsed().as_secs_f64());
            match end {
                Ok(end) => match end.map_err(disk)? {
                    End::Refused => row.seen("refused", 1),
                    End::Accepted => row.seen("accepted", 1),
                    End::NotFinite => {
                        row.failed("not finite", 1);
                        row.odd.push(format!("{i} not-finite"));
                    }
                },
                Err(_) => {
                    row.failed("panics", 1);
                    row.odd.push(format!("{i} panic"));
                }
            }
            // What one file leaves behind must not help the next.
            if kind == FileFormat::Recording {
                trial::prepare(kind, scratch).map_err(disk)?;
            }
        }
        let memory = peak_memory().unwrap_or(0.0);
        row.worst("memory MB", memory);
        row.failed("memory", u64::from(MEMORY_BOUND < memory));
    }
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Readers that refuse everything would withstand any attack.
    #[test]
    fn good_files_are_accepted() {
        let scratch = Scratch::new("good").unwrap();
        for (name, kind) in FileFormat::ALL {
            trial::prepare(kind, scratch.path()).unwrap();
            let corpus = kind.corpus();
            assert!(!corpus.is_empty());
            let mut accepted = 0;
            for sample in &corpus {
                // Among the numbers is one for every format and every way to read.
                let each = (0..16).map(|number| {
                    let file = (sample.ending, &sample.bytes[..]);
                    trial::read(kind, file, scratch.path(), number).unwrap()
                });
                accepted += usize::from(each.into_iter().any(|end| end == End::Accepted));
            }
            assert_eq!(accepted, corpus.len(), "{name}");
        }
    }

    #[test]
    fn mutated_files_neither_panic_nor_take_the_memory() {
        let scratch = Scratch::new("slice").unwrap();
        let asked = Asked::default();
        let tally = read_files(&asked, (1000, 1), scratch.path()).unwrap();
        assert!(tally.is_clean(), "{tally}");
    }
}
