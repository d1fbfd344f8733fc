"""Several releases: pairs and whole histories, against all worlds."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from naive.release_worlds import history_counts
from series_algorithms.recount_several import recount_series
from series_algorithms.small_releases import labelled, released
from sfumato.errors import PolicyError
from sfumato.kernels import jit
from sfumato.series.recount import SensitiveValues, check_models, holds_on
from sfumato.table.encoding import encode


def drawn_series(draw, nested):
    """Return three releases of up to seven people: values of one attribute, and a sensitive value."""
    sizes = np.cumsum([int(draw.integers(1, 4)), int(draw.integers(0, 3)), int(draw.integers(0, 3))])
    people = [((int(draw.integers(0, 8)),), int(draw.integers(0, 3))) for _ in range(sizes[-1])]
    ends = np.sort(draw.integers(1, 8, 3))
    series = []
    for number, size in enumerate(sizes):
        if nested:
            classes = np.searchsorted(ends[: number + 1], [person[0][0] for person in people], side="right").tolist()
        else:
            classes = draw.integers(0, 2, len(people)).tolist()
        series.append(labelled(people[:size], classes[:size], {0}))
    return series


def histories_of(found):
    """Return the most rows left to who came with a release and is in a class of the last one, by value."""
    most = Counter()
    for history, value, rows in zip(found.left.class_of, found.left.value_of, found.left.rows, strict=True):
        key = int(found.came[history]), int(found.class_of[history]), int(value)
        most[key] = max(most[key], int(rows))
    return most


@pytest.mark.parametrize("nested", [True, False])
def test_histories_leave_what_all_worlds_leave(nested):
    draw, exact = np.random.default_rng(3), 0
    with jit.always("interpreted"):
        for _ in range(400):
            series = drawn_series(draw, nested)
            found = recount_series([released(*each) for each in series])
            counted = histories_of(found.histories)
            worlds = Counter()
            for (trail, value), rows in history_counts(series).items():
                key = trail[0][0], trail[-1][1], value
                worlds[key] = max(worlds[key], rows)
            assert all(counted[key] >= rows for key, rows in worlds.items())
            if found.nested:
                exact += 1
                assert counted == worlds
                assert found.histories.least == found.least
    assert exact >= (400 if nested else 40)


def test_only_the_last_release_is_recounted():
    series = [released(*each) for each in drawn_series(np.random.default_rng(3), True)]
    assert set(recount_series(series, last_only=True).pairs) == {(0, 1), (0, 2), (1, 2)}
    assert set(recount_series([*series, series[-1]], last_only=True).pairs) == {
        (0, 1), (1, 2), (0, 3), (1, 3), (2, 3)
    }  # fmt: skip


def test_histories_follow_the_months_in_which_people_came():
    """Two classes of the same box, of the first and of the second month: who came first is in the first alone."""
    older = released([(0, 0)] * 3, [[{0, 1}, {0}]])
    newer = released([(0, 0)] * 3 + [(1, 0)] * 2, [[{0, 1}, {0, 1}], [{0, 1}, {1}]])
    last = released([(0, 0)] * 5, [[{0, 1}, {0, 1}]])
    plain = recount_series([older, newer, last]).histories
    assert sorted(zip(plain.came.tolist(), plain.left.rows.tolist(), strict=True)) == [(0, 3), (1, 2)]
    dated = recount_series([older, newer, last], came=1).histories
    assert sorted(zip(dated.came.tolist(), dated.left.rows.tolist(), strict=True)) == [(0, 3), (1, 2)]


@pytest.fixture
def illnesses():
    frame = pl.DataFrame({"age": [30] * 4, "illness": ["cold", "flu", "ulcer", "flu"]})
    table = encode(sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["illness"])))
    return SensitiveValues(table.sensitive, np.arange(3).reshape(-1, 1))


def test_models_judge_the_rows_that_remain(illnesses):
    everybody = [[{0, 1}]]
    older = released([(0, 0)] * 4 + [(0, 1), (0, 2)], everybody)
    newer = released([(0, 0)] * 4 + [(0, 1), (0, 2)] + [(1, 0)] * 3, [[{0}], [{1}]])
    both = recount_series([older, newer]).pairs[0, 1].both
    # The first class leaves 4, 1, 1 rows; the second 3, 0, 0.
    assert holds_on(both, [sf.KAnonymity(3)], illnesses).tolist() == [True, True]
    assert holds_on(both, [sf.KAnonymity(4)], illnesses).tolist() == [True, False]
    assert holds_on(both, [sf.DistinctLDiversity(3)], illnesses).tolist() == [True, False]
    assert holds_on(both, [sf.ProbabilisticLDiversity(1.5)], illnesses).tolist() == [True, False]
    assert holds_on(both, [sf.ProbabilisticLDiversity(1.6)], illnesses).tolist() == [False, False]


@pytest.mark.parametrize("model", [sf.TCloseness(0.3), sf.BasicBetaLikeness(2), sf.DeltaDisclosure(2)], ids=repr)
def test_models_of_the_whole_table_are_refused(model):
    with pytest.raises(PolicyError, match=model.name):
        check_models([sf.KAnonymity(2), model], ["illness"])
