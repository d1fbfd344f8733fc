"""What a release says about itself, for machines: the content of ``release.json``."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from sfumato.errors import HierarchyError, VerificationError
from sfumato.hierarchy import HierarchyTable
from sfumato.hierarchy.tree import Hierarchy
from sfumato.models import MODELS
from sfumato.models.protocol import PrivacyModel
from sfumato.table.schema import Attribute, Kind

FORMAT = 1
KIND = "generalized-table"
LONGEST_NAME = 255


@dataclass(frozen=True)
class SensitiveDescription:
    """How a verifier compares the values of one sensitive attribute.

    Attributes
    ----------
    kind : Kind
    hierarchy : mapping or None
        A table hierarchy over the published values alone, where the attribute has one.
    """

    kind: Kind
    hierarchy: Mapping[str, Any] | None = None

    def attribute(self) -> Attribute:
        """Return the schema entry that reads the published column in the same way."""
        # Only rows are taken from a release: a description that names a file must not make anybody open it.
        hierarchy = None if self.hierarchy is None else HierarchyTable(_rows(self.hierarchy))
        return Attribute(kind=self.kind, hierarchy=hierarchy)


@dataclass(frozen=True)
class Description:
    """Everything that a verifier needs beside the data.

    Attributes
    ----------
    quasi_identifying : tuple of str
    sensitive : mapping of str to SensitiveDescription
    models : tuple of mapping
        Name and parameters of every promised model.
    suppression_limit : float
        Fraction of the original records.
    """

    quasi_identifying: tuple[str, ...]
    sensitive: Mapping[str, SensitiveDescription]
    models: tuple[Mapping[str, Any], ...]
    suppression_limit: float

    def to_dict(self, *, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the content of ``release.json``; `data` describes the data file."""
        return {
            "format": FORMAT,
            "kind": KIND,
            "data": dict(data),
            "quasi_identifying": list(self.quasi_identifying),
            "sensitive": {
                name: {"kind": str(entry.kind), **({"hierarchy": entry.hierarchy} if entry.hierarchy else {})}
                for name, entry in self.sensitive.items()
            },
            "models": [dict(model) for model in self.models],
            "suppression_limit": self.suppression_limit,
            "versions": versions(),
        }


def _rows(hierarchy: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(str(label) for label in row) for row in hierarchy["rows"])


@dataclass(frozen=True)
class DataFacts:
    """What ``release.json`` says of the data file.

    Attributes
    ----------
    file : str
        Its name in the folder, never a path.
    sha256 : str
    """

    file: str
    sha256: str

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> DataFacts:
        """Read the entry, or raise ValueError."""
        file, sha256 = _text(entry["file"]), _text(entry["sha256"])
        if file in ("", ".", "..") or not {"/", "\\", "\0"}.isdisjoint(file) or len(file) > LONGEST_NAME:
            raise ValueError("not a name")
        return cls(file, sha256)


def versions() -> dict[str, str]:
    """Versions of what made the release."""
    found = {"python": platform.python_version()}
    for package in ("sfumato", "polars", "numpy", "numba"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found


def describe_model(model: PrivacyModel) -> dict[str, Any]:
    """Return a model as name and parameters."""
    return {"name": model.name, **{key: value for key, value in model.parameters().items() if value is not None}}


def build_model(entry: Mapping[str, Any]) -> PrivacyModel | None:
    """Return the model that an entry describes, or None when this version does not know it or its parameters."""
    parameters = {key: value for key, value in entry.items() if key != "name"}
    known = MODELS.get(str(entry.get("name")))
    if known is None:
        return None
    try:
        model: PrivacyModel = known(**parameters)
    except TypeError:
        return None
    return model


def published_hierarchy(hierarchy: Hierarchy, published: set[str]) -> dict[str, Any]:
    """Cut a hierarchy down to the values that are published anyway, as a table that a verifier can build again."""
    nodes = hierarchy.node_of
    rows = [
        [level.labels[nodes[step, leaf]] for step, level in enumerate(hierarchy.levels)]
        for leaf, label in enumerate(hierarchy.leaves)
        if label in published
    ]
    return {"kind": "table", "rows": rows}


def read_description(text: str) -> tuple[Description, DataFacts]:
    """Parse ``release.json``; return the description and what it says of the data file.

    Raises
    ------
    VerificationError
        When it is not one, or is of a later format.
    """
    try:
        content = json.loads(text)
        if content["format"] != FORMAT or content["kind"] != KIND:
            raise VerificationError(
                "release.json: is of a format or kind that this version does not know; verify it with a newer sfumato"
            )
        return _description(content), DataFacts.of(content["data"])
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, HierarchyError):
        raise VerificationError("release.json: is damaged; the release cannot be verified") from None


def _description(content: Mapping[str, Any]) -> Description:
    sensitive = {
        name: SensitiveDescription(Kind(entry["kind"]), entry.get("hierarchy"))
        for name, entry in content["sensitive"].items()
    }
    for entry in sensitive.values():
        entry.attribute()
    return Description(
        tuple(_text(name) for name in _entries(content["quasi_identifying"])),
        sensitive,
        tuple({**model, "name": _text(model["name"])} for model in _entries(content["models"])),
        _fraction(content["suppression_limit"]),
    )


def _entries(given: Any) -> list[Any]:
    """Return a list of at least one entry: a release without promises is none."""
    if not isinstance(given, list) or not given:
        raise TypeError
    return given


def _fraction(given: Any) -> float:
    if not 0 <= given <= 1:
        raise ValueError
    return float(given)


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError
    return given
