"""What a privacy model is: a pure function of class statistics, its compiled form, its traits, and how a check ends."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts, as_one_class
from sfumato.errors import PolicyError
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
from sfumato.models.reference import (
    Distribution,
    Originals,
    Reference,
    View,
    distribution_of,
    frozen_reference,
    mistakes_in,
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
    return entry_words({"name": model.name, **model.parameters()})


def entry_words(entry: Mapping[str, object]) -> str:
    """Name a model that is described by its name and parameters, as :func:`promise_words` names one."""
    known = ((name, value) for name, value in entry.items() if name != "name" and value is not None)
    parameters = ", ".join(f"{name}={_word(value)}" for name, value in known)
    return f"{entry['name']} ({parameters})" if parameters else str(entry["name"])


def _word(value: object) -> str:
    if isinstance(value, Mapping):
        return f"declared, {counted(len(value), 'value')}"
    return f"[{', '.join(map(repr, value))}]" if isinstance(value, (list, tuple)) else str(value)


Subject = Literal["classes", "sizes", "values", "buckets", "slices", "joins", "marginals"]
"""What a model may be about.

``"classes"``: equivalence classes of a generalized table. ``"sizes"``: nothing of a class but how many records it has.
``"values"``: single published values, not only classes. ``"buckets"``: the counts of sensitive values of a bucket.
``"slices"``: what the buckets of a sliced table say together; no mixture of buckets may then be worse than the worst of
them, and it is a :class:`~sfumato.models.protocol.SensitiveModel` with rules on shares or distances. ``"joins"``:
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


