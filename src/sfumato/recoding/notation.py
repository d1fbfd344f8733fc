r"""How generalized values are written, the same in every release.

An exact value is its text; an interval ``[a..b]`` is closed; a value set ``{a|b|c}`` has its members sorted by their
text, the missing value ``\N`` last, ``\`` and ``|`` inside members escaped by ``\``; the whole domain and a suppressed
cell are ``*``; the missing value alone is null. If values are published as sets, an exact value that starts with
``{`` or ``\`` or is ``*`` gets a leading ``\``.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import ValueSets
from sfumato.table.distinct import FEW, text_order
from sfumato.table.encoding import EncodedAttribute
from sfumato.table.sources.protocol import STAR as STAR

Cells = Literal["label", "bounds", "interval", "midpoint", "drawn"]
"""How a recipient may ask for published cells."""
CELLS = get_args(Cells)

MISSING_MEMBER = r"\N"

_PIECE = 1 << 15
"""Value sets that are written at a time."""


def exact_texts(attribute: EncodedAttribute, codes: NDArray[np.integer]) -> pl.Series:
    """Write single values; the missing value's code gives null."""
    if attribute.size + len(codes) <= FEW:
        return pl.Series(attribute.name, [attribute.texts[code] for code in codes.tolist()], dtype=pl.String)
    return attribute.labels.extend_constant(None, 1)[codes]


def range_texts(attribute: EncodedAttribute, low: NDArray[np.integer], high: NDArray[np.integer]) -> pl.Series:
    """Write ranges of codes of a number or date: one value exactly, ``[a..b]``, or ``*`` where `high` is missing."""
    if attribute.size + len(low) <= FEW:
        return _few_range_texts(attribute, low.tolist(), high.tolist())
    first, last = exact_texts(attribute, low), exact_texts(attribute, high)
    return pl.select(
        pl.when(pl.Series(low == high))
        .then(first)
        .when(pl.Series(high == attribute.size))
        .then(pl.lit(STAR))
        .otherwise(pl.concat_str(pl.lit("["), first, pl.lit(".."), last, pl.lit("]")))
        .alias(attribute.name)
    ).to_series()


def _few_range_texts(attribute: EncodedAttribute, low: list[int], high: list[int]) -> pl.Series:
    exact, missing = attribute.texts, attribute.size
    texts = [
        exact[first] if first == last else STAR if last == missing else f"[{exact[first]}..{exact[last]}]"
        for first, last in zip(low, high, strict=True)
    ]
    return pl.Series(attribute.name, texts, dtype=pl.String)


def node_texts(attribute: EncodedAttribute, low: NDArray[np.integer], level: NDArray[np.integer]) -> pl.Series:
    """Write the nodes of a hierarchy: on each level the one above a first code; the missing value gives null."""
    hierarchy = attribute.hierarchy
    assert hierarchy is not None
    if attribute.size + len(low) <= FEW:
        # The missing value has no node, and is on level 0.
        nodes = hierarchy.node_of[level, np.minimum(low, attribute.size - 1)].tolist()
        places = zip(low.tolist(), level.tolist(), nodes, strict=True)
        texts = [hierarchy.levels[step].labels[node] if step else attribute.texts[code] for code, step, node in places]
        return pl.Series(attribute.name, texts, dtype=pl.String)
    labels = exact_texts(attribute, low)
    for step in range(1, hierarchy.height + 1):
        climbed = np.flatnonzero(level == step)
        nodes_there = pl.Series(hierarchy.node_of[step, low[climbed]])
        labels = labels.scatter(climbed, pl.Series(hierarchy.levels[step].labels, dtype=pl.String).gather(nodes_there))
    return labels


def with_stars(texts: pl.Series, starred: NDArray[np.bool_]) -> pl.Series:
    """Return the texts with ``*`` in some places; bool (g,)."""
    if len(texts) > FEW:
        return texts.scatter(np.flatnonzero(starred), STAR)
    pairs = zip(texts.to_list(), starred.tolist(), strict=True)
    return pl.Series(texts.name, [STAR if star else text for text, star in pairs], dtype=pl.String)


