"""The thesis on similarity-based clustering: SBC beside Mondrian, Datafly and Incognito (its chapter 4).

The experiments come first, then the hierarchies of appendix 7, a synthetic stand-in for the provider's subscribers, and
the frequencies of figures 4-1 and 4-3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.anonymizers.clustering.sbc import SBC
from sfumato.anonymizers.full_domain.incognito import Datafly, Incognito
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.hierarchy import HierarchyTable
from sfumato.numbers import figure, percent
from sfumato.papers.datasets import complete_adult
from sfumato.papers.reproduction import (
    PRINTED,
    Claim,
    Curve,
    Method,
    Panel,
    Reproduction,
    Setting,
    curve_of,
    ends,
    lies_below,
    rises,
    run_all,
)
from sfumato.table.encoding import EncodedTable, encode
from sfumato.table.reading import read_table
from sfumato.table.schema import Attribute, Kind, Schema

_TITLE = "M. R. Sarrafi Aghdam, thesis on similarity-based clustering (2017), chapter 4"
_KS = (2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
_RECORDS = 5000
_ADULT, _ISP = "Adult", "subscribers (synthetic)"
_MEDIAN, _FALLBACK = "mondrian (median)", "mondrian (median+fallback)"
_SBC_LABEL, _DATAFLY, _INCOGNITO = "sbc", "datafly", "incognito"
_OTHERS = (_MEDIAN, _DATAFLY, _INCOGNITO)
"""The methods that the thesis compares with."""

_HIGHEST = 0.2
"""Loss below which the thesis says that SBC stays."""

PRINTED_CLASSES: Mapping[str, Mapping[str, Mapping[int, int]]] = {
    _ADULT: {
        _MEDIAN: {2: 209, 50: 42, 100: 35}, _INCOGNITO: {2: 22, 50: 4, 100: 4}, _DATAFLY: {2: 16, 50: 4, 100: 4},
        _SBC_LABEL: {2: 582, 50: 100, 100: 50},
    },
    _ISP: {
        _MEDIAN: {2: 509, 50: 66, 100: 36}, _INCOGNITO: {2: 49, 50: 4, 100: 4}, _DATAFLY: {2: 14, 50: 8, 100: 8},
        _SBC_LABEL: {2: 2016, 50: 115, 100: 57},
    },
}  # fmt: skip
"""Tables 4-1 and 4-2: number of unique sets of results."""

_NOTES = (
    "mondrian (median) is that of the UTD Anonymization Toolbox, which the thesis used. It is strict, cuts at the "
    "lower median alone, and has widths of regions. mondrian (median+fallback) may also cut below the median. Else an "
    "attribute whose records mostly share one value could not be cut.",
    "Losses are normalized NCP. Mondrian and SBC publish intervals and sets of values, counted over those that occur. "
    "Datafly and Incognito publish nodes of the thesis's hierarchies, counted by their leaves.",
    "Why SBC makes fewer classes than printed at k = 2 is unexplained. The order of the records is not the reason, as "
    "it decides nothing here.",
    "Figure 4-3 is of the stand-in, which was made with the frequencies that the thesis states; it decides nothing.",
    "Seconds are of the processor, encoded table in, classes out, on one thread. The thesis prints no times.",
)


def similarity(setting: Setting) -> Reproduction:
    """Publish Adult and the subscribers with every method at every k, and judge the thesis's claims."""
    count = 500 if setting.quick else _RECORDS
    adult, source = complete_adult(setting.data, count)
    people = subscribers(count if setting.quick else 5750, seed=setting.seed)
    methods = {
        _ADULT: _methods(adult, "native-country", country_tree()),
        _ISP: _methods(people, "location", prefecture_tree()),
    }
    ks = _KS[:3] if setting.quick else _KS
    _warm_up(methods[_ADULT], setting)
    # The slowest come first, so that no thread is left with a long one at the end.
    jobs = [
        partial(_run, data, method, k, setting.seed)
        for place in range(len(methods[_ADULT]))
        for data, each_ in methods.items()
        for method, k in ((each_[place], k) for k in ks)
    ]
    results = run_all(jobs, setting, "similarity")
    counted = pl.concat([frequencies(_ADULT, adult, "native-country"), frequencies(_ISP, people, "location")])
    places = taxonomy()
    frames = {"results": results, "frequencies": counted, "taxonomy": places, PRINTED: printed()}
    on_adult = _claims_on_adult(counted.filter(pl.col("data") == _ADULT), whole=not setting.quick)
    claims = (*claims_of(results), *on_adult, *claims_on_places(places))
    return Reproduction("similarity", _TITLE, (source, _LABEL), frames, claims, tuple(_panels()), _NOTES)


