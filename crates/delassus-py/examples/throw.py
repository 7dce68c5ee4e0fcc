"""A ball thrown so that it bounces once and hits a target, found by gradient descent through the steps of a world.

The derivative of each step, bounce included, takes the miss at the end back to the velocity at the start.
"""

from __future__ import annotations

import numpy as np

import delassus

STEPS, DT = 120, 0.01
TARGET = np.array([3.0, 1.0, 0.8])


def world() -> delassus.World:
    """A ball 1 m above the ground."""
    made = delassus.World(dt=DT)
    made.add_material("rubber", friction=0.4, restitution=0.8)
    made.add_ground(material="rubber")
    made.add_body("ball", delassus.Shape.sphere(0.1, material="rubber"), position=[0, 0, 1], density=200)
    made.use_solver("newton", tolerance=1e-12)
    return made


def throw(velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Where the ball is at the end, the derivative of that by its first velocity (3 × 3), and how often it bounced."""
    made = world()
    made.body("ball").velocity = velocity
    derivatives, bounces, down = [], 0, False
    for _ in range(STEPS):
        derivatives.append(made.differentiate())
        touches = made.step().contacts > 0 and made.body("ball").velocity[2] > 0
        bounces += touches and not down
        down = touches
    rows = []
    for k in range(3):
        by_state = np.zeros(12)
        by_state[k] = 1.0
        for derivative in reversed(derivatives):
            by_state = derivative.backward(by_state)["state"]
        rows.append(by_state[6:9])
    return made.body("ball").position, np.array(rows), bounces


def aim(velocity: np.ndarray, rounds: int = 30) -> tuple[np.ndarray, list[float], int]:
    """Gauss and Newton's steps on the miss, no longer than 0.5 m/s: the step of a bounce may change."""
    misses: list[float] = []
    bounces = 0
    for _ in range(rounds):
        end, slope, bounces = throw(velocity)
        miss = end - TARGET
        misses.append(float(np.linalg.norm(miss)))
        if misses[-1] < 1e-6:
            break
        step = np.linalg.lstsq(slope, -miss, rcond=1e-6)[0]
        velocity = velocity + step * min(1.0, 0.5 / np.linalg.norm(step))
    return velocity, misses, bounces


if __name__ == "__main__":
    velocity, misses, bounces = aim(np.array([1.0, 0.0, 1.0]))
    print(f"throw at {velocity.round(4)} m/s: {bounces} bounce, {misses[-1]:.1e} m beside the target after {len(misses)} throws")
