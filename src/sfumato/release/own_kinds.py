"""Releases that are no table of records: how every kind is described, written into a folder, and recounted from one.

A kind gives what differs, in its folder of :mod:`sfumato.kinds`. Nothing here knows how a release is made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import polars as pl

from sfumato.errors import InputError, PolicyError, VerificationError, raise_all
from sfumato.models.protocol import Check, Outcome
from sfumato.published.checks.generalized import Verification, suppression_check
from sfumato.release.agreement import (
    Difference,
    PublishedPolicy,
    known_own_model,
    limit_differences,
    model_differences,
    policy_checks,
)
from sfumato.release.description import (
    FORMAT,
    OwnModel,
    TableFacts,
    build_own_model,
    describe_own_model,
    own_promises,
    read_own_description,
    versions,
)
from sfumato.release.formulas import Formulas, cells_like_formulas
from sfumato.release.reports import KindReport
from sfumato.release.table_files import (
    Reported,
    has_rows,
    integrity,
    refuse_missing,
    text_checks,
    write_text_tables,
    write_texts,
    wrong_types,
)
from sfumato.release.transaction import whole_folder
from sfumato.table.reading import PopulationError, read_written
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.sources import open_source
from sfumato.table.sources.protocol import CsvFormat
from sfumato.table.writing import Format

Structure = TypeVar("Structure")
Shown = TypeVar("Shown")


@dataclass(frozen=True)
class OwnDescription(Generic[Structure]):
    """What ``release.json`` says: the files, how the tables hang together, models by name and parameters, the limit."""

    facts: Mapping[str, TableFacts]
    structure: Structure
    models: tuple[Mapping[str, Any], ...]
    suppression_limit: float


def names_above(name: str, broader: Mapping[str, str], what: str) -> list[str]:
    """Return what stands above a name by ``release.json``, the next coarser one first; `what`: the names, in words."""
    found: list[str] = []
    while name in broader:
        name = broader[name]
        if name in found or len(found) > len(broader):
            raise VerificationError(f"release.json names {what} above each other in a circle; it was changed")
        found.append(name)
    return found


class OwnKind(ABC, Generic[Structure, Shown]):
    """A kind of release as its verifier knows it: what differs from other kinds.

    `name`: in ``release.json``. `model`: the class of what it promises. `numbers`: columns of its tables that are read
    as numbers, and their types; all others are texts. `optional`: columns that a table may lack. `suppresses`: whether
    records may be left out, so that it is said that nobody can see how many were. `evidence`: where the function stands
    that finds what the steward's evidence says of it, as ``module:name``; `release`: where the class of releases is;
    `population`: where the function is that reads one, by the path of a policy. Who has one recounts with it, too.
    `pictures`: where the function is that draws the published tables, SVG by title.

    For the evidence: `meaning`, what a release holds and, after a semicolon, what was done; `promise`, what a model
    says with its parameters; `unplayed`, why no attack answers a question; `tallies`, columns that number people;
    `compares`, whether its attacks are also played on people who are not in the data.
    """

    name: ClassVar[str]
    model: ClassVar[type[OwnModel]]
    numbers: ClassVar[Mapping[str, Any]] = {}
    optional: ClassVar[frozenset[str]] = frozenset()
    suppresses: ClassVar[bool] = False
    evidence: ClassVar[str] = ""
    release: ClassVar[str] = ""
    population: ClassVar[str] = ""
    pictures: ClassVar[str] = ""
    meaning: ClassVar[str] = ""
    promise: ClassVar[str] = ""
    unplayed: ClassVar[Mapping[str, str]] = {}
    tallies: ClassVar[frozenset[str]] = frozenset()
    compares: ClassVar[bool] = False

    @abstractmethod
    def read_structure(self, content: Mapping[str, Any]) -> Structure:
        """Read what ``release.json`` says beside files and promises; raise ValueError, KeyError or TypeError."""

    @abstractmethod
    def columns(self, structure: Structure) -> Mapping[str, Sequence[str]]:
        """Return the tables that there have to be, and their columns."""

    @abstractmethod
    def assemble(self, tables: Mapping[str, pl.DataFrame], description: OwnDescription[Structure]) -> Shown:
        """Put the tables of a release together, or raise VerificationError."""

    @abstractmethod
    def recount(self, shown: Shown, models: Sequence[Any], structure: Structure) -> Verification:
        """Recount every promise from what is published."""

    def differences(self, policy: Mapping[str, Any], structure: Structure) -> Iterator[Difference]:
        """Compare what a policy says with the structure; models and limit are compared for all kinds."""
        return iter(())

    def describe(self, text: str) -> OwnDescription[Structure]:
        """Read ``release.json``; refused when it is not one, or is of a later format."""
        return read_own_description(text, self._description)

    def verify_folder(self, folder: Path, text: str, population: Any = None) -> Verification:
        """Recount every promise of a release folder from its published tables; `text` is its ``release.json``."""
        beside = among(self, population)
        description, tables = self.read_folder(folder, text)
        facts, limit = description.facts, description.suppression_limit
        whole = [integrity(folder / facts[name].file, facts[name], table) for name, table in tables.items()]
        built = [(str(entry["name"]), build_own_model(self.model, entry)) for entry in description.models]
        known = [model for _, model in built if model is not None]
        verification = self.recount(self.assemble(tables, description), known, description.structure, **beside)
        unknown = [
            Check(f"model {name}", Outcome.UNDECIDABLE, detail="this version does not know the model")
            for name, model in built
            if model is None
        ]
        agreement = policy_checks(PublishedPolicy.of_folder(folder), partial(self._differences, description))
        names = [entry.file for entry in facts.values()]
        counted = verification.without_population()
        texts = text_checks(folder, text, names, limit, counted, unknown=len(unknown))
        attested = [suppression_check(limit)] if self.suppresses else []
        return replace(verification, checks=(*whole, *verification.checks, *unknown, *agreement, *texts, *attested))

    def read_folder(self, folder: Path, text: str) -> tuple[OwnDescription[Structure], dict[str, pl.DataFrame]]:
        """Read a release folder, and recount nothing; errors as of `verify_folder`."""
        description = self.describe(text)
        refuse_missing(folder, description.facts)
        expected, facts = self.columns(description.structure), description.facts
        return description, {name: self._table(folder / one.file, one, expected[name]) for name, one in facts.items()}

    def _description(self, content: Mapping[str, Any]) -> OwnDescription[Structure]:
        models, limit = own_promises(content, self.model)
        structure = self.read_structure(content)
        facts = {name: TableFacts.of(entry) for name, entry in content["tables"].items()}
        if facts.keys() != self.columns(structure).keys():
            raise ValueError("other tables")
        if len({entry.file for entry in facts.values()}) < len(facts) or any(entry.parts for entry in facts.values()):
            raise ValueError("other files")
        return OwnDescription(facts, structure, models, limit)

    def _table(self, path: Path, facts: TableFacts, expected: Sequence[str]) -> pl.DataFrame:
        """Read a table: some columns as numbers, everything else as text."""
        names = open_source(path, CsvFormat(strip=False)).names
        if sorted(names) != sorted(facts.columns) or sorted({*names} - self.optional) != sorted({*expected}):
            raise InputError(f"{path.name}: has other columns than release.json says; it was changed")
        if not has_rows(path):
            return pl.DataFrame({name: pl.Series([], dtype=self.numbers.get(name, pl.String)) for name in names})
        text, number = Attribute(kind=Kind.CATEGORICAL), Attribute(kind=Kind.NUMERIC)
        kinds = {name: number if name in self.numbers else text for name in names}
        return read_written(path, Schema(quasi_identifying=kinds)).frame.select(names)

    def _differences(self, description: OwnDescription[Structure], policy: Mapping[str, Any]) -> Iterator[Difference]:
        said = {"name": self.model.name, **policy["model"]}
        promised = (known_own_model(self.model, entry) for entry in description.models)
        yield from model_differences([known_own_model(self.model, said)], promised)
        yield from self.differences(policy, description.structure)
        yield from limit_differences(policy, description.suppression_limit)


def among(kind: OwnKind[Any, Any], population: object) -> dict[str, Any]:
    """Return a population as an argument of recounts; ``PopulationError`` where a kind knows none."""
    if population is not None and not kind.population:
        raise PopulationError("population: no promise of this release speaks of a population; leave it out")
    return {} if population is None else {"population": population}


@dataclass(frozen=True)
class Written:
    """What a folder holds of a release: its tables, what ``release.json`` says of them, and the report."""

    tables: Mapping[str, pl.DataFrame]
    structure: Mapping[str, Any]
    report: Reported
    sensitive: Any = field(default_factory=dict)
    suppression_limit: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)


class OwnRelease(ABC):
    """A release in memory that is no table of records; it holds, or it cannot be made, by `made_by`."""

    kind: ClassVar[OwnKind[Any, Any]]
    made_by: ClassVar[str]
    policy_kind: ClassVar[type]
    settings: ClassVar[tuple[str, ...]] = ()
    """The keys of a policy that say how such a release is made."""

    def __post_init__(self) -> None:
        """Refuse what does not hold."""
        made: Any = self
        if not made.verification.ok:
            raise VerificationError("the release was not found to keep its promises; nothing is published")

    @property
    @abstractmethod
    def costs(self) -> Sequence[str]:
        """What was published and lost, in a line each that begins with a word and blanks."""

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Every published table under the name of its file, without ending."""
        made: Any = self
        tables: Mapping[str, pl.DataFrame] = made.published.tables
        return tables

    @property
    @abstractmethod
    def report(self) -> Reported:
        """The report, in the steward's edition."""

    @abstractmethod
    def recount(self) -> Verification:
        """Recount every promise from what is published alone."""

    @abstractmethod
    def written(self, policy: Any, formulas: Formulas | None) -> Written:
        """Return what is written into a folder; None: cells that begin like a formula are no danger to the format."""

    def contradictions(self, policy: Any) -> Iterator[str]:
        """Say what a policy says otherwise than the release was made with."""
        made: Any = self
        if policy.to_model() != made.model:
            yield "the policy says another model than the release was made with"
        for name in self.settings if made.policy is not None else ():
            if getattr(made.policy, name) != getattr(policy, name):
                yield f"the policy says another {name.replace('_', '-')} than the release was made with"

    def cells_like_formulas(self) -> dict[str, int]:
        """Count the published cells that begin like a formula, by column."""
        return cells_like_formulas(list(self.tables.values()))


