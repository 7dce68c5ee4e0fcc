"""Solves and steps that JAX differentiates, where it is installed.

`lcp(M, q)` and `friction(W, q, mu)` take arrays and give the impulses as one; `jax.grad` reaches every argument, and both
work within `jax.jit`. They are computed in double precision on the processor and come back in the precision of `q`: call
`jax.config.update("jax_enable_x64", True)` to keep it. `step(world, state)` makes one step of a world; `jax.grad` reaches
state, forces and inputs.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from . import _gradient
from ._delassus import Error, World

try:
    jax: Any = importlib.import_module("jax")
    jnp: Any = importlib.import_module("jax.numpy")
except ImportError as cause:
    raise ImportError("delassus.jax needs JAX; pip install jax") from cause

__all__ = ["friction", "lcp", "step"]

_Way = tuple[str, "float | None"]


def _double(*arrays: Any) -> list[Any]:
    return [np.ascontiguousarray(np.asarray(array, dtype=np.float64)) for array in arrays]


def _outside(host: Any, shapes: Any, *given: Any) -> Any:
    """A call out of JAX; `vmap` makes one for each."""
    return jax.pure_callback(host, shapes, *given, vmap_method="sequential")


def _call(W: Any, q: Any, mu: Any, has_mu: bool, way: _Way) -> Any:
    def host(W: Any, q: Any, mu: Any) -> Any:
        W, q, mu = _double(W, q, mu)
        return _gradient.solved(_gradient.problem_of(W, q, mu if has_mu else None), *way).astype(kind)

    kind = np.dtype(q.dtype)
    return _outside(host, jax.ShapeDtypeStruct(q.shape, kind), W, q, mu)


@partial(jax.custom_vjp, nondiff_argnums=(3, 4))  # type: ignore[untyped-decorator,misc,unused-ignore]
def _solve(W: Any, q: Any, mu: Any, has_mu: bool, way: _Way) -> Any:
    return _call(W, q, mu, has_mu, way)


def _forward(W: Any, q: Any, mu: Any, has_mu: bool, way: _Way) -> Any:
    lam = _call(W, q, mu, has_mu, way)
    return lam, (W, q, mu, lam)


def _backward(has_mu: bool, way: _Way, kept: Any, grad: Any) -> Any:
    def host(W: Any, q: Any, mu: Any, grad: Any) -> Any:
        W, q, mu, grad = _double(W, q, mu, grad)
        # λ in its own precision may be too coarse to tell who slips: solved once more.
        own = mu if has_mu else None
        lam = _gradient.solved(_gradient.problem_of(W, q, own), *way)
        by_w, by_q, by_mu = _gradient.backward(W, q, own, lam, grad)
        parts = (by_w, by_q, by_mu if has_mu else np.zeros(shapes[2].shape))
        return tuple(part.astype(shape.dtype) for part, shape in zip(parts, shapes))

    W, q, mu, _ = kept
    shapes = tuple(jax.ShapeDtypeStruct(x.shape, np.dtype(x.dtype)) for x in (W, q, mu))
    return _outside(host, shapes, W, q, mu, grad)


_solve.defvjp(_forward, _backward)


def lcp(M: Any, q: Any, *, solver: str = "auto", tolerance: float | None = None) -> Any:
    """z ≥ 0 with w = M z + q ≥ 0 and zᵀw = 0, differentiable in M and q."""
    q = jnp.asarray(q, dtype=float)
    return _solve(jnp.asarray(M, dtype=float), q, jnp.zeros(0, q.dtype), False, (solver, tolerance))


def friction(W: Any, q: Any, mu: Any, *, solver: str = "auto", tolerance: float | None = None) -> Any:
    """Impulses of contacts with Coulomb friction, differentiable in W, q and mu (one number for each contact)."""
    arrays = [jnp.asarray(array, dtype=float) for array in (W, q, mu)]
    return _solve(*arrays, True, (solver, tolerance))


def _make(world: World, how: _gradient.StepOptions, state: Any, force: Any, values: Any, time: Any) -> Any:
    state, force, values, time = _double(state, force, values, time)
    # No number is no time.
    clock = float(time[0]) if time.size else None
    return _gradient.stepped(world, state, force, values if how.inputs else None, how, clock)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))  # type: ignore[untyped-decorator,misc,unused-ignore]
def _step(world: World, how: _gradient.StepOptions, state: Any, force: Any, values: Any, time: Any) -> Any:
    kind = np.dtype(state.dtype)

    def host(*given: Any) -> Any:
        return _make(world, how, *given).after.astype(kind)

    return _outside(host, jax.ShapeDtypeStruct(state.shape, kind), state, force, values, time)


def _step_forward(world: World, how: _gradient.StepOptions, *given: Any) -> Any:
    return _step(world, how, *given), given


def _step_backward(world: World, how: _gradient.StepOptions, kept: Any, grad: Any) -> Any:
    shapes = tuple(jax.ShapeDtypeStruct(x.shape, np.dtype(x.dtype)) for x in kept)

    def host(*given: Any) -> Any:
        # A graph keeps arrays alone: the step is made once more, at its own time. Nothing is asked of the slope by that.
        found = _make(world, how, *given[:-1]).backward(_double(given[-1])[0])
        parts = (*found, np.zeros(shapes[3].shape))
        return tuple(part.astype(shape.dtype) for part, shape in zip(parts, shapes))

    return _outside(host, shapes, *kept, grad)


_step.defvjp(_step_forward, _step_backward)


def step(
    world: World,
    state: Any,
    force: Any = None,
    values: Any = None,
    *,
    inputs: Sequence[Any] = (),
    time: Any = None,
    dt: float | None = None,
    smoothing: float | None = None,
    tolerance: float = 1e-12,
) -> Any:
    """The coordinates of a world one step after `state`, differentiable in `state`, `force` and `values`.

    `state` is as `World.coordinates` has it, `force` as `World.push`, and `values` are those of `inputs`, named as for
    `World.differentiate`. The world is put into each state that is asked for and steps by Newton's method from then on;
    use one that nothing else uses. Its clock goes on with every step, those of the backward pass too: where forces change
    with time, give the `time` at which the step begins [s], by which nothing is differentiated.
    """
    how = _gradient.StepOptions(tuple(inputs), dt, smoothing, tolerance)
    state = jnp.asarray(state, dtype=float)
    # None is no force, and the numbers of a pose are as many as those of velocities.
    n = world.differentiate(dt, tolerance=tolerance).n if force is None else 0
    force = jnp.zeros(n, state.dtype) if force is None else jnp.asarray(force, dtype=float)
    values = jnp.zeros(0, state.dtype) if values is None else jnp.asarray(values, dtype=float)
    if values.shape != (len(how.inputs),):
        raise Error(f"values have shape {values.shape} where {len(how.inputs)} inputs are named")
    clock = jnp.zeros(0, state.dtype) if time is None else jnp.asarray(time, dtype=float).reshape(1)
    return _step(world, how, state, force, values, clock)
