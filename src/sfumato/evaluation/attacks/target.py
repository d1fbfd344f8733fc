"""Read the arguments of a call into a target for attacks."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import polars as pl

from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.errors import InputError, PolicyError, SfumatoError
from sfumato.evaluation.attacks.known_records import is_number_known
from sfumato.evaluation.attacks.posterior import sensitive_of
from sfumato.evaluation.attacks.protocol import RecordsKnown, RowsOfPeople, Target
from sfumato.progress import Progress, thread_count
from sfumato.published import Published
from sfumato.randomness import seed_problems
from sfumato.recoding import Recoding
from sfumato.release.opening import OpenedRelease, open_release
from sfumato.release.policy_text import PublishedPolicy
from sfumato.table.csv_format import CsvFormat
from sfumato.table.header import repeated
from sfumato.table.person_column import number_people
from sfumato.table.reading import read_table
from sfumato.table.schema import Schema
from sfumato.table.sources import open_source
from sfumato.table.table import Table
from sfumato.table.texts import clean

Given = TypeVar("Given")
Read = TypeVar("Read")


def target_of(
    release: object,
    original: object,
    *,
    schema: Schema | None,
    control: object,
    register: object,
    earlier: object,
    recoding: Recoding | None,
    records_known: RecordsKnown,
    seed: int | None,
    threads: int | None,
    progress: Progress,
    errors: list[SfumatoError],
) -> Target | None:
    """Read everything; return None, and add `errors`, if something is wrong.

    Parameters are those of :func:`sfumato.attack`.
    """
    before = len(errors)
    opened = _collected(errors, "release", open_release, release)
    people = _collected(errors, "original", lambda given: _people(given, schema, "original"), original)
    known = people.schema if people is not None else schema
    others = _collected(errors, "control", lambda given: _people(given, known, "control"), control)
    names = _collected(errors, "register", read_frame, register)
    other = _collected(errors, "earlier", open_release, earlier)
    count = _collected(errors, "", thread_count, threads) if threads is not None else _threads(errors)
    problems = _setting_problems(recoding, records_known, seed)
    if opened is not None and people is not None:
        problems += _unlike(opened.published, people, "original")
        problems += [] if others is None else _unlike(opened.published, others, "control")
    if problems:
        errors.append(InputError(*problems))
    if len(errors) > before or opened is None or people is None:
        return None
    return Target(
        published=opened.published,
        original=people,
        control=others,
        register=names,
        earlier=None if other is None else other.published,
        models=opened.description.models if opened.description else (),
        rows=rows_of_people(opened),
        earlier_rows=rows_of_people(other),
        records_known=records_known,
        anonymizer=_anonymizer(opened.policy),
        recoding=recoding or opened.policy.recoding(),
        seed=seed,
        threads=count or 1,
        progress=progress,
    )


def rows_of_people(opened: OpenedRelease | None) -> RowsOfPeople:
    """Read off what a release says of itself how the rows of a person lie in it.

    A release that promises people nothing says nothing of their rows, so that they may lie anywhere.
    """
    promised = opened is not None and opened.description is not None and opened.description.people is not None
    return RowsOfPeople(promised, together=promised and opened is not None and opened.policy.rows_together())


def read_frame(source: object) -> pl.DataFrame:
    """Read a file, every cell of a CSV file as text, or take a frame of polars, pandas or Arrow.

    Raises
    ------
    InputError
        When it cannot be read.
    """
    opened = open_source(source, CsvFormat())
    if repeated(opened.names):
        raise InputError("several columns have the same name; rename them")
    columns = opened.read(opened.names)
    if opened.is_text:
        columns = [clean(column, strip=True).cast(pl.String).replace("", None) for column in columns]
    return pl.DataFrame([column.alias(name) for column, name in zip(columns, opened.names, strict=True)])


def _people(given: object, schema: Schema | None, what: str) -> Table:
    """Take a table, or read one with its names."""
    if isinstance(given, Table):
        return given
    if schema is None:
        raise PolicyError("is not a table; read it with sfumato.read_table, or give its schema (schema=)")
    # Others may lack the columns that tell who they are.
    known = schema if what == "original" else replace(schema, identifying=(), person=_key_in(given, schema))
    keys = [] if known.person is None else [known.person]
    kept = Schema(
        quasi_identifying=schema.quasi_identifying,
        sensitive=schema.sensitive,
        insensitive=(*schema.insensitive, *known.identifying, *keys),
        others="drop" if schema.others == "error" and what == "control" else schema.others,
    )
    table = read_table(given, kept)
    # Names and keys stay in the frame, for a register to be compared with.
    people = number_people(table.frame[known.person]) if known.person is not None else None
    return replace(table, schema=replace(schema, person=known.person), people=people, repeated=None)


def _key_in(given: object, schema: Schema) -> str | None:
    """Return the column that says who people are, if there is one in a file or frame."""
    return schema.person if schema.person in open_source(given, CsvFormat()).names else None


def _unlike(published: Published, people: Table, what: str) -> list[str]:
    schema = people.schema
    quasi = getattr(published, "quasi_identifying", None)
    if quasi is None:
        quasi = {name for column in getattr(published, "columns", ()) for name in column} - {*sensitive_of(published)}
    problems = []
    if not set(quasi) & set(schema.quasi_identifying):
        problems.append(
            f"{what}: has none of the quasi-identifying columns of the release ({', '.join(sorted(quasi))}); give the "
            "schema or policy that the release was made with"
        )
    problems += [
        f"{what}: has no column {name!r}, which the release has as sensitive"
        for name in sensitive_of(published)
        if name not in people.frame.columns
    ]
    return problems


def _setting_problems(recoding: object, records_known: object, seed: object) -> list[str]:
    problems = []
    if not is_number_known(records_known):
        problems.append("records_known: must be 'all', 'one' or a whole number of 1 or more")
    if recoding is not None and not isinstance(recoding, Recoding):
        problems.append("recoding: must be a Recoding")
    return problems + seed_problems(seed)


def _threads(errors: list[SfumatoError]) -> int | None:
    try:
        return thread_count(None)
    except PolicyError as error:
        errors.append(error)
        return None


def _collected(
    errors: list[SfumatoError], what: str, read: Callable[[Given], Read], given: Given | None
) -> Read | None:
    """Read one thing, or keep its error, with its name, until all have been read."""
    if given is None:
        if what in ("release", "original"):
            errors.append(InputError(f"{what}: is missing"))
        return None
    try:
        return read(given)
    except SfumatoError as error:
        start = f"{what}: " if what else ""
        errors.append(type(error)(*(f"{start}{problem}" for problem in error.problems)))
        return None


def _anonymizer(policy: PublishedPolicy) -> object | None:
    """Build the algorithm that a published policy names; None if it cannot be built from it."""
    name, settings = policy.algorithm() or ("", {})
    made = ChainMap[str, Any](ANONYMIZERS, PUBLISHERS).get(name)  # type: ignore[arg-type]
    try:
        return None if made is None else made(**settings)
    except (SfumatoError, TypeError):
        return None
