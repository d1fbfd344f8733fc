"""What models compare with: the published records, the original ones, declared shares; and declared orders."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from models.small_tables import HIERARCHY, TREE, Column, encode, members, memberships, statistics_of
from naive import models as naive
from sfumato.anonymizers.full_domain.optimal import Optimal
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.statistics import statistics_of as counted_classes
from sfumato.kernels.predicates import holds
from sfumato.models.compiled import compile_rules
from sfumato.models.protocol import PrivacyModel, compared_with_original
from sfumato.policy.policy import Policy
from sfumato.table import encoding
from sfumato.table.schema import Kind

LABELS = list(TREE)
BOUNDS = st.sampled_from([0.1, 0.25, 0.5, 0.75, 1.0])
WEIGHTS = st.fixed_dictionaries({label: st.integers(1, 6) for label in (*LABELS, "")})
DISTANCES = ("equal", "ordered", "hierarchical")


def model_of(kind: str, bound: float, reference: dict[str, int], order: Sequence[str]) -> Any:
    if kind in DISTANCES:
        rising = order if kind == "ordered" else None
        return sf.TCloseness(bound, kind, "s", reference=reference, order=rising)  # type: ignore[arg-type]
    made = {"basic": sf.BasicBetaLikeness, "enhanced": sf.EnhancedBetaLikeness, "delta": sf.DeltaDisclosure}
    return made[kind](bound * 3, reference=reference)  # type: ignore[arg-type]


def expected(kind: str, bound: float, own: list[Any], whole: list[Any], order: Sequence[str]) -> bool:
    if kind == "hierarchical":
        return naive.holds_t_closeness(own, whole, t=bound, distance=kind, tree=TREE)
    if kind in DISTANCES:
        rising = [*order, None]
        return naive.holds_t_closeness(own, whole, t=bound, distance=kind, order=rising)
    if kind == "basic":
        return naive.holds_basic_beta(own, whole, beta=bound * 3)
    if kind == "enhanced":
        return naive.holds_enhanced_beta(own, whole, beta=bound * 3)
    return naive.holds_delta(own, whole, delta=bound * 3)


def kernel_verdict(model: PrivacyModel, class_of: Sequence[int], column: Column) -> list[bool]:
    rules = compile_rules([model], encode(column))
    verdict = []
    for own in members(class_of):
        counts = np.zeros(len(rules.arrays.totals), dtype=np.int64)
        for record in own:
            counts[rules.codes[record, 0]] += 1
        scratch = np.zeros(rules.arrays.scratch_size)
        verdict.append(bool(holds(len(own), counts, rules.arrays, scratch)))
    return verdict


@pytest.mark.parametrize("kind", [*DISTANCES, "basic", "enhanced", "delta"])
@given(data=st.data())
@examples(40)
def test_classes_are_judged_beside_declared_shares(kind: str, data: st.DataObject) -> None:
    class_of, picks = data.draw(memberships().filter(lambda drawn: max(drawn[0]) >= 0))
    bound, weights = data.draw(BOUNDS), data.draw(WEIGHTS)
    order = data.draw(st.permutations(LABELS))
    column = Column(
        "s", Kind.CATEGORICAL, tuple(None if pick is None else LABELS[pick] for pick in picks),
        HIERARCHY if kind == "hierarchical" else None,
    )  # fmt: skip
    model = model_of(kind, bound, weights, order)
    whole = [label or None for label, weight in weights.items() for _ in range(weight)]
    wanted = [expected(kind, bound, [column.values[i] for i in own], whole, order) for own in members(class_of)]

    assert model.holds(statistics_of(class_of, column)).tolist() == wanted
    assert kernel_verdict(model, class_of, column) == wanted


@given(data=st.data())
@examples(40)
def test_shares_of_other_wholes_are_compared_in_one_run(data: st.DataObject) -> None:
    """A model beside the published shares, one beside declared ones: kernels know one total."""
    _, picks = data.draw(memberships())
    column = Column("s", Kind.CATEGORICAL, tuple(None if pick is None else LABELS[pick] for pick in picks))
    weights, t = data.draw(WEIGHTS), data.draw(BOUNDS)
    models = [sf.TCloseness(t, "equal", reference=weights), sf.BasicBetaLikeness(3 * t)]
    rules = compile_rules(models, encode(column))
    everybody = encode(column)
    published = counted_classes(everybody, np.zeros(everybody.height, dtype=np.int32), 1)
    counts = np.bincount(rules.codes[:, 0], minlength=int(rules.arrays.offsets[1])).astype(np.int64)
    more = np.bincount(rules.codes[:, 1], minlength=int(np.diff(rules.arrays.offsets)[1])).astype(np.int64)
    verdict = holds(everybody.height, np.concatenate([counts, more]), rules.arrays, np.zeros(rules.arrays.scratch_size))

    assert bool(verdict) == all(bool(model.holds(published)[0]) for model in models)


def test_categories_have_the_order_that_is_given() -> None:
    column = Column("s", Kind.CATEGORICAL, ("low", "mid", "high", "low", "mid", "high"))
    statistics = statistics_of([0, 1, 1, 0, 1, 0], column)
    rising = sf.TCloseness(0.3, attribute="s", order=["low", "mid", "high"])
    other = sf.TCloseness(0.3, attribute="s", order=["mid", "low", "high"])
    whole = list(column.values)
    own = ["low", "low", "high"]

    assert rising.achieved(statistics)[0].value == pytest.approx(
        max(naive.emd_ordered(each, whole, ["low", "mid", "high"]) for each in (own, ["mid", "high", "mid"]))
    )
    assert other.achieved(statistics)[0].value == pytest.approx(
        max(naive.emd_ordered(each, whole, ["mid", "low", "high"]) for each in (own, ["mid", "high", "mid"]))
    )


def test_all_mistakes_are_said_at_once() -> None:
    with pytest.raises(sf.PolicyError) as error:
        sf.TCloseness(2, "equal", reference={"flu": -1}, order=["a", "b"])
    said = " ".join(error.value.problems)
    assert len(error.value.problems) == 4
    assert "t must be" in said
    assert "number above 0" in said
    assert "order means nothing" in said
    assert "flu" not in said
    for wrong in ("census", {}, {"flu": True}, {"flu": float("nan")}, {"a": 1e-12, "b": 0.3}):
        with pytest.raises(sf.PolicyError, match="reference must"):
            sf.BasicBetaLikeness(1, reference=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "what"),
    [({"reference": {"flu": 1, "cold": 2}}, "reference: lacks 1 value"), ({"order": ["cold", "flu"]}, "order: lacks")],
)
def test_what_occurs_has_to_be_declared(patients: sf.Table, options: dict[str, Any], what: str) -> None:
    with pytest.raises(sf.PolicyError, match=what) as error:
        sf.anonymize(patients, sf.TCloseness(0.9, attribute="disease", **options), seed=1)
    assert "gout" not in str(error.value)


@pytest.fixture
def patients() -> sf.Table:
    drawn = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "age": drawn.integers(20, 60, 120),
            "disease": ["flu", "cold", "flu", "gout"] * 30,
            "sex": ["f", "m"] * 60,
        }
    )
    schema = sf.Schema(quasi_identifying={"age": sf.intervals(5, 10, 20), "sex": None}, sensitive=["disease"])
    return sf.read_table(frame, schema)


DECLARED = {"flu": 50, "cold": 25, "gout": 24, "plague": 1}


@pytest.mark.parametrize(
    "anonymizer", [sf.Mondrian(), sf.Optimal(), sf.Incognito(), sf.Datafly(), sf.MDAV(), sf.KMember()]
)
@pytest.mark.parametrize(
    "model",
    [
        sf.TCloseness(0.25, "equal", reference=DECLARED),
        sf.BasicBetaLikeness(1, reference=DECLARED),
        sf.EnhancedBetaLikeness(1.2, reference=DECLARED),
    ],
)
def test_a_declared_reference_is_recounted_by_anybody(
    patients: sf.Table, anonymizer: Any, model: Any, tmp_path: Path
) -> None:
    release = sf.anonymize(patients, [sf.KAnonymity(3), model], anonymizer=anonymizer, suppression_limit=0.2, seed=1)
    release.save(tmp_path / "r")
    verification = sf.verify(tmp_path / "r")
    assert verification.ok
    [check] = [check for check in verification.checks if model.name in check.promise]
    assert str(check.outcome) == "holds"
    whole = [label for label, weight in DECLARED.items() for _ in range(weight)]
    rows = pl.read_csv(tmp_path / "r" / "data.csv", infer_schema=False).partition_by("age", "sex")
    for own in (part["disease"].to_list() for part in rows):
        assert {
            "t-closeness": naive.holds_t_closeness(own, whole, t=0.25),
            "basic-beta-likeness": naive.holds_basic_beta(own, whole, beta=1),
            "enhanced-beta-likeness": naive.holds_enhanced_beta(own, whole, beta=1.2),
        }[model.name]
    assert Policy.from_file(tmp_path / "r" / "policy.toml").to_models()[1] == model


@pytest.mark.parametrize("anonymizer", [sf.Mondrian(), sf.Optimal(), sf.Datafly(), sf.MDAV()])
def test_what_was_left_out_is_not_told(patients: sf.Table, anonymizer: Any, tmp_path: Path) -> None:
    model = sf.TCloseness(0.3, "equal", reference="original")
    release = sf.anonymize(patients, [sf.KAnonymity(3), model], anonymizer=anonymizer, suppression_limit=0.2, seed=1)
    assert any("t-closeness" in str(check) and "holds" in str(check) for check in release.report.verification.checks)
    whole = patients.frame["disease"].to_list()
    for part in release.data.partition_by("age", "sex"):
        assert naive.holds_t_closeness(part["disease"].to_list(), whole, t=0.3)
    release.save(tmp_path / "r")
    verification = sf.verify(tmp_path / "r")
    [check] = [check for check in verification.checks if "t-closeness" in check.promise]
    assert "not verifiable" in str(check.outcome)
    assert not check.achieved
    report = json.loads((tmp_path / "r" / "report.json").read_text())
    assert "compares with all original records" in json.dumps(report)


def test_where_nobody_is_left_out_the_original_is_what_is_published(patients: sf.Table, tmp_path: Path) -> None:
    model = sf.TCloseness(0.3, "equal", reference="original")
    release = sf.anonymize(patients, [sf.KAnonymity(3), model], seed=1)
    release.save(tmp_path / "r")
    verification = sf.verify(tmp_path / "r")
    assert verification.ok
    [check] = [check for check in verification.checks if "t-closeness" in check.promise]
    assert str(check.outcome) == "holds"
    assert "reference=original" in check.promise
    same = sf.anonymize(patients, [sf.KAnonymity(3), sf.TCloseness(0.3, "equal")], seed=1)
    assert same.data.equals(release.data)


@pytest.mark.parametrize("publisher", [sf.Bucketization(), sf.Slicing()])
def test_other_kinds_compare_with_what_they_publish(patients: sf.Table, publisher: Any) -> None:
    with pytest.raises(sf.PolicyError):
        sf.anonymize(patients, sf.TCloseness(0.9, "equal", reference="original"), anonymizer=publisher, seed=1)


ADULT = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]


@pytest.fixture(scope="module")
def adult() -> encoding.EncodedTable:
    if "SFUMATO_DATA" not in os.environ:
        pytest.skip("SFUMATO_DATA names no folder with the Adult data")
    folder = Path(os.environ["SFUMATO_DATA"]) / "adult"
    frame = pl.read_csv(folder / "arx_adult.csv", separator=";", infer_schema=False)
    trees = {name: sf.read_hierarchy(folder / "hierarchies" / f"adult_hierarchy_{name}.csv") for name in ADULT}
    schema = sf.Schema(quasi_identifying=trees, sensitive=["occupation"], others="drop")
    return encoding.encode(sf.read_table(frame, schema))


SLOW = pytest.mark.slow


BASIC, ENHANCED = sf.BasicBetaLikeness, sf.EnhancedBetaLikeness


@pytest.mark.parametrize(
    ("kind", "beta", "limit", "levels", "score"),
    [
        (ENHANCED, 2, 0.0, (1, 4, 1, 1, 3, 2, 2, 0), 0.759176305345683),
        pytest.param(BASIC, 5, 0.4, (0, 2, 0, 0, 2, 0, 1, 0), 0.23350465152356303, marks=SLOW),
        pytest.param(BASIC, 3, 0.5, (0, 3, 0, 0, 2, 0, 1, 0), 0.34883856157237925, marks=SLOW),
        pytest.param(BASIC, 1, 1.0, (1, 4, 0, 1, 3, 0, 2, 0), 0.6081345989904172, marks=SLOW),
        pytest.param(ENHANCED, 10, 1.0, (0, 3, 0, 0, 3, 1, 2, 0), 0.3419039849540606, marks=SLOW),
    ],
)
def test_the_optima_that_arx_finds_beside_the_original(
    adult: encoding.EncodedTable, kind: Any, beta: float, limit: float, levels: tuple[int, ...], score: float
) -> None:
    """Levels and scores are those of ARX's public tests (TestAnonymizationBLikeness)."""
    whole = counted_classes(adult, np.zeros(adult.height, dtype=np.int32), 1)
    models = compared_with_original([kind(beta, reference="original")], whole)
    found = Optimal(mean="geometric").search(Problem(adult, models, int(limit * adult.height + 1e-9)))
    assert found.chosen == levels
    assert found.loss == pytest.approx(score, abs=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        sf.TCloseness(0.5, reference={"=a": 0.4, "c": 0.3, "b": 0.3}),
        sf.TCloseness(0.5, attribute="d", order=["=a", "b", "c"]),
        sf.BasicBetaLikeness(9.0, reference={"=a": 0.4, "c": 0.3, "b": 0.3}),
        sf.DeltaDisclosure(9.0, reference={"=a": 0.4, "c": 0.3, "b": 0.3}),
    ],
    ids=repr,
)
def test_escaped_values_are_those_that_were_declared(model, tmp_path):
    draw = np.random.default_rng(2)
    frame = pl.DataFrame({"age": draw.integers(20, 26, 40), "d": draw.choice(["=a", "c", "b"], 40)})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["d"]))
    release = sf.anonymize(table, [sf.KAnonymity(3), model], seed=1)
    plain = sf.verify(release.save(tmp_path / "plain", formulas="keep"))
    escaped = sf.verify(release.save(tmp_path / "escaped", formulas="escape"))
    assert plain.ok
    assert escaped.ok
    assert "'=a" in (tmp_path / "escaped" / "data.csv").read_text()
    assert [check.achieved for check in escaped.checks] == [check.achieved for check in plain.checks]


def test_an_undeclared_value_that_looks_escaped_is_not_one_that_was_declared():
    frame = pl.DataFrame({"age": [20, 20, 21, 21], "d": ["'=a", "=a", "b", "b"]})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["d"]))
    with pytest.raises(sf.PolicyError, match="lacks 1 value of the 3 that occur in 'd'"):
        sf.anonymize(table, [sf.TCloseness(1.0, reference={"=a": 0.5, "b": 0.5})])
