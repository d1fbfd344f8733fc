"""The linking attack with a register, and looking for one person: by hand, and against plain twins."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import date
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive.linkage import candidates, scores
from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.attacks import placement
from sfumato.evaluation.attacks.linking_attack import LinkageResult, fitting_records, linking_attack
from sfumato.hierarchy import dates, groups, intervals, prefixes
from sfumato.recoding.choice import Recoding
from sfumato.table.schema import Attribute, Schema

THESIS = Schema(
    identifying=["name"], quasi_identifying={"age": None, "sex": None, "zip": prefixes(3, 2, 0)}, sensitive=["disease"]
)

# Thesis, table 1-1: (b) the voters, (a) the 2-anonymous patients.
VOTERS = pl.DataFrame(
    {
        "name": ["John", "Elena", "Paul", "Sara"],
        "age": [35, 40, 25, 35],
        "sex": ["Male", "Female", "Male", "Female"],
        "zip": ["79415", "75942", "22370", "65784"],
    }
)
TWO_ANONYMOUS = pl.DataFrame(
    {
        "age": ["[25..35]", "[25..35]", "[40..45]", "[40..45]"],
        "sex": ["Male", "Male", "Female", "Female"],
        "zip": ["22***", "22***", "554**", "554**"],
        "disease": ["Gastritis", "HIV", "Cancer", "Fever"],
    }
)
# Figure 1-2 (a) is a picture in our copy: Paul's record is known from the text, the others are chosen to fit the table.
PATIENTS = pl.DataFrame(
    {
        "name": ["Paul", "Tom", "Ann", "Eve"],
        "age": [25, 35, 40, 45],
        "sex": ["Male", "Male", "Female", "Female"],
        "zip": ["22370", "22405", "55410", "55433"],
        "disease": ["Gastritis", "HIV", "Cancer", "Fever"],
    }
)


def rates(result: LinkageResult) -> tuple[float, float, float]:
    return result.reidentified.successes, result.learnt.successes, result.certainty.successes


class TestThesis:
    """Section 1.5 and 1.6: one candidate for Paul before, two after."""

    def test_with_only_the_names_removed_paul_is_found_and_his_disease_learnt(self) -> None:
        result = linking_attack(PATIENTS.drop("name"), VOTERS, THESIS, truth=PATIENTS)
        assert (result.people, result.in_table, result.matched, result.singled_out) == (4, 1, 1, 1)
        assert (result.false_matches, result.missed) == (0, 0)
        assert rates(result) == (1, 1, 1.0)

    @pytest.mark.parametrize(("name", "form"), [("Paul ", None), ("PAUL", "fold"), ("Pa ul", "fold:blanks")])
    def test_names_of_two_tables_are_compared_as_keys_are_everywhere(self, name: str, form: str | None) -> None:
        voters = VOTERS.with_columns(pl.col("name").replace("Paul", name))
        schema = replace(THESIS, key_form=form)
        result = linking_attack(PATIENTS.drop("name"), voters, schema, truth=PATIENTS)
        assert (result.in_table, rates(result)) == (1, (1, 1, 1.0))
        release = sf.anonymize(sf.read_table(PATIENTS, THESIS), sf.KAnonymity(2))
        known = {"schema": schema, "register": voters, "attacks": "linkage"}
        assert sf.attack(release, PATIENTS, **known)["linkage"][0].success.people == 1
        if form is not None:
            with pytest.raises(InputError, match="key-form fold"):
                linking_attack(PATIENTS.drop("name"), voters, THESIS, truth=PATIENTS)
            with pytest.raises(InputError, match="key-form fold"):
                sf.attack(release, PATIENTS, **{**known, "schema": THESIS})
            exact = linking_attack(PATIENTS.drop("name"), voters, replace(THESIS, key_form="exact"), truth=PATIENTS)
            assert exact.in_table == 0

    def test_two_anonymity_halves_the_certainty(self) -> None:
        result = linking_attack(TWO_ANONYMOUS, VOTERS, THESIS, truth=PATIENTS)
        assert (result.matched, result.singled_out) == (1, 0)
        assert rates(result) == (0, 0, 0.5)
        assert result.certainty.people == 1

    def test_without_truth_everybody_who_fits_counts(self) -> None:
        result = linking_attack(PATIENTS.drop("name"), VOTERS, THESIS)
        assert (result.in_table, result.false_matches, result.missed) == (None, None, None)
        assert rates(result) == (1, 1, 1.0)
        assert result.certainty.people == 1


def test_soccer_figure_1() -> None:
    """Of the figure's players only the heights can be read in our copy: one record has 188 cm, two have 176."""
    published = pl.DataFrame({"height": [176, 176, 183, 188, 170, 177], "fitness": ["a", "b", "c", "d", "e", "f"]})
    website = pl.DataFrame({"name": ["Bob", "Alan", "Carl", "Dean"], "height": [188, 176, 169, 180]})
    schema = Schema(identifying=["name"], quasi_identifying=["height"], sensitive=["fitness"])
    result = linking_attack(published, website, schema)
    assert (result.matched, result.singled_out) == (2, 1)
    assert rates(result) == (1, 1, 1.5)


