//! The live page of a world that is stepped from Python.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use delassus::world::Scene;
use delassus_view::{Framing, Mirror, Options, page_is_built};
use pyo3::prelude::*;

use crate::error::refuse;
use crate::interrupt::NOTICE;
use crate::world::World;

/// What to do where the package was built without the page.
const NO_PAGE: &str = "this package was built without the live page; run crates/delassus-view/build-page in the clone \
    (it needs node and npm), then `pip install ./crates/delassus-py` again";

/// The live page of a world: open `url` in a browser on this machine, or show the object itself in a notebook.
///
/// Every step is shown as long as it is open. As a context manager it is closed at the end of the block.
#[pyclass(frozen, module = "delassus")]
#[derive(Debug)]
pub(crate) struct View {
    world: Py<World>,
    id: u64,
    url: String,
}

/// A page that is served.
#[derive(Debug)]
pub(crate) struct Shown {
    mirror: Mirror,
    id: u64,
}

impl Shown {
    pub(crate) fn show(&self, world: &delassus::World) {
        // A page cannot say more about a state that is not finite than the step that refuses it.
        let _ = self.mirror.show(world);
    }
}

#[pymethods]
impl World {
    /// Serves the live page of this world: every step is shown there. Port 0 takes any free one.
    ///
    /// In a script, open `url`, or let `open()` do it; in a notebook the last line `world.view()` shows the page inline.
    /// The page looks and changes nothing. It answers this machine alone unless `host` says otherwise.
    #[pyo3(signature = (*, port=0, host="127.0.0.1"))]
    fn view(slf: &Bound<'_, World>, port: u16, host: &str) -> PyResult<View> {
        if !page_is_built() {
            return Err(refuse(NO_PAGE));
        }
        let host: IpAddr = host.parse().map_err(|_| {
            refuse(format!(
                "\"{host}\" is no address of an interface, such as 127.0.0.1 or 0.0.0.0"
            ))
        })?;
        let world = slf.get();
        let mut inner = world.lock()?;
        inner.settle();
        let scene = Scene {
            title: world.title.clone(),
            world: inner.world.clone(),
            run: inner.run.clone(),
            warnings: Vec::new(),
            lost: Vec::new(),
        };
        let options = Options {
            host,
            port,
            framing: Framing::ThisMachine,
            ..Options::default()
        };
        let mirror = Mirror::start(&world.title, scene, &options).map_err(|error| {
            refuse(
                error
                    .to_string()
                    .replace("--port or --host", "port or host"),
            )
        })?;
        let url = mirror.url();
        inner.views += 1;
        let id = inner.views;
        let shown = Shown { mirror, id };
        shown.show(&inner.world);
        inner.shown.push(shown);
        Ok(View {
            world: slf.clone().unbind(),
            id,
            url,
        })
    }
}

impl View {
    /// Raises where it is no longer served.
    fn check(&self) -> PyResult<()> {
        match self.closed()? {
            true => Err(refuse(
                "the view is closed; world.view() serves another one",
            )),
            false => Ok(()),
        }
    }
}

#[pymethods]
impl View {
    /// The address to open in a browser on this machine.
    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    /// Whether it is no longer served.
    #[getter]
    fn closed(&self) -> PyResult<bool> {
        let inner = self.world.get().lock()?;
        Ok(inner.shown.iter().all(|shown| shown.id != self.id))
    }

    /// Opens the page in the browser of the desktop; false where there is none.
    fn open(&self, py: Python<'_>) -> PyResult<bool> {
        self.check()?;
        let browser = py.import("webbrowser")?;
        browser.call_method1("open", (&self.url,))?.extract()
    }

    /// Shows the world as it is now: what was assigned since the last step.
    fn show(&self) -> PyResult<()> {
        self.check()?;
        let inner = self.world.get().lock()?;
        for shown in inner.shown.iter().filter(|shown| shown.id == self.id) {
            shown.show(&inner.world);
        }
        Ok(())
    }

    /// Steps the world for so many seconds of its time, at `speed` times the speed of the clock or as fast as it can.
    #[pyo3(signature = (seconds, *, speed=1.0))]
    fn play(&self, py: Python<'_>, seconds: f64, speed: f64) -> PyResult<()> {
        if !(seconds.is_finite() && 0.0 < speed && speed.is_finite()) {
            return Err(refuse(format!(
                "seconds {seconds} and speed {speed} must be finite, and speed above zero"
            )));
        }
        self.check()?;
        let world = self.world.bind(py);
        let (begin, start) = (Instant::now(), world.get().lock()?.world.time());
        loop {
            let time = world.get().lock()?.world.time() - start;
            let dt = world.get().lock()?.run.dt;
            // The end is a multiple of the step, to rounding.
            if seconds <= time + 0.5 * dt {
                return Ok(());
            }
            world.call_method0("step")?;
            let due = ((time + dt) / speed).max(0.0);
            let due = Duration::try_from_secs_f64(due).unwrap_or(Duration::MAX);
            rest(py, due.saturating_sub(begin.elapsed()))?;
        }
    }

    /// Keeps serving for so many seconds, or until Ctrl-C: the end of a script would end the page.
    #[pyo3(signature = (seconds=None))]
    fn wait(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<()> {
        let seconds = seconds.unwrap_or(f64::MAX);
        if !(0.0 <= seconds) {
            return Err(refuse(format!(
                "seconds is {seconds}; it must not be negative"
            )));
        }
        self.check()?;
        let most = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        rest(py, most)
    }

    /// Ends the page. Closing twice does nothing.
    fn close(&self) -> PyResult<()> {
        let mut inner = self.world.get().lock()?;
        inner.shown.retain(|shown| shown.id != self.id);
        Ok(())
    }

    fn __enter__(slf: Py<View>) -> Py<View> {
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<bool> {
        self.close()?;
        Ok(false)
    }

    /// The page as a frame, for notebooks on this machine.
    fn _repr_html_(&self) -> String {
        let url = &self.url;
        format!(
            "<iframe src=\"{url}\" width=\"100%\" height=\"480\" style=\"border:0\" title=\"delassus\"></iframe>\
             <p><a href=\"{url}\" target=\"_blank\" rel=\"noopener\">{url}</a></p>"
        )
    }

    fn __repr__(&self) -> PyResult<String> {
        let state = if self.closed()? { ", closed" } else { "" };
        Ok(format!("<View at {}{state}>", self.url))
    }
}

/// Waits, and hears of Ctrl-C.
fn rest(py: Python<'_>, time: Duration) -> PyResult<()> {
    let begin = Instant::now();
    loop {
        py.check_signals()?;
        let left = time.saturating_sub(begin.elapsed());
        if left.is_zero() {
            return Ok(());
        }
        py.detach(|| std::thread::sleep(left.min(NOTICE)));
    }
}
