"""Every anonymizer setting that exists, every model with parameters, every recoding."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import strategies as st

import sfumato as sf
from guarantees.recount import Sensitive
from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.errors import PolicyError
from sfumato.models import MODELS
from sfumato.models.protocol import PrivacyModel

MANY = 12
"""Combinations of the options of one anonymizer that are all tried."""


def choices(hint: Any) -> list[Any] | None:
    """The values that an option can take, when they can be listed."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    if hint in (bool, type(None)):
        return [False, True] if hint is bool else [None]
    if get_origin(hint) in (Union, types.UnionType):
        parts = [choices(part) for part in get_args(hint)]
        return None if None in parts else [value for part in parts if part for value in part]
    return None


def _settings(described: type[Any], many: int = MANY) -> list[Any]:
    """Every combination of options while there are not `many`; else every value of each option beside the defaults."""
    hints = get_type_hints(described)
    listed = {
        field.name: values
        for field in dataclasses.fields(described)
        if (values := choices(hints[field.name])) is not None
    }
    # What refuses every table with categories, or asks for a certain model, refuses most of what is drawn here; it has
    # tests of its own.
    apart = ("refuse", "payout")
    listed = {name: [value for value in values if value not in apart] for name, values in listed.items()}
    everything = (dict(zip(listed, values, strict=True)) for values in product(*listed.values()))
    # Options that were left open may be settled alike, so that several combinations are one.
    different = {repr(setting): setting for setting in _accepted(described, everything)}
    if len(different) <= many:
        return list(different.values())
    return list(_accepted(described, [{}, *({name: value} for name, values in listed.items() for value in values)]))


def _accepted(described: type[Any], combinations: Iterable[dict[str, Any]]) -> Iterator[Any]:
    for values in combinations:
        try:
            yield described(**values)
        except PolicyError:  # options that contradict each other
            continue


def _quick(setting: Any) -> Any:
    """What runs all others is refined for a moment only."""
    return dataclasses.replace(setting, rounds=2) if isinstance(setting, sf.Best) else setting


SETTINGS = {
    repr(setting): setting
    for described in ANONYMIZERS.values()
    for setting in map(_quick, _settings(described))
    if described is not sf.Auto
}
"""Every anonymizer with every combination of options that it accepts, but the one that only takes another of them."""

EACH_ANONYMIZER = [
    pytest.param(name, marks=() if setting == type(setting)() else pytest.mark.slow)
    for name, setting in SETTINGS.items()
]
"""The same as parameters of a test: the defaults of each in every run, other combinations among the slow tests."""

PUBLISHER_SETTINGS = {
    repr(setting): setting for described in PUBLISHERS.values() for setting in _settings(described, many=4)
}
"""The same for those whose releases are of other kinds, in fewer combinations."""

SMALL = st.sampled_from([1, 2, 2, 3, 5])
REALS = st.sampled_from([1.0, 1.2, 1.5, 2.0, 3.0])
SHARES = st.sampled_from([0.2, 0.34, 0.5, 0.75, 1.0])
BOUNDS = st.sampled_from([0.3, 0.7, 1.0, 2.0, 8.0])
PARAMETERS: Mapping[str, Mapping[str, st.SearchStrategy[Any]]] = {
    "k-anonymity": {"k": SMALL},
    "alpha-k-anonymity": {"alpha": SHARES, "k": SMALL},
    "distinct-l-diversity": {"l": SMALL},
    "probabilistic-l-diversity": {"l": REALS},
    "entropy-l-diversity": {"l": REALS},
    "recursive-l-diversity": {"c": BOUNDS, "l": SMALL},
    "t-closeness": {"t": SHARES},
    "basic-beta-likeness": {"beta": BOUNDS},
    "enhanced-beta-likeness": {"beta": BOUNDS},
    "delta-disclosure": {"delta": BOUNDS},
    "guarded-values": {"p": st.sampled_from([0.2, 0.34, 0.5, 0.75])},
    "subset-k-anonymity": {"k": SMALL, "m": SMALL},
    "wildcard-k-anonymity": {"k": SMALL},
    "k-map": {
        "k": SMALL,
        "estimate": st.sampled_from(["poisson", "zero-truncated-poisson"]),
        "fraction": st.sampled_from([0.01, 0.1, 0.3, 0.5, 1.0]),
        "significance": st.sampled_from([None, 0.01, 0.2]),
    },
}

OF_PEOPLE = [name for name in PARAMETERS if not getattr(MODELS[name], "one_record_each", False)]
"""Models that count people who have several records."""


@st.composite
def models(draw: st.DrawFn, name: str, sensitive: Mapping[str, Sensitive]) -> PrivacyModel:
    """One model with parameters, on all sensitive columns or on one of them."""
    parameters = {key: draw(values) for key, values in PARAMETERS[name].items()}
    if name == "guarded-values":
        return _guarded(draw, parameters["p"], sensitive)
    if "attribute" in {field.name for field in dataclasses.fields(MODELS[name])}:  # type: ignore[arg-type]
        parameters["attribute"] = draw(st.sampled_from([None, *sensitive]))
    if name == "t-closeness" and draw(st.booleans()):
        parameters["distance"] = draw(st.sampled_from(_distances(parameters["attribute"], sensitive)))
    model: PrivacyModel = MODELS[name](**parameters)
    return model


def _guarded(draw: st.DrawFn, p: float, sensitive: Mapping[str, Sensitive]) -> PrivacyModel:
    """Guard some labels of one column; where no column has any, ask for what always holds."""
    named = [name for name, column in sensitive.items() if column.labels]
    if not named:
        return sf.DistinctLDiversity(1)
    name = draw(st.sampled_from(named))
    values = draw(st.lists(st.sampled_from(sensitive[name].labels), min_size=1, max_size=3, unique=True))
    return sf.GuardedValues(values, p, name if len(sensitive) > 1 else draw(st.sampled_from([None, name])))


def _distances(attribute: str | None, sensitive: Mapping[str, Sensitive]) -> list[str]:
    looked_at = [sensitive[attribute]] if attribute else list(sensitive.values())
    fitting = ["equal"]
    fitting += ["ordered"] if all(column.ordered for column in looked_at) else []
    return fitting + (["hierarchical"] if all(column.tree for column in looked_at) else [])


def described(model: PrivacyModel) -> dict[str, Any]:
    return {"name": model.name, **{key: value for key, value in model.parameters().items() if value is not None}}


RECODINGS = [
    sf.Recoding(),
    sf.Recoding(numeric="mean"),
    sf.Recoding(forms={"q0": "set"}),
    sf.Recoding(suppressed="star", ends="tight"),
    sf.Recoding(numeric="mean", suppressed="star", forms={"q0": "set"}),
    sf.Recoding(numeric="mean", average="median"),
    sf.Recoding(numeric="mean", average="mode", suppressed="star"),
]
