"""What a person reads after a release was made or verified: what holds, what it cost, what is open, what comes next.

Ten lines, and one more for each promise and each open finding beyond two; ``--details`` prints the whole report.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sfumato.cli.outcome import WIDTH, narrow, printable
from sfumato.errors import VerificationError, without_credentials
from sfumato.models.protocol import Check, Outcome
from sfumato.numbers import counted, percent
from sfumato.published.checks.generalized import SUPPRESSION_PROMISE
from sfumato.published.protocol import named
from sfumato.release.reports import HOLDS, PLAYED, KindReport
from sfumato.release.transaction import UNCHECKED

if TYPE_CHECKING:
    from sfumato.evaluation.attacks.play import Attacks
    from sfumato.evaluation.attacks.protocol import AttackResult
    from sfumato.evaluation.check import CheckReport
    from sfumato.evaluation.risk.report import RiskReport
    from sfumato.metrics import Losses
    from sfumato.published.checks.generalized import Verification
    from sfumato.rates import Rate
    from sfumato.release.reports import Report, Resistance
    from sfumato.series.attacks import SeriesAttacks
    from sfumato.series.verify import SeriesVerification

LABEL = 10
"""Width of the words at the beginning of a line."""

GOOD, BAD, OPEN, NONE = "✓", "✗", "!", "–"
_COLOURS = {GOOD: "\x1b[32m", BAD: "\x1b[31m", OPEN: "\x1b[33m"}


_MARKS = {Outcome.HOLDS: GOOD, Outcome.BROKEN: BAD, Outcome.UNDECIDABLE: NONE, Outcome.ABSENT: BAD}


@dataclass(frozen=True)
class NextSteps:
    """Where a release lies and what is handed over, what checks and attacks it, and the file that the steward keeps."""

    place: str
    check: str
    attack: str
    private: str = ""
    public: str = "hand over this folder, and nothing else"

    @property
    def lines(self) -> list[str]:
        """What is public and what is not, and the command that checks it."""
        kept = f"; {self.private} is private" if self.private else ""
        return [f"{'Release':<{LABEL}}{self.place}: {self.public}{kept}", f"{'Next':<{LABEL}}{self.check}"]


# How notes begin that say what an anonymizer did: nothing to look at, and in the report.
_EFFORT = re.compile(
    r"Refinement lowered|Tried, with|Sensitive values refused many cuts\. Larger|Levels: |Incognito counted|Columns: "
    r"|Randomized columns: |Sets of attributes: |No attribute may stand|Values were generalized, alike"
    r"|[\d,]+ of [\d,]+ nodes of the lattice were counted; it is proven"
)


def summary(report: Report | KindReport, steps: NextSteps) -> list[str]:
    """Return the lines after a release; whatever the report notes that is to be looked at is said, however long."""
    notes = [note for note in report.notes if not _EFFORT.match(note)]
    found = [line for finding in (*_uncovered(report.verification), *notes) for line in _wrapped(finding)]
    head, *promises = promise_table(headline(report.verification), report.verification.checks)
    if not found and head.startswith(GOOD):
        found = [f"{'Open':<{LABEL}}nothing; what no release promises: sfumato limits"]
    return [
        head,
        *promises,
        _kept(report),
        *([] if isinstance(report, KindReport) else [_risk(report)]),
        *_resistances(report.withstood),
        *found,
        *steps.lines,
        f"{'Attacks':<{LABEL}}{'the others' if report.withstood else 'not played'}: {steps.attack}",
    ]


def say_own_kind(release: Any, steps: NextSteps) -> None:
    """Print what is promised by a release that is no table of records, what it cost, and what comes next."""
    promises = [check for check in release.verification.checks if _OF_MODEL.match(check.promise)]
    costs = [re.sub(r"^(\w+) {2,}", lambda label: f"{label[1]:<{LABEL}}", cost) for cost in release.costs]
    wrapped = [line for cost in costs for line in textwrap.wrap(cost, WIDTH, subsequent_indent=" " * LABEL)]
    open_ones = [line for check in promises if check.outcome is not Outcome.HOLDS for line in _wrapped(check.detail)]
    attack = [f"{'Attacks':<{LABEL}}not played: {steps.attack}"] if steps.attack else []
    table = promise_table(headline(release.verification), promises)
    say_marked([*table, *wrapped, *open_ones, *steps.lines, *attack])


def _resistances(withstood: Sequence[Resistance]) -> Iterator[str]:
    """Say what holds beyond the models; then, under a title of its own, what was played and withstood."""
    for title, lines in ((HOLDS, False), (PLAYED, True)):
        listed = [str(each) for each in withstood if (each.grounds == "played") is lines]
        yield from textwrap.wrap(title, WIDTH) if listed else ()
        for line in listed:
            yield from textwrap.wrap(line, WIDTH, initial_indent=f"  {GOOD} ", subsequent_indent="    ")


def headline(verification: Verification) -> str:
    """Say in one line whether a release holds what it promises; the mark comes first."""
    checks = [check for check in verification.checks if not check.promise.startswith(SUPPRESSION_PROMISE)]
    if unsigned := [check for check in checks if check.promise == UNCHECKED]:
        line = headline(replace(verification, checks=tuple(check for check in checks if check not in unsigned)))
        return f"{OPEN if line[0] == GOOD else line[0]}{line[1:]}; {UNCHECKED}"
    outcomes = [check.outcome for check in checks]
    broken = outcomes.count(Outcome.BROKEN)
    unknown = [check for check in checks if check.outcome is Outcome.UNDECIDABLE]
    if broken:
        return f"{BAD} not verified: {broken} of {counted(len(checks), 'check')} failed"
    if Outcome.ABSENT in outcomes or not checks:
        return f"{BAD} this release promises nothing"
    if unknown:
        mark, start = (BAD, "not verified") if any(check.required for check in unknown) else (OPEN, "nothing is broken")
        return f"{mark} {start}; {counted(len(unknown), 'promise')} cannot be recounted from the release alone"
    return f"{GOOD} verified: {'the promise holds' if len(checks) == 1 else 'every promise holds'}"


def recount_headline(found: SeriesVerification) -> str:
    """Say in one line whether a series holds what its releases promise."""
    try:
        found.raise_unless_ok()
    except VerificationError as error:
        return f"{BAD} not verified: {counted(len(error.problems), 'check')} failed"
    return f"{GOOD} verified: every promise of {counted(len(found.releases), 'release')} holds that the folders decide"


def series_attack_headline(played: SeriesAttacks) -> str:
    """Say in one line whether attacks on several releases leave everybody what is promised."""
    tried = [each for each in played.played if each.cases]
    what = counted(played.promised, played.counts)
    if not tried:
        return f"{OPEN} no attack was played"
    if played.ok:
        return f"{GOOD} {counted(len(tried), 'attack')} played; everybody keeps the {what} that each release promises"
    fallen = sum(bool(each.below) for each in tried)
    return f"{BAD} {fallen} of {counted(len(tried), 'attack')} leave somebody less than the {what} that are promised"


# How the promise of a model begins, and no other check of a release.
_OF_MODEL = re.compile(r"\S+ \(\w+=")


def promise_table(head: str, checks: Sequence[Check]) -> Iterator[str]:
    """Return the headline with the titles of the columns, and a line for each promise: asked, reached, on what."""
    lines = [
        ("", "asked", "reached", "on"),
        *((f"  {_MARKS[check.outcome]} {name}", *cells) for check in checks for name, *cells in [_row(check)]),
    ]
    columns = [column for column in zip(*lines, strict=True) if any(column[1:])]
    in_head = len(columns) > 1 and sum(max(map(len, column)) + 2 for column in columns[1:]) + len(head) <= WIDTH
    if in_head:
        columns[0] = (head, *columns[0][1:])
    widths = [max(map(len, column)) + 2 for column in columns]
    table = ["".join(map(str.ljust, line, widths)).rstrip() for line in zip(*columns, strict=True)]
    yield from (part for line in ([] if in_head else [head]) + table for part in narrow(line))


def _row(check: Check) -> tuple[str, str, str, str]:
    """Split a promise into its name, what was asked, what was reached, and on what."""
    name, _, asked = check.promise.partition(" (")
    reached = ", ".join(dict.fromkeys(str(each).partition(" on ")[0] for each in check.achieved))
    on = ", ".join(dict.fromkeys(each.attribute for each in check.achieved if each.attribute))
    if not check.achieved and check.outcome is not Outcome.HOLDS:
        reached = "not verifiable" if check.outcome is Outcome.UNDECIDABLE else str(check.outcome)
    return name, asked.removesuffix(")").replace(f", attribute={on}", ""), reached, on


def attack_summary(played: Attacks) -> list[str]:
    """Return a line for each attack, the worst first, under one that says how they went together."""
    tried = [result for result in played.results if result.unplayed is None]
    order = sorted(tried, key=lambda result: (BAD, OPEN, GOOD).index(_attack_mark(result)))
    longest = max((len(result.attack) for result in tried), default=0)
    titles = f"  {'':{longest}}  {'right':>7}{'guessing':>9}{'others':>8}{'surest':>8}"
    lines = [line for result in order for line in _attack_lines(result, longest)]
    needed = [
        line for result in order if result.needed for line in _wrapped(f"{result.attack}: undecided; {result.needed}")
    ]
    left = {result.attack: "" for result in played.results if result.unplayed is not None} | dict(played.unplayed)
    names = textwrap.wrap(
        f"{'Not now':<{LABEL}}{', '.join(left)}", WIDTH, subsequent_indent=" " * LABEL, break_on_hyphens=False
    )
    others = [] if played.control is not None else [f"{OPEN} Nobody shows what other people would: give --control."]
    what = "people" if played.repeated is None else "records"
    return [
        _attack_headline(played),
        f"{'Tried':<{LABEL}}{counted(len(tried), 'result')} on {played.people:,} {what}; right is beside guessing",
        *([titles] if lines else []),
        *lines,
        *needed,
        *others,
        *(names if left else []),
        f"{'Surest':<{LABEL}}the one in twenty of whom the attacker is surest",
        f"{'Next':<{LABEL}}the same with --details: who knows what, intervals, what helps",
    ]


def _attack_headline(played: Attacks) -> str:
    beyond, within = len(played.unlicensed), len(played.succeeding) - len(played.unlicensed)
    parts = [
        f"{counted(beyond, 'result')} beyond what is promised"
        if beyond
        else "no played attack goes beyond what is promised",
        *([f"{within} within it"] if within else []),
        *([f"{len(played.undecided)} undecided"] if played.undecided else []),
    ]
    return f"{BAD if beyond else OPEN if played.undecided else GOOD} {'; '.join(parts)}"


def _attack_mark(result: AttackResult) -> str:
    if result.succeeds:
        return OPEN if result.is_allowed else BAD
    return OPEN if result.is_undecided else GOOD


def _attack_lines(result: AttackResult, longest: int) -> Iterator[str]:
    """Say how often an attack is right, beside guessing and others, and among the surest; then about what."""
    looks = [] if result.curve is None else [look for look in result.curve.looks if look.share == 0.05]
    rates = (
        _share(result.success),
        percent(result.success.baseline, 3),
        "–" if result.control is None else _share(result.control),
        _share(looks[0].inside) if looks else "–",
    )
    cells = "".join(f"{rate:>{width}}" for rate, width in zip(rates, (9, 9, 8, 8), strict=True))
    yield f"{_attack_mark(result)} {result.attack:<{longest}}{cells}"
    bound = "" if result.allowed is None else f" (at most {percent(result.allowed, 3)} promised)"
    if result.succeeds and not result.success.people:
        bound += ": no such claim, but beyond guessing among the surest"
    yield from textwrap.wrap(f"{result.goal}{bound}", WIDTH, initial_indent="    ", subsequent_indent="    ")


def _share(rate: Rate) -> str:
    return percent(rate.share, 3) if rate.people else "nobody"


def risk_headline(report: RiskReport) -> str:
    """Say who is alone, and how surely the most exposed is found; people where something says who they are."""
    people = report.people
    one, total, alone, most = (
        ("record", report.keys.height, report.sample_uniques, report.prosecutor.highest)
        if people is None
        else ("person", people.people, people.alone, people.highest)
    )
    if alone:
        return f"{BAD} {alone:,} of {counted(total, one)} are alone: no other {one} has their values"
    mark = GOOD if most <= min(each.value for each in report.thresholds) else OPEN
    return f"{mark} no {one} is alone; the {one} most at risk is found with a chance of {percent(most, 3)}"


def check_headline(report: CheckReport, asked: int | None = None) -> str:
    """Say which k holds, of people where they are declared, and how many values every class has."""
    people = report.people if report.people is not None and report.people.declared else None
    one, total, alone = (
        ("record", report.keys.height, report.sample_uniques)
        if people is None
        else ("person", people.people, people.alone)
    )
    k = int(report.findings[0].value)
    short = asked is not None and k < asked
    if alone:
        return f"{BAD} k = {k:,}{f', not {asked:,}' if short else ''}: {alone:,} of {counted(total, one)} are alone"
    if short:
        return f"{BAD} k = {k:,}, not {asked:,}: the smallest class has {k:,}"
    fewest = {each.attribute: int(each.value) for each in report.findings if each.model == "distinct-l-diversity"}
    same = [f"{name!r}" for name, value in fewest.items() if value < 2]
    if same:
        return f"{BAD} k = {k:,}, but classes have one value of {', '.join(same)}"
    more = ", ".join(f"{value} values of {name!r}" for name, value in fewest.items())
    mark, found = (GOOD, "") if k > 1 else (BAD, ", by shares of records")
    return f"{mark} no {one} is alone: k = {k:,}{found}{f'; every class has {more} or more' if more else ''}"


def loss_headline(losses: Losses) -> str:
    """Say how much of the detail is kept, and where least."""
    worst = max(losses.attribute_ncp, key=lambda name: losses.attribute_ncp[name], default=None)
    least = "" if worst is None else f"; least in {worst!r}: {percent(1 - losses.attribute_ncp[worst], 3)}"
    return f"{percent(1 - losses.normalized_ncp, 3)} of the detail is kept{least}"


def _kept(report: Report | KindReport) -> str:
    """Say how many records and how much of the detail are kept, and of which columns least."""
    original = report.original
    share = "" if not report.suppressed or original is None else f" ({percent(report.published / original, 3)})"
    line = f"{'Kept':<{LABEL}}{report.published:,}{'' if original is None else f' of {original:,}'} records{share}"
    if isinstance(report, KindReport):
        changed = report.figures.get("changed_cells")
        told = [f"{name.replace('_', ' ')} {value:,.4g}" for name, value in report.figures.items()]
        return _filled(line, told if changed is None else [f"{percent(1 - changed, 3)} of the cells as they were"], "")
    line += f"; {percent(1 - report.losses.normalized_ncp, 3)} of detail"
    losses = sorted(report.losses.attribute_ncp.items(), key=lambda item: -item[1])
    columns = [f"{name} {percent(1 - loss, 3)}" for name, loss in losses]
    others = [f"{percent(1 - loss, 3)} {how}" for how, loss in report.other_losses.items()]
    return _filled(line, [*others, *columns], " {} more")


def _filled(line: str, parts: Sequence[str], rest: str) -> str:
    """Add as many parts to a line as fit, and how many do not."""
    for number, part in enumerate(parts):
        more, left = f"{', ' if number else '; '}{part}", f",{rest.format(len(parts) - number)}" if rest else ""
        if len(line + more) + (len(left) if number + 1 < len(parts) else 0) > WIDTH:
            return f"{line}{left if number else ''}"
        line += more
    return line


def _risk(report: Report) -> str:
    """Say the highest risk before and after, as a chance."""
    after = report.highest_risk
    if after is None:
        return f"{'Risk':<{LABEL}}not counted here: nobody but the steward knows who is who"
    before = report.smallest_before
    was = (
        "" if before is None else "somebody was alone before; " if before == 1 else f"at most 1 in {before:,} before; "
    )
    return _filled(
        f"{'Risk':<{LABEL}}{was}now at most 1 in {round(1 / after, 2):,g} to be found",
        [counted(report.classes, "class")],
        "",
    )


def _uncovered(verification: Verification) -> Iterator[str]:
    """Name the columns that are published as they are, and what else no promise covers."""
    columns = verification.roles.unprotected if verification.roles else ()
    if columns:
        yield f"no promise covers {named(columns)}: published as {'it is' if len(columns) == 1 else 'they are'}"
    yield from map(str, verification.uncovered)


def _wrapped(sentence: str) -> list[str]:
    return textwrap.wrap(sentence, WIDTH, initial_indent=f"{OPEN} ", subsequent_indent="  ", break_long_words=False)


def say_summary(report: Report | KindReport, steps: NextSteps) -> None:
    """Print :func:`summary`."""
    say_marked(summary(report, steps))


def say_report(head: str, text: str) -> None:
    """Print an answer and the report behind it: what is broken first, and no line wider than a terminal."""
    say_marked(fitted([head], text))


def say_verification(verification: Verification) -> None:
    """Print whether a release holds what it promises: the promises in columns, then what else was looked at."""
    promises = [check for check in verification.checks if _OF_MODEL.match(check.promise)]
    said = [check for check in promises if check.outcome is Outcome.HOLDS and not check.detail]
    others = replace(verification, checks=tuple(check for check in verification.checks if check not in said))
    say_marked(fitted([*promise_table(headline(verification), promises)], str(others)))


def fitted(table: Sequence[str], text: str) -> list[str]:
    """Return an answer, what is broken, and the lines behind it; what does not fit goes on below, further in."""
    lines = text.splitlines()
    broken = [line for line in lines if line.startswith(f"  {Outcome.BROKEN}:")]
    behind = [*broken, *table[1:], *(each for each in lines if each not in broken)]
    return [part for line in [table[0], *behind] for part in narrow(line)]


def say_marked(lines: Sequence[str]) -> None:
    """Print lines, their marks in colour where a person reads them: on a terminal, unless NO_COLOR asks for none."""
    plain = not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    for line in map(printable, map(without_credentials, lines)):
        print(_in_ascii(line) if _is_narrow() else line if plain else _coloured(line))


def _is_narrow() -> bool:
    """Tell whether the output cannot show a mark."""
    try:
        GOOD.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _in_ascii(line: str) -> str:
    return line.replace(GOOD, "+").replace(BAD, "x").replace(NONE, "-")


def _coloured(line: str) -> str:
    start = line.lstrip()[:1]
    colour = _COLOURS.get(start) if line.lstrip()[1:2] == " " else None
    return line.replace(start, f"{colour}{start}\x1b[0m", 1) if colour else line
