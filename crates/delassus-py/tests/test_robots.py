"""Robots: dynamics of one state and of many."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import delassus


def states(robot: delassus.Robot, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return tuple(rng.normal(size=(count, robot.n_dofs)) for _ in range(3))  # type: ignore[return-value]


def test_forward_and_inverse_dynamics_undo_each_other(arm: delassus.Robot) -> None:
    for q, v, a in zip(*states(arm, 10)):
        tau = arm.rnea(q, v, a)
        assert np.allclose(arm.aba(q, v, tau), a, atol=1e-10)
        # τ(a) − τ(0) = M a
        assert np.allclose(tau - arm.rnea(q, v, 0 * a), arm.crba(q) @ a, atol=1e-10)


def test_a_batch_is_its_states_one_by_one(arm: delassus.Robot) -> None:
    q, v, a = states(arm, 13)
    assert (arm.rnea(q, v, a) == [arm.rnea(*s) for s in zip(q, v, a)]).all()
    assert (arm.crba(q) == [arm.crba(one) for one in q]).all() and arm.crba(q).shape == (13, 2, 2)
    assert (arm.jacobian(q, "lower") == [arm.jacobian(one, "lower") for one in q]).all()
    assert (arm.integrate(q, v, 0.1) == [arm.integrate(*s, 0.1) for s in zip(q, v)]).all()
    # Lanes round in another order than one state does.
    assert np.allclose(arm.aba(q, v, a), [arm.aba(*s) for s in zip(q, v, a)], rtol=1e-11, atol=1e-11)
    assert arm.aba(q[:0], v[:0], a[:0]).shape == (0, 2)


def test_jacobian_is_the_derivative_of_the_pose(arm: delassus.Robot) -> None:
    q, point, step = np.array([0.4, -0.7]), np.array([0.1, 0.2, -0.8, 1.0]), 1e-6
    jacobian = arm.jacobian(q, "lower", point[:3])
    assert jacobian.shape == (6, 2)
    for k in range(2):
        shift = step * np.eye(2)[k]
        slope = (arm.pose(q + shift, "lower") - arm.pose(q - shift, "lower")) @ point / (2 * step)
        assert np.allclose(jacobian[3:, k], slope[:3], atol=1e-8)


def test_gravity_is_that_of_the_earth_unless_given(arm: delassus.Robot) -> None:
    zero = np.zeros(2)
    assert np.allclose(arm.rnea([0.5, 0.2], zero, zero, gravity=[0, 0, 0]), 0.0, atol=1e-12)
    assert np.abs(arm.rnea([0.5, 0.2], zero, zero)).max() > 1.0


def test_wrong_states_are_refused(arm: delassus.Robot) -> None:
    zero = np.zeros(2)
    wrong = [np.zeros(3), np.zeros((2, 3)), np.zeros((1, 2, 2)), [np.nan, 0], ["a", "b"], [1j, 0], 1.0, None]
    for bad in wrong:
        with pytest.raises(delassus.Error):
            arm.rnea(bad, zero, zero)
        with pytest.raises(delassus.Error):
            arm.aba(zero, bad, zero)
    with pytest.raises(delassus.Error, match="batch of 2"):
        arm.rnea(zero, np.zeros((2, 2)), zero)
    with pytest.raises(delassus.Error, match="upper, lower"):
        arm.jacobian(zero, "hand")
    with pytest.raises(delassus.Error):
        arm.jacobian(zero, 99)
    with pytest.raises(delassus.Error):
        arm.integrate(zero, zero, float("inf"))
    with pytest.raises(delassus.Error):
        delassus.Robot.parse("<chair/>")
    assert arm.n_dofs == 2 and arm.mass == 3.0 and "arm" in repr(arm)


def test_kkt_solves_the_system_of_the_mass_matrix(arm: delassus.Robot) -> None:
    rng = np.random.default_rng(4)
    q, p, b = rng.normal(size=(5, 2)), rng.normal(size=(5, 2)), rng.normal(size=(5, 1))
    G = arm.jacobian(q, "lower", [0, 0, -0.8])[:, 3:4]
    for sigma in (None, [0.3]):
        x, lam = arm.kkt(q, G, p, b, sigma=sigma)
        compliance = 0.0 if sigma is None else sigma[0]
        for i in range(5):
            system = np.block([[arm.crba(q[i]), -G[i].T], [G[i], np.array([[compliance]])]])
            assert np.allclose(np.concatenate([x[i], lam[i]]), np.linalg.solve(system, np.concatenate([p[i], b[i]])), rtol=1e-10)
            one = arm.kkt(q[i], G[i], p[i], b[i], sigma=sigma)
            assert (one[0] == x[i]).all() and (one[1] == lam[i]).all()


def test_kkt_takes_rows_that_depend_on_each_other_and_none(arm: delassus.Robot) -> None:
    q, p, row = [0.4, -0.7], [1.0, 2.0], np.array([[1.0, 0.5]])
    x, lam = arm.kkt(q, row, p, [0.3])
    twice, both = arm.kkt(q, np.vstack([row, row]), p, [0.3, 0.3])
    assert np.allclose(twice, x, rtol=1e-10) and both.sum() == pytest.approx(lam[0])
    free, none = arm.kkt(q, np.zeros((0, 2)), p, [])
    assert np.allclose(arm.crba(q) @ free, p) and none.shape == (0,)
    for wrong in [dict(G=np.zeros((1, 3))), dict(G=[1.0, 2.0]), dict(b=[1.0, 2.0]), dict(sigma=[-1.0]), dict(sigma=[1.0, 2.0]),
                  dict(G=np.zeros((3, 1, 2))), dict(p=[np.nan, 0.0])]:
        with pytest.raises(delassus.Error):
            arm.kkt(**dict(q=q, G=row, p=p, b=[0.3]) | wrong)


def test_a_pickled_robot_gives_the_same_bits(arm: delassus.Robot) -> None:
    again = pickle.loads(pickle.dumps(arm))
    assert (again.crba([0.3, 0.2]) == arm.crba([0.3, 0.2])).all() and again.links == arm.links
    assert copy.deepcopy(arm) is arm


def test_names_that_other_libraries_have_are_known(arm: delassus.Robot, arm_file: Path) -> None:
    assert (arm.nq, arm.nv) == (arm.n_coordinates, arm.n_dofs) == (2, 2)
    assert delassus.Robot.read(arm_file).links == delassus.Robot.from_file(arm_file).links == arm.links
