"""A solution for households: households of one size are put together, member by member, as one wide record each.

Letters: n records, h households, s members of a household, q quasi-identifying attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.classes.people import people_left
from sfumato.errors import UnsatisfiableError
from sfumato.models.protocol import PrivacyModel
from sfumato.models.rule_traits import TRAITS
from sfumato.models.says import smallest_allowed
from sfumato.numbers import counted
from sfumato.randomness import permutation
from sfumato.release.apart import settled_apart
from sfumato.release.folding import without_unread_columns
from sfumato.release.people_behind import PeopleBehind, carried
from sfumato.release.task import Task
from sfumato.release.withdrawal import PeoplesLimit
from sfumato.table.encoding import EncodedAttribute, EncodedTable, PeopleApart
from sfumato.table.folding import numbered_by_content

Solve = Callable[[Problem], Partition]


@dataclass(frozen=True, eq=False, repr=False)
class HouseholdMembers:
    """The records of a table, household by household."""

    # (n,): all records; those of a household stand together, its members in the order of their values
    order: NDArray[np.int64]
    # `starts`, `sizes`: (h,): where each household begins in `order`, and how many members it has
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    shared: NDArray[np.bool_]  # (q,): attributes that all members of every household agree in

    @classmethod
    def of(cls, table: EncodedTable, numbers: NDArray[np.int32], ties: NDArray[np.int64]) -> HouseholdMembers:
        """Put members in order: by household, then by their codes, attribute after attribute, last by `ties`."""
        order = np.lexsort((ties, *table.codes.T[::-1], numbers))
        starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
        codes = table.codes[order]
        lowest, highest = (each.reduceat(codes, starts) for each in (np.minimum, np.maximum))
        return cls(order, starts, np.diff(np.append(starts, len(order))), (lowest == highest).all(axis=0))

    def of_size(self, size: int) -> NDArray[np.int64]:
        """Return the records of all households of `size` members; int64 (h, s)."""
        rows: NDArray[np.int64] = self.order[self.starts[self.sizes == size][:, None] + np.arange(size)]
        return rows


def household_problems(task: Task) -> Iterator[str]:
    """Name what cannot be promised to households."""
    if task.wishes is not None or task.wished_l is not None:
        yield "rows of households: nobody's wishes are kept by it; leave wishes out, or let rows lie together"
    for model in task.models:
        traits = [TRAITS[rule.code] for rule in model.rules(tuple(task.table.schema.sensitive))]
        if any(trait.relative for trait in traits):
            why = "it compares with the whole table, and is not judged member by member"
        elif not all(trait.apart or trait.wishes for trait in traits):
            why = "classes that have households in common may break it together"
        else:
            continue
        advice = "leave the model out, or let rows lie together"
        yield f"rows of households: {model.name} does not go with it: {why}; {advice}"


def solution_of_households(problem: Problem, people: PeopleBehind, task: Task, solve: Solve) -> Partition:
    """Solve a problem so that every household is published like others of its size, member by member.

    Households of one size are records of a wide table: once what all members of every household agree in, and the other
    attributes for each member. A class of it becomes as many classes as its households have members, each with one
    member of every household. So what is recoded of an attribute that members agree in is the same for all of them, and
    whoever knows all members of a household finds all households of its class.

    `task`: what is asked for. `solve`: what solves the problem of a wide table, whose order owes nothing to that of the
    input. Returns: households are left out whole. Classes that are published alike are one class. Raises
    ``UnsatisfiableError`` when there is no solution, or too few households have the size of others for the suppression
    limit. Cost O(q n log n), besides that of the anonymizer for each size.
    """
    table = without_unread_columns(problem)
    carry = carried(problem.table, task.table)
    numbers = numbered_by_content(table, people.numbers, (carry,))
    members = HouseholdMembers.of(table, numbers, _drawn(carry, problem.seed))
    class_of, count, alone = _solved_by_size(replace(problem, table=table), members, solve)
    if (class_of < 0).sum() > problem.suppression_limit or not count:
        raise UnsatisfiableError(_too_few(problem, alone, int((class_of < 0).sum()), possible=count > 0))
    among = replace(problem, table=replace(problem.table, apart=PeopleApart(numbers)))
    least = smallest_allowed(problem.models)
    limit = PeoplesLimit(
        f"{counted(least, 'household')} are left to whoever knows all members of one",
        lambda classes: (people_left(classes, numbers) < least) & (classes >= 0),
        "lower the models' parameters, or let rows lie together",
    )
    found = settled_apart(among, Partition(class_of, count), people, limit, task)
    return replace(found, notes=(_note(found, numbers, members, problem.table),))


def _drawn(carry: NDArray[np.uint64], seed: int | None) -> NDArray[np.int64]:
    """Return ranks drawn for what records hold besides, so that it does not show which of two alike comes first."""
    values, value_of = np.unique(carry, return_inverse=True)
    return permutation(len(values), seed).astype(np.int64)[value_of]


def _solved_by_size(
    problem: Problem, members: HouseholdMembers, solve: Solve
) -> tuple[NDArray[np.int32], int, list[int]]:
    """Solve for the households of each size.

    Returns: `class_of`: int32 (n,): class of each record; −1 where households of its size do not satisfy the models;
    `count`: Number of classes; `alone`: How many households there are of each size that does not satisfy them.
    """
    class_of = np.full(problem.table.height, -1, dtype=np.int32)
    count, alone = 0, list[int]()
    for size in np.unique(members.sizes).tolist():
        rows = members.of_size(size)
        wide = _wide_problem(problem, rows, members.shared)
        if not all(model.holds(wide.rules.whole).all() for model in wide.models):
            alone.append(len(rows))
            continue
        found = solve(wide)
        class_of[rows] = count + found.class_of[:, None] * size + np.arange(size)
        count += found.count * size
    return class_of, count, alone


def _wide_problem(problem: Problem, rows: NDArray[np.int64], shared: NDArray[np.bool_]) -> Problem:
    """Return the problem of households, int64 (h, s), as one record each; its models hold for each member's place."""
    size, table = rows.shape[1], problem.table
    places = [(place, member) for place, each in enumerate(shared) for member in range(1 if each else size)]
    attributes = [
        replace(table.attributes[place], weight=table.attributes[place].weight * (size if shared[place] else 1))
        for place, _ in places
    ]
    sensitive = [_of_member(attribute, member) for attribute in table.sensitive for member in range(size)]
    wide = EncodedTable(
        tuple(attributes),
        np.column_stack([table.codes[rows[:, member], place] for place, member in places]),
        tuple(sensitive),
        np.ascontiguousarray(table.sensitive_codes[rows].transpose(0, 2, 1).reshape(len(rows), len(sensitive))),
    )
    models = [model for each in problem.models for model in _for_members(each, size)]
    seed = None if problem.seed is None else problem.seed + size
    return replace(problem, table=wide, models=models, suppression_limit=0, seed=seed)


