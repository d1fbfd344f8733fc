"""Play attacks against a release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from sfumato.errors import PolicyError, SfumatoError
from sfumato.evaluation.attacks import ATTACKS, DEFAULT, ON_DEMAND
from sfumato.evaluation.attacks.fingerprint import UNPUBLISHED
from sfumato.evaluation.attacks.of_series import unplayed_of_series
from sfumato.evaluation.attacks.posterior import sensitive_of
from sfumato.evaluation.attacks.protocol import Attack, AttackResult, Counted, RecordsKnown, Target
from sfumato.evaluation.attacks.results import Attacks
from sfumato.evaluation.attacks.target import target_of
from sfumato.numbers import with_article
from sfumato.progress import Progress, beating, shown, silent
from sfumato.published import Published
from sfumato.published.protocol import settled
from sfumato.recoding import Recoding
from sfumato.release.release import Release
from sfumato.table.problems import raise_together
from sfumato.table.row_order import settled as settled_table
from sfumato.table.row_order import settled_rows
from sfumato.table.schema import Schema
from sfumato.table.table import Table

NEEDED = {
    "control": "needs a control group of people who were not in the data (control=)",
    "register": "needs a register of names and quasi-identifying values (register=)",
    "earlier": "needs another release of the same people (earlier=)",
    "anonymizer": "needs to know the algorithm, which the release does not say",
    "sensitive": "needs a sensitive attribute, and the release has none",
    "pseudonyms": UNPUBLISHED,
    "identifying": "needs a column of names: give the original as a frame or file, with its schema",
}


def attack(
    release: Release | Published | str | Path,
    original: Table | pl.DataFrame | str | Path,
    *,
    schema: Schema | None = None,
    attacks: str | Attack | Sequence[str | Attack] | None = None,
    control: Table | pl.DataFrame | str | Path | None = None,
    register: pl.DataFrame | str | Path | None = None,
    earlier: Release | Published | str | Path | None = None,
    recoding: Recoding | None = None,
    records_known: RecordsKnown = "all",
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = shown,
) -> Attacks:
    """Play attacks against a release, and say which ones succeed.

    Parameters
    ----------
    release
        A release in memory, a release folder, or published tables.
    original
        The data that the release was made from: a table from :func:`sfumato.read_table`, or a frame or file with
        `schema`. Attacks read only what their attackers know of it; the rest is for scoring.
    schema
        Roles and hierarchies of `original`, if it is not a table. If a register of names is to be compared, the
        original must be given in this way, because a table has no names.
    attacks
        Names out of ``sfumato.ATTACKS``, or values of the classes behind them such as
        ``sfumato.evaluation.attacks.Homogeneity(threshold=0.9)``. None plays every attack of the default set that fits
        the kind of the release and what is given; the others, and those that are played only when they are named, are
        listed with the reason.
    control
        People who were not in the data, with the same columns. What an attack also achieves on them is not the
        release's fault.
    register
        Names and quasi-identifying values that a linking attacker holds.
    earlier
        Another release of (some of) the same people.
    recoding
        How a generalized table was published; None takes what a release says, else the defaults.
    records_known
        Where the schema names a person column: how many records an attacker who knows somebody knows of them,
        ``"all"``, ``"one"`` or at most a number; which ones is drawn. A register's rows with one key are one person, of
        whom all of them are known.
    seed
        For the attacks' own choices; None draws from the operating system.
    threads
        None reads ``SFUMATO_THREADS``, else takes all cores. It never changes the result.
    progress
        Called with what is being done, how much is done and the total, at each step and twice a second between; it
        may raise to stop. The work is then done in a thread of its own.

    Returns
    -------
    Attacks

    Raises
    ------
    PolicyError
        With every attack that is unknown, that needs another kind of release, or that needs what is not given.
    InputError, SchemaError
        With everything that is wrong with the tables.

    Examples
    --------
    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": [30, 30, 40, 40], "disease": ["flu", "flu", "cold", "cough"]})
    >>> table = sf.read_table(people, sf.Schema(quasi_identifying=["age"], sensitive=["disease"]))
    >>> release = sf.anonymize(table, sf.KAnonymity(2))
    >>> print(sf.attack(release, table, attacks="homogeneity")["homogeneity"][0].success)
    2 of 2, 100.0 % (34.2 to 100.0 %, by guessing 100 %)
    """
    errors: list[SfumatoError] = []
    chosen = _chosen(attacks, errors)
    target = target_of(
        release,
        original,
        schema=schema,
        control=control,
        register=register,
        earlier=earlier,
        recoding=recoding,
        records_known=records_known,
        seed=seed,
        threads=threads,
        progress=progress,
        errors=errors,
    )
    if target is not None and attacks is not None:
        problems = [problem for one in chosen if (problem := _misfit(one, target))]
        errors += [PolicyError(*problems)] if problems else []
    raise_together(errors)
    assert target is not None
    met, by_name = target, attacks is not None
    played = beating(progress, "attacks", lambda told: _played(replace(met, progress=told), chosen, by_name=by_name))
    return replace(played, unplayed={**played.unplayed, **(unplayed_of_series(release) if attacks is None else {})})


def _chosen(attacks: object, errors: list[SfumatoError]) -> list[Attack]:
    if attacks is None:
        return [ATTACKS[name]() for name in DEFAULT]
    asked = [attacks] if isinstance(attacks, str) or not isinstance(attacks, Sequence) else list(attacks)
    found, problems = [], []
    for one in asked:
        if isinstance(one, str) and one in ATTACKS:
            found.append(ATTACKS[one]())
        elif isinstance(one, Attack) and not isinstance(one, type):
            found.append(one)
        else:
            what = f"{one!r} is unknown" if isinstance(one, str) else "is no attack"
            problems.append(f"attacks: {what}; known are {', '.join(ATTACKS)}")
    if not asked:
        problems.append("attacks: name at least one, or leave it out for the default set")
    if problems:
        errors.append(PolicyError(*dict.fromkeys(problems)))
    return found


def _misfit(one: Attack, target: Target) -> str | None:
    """Say why an attack cannot be played, or return None."""
    if target.published.kind not in one.kinds:
        needed = " or ".join(map(with_article, sorted(one.kinds)))
        return f"{one.name}: cannot be played on {with_article(target.published.kind)}; it needs {needed}"
    if not any(table.height for table in target.published.tables.values()):
        return f"{one.name}: nothing was published that it could be played on: the release has no records"
    lacking = [NEEDED[need] for need in one.needs if not _has(target, need)]
    return f"{one.name}: {'; '.join(lacking)}" if lacking else None


def _has(target: Target, need: str) -> bool:
    if need == "sensitive":
        return bool(sensitive_of(target.published))
    if need == "identifying":
        return any(name in target.original.frame.columns for name in target.original.schema.identifying)
    if need == "pseudonyms":
        return getattr(target.published, "pseudonyms", None) is not None
    return getattr(target, need) is not None


def _played(target: Target, chosen: Sequence[Attack], *, by_name: bool) -> Attacks:
    results: list[AttackResult] = []
    unplayed: dict[str, str] = {}
    settled_target = _settled(target)
    for place, one in enumerate(chosen):
        target.progress(one.name, place, len(chosen))
        if problem := _misfit(one, target):
            unplayed[one.name] = problem.removeprefix(f"{one.name}: ")
            continue
        try:
            # Only completed attacks are counted.
            played = _results(one, replace(target, progress=silent), replace(settled_target, progress=silent))
            results += [replace(result, counts=_of_whom(one, target)) for result in played]
        except SfumatoError as error:
            if by_name:
                raise
            unplayed[one.name] = "; ".join(problem.removeprefix(f"{one.name}: ") for problem in error.problems)
    target.progress("done", len(chosen), len(chosen))
    if not by_name:
        unplayed |= {name: _misfit_or(why, ATTACKS[name](), target) for name, why in ON_DEMAND.items()}
    return Attacks(
        target.published.kind,
        _people_in(target.original),
        None if target.control is None else _people_in(target.control),
        tuple(results),
        unplayed,
        target.original.height,
        target.records_known,
        None if target.original.repeated is None else target.original.repeated.name,
    )


def _results(one: Attack, target: Target, settled_target: Target) -> Sequence[AttackResult]:
    if getattr(one, "reads_order", False):
        return one.play(target)
    try:
        return one.play(settled_target)
    except SfumatoError:
        # A message names rows as they stand in what was given.
        one.play(target)
        raise


def _settled(target: Target) -> Target:
    """Let what is drawn depend on what records and published rows hold, and not on where they stand."""
    return replace(
        target,
        published=settled(target.published),
        original=settled_table(target.original),
        control=None if target.control is None else settled_table(target.control),
        register=None if target.register is None else settled_rows(target.register),
        earlier=None if target.earlier is None else settled(target.earlier),
    )


def _misfit_or(why: str, one: Attack, target: Target) -> str:
    """Say why an attack cannot be played; if it can, why it was not."""
    problem = _misfit(one, target)
    return why if problem is None else problem.removeprefix(f"{one.name}: ")


def _of_whom(one: Attack, target: Target) -> Counted:
    """Say what an attack counts: people, unless people have several rows, and it is about these or promises to them."""
    if target.original.repeated is not None:
        return "records"
    if getattr(one, "counts_as_promised", False) and target.rows.promised:
        return "people"
    several = _people_in(target.original) < target.original.height
    return getattr(one, "counts", "people") if several else "people"


def _people_in(table: Table) -> int:
    return int(table.person_of.max()) + 1