def printed() -> pl.DataFrame:
    """Return what the thesis prints: data, method, k, classes."""
    rows = [
        (data, method, k, classes)
        for data, methods in PRINTED_CLASSES.items()
        for method, counts in methods.items()
        for k, classes in counts.items()
    ]
    return pl.DataFrame(rows, schema=["data", "method", "k", "classes"], orient="row")


def claims_of(results: pl.DataFrame) -> tuple[Claim, ...]:
    """Judge the thesis's claims; `results` has data, method, k, loss, classes."""
    on_adult, on_subscribers = (
        tuple(_claims_on(results.filter(pl.col("data") == data), data)) for data in (_ADULT, _ISP)
    )
    return (*on_adult, *(claim.on_a_stand_in() for claim in on_subscribers))


def _claims_on(results: pl.DataFrame, data: str) -> Iterator[Claim]:
    loss = {method: curve_of(results, "k", "loss", method=method) for method in (*_OTHERS, _SBC_LABEL, _FALLBACK)}
    classes = {method: curve_of(results, "k", "classes", method=method) for method in (*_OTHERS, _SBC_LABEL)}
    own = loss[_SBC_LABEL]
    if not own:
        return
    yield _stays_low(own, data)
    yield Claim.judged(
        f"{data}: SBC loses less than Mondrian, Datafly and Incognito at every k",
        "4.3 and 4.4, figures 4-2 and 4-4",
        lies_below(own, [loss[method] for method in _OTHERS]),
        f"SBC {ends(own)}; " + "; ".join(f"{method} {ends(loss[method])}" for method in _OTHERS if loss[method]),
    )
    yield _not_beaten_by(own, loss[_FALLBACK], data)
    yield Claim.judged(
        f"{data}: the loss of SBC rises with k", "4.3 and 4.4, figures 4-2 and 4-4", rises(own), f"{ends(own)}"
    )
    yield _flat(loss[_MEDIAN], own, data)
    if data == _ADULT:
        yield _dips(loss[_INCOGNITO])
    yield Claim.judged(
        f"{data}: SBC makes more classes than the others",
        "4.5, tables 4-1 and 4-2",
        lies_below(_negative(classes[_SBC_LABEL]), [_negative(classes[method]) for method in _OTHERS]),
        "; ".join(f"{method} {ends(classes[method])}" for method in (_SBC_LABEL, *_OTHERS) if classes[method]),
    )
    yield from _printed_counts(classes, data)


def _stays_low(own: Curve, data: str) -> Claim:
    worst = max(own, key=own.__getitem__)
    return Claim.judged(
        f"{data}: SBC loses less than 20% at every k",
        "4.5",
        own[worst] < _HIGHEST,
        f"the highest loss is {percent(own[worst], 3)}, at k = {figure(worst)}",
    )


def _not_beaten_by(own: Curve, other: Curve, data: str) -> Claim:
    """Judge what the thesis leaves out: its Mondrian could not cut skewed attributes, but another can."""
    worse = sum(own[k] >= other[k] for k in own if k in other)
    return Claim.judged(
        f"{data}: SBC also loses less than a Mondrian that may cut below the median (the thesis says it of Mondrian)",
        "4.3 and 4.4",
        lies_below(own, [other]),
        f"SBC {ends(own)}; {_FALLBACK} {ends(other) if other else '–'}; SBC loses as much or more at {worse} of "
        f"{len(own)} values of k",
    )


def _flat(median: Curve, own: Curve, data: str) -> Claim:
    """Judge flatness: Mondrian's loss must grow by less than a third of itself from the first k to the last."""
    holds = None
    if len(median) > 1:
        first, last = median[min(median)], median[max(median)]
        holds = last - first < first / 3
    return Claim.judged(
        f"{data}: Mondrian's loss hardly changes with k (it grows by less than a third)",
        "4.4, figures 4-2 and 4-4",
        holds,
        f"{ends(median) if median else '–'}, SBC {ends(own)}",
    )


def _dips(incognito: Curve) -> Claim:
    known = 10 in incognito and 20 in incognito
    return Claim.judged(
        f"{_ADULT}: Incognito loses less at k = 20 than at k = 10",
        "4.3, figure 4-2",
        incognito[20] < incognito[10] if known else None,
        f"{percent(incognito[10], 3)} at 10, {percent(incognito[20], 3)} at 20" if known else "not both were run",
    )


