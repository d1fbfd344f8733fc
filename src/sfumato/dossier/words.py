"""What promises, kinds of releases and roles mean, for somebody who never heard of k-anonymity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.numbers import figure

KINDS = {
    "generalized-table": "one row for each person, with values made coarser so that several people share them",
    "sliced-table": "groups of attributes whose values stand beside each other by chance within buckets of people; a "
    "row is not a person",
    "bucketized-tables": "two tables that share only a bucket number: exact values that may identify people in one, "
    "counts of sensitive values in the other",
    "marginal-tables": "tables that count how many people have each combination of values, and no row for any person",
    "randomized-table": "one row for each person, with values that were exchanged, changed or drawn at random",
}

MODELS = {
    "k-anonymity": "every person looks like at least {k} people of the table in what others may know",
    "alpha-k-anonymity": "every person looks like at least {k} people, of whom no sensitive value has a larger share "
    "than {alpha}",
    "distinct-l-diversity": "among the people who look alike there are at least {l} sensitive values",
    "probabilistic-l-diversity": "among the people who look alike no sensitive value has a larger share than 1 in {l}",
    "entropy-l-diversity": "among the people who look alike sensitive values are as mixed as {l} equally frequent ones",
    "recursive-l-diversity": "among the people who look alike no sensitive value stands out against the rarer ones "
    "(c = {c}, l = {l})",
    "t-closeness": "people who look alike have nearly the sensitive values of the whole table (at most {t} apart)",
    "basic-beta-likeness": "no sensitive value is more than {beta} times as frequent again among people who look alike",
    "enhanced-beta-likeness": "no sensitive value is much more frequent among people who look alike (β = {beta})",
    "delta-disclosure": "no sensitive value is much more or less frequent among people who look alike (δ = {delta})",
    "subset-k-anonymity": "whichever columns are known, every combination of published values is that of at least {k} "
    "people",
    "wildcard-k-anonymity": "every person could be at least {k} people of the table, a star standing for any value",
}

ROLES = {
    "identifying": "removed",
    "quasi-identifying": "others may know it: made coarser, or its link to the rest broken",
    "sensitive": "its link to a person is hidden",
    "insensitive": "published as it is",
}

LIMITS = (
    "The promises hold against somebody who knows the quasi-identifying columns of people, and nothing more. Whoever "
    "knows more may learn more.",
    "A second release of the same people can break what each release alone keeps.",
    "Attacks that were not played, or fail today, may work tomorrow. An attack that does not succeed here is no proof.",
)


def promise_in_words(model: Mapping[str, Any]) -> str:
    """Say what a privacy model promises, from its name and parameters; its name where it is not known here."""
    words = MODELS.get(str(model.get("name")))
    if words is None:
        return str(model.get("name"))
    values = {name: figure(value) if isinstance(value, float) else value for name, value in model.items()}
    try:
        return words.format(**values)
    except KeyError:
        return str(model.get("name"))
