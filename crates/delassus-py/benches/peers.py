"""The same work by delassus and by what else is installed: MuJoCo, Pinocchio, Siconos. What is absent is left out and named.

Three tasks: the mass matrix and the forward dynamics of a robot, a step of a stack of boxes, a contact problem with friction.
Times are the least of runs in turn; what is left over says how exact each is: of dynamics M q̈ + bias − τ, of a stack how deep
its boxes are in each other, of a problem the natural map of Coulomb's law, computed here for all.

    python crates/delassus-py/benches/peers.py
"""

from __future__ import annotations

import functools
import importlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import delassus

ROUNDS = 200


def optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def least(run: Callable[[], object], rounds: int = ROUNDS) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def chain(links: int) -> str:
    """A chain of hinges as MJCF."""
    text = ""
    for i in range(links):
        axis = "0 1 0" if i % 2 else "1 0 0"
        text += f'<body pos="{0.2 if i else 0} 0 0"><joint axis="{axis}"/><inertial mass="1" pos=".1 0 0" diaginertia=".002 .004 .004"/>'
    return f'<mujoco><worldbody>{text}{"</body>" * links}</worldbody></mujoco>'


def urdf(links: int) -> str:
    """The same chain as URDF."""
    parts = ['<robot name="chain"><link name="base"/>']
    for i in range(links):
        axis = "0 1 0" if i % 2 else "1 0 0"
        parent = f"l{i - 1}" if i else "base"
        parts.append(
            f'<link name="l{i}"><inertial><mass value="1"/><origin xyz=".1 0 0"/>'
            f'<inertia ixx=".002" iyy=".004" izz=".004" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="j{i}" type="continuous"><parent link="{parent}"/><child link="l{i}"/>'
            f'<origin xyz="{0.2 if i else 0} 0 0"/><axis xyz="{axis}"/></joint>'
        )
    return "".join(parts) + "</robot>"


def dynamics(links: int) -> list[tuple[str, float, float]]:
    """q̈ of a chain: seconds, and what is left of M q̈ + bias − τ by delassus' own inverse dynamics."""
    random = np.random.default_rng(1)
    q, v, tau = (random.normal(size=links) for _ in range(3))
    robot = delassus.Robot.parse(urdf(links))

    def left(acceleration: np.ndarray) -> float:
        return float(np.max(np.abs(robot.rnea(q, v, acceleration) - tau)))

    found = [("delassus", least(lambda: robot.aba(q, v, tau)), left(robot.aba(q, v, tau)))]
    if mujoco := optional("mujoco"):
        model = mujoco.MjModel.from_xml_string(chain(links))
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau
        mujoco.mj_forward(model, data)
        found.append(("mujoco", least(lambda: mujoco.mj_forward(model, data)), left(np.array(data.qacc))))
    if pinocchio := optional("pinocchio"):
        try:
            model = pinocchio.buildModelFromXML(urdf(links))
        except AttributeError:
            return found
        data = model.createData()
        # Angles without bound are (cos, sin) there.
        own = pinocchio.integrate(model, pinocchio.neutral(model), q)
        acceleration = np.array(pinocchio.aba(model, data, own, v, tau))
        found.append(("pinocchio", least(lambda: pinocchio.aba(model, data, own, v, tau)), left(acceleration)))
    return found


def stack(boxes: int, steps: int) -> list[tuple[str, float, float]]:
    """A stack that settles: seconds a step, and the deepest penetration at the end [m]."""
    world = delassus.World(dt=0.005)
    world.add_ground()
    for i in range(boxes):
        world.add_body(f"box-{i}", delassus.Shape.box([0.1, 0.1, 0.1]), position=[0, 0, 0.1 + 0.2 * i])
    start = time.perf_counter()
    report = world.step(steps)
    found = [("delassus", (time.perf_counter() - start) / steps, report.penetration)]
    if mujoco := optional("mujoco"):
        bodies = "".join(
            f'<body pos="0 0 {0.1 + 0.2 * i}"><freejoint/><geom type="box" size=".1 .1 .1" density="1000"/></body>' for i in range(boxes)
        )
        text = f'<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="5 5 .1"/>{bodies}</worldbody></mujoco>'
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        start = time.perf_counter()
        for _ in range(steps):
            mujoco.mj_step(model, data)
        seconds = (time.perf_counter() - start) / steps
        depth = max((-float(contact.dist) for contact in data.contact[: data.ncon]), default=0.0)
        found.append(("mujoco", seconds, depth))
    return found


