"""Gradients of PyTorch and JAX through solves, against central differences."""

import numpy as np
import pytest

import delassus
from delassus import _gradient

# One contact slips, one sticks, one is open.
RANDOM = np.random.default_rng(4)
ROOT = RANDOM.normal(size=(9, 12))
W = ROOT @ ROOT.T / 12 + np.eye(9)
Q = np.array([-1.0, 0.9, 0.2, -1.2, 0.05, 0.02, 3.0, 0.1, 0.1])
MU = np.array([0.3, 0.8, 0.5])
WEIGHT = RANDOM.normal(size=9)
M2, Q2 = np.array([[2.0, 1.0], [0.5, 2.0]]), np.array([-5.0, -6.0])
# Differences over H of answers solved to 1e-12.
H, CLOSE = 1e-5, 1e-5
TIGHT = 1e-12


def loss(w: np.ndarray, q: np.ndarray, mu: np.ndarray) -> float:
    return float(WEIGHT @ _gradient.solved(delassus.friction(w, q, mu), "newton", TIGHT))


def differences(which: int) -> np.ndarray:
    data = [W.copy(), Q.copy(), MU.copy()]
    slopes = np.zeros(data[which].size)
    flat = data[which].reshape(-1)
    for i in range(flat.size):
        kept = flat[i]
        flat[i] = kept + H
        up = loss(*data)
        flat[i] = kept - H
        slopes[i] = (up - loss(*data)) / (2 * H)
        flat[i] = kept
    return slopes.reshape(data[which].shape)


def test_the_shared_gradient_is_that_of_central_differences():
    lam = _gradient.solved(delassus.friction(W, Q, MU), "newton", TIGHT)
    modes = delassus.derivative(delassus.friction(W, Q, MU), lam).modes
    assert set(modes) == {"slips", "held", "open"}, modes
    by_w, by_q, by_mu = _gradient.backward(W, Q, MU, lam, WEIGHT)
    assert np.allclose(by_q, differences(1), atol=CLOSE) and np.allclose(by_mu, differences(2), atol=CLOSE)
    # W is symmetric in the engine's eyes: a change of one entry alone is that of its symmetric part.
    symmetric = (by_w + by_w.T) / 2
    numeric = np.zeros_like(W)
    for i, j in [(0, 0), (1, 1), (0, 1), (3, 4), (2, 5)]:
        change = np.zeros_like(W)
        change[i, j] = change[j, i] = H
        numeric[i, j] = (loss(W + change, Q, MU) - loss(W - change, Q, MU)) / (2 * H)
        expected = symmetric[i, j] * (1 if i == j else 2)
        assert numeric[i, j] == pytest.approx(expected, abs=CLOSE), (i, j)


def test_a_problem_without_an_answer_raises():
    with pytest.raises(delassus.Error, match="no derivative"):
        _gradient.solved(delassus.lcp([[0.0]], [-1.0]), "auto", None)


def test_torch_has_the_same_gradient():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; delassus.torch was not tested")
    import delassus.torch as dt

    w, q, mu = (torch.tensor(array, dtype=torch.float64, requires_grad=True) for array in (W, Q, MU))
    lam = dt.friction(w, q, mu, solver="newton", tolerance=TIGHT)
    (torch.tensor(WEIGHT) @ lam).backward()
    expected = _gradient.backward(W, Q, MU, lam.detach().numpy(), WEIGHT)
    for tensor, known in zip((w, q, mu), expected):
        assert np.allclose(tensor.grad.numpy(), known, rtol=1e-12, atol=1e-14)
    m, q2 = torch.tensor(M2, requires_grad=True), torch.tensor(Q2, requires_grad=True)
    dt.lcp(m, q2).sum().backward()
    assert np.allclose(q2.grad.numpy(), -np.linalg.solve(M2.T, np.ones(2)))
    expected = np.linalg.solve(M2, -Q2)
    # Arrays, lists and whole numbers are taken too, and nothing is cut off.
    for given in (Q2, Q2.tolist(), torch.tensor(Q2.astype(int)), torch.tensor(Q2, dtype=torch.float32)):
        assert np.allclose(dt.lcp(M2, given).numpy(), expected, rtol=1e-6)
    with pytest.raises(delassus.Error, match="q has dtype torch.bool"):
        dt.lcp(M2, torch.tensor([True, False]))


def test_torch_finds_no_fault_with_the_gradient():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; delassus.torch was not tested")
    import delassus.torch as dt

    given = [torch.tensor(array, dtype=torch.float64, requires_grad=True) for array in (W, Q, MU)]
    assert torch.autograd.gradcheck(lambda w, q, mu: dt.friction((w + w.T) / 2, q, mu, solver="newton", tolerance=1e-13), given, atol=1e-5)


def test_jax_has_the_same_gradient():
    jax = pytest.importorskip("jax", reason="JAX is not installed; delassus.jax was not tested")
    jax.config.update("jax_enable_x64", True)
    import delassus.jax as dj

    def cost(w, q, mu):
        return WEIGHT @ dj.friction(w, q, mu, solver="newton", tolerance=TIGHT)

    value, found = jax.jit(jax.value_and_grad(cost, argnums=(0, 1, 2)))(W, Q, MU)
    lam = _gradient.solved(delassus.friction(W, Q, MU), "newton", TIGHT)
    assert float(value) == pytest.approx(float(WEIGHT @ lam), rel=1e-12)
    for given, known in zip(found, _gradient.backward(W, Q, MU, lam, WEIGHT)):
        assert np.allclose(given, known, rtol=1e-9, atol=1e-12)
    slope = jax.grad(lambda q: dj.lcp(M2, q).sum())(Q2)
    assert np.allclose(slope, -np.linalg.solve(M2.T, np.ones(2)))
    many = np.array([Q2, 2 * Q2, -Q2])
    found = jax.vmap(lambda q: dj.lcp(M2, q))(many)
    assert np.allclose(found, [np.linalg.solve(M2, -Q2), np.linalg.solve(M2, -2 * Q2), [0.0, 0.0]])
    slopes = jax.vmap(jax.grad(lambda q: dj.lcp(M2, q).sum()))(many)
    assert np.allclose(slopes[1], slope) and np.allclose(slopes[2], 0.0)
