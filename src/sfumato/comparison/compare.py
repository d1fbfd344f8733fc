"""Compare anonymizers over a parameter, the number of records or of attributes: runs side by side, kept on disk.

Finished runs are kept, so that an interrupted comparison continues where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from types import MappingProxyType
from typing import Any, Unpack

import polars as pl

from sfumato.comparison.comparison import Comparison, PrivateWay, private_frame, private_problems
from sfumato.comparison.plan import (
    ATTRIBUTES,
    FOUND,
    RECORDS,
    UNFINISHED,
    Compared,
    Metric,
    Plan,
    PreparedTables,
    Run,
    RunOutcome,
    SharedWork,
    Value,
    Way,
    metrics_of,
    outcome_of,
    plan,
    run_part,
    run_release,
)
from sfumato.errors import InputError, PolicyError, SfumatoError, raise_all, write_errors
from sfumato.evaluation.inputs import hold_out
from sfumato.evaluation.utility.joint import Original
from sfumato.former import FormerCompare, refuse_others, value_of_call, varied_of_call, warn
from sfumato.models.protocol import PrivacyModel
from sfumato.parallel import Once
from sfumato.policy.parts import People
from sfumato.policy.policy import Policy
from sfumato.progress import Progress, beating, shown, thread_count
from sfumato.randomness import seed_problems
from sfumato.recoding import Recoding
from sfumato.release.task import read_for_call
from sfumato.table.row_order import order_rows
from sfumato.table.schema import Schema
from sfumato.table.table import Table
from sfumato.whole_files import PRIVATE, write_whole

_WARM = 200
"""Records of the runs that only warm up."""

_HELD_OUT = 1 / 3
"""Share of the records that classifiers are tested on."""


@dataclass(frozen=True)
class Figures:
    """What :func:`sfumato.compare` measures of each release beside its losses, and for how long.

    Parameters
    ----------
    queries
        Random counts that every release has to answer; 0 measures no utility beyond information loss.
    classifiers
        Hold out a third of the records, train classifiers on every release, and test them on those. Needs
        scikit-learn.
    metrics
        Metrics of your own: name → function of a release and its table that returns a number; or names that plug-ins
        give (entry points of the group ``sfumato.metrics``). They are figures like all others. Where runs are kept in a
        folder, a metric that is named as before is taken to be the same.
    within
        Seconds for everything. Runs that are not finished by then are left as ``"unfinished"``; the step at which each
        is ends behind the caller's back. None waits for all.
    private
        Labels with policies of releases under differential privacy, noisy counts or samples: each is made `repetitions`
        times, answers the same counts, and is told beside the values at which others are off by no more. Their columns
        are those of the table, whose schema declares their domains. No seed repeats them.
    bound
        Also compute how little any release loses whose classes are as large as the models ask
        (:func:`~sfumato.lower_bound`): the figure ``lower_bound``, once for each table and size; no run's seconds
        count it.
    """

    queries: int = 200
    classifiers: bool = False
    metrics: Mapping[str, Metric] | Sequence[str] = ()
    within: float | None = None
    private: Mapping[str, PrivateWay] = field(default_factory=dict)
    bound: bool = False


def compare(
    table: Any,
    models: Policy | PrivacyModel | Sequence[PrivacyModel] = (),
    *,
    schema: Schema | None = None,
    anonymizers: Sequence[str | Way] | Mapping[str, Way],
    vary: Mapping[str, Sequence[Value]] | str = MappingProxyType({"k": (2, 5, 10, 20, 50)}),
    repetitions: int = 1,
    people: Compared | People = "asked",
    figures: Figures | None = None,
    folder: str | Path | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = shown,
    **former: Unpack[FormerCompare],
) -> Comparison:
    """Make a release with every anonymizer at every value, and put their figures side by side.

    Parameters
    ----------
    table
        From :func:`sfumato.read_table`; with `schema`, or a policy in the place of the models, anything that it reads.
    models
        What every release has to satisfy besides the parameter that varies; where k varies, k-anonymity may be left
        out. Or a policy, which says it, how classes are published, and what may be suppressed.
    schema
        The roles of the columns, where `table` is a file or a frame that was not read yet.
    anonymizers
        Names or values, or labels with values: ``{"strict": sf.Mondrian(), "relaxed": sf.Mondrian(mode="relaxed")}``.
    vary
        A parameter that exactly one of the models has, such as ``"k"``, ``"l"`` or ``"t"``, with its values; or
        ``"records"`` (that many random ones) or ``"attributes"`` (that many quasi-identifying ones, the first that are
        declared): ``{"k": [2, 5, 10]}``.
    repetitions
        How often everything is repeated, for random algorithms; if a seed is given, each repetition has another one.
    people
        Where the table says who is who: ``"asked"`` promises what the models say, and a
        :class:`~sfumato.People` says what is done besides. ``"both"`` makes several releases instead of one, so that
        what it costs to promise something to people can be seen: classes of k records; all records of a person in one
        class and nothing else; classes of k people; nobody above 1/k of the records; and the last with rows apart,
        where the anonymizer can do so.
    figures
        What is measured of each release beside its losses.
    folder
        Where finished runs are written as they come; the same call continues with what it finds there. It is for the
        data steward alone.
    seed
        None draws from the operating system.
    threads
        Runs at a time, each on one thread; None reads ``SFUMATO_THREADS``, else takes all cores. It changes no figure
        but seconds.
    progress
        Called with what is being done, how much is done and the total, at each step and twice a second between; it
        may raise to stop. The work is then done in a thread of its own. After a run it is called with a line that
        begins with ``"found: "``: what that run came to.
    **former
        Keywords of the last version: `values` of `vary`, settings of a policy, and those of :class:`sfumato.Figures`.

    Returns
    -------
    Comparison
        A run that cannot satisfy the models has a row that says why; the others go on.

    Raises
    ------
    PolicyError
        With everything that is wrong with the settings, before any work.
    InputError
        When the folder holds something else.
    """
    refuse_others("compare", former, FormerCompare)
    began = time.monotonic()
    table = read_for_call(table, schema, [models] if isinstance(models, Policy) else [])
    varied, values = varied_of_call(vary, former)
    counted = {key: value for key, value in former.items() if key in ("queries", "classifiers", "metrics")}
    measured = value_of_call("compare", "figures", Figures, figures, counted)
    if "private" in former:
        warn("compare(private=...)", "figures=sfumato.Figures(private=...)")
        measured = replace(measured, private=former["private"])
    queries, classifiers = measured.queries, measured.classifiers
    models, recoding, suppression_limit, own_people = _promised(models, former)
    if own_people is not None and people == "asked":
        people = own_people
    problems = [*_setting_problems(table, measured, seed, suppression_limit), *private_problems(measured.private)]
    try:
        if not isinstance(vary, str) and len(vary) != 1:
            raise PolicyError("vary: name one parameter with its values, such as {'k': [2, 5, 10]}")
        laid = plan(anonymizers, models, varied, values, repetitions, people)
        laid = replace(laid, metrics=metrics_of(measured.metrics, varied), bound=measured.bound)
    except PolicyError as error:
        raise PolicyError(*problems, *error.problems) from None
    problems.extend(_size_problems(table, laid))
    if laid.promises and isinstance(table, Table) and table.people is None:
        problems.append("people: 'both' is about people; name the column that says who they are (person)")
    raise_all(PolicyError, problems)
    drawn = secrets.randbelow(2**31) if seed is None else seed
    run_store = None
    if folder is not None:
        identity = (table, laid, recoding, suppression_limit, queries, classifiers, seed)
        run_store = _RunStore(Path(folder), _identity(*identity))
    used, holdout = hold_out(table, _HELD_OUT, seed=drawn) if classifiers else (table, None)
    if laid.vary == RECORDS:
        used = order_rows(used)  # records are drawn by their places
    ground = SharedWork(used, holdout, queries, drawn, recoding or Recoding(), suppression_limit, seed)
    until = None if measured.within is None else began + measured.within
    outcomes = beating(
        progress, "comparing", lambda beat: _Runs(laid, ground, run_store, beat, until).all(thread_count(threads))
    )
    notes = () if table.repeated is None else (table.repeated.sentence(),)
    beside = private_frame(measured.private, ground, repetitions, progress, until)
    return replace(Comparison.of(laid, outcomes, notes), private=beside)


def _promised(
    models: Policy | PrivacyModel | Sequence[PrivacyModel], former: Mapping[str, Any]
) -> tuple[PrivacyModel | Sequence[PrivacyModel], Recoding | None, float, People | None]:
    """Return what every release promises, how it is published, and what may be suppressed."""
    said = {key: former[key] for key in ("recoding", "suppression_limit") if key in former}
    if said:
        warn(f"compare({', '.join(f'{key}=...' for key in said)})", "a Policy in the place of the models")
    if isinstance(models, Policy):
        raise_all(PolicyError, [f"{key}: the policy says it; leave it out" for key in said])
        return models.to_models(), models.to_recoding(), models.suppression_limit, models.to_people()
    return models, said.get("recoding"), said.get("suppression_limit", 0.0), None


@dataclass(eq=False)
class _Runs:
    """The runs of a plan while they are made."""

    plan: Plan
    ground: SharedWork
    store: _RunStore | None
    progress: Progress
    until: float | None  # of the monotonic clock

    def all(self, threads: int) -> list[RunOutcome]:
        """Do all unfinished runs, several at a time; if it is stopped, finished runs stay written."""
        runs = list(self.plan.runs())
        written = self.store.finished() if self.store else {}
        found = {run.key: written[run.key] for run in runs if run.key in written}
        todo = [run for run in runs if run.key not in found]
        self.progress("comparing", len(found), len(runs))

        def arrived(outcome: RunOutcome) -> None:
            found[outcome.run.key] = outcome
            self.progress(f"{FOUND}{outcome.sentence(self.plan.vary)}", len(found), len(runs))

        if todo:
            self._do(todo, threads, arrived)
        return [found.get(run.key) or RunOutcome(run, UNFINISHED, "not finished within the time given") for run in runs]

    def _do(self, todo: Sequence[Run], threads: int, arrived: Callable[[RunOutcome], None]) -> None:
        agenda = Agenda(self.plan.longest_first(todo))
        worker = _Worker(self.plan, self.ground, self.store, agenda, PreparedTables(self.plan, self.ground, todo))
        ended: SimpleQueue[RunOutcome | BaseException] = SimpleQueue()
        work = [Thread(target=worker.work, args=(ended,), daemon=True, name="sfumato-run") for _ in range(threads)]
        for thread in work:
            thread.start()
        try:
            for _ in todo:
                found = ended.get(timeout=None if self.until is None else max(0.0, self.until - time.monotonic()))
                if isinstance(found, BaseException):
                    raise found
                arrived(found)
        except Empty:
            worker.stopped.set()  # nobody waits for a step that is long
        except BaseException:
            worker.stopped.set()
            for thread in work:
                thread.join()
            raise


@dataclass(eq=False)
class _Worker:
    """Does single runs; called by several threads at a time."""

    plan: Plan
    ground: SharedWork
    store: _RunStore | None
    agenda: Agenda
    tables: PreparedTables
    warmed: Once[str, None] = field(default_factory=Once)
    stopped: Event = field(default_factory=Event)

    def work(self, ended: SimpleQueue[RunOutcome | BaseException]) -> None:
        """Do runs until none is left, one fails, or all are to stop."""
        try:
            while not self.stopped.is_set() and (run := self.agenda.begin()) is not None:
                ended.put(self._outcome(run))
        except BaseException as error:
            ended.put(error)

    def _outcome(self, run: Run) -> RunOutcome:
        """Do a run, and record its outcome."""
        self.warmed.of(run.anonymizer, lambda: self._warm_up(run))
        prepared, began = self.tables.of(run), time.perf_counter()
        outcome = outcome_of(run, self.plan, self.ground, prepared, self._watch)
        self.agenda.end(run, time.perf_counter() - began)
        self.tables.ended(run)
        if self.store:
            self.store.add(outcome)
        return outcome

    def _warm_up(self, run: Run) -> None:
        """Run the anonymizer on a few records, so that compiling at first use does not count as its time."""
        table = self.ground.table
        few = table.take(slice(_WARM))
        # Errors with so few records do not matter: the run itself reports what is wrong with the table.
        with suppress(SfumatoError):
            original = Original.of(run_part(few, self.plan, run))
            run_release(run, self.plan, self.ground, original, self._watch)

    def _watch(self, what: str, done: int, total: int) -> None:
        if self.stopped.is_set():
            raise _Stopped


class _Stopped(Exception):
    """Ends a run between two of its steps."""


def _setting_problems(table: object, measured: Figures, seed: object, limit: object) -> list[str]:
    problems, queries, within = [], measured.queries, measured.within
    if not isinstance(table, Table):
        problems.append("table: is not a Table; read it with sfumato.read_table")
    if not isinstance(queries, int) or isinstance(queries, bool) or queries < 0:
        problems.append("queries: must be a whole number, 0 or above")
    if within is not None and not (isinstance(within, (int, float)) and within > 0):
        problems.append("within: must be a number of seconds above 0")
    problems += seed_problems(seed)
    if not (isinstance(limit, (int, float)) and 0 <= limit <= 1):
        problems.append("suppression_limit: must be a fraction from 0 to 1")
    return problems


def _size_problems(table: Table, laid: Plan) -> list[str]:
    if not isinstance(table, Table):
        return []
    most = {RECORDS: table.frame.height, ATTRIBUTES: len(table.schema.quasi_identifying)}.get(laid.vary)
    if most is None or max(laid.values) <= most:
        return []
    return [f"{laid.vary}: the table has only {most:,}; leave out larger values"]


def _identity(
    table: Table, laid: Plan, recoding: Recoding | None, limit: float, queries: int, classifiers: bool, seed: int | None
) -> dict[str, Any]:
    """Return what distinguishes this comparison from others; values and repetitions may be added later."""
    return {
        "table": fingerprint(table.frame),
        "schema": _as_before(table.schema),
        "anonymizers": {label: repr(way) for label, way in laid.anonymizers.items()},
        "models": [repr(model) for model in laid.models],
        "vary": laid.vary,
        **({"metrics": list(laid.metrics)} if laid.metrics else {}),
        **({"bound": True} if laid.bound else {}),
        "recoding": _as_before(recoding or Recoding()),
        "suppression_limit": limit,
        "queries": queries,
        "classifiers": classifiers,
        "seed": seed,
        # Runs that were made when records were drawn by their places used others.
        **({"drawn": "settled"} if laid.vary == RECORDS or classifiers else {}),
        **({"people": "both"} if laid.promises else {} if laid.people == People() else {"people": repr(laid.people)}),
    }


# Settings that came after comparisons were first kept, as they are written where nobody set them.
_LATER = (", rest='each', mark=None", ", labels=None")


def _as_before(setting: Schema | Recoding) -> str:
    """Write settings as the first version did, where those that came later are as they were then."""
    text = repr(setting)
    for later in _LATER:
        text = text.replace(later, "")
    return text


class Agenda:
    """Runs that wait, and how long each anonymizer is known to take.

    A long run spends most of its time in kernels, a short one in the interpreter, which only one thread can use at a
    time, so two short runs would wait for each other. Therefore as many long runs go on as short ones. Each kind starts
    from its own end of the list, so the runs of medium length are left for the end. `runs`: in the order in which runs
    of one anonymizer are begun. All of one repetition come before those of the next.
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        self._waiting = list(runs)
        self._seconds: dict[str, float] = {}
        self._balance = 0
        self._is_long: dict[Run, int] = {}
        self._lock = Lock()

    def begin(self) -> Run | None:
        """Take a run of unknown times, else a long or a short one, whichever are fewer now; None if none is left."""
        with self._lock:
            if not self._waiting:
                return None
            now = self._waiting[0].repetition
            own = [run for run in self._waiting if run.repetition == now]
            firsts = {run.anonymizer: run for run in reversed(own)}
            unknown = [run for run in own if run.anonymizer not in self._seconds]
            chosen = unknown[0] if unknown else self._chosen(list(firsts.values()))
            self._waiting.remove(chosen)
            return chosen

    def end(self, run: Run, seconds: float) -> None:
        """Note how long a run took."""
        with self._lock:
            self._seconds[run.anonymizer] = seconds
            self._balance -= self._is_long.pop(run, 0)

    def _chosen(self, firsts: list[Run]) -> Run:
        long = self._balance <= 0
        chosen = (max if long else min)(firsts, key=lambda run: self._seconds[run.anonymizer])
        self._is_long[chosen] = 1 if long else -1
        self._balance += self._is_long[chosen]
        return chosen


