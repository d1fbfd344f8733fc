"""Playing attacks against a release, or against what a policy would publish, and all results in one value."""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.errors import InputError, PolicyError, SfumatoError, attempt, raise_all, raise_together
from sfumato.evaluation import inputs
from sfumato.evaluation.attacks import ATTACKS, attacks_on_demand, without_former
from sfumato.evaluation.attacks.fingerprint import UNPUBLISHED
from sfumato.evaluation.attacks.people import is_number_known, records_in_words
from sfumato.evaluation.attacks.posterior import sensitive_of
from sfumato.evaluation.attacks.protocol import Attack, AttackResult, Counted, RecordsKnown, RowsOfPeople, Target
from sfumato.evaluation.attacks.verdicts import Verdict
from sfumato.notebook import (
    BAD,
    GOOD,
    OPEN,
    Cell,
    Markup,
    interval,
    lines,
    notebook_mark,
    notebook_section,
    notebook_table,
    paragraph,
)
from sfumato.numbers import counted, percent, with_article
from sfumato.policy.policy import Policy
from sfumato.progress import Progress, beating, shown, silent, thread_count
from sfumato.published import Published
from sfumato.published.protocol import order_by_content
from sfumato.randomness import seed_problems
from sfumato.recoding import Recoding
from sfumato.registry import citations
from sfumato.release.agreement import PublishedPolicy
from sfumato.release.anonymize import anonymize
from sfumato.release.release import Release
from sfumato.release.transaction import MARK
from sfumato.release.verify import OpenedRelease, read_release, refuse_swapped
from sfumato.table.columns import clean
from sfumato.table.header import repeated
from sfumato.table.person_keys import PersonKey, key_in, number_people, person_keys
from sfumato.table.reading import read_table
from sfumato.table.row_order import order_rows as settled_table
from sfumato.table.row_order import settled_rows
from sfumato.table.schema import Schema
from sfumato.table.sources import open_source
from sfumato.table.sources.protocol import CsvFormat
from sfumato.table.table import Table
from sfumato.whole_files import read_regular_text

if TYPE_CHECKING:
    from sfumato.drawing import Drawing


