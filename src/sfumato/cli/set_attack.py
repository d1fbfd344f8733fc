"""``sfumato sets attack``: looking for people by a few of their items, before and after."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Literal

import typer

from sfumato.cli.kernels import say_result
from sfumato.cli.options import AsJson, PolicyFile, Reading
from sfumato.cli.progress import progress_bar
from sfumato.cli.rating_options import KNOWN, RepeatSeed, Threads
from sfumato.cli.set_options import SetMaking, SetReading, SetsFile, set_policy_of

EXAMPLE = """\b
Example:
  sfumato sets attack baskets.csv --known 2 --about rare
  sfumato sets attack baskets.csv --hierarchy goods.csv -k 5 -m 2
"""


def attack(
    sets: SetsFile,
    policy: PolicyFile = None,
    known: Annotated[
        int | None,
        typer.Option(metavar="COUNT", help="Known items of each victim; default m, or 2.", rich_help_panel=KNOWN),
    ] = None,
    about: Annotated[
        Literal["any", "popular", "rare"],
        typer.Option(metavar="KIND", help="Which of their items: any, popular or rare.", rich_help_panel=KNOWN),
    ] = "any",
    victims: Annotated[
        int, typer.Option(metavar="COUNT", help="People to look for; 0 for all.", rich_help_panel=KNOWN)
    ] = 1000,
    make: SetMaking = SetMaking(),  # noqa: B008 - a frozen value
    read: SetReading = SetReading(),  # noqa: B008 - a frozen value
    layout: Reading = Reading(),  # noqa: B008 - a frozen value
    threads: Threads = None,
    seed: RepeatSeed = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    as_json: AsJson = False,
) -> None:
    """Try to find people by a few of their items, in sets as they are and in what is published of them.

    For the steward: the original decides who is right. With a policy, or -k and -m, a release is made (never written)
    and attacked, too; otherwise the original alone is. It is played with one item more as well, beyond the promise.
    """
    from sfumato.cli.rating_anonymize import seed_problem
    from sfumato.evaluation.attacks.sets import attack_sets
    from sfumato.release.sets.anonymize import anonymize_sets
    from sfumato.table.sets.reading import read_sets

    is_bare = policy is None and make.k is None and make.m is None
    problems = seed_problem(seed)
    problems += ["--known: must be a whole number of at least 1"] if known is not None and known < 1 else []
    problems += ["--victims: must be 0 or above"] if victims < 0 else []
    if is_bare:
        problems += [
            f"--{option.name.replace('_', '-')}: says how a release is made; add -k and -m, or --policy"
            for option in fields(make)
            if getattr(make, option.name) is not None
        ]
        make = SetMaking(k=1, m=1)
    meant = set_policy_of(policy, read, make, layout, problems, threads=threads)
    with progress_bar(quiet=quiet or as_json) as progress:
        progress("reading", 0, 1)
        original = read_sets(sets, **meant.reading())
        release = None if is_bare else anonymize_sets(original, meant, seed=seed, progress=progress)
        found = attack_sets(original, release, known=known, items=about, victims=victims or None, seed=seed)
    say_result(found.to_dict(), str(found), as_json=as_json)
