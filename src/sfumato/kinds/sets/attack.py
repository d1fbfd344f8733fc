"""Looking for a person by a few of their items: how many records fit, and whether one of them is alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError, raise_all
from sfumato.evaluation.attacks.of_kinds import Asked, KindEvidence, made_anew
from sfumato.evaluation.attacks.protocol import AttackResult
from sfumato.kernels.sets import postings, support_of_known
from sfumato.kinds.sets.check import RECORD, PublishedSets, set_classes
from sfumato.kinds.sets.policy import SetPolicy
from sfumato.kinds.sets.release import SetRelease
from sfumato.kinds.sets.sets import Sets, order_sets, read_sets
from sfumato.numbers import counted
from sfumato.options import Count, Seed, check_arguments
from sfumato.rates import Rate

_ItemChoice = Literal["any", "popular", "rare"]
_NAME = "known-items"


@dataclass(frozen=True)
class SetAttack:
    """The result of looking for people by their items; made by :func:`sfumato.attack_sets`. For the steward.

    Attributes
    ----------
    people : int
        People who were looked for.
    before, after : tuple of AttackResult
        On the original sets, and on a release of them: for the number of items that is promised about, and for one
        more. `after` is empty without a release.
    """

    people: int
    before: tuple[AttackResult, ...]
    after: tuple[AttackResult, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return plain values, for JSON."""
        return {
            "people": self.people,
            "before": [result.to_dict() for result in self.before],
            "after": [result.to_dict() for result in self.after],
        }

    def __repr__(self) -> str:
        """Show how many people were looked for."""
        return f"SetAttack({counted(self.people, 'person')}, {len(self.before) + len(self.after)} results)"

    def __str__(self) -> str:
        """Return the results, each as a short paragraph."""
        lines = [f"Looking for {counted(self.people, 'person')} by their items"]
        for name, results in (("Before", self.before), ("After", self.after)):
            for result in results:
                first, *others = str(result).splitlines()
                lines += [f"  {name}, {first}", *(f"  {line}" for line in others)]
        return "\n".join(lines)


@check_arguments
def attack_sets(
    original: Sets,
    release: SetRelease | None = None,
    *,
    known: Count | None = None,
    items: _ItemChoice = "any",
    victims: Count | None = 1000,
    seed: Seed = None,
) -> SetAttack:
    """Look for people by some of their items, in the sets as they are and in a release of them.

    The attacker knows some items of a victim, what stands beside the set, and how items are generalized, and picks one
    of the records that fit. The attack is played with `known` items, and with one more: beyond what is promised.

    Parameters
    ----------
    original
        The sets that the release was made from.
    release
        As :func:`sfumato.anonymize_sets` returns it; None attacks the original alone.
    known
        Items that are known of each victim; all of them if somebody has fewer. None takes the m of the release, or 2.
    items
        Which items are known: those that most (``"popular"``) or fewest people have (``"rare"``), or ``"any"``.
    victims
        People to look for, drawn from those who have an item; None looks for all.
    seed
        For tests and studies: draws the same victims and items, whatever the order of the sets.

    Returns
    -------
    SetAttack

    Raises
    ------
    PolicyError
        When a setting is invalid, or the release was made from other sets.

    Notes
    -----
    Success is the chance that the record that is picked is the victim's: 1 ÷ records that fit. By guessing, one record
    is picked from all. k^m-anonymity allows 1/k to who knows m items; of who knows more it says nothing.
    """
    raise_all(PolicyError, _problems(original, release))
    promised = 2 if release is None else release.model.m
    most = promised if known is None else known
    random = np.random.default_rng(seed)
    original, number_of = order_sets(original)
    people = _drawn(original, victims, random)
    theirs = _known(original, people, most + 1, items, random)
    seen = original_view(original)
    before = tuple(_result(seen, theirs.at_most(count), people, count, items) for count in (most, most + 1))
    if release is None:
        return SetAttack(len(people), before)
    view = released_view(release, original, number_of)
    after = tuple(
        _promised(_result(view, theirs.at_most(count), people, count, items), count, release)
        for count in (most, most + 1)
    )
    return SetAttack(len(people), before, after)


def evidence(published: PublishedSets, asked: Asked) -> KindEvidence:
    """Make the release anew, look for people by items that most or fewest have, and say what was lost."""
    from sfumato.kinds.sets.make import anonymize_sets

    policy = SetPolicy.from_mapping(asked.policy)
    original = read_sets(asked.original, **policy.reading())
    release = anonymize_sets(original, policy, seed=asked.seed, progress=asked.progress)
    results, before = list[AttackResult](), list[AttackResult]()
    for items in ("any", "rare") if asked.attacks else ():
        played = attack_sets(original, release, items=items, seed=asked.seed)
        results, before = [*results, *played.after], [*before, *played.before]
    figures, notes = release.report.figures, (made_anew(published.tables, release.tables, RECORD),)
    return KindEvidence(original.height, results, {}, figures, notes, before=before)


def _result(
    view: _SetView, known: KnownItems, people: NDArray[np.int64], count: int, items: _ItemChoice
) -> AttackResult:
    fitting = fitting_sets(view, known, people)
    of = {"any": "any", "popular": "the most common", "rare": "the rarest"}[items]
    return AttackResult(
        _NAME,
        f"{count} of a person's items, {of} of them",
        "whose record was picked from those that fit",
        Rate(float((1 / fitting).sum()), len(people), 1 / view.height),
        figures={
            "fewest_records_that_fit": int(fitting.min()),
            "median_records_that_fit": float(np.median(fitting)),
            "people_whom_one_record_fits": int(np.count_nonzero(fitting == 1)),
        },
        helps="a larger m, up to what attackers may know; fewer items, or coarser ones",
    )


