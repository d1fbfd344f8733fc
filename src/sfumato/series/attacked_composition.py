"""The composition attack: two or more releases of people who are in several, made without regard to each other.

Letters: n people, c classes of a release, v sensitive values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError
from sfumato.policy.policy import Policy
from sfumato.release.description import build_model
from sfumato.series.attacked import (
    COMPOSITION,
    ONE_SERIES,
    TRACING,
    Played,
    SeriesAttacks,
    form_of,
    of_one_series,
    read_people,
    trees_of,
)
from sfumato.series.covering import covering
from sfumato.series.labels import Labelled, kinds_of, values_of
from sfumato.series.reading import ReadRelease
from sfumato.table.person_keys import PersonKey, key_columns, key_in, keys_of_tables, named_key
from sfumato.table.schema import text_of

# The intersection attack on sensitive values, where people come, stay, leave and come back.
#
# Letters: n people, c classes of a release, v sensitive values.


KEY = " key"
"""A name that no column of a table has, as blanks around names are dropped."""

ATTACK = "intersection of the sensitive values of all releases that somebody is in"


def attack_present(
    releases: Sequence[Path],
    originals: Sequence[Path],
    key: PersonKey,
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
    originals: Sequence[Path], read: Sequence[ReadRelease], key: PersonKey, reading: Policy | None, key_form: str | None
) -> list[pl.DataFrame]:
    """Read keys and quasi-identifying values of each release as text; the key comes first, in a column :data:`KEY`.

    Raises
    ------
    InputError
        When the key is published, is missing, is there twice, or may be a spelling of another.
    """
    shown = [Labelled.read(each).labels.columns for each in read]
    columns = key_columns(key)
    if published := [name for name in columns if any(name in names for names in shown)]:
        raise InputError(f"--key: {published[0]!r} is published; name the identifying column of the original tables")
    tables = [read_people(path, names, reading, key) for path, names in zip(originals, shown, strict=True)]
    keys = keys_of_tables([key_in(table, columns) for table in tables], form_of(reading, key_form), key)
    for path, own in zip(originals, keys, strict=True):
        if own.null_count() or own.n_unique() < len(own):
            raise InputError(f"{path.name}: somebody has no key in {named_key(key)}, or is there twice")
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


Marks = NDArray[np.bool_]

PEOPLE_LEAVE = "with --key people may leave, and a row that is found no more need not be traced elsewhere"


def attack_with_keys(
    releases: Sequence[Path],
    originals: Sequence[Path],
    key: PersonKey,
    reading: Policy | None = None,
    *,
    key_form: str | None = None,
) -> SeriesAttacks:
    """Play what can be played where people are told apart by a key, and may leave.

    Parameters
    ----------
    releases, originals, key, reading, key_form
        As :func:`attack_present`; releases that are of no common series may have other columns.

    Raises
    ------
    InputError, VerificationError, PolicyError
        As of :func:`~sfumato.series.attacked_composition.attack_present`.
    """
    if of_one_series([ReadRelease.of(path) for path in releases]):
        found = attack_present(releases, originals, key, reading, key_form=key_form)
        unplayed = Played(TRACING, 0, unplayed=PEOPLE_LEAVE), Played(COMPOSITION, 0, unplayed=ONE_SERIES)
        return replace(found, played=(*found.played, *unplayed))
    return compose(releases, originals, key, reading, key_form=key_form)


def compose(
    releases: Sequence[Path],
    originals: Sequence[Path],
    key: PersonKey,
    reading: Policy | None = None,
    *,
    key_form: str | None = None,
) -> SeriesAttacks:
    """Intersect the sensitive values of the classes that somebody can be in, over releases made independently.

    Parameters
    ----------
    releases
        At least two folders of generalized tables. Quasi-identifying columns may differ; some sensitive column must be
        in all of them.
    originals
        For each release the table of everybody who is in it.
    key
        The column of these tables that says who a record is about.
    reading
        How to read these tables.
    key_form
        Which spellings of a key are one person's; None: as `reading` says.

    Returns
    -------
    SeriesAttacks
        `promised` is the smallest number of different values that the releases promise, and 2 where none promises any.
        People count whom no release alone leaves fewer than that. `by_one_release` counts those whom one does, and
        `by_chance` those who would be left fewer if everybody's class in the last release were that of the next person:
        a control, as an attacker who took somebody else's class would find no more than that.

    Notes
    -----
    The attacker knows the quasi-identifying values of one person, and in which releases the person is. Cost
    O(n · c · v) for each release.

    *Source.* S. R. Ganta, S. P. Kasiviswanathan, A. Smith, "Composition attacks and auxiliary information in data
    privacy", KDD 2008.
    """
    if len(releases) < 2:
        raise InputError("an attack on a series needs two releases or more")
    if len(originals) != len(releases):
        raise InputError("--original: with --key, give for each release the table of everybody who is in it")
    read = [ReadRelease.of(path) for path in releases]
    common = [name for name in read[0].published.sensitive if all(name in each.published.sensitive for each in read)]
    if not common:
        raise PolicyError("composition: no sensitive column is in all releases, so that there is nothing to intersect")
    people = people_of(originals, read, key, reading, key_form)
    found = _sets(read, people, common, reading)
    promised = min((_promised(each) for each in read), default=2)
    return _judged(found, [table[KEY] for table in people], promised)


def _promised(release: ReadRelease) -> int:
    models = [model for entry in release.description.models if (model := build_model(entry)) is not None]
    promised: list[int] = [math.ceil(model.parameters()["l"]) for model in models if "l" in model.parameters()]
    return max([2, *promised])


def _sets(
    read: Sequence[ReadRelease], people: Sequence[pl.DataFrame], common: list[str], reading: Policy | None
) -> list[Marks]:
    """Return which values are left to the people of each release by itself; bool (n, v) for each."""
    labelled = [Labelled.read(each) for each in read]
    values = values_of([each.others.select(common) for each in labelled])
    width = 1 + max(int(each.max(initial=-1)) for each in values)
    found = []
    for each, value_of, there in zip(labelled, values, people, strict=True):
        own = np.zeros((each.labels.height, width), dtype=np.bool_)
        own[each.class_of, value_of] = True
        # Each release is read by itself: another may publish the same column in another way.
        kinds, trees = kinds_of([each.labels]), trees_of(reading, there)
        found.append(covering(each.labels, there.drop(KEY), kinds, trees).values(own))
        if not found[-1].any(axis=1).all():
            raise InputError("--original: somebody is covered by no class of a release; give everybody as published")
    return found


def _judged(sets: Sequence[Marks], keys: Sequence[pl.Series], promised: int) -> SeriesAttacks:
    everybody = pl.concat(list(keys)).unique(maintain_order=True)
    place = pl.DataFrame({KEY: everybody}).with_row_index("place")
    rows = [
        pl.DataFrame({KEY: each}).join(place, on=KEY, how="left", maintain_order="left")["place"].to_numpy()
        for each in keys
    ]
    left = _intersected(sets, rows, len(everybody))
    shifted = _intersected([*sets[:-1], np.roll(sets[-1], 1, axis=0)], rows, len(everybody))
    times, fewest = np.zeros(len(everybody), dtype=np.int64), np.full(len(everybody), np.iinfo(np.int64).max)
    for each, there in zip(sets, rows, strict=True):
        times[there] += 1
        fewest[there] = np.minimum(fewest[there], each.sum(axis=1))
    several, kept = times > 1, fewest >= promised
    alone = tuple(int(each.sum(axis=1).min()) for each in sets)
    if not several.any():
        return SeriesAttacks(len(sets), promised, alone, (Played(COMPOSITION, 0),), "value")
    asked = several & kept
    below, one = (left < promised) & asked, (left <= 1) & asked
    chance = (shifted < promised) & (shifted > 0) & asked
    played = Played(
        COMPOSITION,
        int(several.sum()),
        None,
        int(left[several].min()),
        int(below.sum()),
        int(one.sum()),
        by_one_release=int((several & ~kept).sum()),
        by_chance=int(chance.sum()),
    )
    return SeriesAttacks(len(sets), promised, alone, (played,), "value")


def _intersected(sets: Sequence[Marks], rows: Sequence[NDArray[np.integer]], count: int) -> NDArray[np.int64]:
    left = np.ones((count, sets[0].shape[1]), dtype=np.bool_)
    for each, there in zip(sets, rows, strict=True):
        left[there] &= each
    return np.asarray(left.sum(axis=1), dtype=np.int64)
