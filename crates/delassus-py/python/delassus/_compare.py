"""The same problems by several solvers, to the same tolerance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from html import escape
from typing import TYPE_CHECKING, Union

from ._delassus import Answer, Error, Problem, solve, variants

if TYPE_CHECKING:
    import pandas

    Problems = Union[Problem, Iterable[Problem], Mapping[str, Problem]]


@dataclass(frozen=True)
class Run:
    """One problem by one solver."""

    problem: str
    solver: str
    status: str
    fit: str
    iterations: int
    residual: float
    seconds: float

    @property
    def solved(self) -> bool:
        """Whether the residual is within the tolerance."""
        return self.status == "solved"


class Comparison:
    """Runs of several solvers, problem by problem: those that solved it first, the fastest on top.

    It is a sequence of `Run`, prints as a table, shows as one in a notebook, and becomes a data frame by `to_pandas`.
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        self.runs = tuple(runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __getitem__(self, index: int) -> Run:
        return self.runs[index]

    def to_pandas(self) -> pandas.DataFrame:
        """The runs as a data frame, where pandas is installed."""
        import pandas

        return pandas.DataFrame([asdict(run) for run in self.runs])

    def html(self) -> str:
        """The table as HTML."""
        head, *lines = self._table()

        def row(cells: list[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "\n".join(row(line, "td") for line in lines)
        return f"<table>\n{row(head, 'th')}\n{body}\n</table>"

    def _repr_html_(self) -> str:
        return self.html()

    def __repr__(self) -> str:
        table = self._table()
        widths = [max(len(line[column]) for line in table) for column in range(len(table[0]))]
        lines = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in table)
        return "\n".join(lines)

    def _table(self) -> list[list[str]]:
        def shown(value: object) -> str:
            return f"{value:.2e}" if isinstance(value, float) else str(value)

        names = [field.name for field in fields(Run)]
        return [names] + [[shown(getattr(run, name)) for name in names] for run in self.runs]


def compare(
    problems: Problems,
    solvers: str | Iterable[str] = "all",
    *,
    tolerance: float = 1e-6,
    iterations: int = 10_000,
    time_limit: float = 10.0,
) -> Comparison:
    """Solves every problem by every solver to the same tolerance [m/s] and ranks them by time.

    `problems` is one problem, a list or a dict of them; `solvers` are names with keys, or `"all"` for every variant.
    Solvers without a rule for a problem's laws are left out; those that solve a nearby law have `fit` `approximate`.

    >>> import delassus
    >>> table = delassus.compare(delassus.lcp([[2, 1], [1, 2]], [-5, -6]), ["lemke", "newton"])
    >>> sorted(run.solver for run in table if run.solved)
    ['lemke', 'newton']
    """
    specs = variants() if solvers == "all" else [solvers] if isinstance(solvers, str) else list(solvers)
    runs: list[Run] = []
    for name, problem in _named(problems):
        ranked = []
        for spec in specs:
            answer = solve(problem, spec, tolerance=tolerance, iterations=iterations, time_limit=time_limit)
            if answer.status != "unsupported":
                ranked.append(_run(name, spec, answer))
        runs.extend(sorted(ranked, key=lambda run: (not run.solved, run.fit != "exact", run.seconds)))
    return Comparison(runs)


def _named(problems: Problems) -> list[tuple[str, Problem]]:
    """Problems with names: their own, their title, or their place."""
    if isinstance(problems, Problem):
        problems = [problems]
    if isinstance(problems, Mapping):
        named = [(str(name), problem) for name, problem in problems.items()]
    else:
        named = [(getattr(problem, "title", "") or str(place), problem) for place, problem in enumerate(problems)]
    for name, problem in named:
        if not isinstance(problem, Problem):
            kind = type(problem).__name__
            raise Error(f"problem {name} is of type {kind}; make it a Problem by lcp, friction or Problem.read")
    return named


def _run(name: str, spec: str, answer: Answer) -> Run:
    return Run(
        problem=name,
        solver=spec,
        status=answer.status,
        fit=answer.fit,
        iterations=answer.iterations,
        residual=answer.residual,
        seconds=answer.seconds,
    )
