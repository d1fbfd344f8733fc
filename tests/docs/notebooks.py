"""The example notebooks: running them, and writing down anew what their cells show.

A cell with the tag ``varies`` shows figures of the machine, such as seconds; of those only the kinds of outputs count.
The notebook on Spark asks a Sail of this run's own.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
VARIES = "varies"


def executed(path: Path, remote: str) -> Any:
    """Run a notebook in a kernel of its own and return it; `remote`: the address of a Spark server."""
    notebook = nbformat.read(path, as_version=4)
    # The client of Spark warns of the newer pandas, with paths of the machine.
    known = {"SPARK_REMOTE": remote, "PYTHONWARNINGS": "ignore::FutureWarning"}
    with TemporaryDirectory() as folder, patch.dict(os.environ, known):
        places = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=300, kernel_name="python3", record_timing=False, resources=places)
        client.execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            # A bar of progress that was taken away leaves an empty output, on a slow machine.
            cell.outputs = [output for output in cell.outputs if output.get("data", {}).get("text/html") != ""]
    return notebook


def shown(notebook: Any) -> list[list[Any]]:
    """Return what each cell shows: its outputs, or their kinds where figures vary."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [
        [_output(output, kinds=VARIES in cell.metadata.get("tags", [])) for output in cell.outputs] for cell in cells
    ]


def _output(output: Any, *, kinds: bool) -> Any:
    data = output.get("data")
    if data is None:
        return output.get("name"), None if kinds else output.get("text")
    if "text/html" in data:
        data = {"text/html": data["text/html"]}  # what is seen; the text beside it is the repr of a program
    return {kind: None if kinds else re.sub(r"0x[0-9a-f]+", "", str(text)) for kind, text in sorted(data.items())}


def code_of(path: Path) -> str:
    """Return the cells of a notebook as one script."""
    return "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code")


if __name__ == "__main__":
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    _, port = server.listening_address
    for chosen in [Path(name).resolve() for name in sys.argv[1:]] or NOTEBOOKS:
        nbformat.write(executed(chosen, f"sc://127.0.0.1:{port}"), chosen)
        print(f"{chosen.relative_to(ROOT)}: run")
