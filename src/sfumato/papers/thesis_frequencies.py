"""Frequencies of the thesis's tables (figures 4-1 and 4-3), and what its appendix says of places (7.2 and 7.3)."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from sfumato.numbers import percent
from sfumato.papers.panels import Panel
from sfumato.papers.reproduction import Claim
from sfumato.papers.thesis_trees import HALVES_PRINTED, PREFECTURES, REGIONS, REGIONS_PRINTED

ALMOST_DOUBLE = (1.75, 2.25)
"""Ratios that pass for "almost double"."""

FREQUENT, LONG_TAIL = 5, 0.8
"""A tail is long where so few values hold so many of the records."""


def frequencies(data: str, frame: pl.DataFrame, place: str) -> pl.DataFrame:
    """Count the records of each value of age, sex and place.

    Returns
    -------
    polars.DataFrame
        data, attribute, value (text), at (the age, or the value's rank by falling frequency), records.
    """
    parts = []
    for name in ("age", "sex", place):
        counted = frame.group_by(pl.col(name).alias("value")).len("records")
        counted = counted.sort(["records", "value"], descending=[True, False]).with_row_index("rank", 1)
        at = pl.col("value") if name == "age" else pl.col("rank")
        parts.append(
            counted.select(
                pl.lit(data).alias("data"),
                pl.lit("place" if name == place else name).alias("attribute"),
                pl.col("value").cast(pl.String),
                at.cast(pl.Int64).alias("at"),
                pl.col("records").cast(pl.Int64),
            )
        )
    return pl.concat(parts)


def taxonomy() -> pl.DataFrame:
    """Set the table of appendix 7.3 beside the tree that its configuration file gives the programs (7.2).

    Returns
    -------
    polars.DataFrame
        location, region, half (7.3), node, part (7.2).
    """
    rows = [
        (name, region, half, node, part)
        for (name, region, half), (node, part) in zip(_printed_rows(), _configured(), strict=True)
    ]
    return pl.DataFrame(rows, schema=["location", "region", "half", "node", "part"], orient="row")


def claims_on_adult(counted: pl.DataFrame, whole: bool) -> Iterator[Claim]:
    """Judge what 4.3 says of Adult's frequencies; `whole` tells whether all records of the thesis are there."""
    ages, sexes, places = (_of(counted, name) for name in ("age", "sex", "place"))
    years = ages["value"].cast(pl.Int64).to_list()
    bounds = min(years), max(years)
    where = "4.3, figure 4-1"
    yield Claim.judged(
        "Adult: ages range from 17 to 90",
        where,
        bounds == (17, 90) if whole else None,
        "{} to {}".format(*bounds),
    )
    yield Claim.judged(
        "Adult: there are 39 countries", where, places.height == 39 if whole else None, f"{places.height} countries"
    )
    told = dict(zip(sexes["value"], sexes["records"], strict=True))
    ratio = told.get("Male", 0) / max(1, told.get("Female", 0))
    yield Claim.judged(
        "Adult: there are almost twice as many men as women",
        where,
        ALMOST_DOUBLE[0] <= ratio <= ALMOST_DOUBLE[1],
        f"{ratio:.2f} men for each woman",
    )
    yield Claim.judged(
        "Adult: most are from the United States, and the rest makes a long tail",
        where,
        places["value"][0] == "United-States" and _of_few(places) >= LONG_TAIL,
        f"the first of {places.height} countries has {percent(_share_of_first(places), 3)}, the first {FREQUENT} "
        f"{percent(_of_few(places), 3)}",
    )
    yield Claim.judged(
        "Adult: ages make a long tail",
        where,
        _of_few(ages) >= LONG_TAIL,
        f"the {FREQUENT} most frequent of {ages.height} ages have {percent(_of_few(ages), 3)}",
    )


def claims_on_places(places: pl.DataFrame) -> Iterator[Claim]:
    """Judge whether the appendix's table is a taxonomy, and that of its configuration file."""
    parents = places.group_by("region").agg(pl.col("half").unique().sort())
    torn = parents.filter(pl.col("half").list.len() > 1)["region"].sort().to_list()
    yield Claim.judged(
        "the example taxonomy of locations is a tree",
        "appendix 7.3",
        not torn,
        f"regions under both halves of Japan: {', '.join(torn) or 'none'}",
    )
    regions = places.group_by("region").agg(pl.col("node").unique().sort())
    nodes = places.group_by("node").agg(pl.col("region").unique())
    same = (regions["node"].list.len() == 1).all() and (nodes["region"].list.len() == 1).all()
    yield Claim.judged(
        "the example taxonomy is the one that the programs were given",
        "appendices 7.2 and 7.3",
        bool(same),
        f"{regions.height} regions in the table, {nodes.height} nodes of prefectures in the configuration; "
        f"{places.filter(pl.col('part') != pl.col('half')).height} prefectures in another half",
    )


def frequency_panels(data: str, short: str, number: str, place: str) -> Iterator[Panel]:
    """Yield the drawings of one figure: ages, and places by rank."""
    records = "records"
    for attribute, across in (("age", "age (years)"), ("place", f"{place}, the most frequent first (rank)")):
        yield Panel(
            f"frequency-{attribute}-{short}", f"Records by {attribute}, {data} (figure {number})", "frequencies",
            "at", "records", (across, records), {"data": data, "attribute": attribute}, curves="data",
            logarithmic=attribute == "place",
        )  # fmt: skip


def _of(counted: pl.DataFrame, attribute: str) -> pl.DataFrame:
    return counted.filter(pl.col("attribute") == attribute).sort(["records", "value"], descending=[True, False])


def _of_few(counted: pl.DataFrame) -> float:
    records = counted["records"].to_list()
    return float(sum(records[:FREQUENT]) / sum(records))


def _share_of_first(counted: pl.DataFrame) -> float:
    return float(counted["records"][0] / counted["records"].sum())


def _printed_rows() -> Iterator[tuple[str, str, str]]:
    """Yield the table of 7.3, in the order of its codes."""
    regions = [region for region, count in REGIONS_PRINTED for _ in range(count)]
    halves = [half for half, count in HALVES_PRINTED for _ in range(count)]
    yield from zip(PREFECTURES, regions, halves, strict=True)


def _configured() -> Iterator[tuple[str, str]]:
    """Yield node and half of each prefecture, as 7.2 gives them."""
    for half, regions in REGIONS.items():
        for region, names in regions.items():
            yield from ((region, half) for _ in names)
