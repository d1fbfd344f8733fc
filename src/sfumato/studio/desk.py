"""What the pages stand on: the open table, the project, its jobs, and what was counted; all but the files is remade."""

from __future__ import annotations

import threading
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from sfumato.errors import InputError, SfumatoError
from sfumato.evaluation.preview import ClassSizes, Preview
from sfumato.hierarchy.tree import text_of
from sfumato.policy.entries import checked
from sfumato.policy.parts import Source
from sfumato.published import PublishedTable
from sfumato.release.transaction import no_release
from sfumato.studio.draft import WITH_SETTINGS, Draft, in_words
from sfumato.studio.jobs import POLICY, RELEASE, Job, Jobs
from sfumato.studio.layout import Question, in_page_words
from sfumato.studio.project import HistoryEntry, Project, as_written
from sfumato.table.columns import ValueReading, read_attribute
from sfumato.table.distinct import Distinct
from sfumato.table.person_keys import KINDS, one_key, spellings_asked
from sfumato.table.raw_table import RawTable, open_table
from sfumato.table.schema import Attribute, Kind, Schema, is_measured
from sfumato.table.sources.protocol import Reading

if TYPE_CHECKING:
    from sfumato.classes.statistics import ClassStatistics
    from sfumato.findings.review import Finding, Profile, Review
    from sfumato.policy.policy import Policy
    from sfumato.release.verify import OpenedRelease


BARS = 12
COUNTED_AT_ONCE = 2_000_000
"""Cells up to which what needs all of them is counted before a page is sent; above, the page comes first."""
JUDGED_AT_ONCE = 100_000
"""Cells up to which every page finds out whether a run would be begun; above, a changed role would wait for that."""
FEWEST = 20
"""Records from which on it says something that all values are different."""
MOST_DRAFTED = 2_000
"""Values from which on a hierarchy of listed values is not offered: nobody would group them by hand."""

Looks = Literal["identifier", "code"]


@dataclass(frozen=True)
class ColumnProfile:
    """One column at a glance; it holds no value."""

    name: str
    kind: Kind | None  # None where it cannot be read at all; `problem` then says why
    # `distinct`, `missing`: different values, and records without one
    distinct: int = 0
    missing: int = 0
    # heights from 0 to 1: how many records lie in each part of the range, or have each of the most frequent values
    bars: tuple[float, ...] = ()
    # ``"identifier"``: all values are different. ``"code"``: numbers that are written with the same number of digits,
    # so that they probably name something and measure nothing.
    looks: Looks | None = None
    digits: int = 0  # how many those are
    problem: str = ""  # what is wrong with it


def profiled(preview: Preview, name: str, kind: Kind | Attribute | None = None) -> ColumnProfile:
    """Look at one column, read as is said or as its own; O(d) for d distinct values once the preview has them."""
    try:
        distinct = preview.distinct(name, kind)
        found = preview.kind(name, kind)
    except SfumatoError as error:
        return ColumnProfile(name, None, problem=" ".join(error.problems))
    values = len(distinct.values)
    known = int(distinct.counts.sum())
    digits = _digits(distinct) if found is Kind.NUMERIC else 0
    looks: Looks | None = None
    if values == known >= FEWEST and not distinct.values.dtype.is_float():
        looks = "identifier"
    elif digits:
        looks = "code"
    return ColumnProfile(name, found, values, distinct.missing, _bars(distinct, found), looks, digits)


def _digits(distinct: Distinct) -> int:
    """Return the number of digits of whole numbers that all have as many, three at least; 0 for others."""
    if not distinct.values.dtype.is_integer() or len(distinct.values) < 2:
        return 0
    lengths = text_of(distinct.values).str.len_chars().unique()
    low = distinct.values[0]
    is_code = len(lengths) == 1 and lengths[0] >= 3 and low >= 0
    # Years have four digits, too, and are quantities.
    is_year = is_code and lengths[0] == 4 and low >= 1800 and distinct.values[-1] <= 2100
    return 0 if is_year or not is_code else int(lengths[0])


