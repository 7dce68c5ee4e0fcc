//! Faults while `delassus run` is under way: kill −9, signals, full disks, closed pipes, two runs in one folder. What
//! was acknowledged is kept, what goes wrong is said, and a resumed run ends with the bits of one that never stopped.

pub(crate) mod crowd;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use delassus::math::Random;

use crate::asked::{Asked, own_seed};
use crate::process::{Said, Scratch, binary, said, wait};
use crate::tally::Tally;

/// Longest time of one run.
const PATIENCE: Duration = Duration::from_secs(120);
/// Scenes that are run, each for a fraction of a second of computing.
const SCENES: [[&str; 3]; 6] = [
    ["stack:4", "0.005", "1"],
    ["pile:12", "0.005", "0.5"],
    ["slider-crank", "0.002", "1"],
    ["four-bar", "0.002", "0.5"],
    ["dominoes:6", "0.005", "0.6"],
    ["double-pendulum", "0.002", "1"],
];
/// Most blocks of 512 bytes in a file, where files are limited.
const BLOCKS: &str = "24";
/// A folder that nobody can make.
const NOWHERE: &str = "/proc/delassus-attack";

/// What is done to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Kill,
    Signal,
    FileLimit,
    FullDisk,
    NoFolder,
    ClosedPipe,
    TwoRuns,
    Threads,
}

impl Fault {
    /// The ones that are tried in turn, beside kills.
    const OTHERS: [(&'static str, Fault); 7] = [
        ("signal", Fault::Signal),
        ("file limit", Fault::FileLimit),
        ("full disk", Fault::FullDisk),
        ("no folder", Fault::NoFolder),
        ("closed pipe", Fault::ClosedPipe),
        ("two runs", Fault::TwoRuns),
        ("threads", Fault::Threads),
    ];
}

/// A run to be disturbed.
struct Setting<'a> {
    binary: &'a Path,
    folder: PathBuf,
    /// Name, step and time.
    scene: [&'static str; 3],
    /// How long it takes undisturbed, and the hash it ends with.
    length: Duration,
    hash: String,
    threads: &'static str,
}

impl Setting<'_> {
    fn command(&self) -> Command {
        let [name, dt, time] = self.scene;
        let mut command = Command::new(self.binary);
        command.args(["run", name, "--dt", dt, "--time", time]);
        command.args(["--threads", self.threads, "--json", "--quiet"]);
        command
    }

    /// With recordings, and a checkpoint every tenth step.
    fn recorded(&self) -> Command {
        let mut command = self.command();
        let every: f64 = self.scene[1].parse().unwrap_or(0.01) * 10.0;
        command.args(["--checkpoint-every", &every.to_string(), "--force"]);
        command.arg("--out").arg(&self.folder);
        command
    }

    fn start(&self) -> Result<Child, String> {
        let mut command = self.recorded();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().map_err(|e| e.to_string())
    }

    /// Steps of the checkpoints that are there, in order.
    fn checkpoints(&self) -> Vec<u64> {
        let names = std::fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten();
        let step = |name: &str| {
            let number = name.strip_prefix("checkpoint-")?.strip_suffix(".json")?;
            number.parse().ok()
        };
        let steps = names.filter_map(|entry| step(&entry.file_name().to_string_lossy()));
        let mut steps: Vec<u64> = steps.collect();
        steps.sort_unstable();
        steps
    }

    /// Goes on from the last checkpoint, or begins anew where there is none; what is wrong, if anything.
    fn resume(&self) -> Result<Option<String>, String> {
        let last = self.checkpoints().last().copied();
        let mut command = match last {
            None => self.command(),
            Some(step) => {
                let file = self.folder.join(format!("checkpoint-{step}.json"));
                let mut command = Command::new(self.binary);
                command.args(["run", "--json", "--quiet", "--threads", self.threads]);
                command.arg("--resume").arg(file);
                command
            }
        };
        if let (Some(step), Some(lines)) = (last, self.lines()) {
            // One line a step, below a head.
            if lines < step + 1 {
                return Ok(Some(format!("{lines} lines of steps.csv at step {step}")));
            }
        }
        let said = said(&mut command, PATIENCE)?;
        Ok(match hash_of(&said) {
            Some(hash) if hash == self.hash => None,
            Some(hash) => Some(format!("hash {hash}, not {}", self.hash)),
            None => Some(format!("no summary: {}", said.err)),
        })
    }

