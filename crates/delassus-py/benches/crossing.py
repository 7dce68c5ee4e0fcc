"""What it costs to step from Python, beside the same steps made by the engine alone.

One call of `step(1)` crosses from Python to the engine and back; one of `step(1000)` crosses once for a thousand steps. Their
difference over a step is the cost of crossing. Least times, both taken in turn.

    python crates/delassus-py/benches/crossing.py

With a number of copies and a scene it does the work of `cargo bench -p delassus --bench world_batch -- 1000 quadruped` instead,
and prints the same columns: time a step, and the same hash of all states. `RAYON_NUM_THREADS` says how many threads.

    RAYON_NUM_THREADS=2 python crates/delassus-py/benches/crossing.py 1000 quadruped
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable

import delassus

ROUNDS = 40
MANY = 500

ARM = """<mujoco><worldbody><body name="a" pos="0 0 1"><joint axis="0 1 0"/><inertial mass="1" pos=".2 0 0" diaginertia=".01 .02 .02"/>
<body name="b" pos=".4 0 0"><joint axis="0 1 0"/><inertial mass="1" pos=".2 0 0" diaginertia=".01 .02 .02"/>
</body></body></worldbody></mujoco>"""


def ball() -> delassus.World:
    """A ball at rest on the ground: one body, one contact."""
    world = delassus.World(dt=0.01)
    world.add_ground()
    world.add_body("ball", delassus.Shape.sphere(0.1), position=[0, 0, 0.1])
    return world


def pendulum() -> delassus.World:
    """One body on a hinge."""
    world = delassus.World(dt=0.001)
    bob = world.add_body("bob", mass=1.0, inertia=[0.01, 0.01, 0.01], position=[1, 0, 0])
    world.add_joint("hinge", (bob, None), point=[0, 0, 0], axis=[0, 1, 0])
    return world


def least(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def single(make: Callable[[], delassus.World]) -> tuple[float, float]:
    """Seconds of a step by itself, and of one among many."""
    world = make()
    world.step(100)
    alone = among = float("inf")
    for _ in range(ROUNDS):
        for _ in range(100):
            alone = min(alone, least(world.step))
        among = min(among, least(lambda: world.step(MANY)) / MANY)
    return alone, among


def batch(copies: int) -> tuple[float, float]:
    """Seconds of a step of all copies by itself, and among many."""
    world = delassus.World.parse(ARM)
    many = delassus.Batch(world, copies)
    many.step(20)
    alone = among = float("inf")
    for _ in range(ROUNDS):
        alone = min(alone, least(many.step))
        among = min(among, least(lambda: many.step(20)) / 20)
    return alone, among


def as_in_rust(copies: int, scene: str) -> None:
    """The rounds of `world_batch`: two seconds to settle, then the best of six times 100 steps of all copies."""
    world = delassus.World.scene(scene)
    world.step(int(2.0 / world.dt))
    many = delassus.Batch(world, copies)
    best, unsolved, law = float("inf"), 0, 0.0
    for _ in range(6):
        start = time.perf_counter()
        report = many.step(100)
        best = min(best, time.perf_counter() - start)
        unsolved += int(report.unsolved.sum())
        law = max(law, float(report.residual.max()))
    every = 100 * copies
    state = functools.reduce(lambda total, own: (31 * total + own) % 2**64, many.state_hashes, 0)
    threads = os.environ.get("RAYON_NUM_THREADS", "all")
    print("scene              copies  threads   steps/s  us/step  unsolved  law m/s  state")
    print(f"{scene:<18} {copies:6}  {threads:>7}  {every / best:8.0f}  {1e6 * best / every:7.1f}  {unsolved:8}  {law:7.1e}  {state:016x}")


if __name__ == "__main__" and 1 < len(sys.argv):
    as_in_rust(int(sys.argv[1]), sys.argv[2])
elif __name__ == "__main__":
    print("world                    step()   step(n)/n   crossing")
    for name, (alone, among) in [("ball on the ground", single(ball)), ("pendulum", single(pendulum))]:
        print(f"{name:22} {alone * 1e6:6.2f} µs {among * 1e6:8.2f} µs {(alone - among) * 1e6:7.2f} µs")
    alone, among = batch(1000)
    print(f"{'1000 robots of 2 dofs':22} {alone * 1e6:6.0f} µs {among * 1e6:8.0f} µs {(alone - among) * 1e6:7.0f} µs")
