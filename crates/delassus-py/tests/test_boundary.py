"""Whatever comes from Python, the interpreter lives on: a result, or an exception of the expected kind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import delassus

# What a caller may expect for wrong input. A panic of the engine is none of these.
EXPECTED = (delassus.Error, TypeError, OverflowError)

dtypes = st.one_of(
    hnp.floating_dtypes(), hnp.integer_dtypes(), hnp.boolean_dtypes(), hnp.complex_number_dtypes(),
    hnp.unicode_string_dtypes(max_len=3), st.just(np.dtype(object)),
)
arrays = dtypes.flatmap(
    lambda dtype: hnp.arrays(
        dtype,
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
        elements=st.integers(-3, 3) if dtype == object else None,
    )
)
small = st.one_of(st.floats(-3, 3), st.floats())
anything = st.one_of(
    arrays, st.none(), st.text(max_size=3), small, st.lists(small, max_size=7), st.binary(max_size=4),
    st.lists(st.lists(small, max_size=4), max_size=4), st.dictionaries(st.text(max_size=1), small, max_size=2),
)
# More of them for a night: DELASSUS_EXAMPLES=2000 python -m pytest tests/test_boundary.py
EXAMPLES = int(os.environ.get("DELASSUS_EXAMPLES", "200"))
fuzz = settings(derandomize=True, max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


def tried(function: Any, *arguments: Any, **named: Any) -> Any:
    try:
        return function(*arguments, **named)
    except EXPECTED:
        return None
    except ValueError as error:
        # What NumPy's own `float(numpy.array("a"))` raises.
        assert "could not convert string to float" in str(error)
        return None


@fuzz
@given(matrix=anything, q=anything, mu=anything)
def test_problems_of_anything(matrix: Any, q: Any, mu: Any) -> None:
    for problem in (tried(delassus.lcp, matrix, q), tried(delassus.friction, matrix, q, mu),
                    tried(delassus.Problem.dual, matrix, q, mu), tried(delassus.Problem, matrix, q, matrix, q, mu),
                    tried(delassus.Problem, matrix, q, matrix, q, "unilateral", sigma=mu)):
        if problem is not None:
            answer = delassus.solve(problem, iterations=50, time_limit=0.2)
            assert np.isfinite(answer.lambda_).all()


@fuzz
@given(data=st.data(), n=st.integers(0, 6))
def test_problems_of_any_numbers(data: st.DataObject, n: int) -> None:
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    matrix = data.draw(hnp.arrays(float, (n, n), elements=numbers))
    q = data.draw(hnp.arrays(float, n, elements=numbers))
    solver = data.draw(st.sampled_from(delassus.variants()))
    problem = tried(delassus.lcp, matrix, q)
    if problem is not None:
        answer = delassus.solve(problem, solver, iterations=50, time_limit=0.2)
        assert np.isfinite(answer.lambda_).all()
        if answer.solved and answer.fit == "exact" and n:
            # Within the tolerance of the law an impulse may be below zero by rounding.
            assert (answer.z >= -1e-9 * np.abs(answer.z).max()).all()


@fuzz
@given(start=anything, tolerance=small, iterations=st.integers(-1, 9), limit=small, solver=st.text(max_size=8))
def test_options_of_anything(start: Any, tolerance: float, iterations: int, limit: float, solver: str) -> None:
    problem = delassus.lcp([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0])
    tried(delassus.solve, problem, solver)
    tried(delassus.solve, problem, start=start, iterations=5)
    tried(delassus.solve, problem, tolerance=tolerance, iterations=iterations, time_limit=limit)


WORLD = delassus.World.scene("stack:2")


@fuzz
@given(given=anything, name=st.sampled_from(["positions", "orientations", "velocities", "spins", "forces", "torques"]))
def test_states_of_anything(given: Any, name: str) -> None:
    before = getattr(WORLD, name)
    try:
        setattr(WORLD, name, given)
    except EXPECTED:
        assert (getattr(WORLD, name) == before).all()


@fuzz
@given(content=st.one_of(st.text(), st.binary()), format=st.sampled_from(["json", "dat", "fclib", "lcp", "gmp", "x"]))
def test_files_of_anything(content: Any, format: str) -> None:
    tried(delassus.Problem.parse, content, format)
    tried(WORLD.restore, content)
    if isinstance(content, str):
        tried(delassus.World.parse, content)
        tried(delassus.Robot.parse, content)


@pytest.mark.parametrize(
    ("matrix", "q", "said"),
    [
        ([[1.0, 2.0]], [1.0], r"M has shape \(1, 2\)"),
        ([[np.nan]], [1.0], r"M\[0, 0\] is NaN"),
        ([[1.0]], [np.inf], r"q\[0\] is inf"),
        ([[1.0]], [[1.0]], r"q has shape \(1, 1\)"),
        (np.array([[object()]]), [1.0], "dtype object"),
        (np.array([["1"]]), [1.0], "real numbers"),
        (np.array([[1j]]), [1.0], "complex"),
        (np.array([[True]]), [1.0], "bool"),
        ([[1.0], [1.0, 2.0]], [1.0], "no array of numbers"),
        (np.ma.masked_array([[1.0]], mask=[[True]]), [1.0], "masked"),
    ],
)
def test_messages_say_what_is_wrong(matrix: Any, q: Any, said: str) -> None:
    with pytest.raises(delassus.Error, match=said) as raised:
        delassus.lcp(matrix, q)
    assert isinstance(raised.value, ValueError)


def test_sparse_matrices_that_lie_are_refused() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.coo_matrix(np.eye(2))
    matrix.row = np.array([0, 7], dtype=np.int32)
    with pytest.raises(delassus.Error, match="outside its shape"):
        delassus.lcp(matrix, [1.0, 1.0])
    with pytest.raises(delassus.Error, match="NaN"):
        delassus.lcp(sparse.csr_matrix([[np.nan]]), [1.0])


def test_numbers_that_stand_anywhere_are_read() -> None:
    matrix, q = np.array([[4.0, 1.0], [1.0, 3.0]]), [-1.0, -2.0]
    expected = delassus.solve(delassus.lcp(matrix, q)).z
    packed = np.zeros((2, 2), dtype=[("flag", "i1"), ("x", "f8")])
    packed["x"] = matrix
    assert not packed["x"].flags.aligned
    frozen = matrix.copy()
    frozen.flags.writeable = False

    class Own(np.ndarray):
        pass

    for given in (packed["x"], frozen, matrix.view(Own), matrix[::-1, ::-1][::-1, ::-1], matrix.T, memoryview(matrix),
                  *(matrix.astype(kind) for kind in (">f8", "<f2", ">f4", ">i8", "u1", np.longdouble))):
        assert (delassus.solve(delassus.lcp(given, q)).z == expected).all()


def test_a_pickle_that_lies_is_refused() -> None:
    text = delassus.World.scene("stack:1").problem().json()
    for order in ([0, 1], [99] * 6, list(range(1, 7)), [0, 0, 1, 2, 3, 4]):
        with pytest.raises(delassus.Error, match="names each once"):
            delassus.Problem._unpickled(text, "problem", order)  # type: ignore[attr-defined]
    assert delassus.Problem._unpickled(text, "problem", [5, 4, 3, 2, 1, 0]).p[5] == 0.0  # type: ignore[attr-defined]


def test_arrays_without_end_are_refused() -> None:
    # One number, repeated by strides of zero: it takes no room until it is copied.
    for matrix, q in ((np.broadcast_to(1.0, (10**6, 10**6)), np.zeros(10**6)), (np.eye(2), np.broadcast_to(0.0, 10**13))):
        with pytest.raises(MemoryError, match="no room for"):
            delassus.lcp(matrix, q)


def test_every_sparse_matrix_is_read_and_what_stands_twice_is_added() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix, q = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 5.0]]), [-1.0, -2.0, -3.0]
    expected = delassus.solve(delassus.lcp(matrix, q)).z
    for name in ("coo", "csr", "csc", "bsr", "dia", "dok", "lil"):
        for kind in (getattr(sparse, f"{name}_matrix"), getattr(sparse, f"{name}_array")):
            assert (delassus.solve(delassus.lcp(kind(matrix), q)).z == expected).all()
    rows, columns = np.nonzero(matrix)
    places = tuple(np.r_[x, x].astype(np.int64) for x in (rows, columns))
    twice = sparse.coo_matrix((np.tile(matrix[rows, columns] / 2, 2), places), shape=(3, 3))
    assert (delassus.solve(delassus.lcp(twice, q)).z == expected).all()
    beyond = sparse.coo_matrix((np.full(2, 1.5e308), ([0, 0], [0, 0])), shape=(1, 1))
    with pytest.raises(delassus.Error, match=r"entries of M at \(0, 0\) add up to inf"):
        delassus.lcp(beyond, [-1.0])


def test_wrong_options_are_refused() -> None:
    problem = delassus.lcp([[1.0]], [-1.0])
    for options in ({"tolerance": -1.0}, {"tolerance": float("nan")}, {"tolerance": 0.0}, {"iterations": 0},
                    {"time_limit": -1.0}, {"time_limit": float("nan")}, {"start": [1.0, 2.0]}):
        with pytest.raises(delassus.Error):
            delassus.solve(problem, **options)
    with pytest.raises(delassus.Error, match="known solvers: .*newton"):
        delassus.solve(problem, "nweton")
    with pytest.raises(delassus.Error, match="one for each"):
        delassus.friction(np.eye(6), np.zeros(6), [0.1, 0.2, 0.3])
    with pytest.raises(delassus.Error, match="multiple"):
        delassus.friction(np.eye(4), np.zeros(4), 0.1)
    with pytest.raises(delassus.Error, match="mu|friction"):
        delassus.friction(np.eye(3), np.zeros(3), -0.1)


def test_solves_run_side_by_side() -> None:
    problem = delassus.Problem.builtin("stack:6")
    expected = delassus.solve(problem).lambda_
    found: list[Any] = []
    workers = [threading.Thread(target=lambda: found.append(delassus.solve(problem).lambda_)) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 8 and all((lambda_ == expected).all() for lambda_ in found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_forked_processes_do_not_wait_for_threads_that_are_gone() -> None:
    # The engine's threads stay behind in the parent: a child that waits for them waits for ever.
    script = """
        import multiprocessing, delassus
        problem = delassus.Problem.builtin("pile:20000")
        world = delassus.World.scene("pile:2000")
        def work(_):
            world.step(2)
            answer = delassus.solve(problem, "coloured", iterations=20, tolerance=0.0)
            return problem.residuals(answer.lambda_)["law"], world.problem().n_rows, world.state_hash
        if __name__ == "__main__":
            delassus.solve(problem, "coloured", iterations=20, tolerance=0.0)
            world.step()
            with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
                found = pool.map(work, range(3), chunksize=1)
            assert found == [work(0)] * 3, found
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=120)


