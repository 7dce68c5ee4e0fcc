"""Gradients through steps of worlds: against central differences, in PyTorch and JAX, and the two worked examples."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import delassus
from delassus import _gradient

EXAMPLES = Path(__file__).parent.parent / "examples"
H = 1e-5


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def slider(mu: float = 0.3) -> delassus.World:
    """A ball that slides and spins on the ground, and one in the air."""
    world = delassus.World(dt=0.01)
    world.add_material("wood", friction=mu)
    world.add_ground(material="wood")
    sphere = delassus.Shape.sphere(0.1, material="wood")
    world.add_body("low", sphere, position=[0, 0, 0.0999], velocity=[1, 0.4, 0], spin=[3, 2, 1], mass=2)
    world.add_body("high", sphere, position=[0, 0, 2], velocity=[0, 1, 0], spin=[0, 5, 1], mass=1)
    return world


INPUTS = [("friction", "wood"), ("mass", "low"), ("gravity", 2)]
WEIGHT = np.random.default_rng(1).normal(size=26)


def loss(state: np.ndarray, force: np.ndarray, values: np.ndarray, steps: int = 3) -> float:
    world = slider()
    for _ in range(steps):
        made = _gradient.stepped(world, state, force, values, _gradient.StepOptions(tuple(INPUTS)))
        state = made.after
    return float(WEIGHT @ state)


STATE = slider().coordinates
FORCE = np.random.default_rng(2).normal(size=12)
VALUES = np.array([0.3, 2.0, -9.81])


def gradients(steps: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By hand, step by step backwards."""
    world, state, made = slider(), STATE, []
    for _ in range(steps):
        made.append(_gradient.stepped(world, state, FORCE, VALUES, _gradient.StepOptions(tuple(INPUTS))))
        state = made[-1].after
    by_state, by_force, by_values = WEIGHT, np.zeros(12), np.zeros(3)
    for one in reversed(made):
        by_state, force, values = one.backward(by_state)
        by_force, by_values = by_force + force, by_values + values
    return by_state, by_force, by_values


def test_gradients_through_three_steps_are_central_differences() -> None:
    found = gradients()
    for which in range(3):
        data = [STATE, FORCE, VALUES]
        for i in range(data[which].size):
            if which == 0 and i % 7 > 2 and i < 14:
                continue  # a quaternion is brought back to length one
            both = []
            for by in (H, -H):
                moved = [array.copy() for array in data]
                moved[which][i] += by
                both.append(loss(*moved))
            assert (both[0] - both[1]) / (2 * H) == pytest.approx(found[which][i], rel=1e-6, abs=3e-6), (which, i)


def test_a_turn_is_differentiated_along_its_quaternion() -> None:
    found = gradients()[0][3:7]
    w, x, y, z = STATE[3:7]
    for along in ([-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]):
        both = []
        for by in (H, -H):
            state = STATE.copy()
            state[3:7] += by * np.array(along)
            both.append(loss(state, FORCE, VALUES))
        assert (both[0] - both[1]) / (2 * H) == pytest.approx(float(found @ along), abs=3e-6)


def test_a_derivative_says_what_it_is() -> None:
    world = slider()
    derivative = world.differentiate(inputs=INPUTS)
    assert derivative.n == 12 and derivative.smooth and derivative.unique
    assert [mode for _, mode in derivative.modes] == ["slips"]
    assert derivative.body("high") == slice(6, 12, 1)
    assert derivative.matrix.shape == (24, 24)
    direction = np.random.default_rng(3).normal(size=24)
    assert np.allclose(derivative.matrix @ direction, derivative.forward(direction), atol=1e-12)
    with pytest.raises(delassus.Error, match="cannot move"):
        derivative.body("ground")
    assert "1 slip" in repr(derivative)


@pytest.mark.parametrize(
    "name",
    [("mass", "nobody"), ("colour", "low"), "mass", ("friction", "ice"), ("gravity", 7), ("mass", "ground"), ("motor-speed", "x"), ()],
)
def test_inputs_that_are_not_there_raise(name: object) -> None:
    world = slider()
    with pytest.raises(delassus.Error):
        world.differentiate(inputs=[name])  # type: ignore[list-item]
    with pytest.raises(delassus.Error):
        world.set_input(name, 1.0)  # type: ignore[arg-type]


def test_what_no_world_can_have_raises_and_changes_nothing() -> None:
    world = slider()
    for name, value in [(("mass", "low"), -1.0), (("friction", "wood"), -0.1), (("mass", "low"), float("nan"))]:
        with pytest.raises(delassus.Error):
            world.set_input(name, value)
    with pytest.raises(delassus.Error):
        world.coordinates = np.zeros(26)
    with pytest.raises(delassus.Error):
        world.push(np.zeros(3))
    with pytest.raises(delassus.Error):
        world.differentiate(smoothing=-1.0)
    assert np.array_equal(world.coordinates, STATE)


