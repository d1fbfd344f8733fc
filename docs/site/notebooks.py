"""Turn the example notebooks into pages of the site: cells as they are, with what they showed when they were run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LINK = re.compile(r"\(([^()\s]*?)\.ipynb(#[^()\s]*)?\)")


def turn_into_pages(docs: Path) -> None:
    """Write a page beside every notebook of a folder, and lead the links of all pages there."""
    for path in docs.rglob("*.ipynb"):
        path.with_suffix(".md").write_text(page_of(json.loads(path.read_text(encoding="utf-8"))), encoding="utf-8")
    for path in docs.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        path.write_text(_LINK.sub(r"(\1.md\2)", text), encoding="utf-8")


def page_of(notebook: dict[str, Any]) -> str:
    """Return a notebook as Markdown."""
    return "\n\n".join(part for cell in notebook["cells"] for part in _parts(cell)) + "\n"


def _parts(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "text/html" in data:
            # One block without an empty line, so that all of it is taken as it is.
            html = re.sub(r"\n\s*", " ", "".join(data["text/html"]))
            yield f'<div class="notebook-output">{html}</div>'
        else:
            text = "".join(data.get("text/plain", output.get("text", "")))
            yield f"```text\n{text.rstrip()}\n```"
