"""What a promise lets an attacker guess: the success up to which guessing a sensitive value breaks no promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.models import known_models
from sfumato.models.says import says


def allowed_guess(models: Sequence[Mapping[str, Any]], sensitive: str) -> float | None:
    """Return the chance of guessing a sensitive value correctly that the promises of a release allow.

    Probabilistic l-diversity says that a class or bucket discloses nobody's value with a chance above 1/l,
    alpha-k-anonymity with none above alpha. Other models say nothing about that chance: distinct l-diversity counts
    values, however rare.

    Parameters
    ----------
    models
        Name and parameters of every promise.
    sensitive
        The attribute that is guessed.

    Returns
    -------
    float or None
        The smallest chance that is promised; None if no promise is about it.

    Examples
    --------
    >>> allowed_guess([{"name": "probabilistic-l-diversity", "l": 4}], "disease")
    0.25
    """
    chances = [says(model).allowed_guess(sensitive) for model in known_models(models)]
    return min((chance for chance in chances if chance is not None), default=None)