def _printed_counts(classes: Mapping[str, Curve], data: str) -> Iterator[Claim]:
    """Compare numbers of classes with the printed ones, one claim for each method."""
    for method, counts in PRINTED_CLASSES[data].items():
        pairs = [(k, classes[method].get(k), count) for k, count in counts.items()]
        sentence = "; ".join(
            f"k = {k}: {figure(ours) if ours is not None else '–'} for {count}" for k, ours, count in pairs
        )
        decided = data == _ADULT and all(ours is not None for _, ours, _ in pairs)
        reason = "" if data == _ADULT else "the provider's table is not public; the stand-in has "
        yield Claim.judged(
            f"{data}: {method} makes as many different sets of values as the thesis prints",
            "tables 4-1 and 4-2",
            all(ours == count for _, ours, count in pairs) if decided else None,
            reason + sentence,
        )


def _negative(curve: Curve) -> Curve:
    return {place: -height for place, height in curve.items()}


def _methods(frame: pl.DataFrame, place: str, tree: HierarchyTable) -> Sequence[Method]:
    """Return the slowest first."""
    names = ["age", "sex", place]
    plain = _encoded(frame, {name: Attribute() for name in names})
    age = Attribute(kind=Kind.NUMERIC, domain=(0, 100))
    cut = _encoded(frame, {"age": age, "sex": _sex_tree(), place: tree})
    climbed = _encoded(frame, {"age": age_tree(), "sex": _sex_tree(), place: tree})
    toolbox = Mondrian(split_rule="median", attribute_choice="widest", widths="region")
    fallback = Mondrian(split_rule="median+fallback", attribute_choice="widest")
    return (
        Method(_SBC_LABEL, SBC(), plain, plain),
        Method(_INCOGNITO, Incognito(selection="classes"), climbed, climbed),
        Method(_DATAFLY, Datafly(allowance="k"), climbed, climbed, suppressible=True),
        Method(_MEDIAN, toolbox, cut, plain, "set"),
        Method(_FALLBACK, fallback, cut, plain, "set"),
    )


def _encoded(frame: pl.DataFrame, columns: Mapping[str, Attribute | HierarchyTable]) -> EncodedTable:
    return encode(read_table(frame.select(list(columns)), Schema(quasi_identifying=dict(columns))))


def _run(data: str, method: Method, k: int, seed: int) -> dict[str, object]:
    return {"data": data, **method.run(k, seed)}


def _warm_up(methods: Sequence[Method], setting: Setting) -> None:
    """Run every method once, so that compiling at first use does not count as its time."""
    for place, method in enumerate(methods):
        setting.progress("similarity: warming up", place, len(methods))
        method.run(100, setting.seed)


def _panels() -> Iterator[Panel]:
    yield from _frequency_panels(_ADULT, "adult", "4-1", "country")
    yield from _frequency_panels(_ISP, "subscribers", "4-3", "prefecture")
    k_axis = "k (records of a class at least)"
    for data, number, short in ((_ADULT, "4-2", "adult"), (_ISP, "4-4", "subscribers")):
        only = {"data": data}
        yield Panel(
            f"loss-{short}", f"Information loss against k, {data} (figure {number})", "results", "k", "loss",
            (k_axis, "information loss (normalized NCP)"), only,
        )  # fmt: skip
        yield Panel(
            f"classes-{short}", f"Different published sets of values against k, {data} (tables 4-1 and 4-2)",
            "results", "k", "classes", (k_axis, "different published sets of values"), only, logarithmic=True,
        )  # fmt: skip
        yield Panel(
            f"seconds-{short}", f"Time against k, {data} (the thesis prints none)", "results", "k", "seconds",
            (k_axis, "time of the processor (s)"), only, logarithmic=True,
        )  # fmt: skip


_SEXES = ("Female", "Male")

# An age on a border belongs to the interval on its right; the last one holds 100.
_AGES = (tuple(range(0, 101, 10)), (0, 20, 50, 70, 100), (0, 50, 100), (0, 100))

# Each line is a node of the lowest level; stars separate the nodes of the level above.
_COUNTRIES = (
    ("United-States", "Outlying-US(Guam-USVI-etc)", "Canada"),
    ("Mexico", "Honduras", "Guatemala", "Nicaragua", "El-Salvador"),
    "*",
    ("Ecuador", "Peru", "Columbia"),
    ("Caribbean", "Puerto-Rico", "Dominican-Republic", "Jamaica", "Cuba", "Haiti", "Trinadad&Tobago"),
    "*",
    ("France", "England", "Ireland", "Scotland", "Holand-Netherlands"),
    ("Italy", "Greece", "Portugal"),
    ("Yugoslavia", "Hungary", "Germany", "Poland"),
    "*",
    ("Philippines", "Thailand", "Cambodia", "Vietnam", "Laos"),
    ("India",),
    ("Japan", "China", "South", "Hong", "Taiwan"),
    ("Iran",),
)

_REGIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "East-Japan": {
        "Hokkaido region": ("Hokkaido",),
        "Tohoku": ("Aomori", "Iwate", "Miyagi", "Akita", "Yamagata", "Fukushima"),
        "Kanto": ("Ibaraki", "Tochigi", "Gunma", "Saitama", "Chiba", "Tokyo", "Kanagawa"),
        "Tokai-Chubu": (
            "Niigata", "Toyama", "Ishikawa", "Fukui", "Yamanashi", "Nagano", "Gifu", "Shizuoka", "Aichi", "Mie",
        ),
    },
    "West-Japan": {
        "Kansai": ("Shiga", "Kyoto", "Osaka", "Hyogo", "Nara", "Wakayama"),
        "Chugoku": ("Tottori", "Shimane", "Okayama", "Hiroshima", "Yamaguchi"),
        "Shikoku": ("Tokushima", "Kagawa", "Ehime", "Kochi"),
        "Kyusyu": ("Fukuoka", "Saga", "Nagasaki", "Kumamoto", "Oita", "Miyazaki", "Kagoshima"),
        "Okinawa region": ("Okinawa",),
    },
}  # fmt: skip
"""The 47 prefectures in the order of their codes, under the nodes and halves of appendix 7.2, which we name."""

_REGIONS_PRINTED = (
    ("Hokkaido-Tohoku", 7), ("Kanto", 7), ("Tokai-Chubu", 10), ("Kansai", 6), ("Chugoku-Shikoku", 9),
    ("Kyusyu-Okinawa", 8),
)  # fmt: skip
"""The regions of the table in appendix 7.3, with how many prefectures each has, in the order of their codes."""

_HALVES_PRINTED = (("East-Japan", 20), ("West-Japan", 27))
"""The halves of the same table; they part Tokai-Chubu."""

PREFECTURES = tuple(name for regions in _REGIONS.values() for names in regions.values() for name in names)


def age_tree() -> HierarchyTable:
    """Group ages 0 to 100 into tens, four intervals, two, one."""
    return HierarchyTable(tuple((str(age), *(_interval(age, ends) for ends in _AGES)) for age in range(101)))


def _sex_tree() -> HierarchyTable:
    """Put both sexes under one root."""
    return HierarchyTable(tuple((sex, "*") for sex in _SEXES))


def country_tree() -> HierarchyTable:
    """Put the 42 countries of Adult under 11 nodes, 4, and one."""
    paths: list[tuple[str, ...]] = []
    part = 0
    for number, line in enumerate(_COUNTRIES):
        if line == "*":
            part += 1
        else:
            paths.extend((country, f"node {number}", f"part {part}", "*") for country in line)
    return HierarchyTable(tuple(paths))


def prefecture_tree() -> HierarchyTable:
    """Put the 47 prefectures under 9 regions, two halves, and one."""
    return HierarchyTable(
        tuple(
            (name, region, half, "*")
            for half, regions in _REGIONS.items()
            for region, names in regions.items()
            for name in names
        )
    )


def _interval(age: int, ends: Sequence[int]) -> str:
    place = next(place for place in range(len(ends) - 1) if age < ends[place + 1] or ends[place + 1] == ends[-1])
    return f"[{ends[place]}:{ends[place + 1]}]"


SUBSCRIBERS = 5750
_YOUNGEST, _OLDEST = 4, 99
_MEN = 0.7

_LABEL = (
    f"subscribers (SYNTHETIC stand-in for the provider's table, which is not public): {SUBSCRIBERS:,} records, ages "
    f"{_YOUNGEST} to {_OLDEST}, {_MEN:.0%} men, {len(PREFECTURES)} prefectures by their number of inhabitants"
)

_THOUSANDS = (
    5382, 1308, 1280, 2334, 1023, 1124, 1914, 2917, 1974, 1973, 7267, 6223, 13515, 9126, 2304, 1066, 1154, 787, 835,
    2099, 2032, 3700, 7483, 1816, 1413, 2610, 8839, 5535, 1364, 964, 573, 694, 1922, 2844, 1405, 756, 976, 1385, 728,
    5102, 833, 1377, 1786, 1166, 1104, 1648, 1434,
)  # fmt: skip
"""Inhabitants of the prefectures, about 2015."""


