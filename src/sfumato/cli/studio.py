"""``sfumato studio``: the whole job in a browser, on this computer."""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sfumato.cli.options import OUTPUT, PolicyFile, Settings, argument, option

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy


def studio(
    table: Annotated[Path | None, argument("[TABLE]", "A file; left out, a page asks for it.")] = None,
    project: Annotated[
        Path | None,
        option(
            "Folder that keeps setup, history and releases; made if it is not there. Default a temporary one.", "FOLDER"
        ),
    ] = None,
    policy: PolicyFile = None,
    verify: Annotated[
        Path | None, option("For a recipient: show a release, or a series, and recount it.", "RELEASE|SERIES")
    ] = None,
    settings: Settings = None,
    no_browser: Annotated[bool, OUTPUT("Print the address, and open nothing.", None, "--no-browser")] = False,
    port: Annotated[int, OUTPUT("Default a free one.")] = 0,
) -> None:
    """Open pages on this computer in which a table is published from beginning to end.

    Say what the columns are, what the release promises and how it is made; look at it, attack it, and sign the report.
    The studio listens on this computer alone. All that it does is a policy file and a command that do the same.
    """
    from sfumato.errors import PolicyError, raise_all
    from sfumato.studio.serve import check_installed, load_polars, run_studio

    check_installed()
    with suppress(ValueError):  # another thread than the main one
        # As Ctrl-C: else what lies in temporary folders would stay.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    load_polars()  # before anything else does
    problems = [] if 0 <= port < 65_536 else ["--port: must be from 0 to 65535"]
    if verify is not None and (table is not None or project is not None or policy is not None):
        problems.append("--verify: shows a release alone; leave table, project and policy out")
    raise_all(PolicyError, problems)
    if verify is not None:
        from sfumato.studio.verifying import run_verifying

        run_verifying(verify, opens=not no_browser, port=port)
        return
    meant = None if policy is None else _read(policy)
    source = {} if meant is None else meant.source.model_dump(mode="json", by_alias=True, exclude_none=True)
    if settings:
        from sfumato.cli.words import reading_words

        source |= reading_words(settings, "is said on the pages")["source"]
    run_studio(table, project=project, policy=meant, source=source, opens=not no_browser, port=port)


def _read(path: Path) -> Policy:
    # Here: it loads every model and anonymizer, and the first page needs none.
    from sfumato.policy.policy import Policy

    return Policy.from_file(path)
