"""Which runs a comparison consists of: anonymizers, a parameter with its values, repetitions."""

from __future__ import annotations

import dataclasses
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.anonymizers.protocol import Anonymizer, Publisher
from sfumato.comparison.own_metrics import Metric
from sfumato.comparison.promises import Promise, models_for, promises_of
from sfumato.errors import PolicyError, raise_all
from sfumato.models import KAnonymity
from sfumato.models.protocol import PrivacyModel
from sfumato.policy.people import People

RECORDS, ATTRIBUTES = "records", "attributes"
"""What may vary besides parameters of models: how much of the table is used."""

Way = Anonymizer | Publisher
Value = int | float
Compared = Literal["asked", "both"]
"""What is promised where people have several records: what the models say, or each of the :class:`Promise`."""


@dataclass(frozen=True)
class Run:
    """One release to be made.

    Attributes
    ----------
    anonymizer : str
        Its label.
    value : int or float
        Of what varies.
    repetition : int
        From 0.
    """

    anonymizer: str
    value: Value
    repetition: int

    @property
    def key(self) -> str:
        """Return a name that is unique among the runs of a plan."""
        return f"{self.anonymizer}|{self.value!r}|{self.repetition}"


@dataclass(frozen=True, eq=False)
class Plan:
    """Every run of a comparison.

    Attributes
    ----------
    anonymizers : mapping of str to anonymizer
        Label → algorithm with its options.
    models : tuple of PrivacyModel
        What every release has to satisfy, with the parameter that varies at any value.
    vary : str
        A parameter of one of the models, ``"records"`` or ``"attributes"``.
    values : tuple of number
        In rising order.
    repetitions : int
    promises : mapping of str to (str, Promise)
        Where what is promised to people is compared: label → that of the anonymizer, and its promise. Else empty.
    people : People
        What is done about people who have several records, where that is not compared.
    metrics : mapping of str to callable
        Metrics of the caller's own.
    """

    anonymizers: Mapping[str, Way]
    models: tuple[PrivacyModel, ...]
    vary: str
    values: tuple[Value, ...]
    repetitions: int = 1
    promises: Mapping[str, tuple[str, Promise]] = field(default_factory=dict)
    people: People = field(default_factory=People)
    metrics: Mapping[str, Metric] = field(default_factory=dict)

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
        return models if promise is None else models_for(models, promise)

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
    """Check the settings, and list the runs.

    Raises
    ------
    PolicyError
        With every unknown anonymizer, value that a model refuses, and parameter that no model has.
    """
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
    models_for(given, Promise.SHARES)
    promises = promises_of(labelled)
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