class SensitiveModel(CheckedModel, ABC):
    """A bound on one `measure` of the sensitive values of every class, from which all follows.

    `attribute` comes last.
    """

    attribute: str | None
    """The sensitive attribute that the model protects; None protects every one, each by itself."""
    code: ClassVar[int]
    """Predicate of :mod:`sfumato.kernels.predicates`."""
    speaks_of: ClassVar = frozenset({"classes", "buckets", "marginals"})
    bounded: ClassVar[str]
    """Parameter that bounds the measure."""
    at_least: ClassVar[bool]
    """Whether the measure must reach the bound (diversity) or stay within it (distances, shares)."""
    remedy: ClassVar[str]
    """What to relax if even the whole table fails."""

    @property
    def survives_suppression(self) -> bool:
        """Tell whether classes are judged alone, and not compared with the whole table."""
        return not TRAITS[self.code].relative

    @abstractmethod
    def measure(self, counts: SensitiveCounts, sizes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the value of the bounded parameter that each class really has; float64 (c,)."""

    def within(self, measured: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Compare measured values with the bound; bool (c,)."""
        bound: float = getattr(self, self.bounded)
        return (
            np.greater_equal(measured, bound - TOLERANCE)
            if self.at_least
            else np.less_equal(measured, bound + TOLERANCE)
        )

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell for each class whether every protected attribute is within the bound; bool (c,)."""
        verdict = np.ones(statistics.count, dtype=np.bool_)
        for counts in self._protected(statistics):
            verdict &= self.within(self.measure(counts, statistics.sizes))
        return verdict

    def achieved(self, statistics: ClassStatistics) -> Sequence[Achieved]:
        """Return the value of the worst class for each protected attribute; without classes infinite, or 0."""
        return [
            Achieved(self.bounded, self._worst(self.measure(counts, statistics.sizes)), counts.name)
            for counts in self._protected(statistics)
        ]

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return one compiled rule per protected attribute, given the names of all sensitive attributes."""
        first, second = (*self._bounds(), 0.0)[:2]
        return [Rule(self.code, name, first, second) for name in self._selected(attributes)]

    def explain(self, statistics: ClassStatistics) -> str | None:
        """Say why no partition can satisfy the model, or None: what all records together fail, each one fails."""
        whole = as_one_class(statistics)
        reached = [
            (counts, measured[0])
            for counts in self._protected(whole)
            for measured in [self.measure(counts, whole.sizes)]
            if not self.within(measured)[0]
        ]
        sentences = (self._sentence(counts.name, value) + self._instead(counts, whole) for counts, value in reached)
        return "; ".join(sentences) or None

    def _instead(self, counts: SensitiveCounts, whole: ClassStatistics) -> str:
        """Name other models that all records in one class satisfy."""
        return ""

    def _bounds(self) -> tuple[float, ...]:
        return (getattr(self, self.bounded),)

    def _worst(self, measured: NDArray[np.float64]) -> float:
        if self.at_least:
            return float(measured.min(initial=math.inf))
        return float(measured.max(initial=0.0))

    def _sentence(self, attribute: str, reached: float) -> str:
        bound = getattr(self, self.bounded)
        best = f"only {self.bounded} = {reached:.6g}" if math.isfinite(reached) else f"no {self.bounded} at all"
        return (
            f"{self.name} on {attribute!r} asks for {self.bounded} = {bound:g}, "
            f"but all records in one class reach {best}; {self.remedy}"
        )

    def _protected(self, statistics: ClassStatistics) -> list[SensitiveCounts]:
        return [statistics.sensitive[name] for name in self._selected(statistics.sensitive)]

    def _selected(self, names: Mapping[str, object] | Collection[str]) -> list[str]:
        if not names:
            raise PolicyError(f"{self.name}: the table has no sensitive attribute; give a column that role")
        if self.attribute is None:
            return list(names)
        if self.attribute not in names:
            known = ", ".join(repr(name) for name in names)
            raise PolicyError(f"{self.name}: there is no sensitive attribute {self.attribute!r}; there are: {known}")
        return [self.attribute]

    def _mistakes(self) -> Iterator[str]:
        if self.attribute is not None and not (isinstance(self.attribute, str) and self.attribute):
            yield f"{self.name}: attribute must be the name of a sensitive column"


class WholeTableModel(CheckedModel):
    """A bound on a figure of all classes together.

    Searches that know all classes of a candidate judge it as it is. For all others there is a model of classes that
    implies it, `stand_in`: they look for the weakest one whose solution satisfies the bound.
    """

    bounded: ClassVar[str]
    """The parameter that bounds the figure."""
    steady: ClassVar[bool] = True
    """Whether the figure never rises when classes are merged."""
    one_record_each: ClassVar[bool] = True
    speaks_of: ClassVar = frozenset({"classes"})

    @abstractmethod
    def figure_of(self, sizes: NDArray[np.int64], people: NDArray[np.int64] | None) -> float:
        """Return the figure for classes of these sizes, int64 (c,), that cover so many people of a population."""

    @abstractmethod
    def sufficient(self) -> int:
        """Return a k such that classes with `stand_in(k)` satisfy the bound."""

    @abstractmethod
    def stand_in(self, k: int) -> PrivacyModel:
        """Return the model of classes that takes the place of this one where classes are made one by one."""

    def most_alone(self, records: int) -> float | None:
        """Return the share of records alone in their class above which it never holds; None: no such share."""
        return None

    def weakness(self, sizes: NDArray[np.int64], people: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Return by what classes are left out first, the smallest; int64 (c,)."""
        return sizes

    def within(self, sizes: NDArray[np.int64], people: NDArray[np.int64] | None) -> bool:
        """Tell whether the figure of these classes is within the bound."""
        return self.figure_of(sizes, people) <= float(getattr(self, self.bounded)) + TOLERANCE

    def holds(self, statistics: ClassStatistics) -> NDArray[np.bool_]:
        """Tell whether the table satisfies the model, of every class the same; bool (c,)."""
        verdict = not statistics.count or self.within(statistics.sizes, statistics.population)
        return np.full(statistics.count, verdict, dtype=np.bool_)

    def achieved(self, statistics: ClassStatistics) -> Sequence[Achieved]:
        """Return the figure of the table; 0 without classes."""
        found = self.figure_of(statistics.sizes, statistics.population) if statistics.count else 0.0
        return [Achieved(self.bounded, found)]

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return the rules of what implies it."""
        return self.stand_in(self.sufficient()).rules(attributes)

    def explain(self, statistics: ClassStatistics) -> str | None:
        """Say that not even one class of all records satisfies it, or None."""
        whole = as_one_class(statistics)
        found = self.figure_of(whole.sizes, whole.population)
        bound = float(getattr(self, self.bounded))
        if found <= bound + TOLERANCE:
            return None
        return (
            f"{self.name} asks for {self.bounded} = {bound:g}, but all records in one class reach {found:.6g}; raise "
            f"{self.bounded}"
        )


def whole_table_models(models: Sequence[PrivacyModel]) -> list[WholeTableModel]:
    """Return those of `models` that bound a figure of the whole table."""
    return [model for model in models if isinstance(model, WholeTableModel)]


def left_after(
    models: Sequence[WholeTableModel],
    sizes: NDArray[np.int64],
    people: NDArray[np.int64] | None,
    kept: NDArray[np.bool_],
    room: int,
) -> NDArray[np.bool_]:
    """Leave classes out, the weakest by the first model that fails first, equals at a time, until all hold; bool (c,).

    `room`: records that may go; where that does not suffice, or nothing holds, nothing is left. Cost O(c · s) for s
    sizes.
    """
    kept, least = kept.copy(), int(sizes[kept].sum()) - room
    while kept.any():
        if int(sizes[kept].sum()) < least:
            return np.zeros_like(kept)
        here = None if people is None else people[kept]
        broken = next((model for model in models if not model.within(sizes[kept], here)), None)
        if broken is None:
            break
        weakness = broken.weakness(sizes, people)
        kept &= weakness > weakness[kept].min()
    return kept


class ComparingModel(SensitiveModel):
    """A bound on how far the sensitive values of a class are from those of the whole table.

    `reference` says what the whole table is. ``"published"`` (also None): the records that are published, which any
    recipient counts. ``"original"``: all records that were handed in; where some of them may be left out, nobody can
    recount it from the release, which must not tell what those had. A table of labels and shares: what somebody
    declares, such as a census; it is part of the promise, is published with it, and anybody can recount it.
    """

    reference: Reference

    def __post_init__(self) -> None:
        """Settle the reference so that models can be hashed."""
        object.__setattr__(self, "reference", frozen_reference(self.reference))
        super().__post_init__()
        if self.is_special:
            object.__setattr__(self, "one_record_each", True)
            object.__setattr__(self, "speaks_of", frozenset({"classes"}))

    @property
    def is_special(self) -> bool:
        """Whether it sees values otherwise than they are counted in the published table."""
        return self.reference not in (None, "published")

    @property
    def survives_suppression(self) -> bool:
        """Whether what it compares with stays the same when records are left out."""
        return isinstance(self.reference, (Distribution, Originals)) and bool(self.reference)

    @property
    def needs_original(self) -> bool:
        """Whether nobody can recount it who does not know the records that were left out."""
        return self.reference == "original"

    @property
    def of_original(self) -> bool:
        """Whether it compares with records of which some may have been left out."""
        return isinstance(self.reference, Originals) and bool(self.reference)

    @property
    def caveat(self) -> str:
        """Say who can count what it compares with."""
        return "compared with all original records, which the release does not tell" if self.of_original else ""

    def parameters(self) -> Mapping[str, Any]:
        """Return the parameters as plain values; what was counted of the original is not told."""
        parameters = dict(super().parameters())
        if isinstance(self.reference, Originals):
            parameters["reference"] = "original"
        return parameters

    def compared_with(self, originals: Originals) -> Self:
        """Return the same model for a table of which all original records have been counted."""
        if not self.needs_original:
            return self
        settings = {field.name: getattr(self, field.name) for field in fields(self)}
        return type(self)(**{**settings, "reference": originals})

    def rules(self, attributes: Sequence[str]) -> Sequence[Rule]:
        """Return one compiled rule per protected attribute, which says how it sees the values."""
        return [replace(rule, view=self._view(rule.attribute or "")) for rule in super().rules(attributes)]

    def _protected(self, statistics: ClassStatistics) -> list[SensitiveCounts]:
        found = super()._protected(statistics)
        return [counts if (view := self._view(counts.name)) is None else view.seen(counts) for counts in found]

    def _selected(self, names: Any) -> list[str]:
        found = super()._selected(names)
        if isinstance(self.reference, Distribution) and len(found) > 1:
            raise PolicyError(
                f"{self.name}: reference declares the shares of one attribute, and there are {len(found)}; name it"
            )
        return found

    def _view(self, name: str) -> View | None:
        if isinstance(self.reference, Originals):
            return View(self.reference[name]) if self.reference else None
        return View(self.reference) if isinstance(self.reference, Distribution) else None

    def _mistakes(self) -> Iterator[str]:
        yield from super()._mistakes()
        yield from (f"{self.name}: {mistake}" for mistake in mistakes_in(self.reference))


def compared_with_original(models: Sequence[PrivacyModel], whole: ClassStatistics | None) -> list[PrivacyModel]:
    """Return the models with the original as one class, where they compare; None: all are published."""
    asking = [model for model in models if isinstance(model, ComparingModel) and model.needs_original]
    if not asking:
        return list(models)
    counted = {} if whole is None else {name: distribution_of(counts) for name, counts in whole.sensitive.items()}
    originals = Originals(counted)
    return [model.compared_with(originals) if isinstance(model, ComparingModel) else model for model in models]


def declared_values(models: Sequence[PrivacyModel]) -> set[str]:
    """Return the labels of all values that some model declares the share of."""
    references = [model.reference for model in models if isinstance(model, ComparingModel)]
    return {label for reference in references if isinstance(reference, Distribution) for label in reference}
