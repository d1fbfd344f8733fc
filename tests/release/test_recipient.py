"""What a recipient computes: bounds cover the originals, ends are exact, and every format computes alike."""

from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.release.slopes import slope_bounds
from sfumato.results import Figure, OpenRelease

ROLES = {"identifying": [], "sensitive": ["number", "cost", "ward"]}


def table_of(rng: np.random.Generator) -> pl.DataFrame:
    """Return people with a number each, which the release publishes, so that a test finds them again."""
    height = int(rng.integers(12, 120))
    age = rng.integers(18, 90, height).astype(float)
    weight = np.round(rng.normal(70, 12, height), int(rng.integers(0, 3)))
    gaps = rng.random(height) < rng.choice([0.0, 0.1])
    return pl.DataFrame(
        {
            "age": pl.Series(np.where(gaps, np.nan, age)).fill_nan(None),
            "weight": weight,
            "born": pl.Series(rng.integers(0, 20000, height).astype(np.int32)).cast(pl.Date),
            "sex": rng.choice(["f", "m", "x"], height),
            "number": np.arange(height) + 0.5,
            "cost": np.round(rng.exponential(1000, height), 2) + 3 * age,
            "ward": rng.choice(["a", "b", "c"], height),
        }
    )


MAKERS = (
    *(sf.Mondrian, sf.KMember, sf.MDAV, sf.KMeans, sf.VMDAV),
    *(sf.GlobalMondrian, sf.ValueGeneralization, sf.CellSuppression),
)


def release_of(original: pl.DataFrame, rng: np.random.Generator) -> sf.Release:
    forms = [{}, {"numeric": "mean"}, {"ends": "tight"}, {"forms": {"age": "set"}}, {"forms": {"weight": "mean"}}]
    recoding = sf.Recoding(**forms[rng.integers(5)], suppressed=str(rng.choice(["remove", "star"])))
    hierarchy = {"age": sf.intervals(10, 20) if rng.random() < 0.2 and not recoding.forms else None}
    quasi = {"age": hierarchy["age"], "weight": None, "born": None, "sex": None}
    anonymizer = MAKERS[rng.integers(len(MAKERS))]()
    if anonymizer.__class__ in MAKERS[5:]:  # these decide themselves how values are published
        recoding = sf.Recoding(suppressed=recoding.suppressed)
    return sf.anonymize(
        original,
        sf.KAnonymity(int(rng.integers(2, 5))),
        schema=sf.Schema(quasi_identifying=quasi, **ROLES),
        anonymizer=anonymizer,
        recoding=recoding,
        suppression_limit=float(rng.choice([0.0, 0.2])),
        seed=1,
    )


def covers(figure: Figure, true: object) -> bool:
    return bool(figure.low <= true <= figure.high)  # type: ignore[operator]


