"""Which runs a comparison consists of: anonymizers, a parameter with its values, repetitions, promises to people."""

from __future__ import annotations

import dataclasses
import math
import time
from collections import ChainMap, Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from threading import Lock
from typing import Any, Literal, get_args

import polars as pl

from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.anonymizers.clustering.bounds import lower_bound
from sfumato.anonymizers.protocol import Anonymizer, Publisher
from sfumato.errors import PolicyError, SfumatoError, UnsatisfiableError, raise_all
from sfumato.evaluation.utility.answers import Questions, drawn_workload
from sfumato.evaluation.utility.classifiers import TrainedOnce
from sfumato.evaluation.utility.joint import Original
from sfumato.evaluation.utility.measure import ReleaseView, error_figures
from sfumato.models import KAnonymity
from sfumato.models.protocol import PrivacyModel, least_class_size
from sfumato.numbers import figure, percent
from sfumato.parallel import Once
from sfumato.policy.parts import People
from sfumato.progress import Progress
from sfumato.randomness import permutation
from sfumato.recoding import Recoding
from sfumato.registry import Registry
from sfumato.release.anonymize import made
from sfumato.release.release import Release
from sfumato.release.reports import Report
from sfumato.release.task import Arguments, Task
from sfumato.table.table import Table

RECORDS, ATTRIBUTES = "records", "attributes"
"""What may vary besides parameters of models: how much of the table is used."""

Way = Anonymizer | Publisher
Value = int | float
Compared = Literal["asked", "both"]
"""What is promised where people have several records: what the models say, or each of the :class:`Promise`."""


@dataclass(frozen=True)
class Run:
    """One release to be made."""

    anonymizer: str  # its label
    value: Value  # of what varies
    repetition: int  # from 0

    @property
    def key(self) -> str:
        """Return a name that is unique among the runs of a plan."""
        return f"{self.anonymizer}|{self.value!r}|{self.repetition}"


@dataclass(frozen=True, eq=False)
class Plan:
    """Every run of a comparison."""

    anonymizers: Mapping[str, Way]  # label → algorithm with its options
    models: tuple[PrivacyModel, ...]  # what every release has to satisfy, with the parameter that varies at any value
    vary: str  # a parameter of one of the models, ``"records"`` or ``"attributes"``
    values: tuple[Value, ...]  # in rising order
    repetitions: int = 1
    # Where what is promised to people is compared: label → that of the anonymizer, and its promise. Else empty.
    promises: Mapping[str, tuple[str, Promise]] = field(default_factory=dict)
    # what is done about people who have several records, where that is not compared
    people: People = field(default_factory=People)
    metrics: Mapping[str, Metric] = field(default_factory=dict)  # metrics of the caller's own
    bound: bool = False  # whether losses are bounded, too

    def runs(self) -> Iterator[Run]:
        """Return the runs, one repetition after the other, so that an early end leaves whole curves."""
        for repetition in range(self.repetitions):
            for value in self.values:
                for label in self.anonymizers:
                    yield Run(label, value, repetition)

    def longest_first(self, runs: Sequence[Run]) -> list[Run]:
        """Order runs so that no long run is left for the end, when other threads would be idle.

        One repetition comes after the other. Small classes take longest, and come first in the plan; so do many records
        and many attributes.
        """
        if self.vary not in (RECORDS, ATTRIBUTES):
            return list(runs)
        return sorted(runs, key=lambda run: (run.repetition, -run.value))

    def models_of(self, run: Run) -> tuple[PrivacyModel, ...]:
        """Return the models with the parameter that varies set for a run."""
        models = self.models if self.vary in (RECORDS, ATTRIBUTES) else _models_at(self.models, self.vary, run.value)
        _, promise = self.promises.get(run.anonymizer, ("", None))
        return models if promise is None else _models_for(models, promise)

    def people_of(self, run: Run) -> People:
        """Return what is done about people in a run."""
        apart = self.promises.get(run.anonymizer, ("", None))[1] is Promise.APART
        return People(rows="apart") if apart else self.people

    def counts_records(self, run: Run) -> bool:
        """Tell whether a run takes every record for another person, though the table says who is who."""
        return self.promises.get(run.anonymizer, ("", None))[1] is Promise.RECORDS