class TestWhatItMustAndMustNotAchieve:
    def test_a_homogeneous_class_gives_the_value_away_without_the_record(self) -> None:
        published = TWO_ANONYMOUS.with_columns(disease=pl.Series(["HIV", "HIV", "Cancer", "Fever"]))
        truth = PATIENTS.with_columns(disease=pl.Series(["HIV", "HIV", "Cancer", "Fever"]))
        assert rates(linking_attack(published, VOTERS, THESIS, truth=truth)) == (0, 1, 0.5)

    def test_a_table_of_stars_gives_nothing_away(self) -> None:
        stars = TWO_ANONYMOUS.with_columns(age=pl.lit("*"), sex=pl.lit("*"), zip=pl.lit("*"))
        result = linking_attack(stars, VOTERS, THESIS, truth=PATIENTS)
        assert (result.matched, result.false_matches) == (4, 3)
        assert rates(result) == (0, 0, 0.25)
        assert result.reidentified.baseline == 0.25

    def test_people_who_are_not_in_the_table_may_fit(self) -> None:
        register = VOTERS.with_columns(name=pl.lit("somebody else ") + pl.col("name"))
        result = linking_attack(PATIENTS.drop("name"), register, THESIS, truth=PATIENTS)
        assert (result.in_table, result.matched, result.false_matches, result.singled_out) == (0, 1, 1, 1)
        assert rates(result) == (0, 0, 0.0)
        assert result.learnt.share == 0.0

    def test_a_suppressed_person_is_missed(self) -> None:
        result = linking_attack(PATIENTS.drop("name")[1:], VOTERS, THESIS, truth=PATIENTS)
        assert (result.in_table, result.matched, result.missed) == (1, 0, 1)
        assert rates(result) == (0, 0, 0.0)

    def test_the_wrong_single_record_is_no_success(self) -> None:
        published = PATIENTS.drop("name").with_columns(disease=pl.Series(["Fever", "HIV", "Cancer", "Gastritis"]))
        result = linking_attack(published, VOTERS, THESIS, truth=PATIENTS)
        assert result.singled_out == 1
        assert rates(result)[:2] == (0, 0)

    def test_a_likely_value(self) -> None:
        published = pl.DataFrame({"sex": ["m"] * 5, "disease": ["a", "a", "a", "a", "b"]})
        register = pl.DataFrame({"name": ["x"], "sex": ["m"]})
        schema = Schema(identifying=["name"], quasi_identifying=["sex"], sensitive=["disease"])
        for threshold, likely in ((0.8, 1), (0.81, 0), (0.1, 1), (1, 0)):
            result = linking_attack(published, register, schema, threshold=threshold)
            assert result.likely.successes == likely
            assert result.learnt.successes == 0
            assert result.likely.baseline == 0.8

    def test_fewer_known_attributes_mean_more_candidates(self) -> None:
        result = linking_attack(PATIENTS.drop("name"), VOTERS.drop("zip", "age"), THESIS, truth=PATIENTS)
        assert result.attributes == ("sex",)
        assert rates(result) == (0, 0, 0.5)


