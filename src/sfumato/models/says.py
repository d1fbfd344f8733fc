"""What a model says of itself beyond its verdict, so that nobody else keeps a list of models."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

from sfumato.models.protocol import PrivacyModel
from sfumato.numbers import figure
from sfumato.options import Checked
from sfumato.table.encoding import EncodedAttribute

Subject = Literal["classes", "sizes", "values", "buckets", "slices", "joins", "marginals"]
"""What a model may be about.

``"classes"``: equivalence classes of a generalized table. ``"sizes"``: nothing of a class but how many records it has.
``"values"``: single published values, not only classes. ``"buckets"``: the counts of sensitive values of a bucket.
``"slices"``: what the buckets of a sliced table say together; no mixture of buckets may then be worse than the worst of
them, and it is a :class:`~sfumato.models.sensitive.SensitiveModel` with rules on shares or distances. ``"joins"``:
slices whose columns are joined; all that it asks is that no share is above :meth:`Says.allowed_guess`.
``"marginals"``: the cells of count tables.
"""


class Says:
    """What a model says about itself; the defaults claim nothing.

    Derive your own model from this class and state what is true of it; for any other model the defaults hold.
    """

    name: ClassVar[str]
    speaks_of: ClassVar[frozenset[Subject]] = frozenset({"classes"})
    """The subjects for which the model can be promised and recounted."""
    survives_merging: ClassVar[bool] = True
    """Whether merging two classes that satisfy it gives one that does. Every search relies on that."""
    one_record_each: ClassVar[bool] = False
    """Whether it takes every record for a person of its own, so that no table names people for it."""
    in_words: ClassVar[str] = ""
    """What it promises, for a newcomer; parameters in braces. If empty, the name is used."""

    def parameters(self) -> Mapping[str, Any]:
        """Return the parameters as plain values, for policies and reports."""
        raise NotImplementedError

    def misfits(self, attributes: Sequence[EncodedAttribute]) -> Iterable[str]:
        """Say what else is wrong with it for sensitive attributes of which the values are known."""
        return ()

    @property
    def survives_suppression(self) -> bool:
        """Whether a class that satisfies it still does when other classes are left out."""
        return False

    @property
    def caveat(self) -> str:
        """What a reader has to know where it holds, such as that it is an estimate."""
        return ""

    @property
    def needs_population(self) -> bool:
        """Whether nobody can recount it without a table of the population."""
        return False

    @property
    def needs_original(self) -> bool:
        """Whether nobody can recount it who does not know the records that were left out."""
        return False

    @property
    def of_original(self) -> bool:
        """Whether it is counted with records that may have been left out, so that no recipient may be told how far."""
        return False

    @property
    def class_size(self) -> int:
        """Fewest records that it explicitly requires: its `k`, or 1."""
        return int(self.parameters().get("k", 1))

    def least_class_size(self) -> int | None:
        """Return the fewest records of any class that satisfies it, or None if it says nothing about sizes."""
        return None

    def allowed_guess(self, attribute: str) -> float | None:
        """Return the largest chance that it allows of guessing a value of `attribute` correctly, or None."""
        return None

    def sentence(self) -> str:
        """Say in plain English what it promises."""
        settings = self.parameters().items()
        written = {name: figure(value) if isinstance(value, float) else value for name, value in settings}
        return self.in_words.format(**written) or self.name


class _Silent(Says):
    """A model that only judges classes."""

    def __init__(self, model: PrivacyModel) -> None:
        self.name = model.name  # type: ignore[misc]
        self.parameters = model.parameters  # type: ignore[method-assign]


def of_population(models: Sequence[PrivacyModel]) -> list[PrivacyModel]:
    """Return those of `models` that nobody can recount without a table of the population."""
    return [model for model in models if says(model).needs_population]


def says(model: PrivacyModel) -> Says:
    """Return what `model` says about itself, or the defaults."""
    return model if isinstance(model, Says) else _Silent(model)


def speak_of(subject: Subject, models: Sequence[PrivacyModel]) -> list[PrivacyModel]:
    """Return those of `models` that are about `subject`."""
    return [model for model in models if subject in says(model).speaks_of]


def smallest_allowed(models: Sequence[PrivacyModel]) -> int:
    """Return the largest class size that a model requires, at least 1: the fewest records that may be suppressed."""
    return max([1, *(says(model).class_size for model in models)])


def least_class_size(models: Sequence[PrivacyModel]) -> int | None:
    """Return the fewest records of any class that satisfies all models; None if none of them says so."""
    return max((size for model in models if (size := says(model).least_class_size()) is not None), default=None)


def at_least(bound: float) -> int:
    """Round a bound on a class size up, after removing what the rounding of floats may have added."""
    return math.ceil(bound - 1e-9)


BESIDE_THE_TABLE = (
    "Promises about sensitive values bound what the table itself tells of anybody. Who knows the algorithm may learn "
    "more (minimality).",
    "So may who knows values of some people (background knowledge), or learns from the whole table how values go "
    "together (deFinetti).",
)
"""Attackers that no such promise is about."""


_BLIND = (
    "Promises about sensitive values bound what the table itself tells of anybody. "
    "They were looked at for blocks of many people, and for no single class.",
    BESIDE_THE_TABLE[1].replace("So may who knows", "More may learn who knows"),
)
"""The same where no class was made with a look at sensitive values."""


def about_values(models: Iterable[PrivacyModel], sensitive: Sequence[str]) -> bool:
    """Tell whether any of the models looks at sensitive values."""
    return any(rule.attribute is not None for model in models for rule in model.rules(sensitive))


def limits_of_values(
    models: Iterable[PrivacyModel], sensitive: Sequence[str], *, blind: bool = False
) -> tuple[str, ...]:
    """Return what is left open where something is promised about sensitive values; `blind`: cuts look at none."""
    if not about_values(models, sensitive):
        return ()
    return _BLIND if blind else BESIDE_THE_TABLE


@dataclass(frozen=True)
class CheckedModel(Checked, Says):
    """Base of models that checks parameters at construction and keeps them as plain numbers, whole ones as int."""

    def __post_init__(self) -> None:
        """Check all parameters at once."""
        super().__post_init__()
        for name, value in self.parameters().items():
            if isinstance(value, Real) and not isinstance(value, bool):
                object.__setattr__(self, name, _plain(value))

    def parameters(self) -> Mapping[str, Any]:
        """Return the parameters as plain values, without those that were left out."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


def _plain(value: Any) -> int | float:
    """Write whole numbers as int (64 bits: what a policy file holds), so that 3.0 reads and is recorded as 3."""
    number = float(value)
    return int(value) if isinstance(value, Integral) or (number.is_integer() and abs(number) < 2.0**63) else number