def plan(
    anonymizers: Sequence[str | Way] | Mapping[str, Way],
    models: PrivacyModel | Sequence[PrivacyModel],
    vary: str,
    values: Sequence[Value],
    repetitions: int,
    people: Compared | People = "asked",
) -> Plan:
    """Check the settings, and list the runs; ``PolicyError`` with every unknown anonymizer, value or parameter."""
    given = tuple(models) if isinstance(models, Sequence) else (models,)
    problems: list[str] = []
    labelled = _labelled(anonymizers, problems)
    if not isinstance(repetitions, int) or isinstance(repetitions, bool) or repetitions < 1:
        problems.append("repetitions: must be a whole number, 1 or above")
    given, chosen = _varied(given, vary, values, problems)
    if not isinstance(people, People) and people not in get_args(Compared):
        problems.append(f"people: must be one of {', '.join(get_args(Compared))}, or a People")
    raise_all(PolicyError, problems)
    if people != "both":
        asked = people if isinstance(people, People) else People()
        return Plan(labelled, given, vary, chosen, repetitions, people=asked)
    _models_for(given, Promise.SHARES)
    promises = _promises_of(labelled)
    ways = {label: labelled[name] for label, (name, _) in promises.items()}
    return Plan(ways, given, vary, chosen, repetitions, promises)


def _labelled(anonymizers: Sequence[str | Way] | Mapping[str, Way], problems: list[str]) -> dict[str, Way]:
    if isinstance(anonymizers, Mapping):
        entries: list[tuple[str, Any]] = list(anonymizers.items())
    else:
        entries = [(each if isinstance(each, str) else getattr(each, "name", "?"), each) for each in anonymizers]
        names = [name for name, _ in entries]
        entries = [(name if names.count(name) == 1 else repr(way), way) for name, way in entries]
    known = ChainMap[str, Any](ANONYMIZERS, PUBLISHERS)  # type: ignore[arg-type]
    labelled: dict[str, Way] = {}
    for label, way in entries:
        if isinstance(way, str) and way not in known:
            problems.append(f"anonymizers: {way!r} is not one of {', '.join(known)}")
            continue
        made = known[way]() if isinstance(way, str) else way
        if isinstance(made, type) or not isinstance(made, (Anonymizer, Publisher)):
            problems.append(f"anonymizers: {label} is not an anonymizer; give a name, or a value such as Mondrian()")
        elif label in labelled:
            problems.append(f"anonymizers: {label} is named twice")
        else:
            labelled[label] = made
    if not entries:
        problems.append("anonymizers: name at least one, e.g. mondrian")
    return labelled


def _varied(
    models: tuple[PrivacyModel, ...], vary: str, values: Sequence[Value], problems: list[str]
) -> tuple[tuple[PrivacyModel, ...], tuple[Value, ...]]:
    chosen = tuple(sorted(set(values)))
    if not chosen:
        problems.append(f"{vary}: give at least one value, e.g. 2,5,10")
    if vary in (RECORDS, ATTRIBUTES):
        if any(not isinstance(value, int) or value < 1 for value in chosen):
            problems.append(f"{vary}: values must be whole numbers, 1 or above")
        if not models:
            problems.append("models: name at least one privacy model, e.g. KAnonymity(5)")
        return models, chosen
    having = [model for model in models if vary in _parameters(model)]
    if not having and vary == "k":
        models = (KAnonymity(2), *models)
    elif len(having) != 1:
        owners = "no model" if not having else "more than one model"
        problems.append(f"vary: {owners} has a parameter {vary!r}; vary one that exactly one of the models has")
        return models, chosen
    for value in chosen:
        try:
            _models_at(models, vary, value)
        except PolicyError as error:
            problems.extend(error.problems)
    return models, chosen


def _parameters(model: PrivacyModel) -> set[str]:
    return {field.name for field in dataclasses.fields(model)} if dataclasses.is_dataclass(model) else set()


def _models_at(models: Sequence[PrivacyModel], parameter: str, value: Value) -> tuple[PrivacyModel, ...]:
    return tuple(
        dataclasses.replace(model, **{parameter: value})  # type: ignore[type-var]
        if parameter in _parameters(model)
        else model
        for model in models
    )


class Promise(StrEnum):
    """One of the releases that a comparison of promises makes of everything that it compares."""

    RECORDS = "k records"
    """Counts records, and promises nothing to people."""
    TOGETHER = "together"
    """Puts all records of a person into one class and promises nothing else: what folding alone costs."""
    PEOPLE = "k people"
    """Classes of k people."""
    SHARES = "nobody above 1/k"
    """Classes in which nobody has more than 1/k of the records, either: the default."""
    APART = "rows apart"
    """The same where records of a person may lie in different classes; made where an anonymizer can do so."""


