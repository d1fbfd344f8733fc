"""``sfumato verify``: recount a release from its published table alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from sfumato.cli.options import AsJson, Population, argument, option
from sfumato.cli.outcome import complain, say_fitted
from sfumato.cli.progress import progress_bar, say_json
from sfumato.cli.released import original_people
from sfumato.errors import InputError, PolicyError


def verify(
    release: Annotated[
        str,
        argument(
            "RELEASE|PAGE",
            "Folder of a release, or the URL of a database, with ?schema=NAME at its end; or a page of evidence.",
        ),
    ],
    audit: Annotated[
        Path | None, option("The steward's audit file, to recount people who have several records.", "FILE")
    ] = None,
    population: Population = None,
    policy: Annotated[
        Path | None,
        option("With --population: the policy that made the release, if its own withholds hierarchies.", "FILE"),
    ] = None,
    engine: Annotated[
        Literal["auto", "memory", "spark"],
        option(
            "Who counts: memory (all here), spark (the server that SPARK_REMOTE names), or auto. auto takes the "
            "database that a release lies in, else counts here, one part after the other.",
            "WHO",
        ),
    ] = "auto",
    key: Annotated[Path | None, option("Public key of whoever signed the folder (sfumato sign).", "FILE")] = None,
    revocations: Annotated[Path | None, option("With --key: statements that take signatures back.", "PATH")] = None,
    as_json: AsJson = False,
) -> None:
    """Recount every promise of a release, trusting nothing but the published table.

    Exit code 0: every promise that can be decided from the release holds. 1: one does not, or a file was changed.
    """
    from sfumato.cli.released import release_problem
    from sfumato.cli.summary import say_verification
    from sfumato.release.transaction import interrupted
    from sfumato.release.verify import verify as recount
    from sfumato.table.databases.address import is_database
    from sfumato.table.sources.other_files import scheme_of

    if _is_page(release):
        return _verify_page(Path(release), key, revocations, as_json=as_json)
    elsewhere = engine == "spark" or scheme_of(release)
    if not elsewhere and (problem := release_problem(release)):
        raise InputError(problem)
    named = ([] if elsewhere or is_database(release) else [Path(release)]) + ([] if audit is None else [audit])
    complain(list(dict.fromkeys(line for path in named if (line := interrupted(path))))[:1])
    if audit is not None and not elsewhere:
        _refuse_audit_of_series(release)
    if policy is not None and population is None:
        raise PolicyError("--policy: says how to read a --population; name one, or leave it out")
    with progress_bar(quiet=as_json) as progress:
        progress("reading", 0, 1)
        everybody = None if population is None else original_people(release, population, policy)
        verification = recount(
            release,
            audit=audit,
            population=everybody,
            engine=engine,
            key=key,
            revocations=revocations,
            progress=progress,
        )
    if as_json:
        say_json(verification.to_dict())
    else:
        say_verification(verification)
    if not verification.ok:
        raise typer.Exit(1)


def _is_page(release: str) -> bool:
    """Tell whether a file is named that has a statement beside it."""
    from sfumato.release.signature import place_of

    return Path(release).is_file() and place_of(Path(release)).is_file()


def _verify_page(page: Path, key: Path | None, revocations: Path | None, *, as_json: bool) -> None:
    """Say whether a page of evidence is the one that was signed; nothing is recounted."""
    from sfumato.release.signature import signature_checks

    if key is None:
        raise PolicyError(f"{page}: is a page of evidence; give the public key of whoever signed it (--key)")
    (check,) = signature_checks(page, key, revocations)
    if as_json:
        say_json({"ok": check.outcome == "holds", "promise": check.promise, "detail": check.detail})
    else:
        say_fitted(str(check))
    if check.outcome != "holds":
        raise typer.Exit(1)


def _refuse_audit_of_series(release: str) -> None:
    """Say that the ledger of a series does what the audit file of one release does."""
    # Raises ``PolicyError`` when the release is one of a series.
    from sfumato.release.verify import mark_of
    from sfumato.series.description import SeriesPlace
    from sfumato.table.databases.address import is_database

    if is_database(release):
        return
    folder = Path(release)
    place = SeriesPlace.of(mark_of(folder))
    if place is not None:
        raise PolicyError(
            f"--audit: {folder.name} is release {place.number} of a series, and has no audit file: the "
            "ledger says of all releases which rows are of one person; recount people with sfumato verify "
            "SERIES --ledger LEDGER"
        )
