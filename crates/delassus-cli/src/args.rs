//! What may be typed: commands, options, their defaults and their checks.

mod step;
mod values;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use delassus::problem::file::Format;

pub(crate) use self::step::{RunArgs, ViewArgs};
use self::values::{format, positive, seconds, tolerance};

macro_rules! version {
    ($($extra:literal)*) => {
        concat!(
            env!("CARGO_PKG_VERSION"),
            "\nfeatures: json dat fclib svg html threads"
            $(, $extra)*
        )
    };
}

/// Shown by `--version`: which readers, outputs, devices and pages this build has.
const VERSION: &str = match (cfg!(feature = "gpu"), cfg!(feature = "view")) {
    (false, false) => version!(),
    (true, false) => version!(" gpu"),
    (false, true) => version!(" view"),
    (true, true) => version!(" gpu" " view"),
};

/// A constraint solver for multibody dynamics: one problem, many solvers, one judge.
#[derive(Debug, Parser)]
#[command(name = "delassus", version = VERSION, after_help = ALL_EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const ALL_EXIT_CODES: &str = "Exit code: 0 all solved or ran to the end, 1 something not solved, interrupted or \
    refused, 2 bad input or usage; the worst wins.";
const EXIT_CODES: &str =
    "Exit code: 0 all solved, 1 something not solved, 2 bad input or usage; the worst wins.";

const SWEEP_EXIT_CODES: &str =
    "Exit code: 0 every run has its row, 1 some failed, 2 bad input, no Python or no package.";

/// Options of `sweep`.
#[derive(Debug, clap::Args)]
pub(crate) struct SweepArgs {
    /// TOML: scene or function, folder, solvers, seeds, [parameters].
    pub(crate) file: PathBuf,
    /// Folder of the rows, instead of that of the file.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Processes of the local cluster; one for each core by default.
    #[arg(long, value_name = "N")]
    pub(crate) workers: Option<std::num::NonZeroUsize>,
    /// Address of a Dask scheduler, such as tcp://host:8786.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) scheduler: Option<String>,
    /// Say nothing while it runs.
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Solve problem files or built-in problems and judge the answers.
    Solve(SolveArgs),
    /// Run every fitting solver on the same work and rank them by time.
    Compare(CompareArgs),
    /// Step a scene through time and say how well every law was kept.
    Run(RunArgs),
    /// List built-in problems, scenes and solvers.
    List(ListArgs),
    /// Repeat a published experiment and say how time grows.
    Bench(BenchArgs),
    /// Look for what is wrong with a scene or a problem, and say it in words.
    Doctor(DoctorArgs),
    /// Run parameters × solvers × seeds of a file, by the Python package.
    #[command(after_help = SWEEP_EXIT_CODES)]
    Sweep(SweepArgs),
    /// Show what a robot file (URDF or MJCF) holds and what of it is not used.
    Info(InfoArgs),
    /// Show a scene, a robot or a recorded run in the browser and play with it.
    View(ViewArgs),
    /// Print the JSON schema of a kind of file, for editors, as `delassus schema scene`.
    Schema {
        /// Which kind of file.
        kind: SchemaKind,
    },
    /// Print a script that lets a shell complete commands and options, as `delassus completions bash`.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

/// Files that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaKind {
    /// Scene files, TOML.
    Scene,
}

