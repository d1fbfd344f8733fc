"""The intersection attack on sensitive values, where people come, stay, leave and come back.

Letters: n people, c classes of a release, v sensitive values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError
from sfumato.policy.policy import Policy
from sfumato.release.description import build_model
from sfumato.series.attacked import Played, SeriesAttacks, form_of, read_people, trees_of
from sfumato.series.covering import covering
from sfumato.series.labels import Labelled, kinds_of, values_of
from sfumato.series.reading import ReadRelease
from sfumato.table.person_keys import keys_of_tables
from sfumato.table.schema import text_of

Marks = NDArray[np.bool_]

KEY = " key"
"""A name that no column of a table has, as blanks around names are dropped."""

ATTACK = "intersection of the sensitive values of all releases that somebody is in"


def attack_present(
    releases: Sequence[Path],
    originals: Sequence[Path],
    key: str,
    reading: Policy | None = None,
    *,
    key_form: str | None = None,
) -> SeriesAttacks:
    """Play the intersection of sensitive values on releases of whoever was there at the time.

    Parameters
    ----------
    releases
        Folders, the oldest first; at least two, each with one sensitive column.
    originals
        For each release the table of everybody who is in it.
    key
        The column of these tables that says who a record is about.
    reading
        How to read these tables; None: as files of commas in UTF-8.
    key_form
        Which spellings of a key are one person's; None: as `reading` says.

    Raises
    ------
    InputError
        When tables and releases do not fit each other, somebody is in a table twice, or keys may be other spellings.
    VerificationError
        When a release cannot be read.
    PolicyError
        When a release promises no number of different values, or has several sensitive columns.

    Notes
    -----
    The attacker knows the quasi-identifying values of one person, and in which releases the person is. In each of
    these the sensitive value is one of those of the classes that cover the person, counterfeits among them; it is one
    that all of them have. The attack falls short of somebody who knows everybody's values and so everybody's class.
    Cost O(n · c · v) for each release.
    """
    if len(releases) < 2:
        raise InputError("an attack on a series needs two releases or more")
    if len(originals) != len(releases):
        raise InputError("--original: with --key, give for each release the table of everybody who is in it")
    read = [ReadRelease.of(path) for path in releases]
    promised = min(map(_promised_values, read))
    people = people_of(originals, read, key, reading, key_form)
    left, alone, times = _left(read, people, reading)
    again = left[times > 1]
    played = Played(ATTACK, 0)
    if len(again):
        below, one = int((again < promised).sum()), int((again <= 1).sum())
        played = Played(ATTACK, len(again), None, int(again.min()), below, one)
    return SeriesAttacks(len(read), promised, alone, (played,), "value")


def _promised_values(release: ReadRelease) -> int:
    """Return how many different sensitive values every class has, as the models promise it."""
    if len(release.published.sensitive) != 1:
        raise PolicyError(f"{release.path.name}: has not one sensitive column; without --key, attacks count rows")
    models = [model for entry in release.description.models if (model := build_model(entry)) is not None]
    told = [math.ceil(model.parameters()["l"]) for model in models if "l" in model.parameters()]
    if not told:
        raise PolicyError(
            f"{release.path.name}: promises no number of different sensitive values; without --key, attacks count rows"
        )
    return int(max(told))


def people_of(
    originals: Sequence[Path], read: Sequence[ReadRelease], key: str, reading: Policy | None, key_form: str | None
) -> list[pl.DataFrame]:
    """Read keys and quasi-identifying values of each release as text; the key comes first, in a column :data:`KEY`.

    Raises
    ------
    InputError
        When the key is published, is missing, is there twice, or may be a spelling of another.
    """
    shown = [Labelled.read(each).labels.columns for each in read]
    if any(key in names for names in shown):
        raise InputError(f"--key: {key!r} is published; name the identifying column of the original tables")
    tables = [read_people(path, names, reading, key) for path, names in zip(originals, shown, strict=True)]
    keys = keys_of_tables([table[key] for table in tables], form_of(reading, key_form), key)
    for path, own in zip(originals, keys, strict=True):
        if own.null_count() or own.n_unique() < len(own):
            raise InputError(f"{path.name}: somebody has no key in column {key!r}, or is there twice")
    return [
        pl.DataFrame([own.alias(KEY), *(text_of(table[name]).alias(name) for name in names)])
        for own, table, names in zip(keys, tables, shown, strict=True)
    ]


def _left(
    releases: Sequence[ReadRelease], people: Sequence[pl.DataFrame], reading: Policy | None
) -> tuple[NDArray[np.int64], tuple[int, ...], NDArray[np.int64]]:
    """Return how many values are left to each person, the fewest that each release leaves, and each person's times."""
    labelled = [Labelled.read(each) for each in releases]
    kinds = kinds_of([each.labels.select(people[0].columns[1:]) for each in labelled])
    sensitive = [
        each.others.select(release.published.sensitive) for each, release in zip(labelled, releases, strict=True)
    ]
    values = values_of(sensitive)
    width = 1 + max(int(each.max(initial=-1)) for each in values)
    everybody = pl.concat([each[KEY] for each in people]).unique(maintain_order=True)
    place = pl.DataFrame({KEY: everybody}).with_row_index("place")
    left = np.ones((len(everybody), width), dtype=np.bool_)
    times, alone = np.zeros(len(everybody), dtype=np.int64), []
    for each, value_of, there in zip(labelled, values, people, strict=True):
        own = np.zeros((each.labels.height, width), dtype=np.bool_)
        own[each.class_of, value_of] = True
        covers = covering(each.labels, there.drop(KEY), kinds, trees_of(reading, there))
        found = covers.values(own)
        if not found.any(axis=1).all():
            raise InputError("--original: somebody is covered by no class of a release; give everybody as published")
        rows = there.join(place, on=KEY, how="left", maintain_order="left")["place"].to_numpy()
        left[rows] &= found
        times[rows] += 1
        alone.append(int(found.sum(axis=1).min()))
    return left.sum(axis=1), tuple(alone), times
