"""What promises, kinds of releases and roles mean, for a reader who has never heard of k-anonymity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.models import known_model
from sfumato.models.says import says

KINDS = {
    "generalized-table": "one row for each record, with values made coarser so that several records share them",
    "sliced-table": "groups of attributes whose values are combined at random within buckets of people; a "
    "row is not a person",
    "bucketized-tables": "two tables that share only a bucket number: exact values that may identify people in one, "
    "counts of sensitive values in the other",
    "marginal-tables": "tables that count how many people have each combination of values, and no row for any person",
    "randomized-table": "one row for each record, with values that were exchanged, changed or drawn at random",
}

ROLES = {
    "identifying": "removed",
    "quasi-identifying": "others may know it: made coarser, or its link to the rest broken",
    "sensitive": "its link to a person is hidden",
    "insensitive": "published as it is",
}

LIMITS = (
    "The promises hold against somebody who knows the quasi-identifying columns of people, and nothing more. Somebody "
    "who knows more may learn more.",
    "A second release of the same people can break what each release alone keeps.",
    "Attacks that were not played, or fail today, may work tomorrow. An attack that does not succeed here is no proof.",
)


def promise_in_words(entry: Mapping[str, Any]) -> str:
    """Say what a privacy model promises, from its name and parameters; its name if it is unknown."""
    model = known_model(entry)
    return str(entry.get("name")) if model is None else says(model).sentence()