def _promises_of(anonymizers: Mapping[str, object]) -> dict[str, tuple[str, Promise]]:
    """Return the labels of what is compared: for each anonymizer and promise one, with what it stands for."""
    return {
        f"{label}, {promise}": (label, promise)
        for label, anonymizer in anonymizers.items()
        for promise in Promise
        if promise is not Promise.APART or getattr(anonymizer, "people_apart", False)
    }


def _models_for(models: Sequence[PrivacyModel], promise: Promise) -> tuple[PrivacyModel, ...]:
    """Return the models of a promise. Raises ``PolicyError`` when no model is k-anonymity."""
    if not any(isinstance(model, KAnonymity) for model in models):
        raise PolicyError("people: 'both' compares what k-anonymity promises; name that model, e.g. KAnonymity(5)")
    if promise is Promise.TOGETHER:
        return (KAnonymity(1),)
    shares = False if promise is Promise.PEOPLE else None
    return tuple(replace(model, shares=shares) if isinstance(model, KAnonymity) else model for model in models)


def without_people(table: Table) -> Table:
    """Return the table as one in which every record is another person."""
    return replace(table, schema=replace(table.schema, person=None), people=None)


def plan_lines(means: pl.DataFrame, promises: Mapping[str, tuple[str, Promise]], vary: str) -> list[str]:
    """Say for each anonymizer what it costs to promise something to people, and how much of it is folding.

    `means`: one row for each label and value, with the figures. `promises`: what the labels stand for. `vary`: name of
    the column of values. An average is over those that all of an anonymizer's reached.
    """
    lines = []
    for name in dict.fromkeys(name for name, _ in promises.values()):
        own = {promise: label for label, (other, promise) in promises.items() if other == name}
        rows = (
            means.filter(pl.col("anonymizer").is_in(list(own.values()))) if "loss" in means.columns else pl.DataFrame()
        )
        complete = rows.filter(pl.len().over(vary) == len(own)) if rows.height else rows
        if complete.height:
            losses = dict(complete.group_by("anonymizer").agg(pl.col("loss").mean()).iter_rows())
            lines.append(_line(name, vary, {promise: losses[label] for promise, label in own.items()}))
    return lines


def _line(name: str, vary: str, loss: Mapping[Promise, float]) -> str:
    four = (Promise.RECORDS, Promise.TOGETHER, Promise.PEOPLE, Promise.SHARES)
    records, together, people, shares = (loss[promise] for promise in four)
    apart = f"; the same with rows apart {percent(loss[Promise.APART], 3)}" if Promise.APART in loss else ""
    times = f", {figure(shares / people, 3)} times that of k people" if people else ""
    return (
        f"People, {name}, information loss on average over {vary}: k records {percent(records, 3)}; "
        f"k people {percent(people, 3)}; nobody above 1/k {percent(shares, 3)}{times}{apart}. "
        "k records promise nothing to people. "
        f"To put all records of a person into one class loses {percent(together, 3)} by itself, without any k. The "
        "class covers all that the person's records say, so nobody learns more by knowing several of them."
    )


Metric = Callable[[Release, Table], float]
"""Returns one number. It is called on several threads, with one release on each."""

_METRICS = Registry({}, group="sfumato.metrics")
"""Names that plug-ins give to metrics."""

_TAKEN = frozenset({"anonymizer", "repetition", "status", "reason", "records", "suppressed", "seconds", "cpu_seconds"})
_TAKEN_TOO = frozenset(
    {
        "loss",
        "discernibility",
        "average_class_size",
        "classes",
        "highest_risk",
        "average_risk",
        "count_error",
        "lower_bound",
    }
)


def metrics_of(given: Mapping[str, Metric] | Sequence[str], vary: str) -> dict[str, Metric]:
    """Return metrics by their names, those of plug-ins looked up.

    Raises ``PolicyError`` with every one that is unknown, no function, or named like another figure.
    """
    if isinstance(given, str) or not isinstance(given, (Mapping, Sequence)):
        raise PolicyError("metrics: give functions by their names, such as {'suppressed cells': count_stars}")
    if not isinstance(given, Mapping):
        unknown = [f"metrics: {name!r} is not the name of a plug-in's metric" for name in given if name not in _METRICS]
        raise_all(PolicyError, unknown)
        given = {name: _METRICS[name] for name in given}
    problems = [f"metrics: {name!r} is no function" for name, metric in given.items() if not callable(metric)]
    taken = {*_TAKEN, *_TAKEN_TOO, vary}
    problems += [f"metrics: {name!r} is the name of another figure" for name in given if name in taken]
    raise_all(PolicyError, problems)
    return dict(given)


