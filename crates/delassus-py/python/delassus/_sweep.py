"""Thousands of runs: parameters × solvers × seeds, on Dask distributed.

One process hands out chunks of runs and writes the rows of each finished chunk as a Parquet file of its own, whole or
not at all. So a sweep that is interrupted goes on where it was: what has a row is not run again. Every run depends on
its point alone, so that the numbers are the same for any number of workers.
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
import math
import multiprocessing
import os
import string
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._delassus import Error, Problem, World, __version__

if TYPE_CHECKING:
    import pandas
    import pyarrow

Row = dict[str, Any]
Point = dict[str, Any]
Run = Callable[..., Mapping[str, Any]]

_MANIFEST = "sweep.json"
_NEEDS = "delassus.sweep needs Dask and PyArrow; pip install 'dask[distributed]' pyarrow, or 'delassus[sweep]'"
_GUARD = 'a script that sweeps is imported by its workers: keep the call below `if __name__ == "__main__":`'
# Columns that every row has besides its parameters and results.
_OWN = ("run", "solver", "seed", "status", "seconds", "error", "problem")
# Tasks a worker should get, so that the last ones do not wait for a single long chunk.
_TASKS_A_WORKER = 16
_MOST_A_TASK = 200


class Failed(Exception):
    """Raised by the function of a sweep where a run is of no use; its problem is kept with the row."""

    def __init__(self, message: str, problem: Problem | None = None) -> None:
        super().__init__(message)
        self.problem = problem


class Sweep:
    """The rows of a sweep, in the order of its runs, and the folder they lie in."""

    def __init__(self, folder: Path, table: pyarrow.Table) -> None:
        self.folder, self.table = folder, table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def rows(self) -> list[Row]:
        """One dict for every run."""
        rows: list[Row] = self.table.to_pylist()
        return rows

    @property
    def failed(self) -> list[Row]:
        """Rows of runs that raised, or whose worker died too often."""
        return [row for row in self.rows() if row["status"] in ("failed", "lost")]

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame, where pandas is installed."""
        frame: pandas.DataFrame = self.table.to_pandas()
        return frame

    def _repr_html_(self) -> str:
        return str(self.to_pandas()._repr_html_())

    def __repr__(self) -> str:
        counts: dict[str, int] = {}
        for status in self.table.column("status").to_pylist():
            counts[status] = counts.get(status, 0) + 1
        told = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        return f"<Sweep of {len(self)} runs in {self.folder}: {told}>"


@dataclass(frozen=True)
class Scene:
    """A scene as the run of a sweep: a built-in name, or the text of a file, with `$name` for each parameter."""

    scene: str
    folder: str | None
    seconds: float | None

    def world(self, point: Mapping[str, Any], solver: str, seed: int) -> World:
        """The world of one run."""
        try:
            text = string.Template(self.scene).substitute(point)
        except (KeyError, ValueError) as cause:
            raise Error(f"the scene names a parameter that is not given: {cause}") from None
        lines = "\n" in text or text.lstrip().startswith("<")
        world = World.parse(text, folder=self.folder) if lines else World.scene(text)
        world.use_solver(solver, seed=seed)
        return world

    def __call__(self, *, solver: str, seed: int, **point: Any) -> Row:
        """Steps the scene and says how it went."""
        world = self.world(point, solver, seed)
        steps = max(1, round((1.0 if self.seconds is None else self.seconds) / world.dt))
        unsolved, worst, iterations, first = 0, 0.0, 0, None
        for number in range(steps):
            try:
                report = world.step()
            except Error as error:
                raise Failed(f"step {number + 1}: {error}", _problem(world)) from None
            unsolved += report.unsolved
            worst = max(worst, report.worst_residual)
            iterations += report.iterations
            if report.unsolved and first is None:
                first = number
        row: Row = {"steps": steps, "unsolved": unsolved, "worst_residual": worst, "iterations": iterations}
        row |= {"energy": world.energy, "state_hash": f"{world.state_hash:016x}"}
        if first is not None:
            row |= {"status": "unsolved", "problem": self.captured(point, solver, seed, first)}
        return row

    def captured(self, point: Mapping[str, Any], solver: str, seed: int, step: int) -> Problem | None:
        """The problem of a step: the same run again up to it, which has the same bits."""
        world = self.world(point, solver, seed)
        if step:
            world.step(step)
        return _problem(world)


def _problem(world: World) -> Problem | None:
    try:
        return world.problem()
    except Error:
        return None


