"""Worlds built in Python, piece by piece."""

import math
import threading

import numpy as np
import pytest

import delassus
from delassus import Shape, World

PENDULUM = """<robot name="pendulum"><link name="base"/><link name="bob">
<inertial><origin xyz="0 0 -1"/><mass value="2"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
</link><joint name="hinge" type="continuous"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/></joint></robot>"""

# Solves end at 1e-6 m/s, and a box at rest sinks by less than a micrometre a step.
REST = 1e-3


def ball_world(**settings: object) -> tuple[World, delassus.Body]:
    world = World("ball", **settings)
    world.add_ground()
    return world, world.add_body("ball", Shape.sphere(0.1), position=[0, 0, 0.5])


def test_a_built_world_has_the_bits_of_the_same_scene_file():
    scene = """
title = "same"
[[bodies]]
name = "a-ground"
motion = "static"
shapes = [{ half-space = {}, material = "m" }]
[materials.m]
friction = 0.3
[[bodies]]
name = "b-box"
position = [0, 0, 0.6]
rotation = { quaternion = [0.9950041652780258, 0.0998334166468282, 0, 0] }
velocity = [1, 0, 0]
density = 700
shapes = [{ box = { half = [0.2, 0.3, 0.4] }, material = "m" }, { sphere = { radius = 0.2 }, position = [0, 0, 0.4] }]
[[bodies]]
name = "c-ball"
position = [0, 0, 2]
mass = 3
shapes = [{ sphere = { radius = 0.2 } }]
[[joints]]
name = "rope"
type = "distance"
bodies = ["b-box", "c-ball"]
anchors = [[0, 0, 1], [0, 0, 2]]
greatest = 1.2
"""
    parsed = World.parse(scene)
    built = World("same")
    built.add_material("m", friction=0.3)
    built.add_body("a-ground", Shape.half_space(material="m"), motion="static")
    box = [Shape.box([0.2, 0.3, 0.4], material="m"), Shape.sphere(0.2, position=[0, 0, 0.4])]
    turn = [0.9950041652780258, 0.0998334166468282, 0, 0]
    built.add_body("b-box", box, position=[0, 0, 0.6], orientation=turn, velocity=[1, 0, 0], density=700)
    built.add_body("c-ball", Shape.sphere(0.2), position=[0, 0, 2], mass=3)
    built.add_joint("distance", ("b-box", "c-ball"), name="rope", anchors=[[0, 0, 1], [0, 0, 2]], greatest=1.2)
    assert built.state_hash == parsed.state_hash
    built.step(150)
    parsed.step(150)
    assert built.state_hash == parsed.state_hash


@pytest.mark.parametrize(
    "shape",
    [
        Shape.sphere(0.1),
        Shape.box([0.1, 0.1, 0.1]),
        Shape.capsule(0.1, 0.1, orientation=[math.sqrt(0.5), 0, math.sqrt(0.5), 0]),
        Shape.cylinder(0.1, 0.1),
        Shape.hull([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]),
    ],
    ids=["sphere", "box", "capsule", "cylinder", "hull"],
)
@pytest.mark.parametrize("ground", ["plane", "mesh", "field"])
def test_every_solid_comes_to_rest_on_every_ground(shape: Shape, ground: str):
    world = World()
    if ground == "plane":
        world.add_ground()
    elif ground == "mesh":
        corners = [[-5, -5, 0], [5, -5, 0], [5, 5, 0], [-5, 5, 0]]
        world.add_body("floor", Shape.mesh(corners, [[0, 1, 2], [0, 2, 3]]), motion="static")
    else:
        world.add_body("floor", Shape.height_field(np.zeros((3, 3)), [10, 10, 1]), motion="static")
    body = world.add_body("it", shape, position=[0.3, 0.2, 0.12])
    assert world.step(100).solved
    assert abs(body.position[2] - 0.1) < REST
    assert abs(world.contacts["impulse"][:, 0].sum() / world.dt / (9.81 * body.mass) - 1) < REST


