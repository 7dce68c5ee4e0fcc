"""Solved problems and steps of worlds as functions of their data, with the derivative backwards: what `delassus.torch` and `delassus.jax` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._delassus import Error, Problem, StepDerivative, World, derivative, friction, lcp, solve

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


@dataclass(frozen=True)
class Stepped:
    """One step of a world with what its derivative needs: coordinates as `World.coordinates` has them."""

    derivative: StepDerivative
    after: _Floats

    def backward(self, gradient: _Floats) -> tuple[_Floats, _Floats, _Floats]:
        """∂L/∂ coordinates before, ∂L/∂ force and ∂L/∂ inputs from ∂L/∂ coordinates after."""
        found = self.derivative.pull(self.after, gradient)
        return found["state"], found["force"], found["inputs"]


def stepped(
    world: World,
    state: _Floats,
    force: _Floats | None,
    values: _Floats | None,
    how: StepOptions,
    time: float | None = None,
) -> Stepped:
    """Puts the world into a state, its clock to a time where one is given, sets inputs, and makes one step; the world is left after it."""
    world.coordinates = state
    if time is not None:
        world.time = time
    if values is not None:
        if values.shape != (len(how.inputs),):
            raise Error(f"values have shape {values.shape} where {len(how.inputs)} inputs are named")
        for name, value in zip(how.inputs, values):
            world.set_input(name, float(value))
    if force is not None:
        world.push(force)
    try:
        derivative = world.differentiate(how.dt, inputs=how.inputs, smoothing=how.smoothing, tolerance=how.tolerance)
    except Error:
        # No step has used the force up: it is taken back.
        if force is not None:
            world.push(-force)
        raise
    # What is differentiated is what is stepped.
    world.use_solver("newton", tolerance=how.tolerance)
    report = world.step(1, how.dt)
    if not report.solved and report.status != "rounding-floor":
        raise Error(f"the step is not solved ({report.status}), so that it has no derivative")
    return Stepped(derivative, world.coordinates)


@dataclass(frozen=True)
class StepOptions:
    """How a step is made and differentiated."""

    inputs: tuple[Any, ...] = ()
    dt: float | None = None
    smoothing: float | None = None
    tolerance: float = 1e-12
