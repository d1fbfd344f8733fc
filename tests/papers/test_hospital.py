from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from sfumato.errors import InputError
from sfumato.papers.hospital import DISEASES, HOSPITAL_SCHEMA, MARITAL, OCCUPATIONS, VOTING_AGE, hospital

KNOWN = ["age", "sex", "zip", "marital_status", "occupation"]


@pytest.fixture(scope="module")
def town() -> tuple[pl.DataFrame, pl.DataFrame]:
    return hospital(5000, seed=7)


def test_size_and_columns(town: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    patients, register = town
    assert patients.columns == ["name", *KNOWN, "disease", "visit_count"]
    assert register.columns == ["name", *KNOWN]
    assert (patients.height, register.height) == (5000, 5000)
    assert sum(frame.null_count().sum_horizontal().item() for frame in town) == 0


def test_every_column_has_a_role(town: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    assert set(HOSPITAL_SCHEMA.roles) == set(town[0].columns)


def test_nobody_shares_a_name(town: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    assert all(frame["name"].n_unique() == frame.height for frame in town)


def test_six_in_ten_patients_are_registered_with_the_same_values(town: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    patients, register = town
    both = register.join(patients, on="name")
    assert both.height == 3000
    assert all((both[column] == both[f"{column}_right"]).all() for column in KNOWN)


def test_only_adults_are_registered(town: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    assert town[1]["age"].min() == VOTING_AGE
    assert town[0]["age"].min() == 0


def test_rows_of_the_register_do_not_follow_the_patients(town: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    patients, register = town
    places = register.join(patients.with_row_index("place"), on="name", maintain_order="left")["place"]
    assert not places.is_sorted()


def test_zip_codes_are_five_digits_with_leading_zeros(town: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    assert town[0]["zip"].str.contains(r"^0\d{4}$").all()


def test_values_fit_the_hierarchies(town: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    for frame in town:
        for name, attribute in HOSPITAL_SCHEMA.quasi_identifying.items():
            if attribute.hierarchy is not None:
                assert attribute.hierarchy.build(frame[name], name=name).height >= 2


def test_every_declared_value_occurs(town: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    patients, _ = town
    assert set(patients["disease"]) == set(DISEASES)
    assert set(patients["marital_status"]) == set(MARITAL)
    assert set(patients["occupation"]) == {work for group in OCCUPATIONS.values() for work in group}


def test_diseases_are_skewed_and_depend_on_age_and_sex(town: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    patients, _ = town
    counts = patients["disease"].value_counts(sort=True)["count"]
    assert counts[0] > 10 * counts[-1]
    assert counts[0] < patients.height / 3  # so that l-diversity with l = 3 can be had
    ages = dict(patients.group_by("disease").agg(pl.col("age").mean()).iter_rows())
    assert ages["stroke"] > ages["appendicitis"] + 20
    women = dict(patients.group_by("disease").agg((pl.col("sex") == "female").mean()).iter_rows())
    assert women["migraine"] > women["gastritis"] > women["HIV"]


def test_most_patients_are_alone_with_what_the_register_tells(town: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    patients, _ = town
    assert (patients.group_by(KNOWN).len()["len"] == 1).sum() > patients.height / 2


def test_children_are_neither_married_nor_working(town: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    children = town[0].filter(pl.col("age") < VOTING_AGE)
    assert set(children["marital_status"]) == {"single"}
    assert set(children["occupation"]) == {"child", "student"}


def test_a_seed_repeats_the_tables_and_another_does_not() -> None:
    for first, again in zip(hospital(50, seed=3), hospital(50, seed=3), strict=True):
        assert_frame_equal(first, again)
    assert not hospital(50, seed=3).patients.equals(hospital(50, seed=4).patients)
    assert not hospital(50).patients.equals(hospital(50).patients)


def test_the_smallest_hospital() -> None:
    patients, register = hospital(1, seed=0)
    assert patients.height == 1
    assert register.height <= 1


@pytest.mark.parametrize("patients", [0, -5, 2.5, "20", 10**9, True])
def test_an_impossible_number_of_patients(patients: object) -> None:
    with pytest.raises(InputError, match=r"patients: must be a whole number from 1 to \d+"):
        hospital(patients)  # type: ignore[arg-type]
