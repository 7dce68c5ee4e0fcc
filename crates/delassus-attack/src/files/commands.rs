//! Mutated files given to the command line itself, checkpoints among them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use delassus::math::Random;
use serde_json::Value;

use super::corpus::{FileFormat, RECORDED, Sample};
use super::{bad_file, mutate};
use crate::asked::{Asked, own_seed};
use crate::process::{Said, Scratch, binary, said};
use crate::tally::Tally;

/// Longest time of one command.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `delassus` on so many bad files, half of them checkpoints.
pub(crate) fn attack(asked: &Asked, count: u64, seed: u64) -> Result<Tally, String> {
    let binary = binary(asked)?;
    let scratch = Scratch::new("commands")?;
    let checkpoint = checkpoint(&binary, scratch.path())?;
    let mut tally = Tally::default();
    for i in asked.first..asked.first + count {
        let own = own_seed(seed, 32, i);
        let Tried {
            name,
            path,
            said,
            changed,
        } = match i % 2 {
            0 => resumed(&binary, scratch.path(), &checkpoint, own)?,
            _ => opened(&binary, scratch.path(), own)?,
        };
        let (refused, row) = (said.code() == Some(2), tally.row("commands", name));
        row.tried();
        let fault = match said.fault() {
            None if changed && !refused => Some("changed"),
            fault => fault,
        };
        for kind in ["aborts", "changed", "hung", "panics"] {
            row.failed(kind, u64::from(fault == Some(kind)));
        }
        row.seen(if refused { "refused" } else { "accepted" }, 1);
        if let Some(fault) = fault {
            asked.note(&format!("{name} {i}: {fault}: {}", said.err));
            let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let file = path.file_name().ok_or("a tried file has a name")?;
            asked.keep(&format!("{name}-{i}-{}", file.to_string_lossy()), &bytes)?;
        }
    }
    Ok(tally)
}

/// A good checkpoint.
fn checkpoint(binary: &Path, folder: &Path) -> Result<Vec<u8>, String> {
    let (scene, out) = (folder.join("scene.toml"), folder.join("out"));
    std::fs::write(&scene, RECORDED).map_err(|e| e.to_string())?;
    let mut command = Command::new(binary);
    command.args([
        "run",
        "--steps",
        "20",
        "--dt",
        "0.01",
        "--checkpoint-every",
        "0.1",
        "--quiet",
    ]);
    command.arg(&scene).arg("--out").arg(&out);
    let said = said(&mut command, PATIENCE)?;
    let read = std::fs::read(out.join("checkpoint-10.json"));
    read.map_err(|e| format!("there is no checkpoint to be damaged ({e}): {}", said.err))
}

/// A file that was tried.
struct Tried {
    name: &'static str,
    path: PathBuf,
    said: Said,
    /// It says something else than the good one did, and must be refused.
    changed: bool,
}

/// Whether two documents say the same; spaces, the order of keys and how a number is written do not count.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let equal =
                |(key, value): (&String, &Value)| b.get(key).is_some_and(|b| same(value, b));
            a.len() == b.len() && a.iter().all(equal)
        }
        _ => a == b,
    }
}

/// Goes on from a damaged checkpoint.
fn resumed(binary: &Path, folder: &Path, good: &[u8], seed: u64) -> Result<Tried, String> {
    let mut random = Random::new(seed);
    let mut bytes = good.to_vec();
    mutate::mutate(&mut random, &mut bytes, good);
    let path = folder.join("damaged.json");
    std::fs::write(&path, &bytes).map_err(|e| e.to_string())?;
    let mut command = Command::new(binary);
    command.args(["run", "--quiet", "--resume"]).arg(&path);
    let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes);
    let whole = read(good).map_err(|e| format!("a good checkpoint: {e}"))?;
    // What cannot be read any more says something else, too.
    let changed = read(&bytes).map_or(true, |found| !same(&found, &whole));
    Ok(Tried {
        name: "checkpoint",
        said: said(&mut command, PATIENCE)?,
        path,
        changed,
    })
}

/// Opens a bad file with one of the commands for its format.
fn opened(binary: &Path, folder: &Path, seed: u64) -> Result<Tried, String> {
    let mut random = Random::new(seed);
    let choices = [
        (FileFormat::Json, "json", &["solve", "info", "compare"][..]),
        (FileFormat::Siconos, "siconos", &["solve", "info"]),
        (FileFormat::Fclib, "fclib", &["solve", "info"]),
        (FileFormat::Scene, "scene", &["run", "doctor"]),
        (FileFormat::Robot, "robot", &["run", "doctor"]),
    ];
    let (kind, name, verbs) = choices[random.below(choices.len())];
    let corpus: Vec<Sample> = kind.corpus();
    let (ending, bytes) = bad_file(&corpus, random.bits());
    let path = folder.join(format!("bad.{ending}"));
    std::fs::write(&path, &bytes).map_err(|e| e.to_string())?;
    let verb = verbs[random.below(verbs.len())];
    let mut command = Command::new(binary);
    command.arg(verb).arg(&path);
    match verb {
        "run" => command.args(["--steps", "3", "--quiet"]),
        "compare" | "solve" => command.args(["--time-limit", "1", "--quiet"]),
        _ => &mut command,
    };
    Ok(Tried {
        name,
        said: said(&mut command, PATIENCE)?,
        path,
        changed: false,
    })
}