class TestReadingLabels:
    def one(
        self, labels: list[object], value: object, setting: object = None, *, recoding: Recoding | None = None
    ) -> list[bool]:
        """Tell which labels fit a value, by giving every label a sensitive value of its own."""
        schema = Schema(identifying=["name"], quasi_identifying={"x": setting}, sensitive=["s"])  # type: ignore[dict-item]
        register = pl.DataFrame({"name": ["a"], "x": [value]})
        fitting = []
        for label in labels:
            published = pl.DataFrame({"x": pl.Series([label], dtype=pl.String), "s": ["v"]})
            fitting.append(linking_attack(published, register, schema, recoding=recoding).matched == 1)
        return fitting

    def test_numbers(self) -> None:
        labels = ["30", "30.0", "31", "[20..30]", "[30..40]", "[31..40]", "[20..30)", "*", None]
        assert self.one(labels, 30) == [True, True, False, True, True, False, False, True, False]

    def test_dates(self) -> None:
        labels = ["1990-05-01", "[1990-01-01..1990-12-31]", "[1991-01-01..1991-12-31]", "*"]
        assert self.one(labels, date(1990, 5, 1)) == [True, True, False, True]
        assert self.one(labels, "1990-05-01", Attribute(kind="date")) == [True, True, False, True]

    def test_value_sets(self) -> None:
        labels = ["a", "{a|b}", "{b|c}", r"{a|\N}", r"{b|\N}", "*", None]
        assert self.one(labels, "a") == [True, True, False, True, False, True, False]

    def test_escaped_members(self) -> None:
        assert self.one([r"{a\|b|c}", r"\{x", r"\*", "*"], "a|b") == [True, False, False, True]
        assert self.one([r"{a\|b|c}", r"\{x", r"\*", "*"], "{x") == [False, True, False, True]
        assert self.one([r"{a\|b|c}", r"\{x", r"\*", "*"], "*") == [False, False, True, True]

    def test_prefixes(self) -> None:
        labels = ["01234", "0123*", "01***", "02***", "*"]
        assert self.one(labels, "01234", prefixes(4, 2, 0)) == [True, True, True, False, True]

    def test_intervals_of_a_hierarchy(self) -> None:
        labels = ["30", "[30..40)", "[20..30)", "*"]
        assert self.one(labels, 30, intervals(10)) == [True, True, False, True]

    def test_dates_of_a_hierarchy(self) -> None:
        by_year = dates("year")
        label = by_year.build(pl.Series([date(1990, 5, 1)]), name="x").levels[1].labels[0]
        assert self.one([label, "*"], date(1990, 5, 1), by_year) == [True, True]

    def test_sets_of_an_attribute_with_a_hierarchy(self) -> None:
        couples = groups({"low": ["a", "b"], "high": ["c"]})
        recoding = Recoding(forms={"x": "set"})  # type: ignore[dict-item]
        assert self.one(["{a|c}", "b", "*"], "a", couples, recoding=recoding) == [True, False, True]

    def test_a_value_outside_of_the_hierarchy_fits_only_stars(self) -> None:
        for setting in (groups({"low": ["a", "b"], "high": ["c"]}), Attribute(hierarchy=intervals([0, 10, 20]))):
            value = "z" if not isinstance(setting, Attribute) else 99
            assert self.one(["low", "a", "[0..10)", "*", None], value, setting) == [False, False, False, True, False]

    def test_values_outside_of_the_hierarchy_do_not_disturb_the_others(self) -> None:
        schema = Schema(identifying=["name"], quasi_identifying={"x": intervals([0, 10, 20])}, sensitive=["s"])
        register = pl.DataFrame({"name": list("abcde"), "x": [-5, 3, 12, 50, 60]})
        published = pl.DataFrame({"x": ["[0..10)", "12"], "s": ["u", "v"]})
        assert linking_attack(published, register, schema).matched == 2

    def test_what_the_register_does_not_tell_fits_everything(self) -> None:
        assert self.one(["a", "{b|c}", "*", None], None, Attribute(kind="categorical")) == [True] * 4
        assert self.one(["1", "[2..3]", "*", None], None, Attribute(kind="numeric")) == [True] * 4

    def test_means_fit_their_neighbours_in_the_register(self) -> None:
        schema = Schema(identifying=["name"], quasi_identifying=["x"], sensitive=["s"])
        register = pl.DataFrame({"name": list("abcd"), "x": [10, 20, 30, 40]})
        published = pl.DataFrame({"x": ["24.5"], "s": ["v"]})
        result = linking_attack(published, register, schema, recoding=Recoding(numeric="mean"))  # type: ignore[arg-type]
        assert result.matched == 2

    def test_a_published_frame_may_be_typed(self) -> None:
        published = PATIENTS.drop("name").with_columns(pl.col("sex", "zip", "disease").cast(pl.Categorical))
        assert rates(linking_attack(published, VOTERS, THESIS, truth=PATIENTS)) == (1, 1, 1.0)

    def test_a_column_that_fits_nobody_is_noted(self) -> None:
        published = TWO_ANONYMOUS.with_columns(sex=pl.lit("M"))
        result = linking_attack(published, VOTERS, THESIS)
        assert result.matched == 0
        assert result.notes == ("no published value of 'sex' fits anybody; check its kind, hierarchy and form",)