def natural_map(W: np.ndarray, q: np.ndarray, mu: np.ndarray, impulse: np.ndarray) -> float:
    """The largest |λ − P(λ − ρŵ)|/ρ over all contacts [m/s], with ŵ = w + μ|w_t| e_n: zero where Coulomb's law holds."""
    w = (W @ impulse + q).reshape(-1, 3)
    worst = 0.0
    for k, (own, lam) in enumerate(zip(w, impulse.reshape(-1, 3))):
        rho = 3.0 / float(np.trace(W[3 * k : 3 * k + 3, 3 * k : 3 * k + 3]))
        shifted = own + np.array([mu[k] * np.hypot(own[1], own[2]), 0.0, 0.0])
        n, t = (lam - rho * shifted)[0], (lam - rho * shifted)[1:]
        size = float(np.hypot(*t))
        if size <= mu[k] * n:
            onto = np.array([n, *t])
        elif mu[k] * size <= -n:
            onto = np.zeros(3)
        else:
            normal = (n + mu[k] * size) / (1.0 + mu[k] ** 2)
            onto = np.array([normal, *(mu[k] * normal / size * t)])
        worst = max(worst, float(np.linalg.norm(lam - onto)) / rho)
    return worst


def contacts(count: int) -> list[tuple[str, float, float]]:
    """A random problem of contacts with friction: seconds, and the natural map of the answer [m/s]."""
    random = np.random.default_rng(3)
    root = random.normal(size=(3 * count, 3 * count + 3))
    W = root @ root.T / (3 * count) + 0.1 * np.eye(3 * count)
    q = random.normal(size=3 * count)
    q[::3] -= 1.0
    mu = np.full(count, 0.5)
    problem = delassus.friction(W, q, mu)
    found = []
    for solver in ("newton", "gauss-seidel"):
        answer = delassus.solve(problem, solver, tolerance=1e-10)
        seconds = least(lambda solver=solver: delassus.solve(problem, solver, tolerance=1e-10), 20)  # type: ignore[misc]
        found.append((f"delassus {solver}", seconds, natural_map(W, q, mu, answer.lambda_)))
    if python := siconos_python():
        seconds, reaction = by_siconos(python, W, q, mu)
        found.append(("siconos nsgs", seconds, natural_map(W, q, mu, reaction)))
    return found


@functools.cache
def siconos_python() -> str | None:
    """An interpreter that has Siconos: this one, or that of the system, for which distributions package it."""
    for python in (sys.executable, shutil.which("python3", path="/usr/bin:/usr/local/bin")):
        if python and subprocess.run([python, "-c", "import siconos.numerics"], capture_output=True).returncode == 0:
            return python
    return None


def by_siconos(python: str, W: np.ndarray, q: np.ndarray, mu: np.ndarray) -> tuple[float, np.ndarray]:
    """Seconds and impulses of Siconos, by the interpreter that has it."""
    with tempfile.TemporaryDirectory() as folder:
        given, answer = Path(folder, "given.npz"), Path(folder, "answer.npz")
        np.savez(given, W=W, q=q, mu=mu, tolerance=1e-10, rounds=20)
        row = Path(__file__).with_name("siconos_row.py")
        subprocess.run([python, str(row), str(given), str(answer)], check=True, capture_output=True)
        with np.load(answer) as data:
            return float(data["seconds"]), np.array(data["reaction"])


if __name__ == "__main__":
    for name in ("mujoco", "pinocchio"):
        if optional(name) is None:
            print(f"{name} is not installed; its rows are left out")
    if siconos_python() is None:
        print("siconos is installed neither here nor for the system's Python (python3-siconos); its row is left out")
    tasks = [
        ("forward dynamics of 7 hinges, left over [N m]", dynamics(7)),
        ("forward dynamics of 30 hinges, left over [N m]", dynamics(30)),
        ("step of a stack of 10 boxes, penetration [m]", stack(10, 400)),
        ("30 contacts with friction, natural map [m/s]", contacts(30)),
    ]
    for task, rows in tasks:
        print(f"\n{task}")
        for who, seconds, left in rows:
            print(f"  {who:22} {seconds * 1e6:10.1f} µs   {left:9.1e}")