@dataclass(frozen=True)
class Attacks:
    """Results of the attacks on one release.

    * `kind`: kind of the release, as in ``release.json``.
    * `people`: people in the data; records, if nothing says who they are about.
    * `control`: people who are not in the data; None without a control group.
    * `results`: in the order in which the attacks were played.
    * `unplayed`: attacks of the default set that could not be played, and why.
    * `records`: records in the data; more than `people` where somebody has several.
    * `records_known`: how many records an attacker who knows somebody knows of them.
    * `repeated`: a column that looks as if it said who a record is about, though the schema says nothing; every record
      was then attacked as if it were a person of its own.
    """

    kind: str
    people: int
    control: int | None
    results: tuple[AttackResult, ...]
    unplayed: Mapping[str, str] = field(default_factory=dict)
    records: int = 0
    records_known: RecordsKnown = "all"
    repeated: str | None = None

    def __post_init__(self) -> None:
        """Freeze the mapping."""
        object.__setattr__(self, "unplayed", MappingProxyType(dict(self.unplayed)))

    def __getitem__(self, attack: str) -> tuple[AttackResult, ...]:
        """Return the results of one attack, by its name; empty if it was not played; PolicyError if nobody knows it."""
        found = tuple(result for result in self.results if result.attack == attack)
        if not found and attack not in (*ATTACKS, *self.unplayed):
            played = dict.fromkeys(result.attack for result in self.results)
            raise PolicyError(f"attacks: {attack!r} is unknown; played were {', '.join(played) or 'none'}")
        return found

    def __iter__(self) -> Iterator[AttackResult]:
        """Iterate over all results."""
        return iter(self.results)

    def __contains__(self, attack: object) -> bool:
        """Tell whether an attack was played, by its name, or whether it is one of the results."""
        return any(attack in (result.attack, result) for result in self.results)

    @property
    def succeeding(self) -> tuple[AttackResult, ...]:
        """Return the results that beat guessing, and the control group if there is one."""
        return tuple(result for result in self.results if result.succeeds)

    @property
    def unlicensed(self) -> tuple[AttackResult, ...]:
        """Return those of them that go beyond what a promise of the release allows, or that no promise is about."""
        return tuple(result for result in self.succeeding if not result.is_allowed)

    @property
    def undecided(self) -> tuple[AttackResult, ...]:
        """Return the results that say neither, because too few people were tried."""
        return tuple(result for result in self.results if result.is_undecided)

    @property
    def unsettled(self) -> tuple[AttackResult, ...]:
        """Return those of them that go beyond what a promise of the release allows, or that no promise is about."""
        return tuple(result for result in self.undecided if not result.is_allowed)

    def draw(self, width: int = 50) -> str:
        """Draw every result as text: success with its interval, guessing, and the control group, on one scale."""
        return _draw_results(self.results, width)

    def plot(self) -> Drawing:
        """Draw every result: success with its interval, guessing, and people who are not in the data.

        Raises
        ------
        PolicyError
            When nobody was attacked, or matplotlib is not installed (``pip install 'sfumato[report]'``).
        """
        from sfumato.drawing import COLOURS, Drawing, canvas

        tried = [result for result in self.results if result.success.people]
        if not tried:
            raise PolicyError("plot: no attack had anybody to try it on")
        figure, axes = canvas("share of the people", "", height=1.2 + 0.32 * len(tried))
        tones = {"succeeds": COLOURS[1], "no better": COLOURS[2], "undecided": COLOURS[5]}
        for place, result in enumerate(tried):
            tone, control = tones[result.verdict], result.control
            axes.plot(result.success.interval, [place, place], color=tone, linewidth=2.2)
            axes.plot(result.success.share, place, "o", color=tone)
            axes.plot(result.success.baseline, place, "|", color="#000000", markersize=13)
            if control is not None and control.people:
                axes.plot(control.share, place, "D", color=COLOURS[4], markersize=5, markerfacecolor="none")
        for label, mark, tone in (*((verdict, "o", tone) for verdict, tone in tones.items()), *_OTHER_MARKS):
            axes.plot([], [], mark, color=tone, markerfacecolor="none" if mark == "D" else tone, label=label)
        axes.set_yticks(range(len(tried)), [result.attack for result in tried])
        axes.invert_yaxis()
        axes.set_xlim(-0.02, 1.02)
        axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
        return Drawing(figure)

    def cite(self) -> str:
        """Name the papers behind the attacks."""
        return citations(ATTACKS[name] for result in self.results if (name := result.attack) in ATTACKS)

    def _repr_html_(self) -> str:
        """Show notebooks every result with its interval."""
        from sfumato.notebook import card

        what = "people" if self.repeated is None else "records"
        control = "" if self.control is None else f"; {self.control:,} who are not in the data"
        return card("Attacks", f"on a {self.kind} of {self.people:,} {what}{control}", *_attack_parts(self))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "kind": self.kind,
            "people": self.people,
            "control": self.control,
            "records": self.records or self.people,
            **({"records_known": self.records_known} if self.records > self.people else {}),
            **({} if self.repeated is None else {"repeated": self.repeated}),
            "succeeding": len(self.succeeding),
            "unlicensed": len(self.unlicensed),
            "undecided": len(self.undecided),
            "results": [result.to_dict() for result in self.results],
            "unplayed": dict(self.unplayed),
        }

    def __str__(self) -> str:
        """Write all results on one page."""
        what = "people" if self.repeated is None else "records"
        several = f" with {self.records:,} records" if self.records > self.people else ""
        control = "" if self.control is None else f"; {self.control:,} who are not in the data"
        head = (
            f"{counted(len(self.results), 'result')} of attacks on {with_article(self.kind)} of {self.people:,} {what}"
            f"{several}{control}\n"
            f"{_succeeding(self)}, {len(self.unlicensed)} of them beyond what the release promises"
        )
        if self.undecided:
            head += f"; {len(self.undecided)} undecided"
        if several:
            head += f"\nwho knows somebody knows {records_in_words(self.records_known)}"
        if self.repeated is not None:
            head += (
                f"\ncolumn {self.repeated!r} repeats; every record was attacked as if it were a person of its own. If "
                f"the column says who a record is about, attack people: person={self.repeated!r} (--person "
                f"{self.repeated})"
            )
        unplayed = [f"not played: {name}, {reason}" for name, reason in self.unplayed.items()]
        return "\n\n".join([head, *map(str, self.results), *(["\n".join(unplayed)] if unplayed else [])])