def _bars(distinct: Distinct, kind: Kind) -> tuple[float, ...]:
    if not len(distinct.values):
        return ()
    if is_measured(kind):
        numbers = distinct.values.to_physical().cast(pl.Float64).to_numpy()
        finite = np.isfinite(numbers)
        heights = np.histogram(numbers[finite], BARS, weights=distinct.counts[finite])[0]
    else:
        heights = np.sort(distinct.counts)[::-1][:BARS]
    top = float(heights.max(initial=0))
    return tuple(float(height / top) for height in heights) if top else ()


# Rows of a table as texts, a page at a time, for the grid.


MOST_ROWS, LONGEST = 500, 10_000
"""Rows of a page, and characters of a cell, at most."""
BLANK = "•••"


@dataclass(frozen=True, eq=False, repr=False)
class TablePage:
    """Columns that can be shown."""

    names: tuple[str, ...]
    height: int  # number of rows
    some: Callable[[str, int, int], pl.Series]  # returns the values of a column, from a row on, of so many rows

    @classmethod
    def of_frame(cls, frame: pl.DataFrame) -> TablePage:
        """Show all columns of a frame."""
        return cls(tuple(frame.columns), frame.height, lambda name, start, count: frame[name].slice(start, count))

    def page(self, start: int, count: int, *, blank: bool = False) -> dict[str, Any]:
        """Return some rows as texts, None for missing values, with the number of all rows; O(rows of the page)."""
        start, count = max(0, start), max(0, min(count, MOST_ROWS))
        cells = [_texts(self.some(name, start, count), blank=blank) for name in self.names]
        return {
            "names": list(self.names),
            "height": self.height,
            "start": start,
            "rows": [list(row) for row in zip(*cells, strict=True)],
        }


def original_sheet(table: RawTable) -> TablePage:
    """Return the original as it is."""
    return TablePage(table.names, table.height, table.some)


def ordered(sheet: TablePage, names: Sequence[str]) -> TablePage:
    """Return a sheet with its columns in the order of others; columns of its own come last."""
    place = {name: at for at, name in enumerate(names)}
    return replace(sheet, names=tuple(sorted(sheet.names, key=lambda name: place.get(name, len(place)))))


def by_class(published: PublishedTable, order: Sequence[str]) -> TablePage:
    """Return the rows of a release class by class, the smallest first, with the number and the size of each class."""
    quasi, data = list(published.quasi_identifying), published.data
    classes = data.group_by(quasi).agg(pl.len().alias(_SIZE)).sort(_SIZE, *quasi).with_row_index(_NUMBER, 1)
    rows = data.join(classes, on=quasi, how="left", nulls_equal=True).sort(_NUMBER, maintain_order=True)
    sheet = ordered(TablePage.of_frame(rows.drop(_NUMBER, _SIZE)), order)
    own = {_free("class", sheet.names): rows[_NUMBER], _free("records in it", sheet.names): rows[_SIZE]}

    def some(name: str, start: int, count: int) -> pl.Series:
        return own[name].slice(start, count) if name in own else sheet.some(name, start, count)

    return TablePage((*own, *sheet.names), sheet.height, some)


_NUMBER, _SIZE = "\0class", "\0records"


def _free(name: str, taken: Sequence[str]) -> str:
    return name if name not in taken else _free(f"{name} (of the release)", taken)


def _texts(column: pl.Series, *, blank: bool) -> list[str | None]:
    if blank:
        return [BLANK] * len(column)
    texts = text_of(column)
    return [text if text is None or len(text) <= LONGEST else f"{text[:LONGEST]}…" for text in texts.to_list()]


