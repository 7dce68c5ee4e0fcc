//! Options of the commands that step scenes: `run` and `view`.

use std::path::PathBuf;

use delassus::world::Integrator;

use super::BaseChoice;
use super::values::{integrator, positive, tolerance};
use crate::run::When;

/// Options of `run`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 ran to the end with every step solved or swept as often as asked, 1 a step was not solved or\n\
    refused, bodies gained energy from nothing, or somebody interrupted, 2 bad input or usage."
)]
pub(crate) struct RunArgs {
    /// A built-in scene as `name` or `name:size`, a scene or robot file, or `-` for standard input.
    #[arg(value_name = "SCENE", required_unless_present = "resume")]
    pub(crate) scene: Option<PathBuf>,

    /// Solver with its keys, as `gauss-seidel,rule=exact`. [default: the scene's, which is `auto`
    /// unless it names another]
    #[arg(short = 's', long, value_name = "NAME[,KEY=VALUE…]")]
    pub(crate) solver: Option<String>,

    /// Most sweeps or pivots of a step. [default: the scene's]
    #[arg(long, value_name = "COUNT")]
    pub(crate) iterations: Option<usize>,

    /// Largest acceptable law residual of a step in m/s. [default: the scene's]
    #[arg(long, value_name = "M/S", value_parser = tolerance, allow_negative_numbers = true)]
    pub(crate) tolerance: Option<f64>,

    /// Length of a step in seconds. [default: the scene's]
    #[arg(long, value_name = "SECONDS", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) dt: Option<f64>,

    /// How the root of a URDF robot stands on the ground, which its file does not say.
    #[arg(long, value_enum, default_value = "fixed")]
    pub(crate) base: BaseChoice,

    /// Leave out what acts in a robot file and is not simulated, and say so, instead of refusing the file.
    #[arg(long)]
    pub(crate) lossy: bool,

    /// Steps from time zero to the end. [default: as many as the time needs]
    #[arg(short = 'n', long, value_name = "COUNT", conflicts_with = "time")]
    pub(crate) steps: Option<u64>,

    /// Time from zero to the end in seconds. [default: the scene's]
    #[arg(short = 't', long, value_name = "SECONDS", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) time: Option<f64>,

    /// Parts a step is divided into. [default: the scene's]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) substeps: Option<u32>,

    /// How time is taken: `spook` at first order, `rattle` at second order where there are rigid joints alone
    /// (solved exactly, whatever the solver; substeps that meet anything else are taken at first order), or
    /// `midpoint` at second order for robots that nothing holds or touches.
    /// [default: the scene's]
    #[arg(long, value_name = "spook|rattle|midpoint", value_parser = integrator)]
    pub(crate) integrator: Option<Integrator>,

    /// Seed of solvers that use chance. [default: 0]
    #[arg(long)]
    pub(crate) seed: Option<u64>,

    /// Threads to step with; the bits are the same for any number.
    #[arg(long, value_name = "COUNT", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,

    /// Print the summary as JSON.
    #[arg(short = 'j', long)]
    pub(crate) json: bool,

    /// No progress and no remarks on standard error; errors are still reported.
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,

    /// Write trajectory, diagnostics, summary and pictures into this folder, which must be empty or new.
    #[arg(short = 'o', long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Also write the run for another program, by the ending of the file: `.glb`, an animation that browsers, Blender
    /// and slides show; `.mcap`, poses, joints and contacts for viewers of robots. May be given twice.
    #[arg(short = 'e', long, value_name = "FILE")]
    pub(crate) export: Vec<PathBuf>,

    /// Let `--out` and `--capture` write into folders that are not empty, and `--export` over a file.
    #[arg(short = 'f', long)]
    pub(crate) force: bool,

    /// Write a checkpoint into the folder of `--out` whenever so many simulated seconds have passed.
    #[arg(long, value_name = "SECONDS", requires = "out", value_parser = positive,
          allow_negative_numbers = true)]
    pub(crate) checkpoint_every: Option<f64>,

    /// Go on from a checkpoint; scene and options are taken from it.
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["scene", "solver", "iterations", "tolerance", "dt", "substeps", "seed"])]
    pub(crate) resume: Option<PathBuf>,

    /// Keep the problems of steps that went badly in this folder, which must be empty or new; `delassus solve` and
    /// `delassus compare` replay them.
    #[arg(long, value_name = "DIR")]
    pub(crate) capture: Option<PathBuf>,

    /// Which problems `--capture` keeps: "status!=solved", "residual>X" with X in m/s, or "every N" steps.
    #[arg(
        long,
        value_name = "CONDITION",
        requires = "capture",
        default_value = "status!=solved"
    )]
    pub(crate) capture_when: When,

    /// Most problems `--capture` keeps.
    #[arg(
        long,
        value_name = "COUNT",
        requires = "capture",
        default_value_t = 100
    )]
    pub(crate) capture_limit: u64,

    /// Go on where bodies gain energy that nothing supplies; the exit code is 1 all the same.
    #[arg(long)]
    pub(crate) keep_going: bool,

    /// Record every so many steps in the trajectory. [default: about 60 frames per simulated second]
    #[arg(long, value_name = "STEPS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) every: Option<u64>,
}

/// Options of `view`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The page is served on this machine alone unless --host says otherwise; Ctrl-C ends it.\n\
    Exit code: 0 ended by Ctrl-C, 2 bad input or usage."
)]
pub(crate) struct ViewArgs {
    /// A built-in scene as `name` or `name:size`, a scene or robot file, or a folder that `run --out` wrote.
    #[arg(value_name = "SCENE|DIR")]
    pub(crate) what: PathBuf,

    /// How the root of a URDF robot stands on the ground, which its file does not say.
    #[arg(long, value_enum, default_value = "fixed")]
    pub(crate) base: BaseChoice,

    /// Begin from a state that the page saved of the same scene.
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,

    /// Leave out what acts in a robot file and is not simulated, and say so, instead of refusing the file.
    #[arg(long)]
    pub(crate) lossy: bool,

    /// Solver with its keys, as `gauss-seidel,rule=exact`; two of them are shown side by side. [default: the scene's]
    #[arg(short = 's', long = "solver", value_name = "NAME[,KEY=VALUE…]")]
    pub(crate) solvers: Vec<String>,

    /// Most sweeps or pivots of a step. [default: the scene's]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) iterations: Option<u32>,

    /// Largest acceptable law residual of a step in m/s. [default: the scene's]
    #[arg(long, value_name = "M/S", value_parser = tolerance, allow_negative_numbers = true)]
    pub(crate) tolerance: Option<f64>,

    /// Length of a step in seconds. [default: the scene's]
    #[arg(long, value_name = "SECONDS", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) dt: Option<f64>,

    /// Port to listen on. [default: 7877, or any free one where that is taken]
    #[arg(long)]
    pub(crate) port: Option<u16>,

    /// Address of the interface to listen on; anything but a loopback address lets others in.
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub(crate) host: std::net::IpAddr,

    /// Do not open the browser.
    #[arg(long)]
    pub(crate) no_open: bool,

    /// Begin at rest.
    #[arg(long)]
    pub(crate) paused: bool,

    /// Threads to step with; the bits are the same for any number. [default: one per core]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}
