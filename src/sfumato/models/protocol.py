"""What a privacy model is: a pure function of class statistics, its compiled form, its traits, and how a check ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts
from sfumato.kernels.predicates import (
    ALPHA,
    BETA,
    BETA_ENHANCED,
    DELTA,
    DISTINCT,
    ENTROPY,
    GUARDED,
    K_ANONYMITY,
    K_MAP,
    LARGEST_SHARE,
    PRESENCE,
    PROBABILISTIC,
    RECURSIVE,
    SLACK,
    T_BY_KIND,
    T_EQUAL,
    T_HIERARCHICAL,
    T_ORDERED,
    WISHED_DISTINCT,
    WISHED_K,
    WISHED_RECORDS,
    WISHED_SHARE,
    RuleArrays,
)
from sfumato.numbers import counted, figure
from sfumato.options import Checked
from sfumato.table.encoding import EncodedAttribute

if TYPE_CHECKING:
    from sfumato.models.reference import View

TOLERANCE = SLACK
"""Slack of every comparison between a float and a bound."""


@dataclass(frozen=True)
class Rule:
    """Compiled form of one model on one sensitive attribute.

    Attributes
    ----------
    code : int
        Which predicate, one of the constants of :mod:`sfumato.kernels.predicates`.
    attribute : str or None
        The sensitive attribute that it looks at; None for models of sizes alone.
    first, second : float
        Parameters of the predicate.
    settle : callable, optional
        Returns the code for the attribute once its values are known, if the kind of the attribute decides.
    marks : callable, optional
        Tells which values of the attribute are guarded once they are known, bool (v,), if the predicate asks.
    view : View, optional
        How it sees the values, and what it compares with; None: as they are counted.
    """

    code: int
    attribute: str | None
    first: float
    second: float = 0.0
    settle: Callable[[SensitiveCounts], int] | None = field(default=None, compare=False)
    marks: Callable[[SensitiveCounts], NDArray[np.bool_]] | None = field(default=None, compare=False)
    view: View | None = None

    @property
    def column(self) -> tuple[str, View | None]:
        """The attribute as the rule sees it; of no attribute, the empty name."""
        return self.attribute or "", self.view


@dataclass(frozen=True)
class Achieved:
    """The value of one parameter that a table really has.

    Attributes
    ----------
    parameter : str
        ``"k"``, ``"l"``, ``"t"``, ...
    value : float
        For ``at_least`` parameters the largest that holds, else the smallest.
    attribute : str or None
        The sensitive attribute that decides, where there is one.
    """

    parameter: str
    value: float
    attribute: str | None = None

    def __str__(self) -> str:
        """Write it as in ``"l=3.2 on disease"``."""
        value = figure(self.value, grouped=False)
        return f"{self.parameter}={value}" + (f" on {self.attribute}" if self.attribute else "")

    def __repr__(self) -> str:
        """Write the value as everywhere else, without the last digits of a float."""
        value = figure(self.value, grouped=False)
        return f"Achieved(parameter={self.parameter!r}, value={value}, attribute={self.attribute!r})"


@runtime_checkable
class PrivacyModel(Protocol):
    """A requirement on every equivalence class.

    Implementations are frozen dataclasses that check their parameters (raising :class:`~sfumato.errors.PolicyError`),
    are equal by value and have a readable repr. Every model of the library is monotone: merging two classes that
    satisfy it gives a class that satisfies it.
    """

    name: ClassVar[str]
    """Name in policies and on the command line, e.g. ``"k-anonymity"``."""

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell for each class whether it satisfies the model; bool (c,)."""
        ...

    def achieved(self, statistics: ClassStatistics) -> Sequence[Achieved]:
        """Return the values that the table really has, one per parameter and sensitive attribute."""
        ...

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return the compiled form, given the names of all sensitive attributes."""
        ...

    def explain(self, statistics: ClassStatistics) -> str | None:
        """Say in one sentence why no partition of these records can satisfy the model, or return None.

        The sentence names the model, what all records together reach, and what to relax; it holds no value of the data.
        """
        ...

    def parameters(self) -> Mapping[str, Any]:
        """Return the parameters as plain values, for policies and reports."""
        ...


Marks = NDArray[np.bool_]


@dataclass(frozen=True)
class _Traits:
    """What is true of a predicate of :mod:`sfumato.kernels.predicates`."""

    # a class that satisfies it still does after any addition; so every part of a class that breaks it breaks it, too
    lasting: bool = False
    relative: bool = False  # it compares with the whole table, which changes when records are left out
    share: bool = False  # it bounds the share of every value, by 1 over its parameter
    mixing: bool = False  # kernels of slices measure it for people who may be in several buckets
    tree: bool = False  # it reads the hierarchy of its attribute
    leading: bool = False  # it needs room for as many counts as its second parameter says
    people: bool = False  # it is about how many records people have; where everybody has one, it always holds
    wishes: bool = False  # it is about the k that people wish for; where nobody does, it always holds
    apart: bool = False  # two classes that satisfy it still do when they are merged and have people in common
    wished_l: bool = False  # it is about the l that people wish for; where nobody does, it always holds
    merging: bool = True  # two classes that satisfy it, and have nobody in common, still do when they are merged
    population: bool = False  # it is about the people of a population whom a class covers


TRAITS: Mapping[int, _Traits] = {
    T_BY_KIND: _Traits(relative=True, mixing=True),
    K_ANONYMITY: _Traits(lasting=True, apart=True),
    ALPHA: _Traits(),
    DISTINCT: _Traits(lasting=True, apart=True),
    PROBABILISTIC: _Traits(share=True, mixing=True),
    ENTROPY: _Traits(),
    RECURSIVE: _Traits(leading=True),
    T_EQUAL: _Traits(relative=True, mixing=True),
    T_ORDERED: _Traits(relative=True, mixing=True),
    T_HIERARCHICAL: _Traits(relative=True, mixing=True, tree=True),
    BETA: _Traits(relative=True),
    BETA_ENHANCED: _Traits(relative=True),
    DELTA: _Traits(relative=True),
    LARGEST_SHARE: _Traits(people=True, apart=True),
    WISHED_K: _Traits(wishes=True, apart=True),
    GUARDED: _Traits(),
    WISHED_DISTINCT: _Traits(wished_l=True, apart=True),
    WISHED_SHARE: _Traits(wished_l=True, merging=False),
    K_MAP: _Traits(lasting=True, population=True),
    PRESENCE: _Traits(population=True),
    WISHED_RECORDS: _Traits(people=True, wishes=True, merging=False),
}


def lasting(rules: RuleArrays) -> RuleArrays:
    """Return the rules that a class keeps whatever is added to it; if a class breaks one, so do its parts."""
    chosen = np.array([TRAITS[code].lasting for code in rules.codes.tolist()], dtype=np.bool_)
    return rules._replace(
        codes=rules.codes[chosen],
        attributes=rules.attributes[chosen],
        first=rules.first[chosen],
        second=rules.second[chosen],
    )


def shares(rules: RuleArrays) -> Marks:
    """Tell which rules bound the share of every value; bool (r,)."""
    return np.array([TRAITS[code].share for code in rules.codes.tolist()], dtype=np.bool_)


def mixing(rules: RuleArrays) -> bool:
    """Tell whether kernels of slices can measure every rule."""
    return all(TRAITS[code].mixing for code in rules.codes.tolist())


def relative(rules: RuleArrays) -> bool:
    """Tell whether some rule compares with the whole table."""
    return any(TRAITS[code].relative for code in rules.codes.tolist())


def ruled(rules: RuleArrays) -> bool:
    """Tell whether some rule concerns more than the class size, which is in records."""
    return bool(np.any(rules.codes != K_ANONYMITY)) or (rules.apart >= 0 and len(rules.codes) > 0)


def smallest(rules: RuleArrays) -> int:
    """Return the largest class size that a rule asks for, at least 1."""
    sizes = rules.first[rules.codes == K_ANONYMITY]
    return int(max(1, np.ceil(sizes.max(initial=1))))


def implied_size(rules: RuleArrays) -> int:
    """Return the fewest records, or people, that a class needs by the rules; so many values need as many records."""
    first, second = rules.first, rules.second
    bounds = [first[rules.codes == PROBABILISTIC], 1.0 / first[(rules.codes == ALPHA) & (first > 0)]]
    if not len(rules.members):
        bounds += [first[rules.codes == DISTINCT], first[rules.codes == ENTROPY], second[rules.codes == RECURSIVE]]
    # What the rounding of floats may have added asks for no further record.
    return max(smallest(rules), *(int(np.ceil(sizes.max(initial=1) - 1e-9)) for sizes in bounds))


_NEEDS_POPULATION = "it speaks of people of a population; recount it with the table of the population"
"""What is said of a promise where no table of the population is at hand."""

_NEEDS_ORIGINAL = "it compares with all original records, of which some may have been left out; the steward attests it"
"""What is said of a promise to somebody who has the published records alone."""


class _Promised(Protocol):
    """Anything with a name and parameters that can be promised."""

    name: ClassVar[str]

    def parameters(self) -> Mapping[str, object]:
        """Return the parameters by name."""
        ...


class Outcome(StrEnum):
    """Result of a check."""

    HOLDS = "holds"
    BROKEN = "broken"
    UNDECIDABLE = "not verifiable from the release"
    ABSENT = "not promised"


@dataclass(frozen=True)
class Check:
    """One promise, its outcome, what the table really has (`achieved`), and `detail` without any value of the table.

    `required`: whether verification fails while it is undecided. `of_population`, `of_original`: whether nobody can
    recount it without a population, or the records that were left out.
    """

    promise: str
    outcome: Outcome
    achieved: tuple[Achieved, ...] = ()
    detail: str = ""
    required: bool = True
    of_population: bool = False
    of_original: bool = False

    def __str__(self) -> str:
        """Write it as one line, e.g. ``"holds: k-anonymity (k=5) (achieved k=6)"``."""
        achieved = f"achieved {', '.join(map(str, self.achieved))}" if self.achieved else ""
        note = "; ".join(part for part in (achieved, self.detail) if part)
        return f"{self.outcome}: {self.promise}" + (f" ({note})" if note else "")


def unknown_population(promise: str) -> Check:
    """Say that a promise about a population cannot be recounted without a table of it."""
    return Check(promise, Outcome.UNDECIDABLE, detail=_NEEDS_POPULATION, required=False, of_population=True)


def unknown_original(promise: str) -> Check:
    """Say that a promise which compares with all original records cannot be recounted from those that are left."""
    return Check(promise, Outcome.UNDECIDABLE, detail=_NEEDS_ORIGINAL, required=False, of_original=True)


def promise_words(model: _Promised) -> str:
    """Name a model with its parameters, e.g. ``"k-anonymity (k=5)"``."""
    parameters = ", ".join(f"{name}={_word(value)}" for name, value in model.parameters().items() if value is not None)
    return f"{model.name} ({parameters})" if parameters else model.name


def _word(value: object) -> str:
    if isinstance(value, Mapping):
        return f"declared, {counted(len(value), 'value')}"
    return f"[{', '.join(map(repr, value))}]" if isinstance(value, (list, tuple)) else str(value)


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
    "Promises about sensitive values bound what the table itself tells of anybody. An attacker who knows the algorithm "
    "may learn more (minimality).",
    "An attacker who knows values of some people may, too (background knowledge). So may one who learns from the whole "
    "table how values go together (deFinetti).",
)
"""Attackers that no such promise is about."""


_BLIND = (
    "Promises about sensitive values bound what the table itself tells of anybody. "
    "They were looked at for blocks of many people, and for no single class.",
    BESIDE_THE_TABLE[1].replace("may, too", "may learn more"),
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