def held(opened: OpenRelease, original: pl.DataFrame) -> None:
    """Hold every figure that the release bounds against the original values of the people it is about."""
    people = opened.data.select(pl.col("number").cast(pl.Float64)).join(
        original, on="number", how="left", maintain_order="left"
    )
    for name in ("age", "weight", "born", "cost"):
        column = opened.columns[name]
        known = (np.isfinite(column.low) & np.isfinite(column.high))[column.label_of]
        if not known.any():
            continue
        values = people.filter(pl.Series(known))[name]
        figure = opened.mean(name)
        assert isinstance(figure, Figure)
        assert figure.records == len(values)
        assert not values.has_nulls()
        true = values.to_physical().mean() if name == "born" else values.mean()
        ends = [
            pl.Series([figure.low, figure.high]).to_physical().to_list()
            if name == "born"
            else [figure.low, figure.high]
        ][0]
        assert ends[0] <= true <= ends[1]
        if column.form == "mean":
            continue
        for share in (0.1, 0.5, 1.0):
            place = int(np.ceil(share * len(values) - 1e-9)) - 1
            assert covers(opened.quantile(name, share), values.sort()[max(place, 0)])
        for group in opened.mean(name, by="ward").iter_rows(named=True):
            inside = people.filter(pl.Series(known) & (people["ward"] == group["ward"]))[name]
            assert group["least"] == group["most"] == len(inside)
            assert name == "born" or not len(inside) or group["low"] - 1e-9 <= inside.mean() <= group["high"] + 1e-9
    for row in opened.cross_table("sex", "ward").iter_rows(named=True):
        true = people.filter(pl.col("sex") == row["sex"], pl.col("ward") == row["ward"]).height
        assert row["low"] <= true <= row["high"]
    for row in opened.mean("cost", by="sex").iter_rows(named=True):
        inside = people.filter(pl.col("sex") == row["sex"])["cost"]
        assert row["least"] <= len(inside) <= row["most"]
        assert not len(inside) or row["low"] <= inside.mean() <= row["high"]
    numbers = [
        name for name in ("age", "weight") if opened.columns[name].form != "mean" and opened.columns[name].is_number
    ]
    for name in numbers:
        low, high = sorted(np.random.default_rng(people.height).uniform(15, 95, 2).round(1).tolist())
        if opened.columns[name].is_number:
            assert covers(opened.count({name: (low, high)}), people.filter(pl.col(name).is_between(low, high)).height)
        column = opened.columns[name]
        known = pl.Series((np.isfinite(column.low) & np.isfinite(column.high))[column.label_of])
        some = people.filter(known)
        if some[name].n_unique() < 2 or some.height < 4:
            continue
        slope, intercept = np.polyfit(some[name].to_numpy(), some["cost"].to_numpy(), 1)
        try:
            fitted = opened.regression("cost", [name])
        except sf.InputError:  # every cell has the same middle
            continue
        for true, row in zip((intercept, slope), fitted.iter_rows(named=True), strict=True):
            assert row["low"] <= true <= row["high"]


@pytest.mark.parametrize("seeds", [range(8), range(8, 1000)], ids=["few", "thousand"])
def test_bounds_cover_the_originals_of_the_published_people(seeds: range) -> None:
    made = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        original = table_of(rng)
        try:
            release = release_of(original, rng)
        except sf.SfumatoError:
            continue
        held(sf.open_release(release), original)
        made += 1
    assert made > 0.8 * len(seeds)


def opened_of(rows: list[tuple[str | None, str, float]]) -> OpenRelease:
    data = pl.DataFrame(rows, schema={"age": pl.String, "sex": pl.String, "cost": pl.Float64}, orient="row")
    return OpenRelease(data, ("age", "sex"), ("cost",))


def test_ends_are_those_of_all_possible_tables() -> None:
    """Brute force over both ends of every interval and every member of every set."""
    rng = np.random.default_rng(4)
    for _ in range(40):
        ages = [(low, low + int(rng.integers(0, 30))) for low in rng.integers(20, 60, 5).tolist()]
        sexes = [["f", "m"][: int(rng.integers(1, 3))] for _ in range(5)]
        costs = rng.integers(1, 100, 5).astype(float).tolist()
        rows = [
            (f"[{low}..{high}]" if low < high else str(low), "{f|m}" if len(sex) > 1 else sex[0], cost)
            for (low, high), sex, cost in zip(ages, sexes, costs, strict=True)
        ]
        opened = opened_of(rows)
        tables = [np.array(each) for each in product(*ages)]
        for share in (0.5, 0.9):
            figure = opened.quantile("age", share)
            found = [np.quantile(each, share, method="inverted_cdf") for each in tables]
            assert (figure.low, figure.high) == (min(found), max(found))
        mean = opened.mean("age")
        assert isinstance(mean, Figure)
        assert mean.low == pytest.approx(min(each.mean() for each in tables))
        assert mean.high == pytest.approx(max(each.mean() for each in tables))
        groups = {row["sex"]: row for row in opened.mean("cost", by="sex").iter_rows(named=True)}
        for sex, row in groups.items():
            inside = [np.array(choice) == sex for choice in product(*sexes)]
            means = [float(np.mean(np.array(costs)[rows])) for rows in inside if rows.any()]
            assert (row["low"], row["high"]) == pytest.approx((min(means), max(means)))
            assert (row["least"], row["most"]) == (min(map(sum, inside)), max(map(sum, inside)))
            count = opened.count({"sex": sex})
            assert (count.low, count.high) == (row["least"], row["most"])
        by_range = [
            sum(30 <= age <= 50 for age in each) for each in product(*(range(low, high + 1) for low, high in ages[:2]))
        ]
        count = opened_of(rows[:2]).count({"age": (30, 50)})
        assert (count.low, count.high) == (min(by_range), max(by_range))