MARK = "comparison.json"
_RUNS = "runs.jsonl"


class _RunStore:
    """The finished runs of a comparison in a folder, a line each; InputError when it holds something else."""

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self._folder = folder
        self._lock = Lock()
        self._identity = json.loads(json.dumps(identity))
        with write_errors(f"{folder}: the comparison"):
            self._open()

    def finished(self) -> dict[str, RunOutcome]:
        """Return the runs that were finished before, by their keys; a line that was cut off is ignored."""
        path = self._folder / _RUNS
        if not path.is_file():
            return {}
        found = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                outcome = RunOutcome.from_dict(json.loads(line))
            except (ValueError, KeyError, TypeError):
                continue
            found[outcome.run.key] = outcome
        return found

    def add(self, outcome: RunOutcome) -> None:
        """Record a finished run on disk."""
        with write_errors(f"{self._folder}: the comparison"):
            self._append(json.dumps(outcome.to_dict()))

    def _append(self, line: str) -> None:
        with self._lock, (self._folder / _RUNS).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())

    def _open(self) -> None:
        if not self._folder.parent.is_dir():
            raise InputError(f"{self._folder.parent}: there is no such folder; make it first")
        mark = self._folder / MARK
        if self._folder.exists() and not mark.is_file() and _holds_something(self._folder):
            raise InputError(f"{self._folder}: already exists and holds no comparison; name another folder")
        if mark.is_file() and _read(mark) != self._identity:
            raise InputError(
                f"{self._folder}: holds a comparison with other settings or of another table; name another folder, or "
                "repeat the settings to continue it"
            )
        self._folder.mkdir(mode=0o700, exist_ok=True)
        if not mark.is_file():
            write_whole(mark, json.dumps(self._identity, indent=2) + "\n")
        (self._folder / _RUNS).touch(mode=PRIVATE)
        self._end_last_line()

    def _end_last_line(self) -> None:
        """Close a line that a killed run left open, so that the next one does not run on in it."""
        path = self._folder / _RUNS
        if path.is_file() and path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            with path.open("a", encoding="utf-8") as file:
                file.write("\n")


def fingerprint(frame: pl.DataFrame) -> str:
    """Return what distinguishes one table from another: the sha256 of its columns. It stays with the data steward."""
    digest = hashlib.sha256()
    for name in frame.columns:
        digest.update(name.encode())
        column = frame.get_column(name)
        text = column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column
        for part in text.rechunk().to_arrow().buffers():
            digest.update(part if part is not None else b"-")
    return digest.hexdigest()


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None


def _holds_something(folder: Path) -> bool:
    entries: Iterable[Path] = folder.iterdir() if folder.is_dir() else (folder,)
    return any(True for _ in entries)
