"""Solved problems as functions of their data, with the derivative backwards: what `delassus.torch` and `delassus.jax` share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._delassus import Error, Problem, derivative, friction, lcp, solve

_Floats = NDArray[np.float64]


def solved(problem: Problem, solver: str, tolerance: float | None) -> _Floats:
    """The impulses of a problem; one that is not solved has no derivative and raises."""
    answer = solve(problem, solver, tolerance=tolerance)
    if not answer.solved:
        raise Error(f"the problem is not solved ({answer.status}), so that it has no derivative: {answer.message}")
    return answer.lambda_


def problem_of(W: _Floats, q: _Floats, mu: _Floats | None) -> Problem:
    """The complementarity problem w = W λ + q, or contacts with friction where mu is given."""
    return lcp(W, q) if mu is None else friction(W, q, mu)


def backward(W: _Floats, q: _Floats, mu: _Floats | None, lam: _Floats, grad: _Floats) -> tuple[_Floats, _Floats, _Floats]:
    """∂L/∂W, ∂L/∂q and ∂L/∂μ from ∂L/∂λ at an answer.

    The law sees W and q by w = W λ + q alone, so dW acts as dq = dW λ: ∂L/∂W = (∂L/∂q) λᵀ.
    """
    found: dict[str, Any] = derivative(problem_of(W, q, mu), lam).backward(lambda_=grad)
    by_q: _Floats = found["q"]
    return np.outer(by_q, lam), by_q, np.asarray(found["mu"], dtype=np.float64)