def sweep(
    run: Run | str | os.PathLike[str],
    parameters: Mapping[str, Iterable[Any]] | Iterable[Point],
    *,
    folder: str | os.PathLike[str],
    solvers: Sequence[str] = ("auto",),
    seeds: Iterable[int] = (0,),
    seconds: float | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    chunk: int | None = None,
    retries: int = 3,
    progress: bool | Callable[[int, int, float], None] = True,
) -> Sweep:
    """Runs everything: each point of `parameters` with each of `solvers` and `seeds`, in parallel, into `folder`.

    `run` is a function of the parameters, `solver` and `seed` that gives a dict of results, or a scene: a built-in name
    or a file, with `$name` for every parameter, stepped for `seconds`. `parameters` are lists by name, whose product is
    taken, or a list of points. A run that raises keeps its row with the error; `Failed` keeps a problem too, and so do
    scenes whose steps are not solved.

    A local cluster of `workers` processes is used, or the Dask scheduler at the address `scheduler`. A run whose worker
    was killed is tried again, `retries` times. A sweep that was interrupted goes on with the same call; nothing is run
    twice. A function is known by its name: where its text changes, choose another folder.

    The rows are in `folder` as `part-*.parquet`; `read_sweep` reads them while it is under way too.
    """
    if scheduler is None and getattr(multiprocessing.current_process(), "_inheriting", False):
        raise Error(_GUARD)
    if chunk is not None and chunk < 1:
        raise Error(f"chunk is {chunk}; a task has at least one run")
    if not isinstance(seeds, Iterable):
        raise Error(f"seeds is {seeds!r}; give a list, as [0, 1, 2]")
    points = _points(parameters, solvers, seeds)
    if not callable(run) and not isinstance(run, (str, os.PathLike)):
        raise Error(f"run is {run!r}; give a function, the name of a scene or a file")
    call = run if callable(run) else _scene(run, seconds)
    place = Path(folder)
    _open(place, points, call)
    with _claimed(place):
        done = _done(place)
        left = [number for number in range(len(points)) if number not in done]
        if left:
            _all(place, points, left, call, _Way(scheduler, workers, chunk, retries, progress))
        return read_sweep(place)


def read_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """The rows that are in a folder so far, in the order of the runs."""
    arrow, parquet = _arrow()
    place = Path(folder)
    if not (place / _MANIFEST).is_file():
        raise Error(f"{place}: there is no sweep in this folder: {_MANIFEST} is missing")
    parts = [parquet.read_table(part) for part in sorted(place.glob("part-*.parquet"))]
    if not parts:
        return Sweep(place, arrow.table({name: arrow.array([], arrow.string()) for name in _OWN}))
    try:
        table = arrow.concat_tables(parts, promote_options="permissive")
    except (arrow.ArrowInvalid, arrow.ArrowTypeError):
        # A result that is a number in one part and text in another is text.
        table = _table(arrow, [row for part in parts for row in part.to_pylist()])
    return Sweep(place, table.sort_by("run"))


@dataclass(frozen=True)
class _Way:
    """How the runs are handed out."""

    scheduler: str | None
    workers: int | None
    chunk: int | None
    retries: int
    progress: bool | Callable[[int, int, float], None]


def _arrow() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as cause:
        raise ImportError(_NEEDS) from cause


def _distributed() -> tuple[Any, Any]:
    try:
        return importlib.import_module("dask"), importlib.import_module("distributed")
    except ImportError as cause:
        raise ImportError(_NEEDS) from cause


