"""The notebooks of the documentation run from top to bottom."""

from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed; the notebooks were not run")
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed; the notebooks were not run")
pytest.importorskip("ipykernel", reason="ipykernel is not installed; the notebooks were not run")

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
NEEDS = {"first-steps": ["matplotlib"], "compare-solvers": ["matplotlib"], "sweep": ["distributed", "pyarrow", "pandas"]}
BOOKS = sorted(FOLDER.glob("*.ipynb"))
# Seconds for one cell, on a slow machine.
PATIENCE = 120


@pytest.mark.parametrize("path", BOOKS, ids=[path.stem for path in BOOKS])
def test_a_notebook_runs(path: Path, tmp_path: Path):
    for module in NEEDS.get(path.stem, []):
        pytest.importorskip(module, reason=f"{module} is not installed; {path.stem} was not run")
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    assert not any(cell.get("outputs") for cell in book.cells), "outputs are not committed"
    client = nbclient.NotebookClient(book, timeout=PATIENCE, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
