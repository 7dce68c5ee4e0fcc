//! The command line of delassus: solve, compare and list constraint problems, run scenes and look at them.
//!
//! A thin leaf over the library's public interface. Commands return what belongs on standard output as text, and
//! an [`Outcome`] that becomes the exit code; only `console` writes to the terminal.

mod answer;
mod args;
mod bench;
mod compare;
mod console;
mod doctor;
mod folder;
mod info;
mod input;
mod interrupt;
mod list;
mod plot;
mod progress;
mod refusal;
mod run;
mod scene;
mod solve;
mod solvers;
mod sweep;
mod table;
mod view;

use std::process::ExitCode;

use args::{Args, Command, SchemaKind};
use clap::{CommandFactory, Parser};
use console::{Outcome, Printed};
use refusal::Refusal;

fn main() -> ExitCode {
    interrupt::hear_of_full_files();
    let args = Args::parse();
    let result = match &args.command {
        Command::Solve(args) => solve::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Run(args) => run::run(args),
        Command::List(args) => list::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Sweep(args) => sweep::run(args),
        Command::Info(args) => info::run(args),
        Command::View(args) => view::run(args),
        Command::Schema { kind } => Ok(schema(*kind)),
        Command::Completions { shell } => Ok(completions(*shell)),
    };
    finish(result).exit_code()
}

/// The schema of a kind of file.
fn schema(kind: SchemaKind) -> Printed {
    let text = match kind {
        SchemaKind::Scene => delassus::model::scene::SCHEMA.to_owned(),
    };
    Printed {
        text,
        outcome: Outcome::Solved,
    }
}

/// The script of a shell.
fn completions(shell: clap_complete::Shell) -> Printed {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "delassus", &mut script);
    Printed {
        text: String::from_utf8_lossy(&script).into_owned(),
        outcome: Outcome::Solved,
    }
}

/// Writes what a command has to say and gives the worst outcome.
fn finish(result: Result<Printed, Refusal>) -> Outcome {
    let printed = match result {
        Ok(printed) => printed,
        Err(refusal) => {
            console::complain(&refusal);
            return Outcome::BadInput;
        }
    };
    match console::print(&printed.text) {
        Ok(()) => printed.outcome,
        Err(refusal) => {
            console::complain(&refusal);
            Outcome::BadInput
        }
    }
}
