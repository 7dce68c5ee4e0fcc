//! `delassus view`: a scene or a recorded run in the browser. The server is an optional part of the program.

use crate::args::ViewArgs;
use crate::console::Printed;
use crate::refusal::Refusal;

/// Why nothing can be shown.
#[cfg(not(feature = "view"))]
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShowError {
    #[error(
        "view {}: this program was built without the live page; run crates/delassus-view/build-page (it needs node and \
         npm), then `cargo install --path crates/delassus-cli --features view`",
        what.display()
    )]
    NotBuiltIn { what: std::path::PathBuf },
}

/// Says how to get a program with the page.
#[cfg(not(feature = "view"))]
pub(crate) fn run(args: &ViewArgs) -> Result<Printed, Refusal> {
    let what = args.what.clone();
    Err(ShowError::NotBuiltIn { what }.into())
}

#[cfg(feature = "view")]
pub(crate) use served::{ShowError, run};

#[cfg(feature = "view")]
mod served {
    use std::io;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    use delassus::problem::file::limit;
    use delassus_view::{
        Catalogue, NO_PAGE, Options, Recording, RecordingError, Server, Show, Start, ViewError,
    };

    use super::{Printed, Refusal, ViewArgs};
    use crate::args::BaseChoice;
    use crate::console::note;
    use crate::input;
    use crate::run::SCENE;
    use crate::scene::Source;
    use crate::solvers;

    /// The port where none is asked for and it is free.
    const PORT: u16 = 7877;

    /// Why a scene or recording cannot be shown.
    #[derive(Debug, thiserror::Error)]
    pub(crate) enum ShowError {
        #[error("{NO_PAGE}")]
        NoPage,
        #[error("the server ended unexpectedly")]
        Ended,
        #[error("--solver: at most two solvers are shown side by side")]
        TooManySolvers,
        #[error(
            "--state {}: a recording shows what was recorded and cannot begin from a state; name the scene instead",
            state.display()
        )]
        StateOfRecording { state: PathBuf },
        #[error(transparent)]
        Server(#[from] ViewError),
        #[error(
            "{}: cannot be read: {cause}; a recording is a folder that `delassus run SCENE --out DIR` wrote",
            path.display()
        )]
        NoRecording { path: PathBuf, cause: io::Error },
        #[error("{}: {cause}", path.display())]
        NoScene {
            path: PathBuf,
            cause: serde_json::Error,
        },
        #[error(transparent)]
        Recording(#[from] RecordingError),
    }

    /// Serves until Ctrl-C.
    pub(crate) fn run(args: &ViewArgs) -> Result<Printed, Refusal> {
        if !delassus_view::page_is_built() {
            return Err(ShowError::NoPage.into());
        }
        let server = start(args)?;
        let url = server.url();
        note(&format!("{} is shown at {url}", args.what.display()));
        if !args.host.is_loopback() {
            note("others on the network can see it and play with it");
        }
        if !args.no_open && !open_browser(&url) {
            note("no browser could be opened; open the address above yourself");
        }
        note("Ctrl-C ends it");
        server.wait();
        Err(ShowError::Ended.into())
    }

    fn start(args: &ViewArgs) -> Result<Server, Refusal> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut options = Options {
            host: args.host,
            port: args.port.unwrap_or(PORT),
            threads: args.threads.map_or(cores, usize::from),
            ..Options::default()
        };
        let started = match Server::start(show(args)?, &options) {
            Err(ViewError::Listen { .. }) if args.port.is_none() => {
                options.port = 0;
                Server::start(show(args)?, &options)
            }
            result => result,
        };
        Ok(started.map_err(ShowError::from)?)
    }

    fn show(args: &ViewArgs) -> Result<Show, Refusal> {
        if args.what.is_dir() {
            if let Some(state) = args.state.clone() {
                return Err(ShowError::StateOfRecording { state }.into());
            }
            return recording(&args.what);
        }
        if 2 < args.solvers.len() {
            return Err(ShowError::TooManySolvers.into());
        }
        for spec in &args.solvers {
            solvers::make(spec, delassus::Stop::default(), 0)?;
        }
        let source = Source {
            floating: args.base == BaseChoice::Floating,
            lossy: args.lossy,
            ..Source::find(&args.what)?
        };
        // A bad scene is refused here, with its line and column.
        for warning in source.build()?.warnings {
            note(&warning);
        }
        let state = args.state.as_deref().map(input::read_text).transpose()?;
        let start = Start {
            state,
            catalogue: Catalogue {
                entries: solvers::entries().collect(),
                make: |spec, stop, seed| Ok(solvers::make(spec, stop, seed)?),
            },
            solvers: args.solvers.clone(),
            tolerance: args.tolerance,
            iterations: args.iterations.map(|count| count as usize),
            dt: args.dt,
            paused: args.paused,
        };
        let name = source.name.clone();
        let path = args.what.clone();
        let loader: Option<delassus_view::Loader> = match source.text {
            None => None,
            Some(_) => Some(Box::new(move || {
                let mut now = source.clone();
                // The file as it is now; standard input can be read only once.
                if path.is_file() {
                    now.text = Some(limit::read_text(&path)?);
                }
                Ok(now.build()?)
            })),
        };
        Ok(Show::Live {
            name,
            loader,
            start,
        })
    }

    /// A folder of `run --out`: its scene, and where the bodies were.
    fn recording(folder: &Path) -> Result<Show, Refusal> {
        let path = folder.join(SCENE);
        let text = limit::read_text(&path).map_err(|cause| ShowError::NoRecording {
            path: path.clone(),
            cause,
        })?;
        let source: Source =
            serde_json::from_str(&text).map_err(|cause| ShowError::NoScene { path, cause })?;
        let scene = source.build()?;
        let recording = Recording::open(folder, &source.name, scene).map_err(ShowError::from)?;
        if let Some(why) = recording.unread() {
            note(&format!("{why}; velocities and forces are not shown"));
        }
        Ok(Show::Recording(Box::new(recording)))
    }

    /// Asks the system for its browser; false where nobody answers.
    fn open_browser(url: &str) -> bool {
        let openers: &[&[&str]] = if cfg!(target_os = "macos") {
            &[&["open"]]
        } else if cfg!(target_os = "windows") {
            &[&["rundll32", "url.dll,FileProtocolHandler"]]
        } else {
            &[&["xdg-open"], &["gio", "open"], &["wslview"]]
        };
        openers.iter().any(|opener| {
            let command = Command::new(opener[0])
                .args(&opener[1..])
                .arg(url)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            command.is_ok()
        })
    }
}
