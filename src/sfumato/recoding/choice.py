"""The choice of how each attribute is published, as a value that policies can hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.generalized import Form, GeneralizedColumn, GeneralizedTable
from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.hierarchy.tree import Hierarchy
from sfumato.recoding.ends import exactly_numbered
from sfumato.table.encoding import EncodedAttribute
from sfumato.table.header import columns_of
from sfumato.table.schema import Kind

# Which kind of recoding a published table shows.


class RecodingKind(StrEnum):
    """Kinds of recoding, from the most rigid to the most flexible."""

    FULL_DOMAIN = "full-domain"
    SINGLE_DIMENSIONAL = "single-dimensional"
    MULTIDIMENSIONAL = "multidimensional"
    LOCAL = "local"


def recoding_kind(generalized: GeneralizedTable) -> RecodingKind:
    """Name the most rigid kind that the published records show, suppressed ones aside; O(n · q), by hashing.

    Full-domain: every attribute on one level of its hierarchy, or without one unchanged or alike everywhere;
    single-dimensional: equal original values of an attribute are published equally; multidimensional: equal records
    are; else local. As the thesis, 2.4.
    """
    if not generalized.aligned:
        raise InputError("the kind of recoding cannot be found from a published table, because its rows are shuffled")
    kept = np.flatnonzero(generalized.class_of >= 0)
    original = [pl.Series(f"original {index}", codes) for index, codes in enumerate(generalized.original.codes[kept].T)]
    images = [pl.Series(f"published {index}", image) for index, image in enumerate(_images(generalized, kept))]
    frame = pl.DataFrame([*original, *images])
    pairs = [(before.name, after.name) for before, after in zip(original, images, strict=True)]
    if all(_determines(frame, [before], [after]) for before, after in pairs):
        return RecodingKind.FULL_DOMAIN if _on_one_level(generalized) else RecodingKind.SINGLE_DIMENSIONAL
    befores, afters = [before for before, _ in pairs], [after for _, after in pairs]
    return RecodingKind.MULTIDIMENSIONAL if _determines(frame, befores, afters) else RecodingKind.LOCAL


def _images(generalized: GeneralizedTable, kept: NDArray[np.int64]) -> list[NDArray[np.int32]]:
    # Two generalized values with one label (as means may have) are one value to a recipient.
    return [
        _label_numbers(column.labels)[column.per_class][generalized.class_of[kept]] for column in generalized.columns
    ]


def _label_numbers(labels: pl.Series) -> NDArray[np.int32]:
    distinct = labels.unique(maintain_order=True)
    numbers = pl.int_range(len(distinct), eager=True, dtype=pl.Int32)
    return labels.replace_strict(distinct, numbers, return_dtype=pl.Int32).to_numpy()


def _determines(frame: pl.DataFrame, keys: Sequence[str], images: Sequence[str]) -> bool:
    return columns_of(frame, keys).n_unique() == columns_of(frame, [*keys, *images]).n_unique()


def _on_one_level(generalized: GeneralizedTable) -> bool:
    return all(
        _shares_a_level(column)
        if column.attribute.hierarchy is not None
        else column.count == 1 or not column.level.any()
        for column in generalized.columns
    )


def _shares_a_level(column: GeneralizedColumn) -> bool:
    """Tell whether the labels are on one level; a label that repeats on several levels is on all of them."""
    hierarchy = column.attribute.hierarchy
    assert hierarchy is not None
    # The missing value has no ancestor but the top, so it stays unchanged on every level below.
    nodes = (column.low < column.attribute.size) & ~column.unrestricted
    lowest = column.level[nodes].tolist()
    highest = [_highest(hierarchy, *node) for node in zip(column.low[nodes].tolist(), lowest, strict=True)]
    if column.unrestricted.any():
        return all(level == hierarchy.height for level in highest)
    return not lowest or max(lowest) <= min(highest)


def _highest(hierarchy: Hierarchy, leaf: int, level: int) -> int:
    """Return the highest level on which the leaf's label is that of `level`."""
    labels = [step.labels[node] for step, node in zip(hierarchy.levels, hierarchy.node_of[:, leaf], strict=True)]
    return max(place for place, label in enumerate(labels) if label == labels[level])


