"""Recounting releases of sets; nothing here knows how they are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import InputError, VerificationError, raise_all
from sfumato.models.checks import Check, Outcome
from sfumato.models.km_anonymity import KmAnonymity
from sfumato.progress import thread_count
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.rows import suppression_check
from sfumato.published.checks.sets.check import set_verification
from sfumato.published.roles import named
from sfumato.published.sets import ITEM, RECORD, RECORDS, PublishedSets
from sfumato.published.sets import SETS as TABLE
from sfumato.release.agreement import (
    Difference,
    known_own_model,
    limit_differences,
    model_differences,
    policy_checks,
    role_names,
)
from sfumato.release.description import TableFacts, build_own_model
from sfumato.release.policy_text import PublishedPolicy
from sfumato.release.sets.release import MOST_EMPTY, SetDescription, SetRelease, read_set_description
from sfumato.release.table_files import has_rows, integrity, refuse_missing
from sfumato.release.text_files import text_checks
from sfumato.table.csv_format import CsvFormat
from sfumato.table.reading import read_written
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.sources import open_source


def verify_sets(release: SetRelease) -> Verification:
    """Recount a release in memory anew."""
    return set_verification(release.published, [release.model], thread_count(None))


def verify_set_folder(folder: Path, text: str) -> Verification:
    """Recount every promise of a release folder from its published tables; `text` is its ``release.json``.

    Raises
    ------
    VerificationError
        When the folder is damaged so that nothing can be counted.
    SfumatoError
        When a file cannot be read as a table.
    """
    description, facts = read_set_description(text)
    refuse_missing(folder, facts)
    tables = {name: _read(folder / entry.file, entry, _columns(name, description)) for name, entry in facts.items()}
    whole = tuple(integrity(folder / facts[name].file, facts[name], table) for name, table in tables.items())
    published = _published(tables, description)
    built = [(str(entry["name"]), build_own_model(KmAnonymity, entry)) for entry in description.models]
    models = [model for _, model in built if model is not None]
    verification = set_verification(published, models, thread_count(None))
    unknown = [
        Check(f"model {name}", Outcome.UNDECIDABLE, detail="this version does not know the model")
        for name, model in built
        if model is None
    ]
    agreement = policy_checks(PublishedPolicy.of_folder(folder), partial(set_differences, description=description))
    limit, names = description.suppression_limit, [entry.file for entry in facts.values()]
    files = text_checks(folder, text, names, limit, verification, unknown=len(unknown))
    checks = (*whole, *verification.checks, *unknown, *agreement, *files, suppression_check(limit))
    return replace(verification, checks=checks)


def _columns(table: str, description: SetDescription) -> tuple[str, ...]:
    return (RECORD, ITEM) if table == TABLE else (RECORD, *description.quasi_identifying)


def _read(path: Path, facts: TableFacts, expected: tuple[str, ...]) -> pl.DataFrame:
    """Read a table: records as numbers, everything else as text."""
    names = open_source(path, CsvFormat(strip=False)).names
    if sorted(names) != sorted(facts.columns) or sorted(names) != sorted(expected):
        raise InputError(f"{path.name}: has other columns than release.json says; it was changed")
    text, number = Attribute(kind=Kind.CATEGORICAL), Attribute(kind=Kind.NUMERIC)
    if not facts.rows and not has_rows(path):
        return pl.DataFrame({name: pl.Series([], dtype=pl.Int64 if name == RECORD else pl.String) for name in names})
    schema = Schema(quasi_identifying={name: number if name == RECORD else text for name in names})
    frame = read_written(path, schema).frame
    if frame.schema[RECORD] != pl.Int64 or frame[RECORD].null_count():
        raise InputError(f"{path.name}: numbers of records are no whole numbers; it was changed")
    return frame.select(names)


def _published(tables: Mapping[str, pl.DataFrame], description: SetDescription) -> PublishedSets:
    held = tables[TABLE]
    problems = []
    if RECORDS not in tables and description.records - held.height > MOST_EMPTY:
        problems.append("release.json: counts more empty sets than can be believed; it was changed")
    if RECORDS in tables and tables[RECORDS].height != description.records:
        problems.append("release.json: counts other records than there are; it was changed")
    raise_all(VerificationError, problems)
    beside = {name: table.with_columns(pl.exclude(RECORD).cast(pl.String)) for name, table in tables.items()}
    return PublishedSets.assemble({**beside, TABLE: held}, description.structure)


def set_differences(content: Mapping[str, Any], description: SetDescription) -> Iterator[Difference]:
    """Compare the policy of sets with their description: what is promised, and which columns stand beside the sets."""
    yield from model_differences(
        [known_own_model(KmAnonymity, {"name": KmAnonymity.name, **content["model"]})],
        (known_own_model(KmAnonymity, entry) for entry in description.models),
    )
    said = role_names(content.get("columns", {}).get("quasi-identifying", []))
    if set(said) != set(description.quasi_identifying):
        told = named(description.quasi_identifying) or "none"
        yield Difference("quasi-identifying columns", named(said) or "none", told)
    yield from limit_differences(content, description.suppression_limit)
