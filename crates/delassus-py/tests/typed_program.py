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


def pendulum(length: float) -> float:
    world = delassus.World("pendulum", dt=0.005)
    bob: delassus.Body = world.add_body("bob", delassus.Shape.sphere(0.05), position=[length, 0, 0])
    hinge = world.add_joint("hinge", (bob, None), point=[0, 0, 0], axis=[0, 1, 0], motor={"speed": 1.0, "max_force": 0.0})
    world.step(20)
    hinge.drive(motor=None)
    return hinge.coordinate


assert pendulum(0.5) > 0
heights: NDArray[np.float64] = settle("stack:3", 0.5)[:, 2]
impulse: float = largest_impulse(delassus.friction(np.eye(3), [-1.0, 0.2, 0.0], 0.5))
fastest: str = delassus.compare([delassus.lcp(np.eye(2), [-1, 1])], ["newton"])[0].solver
assert heights.shape == (4,) and abs(impulse - 1.0) < 1e-8 and fastest == "newton"