def test_every_kind_of_joint_holds():
    world = World()
    bodies = [world.add_body(f"b{i}", Shape.box([0.1, 0.1, 0.1]), position=[i, 0, 0]) for i in range(9)]
    joints = [
        world.add_joint("ball", (bodies[0], None), point=[0, 0, 1]),
        world.add_joint("hinge", (bodies[1], None), point=[1, 0, 1], axis=[0, 1, 0]),
        world.add_joint("slider", (bodies[2], None), axis=[1, 0, 0]),
        world.add_joint("universal", (bodies[3], None), point=[3, 0, 1], axes=[[1, 0, 0], [0, 1, 0]]),
        world.add_joint("fixed", (bodies[4], None)),
        world.add_joint("distance", (bodies[5], None), anchors=[[5, 0, 0], [5, 0, 1]]),
        world.add_joint("hinge", (bodies[6], None), point=[6, 0, 0], axis=[0, 1, 0]),
        world.add_joint("hinge", (bodies[7], None), point=[7, 0, 0], axis=[0, 1, 0]),
        world.add_joint("gear", terms=[("b6", [0, 1, 0], 1.0), ("b7", [0, 1, 0], 2.0)]),
        world.add_joint("rolling", (bodies[8], None), radius=0.5, normal=[0, 0, 1]),
        world.add_joint("slider", (bodies[8], None), axis=[1, 0, 0], name="rail"),
    ]
    kinds = ["ball", "hinge", "slider", "universal", "fixed", "distance", "hinge", "hinge", "gear", "rolling", "slider"]
    assert [joint.kind for joint in joints] == kinds
    assert world.joint_names == [joint.name for joint in joints]
    bodies[6].push([0, 0, 0], torque=[0, 5, 0])
    assert world.step(20).solved
    assert all(joint.violation < 1e-4 for joint in joints)
    # 1 · ω₆ + 2 · ω₇ = 0
    assert bodies[6].spin[1] == pytest.approx(-2 * bodies[7].spin[1], abs=1e-6) and bodies[6].spin[1] != 0
    assert np.allclose(joints[4].force, [0, 0, 9.81 * bodies[4].mass], rtol=1e-6)


def test_motors_servos_limits_and_friction_act_and_change():
    world = World(gravity=[0, 0, 0])
    body = world.add_body("wheel", Shape.cylinder(0.05, 0.2))
    hinge = world.add_joint("hinge", (body, "world"), point=[0, 0, 0], axis=[0, 0, 1], limits=[-0.5, 0.5])
    hinge.drive(motor=dict(speed=1.0, max_force=1e3))
    world.step(20)
    assert hinge.coordinate == pytest.approx(0.2, abs=1e-6)
    world.step(80)
    assert hinge.coordinate == pytest.approx(0.5, abs=1e-3)
    hinge.drive(motor=None, limits=None, servo=dict(position=2.0, stiffness=100.0, damping=20.0, max_force=1e3))
    world.step(400)
    assert hinge.coordinate == pytest.approx(2.0, abs=1e-2)
    # It may push, but not pull.
    hinge.drive(servo=dict(position=1.0, stiffness=100.0, damping=20.0, max_force=1e3, min_force=0.0))
    world.step(400)
    assert hinge.coordinate == pytest.approx(2.0, abs=1e-2)
    for wrong in [dict(motor=3), dict(motor=dict(speed=1.0)), dict(servo=dict(position=0.0, stiffness=-1.0, max_force=1.0)),
                  dict(servo=dict(position=0.0, stiffness=1.0, max_force=1.0, min_force=0.5)), dict(friction=-1.0), dict(limits=[1, 0]), dict(speed=1.0), dict(friction=float("nan"))]:
        with pytest.raises(delassus.Error):
            hinge.drive(**wrong)


