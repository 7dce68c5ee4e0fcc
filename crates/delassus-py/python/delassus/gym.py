"""A Gymnasium vector environment on `Batch`, where Gymnasium is installed (`pip install 'delassus[gym]'`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._delassus import Batch, Error, World

try:
    import gymnasium
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError as cause:
    raise ImportError("delassus.gym needs Gymnasium 1.1 or newer; pip install gymnasium, or 'delassus[gym]'") from cause

__all__ = ["RobotEnv"]

_Floats = NDArray[np.float64]
Reward = Callable[[_Floats, _Floats, _Floats], ArrayLike]
Ends = Callable[[_Floats, _Floats], ArrayLike]


class RobotEnv(VectorEnv[_Floats, _Floats, Any]):
    """`num_envs` copies of a world whose first robot is to learn something.

    Observations are (q, v) of the robot, actions numbers in [-1, 1] times `strength` [N or N m] on the dofs `actuated`.
    `reward(q, v, action)` and `ends(q, v)` get arrays with one row for each copy and give one number or truth value for
    each. Episodes last `steps` actions of `substeps` steps each, and begin where the world is, scattered by normal
    numbers of size `scatter` on q and v. An episode that ended begins anew with the next step, as Gymnasium's
    `AutoresetMode.NEXT_STEP` has it; a copy whose step was refused ends too.

    The same seed gives the same numbers, whatever the number of threads.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        world: World,
        num_envs: int,
        *,
        reward: Reward,
        ends: Ends | None = None,
        actuated: Sequence[int] | None = None,
        strength: float | Sequence[float] = 1.0,
        steps: int = 500,
        substeps: int = 1,
        scatter: float = 0.0,
    ) -> None:
        if steps < 1 or substeps < 1 or not 0 <= scatter < np.inf:
            raise Error(f"steps {steps} and substeps {substeps} must be at least 1, scatter {scatter} not negative")
        self.batch = Batch(world, num_envs)
        self.num_envs, self.steps, self.substeps, self.scatter = num_envs, steps, substeps, scatter
        self._reward, self._ends = reward, ends
        q, v = self.batch.robot_states()
        self._n_q, self._n_v = q.shape[1], v.shape[1]
        self._actuated = np.arange(self._n_v) if actuated is None else np.asarray(actuated, dtype=int)
        if self._actuated.size and not (0 <= self._actuated.min() and self._actuated.max() < self._n_v):
            raise Error(f"actuated {list(self._actuated)} names a dof that is not there; the robot has {self._n_v}")
        self._strength = np.broadcast_to(np.asarray(strength, dtype=float), self._actuated.shape)
        wide = np.full(self._n_q + self._n_v, np.inf)
        self.single_observation_space = gymnasium.spaces.Box(-wide, wide, dtype=np.float64)
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, self._actuated.shape, dtype=np.float64)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._age = np.zeros(num_envs, dtype=int)
        self._over = np.zeros(num_envs, dtype=bool)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[_Floats, dict[str, Any]]:
        """Begins every episode anew."""
        super().reset(seed=seed)
        self._begin(np.arange(self.num_envs))
        return self._observe(), {}

    def step(self, actions: _Floats) -> tuple[_Floats, _Floats, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Acts for `substeps` steps; copies whose episode was over begin a new one instead, with reward zero."""
        actions = np.asarray(actions, dtype=float)
        if actions.shape != (self.num_envs, len(self._actuated)):
            raise Error(f"actions have shape {actions.shape} where {(self.num_envs, len(self._actuated))} is needed")
        begins = self._over.copy()
        bounded = np.clip(actions, -1.0, 1.0)
        tau = np.zeros((self.num_envs, self._n_v))
        tau[:, self._actuated] = bounded * self._strength
        refused: list[int] = []
        for _ in range(self.substeps):
            refused += list(self.batch.step(tau=tau).refused)
        if begins.any():
            self._begin(np.flatnonzero(begins))
        q, v = self.batch.robot_states()
        self._age[~begins] += 1
        rewards = np.where(begins, 0.0, np.asarray(self._reward(q, v, bounded), dtype=float))
        ended = np.zeros(self.num_envs, dtype=bool) if self._ends is None else np.array(self._ends(q, v), dtype=bool)
        ended[refused] = True
        ended &= ~begins
        late = ~begins & ~ended & (self._age >= self.steps)
        self._over = ended | late
        return np.concatenate([q, v], axis=1), rewards, ended, late, {}

    def _begin(self, copies: NDArray[np.intp]) -> None:
        self.batch.reset([int(copy) for copy in copies])
        self._age[copies] = 0
        self._over[copies] = False
        if self.scatter > 0:
            if self._n_q != self._n_v:
                raise Error("scatter adds to q, which a robot with quaternions does not allow; give scatter=0")
            q, v = self.batch.robot_states()
            q[copies] += self.scatter * self.np_random.standard_normal((len(copies), self._n_q))
            v[copies] += self.scatter * self.np_random.standard_normal((len(copies), self._n_v))
            self.batch.place_robots(q, v)

    def _observe(self) -> _Floats:
        return np.concatenate(self.batch.robot_states(), axis=1)
