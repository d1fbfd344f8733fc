"""The test of a motivated intruder: a task for a person, and how well the answers do.

The package holds the release, a register with some people of the data and some others, a form, and rules. The key,
which says who is who, stays with the steward. Source: ICO, Anonymisation: code of practice, 2012; NIST SP 800-188.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import InputError, raise_all
from sfumato.evaluation.attacks.placement import (
    Placement,
    distinct_rows,
    pair_with_classes,
    place_people,
    register_attributes,
    require_generalized,
)
from sfumato.numbers import counted, percent
from sfumato.published import PublishedTable
from sfumato.randomness import another, permutation
from sfumato.rates import Rate
from sfumato.release.agreement import PublishedPolicy
from sfumato.release.verify import open_folder, verify
from sfumato.table.row_order import order_rows
from sfumato.table.schema import text_of
from sfumato.table.table import Table
from sfumato.table.writing import sha256_of
from sfumato.whole_files import PRIVATE, read_regular_text, write_whole

FEWEST = 10
"""People that a task has at least: with fewer, no interval is narrow enough to say anything."""

_GUESS = "guess_"
_YES, _NO = "yes", "no"
_DIGITS = 3
_RULES = """\
You are asked to find people in published data. Try as hard as somebody would who has a reason.

1. release/ holds the data as they are published. register.csv lists {people}: some are in the data, some are not.
2. Fill in answers.csv. Leave a cell empty where you do not know. A guess counts as an answer.
     in_data        yes or no: is this person one of those the data are about?
     row            which row of the published table is hers (1 is the first below the names)
     guess_COLUMN   what the column says of her
   A person who stands on several lines of the register has several records: any of them counts.
3. You may use the package, and every source that the data steward has allowed:
     {sources}
