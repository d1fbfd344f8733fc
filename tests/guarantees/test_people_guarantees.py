"""People with several records: every anonymizer × every model × every kind of table, recounted by who is who."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, note
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from guarantees.combinations import OF_PEOPLE, PUBLISHER_SETTINGS, RECODINGS, SETTINGS, described, models
from guarantees.peoples_tables import PEOPLE_SETTINGS, PeoplesTable, check_by_hand, peoples_tables, released
from sfumato.models.protocol import Outcome, PrivacyModel

EACH = [
    pytest.param(name, marks=() if setting == type(setting)() else pytest.mark.slow)
    for name, setting in PEOPLE_SETTINGS.items()
]
SETTING = st.sampled_from(list(PEOPLE_SETTINGS))
RECODING = st.sampled_from(RECODINGS)
LIMITS = st.sampled_from([0.0, 0.0, 0.1, 0.3, 0.7])


@st.composite
def people_models(draw: st.DrawFn, table: PeoplesTable, names: list[str]) -> list[PrivacyModel]:
    """Models of these names; k-anonymity also in its plain form."""
    drawn = [draw(models(name, table.drawn.sensitive)) for name in names]
    plain = draw(st.booleans())
    return [
        sf.KAnonymity(each.k, shares=False) if plain and isinstance(each, sf.KAnonymity) else each for each in drawn
    ]


def check(table: PeoplesTable, wanted: list[PrivacyModel], setting: str, limit: float, **settings: Any) -> bool:
    """Anonymize; whatever comes out must be right. Tell whether something did."""
    feasible = all(table.one_class_holds(described(model)) for model in wanted)
    note(f"{wanted} feasible={feasible}")
    try:
        release = released(table, wanted, PEOPLE_SETTINGS[setting], suppression_limit=limit, **settings)
    except sf.UnsatisfiableError:
        assert not feasible
        return False
    assert feasible or limit
    with tempfile.TemporaryDirectory() as folder:
        for format in ("csv", "parquet"):
            check_verified(release, release.save(Path(folder) / format, format=format), len(wanted))
        check_by_hand(release, Path(folder) / "csv", table, [described(model) for model in wanted], limit)
    return True


def check_verified(release: sf.Release, folder: Path, promises: int) -> None:
    """With the audit file everything holds; without it nothing is said to."""
    recounted = sf.verify(folder, audit=folder.with_name(f"{folder.name}.audit.json"))
    assert recounted.ok, str(recounted)
    in_memory = sf.verify(release).checks
    assert tuple(check for check in recounted.checks if check in in_memory) == in_memory
    assert recounted.people == release.report.people
    attested = sf.verify(folder)
    assert attested.ok
    assert attested.people is None
    assert {each.outcome for each in attested.checks[1 : 1 + promises]} == {Outcome.UNDECIDABLE}


@pytest.mark.parametrize("setting", EACH)
@given(peoples_tables(sensitive=1), RECODING, LIMITS, st.sampled_from([None, None, 20]), st.data())
@examples(60, HealthCheck.data_too_large)
def test_every_setting(setting, table, recoding, limit, refine, data):
    names = data.draw(st.lists(st.sampled_from(OF_PEOPLE), min_size=1, max_size=2, unique=True))
    check(table, data.draw(people_models(table, names)), setting, limit, recoding=recoding, refine=refine)


@pytest.mark.parametrize("name", OF_PEOPLE)
@given(peoples_tables(sensitive=1), RECODING, SETTING, LIMITS, st.data())
@examples(30, HealthCheck.data_too_large)
def test_every_model(name, table, recoding, setting, limit, data):
    check(table, data.draw(people_models(table, [name])), setting, limit, recoding=recoding, seed=1)


@pytest.mark.slow
@given(peoples_tables(sensitive=2), RECODING, SETTING, LIMITS, st.data())
@examples(2000, HealthCheck.data_too_large)
def test_many_models_and_tables(table, recoding, setting, limit, data):
    names = ["k-anonymity", *data.draw(st.lists(st.sampled_from(OF_PEOPLE), max_size=3, unique=True))]
    refine = data.draw(st.sampled_from([None, 20]))
    check(table, data.draw(people_models(table, names)), setting, limit, recoding=recoding, refine=refine)


def stays(seed: int, rows: int = 60, people: int = 25) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": [f"p{person}" for person in draw.integers(0, people, rows)],
            "age": draw.integers(20, 30, rows),
            "city": draw.choice(["a", "b", "c"], rows),
            "ill": draw.choice(["x", "y", "z"], rows),
            "cost": draw.integers(0, 3, rows),
        }
    )


def alike(draw: np.random.Generator) -> pl.DataFrame:
    """A table in which many people are alike in what others may know."""
    return pl.DataFrame(
        {
            "id": [f"p{person}" for person in draw.integers(0, 20, 40)],
            "age": draw.integers(20, 23, 40),
            "city": draw.choice(["a", "b"], 40),
            "ill": draw.choice(["x", "y", "z"], 40),
            "cost": draw.integers(0, 3, 40),
        }
    )


def schema(**who: Any) -> sf.Schema:
    return sf.Schema(quasi_identifying=["age", "city"], sensitive=["ill", "cost"], **who)


def published(frame: pl.DataFrame, setting: str, wanted: Any, roles: sf.Schema, **settings: Any) -> Any:
    """The published rows, whatever their order, or which error refuses them."""
    try:
        release = sf.anonymize(
            sf.read_table(frame, roles), wanted, anonymizer=PEOPLE_SETTINGS[setting], seed=1, **settings
        )
    except sf.UnsatisfiableError as error:
        return type(error)
    return Counter(release.data.rows())


OFFERED = [[sf.KAnonymity(3)], [sf.KAnonymity(3), sf.DistinctLDiversity(2, attribute="ill")]]
ASKED = [{}, {"suppression_limit": 0.1}, {"refine": 20}]


@pytest.mark.parametrize("setting", EACH)
@pytest.mark.parametrize("seed", range(3))
def test_with_one_record_each_the_person_column_changes_nothing(setting: str, seed: int):
    frame = stays(seed).with_columns(id=pl.int_range(pl.len()))
    for wanted in OFFERED:
        for asked in ASKED:
            with_it = published(frame, setting, wanted, schema(person="id"), **asked)
            assert with_it == published(frame, setting, wanted, schema(identifying=["id"]), **asked)


@pytest.mark.parametrize("setting", EACH)
@pytest.mark.parametrize("seed", [2, 11, 20, 22, 25])
def test_neither_order_nor_keys_nor_threads_decide_anything(setting: str, seed: int):
    """Also where people differ in nothing but a sensitive value that no model looks at."""
    draw = np.random.default_rng(seed)
    frame = alike(draw)
    renamed = dict(zip(frame["id"].unique().sort(), draw.permutation(1000).tolist(), strict=False))
    moved = frame[draw.permutation(frame.height)].with_columns(pl.col("id").replace_strict(renamed))
    for wanted in OFFERED:
        for asked in ASKED:
            one = published(frame, setting, wanted, schema(person="id"), threads=1, **asked)
            assert one == published(moved, setting, wanted, schema(person="id"), threads=3, **asked)


@pytest.mark.parametrize("setting", [*(name for name in SETTINGS if name not in PEOPLE_SETTINGS), *PUBLISHER_SETTINGS])
def test_what_cannot_count_people_is_refused_by_name(setting: str):
    anonymizer = {**SETTINGS, **PUBLISHER_SETTINGS}[setting]
    promises = getattr(anonymizer, "promises", "classes")
    offered = [sf.KAnonymity(2), sf.ProbabilisticLDiversity(1.2)]
    wanted = next(([model] for model in offered if promises in model.speaks_of), [])
    with pytest.raises(sf.PolicyError, match="person: ") as error:
        sf.anonymize(sf.read_table(stays(0), schema(person="id")), wanted, anonymizer=anonymizer)
    assert anonymizer.name in str(error.value) or "blind" in str(error.value)


def test_those_that_take_people_are_these():
    assert {setting.name for setting in PEOPLE_SETTINGS.values()} == {
        "mondrian", "best", "k-member", "k-means", "mdav", "v-mdav", "oka", "caat", "kaca", "utility-recoding", "sbc",
    }  # fmt: skip


def test_rows_of_a_person_do_not_stand_together():
    """In 600 rows of 200 people, two neighbours are one person's with a chance of 1 in 300, wherever they stood."""
    frame = stays(1, 600, 200).with_columns(id=pl.int_range(600) // 3, row=pl.int_range(600))
    roles = schema(person="id", insensitive=["row"])
    together = 0
    for _ in range(20):
        rows = sf.anonymize(sf.read_table(frame, roles), sf.KAnonymity(3)).data["row"].to_numpy() // 3
        together += int((rows[1:] == rows[:-1]).sum())
    assert together < 20 * 599 / 300 * 2


def test_pseudonyms_say_nothing_across_classes_and_are_drawn_anew(tmp_path):
    frame = stays(1, 600, 200).with_columns(row=pl.int_range(600))
    table = sf.read_table(frame, schema(person="id", insensitive=["row"]))
    one, two = (sf.anonymize(table, sf.KAnonymity(3)) for _ in range(2))
    first, second = (
        dict(zip(release.data["row"], release.audit.pseudonyms.tolist(), strict=True)) for release in (one, two)
    )
    assert first != second
    # The lowest number of a class is not that of its first record.
    names = one.data.with_columns(number=pl.Series(one.audit.pseudonyms))
    leading = names.sort("row").group_by("age", "city").first()["number"]
    assert (leading == 1).mean() < 0.9
