"""Who is who over the releases of a series: keyed hashes of keys, and the class of each. Letters: n people."""

from __future__ import annotations

import hashlib
import hmac
import io
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import PolicyError, VerificationError
from sfumato.table.person_keys import (
    KINDS,
    asked_by_kind,
    folded,
    in_question,
    key_question,
    kinds_that,
    person_keys,
    read_key_form,
    whole_form,
)

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
    return _hashed(plain_keys(keys) if form is None else person_keys(keys, whole_form(form)), key)


def _hashed(texts: pl.Series, key: bytes) -> pl.Series:
    # The secret key is taken in once; a copy goes on from there.
    keyed = hashlib.blake2b(digest_size=TAG_BYTES, key=key, person=_PURPOSE)

    def tag(text: bytes) -> bytes:
        hashed = keyed.copy()
        hashed.update(text)
        return hashed.digest()

    each = texts.cast(pl.Binary).to_list()
    return pl.Series("tag", [None if text is None else tag(text) for text in each], dtype=pl.Binary)


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
    """The newcomers of one release."""

    tags: pl.Series  # length n, rising
    # (n,): the class of each among those of the newcomers, which are numbered from 0 in the order of their labels
    class_of: NDArray[np.uint32]
    # Int32: where people have several records, a number of the person of each row that came, in the order of
    # :func:`~sfumato.series.append_recount.order_of_content`. As in an audit file it is valid in one class, and drawn:
    # it does not say who of the class it is. None: everybody has one row.
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
        """Read a file's content, and that with pseudonyms if any; ``VerificationError`` when it is damaged."""
        try:
            frame = pl.read_parquet(io.BytesIO(content))
            numbered = None if rows is None else pl.read_parquet(io.BytesIO(rows))["pseudonym"].to_numpy()
            return cls(frame["tag"].cast(pl.Binary), frame["class"].to_numpy().astype(np.uint32), numbered)
        except (pl.exceptions.PolarsError, OSError):
            raise VerificationError("the ledger is damaged: a file of people cannot be read") from None