class TestBadInput:
    def test_nothing_shared(self) -> None:
        with pytest.raises(InputError, match="share no quasi-identifying column") as caught:
            linking_attack(TWO_ANONYMOUS, VOTERS.select("name"), THESIS)
        assert len(caught.value.problems) == 1
        assert "age, sex, zip" in caught.value.problems[0]

    def test_everything_at_once(self) -> None:
        with pytest.raises(InputError) as caught:
            linking_attack(TWO_ANONYMOUS.drop("disease").clear(), VOTERS.select("name").clear(), THESIS)
        assert len(caught.value.problems) == 4

    def test_the_sensitive_column_must_be_clear(self) -> None:
        schema = Schema(quasi_identifying=["age"], sensitive=["disease", "salary"])
        with pytest.raises(PolicyError, match="2 sensitive columns"):
            linking_attack(TWO_ANONYMOUS, VOTERS, schema)
        assert linking_attack(TWO_ANONYMOUS, VOTERS, schema, sensitive="disease").sensitive == "disease"

    @pytest.mark.parametrize("threshold", [0, -1, 1.5, float("nan"), "0.5"])
    def test_the_threshold_is_a_share(self, threshold: object) -> None:
        with pytest.raises(PolicyError, match="threshold"):
            linking_attack(TWO_ANONYMOUS, VOTERS, THESIS, threshold=threshold)  # type: ignore[arg-type]

    def test_names_for_scoring_must_be_unique(self) -> None:
        with pytest.raises(InputError) as caught:
            linking_attack(
                TWO_ANONYMOUS, pl.concat([VOTERS, VOTERS]), THESIS, truth=pl.concat([PATIENTS, PATIENTS[:1]])
            )
        assert caught.value.problems == (
            "the register, column 'name': 4 name(s) repeat an earlier one; make them unique",
            "the truth, column 'name': 1 name(s) repeat an earlier one; make them unique",
        )

    def test_scoring_needs_names_and_values(self) -> None:
        with pytest.raises(InputError) as caught:
            linking_attack(TWO_ANONYMOUS, VOTERS.drop("name"), THESIS, truth=PATIENTS.drop("disease"))
        assert caught.value.problems == (
            "the register has no column 'name'",
            "the truth has no column 'disease'",
        )
        schema = Schema(quasi_identifying=["age"], sensitive=["disease"])
        with pytest.raises(InputError, match="identity"):
            linking_attack(TWO_ANONYMOUS, VOTERS, schema, truth=PATIENTS)
        assert linking_attack(TWO_ANONYMOUS, VOTERS, schema, truth=PATIENTS, identity="name").in_table == 1

    def test_cells_of_another_kind_are_counted_and_not_shown(self) -> None:
        register = VOTERS.with_columns(age=pl.Series(["35", "secret", "25", "hidden"]), zip=pl.lit(None))
        schema = Schema(
            quasi_identifying={"age": Attribute(kind="numeric"), "sex": Attribute(kind="date")},  # type: ignore[arg-type]
            sensitive=["disease"],
        )
        with pytest.raises(InputError) as caught:
            linking_attack(TWO_ANONYMOUS, register, schema)
        assert caught.value.problems == (
            "register, column 'age': 2 cell(s) are not numeric, first in row 2; correct them or leave them empty",
            "register, column 'sex': 4 cell(s) are not date, first in row 1; correct them or leave them empty",
        )

    def test_a_hierarchy_that_cannot_be_built_is_the_registers_problem(self) -> None:
        schema = Schema(quasi_identifying={"zip": prefixes(1, 0)}, sensitive=["disease"])
        register = VOTERS.with_columns(zip=pl.Series(["12", "1*", "13", "14"]))
        with pytest.raises(InputError, match="'zip'") as caught:
            linking_attack(TWO_ANONYMOUS, register, schema)
        assert "1*" not in str(caught.value)


