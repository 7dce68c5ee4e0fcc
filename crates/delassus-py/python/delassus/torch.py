"""Solves and steps that PyTorch differentiates, where it is installed.

`lcp(M, q)` and `friction(W, q, mu)` take tensors, or what PyTorch makes one of, and give the impulses as one; gradients reach every argument. They are
computed in double precision on the processor, and come back in the precision and on the device of `q`. `step(world, state)`
makes one step of a world; gradients reach state, forces and inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _gradient
from ._delassus import Error, World

try:
    import torch
except ImportError as cause:
    raise ImportError("delassus.torch needs PyTorch; pip install torch") from cause

__all__ = ["friction", "lcp", "step"]


def _tensor(what: str, given: Any) -> Any:
    """A tensor of real numbers: whole ones become fractions, so that answers are not cut off."""
    tensor = torch.as_tensor(given)
    if tensor.is_complex() or tensor.dtype == torch.bool:
        raise Error(f"{what} has dtype {tensor.dtype}; a tensor of real numbers is needed")
    return tensor if tensor.is_floating_point() else tensor.to(torch.get_default_dtype())


def _array(tensor: Any) -> Any:
    return np.ascontiguousarray(tensor.detach().cpu().double().numpy())


class _Solve(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    @staticmethod
    def forward(ctx: Any, W: Any, q: Any, mu: Any, way: tuple[str, float | None]) -> Any:
        data = (_array(W), _array(q), None if mu is None else _array(mu))
        lam = _gradient.solved(_gradient.problem_of(data[0], data[1], data[2]), way[0], way[1])
        ctx.data, ctx.lam = data, lam
        ctx.like = (W, q, mu)
        return torch.from_numpy(lam.copy()).to(q)

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator,misc,unused-ignore]
    def backward(ctx: Any, grad: Any) -> Any:
        W, q, mu = ctx.data
        found = _gradient.backward(W, q, mu, ctx.lam, _array(grad))
        given = [None if like is None else torch.from_numpy(part).to(like) for part, like in zip(found, ctx.like)]
        return (*given, None)


def lcp(M: Any, q: Any, *, solver: str = "auto", tolerance: float | None = None) -> Any:
    """z ≥ 0 with w = M z + q ≥ 0 and zᵀw = 0, differentiable in M and q."""
    return _Solve.apply(_tensor("M", M), _tensor("q", q), None, (solver, tolerance))


def friction(W: Any, q: Any, mu: Any, *, solver: str = "auto", tolerance: float | None = None) -> Any:
    """Impulses of contacts with Coulomb friction, differentiable in W, q and mu (one number for each contact)."""
    return _Solve.apply(_tensor("W", W), _tensor("q", q), _tensor("mu", mu), (solver, tolerance))


class _Step(torch.autograd.Function):  # type: ignore[misc,unused-ignore]
    @staticmethod
    def forward(ctx: Any, state: Any, force: Any, values: Any, world: World, how: _gradient.StepOptions, time: float | None) -> Any:
        parts = [None if part is None else _array(part) for part in (force, values)]
        ctx.made = _gradient.stepped(world, _array(state), parts[0], parts[1], how, time)
        ctx.like = (state, force, values)
        return torch.from_numpy(ctx.made.after.copy()).to(state)

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator,misc,unused-ignore]
    def backward(ctx: Any, grad: Any) -> Any:
        found = ctx.made.backward(_array(grad))
        given = [None if like is None else torch.from_numpy(part).to(like) for part, like in zip(found, ctx.like)]
        return (*given, None, None, None)


def step(
    world: World,
    state: Any,
    force: Any = None,
    values: Any = None,
    *,
    inputs: Sequence[Any] = (),
    time: float | None = None,
    dt: float | None = None,
    smoothing: float | None = None,
    tolerance: float = 1e-12,
) -> Any:
    """The coordinates of a world one step after `state`, differentiable in `state`, `force` and `values`.

    `state` is as `World.coordinates` has it, `force` as `World.push`, and `values` are those of `inputs`, named as for
    `World.differentiate`. The world is left after the step, with these inputs; it steps by Newton's method from then on.
    Where forces change with time, `time` is the time at which the step begins [s]; without it the clock goes on.
    """
    how = _gradient.StepOptions(tuple(inputs), dt, smoothing, tolerance)
    force = None if force is None else _tensor("force", force)
    values = None if values is None else _tensor("values", values)
    return _Step.apply(_tensor("state", state), force, values, world, how, time)
