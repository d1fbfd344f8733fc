"""Questions that reading a table asks, as buttons: each option that a question names is an answer to it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.errors import InputError
from sfumato.studio.draft import Draft

_OPTION = re.compile(
    r"--(decimal|thousands|dates|unit|categorical|numeric|strays-missing|encoding|separator)"
    r" ('[^']*'|\"[^\"]*\"|[^\s,;()]+|,|;)"
)
OF_FILE = ("decimal", "thousands", "dates", "encoding", "separator")
"""Options that speak of the whole file unless they name a column."""
OF_COLUMN = ("decimal", "thousands", "dates", "unit")
_SAID = {
    "decimal": "“{}” stands before fractions",
    "thousands": "“{}” stands between thousands",
    "dates": "dates are written {}",
    "unit": "{} is the unit",
    "encoding": "the file is written in {}",
    "separator": "“{}” parts the fields",
}
_OF_KIND = {
    "categorical": "it is text, or codes",
    "numeric": "they are numbers",
    "strays-missing": "what does not fit counts as missing",
}


@dataclass(frozen=True)
class Answer:
    """One answer to a question."""

    option: str  # of the command line, without its dashes
    column: str  # whose values it is about; empty: the whole file's
    value: str  # what is said; empty where the option says all

    @property
    def words(self) -> str:
        """What the button says."""
        words = _OF_KIND[self.option] if self.option in _OF_KIND else _SAID[self.option].format(self.value)
        return f"{self.column}: {words}" if self.column else words


def answers(problems: Sequence[str], names: Sequence[str]) -> list[Answer]:
    """Return the answers that problems with a table name, each once; `names` are those of its columns."""
    found = [_answer(option, value, names) for line in problems for option, value in _OPTION.findall(line)]
    return list(dict.fromkeys(answer for answer in found if answer is not None))


def _answer(option: str, reply: str, names: Sequence[str]) -> Answer | None:
    try:
        value = "".join(shlex.split(reply))
    except ValueError:
        return None
    if option in _OF_KIND:
        return Answer(option, value, "") if value in names else None
    column = next((name for name in names if option in OF_COLUMN and value.startswith(f"{name}=")), "")
    value = value[len(column) + 1 :] if column else value
    return Answer(option, column, value) if value and (column or option in OF_FILE) else None


def answered(draft: Draft, answer: Answer) -> Draft:
    """Return the draft that says what an answer says.

    Raises ``InputError`` when it is no answer. Raises ``PolicyError`` when there is no such column.
    """
    if answer.option in ("categorical", "numeric"):
        return draft.with_setting(answer.column, "kind", answer.option)
    if answer.option == "strays-missing":
        return draft.with_setting(answer.column, "strays", "missing")
    if answer.column and answer.option in OF_COLUMN:
        return draft.with_setting(answer.column, answer.option, answer.value)
    if not answer.column and answer.option in OF_FILE:
        source: dict[str, Any] = dict(draft.rest.get("source", {}))
        return draft.with_rest("source", {**source, answer.option: answer.value})
    raise InputError("option: is none of the answers")
