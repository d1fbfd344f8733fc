"""Publishing a table under differential privacy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from sfumato.anonymizers.private.sampled import Objective, SampleSettings, sample_task, solve_sample, split_of
from sfumato.anonymizers.private.solving import SolvedMarginals, solve_private
from sfumato.anonymizers.private.task import Bins, Choice, Counting, PrivateTask, opendp, private_task
from sfumato.errors import PolicyError, VerificationError, raise_all
from sfumato.models.differential_privacy import DifferentialPrivacy
from sfumato.numbers import counted
from sfumato.policy.private_policy import DeclaredPolicy, PrivatePolicy, PrivateSamplePolicy
from sfumato.progress import Progress, shown
from sfumato.published.checks.private.promises import private_verification
from sfumato.published.checks.private.sampling import sample_verification, smallest_k
from sfumato.release.private.ledger import PrivacyLedger
from sfumato.release.private.release import PrivateRelease, PrivateSampleRelease
from sfumato.release.problem import repeated_notes
from sfumato.settings import is_finite_number
from sfumato.table.table import Table

NO_SEED = "seed: what somebody can draw again hides nobody, so there is no seed here; leave it out"
MUCH = 10
"""An ε above which the promise says little."""


def publish_privately(
    table: Table,
    model: PrivatePolicy | DifferentialPrivacy,
    *,
    marginals: Sequence[Sequence[str]] | None = None,
    two_way: int | None = None,
    choice: Choice | None = None,
    bins: Mapping[str, Bins] | None = None,
    levels: Mapping[str, int] | None = None,
    complete: Sequence[str] | None = None,
    synthetic: bool | None = None,
    ledger: str | Path | None = None,
    seed: None = None,
    progress: Progress | None = None,
) -> PrivateRelease:
    """Publish counts with noise, so that nobody can tell whether any one person is in the table.

    Parameters
    ----------
    table
        As :func:`sfumato.read_table` returns it. Its schema declares the domain of every column that is counted: a
        list of values, a hierarchy that lists them, or a range of numbers; nothing is read off the data. Its person
        column says who is who where people have several records. Insensitive columns are not published.
    model
        What is promised; or the policy that says it with all of `marginals` to `synthetic`, which are left out then.
    marginals
        Sets of quasi-identifying and sensitive columns to be counted. None: every column, and pairs of them.
    two_way
        How many pairs, where no marginals are named; None: one fewer than there are columns, so that all hang together.
    choice
        ``"data"`` (default): the pairs that differ most from independence, chosen privately with a fifth of the budget;
        ``"declared"``: by the order of the columns alone, sensitive ones first.
    bins
        For columns of numbers: how many bins of equal width their declared range has, or the borders of bins. Numbers
        beyond the ends count in the first or last bin.
    levels
        For columns with a hierarchy: which of its levels is counted; by default the leaves.
    complete
        Columns that have no cell for missing values. Records without a value there count nowhere.
    synthetic
        Whether records are drawn from the fitted distribution, too: as many as it has, and nobody's.
    ledger
        File of a :class:`sfumato.PrivacyLedger`, into which the cost is written before noise is drawn. None: nobody
        adds up what this and other releases of the same people spend.
    seed
        Refused: noise that can be drawn again hides nobody.
    progress
        Called with what is being done, how much is done and the total.

    Returns
    -------
    PrivateRelease

    Raises
    ------
    PolicyError
        With every setting that is none, column without a domain, unknown column and marginal that is too large.
    InputError
        When OpenDP is not installed, or the ledger cannot be read or written.
    UnsatisfiableError
        When the ledger has too little left.

    Notes
    -----
    Guarantee: that of :class:`sfumato.DifferentialPrivacy`, for all files of the release together. Assumptions: domains
    and settings were not chosen by looking at the data; without a person column every record is another person; that
    the file can be read as a table with these columns and some record is no secret; nobody but the steward sees notes,
    progress and errors; no other release of these people, or its ε is added.

    What draws noise is OpenDP's core: discrete Laplace for δ = 0, discrete Gaussian (zero-concentrated differential
    privacy) for δ > 0, the same scale for every cell of all marginals; the noisy largest for the choice. Fitted counts
    and synthetic records are computed from noisy counts alone. Cost about 20 µs a cell, and of fitting a few hundred
    passes over all cells.

    *Source.* R. McKenna, G. Miklau, D. Sheldon, "Winning the NIST contest: a scalable and general approach to
    differentially private synthetic data", 2021, for counting columns first and then pairs chosen as a tree.
    *Departures.* One scale for all; pairs chosen one after the other by their distance from independence, less the
    noise they would get; noisy counts made to agree by least squares and our proportional fitting.

    Examples
    --------
    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": [30, 41, 52] * 100, "ill": ["yes", "no", "no"] * 100})
    >>> age, ill = sf.Attribute(domain=(0, 100)), sf.Attribute(domain=("no", "yes"))
    >>> table = sf.read_table(people, sf.Schema(quasi_identifying={"age": age}, sensitive={"ill": ill}))
    >>> release = sf.publish_privately(table, sf.DifferentialPrivacy(1), bins={"age": 10})  # doctest: +SKIP
    """
    said = {
        "marginals": marginals, "two_way": two_way, "choice": choice, "bins": bins, "levels": levels,
        "complete": complete, "synthetic": synthetic,
    }  # fmt: skip
    raise_all(PolicyError, _wrong_types(table, model, said, seed, ledger))
    if isinstance(model, PrivatePolicy):
        policy = model
        raise_all(PolicyError, misfits(table, policy))
    else:
        given = {name: settle_private(value) for name, value in said.items() if value is not None}
        policy = PrivatePolicy.of(model, Counting(**given), table.schema)
    wanted = policy.to_model()
    task = private_task(table, wanted, policy.to_counting())
    told = progress or shown
    # Before anything is spent it is clear that noise can be drawn.
    opendp()
    series = None if ledger is None else PrivacyLedger.spend(ledger, wanted)
    solved = solve_private(task, told)
    told("verifying", 2, 2)
    verification = private_verification(solved.published, solved.budget, wanted, series)
    if not verification.ok:
        raise VerificationError("the marginals break their promise; nothing is published. Please report this")
    notes = _notes(task, solved, table)
    return PrivateRelease(solved.published, wanted, solved.budget, verification, notes, policy, series)


def settle_private(value: Any) -> Any:
    """Return a setting with tuples for lists, as policies hold them."""
    if isinstance(value, Mapping):
        return {name: settle_private(each) for name, each in value.items()}
    return tuple(settle_private(each) for each in value) if isinstance(value, (list, tuple)) else value


def call_problems(
    table: object, model: object, policy: type, said: Mapping[str, Any], seed: object, ledger: object
) -> list[str]:
    """Tell what is wrong with the arguments that every publication under differential privacy takes."""
    problems = []
    if ledger is not None and not isinstance(ledger, (str, Path)):
        problems.append("ledger must be the path of a file")
    if not isinstance(table, Table):
        problems.append("table is not a Table; read it with sfumato.read_table(...)")
    if not isinstance(model, (policy, DifferentialPrivacy)):
        problems.append(f"model is neither a DifferentialPrivacy nor a {policy.__name__}")
    if seed is not None:
        problems.append(NO_SEED)
    if isinstance(model, policy):
        problems += [f"{name}: the policy says it; leave it out" for name, value in said.items() if value is not None]
    return problems


def _wrong_types(table: object, model: object, said: Mapping[str, Any], seed: object, ledger: object) -> list[str]:
    problems = call_problems(table, model, PrivatePolicy, said, seed, ledger)
    if isinstance(model, PrivatePolicy):
        return problems
    marginals = said["marginals"]
    if marginals is not None and not (_is_list(marginals) and all(_is_names(names) for names in marginals)):
        problems.append("marginals must be a list of lists of column names")
    if said["two_way"] is not None and (not _is_whole(said["two_way"]) or said["two_way"] < 0):
        problems.append("two_way must be a whole number of at least 0")
    if said["choice"] not in (None, *get_args(Choice)):
        problems.append("choice must be 'data' or 'declared'")
    if said["synthetic"] not in (None, True, False):
        problems.append("synthetic must be true or false")
    if said["complete"] is not None and not _is_names(said["complete"]):
        problems.append("complete must be a list of column names")
    if not is_settings(said["bins"]):
        problems.append("bins must be a mapping of column names to numbers of bins, or to their borders")
    levels = said["levels"]
    if not is_settings(levels) or not all(_is_whole(level) and level >= 0 for level in (levels or {}).values()):
        problems.append("levels must be a mapping of column names to whole numbers of at least 0")
    return problems


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple))


def _is_names(value: Any) -> bool:
    return _is_list(value) and all(isinstance(name, str) for name in value)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_settings(value: Any) -> bool:
    """Tell whether this is nothing, or a mapping of names."""
    return value is None or (isinstance(value, Mapping) and all(isinstance(name, str) for name in value))


def misfits(table: Table, policy: DeclaredPolicy) -> list[str]:
    """Name the roles that the policy and the table that was read give to other columns."""
    said, read = policy.columns, table.schema
    problems = [
        f"columns.{role.replace('_', '-')}: the policy names other columns than the table was read with; read it with "
        "sfumato.read_table(source, policy)"
        for role in ("quasi_identifying", "sensitive")
        if list(getattr(said, role)) != list(getattr(read, role))
    ]
    if said.person != read.person:
        problems.append("columns.person: is not the column that the table was read with")
    return problems


def budget_notes(model: DifferentialPrivacy, table: Table) -> list[str]:
    """Say what is to be said of ε and δ that are large."""
    found = []
    if model.epsilon > MUCH:
        found.append(f"An ε above {MUCH} promises little: odds may change by more than {22_026:,} times.")
    people = int(table.person_of.max()) + 1
    if model.delta * people >= 1:
        found.append(
            f"δ times the number of people is {model.delta * people:g}, and should be far below 1: with so large "
            "a δ the promise allows that somebody is shown as they are."
        )
    return found


def _notes(task: PrivateTask, solved: SolvedMarginals, table: Table) -> tuple[str, ...]:
    found = budget_notes(task.model, table)
    if task.beyond:
        found.append(
            f"{counted(task.beyond, 'record')} of people with more than {counted(task.model.records, 'record')} "
            "do not count."
        )
    if task.incomplete:
        found.append(f"{counted(task.incomplete, 'record')} without a value in a complete column do not count.")
    found += repeated_notes(table, None, 1)
    if table.schema.insensitive:
        found.append(f"Insensitive columns are not published: {', '.join(table.schema.insensitive)}.")
    known = [*table.schema.quasi_identifying, *table.schema.sensitive]
    if left := [name for name in known if name not in solved.published.domains]:
        found.append(f"Columns in no marginal are not published: {', '.join(left)}.")
    return tuple(found)


# Publishing a random sample of generalized records under differential privacy.


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
    raise_all(PolicyError, _wrong_sample_types(table, model, said, seed, ledger))
    if isinstance(model, PrivateSamplePolicy):
        policy = model
        raise_all(PolicyError, misfits(table, policy))
    else:
        given = {name: settle_private(value) for name, value in said.items() if value is not None}
        policy = PrivateSamplePolicy.of(model, SampleSettings(**given), table.schema)
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


def _wrong_sample_types(
    table: object, model: object, said: Mapping[str, Any], seed: object, ledger: object
) -> list[str]:
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
