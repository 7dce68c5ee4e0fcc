"""Plots, where matplotlib is there."""

import sys

import numpy as np
import pytest

import delassus

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed; plots were not tested")
matplotlib.use("Agg")

from delassus import plot
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def test_convergence_shows_the_history_of_every_answer():
    problem = delassus.Problem.builtin("stack:4")
    answers = {name: delassus.solve(problem, name, history=True) for name in ["gauss-seidel", "jacobi"]}
    ax = plot.convergence(answers)
    assert [line.get_label() for line in ax.get_lines()] == ["gauss-seidel", "jacobi"]
    assert np.array_equal(ax.get_lines()[0].get_ydata(), answers["gauss-seidel"].history["law"])
    assert plot.convergence(answers["jacobi"], ax=ax) is ax
    with pytest.raises(delassus.Error, match="no history"):
        plot.convergence(delassus.solve(problem, "lemke"))


def test_energy_is_that_of_the_recorded_steps(tmp_path):
    world = delassus.World.scene("newton-cradle")
    with world.record(tmp_path / "run"):
        world.step(30)
    kinetic, potential, total = (line.get_ydata() for line in plot.energy(tmp_path / "run").get_lines())
    assert len(total) == 30 and total[-1] == pytest.approx(world.energy) and np.allclose(kinetic + potential, total)
    with world.record(tmp_path / "empty"):
        pass
    with pytest.raises(delassus.Error, match="no step"):
        plot.energy(tmp_path / "empty")


def test_contacts_carry_the_weight():
    world = delassus.World.scene("stack:3")
    world.step(20)
    ax = plot.contacts(world)
    assert f"{len(world.contacts)} contacts" in ax.get_title()
    assert plot.contacts(delassus.World.scene("stack:1")).get_title().startswith("0 contacts")
    with pytest.raises(delassus.Error, match="two of x, y and z"):
        plot.contacts(world, plane="xx")


def test_a_comparison_has_a_bar_for_every_run():
    table = delassus.compare(delassus.Problem.builtin("stack:3"), ["newton", "gauss-seidel", "lemke"])
    ax = plot.compare(table)
    assert [label.get_text() for label in ax.get_yticklabels()][::-1] == [run.solver for run in table]


def test_without_matplotlib_the_core_works_and_the_message_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "delassus.plot")
    with pytest.raises(ImportError, match="pip install matplotlib"):
        import delassus.plot  # noqa: F401
