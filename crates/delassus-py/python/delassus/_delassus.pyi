from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, TypedDict, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Answer",
    "Batch",
    "BatchReport",
    "Body",
    "Derivative",
    "Diagnosis",
    "Error",
    "Finding",
    "Joint",
    "Problem",
    "Recording",
    "Robot",
    "Shape",
    "StepReport",
    "World",
    "__version__",
    "derivative",
    "doctor",
    "friction",
    "lcp",
    "solve",
    "solvers",
    "variants",
]

_Path = str | PathLike[str]
_Floats = NDArray[np.float64]

class _Residuals(TypedDict):
    law: float
    law_rms: float
    relative: float
    momentum: float
    feasibility: float
    complementarity: float

class _Probe(TypedDict):
    kinetic: float
    potential: float
    momentum: _Floats
    angular_momentum: _Floats

class _History(TypedDict):
    sweep: NDArray[np.uint64]
    law: _Floats
    eta: _Floats
    dual_decrease: _Floats
    seconds: _Floats

__version__: str

class Error(ValueError): ...

@final
class Problem:
    @staticmethod
    def read(path: _Path, format: str | None = None) -> Problem: ...
    @staticmethod
    def parse(content: str | bytes, format: str = "json") -> Problem: ...
    @staticmethod
    def builtin(name: str) -> Problem: ...
    def json(self) -> str: ...
    def save(self, path: _Path) -> None: ...
    @property
    def kind(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_velocities(self) -> int: ...
    @property
    def laws(self) -> list[str]: ...
    @property
    def c(self) -> _Floats: ...
    @property
    def guess(self) -> _Floats | None: ...
    def delassus(self) -> _Floats: ...
    def residuals(self, lambda_: ArrayLike) -> _Residuals: ...

@final
class Derivative:
    @property
    def modes(self) -> list[Literal["open", "held", "slips", "mixed"]]: ...
    @property
    def degenerate(self) -> list[int]: ...
    @property
    def unique(self) -> bool: ...
    def forward(
        self,
        *,
        p: ArrayLike | None = None,
        q: ArrayLike | None = None,
        sigma: ArrayLike | None = None,
        mu: ArrayLike | None = None,
        G: ArrayLike | None = None,
        M: ArrayLike | None = None,
    ) -> tuple[_Floats, _Floats]: ...
    def backward(
        self, v: ArrayLike | None = None, lambda_: ArrayLike | None = None
    ) -> dict[str, _Floats]: ...

@final
class Answer:
    @property
    def status(self) -> str: ...
    @property
    def solved(self) -> bool: ...
    @property
    def residual(self) -> float: ...
    @property
    def residuals(self) -> _Residuals: ...
    @property
    def worst_block(self) -> int | None: ...
    @property
    def fit(self) -> Literal["exact", "approximate", "no"]: ...
    @property
    def solver(self) -> str: ...
    @property
    def options(self) -> dict[str, str]: ...
    @property
    def chosen(self) -> list[str]: ...
    @property
    def fallback(self) -> str | None: ...
    @property
    def iterations(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def message(self) -> str | None: ...
    @property
    def lambda_(self) -> _Floats: ...
    @property
    def z(self) -> _Floats: ...
    @property
    def v(self) -> _Floats: ...
    @property
    def w(self) -> _Floats: ...
    @property
    def ray(self) -> _Floats | None: ...
    @property
    def farkas(self) -> _Floats | None: ...
    @property
    def history(self) -> _History: ...

@final
class Finding:
    @property
    def severity(self) -> Literal["note", "warning", "error"]: ...
    @property
    def kind(self) -> str: ...
    @property
    def what(self) -> str: ...
    @property
    def places(self) -> list[str]: ...
    @property
    def count(self) -> int: ...
    @property
    def number(self) -> float: ...
    @property
    def unit(self) -> str: ...
    @property
    def remedy(self) -> str: ...

@final
class Diagnosis:
    @property
    def findings(self) -> list[Finding]: ...
    @property
    def healthy(self) -> bool: ...
    @property
    def solver(self) -> str: ...
    @property
    def why(self) -> str: ...

@final
class StepReport:
    @property
    def status(self) -> str: ...
    @property
    def solved(self) -> bool: ...
    @property
    def unsolved(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def time(self) -> float: ...
    @property
    def residual(self) -> float: ...
    @property
    def worst_residual(self) -> float: ...
    @property
    def worst(self) -> str | None: ...
    @property
    def iterations(self) -> int: ...
    @property
    def solver(self) -> str: ...
    @property
    def chosen(self) -> list[str]: ...
    @property
    def message(self) -> str | None: ...
    @property
    def contacts(self) -> int: ...
    @property
    def penetration(self) -> float: ...
    @property
    def violation(self) -> float: ...
    @property
    def kinetic(self) -> float: ...
    @property
    def potential(self) -> float: ...

_Drive = Mapping[str, float] | None

@final
class Shape:
    @staticmethod
    def sphere(
        radius: float,
        *,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        material: str | None = None,
        member: Sequence[int] | None = None,
        with_: Sequence[int] | None = None,
    ) -> Shape: ...
    @staticmethod
    def box(
        half: ArrayLike,
        *,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        material: str | None = None,
        member: Sequence[int] | None = None,
        with_: Sequence[int] | None = None,
    ) -> Shape: ...
    @staticmethod
    def capsule(
        half_length: float,
        radius: float,
        *,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        material: str | None = None,
        member: Sequence[int] | None = None,
        with_: Sequence[int] | None = None,
    ) -> Shape: ...
    @staticmethod
    def cylinder(
        half_length: float,
        radius: float,
        *,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        material: str | None = None,
        member: Sequence[int] | None = None,
        with_: Sequence[int] | None = None,
    ) -> Shape: ...
    @staticmethod
    def hull(
        points: ArrayLike,
        *,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        material: str | None = None,
        member: Sequence[int] | None = None,
        with_: Sequence[int] | None = None,
    ) -> Shape: ...
    @staticmethod
    def half_space(
        *,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        material: str | None = None,
        member: Sequence[int] | None = None,
        with_: Sequence[int] | None = None,
    ) -> Shape: ...
    @staticmethod
    def mesh(
        vertices: ArrayLike,
        triangles: ArrayLike,
        *,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        material: str | None = None,
        member: Sequence[int] | None = None,
        with_: Sequence[int] | None = None,
    ) -> Shape: ...
    @staticmethod
    def height_field(
        heights: ArrayLike,
        size: ArrayLike,
        *,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        material: str | None = None,
        member: Sequence[int] | None = None,
        with_: Sequence[int] | None = None,
    ) -> Shape: ...

@final
class Body:
    @property
    def name(self) -> str: ...
    @property
    def index(self) -> int: ...
    @property
    def motion(self) -> Literal["dynamic", "static", "kinematic", "link"]: ...
    @property
    def mass(self) -> float: ...
    @property
    def position(self) -> _Floats: ...
    @position.setter
    def position(self, value: ArrayLike) -> None: ...
    @property
    def orientation(self) -> _Floats: ...
    @orientation.setter
    def orientation(self, value: ArrayLike) -> None: ...
    @property
    def velocity(self) -> _Floats: ...
    @velocity.setter
    def velocity(self, value: ArrayLike) -> None: ...
    @property
    def spin(self) -> _Floats: ...
    @spin.setter
    def spin(self, value: ArrayLike) -> None: ...
    def push(
        self, force: ArrayLike, *, torque: ArrayLike | None = None, at: ArrayLike | None = None
    ) -> None: ...

@final
class Joint:
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def bodies(self) -> list[str]: ...
    @property
    def coordinate(self) -> float: ...
    @property
    def violation(self) -> float: ...
    @property
    def force(self) -> _Floats: ...
    @property
    def torque(self) -> _Floats: ...
    def drive(
        self,
        *,
        motor: _Drive = ...,
        servo: _Drive = ...,
        limits: ArrayLike | None = ...,
        friction: float = ...,
    ) -> None: ...
    def remove(self) -> None: ...

@final
class Recording:
    def close(self) -> list[Path]: ...
    @property
    def closed(self) -> bool: ...
    @property
    def folder(self) -> Path | None: ...
    def __enter__(self) -> Recording: ...
    def __exit__(self, *error: object) -> Literal[False]: ...

@final
class World:
    def __new__(
        cls,
        title: str = "untitled",
        *,
        gravity: ArrayLike | None = None,
        dt: float | None = None,
        solver: str | None = None,
        tolerance: float | None = None,
        iterations: int | None = None,
        substeps: int | None = None,
        integrator: str | None = None,
        friction: str | None = None,
        contact_compliance: float | None = None,
        contact_damping: float | None = None,
        restitution_threshold: float | None = None,
        gyroscopic: str | None = None,
        geometric_stiffness: str | None = None,
        sleep: Mapping[str, float] | None = None,
    ) -> World: ...
    def add_material(
        self,
        name: str,
        *,
        friction: float | None = None,
        restitution: float | None = None,
        rolling: float | None = None,
        spinning: float | None = None,
    ) -> None: ...
    def pair_materials(
        self,
        first: str,
        second: str,
        *,
        friction: float | None = None,
        restitution: float | None = None,
        rolling: float | None = None,
        spinning: float | None = None,
    ) -> None: ...
    def add_body(
        self,
        name: str = "",
        shapes: Shape | Sequence[Shape] | None = None,
        *,
        motion: Literal["dynamic", "static", "kinematic"] = "dynamic",
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        spin: ArrayLike | None = None,
        mass: float | None = None,
        inertia: ArrayLike | None = None,
        density: float | None = None,
    ) -> Body: ...
    def add_ground(
        self, name: str = "ground", *, height: float = 0.0, material: str | None = None
    ) -> Body: ...
    def add_joint(
        self,
        kind: Literal["ball", "hinge", "slider", "universal", "fixed", "distance", "gear", "rolling"],
        bodies: tuple[Body | str | None, Body | str | None] | None = None,
        *,
        name: str = "",
        point: ArrayLike | None = None,
        axis: ArrayLike | None = None,
        axes: ArrayLike | None = None,
        anchors: ArrayLike | None = None,
        length: float | None = None,
        least: float | None = None,
        greatest: float | None = None,
        terms: Sequence[tuple[str, ArrayLike, float]] | None = None,
        radius: float | None = None,
        normal: ArrayLike | None = None,
        limits: ArrayLike | None = None,
        motor: _Drive = None,
        servo: _Drive = None,
        friction: float | None = None,
        compliance: float | None = None,
        damping: float | None = None,
        collide: bool | None = None,
    ) -> Joint: ...
    def add_robot(
        self,
        file: _Path,
        name: str = "robot",
        *,
        floating: bool = False,
        lossy: bool = False,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        material: str | None = None,
        self_collide: bool | None = None,
    ) -> str: ...
    def body(self, name: str) -> Body: ...
    def joint(self, name: str) -> Joint: ...
    @property
    def joint_names(self) -> list[str]: ...
    @staticmethod
    def scene(name: str) -> World: ...
    @staticmethod
    def read(path: _Path, *, floating: bool = False) -> World: ...
    @staticmethod
    def parse(text: str, *, folder: _Path | None = None, floating: bool = False) -> World: ...
    def step(self, n: int = 1, dt: float | None = None) -> StepReport: ...
    def use_solver(
        self,
        solver: str | None = None,
        *,
        tolerance: float | None = None,
        iterations: int | None = None,
        seed: int = 0,
    ) -> None: ...
    def problem(self, dt: float | None = None) -> Problem: ...
    def record(
        self,
        folder: _Path | None = None,
        *,
        export: Sequence[_Path] = (),
        every: int = 1,
        overwrite: bool = False,
    ) -> Recording: ...
    @property
    def title(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def time(self) -> float: ...
    @property
    def dt(self) -> float: ...
    @property
    def solver(self) -> str: ...
    @property
    def body_names(self) -> list[str]: ...
    @property
    def positions(self) -> _Floats: ...
    @positions.setter
    def positions(self, value: ArrayLike) -> None: ...
    @property
    def orientations(self) -> _Floats: ...
    @orientations.setter
    def orientations(self, value: ArrayLike) -> None: ...
    @property
    def velocities(self) -> _Floats: ...
    @velocities.setter
    def velocities(self, value: ArrayLike) -> None: ...
    @property
    def spins(self) -> _Floats: ...
    @spins.setter
    def spins(self, value: ArrayLike) -> None: ...
    @property
    def forces(self) -> _Floats: ...
    @forces.setter
    def forces(self, value: ArrayLike) -> None: ...
    @property
    def torques(self) -> _Floats: ...
    @torques.setter
    def torques(self, value: ArrayLike) -> None: ...
    @property
    def robots(self) -> list[str]: ...
    def robot_joints(self, robot: int | str = 0) -> list[str]: ...
    def robot_state(self, robot: int | str = 0) -> tuple[_Floats, _Floats]: ...
    def place_robot(self, q: ArrayLike, v: ArrayLike, robot: int | str = 0) -> None: ...
    def push_robot(self, tau: ArrayLike, robot: int | str = 0) -> None: ...
    def aim_servo(self, joint: str, position: float, robot: int | str = 0) -> None: ...
    def drive_robot(
        self,
        joint: str,
        robot: int | str = 0,
        *,
        motor: _Drive = ...,
        servo: _Drive = ...,
        limits: ArrayLike | None = ...,
        friction: float = ...,
    ) -> None: ...
    @property
    def contacts(self) -> NDArray[np.void]: ...
    @property
    def energy(self) -> float: ...
    @property
    def probe(self) -> _Probe: ...
    def checkpoint(self) -> bytes: ...
    def restore(self, checkpoint: str | bytes) -> None: ...
    @property
    def state_hash(self) -> int: ...

@final
class Batch:
    def __new__(cls, world: World, n: int) -> Batch: ...
    def step(
        self, n: int = 1, *, tau: ArrayLike | None = None, dt: float | None = None
    ) -> BatchReport: ...
    def robot_states(self) -> tuple[_Floats, _Floats]: ...
    def place_robots(self, q: ArrayLike, v: ArrayLike) -> None: ...
    @property
    def positions(self) -> _Floats: ...
    def reset(self, copies: list[int] | None = None) -> None: ...
    @property
    def times(self) -> _Floats: ...
    @property
    def state_hashes(self) -> list[int]: ...
    def __len__(self) -> int: ...

@final
class BatchReport:
    @property
    def solved(self) -> bool: ...
    @property
    def unsolved(self) -> NDArray[np.uint64]: ...
    @property
    def residual(self) -> _Floats: ...
    @property
    def refused(self) -> dict[int, str]: ...

@final
class Robot:
    @staticmethod
    def from_file(path: _Path, *, floating: bool = False) -> Robot: ...
    @staticmethod
    def parse(text: str, *, folder: _Path | None = None, floating: bool = False) -> Robot: ...
    @property
    def name(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def n_coordinates(self) -> int: ...
    @property
    def n_dofs(self) -> int: ...
    @property
    def links(self) -> list[str]: ...
    @property
    def joints(self) -> list[str]: ...
    @property
    def mass(self) -> float: ...
    @property
    def neutral(self) -> _Floats: ...
    def rnea(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, gravity: ArrayLike | None = None) -> _Floats: ...
    def aba(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, gravity: ArrayLike | None = None) -> _Floats: ...
    def crba(self, q: ArrayLike) -> _Floats: ...
    def jacobian(self, q: ArrayLike, link: int | str, point: ArrayLike | None = None) -> _Floats: ...
    def pose(self, q: ArrayLike, link: int | str) -> _Floats: ...
    def integrate(self, q: ArrayLike, v: ArrayLike, h: float) -> _Floats: ...

# A matrix is an array or anything with `tocoo`, as SciPy's sparse matrices have; they bring no types along.
def lcp(M: Any, q: ArrayLike) -> Problem: ...
def friction(W: Any, q: ArrayLike, mu: ArrayLike, rows: int = 3) -> Problem: ...
def solve(
    problem: Problem,
    solver: str = "auto",
    *,
    tolerance: float | None = None,
    iterations: int | None = None,
    time_limit: float | None = None,
    start: ArrayLike | None = None,
    seed: int = 0,
    history: bool = False,
) -> Answer: ...
def derivative(problem: Problem, answer: Answer | ArrayLike) -> Derivative: ...
def doctor(problem: Problem, *, tolerance: float = 1e-6) -> Diagnosis: ...
def solvers() -> dict[str, str]: ...
def variants() -> list[str]: ...
