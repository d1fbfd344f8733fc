"""Published traces hold their promise, whatever the table; the recount agrees with looking at each set."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from naive import traces as naive
from sfumato.errors import InputError, PolicyError, UnsatisfiableError
from sfumato.hierarchy import HierarchyTable
from sfumato.kinds.traces.attack import _Course
from sfumato.kinds.traces.check import TRACES, assemble_traces, known_counts, wishes_hold
from sfumato.kinds.traces.traces import order_traces
from sfumato.traces import (
    TraceGrain,
    TracePolicy,
    TracePrivacy,
    TraceRelease,
    anonymize_traces,
    attack_traces,
    check_traces,
    read_traces,
)

PLACES = HierarchyTable(tuple((f"p{number}", f"d{number // 2}", "*") for number in range(4)))


def small(draw: random.Random, people: int = 6, points: int = 4) -> pl.DataFrame:
    rows = [
        (
            f"w{person}",
            f"p{draw.randrange(4)}",
            f"2026-03-0{draw.randrange(1, 4)}T{draw.randrange(0, 24, 6):02d}:30",
            draw.choice("xyyzz"),
        )
        for person in range(people)
        for _ in range(draw.randrange(1, points + 1))
    ]
    return pl.DataFrame(rows, schema=["who", "where", "when", "ill"], orient="row")


def read(frame: pl.DataFrame, **more: Any) -> sf.traces.Traces:
    return read_traces(frame, person="who", place="where", time="when", zone="Europe/Rome", hierarchy=PLACES, **more)


def shown(release: TraceRelease) -> tuple[list[naive.Trace], list[naive.Values]]:
    """Return the traces and the values of their people, from the published tables alone."""
    tables = release.tables
    people = sorted(set(tables["traces"]["trace"]))
    of = {person: set[Any]() for person in people}
    values = {person: set[Any]() for person in people}
    for person, place, time, *_ in tables["traces"].iter_rows():
        of[person].add((place, time))
    if "values" in tables:
        for person, value in tables["values"].iter_rows():
            values[person].add(value)
    return [frozenset(of[person]) for person in people], [frozenset(values[person]) for person in people]


@pytest.mark.parametrize("seed", range(60))
def test_what_is_published_holds_its_promise(seed: int) -> None:
    draw = random.Random(seed)
    k, known, share = draw.choice((1, 2, 3)), draw.choice((1, 2, 3, 4)), draw.choice((1, 1, 0.5, 0.75))
    traces = read(small(draw, draw.randrange(3, 9)), sensitive="ill")
    try:
        release = anonymize_traces(traces, TracePrivacy(k, known, share), suppression_limit=0.99, seed=1)
    except UnsatisfiableError:
        return
    held, values = shown(release)
    assert naive.is_private(held, values, k, known, Fraction(share))
    assert release.recount().ok


LENGTHS = {"PT1H": 1, "PT3H": 3, "PT6H": 6, "PT12H": 12, "P1D": 24, "P1W": 168}


def within(place: str, time: str, where: str, when: str) -> bool:
    """Tell whether a point lies in a published doublet, from the labels alone."""
    begin, _, length = time.partition("/")
    since = datetime.fromisoformat(when) - datetime.fromisoformat(begin if time != "*" else "2026-01-01")
    is_then = time == "*" or timedelta(0) <= since < timedelta(hours=LENGTHS[length])
    return is_then and place in (where, f"d{int(where[1]) // 2}", "*")


@pytest.mark.parametrize("block", [1, 5])
def test_every_published_point_is_one_of_the_person(block: int) -> None:
    """Also where points that move between levels come back to what they were."""
    for seed in range(12 * block, 12 * block + 12):
        frame = small(random.Random(seed), 4 + seed % 9, 5)
        try:
            release = anonymize_traces(read(frame), TracePrivacy(2 + seed % 3, 1), suppression_limit=0.99, seed=1)
        except UnsatisfiableError:
            continue
        points = [frame.filter(who=who)["where", "when"].rows() for who in frame["who"].unique(maintain_order=True)]
        lost = 0.0
        for published, person in enumerate(release.origin.tolist()):
            rows = release.tables["traces"].filter(trace=published + 1)
            for place, time in rows["place", "time"].rows():
                assert any(within(place, time, *point) for point in points[person])
            lost += sum(
                not any(within(*row, *point) for row in rows["place", "time"].rows()) for point in {*points[person]}
            )
        assert lost <= release.loss.points_left_out


@pytest.mark.parametrize("seed", range(40))
def test_the_recount_agrees_with_looking_at_every_set(seed: int) -> None:
    draw = random.Random(seed)
    traces = read(small(draw, draw.randrange(2, 9)), sensitive="ill")
    release = anonymize_traces(traces, TracePrivacy(1, 4), seed=1)
    held, values = shown(release)
    found = known_counts(release.published.rows, TracePrivacy(2, 4, 0.5), len(release.published.value_names))
    for count in found:
        sets = [known for known in naive.known_sets(held, 4) if len(known) == count.size]
        fitting = {known: [v for trace, v in zip(held, values, strict=True) if known <= trace] for known in sets}
        shares = [
            Fraction(sum(value in one for one in those), len(those)) for those in fitting.values() for value in "xyz"
        ]
        assert count.combinations == len(sets)
        assert count.least == min(map(len, fitting.values()), default=None)
        assert count.rare == sum(len(those) < 2 for those in fitting.values())
        assert count.shared == sum(share > Fraction(1, 2) for share in shares)
        assert count.share == pytest.approx(float(max(shares, default=Fraction(0))))


def test_two_combinations_at_a_half_may_join_to_two_thirds() -> None:
    """C does not grow with the levels: what held at a fine grain is broken at a coarser one, and the search goes on."""
    rows = [("a", "p0", "x"), ("b", "p0", "y"), ("b", "p1", "y"), ("c", "p1", "x")]
    frame = pl.DataFrame(
        [(who, where, "2026-03-02T08:00", ill) for who, where, ill in rows],
        schema=["who", "where", "when", "ill"],
        orient="row",
    )
    traces = read(frame, sensitive="ill")
    left_out = {}
    for level in (0, 1):
        policy = {
            "model": {"k": 2, "l": 1, "c": 0.5},
            "suppression-limit": 0.7,
            "change": {"place-level": level, "time-level": 0},
            "traces": {"zone": "Europe/Rome", "sensitive": "ill"},
        }
        left_out[level] = anonymize_traces(traces, TracePolicy.from_mapping(policy), seed=1).loss.points_left_out
    assert left_out[0] == 0 < left_out[1]
    assert anonymize_traces(traces, TracePrivacy(2, 1, 0.5), seed=1).loss.mean == 0
    whole = anonymize_traces(traces, TracePrivacy(2, 1), seed=1).published
    assert max(count.share for count in known_counts(whole.rows, TracePrivacy(2, 1), 2)) == 0.5
    district = frame.with_columns(pl.lit("p0").alias("where"))
    joint = anonymize_traces(read(district, sensitive="ill"), TracePrivacy(2, 1), seed=1).published
    assert known_counts(joint.rows, TracePrivacy(2, 1), 2)[0].share == pytest.approx(2 / 3)


def test_a_person_counts_once_with_each_value() -> None:
    """Of a and b one has x, twice; both have y."""
    rows = [("a", "p0", 8, "x"), ("a", "p0", 9, "x"), ("a", "p0", 9, "y"), ("b", "p0", 8, "y"), ("b", "p0", 9, "y")]
    frame = pl.DataFrame(
        [(who, where, f"2026-03-02T{hour:02d}:00", ill) for who, where, hour, ill in rows],
        schema=["who", "where", "when", "ill"],
        orient="row",
    )
    release = anonymize_traces(read(frame, sensitive="ill"), TracePrivacy(2, 2), seed=1)
    assert sorted(release.tables["values"]["ill"]) == ["x", "y", "y"]
    assert known_counts(release.published.rows, TracePrivacy(2, 2), 2)[1].share == 1
    alone = anonymize_traces(read(frame[[0, 1, 3, 4]], sensitive="ill"), TracePrivacy(2, 2, 0.5), seed=1)
    assert alone.loss.points_left_out == 0


def nights() -> pl.DataFrame:
    rows = [(f"w{n}", f"p{n % 2}" if n % 2 else "p2", f"2026-03-0{day}T0{hour}:10")
            for n in range(8) for day in (1, 2, 3) for hour in (1, 4)]  # fmt: skip
    rows += [(f"w{n}", "p3", f"2026-03-0{day}T12:00") for n in range(8) for day in (1, 2, 3)]
    return pl.DataFrame(rows, schema=["who", "where", "when"], orient="row")


def test_nights_at_home_are_asked_about() -> None:
    traces = read(nights())
    assert int(traces.home_points().sum()) == 48
    assert check_traces(traces, 1).homes == 8
    policy = {"model": {"k": 2, "l": 2}, "traces": {"zone": "Europe/Rome"}}
    with pytest.raises(PolicyError, match="homes: 8 of 8 people are in one place on most nights"):
        anonymize_traces(traces, TracePolicy.from_mapping(policy))
    kept, dropped = (
        anonymize_traces(traces, TracePolicy.from_mapping({**policy, "change": {"homes": answer}}), seed=1)
        for answer in ("keep", "drop")
    )
    assert kept.notes[-1] == "8 people with a published point where they are on most nights"
    assert (dropped.loss.points_left_out, dropped.loss.mean) == (48, pytest.approx(48 / 72))
    assert {time[11:13] for time in dropped.tables["traces"]["time"]} == {"12"}


def test_short_stays_are_no_points() -> None:
    rows = [
        ("a", "p0", "08:00"),
        ("a", "p0", "08:40"),
        ("a", "p1", "08:50"),
        ("a", "p1", "09:00"),
        ("b", "p0", "10:00"),
    ]
    frame = pl.DataFrame(
        [(who, where, f"2026-03-02T{at}") for who, where, at in rows], schema=["who", "where", "when"], orient="row"
    )
    traces = read(frame, grain=TraceGrain(stay=30))
    assert (traces.height, traces.places.tolist()) == (1, [0])
    assert len(read(frame, grain=TraceGrain(stay=10)).places) == 3
    with pytest.raises(InputError, match="nobody is in one place for 41 minutes"):
        read(frame, grain=TraceGrain(stay=41))
    with pytest.raises(InputError, match="stay: needs times of day"):
        read(frame.with_columns(pl.lit("2026-03-02").alias("when")), grain=TraceGrain(stay=10))


def test_order_of_input_changes_nothing() -> None:
    frame = small(random.Random(5), 30)
    model = TracePrivacy(3, 2, 0.75)
    first, *others = [
        anonymize_traces(read(one, sensitive="ill"), model, suppression_limit=0.9, seed=7).tables
        for one in (frame, frame.reverse(), frame.sample(fraction=1.0, shuffle=True, seed=2))
    ]
    for other in others:
        assert all(other[name].equals(table) for name, table in first.items())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    traces = read(small(random.Random(3), 40), sensitive="ill")
    release = anonymize_traces(traces, TracePrivacy(3, 2, 0.75), suppression_limit=0.9, seed=1)
    return sf.traces.save_traces(release, tmp_path / "out")


def test_a_folder_is_recounted(folder: Path) -> None:
    assert sf.verify(folder).ok


def test_a_point_that_was_added_is_found(folder: Path) -> None:
    tables = {
        name: pl.read_csv(folder / f"{name}.csv", schema_overrides={"place": pl.String})
        for name in ("traces", "values")
    }
    structure = TRACES.read_structure(json.loads((folder / "release.json").read_text()))
    one = tables["traces"][:1].with_columns(pl.lit("2019-01-01/P1D").alias("time"))
    changed = {**tables, "traces": tables["traces"].vstack(one)}
    assert TRACES.recount(assemble_traces(tables, structure), [TracePrivacy(3, 2, 0.75)], structure).ok
    assert not TRACES.recount(assemble_traces(changed, structure), [TracePrivacy(3, 2, 0.75)], structure).ok


def test_times_and_places_that_lie_within_others_are_found(folder: Path) -> None:
    structure = TRACES.read_structure(json.loads((folder / "release.json").read_text()))
    tables = {
        name: pl.read_csv(folder / f"{name}.csv", schema_overrides={"place": pl.String})
        for name in ("traces", "values")
    }
    wider = tables["traces"].with_columns(pl.lit("*").alias("time")).unique(["trace", "place"])
    both = {**tables, "traces": tables["traces"].vstack(wider)}
    found = TRACES.recount(assemble_traces(both, structure), [TracePrivacy(1, 1, 0.99)], structure)
    broken = [check.promise for check in found.checks if check.outcome == "broken"]
    assert "no place and time lies within another that is published" in broken


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"zone": None}, "zone: name the time zone"),
        ({"grain": TraceGrain(cell=0.3)}, "cell: must be a power of two"),
        ({"grain": TraceGrain(hours=5)}, "hours: must be one of"),
        ({"grain": TraceGrain(stay=0)}, "stay: must be a whole number of minutes"),
        ({"place": ("lat",)}, "place: name one column of codes, or two"),
        ({"place": ("lat", "far"), "hierarchy": None}, "outside of the globe, first row 1"),
        ({"place": ("none", "lon"), "hierarchy": None}, "rows? without 'none', first row 1"),
        (
            {"place": ("signs", "lon"), "hierarchy": None},
            "whose 'signs' is no number of degrees, such as 46.05, first row 1",
        ),
        ({"wished_k": "odd"}, "do not hold a number"),
        ({"wished_k": "half"}, "whose wished K is no whole number"),
        ({"time": "none"}, "without a time"),
        ({"time": "odd"}, "with a time that is not written as"),
        ({"time": "mixed"}, "write all of them alike"),
        ({"time": "late"}, "after year 9998"),
        (
            {"place": ("lat", "far"), "hierarchy": None, "time": "odd", "person": "none"},
            r"(?s)person.*globe.*written",
        ),
        ({"place": ("east", "lat"), "hierarchy": None}, "exchanged, all would fit"),
        ({"place": 5, "zone": "Mars", "time": "gone"}, r"(?s)place: name.*zone: name.*no column 'gone'"),
        ({"person": []}, "person: name a column"),
        ({"grain": "1"}, "grain: is a TraceGrain"),
        ({"person": "none"}, "without a person"),
        ({"time": "gone"}, "there is no column 'gone'"),
        ({"time": "where"}, "one column is used twice"),
    ],
)
def test_bad_input_gets_a_sentence(change: dict[str, Any], words: str) -> None:
    frame = small(random.Random(1), 3).with_columns(
        lat=pl.lit(46.0), lon=pl.lit(14.0), half=pl.lit(2.5), far=pl.lit(214.0), east=pl.lit(114.0),
        late=pl.lit("9999-12-31T23:15-01:00"),
        none=pl.lit(None, dtype=pl.String), odd=pl.lit("noon"), signs=pl.lit("46.1N"),
        mixed=pl.Series(["2026-03-02T08:00Z", *(["2026-03-02T08:00"] * 99)])[: small(random.Random(1), 3).height],
    )  # fmt: skip
    usual: dict[str, Any] = {
        "person": "who",
        "place": "where",
        "time": "when",
        "zone": "Europe/Rome",
        "hierarchy": PLACES,
    }
    with pytest.raises(InputError, match=words):
        read_traces(frame, **{**usual, **change})


@pytest.mark.parametrize("seed", range(30))
def test_whoever_wishes_for_more_people_has_them(seed: int) -> None:
    draw = random.Random(seed)
    frame = small(draw, 14, 4)
    wishes = {person: draw.choice((None, None, 3, 5)) for person in sorted({*frame["who"]})}
    frame = frame.with_columns(pl.col("who").replace_strict(wishes, return_dtype=pl.Int64).alias("own"))
    known = draw.choice((1, 2, 3))
    traces = read(frame, wished_k="own")
    try:
        release = anonymize_traces(traces, TracePrivacy(2, known), suppression_limit=0.9, seed=1)
    except UnsatisfiableError:
        return
    held, _ = shown(release)
    assert traces.wished_k is not None
    own = traces.wished_k[release.origin]
    for trace, wish in zip(held, own.tolist(), strict=True):
        for size in range(1, known + 1):
            for part in combinations(sorted(trace), size):
                assert sum(trace_other >= {*part} for trace_other in held) >= max(wish, 2)
    assert wishes_hold(release.published, known, own)
    assert ("wish for a K above 2" in str(release)) == bool((traces.wished_k > 2).any())
    # One more than there are people who have the rarest combination is too much, for one who has it.
    rarest, who = min(
        (sum(other >= {*part} for other in held), person)
        for person, trace in enumerate(held)
        for size in range(1, known + 1)
        for part in combinations(sorted(trace), size)
    )
    own[who] = rarest + 1
    assert not wishes_hold(release.published, known, own)


def test_degrees_may_have_a_comma() -> None:
    how: dict[str, Any] = {"person": "who", "place": ("n", "e"), "time": "when", "zone": "UTC"}
    frame = pl.DataFrame(
        {"who": [1, 2], "n": ["46,05", "-3,5"], "e": ["14,5", "\u22120,25"], "when": ["2026-03-02"] * 2}
    )
    plain = pl.DataFrame({"who": [1, 2], "n": [46.05, -3.5], "e": [14.5, -0.25], "when": ["2026-03-02"] * 2})
    assert read_traces(frame, **how).place.levels == read_traces(plain, **how).place.levels


def test_keywords_of_the_last_version_read_the_same() -> None:
    frame = pl.DataFrame({"who": [1, 2], "n": [46.0, 46.5], "e": [14.0, 14.5], "when": ["2026-10-25T02:30"] * 2})
    how = {"person": "who", "time": "when", "zone": "UTC"}
    now = read_traces(frame, place=("n", "e"), grain=TraceGrain(0.25, 3), **how)  # type: ignore[arg-type]
    with pytest.warns(DeprecationWarning, match="last version") as warned:
        former = read_traces(frame, latitude="n", longitude="e", cell=0.25, hours=3, **how)  # type: ignore[arg-type]
    assert len(warned) == 2
    assert former.place.levels == now.place.levels
    assert former.time.levels == now.time.levels
    with pytest.raises(InputError, match="place: name one column of codes, or two"):
        read_traces(frame, latitude="n", **how)  # type: ignore[arg-type]


def test_both_hours_of_a_clock_change_are_one() -> None:
    frame = pl.DataFrame(
        {"who": [1, 1], "where": ["p0", "p0"], "when": ["2026-10-25T02:30+02:00", "2026-10-25T02:30+01:00"]}
    )
    assert len(read(frame).places) == 1


def test_people_below_k_are_told(tmp_path: Path) -> None:
    traces = read(small(random.Random(1), 3))
    with pytest.raises(UnsatisfiableError, match="there are 3 people, fewer than K = 4"):
        anonymize_traces(traces, TracePrivacy(4, 1))
    with pytest.raises(PolicyError, match="c: is about sensitive values"):
        anonymize_traces(traces, TracePrivacy(2, 1, 0.5))


def test_a_check_says_how_few_people_fit() -> None:
    frame = pl.DataFrame({"who": ["a", "b", "b"], "where": ["p0", "p0", "p1"], "when": ["2026-03-02T08:00"] * 3})
    found = check_traces(read(frame), 3)
    assert [(size.size, size.combinations, size.least) for size in found.sizes] == [(1, 2, 1), (2, 1, 1)]
    assert found.k_of(2) == 1


def test_nobody_is_found_by_as_many_points_as_were_promised() -> None:
    traces = read(small(random.Random(8), 60, 8))
    release = anonymize_traces(traces, TracePrivacy(4, 3), suppression_limit=0.9, seed=1)
    found = attack_traces(traces, release, known=5, victims=None, seed=1)
    by_points = found.published[:3]
    assert [one.figures["people_whom_one_trace_fits"] for one in by_points] == [0, 0, 0]
    assert all(one.figures["fewest_traces_that_fit"] >= 4 and one.success.share <= 1 / 4 for one in by_points)
    assert [one.allowed for one in found.published] == [0.25] * 3 + [None] * 2
    assert len(found.before) == len(found.original) - 2 == 7
    wrong = attack_traces(traces, release, known=5, victims=None, noise=0.5, seed=1)
    assert wrong.before[3].success.share < found.before[3].success.share
    assert wrong.published[0].allowed is None
    assert found.before[2].success.share > found.original[2].success.share
    lines = found.plot().figure.axes[0].lines
    assert [line.get_label() for line in lines] == ["Before", "After, by published points", "After, by any points"]
    assert [*lines[0].get_xdata()] == [1, 2, 3, 4, 5]
    alone = [one.figures["people_whom_one_trace_fits"] / found.people for one in found.published[:5]]
    assert [*lines[1].get_ydata()] == pytest.approx(alone)


def test_the_attack_counts_traces_that_have_what_is_known() -> None:
    rows = [("a", "p0", 8), ("a", "p1", 9), ("b", "p0", 8), ("b", "p2", 9), ("c", "p0", 8), ("c", "p1", 9)]
    frame = pl.DataFrame(
        [(who, where, f"2026-03-02T{hour:02d}:00") for who, where, hour in rows],
        schema=["who", "where", "when"],
        orient="row",
    )
    found = attack_traces(read(frame), known=2, victims=None, seed=1).before
    # All two points of a and c fit both; those of b fit b alone. Home and work, or any two, are the same places.
    assert [one.success.successes for one in found[1:]] == [2.0, 2.0, 2.0]
    assert found[1].figures["people_whom_one_trace_fits"] == 1


def test_gaps_speed_and_length_leave_fewer_traces_that_fit() -> None:
    """Victims a, b, c share their first and last point; between, b is elsewhere, and c is far away next day."""
    rows = [(who, 0.01, hour, 2) for who in "abc" for hour in (8, 12)] + [("b", 0.5, 10, 2), ("c", 40.0, 12, 3)]
    frame = pl.DataFrame(
        [(who, 45.0, east, f"2026-03-{day:02d}T{hour:02d}:00") for who, east, hour, day in rows],
        schema=["who", "north", "east", "when"],
        orient="row",
    )
    traces = read_traces(frame, person="who", place=("north", "east"), time="when", zone="UTC")
    # K = 1 publishes everything as it is.
    release = anonymize_traces(traces, TracePrivacy(1, 1), seed=1)
    found = {one.knows: one for one in attack_traces(traces, release, known=2, seed=1).original}
    assert found["2 points in a row"].figures["fewest_traces_that_fit"] == 1
    course = _Course.of(traces, release, np.arange(3))
    shown = dict(enumerate(release.published.doublets))
    own = course.codes[0]
    wrong = {shown[item] for item in np.flatnonzero(course.contradicting(own, np.arange(len(shown), dtype=np.int32)))}
    assert [(place.split()[1], time) for place, time in wrong] == [("E0.5", "2026-03-02T10/PT1H")]
    # Nobody moves faster than c, who is 40 degrees farther within a day; at noon already, nobody can be there.
    fast = replace(course, fastest=0.1)
    wrong = {shown[item][1] for item in np.flatnonzero(fast.contradicting(own, np.arange(len(shown), dtype=np.int32)))}
    assert wrong == {"2026-03-02T10/PT1H", "2026-03-03T12/PT1H"}
    together = found["2 points in a row, gaps, speed and length"]
    assert (
        together.figures["people_whom_one_trace_fits"]
        > found["2 points in a row"].figures["people_whom_one_trace_fits"]
    )


@pytest.mark.parametrize("seed", range(8))
def test_nothing_that_is_published_of_a_person_contradicts_her_points(seed: int) -> None:
    draw = random.Random(seed)
    rows = [
        (who, 45 + draw.random(), 14 + draw.random(), f"2026-03-0{draw.randrange(1, 4)}T{draw.randrange(24):02d}:00")
        for who in range(30)
        for _ in range(draw.randrange(1, 6))
    ]
    frame = pl.DataFrame(rows, schema=["who", "north", "east", "when"], orient="row")
    traces, _ = order_traces(
        read_traces(frame, person="who", place=("north", "east"), time="when", zone="UTC", grain=TraceGrain(0.25))
    )
    release = anonymize_traces(traces, TracePrivacy(3, 2), suppression_limit=0.9, seed=1)
    course = _Course.of(traces, release, np.arange(traces.height))
    shown = release.published
    for published, person in enumerate(release.origin.tolist()):
        doublets = shown.items[shown.starts[published] : shown.starts[published + 1]]
        codes = course.codes[person]
        for first in range(len(codes)):
            assert not course.contradicting(codes[first : first + 3], doublets).any()


def test_levels_that_leave_few_people_out_are_found() -> None:
    """Two of three people are at one place and hour, the others not: hours lose less, and leave more people out."""
    rows = [(f"w{number}", "p0", f"2026-03-02T{8 if number % 3 else number // 3:02d}:00") for number in range(18)]
    rows += [("x", "p0", "2026-03-30T08:00"), ("y", "p0", "2026-03-30T08:00"), ("z", "p0", "2026-03-30T08:00")]
    traces = read(pl.DataFrame(rows, schema=["who", "where", "when"], orient="row"))
    losses = [
        anonymize_traces(traces, TracePrivacy(3, 1), suppression_limit=limit, seed=1).loss for limit in (0.0, 0.5)
    ]
    assert losses[0].people_left_out == 0
    assert losses[0].mean >= losses[1].mean


def test_a_person_with_too_many_points_gets_a_sentence() -> None:
    hours = pl.datetime_range(pl.datetime(2020, 1, 1), pl.datetime(2021, 6, 1), "1h", eager=True)
    frame = pl.DataFrame({"who": [1] * len(hours), "where": ["p0"] * len(hours), "when": hours})
    with pytest.raises(PolicyError, match="1 person with more than 10,000 points; read them with larger cells"):
        anonymize_traces(read(frame), TracePrivacy(1, 1))


def test_a_refusal_says_whether_people_or_places_would_be_left() -> None:
    # In each table two people are far apart from all others, in place and time.
    apart = [("a", 52.1, 13.0, "2026-03-01 08:00"), ("b", -30.2, 100.0, "2026-11-02 14:00")]
    near = [(name, 10.2, -70.0, "2026-06-02 10:00") for name in "cdefgh"]
    frames = [pl.DataFrame(rows, ["who", "lat", "lon", "at"], orient="row") for rows in (apart, [*apart, *near])]
    for frame, why in zip(
        frames,
        ("no level that was tried leaves anything of places and times", "25% of the people would keep no point"),
        strict=True,
    ):
        traces = read_traces(frame, person="who", latitude="lat", longitude="lon", time="at", zone="UTC")
        with pytest.raises(UnsatisfiableError, match=why):
            anonymize_traces(traces, TracePrivacy(2, 1), suppression_limit=0, seed=1)


def test_a_policy_names_the_hierarchy_of_places_by_its_file(tmp_path: Path) -> None:
    tmp_path.joinpath("wards.csv").write_text("w0,north,*\nw1,north,*\nw2,south,*\nw3,south,*\n")
    policy = tmp_path / "policy.toml"
    columns = 'person = "who"\nplace = "ward"\ntime = "when"\nzone = "UTC"\nhierarchy = "wards.csv"\n'
    policy.write_text(f"[traces]\n{columns}[model]\nk = 2\nl = 1\n")
    hierarchy = TracePolicy.from_file(policy).reading()["hierarchy"]
    frame = pl.DataFrame({"who": [*"abcd"], "ward": ["w0", "w1", "w2", "w3"], "when": ["2026-03-02T08:00"] * 4})
    traces = read_traces(frame, person="who", place="ward", time="when", zone="UTC", hierarchy=hierarchy)
    release = anonymize_traces(traces, TracePrivacy(2, 1), suppression_limit=0, seed=1)
    assert sorted(place for place, _ in release.published.doublets) == ["north", "south"]
