"""Policy files: from TOML text to plain values, not yet checked."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, PolicyError
from sfumato.policy.entries import moved_files
from sfumato.policy.mistakes import WORDS
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


def syntax_problem(message: str) -> str:
    """Say where a text is not TOML, what is wrong there, and how it is written right; `message` is the parser's."""
    where = re.search(r"\(at ([^()]*)\)$", message)
    place = where[1] if where else "an unknown place"
    reason = next((text for start, text in WORDS["syntax"].items() if message.startswith(start)), None)
    return f"is not valid TOML at {place}: {reason or 'a mistake; see toml.io'}"