def test_joints_come_and_go_while_it_runs_and_gone_handles_raise():
    world, ball = ball_world()
    world.step(10)
    handle = world.add_joint("ball", (ball, None), point=ball.position)
    rope = world.add_joint("distance", (ball, None), anchors=[ball.position, [0, 0, 3]])
    height = ball.position[2]
    world.step(30)
    assert ball.position[2] == pytest.approx(height, abs=1e-3)
    handle.remove()
    for use in [lambda: handle.coordinate, lambda: handle.kind, lambda: handle.force, lambda: handle.remove(),
                lambda: handle.drive(), lambda: handle.bodies]:
        with pytest.raises(delassus.Error, match="was removed"):
            use()
    assert "removed" in repr(handle)
    assert rope.kind == "distance" and world.joint_names == [rope.name]
    world.step(10)
    assert rope.force[2] > 0.9 * 9.81 * ball.mass
    rope.remove()
    world.step(200)
    assert ball.position[2] == pytest.approx(0.1, abs=REST)
    with pytest.raises(delassus.Error, match="no joint"):
        world.joint(rope.name)
    # A new joint of the old name is not the old one.
    again = world.add_joint("ball", (ball, None), point=ball.position, name=rope.name)
    with pytest.raises(delassus.Error, match="was removed"):
        rope.kind
    assert again.kind == "ball"


def test_springs_screws_and_planes_move_as_they_should():
    world = World(gravity=[0, 0, 0])
    bob = world.add_body("bob", Shape.sphere(0.1), mass=1.0, position=[0, 0, 1.1])
    world.add_joint("spring", (bob, None), anchors=[[0, 0, 1.1], [0, 0, 0]], length=1.0, stiffness=100.0)
    nut = world.add_body("nut", Shape.box([0.1, 0.1, 0.1]), position=[3, 0, 0])
    screw = world.add_joint("screw", (nut, None), point=[3, 0, 0], axis=[0, 0, 1], pitch=0.5,
                            motor=dict(speed=2 * np.pi, max_force=1e6))
    puck = world.add_body("puck", Shape.box([0.1, 0.1, 0.1]), position=[6, 0, 0], velocity=[1, 0, 1])
    world.add_joint("planar", (puck, None))
    dt = 1e-3
    period = 2 * np.pi * np.sqrt(1.0 / 100.0)
    report = world.step(round(period / dt), dt=dt)
    assert report.unsolved == 0
    # Back where it was after a period, but for the damping of a first-order step.
    assert bob.position[2] == pytest.approx(1.1, abs=5e-3)
    turned = period * 2 * np.pi
    assert screw.coordinate == pytest.approx(turned, rel=1e-3)
    assert nut.position[2] == pytest.approx(0.5 * turned / (2 * np.pi), rel=1e-3)
    assert puck.position[2] == pytest.approx(0, abs=2e-3) and puck.position[0] == pytest.approx(6 + period, rel=1e-3)
    screw.drive(motor=None)


def test_a_rack_follows_its_pinion_and_a_pulley_lifts_the_lighter():
    world = World(gravity=[0, 0, 0])
    rack = world.add_body("rack", Shape.box([1, 0.1, 0.1]), mass=1.0, position=[0, 0, 0])
    world.add_joint("slider", (rack, None), axis=[1, 0, 0])
    pinion = world.add_body("pinion", Shape.cylinder(0.05, 0.2), mass=1.0, position=[0, 0.5, 0])
    axle = world.add_joint("hinge", (pinion, None), point=[0, 0.5, 0], axis=[0, 0, 1], motor=dict(speed=2.0, max_force=1e6))
    world.add_joint("rack-and-pinion", (pinion, rack), point=[0, 0.5, 0], axis=[0, 0, 1], direction=[1, 0, 0], radius=0.2)
    report = world.step(500, dt=1e-3)
    assert report.solved and axle.coordinate == pytest.approx(1.0, rel=1e-3)
    # One of both moves by the radius times the turn against the other.
    assert abs(rack.position[0]) == pytest.approx(0.2, rel=1e-2)

    world = World()
    heavy = world.add_body("heavy", mass=3.0, inertia=[0.1, 0.1, 0.1], position=[-1, 0, 0])
    light = world.add_body("light", mass=1.0, inertia=[0.1, 0.1, 0.1], position=[1, 0, 0])
    world.add_joint("pulley", (heavy, light), points=[[-1, 0, 0], [1, 0, 0]], anchors=[[-1, 0, 5], [1, 0, 5]])
    world.step(200, dt=1e-3)
    # Atwood: (3 − 1)/(3 + 1) of gravity, ½ a t² in 0.2 s.
    fall = 0.5 * 0.5 * 9.81 * 0.2**2
    assert heavy.position[2] == pytest.approx(-fall, rel=0.02) and light.position[2] == pytest.approx(fall, rel=0.02)
    with pytest.raises(delassus.Error, match="normal to the axle"):
        world.add_joint("rack-and-pinion", (heavy, light), point=[0, 0, 0], axis=[0, 0, 1], direction=[0, 1, 1], radius=0.2)
    with pytest.raises(delassus.Error, match="points"):
        world.add_joint("pulley", (heavy, light), anchors=[[0, 0, 1], [0, 0, 2]])


