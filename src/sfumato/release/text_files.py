"""The files of a release folder beside its tables: written with their hashes, and held against what is recounted.

``release.json`` has the hashes of all others, and nothing has its own; so there is no circle.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from sfumato.errors import VerificationError
from sfumato.models.checks import Check, Outcome
from sfumato.published.checks.generalized import Verification
from sfumato.published.protocol import named
from sfumato.release.agreement import FILE
from sfumato.release.description import TableFacts, is_own_kind, unambiguous
from sfumato.release.formulas import formula_problems
from sfumato.release.transaction import MARK
from sfumato.table.writing import PLAIN, Format, sha256_of, write_data
from sfumato.whole_files import read_regular_text

# What writing a folder shares for all releases that are no table of records: ratings, sets, noisy marginals.


def wrong_types(
    release: object, kind: type, made_by: str, policy: object, policy_kind: type, format: object, formulas: object
) -> list[str]:
    """Name the arguments that are not what they must be. made_by : the function of ``sfumato`` that makes it."""
    problems = []
    if not isinstance(release, kind):
        problems.append(f"release is not a {kind.__name__}; make one with sfumato.{made_by}(...)")
    if policy is not None and not isinstance(policy, policy_kind):
        name = policy_kind.__name__
        problems.append(f"policy is not a {name}; read one with sfumato.{name}.from_file(...)")
    if format not in PLAIN:
        problems.append("format must be 'csv' or 'parquet'")
    return problems + formula_problems(formulas)


def write_text_tables(folder: Path, tables: Mapping[str, pl.DataFrame], format: Format) -> dict[str, TableFacts]:
    """Write each table to a file of its own, and return what ``release.json`` says of it."""
    facts = {}
    for name, frame in tables.items():
        file = folder / f"{name}.{format}"
        facts[name] = TableFacts(file.name, write_data(frame, file, format), frame.height, tuple(frame.columns))
    return facts


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
    for name, text in release_texts(content, report, policy).items():
        (folder / name).write_bytes(text.encode())


def release_texts(content: Mapping[str, Any], report: Reported, policy: str | None) -> dict[str, str]:
    """Return the report, the policy, and ``release.json`` with `content` and their hashes, as texts by name."""
    texts = {REPORT: _as_json(report.to_dict()), "report.txt": f"{report}\n", **({FILE: policy} if policy else {})}
    hashes = {name: hash_of(texts[name]) for name in sorted(texts)}
    return {**texts, MARK: _as_json({**content, "files": hashes})}


def hash_of(text: str) -> str:
    """Return the sha256 of a text as UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


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

    * `mark`: the text of its ``release.json``.
    * `tables`: names of the files that hold tables.
    * `limit`: of suppression, as ``release.json`` says it.
    * `counted`: what was recounted of the models that this version knows.
    * `unknown`: number of the other models.
    * `folders`: which of `tables` are folders of parts; others look into them.

    Raises ``VerificationError`` when the hashes in ``release.json`` are none.
    """
    hashes = _hashes(mark, tables)
    wrong = tuple(_wrong_files(folder, tables, hashes, folders))
    if hashes is None:
        detail = f"{MARK} has no hashes of them"
        written = (*wrong, Check(WRITTEN, Outcome.UNDECIDABLE, detail=detail, required=False))
    else:
        written = wrong or (Check(WRITTEN, Outcome.HOLDS),)
    report = read_regular_text(folder / REPORT, errors="replace") if (folder / REPORT).is_file() else None
    return (*written, _report_check(report, limit, counted, unknown))


def stored_text_checks(
    texts: Mapping[str, str], limit: float, counted: Verification, *, unknown: int = 0
) -> tuple[Check, ...]:
    """Tell the same of texts by name, as a database holds them; see :func:`text_checks`."""
    hashes = _hashes(texts[MARK], ()) or {}
    wrong = [name for name in sorted({*hashes, *texts} - {MARK}) if hash_of(texts.get(name, "")) != hashes.get(name)]
    broken = tuple(
        Check(f"{name} is the text that was written", Outcome.BROKEN, detail="it is missing, or was changed")
        for name in wrong
    )
    written = broken or (Check(WRITTEN.replace("files", "texts"), Outcome.HOLDS),)
    return (*written, _report_check(texts.get(REPORT), limit, counted, unknown))


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
        # Ratings, sets and counts may have been made without a policy.
        needed = {*NAMES} - ({FILE} if is_own_kind(content["kind"]) else set())
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


def _report_check(text: str | None, limit: float, counted: Verification, unknown: int) -> Check:
    if text is None:
        return Check(AGREES, Outcome.UNDECIDABLE, detail=f"the release has no {REPORT}", required=False)
    try:
        report = unambiguous(text)
        wrong = list(_claims(report, limit, counted.to_dict(), unknown))
    except (VerificationError, AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return Check(AGREES, Outcome.BROKEN, detail=f"{REPORT} is damaged")
    if wrong:
        return Check(AGREES, Outcome.BROKEN, detail=f"it says something else about {', '.join(wrong)}")
    return Check(AGREES, Outcome.HOLDS)


def _claims(report: Mapping[str, Any], limit: float, counted: Mapping[str, Any], unknown: int) -> Iterator[str]:
    """Name what a report says otherwise than the recount; of details only words may differ between versions."""
    records, verification = report["records"], report["verification"]
    if {records["published"], verification["records"]} != {counted["records"]}:
        yield "the records"
    if records["suppression_limit"] != limit:
        yield "the suppression limit"
    yield from (f"the {unit}" for unit in counted.keys() - _COMMON if verification.get(unit) != counted[unit])
    if _sets(verification.get("roles", {})) != _sets(counted.get("roles", {}) if "roles" in verification else {}):
        yield "the roles"
    if "wishes" in verification and not _same_wishes(verification["wishes"], counted.get("wishes", [])):
        yield "the wishes"
    if "uncovered" in verification and verification["uncovered"] != counted.get("uncovered", []):
        yield "what no promise covers"
    outcomes, found = _outcomes(verification["checks"]), _outcomes(counted["checks"])
    more = [each for each in outcomes if each not in found]
    if len(more) != unknown or len(outcomes) - len(more) != len(found):
        yield "the promises"


_COMMON = {"ok", "records", "roles", "wishes", "uncovered", "checks"}


def _same_wishes(of_report: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]) -> bool:
    """Compare what classes promise to who wishes for it; how many keep it may be known to one of the two alone."""

    def without_kept(wishes: Mapping[str, Any]) -> dict[str, Any]:
        return {name: figure for name, figure in wishes.items() if name != "classes_that_keep_it"}

    outcomes = [
        {wishes["classes_that_keep_it"] for wishes in pair} - {None} for pair in zip(of_report, found, strict=False)
    ]
    return list(map(without_kept, of_report)) == list(map(without_kept, found)) and all(
        len(each) < 2 for each in outcomes
    )


def _sets(roles: Mapping[str, list[str]]) -> dict[str, set[str]]:
    return {role: set(names) for role, names in roles.items()}


def _outcomes(checks: list[Mapping[str, Any]]) -> list[tuple[str, str, list[str]]]:
    """Return promises with what became of them; that nothing is promised was not said always."""
    promised = [check for check in checks if check["outcome"] != Outcome.ABSENT]
    return [(check["promise"], str(check["outcome"]), check["achieved"]) for check in promised]
