"""``sfumato budget``: what all releases about the same people may spend of ε and δ, and have spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sfumato.cli.options import PRIVACY, AsJson, argument
from sfumato.cli.outcome import complain
from sfumato.cli.progress import say_result
from sfumato.errors import PolicyError


def budget(
    file: Annotated[Path, argument("FILE", "The steward's ledger.")],
    total_epsilon: Annotated[float | None, PRIVACY("Start a ledger: ε of all releases together.")] = None,
    total_delta: Annotated[float | None, PRIVACY("With --total-epsilon: δ of all; default 0.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what releases about the same people have spent of their privacy budget, or start a ledger of it.

    A release that names it with --ledger writes down what it costs before anything is drawn, and is refused if that
    would go beyond the total.
    """
    from sfumato.kinds.private.ledger import PrivacyLedger
    from sfumato.release.transaction import interrupted

    if total_epsilon is not None:
        PrivacyLedger.start(file, total_epsilon, 0.0 if total_delta is None else total_delta)
        return
    if total_delta is not None:
        raise PolicyError("--total-delta: starts a ledger together with --total-epsilon; add it, or leave this out")
    if line := interrupted(file):
        complain([line])
    found = PrivacyLedger.read(file)
    say_result({**found.to_dict(), "spent": found.spent.to_dict()}, str(found), as_json=as_json)
