"""The steward's ledger of a series: who is in which class of which release, who waits, and what is being written.

``ledger.json`` is the only file that counts; it names all others by their hash, and is replaced in one step. A release
appears between two such steps: first the ledger says what it will be (`next`), then the folder takes its place, then
the ledger takes the new state. After a kill the hash of what lies in the folder tells which of the two states holds.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from sfumato.errors import InputError, PolicyError, SchemaError, VerificationError, raise_all, write_errors
from sfumato.policy.parts import policy_columns
from sfumato.policy.policy import Policy
from sfumato.recoding.choice import rounding_of
from sfumato.release.transaction import MARK as RELEASE_MARK
from sfumato.release.transaction import recover
from sfumato.series.description import APPEND, SeriesFolder
from sfumato.series.description import FILE as SERIES_FILE
from sfumato.series.people import PeopleOfRelease, Spellings, mark_of_series, tags_of
from sfumato.series.private_files import FILE as LOCK_FILE
from sfumato.series.private_files import (
    PRIVATE_FOLDER,
    LedgerCipher,
    PrivateFolder,
    check_key_place,
    cipher_of,
    ledger_lock,
    unchanged,
)
from sfumato.table.encoding import EncodedTable, IntervalGrid
from sfumato.table.schema import Attribute, Kind, Schema, text_of
from sfumato.table.table import Table
from sfumato.whole_files import read_regular

if TYPE_CHECKING:
    from sfumato.series.series import Series


TEXT = "text"
_TEXTS = (pl.String, pl.Categorical, pl.Enum)


@dataclass(frozen=True)
class Frozen:
    """What every later table has to have in common with the first one."""

    header: tuple[str, ...]  # all columns of the first table, those that were dropped, too
    kinds: Mapping[str, str]  # of every quasi-identifying and sensitive column
    types: Mapping[str, str]  # of every published column of the table, with ``"text"`` for any text
    insensitive: tuple[str, ...]
    # on which intervals of numbers and dates end; others join when they are first rounded
    grids: Mapping[str, IntervalGrid] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, header: Sequence[str]) -> Self:
        """Take it from the first table."""
        kinds = {name: str(kind) for name, kind in table.kinds.items()}
        types = {column.name: _type(column) for column in table.frame}
        return cls(tuple(header), kinds, types, tuple(table.schema.insensitive))

    def settled(self, policy: Policy) -> Policy:
        """Return a policy that reads every later table like the first one."""
        schema = policy.to_schema()
        columns = policy_columns(
            Schema(
                identifying=schema.identifying,
                quasi_identifying=self._with_kinds(schema.quasi_identifying),
                sensitive=self._with_kinds(schema.sensitive),
                insensitive=self.insensitive,
                others="drop",
                person=schema.person,
                wished_k=schema.wished_k,
                wished_l=schema.wished_l,
                key_form=schema.key_form,
                publish=schema.publish,
                accept=schema.accept,
            )
        )
        return policy.model_copy(update={"columns": columns})

    def _with_kinds(self, attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
        return {name: replace(attribute, kind=Kind(self.kinds[name])) for name, attribute in attributes.items()}

    def typed(self, table: Table) -> Table:
        """Return a table with the column types of the first; ``InputError`` with every column that cannot have it."""
        raise_all(InputError, self._of_other_types(table))
        return replace(table, frame=pl.DataFrame([_as(column, self.types[column.name]) for column in table.frame]))

    def _of_other_types(self, table: Table) -> Iterator[str]:
        for column in table.frame:
            found, expected = _type(column), self.types[column.name]
            if found != expected and not _fits(column, expected):
                yield (
                    f"column {column.name!r} holds {_in_words(found)}, and {_in_words(expected)} in the series so far; "
                    "convert it"
                )

    def on_grids(self, encoded: EncodedTable) -> EncodedTable:
        """Return codes whose intervals end on the grids of the series."""
        attributes = tuple(replace(each, rounding=self.grids.get(each.name)) for each in encoded.attributes)
        return replace(encoded, attributes=attributes)

    def with_grids(self, encoded: EncodedTable) -> Frozen:
        """Return it with the grids of attributes that have none yet."""
        found = {each.name: rounding for each in encoded.attributes if (rounding := rounding_of(each)) is not None}
        return replace(self, grids={**found, **self.grids})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "header": list(self.header),
            "kinds": dict(self.kinds),
            "types": dict(self.types),
            "insensitive": list(self.insensitive),
            "grids": {name: grid.to_dict() for name, grid in self.grids.items()},
        }

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Build it from plain values, or raise KeyError, TypeError or ValueError."""
        grids = {name: IntervalGrid.of(grid) for name, grid in values["grids"].items()}
        header, insensitive = tuple(values["header"]), tuple(values["insensitive"])
        return cls(header, dict(values["kinds"]), dict(values["types"]), insensitive, grids)