4. Whatever you find out about a person, tell nobody but the data steward. Delete the package afterwards.
5. Do not change the other files. Give back answers.csv, and say how many hours it took and what you used.
"""


@dataclass(frozen=True, eq=False, repr=False)
class _Person:
    """What the key holds of one entry of the register."""

    name: str
    is_in_data: bool
    truth: Mapping[str, Sequence[str]]  # sensitive column → her values, empty for somebody else
    rows: Sequence[Sequence[int]]  # of each record the published rows that fit and say what is true, counted from 1
    fitting: int  # published rows that fit one of her records

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> _Person:
        """Read an entry of a key; earlier ones have one record, without a list around it."""
        one = cls(**entry)
        truth = {name: [said] if isinstance(said, str) else said for name, said in one.truth.items()}
        is_flat = bool(one.rows) and isinstance(one.rows[0], int)
        return replace(one, truth=truth, rows=[one.rows] if is_flat else one.rows)  # type: ignore[list-item]

    def share(self, row: int) -> float:
        """Return the chance that a row is hers: rows that fit a record and say the same cannot be told apart."""
        return min(1.0, sum(1 / len(alike) for alike in self.rows if row in alike))

    @property
    def chance(self) -> float:
        """Return the chance that a row is hers, of those that fit."""
        return min(1.0, sum(1 for alike in self.rows if alike) / self.fitting) if self.fitting else 0.0


def make_task(
    release: str | Path,
    original: Table,
    control: Table,
    folder: str | Path,
    key: str | Path,
    *,
    people: int = 40,
    sources: str = "none",
    seed: int | None = None,
) -> str:
    """Write a package for somebody who is to look for people, and the key to its answers.

    Parameters
    ----------
    release
        A release folder with one row for each record; it is recounted first, and copied into the package.
    original, control
        The table that it was made from, and people who are not in it. Each gives half of the register.
    folder, key
        The package, a new folder; and a new file outside of it, which the steward alone reads.
    people
        How many people the register has, at least ten. Fewer where a table has too few.
    sources
        What else the intruder may use, in words.
    seed
        For tests and studies: draws the same people. None draws from the operating system.

    Returns
    -------
    str
        What was written.

    Raises
    ------
    InputError
        With everything that is wrong: a folder that is there, a release without rows of records, people with several
        records whom no column tells apart, too few people.
    """
    source, target, key_file = Path(release), Path(folder), Path(key)
    _refuse(original, target, key_file, people)
    if not verify(source).ok:
        raise InputError(f"{source}: does not keep what it promises; nobody should look for people in it")
    opened = open_folder(source)
    published = require_generalized(opened.read()[0], "intruder")
    halves = [_some(table, people // 2, another(seed, number)) for number, table in enumerate((original, control))]
    (inside, owner), (outside, other) = halves
    counts = [len(np.unique(who)) for _, who in halves]
    if min(counts) < FEWEST // 2:
        raise InputError(f"each table must have {FEWEST // 2} people or more")
    shared = register_attributes(published.data, inside, original.schema)
    register = pl.concat([_as_text(one, shared) for one in (inside, outside)])
    order = permutation(sum(counts), another(seed, 2))
    held = _records_of(published, inside, original, opened.policy)
    found = published.sensitive, held
    persons = [_person(number, inside, np.flatnonzero(owner == one), found) for number, one in enumerate(order)]
    place = np.argsort(order)[np.concatenate([owner, other + counts[0]])]
    register.insert_column(0, pl.Series("person", [persons[one].name for one in place]))
    register = register[np.argsort(place, kind="stable").tolist()]
    _write_package(target, source, register, persons, published.sensitive, sources)
    content = {"people": [vars(one) for one in persons], "files": _hashes(target), "sources": sources}
    write_whole(key_file, json.dumps(content, indent=1, ensure_ascii=False) + "\n", PRIVATE)
    return (
        f"{counted(len(persons), 'person')} in {target}. Hand over the folder, and keep the key {key_file}.\n"
        f"Then: sfumato evidence score {target / 'answers.csv'} --key {key_file} --out intruder.json"
    )


def _refuse(original: Table, folder: Path, key: Path, people: int) -> None:
    places = (folder, key)
    found = {
        f"--people: must be {FEWEST} or more": people < FEWEST,
        **{f"{path}: already exists; name another": path.exists() for path in places},
        **{
            f"{path.parent}: there is no such folder; make it first": not path.absolute().parent.is_dir()
            for path in places
        },
        f"{key}: lies in the package; the key must stay with you": folder.absolute() in key.absolute().parents,
        "people may have several records; name the column that tells who is who: columns.person of the policy": (
            original.people is None and original.repeated is not None
        ),
    }
    raise_all(InputError, [problem for problem, is_there in found.items() if is_there])


def _some(table: Table, count: int, seed: int | None) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Draw people, and return all their records, with a number from 0 for who each is of."""
    settled = order_rows(table)  # so that a seed draws the same people, whatever their order
    who = np.arange(settled.frame.height) if settled.people is None else settled.people
    # Numbers of people depend on names; their first records do not.
    _, first = np.unique(who, return_index=True)
    everybody = who[np.sort(first)]
    chosen = everybody[permutation(len(everybody), seed)[:count]]
    number = np.full(int(who.max(initial=-1)) + 1, -1, dtype=np.int64)
    number[chosen] = np.arange(len(chosen))
    rows = np.flatnonzero(number[who] >= 0)
    rows = rows[np.argsort(number[who[rows]], kind="stable")]
    return settled.frame[rows.tolist()], number[who[rows]]


def _person(
    number: int,
    inside: pl.DataFrame,
    records: NDArray[np.int64],
    found: tuple[Sequence[str], Sequence[tuple[list[int], list[int]]]],
) -> _Person:
    """Write the entry of somebody; `found`: the sensitive columns, and rows that are true of each record, and fit."""
    (sensitive, held), mine = found, records.tolist()
    truths = [_truth(inside, place, sensitive) for place in mine]
    return _Person(
        f"P{number + 1:03}",
        bool(mine),
        {name: [*dict.fromkeys(one[name] for one in truths if name in one)] for name in sensitive if mine},
        [held[place][0] for place in mine],
        len({row for place in mine for row in held[place][1]}),
    )


