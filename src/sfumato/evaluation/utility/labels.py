"""From published cells to spreads: what each label of a column may stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.generalized import Form, ValueSets
from sfumato.evaluation.utility.domains import Domain, Floats
from sfumato.evaluation.utility.spreads import AttributeSpread, CodeSpread, IntervalSpread
from sfumato.recoding.notation import STAR
from sfumato.recoding.parsing import Coverage, midpoints, parse, written_ends
from sfumato.table.distinct import distinct_of
from sfumato.table.kinds import text_of


@dataclass(frozen=True, eq=False, repr=False)
class LabelReading:
    """How a kind of release writes the values of an attribute.

    Attributes
    ----------
    form : Form
        The notation of generalized values.
    exact_first : bool
        Whether an original value is always itself, even if it looks like the notation. False if such an exact value
        is escaped.
    points : bool
        Whether numbers may differ from the original ones: means, noise.
    """

    form: Form
    exact_first: bool = False
    points: bool = False


def default_reading(domain: Domain, *, points: bool = False) -> LabelReading:
    """Return how an attribute is written if exact and generalized values are mixed."""
    attribute = domain.attribute
    plain = Form.INTERVAL if attribute.is_numeric else Form.SET
    return LabelReading(plain if attribute.hierarchy is None else Form.ANCESTOR, exact_first=True, points=points)


def read_labels(
    columns: Sequence[pl.Series], domain: Domain, reading: LabelReading
) -> tuple[AttributeSpread, list[NDArray[np.int32]], int]:
    """Read all published columns of one attribute together.

    Returns
    -------
    tuple
        What its g distinct labels stand for, which of them each cell of each column has, int32, and how many cells
        cannot be read.

    Notes
    -----
    Cost O(cells), and once per distinct label.
    """
    texts, codes = _numbered(columns)
    spread, readable = _spread(texts, domain, reading)
    lost = sum(int(np.count_nonzero(~readable[label_of])) for label_of in codes)
    return spread, codes, lost


def original_spread(domain: Domain) -> AttributeSpread:
    """Return what the codes of the original stand for: the values themselves. The missing value is the last label."""
    if domain.attribute.is_numeric:
        assert domain.numbers is not None
        numbers = np.append(domain.numbers, np.nan)
        return IntervalSpread(numbers, numbers, domain.is_whole)
    size = domain.attribute.size + 1
    return CodeSpread(domain, ValueSets(np.arange(size + 1), np.arange(size, dtype=np.int32)), np.ones(size))


def _numbered(columns: Sequence[pl.Series]) -> tuple[pl.Series, list[NDArray[np.int32]]]:
    """Return the distinct texts of all columns together, and which of them each cell has."""
    if len(columns) == 1 and isinstance(columns[0].dtype, (pl.String, pl.Categorical, pl.Enum)):
        return _numbered_alone(columns[0])
    parts, texts = [], []
    for column in columns:
        distinct = distinct_of(column)
        parts.append(distinct.rank_of[distinct.raw])
        texts.append(text_of(distinct.values).cast(pl.String).extend_constant(None, 1))
    together = pl.concat([text.alias("label") for text in texts])
    labels = together.unique(maintain_order=True)
    places = pl.int_range(len(labels), eager=True, dtype=pl.Int32)
    numbers = together.replace_strict(labels, places, return_dtype=pl.Int32).to_numpy()
    starts = np.cumsum([0, *(len(text) for text in texts)])
    codes = [numbers[start:][part] for start, part in zip(starts, parts, strict=False)]
    return labels, codes


def _numbered_alone(column: pl.Series) -> tuple[pl.Series, list[NDArray[np.int32]]]:
    """Do the same for one column of texts, whose distinct values are already distinct texts."""
    distinct = distinct_of(column)
    texts = distinct.values.cast(pl.String).alias("label")
    return texts.extend_constant(None, 1), [distinct.rank_of[distinct.raw].astype(np.int32)]


def _spread(labels: pl.Series, domain: Domain, reading: LabelReading) -> tuple[AttributeSpread, NDArray[np.bool_]]:
    if reading.points and domain.numbers is not None:
        return _points(labels, domain)
    if not domain.attribute.is_numeric or reading.form is Form.SET:
        return _codes(labels, domain, reading)
    return _intervals(labels, domain, reading)


def _points(labels: pl.Series, domain: Domain) -> tuple[AttributeSpread, NDArray[np.bool_]]:
    """Read numbers as they are, intervals as their middle; ``*`` is the whole domain."""
    low = midpoints(labels, domain.attribute.kind).copy()
    high = low.copy()
    star = labels.eq_missing(STAR).to_numpy()
    low[star], high[star] = _whole_domain(domain)
    # A point has no length, and a mean need not be whole: ranges of whole numbers would round it away.
    return IntervalSpread(low, high, False), np.isfinite(low) | labels.is_null().to_numpy()


def _intervals(labels: pl.Series, domain: Domain, reading: LabelReading) -> tuple[AttributeSpread, NDArray[np.bool_]]:
    coverage = parse(labels, domain.attribute, reading.form)
    # A recipient knows only what lies between the ends, inside the domain; which values occur there is the
    # steward's knowledge.
    low, high, half_open = written_ends(labels, domain.attribute.kind)
    low, high = low.copy(), high - (half_open & domain.is_whole)
    inside = _whole_domain(domain)
    low, high = np.clip(low, *inside), np.clip(high, *inside)
    star = labels.eq_missing(STAR).to_numpy()
    low[star], high[star] = _whole_domain(domain)
    return IntervalSpread(low, high, domain.is_whole), coverage.readable | labels.is_null().to_numpy()


def _codes(labels: pl.Series, domain: Domain, reading: LabelReading) -> tuple[AttributeSpread, NDArray[np.bool_]]:
    coverage = parse(labels, domain.attribute, reading.form)
    sets = _members(coverage, domain.attribute.size)
    readable = coverage.readable | labels.is_null().to_numpy()
    texts = labels.to_list()
    star = np.array([label == STAR for label in texts], dtype=np.bool_)
    exact = domain.code_of if reading.exact_first else {}
    missing = np.array([domain.attribute.size], dtype=np.int32)
    for place, label in enumerate(texts):
        if label is None or not readable[place]:
            sets[place] = missing
        elif star[place]:
            sets[place] = np.arange(domain.attribute.size, dtype=np.int32)
        if label in exact:
            sets[place], readable[place], star[place] = np.array([exact[label]], dtype=np.int32), True, False
    sizes = np.array([len(codes) for codes in sets])
    members = ValueSets(np.concatenate([[0], np.cumsum(sizes)]), np.concatenate(sets).astype(np.int32))
    divisor = np.where(star, max(_domain_values(domain), domain.attribute.size), sizes).astype(np.float64)
    return CodeSpread(domain, members, divisor), readable


def _members(coverage: Coverage, missing: int) -> list[NDArray[np.int32]]:
    if coverage.members is not None:
        starts = coverage.members.starts
        codes = np.where(coverage.members.codes < 0, missing, coverage.members.codes)
        return [codes[start:stop] for start, stop in pairwise(starts)]
    return [
        np.arange(low, high + 1, dtype=np.int32)
        for low, high in zip(coverage.low.tolist(), coverage.high.tolist(), strict=True)
    ]


def _domain_values(domain: Domain) -> int:
    """Count the values of the whole domain, including declared ones that do not occur, without the missing one."""
    attribute = domain.attribute
    return attribute.domain_size - (attribute.has_missing and attribute.hierarchy is None)


def _whole_domain(domain: Domain) -> tuple[float, float]:
    """Return the ends of ``*``: those of the declared domain, else of the data."""
    attribute = domain.attribute
    if attribute.is_numeric:
        return attribute.domain_low, attribute.domain_low + attribute.domain_width
    numbers: Floats | None = domain.numbers
    assert numbers is not None
    return float(numbers.min()), float(numbers.max())