def test_texts_and_plain_values() -> None:
    result = linking_attack(TWO_ANONYMOUS, VOTERS, THESIS, truth=PATIENTS)
    assert str(result).splitlines() == [
        "Linking attack by age, sex, zip on 4 published records",
        "  4 people in the register, 1 of them in the table",
        "  1 fit at least one record",
        "  0 fit exactly one record",
        "  re-identified with certainty: 0 of 1, 0.0 % (0.0 to 79.3 %, by guessing 25 %)",
        "  disease learnt with certainty: 0 of 1, 0.0 % (0.0 to 79.3 %, by guessing 0 %)",
        "  disease at least 90 % sure: 0 of 1, 0.0 % (0.0 to 79.3 %, by guessing 0 %)",
        "  average certainty: 0.5000 (by guessing 0.25)",
    ]
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["attributes"] == ["age", "sex", "zip"]
    assert plain["certainty"]["share"] == 0.5
    assert "Paul" not in str(result)


ZIPS = ["0123", "0124", "0133", "0210", "1000"]
JOBS = {"paid": ["smith", "clerk"], "unpaid": ["pupil"]}
ZIP_TREE = {code: (code, code[:3] + "*", code[:1] + "***", "*") for code in ZIPS}
JOB_TREE = {job: (job, group, "*") for group, jobs in JOBS.items() for job in jobs}
TREES = (None, None, ZIP_TREE, JOB_TREE)

SCHEMA = Schema(
    identifying=["name"],
    quasi_identifying={
        "age": Attribute(kind="numeric"),  # type: ignore[arg-type]
        "town": Attribute(kind="categorical"),  # type: ignore[arg-type]
        "zip": Attribute(hierarchy=prefixes(3, 1, 0)),
        "job": Attribute(hierarchy=groups(JOBS)),
    },
    sensitive=["disease"],
)

