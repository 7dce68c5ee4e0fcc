"""Sweeps: every run once, whatever dies; the same numbers for any number of workers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import delassus

pytest.importorskip("distributed", reason="dask[distributed] is not installed; sweeps were not tested")
pytest.importorskip("pyarrow", reason="pyarrow is not installed; sweeps were not tested")

import cloudpickle
import sweep_runs

cloudpickle.register_pickle_by_value(sweep_runs)


def plain(found: delassus.Sweep) -> list[dict]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in found.rows()]


def test_the_numbers_are_the_same_for_any_number_of_workers(tmp_path):
    call = dict(parameters={"size": [1, 2, 3], "mu": [0.2, 0.8]}, solvers=["newton", "gauss-seidel"], seeds=[0, 1],
                seconds=0.2, progress=False)
    scene = tmp_path / "tower.toml"
    bodies = "".join(f"""
[[bodies]]
name = "box-{i}"
position = [{0.02 * i}, 0, {0.1 + 0.2 * i}]
density = 1000
shapes = [{{ box = {{ half = [0.1, 0.1, 0.1] }}, material = "m" }}]
""" for i in range(3))
    scene.write_text(f"""
title = "tower $size"
[materials.m]
friction = $mu
[[bodies]]
name = "ground"
motion = "static"
shapes = [{{ half-space = {{}}, material = "m" }}]
{bodies}""")
    told = []
    one = delassus.sweep(scene, folder=tmp_path / "one", workers=1, **call | {"progress": lambda *now: told.append(now)})
    two = delassus.sweep(scene, folder=tmp_path / "two", workers=2, chunk=1, **call)
    assert len(one) == 24 and plain(one) == plain(two)
    assert told[-1][:2] == (24, 24) and all(row["state_hash"] for row in one.rows())
    world = delassus.World.parse(scene.read_text().replace("$mu", "0.8").replace("$size", "1"))
    world.use_solver("gauss-seidel", seed=1)
    world.step(20)
    row = next(row for row in one.rows() if (row["mu"], row["solver"], row["seed"]) == (0.8, "gauss-seidel", 1))
    assert row["state_hash"] == f"{world.state_hash:016x}"
    assert one.to_pandas().shape[0] == 24


def test_killed_workers_lose_nothing_but_the_run_that_kills(tmp_path):
    found = delassus.sweep(sweep_runs.deadly, {"a": range(12), "folder": [str(tmp_path)]}, folder=tmp_path / "rows",
                           workers=2, chunk=3, retries=1, progress=False)
    rows = found.rows()
    assert [row["a"] for row in rows] == list(range(12))
    assert [row["double"] for row in rows if row["a"] != 7] == [2 * a for a in range(12) if a != 7]
    assert rows[7]["status"] == "lost" and found.failed == [rows[7]] and "lost" in repr(found)


@pytest.mark.parametrize("chunk", [1, 6])
def test_no_column_and_no_run_is_lost_whatever_runs_give(tmp_path, chunk):
    found = delassus.sweep(sweep_runs.odd, {"a": range(6)}, folder=tmp_path / "rows", workers=1, chunk=chunk, progress=False)
    rows = found.rows()
    assert [row["status"] for row in rows] == ["failed", "failed"] + 4 * ["solved"]
    assert "the first one fails" in rows[0]["error"] and "given up" in rows[1]["error"]
    assert [row["y"] for row in rows[2:]] == [4, 6, 8, 10]
    assert rows[3]["mixed"] == "text" and "object" in rows[4]["mixed"] and rows[5]["mixed"] is None
    again = delassus.sweep(sweep_runs.odd, {"a": range(6)}, folder=tmp_path / "rows", workers=1, chunk=chunk, progress=False)
    assert plain(again) == plain(found)
    for bad in [dict(chunk=-1), dict(seeds=3)]:
        with pytest.raises(delassus.Error, match="chunk|seeds"):
            delassus.sweep(sweep_runs.odd, {"a": [0]}, folder=tmp_path / "bad", **bad)


def test_an_interrupted_sweep_goes_on_and_runs_nothing_twice(tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()
    call = dict(parameters={"a": range(20), "folder": [str(marks)]}, folder=tmp_path / "rows", workers=1, chunk=2)

    def stop(done: int, total: int, remaining: float) -> None:
        if done >= 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        delassus.sweep(sweep_runs.counted, progress=stop, **call)
    kept = {row["a"] for row in delassus.read_sweep(tmp_path / "rows").rows()}
    assert len(kept) >= 6
    found = delassus.sweep(sweep_runs.counted, progress=False, **call)
    assert [row["double"] for row in found.rows()] == [2 * a for a in range(20)]
    assert all((marks / f"mark-{a}").read_text() == "x" for a in kept)
    # All rows are there: nothing is started.
    again = delassus.sweep(sweep_runs.counted, progress=False, **call)
    assert plain(again) == plain(found)
    with pytest.raises(delassus.Error, match="another sweep"):
        delassus.sweep(sweep_runs.counted, progress=False, **call | {"parameters": {"a": [1], "folder": [str(marks)]}})


def test_failed_runs_keep_their_rows_errors_and_problems(tmp_path):
    found = delassus.sweep(sweep_runs.wrong, {"a": range(5)}, folder=tmp_path / "rows", workers=1, progress=False)
    rows = found.rows()
    assert [row["status"] for row in rows] == ["even", "failed", "failed", "failed", "even"]
    assert "one is not allowed" in rows[1]["error"] and "column already" in rows[3]["error"]
    problem = delassus.Problem.read(found.folder / rows[2]["problem"])
    assert problem.json() == delassus.Problem.builtin("stack:2").json()


def test_steps_of_a_scene_that_are_not_solved_are_kept_with_their_problem(tmp_path):
    scene = tmp_path / "hasty.toml"
    boxes = "".join(f"""
