"""Policy files: from TOML text to plain values, not yet checked."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, PolicyError
from sfumato.policy.entries import moved_files
from sfumato.whole_files import read_regular


def read_policy(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a policy file as plain values, unchecked; paths become relative to this folder. Says where TOML is wrong."""
    path = Path(path)
    try:
        mapping = tomllib.loads(read_regular(path).decode("utf-8"))
    except OSError as error:
        raise InputError(f"{path.name}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise PolicyError(f"{path.name}: is not UTF-8 text; save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{path.name}: {syntax_problem(str(error))}") from None
    except RecursionError:
        raise PolicyError(f"{path.name}: is nested too deeply; use fewer levels") from None
    return moved_files(mapping, lambda file: str(path.parent / file))


_REASONS = (
    ("Invalid value", "here should stand a value",
     'text stands in quotes, "mondrian"; true and false in small letters; numbers without quotes, with a point: 0.05'),
    ("Expected '=' after a key", "a key is not followed by =",
     'write key = value; a key with blanks or other signs in it stands in quotes, "date of birth" = …'),
    ("Expected newline or end", "something stands behind a value or a [table]",
     "begin a new line; in a list put a comma between two values"),
    ("Invalid statement", "a line begins with what is no key", "write key = value, [table], or # before a remark"),
    ("Invalid initial character", "a key begins with a sign that none may begin with",
     'use letters, digits, - and _, or put the key in quotes, "zip+4"'),
    ("Expected ']]'", "[[ is not closed by ]]", "write [[models]]"),
    ("Expected ']'", "[ is not closed by ]", "write [columns]"),
    ("Expected", "text in quotes is not closed", "close it with the same quotes"),
    ("Unterminated string", "text in quotes is not closed on its line", "close it with the same quotes"),
    ("Unescaped '\\'", "a backslash in double quotes begins what is none of TOML's signs",
     "write '…' in single quotes, as for C:\\data, or \\\\ for each backslash"),
    ("Escaped character", "a backslash in double quotes begins what is no character", "write '…' in single quotes"),
    ("Invalid hex", "a backslash in double quotes begins what is no character", "write '…' in single quotes"),
    ("Unclosed array", "a list is not closed, or lacks a comma",
     'write ["age", "sex"], with a comma between two values'),
    ("Unclosed inline table", "{ is not closed, or lacks a comma", 'write { name = "k-anonymity", k = 5 } on one line'),
    ("Duplicate inline table key", "a key stands twice in { }", "leave one out"),
    ("Cannot overwrite", "a key, or a [table], stands twice", "put its settings together, or leave one out"),
    ("Cannot declare", "a [table] stands twice", "put its settings together"),
    ("Cannot redefine", "a table in { } is added to", "put its settings together"),
    ("Cannot mutate", "a table or list in { } or [ ] is added to", "put its settings together"),
    ("Invalid date", "this is no date of the calendar", 'write 2024-12-31, or put it in quotes if it is text'),
    ("Illegal character", "there is a control character, such as a tab or line end inside quotes", "take it away"),
    ("Found invalid character", "there is a control character", "take it away"),
)  # fmt: skip
"""How the parser's messages begin, what they mean, and what to do."""


def syntax_problem(message: str) -> str:
    """Say where a text is not TOML, what is wrong there, and how it is written right; `message` is the parser's."""
    where = re.search(r"\(at ([^()]*)\)$", message)
    place = where[1] if where else "an unknown place"
    reason = next((f"{what}; {right}" for start, what, right in _REASONS if message.startswith(start)), None)
    return f"is not valid TOML at {place}: {reason or 'a mistake; see toml.io'}"
