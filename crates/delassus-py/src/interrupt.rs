//! Long work without the interpreter's lock, ended by Ctrl-C.
//!
//! Python runs signal handlers on its main thread alone, and only where that thread asks. So the work goes to a thread
//! of its own, and the calling thread asks every few milliseconds; a handler that raises ends the work by its flag.

use std::panic;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use delassus::solver::Cancel;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::refuse;

/// How long Ctrl-C may go unnoticed.
pub(crate) const NOTICE: Duration = Duration::from_millis(50);

/// Flags nobody holds. The engine wants flags that live for ever, so they are used again: there are never more of them
/// than were held at the same time.
static FREE: Mutex<Vec<&'static AtomicBool>> = Mutex::new(Vec::new());

/// The process that first used the engine. One that is forked from it inherits a pool whose threads are gone.
static HOME: OnceLock<u32> = OnceLock::new();

/// The threads of a forked process, with its number.
static FORKED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Whether the usual threads are those of this process.
pub(crate) fn is_home() -> bool {
    *HOME.get_or_init(process::id) == process::id()
}

/// Does the work with threads that are alive: the usual ones, or a forked process's own.
fn with_threads<T: Send>(work: impl FnOnce() -> T + Send) -> PyResult<T> {
    if is_home() {
        return Ok(work());
    }
    let pool = {
        let mut forked = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
        match &*forked {
            Some((process, pool)) if *process == process::id() => Arc::clone(pool),
            _ => {
                let pool = Arc::new(ThreadPoolBuilder::new().build().map_err(refuse)?);
                let inherited = forked.replace((process::id(), Arc::clone(&pool)));
                // Its threads are gone; nobody is there to be told to end.
                std::mem::forget(inherited);
                pool
            }
        }
    };
    Ok(pool.install(work))
}

/// A flag that ends a run.
#[derive(Debug)]
pub(crate) struct Flag(&'static AtomicBool);

impl Flag {
    /// A flag that is not raised.
    pub(crate) fn take() -> Flag {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        Flag(
            free.pop()
                .unwrap_or_else(|| Box::leak(Box::new(AtomicBool::new(false)))),
        )
    }

    /// What a solver watches.
    pub(crate) fn cancel(&self) -> Cancel {
        Cancel::new(self.0)
    }

    pub(crate) fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, raised: bool) {
        self.0.store(raised, Ordering::Relaxed);
    }
}

impl Drop for Flag {
    fn drop(&mut self) {
        self.set(false);
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        free.push(self.0);
    }
}

/// Does the work without the interpreter's lock. Where a signal handler raises meanwhile, the flag is raised, the work
/// is waited for, and the exception is the result.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    flag: &Flag,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let outcome = py.detach(|| attended(flag, work));
    flag.set(false);
    outcome
}

fn attended<T: Send>(flag: &Flag, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    thread::scope(|scope| {
        let (done, waiting) = mpsc::sync_channel(1);
        let worker = thread::Builder::new().spawn_scoped(scope, move || {
            let result = with_threads(work);
            // Whoever waits also notices that the thread has ended.
            done.send(()).ok();
            result
        })?;
        let mut raised = None;
        while let Err(RecvTimeoutError::Timeout) = waiting.recv_timeout(NOTICE) {
            if raised.is_none()
                && let Err(exception) = Python::attach(|py| py.check_signals())
            {
                flag.set(true);
                raised = Some(exception);
            }
        }
        let result = match worker.join() {
            Ok(result) => result,
            Err(payload) => panic::resume_unwind(payload),
        };
        raised.map_or(result, Err)
    })
}
