"""A solution for people with several records: folded into one record each, apart, or as households.

Letters: n records, h households, s members of a household, q quasi-identifying attributes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers import ANONYMIZERS
from sfumato.anonymizers.feasibility import with_most_records
from sfumato.anonymizers.protocol import Anonymizer, Problem
from sfumato.classes.partition import Partition
from sfumato.classes.statistics import people_left, statistics_of
from sfumato.errors import UnsatisfiableError
from sfumato.models import MODELS
from sfumato.models.compiled import rules_of
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.l_diversity import WishedDiversity
from sfumato.models.protocol import TRAITS, CheckedModel, PrivacyModel, smallest_allowed
from sfumato.numbers import counted
from sfumato.parallel import OnceForEach
from sfumato.policy.parts import People
from sfumato.randomness import permutation
from sfumato.recoding import Recoding, recode_as_published
from sfumato.release.people import PeopleBehind, PeoplesLimit, carried, fingerprint_limit, uniform_problem, withdrawn
from sfumato.release.problem import smallest_first
from sfumato.release.task import Task
from sfumato.table.encoding import EncodedAttribute, EncodedTable, PeopleApart
from sfumato.table.folding import FoldedTable, fold, numbered_by_content
from sfumato.table.person_keys import PersonKey, named_key

# Classes that are published alike are one class to every reader, and are judged as one.
#
# Where nobody is in two classes, merging breaks no promise but that of a share that somebody wishes for. Where rows lie
# apart it may break others: at most half of the people of each of two classes have a value, and two of three of both
# together.


class Judged(NamedTuple):
    """By what classes are judged."""

    table: EncodedTable  # with a record for each person, or for each record
    # int (p,): a record of each person, all of whose records share one class; None where records are judged
    first: NDArray[np.intp] | None


def may_break(problem: Problem) -> bool:
    """Tell whether classes with people in common may satisfy the models, and break them when they are merged."""
    return not all(TRAITS[rule.code].apart for rule in rules_of(problem.models, problem.table))


def read_as_one(problem: Problem, partition: Partition, recoding: Recoding, judged: Judged | None = None) -> Partition:
    """Merge classes that are published alike; those that break a model then are merged on until none does.

    `judged`: the same records as people, where classes are judged by these. All records in one class may break one. The
    next in the order of sizes is merged with. Each round costs a recoding, and leaves fewer classes.
    """
    table, judged = problem.table, judged or Judged(problem.table, None)
    while True:
        published = recode_as_published(table, partition, recoding, threads=problem.threads)
        number_of = np.empty(partition.count, dtype=np.int32)
        kept = partition.class_of >= 0
        number_of[partition.class_of[kept]] = published.class_of[kept]
        merged = _joined(problem, partition.renumbered(number_of, len(published.sizes)), judged)
        if merged.count == partition.count:
            return partition
        partition = merged


def _joined(problem: Problem, partition: Partition, judged: Judged) -> Partition:
    # What an anonymizer decides to publish of a class covers no other class.
    while partition.count > 1 and partition.regions is None:
        broken = breaking(problem, partition, judged)
        if not broken.any():
            break
        order = smallest_first(partition, partition.sizes, problem.table.codes)
        with_next = broken[order]
        with_next[-2] |= with_next[-1]
        number_of = np.empty(partition.count, dtype=np.int32)
        number_of[order] = np.cumsum(np.append(True, ~with_next[:-1])) - 1
        partition = partition.renumbered(number_of, int(number_of.max()) + 1)
    return partition


def breaking(problem: Problem, partition: Partition, judged: Judged) -> NDArray[np.bool_]:
    """Tell which classes break a model; bool (c,)."""
    class_of = partition.class_of if judged.first is None else partition.class_of[judged.first]
    statistics = statistics_of(judged.table, class_of, partition.count)
    holds = np.ones(partition.count, dtype=np.bool_)
    for model in problem.models:
        holds &= model.holds(statistics)
    return ~holds


Solve = Callable[[Problem], Partition]


def apart_problems(task: Task) -> Iterator[str]:
    """Name what cannot be done where the records of a person may lie in different classes."""
    anonymizer = task.anonymizer
    takes = getattr(anonymizer, "people_apart", None)
    if takes is None:
        others = ", ".join(name for name, each in ANONYMIZERS.items() if getattr(each, "people_apart", None))
        yield (
            f"rows apart: {anonymizer.name} cannot judge classes by people whose records lie in several; choose one "
            f"of {others}, or leave rows together"
        )
        return
    if task.policy.refine:
        yield "rows apart: refine counts records, not people; leave it out, or leave rows together"
    if task.wished_l is not None:
        yield "rows apart: an l of one's own is not kept by it; leave wishes for l out, or leave rows together"
    for model in task.models:
        traits = [TRAITS[rule.code] for rule in model.rules(tuple(task.table.schema.sensitive))]
        if any(trait.relative for trait in traits):
            yield _not_with(model, "it compares with the whole table, in which nobody can recount these people")
        elif takes == "merging models" and not all(trait.apart or trait.wishes for trait in traits):
            yield _not_with(
                model, f"classes that have people in common may break it together, which {anonymizer.name} does not try"
            )


def _not_with(model: PrivacyModel, why: str) -> str:
    return f"rows apart: {model.name} does not go with it: {why}; leave the model out, or leave rows together"


def solution_apart(
    problem: Problem, people: PeopleBehind, numbers: NDArray[np.int32], task: Task, solve: Solve
) -> Partition:
    """Solve a problem so that every class is judged by its people, who may be in several.

    Whoever has a suppressed record is left out whole. Where these are too many, anonymizers may suppress half as many,
    a quarter, and none.
    """
    among = replace(problem, table=replace(problem.table, apart=PeopleApart(numbers, people.wishes)))
    if may_break(among) and getattr(task.anonymizer, "people_apart", None) == "merging models":
        # No model but the bound on the shares that somebody wishes for: one bound for everybody survives merging.
        among = replace(uniform_problem(among, people.most), table=replace(among.table, apart=PeopleApart(numbers)))
    limit, values = all_records_limit(task, people), fingerprint_limit(problem, task)
    limit = limit if values is None else limit.beside(values)
    kept = _few_enough_records(among, numbers)
    refused: UnsatisfiableError | None = None
    room = problem.suppression_limit - int(np.count_nonzero(~kept))
    for allowed in dict.fromkeys((room, room // 2, room // 4, 0)):
        try:
            found = _solved_among(replace(among, suppression_limit=allowed), kept, solve)
            return _add_note(settled_apart(among, found, people, limit, task), found, allowed)
        except UnsatisfiableError as error:
            refused = refused or error
    assert refused is not None
    raise refused


def settled_apart(among: Problem, found: Partition, people: PeopleBehind, limit: PeoplesLimit, task: Task) -> Partition:
    """Leave people out until all holds in the classes that a reader sees; each round has fewer classes."""
    # The limit of fingerprints is on what somebody has in one class, and that may grow when classes are merged.
    merging = may_break(among) or task.people.fingerprint_k is not None
    while True:
        read = read_as_one(among, found, task.recoding) if merging else found
        solution = withdrawn(among, read, people, limit, task)
        if not merging or read_as_one(among, solution, task.recoding).count == solution.count:
            return solution
        found = solution


def _add_note(solution: Partition, found: Partition, allowed: int) -> Partition:
    """Say that what a search proves is not about those who were left out after it."""
    if solution.suppressed == found.suppressed:
        return solution
    note = (
        f"It was searched with up to {counted(allowed, 'suppressed record')}, of which it needed {found.suppressed:,}. "
        f"People were then left out whole, with {counted(solution.suppressed, 'record')} in all; what is said of the "
        "search is not about these."
    )
    return replace(solution, notes=(*solution.notes, note))


def all_records_limit(task: Task, people: PeopleBehind) -> PeoplesLimit:
    """Return the limit on how many people are left to somebody who knows all records of one; of 1 where none is set."""
    least = task.people.all_records_k or 1

    def below(class_of: NDArray[np.int32]) -> NDArray[np.bool_]:
        if least == 1:
            return np.zeros(len(class_of), dtype=np.bool_)
        found: NDArray[np.bool_] = (people_left(class_of, people.numbers) < least) & (class_of >= 0)
        return found

    promise = "every person with a suppressed record is left out whole"
    if least > 1:
        promise = f"{counted(least, 'person')} are left to whoever knows all records of somebody"
    return PeoplesLimit(promise, below, "lower the models' parameters, or let rows lie together")


def all_records_note(class_of: NDArray[np.int32], numbers: NDArray[np.int32], k: int) -> str:
    """Say how many people are left to somebody who knows all records of a person, for a promised class size."""
    published, first = np.unique(np.where(class_of >= 0, numbers, np.int32(-1)), return_index=True)
    persons = first[published >= 0]
    left = people_left(class_of, numbers)
    # Somebody may have a first record that is suppressed, but nobody is suppressed in part.
    own = left[persons]
    fewer = int(np.count_nonzero(own < k))
    return (
        "Records of a person may lie in different classes. Whoever knows all records of somebody is left with "
        f"{counted(int(own.min()), 'person')} at least (all-records k). Half of them are left with "
        f"{int(np.median(own)):,}, and {fewer:,} of {counted(len(own), 'person')} with fewer than {k:,}."
    )


def _few_enough_records(problem: Problem, numbers: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Leave out the fewest people, those with most records, so that nobody has too many of all; bool (n,)."""
    records, gone = with_most_records(problem)
    if records[gone].sum() > problem.suppression_limit or len(gone) == len(records):
        gone = gone[:0]
    kept: NDArray[np.bool_] = ~np.isin(numbers, gone)
    return kept