def _of_member(attribute: EncodedAttribute, member: int) -> EncodedAttribute:
    return replace(attribute, name=_name(attribute.name, member))


def _name(attribute: str, member: int) -> str:
    return f"{attribute} of member {member + 1}"


def _for_members(model: PrivacyModel, size: int) -> Sequence[PrivacyModel]:
    """Return the model for every member's attribute; one about all attributes is about those of all members."""
    attribute = getattr(model, "attribute", None)
    if attribute is None:
        return [model]
    return [replace(model, attribute=_name(attribute, member)) for member in range(size)]  # type: ignore[type-var]


def _too_few(problem: Problem, alone: Sequence[int], records: int, *, possible: bool) -> str:
    households = counted(sum(alone), "household")
    models = " and ".join(dict.fromkeys(model.name for model in problem.models))
    advice = "lower the models' parameters, or let rows lie together"
    if possible:
        advice = f"raise the suppression limit to {counted(records, 'record')} or more, {advice}"
    return (
        f"rows of households: {households} with {counted(records, 'record')} have sizes of which there are too few "
        f"households for {models}; {advice}"
    )


def _note(partition: Partition, numbers: NDArray[np.int32], members: HouseholdMembers, table: EncodedTable) -> str:
    """Say how many households look alike, and in what members agree."""
    kept = partition.class_of >= 0
    left = people_left(partition.class_of, numbers)[kept]
    names = [attribute.name for attribute in table.attributes]
    shared = ", ".join(name for name, each in zip(names, members.shared, strict=True) if each) or "nothing"
    single = ", ".join(name for name, each in zip(names, members.shared, strict=True) if not each) or "nothing"
    sizes = np.unique(numbers[kept], return_counts=True)[1]
    return (
        f"Rows of households: {counted(len(sizes), 'household')} of {int(sizes.min()):,} to {int(sizes.max()):,} "
        f"members are published. Whoever knows all members of one is left with "
        f"{counted(int(left.min()), 'household')} at least. The members of every household agree in {shared}, and "
        f"are published so; they differ in {single}."
    )
