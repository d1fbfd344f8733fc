"""The linking attack: somebody joins a published table with a register of names.

The soccer paper (its figure 1) and the thesis (1.5 and 1.6) show it on tables of a few lines; here it is played on
tables of any size, original or generalized, and scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.grouping import group_records
from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.evaluation.attacks.coverage import coverage_of
from sfumato.evaluation.attacks.linkage_result import LinkageResult
from sfumato.evaluation.attacks.linkage_truth import TruePeople, true_people
from sfumato.evaluation.attacks.publication import PublishedClasses, read_publication
from sfumato.evaluation.attacks.register import RegisterAttribute, read_register, shared_attributes
from sfumato.evaluation.attacks.scattered_rows import likeliest_rows
from sfumato.evaluation.attacks.victims import first_numbered
from sfumato.evaluation.attacks.widening import widened
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking.linkage import ClassValues, count_candidates, covering_classes
from sfumato.rates import Rate
from sfumato.recoding.choice import Recoding
from sfumato.table.person_column import number_people
from sfumato.table.schema import Schema


def linking_attack(
    published: pl.DataFrame,
    register: pl.DataFrame,
    schema: Schema,
    *,
    sensitive: str | None = None,
    truth: pl.DataFrame | None = None,
    identity: str | None = None,
    recoding: Recoding | None = None,
    threshold: float = 0.9,
    together: bool = True,
) -> LinkageResult:
    """Link a published table with a register of names, and score what that discloses.

    A published record fits a person when its value of every shared quasi-identifying attribute covers the person's.
    The attacker sees the published values, the register, and the hierarchies of `schema`, which are public. An empty
    cell of the register says nothing and fits every record; an empty published cell is a value of its own and fits
    nobody whose value is known.

    Parameters
    ----------
    published
        What was published: a generalized table, or an original one with the names removed.
    register
        A name, and quasi-identifying attributes with their original values. One row for each person; rows with one key,
        if `schema` names a person column and the register has it, are one person of whom several records are known.
    schema
        Roles, kinds and hierarchies of the published table. Attributes that the register does not have are not used.
    sensitive
        The attribute that the attacker wants to learn; None takes the only sensitive one.
    truth
        For scoring alone, never for the attack: who is in the table, and their true sensitive value (the original table
        is enough). None: everybody who fits counts as being in the table, and every certain answer as right.
    identity
        The column of names in `register` and `truth`; None takes the person column of the schema if the register has
        it, else the first identifying column.
    recoding
        How the table was published; None takes the defaults.
    threshold
        Share of the candidates from which on a sensitive value counts as likely, above 0 to 1.
    together
        For people with several known records: True if all rows of a person lie in one class, as in a release that was
        made with a person column; then those rows fit whose class covers all of them. False if they may lie anywhere:
        then each record fits by itself, and the attacker looks where the rows of a person are densest.

    Returns
    -------
    LinkageResult

    Raises
    ------
    InputError
        With everything that is wrong with the tables: no shared attribute, missing columns, no rows, cells of another
        kind than declared, names that are not unique.
    PolicyError
        When `threshold` is not a share, or when `sensitive` must be named.

    Notes
    -----
    *People with several records.* What is learnt of a person counts if any record of theirs has the value: of the known
    ones, if they are looked up by themselves, the one about which the attacker is surest. Someone is re-identified if
    all rows that fit are theirs.

    *Reading the result.* Generalization keeps the true record among those that fit, so certainty is certainty as long
    as the register is right. After shuffling, nobody knows which of several equal records is whose: a person counts as
    re-identified when one record fits, the person is in the table, and the record has their sensitive value. For a
    table of class means see :func:`sfumato.recoding.parsing.parse`: figures are too low.

    Cost O(n · q) to read n records, then O(m · c / 64 · q + fitting pairs) for m distinct vectors of the register and
    c distinct published ones; memory at most 64 MiB besides.
    """
    sensitive = _chosen_sensitive(schema, sensitive, threshold)
    person = schema.person if schema.person is not None and schema.person in register.columns else None
    identity = identity or person or next(iter(schema.identifying), None)
    shared = shared_attributes(published, register, schema)
    raise_all(InputError, _problems(published, register, schema, shared, sensitive))
    several = identity is not None and identity == schema.person
    raise_all(
        InputError, [] if truth is None else _truth_problems(register, truth, identity, sensitive, several=several)
    )
    known = read_register(register, schema, shared)
    publication = read_publication(published, sensitive, known, recoding or Recoding())
    owner = number_people(register[identity]).astype(np.int64) if several and identity else np.arange(register.height)
    owner, _ = first_numbered(owner, owner[:0])
    answers = _answers(publication, known, owner, together=together)
    told = None if truth is None else true_people(register[str(identity)], owner, truth, sensitive, publication.values)
    return _scored(publication, answers, told, shared, sensitive, threshold)


@dataclass(frozen=True, eq=False, repr=False)
class _Answers:
    """Per person of the register: what the attacker finds; (people,).

    candidates : records that fit, of which one is picked. sole : whether all of them are certainly the person's.
    certainty : chance that it is the person's, as far as the attacker can tell.
    likeliest : the likeliest sensitive value. share : of the records that were looked at for it, those that have it.
    known : known records of each.
    """

    candidates: NDArray[np.int64]
    sole: NDArray[np.bool_]
    certainty: NDArray[np.float64]
    likeliest: NDArray[np.int32]
    share: NDArray[np.float64]
    known: NDArray[np.int64]


def _chosen_sensitive(schema: Schema, sensitive: str | None, threshold: float) -> str:
    problems = []
    if not (isinstance(threshold, (int, float)) and 0 < threshold <= 1):
        problems.append("threshold: must be a share above 0, at most 1")
    if sensitive is None and len(schema.sensitive) != 1:
        problems.append(f"sensitive: the schema has {len(schema.sensitive)} sensitive columns; name the one to attack")
    raise_all(PolicyError, problems)
    return sensitive or next(iter(schema.sensitive))


def _problems(
    published: pl.DataFrame, register: pl.DataFrame, schema: Schema, shared: Sequence[str], sensitive: str
) -> list[str]:
    tables = (("published table", published), ("register", register))
    problems = [f"the {what} has no rows" for what, frame in tables if not frame.height]
    if not shared:
        problems.append(
            "the register and the published table share no quasi-identifying column, so nothing links them; "
            f"the schema names {', '.join(schema.quasi_identifying)}"
        )
    if sensitive not in published.columns:
        problems.append(f"the published table has no column {sensitive!r}, which is to be learnt")
    return problems


def _truth_problems(
    register: pl.DataFrame, truth: pl.DataFrame, identity: str | None, sensitive: str, *, several: bool
) -> list[str]:
    if identity is None:
        return ["identity: the schema has no identifying column; name the column that holds the names"]
    tables = (("register", register, (identity,)), ("truth", truth, (identity, sensitive)))
    problems = [
        f"the {what} has no column {name!r}"
        for what, frame, names in tables
        for name in names
        if name not in frame.columns
    ]
    for what, frame, _ in () if several else tables:
        names = frame[identity].drop_nulls() if identity in frame.columns else pl.Series([])
        repeated = len(names) - names.n_unique()
        if repeated:
            problems.append(
                f"the {what}, column {identity!r}: {repeated} name(s) repeat an earlier one; make them unique"
            )
    return problems


def _answers(
    publication: PublishedClasses, known: Sequence[RegisterAttribute], owner: NDArray[np.int64], *, together: bool
) -> _Answers:
    """Play the attack on the distinct vectors of the register, and give every person the answer for theirs."""
    people = int(owner.max()) + 1
    times = np.bincount(owner, minlength=people).astype(np.int64)
    scattered = people < len(owner) and not together
    told, classes = (known, publication) if scattered else widened(known, publication, owner, people)
    candidates, likeliest, agreeing = _counted(classes, told)
    share = agreeing / np.maximum(candidates, 1)
    if not scattered:
        certainty = np.minimum(times, candidates) / np.maximum(candidates, 1)
        return _Answers(candidates, (candidates > 0) & (candidates <= times), certainty, likeliest, share, times)
    order = np.lexsort((likeliest, candidates, -share, owner))
    surest = order[np.searchsorted(owner[order], np.arange(people))]
    rows = likeliest_rows(known, publication, owner, people)
    return _Answers(rows.rows, rows.sole, rows.chance, likeliest[surest], share[surest], times)


def _counted(
    publication: PublishedClasses, known: Sequence[RegisterAttribute]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    told = np.column_stack([each.codes for each in known])
    vector_of, count = group_records(told + 1)
    people = np.ascontiguousarray(told[first_records(vector_of, count)])
    coverage = coverage_of(publication, known)
    candidates, likeliest, agreeing = count_candidates(
        people,
        coverage,
        covering_classes(coverage),
        publication.sizes,
        ClassValues(publication.starts, publication.value_of, publication.counts),
        len(publication.values),
    )
    return candidates[vector_of], likeliest[vector_of], agreeing[vector_of]


def _scored(
    publication: PublishedClasses,
    answers: _Answers,
    told: TruePeople | None,
    shared: tuple[str, ...],
    sensitive: str,
    threshold: float,
) -> LinkageResult:
    candidates, share = answers.candidates, answers.share
    matched = candidates > 0
    harmed = matched if told is None else told.inside
    right = matched if told is None else matched & told.have(answers.likeliest)
    people = int(harmed.sum())
    usual = np.full(len(candidates), publication.totals.argmax())
    usually_right = publication.totals.max() if told is None else np.count_nonzero(told.have(usual))
    guessed = float(usually_right / (publication.records if told is None else max(1, people)))
    records = answers.known if told is None else told.records
    picked = int(records[harmed].sum()) / (people * publication.records) if people else 1 / publication.records
    return LinkageResult(
        attributes=shared,
        sensitive=sensitive,
        records=publication.records,
        people=len(candidates),
        known=int(answers.known.sum()),
        matched=int(matched.sum()),
        singled_out=int(answers.sole.sum()),
        in_table=None if told is None else people,
        false_matches=None if told is None else int((matched & ~harmed).sum()),
        missed=None if told is None else int((harmed & ~matched).sum()),
        reidentified=Rate(int((right & answers.sole).sum()), people, picked),
        learnt=Rate(int((right & (share == 1)).sum()), people, guessed),
        likely=Rate(int((right & (share >= threshold - 1e-12)).sum()), people, guessed),
        threshold=threshold,
        certainty=Rate(float(answers.certainty[harmed & matched].sum()), people, picked),
        notes=tuple(
            f"no published value of {name!r} fits anybody; check its kind, hierarchy and form"
            for name in publication.unmatched
        ),
    )