def _solved_among(problem: Problem, kept: NDArray[np.bool_], solve: Solve) -> Partition:
    """Solve for some of the records; the others are suppressed."""
    if kept.all():
        return solve(problem)
    places = np.flatnonzero(kept)
    found = solve(replace(problem, table=problem.table.take(places)))
    class_of = np.full(len(kept), -1, dtype=np.int32)
    class_of[places] = found.class_of
    cover = None
    if found.cover is not None:
        cover = class_of.copy()
        cover[places] = found.cover
    return replace(found, class_of=class_of, cover=cover)


PROMISED, PROMISED_L = "promised_k", "promised_l"
"""The published columns of what each class promises at least, where people wish for a k, or an l, of their own."""
NOBODY = "people: is about people with several records; name the column that says who they are (person)"
# The people are kept as well, so that no others get their identity.
_FOLDED: OnceForEach[EncodedTable, tuple[tuple[str, ...], int], tuple[NDArray[np.int32], FoldedTable]] = OnceForEach()


def folding_problems(task: Task) -> list[str]:
    """Name what cannot be done for people with several records, or with a k of their own."""
    anonymizer, wishing = task.anonymizer, wishing_of(k=task.wishes is not None, l=task.wished_l is not None)
    what = next(iter(wishing), "person") if task.table.people is None else "person"
    if task.table.people is None and task.people != People():
        return [NOBODY]
    if task.table.people is None and not wishing:
        return []
    if not isinstance(anonymizer, Anonymizer):
        return [f"{what}: {anonymizer.name} counts records, not people; choose another anonymizer, such as mondrian"]
    keyless = task.table.keyless
    problems = list[str]()
    if keyless is not None and keyless.any():
        found = Keyless(task.table.schema.person, int(keyless.sum()), int(keyless.argmax()), len(keyless))
        problems.extend(keyless_problems(task.people, found))
    if task.people.rows == "apart":
        problems.extend(apart_problems(task))
    problems.extend(anonymizer_problems(anonymizer, what, together=task.people.rows != "apart"))
    return [*problems, *wish_problems(task.models, anonymizer, wishing, task.table.frame.columns)]


