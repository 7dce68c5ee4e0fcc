//! One page: commands in, frames out, never more frames under way than the page has shown it can draw.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::{Duration, Instant};

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use tokio::sync::{broadcast, watch};

use crate::message::{Command, parse};
use crate::simulation::{Outputs, notice};

/// Frames sent and not yet drawn: one on its way while another is drawn.
const IN_FLIGHT: usize = 2;
/// Messages per second a page may send in the long run, and at once.
const MESSAGES: f64 = 250.0;
const BURST: f64 = 500.0;
/// A page that takes nothing for so long is gone.
const PATIENCE: Duration = Duration::from_secs(20);
/// Close code of a page that broke the rules.
const POLICY: u16 = 1008;

/// Counts a page while it is connected.
struct Presence<'a>(&'a AtomicUsize);

impl<'a> Presence<'a> {
    fn new(viewers: &'a AtomicUsize) -> Presence<'a> {
        viewers.fetch_add(1, Ordering::Relaxed);
        Presence(viewers)
    }
}

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A bucket of permissions that fills at a steady rate.
struct Allowance {
    left: f64,
    counted: Instant,
}

impl Allowance {
    fn new() -> Allowance {
        Allowance {
            left: BURST,
            counted: Instant::now(),
        }
    }

    fn take(&mut self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.counted).as_secs_f64();
        self.left = BURST.min(self.left + since * MESSAGES);
        self.counted = now;
        let allowed = 1.0 <= self.left;
        if allowed {
            self.left -= 1.0;
        }
        allowed
    }
}

/// Why a connection ends.
enum End {
    /// The other side is gone, or cannot be reached.
    Gone,
    /// It broke a rule.
    Refused(&'static str),
}

/// Serves one page until it leaves.
pub(super) async fn run(
    mut socket: WebSocket,
    outputs: &Outputs,
    commands: &SyncSender<Command>,
    welcome: &Arc<str>,
) {
    let end = talk(&mut socket, outputs, commands, welcome).await;
    // A page that left in the middle of a drag lets go.
    let _ = commands.try_send(Command::Release {});
    if let Err(End::Refused(text)) = end {
        let _ = send(&mut socket, text_message(&notice(text))).await;
        let close = Message::Close(Some(CloseFrame {
            code: POLICY,
            reason: text.into(),
        }));
        let _ = send(&mut socket, close).await;
    }
}

async fn talk(
    socket: &mut WebSocket,
    outputs: &Outputs,
    commands: &SyncSender<Command>,
    welcome: &Arc<str>,
) -> Result<(), End> {
    let mut layout = outputs.layout.subscribe();
    let mut settings = outputs.settings.subscribe();
    let mut frames = outputs.frames.subscribe();
    let mut notices = outputs.notices.subscribe();
    let _presence = Presence::new(&outputs.viewers);
    send(socket, text_message(welcome)).await?;
    for latest in [&mut layout, &mut settings] {
        send_latest(socket, latest).await?;
    }
    frames.mark_changed();
    let mut allowance = Allowance::new();
    let mut under_way: VecDeque<u64> = VecDeque::new();
    loop {
        tokio::select! {
            biased;
            message = socket.recv() => {
                let Some(Ok(message)) = message else {
                    return Err(End::Gone);
                };
                if !allowance.take(Instant::now()) {
                    return Err(End::Refused("too many messages; reload the page"));
                }
                if let Some(reply) = hear(message, commands, &mut under_way)? {
                    send(socket, text_message(&reply)).await?;
                }
            }
            changed = layout.changed() => {
                changed.map_err(|_| End::Gone)?;
                send_latest(socket, &mut layout).await?;
            }
            changed = settings.changed() => {
                changed.map_err(|_| End::Gone)?;
                send_latest(socket, &mut settings).await?;
            }
            text = notices.recv() => match text {
                Ok(text) => send(socket, text_message(&text)).await?,
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return Err(End::Gone),
            },
            changed = frames.changed(), if under_way.len() < IN_FLIGHT => {
                changed.map_err(|_| End::Gone)?;
                let frame = frames.borrow_and_update().clone();
                if frame.number != 0 {
                    under_way.push_back(frame.number);
                    send(socket, Message::Binary(frame.bytes)).await?;
                }
            }
        }
    }
}

/// Takes one message; a reply in words where it could not be obeyed.
fn hear(
    message: Message,
    commands: &SyncSender<Command>,
    under_way: &mut VecDeque<u64>,
) -> Result<Option<Arc<str>>, End> {
    let text = match message {
        Message::Text(text) => text,
        Message::Binary(_) => return Err(End::Refused("messages are text")),
        Message::Close(_) => return Err(End::Gone),
        Message::Ping(_) | Message::Pong(_) => return Ok(None),
    };
    match parse(&text) {
        Err(error) => Ok(Some(notice(&error.to_string()))),
        Ok(Command::Ack { frame }) => {
            under_way.retain(|number| frame < *number);
            Ok(None)
        }
        Ok(command) => match commands.try_send(command) {
            Ok(()) | Err(TrySendError::Full(Command::Drag { .. })) => Ok(None),
            Err(TrySendError::Full(_)) => Ok(Some(notice(
                "the simulation is busy with a long step; this was not done, try again",
            ))),
            Err(TrySendError::Disconnected(_)) => Err(End::Gone),
        },
    }
}

fn text_message(text: &Arc<str>) -> Message {
    Message::Text(text.as_ref().into())
}

async fn send_latest(
    socket: &mut WebSocket,
    latest: &mut watch::Receiver<Arc<str>>,
) -> Result<(), End> {
    let text = latest.borrow_and_update().clone();
    if text.is_empty() {
        return Ok(());
    }
    send(socket, text_message(&text)).await
}

async fn send(socket: &mut WebSocket, message: Message) -> Result<(), End> {
    match tokio::time::timeout(PATIENCE, socket.send(message)).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(End::Gone),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_stopped_and_a_steady_stream_is_not() {
        let start = Instant::now();
        let mut allowance = Allowance::new();
        let flood = (0..2000).filter(|_| allowance.take(start)).count();
        assert_eq!(flood as f64, BURST);
        let mut allowance = Allowance::new();
        let steady = (0..2000).all(|i| allowance.take(start + Duration::from_millis(5 * i)));
        assert!(steady);
    }
}