def subscribers(records: int = SUBSCRIBERS, *, seed: int) -> pl.DataFrame:
    """Make a table with the marginals that the thesis states: ages 4 to 99, mostly men, 47 prefectures, a charge.

    `records`: rows. `seed`: the same seed gives the same table. Returns: age (years), sex, location, charge (yen a
    month).
    """
    drawn = np.random.default_rng(seed)
    people = np.array(_THOUSANDS, dtype=float)
    place = drawn.choice(len(PREFECTURES), records, p=people / people.sum())
    return pl.DataFrame(
        {
            "age": _ages(records, drawn),
            "sex": pl.Series(_SEXES).gather((drawn.random(records) < _MEN).astype(np.int64)),
            "location": pl.Series(PREFECTURES).gather(place),
            "charge": (drawn.lognormal(7.6, 0.6, records) / 50).astype(np.int64) * 50,
        }
    )


def _ages(records: int, drawn: np.random.Generator) -> NDArray[np.int64]:
    """Draw ages: most around 45, a long tail to the old, and the few children that the thesis wonders about."""
    ages = np.clip(drawn.gamma(12.0, 3.9, records), _YOUNGEST, _OLDEST)
    odd = drawn.random(records) < 0.004
    ages[odd] = drawn.uniform(_YOUNGEST, _OLDEST + 1, int(odd.sum()))
    # Both ends always occur, whatever was drawn.
    ends = drawn.permutation(records)[:2]
    ages[ends] = (_YOUNGEST, _OLDEST)[: len(ends)]
    return ages.astype(np.int64)


_ALMOST_DOUBLE = (1.75, 2.25)
"""Ratios that pass for "almost double"."""

_FREQUENT, _LONG_TAIL = 5, 0.8
"""A tail is long where so few values hold so many of the records."""


def frequencies(data: str, frame: pl.DataFrame, place: str) -> pl.DataFrame:
    """Count records by age, sex and place; returns data, attribute, value (text), at (age or rank), records."""
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

    Returns: location, region, half (7.3), node, part (7.2).
    """
    rows = [
        (name, region, half, node, part)
        for (name, region, half), (node, part) in zip(_printed_rows(), _configured(), strict=True)
    ]
    return pl.DataFrame(rows, schema=["location", "region", "half", "node", "part"], orient="row")


def _claims_on_adult(counted: pl.DataFrame, whole: bool) -> Iterator[Claim]:
    """Judge what 4.3 says of Adult's frequencies; `whole` tells whether all records of the thesis are there."""
    ages, sexes, places = (_of(counted, name) for name in ("age", "sex", "place"))
    years = ages["value"].cast(pl.Int64).to_list()
    bounds = min(years), max(years)
    where = "4.3, figure 4-1"
    yield Claim.judged(
        "Adult: ages range from 17 to 90", where, bounds == (17, 90) if whole else None, "{} to {}".format(*bounds)
    )
    yield Claim.judged(
        "Adult: there are 39 countries", where, places.height == 39 if whole else None, f"{places.height} countries"
    )
    counts = dict(zip(sexes["value"], sexes["records"], strict=True))
    ratio = counts.get("Male", 0) / max(1, counts.get("Female", 0))
    yield Claim.judged(
        "Adult: there are almost twice as many men as women",
        where,
        _ALMOST_DOUBLE[0] <= ratio <= _ALMOST_DOUBLE[1],
        f"{ratio:.2f} men for each woman",
    )
    yield Claim.judged(
        "Adult: most are from the United States, and the rest makes a long tail",
        where,
        places["value"][0] == "United-States" and _of_few(places) >= _LONG_TAIL,
        f"the first of {places.height} countries has {percent(_share_of_first(places), 3)}, the first {_FREQUENT} "
        f"{percent(_of_few(places), 3)}",
    )
    yield Claim.judged(
        "Adult: ages make a long tail",
        where,
        _of_few(ages) >= _LONG_TAIL,
        f"the {_FREQUENT} most frequent of {ages.height} ages have {percent(_of_few(ages), 3)}",
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


def _frequency_panels(data: str, short: str, number: str, place: str) -> Iterator[Panel]:
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
    return float(sum(records[:_FREQUENT]) / sum(records))


def _share_of_first(counted: pl.DataFrame) -> float:
    return float(counted["records"][0] / counted["records"].sum())


def _printed_rows() -> Iterator[tuple[str, str, str]]:
    """Yield the table of 7.3, in the order of its codes."""
    regions = [region for region, count in _REGIONS_PRINTED for _ in range(count)]
    halves = [half for half, count in _HALVES_PRINTED for _ in range(count)]
    yield from zip(PREFECTURES, regions, halves, strict=True)


def _configured() -> Iterator[tuple[str, str]]:
    """Yield node and half of each prefecture, as 7.2 gives them."""
    for half, regions in _REGIONS.items():
        for region, names in regions.items():
            yield from ((region, half) for _ in names)
