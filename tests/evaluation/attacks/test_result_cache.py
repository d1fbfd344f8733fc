"""What several attacks of one call ask for is worked out once, and never for somebody else."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.attacks.attacked_tables import bucketized, patients
from sfumato.evaluation.attacks import Homogeneity, Skewness, result_cache
from sfumato.evaluation.attacks import posterior as posteriors
from sfumato.evaluation.attacks.protocol import Target
from sfumato.evaluation.attacks.result_cache import ResultCache


def test_the_very_same_values_are_asked_once() -> None:
    kept, one, other, asked = ResultCache(), [1], [1], []
    for given in (one, one, other, one):
        assert kept.once("sum", (given,), lambda: asked.append(1) or len(asked), 1) == (2 if given is other else 1)
    assert kept.once("another", (one,), lambda: 9, 1) == 9


def test_what_is_too_large_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_cache, "MOST", 10)
    kept, given = ResultCache(), object()
    answers = iter(range(10))
    assert [kept.once("large", (given,), lambda: next(answers), 11) for _ in range(2)] == [0, 1]
    assert [kept.once("small", (given,), lambda: next(answers), 6) for _ in range(2)] == [2, 2]
    assert [kept.once("no room", (given,), lambda: next(answers), 6) for _ in range(2)] == [3, 4]


def test_attacks_share_the_posterior_of_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    worked_out = posteriors.posterior

    def counting(published, people, **options):
        asked.append(people)
        return worked_out(published, people, **options)

    monkeypatch.setattr(posteriors, "posterior", counting)
    people, control = patients(), patients()
    target = Target(bucketized(), people, control)
    alone = [attack.play(Target(bucketized(), people, control)) for attack in (Homogeneity(), Skewness())]
    del asked[:]
    assert [attack.play(target) for attack in (Homogeneity(), Skewness())] == alone
    assert len(asked) == 2
    assert asked[0] is people
    assert asked[1] is control


def test_other_people_and_other_releases_are_told_anew() -> None:
    people = patients()
    target = Target(bucketized(), people)
    first = [known for _, known in posteriors.told_blocks(target, people, "disease")]
    again = [known for _, known in posteriors.told_blocks(target, people, "disease")]
    others = [known for _, known in posteriors.told_blocks(target, patients(), "disease")]
    assert first[0] is again[0]
    assert others[0] is not first[0]
    assert np.array_equal(others[0].shares, first[0].shares)
