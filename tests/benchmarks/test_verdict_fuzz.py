"""No verdict on a small release contradicts its curve, and noise seldom succeeds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.verdict_fuzz import contradictions, results

from sfumato.evaluation.attacks.protocol import AttackResult
from sfumato.evaluation.attacks.verdicts import Certainty
from sfumato.rates import Rate


def test_no_headline_contradicts_its_curve() -> None:
    found = [result for number in range(1000, 1008) for result in results(number, False)[1]]
    assert [problem for result in found for problem in contradictions(result)] == []
    assert {"succeeds", "undecided", "does no better than guessing"} <= {result.headline for result in found}


def test_permuted_truth_seldom_succeeds() -> None:
    found = [result for number in range(1000, 1010) for result in results(number, True)[1]]
    assert len(found) > 100
    assert sum(result.succeeds for result in found) <= 0.05 * len(found)


def test_contradictions_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    some = AttackResult("some", "nothing", "who", Rate(60, 100, 0.3))
    assert [*contradictions(some)] == []
    certain = replace(some, success=Rate(30, 100, 0.3), certainty=Certainty(3))
    assert (certain.verdict, [*contradictions(certain)]) == ("succeeds", [])
    for headline in ("does no better than guessing", "tells no more than people outside do"):
        monkeypatch.setattr(AttackResult, "headline", headline)
        assert len([*contradictions(some)]) == 1