[[bodies]]
name = "box-{i}"
position = [0, 0, {0.1 + 0.2 * i}]
density = 1000
shapes = [{{ box = {{ half = [0.1, 0.1, 0.1] }} }}]
""" for i in range(8))
    scene.write_text(f"""
[run]
iterations = $sweeps
tolerance = 1e-9
[[bodies]]
name = "ground"
motion = "static"
shapes = [{{ half-space = {{}} }}]
{boxes}""")
    found = delassus.sweep(scene, {"sweeps": [2, 100000]}, folder=tmp_path / "rows", solvers=["gauss-seidel"], seconds=0.03,
                           workers=1, progress=False)
    hasty, patient = found.rows()
    assert hasty["status"] == "unsolved" and hasty["unsolved"] > 0
    assert patient["status"] == "solved" and patient["unsolved"] == 0 and patient["problem"] is None
    problem = delassus.Problem.read(found.folder / hasty["problem"])
    assert delassus.solve(problem, "newton").solved


def test_what_cannot_be_swept_raises(tmp_path):
    go = dict(folder=tmp_path / "rows", progress=False)
    for wrong in [dict(run=sweep_runs.short, parameters={"a": []}), dict(run=sweep_runs.short, parameters={"seed": [1]}),
                  dict(run=sweep_runs.short, parameters={"a": [1]}, solvers=[])]:
        with pytest.raises(delassus.Error):
            delassus.sweep(**wrong, **go)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(delassus.Error, match="not empty"):
        delassus.sweep(sweep_runs.short, {"a": [1]}, folder=tmp_path / "full")
    with pytest.raises(delassus.Error, match="no sweep"):
        delassus.read_sweep(tmp_path)


def test_a_folder_that_another_sweep_writes_into_is_refused(tmp_path):
    fcntl = pytest.importorskip("fcntl", reason="this system locks no files")
    call = dict(parameters={"a": [1, 2]}, folder=tmp_path / "rows", workers=1, progress=False)
    delassus.sweep(sweep_runs.short, **call)
    with (tmp_path / "rows" / "sweep.json").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(delassus.Error, match="another process"):
            delassus.sweep(sweep_runs.short, **call)


@pytest.mark.parametrize("program", ["python", "delassus"])
def test_the_shell_runs_a_file(tmp_path, program: str):
    command = [sys.executable, "-m", "delassus"]
    environment = os.environ | {"DELASSUS_PYTHON": sys.executable}
    if program == "delassus":
        if not (given := os.environ.get("DELASSUS_PROGRAM")):
            pytest.skip("DELASSUS_PROGRAM does not name the command line")
        command = [given]
    (tmp_path / "mine.py").write_text(Path(sweep_runs.__file__).read_text())
    plan = tmp_path / "plan.toml"
    plan.write_text("""
function = "mine:wrong"
folder = "rows"
workers = 1
[parameters]
a = [0, 1]
""")

    def run(*words: str) -> subprocess.CompletedProcess:
        return subprocess.run([*command, *words], capture_output=True, text=True, env=environment, check=False)

    told = run("sweep", str(plan), "--quiet")
    assert told.returncode == 1 and "1 even, 1 failed" in told.stdout, told.stdout + told.stderr
    assert len(delassus.read_sweep(tmp_path / "rows")) == 2
    for text, message in [("scene = 3 4", "plan.toml"), ('scene = "stack:1"\ncolour = 1', "no key"), ("", "either scene"),
                          ('scene = "stack:1"\n[parameters]\na = 3', "must be a list"), ('function = "mine"', "module:name")]:
        plan.write_text(text)
        told = run("sweep", str(plan), "--out", str(tmp_path / "other"))
        assert told.returncode == 2 and message in told.stderr, told.stderr


def test_a_script_without_a_guard_is_told_what_it_needs(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"import delassus\ndelassus.sweep('stack:$n', {{'n': [1]}}, folder={str(tmp_path / 'rows')!r}, workers=1)\n")
    told = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=120)
    assert told.returncode != 0 and 'keep the call below `if __name__ == "__main__":`' in told.stderr.splitlines()[-1], told.stderr


@pytest.mark.parametrize(("run", "parameters"), [("stack:$n", {"n": 3}), ("stack:$n", {"n": "34"}), (3, {"n": [1]})])
def test_single_values_where_lists_are_needed_are_refused(tmp_path, run, parameters):
    with pytest.raises(delassus.Error, match="give the list|give a function"):
        delassus.sweep(run, parameters, folder=tmp_path / "rows", progress=False)
