"""The verb of the recipient: open a release where it lies, and recount it from its published data alone.

Nothing here knows how a release is made; no algorithm is even loaded.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from os.path import isdir
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, SfumatoError, VerificationError, raise_all
from sfumato.models.protocol import Check, Outcome, compared_with_original, of_population
from sfumato.progress import Progress, beating, shown
from sfumato.published import Published
from sfumato.published.checks.generalized import Attested, Verification, suppression_check
from sfumato.published.checks.recount import recount
from sfumato.published.protocol import Roles, roles_of
from sfumato.registry import OWN_KINDS, loaded
from sfumato.release.agreement import PublishedPolicy, attack_checks, label_checks, policy_checks, table_differences
from sfumato.release.audit import Audit
from sfumato.release.description import (
    Description,
    TableFacts,
    build_model,
    described_models,
    own_kind,
    read_description,
)
from sfumato.release.release import Release
from sfumato.release.table_files import read_published_files, stored_text_checks, text_checks
from sfumato.release.transaction import MARK, SIGNATURE, no_release
from sfumato.table.databases.address import is_database
from sfumato.table.reading import PopulationError
from sfumato.table.sources.other_files import STORES, scheme_of
from sfumato.table.table import Table
from sfumato.table.writing import sha256_of
from sfumato.whole_files import read_regular_text

if TYPE_CHECKING:
    from sfumato.release.own_kinds import OwnRelease
    from sfumato.release.stored import StoredRelease


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseFolder:
    """What a folder says about itself; its tables are read when they are asked for."""

    path: Path
    description: Description
    files: Mapping[str, TableFacts]  # what ``release.json`` says of the file of each table
    policy: PublishedPolicy

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns of all tables."""
        return tuple(name for entry in self.files.values() for name in entry.columns)

    def read(self) -> tuple[Published, tuple[Check, ...]]:
        """Read every table; tell of each file whether it is the one that was written."""
        return read_published_files(self.path, self.description, self.files)


@dataclass(frozen=True, eq=False, repr=False)
class OpenedRelease:
    """Published tables, and what the release says of how they came about."""

    published: Published
    description: Description | None = None  # None where somebody handed in nothing but tables
    policy: PublishedPolicy = field(default_factory=PublishedPolicy)
    files: Mapping[str, TableFacts] = field(default_factory=dict)  # empty for what is in memory


def read_release(release: object) -> OpenedRelease:
    """Take a release, read a release folder or one in a database, or take published tables as they are."""
    if isinstance(release, Release):
        return OpenedRelease(release.published, release.description, PublishedPolicy(release.policy))
    if isinstance(release, Published) and not isinstance(release, type):
        return OpenedRelease(release)
    if not isinstance(release, (str, Path)):
        raise InputError("is no release; give a release, the folder of one, or published tables")
    if is_database(release):
        from sfumato.release.stored import stored_release

        stored = stored_release(str(release), None)
        return OpenedRelease(stored.published, stored.description, stored.policy, stored.facts)
    folder = open_folder(Path(release))
    published, _ = folder.read()
    return OpenedRelease(published, folder.description, folder.policy, folder.files)


def refuse_swapped(original: object, call: str) -> None:
    """Raise ``InputError`` when a release stands where a call takes the original."""
    is_folder = isinstance(original, (str, Path)) and isdir(original) and not no_release(Path(original))
    if is_folder or (isinstance(original, (Release, Published)) and not isinstance(original, type)):
        raise InputError(f"the release stands where the original belongs; the call is {call}")


def open_folder(folder: Path) -> ReleaseFolder:
    """Read what a release folder says about itself; refused when damaged, of a later format, or of ratings."""
    return opened_folder(folder, mark_of(folder))


def mark_of(folder: Path) -> str:
    """Return the text of the ``release.json`` of a folder. Raises ``InputError`` when there is none."""
    if problem := no_release(folder):
        raise InputError(problem)
    return read_regular_text(folder / MARK, errors="replace")


def opened_folder(folder: Path, mark: str) -> ReleaseFolder:
    """Return a folder whose ``release.json`` has been read."""
    description, files = read_description(mark)
    return ReleaseFolder(folder, description, files, PublishedPolicy.of_folder(folder))


Engine = Literal["auto", "memory", "spark"]
"""Who counts."""

LOG = logging.getLogger("sfumato.release")


