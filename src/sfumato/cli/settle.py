"""``sfumato settle``: finish or take back what an interrupted run has left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sfumato.cli.options import AsJson, argument, option
from sfumato.cli.outcome import say
from sfumato.cli.progress import say_json
from sfumato.errors import InputError, PolicyError, without_credentials
from sfumato.numbers import counted

if TYPE_CHECKING:
    from sfumato.series.series import Series


def settle(
    target: Annotated[
        str, argument("PATH", "Release folder, folder of a series, audit file or ledger; or the URL of a database.")
    ],
    ledger: Annotated[Path | None, option("Of a series whose ledger does not lie beside it.", "FOLDER")] = None,
    ledger_key: Annotated[
        Path | None, option("With the key that encrypts the ledger of a series; default as the series.", "FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Finish a run that was interrupted after it had decided to publish, or take it back if it had not.

    Every command that writes to the same place does so by itself; verify writes nothing, and names this command. Of a
    release and its private file, name the one that you have; the folder is the better one. Of a release in a database,
    name its audit file. What a ledger of budgets says was spent stays spent.
    """
    found, state = _ended(target, ledger, ledger_key)
    shown = without_credentials(target)
    lines = [*(found or [f"{shown}: no run was interrupted here"]), *([] if state is None else [state])]
    if as_json:
        say_json({"settled": found, "state": state})
    else:
        say("\n".join(lines))  # paths are not wrapped


def _ended(target: str, ledger: Path | None, ledger_key: Path | None) -> tuple[list[str], str | None]:
    """Return what became of interrupted runs, and what holds now where that is worth saying."""
    from sfumato.release.transaction import settle as brought_to_end
    from sfumato.series.series import settle_series
    from sfumato.table.databases.address import is_database

    if is_database(target):
        from sfumato.release.stored import settle_stored

        return settle_stored(target)
    path = Path(target)
    if series := _series(path, ledger, ledger_key):
        return settle_series(series), None
    found = brought_to_end(path)
    return found, _budget(path)


def _series(path: Path, ledger: Path | None, ledger_key: Path | None) -> Series | None:
    """Return the series that a folder or a ledger belongs to; None where it is neither."""
    from sfumato.release.transaction import MARK
    from sfumato.series.description import FILE as SERIES_FILE
    from sfumato.series.description import ledger_of
    from sfumato.series.ledger import FILE as LEDGER_FILE
    from sfumato.series.series import Series

    if (path.parent / SERIES_FILE).is_file():
        path = path.parent
    if ledger is not None:
        return Series(path, ledger, ledger_key)
    if (path / LEDGER_FILE).is_file() or (path.is_dir() and path == ledger_of(path.with_name(path.stem))):
        folder = path.with_name(path.stem)
        if path != ledger_of(folder):
            raise InputError(f"{path}: is the ledger of a series; name both: sfumato settle SERIES --ledger {path}")
        return Series(folder, path, ledger_key)
    if (path / SERIES_FILE).is_file() or (ledger_of(path).is_dir() and not (path / MARK).is_file()):
        if not ledger_of(path).is_dir():
            raise InputError(f"{path}: is a series whose ledger lies elsewhere; name it with --ledger")
        return Series(path, ledger_of(path), ledger_key)
    if ledger_key is not None:
        raise PolicyError("--ledger-key: is for a series; leave it out, or name one")
    return None


def _budget(path: Path) -> str | None:
    """Return what a ledger of budgets says; None where it is none."""
    from sfumato.kinds.private.ledger import PrivacyLedger

    try:
        spent = PrivacyLedger.read(path).spent
    except InputError:
        return None
    if not spent.release:
        return f"{path}: nothing is spent"
    return (
        f"{path}: ε = {spent.epsilon:g}, δ = {spent.delta:g} of {counted(spent.release, 'release')} stay spent; that "
        "holds of a run, too, that was interrupted before it published anything"
    )