@dataclass(frozen=True, eq=False, repr=False)
class Spellings:
    """Everybody whom a series knows, by hashes of all spellings of their keys that are still open, or fold."""

    form: str | None  # what was answered so far about spellings
    # ``tag``, rising: who it is, forever. Every other column has the hashes of keys with some kinds folded, whose names
    # are its own, and null where the tag is it. Kinds that change nobody's key have no column.
    people: pl.DataFrame

    @classmethod
    def none(cls, form: str | None) -> Spellings:
        """Return those of a series without people."""
        return cls(form, pl.DataFrame(schema={"tag": pl.Binary}))

    def content(self) -> bytes:
        """Return the content of a file."""
        return _as_file(self.people.to_dict())

    @classmethod
    def read(cls, form: str | None, content: bytes) -> Spellings:
        """Read the content of a file, or raise VerificationError when it is damaged."""
        try:
            return cls(form, pl.read_parquet(io.BytesIO(content)).cast(pl.Binary))
        except (pl.exceptions.PolarsError, OSError):
            raise VerificationError("the ledger is damaged: the file of keys cannot be read") from None

    def answered(self, answer: str | None) -> Spellings:
        """Take an answer: of all kinds for those that are open, of a kind by name for it alone.

        It stays: people who were told apart or put together by it are in releases. Raises ``PolicyError`` when
        something else was answered before.
        """
        if answer is None:
            return self
        before = read_key_form(self.form)
        named = read_key_form(",".join(part for part in answer.split(",") if ":" in part) or None)
        given = read_key_form(answer)
        is_open = any(kind not in before for kind in KINDS)
        other = [k for k in before if k in given and given[k] != before[k] and (k in named or not is_open)]
        if other:
            raise PolicyError(
                f"key-form: this series takes keys that differ {', '.join(KINDS[kind] for kind in other)} by "
                f"{', '.join(sorted({f'{before[kind]}:{kind}' for kind in other}))}, and people are in releases by it: "
                "leave the answer out, or start another series"
            )
        both = {**given, **before}
        return replace(self, form=",".join(f"{both[kind]}:{kind}" for kind in KINDS if kind in both))

    def hashes(self, kinds: Iterable[str]) -> pl.Series:
        """Return the hash of everybody's key with kinds folded, at least those that were answered to fold."""
        name = _column({*kinds} & self._active)
        return self.people["tag"] if not name else self.people.select(pl.coalesce(name, "tag")).to_series()

    def with_keys(self, keys: pl.Series, key: bytes) -> tuple[pl.Series, Spellings]:
        """Return the tags of people, null where there is no key; and everybody, with those who are new.

        Who is known by another spelling that counts as the same has the tag from before. Raises ``InputError`` when
        keys may be other spellings of each other's, or of somebody's who is known; says how many.
        """
        already, folds = kinds_that(self.form)
        texts = person_keys(keys, whole_form(self.form))
        found = pl.DataFrame({"text": texts.drop_nulls().unique(maintain_order=True)})
        found = found.with_columns(own=_hashed(found["text"], key))
        before = pl.DataFrame({"own": self.hashes(already), "tag": self.people["tag"]}).unique("own", keep="first")
        found = found.join(before, on="own", how="left", maintain_order="left")
        new = found.filter(pl.col("tag").is_null())["text"]
        if already != folds:
            self._refuse_open(keys.name, new, key)
        of_text = found.select("text", tag=pl.coalesce("tag", "own"))
        tags = pl.DataFrame({"text": texts}).join(of_text, on="text", how="left", maintain_order="left")["tag"]
        return tags, self._joined(new, key)

    def without(self, tags: pl.Series) -> Spellings:
        """Return everybody but some."""
        return replace(self, people=self.people.filter(~self.people["tag"].is_in(tags.implode())))

    @property
    def _active(self) -> set[str]:
        return {kind for name in self.people.columns[1:] for kind in name.split()}

    def _refuse_open(self, name: str, new: pl.Series, key: bytes) -> None:
        _, folds = kinds_that(self.form)
        alike = _hashed(folded(new, folds), key)
        known = self.hashes(folds)
        near = known.is_in(alike.implode())
        people = pl.concat([_hashed(new, key), self.people["tag"].filter(near)])
        question = in_question(people, pl.concat([alike, known.filter(near)]))
        if not question.any():
            return
        texts, others = new.filter(question.head(len(new))), near.arg_true().filter(question.slice(len(new)))
        them = replace(self, people=self.people[others])

        def spelled(kinds: Collection[str]) -> pl.Series:
            return pl.concat([_hashed(folded(texts, kinds), key), them.hashes(kinds)])

        raise key_question(name, asked_by_kind(spelled, self.form))

    def _joined(self, new: pl.Series, key: bytes) -> Spellings:
        """Put people beside those who are known, with the spellings that somebody may ask for."""
        already, folds = kinds_that(self.form)
        is_open = [kind for kind in folds if kind not in already]
        active = [kind for kind in KINDS if kind in self._active & {*folds} or kind in _changing(new, already, is_open)]
        spelled = cache(lambda kinds: _hashed(folded(new, [*already, *kinds]), key))
        own = spelled(())
        columns, known = {"tag": own}, {"tag": self.people["tag"]}
        for kinds in _subsets(active, [kind for kind in active if kind in already]):
            of_new = spelled(tuple(kind for kind in kinds if kind in is_open))
            columns[_column(kinds)] = pl.select(pl.when(of_new != own).then(of_new)).to_series()
            others = self.hashes(kinds)
            known[_column(kinds)] = pl.select(pl.when(others != self.people["tag"]).then(others)).to_series()
        return replace(self, people=pl.concat([pl.DataFrame(known), pl.DataFrame(columns)]).sort("tag"))


def _changing(texts: pl.Series, already: Sequence[str], is_open: Sequence[str]) -> set[str]:
    """Return the open kinds that change a key, by themselves or behind all others."""
    whole = folded(texts, [*already, *is_open])
    texts, whole = texts.filter(texts != whole), whole.filter(texts != whole)
    if not len(texts):
        return set()
    return {
        kind
        for kind in is_open
        if (folded(texts, [*already, kind]) != texts).any()
        or (folded(texts, [*already, *(each for each in is_open if each != kind)]) != whole).any()
    }


def _subsets(kinds: Sequence[str], always: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the sets of kinds that hold some of them, but for the one of none."""
    return [
        chosen
        for size in range(1, len(kinds) + 1)
        for chosen in combinations(kinds, size)
        if all(kind in chosen for kind in always)
    ]


def _column(kinds: Collection[str]) -> str:
    return " ".join(kind for kind in KINDS if kind in kinds)


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