def verify(
    release: str | Path | Release | OwnRelease,
    *,
    audit: str | Path | None = None,
    schema: str | None = None,
    population: object = None,
    engine: Engine = "auto",
    key: str | Path | None = None,
    revocations: str | Path | None = None,
    progress: Progress = shown,
) -> Verification:
    """Recount every promise of a release from its published data.

    Parameters
    ----------
    release
        A release folder, or a release in memory; also of ratings, sets or noisy counts; or the URL of a database that
        holds one.
    audit
        The steward's audit file of a release about people who have several records. With it people are recounted;
        without it they are attested by whoever made the release, and no promise is said to hold.
    population
        Everybody who might be in the table, for promises about them: original values, read by
        :func:`sfumato.read_table` with the hierarchies that the release was made with. Without it such promises are
        not verifiable, and not said to hold.
    schema
        Where the release lies in a database. The order of its rows is no part of it.
    engine
        Who counts. ``"auto"``: the database in which a release lies; else this machine, a release in parts never
        holding all of it. ``"memory"``: this machine, the whole table in memory. ``"spark"``: the server that
        ``SPARK_REMOTE`` names, or an active session; `release` is then a folder as the server sees it, which may lie
        in a store that only the server reaches. Whoever counts, the same code here judges, by the totals of the whole
        table.
    key
        File with the public key of whoever signed the folder: broken unless every file, and no other, is signed with
        it. Without it a signed folder is said to be signed, its key not checked.
    revocations
        With `key`: a statement that takes signatures back, or a folder of such statements.
    progress
        Called with what is being done, how much is done and the total, at least twice a second; it may raise to stop.
        The work is then done in a thread of its own. Not called while Spark counts.

    Returns
    -------
    Verification
        ``ok`` is False when a promise is broken, when a model is not known here so that nobody has recounted it, when
        the data file is not the one that was written, or when ``policy.toml`` and ``release.json`` do not say the same
        models, roles and suppression limit. What the release alone cannot decide is reported as not verifiable, never
        as holding. ``roles`` says what every published column was taken for.

    Raises
    ------
    VerificationError
        When the folder is no release or is damaged so that nothing can be counted.
    InputError
        With what is wrong with the table of the population, or when this is no release at all.
    PolicyError
        When the engine is unknown, or cannot count this.
    """
    signed = _Signed(None if key is None else Path(key), None if revocations is None else Path(revocations))
    raise_all(PolicyError, [*_engine_problems(engine, release, audit, population), *signed.problems(release, engine)])
    asked = _Asked(audit, schema, population, engine)
    if engine == "spark":
        # An active session is known to the thread of the caller alone.
        found = _verified(release, asked)
    else:

        def work(beat: Progress) -> Verification:
            beat("recounting", 0, 1)
            return _verified(release, asked)

        found = beating(progress, "recounting", work)
    found = replace(found, checks=(*found.checks, *signed.checks(release, engine)))
    LOG.info("%s: %s", _name(release), "verified" if found.ok else "not verified")
    return found


def _name(release: object) -> str:
    is_path = isinstance(release, (str, os.PathLike)) and not is_database(release)
    return Path(str(release)).name if is_path else "release"


@dataclass(frozen=True, eq=False, repr=False)
class _Asked:
    """What else a recount is told; see :func:`verify`."""

    audit: str | Path | None
    schema: str | None
    population: Any
    engine: Engine


@dataclass(frozen=True)
class _Signed:
    """By which key a folder has to be signed, and what takes signatures back; see :func:`verify`."""

    key: Path | None
    revocations: Path | None

    def problems(self, release: object, engine: str) -> Iterator[str]:
        """Say what does not go together."""
        if self.revocations is not None and self.key is None:
            yield "revocations: says which signatures of a key do not count; give the key, too (key=, --key)"
        if self.key is not None and not self._is_folder(release, engine):
            yield "key: folders on this machine are signed; leave the key out"

    def checks(self, release: object, engine: str) -> tuple[Check, ...]:
        """Check the signature of a folder."""
        if not self._is_folder(release, engine):
            return ()
        folder = Path(str(release))
        if self.key is None and not (folder / SIGNATURE).exists():
            return ()
        from sfumato.release.signature import signature_checks

        return signature_checks(folder, self.key, self.revocations)

    @staticmethod
    def _is_folder(release: object, engine: str) -> bool:
        return isinstance(release, (str, os.PathLike)) and engine != "spark" and not is_database(release)


class _CannotCountError(PolicyError):
    """The engine that was asked for cannot count such a release."""


def _engine_problems(engine: str, release: object, audit: str | Path | None, population: object) -> Iterator[str]:
    if engine not in get_args(Engine):
        yield f"engine: must be one of {', '.join(get_args(Engine))}"
    if engine != "spark":
        if scheme_of(release) in STORES:
            yield "engine: an address of a store is read by Spark; use --engine spark, or copy the folder here"
        return
    if not isinstance(release, (str, os.PathLike)):
        yield "engine: Spark counts folders; leave the engine out to recount what is in memory"
    elif is_database(release):
        yield "engine: a release in a database is counted there; leave the engine out"
    if audit is not None:
        yield "engine: Spark counts records, and an audit file tells people apart; use --engine memory"
    if population is not None:
        yield "engine: a population is counted here; use --engine memory"