def measure_run(metrics: Mapping[str, Metric], release: Release, table: Table) -> dict[str, float]:
    """Measure a release, raising PolicyError where a metric fails; what it says of that may hold values."""
    return {name: _number(name, metric, release, table) for name, metric in metrics.items()}


def _number(name: str, metric: Metric, release: Release, table: Table) -> float:
    try:
        found: Any = metric(release, table)
        number = float(found)
    except SfumatoError:
        raise
    except Exception as error:
        raise PolicyError(f"metrics: {name!r} failed ({type(error).__name__}); mend it, or leave it out") from None
    if math.isnan(number):
        raise PolicyError(f"metrics: {name!r} returned no number; mend it, or leave it out")
    return number


DONE, _IMPOSSIBLE, _REFUSED, UNFINISHED = "done", "impossible", "refused", "unfinished"
FOUND = "found: "
"""How a line of progress begins that says what a run came to."""


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run."""

    run: Run
    # ``"done"``; ``"impossible"``: the models cannot be met; ``"refused"``: the anonymizer cannot promise them;
    # ``"unfinished"``: the time was over
    status: str
    reason: str = ""  # why there is no release
    figures: Mapping[str, float] = field(default_factory=dict)  # empty if there is no release

    def sentence(self, vary: str) -> str:
        """Say in a line what the run came to."""
        told = {"loss": "loss {}", "count_error": "counts off by {}"}
        said = [words.format(percent(self.figures[name], 3)) for name, words in told.items() if name in self.figures]
        said += [f"{self.figures['seconds']:.2f} s"] if "seconds" in self.figures else []
        return f"{self.run.anonymizer}, {vary} = {figure(self.run.value)}: {', '.join(said) or self.status}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "anonymizer": self.run.anonymizer,
            "value": self.run.value,
            "repetition": self.run.repetition,
            "status": self.status,
            "reason": self.reason,
            "figures": dict(self.figures),
        }

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> RunOutcome:
        """Read what :meth:`to_dict` wrote."""
        run = Run(entry["anonymizer"], entry["value"], entry["repetition"])
        return cls(run, entry["status"], entry["reason"], entry["figures"])


def outcome_of(run: Run, plan: Plan, ground: SharedWork, prepared: _PreparedTable, progress: Progress) -> RunOutcome:
    """Make one release and measure it, on one thread, whose time is ``cpu_seconds``: several runs go on at a time."""
    began, spent = time.perf_counter(), time.thread_time()
    try:
        release = run_release(run, plan, ground, prepared.original, progress)
    except UnsatisfiableError as error:
        return RunOutcome(run, _IMPOSSIBLE, "; ".join(error.problems))
    except PolicyError as error:
        return RunOutcome(run, _REFUSED, "; ".join(error.problems))
    seconds = {"seconds": time.perf_counter() - began, "cpu_seconds": time.thread_time() - spent}
    own = measure_run(plan.metrics, release, prepared.original.table)
    if plan.bound and isinstance(plan.anonymizers[run.anonymizer], Anonymizer):
        size = least_class_size(plan.models_of(run)) or 1
        own["lower_bound"] = prepared.bounds.of(size, lambda: lower_bound(prepared.original.encoded, size))
    return RunOutcome(run, DONE, figures={**seconds, **_figures(release), **_utility(release, prepared, ground), **own})


def run_release(run: Run, plan: Plan, ground: SharedWork, original: Original, progress: Progress) -> Release:
    """Make a run's release on this thread; UnsatisfiableError or PolicyError when the models cannot be met."""
    table, seed = original.table, ground.seed_of(run)
    people = plan.people_of(run)
    said = Arguments(
        plan.models_of(run), plan.anonymizers[run.anonymizer], ground.recoding, ground.suppression_limit, people=people
    )
    task = Task(table, said.policy(table, seed), seed=seed, threads=1, progress=progress, read=original.encoded)
    return made(task)


def _figures(release: Release) -> dict[str, float]:
    """Return the figures of a release's report that a comparison can use, under the report's own names."""
    report = release.report
    figures: dict[str, float | None] = {"records": report.original, "suppressed": report.suppressed}
    if isinstance(report, Report):
        figures |= {
            "loss": report.losses.normalized_ncp,
            "discernibility": report.losses.discernibility,
            "average_class_size": report.losses.average_class_size,
            "classes": report.classes,
            "highest_risk": report.highest_risk,
            "average_risk": report.average_risk,
        }
    return {name: float(figure) for name, figure in figures.items() if figure is not None}


