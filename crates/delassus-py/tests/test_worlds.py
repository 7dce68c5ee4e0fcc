"""Worlds: steps, states, contacts, robots."""

from __future__ import annotations

import copy
import json
import os
import pickle
import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

import delassus


def test_a_stack_stands() -> None:
    world = delassus.World.scene("stack:5")
    start = world.positions
    report = world.step(100)
    assert report.solved and report.steps == 100 and report.unsolved == 0
    assert world.time == pytest.approx(100 * world.dt) and report.time == world.time
    assert np.abs(world.positions - start).max() < 1e-2
    assert report.kinetic + report.potential == pytest.approx(world.energy)
    assert "stack" in repr(world) and "100 steps" in repr(report)


def test_contacts_carry_the_weight() -> None:
    world = delassus.World.scene("stack:3")
    world.step(50)
    contacts = world.contacts
    assert len(contacts) == 12 and contacts["normal"].shape == (12, 3)
    ground = [i for i, name in enumerate(world.body_names) if "ground" in name]
    on_ground = np.isin(contacts["bodies"], ground).any(axis=1)
    above = contacts[~on_ground]["impulse"][:, 0].sum()
    # Three boxes rest on the ground; two interfaces between them carry two boxes and one.
    assert above == pytest.approx(contacts[on_ground]["impulse"][:, 0].sum(), rel=1e-3)


def test_the_same_steps_give_the_same_bits_however_they_are_made() -> None:
    one, other = delassus.World.scene("dominoes:5"), delassus.World.scene("dominoes:5")
    one.step(40)
    for _ in range(40):
        other.step()
    assert one.state_hash == other.state_hash and (one.positions == other.positions).all()


def test_a_checkpoint_goes_on_bit_for_bit() -> None:
    world = delassus.World.scene("dominoes:5")
    world.step(20)
    kept = world.checkpoint()
    world.step(20)
    expected = world.state_hash
    world.restore(kept)
    assert world.state_hash != expected
    world.step(20)
    assert world.state_hash == expected
    with pytest.raises(delassus.Error, match="another scene"):
        delassus.World.scene("stack:2").restore(kept)
    with pytest.raises(delassus.Error, match="no checkpoint"):
        world.restore(b"{}")


def test_state_goes_in_and_out() -> None:
    world = delassus.World.scene("stack:2")
    for name in ("positions", "orientations", "velocities", "spins", "forces", "torques"):
        given = getattr(world, name)
        setattr(world, name, given)
        assert (getattr(world, name) == given).all()
    positions = world.positions
    positions[-1, 2] += 5.0
    world.positions = positions
    velocities = world.velocities
    velocities[-1] = [0.0, 0.0, 2.0]
    world.velocities = velocities
    world.step()
    assert world.velocities[-1, 2] == pytest.approx(2.0 - 9.81 * world.dt)


def test_forces_act_for_one_step() -> None:
    world = delassus.World.scene("stack:1")
    forces = world.forces
    forces[-1] = [0.0, 0.0, 1e5]
    world.forces = forces
    world.step()
    assert world.velocities[-1, 2] > 0.1 and (world.forces == 0).all()


def test_the_problem_of_a_step_is_the_one_it_solves() -> None:
    world = delassus.World.scene("stack:3")
    world.step(5)
    problem = world.problem()
    answer = delassus.solve(problem, tolerance=1e-9)
    assert answer.solved and problem.guess is not None and len(problem.guess) == problem.n_rows
    world.use_solver("newton", tolerance=1e-9)
    assert world.solver == "newton" and world.step().solver == "newton"


def test_robots_are_placed_and_pushed(arm_file: Path) -> None:
    world = delassus.World.read(arm_file)
    assert world.robots == ["robot"] and world.robot_joints() == ["shoulder", "elbow"]
    world.place_robot([0.3, -0.2], [0.0, 0.0], robot="robot")
    q, v = world.robot_state("robot")
    assert q.tolist() == [0.3, -0.2] and v.tolist() == [0.0, 0.0]
    robot = delassus.Robot.from_file(arm_file)
    # Held by the forces of inverse dynamics, the arm stays where it is.
    for _ in range(20):
        q, v = world.robot_state()
        world.push_robot(robot.rnea(q, v, [0.0, 0.0]))
        world.step()
    assert np.abs(world.robot_state()[0] - [0.3, -0.2]).max() < 1e-3
    with pytest.raises(delassus.Error, match="no robot \"leg\""):
        world.robot_state("leg")
    with pytest.raises(delassus.Error, match="no servo"):
        world.aim_servo("elbow", 0.5)
    positions = world.positions
    with pytest.raises(delassus.Error, match="place_robot"):
        world.positions = positions + 1.0
    world.positions = positions


def test_threads_that_share_a_world_are_told() -> None:
    world = delassus.World.scene("pile:2000")
    refused = 0
    worker = threading.Thread(target=lambda: world.step(3))
    worker.start()
    while worker.is_alive():
        try:
            world.time
        except delassus.Error as error:
            assert "another thread" in str(error)
            refused += 1
    worker.join()
    assert refused > 0, "the world was never busy: the interpreter's lock was held while it was stepped"
    assert world.time == pytest.approx(3 * world.dt)


