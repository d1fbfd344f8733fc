"""The recount decides about a release that grew: what it does not bear is taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.models.protocol import PrivacyModel
from sfumato.series.growing_ground import Ground
from sfumato.series.growing_tree import Node, Standing
from sfumato.series.recount.histories import Followed, follow
from sfumato.series.recount.joined import Chains, steps_of
from sfumato.series.recount.pair import PairRecount, recount_pair
from sfumato.series.recount.released import Places, Released
from sfumato.series.recount.remaining import SensitiveValues, holds_on

Numbers = NDArray[np.int64]
Marks = NDArray[np.bool_]

ROUNDS = 8
"""Recounts, at most; before the last, everything that is still mixed is taken back."""


_UNCOVERED = (
    "series: the labels of an earlier release do not cover everybody who is in its classes; the ledger, the folder or "
    "the labels were changed"
)


@dataclass(frozen=True, eq=False, repr=False)
class Guard:
    """What a candidate is recounted with.

    Attributes
    ----------
    earlier : sequence of Released
    models : sequence of PrivacyModel
    values : SensitiveValues
    classes : numpy.ndarray
        int32 (n, releases): the class of everybody in each of them, −1 for who was not published.
    before : Followed
        Up to the last release.
    chains : Chains or None
        Those to the last release, where all releases are counted together; None: each two of them are.
    released : callable
        Makes the candidate of a tree: as recipients will hold it, and the class of everybody.
    """

    earlier: Sequence[Released]
    models: Sequence[PrivacyModel]
    values: SensitiveValues
    classes: NDArray[np.int32]
    before: Followed
    chains: Chains | None
    released: Callable[[Node], tuple[Released, NDArray[np.int32]]]

    def broken(self, left: Places) -> Marks:
        """Tell which lists of rows break a model."""
        return ~holds_on(left, self.models, self.values)


def taken_back(
    ground: Ground, root: Node, before: Sequence[tuple[Node, int, Numbers]], guard: Guard, *, all_pairs: bool = True
) -> tuple[int, Followed]:
    """Recount a candidate against every earlier release, and take back what fails somebody until nothing does.

    `all_pairs`: False where the candidate is still to be changed, so that the last release is enough. Returns how many
    mixed groups were taken back, and where everybody is in the end.

    Raises
    ------
    InputError
        When too little is left though nothing is mixed: the earlier releases leave too little together themselves.
    """
    count = 0
    for number in range(ROUNDS):
        failing, followed = _failing(*guard.released(root), guard, all_pairs)
        if not failing.any():
            return count, followed
        mixed = _mixed(ground, root, followed.class_of)
        groups = {head for label in np.flatnonzero(failing).tolist() for head in mixed.get(label, ())}
        if not groups or number == ROUNDS - 2:
            groups = {head for heads in mixed.values() for head in heads}
        if not groups:
            break
        count += len(groups)
        _take_back(ground, root, before, groups)
    raise InputError(
        "series: the earlier releases alone leave somebody less than the models ask for; they were not made by this "
        "series, or their labels or columns were changed: start a new series"
    )


def _failing(candidate: Released, class_of: NDArray[np.int32], guard: Guard, all_pairs: bool) -> tuple[Marks, Followed]:
    """Tell of which classes, or of others that meet what they meet, too little is left."""
    if guard.chains is not None:
        return _failing_together(candidate, class_of, guard, guard.chains)
    found = recount_pair(guard.earlier[-1], candidate)
    failing = _of_pair(found, _people_of(found, guard.classes[:, -1], class_of), guard)
    failing, followed = _along(found, failing, class_of, guard)
    if all_pairs and not failing.any():
        # What the last release refuses goes back before the others are asked.
        for release, classes in zip(guard.earlier[:-1], guard.classes.T, strict=False):
            found = recount_pair(release, candidate)
            failing |= _of_pair(found, _people_of(found, classes, class_of), guard)
    return failing, followed


def _failing_together(
    candidate: Released, class_of: NDArray[np.int32], guard: Guard, chains: Chains
) -> tuple[Marks, Followed]:
    """Tell of which classes too little is left by all releases together, or some chain has nothing in common."""
    before = guard.classes[:, -1]
    steps = steps_of(before, class_of)
    came = np.unique(class_of[(before < 0) & (class_of >= 0)]).astype(np.int64)
    found = recount_pair(guard.earlier[-1], candidate, steps)
    if Chains.first(guard.earlier[-1]).onward(steps, candidate.boxes, came)[1].any():
        raise InputError(_UNCOVERED)
    _, empty = chains.onward(steps, candidate.boxes, came)
    everywhere = np.ones(len(steps[0]), dtype=np.bool_), np.isin(np.arange(candidate.boxes.count), came)
    failing = _of_pair(found, everywhere, guard, empty)
    return _along(found, failing, class_of, guard)


def _along(found: PairRecount, failing: Marks, class_of: NDArray[np.int32], guard: Guard) -> tuple[Marks, Followed]:
    """Follow everybody into the candidate; classes in which too little is left to somebody's history fail, too."""
    followed = follow(guard.before, found, class_of)
    broken = guard.broken(followed.left)
    failing[class_of[(class_of >= 0) & broken[followed.history_of]]] = True
    return failing, followed


