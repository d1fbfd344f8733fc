"""Models as values: bad parameters, names, attributes that do not exist, and what cannot be met."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from models.small_tables import Column, encode, from_histograms, statistics_of
from sfumato import models
from sfumato.classes.statistics import ClassStatistics
from sfumato.errors import PolicyError
from sfumato.hierarchy.tree import hierarchy_from_paths
from sfumato.models import MODELS
from sfumato.models.compiled import compile_rules
from sfumato.models.protocol import PrivacyModel
from sfumato.table.schema import Kind

GOOD: list[PrivacyModel] = [
    models.KAnonymity(5),
    models.AlphaKAnonymity(0.5, 3),
    models.GuardedValues(("HIV", "cancer"), 0.2),
    models.DistinctLDiversity(3),
    models.ProbabilisticLDiversity(2.5),
    models.EntropyLDiversity(2.5, attribute="s"),
    models.RecursiveLDiversity(2, 3),
    models.TCloseness(0.2, "equal"),
    models.BasicBetaLikeness(1),
    models.EnhancedBetaLikeness(1.5),
    models.DeltaDisclosure(0.7),
    models.SubsetKAnonymity(5, 2),
    models.WildcardKAnonymity(5),
    models.KMap(5),
    models.DeltaPresence(0.3, 0.1),
    models.AverageRisk(0.2, "marketer"),
    models.HighestRisk(0.25),
    models.Profitability(1200, 300, 300, 4, "journalist", False),
    models.SampleUniques(0.1),
    models.PopulationUniques(0.01, 0.2, "pitman"),
]
SIZES = (
    models.KAnonymity,
    models.SubsetKAnonymity,
    models.WildcardKAnonymity,
    models.KMap,
    models.DeltaPresence,
    models.AverageRisk,
    models.HighestRisk,
    models.Profitability,
    models.SampleUniques,
    models.PopulationUniques,
)
SENSITIVE = [model for model in GOOD if not isinstance(model, SIZES)]


def name_of(model: PrivacyModel) -> str:
    return model.name


def test_every_model_is_registered_under_its_name() -> None:
    assert {model.name: type(model) for model in GOOD} == MODELS


@pytest.mark.parametrize("model", GOOD, ids=name_of)
def test_parameters_rebuild_the_model(model: PrivacyModel) -> None:
    parameters = model.parameters()
    assert type(model)(**parameters) == model
    assert all(type(value) in (bool, int, float, str, tuple) for value in parameters.values())
    assert isinstance(model, PrivacyModel)
    assert eval(repr(model), {kind.__name__: kind for kind in MODELS.values()}) == model


@pytest.mark.parametrize("model", GOOD, ids=name_of)
def test_models_cannot_be_changed(model: PrivacyModel) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.k = 3  # type: ignore[attr-defined]


def test_numbers_of_numpy_become_plain() -> None:
    model = models.AlphaKAnonymity(np.float32(0.5), np.int64(3))  # type: ignore[arg-type]
    assert {name: type(value) for name, value in model.parameters().items()} == {"alpha": float, "k": int}


NOT_WHOLE: list[Any] = [0, -1, 2.0, 1.5, True, "3", None, math.nan, math.inf]
NOT_L: list[Any] = [0, 0.99, -1, True, "3", None, math.nan, math.inf]
NOT_POSITIVE: list[Any] = [0, -1, True, "3", None, math.nan, math.inf]
BAD = [
    *[(models.KAnonymity, {"k": value}) for value in NOT_WHOLE],
    *[(models.DistinctLDiversity, {"l": value}) for value in NOT_WHOLE],
    *[(models.ProbabilisticLDiversity, {"l": value}) for value in NOT_L],
    *[(models.EntropyLDiversity, {"l": value}) for value in NOT_L],
    *[(models.RecursiveLDiversity, {"c": value, "l": 2}) for value in NOT_POSITIVE],
    *[(models.RecursiveLDiversity, {"c": 2, "l": value}) for value in NOT_WHOLE],
    *[(models.AlphaKAnonymity, {"alpha": value, "k": 2}) for value in [*NOT_POSITIVE, 1.01]],
    *[(models.AlphaKAnonymity, {"alpha": 0.5, "k": value}) for value in NOT_WHOLE],
    *[(models.TCloseness, {"t": value}) for value in [-0.1, 1.1, True, "0.1", None, math.nan]],
    *[(models.TCloseness, {"t": 0.1, "distance": value}) for value in ["euclid", 1, ""]],
    *[(models.GuardedValues, {"values": ("a",), "p": value}) for value in [*NOT_POSITIVE, 1]],
    *[(models.GuardedValues, {"values": value, "p": 0.1}) for value in [(), "HIV", ("a", "a"), (1,), None]],
    *[(models.BasicBetaLikeness, {"beta": value}) for value in NOT_POSITIVE],
    *[(models.EnhancedBetaLikeness, {"beta": value}) for value in NOT_POSITIVE],
    *[(models.DeltaDisclosure, {"delta": value}) for value in NOT_POSITIVE],
    *[(models.TCloseness, {"t": 0.1, "attribute": value}) for value in ["", 3, ("s",)]],
]


@pytest.mark.parametrize(("model", "parameters"), BAD)
def test_bad_parameters_are_refused_by_name(model: type[Any], parameters: dict[str, Any]) -> None:
    with pytest.raises(
        PolicyError, match=rf"^{model.name}: (k|l|c|t|p|values|alpha|beta|delta|distance|attribute) must be "
    ) as error:
        model(**parameters)
    assert len(error.value.problems) == 1


def test_all_bad_parameters_are_named_at_once() -> None:
    with pytest.raises(PolicyError) as error:
        models.RecursiveLDiversity(-1, 0, attribute="")
    assert error.value.problems == (
        "recursive-l-diversity: c must be a number above 0",
        "recursive-l-diversity: l must be a whole number of at least 1",
        "recursive-l-diversity: attribute must be the name of a sensitive column",
    )


def on(model: PrivacyModel, attribute: str) -> PrivacyModel:
    return type(model)(**{**model.parameters(), "attribute": attribute})  # type: ignore[call-arg]


@pytest.mark.parametrize("model", SENSITIVE, ids=name_of)
def test_an_unknown_attribute_is_refused_with_the_known_ones(model: PrivacyModel) -> None:
    statistics = from_histograms([1, 1])
    for act in (model.holds, model.achieved, model.explain):
        assert act(statistics) is not None or act == model.explain
    other = on(model, "wages")
    for use in (other.holds, other.achieved, other.explain, lambda _: other.rules(["s"])):
        with pytest.raises(
            PolicyError, match=f"^{model.name}: there is no sensitive attribute 'wages'; there are: 's'$"
        ):
            use(statistics)


@pytest.mark.parametrize("model", SENSITIVE, ids=name_of)
def test_a_table_without_sensitive_attributes_is_refused(model: PrivacyModel) -> None:
    statistics = ClassStatistics(np.array([3, 4]), {})
    unbound = type(model)(**{name: value for name, value in model.parameters().items() if name != "attribute"})
    for use in (unbound.holds, unbound.achieved, unbound.explain, lambda _: unbound.rules([])):
        with pytest.raises(PolicyError, match=f"^{model.name}: the table has no sensitive attribute"):
            use(statistics)


def test_k_needs_no_sensitive_attribute() -> None:
    assert models.KAnonymity(4).holds(ClassStatistics(np.array([3, 4]), {})).tolist() == [False, True]


@pytest.mark.parametrize("distance", ["ordered", "hierarchical"])
def test_a_distance_without_meaning_is_refused(distance: Any) -> None:
    column = Column("s", Kind.CATEGORICAL, ("a", "b"))
    model = models.TCloseness(0.5, distance)
    for use in (lambda: model.holds(statistics_of([0, 1], column)), lambda: compile_rules([model], encode(column))):
        with pytest.raises(PolicyError, match=r"^t-closeness: 's' has no (order|hierarchy)"):
            use()


def test_every_attribute_is_protected_unless_one_is_named() -> None:
    diverse = Column("a", Kind.CATEGORICAL, ("x", "y", "x", "y"))
    uniform = Column("b", Kind.CATEGORICAL, ("x", "x", "x", "y"))
    statistics = statistics_of([0, 0, 1, 1], diverse, uniform)
    assert models.DistinctLDiversity(2).holds(statistics).tolist() == [False, True]
    assert models.DistinctLDiversity(2, attribute="a").holds(statistics).tolist() == [True, True]
    found = models.DistinctLDiversity(2).achieved(statistics)
    assert [(each.attribute, each.value) for each in found] == [("a", 2.0), ("b", 1.0)]


HOPELESS: list[tuple[PrivacyModel, str, str]] = [
    (models.KAnonymity(11), "k-anonymity asks for k = 11, but there are only 10 record(s)", "lower k"),
    (
        models.AlphaKAnonymity(0.5, 2),
        "asks for alpha = 0.5, but … reach only alpha = 0.7",
        "raise",
    ),
    (models.DistinctLDiversity(4), "asks for l = 4, but … reach only l = 3", "lower l"),
    (
        models.ProbabilisticLDiversity(2),
        "asks for l = 2, but … reach only l = 1.42857",
        "lower l",
    ),
    (models.EntropyLDiversity(3), "asks for l = 3, but … reach only l = 2.22959", "lower l"),
    (
        models.RecursiveLDiversity(2, 2),
        "asks for c = 2, but … reach only c = 2.33333",
        "raise c",
    ),
    (models.RecursiveLDiversity(2, 4), "asks for l = 4, but there are fewer distinct values", "lower l"),
]


@pytest.mark.parametrize(("model", "what", "remedy"), HOPELESS)
def test_the_impossible_is_explained_without_values(model: PrivacyModel, what: str, remedy: str) -> None:
    reason = model.explain(from_histograms([4, 1, 0], [3, 1, 1]))
    assert reason is not None
    assert reason.startswith(model.name)
    assert f"{what}; {remedy}" in reason.replace("all records in one class", "…")


@pytest.mark.parametrize("model", SENSITIVE[-4:], ids=name_of)
def test_distances_to_the_whole_table_are_never_impossible(model: PrivacyModel) -> None:
    assert model.explain(from_histograms([4, 1, 0], [3, 1, 1])) is None


def test_two_reasons_are_both_given() -> None:
    reason = models.AlphaKAnonymity(0.5, 11).explain(from_histograms([4, 1, 0], [3, 1, 1]))
    assert reason is not None
    assert reason.startswith("alpha-k-anonymity asks for k = 11")
    assert "; alpha-k-anonymity on 's' asks for alpha = 0.5" in reason


def test_a_hierarchy_of_one_value_has_no_distance() -> None:
    leaf = hierarchy_from_paths([("*",)])
    column = Column("s", Kind.CATEGORICAL, ("*", "*", "*"), leaf)
    assert models.TCloseness(0).holds(statistics_of([0, 0, 1], column)).all()
    missing = Column("s", Kind.CATEGORICAL, ("*", None, "*", None), leaf)
    assert models.TCloseness(1).achieved(statistics_of([0, 0, 1, 1], missing))[0].value == 0.0
    apart = statistics_of([0, 1, 0, 1], missing)
    assert models.TCloseness(1).achieved(apart)[0].value == 0.5


def test_whole_parameters_are_kept_and_written_without_a_fraction():
    model = models.EntropyLDiversity(3.0)
    assert repr(model.parameters()["l"]) == "3"
    assert model == models.EntropyLDiversity(3)
    assert repr(models.TCloseness(0.25).parameters()["t"]) == "0.25"
    assert repr(models.BasicBetaLikeness(1e300).parameters()["beta"]) == "1e+300"


@pytest.mark.parametrize("amounts", [(1e-308, 1e308, 1, 1), (1, 1, 1e308, 1e-308)])
def test_amounts_that_no_class_could_balance_are_refused(amounts):
    with pytest.raises(PolicyError, match="too far apart"):
        models.Profitability(*amounts)
