"""Problems, solves and comparisons."""

from __future__ import annotations

import copy
import json
import multiprocessing
import os
import pickle
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import delassus

M = np.array([[2.0, 1.0], [1.0, 2.0]])
Q = np.array([-5.0, -6.0])


def test_lcp_is_complementary() -> None:
    answer = delassus.solve(delassus.lcp(M, Q))
    assert answer.solved and answer.status == "solved" and answer.fit == "exact"
    assert np.allclose(answer.w, M @ answer.z + Q, atol=1e-14)
    assert (answer.z >= 0).all() and abs(answer.z @ answer.w) < 1e-12
    assert answer.residual == answer.residuals["law"]
    assert "solved" in repr(answer) and answer.v.shape == (0,)


def test_sparse_and_dense_give_the_same_bits() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(1)
    a = rng.normal(size=(12, 12)) * (rng.random((12, 12)) < 0.4)
    w, q = a @ a.T + np.eye(12), rng.normal(size=12)
    dense = delassus.solve(delassus.friction(w, q, 0.3))
    for kind in (sparse.csr_matrix, sparse.coo_matrix, sparse.csc_array):
        assert (delassus.solve(delassus.friction(kind(w), q, 0.3)).lambda_ == dense.lambda_).all()


def test_friction_keeps_impulses_in_their_cones() -> None:
    rng = np.random.default_rng(2)
    a = rng.normal(size=(9, 12))
    mu = np.array([0.1, 0.5, 0.9])
    answer = delassus.solve(delassus.friction(a @ a.T, rng.normal(size=9), mu))
    assert answer.solved
    normal, tangents = answer.lambda_.reshape(3, 3)[:, 0], answer.lambda_.reshape(3, 3)[:, 1:]
    assert (normal >= 0).all()
    assert (np.linalg.norm(tangents, axis=1) <= mu * normal + 1e-9).all()


def test_layout_and_kind_of_numbers_change_nothing() -> None:
    expected = delassus.solve(delassus.lcp(M, Q)).z
    wide = np.zeros((4, 4))
    wide[::2, ::2] = M
    for matrix in (M.tolist(), np.asfortranarray(M), wide[::2, ::2], M.astype(np.float32), M.astype(int)):
        assert (delassus.solve(delassus.lcp(matrix, Q)).z == expected).all()


def test_every_file_comes_back_bit_for_bit(tmp_path: Path) -> None:
    problem = delassus.Problem.builtin("stack:3")
    problem.save(tmp_path / "stack.json")
    again = delassus.Problem.read(tmp_path / "stack.json")
    assert again.json() == problem.json() and again.kind == "problem"
    assert (delassus.solve(again).lambda_ == delassus.solve(problem).lambda_).all()
    assert delassus.Problem.parse(problem.json().encode()).n_rows == problem.n_rows


def test_what_is_not_solved_is_an_answer() -> None:
    answer = delassus.solve(delassus.Problem.builtin("heavy-stack:8"), "gauss-seidel", iterations=3)
    assert not answer.solved and answer.status == "iteration-limit"
    assert answer.message and "allow more" in answer.message
    assert np.isfinite(answer.lambda_).all()


def test_infeasible_rows_come_with_a_proof() -> None:
    answer = delassus.solve(delassus.lcp([[0.0]], [-1.0]), "lemke")
    assert answer.status == "ray" and answer.ray is not None
    assert answer.farkas is not None and answer.farkas @ [-1.0] < 0


def test_start_and_history_are_used() -> None:
    problem = delassus.Problem.builtin("stack:3")
    cold = delassus.solve(problem, "gauss-seidel", tolerance=1e-6, history=True)
    history = cold.history
    assert len(history["law"]) == cold.iterations and np.isfinite(history["law"]).all()
    assert history["law"][-1] <= 1e-6 < history["law"][0]
    warm = delassus.solve(problem, "gauss-seidel", tolerance=1e-6, start=cold.lambda_)
    assert warm.solved and warm.iterations <= 1


def test_the_judge_is_the_same_for_everybody() -> None:
    problem = delassus.Problem.builtin("stack:3")
    answer = delassus.solve(problem)
    assert problem.residuals(answer.lambda_)["law"] == pytest.approx(answer.residual, rel=1e-6, abs=1e-15)
    assert problem.residuals(np.zeros(problem.n_rows))["law"] > 1e-3
    s = problem.delassus()
    assert np.allclose(s @ answer.lambda_ + problem.c, answer.w, atol=1e-9)