    /// Whole lines of the table of steps.
    fn lines(&self) -> Option<u64> {
        let text = std::fs::read(self.folder.join("steps.csv")).ok()?;
        Some(text.iter().filter(|byte| **byte == b'\n').count() as u64)
    }
}

fn hash_of(said: &Said) -> Option<String> {
    let summary: serde_json::Value = serde_json::from_str(&said.out).ok()?;
    summary.get("state_hash")?.as_str().map(str::to_owned)
}

/// Disturbs so many runs by kill −9, and a fifth as many in each of the other ways in turn.
pub(crate) fn attack(asked: &Asked, count: u64, seed: u64) -> Result<Tally, String> {
    let binary = binary(asked)?;
    let mut tally = Tally::default();
    let mut known: BTreeMap<&str, (Duration, String)> = BTreeMap::new();
    for i in asked.first..asked.first + count {
        let mut random = Random::new(own_seed(seed, 33, i));
        let other = Fault::OTHERS[(i / 5) as usize % Fault::OTHERS.len()];
        let faults = [("kill -9", Fault::Kill), other];
        for (name, fault) in &faults[..if i.is_multiple_of(5) { 2 } else { 1 }] {
            if asked.skips(name) {
                continue;
            }
            let scratch = Scratch::new("fault")?;
            let scene = SCENES[random.below(SCENES.len())];
            let mut setting = Setting {
                binary: &binary,
                folder: scratch.path().join("out"),
                scene,
                length: Duration::ZERO,
                hash: String::new(),
                threads: ["1", "2", "8"][random.below(3)],
            };
            if !known.contains_key(scene[0]) {
                known.insert(scene[0], undisturbed(&setting)?);
            }
            (setting.length, setting.hash) = known[scene[0]].clone();
            let wrong = disturb(*fault, &setting, &mut random)?;
            let row = tally.row("faults", name);
            if wrong.as_deref() == Some(SKIPPED) {
                row.seen("skipped", 1);
                continue;
            }
            row.tried();
            row.failed("wrong", u64::from(wrong.is_some()));
            if let Some(wrong) = wrong {
                asked.note(&format!("{name} {i}, {}: {wrong}", scene[0]));
            }
        }
    }
    Ok(tally)
}

/// Said where the system does not let us make the fault.
const SKIPPED: &str = "skipped";

/// How long a run takes and what it ends with.
fn undisturbed(setting: &Setting) -> Result<(Duration, String), String> {
    let begin = Instant::now();
    let said = said(&mut setting.recorded(), PATIENCE)?;
    let length = begin.elapsed();
    let _ = std::fs::remove_dir_all(&setting.folder);
    let hash = hash_of(&said).ok_or(format!("{}: no summary: {}", setting.scene[0], said.err))?;
    Ok((length, hash))
}

