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
    of_one_series,
    trees_of,
)
from sfumato.series.attacked_present import KEY, attack_present, people_of
from sfumato.series.covering import covering
from sfumato.series.labels import Labelled, kinds_of, values_of
from sfumato.series.reading import ReadRelease

Marks = NDArray[np.bool_]

PEOPLE_LEAVE = "with --key people may leave, and a row that is found no more need not be traced elsewhere"


def attack_with_keys(
    releases: Sequence[Path],
    originals: Sequence[Path],
    key: str,
    reading: Policy | None = None,
    *,
    key_form: str | None = None,
) -> SeriesAttacks:
    """Play what can be played where people are told apart by a key, and may leave.

    Parameters
    ----------
    releases, originals, key, reading, key_form
        As :func:`~sfumato.series.attacked_present.attack_present`; releases that are of no common series may have other
        columns.

    Raises
    ------
    InputError, VerificationError, PolicyError
        As of :func:`~sfumato.series.attacked_present.attack_present`.
    """
    if of_one_series([ReadRelease.of(path) for path in releases]):
        found = attack_present(releases, originals, key, reading, key_form=key_form)
        unplayed = Played(TRACING, 0, unplayed=PEOPLE_LEAVE), Played(COMPOSITION, 0, unplayed=ONE_SERIES)
        return replace(found, played=(*found.played, *unplayed))
    return compose(releases, originals, key, reading, key_form=key_form)


def compose(
    releases: Sequence[Path],
    originals: Sequence[Path],
    key: str,
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