def _type(column: pl.Series) -> str:
    return TEXT if isinstance(column.dtype, _TEXTS) else str(column.dtype)


def _fits(column: pl.Series, dtype: str) -> bool:
    """Tell whether values may be written as the first table has them: whole numbers as others, anything as text."""
    empty = column.null_count() == len(column) and dtype in _NAMED
    return empty or dtype == TEXT or (dtype == str(pl.Float64) and column.dtype.is_integer())


def _as(column: pl.Series, dtype: str) -> pl.Series:
    if _type(column) == dtype:
        return column
    if dtype == TEXT:
        return text_of(column).alias(column.name)
    return column.cast(_NAMED[dtype])


_NAMED: dict[str, pl.DataType] = {str(dtype): dtype() for dtype in (pl.Int64, pl.Float64, pl.Boolean, pl.Date)}


def _in_words(type: str) -> str:
    words = {str(pl.Int64): "whole numbers", str(pl.Float64): "numbers with fractions", TEXT: "text"}
    return words.get(type, type.lower())


FILE = "ledger.json"
FORMAT = 2
FIRST_FORMAT = 1
"""Of ledgers that name no rule for keys, and compare them as :func:`~sfumato.series.people.plain_keys`."""
KEY_RULE = "asked"
"""Spellings that may be one person's are asked about, over all releases; see decision 46."""
KEY_BYTES = 32
STEMS = ("people-", "rows-", "waiting-", "kept-", "keys-")
"""How the names of its other files begin."""
STILL_POSSIBLE = (
    "the releases stand, and sfumato verify recounts them; put a copy of the ledger back, or start another "
    "series with people who are in none of these releases"
)


@dataclass(frozen=True)
class PrivateFile:
    """A file of the ledger: its name, and the sha256 that it must have."""

    name: str
    sha256: str

    @classmethod
    def write(cls, files: PrivateFolder, stem: str, content: bytes) -> Self:
        """Write a file under a name that no other has."""
        name = f"{stem}-{secrets.token_hex(4)}"
        return cls(name, hashlib.sha256(files.write(name, content)).hexdigest())

    def read(self, files: PrivateFolder) -> bytes:
        """Return the content. Raises ``VerificationError`` when the file is missing or was changed."""
        try:
            stored = read_regular(files.path / self.name)
        except OSError:
            raise VerificationError(f"{files.path}: {self.name} is missing; {STILL_POSSIBLE}") from None
        if hashlib.sha256(stored).hexdigest() != self.sha256:
            raise VerificationError(f"{files.path}: {self.name} was changed or is damaged; {STILL_POSSIBLE}")
        return files.content(self.name, stored)

    def again(self, old: PrivateFolder, new: PrivateFolder) -> PrivateFile:
        """Write its content as another folder encrypts it, under another name."""
        return self.write(new, self.name.rpartition("-")[0], self.read(old))


