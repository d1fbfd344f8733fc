"""Guess the seed of a shuffle: a random order protects nobody if its seed can be found by trying."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.evaluation.attacks.people import by_person
from sfumato.evaluation.attacks.placement import Placement, are_covered, place_people, require_generalized
from sfumato.evaluation.attacks.posterior import posteriors_of_target
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.slices import read_slice_rows, right_guesses, slicing_order, slicing_ranks
from sfumato.numbers import counted
from sfumato.options import Checked, Limit
from sfumato.published.sliced import SlicedTable
from sfumato.randomness import permutation
from sfumato.rates import Rate
from sfumato.table.schema import text_of

_GLANCE = 64
"""Published records that are checked first: most wrong orders fail on the first few."""


@dataclass(frozen=True)
class SeedGuessing(Checked):
    """The seed-guessing attack.

    The attacker knows the people in the order in which the steward's table lists them, say by name, and the program
    that shuffles. Every seed below `seeds` is tried, and no shuffle at all. If exactly one order puts every published
    record beside a person whom it covers, each person's record is known.

    Parameters
    ----------
    seeds
        Number of seeds that are tried, from 0 on.

    Raises
    ------
    PolicyError
        When `seeds` is not a whole number of at least 1.

    Notes
    -----
    In a sliced table the permutations of the columns are tried. For them, people are in an order that follows from
    their known values, not in that of the steward's table. They leave traces if somebody's known values of a column are
    unlike all others: such people of one bucket are in the order of the permutation. With the seed, their ranks show
    roughly where in the bucket they are in every other column, the sensitive one included.

    Equal records that two orders exchange do not distinguish the orders, so many orders fit a release of few classes.
    The attacker then falls back on what classes disclose.

    Of people with several records, the share of them whose value is told counts.

    *Cost.* O(n) for each seed.
    """

    name: ClassVar[str] = "seed-guessing"
    kinds: ClassVar[frozenset[str]] = frozenset({"generalized-table", "sliced-table"})
    needs: ClassVar[tuple[str, ...]] = ("sensitive",)
    reads_order: ClassVar[bool] = True

    seeds: Annotated[int, Limit(1)] = 1000

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute.

        Raises
        ------
        InputError
            When the release is neither a generalized nor a sliced table, holds more records than there are people, or
            shares no quasi-identifying attribute with them.
        """
        if isinstance(target.published, SlicedTable):
            return self._against_slices(target, target.published)
        published = require_generalized(target.published, self.name)
        placement = place_people(published, target.original.frame, target.original.schema, target.recoding)
        if placement.publication.records > target.original.height:
            raise InputError(
                "seed-guessing: the release has more records than the original; give the original it was made from"
            )
        found = [
            people for order in self._orders(target, placement) if (people := _aligned(placement, order)) is not None
        ]
        people = found[0] if len(found) == 1 else None
        return tuple(self._result(target, name, people, len(found)) for name in target.original.schema.sensitive)

    def _against_slices(self, target: Target, published: SlicedTable) -> tuple[AttackResult, ...]:
        original, order = target.original, slicing_order(target.original)
        slices = read_slice_rows(published, original)
        found: list[int] = []
        enough = published.data.height == len(order) and slices.pairs >= _FEWEST_PAIRS
        for seed in range(self.seeds if enough else 0):
            target.progress("seed-guessing: trying seeds", seed + 1, self.seeds)
            found += [seed] if slices.agree(partial(slicing_ranks, order, seed)) else []
        ranks = (
            [slicing_ranks(order, found[0], column) for column in range(slices.columns)] if len(found) == 1 else None
        )
        sure = slices.found()[0]
        notes = (
            f"played on {counted(len(sure), 'record')} whose known values of a column are unlike all others, so that "
            "their bucket is known",
            *(() if enough else ("too few of them, or of the records, are in the release to tell seeds apart",)),
        )
        owner = target.original.person_of[sure]
        results = []
        for name in published.sensitive:
            usual = right_guesses(published, original, slices, name, None)
            right = usual & False if ranks is None else right_guesses(published, original, slices, name, ranks)
            found_right, found_usual = (by_person(each.astype(np.float64), owner) for each in (right, usual))
            baseline = float(found_usual.mean()) if len(sure) else 0.0
            rate = Rate(float(found_right.sum()), len(found_right), baseline)
            figures = {"orders_tried": float(self.seeds if enough else 0), "orders_that_fit": float(len(found))}
            told = self._told(name, rate, figures, notes)
            results.append(told if enough else replace(told, unplayed=notes[-1]))
        return tuple(results)

    def _orders(self, target: Target, placement: Placement) -> Iterator[NDArray[np.int64]]:
        """Yield orders: for each published row, the place of its record in the steward's table."""
        records = placement.publication.records
        yield np.arange(records)
        for seed in range(self.seeds):
            target.progress("seed-guessing: trying seeds", seed + 1, self.seeds)
            yield permutation(records, seed)

    def _result(self, target: Target, name: str, people: NDArray[np.int64] | None, fitting: int) -> AttackResult:
        frame = target.original.frame
        right = np.zeros(frame.height)
        if people is not None:
            published = text_of(target.published.tables["data"][name])
            right[people] = published.eq_missing(text_of(frame[name])[people]).to_numpy()
        owned = by_person(right, target.original.person_of)
        rate = Rate(float(owned.sum()), len(owned), _order_by_classes(target, name))
        return self._told(name, rate, {"orders_tried": float(self.seeds + 1), "orders_that_fit": float(fitting)}, ())

    def _told(self, name: str, rate: Rate, figures: dict[str, float], notes: tuple[str, ...]) -> AttackResult:
        return AttackResult(
            self.name,
            "everybody's quasi-identifying values in the order of the steward's table, and the program that shuffles",
            f"whose {name} was told by the order of the release",
            rate,
            None,
            figures,
            notes,
            "no seed: then the order is drawn from the operating system, and no number of tries finds it",
        )


