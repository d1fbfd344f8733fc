"""``sfumato.check`` on worked examples, against plain dictionaries, and against a third party."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycanon import anonymity

import sfumato as sf
from examples import examples, seeds
from naive import models as naive

# A. Machanavajjhala and others, "l-diversity", 2006: the inpatients, 4-anonymous and 3-diverse.
FOUR_ANONYMOUS = [
    *[("130**", "< 30", "*", illness) for illness in ("heart", "heart", "viral", "viral")],
    *[("1485*", ">= 40", "*", illness) for illness in ("cancer", "heart", "viral", "viral")],
    *[("130**", "3*", "*", "cancer")] * 4,
]
THREE_DIVERSE = [
    *[("1305*", "<= 40", "*", illness) for illness in ("heart", "viral", "cancer", "cancer")],
    *[("1485*", "> 40", "*", illness) for illness in ("cancer", "heart", "viral", "viral")],
    *[("1306*", "<= 40", "*", illness) for illness in ("heart", "viral", "cancer", "cancer")],
]
# N. Li, T. Li, S. Venkatasubramanian, "t-closeness", 2007: two ways to publish nine salaries.
SALARIES_3_DIVERSE = {"476**|2*": (3, 4, 5), "4790*|>= 40": (6, 11, 8), "476**|3*": (7, 9, 10)}
SALARIES_CLOSE = {"4767*|<= 40": (3, 5, 9), "4790*|>= 40": (6, 11, 8), "4760*|<= 40": (4, 7, 10)}


def inpatients(rows: list[tuple[str, ...]]) -> sf.evaluation.check.CheckReport:  # type: ignore[name-defined]
    frame = pl.DataFrame(rows, schema=["zip", "age", "nationality", "illness"], orient="row")
    return sf.check(frame, quasi_identifying=["zip", "age", "nationality"], sensitive=["illness"])


def found(report: Any) -> dict[tuple[Any, ...], float]:
    return {(one.model, one.attribute, *one.given.values()): one.value for one in report.findings}


# worked examples


def test_the_4_anonymous_inpatients_have_a_homogeneous_class():
    report = inpatients(FOUR_ANONYMOUS)
    assert (report.keys.height, report.keys.count, report.sample_uniques) == (12, 3, 0)
    assert report.find("k-anonymity").value == 4
    assert report.find("distinct-l-diversity").value == 1
    assert report.find("entropy-l-diversity").value == pytest.approx(1)
    assert report.rows(report.find("distinct-l-diversity")).tolist() == [9, 10, 11, 12]
    assert report.find("recursive-l-diversity").value == math.inf
    assert report.find("delta-disclosure").value == math.inf
    assert report.prosecutor.highest == report.prosecutor.average == 0.25


def test_the_3_diverse_inpatients():
    report = inpatients(THREE_DIVERSE)
    assert report.find("k-anonymity").value == 4
    assert report.find("distinct-l-diversity").value == 3
    assert report.find("entropy-l-diversity").value == pytest.approx(2.8284, abs=5e-5)
    assert report.find("probabilistic-l-diversity").value == 2
    assert report.find("alpha-k-anonymity").value == 0.5
    assert report.find("recursive-l-diversity", l=2).value == 1
    assert report.find("recursive-l-diversity", l=3).value == 2
    # The table has 4 heart, 4 viral and 4 cancer of 12 (1 + 1 + 1, 1 + 2 + 1, 2 + 1 + 2 by class: 3, 4, 5).
    assert report.find("t-closeness").value == pytest.approx(1 / 6)
    assert report.find("basic-beta-likeness").value == pytest.approx(0.5)
    assert report.rows(report.find("t-closeness")).tolist() == [5, 6, 7, 8]


@pytest.mark.parametrize(("classes", "t"), [(SALARIES_3_DIVERSE, 0.375), (SALARIES_CLOSE, 1 / 6)])
def test_the_salaries(classes: dict[str, tuple[int, ...]], t: float):
    rows = [(*key.split("|"), salary) for key, salaries in classes.items() for salary in salaries]
    frame = pl.DataFrame(rows, schema=["zip", "age", "salary"], orient="row")
    report = sf.check(frame, quasi_identifying=["zip", "age"], sensitive=["salary"])
    closeness = report.find("t-closeness")
    assert (closeness.given["distance"], closeness.value) == ("ordered", pytest.approx(t))
    assert report.find("distinct-l-diversity").value == 3


def test_a_hierarchy_decides_the_distance():
    # The tree of the paper's figure, cut down to the six diseases; figures by hand from its formula.
    tree = sf.groups({"respiratory": ["flu", "pneumonia", "bronchitis"], "stomach": ["ulcer", "gastritis", "cancer"]})
    diseases = {
        "a": ("ulcer", "gastritis", "cancer"), "b": ("gastritis", "flu", "bronchitis"),
        "c": ("bronchitis", "pneumonia", "cancer"),
    }  # fmt: skip
    frame = pl.DataFrame(
        [(key, one) for key, each in diseases.items() for one in each], schema=["q", "disease"], orient="row"
    )
    report = sf.check(frame, quasi_identifying=["q"], sensitive={"disease": sf.Attribute(hierarchy=tree)})
    # a: 1/3 each against 1/9, 2/9, 2/9; four ninths come from the other half of the tree, nothing moves inside a half
    # but one ninth of ulcer's surplus.
    closeness = report.find("t-closeness")
    assert closeness.given["distance"] == "hierarchical"
    assert closeness.measured[0] == pytest.approx(4 / 9)
    assert closeness.value == pytest.approx(4 / 9)


# against plain dictionaries

CELLS = ["[20-30)", "2*", "*", "", "1", "1.0", "01", " 1", "a,b", 'a"b']


@st.composite
def written_tables(draw: st.DrawFn) -> tuple[list[tuple[str, ...]], list[str], list[int | None]]:
    width = draw(st.integers(1, 3))
    few = draw(st.integers(2, len(CELLS)))
    cell = st.sampled_from(CELLS[:few])
    rows = draw(st.lists(st.tuples(*[cell] * width), min_size=1, max_size=25))
    many = len(rows)
    diseases = draw(st.lists(st.sampled_from(["flu", "cold", "gout", ""]), min_size=many, max_size=many))
    wages = draw(st.lists(st.sampled_from([3, 5, 40, 100, None]), min_size=many, max_size=many))
    return rows, diseases, wages


@given(drawn=written_tables())
@examples(60)
def test_it_finds_what_plain_dictionaries_find(tmp_path_factory: pytest.TempPathFactory, drawn: Any) -> None:
    rows, diseases, wages = drawn
    path = tmp_path_factory.mktemp("tables") / "table.csv"
    names = [f"q{place}" for place in range(len(rows[0]))]
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerow([*names, "disease", "wage"])
        # Blanks around a sensitive value mean nothing.
        for place, (row, disease, wage) in enumerate(zip(rows, diseases, wages, strict=True)):
            writer.writerow([*row, f" {disease}" if place % 2 else disease, "" if wage is None else f"{wage} "])

    report = sf.check(path, quasi_identifying=names, sensitive=["disease", "wage"])

    quasi = {name: [row[place] or None for row in rows] for place, name in enumerate(names)}
    classes = naive.equivalence_classes(quasi)
    assert report.keys.count == len(classes)
    assert report.find("k-anonymity").value == min(map(len, classes))
    assert report.sample_uniques == sum(len(one) == 1 for one in classes)
    assert report.prosecutor.highest == 1 / min(map(len, classes))
    assert report.prosecutor.average == pytest.approx(len(classes) / len(rows))
    has_wages = any(wage is not None for wage in wages)
    columns: dict[str, tuple[list[Any], str]] = {
        "disease": ([disease or None for disease in diseases], "equal"),
        "wage": (wages, "ordered" if has_wages else "equal"),
    }
    for name, (values, distance) in columns.items():
        for model, twin, other in (
            ("distinct-l-diversity", "distinct", {}),
            ("probabilistic-l-diversity", "probabilistic", {}),
            ("entropy-l-diversity", "entropy", {}),
            ("recursive-l-diversity", "recursive", {"l": 2}),
            ("alpha-k-anonymity", "alpha-k", {}),
            ("t-closeness", "t-closeness", {"distance": distance}),
            ("basic-beta-likeness", "basic-beta", {}),
            ("enhanced-beta-likeness", "enhanced-beta", {}),
            ("delta-disclosure", "delta", {}),
        ):
            one = report.find(model, name, **other)
            expected = naive.table_achieves(twin, quasi, values, **other)
            assert one.value == pytest.approx(expected, abs=1e-12), (model, name)
            whole = naive.published_only(classes, values)
            own = [naive.MODELS[twin].achieves([values[row] for row in each], whole, **other) for each in classes]
            worst = sorted(
                row + 1
                for each, value in zip(classes, own, strict=True)
                if value == expected or abs(value - expected) < 1e-12
                for row in each
            )
            assert report.rows(one).tolist() == worst, (model, name)


# a third party


@pytest.mark.parametrize("seed", seeds(6))
def test_pycanon_finds_the_same(seed: int) -> None:
    draw = np.random.default_rng(seed)
    size = int(draw.integers(40, 300))
    frame = pd.DataFrame(
        {
            "age": np.array(["[20-30)", "[30-40)", "*"])[draw.integers(0, 3, size)],
            "zip": np.array(["476**", "4790*"])[draw.integers(0, 2, size)],
            "disease": np.array(list("abcd"))[draw.integers(0, 4, size)],
            "wage": draw.integers(0, 8, size) ** 2,
        }
    )
    quasi = ["age", "zip"]
    report = sf.check(frame, quasi_identifying=quasi, sensitive=["disease", "wage"])
    assert report.find("k-anonymity").value == anonymity.k_anonymity(frame, quasi)
    for name in ("disease", "wage"):
        assert report.find("distinct-l-diversity", name).value == anonymity.l_diversity(frame, quasi, [name])
        alpha = anonymity.alpha_k_anonymity(frame, quasi, [name])[0]
        assert report.find("alpha-k-anonymity", name).value == pytest.approx(alpha)
        t = anonymity.t_closeness(frame, quasi, [name])
        assert report.find("t-closeness", name).value == pytest.approx(t, rel=1e-9)
        beta = anonymity.basic_beta_likeness(frame, quasi, [name])
        assert report.find("basic-beta-likeness", name).value == pytest.approx(beta, rel=1e-9)


# what is taken


TEXTS = pl.DataFrame(
    {
        "age": ["[20-30)", "[20-30)", "3*", "3*", "*"],
        "zip": ["476**", "476**", "*", "*", "*"],
        "disease": ["flu", "cold", "cold", "cold", "gout"],
        "wage": [1.5, 3.0, 3.0, 3.0, 9.0],
    }
)
ROLES = {"quasi_identifying": ["age", "zip"], "sensitive": ["disease", "wage"]}


def test_files_frames_and_tables_give_the_same(tmp_path: Path):
    told = sf.check(TEXTS, **ROLES).to_dict()
    TEXTS.write_csv(tmp_path / "table.csv")
    TEXTS.write_parquet(tmp_path / "table.parquet")
    table = sf.read_table(TEXTS, sf.Schema(**ROLES))
    for source in (tmp_path / "table.csv", str(tmp_path / "table.parquet"), TEXTS.to_pandas(), TEXTS.to_arrow(), table):
        assert sf.check(source, **ROLES).to_dict() == told
    assert sf.check(table).to_dict() == told


def test_other_roles_of_a_table_that_was_read():
    table = sf.read_table(TEXTS, sf.Schema(**ROLES))
    report = sf.check(table, quasi_identifying=["age", "disease"], sensitive=["wage"])
    assert found(report) == found(sf.check(TEXTS, quasi_identifying=["age", "disease"], sensitive=["wage"]))
    assert sf.check(table, sensitive=[]).to_dict()["sensitive"] == {}


def test_no_sensitive_column():
    report = sf.check(TEXTS, quasi_identifying=["age", "zip"])
    assert [one.model for one in report.findings] == ["k-anonymity"]
    assert report.find("k-anonymity").value == 1
    assert report.rows(report.find("k-anonymity")).tolist() == [5]
    assert "k = 1" in str(report)


def test_a_release_is_found_to_have_what_it_promises(tmp_path: Path):
    schema = sf.Schema(quasi_identifying=["age", "sex"], sensitive=["disease"])
    draw = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "age": draw.integers(20, 80, 200),
            "sex": draw.choice(["f", "m"], 200),
            "disease": draw.choice(["flu", "cold", "gout"], 200),
        }
    )
    release = sf.anonymize(sf.read_table(frame, schema), [sf.KAnonymity(5), sf.ProbabilisticLDiversity(1.5)])
    report = sf.check(
        release.save(tmp_path / "r") / "data.csv", quasi_identifying=["age", "sex"], sensitive=["disease"]
    )
    achieved = {one.parameter: one.value for check in sf.verify(release).checks for one in check.achieved}
    assert report.find("k-anonymity").value == achieved["k"]
    assert report.find("probabilistic-l-diversity").value == pytest.approx(achieved["l"])


@pytest.mark.parametrize("name", ["*", "^a", "a,b", "Größe"])
def test_columns_of_unusual_names(name: str):
    frame = TEXTS.rename({"age": name})
    report = sf.check(frame, quasi_identifying=[name, "zip"], sensitive=["disease"])
    assert report.keys.count == 3
    private = sf.check(TEXTS.rename({"disease": name}), quasi_identifying=["age", "zip"], sensitive=[name])
    assert private.find("distinct-l-diversity", name).value == 1


@pytest.mark.parametrize("texts", [("1", "1.0"), ("01", "1"), ("true", "TRUE"), ("2024-01-01", " 2024-01-01")])
def test_texts_that_mean_the_same_differ_all_the_same(tmp_path: Path, texts: tuple[str, str]):
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["q,s", *(f"{text},flu" for text in texts * 2)]) + "\n")
    report = sf.check(path, quasi_identifying=["q"], sensitive=["s"])
    assert (report.keys.count, report.find("k-anonymity").value) == (2, 2)


def test_texts_that_differ_by_blanks_differ_and_sensitive_ones_do_not(tmp_path: Path):
    path = tmp_path / "table.csv"
    path.write_text("age,disease,wage\n2*,flu, 1\n2*, flu,2\n 2*,flu ,3\n 2*,flu,4\n")
    report = sf.check(path, quasi_identifying=["age"], sensitive=["disease", "wage"])
    assert report.keys.count == 2
    assert report.find("distinct-l-diversity", "disease").value == 1
    assert report.find("t-closeness", "wage").given["distance"] == "ordered"


# what it says


def test_json_has_no_infinity_and_frames_have_a_line_for_each_class():
    report = sf.check(TEXTS, **ROLES)
    told = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert told["prosecutor"] == {"of": "records", "highest": 1.0, "average": 0.6}
    delta = next(one for one in told["found"] if (one["model"], one["attribute"]) == ("delta-disclosure", "disease"))
    assert (delta["value"], delta["holds"]) == (None, "never")
    k = told["found"][0]
    assert k == {
        "model": "k-anonymity", "attribute": None, "parameter": "k", "value": 1.0, "holds": "up to",
        "worst": {"classes": 1, "records": 1, "first_rows": [5]},
    }  # fmt: skip
    assert told["sensitive"]["wage"] == {"kind": "numeric", "values": 3, "distance": "ordered"}
    frame = report.to_frame()
    assert frame["first_row"].to_list() == [1, 3, 5]
    assert frame["records"].to_list() == [2, 2, 1]
    assert frame["distinct-l-diversity: disease"].to_list() == [2, 1, 1]


def test_no_value_is_shown():
    marked = TEXTS.with_columns(
        pl.format("geheim{}", "age").alias("age"), pl.format("geheim{}", "disease").alias("disease")
    )
    report = sf.check(marked, **ROLES)
    assert "geheim" not in f"{report} {report!r} {report.findings!r} {report.to_dict()}"


def test_a_strict_bound_is_told_as_one():
    report = sf.check(
        pl.DataFrame({"q": ["*"] * 4, "s": ["a", "a", "b", "c"]}), quasi_identifying=["q"], sensitive=["s"]
    )
    assert "c > 1" in str(report)
    assert report.find("recursive-l-diversity", l=3).holds == "above"
    # What is said to hold does, and the value itself does not.
    at, above = (sf.RecursiveLDiversity(c, 3).holds(report.statistics).all() for c in (2.0, 2.001))
    assert (report.find("recursive-l-diversity", l=3).value, bool(at), bool(above)) == (2, False, True)


def test_what_was_not_measured_is_refused():
    report = sf.check(TEXTS, **ROLES)
    with pytest.raises(sf.PolicyError, match="several sensitive columns"):
        report.find("t-closeness")
    with pytest.raises(sf.PolicyError, match="no such figure"):
        report.find("m-invariance")
    with pytest.raises(sf.PolicyError, match="no such figure"):
        report.find("recursive-l-diversity", "disease", l=4)


# bad input


def problems_of(table: object, **roles: Any) -> tuple[str, ...]:
    with pytest.raises(sf.SfumatoError) as caught:
        sf.check(table, **roles)  # type: ignore[arg-type]
    assert caught.value.exit_code == 2
    assert not any("flu" in problem or "[20" in problem for problem in caught.value.problems)
    return caught.value.problems


def test_everything_that_is_wrong_with_the_arguments_is_said_at_once():
    assert len(problems_of(TEXTS, quasi_identifying="age", sensitive="disease")) == 2
    assert len(problems_of(TEXTS, sensitive="disease")) == 2
    assert problems_of(TEXTS) == ("quasi_identifying: name the columns that an attacker may know",)
    both = problems_of(TEXTS, quasi_identifying=["age", "age"], sensitive=["zip", "zip"])
    assert both == ("quasi_identifying names a column twice", "sensitive names a column twice")
    assert "give it one role" in problems_of(TEXTS, quasi_identifying=["age"], sensitive=["age"])[0]
    assert len(problems_of(TEXTS, quasi_identifying=[1], sensitive=[["zip"]])) == 2


def test_columns_that_are_not_there():
    (missing,) = problems_of(TEXTS, quasi_identifying=["age", "town"], sensitive=["illness", "disease"])
    assert "'town'" in missing
    assert "'illness'" in missing
    table = sf.read_table(TEXTS, sf.Schema(**ROLES))
    assert len(problems_of(table, quasi_identifying=["age", "town"], sensitive=["illness"])) == 2
    assert "names a column twice" in problems_of(table, quasi_identifying=["age", "age"])[0]
    assert "no quasi-identifying column" in problems_of(table, quasi_identifying=[])[0]
    insensitive = sf.read_table(TEXTS, sf.Schema(quasi_identifying=["age"], insensitive=["zip"], others="drop"))
    assert "read it as sensitive" in problems_of(insensitive, sensitive=["zip"])[0]


def test_tables_that_cannot_be_read(tmp_path: Path):
    roles = {"quasi_identifying": ["age"], "sensitive": ["disease"]}
    assert "no records" in problems_of(TEXTS.head(0), **roles)[0]
    assert "no such file" in problems_of(tmp_path / "nobody.csv", **roles)[0]
    assert "no file of a table" in problems_of(tmp_path, **roles)[0]
    assert "not a table" in problems_of(7, **roles)[0]
    for text, word in (
        ("", "empty"),
        ("age,disease\n", "no records"),
        ("age,disease,age\n1,2,3\n", "same name"),
        ("age,disease\n1\n2,3,4\n", "row"),
        ("age,disease\n1,inf\n1,2\n", "infinite"),
    ):
        path = tmp_path / "table.csv"
        path.write_text(text)
        assert word in " ".join(problems_of(path, **roles)), text
