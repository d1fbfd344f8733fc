"""What a privacy model is: a pure function of class statistics, and its compiled form for hot loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

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
from sfumato.numbers import figure

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
