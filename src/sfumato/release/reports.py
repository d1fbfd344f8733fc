"""The reports of releases: of generalized tables, and of other kinds.

The report of a release that is no generalized table: what it reached, and what it lost or kept.

What a release cost and what it reached: for people as text, for machines as plain values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from sfumato.models.protocol import Outcome
from sfumato.numbers import figure, percent
from sfumato.published import PublishedTable
from sfumato.published.protocol import named

if TYPE_CHECKING:
    from sfumato.findings.review import Finding
    from sfumato.metrics import Losses
    from sfumato.published.checks.generalized import Verification
    from sfumato.published.checks.people import PeopleFound
    from sfumato.published.checks.pseudonyms import FingerprintsFound, NumbersOfRecordsFound


@dataclass(frozen=True)
class Resistance:
    """What is known of an attacker beyond the models; for the steward, as it was found on the original.

    * `against`: who is withstood: ``"algorithm"``, ``"labels"`` or ``"others"``.
    * `grounds`: ``"recounted"`` by whoever verifies the release; ``"attested"``, which follows from how it was made; or
      ``"played"``, which says of the attacker that was played alone.
    * `sentence`: what holds, or how often the attack was right, with its interval and the bar.
    * `attack`, `knows`: what was played, and what its attacker knew; empty for what holds.
    """

    against: str
    grounds: Literal["recounted", "attested", "played"]
    sentence: str
    attack: str = ""
    knows: str = ""

    def __str__(self) -> str:
        """Return one line."""
        if self.grounds == "played":
            return f"{self.against}: {self.attack}, which knows {self.knows}: {self.sentence}"
        how = "verify recounts it" if self.grounds == "recounted" else "attested: the release cannot show it"
        return f"{self.against}: {self.sentence} ({how})"


PLAYED = "Withstood when played on a trial: four fifths of the people by the same policy, the others held out"
HOLDS = "Holds beyond the models"


def resistance_lines(withstood: Sequence[Resistance]) -> list[str]:
    """Say what holds, and what was played and withstood, never in one list."""
    return [
        *section(HOLDS, (str(each) for each in withstood if each.grounds != "played")),
        *section(PLAYED, (str(each) for each in withstood if each.grounds == "played")),
    ]


# Parts that the reports of all kinds of releases share, as lines of text.


def occasion_lines(purpose: str | None, recipient: str | None) -> list[str]:
    """Say what the release is for and who gets it, on one line each: free text must not pass for report lines."""
    return [
        f"{name:<13}{' '.join(text.split())}"
        for name, text in (("Purpose", purpose), ("Recipient", recipient))
        if text is not None
    ]


def record_line(original: int | None, published: int, suppressed: int, limit: float) -> str:
    """Count the records; where it is not told how many there were, those that are published."""
    if original is None:
        return f"Records      {published:,} published, at most {percent(limit)} suppressed"
    share = percent(suppressed / original, 3)
    return (
        f"Records      {original:,} original, {published:,} published, "
        f"{suppressed:,} suppressed ({share} of at most {percent(limit)})"
    )


def promise_lines(verification: Verification) -> list[str]:
    """Say what became of every promise, and which columns none speaks of."""
    unprotected = verification.roles.unprotected if verification.roles else ()
    passing = [f"  unprotected, published as they are: {named(unprotected)}"] if unprotected else []
    passing += [f"  ! {each}" for each in verification.uncovered]
    return (
        passing
        + [
            f"  {check.promise}: {check.outcome}"
            + (f", achieved {', '.join(map(str, check.achieved))}" if check.achieved else "")
            + (f"; {check.detail}" if check.detail and check.outcome is Outcome.HOLDS else "")
            for check in verification.checks
        ]
        + [f"  {wishes}" for wishes in verification.wishes]
    )


def section(title: str, lines: Iterable[str]) -> Sequence[str]:
    """Return a title with its lines indented below it, or nothing where there are none."""
    listed = [f"  {line}" for line in lines]
    return [title, *listed] if listed else []


DIGITS = 6
EXACT = 1e-11
"""Loss above the lower bound that rounding may come to."""


@dataclass(frozen=True)
class KindReport:
    """Figures of one release of another kind.

    * `anonymizer`: name and options.
    * `kind`: as ``release.json`` says it.
    * `original`: records before; None where it is not told.
    * `published`: records after.
    * `suppression_limit`: allowed fraction of the original records.
    * `verification`: every promise, recounted from the published tables.
    * `limits`: what this kind of release does not hide.
    * `figures`: what was lost or kept. They may depend on what the release hides, and stay out of its folder.
    * `notes`: what the steward should know of how this release came about; not for the folder either.
    * `sampled`: whether records were drawn: those that were not are no suppressed ones.
    * `hides_original`: whether a recipient is not told how many records there were.
    * `purpose`, `recipient`: what the release is for and who gets it, as the policy says.
    * `findings`: what the review found in the columns that are published; for the steward.
    * `withstood`: what is known of attackers beyond the models, where that was asked for; for the steward.
    """

    anonymizer: str
    kind: str
    original: int | None
    published: int
    suppression_limit: float
    verification: Verification
    limits: tuple[str, ...]
    figures: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    sampled: bool = False
    hides_original: bool = False
    purpose: str | None = None
    recipient: str | None = None
    findings: tuple[Finding, ...] = ()
    withstood: tuple[Resistance, ...] = ()

    @property
    def suppressed(self) -> int:
        """Records that were left out."""
        return 0 if self.sampled or self.original is None else max(self.original - self.published, 0)

    def for_release(self) -> KindReport:
        """Return the edition that goes into a release: without figures and notes.

        Either may have been counted on the original, and an attacker who knows all records but one could try every
        value for that one and see which gives the same figures. What can be worked out from the published tables a
        reader works out.
        """
        original = None if self.hides_original else self.original
        verification = self.verification.without_population()
        return dataclasses.replace(
            self, original=original, verification=verification, figures={}, notes=(), findings=(), withstood=()
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for ``report.json``."""
        occasion = {"purpose": self.purpose, "recipient": self.recipient}
        return {
            **{name: text for name, text in occasion.items() if text is not None},
            "kind": self.kind,
            "anonymizer": self.anonymizer,
            "records": self._records(),
            **({"figures": {name: _plain(value) for name, value in self.figures.items()}} if self.figures else {}),
            "verification": self.verification.to_dict(),
            "limits": list(self.limits),
            "notes": list(self.notes),
            **({"findings": [each.to_dict() for each in self.findings]} if self.findings else {}),
            **({"withstood": [dataclasses.asdict(each) for each in self.withstood]} if self.withstood else {}),
        }

    def _records(self) -> dict[str, float]:
        counts = {
            "original": self.original,
            "published": self.published,
            "suppressed": None if self.original is None else self.suppressed,
            "suppression_limit": self.suppression_limit,
        }
        return {name: count for name, count in counts.items() if count is not None}

    def _repr_html_(self) -> str:
        """Show notebooks the report."""
        from sfumato.notebook import card
        from sfumato.release.report_html import counts, report_parts

        return card("Report", counts(self), *report_parts(self))

    def __str__(self) -> str:
        """Return the report as a short page of text."""
        figures = [f"{name.replace('_', ' ')}: {figure(value)}" for name, value in self.figures.items()]
        return "\n".join(
            [
                *occasion_lines(self.purpose, self.recipient),
                record_line(self.original, self.published, self.suppressed, self.suppression_limit),
                f"Anonymizer   {self.anonymizer}",
                f"Release      {self.kind.replace('-', ' ')}",
                *section(
                    "Promises     recounted from the published tables",
                    (line.strip() for line in promise_lines(self.verification)),
                ),
                *section("Figures", figures),
                *resistance_lines(self.withstood),
                *section("Notes", self.notes),
                *section("Limits", self.limits),
            ]
        )


