"""The linking attack: somebody joins a published table with a register of names, or looks for one person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.evaluation.attacks.linkage import widened
from sfumato.evaluation.attacks.people import first_numbered
from sfumato.evaluation.attacks.placement import (
    PublishedClasses,
    RegisterAttribute,
    coverage_of,
    distinct_codes,
    likeliest_rows,
    read_publication,
    read_register,
    register_attributes,
)
from sfumato.kernels.linking import ClassCoverage, ClassValues, count_candidates, covering_classes
from sfumato.published import PublishedTable
from sfumato.rates import Rate
from sfumato.recoding.choice import Recoding
from sfumato.release.release import Release
from sfumato.release.verify import read_release
from sfumato.table.person_keys import key_in, keys_of_tables, number_people
from sfumato.table.schema import Schema, text_of


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
    person, register, truth = _with_person(schema, register, truth)
    identity = identity or person or next(iter(schema.identifying), None)
    shared = register_attributes(published, register, schema)
    raise_all(InputError, _problems(published, register, schema, shared, sensitive))
    several = identity is not None and identity == person
    register, truth = _with_keys(register, truth, identity, schema.key_form)
    raise_all(
        InputError, [] if truth is None else _truth_problems(register, truth, identity, sensitive, several=several)
    )
    known = read_register(register, schema, shared)
    publication = read_publication(published, sensitive, known, recoding or Recoding())
    owner = number_people(register[identity]).astype(np.int64) if several and identity else np.arange(register.height)
    owner, _ = first_numbered(owner, owner[:0])
    answers = _answers(publication, known, owner, together=together)
    true_people = (
        None if truth is None else _true_people(register[str(identity)], owner, truth, sensitive, publication.values)
    )
    return _scored(publication, answers, true_people, shared, sensitive, threshold)


@dataclass(frozen=True)
class LinkageResult:
    """The result of a linking attack.

    The rates are shares of the people whom the attack could harm: those of the register who are in the table, or,
    without the truth, those who fit some record.

    * `attributes`: what the register and the published table have in common.
    * `sensitive`: the attribute that the attacker wants to learn.
    * `records`: published records.
    * `known`: their records in it; more than `people` where somebody has several.
    * `matched`: people who fit at least one published record.
    * `singled_out`: people whom exactly one fits; of people with several known records, those whom no more fit than are
      known. An attacker who does not know who is in the table would name them all.
    * `false_matches`: matched people who are not in the table.
    * `missed`: people in the table who fit no published record, because theirs is suppressed or differs.
    * `reidentified`: exactly one record fits, and it is theirs; of people with several, all that fit are theirs. By
      guessing: one record picked from all.
    * `learnt`: all records that fit have the same sensitive value, and it is theirs. By guessing: everybody is said to
      have the most frequent one.
    * `likely`: a share of at least `threshold` of the records that fit have the same sensitive value, and it is theirs.
    * `certainty`: average certainty: the mean of 1 ÷ records that fit, the chance to pick the right one; of people with
      several, that of picking any of theirs.
    * `notes`: what makes the figures doubtful.
    """

    attributes: tuple[str, ...]
    sensitive: str
    records: int
    people: int
    known: int
    matched: int
    singled_out: int
    in_table: int | None
    false_matches: int | None
    missed: int | None
    reidentified: Rate
    learnt: Rate
    likely: Rate
    threshold: float
    certainty: Rate
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        plain = {name: value.to_dict() if isinstance(value, Rate) else value for name, value in vars(self).items()}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}

    def __str__(self) -> str:
        """Return the result as a few lines of text."""
        known = "" if self.in_table is None else f", {self.in_table} of them in the table"
        records = f" with {self.known} records" if self.known > self.people else ""
        false = f" ({self.false_matches} of them are not in the table)" if self.false_matches else ""
        missed = [f"{self.missed} of those in the table fit none"] if self.missed else []
        return "\n".join(
            [
                f"Linking attack by {', '.join(self.attributes)} on {self.records} published records",
                f"  {self.people} people in the register{records}{known}",
                *(f"  {line}" for line in [f"{self.matched} fit at least one record{false}", *missed]),
                f"  {self.singled_out} fit exactly one record"
                + (", or as many as are known of them" if records else ""),
                f"  re-identified with certainty: {self.reidentified}",
                f"  {self.sensitive} learnt with certainty: {self.learnt}",
                f"  {self.sensitive} at least {100 * self.threshold:g} % sure: {self.likely}",
                f"  average certainty: {self.certainty.share:.4f} (by guessing {self.certainty.baseline:.2g})",
                *(f"  note: {note}" for note in self.notes),
            ]
        )


@dataclass(frozen=True, eq=False, repr=False)
class _Answers:
    """By person (people,): candidates that fit, sole, certainty, likeliest value, its share, and known records."""

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


def _with_person(
    schema: Schema, register: pl.DataFrame, truth: pl.DataFrame | None
) -> tuple[str | None, pl.DataFrame, pl.DataFrame | None]:
    """Name the column of people that a register has, if any; a key of several columns becomes one in both tables."""
    keys = schema.key_columns
    if not keys or not {*keys} <= {*register.columns}:
        return None, register, truth
    if len(keys) == 1:
        return keys[0], register, truth
    whole = [
        table if table is None or not {*keys} <= {*table.columns} else table.with_columns(key_in(table, keys))
        for table in (register, truth)
    ]
    return ", ".join(keys), whole[0], whole[1]  # type: ignore[return-value]


def _with_keys(
    register: pl.DataFrame, truth: pl.DataFrame | None, identity: str | None, form: str | None
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return both with names that are compared as everywhere."""
    tables = [table for table in (register, truth) if table is not None and identity in table.columns]
    if identity is None or not tables:
        return register, truth
    keys = keys_of_tables([table[identity] for table in tables], form)
    named = iter([table.with_columns(own.alias(identity)) for table, own in zip(tables, keys, strict=True)])
    first, other = (next(named) if any(table is each for each in tables) else table for table in (register, truth))
    assert first is not None
    return first, other


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
    knowledge, classes = (known, publication) if scattered else widened(known, publication, owner, people)
    candidates, likeliest, agreeing = _counted(classes, knowledge)
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
    people, vector_of = distinct_codes(known)
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
    true_people: _TruePeople | None,
    shared: tuple[str, ...],
    sensitive: str,
    threshold: float,
) -> LinkageResult:
    candidates, share = answers.candidates, answers.share
    matched = candidates > 0
    harmed = matched if true_people is None else true_people.inside
    right = matched if true_people is None else matched & true_people.have(answers.likeliest)
    people = int(harmed.sum())
    usual = np.full(len(candidates), publication.totals.argmax())
    usually_right = publication.totals.max() if true_people is None else np.count_nonzero(true_people.have(usual))
    guessed = float(usually_right / (publication.records if true_people is None else max(1, people)))
    records = answers.known if true_people is None else true_people.records
    picked = int(records[harmed].sum()) / (people * publication.records) if people else 1 / publication.records
    return LinkageResult(
        attributes=shared,
        sensitive=sensitive,
        records=publication.records,
        people=len(candidates),
        known=int(answers.known.sum()),
        matched=int(matched.sum()),
        singled_out=int(answers.sole.sum()),
        in_table=None if true_people is None else people,
        false_matches=None if true_people is None else int((matched & ~harmed).sum()),
        missed=None if true_people is None else int((harmed & ~matched).sum()),
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


@dataclass(frozen=True, eq=False, repr=False)
class _TruePeople:
    """The sensitive codes of the people of a register who are in the table, −1 if no row has the value.

    `person`, `code`: int64, one entry for each of their records.
    """

    person: NDArray[np.int64]
    code: NDArray[np.int64]
    people: int

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Tell who is in the table, bool (people,)."""
        return self.records > 0

    @property
    def records(self) -> NDArray[np.int64]:
        """Return how many records each has in the table, int64 (people,)."""
        return np.bincount(self.person, minlength=self.people).astype(np.int64)

    def have(self, values: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Tell who has a value: one for everybody, int (people,)."""
        right = self.person[self.code == values[self.person]]
        found: NDArray[np.bool_] = np.bincount(right, minlength=self.people) > 0
        return found


def _true_people(
    names: pl.Series, owner: NDArray[np.int64], truth: pl.DataFrame, sensitive: str, values: Sequence[str | None]
) -> _TruePeople:
    """Find the people of a register, by the `names` and `owner` of its rows, in the table `truth` with that column."""
    code_of = {value: code for code, value in enumerate(values)}
    codes = np.array([code_of.get(text, -1) for text in text_of(truth[sensitive]).to_list()], dtype=np.int64)
    rows = zip(names.to_list(), owner.tolist(), strict=True)
    place_of = {name: place for name, place in rows if name is not None}
    person = np.array([place_of.get(name, -1) for name in truth[names.name].to_list()], dtype=np.int64)
    there = person >= 0
    return _TruePeople(person[there], codes[there], int(owner.max()) + 1)


def fits(
    release: Release | PublishedTable | str | Path,
    record: Mapping[str, Any] | pl.DataFrame,
    schema: Schema | None = None,
    *,
    recoding: Recoding | None = None,
) -> pl.DataFrame:
    """Return the published records that fit one record: what somebody finds who looks for that person.

    A published record fits when its value of every quasi-identifying attribute that `record` names covers the value
    there. An empty value says nothing. Original and published records are never matched one to one; this is what is
    left of such a match.

    Parameters
    ----------
    release
        A release of a generalized table, its folder, or the published table.
    record
        Original values: a mapping from names of columns, or a frame of one row. Other columns are not looked at.
    schema
        Kinds and hierarchies, as the release was made with. None takes the roles of the release, and no hierarchies:
        then a value that was published as a node of a hierarchy fits only ``*`` and itself.
    recoding
        How the table was published; None takes what a release says, else the defaults.

    Returns
    -------
    polars.DataFrame
        The rows that fit, in the order of the release, which is random.

    Raises
    ------
    InputError
        When the release is no generalized table, or `record` is not one row, shares no quasi-identifying attribute with
        the release, or has a value of another kind.

    Notes
    -----
    Cost O(n · q) for n published records.

    Examples
    --------
    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": [30, 31, 40, 41], "disease": ["flu", "cold", "flu", "cough"]})
    >>> schema = sf.Schema(quasi_identifying=["age"], sensitive=["disease"])
    >>> release = sf.anonymize(sf.read_table(people, schema), sf.KAnonymity(2))
    >>> sorted(sf.fits(release, {"age": 31})["disease"])
    ['cold', 'flu']
    """
    published, edition = _opened(release)
    known = record if isinstance(record, pl.DataFrame) else _row(record)
    roles = schema or Schema(quasi_identifying=published.quasi_identifying, sensitive=published.sensitive)
    return fitting_records(published.data, known, roles, recoding=recoding or edition)


def fitting_records(
    published: pl.DataFrame, person: pl.DataFrame, schema: Schema, *, recoding: Recoding | None = None
) -> pl.DataFrame:
    """Return the published records, by row, that fit one person of a register. Cost O(n · q)."""
    shared = register_attributes(published, person, schema)
    if person.height != 1 or not shared:
        raise InputError("person: give one row that shares a quasi-identifying column with the published table")
    known = read_register(person, schema, shared)
    publication = read_publication(published, shared[0], known, recoding or Recoding())
    rows = np.cumsum([0, *(each.attribute.size + 1 for each in known)]).astype(np.int64)
    shifts = np.zeros(len(known), dtype=np.int64)
    labels = publication.label_of, publication.runs, publication.low, publication.high
    table = covering_classes(ClassCoverage(*labels, rows, shifts))
    rows_of_people = [int(row + each.codes[0]) for row, each in zip(rows, known, strict=False) if each.codes[0] >= 0]
    fitting = np.bitwise_and.reduce(table[rows_of_people], axis=0)
    fits = np.unpackbits(fitting.view(np.uint8), bitorder="little")[publication.class_of]
    return published.filter(pl.Series(fits.astype(np.bool_)))


def _opened(release: object) -> tuple[PublishedTable, Recoding]:
    opened = read_release(release)
    if not isinstance(opened.published, PublishedTable):
        raise InputError(f"a {opened.published.kind} has no records whose values cover those of a person")
    return opened.published, opened.policy.recoding()


def _row(record: Mapping[str, Any]) -> pl.DataFrame:
    if not all(value is None or isinstance(value, (str, int, float, date)) for value in record.values()):
        raise InputError("record: give one plain value for each column")
    return pl.DataFrame({name: [value] for name, value in record.items()})
