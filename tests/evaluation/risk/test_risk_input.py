"""What ``sfumato.risk`` takes, draws, and says about bad input: every mistake at once, no value of the table."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf

PEOPLE = pl.DataFrame(
    {
        "age": [20, 20, 31, 31, None, 47],
        "sex": ["f", "f", "m", "m", "m", None],
        "w": [3.0, 4.0, 2.5, 8.0, 1.0, 9.0],
        "home": ["a", "a", "b", "c", "c", "d"],
    }
)
SCHEMA = sf.Schema(quasi_identifying=["age", "sex"], insensitive=["w", "home"])


@pytest.fixture
def table() -> sf.Table:
    return sf.read_table(PEOPLE, SCHEMA)


def problems_of(table: object, **options: object) -> tuple[str, ...]:
    with pytest.raises(sf.SfumatoError) as caught:
        sf.risk(table, **options)  # type: ignore[arg-type]
    assert caught.value.exit_code == 2
    return caught.value.problems


# what is taken


def test_a_table_and_its_published_frame_have_the_same_risks(table):
    frame = PEOPLE.select("age", "sex").with_columns(pl.col("age").cast(pl.String))
    assert sf.risk(table).to_dict() == sf.risk(frame, quasi_identifying=["age", "sex"]).to_dict()


def test_a_release_its_folder_and_its_file_have_the_same_risks(table, tmp_path):
    release = sf.anonymize(table, sf.KAnonymity(2), suppression_limit=0.5, seed=1)
    folder = release.save(tmp_path / "release")
    told = sf.risk(release).to_dict()
    assert told["prosecutor"]["highest"] <= 0.5
    assert told["sample_uniques"]["records"] == 0
    assert sf.risk(folder).to_dict() == sf.risk(str(folder)).to_dict() == told
    assert sf.risk(folder / "data.csv", quasi_identifying=["age", "sex"]).to_dict() == told


def test_some_columns_of_a_table(table):
    assert sf.risk(table, quasi_identifying=["sex"]).keys.count == 3
    assert sf.risk(table, quasi_identifying=["home"]).keys.count == 4


@pytest.mark.parametrize("kind", [list, pl.DataFrame])
def test_a_population_may_be_a_frame_or_a_table(table, kind):
    people = pl.concat([PEOPLE.select("age", "sex")] * 3)
    population = people if kind is pl.DataFrame else sf.read_table(people, sf.Schema(quasi_identifying=["age", "sex"]))
    report = sf.risk(table, population=population)
    assert report.journalist.risks.tolist() == (report.prosecutor.risks / 3).tolist()
    assert report.population_uniques == 0
    assert report.special_uniques.estimate == pytest.approx(2 / 3 / (2 / 3 + 2 * 2 / 3 * 2))
    report = sf.risk(table, population=PEOPLE)
    assert report.population_uniques == report.sample_uniques == 2
    assert report.population is None


def test_a_population_may_be_a_file_and_of_other_number_types(table, tmp_path):
    path = tmp_path / "people.csv"
    pl.concat([PEOPLE.select("sex", pl.col("age").cast(pl.Float64), other=1)] * 2).write_csv(path)
    assert sf.risk(table, population=path).journalist.highest == 0.5


def test_every_record_has_its_line(table):
    frame = sf.risk(table, weights="w", household="home", sampling_fraction=0.2).to_frame()
    assert frame["row"].to_list() == [1, 2, 3, 4, 5, 6]
    assert frame["records_alike"].to_list() == [2, 2, 2, 2, 1, 1]
    assert {"prosecutor", "journalist", "individual", "household", "suda", "dis_suda"} <= set(frame.columns)
    risks = frame["individual"].to_numpy()
    assert frame["household"][3] == pytest.approx(1 - (1 - risks[3]) * (1 - risks[4]))


def test_thresholds_may_be_left_out(table):
    report = sf.risk(table, thresholds=[])
    assert report.thresholds == ()
    assert "above" not in str(report)


def test_sizes_of_zero_leave_parts_out(table):
    report = sf.risk(table, special_uniques=0, combinations=0)
    assert report.special_uniques is None
    assert report.combinations is None
    assert report.to_dict()["special_uniques"] is None


def test_many_columns_get_small_combinations():
    frame = pl.DataFrame({f"c{place}": ["a", "b", str(place)] for place in range(70)})
    report = sf.risk(frame, quasi_identifying=frame.columns)
    assert report.special_uniques is None
    assert report.combinations is not None
    assert report.combinations.size == 1
    assert problems_of(frame, quasi_identifying=frame.columns, special_uniques=1, combinations=6) == (
        "combinations: 70 columns have 144,193,119 combinations of up to 6; ask for a smaller size",
        "special_uniques: works on at most 62 columns, here are 70; use 0",
    )


def test_repr_and_text_hold_no_value(table):
    report = sf.risk(table, weights="w", household="home", sampling_fraction=0.2)
    assert repr(report) == "RiskReport(6 records, 4 classes)"
    assert "47" not in str(report)
    assert repr(report.special_uniques).startswith("SpecialUniques(")


def test_the_number_of_threads_changes_nothing():
    codes = np.random.default_rng(2).integers(0, 5, size=(400, 6)).astype(str)
    frame = pl.DataFrame(codes, schema=[f"c{place}" for place in range(6)])
    one, three = (sf.risk(frame, quasi_identifying=frame.columns, combinations=6, threads=n) for n in (1, 3))
    assert one.to_dict() == three.to_dict()


# bad input


def test_all_mistakes_are_told_at_once(table):
    told = problems_of(
        table,
        thresholds=["ema", "fda"],
        special_uniques=3,
        combinations=-1,
        sampling_fraction=1.5,
        weights="nowhere",
        household="gone",
        population=PEOPLE.select("age"),
        threads=0,
    )
    assert [line.split(":")[0].split(" ")[0] for line in told] == [
        "threshold",
        "threads",
        "sampling_fraction",
        "sampling_fraction",
        "special_uniques",
        "combinations",
        "weights",
        "household",
        "population",
    ]
    assert "asks for up to 3 columns, but there are 2 quasi-identifying ones" in told[4]


def test_weights_that_are_none(table):
    frame = PEOPLE.with_columns(w=pl.Series([3.0, -4.0, 0.0, None, float("inf"), 9.0]))
    assert problems_of(sf.read_table(frame, SCHEMA), weights="w") == (
        "weights: column 'w' has 1 record with no number, first in row 4; give every record its weight",
        "weights: column 'w' has 2 records with a weight that is not above 0, first in row 2; weights count people",
        "weights: column 'w' has 1 record with an infinite weight, first in row 5; weights count people",
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"quasi_identifying": "age"}, "quasi_identifying: must be a list of column names"),
        ({"thresholds": None}, "thresholds: must be a list of names and numbers"),
        ({"recoding": 3}, "recoding: must be a Recoding"),
        ({"weights": "sex"}, "weights: column 'sex' has 6 records with no number"),
        ({"sampling_fraction": 1e-300}, "sampling_fraction: stands for a population of more than 100 billion people"),
        ({"sampling_fraction": float("nan")}, "sampling_fraction: must be a number above 0, at most 1"),
        ({"population": 5}, "population: table: not a table"),
        ({"population": "nowhere.csv"}, "population: nowhere.csv: there is no such file"),
    ],
)
def test_other_slips(table, options, said):
    (told,) = problems_of(table, **options)
    assert told.startswith(said)


def test_weights_of_more_people_than_there_are(table):
    frame = PEOPLE.with_columns(w=pl.lit(1e300))
    (told,) = problems_of(sf.read_table(frame, SCHEMA), weights="w")
    assert "100 billion" in told


def test_weights_of_fewer_people_than_records(table):
    frame = PEOPLE.with_columns(w=pl.lit(0.5))
    (told,) = problems_of(sf.read_table(frame, SCHEMA), weights="w")
    assert "a population smaller than the table" in told


def test_a_population_smaller_than_the_table(table):
    (told,) = problems_of(table, population=PEOPLE.head(5))
    assert told.startswith("population: has 5 records and the table 6; it must hold everybody")


def test_a_population_without_some_of_the_people(table):
    population = pl.concat([PEOPLE.head(4)] * 3)
    (told,) = problems_of(table, population=population)
    assert told.startswith("population: the values of 2 records, first in row 5, are in the table more")


def test_a_population_without_the_shared_columns(table):
    (told,) = problems_of(table, population=PEOPLE.select("age", "w"))
    assert told.startswith("population: ")
    assert "'sex'" in told


def test_a_population_of_another_kind(table):
    population = pl.concat([PEOPLE.select("sex", age=pl.lit("geheim"))] * 2)
    (told,) = problems_of(table, population=population)
    assert told.startswith("population: ")
    assert "geheim" not in told


def test_two_populations(table):
    told = problems_of(table, population=PEOPLE, sampling_fraction=0.5)
    assert told == ("sampling_fraction: the population table says it already; give one of the two",)


def test_households_need_risks_and_names(table):
    (told,) = problems_of(table, household="home")
    assert told.startswith("household: needs weights")
    frame = PEOPLE.with_columns(home=pl.Series(["a", None, "b", "b", "b", "b"]))
    (told,) = problems_of(sf.read_table(frame, SCHEMA), household="home", weights="w")
    assert told.startswith("household: column 'home' is missing in 1 record")


def test_wildcards_do_not_go_with_a_population(table):
    (told,) = problems_of(table, wildcards=True, population=PEOPLE)
    assert told.startswith("wildcards: ")


@pytest.mark.parametrize("size", [True, 1.5, "2", -1])
def test_sizes_that_are_none(table, size):
    assert problems_of(table, combinations=size) == ("combinations: must be a whole number, 0 or above",)


def test_columns_that_are_not_there_or_not_said(table, tmp_path):
    assert problems_of(table, quasi_identifying=["age", "zip"]) == (
        "quasi_identifying: column 'zip' is not in the table",
    )
    assert problems_of(table, quasi_identifying=["age", "age"]) == (
        "quasi_identifying: names a column twice; name each once",
    )
    assert problems_of(PEOPLE) == ("quasi_identifying: name the columns that an attacker may know",)
    (told,) = problems_of(tmp_path)
    assert "name a release, a published file or a table" in told


def test_an_adversary_without_a_risk(table):
    with pytest.raises(sf.PolicyError, match=r"it has prosecutor$"):
        sf.risk(table).rows_above("ema", "journalist")


def test_bars_show_the_share_of_records_in_classes_of_a_size():
    frame = pl.DataFrame({"age": [1] + [2] * 2 + [3] * 7})
    lines = sf.risk(frame, quasi_identifying=["age"]).draw(10).splitlines()
    assert lines[1].split() == ["1", "█", "10%"]
    assert lines[2].split() == ["2", "██", "20%"]
    assert lines[4].split() == ["5", "to", "10", "███████", "70%"]
    assert lines[-1].split() == ["101", "or", "more", "0%"]
