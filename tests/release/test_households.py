"""Households: who knows all members of one is left with k, and what is said of it does not contradict itself."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from examples import examples
from sfumato.cli.app import app

QUASI = ["region", "size", "age", "sex"]
METHODS = (sf.Mondrian(), sf.Mondrian(mode="relaxed"), sf.KMember(), sf.MDAV(), sf.OKA(), sf.UtilityRecoding())


def homes(count: int, seed: int, most: int = 4) -> pl.DataFrame:
    """Households of 1 to `most` members, the rows of all of them mixed."""
    draw, rows = np.random.default_rng(seed), []
    for home in range(count):
        size, region = int(draw.integers(1, most + 1)), str(draw.choice(["north", "south", "east"]))
        rows += [
            (
                f"home {home}",
                region,
                size,
                int(draw.integers(0, 90)),
                str(draw.choice(["m", "f"])),
                str(draw.choice(list("abc"))),
            )
            for _ in range(size)
        ]
    frame = pl.DataFrame(rows, schema=["home", *QUASI, "disease"], orient="row")
    return frame.with_columns(follows=pl.col("home")).sample(fraction=1, shuffle=True, seed=seed)


def read(frame: pl.DataFrame, **settings: Any) -> sf.Table:
    roles = {"insensitive": ["follows"], **settings}
    return sf.read_table(frame, sf.Schema(person="home", quasi_identifying=QUASI, sensitive=["disease"], **roles))


def published(frame: pl.DataFrame, models: Any, **options: Any) -> pl.DataFrame:
    release = sf.anonymize(read(frame), models, people=sf.People(rows="household"), seed=3, **options)
    return release.published.data.with_columns(pl.all().cast(pl.String))


def by_home(data: pl.DataFrame) -> dict[str, list[tuple[Any, ...]]]:
    """What is published of each household's members; the column `follows` says whose they are."""
    found = defaultdict(list)
    for row in data.iter_rows(named=True):
        found[row["follows"]].append(tuple(row[name] for name in QUASI))
    return found


@pytest.mark.parametrize("method", METHODS, ids=repr)
@given(
    st.integers(30, 70),
    st.integers(0, 99),
    st.sampled_from([2, 3]),
    st.sampled_from([1, 2]),
    st.sampled_from([sf.Recoding(), sf.Recoding(ends="tight"), sf.Recoding(numeric="mean")]),
)
@examples(6)
def test_every_household_is_published_like_k_of_its_size_and_never_contradicts_itself(
    method, count, seed, k, values, recoding
):
    # Some ages are missing, and some households have no region.
    frame = homes(count, seed).with_columns(
        age=pl.when(pl.col("age") % 11 > 0).then(pl.col("age")),
        region=pl.when(~pl.col("home").str.ends_with("7")).then(pl.col("region")),
    )
    models = [sf.KAnonymity(k), *([sf.DistinctLDiversity(values)] if values > 1 else [])]
    data = published(frame, models, anonymizer=method, recoding=recoding, suppression_limit=0.5)
    sizes = Counter(frame["follows"])
    alike = Counter(tuple(sorted(map(str, rows))) for rows in by_home(data).values())
    for home, rows in by_home(data).items():
        assert len(rows) == sizes[home]  # nobody is left out alone
        assert {size for _, size, _, _ in rows} == {str(sizes[home])}
        assert len({region for region, _, _, _ in rows}) == 1
        assert alike[tuple(sorted(map(str, rows)))] >= k
    for rows in data.partition_by(QUASI):
        assert rows["follows"].n_unique() >= k
        assert rows["disease"].n_unique() >= values
        assert rows["follows"].value_counts()["count"].max() * k <= rows.height