ages = st.integers(20, 26)
interval_labels = st.tuples(ages, ages).map(lambda ends: f"[{min(ends)}..{max(ends)}]")
towns = st.sampled_from(["ulm", "bonn", "köln", "a b"])
sets = st.sets(towns, min_size=2).map(lambda members: "{" + "|".join(sorted(members)) + "}")
records = st.tuples(
    st.one_of(ages.map(str), interval_labels, st.just("*"), st.none()),
    st.one_of(towns, sets, st.just("*"), st.none()),
    st.one_of(st.sampled_from([label for labels in ZIP_TREE.values() for label in labels]), st.none()),
    st.one_of(st.sampled_from([label for labels in JOB_TREE.values() for label in labels]), st.none()),
    st.sampled_from(["flu", "gout", None]),
)
people = st.tuples(
    st.one_of(ages, st.none()),
    st.one_of(towns, st.none()),
    st.one_of(st.sampled_from(ZIPS), st.none()),
    st.one_of(st.sampled_from([*JOB_TREE, "pope"]), st.none()),
    st.sampled_from(["flu", "gout", "mumps", None, "absent"]),
)


def played(
    rows: list[tuple[Any, ...]], register: list[tuple[Any, ...]], *, told: bool, threshold: float
) -> dict[str, float]:
    names = [*SCHEMA.quasi_identifying, "disease"]
    published = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    kinds = {"age": pl.Int64, "town": pl.String, "zip": pl.String, "job": pl.String, "disease": pl.String}
    everybody = pl.DataFrame(register, schema=kinds, orient="row").with_row_index("name").cast({"name": pl.String})
    truth = everybody.filter(pl.col("disease").ne_missing("absent")) if told else None
    result = linking_attack(published, everybody.drop("disease"), SCHEMA, truth=truth, threshold=threshold)
    assert result.people == len(register)
    return {
        "matched": result.matched,
        "singled_out": result.singled_out,
        "people": result.reidentified.people,
        "false_matches": result.false_matches or 0,
        "missed": result.missed or 0,
        "certainty": result.certainty.successes,
        "reidentified": result.reidentified.successes,
        "learnt": result.learnt.successes,
        "likely": result.likely.successes,
    }


def expected(
    rows: list[tuple[Any, ...]], register: list[tuple[Any, ...]], *, told: bool, threshold: float
) -> dict[str, float]:
    truth = [person[-1] for person in register] if told else None
    found = scores(
        [row[:-1] for row in rows], [row[-1] for row in rows], [p[:-1] for p in register], TREES, truth, threshold
    )
    names = [
        "matched",
        "singled_out",
        "people",
        "false_matches",
        "missed",
        "certainty",
        "reidentified",
        "learnt",
        "likely",
    ]
    return {name: found.get(name, 0) for name in names}


@pytest.mark.slow
@examples(120)
@given(st.lists(records, min_size=1, max_size=40), st.lists(people, min_size=1, max_size=12), st.booleans())
def test_the_same_as_all_pairs(rows: list[tuple[Any, ...]], register: list[tuple[Any, ...]], told: bool) -> None:
    found = played(rows, register, told=told, threshold=0.7)
    assert found == pytest.approx(expected(rows, register, told=told, threshold=0.7))


@examples(40)
@given(
    st.lists(records, min_size=1, max_size=90), st.lists(people, min_size=1, max_size=6), st.sampled_from([0, 40, 96])
)
def test_the_same_however_much_is_tabulated(
    rows: list[tuple[Any, ...]], register: list[tuple[Any, ...]], budget: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement, "_TABULATED_BYTES", budget)
        found = played(rows, register, told=True, threshold=0.5)
    assert found == pytest.approx(expected(rows, register, told=True, threshold=0.5))


NAMES = ("age", "sex", "zip")
ZIPS_of_fits = ["1234", "1235", "1290", "5555"]
TREE = {code: [code, f"{code[:2]}**", "*"] for code in ZIPS_of_fits}


def people_of_fits(seed: int) -> pl.DataFrame:
    draw = random.Random(seed)
    rows = [
        (draw.randrange(20, 60), draw.choice("fm"), draw.choice(ZIPS_of_fits), draw.choice("abc")) for _ in range(60)
    ]
    return pl.DataFrame(rows, schema=[*NAMES, "sick"], orient="row")


SCHEMA_of_fits = sf.Schema(quasi_identifying={"age": None, "sex": None, "zip": sf.prefixes(2)}, sensitive=["sick"])