def anonymizer_problems(anonymizer: Anonymizer, what: str, *, together: bool) -> Iterator[str]:
    """Say what of an algorithm does not go with people who have several records; `what` asks for them."""
    if together and anonymizer.decides_regions:
        apart = ", or let rows lie apart (rows='apart')" if getattr(anonymizer, "people_apart", False) else ""
        yield (
            f"{what}: {anonymizer.name} decides itself what classes publish, which need not cover all records of a "
            f"person; take one that leaves it to the recoding, such as mondrian with extent='tight'{apart}"
        )
    if getattr(anonymizer, "blind", False):
        yield f"{what}: blind cuts count records, not people; leave blind out"


class Keyless(NamedTuple):
    """Records of a table that have no value in the column of people: how many, the first (from 0), of how many."""

    person: PersonKey
    records: int
    first: int
    height: int


def keyless_problems(people: People, keyless: Keyless) -> Iterator[str]:
    """Refuse records without a key, where that is asked for."""
    if people.keyless == "refuse" and keyless.records:
        yield (
            f"people: {counted(keyless.records, 'record')} of {keyless.height:,} without a value in "
            f"{named_key(keyless.person)}, first in row {keyless.first + 1:,}; fill the keys in, leave such "
            "records out, or let each be a person of its own (keyless='alone')"
        )