def _order_by_classes(target: Target, name: str) -> float:
    """Return the share of people whose value is the most frequent one of the records that fit them."""
    original = target.original
    right = np.zeros(original.height)
    for rows, known in posteriors_of_target(target, original, name):
        right[rows] = known.shares.argmax(axis=1) == known.codes_of(original.frame[name][rows])
    owned = by_person(right, original.person_of)
    return float(owned.sum()) / len(owned)


def _aligned(placement: Placement, order: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Pair each published row with its person under an order, int64 (m,); None if a row does not cover its person.

    If records were left out, people whom the next record does not cover are skipped, as many as are missing: an
    order in which all records find a place exists exactly if this finds one.

    order : int64 (m,), which of the published records, in the order of the steward's table, each row would be.
    """
    publication, told = placement.publication, placement.codes
    classes = np.empty(len(order), dtype=np.int32)
    classes[order] = publication.class_of
    person_of = np.empty(len(order), dtype=np.int64)
    spare, skipped, row, block = len(told) - len(order), 0, 0, _GLANCE
    while row < len(order):
        people = np.arange(row, min(row + block, len(order))) + skipped
        fitting = are_covered(publication, told[people], classes[row : row + len(people)])
        run = len(people) if fitting.all() else int(fitting.argmin())
        person_of[row : row + run] = people[:run]
        row, block = row + run, 2 * block
        if run < len(people):
            if skipped == spare:
                return None
            others = np.arange(row + skipped + 1, row + spare + 1)
            next_ones = np.flatnonzero(are_covered(publication, told[others], np.full(len(others), classes[row])))
            if not len(next_ones):
                return None
            skipped, block = skipped + 1 + int(next_ones[0]), _GLANCE
    return person_of[order]


_FEWEST_PAIRS = 20
"""Neighbouring sure people whose order a seed must explain: a wrong seed does so once in a million times."""
