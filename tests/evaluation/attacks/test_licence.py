"""Which promises say how often an attacker may guess rightly."""

from __future__ import annotations

import pytest

from sfumato.evaluation.attacks.licence import allowed_guess


@pytest.mark.parametrize(
    ("models", "allowed"),
    [
        ([], None),
        ([{"name": "k-anonymity", "k": 5}], None),
        ([{"name": "distinct-l-diversity", "l": 4}], None),
        ([{"name": "probabilistic-l-diversity", "l": 4}], 0.25),
        ([{"name": "probabilistic-l-diversity", "l": 4, "attribute": "income"}], None),
        ([{"name": "probabilistic-l-diversity", "l": 2.5, "attribute": "disease"}], 0.4),
        ([{"name": "alpha-k-anonymity", "alpha": 0.3, "k": 2}, {"name": "probabilistic-l-diversity", "l": 2}], 0.3),
    ],
)
def test_the_smallest_promise_about_the_attribute(models: list[dict[str, object]], allowed: float | None) -> None:
    assert allowed_guess(models, "disease") == allowed