def _plain(value: float) -> float:
    """Round as the text does; what is no finite number is none in JSON either."""
    return value if isinstance(value, int) else float(f"{value:.{DIGITS}g}")


if TYPE_CHECKING:
    pass


WITHHELD = "Other losses are left out, as they depend on values that the classes hide: the data steward has them."

FINGERPRINTS = "Fingerprints (somebody knows the class of a person and some of the person's sensitive values)"
OF_CLASSES = ("records", "classes", "suppressed", "k", "discernibility", "average_class_size")
"""What of the losses can be counted on the published table."""


@dataclass(frozen=True)
class Report:
    """Figures of one generalized release.

    * `anonymizer`: name and options.
    * `original`, `published`, `suppressed`: records before and after, and records that were left out or published as
      ``*``.
    * `suppression_limit`: allowed fraction of the original records.
    * `losses`: suppressed records are charged in every one.
    * `verification`: every promise, recounted from the published table.
    * `notes`: what the steward should know of how this release came about. They may count what the release hides, and
      stay out of its folder.
    * `purpose`, `recipient`: what the release is for and who gets it, as the policy says.
    * `findings`: what the review found in the columns that are published; for the steward.
    * `withstood`: what is known of attackers beyond the models, where that was asked for; for the steward.
    * `other_losses`: the information loss counted otherwise, by how; for the steward.
    * `counts`: what the promises and the risks count: ``"records"``, each of them a person of its own, or ``"people"``.
    * `publishes_means`: whether some attribute is published as class means, which do not show how far a class reaches.
    * `pseudonyms`: where it stands who is who inside of a class, if people are counted: in an ``"audit"`` file, or
      ``"published"``.
    * `fingerprints`: with published pseudonyms, what somebody finds who knows some sensitive values of a person; for
      the steward.
    * `peoples_ncp`: normalized NCP over people, each the mean of its records; None where records are counted.
    * `limits`: what no promise of this release keeps.
    * `lower_bound`: normalized NCP that no release of this table with this k can stay below, where it was asked for.
    * `smallest_before`: how many original records share the values of the record that fewest others share; for the
      steward. None where people are counted, or nobody counted it.
    * `published_only`: whether only losses are told that can be counted on the published table.
    * `who_is_who`: where the steward keeps which records are of one person, where people may have several.
    """

    anonymizer: str
    original: int
    published: int
    suppressed: int
    suppression_limit: float
    classes: int
    smallest_class: int
    largest_class: int
    losses: Losses
    verification: Verification
    notes: tuple[str, ...] = field(default=())
    purpose: str | None = None
    recipient: str | None = None
    publishes_means: bool = False
    counts: Literal["records", "people"] = "records"
    pseudonyms: Literal["audit", "published"] = "audit"
    fingerprints: tuple[FingerprintsFound | NumbersOfRecordsFound | str, ...] = ()
    peoples_ncp: float | None = None
    limits: tuple[str, ...] = PublishedTable.limits
    lower_bound: float | None = None
    smallest_before: int | None = None
    published_only: bool = False
    who_is_who: Literal["audit file", "ledger"] = "audit file"
    findings: tuple[Finding, ...] = ()
    withstood: tuple[Resistance, ...] = ()
    other_losses: Mapping[str, float] = field(default_factory=dict)

    def for_release(self) -> Report:
        """Return the edition that goes into a release: a function of the published table and the policy.

        It leaves out the lower bound, and all losses but those of the classes' sizes. Whoever knows all records but one
        could try every value for that one, and see which gives the same figures: the others depend on where values lie
        inside the published ones, or on the range or the number of all values. What was counted of people is left out
        as well, where they are not in the table.
        """
        hidden = self.counts == "people" and self.pseudonyms == "audit"
        verification = self.verification.without_people() if hidden else self.verification
        return dataclasses.replace(
            self,
            verification=verification.without_population(),
            notes=(WITHHELD,),
            fingerprints=(),
            peoples_ncp=None,
            lower_bound=None,
            smallest_before=None,
            published_only=True,
            findings=(),
            withstood=(),
            other_losses={},
        )

    @property
    def people(self) -> PeopleFound | None:
        """The people of the published table, where they were counted and may be shown."""
        return self.verification.people

    @property
    def highest_risk(self) -> float | None:
        """Prosecutor risk: highest chance that a record which fits a person of the table is that person's.

        None where the promises are about people, and this edition does not count them.
        """
        if self.counts == "people":
            return None if self.people is None else self.people.largest_share
        return 1.0 / self.smallest_class

    @property
    def average_risk(self) -> float | None:
        """Mean of that chance over all published records, or over all people: classes ÷ records, or ÷ people."""
        if self.counts == "people":
            return None if self.people is None else self.classes / self.people.people
        return self.classes / self.published

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for ``report.json``."""
        occasion = {"purpose": self.purpose, "recipient": self.recipient}
        return {
            **{name: text for name, text in occasion.items() if text is not None},
            "anonymizer": self.anonymizer,
            "records": {
                "original": self.original,
                "published": self.published,
                "suppressed": self.suppressed,
                "suppression_limit": self.suppression_limit,
            },
            "classes": {
                "count": self.classes,
                "smallest": self.smallest_class,
                "largest": self.largest_class,
                "average": round(self.published / self.classes, 6),
            },
            **({} if self.people is None else {"people": self.people.to_dict()}),
            **self._risks(),
            **self._fingerprints(),
            "losses": self._told_losses(),
            **({} if self.lower_bound is None else {"lower_bound": {"normalized_ncp": round(self.lower_bound, 6)}}),
            "verification": self.verification.to_dict(),
            "notes": list(self.notes),
            **({"findings": [each.to_dict() for each in self.findings]} if self.findings else {}),
            **({"withstood": [dataclasses.asdict(each) for each in self.withstood]} if self.withstood else {}),
        }

    def _told_losses(self) -> dict[str, Any]:
        figures = loss_figures(self.losses, self.digits)
        if self.published_only:
            return {name: figures[name] for name in OF_CLASSES}
        if self.peoples_ncp is not None:
            figures["peoples_ncp"] = _rounded(self.peoples_ncp, self.digits)
        figures |= {f"normalized_ncp {how}": _rounded(loss, self.digits) for how, loss in self.other_losses.items()}
        return figures

    @property
    def digits(self) -> int:
        """Significant digits of the losses that are written down.

        With suppressed records, exact losses and a domain taken from the data would let a reader work out how far the
        suppressed values reach, and with class means how far each class does. So a release has two digits of what it
        tells at all; the steward, who has the table, gets six.
        """
        return 2 if self.published_only and (self.suppressed or self.publishes_means) else 6

    def _repr_html_(self) -> str:
        """Show notebooks the report."""
        from sfumato.notebook import card
        from sfumato.release.report_html import counts, report_parts

        return card("Report", counts(self), *report_parts(self))

    def __str__(self) -> str:
        """Return the report as a short page of text."""
        return "\n".join(
            [
                *occasion_lines(self.purpose, self.recipient),
                record_line(self.original, self.published, self.suppressed, self.suppression_limit),
                f"Anonymizer   {self.anonymizer}",
                f"Classes      {self.classes:,}; smallest {self.smallest_class:,}, "
                f"average {self.published / self.classes:,.1f}, largest {self.largest_class:,}",
                *([f"People       {self.people}"] if self.people else []),
                self._risk_line(),
                self._source_of_promises(),
                *promise_lines(self.verification),
                *section(FINGERPRINTS, map(str, self.fingerprints)),
                "Losses",
                *("  " + line for line in self.losses.lines(self.digits, of_classes=self.published_only)),
                *self._of_people(),
                *(f"  {percent(loss, 3)} {how}" for how, loss in self.other_losses.items()),
                *self._distance_from_best(),
                *resistance_lines(self.withstood),
                *section("Notes", self.notes),
                *section("Limits", self.limits),
            ]
        )

    def _risks(self) -> dict[str, Any]:
        if self.highest_risk is None or self.average_risk is None:
            return {}
        risks = {"highest_prosecutor": self.highest_risk, "average_prosecutor": self.average_risk}
        return {"risk": {"of": self.counts, **{name: round(risk, 6) for name, risk in risks.items()}}}

    def _fingerprints(self) -> dict[str, Any]:
        if not self.fingerprints:
            return {}
        from sfumato.published.checks.pseudonyms import NumbersOfRecordsFound

        by_values = [each for each in self.fingerprints if not isinstance(each, NumbersOfRecordsFound)]
        found = [each if isinstance(each, str) else each.to_dict() for each in by_values]
        by_numbers = [each.to_dict() for each in self.fingerprints if isinstance(each, NumbersOfRecordsFound)]
        content = {"fingerprints": found} if found else {}
        return content | ({"numbers_of_records": by_numbers[0]} if by_numbers else {})

    def _risk_line(self) -> str:
        if self.highest_risk is None or self.average_risk is None:
            return "Risk         not counted here: people may have several records, and who is who is not published"
        return (
            f"Risk         of {self.counts}: highest {percent(self.highest_risk, 3)}, average "
            f"{percent(self.average_risk, 3)} (to re-identify somebody who is known to be in the table)"
        )

    def _of_people(self) -> list[str]:
        if self.peoples_ncp is None:
            return []
        lost = percent(self.peoples_ncp, self.digits)
        return [
            f"  information loss of people (NCP): {lost}, the mean of each person's records; all others are of records"
        ]

    def _source_of_promises(self) -> str:
        if self.counts == "records":
            return "Promises     recounted from the published table"
        if self.pseudonyms == "published":
            return "Promises     about people; recounted from the published table"
        if self.people is None:
            return f"Promises     about people; only who holds the {self.who_is_who} can recount them"
        return f"Promises     about people; recounted from the published table and the {self.who_is_who}"

    def _distance_from_best(self) -> list[str]:
        if self.lower_bound is None:
            return []
        none = f"no release of this table with this k can lose less than {percent(self.lower_bound)}"
        if self.losses.normalized_ncp - self.lower_bound <= EXACT:
            return [f"  optimal: {none} (NCP)"]
        if not self.lower_bound:
            return [f"  {none} (NCP)"]
        return [f"  {self.losses.normalized_ncp / self.lower_bound:.2f} times the lower bound: {none}"]


def loss_figures(losses: Losses, digits: int) -> dict[str, Any]:
    """Return every loss as plain values with that many significant digits; counts stay whole."""
    figures = {**dataclasses.asdict(losses), "minimal_distortion": losses.minimal_distortion}
    rounded = {name: _rounded(value, digits) for name, value in figures.items() if value is not None}
    # From the rounded loss: utility would otherwise show more digits of a loss near 1.
    return {**rounded, "utility": round(1.0 - rounded["normalized_ncp"], 12)}


def _rounded(value: Any, digits: int) -> Any:
    if isinstance(value, Mapping):
        return {name: _rounded(part, digits) for name, part in value.items()}
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value
