"""What the ledger keeps for m-invariance: everybody's signature, for ever, and by what a changed record shows."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from sfumato.errors import VerificationError
from sfumato.table.schema import text_of
from sfumato.table.table import Table

TAG, SIGNATURE, QUASI, VALUE = "tag", "signature", "quasi", "value"
_SCHEMA = {TAG: pl.Binary(), SIGNATURE: pl.List(pl.String()), QUASI: pl.Binary(), VALUE: pl.Binary()}
_PURPOSE = b"sfumato record"
_BYTES = 16


@dataclass(frozen=True, eq=False, repr=False)
class Known:
    """Everybody who was ever published.

    Attributes
    ----------
    people : polars.DataFrame
        One row each: keyed hash of the key; the sensitive values of the class, sorted; hashes of the quasi-identifying
        values and of the sensitive one.
    """

    people: pl.DataFrame

    @classmethod
    def read(cls, content: bytes | None) -> Known:
        """Read what the release before left; nobody for None.

        Raises
        ------
        VerificationError
            When it is damaged.
        """
        if content is None:
            return cls(pl.DataFrame(schema=_SCHEMA))
        try:
            return cls(
                pl.read_parquet(io.BytesIO(content)).select(pl.col(name).cast(_SCHEMA[name]) for name in _SCHEMA)
            )
        except (pl.exceptions.PolarsError, OSError):
            raise VerificationError("the ledger is damaged: the file of signatures cannot be read") from None

    def content(self) -> bytes:
        """Return the content of a file, in an order that says nothing."""
        buffer = io.BytesIO()
        self.people.sort(TAG).write_parquet(buffer)
        return buffer.getvalue()

    def of(self, tags: pl.Series) -> pl.DataFrame:
        """Return what is known of people, a row for each tag, with nulls for who was never there."""
        return pl.DataFrame({TAG: tags}).join(self.people, on=TAG, how="left", maintain_order="left")

    def with_people(self, people: pl.DataFrame) -> Known:
        """Add people, who replace what was known of them."""
        others = self.people.join(people.select(TAG), on=TAG, how="anti")
        return Known(pl.concat([others, people.select(pl.col(name).cast(_SCHEMA[name]) for name in _SCHEMA)]))


def fingerprints(table: Table, names: Sequence[str], tags: pl.Series) -> pl.Series:
    """Hash some values of each record with its tag as the key; Binary (n,).

    Equal records of two people have different hashes. Whoever has the tags can try values, as with the ledger anyway.
    """
    columns = [text_of(table.frame[name]).to_list() for name in names]
    return pl.Series(list(_hashed(columns, tags.to_list())), dtype=pl.Binary)


def _hashed(columns: Sequence[Sequence[object]], tags: Sequence[bytes]) -> Iterator[bytes]:
    for tag, values in zip(tags, zip(*columns, strict=True), strict=True):
        text = json.dumps(values).encode("utf-8", "surrogatepass")
        yield hashlib.blake2b(text, digest_size=_BYTES, key=tag, person=_PURPOSE).digest()