@dataclass(eq=False)
class Desk:
    """One open project."""

    project: Project
    table: RawTable
    source: Source  # how the table was read
    preview: Preview
    jobs: Jobs
    is_blank: bool = False  # whether original values are kept off the screen
    lock: Any = field(default_factory=threading.RLock)  # held while something is counted or changed
    _sheet: TablePage | None = None
    _opened: dict[int, OpenedRelease] = field(default_factory=dict)
    _reviewed: tuple[object, list[Finding], object, Review] | None = None
    _by_class: tuple[OpenedRelease, TablePage] | None = None
    _latest: int = 0
    _asked: tuple[object, list[str]] | None = None
    _judged: dict[str, tuple[object, Any]] = field(default_factory=dict)
    _questions: dict[str, tuple[object, list[Question]]] = field(default_factory=dict)
    _hindered: tuple[object, list[Question]] | None = None
    _everybody: ClassStatistics | None = None  # everybody as one class, where that decides what can be promised
    _found: dict[int, tuple[object, tuple[Finding, ...]]] = field(default_factory=dict)

    @classmethod
    def of(cls, project: Project, policy: Policy | None = None, *, spare: bool = True) -> Desk:
        """Open the table of a project, and begin its history; ``SfumatoError`` if it or the policy does not fit."""
        source = checked(Source, project.source)
        table = _whole_table(project.table, source)
        project.begin(list(table.names), policy)
        return cls(project, table, source, Preview(table), Jobs(project.folder / "jobs", spare=spare))

    @property
    def head(self) -> HistoryEntry:
        """The entry of the history that stands."""
        return self.project.history.head

    @property
    def draft(self) -> Draft:
        """The setup that stands."""
        return self.head.draft

    @property
    def sheet(self) -> TablePage:
        """The original, for the grid."""
        if self._sheet is None:
            self._sheet = original_sheet(self.table)
        return self._sheet

    def change(self, entry: int, changed: Callable[[Draft], Draft]) -> tuple[HistoryEntry, bool]:
        """Change the setup of an entry, and tell whether that began a branch; without a change nothing is written."""
        with self.lock:
            before = self.project.history.entry(entry)
            after = changed(before.draft)
            if after == before.draft:
                return before, False
            branches = before.number != self.head.number
            fresh = self._read_as(after)
            if fresh is not None:
                after = after.with_names(fresh[1].names)
            made = self.project.history.add(after, in_words(before.draft, after), before.number)
            self._take(fresh)
            self._let_go()
            return made, branches

    def go_to(self, number: int) -> HistoryEntry:
        """Let an entry of the history stand; the table is read as that entry says."""
        with self.lock:
            fresh = self._read_as(self.project.history.entry(number).draft)
            entry = self.project.history.go_to(number)
            self._take(fresh)
            self._let_go()
            return entry

    def _read_as(self, draft: Draft) -> tuple[Source, RawTable] | None:
        """Read the table anew where a draft says that it is read in another way; None where it is not."""
        source = checked(Source, draft.rest.get("source", {}))
        return None if source == self.source else (source, _whole_table(self.project.table, source))

    def _take(self, fresh: tuple[Source, RawTable] | None) -> None:
        if fresh is None:
            return
        self.source, self.table = fresh
        self.preview, self._sheet = Preview(self.table), None
        self.project.keep_source(as_written(self.source))

    def _let_go(self) -> None:
        if any(not job.has_ended for job in self.jobs.of_kind("dial")):
            from sfumato.studio.dial import cancel_outdated

            cancel_outdated(self)

    def profile(self, column: str) -> ColumnProfile:
        """Look at one column."""
        with self.lock:
            return profiled(self.preview, column, self.draft.reading(column))

    def keys_asked(self) -> list[str]:
        """Say of which keys of people nobody has said yet whether they are the same person's, with counts."""
        names, form = self.draft.key_columns, self.draft.key_form
        if not names:
            return []
        with self.lock:
            asked = (self.source, tuple(names), form)
            if self._asked is None or self._asked[0] != asked:
                found = spellings_asked(one_key([self.table.texts(name) for name in names]), form)
                self._asked = (
                    asked,
                    [f"{many:,} differ from another only {KINDS[kind]}" for kind, many in found.items()],
                )
            return self._asked[1]

    def findings(self) -> dict[str, list[Finding]]:
        """Return what stops a run of the draft, by column; nothing before there is a quasi-identifying one."""
        from sfumato.findings.review import stopping
        from sfumato.release.task import promised_columns

        draft, shown = self.draft, [*self.draft.of_role("insensitive"), *self.draft.of_role("sensitive")]
        quasi = draft.of_role("quasi-identifying")
        if not quasi or not shown:
            return {}
        sensitive = {name: draft.attribute(name) for name in draft.of_role("sensitive")}
        insensitive = draft.of_role("insensitive")
        schema = Schema(quasi_identifying=quasi, sensitive=sensitive, insensitive=insensitive, accept=draft.accepted)
        promised = None if draft.problems() else promised_columns(draft.policy().to_models(), list(sensitive))
        with self.lock:
            profiles = [self._profile(name, sensitive.get(name, Attribute())) for name in shown]
        found: dict[str, list[Finding]] = {}
        for finding in stopping(profiles, schema, promised):
            for name in finding.columns:
                found.setdefault(name, []).append(finding)
        return found

    def reviewed(self) -> Review:
        """Return what each column seems to be, and all that was found in the table as it is read and described now.

        Roles decide nothing here, so that changing one costs nothing.
        """
        from sfumato.findings.review import Review, judged, review

        draft, names = self.draft, self.table.names
        key = self.source, repr(sorted(draft.settings.items()))
        with self.lock:
            if self._reviewed is None or self._reviewed[0] != self.source:
                whole = review(self.table)
                self._reviewed = self.source, [each for each in whole.findings if not each.columns], None, whole
            _, rows, known, found = self._reviewed
            if known != key:
                schema = Schema(
                    quasi_identifying={name: draft.attribute(name) for name in names}, accept=draft.accepted
                )
                profiles = [self._profile(name, schema.quasi_identifying[name]) for name in names]
                columns, findings = judged(profiles, schema)
                found = Review(self.table.source, self.table.height, tuple(columns), (*rows, *findings))
                self._reviewed = self.source, rows, key, found
            return found

    @property
    def is_reviewed(self) -> bool:
        """Whether a review costs next to nothing now."""
        return self._reviewed is not None and self._reviewed[0] == self.source

    def proposal(self) -> Draft:
        """Return the setup that a review proposes: roles, kinds, marks of missing values and promises."""
        from sfumato.policy.policy import Policy
        from sfumato.policy.proposal import proposed_policy

        text = proposed_policy(self.reviewed(), dict(self.draft.rest.get("source", {})))
        return Draft.of_policy(Policy.from_mapping(tomllib.loads(text)), self.table.names)

    def _profile(self, name: str, declared: Attribute) -> Profile:
        from sfumato.findings.review import profile_of

        if self._judged.get(name, (None,))[0] != (self.source, declared):
            read = profile_of(self.table.texts(name), self.table.reading_of(name), declared)
            self._judged[name] = ((self.source, declared), read)
        profile: Profile = self._judged[name][1]
        return profile

    def questions(self) -> dict[str, list[Question]]:
        """Return what reading would ask of each column that classes are made of, or that must stay hidden."""
        draft, asked = self.draft, dict[str, list[Question]]()
        for role in WITH_SETTINGS:
            for name in draft.of_role(role):
                with self.lock:
                    if found := self._question_of(name, draft.attribute(name), is_known=role == WITH_SETTINGS[0]):
                        asked[name] = found
        return asked

    def _question_of(self, name: str, declared: Attribute, *, is_known: bool) -> list[Question]:
        key = (self.source, declared, is_known)
        if self._questions.get(name, (None,))[0] != key:
            reading = replace(self.table.reading_of(name), codes=[name] if is_known else [])
            try:
                read_attribute(self.table.texts(name), declared, reading)
                found = []
            except SfumatoError as error:
                found = [Question.of(line, self.table) for line in error.problems]
            self._questions[name] = key, found
        return self._questions[name][1]

    def marks(self) -> dict[str, dict[str, int]]:
        """Return the texts that plainly stand for a missing value, and how many cells of which columns hold them."""
        from sfumato.findings.oddities import missing_marks

        found: dict[str, dict[str, int]] = {}
        for name in self.table.names:
            with self.lock:
                profile = self.profile(name)
                distinct = self.preview.distinct(name, None) if profile.kind is Kind.CATEGORICAL else None
            if distinct is not None and len(distinct.values) <= MOST_DRAFTED:
                texts = text_of(distinct.values)
                for mark in missing_marks(texts, distinct.counts, numeric=False):
                    if mark.sure:
                        found.setdefault(mark.value, {})[name] = mark.records
        return found

    def hindrances(self) -> list[Question]:
        """Return all that keeps a run of the draft from being made, as far as that can be told without making it."""
        draft = self.draft
        if problems := draft.problems():
            return [Question(in_page_words(line)) for line in problems]
        policy = draft.policy()
        key = self.source, _without_numbers(policy)
        if self._hindered is None or self._hindered[0] != key:
            self._hindered = key, self._refusals(policy)
        return self._hindered[1] or self._unmet(policy)

    @property
    def can_run(self) -> bool:
        """Whether a run of the draft would be begun; of a larger table only once a page has asked for hindrances."""
        if self.draft.problems():
            return False
        known = self._hindered is not None and self._hindered[0] == (self.source, _without_numbers(self.draft.policy()))
        return (known or self.table.height * len(self.table.names) <= JUDGED_AT_ONCE) and not self.hindrances()

    def _refusals(self, policy: Policy) -> list[Question]:
        from sfumato.anonymizers.protocol import Publisher
        from sfumato.classes.statistics import statistics_of
        from sfumato.release.task import Task

        self._everybody = None
        with self.lock:
            try:
                task = Task(self.table.with_schema(policy.to_schema()), policy)
                for name, attribute in self.attributes(self.draft).items():
                    self.preview.hierarchy(name, attribute)
                if not (isinstance(task.anonymizer, Publisher) or task.is_of_people):
                    encoded = task.encoded()
                    self._everybody = statistics_of(encoded, np.zeros(encoded.height, dtype=np.int32), 1)
            except SfumatoError as error:
                found = [finding.problem() for each in self.findings().values() for finding in each]
                return [Question.of(line, self.table) for line in dict.fromkeys([*error.problems, *found])]
        return []

    def _unmet(self, policy: Policy) -> list[Question]:
        """Return which promises not even everybody as one class keeps; records that may be left out could mend it."""
        whole = self._everybody
        if whole is None or policy.suppression_limit:
            return []
        from sfumato.models.protocol import of_population

        models = [model for model in policy.to_models() if not of_population([model])]
        failing = (model for model in models if not model.holds(whole).all())
        return [Question(in_page_words(reason)) for model in failing if (reason := model.explain(whole))]

    def unprotected(self) -> list[str]:
        """Name the sensitive columns of which no promise of the draft speaks."""
        from sfumato.release.task import promised_columns

        sensitive = self.draft.of_role("sensitive")
        promised = promised_columns(self.draft.policy().to_models(), sensitive)
        return [name for name in sensitive if name not in promised]

    def open_in(self, job: Job) -> list[Finding]:
        """Return what stops the release of a job from leaving the house: in what it publishes, and not answered now."""
        from sfumato.findings.review import profile_of, stopping
        from sfumato.release.task import promised_columns

        _, opened = self.release(job.number)
        policy = self.policy_of(job)
        schema = replace(policy.to_schema(), accept=self.draft.accepted)
        if self._found.get(job.number, (None,))[0] != schema.accept:
            shown = [*schema.insensitive, *schema.sensitive]
            columns = {name: frame[name] for frame in opened.published.tables.values() for name in frame.columns}
            reading = ValueReading(("",), strip=True, is_text=True)
            profiles = [profile_of(columns[name], reading) for name in shown if name in columns]
            promised = promised_columns(policy.to_models(), list(schema.sensitive))
            self._found = {job.number: (schema.accept, stopping(profiles, schema, promised))}
        return list(self._found[job.number][1])

    def attributes(self, draft: Draft) -> dict[str, Attribute]:
        """Return the settings of the quasi-identifying columns."""
        return {name: draft.attribute(name) for name in draft.of_role("quasi-identifying")}

    def sizes(self, draft: Draft, number: int = 0) -> ClassSizes | None:
        """Count classes; None if a later count was asked for meanwhile."""
        self._latest = max(self._latest, number)
        with self.lock:
            if number < self._latest:
                return None
            return self.preview.sizes(self.attributes(draft), draft.levels)

    def schema(self, policy: Policy) -> Schema:
        """Return the roles of a policy with every kind said, as a single record does not show it."""
        schema = policy.to_schema()
        quasi = {
            name: replace(its, kind=its.kind or self.table.typed(name, its)[1])
            for name, its in schema.quasi_identifying.items()
        }
        return Schema(quasi_identifying=quasi, sensitive=schema.sensitive, others="drop")

    def release(self, number: int) -> tuple[Job, OpenedRelease]:
        """Return a finished release."""
        job = self.jobs.get(number)
        folder = self.release_folder(job)
        if number not in self._opened:
            from sfumato.release.verify import read_release

            # Only the last one looked at stays in memory.
            self._opened = {number: read_release(folder)}
        return job, self._opened[number]

    def by_class(self, number: int) -> TablePage:
        """Return the rows of a release by class; only those of the last one looked at stay in memory."""
        _, opened = self.release(number)
        if not isinstance(opened.published, PublishedTable):
            raise InputError(f"a {opened.published.kind} has no classes of records")
        if self._by_class is None or self._by_class[0] is not opened:
            self._by_class = opened, by_class(opened.published, self.table.names)
        return self._by_class[1]

    def release_folder(self, job: Job) -> Path:
        """Return the folder of a release that was made, or raise InputError."""
        folder = self.jobs.folder_of(job.number) / RELEASE
        if job.kind != "release" or (problem := no_release(folder)):
            raise InputError(f"run {job.number} made no release" + ("" if job.kind != "release" else f": {problem}"))
        return folder

    def policy_of(self, job: Job) -> Policy:
        """Return the policy that a job was made from."""
        from sfumato.policy.policy import Policy

        return Policy.from_file(self.jobs.folder_of(job.number) / POLICY)

    def staleness(self, job: Job) -> str:
        """Say why a result is older than the setup; empty if it is not."""
        if job.table != self.project.sha256:
            return "the table has changed since"
        if not self.draft.problems() and self.draft.policy().to_toml() == job.policy:
            return ""
        return in_words(self.project.history.entry(job.entry).draft, self.draft)

    def releases(self) -> list[Job]:
        """Releases that were made, the latest first."""
        return [job for job in self.jobs.of_kind("release") if job.state == "done"]

    def beside(self) -> dict[str, Path]:
        """Return releases in the table's folder, as candidates for that of last time; of a series the last one."""
        folder = self.project.place
        found = [path for path in sorted(folder.iterdir()) if path.is_dir() and not path.is_symlink()]
        lasts = [last_of_series(path) or path for path in found]
        return {path.relative_to(folder).as_posix(): path for path in lasts if no_release(path) is None}

    def close(self) -> None:
        """End jobs and let go of the project."""
        self.jobs.close()
        self.project.close()


def last_of_series(folder: Path) -> Path | None:
    """Return the last release of a series; None where a folder holds none."""
    if not (folder / "series.json").is_file():
        return None
    from sfumato.series.description import SeriesFolder

    try:
        return next(reversed(SeriesFolder.open(folder).releases), None)
    except (SfumatoError, OSError):
        return None


def _without_numbers(policy: Policy) -> str:
    """Return what decides whether a run is begun: no number of a promise does, so that turning one costs nothing."""
    content = policy.to_mapping()
    models = [{key: its for key, its in model.items() if isinstance(its, str)} for model in content["models"]]
    return repr({**content, "models": models})


def _whole_table(path: Path, source: Source) -> RawTable:
    table = open_table(path, reading=Reading(**source.reading()))
    table.hold()
    if not table.height:
        raise InputError(f"{table.source}: the table has no records")
    return table
