r"""How generalized values are written, the same in every release.

An exact value is its text; an interval ``[a..b]`` is closed; a value set ``{a|b|c}`` has its members sorted by their
text, the missing value ``\N`` last, ``\`` and ``|`` inside members escaped by ``\``; the whole domain and a suppressed
cell are ``*``; the missing value alone is null. Where values are published as sets, an exact value that starts with
``{`` or ``\`` or is ``*`` gets a leading ``\``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.classes.generalized import Members
from sfumato.table.encoding import EncodedAttribute

STAR = "*"
MISSING_MEMBER = r"\N"


def exact_texts(attribute: EncodedAttribute, codes: NDArray[np.integer]) -> pl.Series:
    """Write single values; the missing value's code gives null."""
    return attribute.labels.extend_constant(None, 1).gather(codes.astype(np.int64))


def range_texts(attribute: EncodedAttribute, low: NDArray[np.integer], high: NDArray[np.integer]) -> pl.Series:
    """Write ranges of codes of a number or date: one value exactly, ``[a..b]``, or ``*`` where `high` is missing."""
    first, last = exact_texts(attribute, low), exact_texts(attribute, high)
    return pl.select(
        pl.when(pl.Series(low == high))
        .then(first)
        .when(pl.Series(high == attribute.size))
        .then(pl.lit(STAR))
        .otherwise(pl.concat_str(pl.lit("["), first, pl.lit(".."), last, pl.lit("]")))
        .alias(attribute.name)
    ).to_series()


def set_texts(attribute: EncodedAttribute, members: Members) -> pl.Series:
    """Write value sets; a set of one value is that value, a set of the missing value alone is null.

    Cost O(z log z) for z members of all sets together; no loop in Python runs over them.
    """
    sizes = np.diff(members.starts)
    place_of = _places_in_text_order(attribute)
    # One key per member, the set first: sorting plain integers is several times faster than sorting by two arrays.
    keys = np.repeat(np.arange(len(sizes)) * len(place_of), sizes) + place_of[members.codes]
    keys.sort()
    texts = _written_members(attribute).gather(np.argsort(place_of)).gather(keys % len(place_of))
    lists = pa.ListArray.from_arrays(pa.array(members.starts, pa.int32()), texts.to_arrow().cast(pa.string()))
    joined = pl.Series(attribute.name, lists, dtype=pl.List(pl.String)).list.join("|")
    return _braced(joined, _exact_in_set_form(attribute, members.codes[members.starts[:-1]]), sizes)


def _braced(joined: pl.Series, exact: pl.Series, sizes: NDArray[np.int64]) -> pl.Series:
    several = pl.concat_str(pl.lit("{"), joined, pl.lit("}"))
    return pl.select(pl.when(pl.Series(sizes == 1)).then(exact).otherwise(several).alias(joined.name)).to_series()


def _places_in_text_order(attribute: EncodedAttribute) -> NDArray[np.int64]:
    """Place of each code when sorted by text, the missing value last; int64 (size + 1,)."""
    places = np.empty(attribute.size + 1, dtype=np.int64)
    places[attribute.labels.arg_sort().to_numpy()] = np.arange(attribute.size)
    places[attribute.size] = attribute.size
    return places


def _written_members(attribute: EncodedAttribute) -> pl.Series:
    escaped = attribute.labels.str.replace_all("\\", "\\\\", literal=True).str.replace_all("|", "\\|", literal=True)
    return escaped.extend_constant(MISSING_MEMBER, 1)


def _exact_in_set_form(attribute: EncodedAttribute, codes: NDArray[np.integer]) -> pl.Series:
    texts = exact_texts(attribute, codes)
    confusing = texts.str.starts_with("{") | texts.str.starts_with("\\") | (texts == STAR)
    return pl.select(pl.when(confusing).then(pl.concat_str(pl.lit("\\"), texts)).otherwise(texts)).to_series()
