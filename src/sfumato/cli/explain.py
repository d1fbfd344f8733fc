"""``sfumato help``: what a word means here, and where it stands: commands, options, models, algorithms, attacks."""

from __future__ import annotations

import inspect
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.options import argument
from sfumato.errors import PolicyError

WIDTH, INDENT, MOST = 80, 4, 12
_SAID = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
FIELD: Mapping[str, str] = _SAID["field"]  # words → one or two sentences
LIMITS: Sequence[str] = _SAID["limits"]  # what no release of this program promises


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


Entry = tuple[str, str]  # a name, and what is said of it


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