/// Options of every command that solves.
#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    /// Solver with its keys, as `gauss-seidel,rule=exact,relax=1.3`; repeat for several. `all` stands for every
    /// variant a comparison runs. [default: for solve `auto`, for compare `all`]
    #[arg(short = 's', long = "solver", value_name = "NAME[,KEY=VALUE…]")]
    pub(crate) solvers: Vec<String>,

    /// Most sweeps or pivots. [default: 1000000 for solve; for compare 10000, or the scene's]
    #[arg(long, value_name = "COUNT")]
    pub(crate) iterations: Option<usize>,

    /// Largest acceptable law residual in m/s. Zero, with `--iterations k`, means exactly k sweeps.
    /// [default: for solve relative, 1e-10 of the largest row velocity without impulses, or what rounding can tell;
    /// for compare 1e-6, or the scene's]
    #[arg(long, value_name = "M/S", value_parser = tolerance, allow_negative_numbers = true)]
    pub(crate) tolerance: Option<f64>,

    /// Most time of one run, or of one solve in a scene's step, in seconds. [default: none for solve and scenes,
    /// 10 for compare]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) time_limit: Option<Duration>,

    /// Threads: `solve` does so many runs side by side, `compare` never overlaps runs and lets each use them. The
    /// answers are the same bits for any number; times of `solve` only mean something at one.
    #[arg(long, value_name = "COUNT", default_value_t = 1,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,

    /// Seed of solvers that use chance.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,

    /// Print JSON instead of tables.
    #[arg(short = 'j', long)]
    pub(crate) json: bool,

    /// No progress and no remarks on standard error; errors and skipped files are still reported.
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,

    /// How files are read. [default: by name: .dat, .hdf5 or .h5, otherwise json; standard input: json]
    #[arg(long, value_name = "json|fclib|dat|lcp|mlcp|fc2d|fc3d|gfc2d|gfc3d|rfc2d|rfc3d|grfc2d|grfc3d|relay|gmp", value_parser = format)]
    pub(crate) format: Option<Format>,

    /// Also write the answers as JSON into this folder, which must be empty or new.
    #[arg(short = 'o', long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Let `--out` write into a folder that is not empty, and `--save-problem` over a file.
    #[arg(short = 'f', long)]
    pub(crate) force: bool,

    /// Start from zero even where a file has impulses to start from, as captured ones do.
    #[arg(long)]
    pub(crate) cold: bool,
}

/// Options of `solve`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct SolveArgs {
    /// Problem files, `-` for standard input, or built-in problems as `name` or `name:size`.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) common: Common,

    /// Put one entry per sweep, with its law residual, into the JSON answer.
    #[arg(long)]
    pub(crate) history: bool,

    /// Put M, J, J M⁻¹Jᵀ and the bias force under gravity (0, 0, −9.81) into the JSON answer of a `tree` file.
    #[arg(long)]
    pub(crate) matrices: bool,

    /// Most pivots, where they are limited apart from the sweeps of `--iterations`. [default: as `--iterations`, or
    /// 1000000]
    #[arg(long, value_name = "COUNT")]
    pub(crate) pivots: Option<usize>,

    /// Also write the problem itself as JSON: exports built-in problems, converts .dat and .hdf5.
    #[arg(long, value_name = "FILE")]
    pub(crate) save_problem: Option<PathBuf>,
}

/// Options of `compare`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each run is repeated until three are done or 50 ms are spent, and the shortest counts.\n\
    Ctrl-C ends after the run under way; what was done is printed and written, and the exit code is 1.\n\
    Exit code: 0 each work is brought to the tolerance by some solver, 1 some work is not, 2 bad input or usage."
)]
pub(crate) struct CompareArgs {
    /// Problem files, folders of them or of captures, `-` for standard input, scenes (`.toml` or built-in) or built-in
    /// problems as `name` or `name:size`. A name that is both means the scene; `problem:` and `scene:` in front
    /// decide. `experiment:NAME` is one of the Lemke paper's, `experiments` all of them.
    #[arg(value_name = "WORK", required = true)]
    pub(crate) works: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) common: Common,

    /// Write one page with every plot and table, which opens in a browser without a network.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Draw residual against time, one line per solver, one panel for each of the first six works.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Simulated time of each scene in seconds. [default: the scene's]
    #[arg(short = 't', long, value_name = "SECONDS", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) time: Option<f64>,
}

/// Options of `bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct BenchArgs {
    /// Which experiments.
    pub(crate) name: Bench,

    /// Largest peg, in contacts; the paper stops at 32.
    #[arg(long, value_name = "CONTACTS", default_value_t = 256)]
    pub(crate) largest_peg: usize,

    /// Largest stack, in blocks; the paper stops at 5.
    #[arg(long, value_name = "BLOCKS", default_value_t = 50)]
    pub(crate) largest_stack: usize,

    /// Random wrenches for each geometry.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub(crate) wrenches: usize,

    /// Seed of wrenches and coefficients of friction.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,

    /// Also write JSON and figures into this folder, which must be empty or new.
    #[arg(short = 'o', long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Let `--out` write into a folder that is not empty.
    #[arg(short = 'f', long)]
    pub(crate) force: bool,

    /// Print JSON instead of tables.
    #[arg(short = 'j', long)]
    pub(crate) json: bool,

    /// No progress on standard error.
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,

    /// Chains of `chains`.
    #[arg(long, value_name = "COUNT", default_value_t = 2500, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) chains: u32,

    /// A small size that takes seconds: its times mean little.
    #[arg(long)]
    pub(crate) quick: bool,
}

