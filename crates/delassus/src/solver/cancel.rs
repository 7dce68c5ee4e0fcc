//! A flag that ends a run before its time: raised by another thread or by a signal, seen after every sweep or pivot.

use std::sync::atomic::{AtomicBool, Ordering};

/// Somebody may ask a run to end. What has not ended by itself then ends as interrupted.
#[derive(Clone, Copy, Debug)]
pub struct Cancel(&'static AtomicBool);

impl Cancel {
    /// Watches this flag.
    pub fn new(flag: &'static AtomicBool) -> Cancel {
        Cancel(flag)
    }

    /// Whether somebody has asked.
    pub fn is_raised(self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The same flag, not the same state.
impl PartialEq for Cancel {
    fn eq(&self, other: &Cancel) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}
