"""The examples of README and docs: finding them, running them, and writing down anew what they print.

What counts as an example:

* a ``python`` block, run in one namespace per page;
* an ``sh`` block with a line that starts with ``sfumato``; its other lines are run by the shell;
* any block after a comment ``<!-- file: NAME -->``, which is saved under that name first.

A ``text`` block right after an example holds what it prints; a line ``...`` in it stands for any lines.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PROJECT_PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES = [*PROJECT_PAGES, *sorted(path for path in DOCS.rglob("*.md") if path.parent.name != "decisions")]

_BLOCK = re.compile(
    r"^(?:<!-- file: (?P<file>\S+) -->\n\n?)?^(?P<fence>`{3,})(?P<language>\w*)\n(?P<body>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)

_RUNS = re.compile(r"^sfumato ", re.MULTILINE)


@dataclass
class Example:
    """One block to run, and the block with what it prints."""

    language: str
    body: str
    line: int
    file: str | None = None
    expected: str | None = None
    place: tuple[int, int] | None = None  # of the expected text in the page


@dataclass
class Namespace:
    """What the blocks of a page share."""

    values: dict[str, Any] = field(default_factory=lambda: {"__name__": "__example__"})
    code: int = 0


def examples(text: str) -> list[Example]:
    """Find what a page asks to be run, in order."""
    found: list[Example] = []
    end_of_last = None
    for match in _BLOCK.finditer(text):
        language, body = match["language"], match["body"]
        follows = end_of_last is not None and not text[end_of_last : match.start()].strip()
        end_of_last = None
        if language == "text" and follows and not match["file"]:
            found[-1].expected, found[-1].place = body, match.span("body")
        elif match["file"] or language == "python" or (language == "sh" and _RUNS.search(body)):
            found.append(Example(language, body, text.count("\n", 0, match.start()) + 1, match["file"]))
            end_of_last = match.end()
    return found


def run(example: Example, shared: Namespace) -> str:
    """Run one example in the current folder and return what it prints."""
    if example.file:
        path = Path(example.file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(example.body, encoding="utf-8")
        return ""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        if example.language == "python":
            exec(compile(example.body, f"line {example.line}", "exec", dont_inherit=True), shared.values)
        else:
            for line in _commands(example.body):
                shared.code = _sfumato(line) if line.startswith("sfumato") else _shell(line, shared.code)
    # Whether kernels have been compiled before is this machine's history, and no part of an example.
    lines = printed.getvalue().splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("sfumato: compiling,"))


def agrees(expected: str, printed: str) -> bool:
    """Tell whether an example printed what the page says."""
    flags = ELLIPSIS | NORMALIZE_WHITESPACE
    return OutputChecker().check_output(expected.rstrip() + "\n", printed.rstrip() + "\n", flags)


@contextlib.contextmanager
def example_folder(folder: Path) -> Iterator[None]:
    """Work in a folder that holds the synthetic patients.csv."""
    from sfumato.models import MODELS

    settings = {"COLUMNS": "80", "LC_ALL": "C", "NO_COLOR": "1"}
    # What a page registers is forgotten with it.
    with (
        contextlib.chdir(folder),
        patch.dict(os.environ, settings),
        patch.object(MODELS, "_places", {**MODELS._places}),
    ):
        runpy.run_path(str(DOCS / "make_patients.py"))
        runpy.run_path(str(DOCS / "make_city.py"))
        yield


def _commands(body: str) -> list[str]:
    lines = body.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def _sfumato(line: str) -> int:
    from sfumato.cli import main

    words = shlex.split(line, comments=True)
    with patch.object(sys, "argv", words), warnings.catch_warnings():
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0)
    return 0


def _shell(line: str, code: int) -> int:
    done = subprocess.run(
        ["bash", "-c", f"(exit {code})\n{line}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout, end="")
    return done.returncode


def rewrite(page: Path) -> None:
    """Write down anew what the examples of a page print, where it differs."""
    text = page.read_text(encoding="utf-8")
    changes: list[tuple[tuple[int, int], str]] = []
    with TemporaryDirectory() as folder, example_folder(Path(folder)):
        shared = Namespace()
        for example in examples(text):
            try:
                printed = run(example, shared)
            except Exception:
                print(f"{page.relative_to(ROOT)}, line {example.line}:\n{traceback.format_exc()}", file=sys.stderr)
                continue
            if example.place is None or agrees(example.expected or "", printed):
                continue
            if "..." in (example.expected or "").splitlines():
                print(f"{page.relative_to(ROOT)}, line {example.line}: mend by hand\n{printed}", file=sys.stderr)
                continue
            changes.append((example.place, printed.rstrip() + "\n"))
    for (start, end), printed in reversed(changes):
        text = text[:start] + printed + text[end:]
    if changes:
        page.write_text(text, encoding="utf-8")
        print(f"{page.relative_to(ROOT)}: {len(changes)} output(s) written")


if __name__ == "__main__":
    for chosen in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        rewrite(chosen)
