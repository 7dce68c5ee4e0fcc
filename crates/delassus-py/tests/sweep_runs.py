"""Functions that the tests sweep over."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import delassus


def short(*, a: float, solver: str, seed: int) -> dict[str, Any]:
    """A small solve."""
    answer = delassus.solve(delassus.lcp([[2, 1], [1, 2]], [-5 - a, -6]), solver)
    return {"z": float(answer.z[0]), "residual": answer.residual}


def counted(*, a: int, folder: str, solver: str, seed: int) -> dict[str, Any]:
    """Leaves a mark for every time it is called."""
    with (Path(folder) / f"mark-{a}").open("a") as file:
        file.write("x")
    return {"double": 2 * a}


def deadly(*, a: int, folder: str, solver: str, seed: int) -> dict[str, Any]:
    """Kills its worker: at point 5 the first time, at point 7 always."""
    mark = Path(folder) / "killed"
    if a == 7 or (a == 5 and not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"double": 2 * a}


def wrong(*, a: int, solver: str, seed: int) -> dict[str, Any]:
    """Fails at some points."""
    if a == 1:
        raise ValueError("one is not allowed")
    if a == 2:
        raise delassus.Failed("two is of no use", delassus.Problem.builtin("stack:2"))
    if a == 3:
        return {"solver": "mine"}
    return {"value": a, "status": "odd" if a % 2 else "even"}