@dataclass(frozen=True)
class LedgerEntry:
    """What the ledger says of one release."""

    release: str  # sha256 of its ``release.json``
    way: str
    # `newcomers`, `classes`: people who came with it, and their classes; everybody's classes where these grow
    newcomers: int
    classes: int
    loss: float  # normalized NCP of the newcomers' records; of everybody's where classes grow
    people: PrivateFile
    rows: PrivateFile | None = None  # which of the rows that came are of one person, where people have several

    def files(self) -> list[PrivateFile]:
        """Return its files."""
        return [file for file in (self.people, self.rows) if file is not None]

    def again(self, old: PrivateFolder, new: PrivateFolder) -> LedgerEntry:
        """Write its files as another folder encrypts them."""
        rows = None if self.rows is None else self.rows.again(old, new)
        return replace(self, people=self.people.again(old, new), rows=rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {name: value for name, value in asdict(self).items() if name != "rows" or value is not None}

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Build it from plain values, or raise KeyError, TypeError or ValueError."""
        files = {name: PrivateFile(**values[name]) for name in ("people", "rows") if name in values}
        return cls(**{**values, **files})


@dataclass(frozen=True)
class Waiting:
    """People who wait for the next release: how many, and the file with their records."""

    people: int
    file: PrivateFile


@dataclass(frozen=True)
class LedgerKeys:
    """What was answered about spellings of keys, and the file with everybody's :class:`Spellings`."""

    form: str | None
    file: PrivateFile


@dataclass(frozen=True)
class State:
    """Everything of a ledger that changes.

    What is frozen, the releases, who waits, what the last maker left, and spellings of keys where they are asked about.
    """

    frozen: Frozen | None = None
    entries: tuple[LedgerEntry, ...] = ()
    waiting: Waiting | None = None
    kept: PrivateFile | None = None
    keys: LedgerKeys | None = None

    def again(self, old: PrivateFolder, new: PrivateFolder) -> State:
        """Write all of its files as another folder encrypts them."""
        waiting, keys = self.waiting, self.keys
        return State(
            self.frozen,
            tuple(entry.again(old, new) for entry in self.entries),
            None if waiting is None else replace(waiting, file=waiting.file.again(old, new)),
            None if self.kept is None else self.kept.again(old, new),
            None if keys is None else replace(keys, file=keys.file.again(old, new)),
        )

    def files(self) -> set[str]:
        """Return the names of the files that belong to it."""
        others = (*(each.file for each in (self.waiting, self.keys) if each is not None), self.kept)
        of_releases = (file for entry in self.entries for file in entry.files())
        return {file.name for file in (*of_releases, *others) if file is not None}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "frozen": None if self.frozen is None else self.frozen.to_dict(),
            "entries": [entry.to_dict() for entry in self.entries],
            "waiting": None if self.waiting is None else asdict(self.waiting),
            "kept": None if self.kept is None else asdict(self.kept),
            **({} if self.keys is None else {"keys": asdict(self.keys)}),
        }

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Build it from plain values, or raise KeyError, TypeError or ValueError."""
        entries = map(LedgerEntry.read, values["entries"])
        frozen, waiting, kept, keys = values["frozen"], values["waiting"], values.get("kept"), values.get("keys")
        return cls(
            None if frozen is None else Frozen.read(frozen),
            tuple(entries),
            None if waiting is None else Waiting(waiting["people"], PrivateFile(**waiting["file"])),
            None if kept is None else PrivateFile(**kept),
            None if keys is None else LedgerKeys(keys["form"], PrivateFile(**keys["file"])),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Ledger:
    """A ledger that was read."""

    folder: Path
    series: str  # id of the series
    key: bytes  # with which keys of people are hashed
    column: str | tuple[str, ...]  # the column that says who a record is about, or those that do so together
    policy: Policy  # as it was when the series was started, hierarchies of files included
    state: State
    next: State | None = None  # what the state will be once a release that is being written has taken its place
    way: str = APPEND  # how its releases are made
    cipher: LedgerCipher | None = None  # with which its files are encrypted
    key_rule: str | None = None  # how keys of people are compared; None: as ledgers of the first format do

    @property
    def files(self) -> PrivateFolder:
        """Where its files lie, and how they are encrypted."""
        return PrivateFolder(self.folder, self.cipher)

    @classmethod
    def open(cls, folder: Path, series: SeriesFolder, cipher: LedgerCipher | None = None) -> Ledger:
        """Read the ledger that belongs to a series, with its key."""
        if not (folder / FILE).is_file():
            raise InputError(
                f"{folder}: there is no ledger of a series here; name it with ledger= (on the command line --ledger). "
                "Without it nobody can tell who is in an earlier release, so nothing can be added. If it is lost, "
                + STILL_POSSIBLE
            )
        found = cls.read(folder, cipher)
        if not hmac.compare_digest(mark_of_series(series.description.id, found.key), series.description.ledger):
            raise InputError(
                f"{folder}: is the ledger of another series than {series.path}; name the one that was made with it"
            )
        return found

    @classmethod
    def read(cls, folder: Path, cipher: LedgerCipher | None = None) -> Ledger:
        """Read ``ledger.json``, with a key if, and only if, it is encrypted."""
        damaged = VerificationError(f"{folder}: {FILE} is damaged; {STILL_POSSIBLE}")
        try:
            content = json.loads(_decrypted(folder, cipher, damaged))
            seal, key = content.pop("seal"), bytes.fromhex(content["key"])
            if not hmac.compare_digest(seal, _seal(content, key)):
                raise damaged
            rule = content.get("key-rule")
            if (content["format"], rule) not in ((FIRST_FORMAT, None), (FORMAT, KEY_RULE)):
                raise VerificationError(f"{folder}: {FILE} is of a later format; use a newer sfumato")
            following = content["next"]
            return cls(
                folder,
                content["series"],
                key,
                tuple(content["column"]) if isinstance(content["column"], list) else content["column"],
                Policy.from_mapping(content["policy"]),
                State.read(content["state"]),
                None if following is None else State.read(following),
                content.get("way", APPEND),
                cipher,
                rule,
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, PolicyError, SchemaError):
            raise damaged from None

    def write(self) -> Ledger:
        """Replace ``ledger.json``, and return the ledger."""
        content = {
            "format": FIRST_FORMAT if self.key_rule is None else FORMAT,
            "series": self.series,
            "key": self.key.hex(),
            "column": self.column,
            "policy": self.policy.to_mapping(),
            "state": self.state.to_dict(),
            "next": None if self.next is None else self.next.to_dict(),
            "way": self.way,
            **({} if self.key_rule is None else {"key-rule": self.key_rule}),
        }
        text = json.dumps({**content, "seal": _seal(content, self.key)}, indent=1) + "\n"
        self.files.write(FILE, text.encode())
        return self

    def encrypted(self, cipher: LedgerCipher) -> Ledger:
        """Write everything anew with another key, and take the old files away; whole or not at all.

        A kill in between leaves the old ledger, or the new one, and files that the next run takes away.
        """
        changed = replace(self, state=self.state.again(self.files, PrivateFolder(self.folder, cipher)), cipher=cipher)
        changed.write().clean()
        return changed

    def recovered(self, folder: Path) -> Ledger:
        """Finish or take back what a killed run had begun, and take away the files that belong to neither state."""
        series = SeriesFolder.open(folder)
        number = len((self.next or self.state).entries) + (self.next is None)
        recover(Path(os.path.realpath(series.release(number))))
        whole = self.as_arrived(series)
        if self.next is not None:
            whole.write()
        whole.clean()
        whole.check(series)
        return whole

    def as_arrived(self, series: SeriesFolder) -> Ledger:
        """Return it with the one state that the folder shows; nothing is written."""
        if self.next is None:
            return self
        arrived = series.hash_of(len(self.next.entries)) == self.next.entries[-1].release
        return replace(self, state=self.next if arrived else self.state, next=None)

    def clean(self) -> None:
        """Take away what killed runs have left."""
        known = {FILE, LOCK_FILE, *self.state.files(), *(self.next.files() if self.next else ())}
        for path in self.folder.iterdir():
            if path.name not in known and (path.suffix == ".part" or path.name.startswith(STEMS)):
                with suppress(OSError):
                    path.unlink()

    def check(self, series: SeriesFolder) -> None:
        """Raise VerificationError when the folder does not hold just the releases that the ledger knows."""
        there, known = series.numbers, tuple(range(1, len(self.state.entries) + 1))
        if there != known:
            raise VerificationError(
                f"{series.path}: holds {_listed(there)}, and the ledger knows {_listed(known)}; put the folder and the "
                "ledger back that belong together"
            )
        changed = [n for n, entry in zip(known, self.state.entries, strict=True) if series.hash_of(n) != entry.release]
        if changed:
            raise VerificationError(
                f"{series.path}: {_listed(changed)} changed since the ledger wrote of it; put back what was published"
            )

    def people(self) -> list[PeopleOfRelease]:
        """Return the newcomers of every release."""
        return [PeopleOfRelease.read(*(file.read(self.files) for file in each.files())) for each in self.state.entries]

    @property
    def counts_people(self) -> bool:
        """Whether people may have several records, so that promises are about people."""
        return self.policy.columns.person is not None

    def tags(self, keys: pl.Series, answer: str | None = None) -> tuple[pl.Series, Spellings | None]:
        """Return who keys are about, and everybody's spellings with theirs, where the ledger keeps them.

        Raises ``PolicyError`` when the answer is another one than was given before, or this series asks nothing. Raises
        ``InputError`` when keys may be other spellings of each other's, or of somebody's who is known.
        """
        form = self.policy.columns.key_form
        if self.key_rule is not None:
            return self.spellings().answered(answer).with_keys(keys, self.key)
        if answer not in (None, form):
            raise PolicyError(
                "key-form: this series was started by an earlier version, or with another answer. It keeps the rule "
                "for keys that it has. Leave the answer out, or start another series"
            )
        return tags_of(keys, self.key, form), None

    def spellings(self) -> Spellings:
        """Return whom the ledger knows by which spellings of their keys."""
        keys = self.state.keys
        if keys is None:
            return Spellings.none(self.policy.columns.key_form)
        return Spellings.read(keys.form, keys.file.read(self.files))

    def with_spellings(self, spellings: Spellings | None) -> LedgerKeys | None:
        """Write down everybody's spellings, where the ledger keeps them."""
        if spellings is None:
            return None
        return LedgerKeys(spellings.form, PrivateFile.write(self.files, "keys", spellings.content()))

    def kept(self) -> bytes | None:
        """Return what the maker of the last release left for the next one."""
        return None if self.state.kept is None else self.state.kept.read(self.files)

    def waiting(self) -> pl.DataFrame | None:
        """Return the records of those who wait, with their tags; None when nobody does."""
        waiting = self.state.waiting
        return None if waiting is None else pl.read_parquet(waiting.file.read(self.files))


