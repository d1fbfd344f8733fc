"""From a published frame back to the classes and codes that made it."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest
from hypothesis import given

from examples import examples
from recoding.small_tables import ZONES, SmallTable, attributes_of, small_tables
from sfumato.classes.partition import Form
from sfumato.errors import InputError, PolicyError
from sfumato.metrics import measure_losses
from sfumato.recoding import TIGHT, Recoding, publish, recoding_kind
from sfumato.recoding.parsing import generalize_published

LOSSES = ("ncp", "normalized_ncp", "iloss", "loss_metric", "precision", "entropy", "suppressed")


def assert_equal_losses(small: SmallTable, recoding: Recoding, frame: pl.DataFrame) -> None:
    before = measure_losses(small.recoded(recoding), 1)
    after = measure_losses(generalize_published(frame, small.encoded(), recoding), 1)
    for name in LOSSES:
        assert getattr(after, name) == pytest.approx(getattr(before, name)), name
    assert dict(after.changed) == dict(before.changed)
    # Classes that publish the same are one class to a recipient.
    assert after.classes <= before.classes
    assert after.discernibility >= before.discernibility


@given(small_tables())
@examples(50)
def test_losses_can_be_measured_from_what_was_published(small: SmallTable) -> None:
    kept = np.flatnonzero(np.array(small.class_of) >= 0)[::-1]

    for recoding in (Recoding(), TIGHT):
        assert_equal_losses(small, recoding, publish(small.recoded(recoding), small.table, kept))


@given(small_tables())
@examples(30)
def test_rows_of_stars_are_suppressed_records(small: SmallTable) -> None:
    frame = publish(small.recoded(), small.table, np.arange(len(small.class_of)))

    back = generalize_published(frame, small.encoded(), Recoding(suppressed="star"))

    whole_stars = sum(set(row) == {"*"} for row in frame.rows())
    assert back.suppressed == whole_stars
    assert (back.class_of[: frame.height] < 0).tolist() == [set(row) == {"*"} for row in frame.rows()]


def example() -> tuple[SmallTable, pl.DataFrame]:
    columns = {"age": [30, 31, 40, None], "income": [0.25, 1.5, 1.5, 2.0], "zone": ["n1", "n2", "sea", "sea"]}
    small = SmallTable(columns, [0, 0, 1, 2], attributes_of(list(columns), ZONES), ZONES)
    return small, publish(small.recoded(), small.table, np.array([3, 1, 0, 2]))


def test_a_written_file_reads_back() -> None:
    small, frame = example()

    text = pl.read_csv(io.StringIO(frame.write_csv()), infer_schema=False)
    back = generalize_published(text, small.encoded())

    assert back.class_of.tolist() == [0, 1, 1, 2]
    assert back.columns[0].labels.gather(back.columns[0].per_class).to_list() == [None, "[30..31]", "40"]
    assert not back.aligned
    with pytest.raises(InputError, match="shuffled"):
        recoding_kind(back)


def test_removed_records_count_as_suppressed() -> None:
    small, frame = example()

    back = generalize_published(frame.head(3), small.encoded())

    assert back.class_of.tolist() == [0, 1, 1, -1]
    assert back.suppressed == 1


def test_unreadable_frames_are_told_at_once_without_a_value() -> None:
    small, frame = example()
    strange = frame.with_columns(
        age=pl.Series(["[30..31]", "secret", "secret", None]), zone=pl.Series(["n1", "n2", "utopia", "sea"])
    )
    with pytest.raises(InputError) as caught:
        generalize_published(strange, small.encoded())
    assert len(caught.value.problems) == 2
    assert "2 published cell(s), first in row 2" in caught.value.problems[0]
    assert "1 published cell(s), first in row 3" in caught.value.problems[1]
    assert "secret" not in str(caught.value)
    assert "utopia" not in str(caught.value)


def test_frames_of_another_shape_are_told_at_once() -> None:
    small, frame = example()
    with pytest.raises(InputError) as caught:
        generalize_published(pl.concat([frame, frame]).drop("age", "zone"), small.encoded())
    assert len(caught.value.problems) == 3
    with pytest.raises(InputError, match="no rows"):
        generalize_published(frame.clear(), small.encoded())
    with pytest.raises(PolicyError, match="needs a hierarchy"):
        generalize_published(frame, small.encoded(), Recoding(forms={"age": Form.ANCESTOR}))