def test_robots_have_coordinates_and_inputs() -> None:
    text = """<mujoco><worldbody><body name="a"><joint name="j" axis="0 1 0"/>
    <inertial mass="1" pos=".5 0 0" diaginertia=".01 .1 .1"/></body></worldbody>
    <actuator><position joint="j" kp="30" kv="2"/></actuator></mujoco>"""
    world = delassus.World()
    world.add_robot(text, "arm")
    derivative = world.differentiate(0.01, inputs=[("servo-position", "arm", "j")])
    assert derivative.robot("arm") == slice(0, 1, 1)
    found = derivative.forward(inputs=[1.0])[1]
    values = []
    for by in (H, -H):
        other = delassus.World()
        other.add_robot(text, "arm")
        other.set_input(("servo-position", "arm", "j"), by)
        other.use_solver("newton", tolerance=1e-13)
        other.step(1, 0.01)
        values.append(other.coordinates[1])
    assert (values[0] - values[1]) / (2 * H) == pytest.approx(found, abs=1e-8)


def test_torch_steps_have_the_same_gradient() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; steps in it were not tested")
    import delassus.torch as dt

    start, force, values = (torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (STATE, FORCE, VALUES))
    world, state = slider(), start
    for _ in range(3):
        state = dt.step(world, state, force, values, inputs=INPUTS)
    (torch.tensor(WEIGHT) @ state).backward()
    for tensor, known in zip((start, force, values), gradients()):
        assert np.allclose(tensor.grad.numpy(), known, rtol=1e-10, atol=1e-12)


def test_jax_steps_have_the_same_gradient() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed; steps in it were not tested")
    jax.config.update("jax_enable_x64", True)
    import delassus.jax as dj

    world = slider()

    def cost(state, force, values):
        for _ in range(3):
            state = dj.step(world, state, force, values, inputs=INPUTS)
        return WEIGHT @ state

    found = jax.grad(cost, argnums=(0, 1, 2))(STATE, FORCE, VALUES)
    for given, known in zip(found, gradients()):
        assert np.allclose(given, known, rtol=1e-8, atol=1e-10)


PUSHED = """gravity = [0, 0, 0]
[[bodies]]
name = "ball"
mass = 2.0
inertia = [0.1, 0.1, 0.1]
[[forces]]
body = "ball"
times = [0.0, 1.0]
forces = [[0, 0, 0], [3, 0, 0]]
"""


def test_jax_steps_see_forces_at_their_own_time() -> None:
    """x after three steps is h² Σ (3 − k) F(t_k)/m, and the same where the backward pass has stepped in between."""
    jax = pytest.importorskip("jax", reason="JAX is not installed; steps in it were not tested")
    jax.config.update("jax_enable_x64", True)
    import delassus.jax as dj

    def travelled(world, state):
        for k in range(3):
            state = dj.step(world, state, time=0.2 + 0.1 * k, dt=0.1)
        return state[0]

    world = delassus.World.parse(PUSHED)
    start = np.array(world.coordinates)
    plain = delassus.World.parse(PUSHED)
    plain.time = 0.2
    plain.step(3, 0.1)
    for _ in range(2):
        value, slope = jax.value_and_grad(lambda state: travelled(world, state))(start)
        assert value == pytest.approx(plain.coordinates[0], abs=1e-12)
        assert slope[0] == pytest.approx(1.0, abs=1e-12)


def test_the_clock_is_set_and_refuses_what_is_no_time() -> None:
    world = delassus.World()
    world.time = 2.5
    assert world.time == 2.5
    with pytest.raises(delassus.Error, match="finite"):
        world.time = float("nan")


def test_mass_and_friction_are_identified_from_a_push() -> None:
    module = example("identify")
    seen, derivatives = module.run(1.7, 0.35)
    assert len(derivatives) == module.STEPS
    mass, mu, losses = module.identify(seen)
    assert mass == pytest.approx(1.7, rel=1e-3) and mu == pytest.approx(0.35, rel=1e-3)
    assert losses[-1] < 1e-6 * losses[0]


def test_a_throw_hits_its_target_after_a_bounce() -> None:
    module = example("throw")
    velocity, misses, bounces = module.aim(np.array([1.0, 0.0, 1.0]))
    assert misses[-1] < 1e-6 and misses[0] > 1.0 and bounces == 1
    end, _, _ = module.throw(velocity)
    assert np.allclose(end, module.TARGET, atol=1e-6)