def _decrypted(folder: Path, cipher: LedgerCipher | None, damaged: VerificationError) -> bytes:
    try:
        return PrivateFolder(folder, cipher).content(FILE, read_regular(folder / FILE))
    except VerificationError:
        raise damaged from None


def ledger_kept(series: Series) -> Ledger:
    """Read the ledger of a series."""
    return Ledger.open(series.ledger, SeriesFolder.open(series.folder), cipher_of(series.ledger_key))


def encrypt_ledger(series: Series, new_key: Path) -> None:
    """Encrypt the ledger of a series with another key; see :meth:`sfumato.Series.encrypt`."""
    check_key_place(new_key, (series.ledger, series.folder))
    cipher = cipher_of(new_key)
    assert cipher is not None
    ledger_kept(series)
    with ledger_lock(series.ledger):
        ledger_kept(series).recovered(series.folder).encrypted(cipher)


def _seal(content: Mapping[str, Any], key: bytes) -> str:
    text = json.dumps(content, sort_keys=True).encode()
    return hashlib.blake2b(text, digest_size=32, key=key, person=b"sfumato ledger").hexdigest()


def _listed(numbers: tuple[int, ...] | list[int]) -> str:
    if not numbers:
        return "no release"
    return f"release {numbers[0]}" if len(numbers) == 1 else f"releases {', '.join(map(str, numbers))}"