def _plain(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value


def _points(parameters: Any, solvers: Sequence[str], seeds: Iterable[int]) -> list[Point]:
    """All runs, in an order that depends on nothing but the call."""
    if isinstance(solvers, str):
        solvers = [solvers]
    if isinstance(parameters, Mapping):
        for name, values in parameters.items():
            if isinstance(values, str) or not isinstance(values, Iterable):
                raise Error(f"parameter {name} is {values!r}; give the list of its values")
        lists = {str(name): [_plain(value) for value in values] for name, values in parameters.items()}
        grid = [dict(zip(lists, values)) for values in itertools.product(*lists.values())]
    else:
        grid = [{str(name): _plain(value) for name, value in point.items()} for point in parameters]
    for point in grid:
        if taken := [name for name in point if name in _OWN]:
            raise Error(f'"{taken[0]}" is a column of every sweep; rename the parameter')
    ways = list(itertools.product(solvers, [int(seed) for seed in seeds]))
    points = [point | {"solver": solver, "seed": seed} for point in grid for solver, seed in ways]
    if not points:
        raise Error("there is nothing to run: a list of parameters, solvers or seeds is empty")
    return points


def _scene(given: str | os.PathLike[str], seconds: float | None) -> Scene:
    path = Path(given)
    if path.suffix in (".toml", ".urdf", ".xml", ".mjcf"):
        return Scene(path.read_text(encoding="utf-8"), str(path.parent.resolve()), seconds)
    return Scene(str(given), None, seconds)


def _open(folder: Path, points: list[Point], run: Run) -> None:
    """Makes the folder, or checks that it holds this very sweep."""
    name = repr(run) if isinstance(run, Scene) else f"{run.__module__}.{getattr(run, '__qualname__', type(run).__name__)}"
    text = json.dumps([name, points], default=str, sort_keys=True)
    manifest = {"version": __version__, "runs": len(points), "hash": hashlib.sha256(text.encode()).hexdigest(), "run": name}
    path = folder / _MANIFEST
    if path.is_file():
        known = json.loads(path.read_text(encoding="utf-8"))
        if known.get("hash") != manifest["hash"]:
            raise Error(f"{folder}: the folder holds another sweep (of {known.get('run')}); choose another, or repeat that one")
        return
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise Error(f"{folder}: the folder is not empty and holds no sweep; choose another")
    _write(path, json.dumps(manifest, indent=1).encode())


@contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """Keeps the folder for this process; systems without such locks do without."""
    with (folder / _MANIFEST).open("rb") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Error(f"{folder}: another process sweeps into this folder; wait for it, or choose another") from None
        except (ImportError, OSError):
            pass
        yield


def _write(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _done(folder: Path) -> set[int]:
    """Runs that have a row."""
    _, parquet = _arrow()
    done: set[int] = set()
    for part in folder.glob("part-*.parquet"):
        done.update(parquet.read_table(part, columns=["run"]).column("run").to_pylist())
    return done


def _task(run: Run, items: list[tuple[int, Point]]) -> list[tuple[Row, str | None]]:
    """Rows of some runs, each with the text of its problem where it is kept. Runs on a worker."""
    return [_one(run, number, point) for number, point in items]


def _one(run: Run, number: int, point: Point) -> tuple[Row, str | None]:
    row: Row = {"run": number, **point, "status": "solved", "seconds": 0.0, "error": None, "problem": None}
    problem: Any = None
    start = time.perf_counter()
    try:
        found = {str(name): _plain(value) for name, value in run(**point).items()}
        problem = found.pop("problem", None)
        if taken := [name for name in found if name in row and name != "status"]:
            raise Error(f'the run gives "{taken[0]}", which is a column already; rename it')
        row |= found
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # The sweep goes on, and the row says what happened; a panic is no Exception.
        problem = getattr(error, "problem", None)
        told = str(error) if isinstance(error, (Failed, Error)) else traceback.format_exc(limit=-3)
        row |= {"status": "failed", "error": f"{type(error).__name__}: {told}".strip()}
    row["seconds"] = time.perf_counter() - start
    return row, problem.json() if isinstance(problem, Problem) else None


def _keep(folder: Path, rows: list[tuple[Row, str | None]]) -> None:
    """Writes the problems that are kept, then the rows of a chunk as one file."""
    arrow, parquet = _arrow()
    for row, problem in rows:
        if problem is not None:
            (folder / "problems").mkdir(exist_ok=True)
            row["problem"] = f"problems/run-{row['run']:08}.json"
            _write(folder / row["problem"], problem.encode())
    sink = arrow.BufferOutputStream()
    parquet.write_table(_table(arrow, [row for row, _ in rows]), sink)
    first, last = rows[0][0]["run"], rows[-1][0]["run"]
    _write(folder / f"part-{first:08}-{last:08}.parquet", sink.getvalue().to_pybytes())


def _table(arrow: Any, rows: list[Row]) -> Any:
    """A table with the columns of all rows; where values of a column have no common type they become text."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        try:
            columns[name] = arrow.array(values)
        except (arrow.ArrowInvalid, arrow.ArrowTypeError, arrow.ArrowNotImplementedError, OverflowError):
            columns[name] = arrow.array([None if value is None else str(value) for value in values])
    return arrow.table(columns)


def _chunks(numbers: list[int], workers: int, chunk: int | None) -> Iterator[list[int]]:
    size = chunk or min(_MOST_A_TASK, max(1, math.ceil(len(numbers) / (workers * _TASKS_A_WORKER))))
    return (numbers[at : at + size] for at in range(0, len(numbers), size))


def _all(folder: Path, points: list[Point], left: list[int], run: Run, way: _Way) -> None:
    """Hands out what is left and keeps rows as they come."""
    dask, distributed = _distributed()
    bar = _Progress(len(points), len(points) - len(left), way.progress)
    # A run whose worker was killed goes to another one so often before it counts as lost.
    patience = dask.config.set({"distributed.scheduler.allowed-failures": way.retries})
    cluster = None
    with patience:
        if way.scheduler is None:
            count = way.workers or os.cpu_count() or 1
            # Each run has a core of its own; its bits do not depend on that.
            env = {"RAYON_NUM_THREADS": "1"}
            try:
                # Where port 0 is asked for, no other cluster of this machine is in the way.
                cluster = distributed.LocalCluster(
                    n_workers=count, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", env=env,
                    silence_logs=50,
                )
            except RuntimeError as cause:
                raise Error(f"the workers did not start ({cause}); {_GUARD}") from cause
        try:
            with distributed.Client(cluster or way.scheduler, set_as_default=False) as client:
                _hand_out(client, folder, points, left, run, way, bar)
        finally:
            bar.end()
            if cluster is not None:
                cluster.close()


def _hand_out(
    client: Any, folder: Path, points: list[Point], left: list[int], run: Run, way: _Way, bar: _Progress
) -> None:
    """Sends chunks to workers and keeps their rows, until every run has one."""
    _, distributed = _distributed()
    asked: dict[str, _Sent] = {}
    suspects: list[int] = []

    def send(numbers: list[int], tries: int = 0, alone: bool = False) -> Any:
        # The function goes with every chunk: data that only workers hold would die with them.
        future = client.submit(_task, run, [(i, points[i]) for i in numbers], pure=False)
        asked[future.key] = _Sent(numbers, tries, alone)
        return future

    cores = max(1, sum(client.nthreads().values()))
    waiting = distributed.as_completed([send(numbers) for numbers in _chunks(left, cores, way.chunk)], loop=client.loop)
    for future in waiting:
        sent = asked.pop(future.key)
        rows = None
        try:
            rows = future.result()
        except Exception as error:  # A run that raises has a row: it is the worker or the way there that failed.
            if not isinstance(error, distributed.KilledWorker) and sent.tries < way.retries:
                # Rows that died with their worker before they were fetched.
                waiting.add(send(sent.numbers, sent.tries + 1, sent.alone))
            elif sent.alone:
                own = {"run": sent.numbers[0], **points[sent.numbers[0]], "status": "lost", "seconds": 0.0}
                rows = [(own | {"error": f"{type(error).__name__}: {error}", "problem": None}, None)]
            else:
                suspects += sent.numbers
        if rows is not None:
            _keep(folder, rows)
            bar.add(len(rows))
        future.release()
        # Whatever a worker held when it died is under suspicion; alone on all of them a run shows whether it kills.
        if suspects and not asked:
            waiting.add(send([suspects.pop(0)], alone=True))


@dataclass(frozen=True)
class _Sent:
    """A chunk on its way."""

    numbers: list[int]
    tries: int
    alone: bool


class _Progress:
    """How many runs are done, and how long the rest takes."""

    def __init__(self, total: int, done: int, told: bool | Callable[[int, int, float], None]) -> None:
        self.total, self.done, self.told = total, done, told
        self.before, self.start, self.shown = done, time.monotonic(), 0.0

    def add(self, count: int) -> None:
        self.done += count
        now = time.monotonic()
        rate = (self.done - self.before) / max(now - self.start, 1e-9)
        remaining = (self.total - self.done) / rate
        if callable(self.told):
            self.told(self.done, self.total, remaining)
        elif self.told and (now - self.shown > 0.2 or self.done == self.total):
            self.shown = now
            line = f"{self.done} of {self.total} runs, {rate:.1f} a second, {_spoken(remaining)} left"
            end = "\r" if sys.stderr.isatty() else "\n"
            if sys.stderr.isatty() or self.done == self.total:
                print(f"{line:<70}", end=end, file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.told is True and sys.stderr.isatty():
            print(file=sys.stderr)


def _spoken(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