/// Disturbs one run; what is wrong with the way it took it, if anything.
fn disturb(fault: Fault, setting: &Setting, random: &mut Random) -> Result<Option<String>, String> {
    match fault {
        Fault::Kill => {
            let mut child = setting.start()?;
            std::thread::sleep(setting.length.mul_f64(random.range(0.0, 1.0)));
            let _ = child.kill();
            let _ = child.wait();
            setting.resume()
        }
        Fault::Signal => signalled(setting, random),
        Fault::FileLimit => {
            let mut command = Command::new("sh");
            let recorded = setting.recorded();
            command.args(["-c", &format!("ulimit -f {BLOCKS}; exec \"$0\" \"$@\"")]);
            command
                .arg(recorded.get_program())
                .args(recorded.get_args());
            let said = said(&mut command, PATIENCE)?;
            refused_or_done(&said, "larger files").map_or_else(|| setting.resume(), |w| Ok(Some(w)))
        }
        Fault::FullDisk => full_disk(setting),
        Fault::NoFolder => {
            let mut command = setting.command();
            command.args(["--out", NOWHERE]);
            let said = said(&mut command, PATIENCE)?;
            Ok(refused(&said, "cannot make the folder"))
        }
        Fault::ClosedPipe => {
            let mut command = setting.command();
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null());
            let mut child = command.spawn().map_err(|e| e.to_string())?;
            // Whoever reads goes away at once.
            drop(child.stdout.take());
            let status = wait(&mut child, PATIENCE);
            let code = status.and_then(|status| status.code());
            Ok((code != Some(0)).then(|| format!("ended with {status:?}")))
        }
        Fault::TwoRuns => two_runs(setting),
        Fault::Threads => {
            let said = said(&mut setting.command(), PATIENCE)?;
            let threads = setting.threads;
            Ok(match hash_of(&said) {
                Some(hash) if hash == setting.hash => None,
                Some(hash) => Some(format!("{threads} threads: hash {hash}")),
                None => Some(format!("{threads} threads: no hash: {}", said.err)),
            })
        }
    }
}

/// A refusal with exit code 2 that says so.
fn refused(said: &Said, words: &str) -> Option<String> {
    let fine = said.code() == Some(2) && said.err.contains(words);
    (!fine).then(|| format!("exit {:?}: {}", said.code(), said.err))
}

/// The same, unless the run found room for everything.
fn refused_or_done(said: &Said, words: &str) -> Option<String> {
    if said.code() == Some(0) {
        return None;
    }
    refused(said, words)
}

/// Asked to end, a run keeps what there is and exits with 1, or was done before.
fn signalled(setting: &Setting, random: &mut Random) -> Result<Option<String>, String> {
    let mut child = setting.start()?;
    // Not before there is somebody to listen: the folder is made after the handler.
    let begin = Instant::now();
    while !setting.folder.join("scene.json").exists() && begin.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(setting.length.mul_f64(random.range(0.0, 0.8)));
    let name = ["-INT", "-TERM", "-HUP"][random.below(3)];
    let _ = Command::new("kill")
        .arg(name)
        .arg(child.id().to_string())
        .status();
    let status = wait(&mut child, PATIENCE);
    match status.and_then(|status| status.code()) {
        Some(0 | 1) => setting.resume(),
        _ => Ok(Some(format!("{name} ended it with {status:?}"))),
    }
}

/// A disk of 64 kB, where the system lets us have one.
fn full_disk(setting: &Setting) -> Result<Option<String>, String> {
    std::fs::create_dir_all(&setting.folder).map_err(|e| e.to_string())?;
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=64k", "delassus-attack"]);
    if !said(mount.arg(&setting.folder), PATIENCE)?
        .status
        .is_some_and(|s| s.success())
    {
        return Ok(Some(SKIPPED.to_owned()));
    }
    let ended = said(&mut setting.recorded(), PATIENCE);
    let outcome = ended.and_then(|said| match refused_or_done(&said, "make room") {
        Some(wrong) => Ok(Some(wrong)),
        None => setting.resume(),
    });
    let _ = said(Command::new("umount").arg(&setting.folder), PATIENCE);
    outcome
}

/// The second of two runs in one folder is refused, and the first does not notice.
fn two_runs(setting: &Setting) -> Result<Option<String>, String> {
    let mut first = setting.recorded();
    // Long enough to meet the second.
    first.args(["--steps", "1000000"]);
    let mut words: Vec<_> = first.get_args().map(ToOwned::to_owned).collect();
    if let Some(at) = words.iter().position(|word| word == "--time") {
        words.drain(at..at + 2);
    }
    let mut command = Command::new(setting.binary);
    command
        .args(&words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().map_err(|e| e.to_string())?;
    let begin = Instant::now();
    while setting.checkpoints().is_empty() && begin.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
    }
    let second = said(&mut setting.recorded(), PATIENCE)?;
    let alive = matches!(child.try_wait(), Ok(None));
    let _ = child.kill();
    let _ = child.wait();
    if !alive {
        return Ok(Some("the first run ended by itself".to_owned()));
    }
    Ok(refused(&second, "another run"))
}