_Ends = Literal["rounded", "tight"]
Suppressed = Literal["remove", "star"]
_Labels = Literal["least", "declared"]
Average = Literal["mean", "median", "mode", "geometric-mean"]

_KEYS = ("numeric", "forms", "ends", "suppressed", "average", "labels")
_MOST_WITHOUT_GROUPS = 2
"""Values of a column whose sets are all of it, or one value."""


@dataclass(frozen=True)
class Recoding:
    """How a solution is published.

    Parameters
    ----------
    numeric
        Form of numbers and dates without a hierarchy: ``"interval"`` or ``"mean"``. Attributes with a hierarchy are
        published as the common ancestor, all others as value sets.
    forms
        The form of single attributes, which overrides these defaults. ``"interval"`` and ``"mean"`` need a number or
        date without a hierarchy, ``"ancestor"`` needs a hierarchy, ``"set"`` always works.
    ends
        Where intervals end. ``"rounded"``: at round numbers around the values of the class, so that no end is anybody's
        value (decision record 9). ``"tight"``: at its smallest and largest value, which loses less but discloses both
        to everybody. Anonymizers that decide themselves what is published also decide this.
    suppressed
        What happens to suppressed records: ``"remove"`` leaves them out, ``"star"`` publishes them as one class with
        ``*`` in every quasi-identifying column.
    average
        Which number the form ``"mean"`` publishes for a class: None, the same as ``"mean"``; ``"median"``, halfway
        between the two middle numbers of an even class; ``"mode"``, the most frequent number, of several the lowest;
        ``"geometric-mean"``, of numbers that are all above 0. Median and mode may be somebody's own number.
    labels
        What labels tell of their members. None, the same as ``"least"``: a label is the least that covers its class, so
        that every member of a set occurs, and both outer bins of an interval. ``"declared"``: nodes of hierarchies and
        declared groups, and one bin or two of a grid that the column's unit gives. No value sets, no means and no
        tight ends: a category of more than two values needs a hierarchy.

    Raises
    ------
    PolicyError
        With every wrong setting.
    """

    numeric: Form = Form.INTERVAL
    forms: Mapping[str, Form] = field(default_factory=dict)
    ends: _Ends = "rounded"
    suppressed: Suppressed = "remove"
    average: Average | None = None
    labels: _Labels | None = None

    def __post_init__(self) -> None:
        """Check every setting alone; :meth:`forms_of` checks what depends on the attributes."""
        problems: list[str] = []
        if self.numeric not in (Form.INTERVAL, Form.MEAN):
            problems.append("recoding, numeric: must be 'interval' or 'mean'")
        else:
            object.__setattr__(self, "numeric", Form(self.numeric))
        if self.ends not in ("rounded", "tight"):
            problems.append("recoding, ends: must be 'rounded' or 'tight'")
        if self.suppressed not in ("remove", "star"):
            problems.append("recoding, suppressed: must be 'remove' or 'star'")
        if self.average not in (None, *get_args(Average)):
            problems.append("recoding, average: must be 'mean', 'median', 'mode' or 'geometric-mean'")
        if self.average == "mean":
            object.__setattr__(self, "average", None)
        if self.labels not in (None, *get_args(_Labels)):
            problems.append("recoding, labels: must be 'least' or 'declared'")
        if self.labels == "least":
            object.__setattr__(self, "labels", None)
        if self.labels and self.ends == "tight":
            problems.append("recoding, ends: tight ends are values of the class; leave them out with declared labels")
        object.__setattr__(self, "forms", MappingProxyType(_checked_forms(self.forms, problems)))
        raise_all(PolicyError, problems)

    def __hash__(self) -> int:
        """Hash by value; the order of `forms` does not count."""
        forms = frozenset(self.forms.items())
        return hash((self.numeric, forms, self.ends, self.suppressed, self.average, self.labels))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as plain values: a mapping that nobody may change has no other way."""
        return Recoding.from_policy, (self.to_policy(),)

    def forms_of(self, attributes: Iterable[EncodedAttribute]) -> tuple[Form, ...]:
        """Return the form of each attribute.

        Raises
        ------
        PolicyError
            With every form that does not fit its attribute, and every name in `forms` that is not an attribute.
        """
        known = tuple(attributes)
        chosen = tuple(self.forms.get(attribute.name, self._default(attribute)) for attribute in known)
        unknown = set(self.forms) - {attribute.name for attribute in known}
        problems = [f"recoding, forms: {name!r} is not a quasi-identifying column" for name in sorted(unknown)]
        problems.extend(
            f"recoding, column {attribute.name!r}: {reason}"
            for attribute, form in zip(known, chosen, strict=True)
            if (reason := _misfit(attribute, form, self.average) or (self.labels and _undeclared(attribute, form)))
        )
        raise_all(PolicyError, problems)
        return chosen

    def to_policy(self) -> dict[str, Any]:
        """Return the choice as plain values; :meth:`from_policy` reads them back."""
        forms = {name: str(form) for name, form in self.forms.items()}
        plain = {"numeric": str(self.numeric), "forms": forms, "ends": self.ends, "suppressed": self.suppressed}
        chosen = {"average": self.average, "labels": self.labels}
        return plain | {name: value for name, value in chosen.items() if value is not None}

    @classmethod
    def from_policy(cls, values: Mapping[str, Any]) -> Recoding:
        """Build the choice from plain values; keys that are left out keep their default.

        Raises
        ------
        PolicyError
            For unknown keys and for every wrong setting.
        """
        unknown = [f"recoding: unknown key {key!r}; known are {', '.join(_KEYS)}" for key in values if key not in _KEYS]
        raise_all(PolicyError, unknown)
        return cls(**values)

    def _default(self, attribute: EncodedAttribute) -> Form:
        if attribute.hierarchy is not None:
            return Form.ANCESTOR
        if attribute.order is not None:
            return Form.INTERVAL
        return self.numeric if attribute.is_numeric else Form.SET


def _checked_forms(forms: object, problems: list[str]) -> dict[str, Form]:
    if not isinstance(forms, Mapping):
        problems.append("recoding, forms: must be a table of column name = form")
        return {}
    checked = {}
    for name, form in forms.items():
        try:
            checked[str(name)] = Form(form)
        except ValueError:
            problems.append(f"recoding, column {name!r}: the form must be one of {', '.join(Form)}")
    return checked


def _misfit(attribute: EncodedAttribute, form: Form, average: Average | None) -> str | None:
    if form is Form.ANCESTOR and attribute.hierarchy is None:
        return "the form 'ancestor' needs a hierarchy; give one, or choose another form"
    if form in (Form.INTERVAL, Form.MEAN) and not attribute.is_numeric:
        fitting = "'ancestor' or 'set'" if attribute.hierarchy is not None else "'set'"
        return f"the form {str(form)!r} needs numbers or dates without a hierarchy; choose {fitting}"
    if form is Form.MEAN and attribute.order is not None:
        return "ordered values have no mean; choose 'interval' or 'set'"
    if form is Form.MEAN and average == "geometric-mean" and not _has_logarithms(attribute):
        return "a geometric mean needs numbers that are all above 0; choose another average, or the form 'interval'"
    return None


def _undeclared(attribute: EncodedAttribute, form: Form) -> str | None:
    """Say why the form of an attribute has no declared labels."""
    if form is Form.MEAN:
        return "the mean of a class is made of its values; declared labels need the form 'interval'"
    if attribute.order is not None and attribute.hierarchy is None:
        return "ranges of an order end at values that occur; declared labels need a hierarchy, such as groups of yours"
    if form is Form.INTERVAL and not exactly_numbered(attribute) and attribute.size > 1:
        return "numbers of 2^53 or more have no grid; declared labels need a hierarchy here"
    if form is Form.SET and (attribute.domain_size > _MOST_WITHOUT_GROUPS or attribute.hierarchy is not None):
        return (
            "a set tells that its members occur; declared labels need a hierarchy: groups of yours, 'flat', "
            "or a draft of 'sfumato hierarchy', and no form 'set'"
        )
    return None


def _has_logarithms(attribute: EncodedAttribute) -> bool:
    numbers = attribute.numbers
    return attribute.kind is Kind.NUMERIC and numbers is not None and bool((numbers > 0).all())


TIGHT = Recoding(ends="tight")
"""Publishes exactly what classes have: for losses by which solutions are compared, and for the papers' figures."""
