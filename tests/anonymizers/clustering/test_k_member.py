"""k-member against its plain twin, the paper's example, and its promises."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
import sfumato.anonymizers.clustering.greedy as module
from anonymizers.clustering.clustering_tables import class_loss, encoded, many_codes, problem, tables
from examples import examples
from naive.k_member import k_member, leftovers
from sfumato.anonymizers.clustering.distinct import DISTANCES, DistinctRecords, collapse_records, neighbours_of
from sfumato.anonymizers.clustering.greedy import KMember, grown_classes
from sfumato.anonymizers.feasibility import feasible
from sfumato.table.encoding import encode


def classes_of(records: DistinctRecords, class_of: np.ndarray, count: int) -> list[dict[int, int]]:
    owners = records.record_of
    return [
        {int(record): int(np.sum(owners[class_of == number] == record)) for record in owners[class_of == number]}
        for number in range(count)
    ]


@pytest.mark.parametrize("measure", DISTANCES)
@pytest.mark.parametrize("seeds", ["furthest", "densest"])
@given(tables(least=2), st.integers(1, 4), st.data())
@examples(40)
def test_it_equals_the_search_through_every_record(seeds, measure, data, k, draw):
    k = min(k, len(data))
    weight = draw.draw(st.sampled_from([1.0, 2.5]))
    (start,) = feasible(problem(encoded(data, weight=weight), sf.KAnonymity(k)))
    records = collapse_records(start, DISTANCES[measure])
    firsts = records.rows[np.concatenate([[0], np.cumsum(records.weights)[:-1]])]
    plain = [data[row] for row in firsts]
    loss = class_loss(data, measure, weight)
    order = np.zeros(0, dtype=np.int64)
    if seeds == "densest":
        order = np.argsort(neighbours_of(records, k - 1, k).reach, kind="stable")
    last = draw.draw(st.integers(0, len(plain) - 1))
    class_of, count = grown_classes(records, order, last)
    classes, left = k_member(plain, records.weights.tolist(), k, loss, seeds=order.tolist(), last=last)
    assert classes_of(records, class_of, count) == classes
    finished, count = records.completed(class_of, count)
    assert classes_of(records, finished, count) == leftovers(plain, classes, left, loss)


@pytest.mark.parametrize("measure", DISTANCES)
def test_many_codes_are_searched_alike(measure):
    data = many_codes(1)
    (start,) = feasible(problem(encoded(data), sf.KAnonymity(3)))
    records = collapse_records(start, DISTANCES[measure])
    plain = [data[row] for row in records.rows]
    class_of, count = grown_classes(records, np.zeros(0, dtype=np.int64), 7)
    classes, _ = k_member(plain, records.weights.tolist(), 3, class_loss(data, measure), seeds=[], last=7)
    assert classes_of(records, class_of, count) == classes


@given(tables(least=2), st.sampled_from(list(DISTANCES)), st.integers(1, 5), st.integers(1, 6))
@examples(60)
def test_neighbours_are_those_of_a_full_search(data, measure, k, size):
    (start,) = feasible(problem(encoded(data), sf.KAnonymity(1)))
    records = collapse_records(start, DISTANCES[measure])
    found = neighbours_of(records, size, k)
    firsts = records.rows[np.concatenate([[0], np.cumsum(records.weights)[:-1]])]
    loss = class_loss(data, measure)
    for place, row in enumerate(firsts):
        far = {other: loss([data[row], data[one]]) for other, one in enumerate(firsts) if other != place}
        ranked = sorted(far, key=lambda other: (far[other], other))[: max(1, min(size, len(firsts) - 1))]
        assert [other for other in found.near[place].tolist() if other >= 0] == ranked
        together = np.cumsum([records.weights[place], *records.weights[ranked]])
        within = [0.0, *(far[other] for other in ranked)]
        needed = int(np.argmax(together >= k)) if together[-1] >= k else len(ranked)
        assert found.reach[place] == pytest.approx(within[needed])


@given(st.lists(st.none() | st.sampled_from([1, 2, 3, 20, 21, 900]), min_size=3, max_size=30), st.floats(0.1, 1))
@examples(40)
def test_places_move_towards_the_share_of_records_below(numbers, ranks):
    known = sorted(number for number in numbers if number is not None)
    (start,) = feasible(
        problem(
            encode(
                sf.read_table(
                    {"n": numbers}, sf.Schema(quasi_identifying={"n": sf.Attribute(kind="numeric", domain=(1, 1000))})
                )
            ),
            sf.KAnonymity(1),
        )
    )
    plain, mixed = (collapse_records(start, DISTANCES["ncp"], share).loss.places for share in (0, ranks))
    below = [sum(other < one for other in known) + known.count(one) / 2 for one in sorted({*known})]
    if len(below) < 2:
        assert mixed.tolist() == plain.tolist()
        return
    wanted = [(one - below[0]) / (below[-1] - below[0]) for one in below] + [np.inf] * (None in numbers)
    assert mixed == pytest.approx(
        [
            here if here == np.inf else (1 - ranks) * here + ranks * there
            for here, there in zip(plain, wanted, strict=True)
        ]
    )
    assert np.all(np.diff(mixed) > 0)


def test_the_example_of_the_paper(monkeypatch):
    frame = pl.DataFrame({"age": [20, 21, 22, 40, 41, 42, 60]})
    table = encode(sf.read_table(frame, sf.Schema(quasi_identifying=["age"])))

    def first_is_twenty(count, seed):
        return np.arange(count)

    monkeypatch.setattr(module, "permutation", first_is_twenty)
    partition = KMember(seeds="furthest", loss="height", refine=0).solve(problem(table, sf.KAnonymity(3)))
    ages = [sorted(frame["age"].gather(np.flatnonzero(partition.class_of == one))) for one in range(partition.count)]
    assert ages == [[40, 41, 42, 60], [20, 21, 22]]


@given(tables(least=4, most=20), st.data())
@examples(60)
def test_the_order_of_the_input_does_not_matter(data, draw):
    """Equal records may change places; what a class is made of may not."""
    secret = draw.draw(st.lists(st.sampled_from("xyz"), min_size=len(data), max_size=len(data)))
    models = [sf.KAnonymity(2), sf.DistinctLDiversity(min(2, len(set(secret))))]
    rows = list(zip(data, secret, strict=True))
    shuffled = draw.draw(st.permutations(rows))
    anonymizer = draw.draw(st.sampled_from([KMember(), KMember(loss="loss", ranks=0.5)]))
    contents = []
    for order, seed in ((rows, 1), (shuffled, 2)):
        table = encoded([row for row, _ in order], [text for _, text in order])
        found = anonymizer.solve(problem(table, *models, seed=seed))
        contents.append(
            sorted(
                sorted(map(repr, (order[row] for row in np.flatnonzero(found.class_of == one))))
                for one in range(found.count)
            )
        )
    assert contents[0] == contents[1]


@pytest.mark.parametrize(
    "options",
    [
        {"seeds": "nearest"},
        {"loss": "area"},
        {"seeds": 3, "loss": None},
        {"refine": -1, "refine_seconds": float("inf"), "block_size": 1},
    ],
)
def test_wrong_options_are_refused(options):
    with pytest.raises(sf.PolicyError) as caught:
        KMember(**options)
    assert len(caught.value.problems) == len(options)


@given(st.integers(1, 3000), st.integers(1, 50))
@examples(10)
def test_equal_records_make_full_classes(height, k):
    k = min(k, height)
    table = encoded([(1.0, "aa", "red")] * height)
    partition = KMember(refine=0).solve(problem(table, sf.KAnonymity(k)))
    assert partition.sizes.min() >= k
    assert partition.count == height // k


@given(tables(least=12, most=40), st.integers(2, 3))
@examples(30)
def test_blocks_are_solved_by_themselves(data, k):
    table = encoded(data)
    in_blocks = KMember(block_size=8, refine=8)
    partition = in_blocks.solve(problem(table, sf.KAnonymity(k), threads=2))
    assert partition.sizes.min() >= k
    again = in_blocks.solve(problem(table, sf.KAnonymity(k), threads=1))
    assert np.array_equal(partition.class_of, again.class_of)


def test_blocks_share_the_time_limit(monkeypatch):
    """Two threads: half of the blocks after one another may take the whole time."""
    table = encoded([(float(place % 7), "aa", "red") for place in range(200)])
    efforts = []

    def remembered(records, classes, effort):
        efforts.append((records.height, effort.seconds))
        return classes, ()

    monkeypatch.setattr(module, "refine_classes", remembered)
    KMember(block_size=20, refine_seconds=10.0).solve(problem(table, sf.KAnonymity(3), threads=2))
    assert len(efforts) > 5
    assert all(seconds == pytest.approx(10.0 * 2 * height / 200) for height, seconds in efforts)
