"""What a release says about itself, for machines: the content of ``release.json``."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar, Literal, Protocol, TypeVar

from sfumato.errors import HierarchyError, SfumatoError, VerificationError
from sfumato.hierarchy.tree import Hierarchy
from sfumato.models import MODELS
from sfumato.models.protocol import PrivacyModel
from sfumato.published import KINDS, PublishedTable
from sfumato.recoding.notation import CELLS, Cells
from sfumato.registry import OWN_KINDS
from sfumato.release.formulas import escaped_rows
from sfumato.release.transaction import MARK
from sfumato.table.schema import Attribute, Kind, plain_setting

FORMAT = 2
FORMAT_OF_PEOPLE = 3
"""Of releases that promise something to people: an older program would count their records and call that enough."""
FORMAT_OF_PARTS = 4
"""Of releases whose table lies in several files."""
FORMAT_OF_CELLS = 5
"""Of releases with a second file, whose cells follow from the labels: an older program would not recount it."""
LONGEST_NAME = 255


class OwnModel(Protocol):
    """What a release promises that is no table of records."""

    name: ClassVar[str]

    def parameters(self) -> Mapping[str, Any]:
        """Return the parameters as plain values."""
        ...


Own = TypeVar("Own", bound=OwnModel)
Read = TypeVar("Read")


@dataclass(frozen=True)
class SensitiveDescription:
    """How a verifier compares the values of a sensitive attribute, by a hierarchy over published ones if any."""

    kind: Kind
    hierarchy: Mapping[str, Any] | None = None

    def attribute(self) -> Attribute:
        """Return the schema entry that reads the published column in the same way."""
        # Only rows are taken from a release: a description that names a file must not make anybody open it.
        if self.hierarchy is None:
            return Attribute(kind=self.kind)
        from sfumato.hierarchy.level_table import HierarchyTable

        rows = _rows(self.hierarchy)
        hierarchy = HierarchyTable(rows)
        if hierarchy.rows != rows:
            raise ValueError("a root would have to be added")
        return Attribute(kind=self.kind, hierarchy=hierarchy)

    def escaped(self) -> SensitiveDescription:
        """Return it for values that are escaped where they begin like a formula."""
        rows = None if self.hierarchy is None else {**self.hierarchy, "rows": escaped_rows(self.hierarchy["rows"])}
        return SensitiveDescription(self.kind, rows)


@dataclass(frozen=True)
class Description:
    """Everything that a verifier needs beside the tables.

    * `kind`: one of :data:`sfumato.published.KINDS`.
    * `structure`: how the tables hang together, as their kind says it.
    * `models`: name and parameters of every promised model.
    * `suppression_limit`: fraction of the original records.
    * `people`: whom the promises are about: None where every record is a person of its own. ``"audit"``: people may
      have several records, and only the steward's audit file says who is who inside of a class. ``"published"``: a
      column of the table says it.
    * `rows`: ``"apart"`` where the records of a person may lie in different classes; ``"household"`` where they are
      members of a household, each in a class of its own.
    * `all_records_k`: how many people are then left, at least, to whoever knows all records of somebody, if that is
      promised.
    * `cells`: the file with the cells in another form, where a folder has one.
    """

    kind: str
    structure: Mapping[str, Any]
    sensitive: Mapping[str, SensitiveDescription]
    models: tuple[Mapping[str, Any], ...]
    suppression_limit: float
    people: Literal["audit", "published"] | None = None
    rows: Literal["together", "apart", "household"] = "together"
    all_records_k: int | None = None
    cells: CellFacts | None = None

    @property
    def attested(self) -> Literal["attested"] | None:
        """What a recount is told of people: that who is who is not published, where promises are about people."""
        return "attested" if self.people == "audit" else None

    def attributes(self) -> dict[str, Attribute]:
        """Return the schema entries of the sensitive columns."""
        return {name: entry.attribute() for name, entry in self.sensitive.items()}

    def escaped(self) -> Description:
        """Return it for tables whose cells are escaped where they begin like a formula."""
        return replace(self, sensitive={name: entry.escaped() for name, entry in self.sensitive.items()})

    def to_dict(self, *, tables: Mapping[str, TableFacts]) -> dict[str, Any]:
        """Return the content of ``release.json``; `tables` describes the files."""
        cells, parts = self.cells, any(facts.parts for facts in tables.values())
        return {
            "format": _format(self.people is not None, parts, cells is not None),
            "kind": self.kind,
            "tables": {name: facts.to_dict() for name, facts in tables.items()},
            "structure": dict(self.structure),
            "sensitive": {
                name: {"kind": str(entry.kind), **({"hierarchy": entry.hierarchy} if entry.hierarchy else {})}
                for name, entry in self.sensitive.items()
            },
            "models": [dict(model) for model in self.models],
            "suppression_limit": self.suppression_limit,
            **({} if self.people is None else {"people": self.people}),
            **({} if self.rows == "together" else {"rows": self.rows}),
            **({} if self.all_records_k is None else {"all_records_k": self.all_records_k}),
            **({} if cells is None else {"cells": cells.to_dict()}),
            "versions": versions(),
        }


def _rows(hierarchy: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a hierarchy as it is written; what could be read in another way, too, is refused."""
    if hierarchy.keys() != {"kind", "rows"} or hierarchy["kind"] != "table":
        raise ValueError("no hierarchy that was written")
    return tuple(listed_names(row) for row in _entries(hierarchy["rows"]))


