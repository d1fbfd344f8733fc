"""What a release of ratings says about itself: the content of its ``release.json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sfumato.errors import SfumatoError, VerificationError
from sfumato.models.k_epsilon_l_anonymity import RatingAnonymity
from sfumato.release.description import FORMAT, RATINGS, TableFacts, unambiguous, versions
from sfumato.table.ratings.scale import Scale

TABLE = "ratings"

MOST_SILENT = 20_000_000
"""Records without a published rating that a verifier believes in: they take memory, but no line of a file."""


@dataclass(frozen=True)
class RatingDescription:
    """Everything that a verifier needs beside the ratings.

    Attributes
    ----------
    records : int
        Published records; those without any published rating stand in no line of the file.
    scale : Scale
    sensitive : tuple of str
        Sensitive issues that somebody has a published rating of.
    models : tuple of mapping
        Name and parameters of every promised model.
    suppression_limit : float
        Share of the original records.
    """

    records: int
    scale: Scale
    sensitive: tuple[str, ...]
    models: tuple[Mapping[str, Any], ...]
    suppression_limit: float

    def to_dict(self, facts: TableFacts) -> dict[str, Any]:
        """Return the content of ``release.json``; `facts` describes the file."""
        return {
            "format": FORMAT,
            "kind": RATINGS,
            "tables": {TABLE: facts.to_dict()},
            "structure": {"records": self.records, "scale": asdict(self.scale)},
            "sensitive": list(self.sensitive),
            "models": [dict(model) for model in self.models],
            "suppression_limit": self.suppression_limit,
            "versions": versions(),
        }


def describe_rating_model(model: RatingAnonymity) -> dict[str, Any]:
    """Return the model as name and parameters."""
    return {"name": model.name, **model.parameters()}


def build_rating_model(entry: Mapping[str, Any]) -> RatingAnonymity | None:
    """Return the model that an entry describes, or None when this version does not know it or its parameters."""
    if entry["name"] != RatingAnonymity.name:
        return None
    try:
        return RatingAnonymity(**{key: value for key, value in entry.items() if key != "name"})
    except TypeError:
        return None


def read_rating_description(text: str) -> tuple[RatingDescription, TableFacts]:
    """Parse ``release.json``; return the description and what it says of the file.

    Raises
    ------
    VerificationError
        When it is not one, or is of a later format.
    """
    try:
        content = unambiguous(text)
        if content["format"] != FORMAT:
            raise VerificationError(
                "release.json: is of a format that this version does not know; verify it with a newer sfumato"
            )
        return _description(content), _facts(content["tables"])
    except VerificationError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, SfumatoError):
        raise VerificationError("release.json: is damaged; the release cannot be verified") from None


def _facts(tables: Mapping[str, Any]) -> TableFacts:
    if list(tables) != [TABLE]:
        raise ValueError("other tables")
    return TableFacts.of(tables[TABLE])


def _description(content: Mapping[str, Any]) -> RatingDescription:
    structure = content["structure"]
    models = content["models"]
    limit = content["suppression_limit"]
    if not isinstance(models, list) or not models or not all(isinstance(model["name"], str) for model in models):
        raise TypeError
    if not 0 <= limit <= 1:
        raise ValueError
    for model in models:
        build_rating_model(model)
    scale = Scale(**structure["scale"])
    return RatingDescription(
        _count(structure["records"]), scale, _names(content["sensitive"]), tuple(models), float(limit)
    )


def _names(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise TypeError
    return tuple(given)


def _count(given: Any) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise ValueError
    return given