LONG = {
    "solve": "delassus.solve(delassus.Problem.builtin('pile:20000'), 'gauss-seidel', tolerance=0.0, iterations=10**9)",
    "step": "delassus.World.scene('pile:300').step(10**9)",
    "quick steps": "world = delassus.World.scene('stack:1'); world.step(2); world.step(10**9)",
    "batch after quick steps": "batch = delassus.Batch(delassus.World.scene('stack:1'), 4); batch.step(); batch.step(2); batch.step(10**9)",
    "quick steps of a batch": "batch = delassus.Batch(delassus.World.scene('stack:1'), 4); [batch.step() for _ in range(10**9)]",
}


@pytest.mark.skipif(os.name != "posix", reason="sends the signal of Ctrl-C")
@pytest.mark.parametrize("work", LONG)
def test_interrupt_ends_long_work(work: str) -> None:
    script = f"""
        import delassus, signal, sys
        # A shell starts what runs in the background with Ctrl-C ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print("begun", flush=True)
        try:
            {LONG[work]}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            # The engine still works, and nothing is left raised.
            assert delassus.solve(delassus.lcp([[1.0]], [-1.0])).solved
            sys.exit(3)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout is not None and process.stdout.readline() == b"begun\n"
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 3 and b"interrupted" in output, errors.decode()


ARM = """<mujoco><worldbody><body name="a" pos="0 0 1"><joint axis="0 1 0"/><inertial mass="1" pos=".2 0 0" diaginertia=".01 .02 .02"/>
<body name="b" pos=".4 0 0"><joint axis="0 1 0"/><inertial mass="1" pos=".2 0 0" diaginertia=".01 .02 .02"/></body></body></worldbody></mujoco>"""
ROBOT, BATCH = delassus.Robot.parse(ARM), delassus.Batch(delassus.World.parse(ARM), 2)
pairs = st.one_of(hnp.arrays(float, 2, elements=small), hnp.arrays(float, (2, 2), elements=small), anything)


@fuzz
@given(q=pairs, v=pairs, tau=pairs, more=anything, link=st.one_of(st.integers(), st.text(max_size=1), anything))
def test_robots_and_batches_of_anything(q: Any, v: Any, tau: Any, more: Any, link: Any) -> None:
    for found in (tried(ROBOT.rnea, q, v, tau), tried(ROBOT.aba, q, v, tau, gravity=more), tried(ROBOT.crba, q),
                  tried(ROBOT.jacobian, q, link, more), tried(ROBOT.pose, q, link), tried(ROBOT.kkt, q, v, tau, more),
                  tried(ROBOT.kkt, [0.1, 0.2], v, [1.0, 2.0], more, sigma=tau), tried(ROBOT.integrate, q, v, 0.1)):
        assert found is None or isinstance(found, (np.ndarray, tuple))
    tried(BATCH.place_robots, q, v)
    tried(BATCH.step, tau=tau)
    tried(BATCH.reset, more)
    tried(BATCH.reset, link)
    assert np.isfinite(BATCH.positions).all() and np.isfinite(BATCH.velocities).all()
    BATCH.reset()


KINDS = ["sphere", "box", "capsule", "cylinder", "hull", "half_space", "mesh", "height_field"]
JOINTS = ["ball", "hinge", "slider", "universal", "fixed", "distance", "gear", "rolling", "cylindrical", "screw", "planar", "spring", "glue"]
numbers = st.one_of(st.floats(-3, 3), st.floats(), st.integers(-3, 3))
threes = st.one_of(st.lists(numbers, min_size=3, max_size=3), anything)


@settings(fuzz, max_examples=EXAMPLES // 4)
@given(data=st.data())
def test_worlds_of_anything(data: st.DataObject) -> None:
    draw = data.draw
    world = delassus.World()
    world.add_ground()
    for _ in range(draw(st.integers(1, 3))):
        make = getattr(delassus.Shape, draw(st.sampled_from(KINDS)))
        words = draw(st.lists(st.one_of(numbers, threes, st.lists(threes, min_size=4, max_size=6)), max_size=2))
        keys = draw(st.dictionaries(st.sampled_from(["position", "orientation", "member", "x"]), threes, max_size=2))
        shape = tried(make, *words, **keys) or delassus.Shape.sphere(0.1)
        keys = draw(st.dictionaries(st.sampled_from(["position", "velocity", "spin", "mass", "density", "inertia"]), threes, max_size=3))
        tried(world.add_body, draw(st.text(max_size=2)), shape, **keys)
    names = st.one_of(st.none(), st.sampled_from(world.body_names), st.text(max_size=2))
    for _ in range(2):
        keys = draw(st.dictionaries(
            st.sampled_from(["point", "axis", "axes", "anchors", "length", "radius", "terms", "limits", "motor", "compliance"]),
            threes, max_size=3,
        ))
        tried(world.add_joint, draw(st.sampled_from(JOINTS)), (draw(names), draw(names)), **keys)
    for name in world.body_names:
        tried(world.body(name).push, draw(threes))
        tried(setattr, world.body(name), draw(st.sampled_from(["position", "orientation", "velocity"])), draw(threes))
    tried(world.step, 2)
    assert np.isfinite(world.positions).all() and np.isfinite(world.velocities).all()
    for name in world.joint_names:
        world.joint(name).remove()
    for name in world.body_names[1:]:
        world.body(name).remove()
    tried(world.step)


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda: delassus.solve(delassus.lcp([[1.0]], [-1.0]), iterations=-3), "-3 is out of range"),
        (lambda: delassus.solve(delassus.lcp([[1.0]], [-1.0]), seed=-1), "-1 is out of range"),
        (lambda: delassus.World.scene("stack:1").step(-1), "-1 is out of range"),
        (lambda: delassus.friction(np.eye(3), np.zeros(3), 0.5, rows=-3), "-3 is out of range"),
        (lambda: delassus.World.scene("stack:1").record(export=3), "export must be a path"),
        (lambda: delassus.Batch(delassus.World.scene("stack:1"), 2).reset(1), "copies must be a list"),
        (lambda: delassus.lcp(None, [1.0]), "M is None"),
        (lambda: delassus.friction(np.eye(3), np.zeros(3), np.nan), "mu is NaN"),
        (lambda: delassus.friction(np.eye(3), np.zeros(3), [[0.1]]), r"mu has shape \(1, 1\)"),
        (lambda: delassus.World("tower.toml"), r'World.read\("tower.toml"\)'),
        (lambda: delassus.World(timestep=0.1), "known: gravity, dt, "),
        (lambda: delassus.World().add_body("a", delassus.Shape.sphere(0.1, material="ice")), "add_material makes it"),
        (lambda: delassus.World.scene("stack:1").robot_state("arm"), 'no robot "arm"; there is none'),
        (lambda: delassus.World.scene("gripper").robot_state(-1), "no robot -1; known: gripper"),
    ],
)
def test_typical_mistakes_are_told_in_words_of_the_caller(work: Any, said: str) -> None:
    with pytest.raises(delassus.Error, match=said):
        work()


@pytest.mark.parametrize("given", [3, None, {}, [1, 2], 1.5])
def test_what_is_neither_text_nor_bytes_is_refused_in_one_line(given: Any) -> None:
    for work in (delassus.Problem.parse, WORLD.restore):
        with pytest.raises(TypeError, match="^a str or bytes are needed, not "):
            work(given)


def test_what_is_neither_a_name_nor_a_number_is_refused_in_one_line() -> None:
    for given in (None, {}, 1.5, [0]):
        with pytest.raises(TypeError, match="^a name or a number is needed, not "):
            delassus.World.scene("gripper").robot_state(given)
