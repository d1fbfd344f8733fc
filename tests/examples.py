"""How many examples a property is tried on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings


def examples(many: int, *unchecked: HealthCheck) -> settings:
    """Try a property on `many` examples, or on the share of them that the profile asks for, but on five at least.

    A profile with 100 examples asks for all, one with 20 for a fifth (``conftest.py``). `unchecked` are health checks
    of hypothesis that do not apply to this property.
    """
    profile = settings.default
    assert profile is not None
    return settings(
        max_examples=max(many * profile.max_examples // 100, 5),
        suppress_health_check=[*profile.suppress_health_check, *unchecked],
    )


def seeds(many: int) -> list[Any]:
    """Return so many seeds as parameters of a test: a fifth of them for every run, the others among the slow tests."""
    return [pytest.param(seed, marks=pytest.mark.slow if seed >= max(many // 5, 3) else ()) for seed in range(many)]
