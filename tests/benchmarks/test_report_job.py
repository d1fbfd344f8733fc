"""The benchmark of reports on a few people; nothing here looks at a time."""

from __future__ import annotations

from benchmarks.report_job import reported


def test_time_and_size_are_measured():
    seconds, size = reported(200)
    assert seconds.value > 0
    assert seconds.detail.startswith("200 records")
    assert 0 < size.value < 1
