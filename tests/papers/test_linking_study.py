from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from sfumato.errors import UnsatisfiableError
from sfumato.papers.hospital import HOSPITAL_SCHEMA, MODELS, LinkingStudy, hospital, linking_study
from sfumato.release.verify import verify


@pytest.fixture(scope="module")
def study() -> LinkingStudy:
    return linking_study(hospital(2000, seed=11), seed=11)


def test_the_attack_works_before(study: LinkingStudy) -> None:
    assert study.before.in_table == 1200
    assert study.before.missed == 0
    assert study.before.reidentified.share > 0.8
    assert study.before.learnt.successes >= study.before.reidentified.successes
    assert study.before.certainty.share > study.before.reidentified.share


def test_it_agrees_with_a_join(study: LinkingStudy) -> None:
    known = list(HOSPITAL_SCHEMA.quasi_identifying)
    alone = study.town.patients.filter(~pl.struct(known).is_duplicated())
    found = study.town.register.join(alone, on="name", how="semi").height
    assert study.before.reidentified.successes == found


def test_the_attack_fails_after(study: LinkingStudy) -> None:
    assert study.after.singled_out == 0
    assert study.after.reidentified.successes == 0
    assert study.after.learnt.successes == 0
    assert study.after.missed == 0  # nobody was suppressed, and a generalized value covers what it came from
    assert study.after.certainty.share <= 1 / 5
    assert study.after.attributes == study.before.attributes == tuple(HOSPITAL_SCHEMA.quasi_identifying)


def test_the_release_keeps_its_promise(study: LinkingStudy) -> None:
    assert verify(study.release).ok
    assert study.release.report.losses.normalized_ncp < 0.5
    assert len(study.policy.models) == len(MODELS)


def test_the_example_person(study: LinkingStudy) -> None:
    assert study.person.height == study.records_before.height == 1
    person = study.town.patients.join(study.person, on="name", how="semi")
    assert_frame_equal(study.records_before, person.drop("name"))
    assert study.records_after.height >= 5
    assert study.records_after["disease"].n_unique() >= 3
    assert person["disease"][0] in study.records_after["disease"].cast(pl.String).to_list()


def test_a_seed_repeats_it() -> None:
    first, again = (linking_study(hospital(300, seed=2), seed=2) for _ in range(2))
    assert first.after == again.after
    assert_frame_equal(first.release.data, again.release.data)


def test_too_few_patients() -> None:
    with pytest.raises(UnsatisfiableError, match="k-anonymity"):
        linking_study(hospital(4, seed=1), seed=1)
