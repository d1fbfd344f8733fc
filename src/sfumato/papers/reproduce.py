"""Repeat the experiments of the founding papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from sfumato.errors import PolicyError, raise_all
from sfumato.papers.reproduction import Reproduction, Setting
from sfumato.progress import Progress, shown, thread_count
from sfumato.randomness import seed_problems
from sfumato.registry import Registry

PAPERS: Mapping[str, Callable[[Setting], Reproduction]] = Registry(
    {
        "soccer": "sfumato.papers.soccer:soccer",
        "caat": "sfumato.papers.caat:caat",
        "slicing": "sfumato.papers.slicing:slicing",
        "ratings": "sfumato.papers.ratings:ratings",
        "similarity": "sfumato.papers.similarity:similarity",
        "rings": "sfumato.papers.rings:rings",
    }
)
"""The papers that can be reproduced, by name."""


def reproduce(
    paper: str,
    *,
    data: str | Path | None = None,
    seed: int = 1,
    quick: bool = False,
    threads: int | None = None,
    progress: Progress = shown,
) -> Reproduction:
    """Repeat the experiments of a founding paper, and say of each of its claims whether it holds.

    Parameters
    ----------
    paper
        ``"soccer"``, ``"caat"``, ``"slicing"``, ``"ratings"``, ``"similarity"`` or ``"rings"``.
    data
        Folder of public tables; None reads ``SFUMATO_DATA``. If that is not set either, Adult is fetched from its
        publisher, checked and kept. Tables that are not public have synthetic stand-ins, which are labelled as such.
    seed
        For stand-ins, and for algorithms that draw at random. The same seed gives the same figures, except times.
    quick
        A few records and values only, to see that it works: it has figures and judges no claim.
    threads
        Runs at a time; None reads ``SFUMATO_THREADS``, else takes all cores.
    progress
        Called with (what, done, total).

    Returns
    -------
    Reproduction

    Raises
    ------
    PolicyError
        When the paper is unknown, with a list of papers; for other wrong settings, and for missing packages.
    InputError
        When a public table is not there and cannot be fetched; the message says how to get it.

    Examples
    --------
    >>> import sfumato as sf
    >>> sf.reproduce("soccer", quick=True).claims[0].verdict
    <Verdict.QUICK: 'not judged'>
    """
    raise_all(PolicyError, [*paper_problems(paper), *_setting_problems(seed, quick)])
    folder = None if data is None else Path(data)
    found = PAPERS[paper](Setting(folder, seed, quick, thread_count(threads), progress))
    return replace(found, claims=tuple(claim.unjudged() for claim in found.claims)) if quick else found


def paper_problems(paper: object) -> list[str]:
    """Return what is wrong with the name of a paper."""
    if isinstance(paper, str) and paper in PAPERS:
        return []
    return [f"paper: {str(paper)!r} is not one of {', '.join(PAPERS)}"]


def _setting_problems(seed: object, quick: object) -> list[str]:
    problems = ["seed: must be a whole number, 0 or above"] if seed is None else seed_problems(seed)
    return problems if isinstance(quick, bool) else [*problems, "quick: must be true or false"]
