"""``--kind private-sample``: generalized records of a random sample, under differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from sfumato.cli.kind_words import KindWritten
from sfumato.cli.options import METHOD, Original, PolicyFile, RoleOptions, Settings
from sfumato.kinds.private.command import Declared, declared_policy


@dataclass(frozen=True)
class Sampling:
    """How a private sample is made."""

    search: Annotated[float | None, METHOD("Share of ε that choosing levels takes; default 0.1.")] = None
    share: Annotated[
        float | None, METHOD("Share of the records that is drawn at most; default what ε allows, up to 0.5.")
    ] = None
    objective: Annotated[
        Literal["loss", "precision"] | None, METHOD("What the choice of levels keeps; default loss.")
    ] = None
    level: Annotated[
        list[str] | None,
        METHOD("Level of a column, not chosen; repeatable. With all named, nothing is searched for.", "NAME=LEVEL"),
    ] = None


def anonymize(
    table: Original,
    policy: PolicyFile = None,
    declared: Declared = Declared(),  # noqa: B008 - a frozen value
    sampling: Sampling = Sampling(),
    roles: RoleOptions = RoleOptions(),  # noqa: B008 - a frozen value
    settings: Settings = None,
    written: KindWritten = KindWritten(),  # noqa: B008 - a frozen value
) -> None:
    """Publish true, generalized records of a random sample, so that nobody can tell who is in the table.

    Every column needs a declared domain: --domain, --bins, or a hierarchy that lists its values or cuts numbers. What
    is printed is for the steward: notes count records exactly. With --save-policy and without --out, only the policy is
    written.
    """
    from sfumato.cli.words import Words
    from sfumato.kinds.private_sample.make import publish_private_sample
    from sfumato.kinds.private_sample.policy import PrivateSamplePolicy
    from sfumato.kinds.private_sample.release import save_private_sample
    from sfumato.table.reading import read_table

    part = {name: getattr(sampling, name) for name in ("search", "share", "objective")} | {"levels": sampling.level}
    words = Words(policy=policy, **roles.words, settings=settings or ())
    own = declared_policy(PrivateSamplePolicy, "sampling", part, declared, words, written.format, written.problems())
    written.publish(
        own,
        lambda progress: publish_private_sample(read_table(table, own), own, ledger=declared.ledger, progress=progress),
        save_private_sample,
    )
