"""Mass and friction of a block, found from a recorded push by gradient descent through the steps of a world.

A block of unknown mass and friction on a table is pushed with a known force and then let go; its velocity is recorded. The
push tells mass and friction apart: while it lasts v̇ = f/m − μg, after it v̇ = −μg.
"""

from __future__ import annotations

import numpy as np

import delassus

STEPS, PUSHED, FORCE = 40, 15, 12.0
INPUTS = [("mass", "block"), ("friction", "wood")]


def world(mass: float, mu: float) -> delassus.World:
    """The block on the table. Friction between both is that of one material, √(μ μ) = μ."""
    made = delassus.World(dt=0.01, contact_compliance=1e-8)
    made.add_material("wood", friction=mu)
    made.add_ground(material="wood")
    made.add_body("block", delassus.Shape.box([0.1, 0.1, 0.05], material="wood"), position=[0, 0, 0.05], mass=mass)
    made.use_solver("newton", tolerance=1e-12)
    return made


def run(mass: float, mu: float) -> tuple[np.ndarray, list[delassus.StepDerivative]]:
    """Speeds along x after each step, and the derivative of each."""
    made = world(mass, mu)
    speeds, derivatives = [], []
    for k in range(STEPS):
        made.push([FORCE if k < PUSHED else 0.0, 0, 0, 0, 0, 0])
        derivatives.append(made.differentiate(inputs=INPUTS, smoothing=1e-4))
        made.step()
        speeds.append(made.body("block").velocity[0])
    return np.array(speeds), derivatives


def loss_and_gradient(mass: float, mu: float, seen: np.ndarray) -> tuple[float, np.ndarray]:
    """L = ½ Σ (v − seen)² over all steps, and its derivatives by mass and friction: the steps backwards."""
    speeds, derivatives = run(mass, mu)
    miss = speeds - seen
    by_state, by_inputs = np.zeros(12), np.zeros(2)
    for k in reversed(range(STEPS)):
        by_state[6] += miss[k]
        back = derivatives[k].backward(by_state)
        by_state = back["state"]
        by_inputs += back["inputs"]
    return 0.5 * float(miss @ miss), by_inputs


def identify(seen: np.ndarray, runs: int = 60) -> tuple[float, float, list[float]]:
    """Descends along the gradient in the logarithms of both, by steps of Barzilai and Borwein: |Δx|²/(Δx·Δg)."""
    at, losses = np.log([1.0, 0.6]), []
    before: tuple[np.ndarray, np.ndarray] | None = None
    for _ in range(runs):
        loss, slope = loss_and_gradient(*np.exp(at), seen)
        losses.append(loss)
        if loss < 1e-14:
            break
        gradient = slope * np.exp(at)
        rate = 0.05
        if before is not None:
            move, change = at - before[0], gradient - before[1]
            rate = abs(move @ move / (move @ change)) if move @ change != 0.0 else rate
        # No step changes mass or friction by more than a third.
        step = -rate * gradient
        before = (at, gradient)
        at = at + step * min(1.0, 0.3 / float(np.max(np.abs(step))))
    mass, mu = np.exp(at)
    return float(mass), float(mu), losses


if __name__ == "__main__":
    truth = (1.7, 0.35)
    seen, _ = run(*truth)
    mass, mu, losses = identify(seen)
    print(f"mass {mass:.4f} kg, friction {mu:.4f} after {len(losses)} runs; true: {truth}")
