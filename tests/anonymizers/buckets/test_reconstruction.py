"""The reconstruction error against its definition, record by record."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive import buckets as naive
from sfumato.anonymizers.bucketization import least_reconstruction_error, reconstruction_error
from sfumato.classes.statistics import class_statistics
from sfumato.table.encoding import encode


def error(buckets: list[list[str]]) -> float:
    values = [value for bucket in buckets for value in bucket]
    frame = pl.DataFrame({"q": [0] * len(values), "s": values})
    encoded = encode(sf.read_table(frame, sf.Schema(quasi_identifying=["q"], sensitive=["s"])))
    bucket_of = np.repeat(np.arange(len(buckets), dtype=np.int32), [len(bucket) for bucket in buckets])
    statistics = class_statistics(bucket_of, len(buckets), encoded.sensitive_codes, encoded.sensitive)
    return reconstruction_error(statistics.sensitive["s"], statistics)


@given(st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=7), min_size=1, max_size=6))
@examples(80)
def test_it_is_what_the_definition_says(buckets):
    found = error(buckets)
    assert found == pytest.approx(float(naive.reconstruction_error(buckets)))
    records = sum(map(len, buckets))
    diversity = min(len(bucket) / max(map(bucket.count, bucket)) for bucket in buckets)
    assert found >= least_reconstruction_error(records, diversity) - 1e-9


def test_the_worked_example():
    assert error([["dyspepsia", "flu"], ["dyspepsia", "flu"], ["bronchitis", "dyspepsia"], ["flu", "gastritis"]]) == 4.0
    assert least_reconstruction_error(8, 2) == 4.0
