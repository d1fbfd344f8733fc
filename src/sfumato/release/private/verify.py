"""Recounting releases under differential privacy; nothing here knows how they are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.errors import InputError
from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.published.bucketized import COUNT
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.private.promises import private_verification
from sfumato.published.checks.private.sampling import sample_verification
from sfumato.published.private import NOISY, SYNTHETIC, PrivateMarginals
from sfumato.published.private_sample import SAMPLE, PrivateSample
from sfumato.published.roles import named
from sfumato.release.agreement import Difference, known_own_model, model_differences, policy_checks, role_names
from sfumato.release.description import TableFacts, describe_own_model
from sfumato.release.policy_text import PublishedPolicy
from sfumato.release.private.description import (
    PrivateDescription,
    SampleDescription,
    read_private_description,
    read_sample_description,
)
from sfumato.release.private.release import PrivateRelease, PrivateSampleRelease
from sfumato.release.table_files import has_rows, integrity, refuse_missing
from sfumato.release.text_files import text_checks
from sfumato.table.csv_format import CsvFormat
from sfumato.table.reading import read_written
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.sources import open_source


def verify_private(release: PrivateRelease) -> Verification:
    """Recount a release in memory anew."""
    return private_verification(release.published, release.budget, release.model, release.series)


def verify_private_folder(folder: Path, text: str) -> Verification:
    """Recount what can be recounted of a release folder; `text` is its ``release.json``.

    Raises
    ------
    VerificationError
        When the folder is damaged so that nothing can be counted.
    SfumatoError
        When a file cannot be read as a table.
    """
    description, facts = read_private_description(text)
    refuse_missing(folder, facts)
    columns = {name: _columns(name, description) for name in facts}
    tables = {
        name: read_texts(folder / entry.file, entry, columns[name], () if name == SYNTHETIC else (NOISY, COUNT))
        for name, entry in facts.items()
    }
    whole = tuple(integrity(folder / facts[name].file, facts[name], table) for name, table in tables.items())
    published = PrivateMarginals.assemble(tables, description.structure)
    verification = private_verification(published, description.budget, description.model, description.series)
    agreement = policy_checks(PublishedPolicy.of_folder(folder), partial(private_differences, description=description))
    files = text_checks(folder, text, [entry.file for entry in facts.values()], 0.0, verification)
    return replace(verification, checks=(*whole, *verification.checks, *agreement, *files))


def _columns(table: str, description: PrivateDescription) -> tuple[str, ...]:
    if table == SYNTHETIC:
        return tuple(description.domains)
    return (*description.sets[int(table.removeprefix("marginal_")) - 1], NOISY, COUNT)


def read_texts(path: Path, facts: TableFacts, expected: tuple[str, ...], numbers: tuple[str, ...] = ()) -> pl.DataFrame:
    """Read a table: some columns as numbers, everything else as text.

    Raises
    ------
    InputError
        When it has other columns than expected.
    """
    names = open_source(path, CsvFormat(strip=False)).names
    if sorted(names) != sorted(facts.columns) or sorted(names) != sorted(expected):
        raise InputError(f"{path.name}: has other columns than release.json says; it was changed")
    if not facts.rows and not has_rows(path):
        return pl.DataFrame({name: pl.Series([], dtype=pl.String) for name in names})
    text, number = Attribute(kind=Kind.CATEGORICAL), Attribute(kind=Kind.NUMERIC)
    kinds = {name: number if name in numbers else text for name in names}
    frame = read_written(path, Schema(quasi_identifying=kinds)).frame
    return frame.select(names)


def private_differences(content: Mapping[str, Any], description: PrivateDescription) -> Iterator[Difference]:
    """Compare the policy of a release under differential privacy with its description: promise, and what is counted."""
    yield from promise_differences(content, description)
    counting = content.get("counting", {})
    sets = counting.get("marginals")
    if sets is not None and {frozenset(names) for names in sets} != {frozenset(names) for names in description.sets}:
        yield Difference("marginals", f"{len(sets)} sets of columns", f"{len(description.sets)}, or others")
    if bool(counting.get("synthetic", False)) != description.synthetic:
        yield Difference(
            "synthetic records",
            *("some" if each else "none" for each in (counting.get("synthetic"), description.synthetic)),
        )


def promise_differences(
    content: Mapping[str, Any], description: PrivateDescription | SampleDescription
) -> Iterator[Difference]:
    """Compare the promise and the columns of releases under differential privacy."""
    yield from model_differences(
        [known_own_model(DifferentialPrivacy, {"name": DifferentialPrivacy.name, **content["model"]})],
        [describe_own_model(description.model)],
    )
    columns = content["columns"]
    for role, told in (("quasi-identifying", False), ("sensitive", True)):
        said = role_names(columns.get(role, []))
        found = [name for name in description.domains if (name in description.sensitive) is told]
        if not set(found) <= set(said):
            yield Difference(f"{role} columns", named(said) or "none", named(found))


# Recounting private samples; nothing here knows how they are made.


def verify_private_sample(release: PrivateSampleRelease) -> Verification:
    """Recount a release in memory anew."""
    return sample_verification(release.published, release.budget, release.model, release.series)


def verify_sample_folder(folder: Path, text: str) -> Verification:
    """Recount what can be recounted of a release folder; `text` is its ``release.json``.

    Raises
    ------
    VerificationError
        When the folder is damaged so that nothing can be counted.
    SfumatoError
        When the file cannot be read as a table.
    """
    description, facts = read_sample_description(text)
    refuse_missing(folder, {SAMPLE: facts})
    table = read_texts(folder / facts.file, facts, tuple(description.domains))
    published = PrivateSample.assemble({SAMPLE: table}, description.structure)
    verification = sample_verification(published, description.budget, description.model, description.series)
    agreement = policy_checks(PublishedPolicy.of_folder(folder), partial(sample_differences, description=description))
    files = text_checks(folder, text, [facts.file], 0.0, verification)
    whole = integrity(folder / facts.file, facts, table)
    return replace(verification, checks=(whole, *verification.checks, *agreement, *files))


def sample_differences(content: Mapping[str, Any], description: SampleDescription) -> Iterator[Difference]:
    """Compare the policy of a private sample with its description: promise, columns, and levels that are named."""
    yield from promise_differences(content, description)
    sampling = content.get("sampling", {})
    named_levels = sampling.get("levels", {})
    if any(description.levels.get(name) != level for name, level in named_levels.items()):
        yield Difference("levels", "some", "others")
    if (description.budget.scale is None) != set(description.levels).issubset(named_levels):
        yield Difference("search", *(("none", "one") if description.budget.scale is not None else ("one", "none")))
    share = sampling.get("share")
    if share is not None and description.budget.share > share:
        yield Difference("share of the records", "a smaller one", "a larger one")
