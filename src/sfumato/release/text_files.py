"""The files of a release folder beside its tables: written with their hashes, and held against what is recounted.

``release.json`` has the hashes of all others, and nothing has its own; so there is no circle.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from sfumato.errors import VerificationError
from sfumato.models.checks import Check, Outcome
from sfumato.published.checks.generalized import Verification
from sfumato.published.roles import named
from sfumato.release.description import RATINGS, TableFacts, unambiguous
from sfumato.release.folder import MARK
from sfumato.release.policy_text import FILE
from sfumato.table.writing import sha256_of

REPORT = "report.json"
NAMES = (FILE, REPORT, "report.txt")
WRITTEN = f"{', '.join(NAMES)} are the files that were written, and there are no others"
AGREES = f"{REPORT} says what was recounted"


class Reported(Protocol):
    """A report in the edition of a release; as text it is a page."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        ...


def write_texts(folder: Path, content: Mapping[str, Any], report: Reported, policy: str | None) -> None:
    """Write the report, the policy, and ``release.json`` with `content` and their hashes."""
    texts = {REPORT: _as_json(report.to_dict()), "report.txt": f"{report}\n", **({FILE: policy} if policy else {})}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    hashes = {name: sha256_of(folder / name) for name in sorted(texts)}
    (folder / MARK).write_text(_as_json({**content, "files": hashes}), encoding="utf-8")


def text_checks(
    folder: Path,
    mark: str,
    tables: Collection[str],
    limit: float,
    counted: Verification,
    *,
    unknown: int = 0,
    folders: Collection[str] = (),
) -> tuple[Check, ...]:
    """Tell whether a folder holds what was written and nothing else, and whether its report says what was recounted.

    Parameters
    ----------
    folder
    mark
        The text of its ``release.json``.
    tables
        Names of the files that hold tables.
    limit
        Of suppression, as ``release.json`` says it.
    counted
        What was recounted of the models that this version knows.
    unknown
        Number of the other models.
    folders
        Which of `tables` are folders of parts; others look into them.

    Raises
    ------
    VerificationError
        When the hashes in ``release.json`` are none.
    """
    hashes = _hashes(mark, tables)
    wrong = tuple(_wrong_files(folder, tables, hashes, folders))
    if hashes is None:
        detail = f"{MARK} has no hashes of them"
        written = (*wrong, Check(WRITTEN, Outcome.UNDECIDABLE, detail=detail, required=False))
    else:
        written = wrong or (Check(WRITTEN, Outcome.HOLDS),)
    return (*written, _report_check(folder / REPORT, limit, counted, unknown))


def _as_json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _hashes(mark: str, tables: Collection[str]) -> Mapping[str, str] | None:
    """Return the hash of every file beside the tables; None in folders of earlier versions, which have none."""
    content = unambiguous(mark)
    if "files" not in content:
        return None
    found = content["files"]
    try:
        for name, digest in found.items():
            TableFacts.of({"file": name, "sha256": digest, "rows": 0, "columns": ["any"]})
        # Ratings may have been made without a policy.
        needed = {*NAMES} - ({FILE} if content["kind"] == RATINGS else set())
        if not needed <= {*found} or {MARK, *tables} & {*found}:
            raise ValueError
    except (AttributeError, TypeError, ValueError):
        raise VerificationError(f"{MARK}: is damaged; the release cannot be verified") from None
    return dict(found)


def _wrong_files(
    folder: Path, tables: Collection[str], hashes: Mapping[str, str] | None, folders: Collection[str]
) -> Iterator[Check]:
    """Name every file that is missing, was changed, or is not to be there; links lead to what anybody may change."""
    listed = {MARK, *tables, *(NAMES if hashes is None else hashes)}
    entries = {entry.name: entry for entry in os.scandir(folder)}
    for name in sorted(listed):
        if name in folders and name in entries and entries[name].is_dir(follow_symlinks=False):
            continue
        if reason := _reason(entries.get(name), (hashes or {}).get(name)):
            yield Check(f"{name} is the file that was written", Outcome.BROKEN, detail=reason)
    if strangers := sorted({*entries} - listed):
        detail = f"there is {named(strangers)}, which {MARK} does not list; take it away"
        yield Check("the folder holds nothing else", Outcome.BROKEN, detail=detail)


def _reason(entry: os.DirEntry[str] | None, digest: str | None) -> str | None:
    if entry is None:
        return None if digest is None else "it is missing"
    if entry.is_symlink():
        return "it is a link"
    if not entry.is_file():
        return "it is no file"
    if digest is not None and sha256_of(Path(entry.path)) != digest:
        return f"its sha256 differs from the one in {MARK}: it was changed"
    return None


def _report_check(path: Path, limit: float, counted: Verification, unknown: int) -> Check:
    if not path.is_file():
        return Check(AGREES, Outcome.UNDECIDABLE, detail=f"the release has no {REPORT}", required=False)
    try:
        said = unambiguous(path.read_text(encoding="utf-8"))
        wrong = list(_claims(said, limit, counted.to_dict(), unknown))
    except (VerificationError, AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return Check(AGREES, Outcome.BROKEN, detail=f"{REPORT} is damaged")
    if wrong:
        return Check(AGREES, Outcome.BROKEN, detail=f"it says something else about {', '.join(wrong)}")
    return Check(AGREES, Outcome.HOLDS)


def _claims(said: Mapping[str, Any], limit: float, counted: Mapping[str, Any], unknown: int) -> Iterator[str]:
    """Name what a report says otherwise than the recount; of details only words may differ between versions."""
    records, verification = said["records"], said["verification"]
    if {records["published"], verification["records"]} != {counted["records"]}:
        yield "the records"
    if records["suppression_limit"] != limit:
        yield "the suppression limit"
    yield from (f"the {unit}" for unit in counted.keys() - _COMMON if verification.get(unit) != counted[unit])
    if _sets(verification.get("roles", {})) != _sets(counted.get("roles", {}) if "roles" in verification else {}):
        yield "the roles"
    told, found = _outcomes(verification["checks"]), _outcomes(counted["checks"])
    more = [each for each in told if each not in found]
    if len(more) != unknown or len(told) - len(more) != len(found):
        yield "the promises"


_COMMON = {"ok", "records", "roles", "checks"}


def _sets(roles: Mapping[str, list[str]]) -> dict[str, set[str]]:
    return {role: set(names) for role, names in roles.items()}


def _outcomes(checks: list[Mapping[str, Any]]) -> list[tuple[str, str, list[str]]]:
    """Return promises with what became of them; that nothing is promised was not said always."""
    promised = [check for check in checks if check["outcome"] != Outcome.ABSENT]
    return [(check["promise"], str(check["outcome"]), check["achieved"]) for check in promised]