def _people_of(found: PairRecount, before: NDArray[np.int32], now: NDArray[np.int32]) -> tuple[Marks, Marks]:
    """Tell in which pairs of classes somebody is, and to which newer classes somebody came; bool (p,), bool (c,)."""
    width = int(found.older.max(initial=0)) + 1
    stays = (before >= 0) & (now >= 0)
    keys = np.unique(now[stays].astype(np.int64) * width + before[stays])
    pairs = found.newer * width + found.older
    if not np.isin(keys, pairs).all() or before[stays].max(initial=0) >= width:
        raise InputError(_UNCOVERED)
    return np.isin(pairs, keys), np.isin(np.arange(found.new.count), now[before < 0])


def _of_pair(found: PairRecount, people: tuple[Marks, Marks], guard: Guard, empty: Marks | bool = False) -> Marks:
    both, new = (guard.broken(left) & some for left, some in zip((found.both, found.new), people, strict=True))
    both |= empty
    suspects = np.zeros(int(found.older.max(initial=0)) + 1, dtype=np.bool_)
    suspects[found.older[both | new[found.newer]]] = True
    # What fails may be the work of a neighbour: all that meet the older class are asked.
    failing = new.copy()
    failing[found.newer[suspects[found.older]]] = True
    return failing


def _mixed(ground: Ground, root: Node, class_of: NDArray[np.int32]) -> dict[int, set[int]]:
    """Return for each class the origins that stand for its groups, where something was mixed or divided."""
    moved = {ground.origin_of(origin) for origin in ground.moved}
    found: dict[int, set[int]] = {}
    for each in (each for node in root.below() for each in node.classes):
        if (head := ground.origin_of(each.origin)) in moved:
            found.setdefault(int(class_of[each.rows[0]]), set()).add(head)
    return found


def _take_back(ground: Ground, root: Node, before: Sequence[tuple[Node, int, Numbers]], groups: set[int]) -> None:
    """Put the classes of some groups back to where they stood, and make the cuts of these groups undone."""
    for node in root.below():
        node.classes = [each for each in node.classes if ground.origin_of(each.origin) not in groups]
    for node, old in reversed(ground.cut):
        if node.cut_by >= 0 and ground.origin_of(node.cut_by) in groups:
            node.attribute, node.left, node.children = old.attribute, old.left, old.children
            node.cut_by = old.cut_by
    for node, origin, rows in before:
        if ground.origin_of(origin) in groups:
            node.classes.append(Standing(rows, origin))
    members = [origin for origin in range(len(ground.joined)) if ground.origin_of(origin) in groups]
    for origin in members:
        ground.joined[origin] = origin
    ground.moved.difference_update(members)
