"""Published pseudonyms: whoever recounts people from the saved table alone finds every promise kept."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from guarantees import recount
from guarantees.combinations import OF_PEOPLE, RECODINGS, described
from guarantees.peoples_tables import PEOPLE_SETTINGS, PeoplesTable, holds, peoples_tables, released
from guarantees.test_people_guarantees import EACH, LIMITS, SETTING, alike, people_models, published, schema, stays
from naive import fingerprints as naive
from naive import models as naive_models
from sfumato.numbers import percent

PUBLISHED = sf.People(pseudonyms="published")


def check_by_reader(folder: Path, table: PeoplesTable, wanted: list[Any], asked: sf.People) -> None:
    """Recount from the file alone; then hold the numbers against who is who."""
    header, rows = recount.read_csv(folder / "data.csv")
    assert header == [*(name for name in table.drawn.frame.columns if name != "id"), "person_in_class"]
    columns, quasi = recount.columns_of(header, rows), table.drawn.quasi
    people: list[Hashable] = [int(number) for number in columns["person_in_class"]]
    for model in wanted:
        assert holds(described(model), columns, quasi, table.drawn.sensitive, people), model
    classes = naive_models.equivalence_classes({name: columns[name] for name in quasi})
    for members in classes:
        numbers = {people[row] for row in members}
        assert numbers == set(range(1, len(numbers) + 1))
        meant = {(people[row], table.people[int(columns["note"][row])]) for row in members}
        assert len(meant) == len(numbers) == len({person for _, person in meant})
    if asked.fingerprint_k is not None:
        for name in table.drawn.sensitive:
            for members in classes:
                least = naive.fewest([members], people, columns[name], asked.known_values)
                assert min(least.values()) >= asked.fingerprint_k


def check_suppression(release: sf.Release, folder: Path, table: PeoplesTable, limit: float, wanted: list[Any]) -> None:
    """People are suppressed whole, within the limit in people and in records; not fewer than a class has."""
    report = release.report
    assert report.suppressed <= limit * report.original + 1e-9
    header, rows = recount.read_csv(folder / "data.csv")
    columns = recount.columns_of(header, rows)
    shown = Counter(table.people[int(note)] for note in columns["note"])
    before = Counter(table.people)
    if report.published < report.original:
        gone = len(before) - len(shown)
        assert gone <= limit * len(before) + 1e-9
        assert gone >= max(getattr(model, "k", 1) for model in wanted)
        assert all(shown[person] == before[person] for person in shown)


@st.composite
def people_settings(draw: st.DrawFn) -> sf.People:
    known = draw(st.sampled_from([1, 1, 2, 3]))
    return sf.People(
        pseudonyms="published", known_values=known, fingerprint_k=draw(st.sampled_from([None, 1, 2, 2, 3]))
    )


def check(table: PeoplesTable, wanted: list[Any], setting: str, limit: float, asked: sf.People, **more: Any) -> bool:
    try:
        release = released(table, wanted, PEOPLE_SETTINGS[setting], suppression_limit=limit, people=asked, **more)
    except sf.UnsatisfiableError:
        return False
    with tempfile.TemporaryDirectory() as place:
        for format in ("csv", "parquet"):
            folder = release.save(Path(place) / format, format=format, formulas="escape")
            recounted = sf.verify(folder)
            assert recounted.ok, str(recounted)
            assert recounted.people == release.report.people
            assert not folder.with_name(f"{folder.name}.audit.json").exists()
        assert release.audit is None
        check_by_reader(Path(place) / "csv", table, wanted, asked)
        check_suppression(release, Path(place) / "csv", table, limit, wanted)
    return True


@pytest.mark.parametrize("setting", EACH)
@given(
    peoples_tables(sensitive=1), st.sampled_from(RECODINGS), LIMITS, people_settings(), st.sampled_from([None, 20]),
    st.data(),
)  # fmt: skip
@examples(40, HealthCheck.data_too_large)
def test_every_setting(setting, table, recoding, limit, asked, refine, data):
    names = data.draw(st.lists(st.sampled_from(OF_PEOPLE), min_size=1, max_size=2, unique=True))
    wanted = data.draw(people_models(table, names))
    check(table, wanted, setting, limit, asked, recoding=recoding, refine=refine)


@pytest.mark.slow
@given(peoples_tables(sensitive=2), st.sampled_from(RECODINGS), SETTING, LIMITS, people_settings(), st.data())
@examples(2000, HealthCheck.data_too_large)
def test_many_models_and_tables(table, recoding, setting, limit, asked, data):
    names = ["k-anonymity", *data.draw(st.lists(st.sampled_from(OF_PEOPLE), max_size=3, unique=True))]
    check(table, data.draw(people_models(table, names)), setting, limit, asked, recoding=recoding)


@pytest.mark.parametrize("setting", EACH)
@pytest.mark.parametrize("seed", [2, 11])
def test_neither_order_nor_keys_decide_anything(setting: str, seed: int):
    draw = np.random.default_rng(seed)
    frame = alike(draw)
    renamed = dict(zip(frame["id"].unique().sort(), draw.permutation(1000).tolist(), strict=False))
    moved = frame[draw.permutation(frame.height)].with_columns(pl.col("id").replace_strict(renamed))
    limited = {"people": sf.People(pseudonyms="published", fingerprint_k=2), "suppression_limit": 0.9}
    for asked in ({"people": PUBLISHED}, limited):
        one = published(frame, setting, [sf.KAnonymity(2)], schema(person="id"), threads=1, **asked)
        assert one == published(moved, setting, [sf.KAnonymity(2)], schema(person="id"), threads=3, **asked)
        assert isinstance(one, Counter) or asked is limited


def test_the_same_seed_gives_the_same_bytes_and_none_gives_others(tmp_path):
    table = sf.read_table(stays(0, 200, 60), schema(person="id"))
    files = []
    for place, seed in enumerate((7, 7, 8, None, None)):
        release = sf.anonymize(table, sf.KAnonymity(3), people=PUBLISHED, seed=seed)
        files.append((release.save(tmp_path / str(place)) / "data.csv").read_bytes())
    assert files[0] == files[1]
    assert len(set(files)) == 4


def test_without_a_seed_every_number_of_a_class_is_as_likely_as_another():
    """Of three people one has two records. Each of six orders of them is drawn about 50 times of 300."""
    frame = pl.DataFrame({"id": [0, 0, 1, 2], "age": [1, 2, 3, 4], "ill": ["a", "b", "c", "d"]})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["ill"], person="id"))
    drawn: Counter[Any] = Counter()
    for _ in range(300):
        data = sf.anonymize(table, sf.KAnonymity(3, shares=False), people=PUBLISHED, threads=1).data
        own = dict(zip(data["ill"], data["person_in_class"], strict=True))
        assert own["a"] == own["b"]
        drawn[own["a"], own["c"], own["d"]] += 1
    assert len(drawn) == 6
    # Five degrees of freedom: 30 is passed once in 70,000 runs.
    assert sum((count - 50) ** 2 / 50 for count in drawn.values()) < 30


def apart(table: sf.Table, **more: Any) -> sf.Release:
    people = sf.People(rows="apart", pseudonyms="published", **more)
    return sf.anonymize(table, sf.KAnonymity(2, shares=False), people=people, threads=1)


@pytest.mark.slow
def test_the_numbers_of_a_person_in_two_classes_say_nothing_of_each_other():
    """Three people are in both of two classes. Of 450 releases each of nine pairs of numbers is drawn in about 50."""
    frame = pl.DataFrame({"id": [0, 1, 2] * 2, "age": [1] * 3 + [90] * 3, "ill": list("abcdef")})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["ill"], person="id"))
    drawn: Counter[Any] = Counter()
    for _ in range(450):
        data = apart(table).data
        assert data["age"].n_unique() == 2
        own = dict(zip(data["ill"], data["person_in_class"], strict=True))
        drawn[own["a"], own["d"]] += 1
    assert len(drawn) == 9
    # Eight degrees of freedom: 38 is passed once in 130,000 runs.
    assert sum((count - 50) ** 2 / 50 for count in drawn.values()) < 38


@pytest.mark.parametrize("seed", range(8))
def test_the_report_says_whom_the_number_of_records_gives_away(seed: int):
    drawn = random.Random(seed)
    people = [person for person in range(12) for _ in range(drawn.randint(1, 4))]
    frame = pl.DataFrame({"id": people, "age": [20 + person // 4 for person in people]})
    schema = sf.Schema(person="id", quasi_identifying=["age"])
    numbered = sf.People(pseudonyms="published")
    release = sf.anonymize(sf.read_table(frame, schema), sf.KAnonymity(2), people=numbered)
    rows = Counter(release.data.select("age", "person_in_class").iter_rows())
    as_many = Counter((age, records) for (age, _), records in rows.items())
    fitting = [as_many[age, records] for (age, _), records in rows.items()]
    alone = fitting.count(1)
    (line,) = map(str, release.report.fingerprints)
    assert line.startswith(f"the number of records instead: {alone} of 12 people ({percent(alone / 12, 3)}) have one")
    assert f"for {percent(sum(1 / each for each in fitting) / 12, 3)} on average" in line
