"""`python -m delassus sweep file.toml`, which `delassus sweep file.toml` calls."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

from ._delassus import Error
from ._sweep import sweep

_KEYS = ("scene", "function", "folder", "solvers", "seeds", "seconds", "scheduler", "workers", "chunk", "retries", "parameters")


def main(words: list[str] | None = None) -> int:
    """Does what the command line says; the exit code is 0, 1 where runs failed, 2 where nothing could be run."""
    parser = argparse.ArgumentParser(prog="delassus", description="Sweeps of delassus.")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("sweep", help="run what a file says: parameters × solvers × seeds")
    one.add_argument("file", type=Path, help="TOML: scene or function, folder, [parameters], …")
    one.add_argument("--out", help="the folder of the rows, instead of that of the file")
    one.add_argument("--workers", type=int, help="processes of the local cluster")
    one.add_argument("--scheduler", help="address of a Dask scheduler")
    one.add_argument("--quiet", action="store_true", help="no progress")
    args = parser.parse_args(words)
    try:
        plan = _read(args.file)
        changes = {"folder": args.out, "workers": args.workers, "scheduler": args.scheduler}
        plan |= {key: value for key, value in changes.items() if value is not None}
        run, parameters = plan.pop("run"), plan.pop("parameters")
        if "folder" not in plan:
            raise Error(f'{args.file}: there is no folder for the rows; add folder = "results", or give --out')
        found = sweep(run, parameters, progress=not args.quiet, **plan)
    except (Error, OSError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(repr(found))
    return 1 if found.failed else 0


def _read(path: Path) -> dict[str, Any]:
    """The plan of a file, as keyword arguments of `sweep`."""
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        try:
            import tomli as tomllib  # type: ignore[no-redef,import-not-found,unused-ignore]
        except ModuleNotFoundError:
            raise Error("Python 3.10 reads no TOML by itself; pip install tomli") from None
    try:
        plan: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as cause:
        raise Error(f"{path}: {cause}") from None
    if unknown := [key for key in plan if key not in _KEYS]:
        raise Error(f'{path}: there is no key "{unknown[0]}"; known: {", ".join(_KEYS)}')
    scene, function = plan.pop("scene", None), plan.pop("function", None)
    if (scene is None) == (function is None):
        raise Error(f'{path}: give either scene = "stack:$size" or function = "module:name"')
    plan["run"] = _function(path, function) if scene is None else _scene(path, scene)
    parameters = plan.setdefault("parameters", {})
    if not isinstance(parameters, dict):
        raise Error(f"{path}: parameters must be a table of lists")
    plan["parameters"] = {name: _values(path, name, given) for name, given in parameters.items()}
    if "folder" in plan:
        plan["folder"] = path.parent / plan["folder"]
    return plan


def _scene(path: Path, scene: str) -> str | Path:
    """A file beside the plan, or the name of a built-in scene."""
    return path.parent / scene if Path(scene).suffix else scene


def _function(path: Path, given: str) -> Any:
    """A function of a module beside the plan, or of an installed one."""
    module, colon, name = given.partition(":")
    if not colon:
        raise Error(f'{path}: function = "{given}" must be "module:name"')
    sys.path.insert(0, str(path.parent.resolve()))
    found = importlib.import_module(module)
    # A module beside the plan is not installed where the workers are: it goes to them whole.
    if Path(str(getattr(found, "__file__", ""))).parent == path.parent.resolve():
        try:
            import cloudpickle
        except ImportError as cause:
            raise ImportError("delassus sweep needs Dask; pip install 'delassus[sweep]'") from cause
        cloudpickle.register_pickle_by_value(found)
    try:
        return getattr(found, name)
    except AttributeError:
        raise Error(f'{path}: the module {module} has no "{name}"') from None


def _values(path: Path, name: str, given: Any) -> list[Any]:
    """A list as it is, or `{ from = 0, to = 1, count = 11 }` evenly."""
    if isinstance(given, list):
        return given
    if isinstance(given, dict) and set(given) == {"from", "to", "count"} and int(given["count"]) >= 2:
        first, last, count = float(given["from"]), float(given["to"]), int(given["count"])
        return [first + (last - first) * i / (count - 1) for i in range(count)]
    raise Error(f"{path}: parameter {name} must be a list, or {{ from = 0.0, to = 1.0, count = 11 }} with two or more")


if __name__ == "__main__":
    sys.exit(main())
