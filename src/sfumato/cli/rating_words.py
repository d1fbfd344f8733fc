"""From the options of the commands on ratings to a policy. Options override a policy file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.cli.kind_words import KindWords, kind_policy_of
from sfumato.errors import SfumatoError

if TYPE_CHECKING:
    from sfumato.policy.rating_policy import RatingPolicy

OPTIONS: dict[tuple[str | int, ...], str] = {
    ("suppression-limit",): "--suppression",
    ("threads",): "--threads",
    ("model", "k"): "-k",
    ("model", "epsilon"): "--epsilon",
    ("model", "l"): "-l",
    ("sensitive", "names"): "--sensitive",
    ("sensitive", "file"): "--sensitive-file",
    ("sensitive", "share"): "--sensitive-share",
    ("sensitive", "drawn"): "--sensitive-drawn",
    ("change", "method"): "--method",
    ("change", "keep"): "--keep",
    ("output", "format"): "--format",
    **{("model", key): f"--{key}" for key in ("group", "nulls")},
    **{("ratings", key): f"--{key}" for key in ("form", "user", "issue", "rating", "issues", "scale", "key-form")},
}
"""What messages call a key that an option set."""

ADVICE = {
    "-k: is missing": "-k: give the number of records that must be around each, e.g. -k 3",
    "--epsilon: is missing": "--epsilon: give the largest difference of ratings that are alike, e.g. --epsilon 1",
}


def rating_policy_of(words: KindWords) -> RatingPolicy:
    """Make the policy that the options mean.

    Raises
    ------
    InputError
        When the policy file cannot be read.
    PolicyError
        With every mistake in the options and in the file.
    """
    from sfumato.policy.rating_policy import RatingPolicy

    return kind_policy_of(words, RatingPolicy.from_mapping, OPTIONS, ADVICE)


def scale_words(text: str | None, problems: list[str]) -> list[float] | None:
    """Read LOW,HIGH or LOW,HIGH,STEP; a mistake is added to `problems`."""
    from sfumato.cli.rating_options import scale_of_text

    try:
        numbers = scale_of_text(text)
    except SfumatoError as error:
        problems.extend(error.problems)
        return None
    return None if numbers is None else list(numbers)
