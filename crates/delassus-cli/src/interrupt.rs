//! Ctrl-C and requests to end: what there is is kept.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rayon::ThreadPool;

use crate::console::note;

/// How long a request to end may go unnoticed.
const NOTICE: Duration = Duration::from_millis(50);

/// A flag that Ctrl-C or a request to end sets; asked twice, the process ends at once.
pub(crate) fn watch(quiet: bool) -> &'static AtomicBool {
    // Solvers watch it too, and the handler lives as long as the process.
    let flag: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    let handler = move || {
        if flag.swap(true, Ordering::Relaxed) {
            process::exit(130);
        }
    };
    if let Err(error) = ctrlc::set_handler(handler)
        && !quiet
    {
        note(&format!(
            "Ctrl-C will end the run without keeping anything: {error}"
        ));
    }
    flag
}

/// A file that grows beyond what the system allows is an error of the write, which has a message; unheard, the signal
/// would end the process without a word.
pub(crate) fn hear_of_full_files() {
    #[cfg(unix)]
    {
        static HEARD: AtomicBool = AtomicBool::new(false);
        // Where the signal cannot be heard all is as before.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, &HEARD);
    }
}

/// Does jobs one after the other on threads of its own, and can be called away from one.
pub(crate) struct Worker {
    pool: ThreadPool,
    interrupted: &'static AtomicBool,
}

impl Worker {
    pub(crate) fn new(pool: ThreadPool, interrupted: &'static AtomicBool) -> Worker {
        Worker { pool, interrupted }
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// What the job gives; none where somebody asks to stop first. Such a job is left alone: nobody waits for it, and
    /// it ends with the process, which is near.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        if self.is_interrupted() {
            return None;
        }
        let (done, result) = mpsc::channel();
        self.pool.spawn(move || {
            // Whoever left does not want to know.
            let _ = done.send(job());
        });
        loop {
            match result.recv_timeout(NOTICE) {
                Ok(given) => return Some(given),
                Err(RecvTimeoutError::Timeout) if !self.is_interrupted() => {}
                Err(_) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker() -> Worker {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
        let flag = Box::leak(Box::new(AtomicBool::new(false)));
        Worker::new(pool.build().unwrap(), flag)
    }

    #[test]
    fn a_job_that_never_ends_is_left_when_somebody_asks_to_stop() {
        let worker = worker();
        assert_eq!(worker.run(|| 2 + 2), Some(4));
        let flag = worker.interrupted;
        let endless = move || {
            flag.store(true, Ordering::Relaxed);
            loop {
                std::thread::park();
            }
        };
        assert_eq!(worker.run::<()>(endless), None);
        assert_eq!(worker.run(|| 2 + 2), None);
    }
}
