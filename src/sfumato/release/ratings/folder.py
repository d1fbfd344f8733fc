"""Folders of anonymous ratings: written by the steward, and recounted by whoever receives one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.errors import InputError, PolicyError, VerificationError, raise_all
from sfumato.models.checks import Check, Outcome, promise_words
from sfumato.numbers import counted
from sfumato.policy.rating_policy import RatingPolicy
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.ratings.check import check_ratings
from sfumato.published.checks.ratings.satisfaction import Satisfaction
from sfumato.published.checks.ratings.vectors import vectors_of
from sfumato.published.checks.suppression import suppression_check
from sfumato.release.description import RATINGS, TableFacts
from sfumato.release.folder import MARK, whole_folder
from sfumato.release.ratings.description import (
    MOST_SILENT,
    TABLE,
    RatingDescription,
    build_rating_model,
    describe_rating_model,
    read_rating_description,
)
from sfumato.release.ratings.release import RatingRelease
from sfumato.release.report_kinds import KindReport
from sfumato.release.table_files import integrity
from sfumato.table.csv_format import CsvFormat
from sfumato.table.ratings.ratings import Ratings
from sfumato.table.ratings.reading import read_ratings
from sfumato.table.reading import open_source, read_table
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.writing import Format, write_data

COLUMNS = ("record", "issue", "rating")
TIME = "time"

LIMITS = (
    "An attacker who knows ratings more exactly than within epsilon, or ratings of sensitive issues, may find fewer "
    "records.",
    "Which issues are published around a record is what everybody around it rated.",
)
"""What such a release does not hide."""


def save_ratings(
    release: RatingRelease,
    folder: str | Path,
    *,
    policy: RatingPolicy | None = None,
    format: Format = "csv",
    overwrite: bool = False,
) -> Path:
    """Write a release folder of anonymous ratings, which :func:`sfumato.verify` recounts.

    It holds the ratings, ``release.json``, ``report.json``, ``report.txt`` and, where there is a policy,
    ``policy.toml``; nothing of it is for the steward alone. The folder appears whole or not at all.

    Parameters
    ----------
    release
        As :func:`sfumato.anonymize_ratings` returns it: decided before it is written.
    folder
        Where to; its parent must exist.
    policy
        What the release was made from. Without one, the suppression limit is the share of records that was left out.
    format
        Of the file that holds the ratings.
    overwrite
        Replace a release that is already there. Anything else is never replaced.

    Returns
    -------
    pathlib.Path
        The folder.

    Raises
    ------
    InputError
        When the folder cannot be written there.
    PolicyError
        When this is no release of ratings, the policy promises something else, or the format is unknown.
    """
    raise_all(PolicyError, _problems(release, policy, format))
    target, report = Path(folder), rating_report(release, policy).for_release()
    frame = release.to_frame()
    with whole_folder(target, overwrite=overwrite) as part:
        file = part / f"{TABLE}.{format}"
        facts = TableFacts(file.name, write_data(frame, file, format), frame.height, tuple(frame.columns))
        _write(part / MARK, _json(_description(release, report.suppression_limit).to_dict(facts)))
        _write(part / "report.json", _json(report.to_dict()))
        _write(part / "report.txt", f"{report}\n")
        if policy is not None:
            _write(part / "policy.toml", policy.published())
    return target


def rating_report(release: RatingRelease, policy: RatingPolicy | None = None) -> KindReport:
    """Return the report of a release of ratings, in the steward's edition."""
    loss, limit = release.loss, None if policy is None else policy.suppression_limit
    return KindReport(
        anonymizer=_way(release, policy),
        kind=RATINGS,
        original=loss.records,
        published=release.ratings.height,
        suppression_limit=loss.left_out / loss.records if limit is None else limit,
        verification=_verification(release.ratings, [_decided(release.satisfaction)]),
        limits=LIMITS,
        figures={
            "ratings": loss.ratings,
            "published_ratings": loss.published,
            "changed": loss.changed,
            "removed": loss.removed,
            "invented": loss.invented,
            "charge": loss.charge,
            "share_lost": loss.share,
        },
        notes=release.notes,
        purpose=None if policy is None else policy.purpose,
        recipient=None if policy is None else policy.recipient,
    )


def verify_ratings(release: RatingRelease) -> Verification:
    """Decide anew on a release in memory."""
    return _verification(release.ratings, [_decided(check_ratings(release.ratings, release.model))])


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
    checks = [
        Check(f"model {entry['name']}", Outcome.UNDECIDABLE, detail="this version does not know the model")
        if model is None
        else _decided(check_ratings(ratings, model))
        for entry, model in ((entry, build_rating_model(entry)) for entry in description.models)
    ]
    first = integrity(path, facts, frame)
    return _verification(ratings, [first, *checks, suppression_check(description.suppression_limit)])


def _way(release: RatingRelease, policy: RatingPolicy | None) -> str:
    options = {} if policy is None else policy.change.model_dump(exclude_none=True, exclude_defaults=True)
    told = [f"{name}={value}" for name, value in options.items() if name != "method"]
    return f"{release.method} ({', '.join(told)})" if told else release.method


def _description(release: RatingRelease, limit: float) -> RatingDescription:
    ratings = release.ratings
    # An issue without a published rating is not named: that it is there would tell that somebody had rated it.
    told = (ratings.raters > 0) & ratings.sensitive
    return RatingDescription(
        ratings.height,
        ratings.scale,
        tuple(np.array(ratings.names, dtype=object)[told].tolist()),
        (describe_rating_model(release.model),),
        limit,
    )


def _verification(ratings: Ratings, checks: list[Check]) -> Verification:
    vectors = vectors_of(ratings)
    return Verification(tuple(checks), ratings.height, len(np.unique(vectors.mask_of)), "issue set")


def _decided(answer: Satisfaction) -> Check:
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
    return read_table(path, schema, strip=False).frame if _has_lines(path) else _nothing(names)


def _has_lines(path: Path) -> bool:
    """Tell whether a file holds any rating: a table without records is refused wherever one is read."""
    if path.suffix == ".parquet":
        return int(pl.scan_parquet(path).select(pl.len()).collect().item()) > 0
    with path.open("rb") as file:
        file.readline()
        return bool(file.readline().strip())


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


def _problems(release: object, policy: object, format: object) -> list[str]:
    problems = []
    if not isinstance(release, RatingRelease):
        problems.append("release is no RatingRelease; make one with sfumato.anonymize_ratings(...)")
    if policy is not None and not isinstance(policy, RatingPolicy):
        problems.append("policy is no RatingPolicy; read one with sfumato.RatingPolicy.from_file(...)")
    if format not in ("csv", "parquet"):
        problems.append("format must be 'csv' or 'parquet'")
    if isinstance(release, RatingRelease) and isinstance(policy, RatingPolicy):
        problems += _broken_policy(release, policy)
    return problems


def _broken_policy(release: RatingRelease, policy: RatingPolicy) -> list[str]:
    problems = []
    if policy.to_model() != release.model:
        problems.append("the policy promises another model than holds for the release")
    if release.loss.left_out > policy.suppression_limit * release.loss.records + 1e-9:
        problems.append("more records were left out than the policy allows")
    return problems


def _json(content: dict[str, object]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
