"""Learns to balance a pole on a cart by the cross-entropy method: no gradients, no network, a minute on two cores.

The policy is linear in (position, angle, velocity, spin). Each generation draws one policy for each copy of the world,
lets all of them act at once, and draws the next ones around the best. `pip install 'delassus[gym]'`, then
`python crates/delassus-py/examples/stand.py`.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import delassus
from delassus.gym import RobotEnv

CART = """<robot name="cart">
<link name="rail"/>
<link name="cart"><inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<link name="pole"><inertial><origin xyz="0 0 0.5"/><mass value="0.2"/>
  <inertia ixx="0.017" ixy="0" ixz="0" iyy="0.017" iyz="0" izz="0.001"/></inertial></link>
<joint name="slide" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/>
  <limit lower="-3" upper="3" effort="100" velocity="100"/></joint>
<joint name="hinge" type="continuous"><parent link="cart"/><child link="pole"/><axis xyz="0 1 0"/></joint>
</robot>"""


def environment(copies: int, steps: int = 300) -> RobotEnv:
    """Copies of a cart with a pole that stands almost upright."""
    world = delassus.World("cart", dt=0.01)
    world.add_robot(CART, "cart")

    def reward(q: np.ndarray, v: np.ndarray, action: np.ndarray) -> np.ndarray:
        return 1.0 - 0.1 * q[:, 0] ** 2 - q[:, 1] ** 2

    def falls(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return (abs(q[:, 1]) > 0.6) | (abs(q[:, 0]) > 2.5)

    return RobotEnv(world, copies, reward=reward, ends=falls, actuated=[0], strength=20.0, steps=steps, scatter=0.05)


def episodes(env: RobotEnv, policies: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What each policy earns in one episode, and how many steps it stands."""
    seen, _ = env.reset(seed=seed)
    earned, stood = np.zeros(env.num_envs), np.zeros(env.num_envs)
    alive = np.ones(env.num_envs, dtype=bool)
    for _ in range(env.steps):
        seen, reward, ended, late, _ = env.step(np.einsum("ij,ij->i", policies, seen)[:, None])
        earned += reward * alive
        stood += alive
        alive &= ~(ended | late)
        if not alive.any():
            break
    return earned, stood


def learn(generations: int = 12, copies: int = 64, seed: int = 0, told: bool = True) -> np.ndarray:
    """The policy that is left when all generations are through."""
    env, random = environment(copies), np.random.default_rng(seed)
    mean, spread = np.zeros(4), np.full(4, 3.0)
    for generation in range(generations):
        policies = mean + spread * random.standard_normal((copies, 4))
        earned, stood = episodes(env, policies, seed=seed + generation)
        best = policies[np.argsort(earned)[-copies // 8 :]]
        # A little noise keeps the search from ending too soon.
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.1
        if told:
            print(f"generation {generation}: mean {earned.mean():6.1f}, best {earned.max():6.1f}, stood {stood.max():.0f} steps")
    return mean


def main() -> None:
    """Learns, then shows what was learnt."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generations", type=int, default=12)
    args = parser.parse_args()
    start = time.perf_counter()
    policy = learn(args.generations)
    env = environment(32, steps=1000)
    _, stood = episodes(env, np.tile(policy, (32, 1)), seed=1000)
    print(f"learnt {policy.round(2)} in {time.perf_counter() - start:.1f} s")
    print(f"{(stood >= 1000).sum()} of 32 stand for all of 10 s, the worst for {stood.min() / 100:.2f} s")


if __name__ == "__main__":
    main()