def test_no_slope_of_a_possible_table_leaves_its_bounds() -> None:
    rng = np.random.default_rng(0)
    for _ in range(150):
        count, width = int(rng.integers(3, 10)), float(rng.choice([0.5, 5, 20]))
        x = rng.normal(50, 20, count)
        y = rng.normal(0, 1, count) + rng.choice([-0.05, 0, 0.05, 0.5]) * x
        low = np.floor(x / width) * width
        y_low, y_high = (y, y) if rng.random() < 0.5 else (np.floor(y), np.floor(y) + 1)
        (least, most), (flattest, steepest) = slope_bounds(low, low + width, y_low, y_high)
        for corner in range(40):
            drawn = [
                np.where(rng.random(count) < 0.5, *ends)
                if corner % 2
                else ends[0] + (ends[1] - ends[0]) * rng.random(count)
                for ends in ((low, low + width), (y_low, y_high))
            ]
            if np.ptp(drawn[0]):
                slope, intercept = np.polyfit(*drawn, 1)
                assert flattest <= slope + 1e-9
                assert slope <= steepest + 1e-9
                assert least <= intercept + 1e-6
                assert intercept <= most + 1e-6


@pytest.mark.parametrize("format", ["csv", "parquet", "xlsx", "sav", "dta"])
def test_class_means_are_numbers_in_every_format(format: str, tmp_path: Path) -> None:
    """With a ``*`` among them, too: a statistical program leaves that out, as a value that is declared missing."""
    rng = np.random.default_rng(2)
    age = [None if rng.random() < 0.04 else int(value) for value in rng.integers(18, 90, 120)]
    original = pl.DataFrame({"age": age, "height": np.round(rng.normal(170, 9, 120), 1), "ward": ["a", "b"] * 60})
    schema = sf.Schema(quasi_identifying=["age", "height"], sensitive=["ward"])
    release = sf.anonymize(
        original,
        sf.KAnonymity(5),
        schema=schema,
        anonymizer=sf.Mondrian(),
        recoding=sf.Recoding(numeric="mean"),
        seed=1,
    )
    release.save(tmp_path / "release", format=format)
    assert sf.verify(tmp_path / "release").ok
    opened = sf.open_release(tmp_path / "release")
    height = opened.mean("height")
    assert isinstance(height, Figure)
    assert height.estimate == pytest.approx(original["height"].mean(), abs=1e-3)
    assert height.low <= original["height"].mean() <= height.high
    assert height.high - height.low < 0.01
    assert opened.mean("age") == sf.open_release(release).mean("age")
    assert opened.mean("age").unbounded > 0
    with pytest.raises(sf.InputError, match="not bounded"):
        opened.quantile("height")
    with pytest.raises(sf.InputError, match="part of a class"):
        opened.mean("height", by="ward")
    if format in ("sav", "dta"):
        import pyreadstat

        frame, _ = getattr(pyreadstat, f"read_{format}")(
            tmp_path / "release" / f"data.{format}", output_format="polars"
        )
        assert frame["height"].mean() == pytest.approx(height.estimate)
        assert frame["age"].mean() == pytest.approx(opened.mean("age").estimate)
    if format == "parquet":
        assert pl.read_parquet(tmp_path / "release" / "data.parquet")["height"].dtype == pl.Float64