_OTHER_MARKS = (("guessing", "|", "#000000"), ("not in the data", "D", "#000000"))
_SUCCESS, _GUESSING, _CONTROL, _INTERVAL = "●", "|", "◇", "─"


def _draw_results(results: Sequence[AttackResult], width: int) -> str:
    """Draw a line for each result with a person, on a scale of `width` letters from 0 to 1, the verdict at its end."""
    tried = [result for result in results if result.success.people]
    if not tried:
        return "nothing to draw: no attack had anybody to try it on"
    longest = max(len(result.attack) for result in tried)
    lines = [f"{result.attack:<{longest}}  {_line(result, width)}  {_word(result)}" for result in tried]
    scale = f"{'':<{longest}}  0{'1':>{width - 1}}"
    legend = f"{_SUCCESS} success with its interval, {_GUESSING} guessing, {_CONTROL} people who are not in the data"
    return "\n".join([*lines, scale, legend])


def _word(result: AttackResult) -> str:
    return result.verdict if result.unplayed is None else "not played"


def _line(result: AttackResult, width: int) -> str:
    letters = [" "] * width
    low, high = (_place(end, width) for end in result.success.interval)
    letters[low : high + 1] = _INTERVAL * (high + 1 - low)
    letters[_place(result.success.baseline, width)] = _GUESSING
    if result.control is not None and result.control.people:
        letters[_place(result.control.share, width)] = _CONTROL
    letters[_place(result.success.share, width)] = _SUCCESS
    return "".join(letters)


def _place(share: float, width: int) -> int:
    return round(min(max(share, 0.0), 1.0) * (width - 1))


KINDS: dict[Verdict, str] = {"succeeds": BAD, "no better": GOOD, "undecided": OPEN}
_HEADS = ("attack", "people ...", "verdict", "success", "guessing", "0 to 100%")

_STROKES = (
    "A bar is the 95% interval around the success. Strokes are guessing, people who are not in the data, and what the "
    "promises allow."
)


def _attack_parts(attacks: Attacks) -> tuple[Markup, ...]:
    """Return the results as one table, and what else there is to say, as parts of a card."""
    played = [_row(result) for result in attacks.results if result.unplayed is None]
    unplayed = {result.attack: result.unplayed for result in attacks.results if result.unplayed is not None}
    missed = [f"{name}: {reason}" for name, reason in {**attacks.unplayed, **unplayed}.items()]
    helps = {result.helps: result.attack for result in attacks.unlicensed if result.helps}
    return (
        paragraph(_summary(attacks)),
        notebook_table(_HEADS, played, (3, 4)),
        paragraph(_STROKES if played else ""),
        notebook_section("What helps", lines(f"{attack}: {sentence}" for sentence, attack in helps.items())),
        notebook_section("Not played", lines(missed)),
    )


def _summary(attacks: Attacks) -> str:
    """Count what succeeds, and what is undecided."""
    beyond = f"{len(attacks.unlicensed)} beyond what the release promises"
    return f"{_succeeding(attacks)}, {beyond}; {len(attacks.undecided)} undecided."


def _succeeding(attacks: Attacks) -> str:
    count = len(attacks.succeeding)
    return f"{count} {'succeeds' if count == 1 else 'succeed'}"


def _row(result: AttackResult) -> tuple[Cell, ...]:
    success, control = result.success, result.control
    low, high = success.interval
    strokes = {"guessing": success.baseline}
    strokes |= {} if control is None or not control.people else {"people who are not in the data": control.share}
    strokes |= {} if result.allowed is None else {"allowed by the promises": min(result.allowed, 1.0)}
    kind = OPEN if result.succeeds and result.is_allowed else KINDS[result.verdict]
    words = result.headline + (", as the promises allow" if result.succeeds and result.is_allowed else "")
    if not success.people:
        return result.attack, result.goal, notebook_mark(words, kind), "nobody", "", ""
    drawn = interval(low, high, success.share, strokes)
    return (
        result.attack,
        result.goal,
        notebook_mark(words, kind),
        percent(success.share, 3),
        percent(success.baseline, 3),
        drawn,
    )