def _format(people: bool, parts: bool, cells: bool) -> int:
    return FORMAT_OF_CELLS if cells else FORMAT_OF_PARTS if parts else FORMAT_OF_PEOPLE if people else FORMAT


@dataclass(frozen=True)
class PartFacts:
    """What ``release.json`` says of one file of a table: its name in the folder of parts, its hash, its records."""

    file: str
    sha256: str
    rows: int


@dataclass(frozen=True)
class TableFacts:
    """What ``release.json`` says of the file of one table."""

    # Its name in the folder, never a path; in a database the name of the table. Of a table in parts: the folder that
    # holds them.
    file: str
    # Of the file; in a database of what the table holds, see :mod:`sfumato.release.stored`. Of a table in parts:
    # :func:`root_of` them.
    sha256: str
    rows: int
    columns: tuple[str, ...]
    parts: tuple[PartFacts, ...] = ()  # empty where the table is one file

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of all files of the table, from the folder of the release on."""
        return tuple(f"{self.file}/{part.file}" for part in self.parts) or (self.file,)

    @classmethod
    def in_parts(cls, folder: str, parts: Sequence[PartFacts], columns: Sequence[str]) -> TableFacts:
        """Describe a table that lies in several files of a folder."""
        return cls(folder, root_of(parts), sum(part.rows for part in parts), tuple(columns), tuple(parts))

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> TableFacts:
        """Read the entry, or raise ValueError, TypeError or KeyError."""
        columns = tuple(_text(name) for name in _entries(entry["columns"]))
        if "files" in entry:
            return cls._of_parts(entry, columns)
        return cls(_name(entry["file"]), _text(entry["sha256"]), _count(entry["rows"]), columns)

    @classmethod
    def _of_parts(cls, entry: Mapping[str, Any], columns: tuple[str, ...]) -> TableFacts:
        folders, parts = set(), []
        for part in _entries(entry["files"]):
            folder, _, file = _text(part["file"]).partition("/")
            folders.add(_name(folder))
            parts.append(PartFacts(_name(file), _text(part["sha256"]), _count(part["rows"])))
        (folder,) = folders
        found = cls.in_parts(folder, parts, columns)
        consistent = len({part.file for part in parts}) == len(parts) and found.rows == _count(entry["rows"])
        if not consistent or found.sha256 != entry["root"]:
            raise ValueError("parts that contradict each other")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the entry."""
        if not self.parts:
            return {"file": self.file, "sha256": self.sha256, "rows": self.rows, "columns": list(self.columns)}
        files = [{**asdict(part), "file": f"{self.file}/{part.file}"} for part in self.parts]
        return {"files": files, "rows": self.rows, "columns": list(self.columns), "root": self.sha256}


