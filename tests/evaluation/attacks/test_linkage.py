"""The linking attack on worked examples, on what it must and must not achieve, and on bad input."""

from __future__ import annotations

import json
from datetime import date

import polars as pl
import pytest

from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.attacks.linkage import LinkageResult, linking_attack
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
