"""What publications tell together: twenty pairs that are safe alone and not together, and twenty that are safe."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.evidence.together import (
    Publication,
    _bounds,
    _Groups,
    _left_over,
    _patterns,
    _Told,
    joined,
    publication_of,
    read_publications,
    table_of_counts,
)

SCHEMA = sf.Schema(
    quasi_identifying={"age": None, "town": sf.prefixes(2, 1), "sex": None}, sensitive=["ill"], others="drop"
)
ILLS = ["flu", "cough", "rash", "ulcer", "burn"]


def people(seed: int, count: int = 240) -> pl.DataFrame:
    """Return people of six towns in two districts; the last town has two people, who are ill alike or not."""
    drawn = np.random.default_rng(seed)
    towns = np.array(["N1x", "N2x", "N3x", "S1x", "S2x"])[drawn.integers(5, size=count)]
    towns[:2] = "S3x"
    return pl.DataFrame(
        {
            "age": drawn.integers(20, 60, size=count) // 10 * 10,
            "town": towns,
            "sex": np.array(["f", "m"])[drawn.integers(2, size=count)],
            "ill": np.array(ILLS)[drawn.integers(5, size=count)],
        }
    )


def read(frame: pl.DataFrame) -> sf.Table:
    return sf.read_table(frame, SCHEMA)


def counts(
    frame: pl.DataFrame, names: list[str], table: sf.Table, path: Path, *, but: str | None = None
) -> Publication:
    """Count people by some columns, the town `but` left out, in a file."""
    some = frame if but is None else frame.filter(pl.col("town") != but)
    some.group_by(*names, "ill").len("count").sort(names or "ill").write_csv(path)
    return table_of_counts(path, table)


def release(frame: pl.DataFrame, names: list[str], path: Path) -> Publication:
    """Publish some columns as they are where k and l allow, else coarser."""
    schema = sf.Schema(
        quasi_identifying={name: SCHEMA.quasi_identifying[name] for name in names}, sensitive=["ill"], others="drop"
    )
    made = sf.anonymize(
        frame, [sf.KAnonymity(3), sf.DistinctLDiversity(2)], schema=schema, anonymizer=sf.Datafly(), seed=1
    )
    return publication_of(made.save(path), path.name)


def less_a_town(seed: int, home: Path) -> tuple[sf.Table, list[Publication]]:
    frame = people(seed).with_columns(pl.col("town").str.slice(0, 1).alias("district"))
    districts = frame.select("age", pl.col("district").alias("town"), "sex", "ill")
    table = read(frame)
    outer = release(frame, ["town"], home / "release") if seed % 2 else totals(districts, table, home)
    return table, [outer, counts(frame, ["town"], table, home / "towns.csv", but="S3x")]


def totals(frame: pl.DataFrame, table: sf.Table, home: Path) -> Publication:
    return counts(frame, [], table, home / "totals.csv")


def versions(seed: int, home: Path) -> tuple[sf.Table, list[Publication]]:
    frame = people(seed)
    table, fewer = read(frame), frame[3:] if seed % 2 else frame[2:]
    names = ["town", "sex"] if seed % 3 else ["sex"]
    return table, [counts(frame, names, table, home / "march.csv"), counts(fewer, names, table, home / "april.csv")]


def intersections(seed: int, home: Path) -> tuple[sf.Table, list[Publication]]:
    """Somebody of age i and town i+1 has one value that is possible at both, though each has two."""
    drawn, rows = np.random.default_rng(seed), []
    for place in range(4):
        ill, after = ILLS[place], ILLS[(place + 1) % 4]
        rows += [
            (20 + 10 * place, f"{'NS'[place // 2]}{place}x", "fm"[int(drawn.integers(2))], one)
            for one in (ill, after) * 4
        ]
        following = (place + 1) % 4
        rows += [(20 + 10 * place, f"{'NS'[following // 2]}{following}x", "f", after)] * int(drawn.integers(1, 4))
    frame = pl.DataFrame(rows, schema=["age", "town", "sex", "ill"], orient="row")
    table = read(frame)
    first = release(frame, ["age"], home / "ages") if seed % 2 else counts(frame, ["age"], table, home / "ages.csv")
    return table, [first, counts(frame, ["town"], table, home / "towns.csv")]


UNSAFE = [(way, seed) for way, seeds in ((less_a_town, 7), (versions, 7), (intersections, 6)) for seed in range(seeds)]


@pytest.mark.parametrize(("way", "seed"), UNSAFE)
def test_pairs_that_are_unsafe_together_are_found(way, seed, tmp_path):
    table, both = way(seed, tmp_path)
    found = joined(both, table)
    assert found["unjoined"] == {}
    assert found["findings"], way
    assert all(one["people"] > 0 and len(one["sentence"].split()) <= 20 for one in found["findings"])
    assert {"less_a_town": "difference", "versions": "versions", "intersections": "intersection"}[way.__name__] in {
        one["way"] for one in found["findings"]
    }
    for alone in both:
        assert joined([alone], table)["findings"] == []
        assert joined([alone, alone], table)["findings"] == [], "the same again tells nothing more"


@pytest.mark.parametrize("way", [less_a_town, intersections])
def test_every_pair_that_tells_is_named(way, tmp_path):
    """Who withdraws one of two publications that tell the same with a third must see that the other is left."""
    table, (first, second) = way(2, tmp_path)
    again = Publication("again", second.published, second.recoding, second.least, second.parts)
    found = joined([first, second, again], table)["findings"]
    people = {frozenset(one["publications"]): one["people"] for one in found}
    assert people[frozenset({first.name, second.name})] == people[frozenset({first.name, "again"})] > 0


def test_few_of_twenty_independent_pairs_alarm(tmp_path):
    alarms = []
    for seed in range(20):
        frame, other = people(seed), people(seed + 100)
        table, home = read(frame), tmp_path / str(seed)
        home.mkdir()
        whole = frame.filter(pl.col("town") != "S3x")
        if seed % 4 == 0:
            pair = [counts(frame, [], table, home / "a.csv"), counts(other, [], table, home / "b.csv")]
        elif seed % 4 == 1:
            table = read(whole)
            pair = [counts(whole, ["sex"], table, home / "a.csv"), counts(whole, ["age"], table, home / "b.csv")]
        elif seed % 4 == 2:
            pair = [release(one, ["town", "sex"], home / name) for one, name in ((frame, "a"), (other, "b"))]
        else:
            pair = [release(frame, ["age", "sex"], home / "a"), counts(whole, ["town"], table, home / "b.csv")]
        alarms += joined(pair, table)["findings"][:1]
    assert len(alarms) <= 1, alarms


def test_a_difference_is_that_of_arithmetic(tmp_path):
    """The naive twin counts, for each town that is left out, who is left of the total."""
    table, both = less_a_town(4, tmp_path)
    frame = table.frame
    left = Counter(frame["ill"]) - Counter(frame.filter(pl.col("town") != "S3x")["ill"])
    assert sum(left.values()) == 2
    found = joined(both, table)["findings"]
    assert [(one["way"], one["people"]) for one in found] == [("difference", 2)]
    larger = pl.concat([frame, frame.filter(pl.col("town") == "S3x"), frame.filter(pl.col("town") == "S3x")])
    larger = larger.with_columns(
        pl.when(pl.col("town") == "S3x").then(pl.Series(ILLS[:3] * 82)[: larger.height]).otherwise("ill").alias("ill")
    )
    if larger.filter(pl.col("town") == "S3x")["ill"].n_unique() > 1:
        again = read(larger)
        both = [
            counts(larger, [], again, tmp_path / "c.csv"),
            counts(larger, ["town"], again, tmp_path / "d.csv", but="S3x"),
        ]
        assert joined(both, again)["findings"] == [], "six people who are not all alike are no finding"


def test_what_cannot_be_joined_is_named(tmp_path):
    table = read(people(1))
    swapped = publication_of(
        sf.anonymize(table, anonymizer=sf.Swapping(), seed=1).save(tmp_path / "swapped"), "swapped"
    )
    found = joined([swapped, counts(table.frame, ["sex"], table, tmp_path / "a.csv")], table)
    assert "says nothing certain" in found["unjoined"]["swapped"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs entries"),
        ("[[published]]\n", "needs entries"),
        ('[[published]]\ntable = "no.csv"\n[[published]]\nrelease = "none"\n', r"no\.csv.*none"),
        ('[[published]]\ntable = "odd.csv"\n', r"no column of the data set: 1 \(by number\)"),
        ('[[published]]\ntable = "bare.csv"\n', r"1, 2, 3 \(by number\)"),
        ('[[published]]\ntable = "text.csv"\n', "must hold whole numbers"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused_with_all_that_is_wrong(text, message, tmp_path):
    (tmp_path / "odd.csv").write_text("shoe,ill,count\n40,flu,3\n")
    (tmp_path / "bare.csv").write_text("f,flu,3\nm,cough,4\n")
    (tmp_path / "text.csv").write_text("sex,ill,count\nf,flu,many\n")
    (tmp_path / "list.toml").write_text(text)
    with pytest.raises(sf.InputError, match=rf"(?s){message}") as caught:
        read_publications(tmp_path / "list.toml", read(people(1)))
    assert "flu" not in str(caught.value), "a name may be a cell"


def test_the_evidence_joins_the_release_with_all_that_was_published(tmp_path):
    table, (_, towns) = less_a_town(1, tmp_path)
    schema = sf.Schema(quasi_identifying={"town": sf.prefixes(2, 1)}, sensitive=["ill"], others="drop")
    table = sf.read_table(table.frame, schema)
    (tmp_path / "published.toml").write_text('[[published]]\ntable = "towns.csv"\n')
    made = sf.report(tmp_path / "release", table, earlier=[tmp_path / "published.toml"], attacks=False, seed=1)
    content = made.to_dict()
    assert content["together"]["published"] == ["this release", towns.name]
    (sentence,) = [one["sentence"] for one in content["together"]["findings"]]
    assert sentence in str(made)
    assert sentence in made.html()
    assert sentence in made.short_html()
    assert content["doubts"]
    assert sentence not in made.html("public")
    answers = {one["question"]: one for standard in content["standards"] for one in standard["questions"]}
    assert sentence in answers["iso-27559 9.2.4"]["answer"]
    with pytest.raises(sf.InputError, match="only with the original"):
        sf.report(tmp_path / "release", earlier=[tmp_path / "published.toml"], attacks=False)


def hidden_beside_totals(seed: int, home: Path) -> tuple[sf.Table, list[Publication], int]:
    """A table of town and illness with totals of towns or of illnesses; one cell is hidden, in one of four ways."""
    frame, drawn = people(seed + 1000, 300), np.random.default_rng(seed)
    table = read(frame)
    cells = frame.group_by("town", "ill").len("count").sort("town", "ill")
    place = int(drawn.integers(cells.height))
    mark = ["", "*", f"<{cells['count'][place] + 3}", "x"][seed % 4]
    counts_ = [mark if row == place else str(one) for row, one in enumerate(cells["count"])]
    body = cells.with_columns(pl.Series("count", counts_))
    of_towns = frame.group_by("town").len("count").with_columns(pl.lit("total").alias("ill"), pl.col("count").cast(str))
    of_ills = frame.group_by("ill").len("count").with_columns(pl.lit("Total").alias("town"), pl.col("count").cast(str))
    margin = of_towns if seed % 2 else of_ills
    pl.concat([body, margin.select(body.columns)]).write_csv(home / "table.csv")
    return table, [table_of_counts(home / "table.csv", table)], int(cells["count"][place])


@pytest.mark.parametrize("seed", range(20))
def test_a_hidden_cell_beside_a_total_is_found(seed, tmp_path):
    table, publications, count = hidden_beside_totals(seed, tmp_path)
    (found,) = [one for one in joined(publications, table)["findings"] if one["way"] == "hidden"]
    assert (found["people"], found["publications"]) == (count, ["table.csv"])
    assert len(found["sentence"].split()) <= 20


@pytest.mark.parametrize("seed", range(8))
def test_hidden_cells_that_protect_each_other_are_not_found(seed, tmp_path):
    """Four cells on the corners of a square, none of them zero: each may be one more or one less."""
    frame = people(seed + 2000, 600)[2:]
    table = read(frame)
    cells = frame.group_by("town", "ill").len("count").sort("town", "ill")
    square = pl.col("town").is_in(["N1x", "S1x"]) & pl.col("ill").is_in(["flu", "burn"])
    body = cells.with_columns(pl.when(square).then(pl.lit("*")).otherwise(pl.col("count").cast(str)).alias("count"))
    margins = [
        frame.group_by(one).len("count").with_columns(pl.lit("total").alias(other), pl.col("count").cast(str))
        for one, other in (("town", "ill"), ("ill", "town"))
    ]
    pl.concat([body, *(one.select(body.columns) for one in margins)]).write_csv(tmp_path / "table.csv")
    publication = table_of_counts(tmp_path / "table.csv", table)
    assert joined([publication], table)["findings"] == []
    # A second table, of one of the two towns, opens all four.
    cells.filter(pl.col("town") == "N1x").write_csv(tmp_path / "one.csv")
    both = [publication, table_of_counts(tmp_path / "one.csv", table)]
    assert [(one["way"], one["people"]) for one in joined(both, table)["findings"] if one["way"] == "hidden"] == [
        ("hidden", int(cells.filter(square)["count"].sum()))
    ]


def three_differences(seed: int, home: Path) -> tuple[sf.Table, list[Publication]]:
    """A total, some towns in one table and the others in a second; a town of two people stands in neither."""
    frame = people(seed + 3000)
    table = read(frame)
    some = pl.col("town").is_in(["N1x", "N2x", "N3x"][: 1 + seed % 3])
    names = ["town"] if seed % 2 else ["town", "sex"]
    return table, [
        totals(frame, table, home),
        counts(frame.filter(some), names, table, home / "some.csv"),
        counts(frame.filter(~some), names, table, home / "others.csv", but="S3x"),
    ]


def three_intersections(seed: int, home: Path) -> tuple[sf.Table, list[Publication]]:
    """Of three values that are possible by age, town and sex, every two leave two, and all leave one."""
    drawn = np.random.default_rng(seed)
    age, town, sex = int(drawn.integers(2, 6)) * 10, ["N1x", "S2x"][seed % 2], "fm"[seed % 2]
    other = {"age": 70, "town": "N9x", "sex": "mf"[seed % 2]}
    rows = [(age, town, sex, "flu")]
    for ill, own in (("cough", {"age", "town"}), ("rash", {"age", "sex"}), ("burn", {"town", "sex"})):
        # Somebody with this illness shares two of the three values, and so it stays open in these two tables.
        for _ in range(3):
            row = {"age": age, "town": town, "sex": sex}
            row |= {name: other[name] for name in row if name not in own}
            rows.append((row["age"], row["town"], row["sex"], ill))
    rows += [(70, "N9x", "mf"[seed % 2], ill) for ill in ("flu", "cough", "rash", "burn") for _ in range(3)]
    rows += [(age, "N9x", "mf"[seed % 2], "flu"), (70, town, "mf"[seed % 2], "flu"), (70, "N9x", sex, "flu")]
    frame = pl.DataFrame(rows, schema=["age", "town", "sex", "ill"], orient="row").sample(
        fraction=1, shuffle=True, seed=seed
    )
    table = read(frame)
    return table, [counts(frame, [name], table, home / f"{name}.csv") for name in ("age", "town", "sex")]


@pytest.mark.parametrize(
    ("way", "seed"), [(way, seed) for way in (three_differences, three_intersections) for seed in range(10)]
)
def test_three_that_are_safe_two_by_two_are_found(way, seed, tmp_path):
    table, three = way(seed, tmp_path)
    found = joined(three, table)["findings"]
    assert found
    assert {len(one["publications"]) for one in found} == {3}
    for some in combinations(three, 2):
        assert joined(some, table)["findings"] == [], [one.name for one in some]


def test_few_of_twenty_independent_threes_alarm(tmp_path):
    """Tables of three populations, or three tables of one whose cells are large."""
    alarms = []
    for seed in range(20):
        home = tmp_path / str(seed)
        home.mkdir()
        frame = people(seed + 4000, 2400)[2:]
        table = read(frame)
        others = [people(seed + 5000 + more, 2400)[2:] for more in (0, 100)]
        frames = [frame, *others] if seed % 2 else [frame] * 3
        three = [
            counts(one, [name], table, home / f"{name}.csv")
            for one, name in zip(frames, ("age", "town", "sex"), strict=True)
        ]
        alarms += joined(three, table)["findings"][:1]
    assert len(alarms) <= 1, alarms


def test_bounds_hold_what_brute_force_finds(tmp_path):
    """Every table of counts that agrees with what is published lies within the bounds."""
    for seed in range(30):
        frame = people(seed + 6000, 7).with_columns(
            pl.col("ill").replace({"rash": "flu", "ulcer": "flu", "burn": "cough"})
        )
        table = read(frame)
        both = [counts(frame, [name], table, tmp_path / f"{name}.csv") for name in ("sex", "town")]
        groups = [group for one in both for group in _Told.of(one, table, "ill").groups]
        patterns, (low, high) = _patterns(groups), _bounds(groups, is_known=True)[-1]
        values = list(dict.fromkeys(value for one in groups for value in one.values))
        published = [Counter(zip(frame[name], frame["ill"], strict=True)) for name in ("sex", "town")]
        for ills in product(values, repeat=frame.height):
            if all(
                Counter(zip(frame[name], ills, strict=True)) == one
                for name, one in zip(("sex", "town"), published, strict=True)
            ):
                for value, ill in enumerate(values):
                    number = np.bincount(patterns[np.array(ills) == ill], minlength=len(low))
                    assert (low[:, value] <= number).all()
                    assert (number <= high[:, value]).all()


@pytest.mark.parametrize("seed", range(3))
def test_where_people_have_several_records_people_are_counted(seed, tmp_path):
    """Each record twice, both of one person: as many people as when everybody has one, and as many findings."""
    frame = people(seed).with_columns(pl.int_range(pl.len()).alias("who"))
    twice = pl.concat([frame, frame])
    roles = {"quasi_identifying": SCHEMA.quasi_identifying, "sensitive": ["ill"], "others": "drop"}
    found = []
    for some, schema, name in (
        (frame, sf.Schema(**roles), "once"),
        (twice, sf.Schema(**roles, person="who"), "twice"),
    ):
        home = tmp_path / name
        home.mkdir()
        table = sf.read_table(some, schema)
        parts = [
            counts(some, ["town"], table, home / "towns.csv", but="S3x"),
            counts(some.with_columns(town=pl.lit("x")), [], table, home / "all.csv"),
        ]
        told = joined(parts, table)
        assert not told["unjoined"]
        found.append([(one["way"], one["people"]) for one in told["findings"]])
    once, doubled = found
    assert [way for way, _ in once] == [way for way, _ in doubled]
    assert dict(once).get("difference") == dict(doubled).get("difference")


def test_a_group_of_many_records_and_few_people_stands_apart():
    """Five records of two people are left over: enough records, and too few people."""
    whole = np.array([0] * 9)
    inner = np.array([0] * 4 + [-1] * 5)
    outer = _Groups(whole, ("a", "b"), np.array([[5, 4]]), np.array([[5, 4]]), np.array([9]))
    part = _Groups(inner, ("a", "b"), np.array([[2, 2]]), np.array([[2, 2]]), np.array([4]))
    who = np.array([0, 1, 2, 3, 8, 8, 8, 9, 9])
    assert not _left_over(outer, [[part]], 3, None).any()
    assert _left_over(outer, [[part]], 3, who).tolist() == [False] * 4 + [True] * 5
