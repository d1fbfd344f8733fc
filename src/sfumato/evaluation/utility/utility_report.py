"""What a release keeps of its original, in one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sfumato.evaluation.utility.answers import QueryErrors
from sfumato.evaluation.utility.classifiers import Accuracy
from sfumato.evaluation.utility.correlations import Correlations
from sfumato.evaluation.utility.trade_off import TradeOff
from sfumato.numbers import counted, figure, percent

DIGITS = 3
_MOST_PAIRS = 5


@dataclass(frozen=True)
class Utility:
    """How useful a release is, measured against its original. It is for the data steward.

    Attributes
    ----------
    kind : str
        Kind of the release, as in ``release.json``.
    records, published : int
        Records of the original, and in the release (marginals: as many as the largest table counts).
    queries : mapping of str to QueryErrors
        Errors of counts, sums and averages, under the name of the aggregate.
    correlations : Correlations
        Single attributes, and pairs of them.
    classifiers : tuple of Accuracy
        Empty without held-out records.
    trade_offs : tuple of TradeOff
        One for each sensitive attribute.
    unmeasured : mapping of str to str
        What was not measured, and why.
    weights : str or None
        The column by which records were weighted.
    """

    kind: str
    records: int
    published: int
    queries: Mapping[str, QueryErrors]
    correlations: Correlations
    classifiers: tuple[Accuracy, ...] = ()
    trade_offs: tuple[TradeOff, ...] = ()
    unmeasured: Mapping[str, str] = field(default_factory=dict)
    weights: str | None = None

    def __post_init__(self) -> None:
        """Freeze the mappings."""
        object.__setattr__(self, "queries", MappingProxyType(dict(self.queries)))
        object.__setattr__(self, "unmeasured", MappingProxyType(dict(self.unmeasured)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON. No value of the table is among them."""
        return {
            "kind": self.kind,
            "records": self.records,
            "published": self.published,
            "weights": self.weights,
            "queries": {aggregate: errors.to_dict() for aggregate, errors in self.queries.items()},
            "correlations": self.correlations.to_dict(),
            "classifiers": [each.to_dict() for each in self.classifiers],
            "trade_offs": [each.to_dict() for each in self.trade_offs],
            "unmeasured": dict(self.unmeasured),
        }

    def __str__(self) -> str:
        """Write a page for people."""
        by = "" if self.weights is None else f", by weights {self.weights!r}"
        head = f"{self.kind.replace('-', ' ')} of {counted(self.published, 'record')}, made from {self.records:,}{by}"
        sections = [self._query_lines(), self._attribute_lines(), self._pair_lines(), self._classifier_lines()]
        lines = [line for section in [*sections, self._trade_off_lines()] for line in section]
        lines += [f"not measured: {what}, {reason}" for what, reason in self.unmeasured.items()]
        return "\n".join([head, *lines])

    def _query_lines(self) -> list[str]:
        return [
            f"{_asked(aggregate, errors)}: median error {percent(errors.median, DIGITS)}, half of them "
            f"{percent(errors.quartile_low, DIGITS)} to {percent(errors.quartile_high, DIGITS)}"
            for aggregate, errors in self.queries.items()
        ]

    def _attribute_lines(self) -> list[str]:
        rows = []
        for each in self.correlations.distributions:
            moved = "" if each.earth_mover is None else f", moved by {percent(each.earth_mover, DIGITS)} of the range"
            rows.append((each.attribute, f"{percent(each.total_variation, DIGITS)} of the distribution changed{moved}"))
        return ["distributions", *_aligned(rows)]

    def _pair_lines(self) -> list[str]:
        pairs = self.correlations.associations
        if not pairs:
            return []
        head = f"associations of pairs (φ²): {percent(self.correlations.kept, DIGITS)} kept; the strongest before:"
        strongest = sorted(pairs, key=lambda pair: -pair.before)[:_MOST_PAIRS]
        rows = [
            (" and ".join(pair.attributes), f"{figure(pair.before, DIGITS)} before, {figure(pair.after, DIGITS)} after")
            for pair in strongest
        ]
        return [head, *_aligned(rows)]

    def _classifier_lines(self) -> list[str]:
        if not self.classifiers:
            return []
        rows = [
            (
                f"{each.target}, {each.learner}",
                f"{percent(each.release, DIGITS)} right; trained on the original {percent(each.original, DIGITS)}, "
                f"guessing {percent(each.baseline, DIGITS)}",
            )
            for each in self.classifiers
        ]
        return ["classifiers, tested on people who are in neither", *_aligned(rows)]

    def _trade_off_lines(self) -> list[str]:
        lines = []
        for each in self.trade_offs:
            direct = each.direct
            gain = "" if direct.utility_gain is None else f", a researcher {_points(direct.utility_gain)}"
            kept = (
                "no population is large enough"
                if each.utility_loss is None
                else f"utility loss {figure(each.utility_loss, DIGITS)} over {counted(each.populations, 'population')}"
            )
            lines.append(
                f"{each.sensitive}: an attacker gains {_points(direct.privacy_loss)} over guessing{gain}; privacy loss "
                f"{figure(each.privacy_loss, DIGITS)} of at most 0.693, {kept}"
            )
        return lines


def _asked(aggregate: str, errors: QueryErrors) -> str:
    return counted(errors.queries, aggregate)


def _points(share: float) -> str:
    return f"{figure(100 * share, DIGITS)} percentage points"


def _aligned(rows: list[tuple[str, str]]) -> list[str]:
    width = max(len(name) for name, _ in rows)
    return [f"  {name:<{width}}  {text}" for name, text in rows]
