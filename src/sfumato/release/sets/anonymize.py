"""Making sets k^m-anonymous."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.protocol import Anonymizer
from sfumato.anonymizers.sets.cuts import SolvedSets, solve_sets
from sfumato.anonymizers.sets.task import ItemTree, Method
from sfumato.errors import PolicyError, UnsatisfiableError, VerificationError, raise_all
from sfumato.metrics import measure_losses
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.km_anonymity import KmAnonymity
from sfumato.numbers import counted, percent
from sfumato.policy.set_policy import SetPolicy
from sfumato.progress import Progress, shown, thread_count
from sfumato.published.checks.sets.check import set_verification
from sfumato.published.sets import RECORD, PublishedSets, set_classes
from sfumato.randomness import permutation, seed_problems
from sfumato.release.arguments import Arguments, policy_of_call
from sfumato.release.generalizing import solved_task
from sfumato.release.own_types import own_types
from sfumato.release.sets.release import SetRelease
from sfumato.release.task import Task
from sfumato.table.sets.sets import Sets, order_sets

# Sets in an order that nothing can be read off, and the classes of the columns beside them.


@dataclass(frozen=True, eq=False, repr=False)
class ArrangedSets:
    """Sets in random order.

    Attributes
    ----------
    sets : Sets
    origin : numpy.ndarray
        int64 (n,): the number of each record in the input, from 0.
    labels : polars.DataFrame or None
        What is published of the columns beside each set, as text.
    columns_ncp : float or None
        What that cost.
    """

    sets: Sets
    origin: NDArray[np.int64]
    labels: pl.DataFrame | None = None
    columns_ncp: float | None = None


def arranged(sets: Sets, model: KmAnonymity, policy: SetPolicy, seed: int | None, threads: int) -> ArrangedSets:
    """Bring records into random order, and make classes where columns stand beside the sets.

    With a seed, the result is the same for every order of the input: records that stay tied are alike in everything.
    """
    ordered, by_content = (sets, np.arange(sets.height)) if seed is None else order_sets(sets)
    if ordered.beside is None:
        order = permutation(sets.height, seed)
        return ArrangedSets(ordered.take(order), by_content[order])
    way = policy.to_anonymizer() or Mondrian()
    promised = [KAnonymity(policy.change.class_size or model.k)]
    meant = policy_of_call(ordered.beside, Arguments(promised, way, None, None, None, None), None, seed)
    task = Task(ordered.beside, meant, seed=seed, threads=threads)
    solved = solved_task(task, way)
    order = solved.order.astype(np.int64)
    written = own_types(task.engine.write(solved.generalized, ordered.beside, order, threads=threads), ordered.beside)
    names = list(ordered.beside.schema.quasi_identifying)
    labels = written.published.data.select(pl.col(names).cast(pl.String))
    losses = measure_losses(solved.generalized, k=model.k)
    shown = replace(ordered.take(order), beside=None)
    return ArrangedSets(shown, by_content[order], labels, float(losses.normalized_ncp))


def anonymize_sets(
    sets: Sets,
    model: SetPolicy | KmAnonymity,
    *,
    method: Method | None = None,
    class_size: int | None = None,
    anonymizer: Anonymizer | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> SetRelease:
    """Publish items as coarser ones, or not at all, so that k^m-anonymity holds.

    Parameters
    ----------
    sets
        As :func:`sfumato.read_sets` returns them. With columns beside the sets, classes of at least k records are made
        of these columns first, and the model holds in each class: (k, k^m)-anonymity.
    model
        What is to hold; or the policy that says it with all of `method` to `anonymizer`, which are left out then.
    method
        ``"mixed"`` generalizes items step by step, or leaves them out where that loses less; ``"apriori"`` generalizes
        them step by step, ``"optimal"`` at the least loss, for small domains; ``"suppress"`` leaves items out. None
        takes ``"mixed"`` where items have a hierarchy, else ``"suppress"``. An item is published alike in all records,
        or in all of a class.
    class_size
        Records that each class is to have at least; None is k. Larger classes lose more of the columns, and less of
        the sets.
    anonymizer
        The algorithm that makes the classes; None is :class:`sfumato.Mondrian`.
    seed
        For tests and studies: the same sets, in any order, and seed give the same release. None draws the order of the
        records from the operating system's randomness.
    threads
        Upper bound; None takes ``SFUMATO_THREADS``, or all cores. Never changes the result.
    progress
        Called with what is being done, how much is done and the total.

    Returns
    -------
    SetRelease
        Recounted from what is published.

    Raises
    ------
    PolicyError
        With every setting that is none, or that a policy says otherwise, or when the optimal cut is not found.
    InputError
        When the sets hold more than 4 billion combinations of m items, which nobody could recount.
    UnsatisfiableError
        When there are fewer records than k, fewer sets with items than k, or no item could be published.

    Notes
    -----
    Guarantee: that of :class:`sfumato.KmAnonymity`, for records that are of different people. No record is left out.
    """
    said: dict[str, Any] = {"method": method, "class_size": class_size, "anonymizer": anonymizer}
    if isinstance(model, SetPolicy):
        raise_all(PolicyError, _contradictions(model, said))
        policy = model
    else:
        raise_all(PolicyError, _wrong_types(sets, model, **said, seed=seed))
        policy = SetPolicy.of(model, sets, **said)
    meant = {**policy.change.model_dump(), "anonymizer": policy.to_anonymizer()}
    wanted = policy.to_model()
    raise_all(PolicyError, _wrong_types(sets, wanted, **meant, seed=seed))
    problems = [*_unfitting(sets, wanted, **meant), *_misfits(sets, policy)]
    too_few = _too_few(sets, wanted, policy.change.class_size)
    raise_all(PolicyError, [*problems, *too_few] if problems else [])
    raise_all(UnsatisfiableError, too_few)
    told, used = progress or shown, thread_count(policy.threads if threads is None else threads)
    return _released(arranged(sets, wanted, policy, seed, used), wanted, policy, used, told)


def _released(
    order: ArrangedSets, model: KmAnonymity, policy: SetPolicy, threads: int, progress: Progress
) -> SetRelease:
    """Solve, publish and recount."""
    sets = order.sets
    method = policy.change.method or ("suppress" if sets.hierarchy is None else "mixed")
    class_of = None if order.labels is None else set_classes(order.labels)
    solved = solve_sets(sets, model, method, class_of, progress)
    if not len(solved.nodes):
        raise UnsatisfiableError("no item could be published; lower k or m, add records, or give items a hierarchy")
    published = _published(solved, order.labels)
    progress("verifying", model.m + 1, model.m + 1)
    verification = set_verification(published, [model], threads)
    if not verification.ok:
        raise VerificationError("the sets break their promise; nothing is published. Please report this")
    notes = _notes(sets, solved)
    return SetRelease(
        published, model, verification, solved.loss, order.columns_ncp, method, order.origin, notes, policy
    )


def _published(solved: SolvedSets, labels: pl.DataFrame | None) -> PublishedSets:
    """Write nodes by name; items sorted by name, so that nothing is told by their order."""
    numbers = np.unique(solved.nodes)
    names = sorted(solved.tree.names[number] for number in numbers.tolist())
    place_of = {name: place for place, name in enumerate(names)}
    code_of = np.zeros(len(solved.tree.names), dtype=np.int32)
    code_of[numbers] = [place_of[solved.tree.names[number]] for number in numbers.tolist()]
    records = np.repeat(np.arange(len(solved.starts) - 1), np.diff(solved.starts))
    items = np.sort(records * len(names) + code_of[solved.nodes]) - records * len(names)
    return PublishedSets(
        solved.starts, items.astype(np.int32), tuple(names), labels, _broader(solved.tree, set(numbers.tolist()))
    )


def _broader(tree: ItemTree, published: set[int]) -> dict[str, str]:
    """Return the next coarser item of every published one and of all above it: no item that is not published below."""
    found: dict[str, str] = {}
    paths = np.unique(tree.number_of.T, axis=0)
    for path in paths.tolist():
        known = next((step for step, number in enumerate(path) if number in published), None)
        above = [tree.names[number] for number in path[known:]] if known is not None else []
        found |= {low: high for low, high in pairwise(above) if low != high}
    return dict(sorted(found.items()))


def _notes(sets: Sets, solved: SolvedSets) -> tuple[str, ...]:
    loss, found = solved.loss, []
    if not loss.penalty:
        found.append("no item was changed: the sets hold the promise as they are")
    if loss.items_generalized:
        found.append(f"{counted(loss.items_generalized, 'item')} of {loss.items:,} generalized for somebody")
    if loss.items_removed:
        found.append(f"{counted(loss.items_removed, 'item')} of {loss.items:,} left out for somebody")
    empty = int(np.count_nonzero(sets.sizes == 0))
    if empty:
        found.append(f"{counted(empty, 'set')} of {sets.height:,} {'was' if empty == 1 else 'were'} empty before")
    root = solved.tree.number_of[-1, 0]
    if solved.tree.height and np.any(solved.nodes == root):
        share = percent(np.count_nonzero(solved.nodes == root) / len(solved.nodes), 3)
        found.append(f"{share} of what is published is the coarsest item, which says no more than that there was one")
    return tuple(found)


def _contradictions(policy: SetPolicy, said: Mapping[str, Any]) -> list[str]:
    """Name every setting that a call says otherwise than its policy; None says nothing."""
    meant = {**policy.change.model_dump(), "anonymizer": policy.to_anonymizer()}
    return [
        f"{name}: the policy says another one than the call; say it in one place"
        for name, given in said.items()
        if given is not None and given != meant[name]
    ]


def _wrong_types(
    sets: object, model: object, method: object, class_size: object, anonymizer: object, seed: object
) -> list[str]:
    """Return a sentence for every setting that is none."""
    found = []
    if not isinstance(sets, Sets):
        found.append("sets are not a Sets object; read them with sfumato.read_sets(...)")
    if not isinstance(model, KmAnonymity):
        found.append("model is not a KmAnonymity; make one with sfumato.KmAnonymity(k, m)")
    if method is not None and method not in get_args(Method):
        found.append(f"method must be one of {', '.join(get_args(Method))}")
    if class_size is not None and not (isinstance(class_size, int) and not isinstance(class_size, bool)):
        found.append("class_size must be a whole number, or left out")
    if anonymizer is not None and (isinstance(anonymizer, type) or not isinstance(anonymizer, Anonymizer)):
        found.append("anonymizer makes no classes; give one such as Mondrian(), or leave it out")
    return [*found, *seed_problems(seed)]


def _unfitting(
    sets: Sets, model: KmAnonymity, method: Method | None, class_size: int | None, anonymizer: Anonymizer | None
) -> list[str]:
    """Return a sentence for every pair of settings that do not go together."""
    if not len(sets.items):
        return ["every set is empty; check the column of items and what stands between them"]
    found = []
    largest = int(sets.sizes.max())
    if model.m > largest:
        found.append(f"m is {model.m}, but the largest set has {counted(largest, 'item')}; lower m")
    if method in ("mixed", "apriori", "optimal") and sets.hierarchy is None:
        found.append(f"method '{method}' generalizes items, which have no hierarchy; give one, or take 'suppress'")
    if sets.beside is None:
        beside = {"class_size": class_size, "anonymizer": anonymizer}
        found += [
            f"{name} is about columns beside the sets, and there are none; leave it out, or read some with schema"
            for name, given in beside.items()
            if given is not None
        ]
    elif RECORD in sets.beside.schema.quasi_identifying:
        found.append(f"a column beside the sets is named {RECORD!r}, as the numbers of records are; rename it")
    if class_size is not None and class_size < model.k:
        found.append(f"class_size is {class_size}, less than k = {model.k}; raise it, or leave it out")
    return found


def _misfits(sets: Sets, policy: SetPolicy) -> list[str]:
    read = [] if sets.beside is None else list(sets.beside.schema.quasi_identifying)
    if list(policy.columns.quasi_identifying) != read:
        return ["columns: the policy names other columns beside the sets than were read; read them with the policy"]
    return []


def _too_few(sets: Sets, model: KmAnonymity, class_size: int | None) -> list[str]:
    least = max(model.k, class_size or 0)
    if sets.height >= least:
        return []
    wanted = f"k = {model.k}" if least == model.k else f"class_size = {least}"
    return [f"there are {counted(sets.height, 'record')}, fewer than {wanted}; lower it, or add records"]
