"""Recounting releases of ratings; nothing here knows how they are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.errors import InputError, VerificationError, raise_all
from sfumato.models.checks import Check, Outcome, promise_words
from sfumato.models.k_epsilon_l_anonymity import RatingAnonymity
from sfumato.numbers import counted
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.ratings.check import check_ratings
from sfumato.published.checks.ratings.measures import vectors_of
from sfumato.published.checks.ratings.satisfaction import Satisfaction
from sfumato.published.checks.rows import suppression_check
from sfumato.published.roles import Roles
from sfumato.release.agreement import Difference, known_own_model, limit_differences, model_differences, policy_checks
from sfumato.release.description import TableFacts, build_own_model
from sfumato.release.policy_text import PublishedPolicy
from sfumato.release.ratings.release import MOST_SILENT, RatingDescription, RatingRelease, read_rating_description
from sfumato.release.table_files import has_rows, integrity
from sfumato.release.text_files import text_checks
from sfumato.table.csv_format import CsvFormat
from sfumato.table.ratings.ratings import Ratings
from sfumato.table.ratings.reading import read_ratings
from sfumato.table.reading import read_written
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.sources import open_source

COLUMNS = ("record", "issue", "rating")
TIME = "time"


def verify_ratings(release: RatingRelease) -> Verification:
    """Decide anew on a release in memory."""
    return rating_verification(release.ratings, [decided(check_ratings(release.ratings, release.model))])


def verify_rating_folder(folder: Path, text: str) -> Verification:
    """Decide every promise of a release folder from its published ratings; `text` is its ``release.json``.

    Raises
    ------
    VerificationError
        When the folder is damaged so that nothing can be decided.
    SfumatoError
        When its file cannot be read as ratings.
    """
    description, facts = read_rating_description(text)
    path = folder / facts.file
    if not path.is_file():
        raise VerificationError(f"{folder}: the data file {path.name} that release.json names is missing")
    frame = _read(path, facts)
    ratings = _published(frame, description)
    built = [(str(entry["name"]), build_own_model(RatingAnonymity, entry)) for entry in description.models]
    counted = [decided(check_ratings(ratings, model)) for _, model in built if model is not None]
    unknown = [
        Check(f"model {name}", Outcome.UNDECIDABLE, detail="this version does not know the model")
        for name, model in built
        if model is None
    ]
    first = integrity(path, facts, frame)
    agreement = policy_checks(PublishedPolicy.of_folder(folder), partial(rating_differences, description=description))
    verification, limit = rating_verification(ratings, counted), description.suppression_limit
    files = text_checks(folder, text, [facts.file], limit, verification, unknown=len(unknown))
    checks = (first, *counted, *unknown, *agreement, *files, suppression_check(limit))
    return replace(verification, checks=checks)


def rating_verification(ratings: Ratings, checks: list[Check]) -> Verification:
    """Put together what became of every promise; of issues that nobody has a published rating of nothing is said."""
    vectors = vectors_of(ratings)
    hidden = np.array(ratings.names, dtype=object)[(ratings.raters > 0) & ratings.sensitive]
    roles = Roles(sensitive=tuple(hidden.tolist()))
    return Verification(tuple(checks), ratings.height, len(np.unique(vectors.mask_of)), "issue set", roles)


def decided(answer: Satisfaction) -> Check:
    """Say what became of the promise, and what a reader must know to tell what it is worth."""
    ratings = answer.question.ratings
    rated = ratings.raters > 0
    hidden = int(np.count_nonzero(rated & ratings.sensitive))
    told = [f"{hidden} of {counted(int(np.count_nonzero(rated)), 'issue')} sensitive", *answer.notes()]
    if not answer.holds:
        failing = answer.records - answer.satisfied
        told.insert(0, f"it fails around {failing:,} of {counted(answer.records, 'record')}")
    outcome = Outcome.HOLDS if answer.holds else Outcome.BROKEN
    return Check(promise_words(answer.model), outcome, detail="; ".join(told))


def _read(path: Path, facts: TableFacts) -> pl.DataFrame:
    """Read the file: ratings as numbers, everything else as text."""
    names = open_source(path, CsvFormat(strip=False)).names
    if sorted(names) != sorted(facts.columns) or sorted(set(names) - {TIME}) != sorted(COLUMNS):
        raise InputError(f"{path.name}: has other columns than release.json says; it was changed")
    text, number = Attribute(kind=Kind.CATEGORICAL), Attribute(kind=Kind.NUMERIC)
    schema = Schema(quasi_identifying={name: number if name == "rating" else text for name in names})
    return read_written(path, schema).frame if has_rows(path) else _nothing(names)


def _nothing(names: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame({name: pl.Series([], dtype=pl.Float64 if name == "rating" else pl.String) for name in names})


def _published(frame: pl.DataFrame, description: RatingDescription) -> Ratings:
    """Return what is published, with the records that have no rating."""
    scale, count = description.scale, description.records
    if not frame.height:
        raise_all(VerificationError, _count_problems(0, description))
        starts, nothing = np.zeros(count + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
        return Ratings(starts, nothing, np.empty(0, dtype=np.uint8), (), np.empty(0, dtype=np.bool_), scale)
    ratings = read_ratings(frame, user="record", issue="issue", rating="rating", scale=scale)
    raise_all(VerificationError, _count_problems(ratings.height, description))
    strangers = set(description.sensitive).difference(ratings.names)
    if strangers:
        raise VerificationError(f"release.json: names {counted(len(strangers), 'sensitive issue')} that nobody rated")
    silent = np.full(count - ratings.height, ratings.starts[-1], dtype=np.int64)
    hidden = set(description.sensitive)
    sensitive = np.array([name in hidden for name in ratings.names], dtype=np.bool_)
    return replace(ratings, starts=np.concatenate([ratings.starts, silent]), sensitive=sensitive)


def _count_problems(found: int, description: RatingDescription) -> list[str]:
    if found > description.records:
        return ["release.json: counts fewer records than there are; it was changed"]
    if description.records - found > MOST_SILENT:
        return ["release.json: counts more records without ratings than can be believed; it was changed"]
    return []


def rating_differences(content: Mapping[str, Any], description: RatingDescription) -> Iterator[Difference]:
    """Compare the policy of ratings with their description; which issues are sensitive only the latter says."""
    yield from model_differences(
        [known_own_model(RatingAnonymity, {"name": RatingAnonymity.name, **content["model"]})],
        (known_own_model(RatingAnonymity, entry) for entry in description.models),
    )
    yield from limit_differences(content, description.suppression_limit)