Wishing = Mapping[str, tuple[str, type[CheckedModel]]]
"""What is wished for: the column that says what classes promise, and the model that keeps it."""


def wishing_of(*, k: bool, l: bool) -> Wishing:  # noqa: E741 - the letters of the literature
    """Return what is wished for: a k, an l or both."""
    found: dict[str, tuple[str, type[CheckedModel]]] = {}
    if k:
        found["wished k"] = PROMISED, KAnonymity
    if l:
        found["wished l"] = PROMISED_L, WishedDiversity
    return found


def wish_problems(
    models: Sequence[PrivacyModel], anonymizer: Anonymizer, wishing: Wishing, columns: Collection[str]
) -> Iterator[str]:
    """Say what does not go with wishes: models, the anonymizer, names of columns."""
    for wish, (column, kept_by) in wishing.items():
        yield from _problems_of_wish(models, anonymizer, wish, kept_by)
        if column in columns:
            yield f"{wish}: the release has a column {column!r} of its own; rename that of the table"


def _problems_of_wish(
    models: Sequence[PrivacyModel], anonymizer: Anonymizer, wish: str, kept_by: type[CheckedModel]
) -> Iterator[str]:
    keeping = [model for model in models if isinstance(model, kept_by)]
    if not keeping:
        names = " or ".join(sorted(each.name for each in MODELS.values() if issubclass(each, kept_by)))
        yield f"{wish}: belongs to {names}; add that model, if only with {wish[-1]} = 1"
    if not getattr(anonymizer, "only_cuts", False):
        for model in keeping:
            if isinstance(model, WishedDiversity) and not TRAITS[model.wished_code].merging:
                yield (
                    f"{wish}: {anonymizer.name} merges classes, which may break wishes about {model.name}; choose "
                    "mondrian, which only cuts them, or distinct-l-diversity"
                )


def solution_for_people(problem: Problem, people: PeopleBehind, task: Task, solve: Solve) -> Partition:
    """Solve a problem so that a person's records share one class, judged by its people; `solve`: of folded ones."""
    if task.people.rows == "apart":
        carry = carried(problem.table, task.table)
        numbers = numbered_by_content(without_unread_columns(problem), people.numbers, (carry, people.wishes))
        return solution_apart(problem, people, numbers, task, solve)
    folded = _folded(problem, people, task)
    return folded_solution(problem, folded, task.policy.suppression_limit, task.recoding, solve)