@pytest.mark.parametrize("method", [sf.Mondrian(), sf.MDAV(), sf.KMember()], ids=repr)
def test_classes_are_those_of_a_wide_table_of_each_size(method):
    draw, rows = np.random.default_rng(8), []
    for home in range(240):
        size, income = home % 3 + 1, int(draw.integers(0, 10_000))
        rows += [(f"home {home}", income, int(age)) for age in draw.choice(1000, size, replace=False)]
    frame = pl.DataFrame(rows, schema=["home", "income", "age"], orient="row").with_columns(follows=pl.col("home"))
    domains = {"income": (0, 10_000), "age": (0, 1000)}
    quasi = {name: sf.Attribute(domain=domain) for name, domain in domains.items()}
    table = sf.read_table(frame, sf.Schema(person="home", quasi_identifying=quasi, insensitive=["follows"]))
    release = sf.anonymize(table, sf.KAnonymity(4), anonymizer=method, people=sf.People(rows="household"), seed=3)
    found = defaultdict(set)
    shown = defaultdict(list)
    for row in release.published.data.with_columns(pl.all().cast(pl.String)).iter_rows(named=True):
        shown[row["follows"]].append((row["income"], row["age"]))
    for home, labels in shown.items():
        found[tuple(sorted(labels))].add(home)
    expected = set()
    for size in (1, 2, 3):
        wide: dict[str, dict[str, Any]] = {}
        for home, members in frame.partition_by("home", as_dict=True).items():
            if members.height == size:
                ages = sorted(members["age"])
                wide[home[0]] = {
                    "income": members["income"][0],
                    **{f"age {place}": age for place, age in enumerate(ages)},
                }
        columns = {"income": sf.Attribute(domain=domains["income"], weight=size)} | {
            f"age {place}": sf.Attribute(domain=domains["age"]) for place in range(size)
        }
        # The same scale of distances as in the whole table, and the same order of columns.
        flat = pl.DataFrame([{"follows": home, **values} for home, values in wide.items()])
        alone = sf.anonymize(
            sf.read_table(flat, sf.Schema(quasi_identifying=columns, insensitive=["follows"])),
            sf.KAnonymity(4),
            anonymizer=method,
            seed=3 + size,
        ).published.data.with_columns(pl.all().cast(pl.String))
        expected |= {frozenset(part["follows"]) for part in alone.partition_by(list(columns))}
    if isinstance(method, sf.MDAV):  # its z-scores are those of each wide table's values here and there
        assert {len(homes) for homes in found.values()} == {len(homes) for homes in expected}
    else:
        assert {frozenset(homes) for homes in found.values()} == expected


@given(st.randoms(use_true_random=False))
@examples(5)
def test_neither_the_order_of_rows_nor_keys_nor_threads_change_what_is_published(random):
    frame = homes(40, 5).drop("follows")
    names = list(range(1000))
    random.shuffle(names)
    renamed = frame.with_columns(home=pl.col("home").map_elements(lambda home: f"x{names[int(home[5:])]}", pl.String))

    def rows(frame: pl.DataFrame, threads: int) -> list[tuple[Any, ...]]:
        table = read(frame, insensitive=[])
        people = sf.People(rows="household")
        release = sf.anonymize(
            table,
            sf.KAnonymity(3),
            anonymizer=sf.KMember(),
            people=people,
            seed=1,
            threads=threads,
            suppression_limit=0.3,
        )
        return sorted(release.published.data.cast(pl.String).rows())

    first = rows(frame, 1)
    assert rows(renamed.sample(fraction=1, shuffle=True, seed=random.randrange(99)), 2) == first


def test_households_lose_less_than_all_rows_in_one_class():
    table = read(homes(300, 1))
    losses = {
        rows: sf.anonymize(table, sf.KAnonymity(3), people=sf.People(rows=rows), seed=1).report.losses.normalized_ncp
        for rows in ("together", "household")
    }
    assert losses["household"] < 0.7 * losses["together"]


def test_sizes_that_few_households_have_are_left_out_whole_or_refused():
    large = pl.DataFrame(
        {
            "home": ["palace"] * 9,
            "region": ["north"] * 9,
            "size": [9] * 9,
            "age": range(9),
            "sex": ["f"] * 9,
            "disease": ["a"] * 9,
        }
    ).with_columns(follows=pl.col("home"))
    frame = pl.concat([homes(200, 2), large])
    with pytest.raises(sf.UnsatisfiableError) as error:
        published(frame, sf.KAnonymity(3))
    assert "1 household with 9 records" in str(error.value)
    assert "palace" not in str(error.value)
    people = sf.People(rows="household")
    release = sf.anonymize(read(frame), sf.KAnonymity(3), people=people, seed=3, suppression_limit=0.03)
    assert "palace" not in by_home(release.published.data)
    # What is said counts those who are published, and how large these are.
    households = len(by_home(release.published.data))
    assert households < 200
    assert f"{households} households of 1 to 4 members are published" in str(release.report)
    with pytest.raises(sf.UnsatisfiableError) as error:
        published(homes(20, 2), sf.KAnonymity(30), suppression_limit=1)
    assert "raise the suppression limit" not in str(error.value)


