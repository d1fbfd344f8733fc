"""A release of a table that need not fit into memory: the same records as in memory, written in parts."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.dealt import Dealing, Deals
from sfumato.anonymizers.protocol import Anonymizer, Problem, Publisher
from sfumato.classes.partition import Form, GeneralizedTable, Partition, class_as_read
from sfumato.classes.statistics import largest_of
from sfumato.engines import Engine, LocalEngine
from sfumato.engines.disk import (
    BLOCK,
    PublishedColumns,
    PublishedParts,
    SolvedOnDisk,
    need_of_codes,
    part_count,
    refuse_beyond,
    solve_on_disk,
)
from sfumato.engines.disk_dealt import CountedParts, DealtParts, ordered_columns
from sfumato.errors import InputError, PolicyError, VerificationError, raise_all
from sfumato.findings.review import Finding, remarks_on, severe_findings
from sfumato.metrics import Losses, measure_losses
from sfumato.metrics.losses import peoples_penalty
from sfumato.models.protocol import (
    Outcome,
    PrivacyModel,
    limits_of_values,
    of_population,
    says,
    smallest_allowed,
    whole_table_models,
)
from sfumato.policy.parts import People, Wish
from sfumato.policy.policy import Policy
from sfumato.progress import Progress, silent, thread_count
from sfumato.published import KINDS, BucketizedTables, PublishedTable
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.parts import countable_in_parts
from sfumato.published.checks.people import limits_of_people
from sfumato.randomness import seed_problems
from sfumato.release.anonymize import counted_as_read, meaningless_choices, only_by_the_left_out, own_values
from sfumato.release.audit import Audit, check_audit_place, folder_with_audit
from sfumato.release.description import (
    Description,
    SensitiveDescription,
    TableFacts,
    describe_model,
    published_hierarchy,
    versions,
)
from sfumato.release.folding import (
    NOBODY,
    PROMISED,
    PROMISED_L,
    Keyless,
    anonymizer_problems,
    folded_solution,
    keyless_problems,
    wish_problems,
    wishing_of,
    without_unread_columns,
)
from sfumato.release.formulas import (
    Formulas,
    cells_like_formulas,
    frames_without_formulas,
    names_like_formulas,
    values_like_formulas,
)
from sfumato.release.parts import TABLE, recounted_in_parts, write_parts
from sfumato.release.people import PeopleBehind, carried, wish_notes
from sfumato.release.problem import allowed_solution, exact_set_notes, mean_notes, problems_in, recoding_problems
from sfumato.release.release import audit_file
from sfumato.release.reports import KindReport, Report
from sfumato.release.table_files import write_texts
from sfumato.release.task import (
    advice_on_columns,
    finding_notes,
    one_record_problems,
    passing_notes,
    promised_columns,
    refuse_open_findings,
    setting_problems,
    wished,
    with_choice,
    with_open_findings,
)
from sfumato.release.transaction import check_target
from sfumato.table.databases.address import is_database
from sfumato.table.folding import fold
from sfumato.table.large.batches import OpenedFile, opened_file
from sfumato.table.large.coding import CodedColumn, Coding, LargeTable, coded_table, leave_codes, left_codes
from sfumato.table.large.memory import LEAST, SHARE, free_memory, let_go, memory_size, spill_folder
from sfumato.table.person_keys import named_key
from sfumato.table.reading import named_source
from sfumato.table.schema import Kind, Schema, text_of
from sfumato.table.sources.protocol import Reading
from sfumato.table.table import keyless_note
from sfumato.table.writing import PLAIN, Format, single_numbers

log = logging.getLogger(__name__)

# Bucketization and slicing of a table on disk: what is to be written, and what is said of it.


DEALT, SLICED = 80, 260
"""Bytes that a record takes that is dealt by its sensitive values alone, or by all, at most about."""
NOT_COUNTED = ("overlapping-slicing",)
"""Publishers that deal, and whose releases are recounted as a whole."""


def not_dealt(publisher: Publisher, policy: Policy, cure: str) -> Iterator[str]:
    """Say what the disk engine does not have of releases of other kinds."""
    name = publisher.name
    if not isinstance(publisher, Deals):
        yield f"engine: the disk engine generalizes, fills buckets and slices, and {name} does something else; {cure}"
    elif name in NOT_COUNTED:
        yield (
            "engine: columns that share attributes are recounted by joining them, which the disk engine does not do; "
            f"take slicing, or {cure}"
        )
    if policy.columns.person is not None:
        yield (
            f"engine: {name} counts records, and the disk engine does not look whether "
            f"{named_key(policy.columns.person)} name anybody twice; {cure}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class DealingTask:
    """What is to be dealt."""

    deals: Deals
    policy: Policy
    problem: Problem  # its table lies on disk
    large: LargeTable
    folder: Path  # a private one

    def problems(self) -> list[str]:
        """Say which settings, columns and models do not fit."""
        fits = partial(self.deals.check, self.large.encoded, self.problem.models)
        found = [*meaningless_choices(self.policy, self.deals), *problems_in(fits)]
        if self.problem.seed is not None and self.large.carried and not self._leaves_out_insensitive:
            found.append(
                f"engine: under a seed {self.deals.name} tells records with equal values apart by insensitive columns. "
                "The disk engine does not hold these; leave the seed or those columns out, or use --engine memory"
            )
        return found

    @property
    def _leaves_out_insensitive(self) -> bool:
        return self.deals.kind == BucketizedTables.kind

    def solved(self) -> SolvedDealing:
        """Decide by the codes where everything goes; ``UnsatisfiableError`` as of `Publisher.publish`."""
        source = ordered_columns(self.large, self.problem.seed, by_sensitive_alone=self.deals.by_sensitive_alone)
        dealing = self.deals.deal(replace(self.problem, table=source.encoded), source)
        rows = DealtParts(source, dealing.rows, self.folder)
        if dealing.counts is None:
            return SolvedDealing({"data": rows}, dealing)
        counts = CountedParts(dealing.counts, self.large.sensitive[0])
        return SolvedDealing({"quasi_identifying": rows, "sensitive": counts}, dealing)

    def report_on(self, solved: SolvedDealing, more: Iterable[str]) -> Callable[[Verification], KindReport]:
        """Return what makes the report of a recount, with some more notes; it does not hold what was solved."""
        large, policy = self.large, self.policy
        names = {name for parts in solved.parts.values() for name in parts.columns.names}
        report = partial(
            KindReport,
            repr(self.deals),
            self.deals.kind,
            large.height,
            suppression_limit=policy.suppression_limit,
            limits=(
                *KINDS[self.deals.kind].limits,
                *limits_of_values(
                    self.problem.models, tuple(large.schema.sensitive), blind=getattr(self.deals, "blind", False)
                ),
            ),
            figures=dict(solved.dealing.figures),
            notes=(
                *large.remarks,
                *solved.dealing.notes,
                *passing_notes(large, names),
                *more,
                *finding_notes(findings := findings_of(large, self.problem.models)),
            ),
            purpose=policy.purpose,
            recipient=policy.recipient,
            findings=findings,
        )
        return lambda verification: report(verification.records, verification=verification)


def findings_of(large: LargeTable, models: Sequence[PrivacyModel]) -> tuple[Finding, ...]:
    """Return what is told of the columns beside the result."""
    counted = ((column.attribute, column.occurrences) for column in large.columns)
    promised = promised_columns(models, large.schema.sensitive)
    return (*severe_findings(large, promised), *remarks_on(counted, large.schema, promised))


@dataclass(frozen=True, eq=False, repr=False)
class SolvedDealing:
    """The tables that are to be written, by name, and what was decided of them."""

    parts: Mapping[str, DealtParts | CountedParts]
    dealing: Dealing


# Wishes of people in a table on disk: who wishes for what, and what classes promise for their sake.
#
# Letters: n records, c classes.


def people_behind(policy: Policy, large: LargeTable) -> PeopleBehind | None:
    """Return the people of a table; None where each has one record and nobody wishes.

    Raises ``PolicyError`` when a rule names a column that the table does not have, or a value that nobody has.
    """

    def meant(wish: Wish) -> NDArray[np.bool_]:
        both = ((large.quasi_identifying, large.codes), (large.sensitive, large.sensitive_codes))
        for columns, codes in both:
            for place, column in enumerate(columns):
                if column.attribute.name == wish.column:
                    has = (text_of(column.values) == wish.value).fill_null(False).to_numpy()
                    found: NDArray[np.bool_] = has[codes[:, place]]
                    return found
        raise KeyError(wish.column)

    rules, height, names = policy.wishes, large.height, large.names
    k = wished(large.wishes.k, {each: each.k for each in rules if each.k}, height, names, meant)
    asked_l = {each: each.l for each in rules if each.l}
    wished_l = wished(large.wishes.l, asked_l, height, names, meant)
    several = large.people is not None and large.people.some_have_several
    if k is None and wished_l is None and not several:
        return None
    numbers = np.arange(height, dtype=np.int32) if large.people is None else large.people.numbers
    return PeopleBehind.wishing(numbers, k, wished_l)


def promises_of(behind: PeopleBehind, generalized: GeneralizedTable, *, starred: bool) -> dict[str, NDArray[np.int64]]:
    """Return what every class promises, by column: the largest step that somebody wishes; last that of stars."""
    count, class_of = len(generalized.sizes), generalized.class_of
    # A reader may put those who are left out into a class of others.
    as_read = class_as_read(generalized.columns, count, np.append(class_of, np.int32(-1)))
    shown, left_out = as_read[:-1], int(as_read[-1])
    shown = shown if starred else np.where(class_of < 0, np.int32(-1), shown)
    promised = {}
    for name, wishes in ((PROMISED, behind.wishes), (PROMISED_L, behind.wished_l)):
        if wishes is not None:
            largest = largest_of(shown, count + 1, wishes)
            promised[name] = np.append(largest[:count], largest[left_out])
    return promised


# The parts of a table on their way to files: cells that begin like a formula are counted, escaped or refused.


class NumberedParts(Protocol):
    """A table whose parts come as numbers of what they publish."""

    @property
    def columns(self) -> PublishedColumns:
        """What the numbers stand for."""
        ...

    def numbers(self) -> Iterator[pl.DataFrame]:
        """Yield the numbers of each part, once."""
        ...


def with_numbers(columns: PublishedColumns, kinds: Mapping[str, Kind]) -> PublishedColumns:
    """Return what is published, with numbers in the place of labels that all are numbers, as in memory."""
    found = {
        name: numbers
        for name, labels in columns.values.items()
        if name in kinds and labels.dtype == pl.String and (numbers := single_numbers(labels, kinds[name])) is not None
    }
    return replace(columns, values={**columns.values, **found})


SEVERAL_PARTS = "formulas: cells are escaped where a release is one part, and this one has several; keep or refuse them"


class WatchedParts:
    """Counts the cells of parts that begin like a formula, and escapes or refuses them; of several none are escaped."""

    def __init__(self, published: NumberedParts, formulas: Formulas, count: int) -> None:
        if formulas == "escape" and count > 1:
            raise PolicyError(SEVERAL_PARTS)
        self._published, self._formulas = published, formulas
        self.columns = published.columns
        self.count = count
        self.cells: dict[str, int] = dict.fromkeys(names_like_formulas(self.columns.names), 1)
        self.escaped = False

    def numbers(self) -> Iterator[pl.DataFrame]:
        """Yield every part as numbers of what it publishes."""
        begins = values_like_formulas(self.columns.values)
        for numbers in self._published.numbers():
            of_values = {name: column for name, column in self._named(numbers) if name in self.columns.values}
            as_they_are = pl.DataFrame([column for name, column in self._named(numbers) if name not in of_values])
            found = cells_like_formulas([as_they_are], names=False)
            found |= {name: int(begins[name][of_values[name].to_numpy()].sum()) for name in begins}
            for name, count in found.items():
                self.cells[name] = self.cells.get(name, 0) + count
            if self._formulas == "refuse" and any(self.cells.values()):
                frames_without_formulas({"data": self.columns.frame(numbers)}, "refuse")
            yield numbers

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield every part as it is to be written."""
        for numbers in self.numbers():
            tables = {"data": self.columns.frame(numbers)}
            without = frames_without_formulas(tables, self._formulas) if self._formulas == "escape" else tables
            self.escaped |= without is not tables
            yield without["data"]

    def _named(self, numbers: pl.DataFrame) -> Iterator[tuple[str, pl.Series]]:
        for name, column in zip(self.columns.names, numbers.get_columns(), strict=True):
            yield name, column.alias(name)


