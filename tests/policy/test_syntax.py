"""Texts that are not TOML: each mistake is named, with what to write instead, and without what stands there."""

from __future__ import annotations

import inspect
import re
import tomllib
from tomllib import _parser

import pytest

from sfumato.policy.file import syntax_problem
from sfumato.policy.mistakes import WORDS

SECRET = "SECRET"


def told(text: str) -> str:
    with pytest.raises(tomllib.TOMLDecodeError) as error:
        tomllib.loads(text)
    return syntax_problem(str(error.value))


@pytest.mark.parametrize(
    ("text", "place", "what", "right"),
    [
        ("[anonymizer]\nname = SECRET", "line 2", "here should stand a value", "text stands in quotes"),
        ("bound = True", "line 1", "here should stand a value", "small letters"),
        ("k = ", "end of document", "here should stand a value", "text stands in quotes"),
        ("date of SECRET = 1", "line 1", "a key is not followed by =", '"date of birth" = …'),
        ("k 5", "line 1", "a key is not followed by =", "write key = value"),
        ("k = 5 SECRET", "line 1", "something stands behind a value", "begin a new line"),
        ("k = 0,05", "line 1", "something stands behind a value", "begin a new line"),
        ("+SECRET = 1", "line 1", "a line begins with what is no key", "write key = value"),
        ("a.+ = 1", "line 1", "a key begins with a sign", "put the key in quotes"),
        ("[columns", "end of document", "[ is not closed by ]", "write [columns]"),
        ("[[models]\nk = 5", "line 1", "[[ is not closed by ]]", "write [[models]]"),
        ('k = "SECRET', "end of document", "text in quotes is not closed", "same quotes"),
        ("k = '''SECRET", "end of document", "text in quotes is not closed", "same quotes"),
        ('k = "C:\\SECRET"', "line 1", "a backslash in double quotes", "single quotes"),
        ('k = "\\uSECR"', "line 1", "a backslash in double quotes", "single quotes"),
        ('k = ["age" "SECRET"]', "line 1", "a list is not closed, or lacks a comma", "with a comma"),
        ("k = { a = 1", "end of document", "{ is not closed", "on one line"),
        ('k = { "SECRET" = 1, "SECRET" = 2 }', "line 1", "a key stands twice in { }", "leave one out"),
        (
            "SECRET = 1\nSECRET = 2\n",
            "line 2",
            "a key, or a [table], stands twice",
            "put its settings together",
        ),
        ("[SECRET]\n[SECRET]", "line 2", "a [table] stands twice", "put its settings together"),
        ("a = { b = 1 }\n[a.SECRET]", "line 2", "a [table] stands twice", "put its settings together"),
        ("k = 2024-02-31", "line 1", "no date of the calendar", "write 2024-12-31"),
        ('k = "a\x07"', "line 1", "a control character", "take it away"),
    ],
)
def test_what_is_wrong_and_how_it_is_written_right(text: str, place: str, what: str, right: str) -> None:
    problem = told(text)
    assert problem.startswith(f"is not valid TOML at {place}")
    assert what in problem
    assert right in problem
    assert SECRET not in problem


def test_every_message_of_the_parser_is_known() -> None:
    messages = re.findall(r'suffixed_err\(\s*\w+,\s*\w+,\s*f?"([^"{]+)', inspect.getsource(_parser))
    assert len(messages) > 15
    messages = [message.replace("\\\\", "\\") for message in messages]
    assert [message for message in messages if not message.startswith(tuple(WORDS["syntax"]))] == []