def _as_text(people: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Write what a register says as text, so that both halves look alike."""
    return pl.DataFrame({name: text_of(people[name]) for name in names if name in people.columns})


def _truth(inside: pl.DataFrame, place: int, sensitive: Sequence[str]) -> dict[str, str]:
    found = {name: text_of(inside[name])[place] for name in sensitive if name in inside.columns}
    return {name: value for name, value in found.items() if value is not None}


def _records_of(
    published: PublishedTable, inside: pl.DataFrame, original: Table, policy: PublishedPolicy
) -> list[tuple[list[int], list[int]]]:
    """Return of each record the published rows that fit and say what is true, and all that fit, counted from 1."""
    placed = place_people(published, inside, original.schema, policy.recoding())
    sensitive = {name: text_of(published.data[name]).to_list() for name in published.sensitive}
    found = []
    for place, rows in _fitting(placed):
        truth = _truth(inside, place, published.sensitive)
        right = [row + 1 for row in rows if all(sensitive[name][row] == value for name, value in truth.items())]
        found.append((right, [row + 1 for row in rows]))
    return found


def _fitting(placed: Placement) -> Iterator[tuple[int, list[int]]]:
    vectors, vector_of = distinct_rows(placed.codes)
    classes: dict[int, list[int]] = {}
    for vector, owner, _ in pair_with_classes(placed, vectors):
        for one, place in zip(vector.tolist(), owner.tolist(), strict=True):
            classes.setdefault(one, []).append(place)
    for person, one in enumerate(vector_of.tolist()):
        yield person, np.flatnonzero(np.isin(placed.publication.class_of, classes.get(one, []))).tolist()


def _write_package(
    target: Path,
    release: Path,
    register: pl.DataFrame,
    persons: Sequence[_Person],
    sensitive: Sequence[str],
    sources: str,
) -> None:
    """Write it beside its place first, so that a folder is there whole or not at all."""
    building = target.with_name(f".{target.name}.building-{os.getpid()}")
    try:
        building.mkdir(mode=0o700)
        shutil.copytree(release, building / "release")
        register.write_csv(building / "register.csv")
        form = io.StringIO()
        writer = csv.writer(form, lineterminator="\n")
        writer.writerow(["person", "in_data", "row", *(f"{_GUESS}{name}" for name in sensitive)])
        writer.writerows([one.name, *[""] * (2 + len(sensitive))] for one in persons)
        (building / "answers.csv").write_text(form.getvalue(), encoding="utf-8")
        rules = _RULES.format(people=counted(len(persons), "person"), sources=sources)
        (building / "rules.txt").write_text(rules, encoding="utf-8")
        building.rename(target)
    except OSError as error:
        raise InputError(f"{target}: the package cannot be written ({error.strerror})") from None
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _hashes(folder: Path) -> dict[str, str]:
    """Return the hash of every file that the intruder may not change."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): sha256_of(path) for path in files if path.name != "answers.csv"}


def score_answers(answers: str | Path, key: str | Path) -> dict[str, Any]:
    """Hold the answers of an intruder against the key.

    Parameters
    ----------
    answers
        The form, filled in; it lies in its package, whose other files must not have changed.
    key
        The key of this package.

    Returns
    -------
    dict
        Plain values: how many people there were, a rate with its 95 % interval and what guessing reaches for each
        thing that was asked, and sentences. A row that is one of r which fit and say the same counts as 1/r.

    Raises
    ------
    InputError
        With every answer that cannot be read, and when the package or the key is another.
    """
    form, content = Path(answers), _read_key(Path(key))
    persons = {one["name"]: _Person.of(one) for one in content["people"]}
    changed = [name for name, digest in content["files"].items() if not _is_same(form.parent / name, digest)]
    given = _read_answers(form, persons)
    raise_all(InputError, [f"{form.parent / name}: was changed, or is not of this key" for name in changed])
    rates = dict(_rates(persons, given))
    return {
        "people": len(persons),
        "in_data": sum(one.is_in_data for one in persons.values()),
        "rates": {name: rate.to_dict() for name, rate in rates.items()},
        "sentences": list(_sentences(persons, rates)),
        "rules": f"Allowed were the release, the register without names, and: {content['sources']}.",
    }


def read_score(path: str | Path) -> dict[str, Any]:
    """Read what a score has written. Raises ``InputError`` when it is something else."""
    try:
        found = json.loads(read_regular_text(Path(path)))
        assert {*found} - {"rules"} == {"people", "in_data", "rates", "sentences"}
    except (OSError, ValueError, AssertionError, TypeError):
        raise InputError(f"{path}: is no result of sfumato evidence score") from None
    return dict(found)


def _is_same(path: Path, digest: str) -> bool:
    return path.is_file() and sha256_of(path) == digest


def _read_key(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_regular_text(path))
        assert {*found} - {"sources"} == {"people", "files"}
        found.setdefault("sources", "not recorded")
    except (OSError, ValueError, AssertionError, TypeError):
        raise InputError(f"{path}: is no key of a task; sfumato evidence task writes one") from None
    return dict(found)


def _read_answers(path: Path, persons: Mapping[str, _Person]) -> dict[str, dict[str, str]]:
    try:
        text = read_regular_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({type(error).__name__}); give the form that was filled in") from None
    # A spreadsheet may have saved it with semicolons.
    separator = ";" if text.partition("\n")[0].count(";") else ","
    rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), delimiter=separator))
    problems, found = [], dict[str, dict[str, str]]()
    for line, row in enumerate(rows, start=2):
        cells = {
            name: (value or "").strip()
            for name, value in row.items()
            if isinstance(name, str) and not isinstance(value, list)
        }
        who = cells.get("person", "")
        if who not in persons or who in found:
            problems.append(f"{path}, line {line}: person is not one of the register, or stands twice")
            continue
        if cells.get("in_data", "").lower() not in ("", _YES, _NO):
            problems.append(f"{path}, line {line}: in_data must be yes, no or empty")
        if not cells.get("row", "").isascii() or not (cells.get("row", "") or "0").isdigit():
            problems.append(f"{path}, line {line}: row must be a whole number or empty")
        found[who] = cells
    raise_all(InputError, problems)
    return found


