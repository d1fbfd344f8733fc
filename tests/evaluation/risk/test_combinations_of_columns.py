"""Which of many columns to leave out first, against counting by hand; and what columns look like."""

from __future__ import annotations

from collections import Counter
from random import Random

import polars as pl

import sfumato as sf
from sfumato.evaluation.risk.adversaries import keys_of
from sfumato.evaluation.risk.combinations import ENOUGH, MANY, leave_out, leaving_out_lines


def people(records: int, seed: int, columns: int = MANY) -> pl.DataFrame:
    draw = Random(seed)
    widths = [draw.choice([1, 2, 2, 3, 4, 9]) for _ in range(columns)]
    drawn = {f"c{place}": [draw.randrange(width) for _ in range(records)] for place, width in enumerate(widths)}
    return pl.DataFrame(drawn)


def counted(frame: pl.DataFrame, columns: list[str]) -> int:
    sizes = Counter(frame.select(columns).rows())
    return sum(size == 1 for size in sizes.values())


def test_each_step_is_the_best_one_and_counted_rightly() -> None:
    stepped = 0
    for seed in range(40):
        frame = people(60, seed)
        left = frame.columns
        for step in leave_out(keys_of(frame.get_columns())):
            assert counted(frame, left) > ENOUGH * frame.height
            rest = {gone: counted(frame, [name for name in left if name != gone]) for gone in left}
            assert step.uniques == min(rest.values()) == rest[step.column]
            left = [name for name in left if name != step.column]
            stepped += 1
    assert stepped > 100


def test_few_columns_and_tables_where_nobody_is_unique_are_left_as_they_are() -> None:
    frame = people(60, 1)
    assert leave_out(keys_of(frame.get_columns()[: MANY - 1])) == ()
    assert leave_out(keys_of(pl.concat([frame, frame]).get_columns())) == ()
    assert leaving_out_lines((), 60) == []


def test_a_column_that_tells_everybody_apart_goes_first() -> None:
    frame = people(200, 2).with_columns(pl.int_range(200).alias("fingerprint"))
    report = sf.risk(frame, quasi_identifying=frame.columns, combinations=1, special_uniques=0)
    assert report.left_out[0].column == "fingerprint"
    assert report.to_dict()["left_out"][0] == {"column": "fingerprint", "uniques": report.left_out[0].uniques}
    assert "without fingerprint" in str(report)


def test_hints_name_the_letters_of_the_rule_and_no_value() -> None:
    draw = Random(5)
    frame = pl.DataFrame(
        {
            "age": [draw.randrange(100) for _ in range(300)],
            "zip": [f"0{draw.randrange(10_000):04}" for _ in range(300)],
            "sex": [draw.choice("fm") for _ in range(300)],
        }
    )
    report = sf.risk(sf.read_table(frame, sf.Schema(quasi_identifying=frame.columns)), special_uniques=0)
    assert [hint.split(":")[0] for hint in report.hints] == ["age", "zip"]
    assert "HIPAA (B): keep the first three digits" in report.hints[1]
    assert "HIPAA (C): put all above 89 into one group" in report.hints[0]
    assert all(hint in str(report) for hint in report.hints)
    assert not any(value in str(report.hints) for value in frame["zip"].head(20))