def test_what_stands_too_far_is_refused_at_the_door_and_leaves_nothing():
    for keys in ({}, dict(motion="static")):
        world = World()
        ball = Shape.sphere(0.1, position=[9e8, 0, 0])
        if keys:
            world.add_body("far", ball, position=[9e8, 0, 0], **keys)
        else:
            with pytest.raises(delassus.Error, match="1e9"):
                world.add_body("far", ball, position=[9e8, 0, 0])
            assert world.body_names == []
        assert world.step().solved
    world = World()
    with pytest.raises(delassus.Error, match="from its centre of mass"):
        world.add_body("wide", [Shape.sphere(0.1, position=[-9e8, 0, 0]), Shape.sphere(2.0, position=[9e8, 0, 0])])
    assert world.body_names == [] and world.step().solved


def test_a_recording_says_why_nothing_may_come_or_go(tmp_path):
    world, ball = ball_world()
    with world.record(tmp_path / "run"):
        world.step()
        with pytest.raises(delassus.Error, match="same bodies and joints in every frame"):
            world.add_body("late", Shape.sphere(0.1))
        with pytest.raises(delassus.Error, match="close it first"):
            ball.remove()
    ball.remove()
    with world.record(tmp_path / "next"):
        world.step()


def test_what_was_written_survives_pieces_that_come_later():
    world, ball = ball_world()
    ball.velocity = [1, 2, 3]
    ball.position = [5, 0, 1]
    second = world.add_body("second", Shape.box([0.1, 0.1, 0.1]), position=[6, 0, 1])
    hinge = world.add_joint("hinge", (ball, second), point=[5.5, 0, 1], axis=[0, 0, 1])
    third = world.add_body("third", Shape.box([0.1, 0.1, 0.1]), position=[9, 0, 1])
    assert ball.velocity.tolist() == [1, 2, 3] and ball.position.tolist() == [5, 0, 1]
    assert hinge.violation == 0 and hinge.coordinate == 0
    assert [body.index for body in (ball, second, third)] == [1, 2, 3]
    world.step()
    with pytest.raises(delassus.Error, match="before its first step"):
        world.add_material("late")


def test_bodies_come_and_go_while_it_runs_and_gone_handles_raise():
    world, ball = ball_world()
    world.step(10)
    plate = world.add_body("plate", Shape.box([0.5, 0.5, 0.05]), position=[0, 0, 0.05])
    rope = world.add_joint("distance", (ball, plate), anchors=[ball.position, plate.position])
    with pytest.raises(delassus.Error, match="is taken"):
        world.add_body("plate", Shape.sphere(0.1))
    world.step(200)
    assert plate.position[2] == pytest.approx(0.05, abs=REST)
    positions = len(world.positions)
    plate.remove()
    for use in [lambda: plate.position, lambda: plate.mass, lambda: plate.motion, lambda: plate.push([0, 0, 1]),
                lambda: plate.remove(), lambda: rope.kind]:
        with pytest.raises(delassus.Error, match="was removed"):
            use()
    with pytest.raises(delassus.Error, match="was removed"):
        plate.velocity = [0, 0, 0]
    assert "removed" in repr(plate) and world.joint_names == [] and len(world.positions) == positions
    with pytest.raises(delassus.Error, match="no body"):
        world.body("plate")
    again = world.add_body("plate", Shape.box([0.5, 0.5, 0.05]), position=[9, 0, 0.05])
    assert again.index == positions and ball.index == 1
    world.step(200)
    assert ball.position[2] == pytest.approx(0.1, abs=REST)
    late = World.scene("stack:2").add_body("late", Shape.sphere(0.1), position=[0, 0, 5])
    assert late.position[2] == 5


