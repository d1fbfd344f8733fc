"""Estimated answers of every kind of release, held against plain twins and worked examples."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from examples import seeds
from naive import queries as naive
from sfumato.classes.partition import Form
from sfumato.errors import InputError, PolicyError
from sfumato.evaluation.utility.answers import estimated_answers, exact_answers
from sfumato.evaluation.utility.queries import Among, Predicate, Query, Range, Workload
from sfumato.published import BucketizedTables, MarginalTables, Published, PublishedTable, RandomizedTable, SlicedTable
from sfumato.published.apart import labels_of
from sfumato.recoding import Recoding

ROWS = [
    (22, "M", "47906", "dyspepsia"),
    (22, "F", "47906", "flu"),
    (33, "F", "47905", "flu"),
    (52, "F", "47905", "bronchitis"),
    (54, "M", "47302", "flu"),
    (60, "M", "47302", "dyspepsia"),
    (60, "M", "47304", "dyspepsia"),
    (64, "F", "47304", "gastritis"),
]
NAMES = ("age", "sex", "zip", "disease")
CATEGORY = sf.Attribute(kind="categorical")  # type: ignore[arg-type]


def table_of(rows: list[tuple[Any, ...]], *, hierarchy: bool = False) -> sf.Table:
    zip_code = sf.Attribute(kind="categorical", hierarchy=sf.prefixes(3, 2, 0)) if hierarchy else CATEGORY  # type: ignore[arg-type]
    schema = sf.Schema(quasi_identifying={"age": None, "sex": None, "zip": zip_code}, sensitive=["disease"])
    return sf.read_table(pl.DataFrame(rows, schema=NAMES, orient="row"), schema)


TABLE = table_of(ROWS)
RECORDS = [dict(zip(NAMES, row, strict=True)) for row in ROWS]


def people(count: int, seed: int, missing: float = 0.1) -> list[tuple[Any, ...]]:
    draw = random.Random(seed)
    return [
        (
            None if draw.random() < missing else draw.randint(20, 40),
            draw.choice(["F", "M"]),
            None if draw.random() < missing else draw.choice(["10115", "10117", "10245", "20095", "20097"]),
            draw.choice(["flu", "asthma", "angina", "gastritis"]),
        )
        for _ in range(count)
    ]


def random_query(
    rows: list[tuple[Any, ...]], draw: random.Random
) -> tuple[Query, dict[str, naive.Condition], str | None]:
    where: list[Predicate] = []
    plain: dict[str, naive.Condition] = {}
    for place, name in enumerate(NAMES):
        if draw.random() < 0.4:
            continue
        values = sorted({row[place] for row in rows if row[place] is not None})
        if name == "age":
            low, high = sorted(draw.choices(range(18, 43), k=2))
            where.append(Range(name, low, high))
            plain[name] = (low, high)
        else:
            chosen = draw.sample(values, draw.randint(1, len(values)))
            where.append(Among(name, tuple(chosen)))
            plain[name] = frozenset(chosen)
    of = draw.choice([None, "age"])
    return Query(tuple(where), "count" if of is None else "sum", of), plain, of


def answer(published: Published, query: Query, table: sf.Table = TABLE, **options: Any) -> float:
    return float(estimated_answers(Workload((query,)), published, table, **options)[0])


@pytest.mark.parametrize("seed", seeds(40))
@pytest.mark.parametrize("aggregate", ["count", "sum", "average"])
def test_the_original_answers_exactly(seed, aggregate):
    rows = people(60, seed)
    query, plain, _ = random_query(rows, random.Random(seed))
    of = None if aggregate == "count" else "age"
    records = [dict(zip(NAMES, row, strict=True)) for row in rows]
    found = exact_answers(Workload((Query(query.where, aggregate, of),)), table_of(rows, hierarchy=seed % 2 == 0))
    assert found[0] == pytest.approx(naive.exact(records, plain, aggregate, of), nan_ok=True)


def nodes_of(rows: list[tuple[Any, ...]]) -> dict[str, list[str]]:
    leaves = sorted({row[2] for row in rows if row[2] is not None})
    found: dict[str, list[str]] = {}
    for leaf in leaves:
        for length, stars in ((3, 2), (2, 3)):
            found.setdefault(leaf[:length] + "*" * stars, []).append(leaf)
    return found


def meanings(rows: list[tuple[Any, ...]], hierarchy: bool) -> dict[str, Any]:
    columns = dict(zip(NAMES, zip(*rows, strict=True), strict=True))
    distinct = {name: list(dict.fromkeys(values)) for name, values in columns.items()}
    nodes = nodes_of(rows) if hierarchy else {}
    found: dict[str, Any] = {
        name: partial(naive.possible_values, domain=distinct[name], nodes=nodes if name == "zip" else {})
        for name in ("sex", "zip", "disease")
    }
    return found | {"age": partial(naive.whole_numbers, domain=distinct["age"], nodes={})}


@pytest.mark.parametrize("hierarchy", [False, True])
@pytest.mark.parametrize("seed", seeds(12))
def test_generalized_records_are_spread_evenly(seed, hierarchy):
    rows = people(80, seed, missing=0.02)
    table = table_of(rows, hierarchy=hierarchy)
    release = sf.anonymize(table, [sf.KAnonymity(5)], seed=seed)
    published = PublishedTable(release.data, ("age", "sex", "zip"), ("disease",))
    texts = release.data.select(pl.all().cast(pl.String)).to_dicts()
    draw = random.Random(seed)
    for _ in range(10):
        query, plain, of = random_query(rows, draw)
        expected = naive.from_values(texts, meanings(rows, hierarchy), plain, of)
        assert answer(published, query, table) == pytest.approx(expected)


def test_an_average_is_a_sum_over_a_count():
    published = PublishedTable(
        pl.DataFrame({"age": ["[20..29]", "[20..29]", "40"], "sex": ["F", "F", "M"], "zip": "*", "disease": "flu"}),
        ("age", "sex", "zip"),
        ("disease",),
    )
    table = table_of([(20, "F", "1", "flu"), (29, "F", "2", "flu"), (40, "M", "1", "flu")])
    where = (Range("age", 25, 60),)
    assert answer(published, Query(where), table) == pytest.approx(2 * 0.5 + 1)
    assert answer(published, Query(where, "sum", "age"), table) == pytest.approx(2 * 0.5 * 27 + 40)
    assert answer(published, Query(where, "average", "age"), table) == pytest.approx(67 / 2)
    assert np.isnan(answer(published, Query((Range("age", 50, 60),), "average", "age"), table))


@pytest.mark.parametrize("seed", range(5))
def test_real_numbers_are_spread_over_the_length(seed):
    draw = random.Random(seed)
    numbers = sorted(round(draw.uniform(0, 10), 3) for _ in range(12))
    schema = sf.Schema(quasi_identifying=["weight"], sensitive=["disease"])
    table = sf.read_table(pl.DataFrame({"weight": numbers, "disease": ["flu", "cold"] * 6}), schema)
    labels = [f"[{numbers[0]}..{numbers[4]}]"] * 5 + [f"[{numbers[5]}..{numbers[9]}]"] * 5 + [str(numbers[10]), "*"]
    published = PublishedTable(pl.DataFrame({"weight": labels, "disease": "flu"}), ("weight",), ("disease",))
    for _ in range(10):
        low, high = sorted(draw.uniform(-1, 11) for _ in range(2))
        expected = sum(naive.continuous_share(label, numbers, (low, high)) for label in labels)
        assert answer(published, Query((Range("weight", low, high),)), table) == pytest.approx(expected)


def test_means_are_points():
    published = PublishedTable(
        pl.DataFrame({"age": ["27.5"] * 4 + ["*"], "sex": "F", "zip": "47906", "disease": "flu"}),
        ("age", "sex", "zip"),
        ("disease",),
    )
    recoding = Recoding(numeric=Form.MEAN)
    assert answer(published, Query((Range("age", 27, 28),)), recoding=recoding) == pytest.approx(4 + 1 / 42)
    assert answer(published, Query((Range("age", 28, 70),)), recoding=recoding) == pytest.approx(36 / 42)


def test_a_declared_domain_is_what_a_star_stands_for():
    schema = sf.Schema(
        quasi_identifying={
            "age": sf.Attribute(domain=(0, 99)),
            "town": sf.Attribute(domain=("bonn", "kiel", "ulm", "jena")),
        },
        sensitive=["disease"],
    )
    frame = pl.DataFrame({"age": [20, 30], "town": ["ulm", "kiel"], "disease": ["flu", "cold"]})
    table = sf.read_table(frame, schema)
    starred = PublishedTable(frame.with_columns(age=pl.lit("*"), town=pl.lit("*")), ("age", "town"), ("disease",))
    assert answer(starred, Query((Range("age", 10, 19),)), table) == pytest.approx(2 * 0.1)
    assert answer(starred, Query((Among("town", ("ulm", "bonn")),)), table) == pytest.approx(2 * 0.25)


@pytest.mark.parametrize("seed", seeds(10))
def test_bucketized_tables_answer_by_the_shares_of_buckets(seed):
    rows = people(40, seed)
    draw = random.Random(seed)
    bucket = [draw.randint(0, 6) for _ in rows]
    quasi = pl.DataFrame([row[:3] for row in rows], schema=NAMES[:3], orient="row").with_columns(
        bucket=pl.Series(bucket)
    )
    tally = Counter((number, row[3]) for number, row in zip(bucket, rows, strict=True))
    triples = sorted((number, value, count) for (number, value), count in tally.items())
    counts = pl.DataFrame(triples, schema=["bucket", "disease", "count"], orient="row")
    published = BucketizedTables(quasi, counts, NAMES[:3], "disease")
    records = [(number, dict(zip(NAMES, row, strict=True))) for number, row in zip(bucket, rows, strict=True)]
    for _ in range(10):
        query, plain, _ = random_query(rows, draw)
        expected = naive.anatomy(records, triples, plain, "disease")
        assert answer(published, Query(query.where), table_of(rows)) == pytest.approx(expected)


def slice_up(
    rows: list[tuple[Any, ...]], bucket: list[int], columns: tuple[tuple[str, ...], ...], seed: int
) -> SlicedTable:
    """Permute every column inside its bucket."""
    draw = random.Random(seed)
    frame = pl.DataFrame(rows, schema=NAMES, orient="row").with_columns(bucket=pl.Series(bucket)).sort("bucket")
    data = frame.select("bucket")
    for column, labels in zip(columns, labels_of(columns), strict=True):
        order = [draw.random() for _ in rows]
        part = frame.with_columns(order=pl.Series(order)).sort("bucket", "order").select(column)
        data = data.with_columns(**{label: part[name] for label, name in zip(labels, column, strict=True)})
    return SlicedTable(data, columns, ("disease",))


def column_rows(published: SlicedTable) -> list[list[list[dict[str, Any]]]]:
    buckets = published.data.partition_by("bucket", maintain_order=True)
    pairs = list(zip(published.columns, labels_of(published.columns), strict=True))
    return [
        [[dict(zip(column, row, strict=True)) for row in bucket.select(labels).rows()] for column, labels in pairs]
        for bucket in buckets
    ]


def test_the_worked_slices():
    sliced = slice_up(ROWS, [0] * 4 + [1] * 4, (("age", "sex"), ("zip", "disease")), 1)
    first = (Range("age", 22, 22), Among("sex", ("M",)), Among("zip", ("47906",)))
    # f(t1, B1) = 1/4 · 2/4 of four records, and half of them with either disease.
    assert answer(sliced, Query(first)) == pytest.approx(4 * 0.125)
    assert answer(sliced, Query((*first, Among("disease", ("flu",))))) == pytest.approx(4 * 0.0625)
    sixth = (Range("age", 60, 60), Among("sex", ("M",)), Among("zip", ("47302",)))
    assert answer(sliced, Query(sixth)) == pytest.approx(4 * 0.25)


COLUMNS = [
    (("age", "sex"), ("zip", "disease")),
    (("age",), ("sex",), ("zip", "disease")),
    (("age", "sex"), ("age", "zip"), ("disease",)),
    (("age", "sex"), ("sex", "zip"), ("zip", "disease")),
    (("age", "sex", "zip"), ("age", "zip", "disease")),
    (("age", "sex", "disease"), ("zip", "disease")),
]


@pytest.mark.parametrize("columns", COLUMNS, ids=lambda columns: "|".join("-".join(each) for each in columns))
@pytest.mark.parametrize("seed", range(4))
def test_sliced_tables_answer_by_the_matching_rule(seed, columns):
    rows = people(40, seed)
    draw = random.Random(seed)
    published = slice_up(rows, [draw.randint(0, 4) for _ in rows], columns, seed)
    apart = column_rows(published)
    for _ in range(8):
        query, plain, of = random_query(rows, draw)
        expected = naive.sliced(apart, plain, of)
        assert answer(published, query, table_of(rows)) == pytest.approx(expected)


def marginals_of(rows: list[tuple[Any, ...]], columns: tuple[tuple[str, ...], ...]) -> MarginalTables:
    frame = pl.DataFrame(rows, schema=NAMES, orient="row")
    tables = tuple(frame.group_by(column).len("count").sort(column) for column in columns)
    return MarginalTables(tables, columns, ("disease",))


def test_a_marginal_that_has_all_attributes_answers_exactly():
    rows = people(60, 3)
    published = marginals_of(rows, (("age", "sex", "disease"), ("sex", "zip"), ("age", "zip")))
    where = (Range("age", 25, 33), Among("sex", ("F",)), Among("disease", ("flu",)))
    exact = exact_answers(Workload((Query(where),)), table_of(rows))[0]
    assert answer(published, Query(where), table_of(rows)) == pytest.approx(exact)


@pytest.mark.parametrize(
    "columns",
    [
        (("age", "sex"), ("sex", "zip"), ("zip", "disease")),
        (("sex", "disease"), ("age", "disease"), ("zip", "disease")),
        (("age", "sex", "zip"), ("sex", "zip", "disease")),
        (("age", "sex"), ("zip",), ("disease",)),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_marginals_without_a_cycle_give_the_distribution_of_greatest_entropy(seed, columns):
    draw = random.Random(seed)
    rows = [(draw.randint(20, 23), *row[1:]) for row in people(60, seed, missing=0.0)]
    published = marginals_of(rows, columns)
    domains = {name: sorted({row[place] for row in rows}) for place, name in enumerate(NAMES)}
    plain_marginals = [
        (column, Counter(tuple(row[NAMES.index(name)] for name in column) for row in rows)) for column in columns
    ]
    cells = naive.greatest_entropy(plain_marginals, domains)
    for _ in range(8):
        query, plain, _ = random_query(rows, draw)
        expected = sum(
            weight
            for cell, weight in cells.items()
            if all(naive.satisfies(cell[NAMES.index(name)], condition) for name, condition in plain.items())
        ) * (len(rows) / sum(cells.values()))
        assert answer(published, Query(query.where), table_of(rows)) == pytest.approx(expected, abs=1e-6)


def test_a_combination_that_was_not_published_counts_like_all_others():
    columns = (("sex", "zip"), ("zip", "disease"))
    frame = pl.DataFrame({"sex": ["F", "M"], "zip": ["47906", "47302"], "count": [6, 2]})
    other = pl.DataFrame({"zip": ["47906"] * 2, "disease": ["flu", "dyspepsia"], "count": [4, 2]})
    published = MarginalTables((frame, other), columns, ("disease",))
    assert answer(published, Query((Among("sex", ("M",)), Among("disease", ("flu",))))) == pytest.approx(2 * 4 / 6)


def test_randomized_tables_are_taken_as_they_are():
    frame = pl.DataFrame(ROWS, schema=NAMES, orient="row").with_columns(age=pl.col("age") + 0.25)
    published = RandomizedTable(frame, NAMES[:3], ("disease",))
    assert answer(published, Query((Range("age", 22, 33.25),))) == 3
    assert answer(published, Query((Range("age", 22.3, 40),), "sum", "age")) == pytest.approx(33.25)


@pytest.mark.parametrize("original", ["{a|b}", "*", "\\N", "[1..2]", "x|y"])
def test_original_values_that_look_like_the_notation_are_themselves(original):
    rows = [(20 + place, "F", original if place % 2 else "plain", "flu") for place in range(8)]
    sliced = slice_up(rows, [0] * 8, (("age", "sex"), ("zip", "disease")), 1)
    query = Query((Among("zip", (original,)),))
    assert answer(sliced, query, table_of(rows)) == pytest.approx(4)
    assert answer(marginals_of(rows, (("zip",), ("age",))), query, table_of(rows)) == pytest.approx(4)


def test_cells_that_cannot_be_read_are_counted_without_being_shown():
    frame = pl.DataFrame(
        {"age": ["[1..2]", "x7"], "sex": ["F", "Q"], "zip": ["47906", "47906"], "disease": ["flu", "plague"]}
    )
    published = PublishedTable(frame, NAMES[:3], ("disease",))
    with pytest.raises(InputError) as caught:
        answer(published, Query((Among("sex", ("F",)),)))
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "column 'age'",
        "column 'sex'",
        "column 'disease'",
    ]
    assert "2 published cells" in caught.value.problems[0]
    assert not any(value in str(caught.value) for value in ("x7", "Q", "plague"))


def test_queries_that_do_not_suit_the_table():
    workload = Workload(
        (
            Query((Range("sex", 1, 2), Among("age", ("22",)))),
            Query((Among("town", ("bonn",)),)),
            Query((), "sum", "zip"),
        )
    )
    with pytest.raises(PolicyError) as caught:
        exact_answers(workload, TABLE)
    assert len(caught.value.problems) == 4
    assert not any(value in str(caught.value) for value in ("22", "bonn"))
    with pytest.raises(PolicyError, match="must be a Workload"):
        exact_answers([], TABLE)  # type: ignore[arg-type]


def test_a_column_that_is_not_published():
    published = marginals_of(ROWS, (("age", "sex"), ("sex", "disease")))
    with pytest.raises(InputError, match="'zip' is not published"):
        answer(published, Query((Among("zip", ("47906",)),)))
