"""The choice of how each attribute is published, as a value that policies can hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, get_args

from sfumato.classes.generalized import Form
from sfumato.errors import PolicyError, raise_all
from sfumato.table.encoding import EncodedAttribute
from sfumato.table.schema import Kind

_Ends = Literal["rounded", "tight"]
Suppressed = Literal["remove", "star"]
Average = Literal["mean", "median", "mode", "geometric-mean"]

_KEYS = ("numeric", "forms", "ends", "suppressed", "average")


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
        object.__setattr__(self, "forms", MappingProxyType(_checked_forms(self.forms, problems)))
        raise_all(PolicyError, problems)

    def __hash__(self) -> int:
        """Hash by value; the order of `forms` does not count."""
        return hash((self.numeric, frozenset(self.forms.items()), self.ends, self.suppressed, self.average))

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
            if (reason := _misfit(attribute, form, self.average))
        )
        raise_all(PolicyError, problems)
        return chosen

    def to_policy(self) -> dict[str, Any]:
        """Return the choice as plain values; :meth:`from_policy` reads them back."""
        forms = {name: str(form) for name, form in self.forms.items()}
        plain = {"numeric": str(self.numeric), "forms": forms, "ends": self.ends, "suppressed": self.suppressed}
        return plain if self.average is None else {**plain, "average": self.average}

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
    if form is Form.MEAN and average == "geometric-mean" and not _has_logarithms(attribute):
        return "a geometric mean needs numbers that are all above 0; choose another average, or the form 'interval'"
    return None


def _has_logarithms(attribute: EncodedAttribute) -> bool:
    numbers = attribute.numbers
    return attribute.kind is Kind.NUMERIC and numbers is not None and bool((numbers > 0).all())


TIGHT = Recoding(ends="tight")
"""Publishes exactly what classes have: for losses by which solutions are compared, and for the papers' figures."""
