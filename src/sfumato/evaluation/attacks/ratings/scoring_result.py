"""The result of the scoring attack, before and after ratings were made anonymous."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.evaluation.attacks.ratings.known_ratings import RatingKnowledge
from sfumato.numbers import counted, figure
from sfumato.rates import Rate


@dataclass(frozen=True)
class ScoringRates:
    """Success of the attack on one set of records.

    Attributes
    ----------
    records : int
        Those that were scored.
    found : Rate
        People for whom one record stood out, and it was theirs. By guessing: one record picked from all.
    wrong : Rate
        People for whom one record stood out, and it was somebody else's.
    control : Rate
        People of the control group for whom one record stood out although theirs is not there.
    guessed : Rate
        Chance to pick the right record among those that score highest, whether they stand out or not.
    told : Rate or None
        Of the ratings that victims gave to sensitive issues, those that are named: by the record that alone scores
        highest, if it rated the issue, else the most frequent published rating of the issue, which is also the guess.
        None where no victim rated a sensitive issue, or where the attacker knows such ratings.
    told_of_control : Rate or None
        The same of the control group.
    """

    records: int
    found: Rate
    wrong: Rate
    control: Rate
    guessed: Rate
    told: Rate | None = None
    told_of_control: Rate | None = None

    def to_dict(self) -> dict[str, object]:
        """Return plain values, for JSON."""
        return {
            "records": self.records,
            "found": self.found.to_dict(),
            "wrong": self.wrong.to_dict(),
            "control": self.control.to_dict(),
            "guessed": self.guessed.to_dict(),
            "told": None if self.told is None else self.told.to_dict(),
            "told_of_control": None if self.told_of_control is None else self.told_of_control.to_dict(),
        }

    def lines(self) -> list[str]:
        """Return one line per rate."""
        return [
            f"found: {self.found}",
            f"taken for somebody else: {self.wrong.without_baseline}",
            f"named although their record is not there: {self.control.without_baseline}",
            f"right among the records that fit best: {self.guessed}",
            *self._of_values(),
        ]

    def _of_values(self) -> list[str]:
        if self.told is None:
            return ["sensitive ratings told: not played, because none is there that the attacker does not know"]
        of_others = "" if self.told_of_control is None else f"; of the control group {self.told_of_control}"
        return [f"sensitive ratings told: {self.told}{of_others}"]


@dataclass(frozen=True)
class RatingAttack:
    """The result of the scoring attack; made by :func:`sfumato.attack_ratings`. For the steward.

    Attributes
    ----------
    knowledge : Knowledge
        What the attacker knows.
    threshold : float
        Eccentricity from which on a record stands out.
    people : int
        Victims.
    before : ScoringRates
        On the original ratings.
    after : ScoringRates or None
        On a release of them.
    control : str
        Who the control group is.
    """

    knowledge: RatingKnowledge
    threshold: float
    people: int
    before: ScoringRates
    after: ScoringRates | None
    control: str

    def to_dict(self) -> dict[str, object]:
        """Return plain values, for JSON."""
        return {
            "knowledge": dict(vars(self.knowledge)),
            "threshold": self.threshold,
            "people": self.people,
            "control": self.control,
            "before": self.before.to_dict(),
            "after": None if self.after is None else self.after.to_dict(),
        }

    def __repr__(self) -> str:
        """Show who was found."""
        after = "" if self.after is None else f", then {self.after.found.share:.1%}"
        return f"RatingAttack({self.before.found.share:.1%} of {self.people} found{after})"

    def __str__(self) -> str:
        """Return the result as a few lines of text."""
        known = self.knowledge
        of = {"any": "any", "popular": "their most rated", "rare": "their least rated"}[known.issues]
        hidden = ", sensitive ones among them" if known.with_sensitive else ""
        lines = [
            f"Scoring attack on {self.people:,} people: {counted(known.known, 'rating')} of {of} issues"
            f"{hidden} known to within {figure(known.error)}, threshold {figure(self.threshold)}"
        ]
        for name, rates in (("Before", self.before), ("After", self.after)):
            if rates is not None:
                lines += [f"  {name}, among {counted(rates.records, 'record')}", *(f"    {at}" for at in rates.lines())]
        return "\n".join([*lines, f"  control group: {self.control}"])
