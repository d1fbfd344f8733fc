"""The monthly study: twelve releases that know nothing of each other, and series that withstand each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.errors import InputError
from sfumato.models import DistinctLDiversity, KAnonymity, ProbabilisticLDiversity
from sfumato.models.protocol import PrivacyModel
from sfumato.papers.hospital import HOSPITAL_SCHEMA
from sfumato.progress import Progress, silent
from sfumato.release.anonymize import anonymize
from sfumato.series.attacks import SeriesAttacks, attack_present, attack_releases
from sfumato.series.ledger import ledger_kept
from sfumato.series.people import tags_of
from sfumato.series.reading import ReadRelease
from sfumato.series.series import Series
from sfumato.table.reading import read_table
from sfumato.table.schema import Schema
from sfumato.whole_files import write_whole

MONTHS, K, M = 12, 5, 3
"""Releases, the smallest class, and the different diseases of a class where people also leave."""

FEWEST = 300
"""Patients from whom on every month brings enough for classes of their own."""

_LEAVING = 0.1
"""Share of the patients who leave each month, where people leave; half as many of those away come back."""

_MOST_COUNTERFEITS = 0.5
"""Invented rows that are allowed: hospitals this small have rare diseases for which nobody comes."""

_SCHEMA = Schema(
    identifying=HOSPITAL_SCHEMA.identifying,
    quasi_identifying={
        name: replace(HOSPITAL_SCHEMA.quasi_identifying[name], hierarchy=None) for name in ("age", "sex", "zip")
    },
    sensitive=HOSPITAL_SCHEMA.sensitive,
    others="drop",
    # Growing knows no hierarchies, and in a small hospital most patients have a zip code of their own.
    publish=("zip",),
)
"""Roles in every release."""

_KEEP_K: tuple[PrivacyModel, ...] = (KAnonymity(K),)
_KEEP_M: tuple[PrivacyModel, ...] = (KAnonymity(M), DistinctLDiversity(M), ProbabilisticLDiversity(M))


@dataclass(frozen=True)
class MonthlyStudy:
    """What an attacker learns from twelve monthly releases of the same people."""

    patients: int
    # `separate`, `appended`, `grown`: of people who come and stay: releases that know nothing of each other, and two
    # series
    separate: SeriesAttacks
    appended: SeriesAttacks
    grown: SeriesAttacks
    # `separate_again`, `invariant`: of people who come, leave and come back: sensitive values, in separate releases and
    # in a series of m-invariance
    separate_again: SeriesAttacks
    invariant: SeriesAttacks
    counterfeits: float  # invented rows of that series, as a mean share of the rows of a release


def monthly_study(
    patients: pl.DataFrame, folder: Path, *, seed: int | None = None, progress: Progress = silent
) -> MonthlyStudy:
    """Publish a hospital's patients twelve times in five ways, and attack what was published.

    The attacker knows age, sex and zip of one person, and with which release the person came, or in which ones the
    person is. The folder gets tables, releases and series.
    """
    if patients.height < FEWEST:
        raise InputError(f"patients: must be a whole number from {FEWEST} on, so that each month brings enough people")
    ends = np.linspace(0, patients.height, MONTHS + 1).astype(np.int64)
    batches = [patients[int(start) : int(end)] for start, end in pairwise(ends)]
    newcomers = _write(batches, folder / "newcomers")
    so_far = [patients[: int(end)] for end in ends[1:]]
    study = _Publisher(folder, seed, progress)
    separate = study.separately("separate", so_far, _KEEP_K)
    append, grow = (study.series(way, batches) for way in ("append", "grow"))
    moving = list(_coming_and_going(patients, seed))
    present = _write(moving, folder / "present")
    again, invariant = study.separately("separate-again", moving, _KEEP_M), study.invariant(moving)
    appended, grown = (attack_releases(each.releases, study.came(each, patients)) for each in (append, grow))
    again_attacked, invariant_attacked = (attack_present(each, present, _KEY) for each in (again, invariant.releases))
    return MonthlyStudy(
        patients.height,
        attack_releases(separate, newcomers),
        appended,
        grown,
        again_attacked,
        invariant_attacked,
        _counterfeits(invariant, moving),
    )


_KEY = _SCHEMA.identifying[0]


@dataclass(frozen=True)
class _Publisher:
    """Publishes months into folders, and tells how far it is."""

    folder: Path
    seed: int | None
    progress: Progress

    def separately(self, name: str, months: Sequence[pl.DataFrame], models: Sequence[PrivacyModel]) -> list[Path]:
        """Publish each month by itself."""
        paths = [self.folder / name / _number(number) for number in range(1, len(months) + 1)]
        paths[0].parent.mkdir()
        for number, (path, month) in enumerate(zip(paths, months, strict=True)):
            self.progress(f"publishing: {name}", number, MONTHS)
            anonymize(read_table(month, _SCHEMA), models, seed=self.seed).save(path)
        return paths

    def series(self, way: str, batches: Sequence[pl.DataFrame]) -> Series:
        """Publish newcomers month by month in a series."""
        made = Series.start(self.folder / way, _SCHEMA, _KEEP_K, table=batches[0], way=way, seed=self.seed)
        for number, batch in enumerate(batches[1:], 1):
            self.progress(f"publishing: {way}", number, MONTHS)
            (made.append if way == "append" else made.grow)(batch, seed=self.seed)
        return made

    def invariant(self, months: Sequence[pl.DataFrame]) -> Series:
        """Publish whoever is in, month by month, in a series of m-invariance."""
        way = "m-invariance"
        made = Series.start(self.folder / way, _SCHEMA, _KEEP_M, table=months[0], way=way, seed=self.seed)
        for number, month in enumerate(months[1:], 1):
            self.progress(f"publishing: {way}", number, MONTHS)
            made.republish(month, most_counterfeits=_MOST_COUNTERFEITS, seed=self.seed)
        return made

    def came(self, series: Series, patients: pl.DataFrame) -> list[Path]:
        """Write who came with each release: by the ledger, as some may have waited."""
        ledger = ledger_kept(series)
        tags, known, found = tags_of(patients[_KEY], ledger.key), set[bytes](), list[pl.DataFrame]()
        for there in ledger.people():
            now = set(there.tags.to_list())
            found.append(patients.filter(tags.is_in(list(now - known))))
            known |= now
        return _write(found, self.folder / f"{series.folder.name}-came")


def _counterfeits(series: Series, months: Sequence[pl.DataFrame]) -> float:
    """Return the mean share of rows that are of nobody."""
    rows = [ReadRelease.of(each).published.data.height for each in series.releases]
    return float(np.mean([1 - month.height / count for month, count in zip(months, rows, strict=True)]))


def _number(number: int) -> str:
    return f"{number:04}"


def _write(months: Sequence[pl.DataFrame], folder: Path) -> list[Path]:
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{_number(number)}.csv" for number in range(1, len(months) + 1)]
    for path, month in zip(paths, months, strict=True):
        write_whole(path, month.write_csv())
    return paths


def _coming_and_going(patients: pl.DataFrame, seed: int | None) -> Iterator[pl.DataFrame]:
    """Let half of the patients be there at first; then some leave each month, others come, and some come back."""
    draw = np.random.default_rng(seed)
    half = patients.height // 2
    inside, away = np.arange(half), np.empty(0, dtype=np.int64)
    coming = np.array_split(np.arange(half, patients.height), MONTHS - 1)
    yield patients[inside]
    for newcomers in coming:
        gone = draw.choice(inside, int(_LEAVING * len(inside)), replace=False)
        back = draw.choice(away, len(away) // 2, replace=False)
        inside = np.sort(np.concatenate([np.setdiff1d(inside, gone), newcomers, back]))
        away = np.concatenate([np.setdiff1d(away, back), gone])
        yield patients[inside]