@contextmanager
def new_ledger(
    folder: Path,
    series: str,
    column: str | tuple[str, ...],
    policy: Policy,
    way: str = APPEND,
    cipher: LedgerCipher | None = None,
) -> Iterator[Ledger]:
    """Make the folder of a new ledger, for its owner alone; its lock is held for a block, and tells of a kill in it.

    Raises ``InputError`` when it cannot be made, or something is there that is no ledger without releases.
    """
    if not folder.parent.is_dir():
        raise InputError(f"{folder.parent}: there is no such folder; make it first")
    _make_room(folder, cipher)
    with write_errors(f"{folder}:", "; check the disk and permissions"):
        folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        folder.chmod(PRIVATE_FOLDER)
    key = secrets.token_bytes(KEY_BYTES)
    made = Ledger(folder, series, key, column, policy, State(), way=way, cipher=cipher, key_rule=KEY_RULE)
    with ledger_lock(folder):
        yield made.write()


def _make_room(folder: Path, cipher: LedgerCipher | None) -> None:
    """Take away the ledger of a start that was killed before its series was there; refuse anything else."""
    if not folder.exists() and not folder.is_symlink():
        return
    if folder.is_symlink() or not folder.is_dir():
        raise InputError(f"{folder}: is a file or a link; name a folder for the ledger")
    names = {path.name for path in folder.iterdir()}
    if _only_begun(names):
        remove_ledger(folder)
        return
    if FILE not in names:
        raise InputError(f"{folder}: is not empty and no ledger; name another folder for the ledger")
    state = Ledger.read(folder, cipher)
    if state.next is not None or state.state != State():
        raise InputError(f"{folder}: is the ledger of another series; name another folder for the ledger")
    remove_ledger(folder)


