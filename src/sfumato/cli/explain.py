"""``sfumato help``: what a word means here, and where it stands: commands, options, models, algorithms, attacks."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any

import typer

from sfumato.cli.options import argument
from sfumato.errors import PolicyError

WIDTH, INDENT, MOST = 80, 4, 12
FIELD: Mapping[str, str] = {
    "equivalence class": "Records that publish the same quasi-identifying values.",
    "identifying column": "A column that names a person, such as a name or a number of insurance. It is removed.",
    "quasi-identifying column": "A column that others may know of a person, such as age or postcode. Classes hide it.",
    "sensitive column": "A column whose link to a person must stay hidden, such as a disease.",
    "insensitive column": "A column that is published as it is. No promise covers it.",
    "hierarchy": "Which coarser values stand for which finer ones, level by level.",
    "generalization": "Publishing a coarser value: a range, a set, or a node of a hierarchy.",
    "suppression": "Leaving a record or a cell out, so that the others keep more detail.",
    "release": "A folder with the published table, a report, and what anybody needs to recount it.",
    "policy": "A file that says which columns have which role, what is promised, and how it is made.",
    "finding": "Something in a column that somebody has to know or to answer before it is published.",
    "k": "How many records, or people, publish the same at least. One is found with a chance of 1 in k at most.",
    "star (*)": "The notation of a cell that says nothing. Any value may stand behind it.",
    "interval or range [20..29]": "The notation of a number or date between two ends. A round bracket leaves one out.",
    "value set {a|b}": "The notation of one of several values. \\N among them is the missing one.",
    "own k": "The k that a person asked for. Nobody is found with a higher chance than 1 in it.",
    "information loss": "How much detail the published table lacks, from 0 (none) to 1 (all).",
    "detail kept": "What the published table shows of the original values: 1 minus the information loss.",
    "prosecutor": "An attacker who knows that somebody is in the table, and looks for that person's record.",
    "journalist": "An attacker who does not know whether somebody is in the table.",
    "marketer": "An attacker who wants as many records as possible to be found.",
    "control group": "People who are not in the data. What an attack finds about them, the release did not tell.",
    "pseudonym": "A number that stands for a person, so that rows of one person can be told.",
    "household": "People who live together. Whoever knows one of them may know all.",
    "series": "Releases of the same data set, month by month, that withstand each other.",
    "ledger": "The steward's private record of a series, or of what a private release has spent.",
    "head": "The hash of the last release of a series. Keep it elsewhere to notice a fork.",
    "seed": "A number that makes chance repeatable. It never enters a release.",
    "signature": "Shows who made a release, and that no file of it was changed.",
    "epsilon": "How much one person can change what a private release tells. Smaller is safer.",
}
"""The field's words → one or two sentences."""

LIMITS = (
    "Every model bounds some risks and leaves others: an attacker may know more than the policy names.",
    "k-anonymity hides which record is somebody's. It does not hide what all records of a class share.",
    "Only delta-presence and differential privacy bound what is told of who is in the table.",
    "Two releases of the same people may tell more than each alone. Publish a series instead.",
    "No promise covers an insensitive column. It is published as it is.",
    "A recount takes the roles of columns from the policy. A wrong role breaks no promise.",
    "A recount shows that promises hold. It does not show that published values are true.",
    "An attack that fails says nothing of attackers who know more, or try something else.",
    "Free text, pictures and genomes are not made safe. Drop them, or publish categories.",
    "Noise, swapping and drawn values promise nothing by themselves. Attacks measure what they hide.",
    "Whoever learns a seed can repeat every random choice. Give none for a release that leaves the house.",
    "People decide whether a release is anonymous by law. No figure here does.",
)
"""What no release of this program promises."""


