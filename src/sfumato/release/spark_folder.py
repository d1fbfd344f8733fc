"""A release folder where Spark finds it: its files listed and hashed there, and its records counted.

Nothing of it is read here but its texts, so that it may lie in a store that only the cluster reaches. Nothing here
knows how a release is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, VerificationError, raise_all
from sfumato.models.protocol import Check, Outcome
from sfumato.parallel import each
from sfumato.published.protocol import named
from sfumato.release.agreement import FILE, PublishedPolicy
from sfumato.release.description import Description, TableFacts, read_description, refuse_own_kind
from sfumato.release.transaction import MARK
from sfumato.table.large.batches import CountedRows
from sfumato.table.sources.protocol import CsvFormat
from sfumato.table.sources.spark import SparkSource, asking_spark
from sfumato.table.sources.spark_server import spark_session, spark_table

MOST_TEXT = 1 << 26
"""Bytes of a text of a release, at most."""
ASKED_AT_ONCE = 8
"""Parts whose columns are asked for at the same time."""
UNREADABLE = "Spark cannot read all files of this folder; see whether it may look there, and what its own log says"
NO_RELEASE = f"Spark finds no {MARK} there; check the path as the server sees it, and whether it may look there"
UNLISTED = "it may list no files whose names begin with . or _"


@dataclass(frozen=True, eq=False, repr=False)
class SparkFolder:
    """A release folder as a Spark server sees it."""

    session: Any
    address: str  # without a slash at the end
    hashes: Mapping[str, str]  # the sha256 of every file, by its path from the folder on
    texts: Mapping[str, str]  # the files beside the tables
    description: Description
    facts: TableFacts  # what ``release.json`` says of the table

    @property
    def policy(self) -> PublishedPolicy:
        """What the release says of how it was made."""
        return PublishedPolicy(self.texts.get(FILE))

    def records(self) -> CountedRows:
        """Return the table, for Spark to count; ``InputError`` for columns that ``release.json`` does not say."""
        names, files = self.facts.columns, each(self._file, self.facts.files, ASKED_AT_ONCE)
        with asking_spark():
            # By name: files may have their columns in another order.
            whole = reduce(lambda one, other: one.unionAll(other), (file.chosen(names) for file in files))
            together = SparkSource(whole.toDF(*names), names, files[0].is_text)
        return CountedRows(names, together.is_text, partial(together.counted, sorted=False))

    def _file(self, name: str) -> SparkSource:
        found = spark_table(self.session, f"{self.address}/{name}", CsvFormat(strip=False))
        if sorted(found.names) != sorted(self.facts.columns):
            raise InputError(f"{name}: has other columns than release.json says; it was changed")
        return found

    def checks(self, records: int) -> Iterator[Check]:
        """Tell whether the table of so many records is the one that was written, and the folder holds nothing else."""
        written = {f"{self.facts.file}/{part.file}": part.sha256 for part in self.facts.parts}
        written = written or {self.facts.file: self.facts.sha256}
        changed = [name for name, sha256 in written.items() if self.hashes.get(name) != sha256]
        promise = f"{self.facts.file} is the file that was written"
        if self.facts.parts:
            promise = f"{self.facts.file} holds the {len(written):,} parts that were written"
        detail = f"the sha256 of {named(changed)} differs from the one in {MARK}: it was changed" if changed else ""
        detail = detail or ("" if records == self.facts.rows else f"{MARK} counts other rows")
        yield Check(promise, Outcome.BROKEN if detail else Outcome.HOLDS, detail=detail)
        strangers = sorted({*self.hashes} - {*written, *self.texts})
        promise = "Spark lists nothing else in the folder"
        if strangers:
            detail = f"there is {named(strangers)}, which {MARK} does not list; take it away"
            yield Check(promise, Outcome.BROKEN, detail=detail)
        else:
            yield Check(promise, Outcome.HOLDS, detail=UNLISTED)


@contextmanager
def spark_folder(address: str) -> Iterator[SparkFolder]:
    """Open a release folder by the Spark server that is at hand, and let the server go when the block ends.

    `address`: as the server sees it. Raises ``SfumatoError`` when there is no server, no release there, or one that is
    damaged or of a kind that is not counted.
    """
    place = str(Path(address).absolute()) if Path(address).exists() else address
    place = place.rstrip("/")
    with spark_session() as session:
        begin = _beginning(session, place)
        listed = _listed(session, place)
        hashes = {path.removeprefix(begin): sha256 for path, sha256 in listed.items()}
        texts = _texts(session, place, [path for path in listed if "/" not in path.removeprefix(begin)], begin)
        refuse_own_kind(texts.get(MARK, ""))
        description, facts = read_description(texts.get(MARK, ""))
        if len(facts) != 1:
            raise VerificationError(f"{MARK}: names several tables, which Spark does not count; use --engine memory")
        (table,) = facts.values()
        missing = [name for name in table.files if name not in hashes]
        raise_all(VerificationError, [f"the data file {name} that {MARK} names is missing" for name in missing])
        beside = {name: text for name, text in texts.items() if name != table.file}
        yield SparkFolder(session, place, hashes, beside, description, table)


def _beginning(session: Any, address: str) -> str:
    """Return how the paths of all files in the folder begin, as the server writes them."""
    with asking_spark(NO_RELEASE):
        found = _files(session, f"{address}/{MARK}").select("path").toArrow().to_pylist()
    raise_all(InputError, [] if found else [NO_RELEASE])
    return str(found[0]["path"]).removesuffix(MARK)


def _listed(session: Any, address: str) -> dict[str, str]:
    """Return the sha256 of each file by its path."""
    from pyspark.sql import functions

    with asking_spark(UNREADABLE):
        files = _files(session, address)
        found = files.select("path", functions.sha2("content", 256).alias("sha256")).toArrow().to_pylist()
    return {file["path"]: file["sha256"] for file in found}


def _texts(session: Any, address: str, paths: list[str], begin: str) -> dict[str, str]:
    """Return the texts of files that are small, by their names."""
    from pyspark.sql.functions import col

    with asking_spark(UNREADABLE):
        small = _files(session, address).where(col("path").isin(paths) & (col("length") <= MOST_TEXT))
        found = small.where(~col("path").rlike(r"\.(parquet|csv)$")).select("path", "content").toArrow().to_pylist()
    return {file["path"].removeprefix(begin): file["content"].decode(errors="replace") for file in found}


def _files(session: Any, address: str) -> Any:
    return session.read.format("binaryFile").option("recursiveFileLookup", "true").load(address)
