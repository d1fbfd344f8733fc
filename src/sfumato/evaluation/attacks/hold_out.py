"""Attacking what a policy would publish, with some of the people held out as a control group."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from sfumato.errors import PolicyError, raise_all
from sfumato.evaluation.attacks.play import attack
from sfumato.evaluation.attacks.protocol import Attack, RecordsKnown
from sfumato.evaluation.attacks.results import Attacks
from sfumato.evaluation.utility import splitting
from sfumato.policy.policy import Policy
from sfumato.progress import Progress, shown
from sfumato.randomness import seed_problems
from sfumato.release.anonymize import anonymize
from sfumato.table.reading import read_table
from sfumato.table.table import Table


def attack_policy(
    original: Table | pl.DataFrame | str | Path,
    policy: Policy,
    *,
    hold_out: float = 0.2,
    attacks: str | Attack | Sequence[str | Attack] | None = None,
    register: pl.DataFrame | str | Path | None = None,
    records_known: RecordsKnown = "all",
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = shown,
) -> Attacks:
    """Hold some people out with all their records, publish the others as a policy says, and attack that release.

    Nothing is written: the release is made for the attacks alone. People who were held out are the control group; what
    an attack also achieves on them is not the fault of the release.

    Parameters
    ----------
    original
        A table, or what `policy` can read one from.
    policy
        What the release would be made from.
    hold_out
        Share of the people, above 0 and below 1; 0 for no control group.
    attacks, register, records_known, seed, threads, progress
        As for :func:`sfumato.attack`. The seed also draws who is held out, and the release.

    Returns
    -------
    Attacks

    Raises
    ------
    PolicyError
        For wrong options, and as :func:`sfumato.attack`.
    InputError, SchemaError
        As for :func:`sfumato.attack`.
    UnsatisfiableError
        When the policy's models cannot be met on the people that are left.

    Examples
    --------
    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": [20 + place % 40 for place in range(200)]})
    >>> policy = sf.Policy.from_mapping({"columns": {"quasi-identifying": ["age"]}, "models": [
    ...     {"name": "k-anonymity", "k": 5}]})
    >>> played = sf.attack_policy(people, policy, hold_out=0.25, attacks="linkage", seed=1)
    >>> played.people, played.control
    (150, 50)
    """
    problems = [] if _is_share(hold_out) else ["hold_out: must be a share from 0 to below 1"]
    if not isinstance(policy, Policy):
        problems.append("policy: must be a Policy, such as Policy.from_file('policy.toml')")
    raise_all(PolicyError, problems + seed_problems(seed))
    table = original if isinstance(original, Table) else read_table(original, policy)
    inside, outside = splitting.hold_out(table, hold_out, seed=seed) if hold_out else (table, None)
    release = anonymize(inside, policy, seed=seed, threads=threads, progress=progress)
    return attack(
        release,
        inside,
        attacks=attacks,
        control=outside,
        register=register,
        records_known=records_known,
        seed=seed,
        threads=threads or policy.threads,
        progress=progress,
    )


def _is_share(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1