def test_robots_are_added_from_text_and_driven(tmp_path):
    file = tmp_path / "pendulum.urdf"
    file.write_text(PENDULUM)
    world = World()
    assert world.add_robot(file, "left") == "left"
    world.add_robot(PENDULUM, "right", position=[0, 3, 0])
    assert world.robots == ["left", "right"] and "left/bob" in world.body_names
    world.drive_robot("hinge", "left", servo=dict(position=0.5, stiffness=1e4, damping=1e3, max_force=1e5))
    world.add_body("late", Shape.sphere(0.1), position=[9, 9, 9])
    world.step(300)
    (q, _), (other, _) = world.robot_state("left"), world.robot_state("right")
    assert q[0] == pytest.approx(0.5, abs=1e-2) and other[0] == 0
    world.body("right/bob").push([50, 0, 0])
    world.step()
    assert world.robot_state("right")[1][0] != 0
    for wrong in [dict(file=PENDULUM, name="left"), dict(file="<robot", name="x"), dict(file=PENDULUM, name="y", size=3)]:
        with pytest.raises(delassus.Error):
            World.add_robot(world, **wrong)
    with pytest.raises(OSError):
        World().add_robot(tmp_path / "none.urdf")


def test_materials_and_pairs_decide_who_slides():
    world = World()
    world.add_material("ice", friction=0.0)
    world.add_material("rubber", friction=1.0)
    world.add_material("wood", friction=1.0)
    world.pair_materials("ice", "wood", friction=1.0)
    world.add_ground(material="ice")
    slides = world.add_body("slides", Shape.box([0.1] * 3, material="rubber"), position=[0, 0, 0.1], velocity=[1, 0, 0])
    stops = world.add_body("stops", Shape.box([0.1] * 3, material="wood"), position=[0, 3, 0.1], velocity=[1, 0, 0])
    world.step(50)
    assert slides.velocity[0] == pytest.approx(1.0, abs=1e-6)
    assert abs(stops.velocity[0]) < 1e-6


def test_checkpoints_of_built_worlds_come_back_bit_for_bit():
    world, ball = ball_world()
    world.add_joint("distance", (ball, None), anchors=[ball.position, [0, 0, 1.4]])
    world.step(10)
    kept = world.checkpoint()
    world.step(50)
    first = world.state_hash
    world.restore(kept)
    world.step(50)
    assert world.state_hash == first