def _utility(release: Release, prepared: _PreparedTable, ground: SharedWork) -> dict[str, float]:
    if prepared.questions is None:
        return {}
    view = ReleaseView.of(release, prepared.original)
    errors, _ = error_figures(prepared.questions, view.after)
    figures = {f"{aggregate}_error": each.median for aggregate, each in errors.items()}
    if ground.holdout is not None:
        for learnt in view.learnt(ground.holdout, seed=ground.query_seed, trained=prepared.trained):
            figures[f"accuracy_{learnt.learner}_{learnt.target}"] = learnt.release
    views, _ = view.attacker_views()
    return figures | {f"privacy_loss_{each.sensitive}": each.privacy_loss for each in views}


_Part = tuple[int | float, int, bool]
"""What tells parts of a table apart: a number of records and a repetition, or of attributes; and who counts."""


@dataclass(frozen=True, eq=False)
class SharedWork:
    """What all runs of a comparison share."""

    table: Table  # what is anonymized
    holdout: Table | None  # records on which classifiers are tested
    queries: int  # counts to answer; 0 measures no utility
    query_seed: int  # of the queries, which are the same for every anonymizer
    recoding: Recoding
    suppression_limit: float
    seed: int | None  # of the first repetition; each further one has a seed of its own

    def seed_of(self, run: Run) -> int | None:
        """Return the seed of a run."""
        return None if self.seed is None else self.seed + run.repetition


@dataclass(frozen=True, eq=False, repr=False)
class _PreparedTable:
    """A table that runs use, with everything that is computed from it independently of the release."""

    original: Original
    questions: Questions | None  # the queries and their exact answers; None if no utility is measured
    # accuracies of classifiers that were trained on the original, tested on the records that were held out
    trained: TrainedOnce = field(default_factory=Once)
    bounds: Once[int, float] = field(default_factory=Once)  # size of the smallest class → what is lost at least


class PreparedTables:
    """The tables of the `runs` to be done: read for the first run that needs one, dropped after the last."""

    def __init__(self, plan: Plan, ground: SharedWork, runs: Iterable[Run]) -> None:
        self._plan = plan
        self._ground = ground
        self._lock = Lock()
        self._left = Counter(_part(plan, run) for run in runs)
        self._prepared: Once[_Part, _PreparedTable] = Once()

    def of(self, run: Run) -> _PreparedTable:
        """Return the table of a run; while one thread reads it, others that need it wait.

        Raises ``SfumatoError`` when a column cannot be encoded, or nothing can be asked about it.
        """
        table = self._ground.table
        part = _part(self._plan, run)
        return self._prepared.of(part, lambda: prepared(run_part(table, self._plan, run), self._ground))

    def ended(self, run: Run) -> None:
        """Drop the table of a run after the last run that used it."""
        part = _part(self._plan, run)
        with self._lock:
            self._left[part] -= 1
            if not self._left[part]:
                self._prepared.forget(part)


def prepared(table: Table, ground: SharedWork) -> _PreparedTable:
    """Read a table, draw queries about it, and answer them."""
    original = Original.of(table)
    if not ground.queries:
        return _PreparedTable(original, None)
    workload = drawn_workload(original, ground.queries, seed=ground.query_seed)
    return _PreparedTable(original, Questions.about(workload, original.domains))


def run_part(table: Table, plan: Plan, run: Run) -> Table:
    """Return the part of the table that a run uses: some records, some quasi-identifying attributes, or all."""
    if plan.counts_records(run):
        table = without_people(table)
    if plan.vary == RECORDS:
        rows = permutation(table.frame.height, run.repetition)[: int(run.value)]
        return table.take(rows)
    if plan.vary == ATTRIBUTES:
        return _with_attributes(table, int(run.value))
    return table


def _part(plan: Plan, run: Run) -> _Part:
    by_record = plan.counts_records(run)
    if plan.vary == RECORDS:
        return run.value, run.repetition, by_record
    return (run.value if plan.vary == ATTRIBUTES else 0), 0, by_record


def _with_attributes(table: Table, count: int) -> Table:
    """Keep the first attributes that an attacker may know, in declared order."""
    schema = table.schema
    quasi = dict(list(schema.quasi_identifying.items())[:count])
    gone = [name for name in schema.quasi_identifying if name not in quasi]
    kinds = {name: kind for name, kind in table.kinds.items() if name not in gone}
    fewer = replace(schema, quasi_identifying=quasi)
    kept_columns = [name for name in table.frame.columns if name not in gone]
    return replace(table, frame=table.frame[kept_columns], schema=fewer, kinds=kinds)