# A table on disk as its published records show it: those that were left out leave no trace in types and kinds.


def kept_of(large: LargeTable, class_of: NDArray[np.int32]) -> LargeTable:
    """Return the table with the values, counts and types of its published records, in one pass; -1: left out."""
    quasi = _kept(large, large.quasi_identifying, large.codes, class_of)
    sensitive = _kept(large, large.sensitive, large.sensitive_codes, class_of)
    return replace(large, quasi_identifying=tuple(quasi), sensitive=tuple(sensitive))


def kept_texts_of(kept: LargeTable) -> Callable[[str], pl.Series]:
    """Return what gives the values of a quasi-identifying column, each once; `kept` is from :func:`kept_of`."""
    values = {column.attribute.name: column.values for column in kept.quasi_identifying}
    return lambda name: text_of(values[name].unique())


def _kept(
    large: LargeTable, columns: Sequence[CodedColumn], codes: NDArray[np.unsignedinteger], class_of: NDArray[np.int32]
) -> Iterator[CodedColumn]:
    for place, column in enumerate(columns):
        occurrences = _occurrences(codes, place, class_of, column.attribute.size + 1)
        # Of a Boolean mask polars takes null where nothing occurs.
        values = column.values.set(pl.Series(occurrences == 0), None)
        attribute = column.attribute
        if attribute.name in large.from_text:
            values, kind = own_values(values, attribute.kind, large.schema.sensitive.get(attribute.name))
            attribute = replace(attribute, kind=kind)
        yield replace(column, attribute=attribute, values=values, occurrences=occurrences[: attribute.cardinality])


