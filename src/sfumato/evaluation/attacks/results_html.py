"""Results of attacks as a notebook shows them: every one with its interval, guessing, and the control group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.evaluation.attacks.verdicts import IN_WORDS, Verdict
from sfumato.notebook import BAD, GOOD, OPEN, Cell, Markup, interval, lines, mark, paragraph, section, table
from sfumato.numbers import percent

if TYPE_CHECKING:
    from sfumato.evaluation.attacks.protocol import AttackResult
    from sfumato.evaluation.attacks.results import Attacks

KINDS: dict[Verdict, str] = {"succeeds": BAD, "no better": GOOD, "undecided": OPEN}
HEADS = ("attack", "people ...", "verdict", "success", "guessing", "0 to 100%")

STROKES = (
    "A bar is the 95% interval around the success; strokes are guessing, people who are not in the data, and what the "
    "promises allow."
)


def attack_parts(attacks: Attacks) -> tuple[Markup, ...]:
    """Return the results as one table, and what else there is to say, as parts of a card."""
    played = [_row(result) for result in attacks.results if result.unplayed is None]
    unplayed = {result.attack: result.unplayed for result in attacks.results if result.unplayed is not None}
    missed = [f"{name}: {reason}" for name, reason in {**attacks.unplayed, **unplayed}.items()]
    helps = {result.helps: result.attack for result in attacks.unlicensed if result.helps}
    return (
        paragraph(summary(attacks)),
        table(HEADS, played, (3, 4)),
        paragraph(STROKES if played else ""),
        section("What helps", lines(f"{attack}: {sentence}" for sentence, attack in helps.items())),
        section("Not played", lines(missed)),
    )


def summary(attacks: Attacks) -> str:
    """Count what succeeds, and what is undecided."""
    beyond = f"{len(attacks.unlicensed)} beyond what the release promises"
    return f"{len(attacks.succeeding)} beat guessing, {beyond}; {len(attacks.undecided)} undecided."


def _row(result: AttackResult) -> tuple[Cell, ...]:
    success, control = result.success, result.control
    low, high = success.interval
    strokes = {"guessing": success.baseline}
    strokes |= {} if control is None or not control.people else {"people who are not in the data": control.share}
    strokes |= {} if result.allowed is None else {"allowed by the promises": min(result.allowed, 1.0)}
    kind = OPEN if result.succeeds and result.is_allowed else KINDS[result.verdict]
    words = IN_WORDS[result.verdict] + (", as the promises allow" if result.succeeds and result.is_allowed else "")
    if not success.people:
        return result.attack, result.goal, mark(words, kind), "nobody", "", ""
    drawn = interval(low, high, success.share, strokes)
    return result.attack, result.goal, mark(words, kind), percent(success.share, 3), percent(success.baseline, 3), drawn
