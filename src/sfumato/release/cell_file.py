"""Cells in another form beside the labels of a folder: written, recounted from the labels, and drawn ones alone."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import tomli_w
from numpy.typing import NDArray

from sfumato.errors import PolicyError, VerificationError
from sfumato.models.protocol import Check, Outcome
from sfumato.published import Published, RandomizedTable
from sfumato.published.checks.recount import recount
from sfumato.published.protocol import named
from sfumato.randomness import another, permutation
from sfumato.recoding.cells import CellColumn, Domain, filled_ends
from sfumato.recoding.notation import Cells
from sfumato.release.agreement import PublishedPolicy
from sfumato.release.description import CellFacts, TableFacts
from sfumato.release.formulas import cells_like_formulas
from sfumato.release.recipient import OpenRelease, open_published
from sfumato.release.release import Release
from sfumato.release.reports import KindReport
from sfumato.release.table_files import same_as_written, schema_of
from sfumato.release.verify import ReleaseFolder
from sfumato.table.reading import read_written
from sfumato.table.schema import Attribute, Kind, text_of
from sfumato.table.sources import open_source
from sfumato.table.sources.protocol import CsvFormat
from sfumato.table.writing import Format, sha256_of, write_data

_DRAWS = 77
"""Which further choice of a run the draws are; see :func:`sfumato.randomness.another`."""

ALONE = (
    "One value was drawn from each published cell. Nothing is promised of the drawn table, and nobody can recount "
    "from it how cells were made."
)


def cells_frame(opened: OpenRelease, form: Cells, seed: int | None) -> pl.DataFrame:
    """Return the published table with its quasi-identifying cells in a form that every file format holds."""
    frame = opened.to_polars(cells=form, seed=another(seed, _DRAWS))
    ranges = [column for column in frame if isinstance(column.dtype, pl.Struct)]
    return frame.with_columns(_as_text(column) for column in ranges)


def _as_text(column: pl.Series) -> pl.Series:
    """Write intervals as ``[low, high]``, null where one end is not known."""
    low, high = (text_of(column.struct.field(end)) for end in ("low", "high"))
    ends = pl.DataFrame({"low": low, "high": high})
    text = pl.concat_str(pl.lit("["), "low", pl.lit(", "), "high", pl.lit("]"))
    return ends.select(text.alias(column.name)).to_series()


def write_cells(
    release: Release,
    published: Published,
    folder: Path,
    format: Format,
    form: Cells,
    *,
    domain: Domain,
    formulas: str,
    seed: int | None,
) -> CellFacts:
    """Write the second file of a folder; see :meth:`Release.save` for what is raised."""
    opened = open_published(published, PublishedPolicy(release.policy), domain)
    frame = cells_frame(opened, form, seed)
    if format == "csv" and formulas != "keep":
        _refuse_formulas(frame, published)
    file = folder / f"data-{form}.{format}"
    facts = TableFacts(file.name, write_data(frame, file, format, release.codes), frame.height, tuple(frame.columns))
    return CellFacts(form, facts, {name: tuple(values) for name, values in domain.items()})


def policy_with_cells(policy: str, form: Cells, domain: Domain) -> str:
    """Return the published policy of a folder that has cells in another form."""
    return tomli_w.dumps(_naming(tomllib.loads(policy), form, domain))


def _naming(content: Mapping[str, Any], form: Cells, domain: Domain) -> dict[str, Any]:
    values = {"domain": {name: list(values) for name, values in domain.items()}} if domain else {}
    return {**content, "output": {**content.get("output", {}), "cells": form, **values}}


def _refuse_formulas(frame: pl.DataFrame, published: Published) -> None:
    """Refuse drawn members that begin like a formula: the label that they are drawn from does not, and stays."""
    if found := set(cells_like_formulas([frame])) - set(cells_like_formulas(published.tables.values())):
        raise PolicyError(f"cells: values drawn of {named(sorted(found))} begin like a formula; keep formulas")


# What a recipient recounts.


def cell_checks(folder: ReleaseFolder, published: Published) -> tuple[Check, ...]:
    """Recount the second file of a folder from its labels and the declared domain; nothing where there is none."""
    facts = folder.description.cells
    if facts is None:
        return ()
    path = folder.path / facts.file.file
    if not path.is_file():
        raise VerificationError(f"release.json: names {facts.file.file}, which is missing")
    opened = open_published(published, folder.policy, facts.domain)
    expected = cells_frame(opened, facts.form, 0)
    names = list(expected.columns)
    if sorted(open_source(path, CsvFormat(strip=False)).names) != sorted(names):
        raise VerificationError(f"{facts.file.file}: has other columns than its form says; it was changed")
    quasi = [column for column in opened.columns.values() if column.name in opened.quasi_identifying]
    written = _read(path, folder, expected, {column.name for column in quasi})
    shape = written.height, names
    first = same_as_written(f"{path.name} is the file that was written", sha256_of(path), facts.file, shape)
    if written.height != expected.height:
        return (replace(first, outcome=Outcome.BROKEN, detail="it has other rows than the labels"),)
    drawn = {column.name: column for column in quasi} if facts.form == "drawn" else {}
    wrong = [
        column.name
        for column in expected
        if not (
            _lies_inside(drawn[column.name], written[column.name], facts.domain.get(column.name))
            if column.name in drawn
            else _is_equal(column, written[column.name])
        )
    ]
    inside = "every value lies inside its cell; how it was drawn, nobody can recount"
    promise = f"{path.name}: {inside if facts.form == 'drawn' else 'every cell follows from its label'}"
    outcome, detail = (Outcome.BROKEN, f"not so in {named(wrong)}") if wrong else (Outcome.HOLDS, "")
    return first, Check(promise, outcome, detail=detail)


def _read(path: Path, folder: ReleaseFolder, expected: pl.DataFrame, quasi: set[str]) -> pl.DataFrame:
    """Read the file as numbers, dates and texts, as `expected` has them; other columns as those of the labels."""
    schema = schema_of(list(expected.columns), folder.description)
    entries = {
        name: Attribute(kind=_kind(expected[name])) if name in quasi or name not in folder.labels else entry
        for name, entry in schema.quasi_identifying.items()
    }
    return read_written(path, replace(schema, quasi_identifying=entries)).frame


def _kind(column: pl.Series) -> Kind:
    return Kind.NUMERIC if column.dtype.is_numeric() else Kind.DATE if column.dtype == pl.Date else Kind.CATEGORICAL


def _is_equal(expected: pl.Series, written: pl.Series) -> bool:
    if expected.dtype.is_numeric() and written.dtype.is_numeric():
        return bool(expected.cast(pl.Float64).eq_missing(written.cast(pl.Float64)).all())
    return bool(text_of(expected).eq_missing(text_of(written)).all())


def _lies_inside(column: CellColumn, written: pl.Series, values: Any) -> bool:
    """Tell whether each value lies inside its cell, and is missing where the cell says nothing or is missing."""
    if not column.is_number:
        return _is_member(column, written, values)
    low, high = (ends[column.label_of] for ends in filled_ends(column, values))
    known = np.isfinite(low) & np.isfinite(high)
    numbers = written.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()
    half_open = column.labels.str.ends_with(")").fill_null(False).to_numpy()[column.label_of]
    below = np.where(half_open & (low < high), numbers < high, numbers <= high)
    inside: NDArray[np.bool_] = np.where(known, (low <= numbers) & below, np.isnan(numbers))
    return bool(inside.all())


def _is_member(column: CellColumn, written: pl.Series, values: Any) -> bool:
    declared = None if values is None else frozenset(map(str, values))
    members = [declared if found is None else found for found in column.members]
    pairs = set(zip(column.label_of.tolist(), text_of(written).to_list(), strict=True))
    return all(value is None if (found := members[label]) is None else value in found for label, value in pairs)


# Drawn cells without labels.


def draw_release(release: Release, domain: Domain | None, seed: int | None) -> Release:
    """Make a release of one value drawn from each cell, without labels; see :meth:`Release.draw`."""
    policy = PublishedPolicy(release.policy)
    opened = open_published(release.published, policy, domain or {})
    if release.description.people is not None:
        raise PolicyError("cells: the promises are about people, whom drawn cells alone do not show; write labels, too")
    frame = cells_frame(opened, "drawn", seed)
    # The order of the labels is not kept: somebody may hold both.
    frame = frame[permutation(frame.height, another(seed, _DRAWS + 1))]
    names = opened.quasi_identifying, opened.sensitive
    published = RandomizedTable(frame, *names, classes=release.description.models)
    structure = published.structure
    description = replace(release.description, kind=published.kind, structure=structure, models=())
    verification = recount(published, [], description.attributes(), None, None)
    before = release.report
    report = KindReport(
        anonymizer=f"{before.anonymizer}, one value drawn from each cell",
        kind=published.kind,
        original=before.original,
        published=frame.height,
        suppression_limit=description.suppression_limit,
        verification=verification,
        limits=(ALONE, *published.limits),
        purpose=before.purpose,
        recipient=before.recipient,
        findings=before.findings,
    )
    return Release(
        published, report, description, _without_promises(policy.content, domain or {}), orders=release.orders
    )


def _without_promises(content: Mapping[str, Any], domain: Domain) -> str:
    """Return the published policy of drawn cells alone, which promise nothing."""
    kept = {name: part for name, part in content.items() if name not in ("models", "wishes", "withstand")}
    columns = {name: part for name, part in content["columns"].items() if name not in ("wished-k", "wished-l")}
    drawn = _naming({**kept, "columns": columns, "models": []}, "drawn", domain)
    drawn["output"]["labels"] = False
    return tomli_w.dumps(drawn)