def _occurrences(
    codes: NDArray[np.unsignedinteger], place: int, class_of: NDArray[np.int32], count: int
) -> NDArray[np.int64]:
    found = np.zeros(count, dtype=np.int64)
    for start in range(0, len(codes), BLOCK):
        own = codes[start : start + BLOCK, place]
        found += np.bincount(own[class_of[start : start + BLOCK] >= 0], minlength=count)
    return found


PartsWriter = Callable[[PublishedColumns, Iterable[pl.DataFrame], Path, Format, str], TableFacts]
"""Writes the parts of a table, given as numbers, into the folder of a release; returns what is said of them."""

STEPS = 6
UNKNOWN_FREE = 4 << 30
"""Bytes that may be taken where the system does not say what is free."""


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseOnDisk:
    """A release that was written and verified; its table is in the folder alone.

    Attributes
    ----------
    folder : Path
    report : Report or KindReport
    formulas : mapping of str to int
        Cells of each column that begin like a formula.
    passing : tuple of str
        Notes of the report on columns that pass through; see :func:`~sfumato.release.task.passing_notes`.
    """

    folder: Path
    report: Report | KindReport
    formulas: dict[str, int] = field(default_factory=dict)
    passing: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Count the published records and name the promises."""
        promises = ", ".join(check.promise for check in self.report.verification.checks)
        return f"ReleaseOnDisk({self.report.published} records, {promises})"


def anonymize_on_disk(
    source: str | Path | OpenedFile,
    policy: Policy,
    folder: str | Path,
    *,
    memory: str | None = None,
    seed: int | None = None,
    threads: int | None = None,
    formulas: Formulas = "keep",
    overwrite: bool = False,
    progress: Progress = silent,
    audit: str | Path | None = None,
    engine: Engine | None = None,
    writer: PartsWriter | None = None,
) -> ReleaseOnDisk:
    """Make a release of a table that need not fit into memory, and write it.

    The records are those of :func:`sfumato.anonymize` and of its ``save``; under the same seed the folders have the
    same bytes where there is one part.

    Parameters
    ----------
    source
        CSV (UTF-8; plain, gzip or zstd), Parquet or Arrow: the path of a file or of a folder of files, or a pattern of
        names. Nothing of it may change meanwhile. Or a database, as :func:`sfumato.read_table` takes it, which is read
        in one transaction; or a table that is open already.
    policy
        Everything that the release is made from: roles, models, algorithm, format of the output.
    folder
        Where the release goes; its parent must exist, and have room for the codes of all records, which are removed in
        the end.
    memory
        What may be taken, such as ``"4GB"``; None is 60 % of what is free.
    seed, threads, progress
        As :func:`sfumato.anonymize` takes them; under a seed the order of rows follows that of the input, as there. A
        seed takes sixteen bytes a record for a moment.
    formulas, overwrite
        As :meth:`sfumato.Release.save` takes them; ``"escape"`` only where there is one part.
    audit
        Where to write the file with which people can be recounted, as :meth:`sfumato.Release.save` takes it.
    engine
        Another one that is handed the codes of all records, and finds the classes; None: this one.
    writer
        Who writes the parts where there are several; None: this machine.

    Returns
    -------
    ReleaseOnDisk
        Verified from its written files alone.

    Raises
    ------
    UnsatisfiableError
        The models cannot be met within the suppression limit.
    PolicyError
        Settings that contradict each other or the table, or that the disk engine does not have
        (:func:`not_on_disk`).
    InputError
        The files cannot be read, are no table, or changed meanwhile; the folder cannot be written.

    Notes
    -----
    *Guarantee.* That of :func:`sfumato.anonymize`. Files beside the folder hold codes and insensitive columns while the
    run goes on; they belong to their owner alone and are removed, after a kill by the next run.

    *Complexity.* Memory is what one batch takes, the distinct values of each column, and what the algorithm takes:
    strict Mondrian the largest range that it cuts, 12 bytes a distinct record; every other one the codes of all. Where
    people have several records, the codes of all are folded in memory, too: some hundred bytes a record.
    """
    named: Path | str = source.path if isinstance(source, OpenedFile) else source
    task = TaskOnDisk(
        named if is_database(named) else Path(named), policy, Path(folder), allowed_memory(memory), seed, threads,
        formulas, overwrite, progress, engine, writer, None if audit is None else Path(audit),
    )  # fmt: skip
    return task.begun(lambda: source if isinstance(source, OpenedFile) else opened_file(task.source, policy))


def not_on_disk(policy: Policy) -> list[str]:
    """Say what of a policy the disk engine does not have, each in a sentence; nothing where it has everything."""
    columns, anonymizer, cure = policy.columns, policy.to_anonymizer(), "use --engine memory"
    found = list(_not_of_people(policy, cure))
    wishing = columns.wished_k is not None or columns.wished_l is not None or bool(policy.wishes)
    if wishing and (policy.to_schema().insensitive or policy.to_schema().others == "keep"):
        found.append(
            "engine: people with wishes are told apart by insensitive columns, too, which the disk engine does not "
            f"hold; leave these columns out, or {cure}"
        )
    if wishing and isinstance(anonymizer, Publisher):
        found.append(f"engine: {anonymizer.name} knows no wishes; choose another anonymizer, such as mondrian")
    if isinstance(anonymizer, Publisher):
        found += not_dealt(anonymizer, policy, cure)
    if policy.output.format not in PLAIN:
        found.append(f"engine: the disk engine writes {' or '.join(PLAIN)}, not {policy.output.format}; {cure}")
    if policy.output.cells is not None:
        found.append(f"engine: the disk engine writes labels alone, without output.cells; {cure}")
    if getattr(anonymizer, "strata", None):
        found.append(f"engine: parts are solved by themselves, each of which would need whole strata; {cure}")
    if policy.withstand:
        found.append(f"engine: attacks that are to be withstood are played on a table in memory; {cure}")
    if policy.refine:
        found.append(f"engine: refine compares records of the whole table, which the disk engine does not hold; {cure}")
    if of_population(policy.to_models()) or policy.population is not None or policy.subset is not None:
        found.append(f"engine: a population, or a subset of the table, is counted in memory; {cure}")
    if any(says(model).needs_original for model in policy.to_models()):
        found.append(f"engine: a model compares with all original records, which are counted in memory; {cure}")
    if whole_table_models(policy.to_models()):
        found.append(f"engine: a model bounds a figure of the whole table, which is judged in memory; {cure}")
    if not countable_in_parts(policy.to_models()):
        found.append(f"engine: a model is about single published values, which are compared in memory; {cure}")
    return found


def _not_of_people(policy: Policy, cure: str) -> Iterator[str]:
    """Say what the disk engine does not do where people have several records."""
    people, schema = policy.to_people(), policy.to_schema()
    if schema.person is None:
        return
    if people.rows != "together":
        asked = "to lie apart" if people.rows == "apart" else "those of households"
        yield f"engine: the disk engine keeps the records of a person together, and rows are {asked}; {cure}"
    if people.pseudonyms == "published":
        yield f"engine: the disk engine publishes no pseudonyms; {cure}"
    if schema.insensitive or schema.others == "keep":
        yield (
            "engine: the disk engine does not look whether insensitive columns link the records of a person; leave "
            f"these columns out, or {cure}"
        )


def _summed(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    names = dict.fromkeys(name for each in counts for name in each)
    return {name: sum(each.get(name, 0) for each in counts) for name in names}


def allowed_memory(text: str | None) -> int:
    """Return the bytes that a run may take: what was asked for, or a share of what is free."""
    if text is not None:
        return memory_size(text)
    free = free_memory()
    return UNKNOWN_FREE if free is None else max(LEAST, int(SHARE * free))


def _coded_again(opened: OpenedFile, coding: Coding, schema: Schema) -> LargeTable:
    """Read the table once more, in a folder of its own, with other kinds of its columns."""
    folder = coding.folder / "again"
    folder.mkdir()
    return coded_table(opened.source, replace(coding, schema=schema, folder=folder))


@dataclass(frozen=True, eq=False, repr=False)
class TaskOnDisk:
    """What a call asks for; see :func:`anonymize_on_disk`."""

    source: Path | str  # the URL of a database
    policy: Policy
    target: Path
    memory: int
    seed: int | None
    threads: int | None
    formulas: Formulas
    overwrite: bool
    progress: Progress
    engine: Engine | None
    writer: PartsWriter | None
    audit: Path | None

    @property
    def private(self) -> Path | None:
        """Where the audit file goes; None where every record is a person of its own."""
        return None if self.policy.columns.person is None else self.audit or audit_file(self.target)

    def named(self) -> AbstractContextManager[str]:
        """Put the name of the source before every problem with it."""
        return named_source(self.source, Reading(**self.policy.reading()).table)

    def problems(self) -> list[str]:
        """Say which settings contradict each other."""
        policy = self.policy
        models, ways = policy.to_models(), (policy.to_anonymizer(), policy.to_recoding())
        found = setting_problems(models, *ways, policy.suppression_limit, policy.refine or 0, policy.to_people())
        if policy.columns.person is None and policy.to_people() != People():
            found.append(NOBODY)
        if policy.columns.person is None and self.audit is not None:
            found.append("audit: recounts people, and no column says who they are; leave it out, or name one (person)")
        return found if policy.columns.person is None else [*found, *one_record_problems(models)]

    def begun(self, opened: Callable[[], OpenedFile]) -> ReleaseOnDisk:
        """Check what can be checked before anything is read, open the source, and make the release."""
        raise_all(PolicyError, [*seed_problems(self.seed), *self.problems(), *not_on_disk(self.policy)])
        check_target(self.target, overwrite=self.overwrite)
        if self.private is not None:
            check_audit_place(self.private, self.target, overwrite=self.overwrite)
        with self.named():
            source = opened()
        with spill_folder(self.target) as spill:
            return self.released(source, spill)

    def released(self, opened: OpenedFile, spill: Path) -> ReleaseOnDisk:
        """Encode, solve, write and recount; the folder gets its name only when every promise holds."""
        large = self.coded(opened, spill)
        # The number of records decides what auto takes, and is known from here on.
        object.__setattr__(self, "policy", with_choice(self.policy, large.height))
        passing = passing_notes(large, large.names)
        numbers = (each.attribute for each in large.quasi_identifying if each.attribute.is_numeric)
        kinds = {attribute.name: attribute.kind for attribute in numbers if attribute.order is None}
        made = self.made(large, opened.keys, spill)
        del large  # Writing needs the memory.
        self.progress("writing", 4, STEPS)
        with folder_with_audit(self.target, self.private, overwrite=self.overwrite) as (folder, secret):
            facts = {name: self.written(name, parts, folder, kinds) for name, parts in made.tables.items()}
            escaped = any(parts.escaped for parts in made.tables.values())
            description = made.description.escaped() if escaped else made.description
            cells = _summed([parts.cells for parts in made.tables.values()])
            audited = made.audited()
            # What was written needs the memory no more.
            made = replace(made, tables={}, audited=lambda: None)
            self.progress("verifying", 5, STEPS)
            people = None if audited is None else audited[1]
            counted = counted_as_read(made.was, partial(_recounted, folder, description, facts, spill, people))
            report = made.report(counted)
            content = description.to_dict(tables=facts)
            write_texts(folder, content, report.for_release(), self.policy.published())
            if audited is not None and self.private is not None:
                numbered = Audit.of(*audited, self.seed)
                secret.write_text(numbered.text(facts[TABLE].file, facts[TABLE].sha256), encoding="utf-8")
        self.progress("done", STEPS, STEPS)
        return ReleaseOnDisk(self.target, report, cells, passing)

    def written(self, name: str, parts: WatchedParts, folder: Path, kinds: Mapping[str, Kind]) -> TableFacts:
        """Write a table, and say what was written; `kinds`: of columns whose labels may be numbers."""
        format = self.policy.output.format
        if format == "parquet":
            parts.columns = with_numbers(parts.columns, kinds)
        if self.writer is None or parts.count == 1:
            return write_parts(parts.frames(), folder, format, single=parts.count == 1, name=name)
        return self.writer(parts.columns, parts.numbers(), folder, format, name)

    def coded(self, opened: OpenedFile, spill: Path) -> LargeTable:
        """Read the table, and give its values their codes."""
        self.progress("encoding", 1, STEPS)
        coding = Coding(
            opened.schema,
            opened.names,
            opened.reading,
            spill,
            self.memory // 4,
            progress=lambda what, done: self.progress(what, done, done),
        )
        key = (versions(), opened.schema, opened.names, opened.reading, opened.state())
        try:
            with self.named(), opened.unchanged():
                large = left_codes(key, spill)
                if large is not None:
                    log.warning("%s: a run was interrupted here; this one goes on from its codes", self.target)
                else:
                    large = coded_table(opened.source, coding)
        except InputError as error:
            again = partial(_coded_again, opened, coding)
            raise with_open_findings(error, self.policy, opened.schema, again) from None
        refuse_open_findings(large, self.policy)
        state = opened.state()
        if state and all(state):  # a file that cannot be seen may have changed
            leave_codes(large, key, spill)
        return large

    def made(self, large: LargeTable, keys: Sequence[str], spill: Path) -> Made:
        """Find the classes, and what is to be written of them."""
        recoding, anonymizer = self.policy.to_recoding(), self.policy.to_anonymizer()
        if isinstance(anonymizer, Publisher):
            return self._made_by_dealing(anonymizer, large, keys, spill)
        behind = people_behind(self.policy, large)
        raise_all(PolicyError, list(misfits_of(self.policy, anonymizer, large, behind)))
        engine, problem = self.engine or LocalEngine(), self.problem(large)

        def solve(within: Problem) -> Partition:
            return allowed_solution(within, recoding, partial(engine.solve, anonymizer))

        def solve_for(people: PeopleBehind, within: Problem) -> Partition:
            carry = carried(within.table)
            folded = fold(without_unread_columns(within), people.numbers, carry, people.wishes, people.wished_l)
            return folded_solution(within, folded, self.policy.suppression_limit, recoding, solve)

        away, folds = self.engine is not None, behind is not None
        solver = solve if behind is None else partial(solve_for, behind)
        solved = solve_on_disk(
            anonymizer, problem, large, recoding, spill, solver, memory=self.memory, elsewhere=away, folds=folds
        )
        starred, read = recoding.suppressed == "star", large
        if solved.generalized.suppressed:
            kept = kept_of(large, solved.generalized.class_of)
            raise_all(PolicyError, only_by_the_left_out(large, kept_texts_of(kept)))
            read = large if starred else kept
        promised = {} if behind is None else promises_of(behind, solved.generalized, starred=starred)
        published = PublishedParts(read, solved.generalized, starred, self.seed, spill, promised)
        tables = {TABLE: WatchedParts(published, self._formulas, part_count(published.height))}
        of_wishes = () if behind is None else tuple(wish_notes(behind, problem, recoding, solve_for))
        report = self._report(solved, large, (*key_notes(keys), *_keyless_notes(large), *of_wishes))
        for array in (large.codes, large.sensitive_codes, solved.generalized.class_of):
            let_go(array)
        was = {name: kind for name, kind in large.kinds.items() if kind is not read.kinds[name]}
        as_read = partial(class_as_read, solved.generalized.columns, len(solved.generalized.sizes))

        def audited() -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
            found = published.audited()
            return None if found is None else (as_read(found[0]), found[1])

        added = {key: name for key, name in (("promised", PROMISED), ("promised_l", PROMISED_L)) if name in promised}
        description = description_of(self.policy, read, added=added)
        return Made(tables, description, report, audited, was)

    @property
    def _formulas(self) -> Formulas:
        return self.formulas if self.policy.output.format == "csv" else "keep"

    def _made_by_dealing(self, deals: Publisher, large: LargeTable, keys: Sequence[str], spill: Path) -> Made:
        assert isinstance(deals, Deals)
        task = DealingTask(deals, self.policy, self.problem(large), large, spill)
        raise_all(PolicyError, task.problems())
        refuse_beyond(self.memory, need_of_codes(large, DEALT if deals.by_sensitive_alone else SLICED))
        self.progress("publishing", 2, STEPS)
        solved = task.solved()
        tables = {
            name: WatchedParts(parts, self._formulas, part_count(parts.height)) for name, parts in solved.parts.items()
        }
        description = description_of(self.policy, large, (deals.kind, solved.dealing.structure))
        return Made(tables, description, task.report_on(solved, key_notes(keys)))

    def problem(self, large: LargeTable) -> Problem:
        """Return what the anonymizer is asked."""
        # A fraction such as 0.1 is not exact, and must not cost a record.
        limit = math.floor(self.policy.suppression_limit * large.height + 1e-9)
        threads = thread_count(self.policy.threads if self.threads is None else self.threads)
        return Problem(large.encoded, self.policy.to_models(), limit, self.seed, threads, self.progress)

    def _report(self, solved: SolvedOnDisk, large: LargeTable, more: Sequence[str]) -> Callable[[Verification], Report]:
        """Return what makes the report of a recount; it holds neither table nor classes."""
        generalized = solved.generalized
        losses = measure_losses(generalized, k=smallest_allowed(self.policy.to_models()))
        people = None if large.people is None else large.people.numbers
        # Records that are published as stars are a class to every reader.
        starred = generalized.suppressed > 0 and self.policy.to_recoding().suppressed == "star"
        sizes = np.append(generalized.sizes, generalized.suppressed) if starred else generalized.sizes
        return self.report_of(
            large,
            [column.form for column in generalized.columns],
            losses,
            (int(sizes.min()), int(sizes.max())),
            solved.notes,
            more,
            None if people is None else peoples_penalty(generalized, people),
        )

    def report_of(
        self,
        large: LargeTable,
        forms: Sequence[Form],
        losses: Losses,
        sizes: tuple[int, int],
        solved: Sequence[str],
        more: Sequence[str],
        peoples_ncp: float | None = None,
    ) -> Callable[[Verification], Report]:
        """Return what makes the report of a recount: forms, smallest and largest class, and notes."""
        models, sensitive = self.policy.to_models(), tuple(large.schema.sensitive)
        anonymizer, attributes = cast(Anonymizer, self.policy.to_anonymizer()), large.encoded.attributes
        own = mean_notes(anonymizer, self.policy.to_recoding(), attributes)
        remarks = (*large.remarks, *exact_set_notes(attributes, forms, losses), *solved, *own)
        advice = (*advice_on_columns(large), *passing_notes(large, large.names))
        findings = findings_of(large, models)
        notes = (*remarks, *advice, *more, *finding_notes(findings))
        of_people = () if large.people is None else limits_of_people(models, sensitive)
        counts: Literal["records", "people"] = "records" if large.people is None else "people"
        publishes_means = Form.MEAN in forms

        def report(verification: Verification) -> Report:
            return Report(
                anonymizer=repr(self.policy.to_anonymizer()),
                original=losses.records,
                published=verification.records,
                suppressed=losses.suppressed,
                suppression_limit=self.policy.suppression_limit,
                classes=verification.classes,
                smallest_class=sizes[0],
                largest_class=sizes[1],
                losses=losses,
                verification=verification,
                notes=notes,
                purpose=self.policy.purpose,
                recipient=self.policy.recipient,
                publishes_means=publishes_means,
                limits=(*PublishedTable.limits, *limits_of_values(models, sensitive), *of_people),
                counts=counts,
                peoples_ncp=peoples_ncp,
                findings=findings,
            )

        return report


def _recounted(
    folder: Path,
    description: Description,
    facts: Mapping[str, TableFacts],
    spill: Path,
    people: NDArray[np.int32] | None,
) -> Verification:
    recount = recounted_in_parts(folder, description, facts, spill, people)
    assert recount is not None
    recount[0].raise_unless_ok()
    # What somebody else has written is what arrived here.
    raise_all(VerificationError, [str(check) for check in recount[1] if check.outcome is not Outcome.HOLDS])
    return recount[0]


@dataclass(frozen=True, eq=False, repr=False)
class Made:
    """A release to be written: what is known of it once its classes are. Nothing holds these longer than the tables.

    `was` are the kinds of columns that are of another one without the records that were left out. `audited` returns
    the class of each record as a reader puts it, and its person.
    """

    tables: dict[str, Any]  # each :class:`WatchedParts`, or what an engine has in its place
    description: Description
    report: Callable[[Verification], Report | KindReport]
    audited: Callable[[], tuple[NDArray[np.int32], NDArray[np.int32]] | None] = lambda: None
    was: Mapping[str, Kind] = field(default_factory=dict)


def _keyless_notes(large: LargeTable) -> Iterator[str]:
    if large.people is not None and (note := keyless_note(large.schema.person, large.people.keyless, large.height)):
        yield note


def misfits_of(policy: Policy, anonymizer: Anonymizer, large: LargeTable, behind: PeopleBehind | None) -> Iterator[str]:
    """Say what of a policy does not fit the columns of a table, and the people behind it."""
    wishing = {} if behind is None else wishing_of(k=behind.wishes is not None, l=behind.wished_l is not None)
    if large.people is not None:
        keyless = Keyless(large.schema.person, large.people.keyless, large.people.first_keyless, large.height)
        yield from keyless_problems(policy.to_people(), keyless)
    if large.people is not None or wishing:
        what = next(iter(wishing)) if large.people is None else "person"
        yield from anonymizer_problems(anonymizer, what, together=True)
    yield from wish_problems(policy.to_models(), anonymizer, wishing, large.names)
    attributes, names = large.encoded.attributes, list(large.schema.sensitive)
    recoding, models = policy.to_recoding(), policy.to_models()
    checks = [lambda model=model: model.rules(names) for model in models]
    problems = problems_in(*checks, lambda: recoding.forms_of(attributes))
    yield from problems
    if not problems:
        yield from recoding_problems(anonymizer, recoding, attributes)


def description_of(
    policy: Policy,
    large: LargeTable,
    other: tuple[str, Mapping[str, Any]] | None = None,
    *,
    added: Mapping[str, str] = MappingProxyType({}),
) -> Description:
    """Describe a generalized table with columns that were added; or one of another kind and structure."""
    names = {"quasi_identifying": list(large.schema.quasi_identifying), "sensitive": list(large.schema.sensitive)}
    kind, structure = other or (PublishedTable.kind, {**names, **added})
    sensitive = {column.attribute.name: _sensitive(column) for column in large.sensitive}
    models: list[PrivacyModel] = policy.to_models()
    return Description(
        kind, structure, sensitive, tuple(map(describe_model, models)), policy.suppression_limit,
        people=None if large.people is None else "audit",
    )  # fmt: skip


def _sensitive(column: CodedColumn) -> SensitiveDescription:
    attribute = column.attribute
    if attribute.hierarchy is None:
        return SensitiveDescription(attribute.kind)
    occurring = np.flatnonzero(column.occurrences[: attribute.size])
    texts = set(text_of(column.values.gather(occurring)).drop_nulls().to_list())
    return SensitiveDescription(attribute.kind, published_hierarchy(attribute.hierarchy, texts))


def key_notes(keys: Sequence[str]) -> Iterator[str]:
    """Say that columns which are left out may be keys of people, and were not compared."""
    if keys:
        listed = ", ".join(map(repr, keys))
        yield (
            f"Whether people have several records was not looked at: this engine does not compare the values of "
            f"{listed}. If one of these columns says who a record is about, name it with --person."
        )