@dataclass(frozen=True)
class CellFacts:
    """What ``release.json`` says of the file with the cells in another form, beside the labels."""

    form: Cells
    file: TableFacts
    domain: Mapping[str, tuple[Any, ...]]  # what a ``*`` may stand for, by column

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> CellFacts:
        """Read the entry, or raise ValueError, TypeError or KeyError."""
        if entry["form"] not in CELLS[1:] or "files" in entry:
            raise ValueError("no form of cells")
        domain = {_text(name): tuple(_entries(values)) for name, values in entry["domain"].items()}
        if any(isinstance(value, (list, dict)) for values in domain.values() for value in values):
            raise ValueError("no domain")
        return cls(entry["form"], TableFacts.of(entry), domain)

    def to_dict(self) -> dict[str, Any]:
        """Return the entry."""
        domain = {name: [plain_setting(value) for value in values] for name, values in self.domain.items()}
        return {"form": self.form, **self.file.to_dict(), "domain": domain}


def root_of(parts: Iterable[PartFacts]) -> str:
    """Return the sha256 of the sorted hashes of all parts, in hexadecimal: one name for what they hold together."""
    return sha256("".join(sorted(part.sha256 for part in parts)).encode()).hexdigest()


def _name(given: Any) -> str:
    """Return the name of something in a folder; nothing that leads out of it."""
    name = _text(given)
    if name in ("", ".", "..") or not {"/", "\\", "\0"}.isdisjoint(name) or len(name) > LONGEST_NAME:
        raise ValueError("not a name")
    return name


def is_own_kind(kind: object) -> bool:
    """Tell whether releases of a kind are no table of records."""
    return isinstance(kind, str) and kind not in KINDS and kind in OWN_KINDS


def _damaged() -> VerificationError:
    return VerificationError("release.json: is damaged; the release cannot be verified")


def own_kind(text: str) -> str | None:
    """Return the kind of a release that is no table of records, from the text of its ``release.json``; else None."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    kind = content.get("kind") if isinstance(content, dict) else None
    return kind if is_own_kind(kind) else None


def refuse_own_kind(text: str) -> None:
    """Raise VerificationError where a ``release.json`` says that the release is no table of records."""
    if kind := own_kind(text):
        raise _no_table(kind)


def _no_table(kind: str) -> VerificationError:
    said = "can be verified, but not used like this; report.txt says what it lost, sfumato attack --kind plays attacks"
    return VerificationError(f"release.json: is of a release of {kind.replace('-', ' ')}, which {said}")


def unambiguous(text: str) -> Any:
    """Parse JSON of a release in which every key stands once: which of two counts is for each reader to choose."""
    return json.loads(text, object_pairs_hook=_with_each_key_once)


def _with_each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise VerificationError(f"{MARK}: names a key twice; the release cannot be verified")
    return dict(pairs)


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


def described_models(description: Description) -> list[PrivacyModel]:
    """Return the promised models that this version knows."""
    return [model for entry in description.models if (model := build_model(entry)) is not None]


def published_hierarchy(hierarchy: Hierarchy, published: set[str]) -> dict[str, Any] | None:
    """Cut a hierarchy down to the values that are published, as a table to build again; None without any."""
    nodes = hierarchy.node_of
    rows = [
        [level.labels[nodes[step, leaf]] for step, level in enumerate(hierarchy.levels)]
        for leaf, label in enumerate(hierarchy.leaves)
        if label in published
    ]
    return {"kind": "table", "rows": rows} if rows else None


def read_description(text: str) -> tuple[Description, dict[str, TableFacts]]:
    """Parse ``release.json``; return description and facts of files, or raise VerificationError."""
    try:
        content = _in_this_format(unambiguous(text))
        facts = {name: TableFacts.of(entry) for name, entry in content["tables"].items()}
        found = _description(content)
        files = [entry.file for entry in facts.values()] + ([found.cells.file.file] if found.cells else [])
        if len({*files}) < len(files):
            raise ValueError("one file for two tables")
        return found, facts
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, HierarchyError):
        raise _damaged() from None


def _in_this_format(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the content in the layout of today; the first one knew a single table of a single kind."""
    if is_format(content["format"], 1) and content["kind"] == PublishedTable.kind:
        data = content["data"]
        structure = {"quasi_identifying": content["quasi_identifying"], "sensitive": list(content["sensitive"])}
        return {**content, "tables": {"data": {**data, "rows": data["records"]}}, "structure": structure}
    if is_own_kind(content["kind"]):
        raise _no_table(content["kind"])
    parts = any("files" in entry for entry in content.get("tables", {}).values())
    known = is_format(content["format"], _format("people" in content, parts, "cells" in content))
    if not known or content["kind"] not in KINDS:
        raise VerificationError(
            "release.json: is of a format or kind that this version does not know; verify it with a newer sfumato"
        )
    return content


