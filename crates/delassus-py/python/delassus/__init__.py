"""Constraint problems of multibody dynamics, every solver that matters, one judge of the answer.

>>> import delassus
>>> answer = delassus.solve(delassus.lcp([[2, 1], [1, 2]], [-5, -6]))
>>> answer.status
'solved'

Problems come from arrays (`lcp`, `friction`), files (`Problem.read`) or a step of a world (`World.problem`); `solve`
solves one, `compare` many by many solvers, `doctor` says what is wrong with one, `derivative` how an answer changes with
the data. `World` steps scenes and robots through time, from files or built here piece by piece, `Batch` many copies of
one. `Robot` computes the dynamics of a kinematic tree. What cannot be used raises `Error`, a `ValueError`.
"""

# Arrays go to and fro: without NumPy this fails here, with its name.
import numpy as _numpy  # noqa: F401

from ._compare import Comparison, Run, compare
from ._delassus import (
    Answer,
    Batch,
    BatchReport,
    Body,
    Derivative,
    Diagnosis,
    Error,
    Finding,
    Joint,
    Problem,
    Recording,
    Robot,
    Shape,
    StepDerivative,
    StepReport,
    View,
    World,
    __version__,
    derivative,
    doctor,
    friction,
    lcp,
    solve,
    solvers,
    variants,
)
from ._recorded import Recorded, recorded
from ._sweep import Failed, Sweep, read_sweep, sweep

__all__ = [
    "Answer",
    "Batch",
    "BatchReport",
    "Body",
    "Comparison",
    "Derivative",
    "Diagnosis",
    "Error",
    "Failed",
    "Finding",
    "Joint",
    "Problem",
    "Recorded",
    "Recording",
    "Robot",
    "Run",
    "Shape",
    "StepDerivative",
    "StepReport",
    "Sweep",
    "View",
    "World",
    "__version__",
    "compare",
    "derivative",
    "doctor",
    "friction",
    "lcp",
    "read_sweep",
    "recorded",
    "solve",
    "solvers",
    "sweep",
    "variants",
]
