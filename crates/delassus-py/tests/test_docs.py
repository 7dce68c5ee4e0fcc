"""Examples in docstrings and in the chapter run; the stubs say what is there."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import delassus
import delassus._compare
import delassus._delassus

HERE = Path(__file__).resolve().parent


def examples(module: ModuleType) -> list[doctest.DocTest]:
    """Examples of a module; doctest's own finder passes over static methods of compiled classes."""
    tests = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    known = {test.name.removeprefix(f"{module.__name__}.") for test in tests}
    for name, thing in vars(module).items():
        for member, value in vars(thing).items() if isinstance(thing, type) else ():
            if isinstance(value, staticmethod) and f"{name}.{member}" not in known:
                text = value.__func__.__doc__ or ""
                test = doctest.DocTestParser().get_doctest(text, {}, f"{name}.{member}", None, None)
                tests += [test] if test.examples else []
    return tests


def test_static_methods_have_examples_that_run() -> None:
    names = {test.name for test in examples(delassus._delassus)}
    assert "World.parse" in names, names


@pytest.mark.parametrize("module", [delassus, delassus._delassus, delassus._compare])
def test_examples_of_docstrings_run(module: ModuleType) -> None:
    tests = examples(module)
    assert tests, "no example was found"
    runner = doctest.DocTestRunner()
    for test in tests:
        assert runner.run(test).failed == 0, test.name


def test_examples_of_the_chapter_run() -> None:
    chapter = HERE.parent / "docs" / "python.md"
    if not chapter.exists():
        pytest.skip("the chapter is not here: these tests are run outside a clone")
    result = doctest.testfile(str(chapter), module_relative=False)
    assert result.attempted > 10 and result.failed == 0


def test_the_lines_of_the_readme_make_a_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed; the README's plot was not made")
    readme = HERE.parent.parent.parent / "README.md"
    if not readme.exists():
        pytest.skip("the README is not here: these tests are run outside a clone")
    lines = [line for line in readme.read_text(encoding="utf-8").splitlines() if line.startswith('python -c "')]
    assert len(lines) == 2
    for line in lines:
        program = line.removeprefix('python -c "').removesuffix('"')
        environment = os.environ | {"MPLBACKEND": "Agg"}
        subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path, env=environment)
    assert (tmp_path / "energy.png").stat().st_size > 1000


def test_examples_of_the_plots_run(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed; plots were not tested")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    import delassus.plot

    assert doctest.testmod(delassus.plot).failed == 0


def test_everything_public_says_what_it_is() -> None:
    for name in delassus.__all__:
        thing = getattr(delassus, name)
        assert name == "__version__" or thing.__doc__, name
        if isinstance(thing, type):
            for member in vars(thing):
                assert member.startswith("_") or getattr(thing, member).__doc__, f"{name}.{member}"


def test_stubs_are_what_is_there() -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy.stubtest", "delassus._delassus"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr


def test_a_typed_program_passes_strict_mypy() -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", str(HERE / "typed_program.py")]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    assert subprocess.run([sys.executable, str(HERE / "typed_program.py")], check=False).returncode == 0


def test_the_package_passes_strict_mypy() -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "-p", "delassus"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr


def test_wrong_types_do_not_pass_mypy(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = tmp_path / "wrong.py"
    program.write_text("import delassus\ndelassus.solve(3)\ndelassus.World.scene('stack').step('two')\n")
    command = [sys.executable, "-m", "mypy", "--strict", str(program)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 1 and told.stdout.count("error:") == 2, told.stdout + told.stderr