def is_format(given: Any, known: int) -> bool:
    """Tell whether a file says that format; neither 2.0 nor true is a number of one."""
    return type(given) is int and given == known


def _description(content: Mapping[str, Any]) -> Description:
    sensitive = {
        name: SensitiveDescription(Kind(entry["kind"]), entry.get("hierarchy"))
        for name, entry in content["sensitive"].items()
    }
    for entry in sensitive.values():
        entry.attribute()
    # A release without promises is none, but for the kinds of which nothing can be promised.
    models = _entries(content["models"]) if KINDS[content["kind"]].promising else _nothing(content["models"])
    return Description(
        content["kind"],
        _mapping(content["structure"]),
        sensitive,
        tuple({**model, "name": _text(model["name"])} for model in models),
        _fraction(content["suppression_limit"]),
        _people(content.get("people"), content["kind"], content["structure"]),
        *_rows_of_people(content),
        CellFacts.of(content["cells"]) if "cells" in content else None,
    )


def _people(given: Any, kind: str, structure: Mapping[str, Any]) -> Literal["audit", "published"] | None:
    # Numbers of people without a word of them would be one more column that nobody looks at.
    if (given == "published") != ("pseudonyms" in structure):
        raise ValueError
    if given is None:
        return None
    if given not in ("audit", "published") or kind != PublishedTable.kind:
        raise ValueError
    return "audit" if given == "audit" else "published"


def _rows_of_people(content: Mapping[str, Any]) -> tuple[Literal["together", "apart", "household"], int | None]:
    rows, least = content.get("rows"), content.get("all_records_k")
    if rows is None and least is None:
        return "together", None
    if rows == "household" and content.get("people") == "audit" and least is None:
        return "household", None
    if rows != "apart" or content.get("people") is None or (least is not None and _count(least) < 1):
        raise ValueError
    return "apart", least


def _entries(given: Any) -> list[Any]:
    """Return a list of at least one entry."""
    if not isinstance(given, list) or not given:
        raise TypeError
    return given


def _nothing(given: Any) -> list[Any]:
    if given != []:
        raise TypeError
    return []


def _mapping(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise TypeError
    return given


def _count(given: Any) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise ValueError
    return given


def _fraction(given: Any) -> float:
    if isinstance(given, bool) or not 0 <= given <= 1:
        raise ValueError
    return float(given)


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError
    return given


def listed_names(given: Any) -> tuple[str, ...]:
    """Return a list of names, or raise TypeError."""
    if not isinstance(given, list):
        raise TypeError
    return tuple(_text(name) for name in given)


def number_of_records(given: Any) -> int:
    """Return a number of records, of which there is one at least, or raise ValueError."""
    if _count(given) < 1:
        raise ValueError
    return int(given)


def own_promises(content: Mapping[str, Any], kind: type[Own]) -> tuple[Any, float]:
    """Return the models of ratings or sets, as names and parameters, and the suppression limit, or refuse them."""
    models = _entries(content["models"])
    for model in models:
        _text(model["name"])
        build_own_model(kind, model)
    return tuple(models), _fraction(content["suppression_limit"])


def describe_own_model(model: OwnModel) -> dict[str, Any]:
    """Return a model of ratings or sets as name and parameters."""
    return {"name": model.name, **model.parameters()}


def build_own_model(kind: type[Own], entry: Mapping[str, Any]) -> Own | None:
    """Return the model that an entry describes, or None when this version does not know it or its parameters."""
    if entry["name"] != kind.name:
        return None
    try:
        return kind(**{key: value for key, value in entry.items() if key != "name"})
    except TypeError:
        return None


def read_own_description(text: str, read: Callable[[Mapping[str, Any]], Read]) -> Read:
    """Parse the ``release.json`` of ratings or sets, content by `read`; ``VerificationError`` if it is none."""
    try:
        content = unambiguous(text)
        if not is_format(content["format"], FORMAT):
            raise VerificationError(
                "release.json: is of a format that this version does not know; verify it with a newer sfumato"
            )
        return read(content)
    except VerificationError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, SfumatoError):
        raise _damaged() from None