def take_back_start(folder: Path, series: Path, cipher: LedgerCipher | None) -> None:
    """Take away the ledger of a start that was killed before its series; InputError when it is another's."""
    names = {path.name for path in folder.iterdir()}
    if FILE in names:
        state = Ledger.read(folder, cipher)
        with unchanged(folder) as killed:
            begun = killed or LOCK_FILE not in names
        if state.next is not None or state.state != State() or not begun:
            raise InputError(
                f"{folder}: is the ledger of a series that does not lie at {series}; name both: sfumato settle SERIES "
                f"--ledger {folder}"
            )
    elif not _only_begun(names):
        raise InputError(f"{folder}: is no ledger; name the folder of the series, or its ledger")
    remove_ledger(folder)


def _only_begun(names: set[str]) -> bool:
    return all(name == LOCK_FILE or name.endswith(".part") for name in names)


def remove_ledger(folder: Path) -> None:
    """Take a ledger away; what says that it is one goes last, so that a kill leaves what is known."""
    for path in sorted(folder.iterdir(), key=lambda each: each.name == FILE):
        path.unlink()
    folder.rmdir()


def check_ledger_place(ledger: Path, series: Path) -> None:
    """Raise InputError when a ledger may not lie there: in a folder that is given away, or around it."""
    private, public = Path(os.path.realpath(ledger)), Path(os.path.realpath(series))
    inside = private.is_relative_to(public) or public.is_relative_to(private)
    if inside or any((above / mark).exists() for above in private.parents for mark in (RELEASE_MARK, SERIES_FILE)):
        raise InputError(f"{ledger}: the ledger is yours alone; name a place that is not in a folder you give away")
