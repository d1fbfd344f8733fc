"""What all releases of a series together leave to people whose classes are known: the steward's recount."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts, counts_of, number_values
from sfumato.errors import PolicyError, raise_all
from sfumato.models.protocol import PrivacyModel
from sfumato.models.rule_traits import TRAITS
from sfumato.series.recount.pair import PairRecount, recount_pair
from sfumato.series.recount.released import Boxes, Places, Released, row_runs
from sfumato.table.encoding import EncodedAttribute

Numbers = NDArray[np.int64]

# What all releases tell together, where worlds of every step can follow each other.
#
# Worlds of each two releases need not fit each other: a row that went from class E to F, and on from F to G, needs
# values that all three labels cover. Here a step may take rows only from class to class as somebody really went, which
# is known to the steward. If then every *chain* of such steps has values in common, a world of one step can follow any
# world of the step before, and what is left by all releases together is what the steps leave. Whoever does not know who
# went where has more worlds, and is left no less.


Classes = NDArray[np.int32]
Pairs = tuple[Numbers, Numbers]


def history_steps(before: Classes, now: Classes) -> Pairs:
    """Return the pairs of classes in which somebody is; int64 (p,) twice, sorted by newer, then older class.

    before, now : int32 (n,), the class of each person in two releases, −1 for who is in none.
    """
    stays = (before >= 0) & (now >= 0)
    width = int(before.max(initial=0)) + 1
    newer, older = np.divmod(np.unique(now[stays].astype(np.int64) * width + before[stays]), width)
    return older, newer


@dataclass(frozen=True, eq=False, repr=False)
class Chains:
    """What the labels of all chains of steps to the classes of a release cover together.

    Letters: h chains; those that cover the same are one.

    Attributes
    ----------
    class_of : numpy.ndarray
        int64 (h,): the class in which each ends.
    boxes : Boxes
        What its labels have in common; not empty.
    """

    class_of: Numbers
    boxes: Boxes

    @classmethod
    def first(cls, release: Released) -> Chains:
        """Return the chains of a first release: its classes."""
        return cls(np.arange(release.boxes.count), release.boxes)

    def onward(self, steps: Pairs, newer: Boxes, newcomers: Numbers) -> tuple[Chains, NDArray[np.bool_]]:
        """Follow the chains into one more release; also tell of which steps some chain has nothing in common.

        Parameters
        ----------
        steps
            See :func:`history_steps`.
        newer
            The labels of the newer release.
        newcomers
            The classes of it in which somebody is who was in no release before.

        Returns
        -------
        (Chains, numpy.ndarray)
            The chains that have something in common, and bool (p,).
        """
        older, into = steps
        order = np.argsort(self.class_of, kind="stable")
        starts = np.searchsorted(self.class_of[order], older)
        ends = np.searchsorted(self.class_of[order], older, side="right")
        step, at = row_runs(starts, ends - starts)
        boxes, some = _in_common(self.boxes.take(order[at]), newer.take(into[step]))
        empty = np.zeros(len(older), dtype=np.bool_)
        empty[step[~some]] = True
        followed = into[step][some]
        # A class that is reached by a chain needs none of newcomers: theirs covers all of it.
        begun = np.setdiff1d(newcomers, followed)
        together = _together(boxes.take(np.flatnonzero(some)), newer.take(begun))
        return _different(np.append(followed, begun), together), empty


def chains_to(releases: Sequence[Released], classes: Classes) -> Chains:
    """Follow all chains to the last of some releases; chains that break are dropped.

    classes : int32 (n, releases)
    """
    return follow_chains(releases, classes)[0]


def follow_chains(releases: Sequence[Released], classes: Classes) -> tuple[Chains, NDArray[np.bool_]]:
    """Follow all chains to the last of some releases; also tell which of its steps have a chain that breaks."""
    now, empty = Chains.first(releases[0]), np.zeros(0, dtype=np.bool_)
    for number in range(1, len(releases)):
        steps = history_steps(classes[:, number - 1], classes[:, number])
        came = np.unique(classes[classes[:, number - 1] < 0, number])
        now, empty = now.onward(steps, releases[number].boxes, came[came >= 0].astype(np.int64))
    return now, empty


def join_releases(releases: Iterable[Released]) -> bool:
    """Tell whether the months of arrival tell nothing in any of some releases: all worlds of steps are counted then."""
    return all(
        not release.boxes.low[:, -1].any() and bool((release.boxes.high[:, -1] == number).all())
        for number, release in enumerate(releases)
    )


def _in_common(one: Boxes, other: Boxes) -> tuple[Boxes, NDArray[np.bool_]]:
    """Return what boxes have in common, one by one, and where that is anything; elsewhere the box is one of the two."""
    low, high = np.maximum(one.low, other.low), np.minimum(one.high, other.high)
    sets = {index: members & other.sets[index] for index, members in one.sets.items()}
    ranged = [index for index in range(one.width) if index not in sets]
    some = (low[:, ranged] <= high[:, ranged]).all(axis=1)
    for members in sets.values():
        some &= members.any(axis=1)
    kept = some[:, None]
    shown = {index: np.where(kept, members, one.sets[index]) for index, members in sets.items()}
    return Boxes(np.where(kept, low, one.low), np.where(kept, high, one.high), shown), some


def _together(one: Boxes, other: Boxes) -> Boxes:
    sets = {index: np.concatenate([members, other.sets[index]]) for index, members in one.sets.items()}
    return Boxes(np.concatenate([one.low, other.low]), np.concatenate([one.high, other.high]), sets)


def _different(class_of: Numbers, boxes: Boxes) -> Chains:
    """Keep one of the chains that end in one class and cover the same."""
    low, high = boxes.low.astype(np.float64), boxes.high.astype(np.float64)
    low[:, list(boxes.sets)] = high[:, list(boxes.sets)] = 0
    everything = np.column_stack([class_of, low, high, *boxes.sets.values()]).astype(np.float64)
    kept = np.sort(np.unique(everything, axis=0, return_index=True)[1])
    return Chains(class_of[kept].astype(np.int64), boxes.take(kept))


# Privacy models on the rows that several releases together leave.
#
# What remains of a class to an attacker is a list of rows, so many of each value: the most that can be the person's at
# once. It is no sample of anything, and values that remain more often are not for that more likely the person's. So
# only such models make sense on it as count the rows of one class among themselves:
#
# * k rows; l different values among them;
# * bounds on shares *of the rows that remain*: probabilistic, entropy and recursive l-diversity, (α, k)-anonymity,
#   guarded values. Whoever picks one of the rows that remain, blindly, is right no more often than they allow.
#
# Models that compare a class with the whole table (t-closeness, β-likeness, δ-disclosure) are refused: they speak of
# the distribution of a class, and what remains is none. So are models of people with several records: rows are counted
# here, and which of them are one person's is not known.


@dataclass(frozen=True, eq=False, repr=False)
class SensitiveValues:
    """What the numbers of values say of each sensitive attribute.

    Letters: v values (combinations of all that a row publishes beside its class), s sensitive attributes.

    Attributes
    ----------
    attributes : sequence of EncodedAttribute
    codes : numpy.ndarray
        Integers (v, s): code of each value in each attribute.
    """

    attributes: Sequence[EncodedAttribute]
    codes: NDArray[np.integer]


def check_models(models: Sequence[PrivacyModel], attributes: Sequence[str]) -> None:
    """Refuse models that mean nothing for the rows that several releases leave.

    Raises
    ------
    PolicyError
        With every such model and the reason.
    """
    problems = []
    for model in models:
        try:
            traits = [TRAITS[rule.code] for rule in model.rules(attributes)]
        except NotImplementedError:
            traits = []
        if any(each.relative for each in traits):
            problems.append(
                f"{model.name}: what two releases leave of a class is no distribution that could be compared with the "
                "whole table; in a series use a model of single classes, such as distinct or probabilistic l-diversity"
            )
        elif not traits:
            problems.append(f"{model.name}: no model of single classes; a series cannot be recounted for it")
    raise_all(PolicyError, problems)


def holds_on(places: Places, models: Sequence[PrivacyModel], values: SensitiveValues) -> NDArray[np.bool_]:
    """Tell of which lists of rows every model holds; of empty ones it does, as they are nobody's.

    Parameters
    ----------
    places
        Rows that remain: :attr:`~sfumato.series.recount.pair.PairRecount.both`, `new`, or those
        that several releases leave.
    models, values
        What was promised of every class, and what the numbers of values mean.

    Returns
    -------
    numpy.ndarray
        bool (c,)

    Raises
    ------
    PolicyError
        See :func:`check_models`.
    """
    check_models(models, [attribute.name for attribute in values.attributes])
    verdict = np.ones(places.count, dtype=np.bool_)
    lists, list_of = np.unique(places.class_of, return_inverse=True)
    if not len(lists):
        return verdict
    sizes = np.bincount(list_of, weights=places.rows).astype(np.int64)
    counted = {
        attribute.name: _counted(attribute, values.codes[places.value_of, index], list_of, places.rows, len(lists))
        for index, attribute in enumerate(values.attributes)
    }
    statistics = ClassStatistics(sizes, counted)
    for model in models:
        verdict[lists] &= model.holds(statistics)
    return verdict


def _counted(
    attribute: EncodedAttribute,
    codes: NDArray[np.integer],
    list_of: NDArray[np.int64],
    rows: NDArray[np.int64],
    count: int,
) -> SensitiveCounts:
    occurrences = np.bincount(codes, weights=rows, minlength=attribute.cardinality).astype(np.int64)
    value_of, code_of = number_values(attribute, occurrences)
    keys, place = np.unique(list_of * len(code_of) + value_of[codes], return_inverse=True)
    counts = np.bincount(place, weights=rows).astype(np.int64)
    starts = np.searchsorted(keys, np.arange(count + 1) * len(code_of)).astype(np.int64)
    return counts_of(attribute, code_of, starts, (keys % len(code_of)).astype(np.int32), counts, occurrences[code_of])


class Followed(NamedTuple):
    """Where everybody is, and what was left to them on the way.

    Attributes
    ----------
    history_of, class_of : numpy.ndarray
        Integers (n,): people with one history, and their class; −1 for who is not published.
    left : Places
        Rows that remain to each history.
    """

    history_of: Numbers
    class_of: NDArray[np.int32]
    left: Places


def follow_all(
    releases: Sequence[Released],
    classes: NDArray[np.int32],
    newest: PairRecount | None = None,
    *,
    as_they_went: bool = False,
) -> Followed:
    """Follow everybody from the first release to the last one.

    Parameters
    ----------
    releases
        At least one.
    classes
        int32 (n, releases): the class of everybody in each, −1 for who was not published.
    newest
        The recount of the last two releases, where it is at hand.
    as_they_went
        Rows go only where somebody really went; see :mod:`sfumato.series.recount.histories`.
    """
    now = Followed(classes[:, 0].astype(np.int64), classes[:, 0], releases[0].places)
    for number in range(1, len(releases)):
        known = newest if number == len(releases) - 1 else None
        steps = history_steps(classes[:, number - 1], classes[:, number]) if as_they_went else None
        now = follow(now, known or recount_pair(releases[number - 1], releases[number], steps), classes[:, number])
    return now


def follow(before: Followed, step: PairRecount, class_of: NDArray[np.int32]) -> Followed:
    """Follow everybody from the last release into the candidate.

    Of a history of classes, value for value, no more rows remain than of any step of it.
    """
    old = before.history_of >= 0
    width = int(class_of.max(initial=0)) + 1
    keys = np.where(old, before.history_of + 1, 0) * width + class_of
    keys = np.where(class_of >= 0, keys, -1)
    ways, first, history_of = np.unique(keys, return_index=True, return_inverse=True)
    missing = int(len(ways) > 0 and ways[0] < 0)
    first = first[missing:]
    pair_keys = step.newer * (int(step.older.max(initial=0)) + 1) + step.older
    wanted = class_of[first].astype(np.int64) * (int(step.older.max(initial=0)) + 1) + before.class_of[first]
    pair = np.searchsorted(pair_keys, wanted)
    came = np.flatnonzero(~old[first])
    stayed = np.flatnonzero(old[first])
    history = before.history_of[first[stayed]]
    owner, place = row_runs(before.left.starts[history], np.diff(before.left.starts)[history])
    at = step.both.find(pair[stayed][owner], before.left.value_of[place])
    rows = np.minimum(before.left.rows[place], step.both.rows[at]) * (at >= 0)
    new_owner, new_place = _of_classes(step.new, class_of[first[came]].astype(np.int64))
    left = _sorted_places(
        np.append(stayed[owner], came[new_owner]), np.append(before.left.value_of[place], step.new.value_of[new_place]),
        np.append(rows, step.new.rows[new_place]), len(first),
    )  # fmt: skip
    return Followed(history_of - missing, class_of, left)


def _of_classes(places: Places, classes: Numbers) -> tuple[Numbers, Numbers]:
    return row_runs(places.starts[classes], np.diff(places.starts)[classes])


def _sorted_places(owner: Numbers, value: Numbers, rows: Numbers, count: int) -> Places:
    order = np.lexsort((value, owner))
    order = order[rows[order] > 0]
    return Places(owner[order], value[order], rows[order], count)
