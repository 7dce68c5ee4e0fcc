//! One constraint problem for multibody dynamics, solvers behind one trait, one judge of the answer.
//!
//! # The problem
//!
//! ```text
//! M v = p + Gᵀλ                momentum: masses M, momentum before constraints p
//! w   = G v + Σλ − q           row velocity: Jacobian G, compliance Σ, wanted velocity q
//! (λ_k, w_k) obey law k        for every block k: joint, limit, motor, contact with friction
//! ```
//!
//! Find the velocity v and the impulses λ. Without v it reads w = Sλ + c with the Delassus operator
//! S = G M⁻¹Gᵀ + Σ. Units are SI; λ_n > 0 pushes apart, w_n > 0 separates. See [`problem`].
//!
//! # A world
//!
//! A ball falls on the ground and comes to rest.
//!
#![cfg_attr(feature = "world", doc = "```")]
#![cfg_attr(not(feature = "world"), doc = "```ignore")]
//! use delassus::collide::Shape;
//! use delassus::math::DVec3;
//! use delassus::world::Body;
//! use delassus::{Auto, WorldBuilder};
//!
//! let mut builder = WorldBuilder::default();
//! builder.add_ground()?;
//! let ball = builder.add(Shape::ball(0.1), 1000.0, Body::at("ball", DVec3::Z * 0.5))?;
//! let mut world = builder.build()?;
//! let mut solver = Auto::default();
//! for _ in 0..100 {
//!     let step = world.step(0.01, &mut solver)?;
//!     assert_eq!(step.unsolved, 0);
//! }
//! assert!((world.bodies().position[ball.index()].z - 0.1).abs() < 1e-3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate's examples go on: motors changed at every step, contact forces, problems kept for later, a solver of
//! one's own.
//!
//! # A problem by hand
//!
//! A puck of 1 kg slides over the ground for one step of 10 ms.
//!
//! ```
//! use delassus::{GaussSeidel, Law, MassBlock, Problem, Solution, Solver, Status};
//!
//! let mut builder = Problem::builder();
//! // Three velocities (x, y, z); p = M v₀ + h f: 2 m/s along x, gravity along −z.
//! let mass = MassBlock::dense(vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0])?;
//! let puck = builder.add_mass(mass, &[2.0, 0.0, -0.0981])?;
//! // One contact with the ground: rows (n, t₁, t₂), Coulomb's law, rigid, nothing prescribed.
//! let rows = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
//! builder.add_block(Law::FrictionCone { mu: 0.5 }, &[(puck, &rows)], &[0.0; 3], &[0.0; 3])?;
//! let problem = builder.build()?;
//!
//! let mut solution = Solution::zeros(&problem);
//! let report = GaussSeidel::default().solve(&problem, &mut solution);
//! assert_eq!(report.status, Status::Solved);
//! assert!((solution.v[0] - (2.0 - 0.5 * 0.0981)).abs() < 1e-12);
//! println!("{report}");
//! # Ok::<(), delassus::BuildError>(())
//! ```
//!
//! # Which solver obeys which law
//!
//! *Exact* means that the solver obeys the law itself, *approximate* that it solves a nearby law, such as eight facets
//! for a cone. [`Solver::fit`] says the same at run time, and every [`Report`] carries it.
//!
//! | solver | equality | unilateral, interval, friction box | friction cone, elliptic cone | friction facets | rolling, spinning |
//! |---|---|---|---|---|---|
//! | `auto` | exact | exact | exact | exact | exact |
//! | `newton` | exact | exact | exact | exact | exact |
//! | `gauss-seidel`, `coloured`, `jacobi`, `hybrid` with `rule=iso` (default) or `exact` | exact | exact | exact | no | exact |
//! | the same with `rule=box`, `project`, `nonlinear` or `ccp` | exact | exact | approximate | no | no |
//! | `jacobi,accelerate=chebyshev` | exact | no | no | no | no |
//! | `lemke`, `lemke-reduced`, `lemke-structural`, `lemke-standard` | exact | exact | approximate | exact | no |
//! | `direct`, `kkt` | exact | no | no | no | no |
//!
//! At μ = 0 every rule but `project` is exact. [`solver::catalogue`] lists the solvers with their keys; [`solver::from_spec`] makes one from
//! `gauss-seidel,rule=exact,relax=1.3`.
//!
//! # Map
//!
//! | module | what it holds |
//! |---|---|
//! | [`world`] | worlds of bodies, joints, contacts and robots, stepped by any solver |
//! | [`collide`] | shapes and the contacts between them |
//! | [`model`] | robots from URDF and MJCF, scenes from TOML files |
//! | [`scenes`] | built-in scenes by name |
//! | [`problem`] | the problem as one immutable value, its builder, masses, rows, Delassus operator |
//! | [`problem::residual`] | the judge: what every metric of an answer means |
//! | [`problem::stabilise`] | Σ and q of joints and contacts: SPOOK, Baumgarte, springs, restitution |
//! | [`problem::file`] | reading and writing problems: JSON, Siconos, FCLIB |
//! | [`law`] | the laws between impulse and row velocity, and how far a block is from one |
//! | [`solver`] | the trait, how a run stops, what it reports |
//! | [`solver::auto`] | which solver is tried for which problem |
//! | [`solver::sweep`] | Gauss-Seidel, the same in lanes and on threads, Jacobi, hybrid |
//! | [`solver::pivot`] | Lemke's algorithm |
//! | [`solver::newton`] | second order, for every law |
//! | [`solver::exact`] | joints exactly by sparse factorisation; constrained trees by articulated-body passes |
//! | [`tree`] | kinematic trees in joint coordinates: inverse and forward dynamics, mass matrix, Jacobians |
//! | [`chains`] | very many ball-jointed chains side by side, first and second order in time |
//! | [`derivative`] | how an answer changes with the data of its problem |
//! | [`doctor`] | what is wrong with a scene or a problem, in words |
//! | [`gallery`] | built-in problems by name |
//! | [`linalg`], [`math`] | factorisations and orders, vectors and lanes |
//!
//! # Features
//!
//! All are on by default: `world` (worlds, collision, scenes), `robots` (URDF and MJCF; implies `world`), `files`
//! (Siconos and FCLIB problem files) and `parallel` (threads). Without them the crate holds problems, laws, every solver,
//! trees, chains and JSON files.

