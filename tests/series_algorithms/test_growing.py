"""Grow: nobody is narrowed down by several releases, in any world that they leave open."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from naive.release_worlds import pair_counts
from sfumato.errors import InputError, PolicyError
from sfumato.kernels import jit
from sfumato.series.grow_moves import GrownClasses, Roster, grow, tight_boxes
from sfumato.series.recount import Boxes, Released, SensitiveValues, recount_pair
from sfumato.table.encoding import encode


@dataclass
class Played:
    """A series that was grown: the table, and each release with the class of everybody."""

    table: object
    value_of: np.ndarray
    grown: list[GrownClasses]
    releases: list[Released]
    classes: np.ndarray


def played(frame, sizes, models, sensitive=("illness",), order=None, step=1):
    """Grow releases of the first so many people of a frame; ranges of codes end at multiples of a step."""
    quasi = [name for name in frame.columns if name not in sensitive]
    whole = encode(sf.read_table(frame, sf.Schema(quasi_identifying=quasi, sensitive=list(sensitive))))
    value_of = whole.sensitive_codes[:, 0].astype(np.int64) if sensitive else np.zeros(len(frame), np.int64)
    codes = np.arange(whole.sensitive[0].cardinality)[:, None] if sensitive else np.zeros((1, 0), np.int64)
    values = SensitiveValues(whole.sensitive, codes)
    classes = np.full((len(frame), len(sizes)), -1, dtype=np.int32)
    came, history = (np.full(len(frame), -1, dtype=np.int64) for _ in range(2))
    grown, releases = [], []
    for number, size in enumerate(sizes):
        rows = np.arange(size) if order is None else order[order < size]
        roster = Roster(whole.take(rows), value_of[rows], values, classes[rows, :number], came[rows], history[rows])
        labels = rounded(roster.table, step) if step > 1 else None
        now = grow(roster, models, releases, grown[-1] if grown else None, labels=labels)
        classes[rows, number], came[rows], history[rows] = now.class_of, now.came, now.history_of
        shown = now.class_of >= 0
        grown.append(now)
        releases.append(Released(now.class_of[shown], value_of[rows][shown], now.boxes))
    return Played(whole, value_of, grown, releases, classes)


def rounded(table, step):
    def labels(class_of, count):
        boxes = tight_boxes(table.attributes, table.codes, class_of, count)
        return Boxes(boxes.low // step * step, boxes.high // step * step + step - 1, boxes.sets)

    return labels


def drawn(draw, people, values=3):
    return pl.DataFrame(
        {
            "age": draw.integers(20, 29, people),
            "sex": draw.choice(["f", "m"], people),
            "illness": [f"i{value}" for value in draw.integers(0, values, people)],
        }
    )


def plain(release):
    """Return a release as the plain twin reads it: rows, and boxes of sets."""
    boxes = []
    for label in range(release.boxes.count):
        ends = zip(release.boxes.low[label], release.boxes.high[label], strict=True)
        box = [set(range(int(low), int(high) + 1)) for low, high in ends]
        for index, members in release.boxes.sets.items():
            box[index] = set(np.flatnonzero(members[label]).tolist())
        boxes.append(box)
    return list(zip(release.class_of.tolist(), release.value_of.tolist(), strict=True)), boxes


def below(series, older, newer, k):
    """Count the people to whom fewer than k rows are left by two releases, over all worlds."""
    both, new = pair_counts(plain(series.releases[older]), plain(series.releases[newer]))
    few = 0
    for before, now in series.classes[:, [older, newer]].tolist():
        if now < 0:
            continue
        if before < 0:
            few += sum(rows for (label, _), rows in new.items() if label == now) < k
        else:
            few += sum(rows for (first, second, _), rows in both.items() if (first, second) == (before, now)) < k
    return few


@pytest.mark.parametrize("number", [60, pytest.param(5000, marks=pytest.mark.slow)])
def test_nobody_is_left_with_fewer_than_k_rows_in_any_world(number):
    draw, mixed, waited = np.random.default_rng(number), 0, 0
    with jit.always("interpreted"):
        for _ in range(number):
            sizes = np.cumsum([int(draw.integers(2, 5)), int(draw.integers(1, 4)), int(draw.integers(1, 4))]).tolist()
            frame = drawn(draw, sizes[-1], int(draw.integers(1, 4)))
            series = played(frame, sizes, [sf.KAnonymity(2)], step=int(draw.integers(1, 4)))
            for newer in range(3):
                assert all(below(series, older, newer, 2) == 0 for older in range(newer))
                waited += (series.grown[newer].class_of < 0).any()
            boxes = series.grown[-1].boxes
            mixed += (boxes.low[:, -1] < boxes.high[:, -1]).any()
    assert mixed > number // 4
    assert waited > number // 12


@pytest.fixture(scope="module")
def frame():
    draw = np.random.default_rng(3)
    age = draw.integers(18, 80, 1200)
    return pl.DataFrame(
        {
            "age": age,
            "sex": draw.choice(["f", "m"], 1200),
            "town": [f"t{town}" for town in draw.integers(0, 12, 1200)],
            "illness": [f"i{value}" for value in (age // 20 + draw.integers(0, 3, 1200)) % 5],
        }
    )


SIZES = [300, 420, 425, 700, 1200]
MODELS = [sf.KAnonymity(5), sf.DistinctLDiversity(2)]


@pytest.fixture(scope="module")
def series(frame):
    return played(frame, SIZES, MODELS)


def test_classes_and_what_is_left_of_them_satisfy_the_models(series):
    for newer, (grown, release) in enumerate(zip(series.grown, series.releases, strict=True)):
        assert np.bincount(release.class_of).min() >= 5
        values = [len(set(release.value_of[release.class_of == label].tolist())) for label in range(grown.count)]
        assert min(values) >= 2
        for older in range(newer):
            found = recount_pair(series.releases[older], release)
            before, now = series.classes[: SIZES[newer], [older, newer]].T
            for first, second in {*zip(before.tolist(), now.tolist(), strict=True)}:
                if second < 0:
                    continue
                if first < 0:
                    left, label = found.new, second
                else:
                    left, label = found.both, int(np.flatnonzero((found.older == first) & (found.newer == second))[0])
                rows = left.rows[left.class_of == label]
                assert rows.sum() >= 5
                assert len(rows) >= 2


def test_releases_become_finer_and_newcomers_join(series, frame):
    first, last = series.grown[0], series.grown[-1]
    assert last.count > 2 * first.count
    months = last.boxes.high[:, -1] - last.boxes.low[:, -1]
    assert (months > 0).sum() > last.count // 3
    # Appending them: 300, 120, 280 and 500 people, each alone.
    bounds = [(0, 300), (300, 420), (425, 700), (700, 1200)]
    batches = [played(frame[start:stop], [stop - start], MODELS) for start, stop in bounds]
    appended = sum(loss(each, each.grown[0]) * len(each.classes) for each in batches) / 1195
    assert loss(series, last) < 0.95 * appended


def loss(series, grown):
    boxes, class_of = grown.boxes, grown.class_of
    total = np.zeros(len(class_of))
    for index, attribute in enumerate(series.table.attributes):
        ranges = boxes.high[:, index] - boxes.low[:, index]
        spread = boxes.sets[index].sum(axis=1) - 1 if index in boxes.sets else ranges
        total += np.where(class_of >= 0, spread[class_of] / attribute.size, 1)
    return total.mean()


def test_newcomers_who_are_too_few_wait(series):
    # Five came with the third release; who was there before is not taken out.
    assert (series.grown[2].class_of[:420] >= 0).all()
    few = played(pl.DataFrame({"age": [1] * 12, "illness": ["a", "b"] * 6}), [8, 10, 12], [sf.KAnonymity(3)])
    assert [(each.class_of < 0).sum() for each in few.grown] == [0, 2, 0]
    assert few.grown[2].came.tolist() == [0] * 8 + [2] * 4


def test_the_order_of_people_decides_nothing(series, frame):
    order = np.random.default_rng(1).permutation(len(frame))
    again = played(frame, SIZES, MODELS, order=order)
    people = [" ".join(map(str, row)) for row in frame.iter_rows()]
    for number, size in enumerate(SIZES):
        # Who are alike may change places.
        first, second = (
            Counter(tuple(sorted(np.array(people)[:size][classes[:size, number] == label])) for label in labels)
            for classes in (series.classes, again.classes)
            for labels in [np.unique(classes[:size, number])]
        )
        assert first == second


def test_folders_suffice_where_nothing_else_is_published(frame):
    series = played(frame.drop("illness"), SIZES, [sf.KAnonymity(5)], sensitive=())
    for newer in range(len(SIZES)):
        for older in range(newer):
            assert recount_pair(series.releases[older], series.releases[newer]).least >= 5


def test_same_compiled(frame):
    seen = []
    for way in ("interpreted", "compiled"):
        with jit.always(way):
            seen.append(played(frame[:260], [100, 160, 260], MODELS).classes)
    assert np.array_equal(*seen)


def test_models_that_mean_nothing_for_a_series_are_refused(frame):
    with pytest.raises(PolicyError, match="t-closeness"):
        played(frame, SIZES[:1], [sf.TCloseness(0.3)])


def test_nobody_may_leave_a_table_that_grows(series):
    now, first = series.grown[0], series.releases[:1]
    rows = np.arange(299)
    values = SensitiveValues(series.table.sensitive, np.arange(series.table.sensitive[0].cardinality)[:, None])
    roster = Roster(
        series.table.take(rows), series.value_of[rows], values, series.classes[rows, :1], now.came[rows],
        now.history_of[rows],
    )  # fmt: skip
    with pytest.raises(InputError, match="1 people are missing"):
        grow(roster, MODELS, first, now)


def test_earlier_releases_that_leave_too_little_are_refused():
    """Two cuts of the same ten people, made independently, with values that tell them apart."""
    people = pl.DataFrame(
        {"age": [1, 2] * 5, "town": [f"t{row // 5}" for row in range(10)], "illness": list("abababcdcd")}
    )
    table = encode(sf.read_table(people, sf.Schema(quasi_identifying=["age", "town"], sensitive=["illness"])))
    value_of = table.sensitive_codes[:, 0].astype(np.int64)
    values = SensitiveValues(table.sensitive, np.arange(table.sensitive[0].cardinality)[:, None])
    none = np.full(10, -1, dtype=np.int64)
    made, releases, classes = None, [], np.zeros((10, 2), dtype=np.int32)
    for number, labels in enumerate([np.arange(10) % 2, np.arange(10) // 5]):
        made = grow(Roster(table, value_of, values, classes[:, :0], none, none), [sf.KAnonymity(5)])
        boxes = tight_boxes(table.attributes, table.codes, labels, 2)
        dated = Boxes(np.column_stack([boxes.low, [0, 0]]), np.column_stack([boxes.high, [0, 0]]), boxes.sets)
        classes[:, number] = labels
        releases.append(Released(labels, value_of, dated))
    assert recount_pair(*releases).least < 5
    roster = Roster(table, value_of, values, classes, np.zeros(10, dtype=np.int64), classes[:, 1].astype(np.int64))
    last = replace(made, count=2, node_of=np.zeros(2, dtype=np.int64), left=releases[1].places)
    with pytest.raises(InputError, match="the earlier releases alone leave somebody less"):
        grow(roster, [sf.KAnonymity(5)], releases, last)


def test_labels_that_do_not_cover_their_people_are_refused(series):
    rows = np.arange(SIZES[1])
    values = SensitiveValues(series.table.sensitive, np.arange(series.table.sensitive[0].cardinality)[:, None])
    now, first = series.grown[0], series.releases[0]
    roster = Roster(
        series.table.take(rows), series.value_of[rows], values, series.classes[rows, :1],
        np.where(rows < SIZES[0], 0, -1), np.where(rows < SIZES[0], series.classes[rows, 0], -1).astype(np.int64),
    )  # fmt: skip
    grow(roster, MODELS, [first], now)
    moved = Boxes(np.roll(first.boxes.low, 1, axis=0), np.roll(first.boxes.high, 1, axis=0), first.boxes.sets)
    with pytest.raises(InputError, match=r"do not (cover|belong)"):
        grow(roster, MODELS, [replace(first, boxes=moved)], now)
