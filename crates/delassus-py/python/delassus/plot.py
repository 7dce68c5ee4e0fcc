"""Plots, where matplotlib is installed (`pip install 'delassus[plot]'`).

Every function draws into `ax`, or into a new figure, and gives the axes back.

>>> import delassus, delassus.plot
>>> problem = delassus.Problem.builtin("stack:4")
>>> answers = {name: delassus.solve(problem, name, history=True) for name in ["gauss-seidel", "jacobi"]}
>>> axes = delassus.plot.convergence(answers)
>>> axes.get_ylabel()
'law residual [m/s]'
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ._compare import Comparison
from ._delassus import Answer, Error, World

try:
    from matplotlib import pyplot
except ImportError as cause:
    raise ImportError("delassus.plot needs matplotlib; pip install matplotlib, or 'delassus[plot]'") from cause

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["compare", "contacts", "convergence", "energy"]

# Colours of Okabe and Ito, which everybody can tell apart.
_SOLVED, _NEARBY, _UNSOLVED = "#0072b2", "#e69f00", "#d55e00"


def _axes(ax: Axes | None) -> Axes:
    return pyplot.subplots(layout="constrained")[1] if ax is None else ax


def convergence(answers: Answer | Mapping[str, Answer], *, ax: Axes | None = None) -> Axes:
    """The residual after every sweep of one answer, or of several by name; `solve` measures all with `history=True`."""
    named = {answers.solver: answers} if isinstance(answers, Answer) else dict(answers)
    for name, answer in named.items():
        if not np.isfinite(answer.history["law"]).any():
            raise Error(f"the answer of {name} has no history: it pivots, or was solved before the first sweep")
    ax = _axes(ax)
    for name, answer in named.items():
        sweep, law = answer.history["sweep"], answer.history["law"]
        # Without history=True only some sweeps are measured.
        known = np.isfinite(law)
        ax.semilogy(sweep[known], np.maximum(law[known], 1e-300), label=name)
    ax.set_xlabel("sweep")
    ax.set_ylabel("law residual [m/s]")
    ax.legend()
    return ax


def energy(folder: str | os.PathLike[str], *, ax: Axes | None = None) -> Axes:
    """Kinetic and potential energy and their sum over the time of a recording, from its `steps.csv`."""
    path = Path(folder) / "steps.csv"
    with path.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    if not lines:
        raise Error(f"{path}: no step was recorded")
    time, kinetic, potential = (np.array([float(line[key]) for line in lines]) for key in ("time", "kinetic", "potential"))
    ax = _axes(ax)
    for values, name in ((kinetic, "kinetic"), (potential, "potential"), (kinetic + potential, "sum")):
        ax.plot(time, values, label=name)
    ax.set_xlabel("time [s]")
    ax.set_ylabel("energy [J]")
    ax.legend()
    return ax


def contacts(world: World, *, plane: str = "xz", ax: Axes | None = None) -> Axes:
    """Contacts of the last step from one side: points, and the normal forces on the first body as arrows."""
    if len(plane) != 2 or not set(plane) <= set("xyz") or plane[0] == plane[1]:
        raise Error(f'plane is "{plane}"; give two of x, y and z, as "xz"')
    across, up = ("xyz".index(axis) for axis in plane)
    ax = _axes(ax)
    touches = world.contacts
    points = (touches["point_a"] + touches["point_b"]) / 2
    # A mean force is the impulse of the last substep over its length.
    forces = touches["normal"] * touches["impulse"][:, :1] / world.last_substep
    ax.plot(points[:, across], points[:, up], ".", color=_UNSOLVED)
    if len(points):
        ax.quiver(points[:, across], points[:, up], forces[:, across], forces[:, up], angles="xy", color=_SOLVED)
    ax.set_xlabel(f"{plane[0]} [m]")
    ax.set_ylabel(f"{plane[1]} [m]")
    ax.set_aspect("equal", adjustable="datalim")
    total = float(np.linalg.norm(forces, axis=1).sum())
    ax.set_title(f"{len(points)} contacts, {total:.4g} N in all")
    return ax


def compare(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """Times of a comparison as bars: solved, solved for a nearby law, and not solved."""
    ax = _axes(ax)
    runs = list(comparison)[::-1]
    many = len({run.problem for run in runs}) > 1
    labels = [f"{run.problem}: {run.solver}" if many else run.solver for run in runs]
    colours = [_UNSOLVED if not run.solved else _SOLVED if run.fit == "exact" else _NEARBY for run in runs]
    ax.barh(range(len(runs)), [max(run.seconds, 1e-9) for run in runs], color=colours)
    ax.set_yticks(range(len(runs)), labels)
    ax.set_xscale("log")
    ax.set_xlabel("time [s]: blue solved, yellow a nearby law, red not solved")
    return ax