def _verified(release: Any, asked: _Asked) -> Verification:
    audit, schema, population = asked.audit, asked.schema, asked.population
    if isinstance(release, Release):
        people = None if release.audit is None else release.audit.pseudonyms
        policy = PublishedPolicy(release.policy)
        return _recount(release.published, release.description, policy, people=people, population=population)
    if not isinstance(release, (str, os.PathLike)):
        from sfumato.release.own_kinds import OwnRelease, among

        if not isinstance(release, OwnRelease):
            raise InputError("release: is neither a release nor the path or address of one")
        return release.recount(**among(release.kind, population))
    if is_database(release):
        from sfumato.release.stored import Shelf

        # A URL that cannot be meant is a fault of whoever asks.
        Shelf.of(str(release), schema)
    try:
        private = None if audit is None else Path(audit)
        if asked.engine == "spark":
            return _recount_on_spark(str(release))
        if is_database(release):
            from sfumato.release.stored import stored_release

            # People are told apart record by record.
            grouped = asked.engine == "auto" and audit is None
            stored = stored_release(str(release), schema, grouped=grouped)
            return _recount_stored(stored, private, population)
        return _recount_folder(Path(release), private, population, whole=asked.engine == "memory")
    except (VerificationError, PopulationError, _CannotCountError):
        raise
    except SfumatoError as error:
        # What is wrong with a table that somebody hands in is, of a release, a promise that does not hold.
        raise VerificationError(*error.problems) from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else "unknown reason"
        raise VerificationError(f"{release}: cannot be read ({reason})") from None


def _recount_on_spark(address: str) -> Verification:
    from sfumato.release.parts import counted_by_record, parts_recount
    from sfumato.release.spark_folder import spark_folder

    with spark_folder(address) as folder:
        if not counted_by_record(folder.description):
            raise _CannotCountError(
                "engine: Spark counts the records of generalized tables, class by class. This release is about people, "
                "of another kind, or about single published values; use --engine memory"
            )
        if folder.description.cells is not None:
            raise _CannotCountError("engine: Spark recounts no second form of cells; use --engine memory")
        counted = parts_recount(folder.records(), folder.description)
        beside = partial(stored_text_checks, folder.texts, folder.description.suppression_limit)
        first = (*folder.checks(counted.records), *label_checks(folder.policy, None))
        roles = counted.roles or Roles()
        return _with_files(counted, folder.description, folder.policy, roles, first, beside)


def _recount_folder(folder: Path, audit: Path | None, population: Any, *, whole: bool) -> Verification:
    mark = mark_of(folder)
    kind = own_kind(mark)
    if kind is not None:
        found: Verification = OWN_KINDS[kind].verify_folder(folder, mark, population)
        return found
    opened = opened_folder(folder, mark)
    if (
        not whole
        and population is None
        and opened.description.cells is None
        and any(entry.parts for entry in opened.files.values())
    ):
        from sfumato.release.parts import recounted_in_parts

        rows = sum(entry.rows for entry in opened.files.values())
        people = None if audit is None else _people_of(audit, opened, rows)
        if counted := recounted_in_parts(opened.path, opened.description, opened.files, people=people):
            return judge_description(counted[0], opened, mark, counted[1])
    return recounted(opened, mark, *opened.read(), audit, population)


def judge_description(
    counted: Verification, opened: ReleaseFolder, mark: str, integrity: tuple[Check, ...]
) -> Verification:
    """Add to a recount what is said of the files beside the table, and of models that nobody here knows."""
    roles = Roles() if counted.roles is None else counted.roles
    first = (*integrity, *label_checks(opened.policy, None))
    return _with_files(counted, opened.description, opened.policy, roles, first, _beside(opened, mark))


def _beside(opened: ReleaseFolder, mark: str) -> Callable[..., tuple[Check, ...]]:
    cells = opened.description.cells
    tables = [entry.file for entry in opened.files.values()] + ([cells.file.file] if cells else [])
    folders = [entry.file for entry in opened.files.values() if entry.parts]
    limit = opened.description.suppression_limit
    return partial(text_checks, opened.path, mark, tables, limit, folders=folders)


