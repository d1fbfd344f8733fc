"""Settings that are declared on fields: what they take, what is said of the rest, and what a schema says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pytest

from sfumato.errors import PolicyError
from sfumato.options import Checked, Limit, ListOfNames, Names, Share, declared
from sfumato.policy.entries import entry_for, json_schema


@dataclass(frozen=True)
class Example(Checked):
    name: ClassVar[str] = "example"

    mode: Literal["strict", "relaxed"] = "strict"
    share: Share = 0.5
    size: Annotated[int, Limit(2, besides=0, meaning="no blocks")] | None = None
    patience: Annotated[float, Limit(0, above=True, unit="seconds")] = 1.0
    part: Annotated[float, Limit(0, 1, below=True)] = 0.0
    middle: Annotated[float, Limit(0, 1, above=True, below=True)] = 0.5
    loud: bool = False
    names: Names | None = None
    beside: Annotated[tuple[str, ...], ListOfNames(0)] = ()
    free: Any = None


def problems(**settings: Any) -> tuple[str, ...]:
    with pytest.raises(PolicyError) as caught:
        Example(**settings)
    return caught.value.problems


def test_what_is_declared_is_taken():
    made = Example(mode="relaxed", share=1, size=0, names=["a", "b"], beside=[], free=object())
    assert (made.share, made.size, made.names, made.beside) == (1, 0, ("a", "b"), ())
    assert Example(size=np.int64(3), share=np.float64(0.25)) == Example(size=3, share=0.25)


@pytest.mark.parametrize(
    ("setting", "wrong", "text"),
    [
        ("mode", ["loose", None, True, ["strict"]], "one of strict, relaxed"),
        ("share", [0, 1.01, float("nan"), True, "1", None, 10**400], "a number above 0 up to 1"),
        ("size", [1, -1, 2.0, True, "2"], "a whole number of at least 2, or 0 for no blocks"),
        ("patience", [0, float("inf"), -1], "a number of seconds above 0"),
        ("part", [-0.1, 1], "a number from 0 to below 1"),
        ("middle", [0, 1], "a number above 0 and below 1"),
        ("loud", [0, 1, "true", None], "true or false"),
        ("names", [(), ("a", "a"), "ab", [1], 3], "a list of names, at least one and each once"),
        ("beside", [("a", "a"), "ab", None], "a list of names, each once"),
    ],
)
def test_anything_else_is_said_without_its_value(setting, wrong, text):
    for value in wrong:
        assert problems(**{setting: value}) == (f"example: {setting} must be {text}",)


def test_all_mistakes_are_gathered():
    assert [problem.split()[1] for problem in problems(mode="", share=2, loud=None)] == ["mode", "share", "loud"]


def test_fields_of_other_types_are_left_to_their_class():
    assert "free" not in [field.name for field, _ in declared(Example)]


def test_the_schema_says_ranges_and_words():
    schema = json_schema(entry_for(Example))["properties"]
    assert schema["mode"]["enum"] == ["strict", "relaxed"]
    assert (schema["share"]["exclusiveMinimum"], schema["share"]["maximum"]) == (0, 1)
    assert (schema["part"]["minimum"], schema["part"]["exclusiveMaximum"]) == (0, 1)
    assert "minimum" not in schema["size"]["anyOf"][0]
    assert schema["beside"]["uniqueItems"] is True