@pytest.mark.parametrize("seed", range(4))
def test_the_records_that_fit_are_those_of_trying_each(seed, tmp_path):
    original = people_of_fits(seed)
    release = sf.anonymize(sf.read_table(original, SCHEMA_of_fits), sf.KAnonymity(4), seed=seed)
    release.save(tmp_path / "release")
    shown = release.data.select(NAMES).cast(pl.String)
    trees = [None, None, TREE]
    for row in original.head(12).iter_rows(named=True):
        person = [row[name] for name in NAMES]
        expected = release.data[candidates(shown.rows(), person, trees)]
        found = sf.fits(release, row, SCHEMA_of_fits)
        assert found.equals(expected)
        assert found.height >= 4
        assert sf.fits(tmp_path / "release", row, SCHEMA_of_fits).height == found.height
    known = {"age": int(original["age"][0])}
    assert sf.fits(release, known).height == len(candidates(shown.select("age").rows(), [known["age"]], [None]))


def test_what_is_no_record_is_refused(tmp_path):
    original = people_of_fits(1)
    release = sf.anonymize(sf.read_table(original, SCHEMA_of_fits), sf.KAnonymity(4))
    with pytest.raises(sf.InputError, match="shares a quasi-identifying column"):
        sf.fits(release, {"height": 180})
    with pytest.raises(sf.InputError, match="one row"):
        sf.fits(release, original.head(2))
    with pytest.raises(sf.InputError, match="one plain value") as caught:
        sf.fits(release, {"age": object()})
    assert "object" not in str(caught.value)
    noisy = sf.anonymize(sf.read_table(original, SCHEMA_of_fits), anonymizer=sf.Noise())
    with pytest.raises(sf.InputError, match="randomized"):
        sf.fits(noisy, {"age": 30})


ZIP_TREE_of_fitting = {code: (code, code[:1] + "*", "*") for code in ("11", "12", "20")}
SCHEMA_of_fitting = Schema(
    quasi_identifying={"age": Attribute(kind="numeric"), "zip": Attribute(hierarchy=prefixes(1, 0))},  # type: ignore[arg-type]
    sensitive=["disease"],
)
records_of_fitting = st.tuples(
    st.sampled_from(["3", "4", "[3..4]", "[5..9]", "*", None]),
    st.sampled_from([*{label for labels in ZIP_TREE_of_fitting.values() for label in labels}, None]),
)
people_of_fitting = st.tuples(
    st.one_of(st.none(), st.integers(2, 6)), st.one_of(st.none(), st.sampled_from(list(ZIP_TREE_of_fitting)))
)


@examples(60)
@given(st.lists(records_of_fitting, min_size=1, max_size=80), people_of_fitting)
def test_the_same_as_looking_at_every_record(
    rows: list[tuple[str | None, str | None]], person: tuple[object, ...]
) -> None:
    published = pl.DataFrame(rows, schema={"age": pl.String, "zip": pl.String}, orient="row").with_row_index("row")
    wanted = pl.DataFrame([person], schema={"age": pl.Int64, "zip": pl.String}, orient="row")
    assert fitting_records(published, wanted, SCHEMA_of_fitting)["row"].to_list() == candidates(
        rows, person, (None, ZIP_TREE_of_fitting)
    )


def test_a_register_that_tells_nothing_fits_everything() -> None:
    published = pl.DataFrame({"age": ["3", "*"], "disease": ["a", "b"]})
    assert (
        fitting_records(published, pl.DataFrame({"age": pl.Series([None], dtype=pl.Int64)}), SCHEMA_of_fitting).height
        == 2
    )


@pytest.mark.parametrize("person", [pl.DataFrame({"age": [1, 2]}), pl.DataFrame({"age": []}), pl.DataFrame({"x": [1]})])
def test_one_row_with_something_shared(person: pl.DataFrame) -> None:
    with pytest.raises(InputError, match="one row"):
        fitting_records(pl.DataFrame({"age": ["3"], "disease": ["a"]}), person, SCHEMA_of_fitting)
