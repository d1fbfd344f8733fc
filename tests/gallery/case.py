"""What a case of the gallery is: a file, and what must come of it: read rightly, or a sentence that cures it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

import sfumato as sf

Make = Callable[[Path], Path]
"""Writes a file into a folder and returns its path."""


@dataclass(frozen=True)
class Case:
    """One file as people have it.

    Attributes
    ----------
    name : str
    make : callable
        Writes the file.
    truth : mapping
        What each quasi-identifying column holds: dates, numbers, booleans or texts, None where a value is missing.
    said : mapping
        Arguments of ``read_table`` that the user begins with.
    asks : str or None
        Pattern of the sentence that comes first; None: the file is read at once.
    cure : mapping or None
        Arguments that the sentence names, with which the file is read; None: the file has to be changed.
    of : mapping
        Settings of columns that the sentence names, as an ``Attribute`` takes them.
    begins : mapping
        Settings of columns that the user begins with.
    """

    name: str
    make: Make
    truth: Mapping[str, list[Any]]
    said: Mapping[str, Any] = field(default_factory=dict)
    asks: str | None = None
    cure: Mapping[str, Any] | None = field(default_factory=dict)
    of: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    begins: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def check(case: Case, folder: Path) -> None:
    """Hold that a file is read rightly, or refused with a sentence that cures it and shows no value."""
    path = case.make(folder)
    if case.asks is None:
        holds(read(path, case.truth, case.said, case.begins), case.truth)
        return
    try:
        read(path, case.truth, case.said, case.begins)
    except sf.SfumatoError as error:
        said = str(error)
    else:
        raise AssertionError("the file was read without a question")
    assert re.search(case.asks, said), said
    assert not shown(case.truth, said), said
    if case.cure is not None:
        cured = {name: {**case.begins.get(name, {}), **case.of.get(name, {})} for name in case.truth}
        holds(read(path, case.truth, {**case.said, **case.cure}, cured), case.truth)


def read(
    path: Path, columns: Mapping[str, Any], said: Mapping[str, Any], of: Mapping[str, Mapping[str, Any]]
) -> sf.Table:
    """Read the columns of a case as quasi-identifying."""
    attributes = {name: sf.Attribute(**of.get(name, {})) for name in columns}
    return sf.read_table(path, sf.Schema(quasi_identifying=attributes, others="drop"), **said)


def holds(table: sf.Table, truth: Mapping[str, list[Any]]) -> None:
    """Hold that a table has the values of the truth, of their own types."""
    for name, values in truth.items():
        column = table.frame[name]
        text = column.cast(pl.String) if isinstance(column.dtype, pl.Categorical) else column
        assert text.to_list() == values, name
        assert [type(value) for value in text.to_list()] == [type(value) for value in values], name


def shown(truth: Mapping[str, list[Any]], said: str) -> list[Any]:
    """Return the values that a message shows; short ones may be there by chance."""
    return [value for values in truth.values() for value in values if len(str(value)) > 3 and str(value) in said]
