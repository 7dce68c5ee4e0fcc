//! Attacks what delassus promises, by seed and count; `crates/delassus/docs/promises.md` says which attack is for which
//! promise, and what was found.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal"
)]

mod all;
mod asked;
mod draw;
mod exists;
mod faults;
mod files;
mod judge;
mod problems;
mod process;
mod read;
mod scenes;
mod server;
mod soak;
mod tally;
mod tree;
mod wide;

use std::process::ExitCode;

use asked::Asked;
use tally::Tally;

const USAGE: &str = "delassus-attack problems COUNT SEED [--class NAME] [--solvers A;B]
delassus-attack judge FILE… [--solvers A;B]
delassus-attack scenes COUNT SEED [--class NAME] [--time SECONDS]
delassus-attack files COUNT SEED [--class FORMAT]
delassus-attack commands COUNT SEED [--binary PROGRAM]
delassus-attack faults COUNT SEED [--class NAME] [--binary PROGRAM]
delassus-attack crowd COUNT SEED [--binary PROGRAM]
delassus-attack server COUNT SEED [--class NAME]
delassus-attack all [ATTACK…] --seed SEED --out FOLDER [--resume] [--share PART]
delassus-attack soak [SCENE…] --out FOLDER [--time SECONDS] [--patience SECONDS] [--resume]

COUNT of every class (or of one) are drawn from SEED; --first N begins with number N, counted from 0.
What went wrong is kept in the folder of --keep; --quiet says nothing of single findings.
Exits with 1 where a promise was broken: the columns in capitals.";

fn main() -> ExitCode {
    let asked = Asked::read(std::env::args().skip(1));
    if asked.as_ref().is_ok_and(|asked| asked.help) {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match asked.and_then(|asked| attack(&asked)) {
        Ok(tally) => {
            println!("{tally}");
            match tally.is_clean() {
                true => ExitCode::SUCCESS,
                false => ExitCode::FAILURE,
            }
        }
        Err(why) => {
            eprintln!("{why}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn attack(asked: &Asked) -> Result<Tally, String> {
    let words: Vec<&str> = asked.words.iter().map(String::as_str).collect();
    match words[..] {
        ["judge", ref files @ ..] if !files.is_empty() => problems::given(asked, files),
        ["all", ref named @ ..] => all::attack(asked, named),
        ["soak", ref named @ ..] => soak::attack(asked, named),
        ["serve"] => server::serve(),
        [what, count, seed] => {
            let count = Asked::number("COUNT", count)?;
            one(asked, what, (count, Asked::number("SEED", seed)?))
        }
        _ => Err("say what to attack".to_owned()),
    }
}

/// One attack by its name, a count and a seed.
fn one(asked: &Asked, what: &str, (count, seed): (u64, u64)) -> Result<Tally, String> {
    match what {
        "problems" => problems::drawn(asked, count, seed),
        "scenes" => scenes::attack(asked, count, seed),
        "files" => files::attack(asked, count, seed),
        "files-part" => files::read_part(asked, count, seed),
        "commands" => files::attack_commands(asked, count, seed),
        "faults" => faults::attack(asked, count, seed),
        "crowd" => faults::crowd::attack(asked, count, seed),
        "server" => server::attack(asked, count, seed),
        _ => Err(format!("there is no attack \"{what}\"")),
    }
}
