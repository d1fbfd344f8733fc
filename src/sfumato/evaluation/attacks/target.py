"""From what somebody hands in to a target that attacks are played against."""

from __future__ import annotations

import tomllib
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import narwhals as nw
import polars as pl

from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.errors import InputError, PolicyError, SfumatoError
from sfumato.evaluation.attacks.posterior import sensitive_of
from sfumato.evaluation.attacks.protocol import Target
from sfumato.evaluation.losses import published_recoding
from sfumato.progress import Progress, thread_count
from sfumato.published import Published
from sfumato.randomness import seed_problems
from sfumato.recoding import Recoding
from sfumato.release.description import read_description
from sfumato.release.folder import MARK, no_release
from sfumato.release.release import Release
from sfumato.release.table_files import read_published_files
from sfumato.table.reading import read_table
from sfumato.table.schema import Schema
from sfumato.table.table import Table

Given = TypeVar("Given")
Read = TypeVar("Read")


@dataclass(frozen=True, eq=False, repr=False)
class OpenedRelease:
    """Published data, and what the release says of how it came about."""

    published: Published
    models: tuple[Mapping[str, Any], ...] = ()
    policy: str = ""


def target_of(
    release: object,
    original: object,
    *,
    schema: Schema | None,
    control: object,
    register: object,
    earlier: object,
    recoding: Recoding | None,
    seed: int | None,
    threads: int | None,
    progress: Progress,
    errors: list[SfumatoError],
) -> Target | None:
    """Read everything; None, and more `errors`, where something is wrong.

    Parameters are those of :func:`sfumato.attack`.
    """
    before = len(errors)
    opened = _collected(errors, "release", open_release, release)
    people = _collected(errors, "original", lambda given: _people(given, schema, "original"), original)
    known = people.schema if people is not None else schema
    others = _collected(errors, "control", lambda given: _people(given, known, "control"), control)
    names = _collected(errors, "register", read_frame, register)
    other = _collected(errors, "earlier", open_release, earlier)
    count = _collected(errors, "", thread_count, threads) if threads is not None else _threads(errors)
    problems = _setting_problems(recoding, seed)
    if opened is not None and people is not None:
        problems += _unlike(opened.published, people, "original")
        problems += [] if others is None else _unlike(opened.published, others, "control")
    if problems:
        errors.append(InputError(*problems))
    if len(errors) > before or opened is None or people is None:
        return None
    return Target(
        published=opened.published,
        original=people,
        control=others,
        register=names,
        earlier=None if other is None else other.published,
        models=opened.models,
        anonymizer=_anonymizer(opened.policy),
        recoding=recoding or published_recoding(opened.policy),
        seed=seed,
        threads=count or 1,
        progress=progress,
    )


def open_release(release: object) -> OpenedRelease:
    """Take a release, read a release folder, or take published tables as they are.

    Raises
    ------
    InputError
        When it is none of these.
    VerificationError
        When the folder is damaged.
    """
    if isinstance(release, Release):
        return OpenedRelease(release.published, release.description.models, release.policy)
    if isinstance(release, Published) and not isinstance(release, type):
        return OpenedRelease(release)
    if not isinstance(release, (str, Path)):
        raise InputError("is no release; give a release, the folder of one, or published tables")
    return _opened_folder(Path(release))


def read_frame(source: object) -> pl.DataFrame:
    """Read a file, every cell as text, or take a frame of polars, pandas or Arrow.

    Raises
    ------
    InputError
        When it cannot be read.
    """
    try:
        if isinstance(source, (str, Path)):
            path = Path(source)
            if path.suffix.lower() in (".parquet", ".pq"):
                return pl.read_parquet(path)
            return pl.read_csv(path, infer_schema=False)
        return nw.from_native(source, eager_only=True).to_polars()  # type: ignore[no-any-return, call-overload]
    except FileNotFoundError:
        raise InputError("there is no such file") from None
    except (OSError, pl.exceptions.PolarsError, TypeError):
        # Messages of readers show cells.
        raise InputError("cannot be read; give a CSV or Parquet file, or a frame") from None


def _opened_folder(folder: Path) -> OpenedRelease:
    if problem := no_release(folder):
        raise InputError(problem)
    description, facts = read_description((folder / MARK).read_text(encoding="utf-8", errors="replace"))
    published, _ = read_published_files(folder, description, facts)
    policy = folder / "policy.toml"
    text = policy.read_text(encoding="utf-8", errors="replace") if policy.is_file() else ""
    return OpenedRelease(published, description.models, text)


def _people(given: object, schema: Schema | None, what: str) -> Table:
    """Take a table, or read one with its names."""
    if isinstance(given, Table):
        return given
    if schema is None:
        raise PolicyError("is no table; read it with sfumato.read_table, or give its schema (schema=)")
    identifying = [name for name in schema.identifying if what == "original"]
    kept = Schema(
        quasi_identifying=schema.quasi_identifying,
        sensitive=schema.sensitive,
        insensitive=(*schema.insensitive, *identifying),
        others="drop" if schema.others == "error" and what == "control" else schema.others,
    )
    table = read_table(given, kept)
    return Table(table.frame, schema, table.kinds, table.source)


def _unlike(published: Published, people: Table, what: str) -> list[str]:
    schema = people.schema
    quasi = getattr(published, "quasi_identifying", None)
    if quasi is None:
        quasi = {name for column in getattr(published, "columns", ()) for name in column} - {*sensitive_of(published)}
    problems = []
    if not set(quasi) & set(schema.quasi_identifying):
        problems.append(
            f"{what}: has none of the quasi-identifying columns of the release ({', '.join(sorted(quasi))}); give the "
            "schema or policy that the release was made with"
        )
    problems += [
        f"{what}: has no column {name!r}, which the release has as sensitive"
        for name in sensitive_of(published)
        if name not in people.frame.columns
    ]
    return problems


def _setting_problems(recoding: object, seed: object) -> list[str]:
    problems = []
    if recoding is not None and not isinstance(recoding, Recoding):
        problems.append("recoding: must be a Recoding")
    return problems + seed_problems(seed)


def _threads(errors: list[SfumatoError]) -> int | None:
    try:
        return thread_count(None)
    except PolicyError as error:
        errors.append(error)
        return None


def _collected(
    errors: list[SfumatoError], what: str, read: Callable[[Given], Read], given: Given | None
) -> Read | None:
    """Read one thing, or keep its error, which says of what it is, until all have been read."""
    if given is None:
        if what in ("release", "original"):
            errors.append(InputError(f"{what}: is missing"))
        return None
    try:
        return read(given)
    except SfumatoError as error:
        start = f"{what}: " if what else ""
        errors.append(type(error)(*(f"{start}{problem}" for problem in error.problems)))
        return None


def _anonymizer(policy: str) -> object | None:
    """Build the algorithm that a published policy names; None where it cannot be built from it."""
    try:
        settings = dict(tomllib.loads(policy).get("anonymizer", {}))
        made = ChainMap[str, Any](ANONYMIZERS, PUBLISHERS).get(settings.pop("name", ""))  # type: ignore[arg-type]
        return None if made is None else made(**{name.replace("-", "_"): value for name, value in settings.items()})
    except (tomllib.TOMLDecodeError, SfumatoError, TypeError, AttributeError):
        return None