def test_cells_in_other_forms() -> None:
    opened = opened_of([("[20..29]", "f", 1.0), ("35", "{f|m}", 2.0), ("*", "*", 3.0), (None, "m", 4.0)])
    bounds = opened.to_polars(cells="bounds")
    assert bounds.columns == ["age_low", "age_high", "sex", "cost"]
    assert bounds["age_low"].to_list() == [20, 35, None, None]
    assert bounds["age_high"].to_list() == [29, 35, None, None]
    assert opened.to_polars(cells="midpoint")["age"].to_list() == [24.5, 35, None, None]
    assert opened.to_pandas(cells="interval")["age"][0].right == 29
    assert opened.to_polars()["age"].to_list() == ["[20..29]", "35", "*", None]
    drawn = [opened.to_polars(cells="drawn", seed=seed) for seed in range(120)]
    assert drawn[7].equals(opened.to_polars(cells="drawn", seed=7))
    assert {each["age"][0] for each in drawn} == set(range(20, 30))
    assert {each["age"][2] for each in drawn} == {None}
    assert {each["sex"][1] for each in drawn} == {"f", "m"}
    assert {each["sex"][2] for each in drawn} == {None}
    declared = OpenRelease(opened.data, ("age", "sex"), ("cost",), domain={"age": (18, 40), "sex": ["f", "m", "x"]})
    found = [declared.to_polars(cells="drawn", seed=seed) for seed in range(150)]
    assert {each["age"][2] for each in found} == set(range(18, 41))
    assert {each["sex"][2] for each in found} == {
        "f",
        "m",
        "x",
    }
    mean = declared.mean("age")
    assert isinstance(mean, Figure)
    assert (mean.low, mean.high) == pytest.approx(((20 + 35 + 18) / 3, (29 + 35 + 40) / 3))
    count = declared.count({"age": (10, 50)})
    assert (count.low, count.high) == (2, 3), "behind a star the value may be missing"


def test_an_interval_with_an_open_end_is_closed_by_a_declared_domain() -> None:
    data = pl.DataFrame({"age": ["<18", "[18..30)", ">=30", "*"], "sex": ["f"] * 4, "cost": [1.0] * 4})
    settings = {"age": {"hierarchy": {"kind": "intervals"}}}
    opened = OpenRelease(data, ("age", "sex"), ("cost",), settings=settings)
    figure = opened.mean("age")
    assert isinstance(figure, Figure)
    assert (figure.low, figure.high, figure.unbounded) == (pytest.approx(18), pytest.approx(30), 3)
    declared = OpenRelease(data, ("age", "sex"), ("cost",), settings=settings, domain={"age": (0, 110)}).mean("age")
    assert isinstance(declared, Figure)
    assert (declared.low, declared.high) == (pytest.approx(48 / 4), pytest.approx(268 / 4))


def test_what_is_not_bounded_is_refused_in_words(tmp_path: Path) -> None:
    opened = opened_of([("[20..29]", "f", 1.0), ("[30..39]", "m", 2.0), ("[20..29]", "f", 3.0), ("40", "m", 9.0)])
    for call, words in (
        (lambda: opened.mean("agee"), "there is no column 'agee'"),
        (lambda: opened.mean("sex"), "no column of numbers"),
        (lambda: opened.counts("age"), "holds ranges"),
        (lambda: opened.regression("cost", ["age", "cost"]), "explain by one column"),
        (lambda: opened.quantile("age", 0), "share must be"),
        (lambda: opened.to_polars(cells="middle"), "cells must be one of"),  # type: ignore[arg-type]
        (lambda: sf.open_release(tmp_path), "release"),
        (lambda: opened.count({"age": (1, 2, 3)}), "a range is"),
    ):
        with pytest.raises(sf.SfumatoError, match=words):
            call()
    sliced = sf.anonymize(
        pl.DataFrame({"age": list(range(40)), "ward": ["a", "b"] * 20}),
        sf.DistinctLDiversity(2),
        schema=sf.Schema(quasi_identifying=["age"], sensitive=["ward"]),
        anonymizer=sf.Bucketization(),
        seed=1,
    )
    with pytest.raises(sf.InputError, match="no row of it is a record"):
        sf.open_release(sliced)
