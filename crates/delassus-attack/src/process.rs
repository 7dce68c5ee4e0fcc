//! Other processes: the command line under attack, folders that vanish, memory and waiting.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::asked::Asked;

/// How often somebody looks whether a process has ended.
const NOTICE: Duration = Duration::from_millis(2);

/// A new empty folder that is removed in the end.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes one; the word is part of its name.
    pub(crate) fn new(word: &str) -> Result<Scratch, String> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("delassus-attack-{word}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Scratch(path))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Waits for a process; one that takes too long is killed, and there is no status.
pub(crate) fn wait(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let begin = Instant::now();
    while begin.elapsed() < patience {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) => std::thread::sleep(NOTICE),
            Err(_) => break,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// Processor time of one thread: what is cut short by it does not depend on how busy the machine is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    begin: Instant,
    spent: Option<Duration>,
}

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch {
            begin: Instant::now(),
            spent: processor_time(),
        }
    }

    /// Processor time since the start, or all of the time where the system does not say it.
    pub(crate) fn elapsed(&self) -> Duration {
        let spent = self.spent.zip(processor_time());
        spent.map_or_else(
            || self.begin.elapsed(),
            |(before, now)| now.saturating_sub(before),
        )
    }
}

/// What this thread has had of a processor.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

/// The most memory a process has had \[MB\], where the system says it.
fn memory_of(process: &str) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}

/// The most memory this process has had \[MB\].
pub(crate) fn peak_memory() -> Option<f64> {
    memory_of("self")
}

/// The same of another.
pub(crate) fn peak_memory_of(child: &Child) -> Option<f64> {
    memory_of(&child.id().to_string())
}

/// The command line under attack: the one asked for, or the one beside this program.
pub(crate) fn binary(asked: &Asked) -> Result<PathBuf, String> {
    let beside = || {
        let own = std::env::current_exe().ok()?;
        // Tests lie one folder deeper.
        let folders = own.ancestors().skip(1).take(2);
        let mut places = folders.map(|folder| folder.join("delassus"));
        places.find(|path| path.is_file())
    };
    let path = asked.binary.clone().or_else(beside);
    let path = path.filter(|path| path.is_file());
    path.ok_or_else(|| {
        "there is no program delassus beside this one; build it with \
         `cargo build --release -p delassus-cli --features view`, or name it with --binary"
            .to_owned()
    })
}

/// What a command said, and how it ended.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    /// None where it had to be killed.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// The exit code; none where a signal or impatience ended it.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// What is wrong with the way it ended, if anything: it should exit with 0, 1 or 2 and say nothing of a panic.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        match (self.status, self.code()) {
            (None, _) => Some("hung"),
            (Some(_), None) => Some("aborts"),
            _ if self.err.contains("panicked at") => Some("panics"),
            (_, Some(0..=2)) => None,
            _ => Some("aborts"),
        }
    }
}

/// Runs a command to its end.
pub(crate) fn said(command: &mut Command, patience: Duration) -> Result<Said, String> {
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("{command:?}: {e}"))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let reader = |pipe: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let out = reader(out.map(|pipe| Box::new(pipe) as Box<dyn Read + Send>));
    let err = reader(err.map(|pipe| Box::new(pipe) as Box<dyn Read + Send>));
    let status = wait(&mut child, patience);
    let whole = |_| format!("{command:?}: its output could not be read");
    Ok(Said {
        status,
        out: out.join().map_err(whole)?,
        err: err.join().map_err(whole)?,
    })
}
