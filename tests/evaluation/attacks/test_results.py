from __future__ import annotations

from dataclasses import replace

import pytest

from sfumato.errors import PolicyError
from sfumato.evaluation.attacks.play import Attacks
from sfumato.evaluation.attacks.protocol import AttackResult
from sfumato.rates import Rate


def result(name: str, successes: float, people: int, baseline: float, control: Rate | None = None) -> AttackResult:
    return AttackResult(name, "nothing", "who were found", Rate(successes, people, baseline), control)


def test_shares_stand_where_they_belong():
    results = (result("one", 1000, 1000, 0.0), result("another", 0, 0, 0.5), result("third", 500, 1000, 0.25))
    lines = Attacks("generalized-table", 1000, None, results).draw(101).splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["one", "third"]
    assert len(lines) == 4
    start = len("third") + 2
    assert lines[0][start] == "|"
    assert lines[0][start + 100] == "●"
    assert lines[0].endswith("  succeeds")
    assert lines[1].index("●") == start + 50
    assert lines[1].index("|") == start + 25
    low, high = results[2].success.interval
    assert lines[1].index("─") == start + round(100 * low)
    assert lines[1].rindex("─") == start + round(100 * high)


def test_the_control_group_is_drawn():
    one = result("one", 90, 100, 0.5, Rate(10, 100, 0.5))
    assert Attacks("generalized-table", 100, 100, (one,)).draw(11).splitlines()[0].index("◇") == len("one") + 2 + 1


def test_every_line_ends_with_the_verdict():
    one, some = result("one", 0, 10, 0.0), result("some", 0, 100, 0.0)
    lines = Attacks("x", 100, None, (one, some, replace(one, unplayed="of time"))).draw(11).splitlines()
    assert [line.split("  ")[-1].strip() for line in lines[:3]] == ["undecided", "no better", "not played"]


def test_nothing_to_draw_is_said():
    assert "nobody" not in Attacks("x", 1, None, ()).draw()
    assert Attacks("x", 1, None, (result("one", 0, 0, 0.5),)).draw().startswith("nothing to draw")


def test_an_unknown_name_is_refused_and_iteration_ends():
    found = Attacks("x", 1, None, (result("one", 0, 0, 0.5), result("two", 1, 1, 0.5)))
    assert list(found) == list(found.results)
    assert found["one"] == found.results[:1]
    assert found["linkage"] == ()
    assert [name in found for name in ("one", "linkage", found.results[1])] == [True, False, True]
    with pytest.raises(PolicyError, match="'linkag' is unknown; played were one, two"):
        found["linkag"]
