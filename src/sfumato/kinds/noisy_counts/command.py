"""``--kind private-marginals``: counts with noise, under differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from sfumato.cli.kind_words import KindWritten
from sfumato.cli.options import COLUMNS, METHOD, OUTPUT, Original, PolicyFile, RoleOptions, Settings
from sfumato.kinds.private.command import Declared, declared_policy


@dataclass(frozen=True)
class Counting:
    """What is counted."""

    marginal: Annotated[
        list[str] | None, METHOD("Columns to count together; repeatable. Default: each alone, and pairs.", "NAMES")
    ] = None
    two_way: Annotated[int | None, METHOD("Without --marginal: how many pairs of columns.", "COUNT")] = None
    choice: Annotated[
        Literal["data", "declared"] | None,
        METHOD(
            "How pairs are chosen: data (default; privately, for a fifth of ε) or declared (by the order of columns).",
            "HOW",
        ),
    ] = None
    synthetic: Annotated[bool, OUTPUT("Also draw records from the fitted counts, nobody's.", None, "--synthetic")] = (
        False
    )
    level: Annotated[list[str] | None, COLUMNS("Level of its hierarchy that is counted; repeatable.", "NAME=LEVEL")] = (
        None
    )
    complete: Annotated[list[str] | None, COLUMNS("Columns without a cell for missing values.", "NAMES")] = None


def anonymize(
    table: Original,
    policy: PolicyFile = None,
    declared: Declared = Declared(),  # noqa: B008 - a frozen value
    counting: Counting = Counting(),
    roles: RoleOptions = RoleOptions(),  # noqa: B008 - a frozen value
    settings: Settings = None,
    written: KindWritten = KindWritten(),  # noqa: B008 - a frozen value
) -> None:
    """Publish counts with noise, so that nobody can tell whether any one person is in the table.

    Every column that is counted needs a declared domain: --domain, --bins, or a hierarchy that lists its values. What
    is printed is for the steward: notes count records without noise. With --save-policy and without --out, only the
    policy is written.
    """
    from sfumato.cli.settings import names_in
    from sfumato.cli.words import Words, all_names
    from sfumato.kinds.noisy_counts.make import publish_privately
    from sfumato.kinds.noisy_counts.policy import PrivatePolicy
    from sfumato.kinds.noisy_counts.release import save_private
    from sfumato.table.reading import read_table

    part = {
        "marginals": [names_in(each) for each in counting.marginal] if counting.marginal else None,
        "two-way": counting.two_way,
        "choice": counting.choice,
        "complete": all_names(counting.complete) or None,
        "synthetic": counting.synthetic or None,
        "levels": counting.level,
    }
    words = Words(policy=policy, **roles.words, settings=settings or ())
    own = declared_policy(PrivatePolicy, "counting", part, declared, words, written.format, written.problems())
    written.publish(
        own,
        lambda progress: publish_privately(read_table(table, own), own, ledger=declared.ledger, progress=progress),
        save_private,
    )
