"""Problems from the arrays of M v = p + Gᵀλ, w = G v + Σλ − q, and these arrays of any problem."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import delassus

CONE = {"name": "friction-cone", "mu": 0.5}


def example() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, list[Any]]:
    """Two bodies of three velocities; a contact between them, a joint, a motor."""
    rng = np.random.default_rng(7)
    roots = rng.normal(size=(2, 3, 3))
    M = np.zeros((6, 6))
    for i, root in enumerate(roots):
        M[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = root @ root.T + np.eye(3)
    G = rng.normal(size=(5, 6))
    G[3, 3:] = 0.0
    return M, rng.normal(size=6), G, rng.normal(size=5), [CONE, "equality", {"name": "interval", "lo": -0.1, "hi": 0.1}]


def test_the_answer_obeys_the_equations_that_were_given() -> None:
    M, p, G, q, laws = example()
    sigma = np.array([0.0, 0.0, 0.0, 0.2, 0.1])
    problem = delassus.Problem(M, p, G, q, laws, sigma=sigma)
    answer = delassus.solve(problem, tolerance=1e-12)
    assert answer.solved and problem.laws == ["friction-cone", "equality", "interval"]
    np.testing.assert_allclose(M @ answer.v, p + G.T @ answer.lambda_, atol=1e-12)
    w = G @ answer.v + sigma * answer.lambda_ - q
    np.testing.assert_allclose(answer.w, w, atol=1e-12)
    assert abs(w[3]) < 1e-10 and abs(answer.lambda_[4]) <= 0.1
    assert np.linalg.norm(answer.lambda_[1:3]) <= 0.5 * answer.lambda_[0] + 1e-12


def test_the_arrays_come_back() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    M, p, G, q, laws = example()
    for kind in (np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.coo_array, sparse.lil_matrix, sparse.dok_array):
        problem = delassus.Problem(kind(M), p, kind(G), q, laws, sigma=0.3)
        assert (problem.mass_matrix() == M).all() and (problem.jacobian() == G).all()
        assert (problem.p == p).all() and (problem.q == q).all() and (problem.sigma == 0.3).all()
        assert (problem.mass_matrix(sparse=True).toarray() == M).all()
        assert (problem.jacobian(sparse=True).toarray() == G).all()
        expected = G @ np.linalg.solve(M, G.T) + 0.3 * np.eye(5)
        np.testing.assert_allclose(problem.delassus(), expected, atol=1e-12)
        np.testing.assert_allclose(problem.delassus(sparse=True).toarray(), expected, atol=1e-12)
        again = delassus.Problem(problem.mass_matrix(), problem.p, problem.jacobian(), problem.q, problem.blocks, sigma=problem.sigma)
        assert again.json() == problem.json()


@pytest.mark.parametrize("name", ["stack:3", "peg", "chain:5", "machine"])
def test_arrays_of_built_in_problems_are_the_problem(name: str) -> None:
    problem = delassus.Problem.builtin(name)
    M, G = problem.mass_matrix(), problem.jacobian()
    again = delassus.Problem(M, problem.p, G, problem.q, problem.blocks, sigma=problem.sigma)
    assert again.laws == problem.laws and again.n_velocities == problem.n_velocities
    np.testing.assert_allclose(again.c, problem.c, atol=1e-12)
    np.testing.assert_allclose(again.delassus(), problem.delassus(), rtol=1e-9, atol=1e-12)
    answer = delassus.solve(again)
    assert answer.solved and problem.residuals(answer.lambda_)["law"] < 1e-6


def test_a_step_of_a_robot_has_its_mass_matrix(arm: delassus.Robot, arm_file: Any) -> None:
    world = delassus.World.read(arm_file)
    q = np.array([0.3, -0.4])
    world.place_robot(q, [0.0, 0.0])
    # A step takes what is stiff at its end into M; an arm without springs and dampers has nothing of it.
    np.testing.assert_allclose(world.problem().mass_matrix(), arm.crba(q), rtol=1e-10)


def test_what_is_not_coupled_by_the_mass_matrix_is_a_mass_of_its_own() -> None:
    n = 20_000
    sparse = pytest.importorskip("scipy.sparse")
    problem = delassus.Problem(sparse.eye(n), -np.ones(n), sparse.eye(n), np.zeros(n), "unilateral")
    answer = delassus.solve(problem)
    assert answer.solved and (answer.lambda_ == 1.0).all()
    for method in (problem.mass_matrix, problem.jacobian, problem.delassus):
        with pytest.raises(delassus.Error, match="sparse=True"):
            method()
    assert problem.jacobian(sparse=True).nnz == n
    wide = sparse.lil_matrix(sparse.eye(n))
    wide[0, n - 1] = wide[n - 1, 0] = 0.1
    with pytest.raises(delassus.Error, match="at most 8192"):
        delassus.Problem(wide, -np.ones(n), sparse.eye(n), np.zeros(n), "unilateral")


def test_mixed_problems_have_a_matrix_and_laws() -> None:
    S, q = np.array([[2.0, 1.0, 0.3], [0.8, 2.0, 0.1], [0.2, 0.0, 1.0]]), np.array([-2.0, 6.0, -1.0])
    problem = delassus.Problem.dual(S, q, ["equality", {"name": "interval", "lo": -1, "hi": float("inf")}, "unilateral"])
    answer = delassus.solve(problem, tolerance=1e-12)
    assert answer.solved and answer.lambda_[1] == pytest.approx(-1.0) and answer.w[1] > 0
    np.testing.assert_allclose(S @ answer.lambda_ + q, answer.w, atol=1e-12)
    assert problem.blocks[1] == {"name": "interval", "lo": -1.0, "hi": None, "rows": 1}
    assert (problem.q == q).all() and problem.p.shape == (0,) and problem.jacobian().shape == (3, 0)
    assert (problem.delassus() == S).all() and (problem.delassus() == problem.delassus(sparse=False)).all()
    lcp = delassus.lcp(S, q)
    assert delassus.Problem.dual(S, q, "unilateral").delassus().tolist() == lcp.delassus().tolist()
    plane = delassus.Problem.dual(np.eye(4), [-1, 0.2, -1, 0.9], CONE | {"rows": 2})
    assert delassus.solve(plane).lambda_.round(9).tolist() == [1.0, -0.2, 1.0, -0.5]


I3, Z3 = np.eye(3), np.zeros(3)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((I3, Z3, I3, Z3, {"name": "friction-cone"}), "laws: missing field `mu`"),
        ((I3, Z3, I3, Z3, ["unilateral", {"name": "cone"}, "equality"]), r"laws\[1\]: unknown variant `cone`, expected one of"),
        ((I3, Z3, I3, Z3, [CONE | {"mu": -1}]), "mu"),
        ((I3, Z3, I3, Z3, [CONE | {"nu": 1}]), "unknown field `nu`"),
        ((I3, Z3, I3, Z3, ["unilateral"] * 2), "laws have 2 rows where q has 3"),
        ((I3, Z3, I3, Z3, CONE | {"rows": 2}), "no multiple of the 2 rows"),
        ((I3, Z3, I3, Z3, 5), "laws must be a list"),
        ((I3, Z3, I3, Z3, [5]), r"laws\[0\] is of type int"),
        ((I3, Z3, I3, Z3, {"name": "unilateral", "rows": 0}), "no multiple of the 0 rows"),
        ((-I3, Z3, I3, Z3, "unilateral"), r"M\[0:1, 0:1\]: .*positive definite"),
        ((I3 + np.triu(np.ones((3, 3)), 1), Z3, I3, Z3, "unilateral"), r"M\[0:3, 0:3\]: .*symmetric"),
        ((I3, Z3[:2], I3, Z3, "unilateral"), r"M has shape \(3, 3\) where p need"),
        ((I3, Z3, I3[:2], Z3, "unilateral"), r"G has shape \(2, 3\) where q and p need \(3, 3\)"),
        ((I3, Z3, [[np.nan]], Z3, "unilateral"), r"G\[0, 0\] is NaN"),
    ],
)
def test_what_is_wrong_is_told(given: Any, said: str) -> None:
    with pytest.raises(delassus.Error, match=said):
        delassus.Problem(*given)


def test_bounds_are_open_on_their_own_side_alone() -> None:
    bounds = {"name": "interval", "lo": -np.inf, "hi": np.inf}
    assert delassus.Problem.dual([[1.0]], [-1.0], bounds).blocks == [{"name": "interval", "lo": None, "hi": None, "rows": 1}]
    for wrong in ({"lo": np.inf}, {"hi": -np.inf}, {"lo": np.nan}):
        with pytest.raises(delassus.Error, match="of laws is"):
            delassus.Problem.dual([[1.0]], [-1.0], bounds | wrong)


def test_compliance_is_not_negative() -> None:
    for sigma in (-1.0, [0.0, 0.0, -1.0], [0.0], float("nan")):
        with pytest.raises(delassus.Error, match="sigma|compliance"):
            delassus.Problem(I3, Z3, I3, Z3, "unilateral", sigma=sigma)


def test_nothing_is_a_problem_too() -> None:
    empty = delassus.Problem(np.zeros((0, 0)), [], np.zeros((0, 0)), [], [])
    assert delassus.solve(empty).solved and empty.blocks == []
    free = delassus.Problem(2 * I3, [1, 2, 4], np.zeros((0, 3)), [], [])
    np.testing.assert_allclose(delassus.solve(free).v, [0.5, 1.0, 2.0], rtol=1e-15)


def test_gradients_reach_every_array() -> None:
    M, p, G, q, laws = example()

    def solve(M: Any, p: Any, G: Any, q: Any, sigma: float) -> tuple[delassus.Problem, delassus.Answer]:
        problem = delassus.Problem(M, p, G, q, laws, sigma=sigma)
        return problem, delassus.solve(problem, "newton", tolerance=1e-13)

    problem, answer = solve(M, p, G, q, 0.1)
    derivative = delassus.derivative(problem, answer)
    assert not derivative.degenerate
    rng = np.random.default_rng(8)
    by_v, by_lambda = rng.normal(size=6), rng.normal(size=5)
    back = derivative.backward(by_v, by_lambda)
    turn = rng.normal(size=(6, 6))
    change = {"M": turn + turn.T, "p": rng.normal(size=6), "G": rng.normal(size=(5, 6)), "q": rng.normal(size=5)}
    # What M does not couple it cannot couple a little.
    change["M"][:3, 3:] = change["M"][3:, :3] = 0.0
    base, h = {"M": M, "p": p, "G": G, "q": q}, 1e-6
    for name, d in change.items():
        sides = []
        for sign in (1, -1):
            own = solve(**(base | {name: base[name] + sign * h * d}), sigma=0.1)[1]
            sides.append(by_v @ own.v + by_lambda @ own.lambda_)
        slope = (sides[0] - sides[1]) / (2 * h)
        assert np.vdot(back[name], d) == pytest.approx(slope, abs=1e-6), name
        dv, dlam = derivative.forward(**{name: d})
        assert np.vdot(back[name], d) == pytest.approx(by_v @ dv + by_lambda @ dlam, rel=1e-12, abs=1e-12), name


def test_gradients_of_a_large_problem_leave_its_matrices_out() -> None:
    problem = delassus.Problem.builtin("pile:20000")
    derivative = delassus.derivative(problem, np.zeros(problem.n_rows))
    with pytest.raises(delassus.Error, match="matrices=False"):
        derivative.backward(v=np.ones(problem.n_velocities))
    found = derivative.backward(v=np.ones(problem.n_velocities), matrices=False)
    assert set(found) == {"p", "q", "sigma", "mu"} and np.isfinite(found["q"]).all()
