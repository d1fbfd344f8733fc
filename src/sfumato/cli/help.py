"""Help that fits a screen: a line for each option, commands by what they are for; ``--help-all`` prints all."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup

WIDTH = 80
ALL = "--help-all"
SELDOM = {"--audit", "--bound", "--formulas", "--memory", "--save-policy", "--seed"}
"""Options of commands that have many: only the long help has them."""
MANY = 24
"""Options of a command from which on the seldom ones are left to the long help."""

_whole: list[bool] = []
"""One entry where the long help was asked for."""


def without_help_option(words: Sequence[str]) -> list[str]:
    """Take the option for the long help out of the words, wherever it stands, and ask for help instead."""
    _whole.clear()
    if ALL in words:
        _whole.append(True)
    return ["--help" if word == ALL else word for word in words]


class BriefCommand(TyperCommand):
    """A command whose help has one line for each option."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the short help, or the long one where it was asked for."""
        if _whole:
            return super().format_help(ctx, formatter)
        formatter.write("\n".join(_command_lines(self, ctx)))


def _command_lines(command: TyperCommand, ctx: Any) -> Iterator[str]:
    yield from textwrap.wrap(f"Usage: {ctx.command_path} {usage_of(ctx)} [OPTIONS]", WIDTH, subsequent_indent="    ")
    yield ""
    yield from textwrap.wrap((command.help or "").partition("\n\n")[0], WIDTH)
    yield ""
    panels = _panels(command, ctx)
    first = min(34, max((len(name) for lines in panels.values() for name, _ in lines), default=0) + 2)
    for title, lines in panels.items():
        if title and lines:
            yield title
        for name, text in lines:
            yield f"  {name:<{first}}{textwrap.shorten(text, WIDTH - first - 2, placeholder=' …')}"
    yield ""
    yield from _first_example(command.epilog or "")
    yield f"{ctx.command_path} {ALL} says everything."


def usage_of(ctx: Any) -> str:
    """Return the words that a command takes beside its options."""
    return re.sub(r"[{}]|(?<=\[)\[|\](?=\])", "", " ".join(ctx.command.collect_usage_pieces(ctx)[1:]))


def _panels(command: TyperCommand, ctx: Any) -> Mapping[str, list[tuple[str, str]]]:
    """Return what the options are called and what they do, by the panels of the long help; that without title first."""
    shown = [each for each in command.get_params(ctx) if not getattr(each, "hidden", False) and each.name != "help"]
    options = [each for each in shown if each.param_type_name == "option"]
    left = SELDOM if len(options) > MANY else set()
    panels: dict[str, list[tuple[str, str]]] = {"": []}
    for each in shown:
        if not left.isdisjoint(each.opts):
            continue
        title = getattr(each, "rich_help_panel", None) or ""
        name = re.sub(r" <(?:bool|str|path)>|[{}\[\]]", "", (each.get_help_record(ctx) or (each.name or "", ""))[0])
        panels.setdefault(title, []).append((name, _sentence(getattr(each, "help", "") or "")))
    return panels


def _sentence(text: str) -> str:
    """Return what comes first: the rest is for the long help."""
    return re.split(r"(?<!e\.g)\. |; ", text, maxsplit=1)[0].rstrip(".")


def _first_example(epilog: str) -> Iterator[str]:
    lines = [line for line in epilog.replace("\b", "").splitlines() if line.strip()]
    yield from lines[:1]
    for line in lines[1:]:
        yield line
        if not line.endswith("\\"):
            return


class BriefGroup(TyperGroup):
    """A group of commands whose help has one line for each."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the short help, or the long one where it was asked for."""
        if _whole:
            return super().format_help(ctx, formatter)
        formatter.write("\n".join(_group_lines(self, ctx)))


def _group_lines(group: TyperGroup, ctx: Any) -> Iterator[str]:
    yield f"Usage: {ctx.command_path} COMMAND [OPTIONS]"
    yield ""
    yield from textwrap.wrap((group.help or "").partition("\n\n")[0], WIDTH)
    yield ""
    commands = {name: command for name, command in group.commands.items() if not command.hidden}
    first = max(map(len, commands), default=0) + 2
    for name, command in commands.items():
        text = _sentence(command.get_short_help_str(500))
        yield f"  {name:<{first}}{textwrap.shorten(text, WIDTH - first - 2, placeholder=' …')}"
    yield ""
    yield f"{ctx.command_path} COMMAND --help shows an example; {ALL} says everything."


FAMILIES = {
    "publish": ("demo", "review", "init", "policy", "anonymize", "hierarchy", "lattice"),
    "check": ("verify", "sign", "check", "risk", "correlation", "settle"),
    "measure": ("measure", "compare", "report", "evidence"),
    "attack": ("attack",),
    "series": ("series",),
    "more": ("studio", "budget", "reproduce", "warm", "help"),
}
"""What commands are for → the commands."""
FIRST = {
    "sfumato demo": "an attack, before and after",
    "sfumato studio patients.csv": "the whole job in a browser",
    "sfumato review patients.csv": "what each column seems to be",
    "sfumato init patients.csv": "write a first policy",
    "sfumato anonymize patients.csv --policy policy.toml --out release/": "",
    "sfumato verify release/": "recount what it promises",
}
"""The commands to begin with."""


def is_whole() -> bool:
    """Tell whether the long help was asked for."""
    return bool(_whole)


def front_page() -> str:
    """Return the first page: a line for each family of commands, and the commands to begin with."""
    first = max(map(len, FAMILIES)) + 2
    return "\n".join(
        [
            "Usage: sfumato COMMAND [OPTIONS]",
            "",
            "Publish a table about people so that no single person can be picked out of it.",
            "",
            *(f"  {name:<{first}}{', '.join(commands)}" for name, commands in FAMILIES.items()),
            "",
            "Begin with:",
            *(f"  {command:<34}{text}".rstrip() for command, text in FIRST.items()),
            "",
            f"sfumato COMMAND --help shows an example; {ALL} says everything.",
            "sfumato help WORD explains a word; sfumato limits says what nothing promises.",
            "Exit codes: 0 done; 1 a promise does not hold; 2 wrong input; 130 interrupted.",
        ]
    )
