//! The server: the page's files, and one WebSocket per page. See `crates/delassus-view/docs/view.md` for what it refuses.

mod connection;
mod door;
mod guard;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use axum::extract::{Request, State, WebSocketUpgrade};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Router, http::Uri};
use delassus::scenes;
use delassus::solver::Description;
use rust_embed::RustEmbed;
use serde::Serialize;
use tokio::sync::{Semaphore, broadcast, oneshot, watch};

use crate::message::{Command, MOST_BODIES, MOST_BYTES};
use crate::refused::Refused;
use crate::simulation::{Encoded, Outputs, Simulation, to_json};
use crate::stage::Stage;
use crate::{NO_PAGE, Show};

/// Most pages at once.
const MOST_PAGES: usize = 8;
/// Commands that wait while a step is under way.
const MOST_WAITING: usize = 256;
/// Notices a slow page may miss.
const MOST_NOTICES: usize = 64;

/// The built page.
#[derive(RustEmbed)]
#[folder = "page/dist"]
#[allow_missing = true]
struct Page;

/// Whether the page is part of this program.
pub fn page_is_built() -> bool {
    Page::get("index.html").is_some()
}

/// Where to listen and with how many threads to step.
#[derive(Clone, Debug)]
pub struct Options {
    /// Interface; the loopback one unless asked otherwise.
    pub host: IpAddr,
    /// Port; zero takes any free one.
    pub port: u16,
    /// Threads to step with; the bits do not depend on it.
    pub threads: usize,
    /// Who may show the page within another one.
    pub framing: Framing,
}

/// Who may show the page within another page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// Nobody: no page can have clicks meant for itself land here.
    #[default]
    Nobody,
    /// Pages that this machine serves, such as notebooks. For pages on which a click changes nothing: [`Mirror`].
    ///
    /// [`Mirror`]: crate::Mirror
    ThisMachine,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            host: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            threads: 1,
            framing: Framing::Nobody,
        }
    }
}

/// Why there is nothing to see.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The scene, its solver or the recording cannot be shown.
    #[error(transparent)]
    Show(#[from] Refused),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {error}; choose another --port or --host")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// A thread or socket cannot be had.
    #[error("the server cannot start: {0}")]
    System(#[source] io::Error),
    /// Threads for the simulation cannot be had.
    #[error("the server cannot start: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// A server under way; dropping it ends it.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What all connections share.
#[derive(Clone, Debug)]
struct Shared {
    outputs: Outputs,
    commands: SyncSender<Command>,
    pages: Arc<Semaphore>,
    address: SocketAddr,
    framing: Framing,
}

/// What a page is told first.
#[derive(Debug, Serialize)]
struct Welcome<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    version: &'static str,
    /// The scene of the command line where it is a file.
    file: Option<&'a str>,
    most_bodies: usize,
    scenes: Vec<SceneLine>,
    solvers: Vec<SolverLine>,
}

#[derive(Debug, Serialize)]
struct SceneLine {
    name: &'static str,
    size: usize,
    limit: usize,
    about: &'static str,
}

#[derive(Debug, Serialize)]
struct SolverLine {
    name: &'static str,
    keys: &'static [(&'static str, &'static str)],
    about: &'static str,
}

fn welcome(file: Option<&str>, solvers: &[&'static Description]) -> Arc<str> {
    let scenes = scenes::exhibits().iter().map(|exhibit| SceneLine {
        name: exhibit.name,
        // One that the page takes.
        size: exhibit.size.min(MOST_BODIES / (exhibit.second + 1)),
        limit: exhibit.limit,
        about: exhibit.about,
    });
    let solvers = solvers.iter().map(|entry| SolverLine {
        name: entry.name,
        keys: entry.keys,
        about: entry.about,
    });
    to_json(&Welcome {
        kind: "welcome",
        version: env!("CARGO_PKG_VERSION"),
        file,
        most_bodies: MOST_BODIES,
        scenes: scenes.collect(),
        solvers: solvers.collect(),
    })
}

impl Server {
    /// Builds what is shown, listens and steps; returns at once.
    pub fn start(show: Show, options: &Options) -> Result<Server, ViewError> {
        let file = match &show {
            Show::Live {
                name,
                loader: Some(_),
                ..
            } => Some(name.clone()),
            _ => None,
        };
        let solvers = match &show {
            Show::Live { start, .. } => start.catalogue.entries.clone(),
            _ => Vec::new(),
        };
        let stage = Stage::new(show)?;
        let wanted = SocketAddr::new(options.host, options.port);
        let listen = |error| ViewError::Listen {
            address: wanted,
            error,
        };
        let listener = TcpListener::bind(wanted).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let (outputs, commands) = simulate(stage, options.threads)?;
        let shared = Shared {
            outputs,
            commands,
            pages: Arc::new(Semaphore::new(MOST_PAGES)),
            address,
            framing: options.framing,
        };
        let (stop, stopped) = oneshot::channel();
        let welcome = welcome(file.as_deref(), &solvers);
        let thread = spawn("page", move || serve(listener, shared, welcome, stopped))?;
        Ok(Server {
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address to open in a browser on this machine.
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        format!("http://{address}/")
    }

    /// Serves until the process ends.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            // It ends only by a panic, which has been reported.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, ViewError> {
    let builder = thread::Builder::new().name(name.to_owned());
    builder.spawn(body).map_err(ViewError::System)
}

/// Starts the thread that steps; it ends when the last sender of commands is gone.
fn simulate(
    stage: (Stage, bool),
    threads: usize,
) -> Result<(Outputs, SyncSender<Command>), ViewError> {
    let outputs = Outputs {
        layout: watch::Sender::new("".into()),
        settings: watch::Sender::new("".into()),
        frames: watch::Sender::new(Encoded::default()),
        notices: broadcast::Sender::new(MOST_NOTICES),
        viewers: Arc::new(AtomicUsize::new(0)),
    };
    let (sender, receiver) = sync_channel(MOST_WAITING);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1));
    let pool = pool.build()?;
    let simulation = Simulation::new(stage, outputs.clone());
    spawn("simulation", move || {
        pool.install(move || simulation.run(receiver));
    })?;
    Ok((outputs, sender))
}

fn serve(listener: TcpListener, shared: Shared, welcome: Arc<str>, stopped: oneshot::Receiver<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        return;
    };
    runtime.block_on(async move {
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
            return;
        };
        let app = router(shared, welcome);
        tokio::select! {
            () = door::serve(listener, app) => {}
            _ = stopped => {}
        }
    });
    // Connections end with the runtime.
    runtime.shutdown_background();
}