def folded_solution(
    problem: Problem, folded: FoldedTable, suppression_limit: float, recoding: Recoding, solve: Solve
) -> Partition:
    """Solve a problem by its folded table, within a limit of records and of people; see :func:`solution_for_people`."""
    allowed = math.floor(suppression_limit * folded.table.height + 1e-9)
    within = replace(problem, table=folded.table, suppression_limit=allowed)
    found = solve(within)
    records = _judge_merged(problem, within, unfolded(found, folded), folded, recoding)
    if records.suppressed <= problem.suppression_limit:
        return records
    try:
        sure = replace(within, suppression_limit=_surely_suppressed(folded, problem.suppression_limit))
        return _judge_merged(problem, sure, unfolded(solve(sure), folded), folded, recoding)
    except UnsatisfiableError:
        raise UnsatisfiableError(
            f"suppression: {found.suppressed:,} people with {records.suppressed:,} records would have to be "
            f"suppressed, and the limit allows {problem.suppression_limit:,} records; raise the suppression limit or "
            "lower the models' parameters"
        ) from None


def _folded(problem: Problem, people: PeopleBehind, task: Task) -> FoldedTable:
    """Fold the table of a problem; once for all tasks on it that look at the same attributes and wish nothing."""
    table, numbers = without_unread_columns(problem), people.numbers

    def work() -> tuple[NDArray[np.int32], FoldedTable]:
        carry = carried(problem.table, task.table)
        return numbers, fold(table, numbers, carry, people.wishes, people.wished_l)

    if people.most:
        return work()[1]
    names = tuple(attribute.name for attribute in table.sensitive)
    return _FOLDED.of(problem.table, (names, id(numbers)), work)[1]


def without_unread_columns(problem: Problem) -> EncodedTable:
    """Return the table without the sensitive attributes that no model looks at."""
    table = problem.table
    names = {rule.attribute for rule in rules_of(problem.models, table)}
    places = [place for place, attribute in enumerate(table.sensitive) if attribute.name in names]
    sensitive = tuple(table.sensitive[place] for place in places)
    return replace(table, sensitive=sensitive, sensitive_codes=table.sensitive_codes[:, places])


def _surely_suppressed(folded: FoldedTable, limit: int) -> int:
    """Return how many people have no more records than the limit allows, whoever they are."""
    records = np.bincount(folded.person_of)
    return int(np.searchsorted(np.cumsum(np.sort(records)[::-1]), limit, side="right"))


def _judge_merged(
    problem: Problem, within: Problem, records: Partition, folded: FoldedTable, recoding: Recoding
) -> Partition:
    """Judge classes that are published alike as one, where that may break what somebody wishes for."""
    if all(TRAITS[rule.code].merging for rule in rules_of(within.models, within.table)):
        return records
    judged = Judged(folded.table, np.unique(folded.person_of, return_index=True)[1])
    found = read_as_one(problem, records, recoding, judged)
    if breaking(problem, found, judged).any():
        raise UnsatisfiableError(
            "wishes: the classes that are found do not keep them, nor do all who are left as one class; lower the "
            "largest wishes, or raise the suppression limit"
        )
    return found


def unfolded(partition: Partition, folded: FoldedTable) -> Partition:
    """Give the records of each person the class of the person."""
    cover = None if partition.cover is None else partition.cover[folded.person_of]
    return replace(partition, class_of=partition.class_of[folded.person_of], cover=cover)


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

    Those of one size are records of a wide table: once what all members of every household agree in, and the rest for
    each member. A class of it becomes as many classes as its households have members. So whoever knows all members of a
    household finds all households of its class. They are left out whole. Refused where too few have the size of others.
    O(q n log n), and the anonymizer's cost for each size.
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
    """Solve the households of each size; class of each record, −1 for none; classes; households that fail by size."""
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