def recounted(
    opened: ReleaseFolder,
    mark: str,
    published: Published,
    integrity: tuple[Check, ...],
    audit: Path | None = None,
    population: Table | None = None,
) -> Verification:
    """Recount a folder whose tables have been read, and which is not one of ratings; see :func:`verify`."""
    people = None if audit is None else _people_of(audit, opened, published.tables["data"].height)
    if opened.description.cells is not None:
        integrity = (*integrity, *loaded("sfumato.release.cell_file:cell_checks")(opened, published))
    return _recount(published, opened.description, opened.policy, integrity, _beside(opened, mark), people, population)


def _people_of(audit: Path, opened: ReleaseFolder, rows: int) -> NDArray[np.int32]:
    """Read the audit file of a folder; of a table in parts it is bound to the hash of all parts, which are checked."""
    facts = _audited(audit, opened.description, opened.files)
    hashed = facts.sha256 if facts.parts else sha256_of(opened.path / facts.file)
    return Audit.read(audit, facts.file, hashed, rows).pseudonyms


def _recount_stored(stored: StoredRelease, audit: Path | None, everybody: Table | None) -> Verification:
    published, people = stored.published, None
    if audit is not None:
        name = _audited(audit, stored.description, stored.facts).file
        # The order in which an audit file numbers rows is the canonical one, in which they have been put.
        people = Audit.read(audit, name, stored.hashes["data"], published.tables["data"].height).pseudonyms
    beside = partial(stored_text_checks, stored.texts, stored.description.suppression_limit)
    return _recount(published, stored.description, stored.policy, stored.checks, beside, people, everybody)


def _audited(audit: Path, description: Description, facts: Mapping[str, TableFacts]) -> TableFacts:
    """Return the table whose rows an audit file numbers, or refuse the file where it says nothing."""
    if description.people is None:
        raise InputError(f"{audit.name}: every record of this release is a person of its own; leave the audit file out")
    if description.people == "published":
        raise InputError(f"{audit.name}: this release says itself who is who; leave the audit file out")
    return facts["data"]


def _nothing_beside(counted: Verification, *, unknown: int) -> tuple[Check, ...]:
    """Say nothing of files: there are none in memory."""
    return ()


def _recount(
    published: Published,
    description: Description,
    policy: PublishedPolicy,
    first: tuple[Check, ...] = (),
    beside: Callable[..., tuple[Check, ...]] = _nothing_beside,
    people: NDArray[np.int32] | None = None,
    population: Table | None = None,
) -> Verification:
    known = described_models(description)
    if not description.suppression_limit:
        known = compared_with_original(known, None)
    whom: NDArray[np.int32] | Attested | None = description.attested if people is None else people
    if population is not None and not of_population(known):
        raise PopulationError("population: no promise of this release speaks of a population; leave it out")
    if population is not None and not isinstance(population, Table):
        raise PopulationError("population: is not a Table; read it with sfumato.read_table and the policy")
    register = None
    if population is not None:
        from sfumato.published.checks.population import Register

        register = Register(population, policy.recoding())
    counted = recount(published, known, description.attributes(), whom, register)
    labels = label_checks(policy, published)
    return _with_files(counted, description, policy, roles_of(published), (*first, *labels), beside)


def _with_files(
    counted: Verification,
    description: Description,
    policy: PublishedPolicy,
    roles: Roles,
    first: tuple[Check, ...],
    beside: Callable[..., tuple[Check, ...]],
) -> Verification:
    unknown = tuple(
        Check(f"model {entry.get('name')}", Outcome.UNDECIDABLE, detail="this version does not know the model")
        for entry in description.models
        if build_model(entry) is None
    )
    differences = partial(table_differences, description=description, roles=roles)
    agreement = policy_checks(policy, differences)
    attested = *attack_checks(policy), *_of_all_records(description), suppression_check(description.suppression_limit)
    # The report of a release counts no people whom it does not show, whoever holds the audit file.
    verification = counted.without_people() if description.people == "audit" else counted
    files = beside(verification.without_population(), unknown=len(unknown))
    return replace(counted, checks=(*first, *counted.checks, *unknown, *agreement, *files, *attested))


def _of_all_records(description: Description) -> tuple[Check, ...]:
    """Say that nobody can recount what is left to who knows all records of a person, where these lie apart."""
    if description.rows == "together":
        return ()
    if description.rows == "household":
        sentence = "which rows are of one household is not published"
        return (Check("households alike, member by member", Outcome.UNDECIDABLE, detail=sentence, required=False),)
    least = description.all_records_k
    promise = "all-records k (not promised)" if least is None else f"all-records k ({least:,})"
    detail = "records of a person may lie in different classes, and which of them do is not published"
    return (Check(promise, Outcome.UNDECIDABLE, detail=detail, required=False),)