// What only an optional module uses is dead without it; with all features the compiler still finds what nobody uses.
#![cfg_attr(
    not(all(feature = "files", feature = "robots", feature = "parallel")),
    allow(dead_code, unused_imports)
)]

#[cfg(all(doctest, feature = "world"))]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod chains;
#[cfg(feature = "world")]
pub mod collide;
pub mod derivative;
pub mod doctor;
mod error;
pub mod gallery;
mod index;
pub mod law;
pub mod linalg;
pub mod math;
#[cfg(feature = "world")]
pub mod model;
pub mod problem;
#[cfg(feature = "world")]
pub mod scenes;
pub mod solver;
pub mod tree;
#[cfg(feature = "world")]
pub mod world;

#[cfg(feature = "world")]
pub use world::{World, WorldBuilder};

pub use problem::mass::MassBlock;
pub use problem::residual::Residual;
pub use problem::{Problem, ProblemBuilder, Solution};

pub use law::Law;
pub use tree::Tree;

pub use solver::auto::Auto;
pub use solver::exact::direct::Direct;
pub use solver::exact::kkt::Kkt;
pub use solver::newton::Newton;
pub use solver::pivot::Lemke;
pub use solver::sweep::coloured::Coloured;
pub use solver::sweep::gauss_seidel::GaussSeidel;
pub use solver::sweep::hybrid::Hybrid;
pub use solver::sweep::jacobi::Jacobi;
pub use solver::{Fit, Report, Solver, Status, Stop};

pub use error::BuildError;
pub use index::{BlockId, BodyId, JointId, LinkId, MassId, RobotId};
