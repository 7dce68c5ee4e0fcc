"""A small program as a user would write it, checked by mypy --strict and run."""

import numpy as np
from numpy.typing import NDArray

import delassus


def settle(name: str, seconds: float) -> NDArray[np.float64]:
    world = delassus.World.scene(name)
    report = world.step(round(seconds / world.dt))
    if not report.solved:
        raise RuntimeError(report.message or report.status)
    return world.positions


def largest_impulse(problem: delassus.Problem) -> float:
    answer = delassus.solve(problem, "newton", tolerance=1e-9)
    return float(np.abs(answer.lambda_).max())


heights: NDArray[np.float64] = settle("stack:3", 0.5)[:, 2]
impulse: float = largest_impulse(delassus.friction(np.eye(3), [-1.0, 0.2, 0.0], 0.5))
fastest: str = delassus.compare([delassus.lcp(np.eye(2), [-1, 1])], ["newton"])[0].solver
assert heights.shape == (4,) and abs(impulse - 1.0) < 1e-8 and fastest == "newton"
