"""Models, anonymizers and metrics of one's own, in a program."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
import sfumato.registry as registries
from models.no_majority import NoMajority, Pairs
from sfumato.anonymizers import ANONYMIZERS
from sfumato.classes.partition import Partition
from sfumato.models import MODELS
from sfumato.registry import Registry

FRAME = pl.DataFrame({"age": [20, 30, 40, 50] * 6, "ill": ["flu", "cold", "gout"] * 8})
SCHEMA = sf.Schema(quasi_identifying=["age"], sensitive=["ill"])


@dataclasses.dataclass(frozen=True)
class Halves:
    """Two classes."""

    name = "halves"

    @property
    def decides_regions(self) -> bool:
        return False

    def solve(self, problem: Any) -> Partition:
        middle = np.median(problem.table.codes[:, 0])
        return Partition((problem.table.codes[:, 0] > middle).astype(np.int32), 2)


@pytest.fixture
def forgotten() -> Any:
    """Forget afterwards what was registered."""
    kept = [(registry, dict(registry._places)) for registry in (MODELS, ANONYMIZERS)]
    yield
    for registry, places in kept:
        registry._places = places
    # What was made of the registries meanwhile lists what is forgotten now.
    registries._changes[0] += 1


def test_a_registered_model_is_verified_from_its_folder(tmp_path: Any, forgotten: Any) -> None:
    release = sf.anonymize(FRAME, NoMajority(0.5), schema=SCHEMA, seed=1)
    folder = release.save(tmp_path / "before")
    assert not sf.verify(folder).ok
    assert any("does not know the model" in check.detail for check in sf.verify(folder).checks)
    assert sf.register(NoMajority) is NoMajority
    assert sf.register(NoMajority) is NoMajority, "twice does no harm"
    assert any("no-majority" in check.promise and check.outcome == "holds" for check in sf.verify(folder).checks)
    again = sf.anonymize(FRAME, NoMajority(0.5), schema=SCHEMA, seed=1).save(tmp_path / "after")
    assert sf.verify(again).ok
    data = pl.read_csv(again / "data.csv").with_columns(ill=pl.lit("flu"))
    assert not sf.verify(tampered(again, data)).ok


def tampered(folder: Any, data: pl.DataFrame) -> Any:
    data.write_csv(folder / "data.csv")
    return folder


def test_policies_know_what_is_registered(forgotten: Any) -> None:
    mapping = {
        "columns": {"quasi-identifying": ["age"], "sensitive": ["ill"]},
        "models": [{"name": "no-majority", "share": 0.5}],
        "anonymizer": {"name": "halves"},
    }
    with pytest.raises(sf.PolicyError, match="models"):
        sf.Policy.from_mapping(mapping)
    sf.register(NoMajority)
    sf.register(Halves)
    policy = sf.Policy.from_mapping(mapping)
    assert policy.to_models() == [NoMajority(0.5)]
    release = sf.anonymize(FRAME, policy, seed=1)
    assert release.report.classes == 2
    with pytest.raises(sf.PolicyError) as caught:
        sf.Policy.from_mapping({**mapping, "models": [{"name": "no-majority", "share": 2}]})
    assert caught.value.problems == ("models[0].share: must be a number above 0 up to 1",)


def test_what_is_no_model_or_taken_is_refused(forgotten: Any) -> None:
    @dataclasses.dataclass(frozen=True)
    class Taken(Pairs):
        name = "k-anonymity"

    @dataclasses.dataclass(frozen=True)
    class Edition(Pairs):
        name = "edition"

    first = sf.register(Edition)

    @dataclasses.dataclass(frozen=True)  # type: ignore[no-redef]
    class Edition(Pairs):
        name = "edition"

    assert sf.register(Edition) is MODELS["edition"] is not first, "a notebook's cell may run twice"
    for wrong, told in ((Taken, "is the name of something else"), (Pairs(), "give a class"), (dict, "give a class")):
        with pytest.raises(sf.PolicyError, match=told):
            sf.register(wrong)  # type: ignore[arg-type]

    @dataclasses.dataclass(frozen=True)
    class Empty:
        name = "empty"

    with pytest.raises(sf.PolicyError, match="neither model nor anonymizer"):
        sf.register(Empty)
    assert MODELS["k-anonymity"] is sf.KAnonymity


def test_a_registry_is_a_dictionary_that_loads() -> None:
    registry = Registry({"fraction": "fractions:Fraction"})
    assert ([*registry], len(registry)) == (["fraction"], 1)
    assert registry["fraction"](1, 2) == 0.5
    assert "nothing" not in registry
    with pytest.raises(KeyError):
        registry["nothing"]


def test_metrics_of_ones_own_are_figures() -> None:
    table = sf.read_table(FRAME, SCHEMA)

    def largest(release: sf.Release, original: sf.Table) -> float:
        assert original.height == release.report.original
        return release.data.group_by("age").len()["len"].max()  # type: ignore[return-value]

    found = sf.compare(table, anonymizers=["mondrian"], values=[3, 12], queries=0, metrics={"largest": largest})
    assert found.means()["largest"].to_list() == [6.0, 12.0]
    assert "largest" in found.figures
    assert found.frontier("largest", "loss").height


@pytest.mark.parametrize(
    ("metrics", "told"),
    [
        ({"loss": len}, "metrics: 'loss' is the name of another figure"),
        ({"own": 3}, "metrics: 'own' is no function"),
        (["nowhere"], "metrics: 'nowhere' is not the name of a plug-in's metric"),
        ("own", "metrics: give functions by their names"),
        ({"own": lambda release, table: 1 / 0}, r"metrics: 'own' failed \(ZeroDivisionError\)"),
        ({"own": lambda release, table: float("nan")}, "metrics: 'own' returned no number"),
    ],
)
def test_metrics_that_are_none_are_named(metrics: Any, told: str) -> None:
    table = sf.read_table(FRAME, SCHEMA)
    with pytest.raises(sf.PolicyError, match=told):
        sf.compare(table, anonymizers=["mondrian"], values=[3], queries=0, metrics=metrics)
