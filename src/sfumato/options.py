"""Settings that are declared once, on the fields of a dataclass: what they take, and what to say of anything else.

The type says it. A ``Literal`` takes its words, a ``bool`` true or false, a number with a :class:`Limit` its range,
:data:`Names` a list of names, and each of them nothing where ``None`` is among its types::

    mode: Literal["strict", "relaxed"] = "strict"
    share: Annotated[float, Limit(0, 1, above=True)] = 0.1
    attributes: Names | None = None

:class:`Checked` checks them all when a value is made, and :func:`check_arguments` when a function is called; policies,
forms and the command line read the same declarations. A field of any other type is left to its class.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import Field, dataclass, fields, replace
from functools import cache, wraps
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from sfumato.errors import PolicyError, raise_all


class Option(Protocol):
    """What a setting takes."""

    def describe(self) -> str:
        """Say it in words, to complete "must be ..."."""
        ...

    def takes(self, value: object) -> bool:
        """Tell whether `value` is allowed."""
        ...


@dataclass(frozen=True)
class Limit:
    """A range of numbers, for an annotation.

    Attributes
    ----------
    low, high : float
        The range; both ends belong to it.
    above, below : bool
        Whether `low`, or `high`, is excluded all the same.
    unit : str
        What is counted, e.g. ``"seconds"``.
    besides : float or None
        One more number that is allowed.
    meaning : str
        What that one stands for.
    whole : bool
        Whether only whole numbers are taken; the type of the field says so.
    """

    low: float
    high: float = math.inf
    above: bool = False
    below: bool = False
    unit: str = ""
    besides: float | None = None
    meaning: str = ""
    whole: bool = False

    def describe(self) -> str:
        """Say it in words, to complete "must be ..."."""
        what = ("a whole number" if self.whole else "a number") + (f" of {self.unit}" if self.unit else "")
        more = "" if self.besides is None else f", or {self.besides:g} for {self.meaning}"
        if math.isinf(self.high):
            return f"{what} {'above' if self.above else 'of at least'} {self.low:g}{more}"
        last = ("and below" if self.below else "up to") if self.above else ("to below" if self.below else "to")
        return f"{what} {'above' if self.above else 'from'} {self.low:g} {last} {self.high:g}{more}"

    def takes(self, value: object) -> bool:
        """Tell whether `value` is within the limit; a bool is no number here."""
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        try:
            number = float(value)
        except OverflowError:
            return False
        high_enough = number > self.low if self.above else number >= self.low
        low_enough = number < self.high if self.below else number <= self.high
        return math.isfinite(number) and ((high_enough and low_enough) or number == self.besides)

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        """Say the range in the JSON Schema, too, where no number besides is allowed."""
        schema: dict[str, Any] = handler(core)
        if self.besides is None:
            schema["exclusiveMinimum" if self.above else "minimum"] = self.low
            if math.isfinite(self.high):
                schema["exclusiveMaximum" if self.below else "maximum"] = self.high
        else:
            schema["x-takes"] = self.describe()
        return schema | ({"x-unit": self.unit} if self.unit else {})


@dataclass(frozen=True)
class Choice:
    """One of several words."""

    words: tuple[str, ...]

    def describe(self) -> str:
        """Say it in words, to complete "must be ..."."""
        return f"one of {', '.join(self.words)}"

    def takes(self, value: object) -> bool:
        """Tell whether `value` is one of the words."""
        return isinstance(value, str) and value in self.words


class Flag:
    """True or false."""

    def describe(self) -> str:
        """Say it in words, to complete "must be ..."."""
        return "true or false"

    def takes(self, value: object) -> bool:
        """Tell whether `value` is a truth value."""
        return isinstance(value, bool)


@dataclass(frozen=True)
class ListOfNames:
    """Names of columns, each once; for an annotation."""

    fewest: int = 1

    def describe(self) -> str:
        """Say it in words, to complete "must be ..."."""
        return "a list of names" + (", at least one and each once" if self.fewest else ", each once")

    def takes(self, value: object) -> bool:
        """Tell whether `value` holds different names, and enough of them."""
        if not isinstance(value, tuple) or not all(isinstance(name, str) for name in value):
            return False
        return self.fewest <= len(value) == len(set(value))

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        """Say the same in the JSON Schema."""
        return {**handler(core), "minItems": self.fewest, "uniqueItems": True}


@dataclass(frozen=True)
class MadeBy:
    """A value that a function of ``sfumato`` makes: its class has `made_by`, the name of that function."""

    kind: Any

    def describe(self) -> str:
        """Say it in words, to complete "must be ..."."""
        return f"{self.kind.__name__} from sfumato.{self.kind.made_by}(...)"

    def takes(self, value: object) -> bool:
        """Tell whether `value` is one."""
        return isinstance(value, self.kind)


class Nothing:
    """Left out."""

    def describe(self) -> str:
        """Say nothing: that a setting can be left out goes without saying."""
        return ""

    def takes(self, value: object) -> bool:
        """Tell whether `value` is None."""
        return value is None


Share = Annotated[float, Limit(0, 1, above=True)]
"""A share of something, and not none of it."""
Names = Annotated[tuple[str, ...], ListOfNames()]
"""One name or more, each once."""
Count = Annotated[int, Limit(1)]
"""A whole number of at least 1."""
Seed = Annotated[int, Limit(0)] | None
"""For tests and studies; None draws from the operating system."""


class Checked:
    """Base of dataclasses whose settings are declared: all mistakes are gathered when a value is made."""

    name: ClassVar[str]
    """What messages call it."""

    def __post_init__(self) -> None:
        """Settle lists of names as tuples, and check every setting by itself and with the others."""
        kind: Any = type(self)
        for field, choices in declared(kind):
            value = getattr(self, field.name)
            if isinstance(value, list) and any(isinstance(option, ListOfNames) for option in choices):
                object.__setattr__(self, field.name, tuple(value))
        raise_all(PolicyError, [*option_problems(self), *self._mistakes()])

    def _mistakes(self) -> Iterable[str]:
        """Say what else is wrong, whatever single settings are."""
        return ()


def option_problems(value: Any) -> list[str]:
    """Return one sentence for each declared setting of a dataclass with a `name` that is not as declared."""
    kind: Any = type(value)
    return [
        f"{value.name}: {field.name} must be {' or '.join(filter(None, (option.describe() for option in options)))}"
        for field, options in declared(kind)
        if not any(option.takes(getattr(value, field.name)) for option in options)
    ]


@cache
def declared(kind: Any) -> Sequence[tuple[Field[Any], tuple[Option, ...]]]:
    """Return the fields of a dataclass whose types say what they take, with what that is."""
    hints = get_type_hints(kind, include_extras=True)
    found = [(field, _options(hints[field.name])) for field in fields(kind) if field.init]
    return [(field, tuple(option for option in options if option)) for field, options in found if all(options)]


def _options(hint: Any) -> list[Option | None]:
    """Return what each alternative of a type takes; None for one that says nothing."""
    alternatives = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return [_option(alternative) for alternative in alternatives]


def _option(hint: Any) -> Option | None:
    if get_origin(hint) is Annotated:
        kind, *notes = get_args(hint)
        option = next((note for note in notes if isinstance(note, (Limit, ListOfNames))), None)
        return replace(option, whole=kind is int) if isinstance(option, Limit) else option
    if get_origin(hint) is Literal:
        return Choice(get_args(hint))
    if isinstance(hint, type) and hasattr(hint, "made_by"):
        return MadeBy(hint)
    return Flag() if hint is bool else Nothing() if hint is NoneType else None


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def check_arguments(call: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let a function raise PolicyError, with one sentence for each argument that is not what its annotation takes."""
    signature = inspect.signature(call)

    @wraps(call)
    def checked(*given: Parameters.args, **named: Parameters.kwargs) -> Result:
        arguments, choices = signature.bind(*given, **named).arguments, _taken(call)
        problems = (
            f"{name} must be {' or '.join(filter(None, (option.describe() for option in choices[name])))}"
            for name, value in arguments.items()
            if name in choices and not any(option.takes(value) for option in choices[name])
        )
        raise_all(PolicyError, problems)
        return call(*given, **named)

    return checked


@cache
def _taken(call: Callable[..., Any]) -> dict[str, tuple[Option, ...]]:
    """Return what the arguments of a function take whose annotations say it."""
    found = {name: _options(hint) for name, hint in get_type_hints(call, include_extras=True).items()}
    return {name: tuple(option for option in options if option) for name, options in found.items() if all(options)}
