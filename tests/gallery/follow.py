"""Follow our own advice: say what a message offers until a file reads or stops, and tell what came of it."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, product
from pathlib import Path
from typing import Any

import polars as pl

import sfumato as sf
from sfumato.cli.settings import settings_of

ROUNDS, MOST_WAYS = 2, 48
_OPTION = re.compile(r"--(set|categorical) ((?:'[^']*'|\"[^\"]*\"|[^\s'\";()])+)")


@dataclass(frozen=True)
class World:
    """A file as somebody has it, its true values, and what must come of it.

    ``comes``: *right*, read at once; *asked*, an answer that we offer leads to the truth; *refused*, a message says
    what it is (``says``) and what to do. ``roles``: settings of columns that the user begins with.
    """

    name: str
    make: Any
    truth: Mapping[str, list[Any]]
    comes: str = "right"
    says: str = ""
    reading: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


Way = tuple[tuple[str, Any], ...]


def outcome(world: World, folder: Path) -> tuple[str, str]:
    """Return what comes of a file, and the messages on the way."""
    source, ways, log = world.make(folder), [dict[str, Any]()], ""
    for number in range(ROUNDS + 1):
        following: list[dict[str, Any]] = []
        for way in ways:
            try:
                table = _read(source, world, way)
            except sf.SfumatoError as error:
                text = str(error)
                if cells := shown(world.truth, text):
                    return "shows", f"{cells}: {text}"
                log += f"\n[{number}] {text}"
                following += [{**way, **more} for more in advised(error)]
                continue
            if true(table, world.truth):
                return ("asked" if number else "right"), log
            if not number:
                return "wrong", str([table.frame[name].head(5).to_list() for name in world.truth])
        ways = following[:MOST_WAYS]
        if not ways:
            break
    if world.says and re.search(world.says, log):
        return "refused", log
    return "refused badly" if "[1]" not in log else "advice fails", log


def _read(source: Any, world: World, way: Mapping[str, Any]) -> sf.Table:
    reading = {**world.reading, **{key: value for key, value in way.items() if isinstance(key, str)}}
    columns: dict[str, dict[str, Any]] = {name: {} for name in world.truth}
    for key, value in way.items():
        if isinstance(key, tuple) and key[0] in columns:
            columns[key[0]][key[1]] = value
    attributes = {name: sf.Attribute(**of) for name, of in columns.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schema = sf.Schema(quasi_identifying=attributes, others="drop")
        return sf.read_table(source, schema, reading=sf.Reading(**reading))


def advised(error: sf.SfumatoError) -> Iterator[dict[Any, Any]]:
    """Yield what may be said: of every problem one of the answers that it offers."""
    answers = [found for problem in error.problems if (found := list(_answers(problem)))]
    for chosen in islice(product(*answers), MOST_WAYS):
        yield {key: value for answer in chosen for key, value in answer.items()}


def _answers(problem: str) -> Iterator[dict[Any, Any]]:
    matches = list(_OPTION.finditer(problem))
    place = 0
    while place < len(matches):
        answer = _said(matches[place])
        # Options with nothing but a blank between them are one answer.
        while place + 1 < len(matches) and not problem[matches[place].end() : matches[place + 1].start()].strip():
            place += 1
            answer |= _said(matches[place])
        place += 1
        if answer:
            yield answer


def _said(match: re.Match[str]) -> dict[Any, Any]:
    text = match[2] if re.search(r"=[,.]$", match[2]) else match[2].rstrip(",.")
    word = "".join(shlex.split(text))
    if match[1] == "categorical":
        return {(word, "kind"): "categorical"}
    problems: list[str] = []
    found = settings_of([word], problems)
    assert not problems, problems
    (setting,) = found
    value = (
        setting.text if isinstance(setting.value, (int, float)) and setting.path[-1] in ("sheet",) else setting.value
    )
    if setting.text in ("TEXT", "NAME", "N", "NAMES"):
        return {}
    key = str(setting.path[-1]).replace("-", "_")
    return {(setting.path[2], key): value} if setting.path[0] == "columns" else {key: value}


def true(table: sf.Table, truth: Mapping[str, list[Any]]) -> bool:
    """Tell whether a table has the values of the truth, of their own types."""
    for name, values in truth.items():
        column = table.frame[name]
        held = (column.cast(pl.String) if isinstance(column.dtype, (pl.Categorical, pl.Enum)) else column).to_list()
        if len(held) != len(values) or any(not _same(one, other) for one, other in zip(held, values, strict=True)):
            return False
    return True


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        numbers = isinstance(one, (int, float)) and isinstance(other, (int, float))
        return numbers and (one == other or abs(one - other) <= 1e-9 * abs(other))
    return bool(one == other) and isinstance(one, bool) is isinstance(other, bool) and type(one) is type(other)


def shown(truth: Mapping[str, list[Any]], said: str) -> list[Any]:
    """Return the values that a message shows; short ones may be there by chance."""
    return [v for values in truth.values() for v in values if isinstance(v, str) and len(v) > 3 and v in said]