def test_comparison_is_a_table() -> None:
    problems = {"a": delassus.lcp(M, Q), "b": delassus.Problem.builtin("stack:2")}
    table = delassus.compare(problems, ["newton", "gauss-seidel", "direct"])
    assert [run.problem for run in table] == ["a", "a", "b", "b"], "direct has no rule for contacts"
    assert all(run.solved for run in table) and len(table) == 4 and table[0].problem == "a"
    assert "residual" in repr(table) and table.html().count("<tr>") == 5
    pandas = pytest.importorskip("pandas")
    assert isinstance(table.to_pandas(), pandas.DataFrame)


def test_doctor_names_what_is_wrong_and_the_remedy() -> None:
    heavy = delassus.doctor(delassus.Problem.builtin("heavy-stack:10"))
    assert [finding.kind for finding in heavy.findings] == ["mass-ratio"] and not heavy.healthy
    finding = heavy.findings[0]
    assert finding.number == pytest.approx(100.0) and finding.remedy and "block 36" in finding.places
    impossible = delassus.doctor(delassus.lcp([[0.0]], [-1.0]))
    assert impossible.findings[0].severity == "error" and "proven" in str(impossible)
    assert delassus.doctor(delassus.Problem.builtin("machine")).healthy


def test_solvers_are_listed() -> None:
    assert {"auto", "newton", "lemke"} <= set(delassus.solvers())
    assert set(spec.split(",")[0] for spec in delassus.variants()) == set(delassus.solvers())


@pytest.mark.parametrize("solver", ["auto", "gauss-seidel,order=shuffle", "newton", "lemke"])
def test_same_bits_as_the_command_line(tmp_path: Path, solver: str) -> None:
    program = os.environ.get("DELASSUS_PROGRAM") or shutil.which("delassus")
    if not program:
        pytest.skip("no `delassus` program: set DELASSUS_PROGRAM, or use scripts/check-python, which does")
    for name in ("stack:4", "peg", "machine", "chain:5"):
        problem = delassus.Problem.builtin(name)
        problem.save(tmp_path / "problem.json")
        command = [program, "solve", str(tmp_path / "problem.json"), "--json", "--solver", solver]
        told = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)
        answer = delassus.solve(problem, solver)
        assert answer.status == told["status"] and answer.iterations == told["iterations"]
        assert answer.lambda_.tolist() == told["lambda"] and answer.v.tolist() == told["v"]
        assert answer.residual == told["residual"]["law"]


def test_a_derivative_is_the_central_difference_of_the_solver():
    rng = np.random.default_rng(3)
    a = rng.normal(size=(9, 9))
    W, q = a @ a.T + np.eye(9), rng.normal(size=9)
    mu = np.array([0.4, 0.5, 0.6])

    def solve(q):
        problem = delassus.friction(W, q, mu)
        return problem, delassus.solve(problem, "newton", tolerance=1e-13)

    problem, answer = solve(q)
    derivative = delassus.derivative(problem, answer)
    assert len(derivative.modes) == 3 and derivative.unique and not derivative.degenerate
    dq, step = rng.normal(size=9), 1e-6
    exact = derivative.forward(q=dq)[1]
    found = (solve(q + step * dq)[1].lambda_ - solve(q - step * dq)[1].lambda_) / (2 * step)
    np.testing.assert_allclose(exact, found, atol=1e-6)
    weights = rng.normal(size=9)
    back = derivative.backward(lambda_=weights)
    assert abs(weights @ exact - back["q"] @ dq) < 1e-12 * (1 + abs(weights @ exact))
    with pytest.raises(delassus.Error, match="q has shape"):
        derivative.forward(q=[1, 2])
    with pytest.raises(delassus.Error, match="answer has shape"):
        delassus.derivative(problem, [1.0])


def test_a_pickled_problem_is_the_same_problem() -> None:
    for problem in (delassus.lcp(M, Q), delassus.friction(np.eye(3), [-1, 0.9, 0], 0.5), delassus.Problem.builtin("stack:3"),
                    delassus.World.scene("stack:2").problem()):
        again = pickle.loads(pickle.dumps(problem))
        assert again.json() == problem.json() and repr(again) == repr(problem)
        assert (delassus.solve(again).lambda_ == delassus.solve(problem).lambda_).all()
        assert copy.deepcopy(problem) is problem
    with pytest.raises(TypeError, match="answer.lambda_"):
        pickle.dumps(delassus.solve(problem))


def test_a_spawned_process_solves_the_same_problem() -> None:
    problem = delassus.Problem.builtin("stack:3")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(impulses, (problem,))
    assert (found == delassus.solve(problem).lambda_).all()


def impulses(problem: delassus.Problem) -> np.ndarray:
    return delassus.solve(problem).lambda_
