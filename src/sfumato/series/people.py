"""Who is who over the releases of a series: keyed hashes of the keys of people, and in which class each is.

Letters: n people.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import VerificationError
from sfumato.table.person_keys import person_keys, whole_form

TAG_BYTES = 16
"""128 bits: two people of a billion have the same with a chance of 2⁻⁶⁹."""
_PURPOSE = b"sfumato person"
_SERIES = b"sfumato series"


def tags_of(keys: pl.Series, key: bytes, form: str | None = None) -> pl.Series:
    """Hash the keys of people with a secret one: BLAKE2b with 16 bytes; Binary (n,), null where there is no key.

    Who does not have the secret can neither find a person by trying names nor tell two series apart by them. Keys are
    compared as text in Unicode's form C: 17, ``"17"`` and ``"17.0"`` are the same, ``"017"`` is another. With `form`,
    the key form that the series was started with, they are compared by it; None is the rule of earlier ledgers.
    """
    # The secret key is taken in once; a copy goes on from there.
    keyed = hashlib.blake2b(digest_size=TAG_BYTES, key=key, person=_PURPOSE)

    def tag(text: bytes) -> bytes:
        hashed = keyed.copy()
        hashed.update(text)
        return hashed.digest()

    compared = plain_keys(keys) if form is None else person_keys(keys, whole_form(form))
    texts = compared.cast(pl.Binary).to_list()
    return pl.Series("tag", [None if text is None else tag(text) for text in texts], dtype=pl.Binary)


def plain_keys(keys: pl.Series) -> pl.Series:
    """Return the keys of people as text in which equal ones are equal; whole numbers are written without a fraction.

    Also in text, as programs that take keys for numbers write ``17.0``: rather is somebody refused who is new than
    taken for new who is not.
    """
    if keys.dtype.is_float():
        whole = keys.cast(pl.Int64, strict=False)
        keys = whole if bool((whole.cast(pl.Float64) == keys).fill_null(False).all()) else keys
    texts = keys.cast(pl.String).str.strip_chars().str.replace(r"^([0-9]+)\.0+$", "$1")
    ascii_only = texts.str.len_bytes() == texts.str.len_chars()
    if bool(ascii_only.fill_null(True).all()):
        return texts
    formed = [None if text is None else unicodedata.normalize("NFC", text) for text in texts.to_list()]
    return pl.Series(keys.name, formed, dtype=pl.String)


def mark_of_series(series: str, key: bytes) -> str:
    """Return what a ledger writes into ``series.json``, by which the two can be told to belong together."""
    return hmac.new(key, _SERIES + series.encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True, eq=False, repr=False)
class PeopleOfRelease:
    """The newcomers of one release.

    Attributes
    ----------
    tags : polars.Series of Binary
        Length n, rising.
    class_of : numpy.ndarray
        uint32 (n,): the class of each among those of the newcomers, which are numbered from 0 in the order of their
        labels.
    pseudonyms : numpy.ndarray or None
        int32: where people have several records, a number of the person of each row that came, in the order of
        :func:`~sfumato.series.appended.order_of_content`. As in an audit file it is valid in one class, and drawn: it
        does not say who of the class it is. None: everybody has one row.
    """

    tags: pl.Series
    class_of: NDArray[np.uint32]
    pseudonyms: NDArray[np.int32] | None = None

    @classmethod
    def of(
        cls, tags: pl.Series, class_of: NDArray[np.integer], pseudonyms: NDArray[np.int32] | None = None
    ) -> PeopleOfRelease:
        """Take each person once, from records of theirs in one class, in the order of tags, which says nothing."""
        order = tags.arg_sort()
        known = pl.DataFrame({"tag": tags[order], "class": class_of[order.to_numpy()].astype(np.uint32)})
        once = known.unique("tag", keep="first", maintain_order=True)
        return cls(once["tag"], once["class"].to_numpy(), pseudonyms)

    def content(self) -> bytes:
        """Return the content of a file."""
        return _as_file({"tag": self.tags, "class": self.class_of})

    def content_of_rows(self) -> bytes | None:
        """Return the content of a file with the pseudonyms, where there are such."""
        return None if self.pseudonyms is None else _as_file({"pseudonym": self.pseudonyms})

    @classmethod
    def read(cls, content: bytes, rows: bytes | None = None) -> PeopleOfRelease:
        """Read the content of a file, and of that with the pseudonyms where there is one.

        Raises
        ------
        VerificationError
            When it is damaged.
        """
        try:
            frame = pl.read_parquet(io.BytesIO(content))
            numbered = None if rows is None else pl.read_parquet(io.BytesIO(rows))["pseudonym"].to_numpy()
            return cls(frame["tag"].cast(pl.Binary), frame["class"].to_numpy().astype(np.uint32), numbered)
        except (pl.exceptions.PolarsError, OSError):
            raise VerificationError("the ledger is damaged: a file of people cannot be read") from None


def known_among(tags: pl.Series, known: Sequence[pl.Series]) -> int:
    """Count the people whose tags are among known ones. Cost O(n) for n of both."""
    return tags.filter(are_known(tags, known)).n_unique()


def are_known(tags: pl.Series, known: Sequence[pl.Series]) -> pl.Series:
    """Tell of each tag whether it is among known ones; Boolean (n,). Cost O(n) for n of both."""
    if not known:
        return pl.repeat(False, len(tags), dtype=pl.Boolean, eager=True)
    there = pl.DataFrame({"tag": pl.concat(list(known))}).unique().with_columns(pl.lit(True).alias("known"))
    asked = pl.DataFrame({"tag": tags})
    return asked.join(there, on="tag", how="left", maintain_order="left")["known"].fill_null(False)


def _as_file(columns: Mapping[str, object]) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(columns).write_parquet(buffer)
    return buffer.getvalue()
