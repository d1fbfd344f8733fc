"""Publishing a random sample of generalized records under differential privacy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from sfumato.anonymizers.private.sampled import Objective, Sampling, sample_task, solve_sample, split_of
from sfumato.anonymizers.private.task import Bins, opendp
from sfumato.errors import PolicyError, VerificationError, raise_all
from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.numbers import counted
from sfumato.policy.private_policy import PrivateSamplePolicy
from sfumato.progress import Progress, shown
from sfumato.published.checks.private.sampling import sample_verification, smallest_k
from sfumato.release.private.ledger import PrivacyLedger
from sfumato.release.private.publish import budget_notes, call_problems, is_settings, misfits, settled
from sfumato.release.private.sample_release import PrivateSampleRelease
from sfumato.release.problem import repeated_notes
from sfumato.settings import is_finite_number
from sfumato.table.table import Table


def publish_private_sample(
    table: Table,
    model: PrivateSamplePolicy | DifferentialPrivacy,
    *,
    search: float | None = None,
    share: float | None = None,
    objective: Objective | None = None,
    levels: Mapping[str, int] | None = None,
    bins: Mapping[str, Bins] | None = None,
    ledger: str | Path | None = None,
    seed: None = None,
    progress: Progress | None = None,
) -> PrivateSampleRelease:
    """Publish true, generalized records of a random sample, so that nobody can tell whether any one person is in it.

    Full-domain generalization: one level for each column, chosen privately or named; of the records drawn, those
    stay that are alike in all columns, sensitive ones too, with k - 1 others.

    Parameters
    ----------
    table
        As :func:`sfumato.read_table` returns it. Its schema declares the domain or hierarchy of every quasi-identifying
        and sensitive column; nothing is read off the data. Its person column says who is who where people have several
        records: one of each counts, and `max_records` must be 1. Insensitive columns are not published.
    model
        What is promised, δ above 0; or the policy that says it with all of `search` to `bins`, which are left out then.
    search
        Share of ε that the choice of levels takes; 0.1 by default.
    share
        Of the records, drawn at most. None: the largest that ε allows, and at most a half. A smaller one asks for a
        smaller k, and so for less generalization.
    objective
        What the choice of levels keeps: ``"loss"`` (default), the share of its domain that a value leaves out;
        ``"precision"``, the levels of its hierarchy.
    levels
        Levels that are named; where all columns have one, nothing is searched for, and the sample has all of ε.
    bins
        For columns of numbers without intervals: how many bins of equal width their declared range has, or borders.
    ledger
        File of a :class:`sfumato.PrivacyLedger`, into which the cost is written before anything is drawn.
    seed
        Refused: a sample that can be drawn again hides nobody.
    progress
        Called with what is being done, how much is done and the total.

    Returns
    -------
    PrivateSampleRelease

    Raises
    ------
    PolicyError
        With every setting that is none and every column without a domain, or when ε is too small.
    InputError
        When OpenDP is not installed, or the ledger cannot be read or written.
    UnsatisfiableError
        When the ledger has too little left.

    Notes
    -----
    Guarantee: that of :class:`sfumato.DifferentialPrivacy`, δ worked out exactly and never rounded down. Assumptions:
    those of :func:`sfumato.publish_privately`. How it is done, its source and departures:
    :func:`sfumato.anonymizers.private.sampled.solve_sample`. Cost O(n · columns) for each of up to 20,000 combinations
    of levels.

    Examples
    --------
    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": [30, 41, 52] * 400, "ill": ["yes", "no", "no"] * 400})
    >>> age, ill = sf.Attribute(hierarchy=sf.intervals(10), domain=(0, 100)), sf.Attribute(domain=("no", "yes"))
    >>> table = sf.read_table(people, sf.Schema(quasi_identifying={"age": age}, sensitive={"ill": ill}))
    >>> release = sf.publish_private_sample(table, sf.DifferentialPrivacy(1, 1e-5))  # doctest: +SKIP
    """
    said = {"search": search, "share": share, "objective": objective, "levels": levels, "bins": bins}
    raise_all(PolicyError, _wrong_types(table, model, said, seed, ledger))
    if isinstance(model, PrivateSamplePolicy):
        policy = model
        raise_all(PolicyError, misfits(table, policy))
    else:
        given = {name: settled(value) for name, value in said.items() if value is not None}
        policy = PrivateSamplePolicy.of(model, Sampling(**given), table.schema)
    wanted = policy.to_model()
    task = sample_task(table, wanted, policy.to_sampling())
    told = progress or shown
    # Before anything is spent it is clear that it can be drawn.
    opendp()
    drawn, epsilon, _ = split_of(task)
    smallest_k(drawn, epsilon, wanted.delta)
    series = None if ledger is None else PrivacyLedger.spend(ledger, wanted)
    solved = solve_sample(task, told)
    verification = sample_verification(solved.published, solved.budget, wanted, series)
    if not verification.ok:
        raise VerificationError("the sample breaks its promise; nothing is published. Please report this")
    notes = [*budget_notes(wanted, table)]
    if task.beyond:
        notes.append(f"{counted(task.beyond, 'record')} do not count, as another one of their person does.")
    notes.append(f"{solved.published.data.height:,} of {len(task.codes):,} records are published.")
    notes += repeated_notes(table, None, 1)
    if table.schema.insensitive:
        notes.append(f"Insensitive columns are not published: {', '.join(table.schema.insensitive)}.")
    return PrivateSampleRelease(solved.published, wanted, solved.budget, verification, tuple(notes), policy, series)


def _wrong_types(table: object, model: object, said: Mapping[str, Any], seed: object, ledger: object) -> list[str]:
    problems = call_problems(table, model, PrivateSamplePolicy, said, seed, ledger)
    if isinstance(model, PrivateSamplePolicy):
        return problems
    for name in ("search", "share"):
        if said[name] is not None and not is_finite_number(said[name]):
            problems.append(f"{name} must be a number above 0 and below 1")
    if said["objective"] not in (None, *get_args(Objective)):
        problems.append("objective must be 'loss' or 'precision'")
    if not is_settings(said["bins"]):
        problems.append("bins must be a mapping of column names to numbers of bins, or to their borders")
    levels = said["levels"]
    if not is_settings(levels) or not all(type(level) is int and level >= 0 for level in (levels or {}).values()):
        problems.append("levels must be a mapping of column names to whole numbers of at least 0")
    return problems