def test_wrong_steps_are_refused_and_change_nothing() -> None:
    world = delassus.World.scene("stack:2")
    before = world.state_hash
    for n, dt in ((0, None), (1, 0.0), (1, -1.0), (1, float("nan")), (1, float("inf"))):
        with pytest.raises(delassus.Error):
            world.step(n, dt)
    with pytest.raises(delassus.Error):
        world.problem(float("nan"))
    assert world.state_hash == before
    orientations = world.orientations
    with pytest.raises(delassus.Error, match="length 2"):
        world.orientations = 2 * orientations
    with pytest.raises(delassus.Error, match="no built-in scene|there is no"):
        delassus.World.scene("castle")
    with pytest.raises(FileNotFoundError, match="nowhere.toml"):
        delassus.World.read("nowhere.toml")
    with pytest.raises(delassus.Error):
        delassus.World.parse("bodies = 3")


@pytest.mark.parametrize("scene", ["stack:5", "dominoes:8", "arch", "newton-cradle", "quadruped", "pile:200"])
def test_same_bits_as_a_run_of_the_command_line(scene: str) -> None:
    program = os.environ.get("DELASSUS_PROGRAM") or shutil.which("delassus")
    if not program:
        pytest.skip("no `delassus` program: set DELASSUS_PROGRAM, or use scripts/check-python, which does")
    world = delassus.World.scene(scene)
    seconds = str(round(40 * world.dt, 9))
    command = [program, "run", scene, "--time", seconds, "--json"]
    told = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)
    report = world.step(told["steps"])
    assert told["steps"] == 40 and f"{world.state_hash:016x}" == told["state_hash"]
    assert report.unsolved == told["unsolved_steps"] and world.time == told["time"]


def test_copies_of_a_batch_are_as_if_alone():
    world = delassus.World.scene("quadruped")
    batch = delassus.Batch(world, 3)
    n = batch.robot_states()[1].shape[1]
    tau = np.zeros((3, n))
    tau[:, 6:] = [[0.1], [0.2], [0.3]]
    report = batch.step(20, tau=tau)
    assert report.solved and report.refused == {} and report.unsolved.tolist() == [0, 0, 0]
    for i in range(3):
        alone = delassus.World.scene("quadruped")
        for _ in range(20):
            alone.push_robot(tau[i])
            alone.step()
        assert alone.state_hash == batch.state_hashes[i]
    batch.reset([1])
    assert batch.times[1] == 0 and batch.times[0] > 0
    assert batch.positions.shape == (3, len(world.body_names), 3)
    q, v = batch.robot_states()
    batch.place_robots(q, 0 * v)
    for bad in ({"n": 0}, {"tau": np.zeros((2, n))}):
        with pytest.raises(delassus.Error):
            batch.step(**bad)
    with pytest.raises(delassus.Error, match="no copy 7"):
        batch.reset([7])
    with pytest.raises(delassus.Error):
        delassus.Batch(world, 0)


def test_a_copy_goes_on_with_the_same_bits_and_is_a_world_of_its_own():
    for world in (delassus.World.scene("stack:4"), delassus.World.scene("quadruped"), delassus.World.scene("newton-cradle")):
        world.use_solver("gauss-seidel,order=shuffle", iterations=20, tolerance=1e-4, seed=3)
        first = world.copy()
        world.step(30)
        second = copy.deepcopy(world)
        first.step(30)
        assert first.state_hash == world.state_hash == second.state_hash
        second.step()
        assert second.state_hash != world.state_hash and second.solver == world.solver
    with pytest.raises(TypeError, match="checkpoint"):
        pickle.dumps(world)


def test_a_copy_of_a_world_that_is_being_built_can_be_built_on():
    world = delassus.World("half")
    world.add_material("ice", friction=0.0)
    world.add_ground(material="ice")
    other = copy.copy(world)
    other.add_material("mud", friction=2.0)
    other.add_body("ball", delassus.Shape.sphere(0.1, material="mud"), position=[0, 0, 0.1])
    assert world.body_names == ["ground"] and other.body_names == ["ground", "ball"]
    assert other.step().solved and world.step().solved


def test_states_and_contacts_of_a_batch_are_those_of_its_copies():
    world = delassus.World.scene("quadruped")
    batch = delassus.Batch(world, 3)
    batch.step(3)
    world.step(3)
    for name in ("positions", "orientations", "velocities", "spins"):
        assert (getattr(batch, name) == getattr(world, name)).all(), name
    contacts, alone = batch.contacts, world.contacts
    assert len(alone) and contacts["copy"].tolist() == [i for i in range(3) for _ in alone]
    for i in range(3):
        own = contacts[contacts["copy"] == i]
        for field in alone.dtype.names:
            assert (own[field] == alone[field]).all(), field
    batch.reset(np.array([False, True, False]))
    assert (batch.times == 0).tolist() == [False, True, False]
    batch.reset(np.array([0, 2]))
    assert (batch.times == 0).all()
    for wrong in ([True], [3], [-1]):
        with pytest.raises(delassus.Error):
            batch.reset(wrong)


def test_states_that_one_copy_refuses_place_none():
    batch = delassus.Batch(delassus.World.scene("quadruped"), 3)
    q, v = batch.robot_states()
    moved = q.copy()
    moved[:, 2] += 1.0
    moved[2, 3:7] = 0.0
    with pytest.raises(delassus.Error, match="copy 2"):
        batch.place_robots(moved, v)
    assert (batch.robot_states()[0] == q).all()


def test_more_copies_than_memory_holds_are_refused():
    with pytest.raises(MemoryError):
        delassus.Batch(delassus.World.scene("stack:1"), 10**12)
    with pytest.raises(MemoryError):
        delassus.Batch(delassus.World.scene("stack:1"), 2**63)