_NEEDED = {
    "control": "needs a control group of people who were not in the data",
    "register": "needs a register of names and quasi-identifying values",
    "earlier": "needs another release of the same people",
    "anonymizer": "needs to know the algorithm, which the release does not say",
    "sensitive": "needs a sensitive attribute, and the release has none",
    "pseudonyms": UNPUBLISHED,
    "identifying": "needs a column of names: give the original as a frame or file, with its schema",
}

_GIVEN = ("control", "register", "earlier")
"""Needs that are keywords of :func:`attack`."""


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
    within: float | None = None,
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
    within
        Seconds that all attacks may take; None: as long as they need. Each may take half of what is left. One that is
        cut counts as not played, with the reason; it may go on in the background for a while.
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
    2 of 2, 100.0 % (34.2 to 100.0 %, by guessing 50 %)
    """
    errors: list[SfumatoError] = []
    if within is not None and not (isinstance(within, int | float) and within > 0):
        errors.append(PolicyError("within: must be seconds, above 0"))
    chosen = _chosen(attacks, errors)
    target = _target_of(
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
        problems = [problem for one in chosen if (problem := _misfit(one, target, in_call=True))]
        errors += [PolicyError(*problems)] if problems else []
    raise_together(errors)
    assert target is not None
    met, by_name = target, attacks is not None
    played = beating(
        progress, "attacks", lambda beat: _played(replace(met, progress=beat), chosen, by_name=by_name, within=within)
    )
    return replace(played, unplayed={**played.unplayed, **(_unplayed_of_series(release) if attacks is None else {})})


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
    inside, outside = inputs.hold_out(table, hold_out, seed=seed) if hold_out else (table, None)
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


def _chosen(attacks: object, errors: list[SfumatoError]) -> list[Attack]:
    if attacks is None:
        return [one() for name, one in ATTACKS.items() if name not in attacks_on_demand()]
    asked = without_former([attacks] if isinstance(attacks, str) or not isinstance(attacks, Sequence) else attacks)
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


def _misfit(one: Attack, target: Target, *, in_call: bool = False) -> str | None:
    """Say why an attack cannot be played, in a call also by which keyword it could be; or return None."""
    if target.published.kind not in one.kinds:
        needed = " or ".join(map(with_article, sorted(one.kinds)))
        return f"{one.name}: cannot be played on {with_article(target.published.kind)}; it needs {needed}"
    if not any(table.height for table in target.published.tables.values()):
        return f"{one.name}: nothing was published that it could be played on: the release has no records"
    lacking = [
        f"{_NEEDED[need]} ({need}=)" if in_call and need in _GIVEN else _NEEDED[need]
        for need in one.needs
        if not _has(target, need)
    ]
    return f"{one.name}: {'; '.join(lacking)}" if lacking else None


def _has(target: Target, need: str) -> bool:
    if need == "sensitive":
        return bool(sensitive_of(target.published))
    if need == "identifying":
        return any(name in target.original.frame.columns for name in target.original.schema.identifying)
    if need == "pseudonyms":
        return getattr(target.published, "pseudonyms", None) is not None
    return getattr(target, need) is not None


class _LateError(SfumatoError):
    """An attack took longer than it may."""


def _results_within(seconds: float, one: Attack, target: Target, settled: Target) -> Sequence[AttackResult]:
    """Play an attack, which is left behind after some seconds."""
    end = monotonic() + seconds

    def look(what: str, done: int, total: int) -> None:
        if monotonic() > end:
            raise _LateError(f"was stopped after {seconds:.3g} s, for want of time")

    def play(beat: Progress) -> Sequence[AttackResult]:
        return _results(one, replace(target, progress=beat), replace(settled, progress=beat))

    return beating(look, "attack", play)


def _played(target: Target, chosen: Sequence[Attack], *, by_name: bool, within: float | None = None) -> Attacks:
    end = None if within is None else monotonic() + within
    results: list[AttackResult] = []
    unplayed: dict[str, str] = {}
    settled_target = _ordered_by_content(target)
    for place, one in enumerate(chosen):
        target.progress(one.name, place, len(chosen))
        if problem := _misfit(one, target):
            unplayed[one.name] = problem.removeprefix(f"{one.name}: ")
            continue
        if end is not None and monotonic() >= end:
            unplayed[one.name] = "was not begun in the time that was given"
            continue
        try:
            # Only completed attacks are counted.
            if end is None:
                played = _results(one, replace(target, progress=silent), replace(settled_target, progress=silent))
            else:
                played = _results_within((end - monotonic()) / 2, one, target, settled_target)
            results += [replace(result, counts=_of_whom(one, target)) for result in played]
        except SfumatoError as error:
            if by_name and not isinstance(error, _LateError):
                raise
            unplayed[one.name] = "; ".join(problem.removeprefix(f"{one.name}: ") for problem in error.problems)
    target.progress("done", len(chosen), len(chosen))
    if not by_name:
        unplayed |= {name: _misfit_or(why, ATTACKS[name](), target) for name, why in attacks_on_demand().items()}
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


def _ordered_by_content(target: Target) -> Target:
    """Let what is drawn depend on what records and published rows hold, and not on where they stand."""
    return replace(
        target,
        published=order_by_content(target.published),
        original=settled_table(target.original),
        control=None if target.control is None else settled_table(target.control),
        register=None if target.register is None else settled_rows(target.register),
        earlier=None if target.earlier is None else order_by_content(target.earlier),
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


_ELSEWHERE = "needs the other releases of the series: sfumato attack plays it"


NAMES = ("forward, cross and backward attack", "record tracing")


def _unplayed_of_series(release: object) -> Mapping[str, str]:
    """Return what one release of a series cannot be attacked with, and why; nothing for a release by itself."""
    if isinstance(release, (str, Path)):
        with suppress(OSError, ValueError):
            content = json.loads(read_regular_text(Path(release) / MARK))
            if isinstance(content, dict) and content.get("series") is not None:
                return dict.fromkeys(NAMES, _ELSEWHERE)
    return {}


_Given = TypeVar("_Given")


Read = TypeVar("Read")


def _target_of(
    release: object,
    original: object,
    *,
    schema: Schema | None,
    control: object,
    register: object,
    earlier: object,
    recoding: Recoding | None,
    records_known: RecordsKnown,
    seed: int | None,
    threads: int | None,
    progress: Progress,
    errors: list[SfumatoError],
) -> Target | None:
    """Read everything, as :func:`sfumato.attack` takes it; return None, and add `errors`, if something is wrong."""
    refuse_swapped(original, "attack(release, original)")
    before = len(errors)
    opened = _collected(errors, "release", read_release, release)
    people = _collected(errors, "original", lambda given: _people(given, schema, "original"), original)
    known = people.schema if people is not None else schema
    others = _collected(errors, "control", lambda given: _people(given, known, "control"), control)
    names = _collected(errors, "register", read_frame, register)
    other = _collected(errors, "earlier", read_release, earlier)
    count = (
        _collected(errors, "", thread_count, threads)
        if threads is not None
        else attempt(lambda: thread_count(None), errors)
    )
    problems = _setting_problems(recoding, records_known, seed)
    if opened is not None and people is not None:
        problems += _unlike(opened.published, people, "original")
        problems += [] if others is None else _unlike(opened.published, others, "control")
    if problems:
        errors.append(InputError(*problems))
    if len(errors) > before or opened is None or people is None:
        return None
    return Target(
        published=opened.published,
        original=people,
        control=others,
        register=names,
        earlier=None if other is None else other.published,
        models=opened.description.models if opened.description else (),
        rows=rows_of_people(opened),
        earlier_rows=rows_of_people(other),
        records_known=records_known,
        anonymizer=_anonymizer(opened.policy),
        recoding=recoding or opened.policy.recoding(),
        seed=seed,
        threads=count or 1,
        progress=progress,
    )


def rows_of_people(opened: OpenedRelease | None) -> RowsOfPeople:
    """Read off what a release says of itself how the rows of a person lie in it.

    A release that promises people nothing says nothing of their rows, so that they may lie anywhere.
    """
    promised = opened is not None and opened.description is not None and opened.description.people is not None
    return RowsOfPeople(promised, together=promised and opened is not None and opened.policy.rows_together())


def read_frame(source: object) -> pl.DataFrame:
    """Read a file, cells of a CSV file as text, or take a frame of polars, pandas or Arrow; InputError if it cannot."""
    opened = open_source(source, CsvFormat())
    if repeated(opened.names):
        raise InputError("several columns have the same name; rename them")
    columns = opened.read(opened.names)
    if opened.is_text:
        columns = [clean(column, strip=True).cast(pl.String).replace("", None) for column in columns]
    return pl.DataFrame([column.alias(name) for column, name in zip(columns, opened.names, strict=True)])


def _people(given: object, schema: Schema | None, what: str) -> Table:
    """Take a table, or read one with its names."""
    if isinstance(given, Table):
        return given
    if schema is None:
        raise PolicyError("is not a table; read it with sfumato.read_table, or give its schema (schema=)")
    # Others may lack the columns that tell who they are.
    known = schema if what == "original" else replace(schema, identifying=(), person=_key_in(given, schema))
    kept = Schema(
        quasi_identifying=schema.quasi_identifying,
        sensitive=schema.sensitive,
        insensitive=(*schema.insensitive, *known.identifying, *known.key_columns),
        others="drop" if schema.others == "error" and what == "control" else schema.others,
    )
    table = read_table(given, kept)
    # Names and keys stay in the frame, for a register to be compared with.
    own = person_keys(key_in(table.frame, known.key_columns), schema.key_form) if known.key_columns else None
    people = None if own is None else number_people(own)
    return replace(table, schema=replace(schema, person=known.person), people=people, repeated=None)


def _key_in(given: object, schema: Schema) -> PersonKey:
    """Return the column that says who people are, or the columns, if a file or frame has them."""
    return schema.person if {*schema.key_columns} <= {*open_source(given, CsvFormat()).names} else None


def _unlike(published: Published, people: Table, what: str) -> list[str]:
    schema = people.schema
    quasi = getattr(published, "quasi_identifying", None)
    if quasi is None:
        quasi = {name for column in getattr(published, "columns", ()) for name in column} - {*sensitive_of(published)}
    problems = []
    if not set(quasi) & set(schema.quasi_identifying):
        problems.append(
            f"{what}: has none of the quasi-identifying columns of the release ({', '.join(sorted(quasi))}); give the "
            "schema or policy that the release was made with"
        )
    problems += [
        f"{what}: has no column {name!r}, which the release has as sensitive"
        for name in sensitive_of(published)
        if name not in people.frame.columns
    ]
    return problems


def _setting_problems(recoding: object, records_known: object, seed: object) -> list[str]:
    problems = []
    if not is_number_known(records_known):
        problems.append("records_known: must be 'all', 'one' or a whole number of 1 or more")
    if recoding is not None and not isinstance(recoding, Recoding):
        problems.append("recoding: must be a Recoding")
    return problems + seed_problems(seed)


def _collected(
    errors: list[SfumatoError], what: str, read: Callable[[_Given], Read], given: _Given | None
) -> Read | None:
    """Read one thing, or keep its error, with its name, until all have been read."""
    if given is None:
        if what in ("release", "original"):
            errors.append(InputError(f"{what}: is missing"))
        return None
    try:
        return read(given)
    except SfumatoError as error:
        start = f"{what}: " if what else ""
        errors.append(type(error)(*(f"{start}{problem}" for problem in error.problems)))
        return None


def _anonymizer(policy: PublishedPolicy) -> object | None:
    """Build the algorithm that a published policy names; None if it cannot be built from it."""
    name, settings = policy.algorithm() or ("", {})
    made = ChainMap[str, Any](ANONYMIZERS, PUBLISHERS).get(name)  # type: ignore[arg-type]
    try:
        return None if made is None else made(**settings)
    except (SfumatoError, TypeError):
        return None
