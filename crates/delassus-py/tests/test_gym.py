"""The vector environment, where Gymnasium is there."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import delassus

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed; delassus.gym was not tested")

EXAMPLE = Path(__file__).parent.parent / "examples" / "stand.py"
spec = importlib.util.spec_from_file_location("stand", EXAMPLE)
stand = importlib.util.module_from_spec(spec)
spec.loader.exec_module(stand)


def test_the_environment_keeps_the_promises_of_gymnasium():
    env = stand.environment(5, steps=20)
    seen, info = env.reset(seed=3)
    assert seen.shape == env.observation_space.shape == (5, 4) and info == {}
    again, _ = env.reset(seed=3)
    assert np.array_equal(seen, again) and not np.array_equal(seen, env.reset()[0])
    env.action_space.seed(0)
    for number in range(1, 50):
        seen, reward, ended, late, _ = env.step(0.1 * env.action_space.sample())
        assert env.observation_space.contains(seen) and reward.shape == ended.shape == late.shape == (5,)
        if number == 20:
            assert (ended | late).all()
        if number == 21:
            assert (reward == 0).all() and not (ended | late).any()
            assert (abs(seen) < 0.5).all()


def test_the_numbers_come_from_the_generator_that_gymnasium_knows():
    env = stand.environment(2)
    env.reset(seed=3)
    assert env.np_random_seed == 3
    expected = np.random.default_rng(3).standard_normal((2, 2)) * env.scatter
    assert np.array_equal(env.reset(seed=3)[0][:, :2], expected)
    wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(stand.environment(2, steps=3))
    wrapped.reset(seed=0)
    told = [wrapped.step(np.zeros((2, 1)))[4] for _ in range(3)][-1]
    assert told["episode"]["l"].tolist() == [3, 3]


def test_copies_have_the_bits_of_one_world_alone():
    env = stand.environment(3)
    env.scatter = 0.0
    env.reset()
    world = delassus.World("cart", dt=0.01)
    world.add_robot(stand.CART, "cart")
    for _ in range(30):
        seen, _, ended, *_ = env.step(np.array([[0.1], [0.0], [-0.1]]))
        assert not ended.any()
        world.push_robot([2.0, 0.0])
        world.step()
    assert np.array_equal(seen[0], np.concatenate(world.robot_state()))


def test_wrong_environments_and_actions_raise():
    world = delassus.World.scene("double-pendulum")
    reward = lambda q, v, action: q[:, 0]
    for wrong in [dict(actuated=[9]), dict(steps=0), dict(scatter=-1.0), dict(scatter=float("nan"))]:
        with pytest.raises(delassus.Error):
            delassus_gym().RobotEnv(world, 2, reward=reward, **wrong)
    with pytest.raises(delassus.Error):
        delassus_gym().RobotEnv(delassus.World.scene("stack:1"), 2, reward=reward)
    with pytest.raises(delassus.Error, match="shape"):
        stand.environment(2).step(np.zeros((3, 1)))


def delassus_gym():
    import delassus.gym

    return delassus.gym


def test_the_example_learns_to_stand():
    untrained = stand.episodes(stand.environment(32), np.zeros((32, 4)), seed=9)[1]
    policy = stand.learn(generations=4, copies=48, told=False)
    _, stood = stand.episodes(stand.environment(32), np.tile(policy, (32, 1)), seed=9)
    assert untrained.max() < 150 and (stood == 300).mean() > 0.9, (untrained, stood)