/// The benchmarks there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Bench {
    /// Peg in hole, ten situations of one body, stacked blocks: Lemke's algorithm by three methods.
    Lemke,
    /// Chains of 40 beads: every way of stepping them against the reference trajectory, by time per frame.
    Chains,
}

/// Options of `doctor`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 nothing worse than a note, 1 a warning or an error was found, 2 bad input or usage."
)]
pub(crate) struct DoctorArgs {
    /// A scene (`.toml` or built-in), a problem file or a built-in problem. A name that is both means the scene;
    /// `problem:` and `scene:` in front decide.
    #[arg(value_name = "SCENE|FILE")]
    pub(crate) work: PathBuf,

    /// Leave out what acts in a robot file and is not simulated, and say so, instead of refusing the file.
    #[arg(long)]
    pub(crate) lossy: bool,

    /// Steps a scene is watched for.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    pub(crate) steps: usize,

    /// Length of a step in seconds. [default: the scene's]
    #[arg(long, value_name = "SECONDS", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) dt: Option<f64>,

    /// Solver with its keys that steps the scene. [default: the scene's]
    #[arg(short = 's', long, value_name = "NAME[,KEY=VALUE…]")]
    pub(crate) solver: Option<String>,

    /// Law residual to reach in m/s. [default: the scene's, or 1e-6 for a problem]
    #[arg(long, value_name = "M/S", value_parser = tolerance, allow_negative_numbers = true)]
    pub(crate) tolerance: Option<f64>,

    /// How a problem file is read. [default: by name]
    #[arg(long, value_name = "json|fclib|dat|lcp|mlcp|fc2d|fc3d|gfc2d|gfc3d|rfc2d|rfc3d|grfc2d|grfc3d|relay|gmp", value_parser = format)]
    pub(crate) format: Option<Format>,

    /// Print JSON instead of words.
    #[arg(short = 'j', long)]
    pub(crate) json: bool,
}

/// Options of `info`.
#[derive(Debug, clap::Args)]
pub(crate) struct InfoArgs {
    /// A URDF or MJCF file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// How the root of a URDF robot stands on the ground, which its file does not say.
    #[arg(long, value_enum, default_value = "fixed")]
    pub(crate) base: BaseChoice,

    /// Leave out what acts in the file and is not simulated, and list it, instead of refusing the file.
    #[arg(long)]
    pub(crate) lossy: bool,

    /// Add mass matrix, bias forces and centre of mass in a displaced state to the JSON.
    #[arg(long, requires = "json")]
    pub(crate) dynamics: bool,

    /// Print JSON instead of a table.
    #[arg(short = 'j', long)]
    pub(crate) json: bool,
}

/// How a robot stands on the ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BaseChoice {
    /// Bolted to it.
    Fixed,
    /// Free to move.
    Floating,
}

/// Options of `list`.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// What to list. [default: all of it]
    pub(crate) what: Option<Section>,

    /// Print JSON instead of tables.
    #[arg(short = 'j', long)]
    pub(crate) json: bool,
}

/// What there is to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Section {
    /// Built-in problems.
    Problems,
    /// Built-in scenes.
    Scenes,
    /// Solvers, their keys and the laws they fit.
    Solvers,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn tolerance_and_time_refuse_what_is_no_amount() {
        for text in ["NaN", "inf", "-1", "", "1e-6x"] {
            assert!(tolerance(text).is_err(), "{text}");
            assert!(seconds(text).is_err(), "{text}");
            assert!(positive(text).is_err(), "{text}");
        }
        assert_eq!(tolerance("0"), Ok(0.0));
        assert!(seconds("1e300").is_err());
    }
}
