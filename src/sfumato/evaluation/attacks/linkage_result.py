"""The result of a linking attack, as text for people and as plain values for machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.rates import Rate


@dataclass(frozen=True)
class LinkageResult:
    """The result of a linking attack.

    The rates are shares of the people whom the attack could harm: those of the register who are in the table, or,
    without the truth, those who fit some record.

    Attributes
    ----------
    attributes : tuple of str
        What the register and the published table have in common.
    sensitive : str
        The attribute that the attacker wants to learn.
    records : int
        Published records.
    people : int
        People in the register.
    known : int
        Their records in it; more than `people` where somebody has several.
    matched : int
        People who fit at least one published record.
    singled_out : int
        People whom exactly one fits; of people with several known records, those whom no more fit than are known. An
        attacker who does not know who is in the table would name them all.
    in_table : int or None
        People of the register who are in the table; None without the truth.
    false_matches : int or None
        Matched people who are not in the table.
    missed : int or None
        People in the table who fit no published record, because theirs is suppressed or differs.
    reidentified : Rate
        Exactly one record fits, and it is theirs; of people with several, all that fit are theirs. By guessing: one
        record picked from all.
    learnt : Rate
        All records that fit have the same sensitive value, and it is theirs. By guessing: everybody is said to have the
        most frequent one.
    likely : Rate
        A share of at least `threshold` of the records that fit have the same sensitive value, and it is theirs.
    threshold : float
    certainty : Rate
        Average certainty: the mean of 1 ÷ records that fit, the chance to pick the right one; of people with several,
        that of picking any of theirs.
    notes : tuple of str
        What makes the figures doubtful.
    """

    attributes: tuple[str, ...]
    sensitive: str
    records: int
    people: int
    known: int
    matched: int
    singled_out: int
    in_table: int | None
    false_matches: int | None
    missed: int | None
    reidentified: Rate
    learnt: Rate
    likely: Rate
    threshold: float
    certainty: Rate
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        plain = {name: value.to_dict() if isinstance(value, Rate) else value for name, value in vars(self).items()}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}

    def __str__(self) -> str:
        """Return the result as a few lines of text."""
        known = "" if self.in_table is None else f", {self.in_table} of them in the table"
        records = f" with {self.known} records" if self.known > self.people else ""
        false = f" ({self.false_matches} of them are not in the table)" if self.false_matches else ""
        missed = [f"{self.missed} of those in the table fit none"] if self.missed else []
        return "\n".join(
            [
                f"Linking attack by {', '.join(self.attributes)} on {self.records} published records",
                f"  {self.people} people in the register{records}{known}",
                *(f"  {line}" for line in [f"{self.matched} fit at least one record{false}", *missed]),
                f"  {self.singled_out} fit exactly one record"
                + (", or as many as are known of them" if records else ""),
                f"  re-identified with certainty: {self.reidentified}",
                f"  {self.sensitive} learnt with certainty: {self.learnt}",
                f"  {self.sensitive} at least {100 * self.threshold:g} % sure: {self.likely}",
                f"  average certainty: {self.certainty.share:.4f} (by guessing {self.certainty.baseline:.2g})",
                *(f"  note: {note}" for note in self.notes),
            ]
        )
