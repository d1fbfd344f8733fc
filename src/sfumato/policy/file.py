"""Policy files: from TOML text to plain values, not yet checked."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, PolicyError
from sfumato.policy.hierarchy_entries import moved_files
from sfumato.policy.syntax import syntax_problem


def read_policy(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a policy file as plain values, unchecked; paths in it become relative to the current folder.

    Raises
    ------
    InputError
        When the file cannot be read.
    PolicyError
        When it is not TOML: where, what is wrong, and how it is written right.
    """
    path = Path(path)
    try:
        mapping = tomllib.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise InputError(f"{path.name}: cannot be read ({os.strerror(error.errno or 0)})") from None
    except UnicodeDecodeError:
        raise PolicyError(f"{path.name}: is not UTF-8 text; save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{path.name}: {syntax_problem(str(error))}") from None
    except RecursionError:
        raise PolicyError(f"{path.name}: is nested too deeply; use fewer levels") from None
    return moved_files(mapping, lambda file: str(path.parent / file))
