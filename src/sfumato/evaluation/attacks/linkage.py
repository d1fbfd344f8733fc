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
from sfumato.evaluation.attacks.publication import PublishedClasses, read_publication
from sfumato.evaluation.attacks.register import RegisterAttribute, read_register, shared_attributes
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking.linkage import ClassValues, count_candidates, covering_classes
from sfumato.rates import Rate
from sfumato.recoding.choice import Recoding
from sfumato.table.kinds import text_of
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
        One row per person: a name, and quasi-identifying attributes with their original values.
    schema
        Roles, kinds and hierarchies of the published table. Attributes that the register does not have are not used.
    sensitive
        The attribute that the attacker wants to learn; None takes the only sensitive one.
    truth
        For scoring alone, never for the attack: who is in the table, and their true sensitive value (the original table
        is enough). None: everybody who fits counts as being in the table, and every certain answer as right.
    identity
        The column of names in `register` and `truth`; None takes the first identifying column of the schema.
    recoding
        How the table was published; None takes the defaults.
    threshold
        Share of the candidates from which on a sensitive value counts as likely, above 0 to 1.

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
    *Reading the result.* Generalization keeps the true record among those that fit, so certainty is certainty as long
    as the register is right. After shuffling, nobody knows which of several equal records is whose: a person counts as
    re-identified when one record fits, the person is in the table, and the record has their sensitive value. For a
    table of class means see :func:`sfumato.recoding.parsing.parse`: figures are too low.

    Cost O(n · q) to read n records, then O(m · c / 64 · q + fitting pairs) for m distinct vectors of the register and
    c distinct published ones; memory at most 64 MiB besides.
    """
    sensitive = _chosen_sensitive(schema, sensitive, threshold)
    identity = identity or next(iter(schema.identifying), None)
    shared = shared_attributes(published, register, schema)
    raise_all(InputError, _problems(published, register, schema, shared, sensitive))
    raise_all(InputError, [] if truth is None else _truth_problems(register, truth, identity, sensitive))
    known = read_register(register, schema, shared)
    publication = read_publication(published, sensitive, known, recoding or Recoding())
    answers = _answers(publication, known)
    told = (
        None if truth is None or identity is None else _true_values(register, truth, identity, sensitive, publication)
    )
    return _scored(publication, answers, told, shared, sensitive, threshold)


@dataclass(frozen=True, eq=False, repr=False)
class _Answers:
    """Per person of the register: records that fit, likeliest sensitive value, and records that have it; (people,)."""

    candidates: NDArray[np.int64]
    likeliest: NDArray[np.int32]
    agreeing: NDArray[np.int64]


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


def _truth_problems(register: pl.DataFrame, truth: pl.DataFrame, identity: str | None, sensitive: str) -> list[str]:
    if identity is None:
        return ["identity: the schema has no identifying column; name the column that holds the names"]
    tables = (("register", register, (identity,)), ("truth", truth, (identity, sensitive)))
    problems = [
        f"the {what} has no column {name!r}"
        for what, frame, names in tables
        for name in names
        if name not in frame.columns
    ]
    for what, frame, _ in tables:
        names = frame[identity].drop_nulls() if identity in frame.columns else pl.Series([])
        repeated = len(names) - names.n_unique()
        if repeated:
            problems.append(
                f"the {what}, column {identity!r}: {repeated} name(s) repeat an earlier one; make them unique"
            )
    return problems


def _answers(publication: PublishedClasses, known: Sequence[RegisterAttribute]) -> _Answers:
    """Play the attack on the distinct vectors of the register, and give every person the answer for theirs."""
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
    return _Answers(candidates[vector_of], likeliest[vector_of], agreeing[vector_of])


def _true_values(
    register: pl.DataFrame, truth: pl.DataFrame, identity: str, sensitive: str, publication: PublishedClasses
) -> NDArray[np.int64]:
    """Return everybody's sensitive code: −2 if not in the table, −1 if nobody there has the value."""
    code_of = {value: code for code, value in enumerate(publication.values)}
    codes = [code_of.get(text, -1) for text in text_of(truth[sensitive]).to_list()]
    told = dict(zip(text_of(truth[identity]).to_list(), codes, strict=True))
    told.pop(None, None)
    return np.array([told.get(name, -2) for name in text_of(register[identity]).to_list()], dtype=np.int64)


def _scored(
    publication: PublishedClasses,
    answers: _Answers,
    told: NDArray[np.int64] | None,
    shared: tuple[str, ...],
    sensitive: str,
    threshold: float,
) -> LinkageResult:
    candidates = answers.candidates
    matched = candidates > 0
    harmed = matched if told is None else told >= -1
    right = matched if told is None else matched & (told == answers.likeliest)
    people = int(harmed.sum())
    share = answers.agreeing / np.maximum(candidates, 1)
    usual = int(publication.totals.argmax())
    usually_right = publication.totals[usual] if told is None else np.count_nonzero(told == usual)
    guessed = float(usually_right / (publication.records if told is None else max(1, people)))
    picked = 1 / publication.records
    return LinkageResult(
        attributes=shared,
        sensitive=sensitive,
        records=publication.records,
        people=len(candidates),
        matched=int(matched.sum()),
        singled_out=int((candidates == 1).sum()),
        in_table=None if told is None else people,
        false_matches=None if told is None else int((matched & ~harmed).sum()),
        missed=None if told is None else int((harmed & ~matched).sum()),
        reidentified=Rate(int((right & (candidates == 1)).sum()), people, picked),
        learnt=Rate(int((right & (share == 1)).sum()), people, guessed),
        likely=Rate(int((right & (share >= threshold - 1e-12)).sum()), people, guessed),
        threshold=threshold,
        certainty=Rate(float((1 / candidates[harmed & matched]).sum()), people, picked),
        notes=tuple(
            f"no published value of {name!r} fits anybody; check its kind, hierarchy and form"
            for name in publication.unmatched
        ),
    )