def _promised(result: AttackResult, count: int, release: SetRelease) -> AttackResult:
    """Hold a result against the promise, or say that there is none about it."""
    model = release.model
    if count <= model.m:
        return replace(result, allowed=1 / model.k)
    return replace(result, notes=(f"the release promises nothing about who knows more than {model.m} items",))


def _drawn(sets: Sets, most: int | None, random: np.random.Generator) -> NDArray[np.int64]:
    people = np.flatnonzero(sets.sizes)
    return people if most is None or most >= len(people) else np.sort(random.choice(people, most, replace=False))


def _known(
    sets: Sets, people: NDArray[np.int64], count: int, items: _ItemChoice, random: np.random.Generator
) -> KnownItems:
    """Draw the items that are known of some people, the first to be known first."""
    theirs = sets.take(people)
    person = np.repeat(np.arange(len(people)), theirs.sizes)
    popularity = {"any": 0, "popular": -1, "rare": 1}[items] * sets.holders[theirs.items]
    order = np.lexsort((random.random(len(person)), popularity, person))
    return KnownItems(theirs.starts, theirs.items[order].astype(np.int64)).at_most(count)


def _problems(original: Sets, release: SetRelease | None) -> Iterator[str]:
    if not len(original.items):
        yield "original: every set is empty; there is nothing to attack with"
    if release is not None and len(release.origin) != original.height:
        yield "release: was made from other sets"


@dataclass(frozen=True, eq=False, repr=False)
class KnownItems:
    """Items that are known of people, int64, as compressed rows; those that are known first come first."""

    starts: NDArray[np.int64]
    items: NDArray[np.int64]

    def at_most(self, count: int) -> KnownItems:
        """Return the first `count` items of everybody."""
        sizes = np.minimum(np.diff(self.starts), count)
        starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
        places = np.arange(starts[-1]) + np.repeat(self.starts[:-1] - starts[:-1], sizes)
        return KnownItems(starts, self.items[places])


@dataclass(frozen=True, eq=False, repr=False)
class _SetView:
    """Sets as an attacker sees them: n records, of classes, with z items; `own`: the published record of each person.

    `paths`, int64 (h + 1, d): what each original item may be published as, itself first; −1 for what is published
    nowhere.
    """

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    class_of: NDArray[np.int64]
    own: NDArray[np.int64]
    paths: NDArray[np.int64]

    @property
    def height(self) -> int:
        """N."""
        return len(self.starts) - 1


def original_view(sets: Sets) -> _SetView:
    """Return sets as they are."""
    class_of = np.zeros(sets.height, dtype=np.int64)
    if sets.beside is not None:
        class_of = set_classes(sets.beside.frame.select(list(sets.beside.schema.quasi_identifying)))
    paths = np.arange(len(sets.names))[None, :]
    return _SetView(sets.starts, sets.items, class_of, np.arange(sets.height), paths)


def released_view(release: SetRelease, original: Sets, number_of: NDArray[np.int64]) -> _SetView:
    """Return a release of sets and their hierarchy; number_of: int64 (n,), the number of each record in it."""
    published = release.published
    place_of = {name: place for place, name in enumerate(published.names)}
    paths = [(name,) for name in original.names] if original.hierarchy is None else original.hierarchy.paths
    nodes = np.array([[place_of.get(name, -1) for name in path] for path in paths], dtype=np.int64).T
    own = np.empty(original.height, dtype=np.int64)
    own[release.origin] = np.arange(len(release.origin))
    return _SetView(published.starts, published.items, published.class_of, own[number_of], nodes)


def fitting_sets(view: _SetView, known: KnownItems, people: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the records that fit what is known of each person; what no record of the class has tells nothing."""
    count = int(view.items.max()) + 1 if len(view.items) else 1
    held = np.repeat(view.class_of * count, np.diff(view.starts)) + view.items
    there, numbers = np.unique(held, return_inverse=True)
    bounds, records = postings(view.starts, numbers.astype(np.int32), len(there))
    classes = view.class_of[view.own[people]]
    sizes = np.diff(known.starts)
    nodes = _published(view, known.items, np.repeat(classes, sizes) * count, there)
    person = np.repeat(np.arange(len(people)), sizes)
    starts, nodes = _each_once(person[nodes >= 0], nodes[nodes >= 0], len(people))
    found = support_of_known(starts, nodes, bounds, records)
    everybody = np.bincount(view.class_of)[classes]
    return np.where(found < 0, everybody, found)


def _published(
    view: _SetView, items: NDArray[np.int64], offsets: NDArray[np.int64], there: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return what each item is published as in a class, as a place in `there`; −1 for nothing."""
    nodes = np.full(len(items), -1, dtype=np.int64)
    if not len(there):
        return nodes
    for level in view.paths:
        keys = offsets + level[items]
        places = np.minimum(np.searchsorted(there, keys), len(there) - 1)
        is_there = (nodes < 0) & (level[items] >= 0) & (there[places] == keys)
        nodes = np.where(is_there, places, nodes)
    return nodes


def _each_once(
    person: NDArray[np.int64], nodes: NDArray[np.int64], people: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows of nodes, each once in a row."""
    pairs = np.unique(np.stack([person, nodes]), axis=1)
    starts = np.append(0, np.cumsum(np.bincount(pairs[0], minlength=people))).astype(np.int64)
    return starts, np.ascontiguousarray(pairs[1])