class ChangedRelease(OwnRelease):
    """Rows of people, of which something was left out or made coarser so that a model holds."""

    limits: ClassVar[tuple[str, ...]]
    """What such a release does not hide."""

    @abstractmethod
    def reported(self, policy: Any) -> KindReport:
        """Return the report, in the steward's edition, as of a policy."""

    @property
    def report(self) -> KindReport:
        """The report, in the steward's edition."""
        made: Any = self
        return self.reported(made.policy)

    def report_of(self, policy: Any, **figures: Any) -> KindReport:
        """Return the report with what all kinds have in common."""
        made: Any = self
        occasion = {} if policy is None else {"purpose": policy.purpose, "recipient": policy.recipient}
        return KindReport(kind=self.kind.name, limits=self.limits, notes=made.notes, **occasion, **figures)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON; nothing about single people, records or names."""
        made: Any = self
        return {
            "model": {"name": made.model.name, **made.model.parameters()},
            "verification": made.verification.to_dict(),
            "loss": made.loss.to_dict(),
            "notes": list(made.notes),
        }

    @property
    def costs(self) -> Sequence[str]:
        """What was lost, and the notes."""
        made: Any = self
        return [f"Detail       {made.loss}", *(f"Also         {each}" for each in (*self.beside_loss, *made.notes))]

    def __str__(self) -> str:
        """Return what holds, what was lost, and the notes."""
        made: Any = self
        lines = (*made.verification.checks, made.loss, *self.beside_loss, *made.notes)
        return "\n".join([repr(self), *(f"  {line}" for line in lines)])

    @property
    def beside_loss(self) -> tuple[str, ...]:
        """What else was lost, in a line each."""
        return ()


Made = TypeVar("Made", contravariant=True)
Stated = TypeVar("Stated", contravariant=True)


class Saver(Protocol[Made, Stated]):
    """Writes the folder of releases of one kind; see :func:`saver`."""

    def __call__(
        self,
        release: Made,
        folder: str | Path,
        *,
        policy: Stated | None = None,
        format: Format = "csv",
        overwrite: bool = False,
        formulas: Formulas = "keep",
    ) -> Path:
        """Write it."""
        ...


def saver(kind: type[OwnRelease], name: str, what: str, holds: str) -> Saver[Any, Any]:
    """Return the public function `name` that writes the folder of a kind: what it is of, and which files it holds."""

    def save(
        release: Any,
        folder: str | Path,
        *,
        policy: Any = None,
        format: Format = "csv",
        overwrite: bool = False,
        formulas: Formulas = "keep",
    ) -> Path:
        """Write a release folder of {what}, of which :func:`sfumato.verify` recounts what can be recounted.

        It holds {holds}, ``release.json``, ``policy.toml``, ``report.json`` and ``report.txt``; nothing of it is for
        the steward alone. The folder appears whole or not at all.

        Parameters
        ----------
        release : {kind}
            As :func:`sfumato.{made_by}` returns it: recounted before it is written.
        folder
            Where to; its parent must exist.
        policy : {policy} or None
            What the release was made from, where it is to say more than the release's own: a purpose, a recipient. It
            must say the same of how the release was made.
        format
            Of the files that hold the tables.
        overwrite
            Replace a release that is already there; anything else is never replaced. Whoever has the old one has both.
        formulas
            Of cells of CSV that begin like a formula, which a spreadsheet may run: ``"keep"`` them as they are,
            ``"escape"`` them by a ``'`` before, or ``"refuse"`` to write.

        Returns
        -------
        pathlib.Path
            The folder.

        Raises
        ------
        InputError
            When the folder cannot be written there.
        PolicyError
            When this is no such release, the policy says something else than that of the release, the format or what
            to do with formulas is unknown, formulas are refused or cannot be escaped, or what was found in the data
            (the scale of ratings) has to be declared.
        """
        return save_own(release, kind, folder, policy, format, overwrite, formulas)

    words = {"what": what, "holds": holds, "kind": kind.__name__, "policy": kind.policy_kind.__name__}
    save.__doc__ = None if save.__doc__ is None else save.__doc__.format(**words, made_by=kind.made_by)
    save.__name__ = save.__qualname__ = name
    save.__module__ = kind.__module__
    return save


def save_own(
    release: object,
    kind: type[OwnRelease],
    folder: str | Path,
    policy: Any,
    format: Format,
    overwrite: bool,
    formulas: Formulas,
) -> Path:
    """Write the folder of a release that is no table of records; raises as :func:`saver` says."""
    problems = wrong_types(release, kind, kind.made_by, policy, kind.policy_kind, format, formulas)
    if isinstance(release, kind) and isinstance(policy, kind.policy_kind):
        problems += release.contradictions(policy)
    raise_all(PolicyError, problems)
    made: Any = release
    policy = policy or made.policy
    written: Written = made.written(policy, formulas if format == "csv" else None)
    target = Path(folder)
    with whole_folder(target, overwrite=overwrite) as part:
        facts = write_text_tables(part, written.tables, format)
        content = {
            "format": FORMAT,
            "kind": kind.kind.name,
            "tables": {name: entry.to_dict() for name, entry in facts.items()},
            "structure": dict(written.structure),
            "sensitive": written.sensitive,
            "models": [describe_own_model(made.model)],
            "suppression_limit": written.suppression_limit,
            "versions": {**versions(), **written.versions},
        }
        write_texts(part, content, written.report, None if policy is None else policy.published())
    return target