def help(word: Annotated[list[str] | None, argument("[WORD]...", "What to look for.")] = None) -> None:
    """Say what a word means, and where it stands: commands, options, models, algorithms, attacks."""
    from sfumato.cli.app import COMMANDS, GROUPS, app_of

    asked = " ".join(word or ()).strip().lower().strip("-")
    command = typer.main.get_command(app_of([*COMMANDS, *GROUPS]))
    if asked == "limits":
        return typer.echo("\n".join(limit_lines()))
    if not asked:
        return typer.echo(command.get_help(typer.Context(command, info_name="sfumato")))
    lines = [*explained(asked, [*FIELD.items(), *registered_entries(), *_of_commands(command)])]
    typer.echo("\n".join(lines))


def limit_lines() -> Iterator[str]:
    """Say what no release promises, and what each kind does not hide."""
    from sfumato.published import KINDS

    said = {
        "What no release promises": LIMITS,
        **{f"Releases of the kind {kind}": each.limits for kind, each in KINDS.items()},
    }
    for head, sentences in said.items():
        yield head
        for sentence in sentences:
            yield textwrap.fill(sentence, WIDTH, initial_indent="  - ", subsequent_indent=" " * INDENT)
    yield "report.txt of each release names its own limits."


Entry = tuple[str, str]
"""A name, and what is said of it."""


def explained(asked: str, entries: Sequence[Entry]) -> Iterator[str]:
    """Write the entries that are called so, the one of just that name first, or else those that speak of it.

    Raises ``PolicyError`` when there are none.
    """
    found = [entry for entry in entries if _fits(asked, entry[0])]
    found.sort(key=lambda entry: (entry[0] != asked, asked not in _words(entry[0])))
    found = found or [entry for entry in entries if re.search(rf"\b{re.escape(asked)}", entry[1].lower())]
    if not found:
        names = {part for name, _ in entries for part in (name.lower(), *re.split(r"[^a-z]+", name.lower()))}
        near = get_close_matches(asked, sorted(names), 3, 0.6)
        others = f"; near are {', '.join(near)}" if near else ""
        raise PolicyError(f"{asked!r}: nothing is called so{others}")
    for name, text in found[:MOST]:
        yield name
        yield textwrap.fill(text, WIDTH, initial_indent=" " * INDENT, subsequent_indent=" " * INDENT)
    if len(found) > MOST:
        yield f"and {len(found) - MOST} more; look for a longer word"


def _fits(asked: str, name: str) -> bool:
    if len(asked) < 3:
        return asked in _words(name)
    plain = re.sub(r"[\s-]+", " ", name.lower())
    return re.sub(r"[\s-]+", " ", asked) in plain


def _words(name: str) -> list[str]:
    return re.findall(r"[\w*]+", name.lower())


def registered_entries() -> Iterator[Entry]:
    """Name models, algorithms and attacks, and what their classes say first."""
    from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
    from sfumato.evaluation.attacks import ATTACKS
    from sfumato.models import MODELS

    kinds: list[tuple[str, Mapping[str, Any], str]] = [
        ("model", MODELS, "--model {}:…"),
        ("algorithm", ANONYMIZERS, "--anonymizer {}"),
        ("algorithm", PUBLISHERS, "--anonymizer {}"),
        ("attack", ATTACKS, "sfumato attack … --attack {}"),
    ]
    for kind, registry, use in kinds:
        for name, one in registry.items():
            yield f"{name}, {kind}: {use.format(name)}", _first(inspect.getdoc(one) or "")


def _of_commands(command: Any, words: str = "sfumato") -> Iterator[Entry]:
    """Name commands and their options, and what help says of them first."""
    for name, each in sorted(getattr(command, "commands", {}).items()):
        if each.hidden:
            continue
        yield f"{words} {name}", _first(each.help or "")
        yield from _of_commands(each, f"{words} {name}")
        for param in each.params:
            flags = [flag for flag in getattr(param, "opts", ()) if flag.startswith("-")]
            if flags and not getattr(param, "hidden", False):
                yield f"{words} {name} {flags[-1]}", getattr(param, "help", "") or ""


_MARKED = re.compile(r":\w+:`~?([^`]*)`|``([^`]*)``|`([^`]*)`")


def _first(text: str) -> str:
    """Return the first paragraph, without the marks of documentation."""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return _MARKED.sub(lambda found: next(filter(None, found.groups()), ""), paragraph)
