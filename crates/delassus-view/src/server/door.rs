//! Connections as they come in: no more than a few at once, and none that does not say what it wants.
//!
//! A connection that is open and sends nothing holds a descriptor of the process; enough of them would lock the page
//! out. So the head of a request must arrive within a few seconds, that of a later one on the same connection too, and
//! beyond a number of connections new ones are closed unheard. A page that became a WebSocket stays as long as it likes.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Longest time for the head of a request.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most connections at once, pages included; a process may have 256 descriptors on some systems.
const MOST_CONNECTIONS: usize = 64;
/// Rest after a connection could not be taken: without descriptors the next attempt fails at once too.
const REST: Duration = Duration::from_millis(50);

/// Serves until it is dropped.
pub(super) async fn serve(listener: TcpListener, app: Router) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        match listener.accept().await {
            Err(_) => tokio::time::sleep(REST).await,
            Ok((stream, _)) => {
                // Dropped, and so closed, where no place is left.
                if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
                    tokio::spawn(answer(stream, app.clone(), place));
                }
            }
        }
    }
}

/// Hears requests and answers them.
async fn answer(stream: TcpStream, app: Router, place: OwnedSemaphorePermit) {
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app))
        .with_upgrades()
        .await;
    // A client that left, was late or spoke nonsense is no concern of anybody else.
    drop((served, place));
}