fn router(shared: Shared, welcome: Arc<str>) -> Router {
    let live = move |State(shared): State<Shared>,
                     headers: HeaderMap,
                     upgrade: WebSocketUpgrade| async move {
        if !guard::origin_is_ours(&headers) {
            return refused(StatusCode::FORBIDDEN, "messages come from this page alone");
        }
        let Ok(place) = Arc::clone(&shared.pages).try_acquire_owned() else {
            let text = "too many pages look at this simulation; close one";
            return refused(StatusCode::SERVICE_UNAVAILABLE, text);
        };
        upgrade
            .max_message_size(MOST_BYTES)
            .max_frame_size(MOST_BYTES)
            .on_upgrade(move |socket| async move {
                let Shared {
                    outputs, commands, ..
                } = shared;
                connection::run(socket, &outputs, &commands, &welcome).await;
                drop(place);
            })
    };
    Router::new()
        .route("/live", get(live))
        .fallback(get(file))
        .layer(middleware::from_fn_with_state(shared.clone(), watch_door))
        .with_state(shared)
}

/// Refuses hosts that are not ours, and tells the browser what the page may do: nothing beyond this server.
async fn watch_door(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let mut response = if guard::host_is_ours(request.headers(), shared.address) {
        next.run(request).await
    } else {
        refused(
            StatusCode::FORBIDDEN,
            "this address is not the one the server was started for",
        )
    };
    let headers = response.headers_mut();
    let fixed = guard::HEADERS.iter();
    for (name, value) in fixed.chain(guard::framing(shared.framing)) {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    response
}

fn refused(status: StatusCode, text: &'static str) -> Response {
    (status, text).into_response()
}

/// A file of the page. The names are those embedded; no path of the file system is looked at.
async fn file(uri: Uri) -> Response {
    let name = match uri.path().trim_start_matches('/') {
        "" => "index.html",
        name => name,
    };
    let Some(found) = Page::get(name) else {
        return match page_is_built() {
            true => refused(StatusCode::NOT_FOUND, "there is no such file"),
            false => refused(StatusCode::SERVICE_UNAVAILABLE, NO_PAGE),
        };
    };
    let ending = name.rsplit('.').next().unwrap_or_default();
    let kind = match ending {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => "application/octet-stream",
    };
    ([(header::CONTENT_TYPE, kind)], found.data).into_response()
}