def _rates(persons: Mapping[str, _Person], given: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, Rate]]:
    """Yield how often each kind of answer is right, of those that were given, and what guessing reaches."""
    said = [(persons[who].is_in_data, cells["in_data"].lower()) for who, cells in given.items() if cells.get("in_data")]
    if said:
        inside = sum(is_in for is_in, _ in said) / len(said)
        right = sum(is_in == (answer == _YES) for is_in, answer in said)
        yield "in the data", Rate(right, len(said), max(inside, 1 - inside))
    rows = [(persons[who], int(cells["row"])) for who, cells in given.items() if cells.get("row")]
    if rows:
        found, chance = sum(one.share(row) for one, row in rows), sum(one.chance for one, _ in rows) / len(rows)
        yield "row", Rate(found, len(rows), chance)
    for name in dict.fromkeys(name for one in persons.values() for name in one.truth):
        known = [one.truth[name] for one in persons.values() if name in one.truth]
        guesses = [
            (persons[who].truth.get(name, ()), cells[f"{_GUESS}{name}"])
            for who, cells in given.items()
            if cells.get(f"{_GUESS}{name}")
        ]
        if guesses:
            most = max(Counter(value for values in known for value in values).values(), default=0) / len(known)
            inside = sum(bool(truth) for truth, _ in guesses) / len(guesses)
            yield name, Rate(sum(guess in truth for truth, guess in guesses), len(guesses), most * inside)


def _sentences(persons: Mapping[str, _Person], rates: Mapping[str, Rate]) -> Iterator[str]:
    yield f"Somebody tried to find people: {counted(len(persons), 'person')} in the register."
    if not rates:
        yield "No answer was given."
    for name, rate in rates.items():
        share, low, high, chance = (percent(one, _DIGITS) for one in (rate.share, *rate.interval, rate.baseline))
        which = f"{name[:1].upper()}{name[1:]}"
        yield f"{which}: {share} of {rate.people:,} answers are right ({low} to {high}), by guessing {chance}."
