"""``sfumato reproduce``: repeat the experiments of the founding papers."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sfumato.cli.options import METHOD, OUTPUT, AsJson, Quiet, argument
from sfumato.cli.outcome import complain, say
from sfumato.cli.progress import progress_bar
from sfumato.errors import InputError, PolicyError, raise_all

if TYPE_CHECKING:
    from sfumato.papers.reproduction import Reproduction

PAPERS = "soccer, caat, slicing, ratings, similarity, rings"
"""Names for the help page; the experiments themselves are only loaded when one is needed."""


def reproduce(
    paper: Annotated[str, argument("PAPER", f"One of {PAPERS}.")],
    data: Annotated[
        Path | None,
        METHOD(
            "Public tables; default SFUMATO_DATA. Adult is fetched if neither names a folder that has it.", "FOLDER"
        ),
    ] = None,
    quick: Annotated[bool, METHOD("A few records and values, without verdicts.", None, "--quick")] = False,
    seed: Annotated[int, METHOD("Seed of synthetic tables and random algorithms.")] = 1,
    threads: Annotated[int | None, METHOD("Runs at a time; default all cores.")] = None,
    out: Annotated[Path | None, OUTPUT("Folder of tables and drawings.", "FOLDER")] = None,
    no_drawings: Annotated[bool, OUTPUT("Tables only.", None, "--no-drawings")] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Repeat the experiments of a founding paper, and say of each of its claims whether it holds.

    Figures have the axes of the paper's, with its printed values beside those measured here. Tables that are not public
    have synthetic stand-ins, which are labelled as such.
    """
    from sfumato.papers.reproduce import paper_problems
    from sfumato.papers.reproduce import reproduce as run

    raise_all(PolicyError, [*paper_problems(paper), *_drawing_problems(out, no_drawings=no_drawings)])
    if out is not None:
        _check_out(out)
    with progress_bar(quiet=quiet or as_json) as progress:
        progress("reading", 0, 1)
        found = run(paper, data=data, seed=seed, quick=quick, threads=threads, progress=progress)
    if out is not None:
        found.save(out, drawings=not no_drawings)
    _report(found, out, quiet=quiet, as_json=as_json)


def _check_out(out: Path) -> None:
    """Check, before the work, whether the folder can be written."""
    from sfumato.papers.reproduction import check_reproduction_folder

    try:
        check_reproduction_folder(out)
    except InputError as error:
        raise InputError(*(f"--out: {problem}" for problem in error.problems)) from None


def _drawing_problems(out: Path | None, *, no_drawings: bool) -> list[str]:
    if out is None or no_drawings or find_spec("matplotlib"):
        return []
    return ["--out: drawings need matplotlib; install it with: pip install 'sfumato[report]', or add --no-drawings"]


def _report(found: Reproduction, out: Path | None, *, quiet: bool, as_json: bool) -> None:
    if as_json:
        say(json.dumps(found.to_dict(), indent=2))
    elif not quiet:
        say(str(found))
    if out is not None and not quiet:
        complain([f"reproduction written to {out}"])