def set_texts(attribute: EncodedAttribute, members: ValueSets) -> pl.Series:
    """Write value sets: one value as it is, the missing one alone as null; many at a time. O(z log z) for z members."""
    order = np.append(text_order(attribute.labels), attribute.size)
    stops = range(_PIECE, len(members.starts) - 1, _PIECE)
    pieces = [
        _texts_of(attribute, order, _some(members, *ends)) for ends in pairwise([0, *stops, len(members.starts) - 1])
    ]
    return pieces[0] if len(pieces) == 1 else pl.concat(pieces, rechunk=True)


def _some(members: ValueSets, first: int, stop: int) -> ValueSets:
    starts = members.starts[first : stop + 1]
    return ValueSets(starts - starts[0], members.codes[starts[0] : starts[-1]])


def _texts_of(attribute: EncodedAttribute, order: NDArray[np.int64], members: ValueSets) -> pl.Series:
    sizes = np.diff(members.starts)
    place_of = np.empty_like(order)
    place_of[order] = np.arange(len(order))
    # One key per member, the set first: sorting plain integers is several times faster than sorting by two arrays.
    keys = np.repeat(np.arange(len(sizes)) * len(order), sizes) + place_of[members.codes]
    keys.sort()
    in_text_order = order[keys % len(order)]
    if len(order) + len(keys) <= FEW:
        return _few_set_texts(attribute, members.starts, in_text_order)
    texts = _written_members(attribute)[in_text_order]
    import pyarrow as pa

    lists = pa.ListArray.from_arrays(pa.array(members.starts, pa.int32()), texts.to_arrow().cast(pa.string()))
    joined = pl.Series(attribute.name, lists, dtype=pl.List(pl.String)).list.join("|")
    return _braced(joined, _exact_in_set_form(attribute, members.codes[members.starts[:-1]]), sizes)


def _few_set_texts(attribute: EncodedAttribute, starts: NDArray[np.int64], codes: NDArray[np.int64]) -> pl.Series:
    """Write a few value sets: set ``i`` has the `codes` from ``starts[i]`` to before ``starts[i+1]``, in text order."""
    labels = [label for label in attribute.texts if label is not None]
    written = [*(label.replace("\\", "\\\\").replace("|", "\\|") for label in labels), MISSING_MEMBER]
    exact = [*(f"\\{label}" if _confusing(label) else label for label in labels), None]
    member_texts = [written[code] for code in codes.tolist()]
    bounds = starts.tolist()
    texts = [
        "{" + "|".join(member_texts[start:stop]) + "}" if stop - start > 1 else exact[codes[start]]
        for start, stop in pairwise(bounds)
    ]
    return pl.Series(attribute.name, texts, dtype=pl.String)


def _confusing(label: str) -> bool:
    return label.startswith(("{", "\\")) or label == STAR


def _braced(joined: pl.Series, exact: pl.Series, sizes: NDArray[np.int64]) -> pl.Series:
    several = pl.concat_str(pl.lit("{"), joined, pl.lit("}"))
    return pl.select(pl.when(pl.Series(sizes == 1)).then(exact).otherwise(several).alias(joined.name)).to_series()


def _written_members(attribute: EncodedAttribute) -> pl.Series:
    escaped = attribute.labels.str.replace_all("\\", "\\\\", literal=True).str.replace_all("|", "\\|", literal=True)
    return escaped.extend_constant(MISSING_MEMBER, 1)


def _exact_in_set_form(attribute: EncodedAttribute, codes: NDArray[np.integer]) -> pl.Series:
    texts = exact_texts(attribute, codes)
    confusing = texts.str.starts_with("{") | texts.str.starts_with("\\") | (texts == STAR)
    return pl.select(pl.when(confusing).then(pl.concat_str(pl.lit("\\"), texts)).otherwise(texts)).to_series()
