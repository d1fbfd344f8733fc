from __future__ import annotations

import polars as pl

import sfumato as sf


def test_bars_show_the_share_of_records_in_classes_of_a_size():
    frame = pl.DataFrame({"age": [1] + [2] * 2 + [3] * 7})
    lines = sf.risk(frame, quasi_identifying=["age"]).draw(10).splitlines()
    assert lines[1].split() == ["1", "█", "10%"]
    assert lines[2].split() == ["2", "██", "20%"]
    assert lines[4].split() == ["5", "to", "10", "███████", "70%"]
    assert lines[-1].split() == ["101", "or", "more", "0%"]
