"""From the options of the commands on ratings to a policy. Options override a policy file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import PolicyError, SfumatoError

if TYPE_CHECKING:
    from sfumato.policy.mistakes import KeyPath
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
    **{("ratings", key): f"--{key}" for key in ("form", "user", "issue", "rating", "issues", "scale")},
}
"""What messages call a key that an option set."""

ADVICE = {
    "-k: is missing": "-k: give the number of records that must be around each, e.g. -k 3",
    "--epsilon: is missing": "--epsilon: give the largest difference of ratings that are alike, e.g. --epsilon 1",
}


@dataclass(frozen=True)
class RatingWords:
    """What the options say; None means that they say nothing.

    Attributes
    ----------
    policy : Path or None
        Policy file to start from.
    top : mapping
        Keys of the policy's top level.
    parts : mapping of str to mapping
        Keys of its other parts.
    problems : sequence of str
        Already found in the options.
    """

    policy: Path | None
    top: Mapping[str, Any]
    parts: Mapping[str, Mapping[str, Any]]
    problems: Sequence[str] = field(default=())


def rating_policy_of(words: RatingWords) -> RatingPolicy:
    """Make the policy that the options mean.

    Raises
    ------
    InputError
        When the policy file cannot be read.
    PolicyError
        With every mistake in the options and in the file.
    """
    from sfumato.policy.rating_policy import RatingPolicy, read_rating_policy

    mapping = read_rating_policy(words.policy) if words.policy else {}
    said: dict[KeyPath, str] = {("source", key): f"--{key}" for key in words.parts.get("source", {})}
    mapping |= {key: value for key, value in words.top.items() if value is not None}
    for part, keys in words.parts.items():
        _update(mapping, part, keys)
    if words.policy is None:
        mapping.setdefault("model", {})
    try:
        policy = RatingPolicy.from_mapping(mapping, names=_names(words) | said)
    except PolicyError as error:
        raise PolicyError(*words.problems, *(ADVICE.get(problem, problem) for problem in error.problems)) from None
    if words.problems:
        raise PolicyError(*words.problems)
    return policy


def scale_words(text: str | None, problems: list[str]) -> list[float] | None:
    """Read LOW,HIGH or LOW,HIGH,STEP; a mistake is added to `problems`."""
    from sfumato.cli.rating_options import scale_of_text

    try:
        numbers = scale_of_text(text)
    except SfumatoError as error:
        problems.extend(error.problems)
        return None
    return None if numbers is None else list(numbers)


def _names(words: RatingWords) -> dict[KeyPath, str]:
    """Call each key by its option if an option set it; without a policy file, always."""
    if words.policy is None:
        return dict(OPTIONS)
    given: set[tuple[str | int, ...]] = {(key,) for key, value in words.top.items() if value is not None}
    given |= {(part, key) for part, keys in words.parts.items() for key, value in keys.items() if value is not None}
    return {path: option for path, option in OPTIONS.items() if path in given}


def _update(mapping: dict[str, Any], part: str, keys: Mapping[str, Any]) -> None:
    """Put settings into a part; the check reports a part of a wrong type."""
    said = {key: value for key, value in keys.items() if value is not None}
    given = mapping.get(part, {})
    if said and isinstance(given, Mapping):
        mapping[part] = {**given, **said}