def test_a_class_of_rows_may_mix_sizes_and_keeps_shares():
    """Without a column of the size, households of several sizes are published alike: k of them, and 1/k of the rows."""
    rows = [(f"home {home}", 30, "m", "a") for home in range(12) for _ in range(1 + home % 2)]
    frame = pl.DataFrame(rows, schema=["home", "age", "sex", "disease"], orient="row")
    frame = frame.with_columns(follows=pl.col("home"))
    schema = sf.Schema(person="home", quasi_identifying=["age", "sex"], sensitive=["disease"], insensitive=["follows"])
    people = sf.People(rows="household")
    data = sf.anonymize(sf.read_table(frame, schema), sf.KAnonymity(3), people=people, seed=3).data
    [own] = [part["follows"].value_counts()["count"] for part in data.partition_by("age", "sex")]
    assert set(own) == {1, 2}
    assert len(own) >= 3
    assert own.max() * 3 <= own.sum()


def test_what_is_not_promised_to_households_is_refused_at_once():
    table = read(homes(60, 3))
    household = sf.People(rows="household")
    for models, options, said in (
        ([sf.KAnonymity(2), sf.TCloseness(0.3)], {}, "compares with the whole table"),
        ([sf.KAnonymity(2), sf.ProbabilisticLDiversity(2)], {}, "may break it together"),
        (sf.KAnonymity(2), {"anonymizer": sf.Optimal()}, "optimal decides itself what classes publish"),
        (sf.KAnonymity(2), {"anonymizer": sf.Mondrian(extent="region")}, "decides itself what classes publish"),
        (sf.AverageRisk(0.3), {}, "takes every record for a person of its own"),
    ):
        with pytest.raises(sf.PolicyError, match=said):
            sf.anonymize(table, models, people=household, **options)
    with pytest.raises(sf.PolicyError, match="publishes no pseudonyms"):
        sf.People(rows="household", pseudonyms="published")
    with pytest.raises(sf.PolicyError, match="all_records_k"):
        sf.People(rows="household", all_records_k=3)
    alone = sf.read_table(
        homes(30, 3).drop("follows"), sf.Schema(identifying=["home"], quasi_identifying=QUASI, others="drop")
    )
    with pytest.raises(sf.PolicyError, match="name the column that says who they are"):
        sf.anonymize(alone, sf.KAnonymity(2), people=household)


def test_the_command_writes_a_folder_that_verifies_with_its_audit_file(tmp_path: Path):
    homes(60, 4).drop("follows").write_csv(tmp_path / "survey.csv")
    columns = ["--person", "home", "--quasi", ",".join(QUASI), "--sensitive", "disease"]
    said = ["anonymize", str(tmp_path / "survey.csv"), *columns, "-k", "3", "--set", "people.rows=household"]
    result = CliRunner().invoke(app, [*said, "--out", str(tmp_path / "release")])
    assert result.exit_code == 0, result.output
    assert "left with 3 households at least" in result.output.replace("\n", " ")
    assert json.loads((tmp_path / "release" / "release.json").read_text())["rows"] == "household"
    audit = str(tmp_path / "release.audit.json")
    result = CliRunner().invoke(app, ["verify", str(tmp_path / "release"), "--audit", audit])
    assert result.exit_code == 0, result.output
    assert "✓ k-anonymity" in result.output
    # Without the audit file nobody says that it holds.
    result = CliRunner().invoke(app, ["verify", str(tmp_path / "release")])
    assert "not verifiable from the release: k-anonymity" in result.output
    result = CliRunner().invoke(app, [*said, "--engine", "disk", "--out", str(tmp_path / "other")])
    assert result.exit_code == 2
    assert "those of households" in result.output