WRONG = [
    lambda w: w.add_body("x", Shape.sphere(-1)),
    lambda w: w.add_body("x", Shape.sphere(float("nan"))),
    lambda w: w.add_body("x", Shape.hull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])),
    lambda w: w.add_body("x", Shape.hull(np.zeros((4, 2)))),
    lambda w: w.add_body("x", Shape.mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 7]]), motion="static"),
    lambda w: w.add_body("x", Shape.mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 0.5]]), motion="static"),
    lambda w: w.add_body("x", Shape.sphere(1, position=[1e300, 0, 0])),
    lambda w: w.add_body("x", Shape.sphere(1, colour="red")),
    lambda w: w.add_body("x", Shape.sphere(1, member=[40])),
    lambda w: w.add_body("x", Shape.half_space()),
    lambda w: w.add_body("x", Shape.half_space(material="none"), motion="static"),
    lambda w: w.add_body("x", "sphere"),
    lambda w: w.add_body("x", [1, 2]),
    lambda w: w.add_body("x"),
    lambda w: w.add_body("x", Shape.sphere(1), motion="moving"),
    lambda w: w.add_body("x", Shape.sphere(1), mass=-1),
    lambda w: w.add_body("x", Shape.sphere(1), mass=1, density=1),
    lambda w: w.add_body("x", mass=1, inertia=[1, 1, 5]),
    lambda w: w.add_body("x", mass=1, inertia=[[1, 2, 0], [0, 1, 0], [0, 0, 1]]),
    lambda w: w.add_body("x", Shape.sphere(1), position=[0, float("inf"), 0]),
    lambda w: w.add_body("x", Shape.sphere(1), position=[0, 0]),
    lambda w: w.add_body("x", Shape.sphere(1), orientation=[1, 1, 0, 0]),
    lambda w: w.add_body("x", Shape.sphere(1), colour="red"),
    lambda w: w.add_body("ball", Shape.sphere(1)),
    lambda w: w.add_body("world", Shape.sphere(1)),
    lambda w: w.add_material("m", friction=-1),
    lambda w: w.add_material("m", restitution=2),
    lambda w: (w.add_material("m"), w.add_material("m")),
    lambda w: w.pair_materials("a", "b"),
    lambda w: w.add_joint("glue", ("ball", None)),
    lambda w: w.add_joint("ball", ("ball", None)),
    lambda w: w.add_joint("ball", ("ball", "nobody"), point=[0, 0, 0]),
    lambda w: w.add_joint("ball", ("ball", "ball"), point=[0, 0, 0]),
    lambda w: w.add_joint("ball", (None, "ground"), point=[0, 0, 0]),
    lambda w: w.add_joint("ball", "ball", point=[0, 0, 0]),
    lambda w: w.add_joint("ball", (1, 2), point=[0, 0, 0]),
    lambda w: w.add_joint("ball", ("ball", None), point=[0, 0, 0], axis=[0, 0, 1]),
    lambda w: w.add_joint("hinge", ("ball", None), point=[0, 0, 0], axis=[0, 0, 0]),
    lambda w: w.add_joint("universal", ("ball", None), point=[0, 0, 0], axes=[[1, 0, 0], [1, 1, 0]]),
    lambda w: w.add_joint("distance", ("ball", None), anchors=[[0, 0, 0], [0, 0, 1]], length=1, least=1),
    lambda w: w.add_joint("distance", ("ball", None), anchors=[[0, 0, 0], [0, 0, 1]], least=2, greatest=1),
    lambda w: w.add_joint("gear", terms=[("ball", [0, 0, 1], 1.0)]),
    lambda w: w.add_joint("gear", terms=[("ball", [0, 0, 1], 0.0), ("ground", [0, 0, 1], 1.0)]),
    lambda w: w.add_joint("rolling", (None, "ball"), radius=1),
    lambda w: w.add_joint("ball", ("ball", None), point=[0, 0, 0], compliance=-1),
    lambda w: World(solver="none"),
    lambda w: World(dt=-1),
    lambda w: World(gravity=[0, 0]),
    lambda w: World(colour="red"),
    lambda w: World(sleep=dict(fast=1)),
    lambda w: w.body("nobody"),
    lambda w: setattr(w.body("ball"), "position", [0, 0, float("nan")]),
    lambda w: setattr(w.body("ball"), "orientation", [2, 0, 0, 0]),
    lambda w: w.body("ball").push(["a", 0, 0]),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_pieces_raise_and_leave_the_world_as_it_was(number: int):
    world, ball = ball_world()
    before = world.state_hash
    with pytest.raises((delassus.Error, TypeError)):
        WRONG[number](world)
    assert world.body_names == ["ground", "ball"] and world.joint_names == []
    assert world.state_hash == before and world.step(5).solved


def test_a_thousand_links_are_added_in_a_moment():
    world = World()
    last = None
    for i in range(1000):
        body = world.add_body(f"link-{i}", Shape.sphere(0.04), position=[0.1 * i, 0, 0])
        world.add_joint("ball", (body, last), point=[0.1 * i - 0.05, 0, 0])
        last = body
    assert world.positions.shape == (1000, 3) and world.step().solved


def test_a_world_that_another_thread_steps_refuses_pieces():
    world = World.scene("pile:300")
    body = world.body(world.body_names[-1])
    thread = threading.Thread(target=lambda: world.step(30))
    thread.start()
    refused = 0
    while thread.is_alive():
        try:
            body.push([0, 0, 1])
        except delassus.Error:
            refused += 1
    thread.join()
    assert refused > 0
