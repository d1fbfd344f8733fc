"""The tables of a release folder as files: written with their hashes, and read as a recipient reads them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import polars as pl

from sfumato.errors import InputError, VerificationError, raise_all
from sfumato.models.protocol import Check, Outcome
from sfumato.parallel import each
from sfumato.progress import thread_count
from sfumato.published import KINDS, Published, SlicedTable, sensitive_names
from sfumato.published.apart import labels_of
from sfumato.published.checks.generalized import Verification
from sfumato.published.protocol import named, structure_columns
from sfumato.recoding.notation import STAR
from sfumato.release.agreement import FILE
from sfumato.release.description import Description, TableFacts, is_own_kind, unambiguous
from sfumato.release.formulas import formula_problems
from sfumato.release.transaction import MARK, SIGNATURE, unportable
from sfumato.table.reading import read_written
from sfumato.table.schema import Attribute, Kind, Schema
from sfumato.table.sources import open_source
from sfumato.table.sources.protocol import CsvFormat
from sfumato.table.writing import PLAIN, Codes, Format, sha256_of, single_numbers, write_data
from sfumato.whole_files import read_regular_text


def write_tables(
    published: Published,
    folder: Path,
    format: Format,
    codes: Codes = MappingProxyType({}),
    numbers: Mapping[str, Kind] = MappingProxyType({}),
) -> dict[str, TableFacts]:
    """Write every table into a file named after it, where formats allow with codes and numbers; return its facts."""
    facts = {}
    for name, table in published.tables.items():
        frame = table if format == "csv" else table.with_columns(_as_numbers(table, numbers, format))
        file = folder / f"{name}.{format}"
        if reason := unportable(file.name):
            raise InputError(
                f"table {name!r}: its file name {reason}, which not every system can hold; rename the table"
            )
        facts[name] = TableFacts(file.name, write_data(frame, file, format, codes), frame.height, tuple(frame.columns))
    return facts


def _as_numbers(table: pl.DataFrame, numbers: Mapping[str, Kind], format: Format) -> Iterator[pl.Series]:
    """Return the columns whose labels are all single numbers or dates, as these; with a ``*`` they are of objects."""
    # Parquet has one type a column: one with a ``*`` stays text there, as dates with one do everywhere.
    for name, kind in numbers.items():
        texts = table[name].cast(pl.String)
        starred = texts.eq(STAR).fill_null(False)
        plain = texts.set(starred, None)
        values = single_numbers(plain, kind)
        if values is None:
            continue
        if not starred.any():
            yield values
        elif format != "parquet" and kind is Kind.NUMERIC:
            cells = zip(values.to_list(), starred.to_list(), strict=True)
            yield pl.Series(name, [STAR if star else value for value, star in cells], dtype=pl.Object)


def read_published_files(
    folder: Path, description: Description, facts: Mapping[str, TableFacts]
) -> tuple[Published, tuple[Check, ...]]:
    """Read every table and put them together; tell of each file whether it is the one that was written."""
    refuse_missing(folder, facts)
    tables = {name: _read_table(folder, entry, description) for name, entry in facts.items()}
    checks = tuple(
        parts_check(folder, entry) if entry.parts else integrity(folder / entry.file, entry, tables[name])
        for name, entry in facts.items()
    )
    return assemble_tables(description, tables), checks


def refuse_missing(folder: Path, facts: Mapping[str, TableFacts]) -> None:
    """Raise VerificationError where a file of a table is missing."""
    names = [name for entry in facts.values() for name in entry.files]
    missing = (name for name in names if not (folder / name).is_file())
    raise_all(
        VerificationError,
        (f"{folder}: the data file {name} that release.json names is missing" for name in missing),
    )


def refuse_too_large(folder: Path, facts: TableFacts) -> None:
    """Raise InputError where a table in parts is to be read into memory that it does not fit into."""
    if not facts.parts:
        return
    from sfumato.table.large.memory import estimated_need, free_memory, gigabytes

    free = free_memory()
    if free is None:
        return
    need = estimated_need([folder / name for name in facts.files])
    if need > free:
        raise InputError(
            f"{facts.file}: in memory this table would take about {gigabytes(need)}, and {gigabytes(free)} are free; "
            "use a machine with more memory, or take the figures of the whole table from report.json; sfumato verify "
            "recounts it without holding it"
        )


def _read_table(folder: Path, facts: TableFacts, description: Description) -> pl.DataFrame:
    if not facts.parts:
        return read_table_file(folder / facts.file, facts, description)
    refuse_too_large(folder, facts)
    parts = [read_table_file(folder / name, facts, description) for name in facts.files]
    # Categories of one part are numbered otherwise than those of another; columns may stand in another order.
    texts = pl.col(pl.Categorical).cast(pl.String)
    return pl.concat([part.with_columns(texts).select(facts.columns) for part in parts], how="vertical_relaxed")


def read_table_file(path: Path, facts: TableFacts, description: Description) -> pl.DataFrame:
    """Read one table as a recipient does: sensitive values as their kind, counts as numbers, all else as text."""
    names = open_source(path, CsvFormat(strip=False)).names
    check_columns(path.name, names, facts)
    return read_written(path, schema_of(names, description)).frame


def check_columns(what: str, names: Sequence[str], facts: TableFacts) -> None:
    """Raise InputError when a table has other columns than were written."""
    if sorted(names) != sorted(facts.columns):
        # Not by name: where the header was lost, the names are values.
        raise InputError(f"{what}: has other columns than release.json says; it was changed")


def schema_of(names: Sequence[str], description: Description) -> Schema:
    """Return the schema by which a published table is read."""
    attributes = description.attributes()
    attributes |= dict.fromkeys(KINDS[description.kind].whole_numbers, Attribute(kind=Kind.NUMERIC))
    text, copies = Attribute(kind=Kind.CATEGORICAL), _copies(description)
    return Schema(quasi_identifying={name: attributes.get(copies.get(name, name), text) for name in names})


def _copies(description: Description) -> dict[str, str]:
    """Return the attribute that each column is, or is a copy of, where columns of a table may share attributes."""
    if description.kind != SlicedTable.kind:
        return {}
    try:
        columns = structure_columns(description.structure)
    except ValueError:
        # Putting the tables together says what is wrong.
        return {}
    labels = labels_of(columns)
    return {label: name for pair in zip(labels, columns, strict=True) for label, name in zip(*pair, strict=True)}


def assemble_tables(description: Description, tables: Mapping[str, pl.DataFrame]) -> Published:
    """Put the tables of a release together, or raise VerificationError."""
    try:
        published = KINDS[description.kind].assemble(tables, description.structure)
    except KeyError:
        raise VerificationError("release.json: a table is missing; the release cannot be verified") from None
    if set(published.tables) != set(tables):
        raise VerificationError("release.json: names tables that its structure has no place for")
    if set(sensitive_names(published)) != set(description.sensitive):
        raise VerificationError("release.json: describes other sensitive columns than its structure names")
    return published


def parts_check(folder: Path, facts: TableFacts) -> Check:
    """Tell whether a folder holds the parts that were written and nothing else; hashes are worked out side by side."""
    promise = f"{facts.file} holds the {len(facts.parts):,} parts that were written, and nothing else"
    place = folder / facts.file
    with os.scandir(place) as found:
        entries = list(found)
    if place.is_symlink() or any(entry.is_symlink() for entry in entries):
        return Check(promise, Outcome.BROKEN, detail="it is a link, or there is one in it")
    strangers = sorted({entry.name for entry in entries} - {part.file for part in facts.parts})
    if strangers:
        detail = f"there is {named(strangers)}, which release.json does not list; take it away"
        return Check(promise, Outcome.BROKEN, detail=detail)
    hashes = each(lambda part: sha256_of(place / part.file), facts.parts, thread_count(None))
    changed = [part.file for part, found in zip(facts.parts, hashes, strict=True) if found != part.sha256]
    if changed:
        detail = f"the sha256 of {named(changed)} differs from the one in release.json: it was changed"
        return Check(promise, Outcome.BROKEN, detail=detail)
    return Check(promise, Outcome.HOLDS)


def integrity(path: Path, facts: TableFacts, table: pl.DataFrame) -> Check:
    """Tell whether a file is the one that was written."""
    promise, shape = f"{path.name} is the file that was written", (table.height, table.columns)
    return same_as_written(promise, sha256_of(path), facts, shape)


def same_as_written(promise: str, sha256: str, facts: TableFacts, shape: tuple[int, Sequence[str]]) -> Check:
    """Tell whether a table has the hash that was written; and its shape, the records and the columns."""
    if sha256 != facts.sha256:
        detail = "its sha256 differs from the one in release.json: it was changed"
    elif (shape[0], tuple(shape[1])) != (facts.rows, facts.columns):
        detail = "release.json counts other rows or columns"
    else:
        return Check(promise, Outcome.HOLDS)
    return Check(promise, Outcome.BROKEN, detail=detail)


def has_rows(path: Path) -> bool:
    """Tell whether a file holds any row: a table without records is refused wherever one is read."""
    if path.suffix == ".parquet":
        return int(pl.scan_parquet(path).select(pl.len()).collect().item()) > 0
    with path.open("rb") as file:
        file.readline()
        return bool(file.readline().strip())


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
    """Tell whether a folder holds what was written and nothing else, and its report what was `counted`.

    `unknown`: number of models that this version does not know. `folders`: which tables are folders of parts.
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
    if strangers := sorted({*entries} - listed - {SIGNATURE}):
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
