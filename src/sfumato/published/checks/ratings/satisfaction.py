"""The answer to a satisfaction problem: a verdict, the witnesses against it, and how far the parameters could go."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import PolicyError
from sfumato.models.k_epsilon_l_anonymity import RatingAnonymity
from sfumato.numbers import counted, figure, percent
from sfumato.published.checks.ratings.measures import Measures, ProximityQuery, Search, units

KS = (2, 3, 5, 10, 20, 50, 100)
"""The k of a curve by default."""

_MOST_EPSILONS = 24
_LISTED = 10


@dataclass(frozen=True)
class Witness:
    """A record around which the model does not hold.

    Attributes
    ----------
    record : int
        Its number, from 1: users in the order in which they first appear.
    around : int
        Records within ε, itself included.
    reasons : tuple of str
        ``"few"``: fewer than k; ``"flat"``: a sensitive issue deviates by less than l.
    spread : float or None
        Smallest standard deviation of a sensitive issue around it; None where l asks for none.
    issue : str or None
        The sensitive issue that has it.
    """

    record: int
    around: int
    reasons: tuple[str, ...]
    spread: float | None = None
    issue: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Satisfaction:
    """Whether ratings satisfy (k, ε, l)-anonymity; made by :func:`sfumato.check_ratings`.

    What the verdict does not need (`largest_k`, `smallest_epsilon`, `largest_l`, `curve`) is computed on request, and
    may take longer than the verdict did.

    Attributes
    ----------
    question : Question
        Ratings and model.
    search : callable
        How it is answered.
    """

    question: ProximityQuery
    search: Search

    def __post_init__(self) -> None:
        """Count what the verdict needs, so that errors and waiting happen here."""
        _ = self.measures

    @property
    def model(self) -> RatingAnonymity:
        """What was asked."""
        return self.question.model

    @cached_property
    def measures(self) -> Measures:
        """What was counted around each record."""
        return self.search(self.question)

    @property
    def holds(self) -> bool:
        """The verdict: whether the model holds around every record."""
        return self.satisfied == self.records

    @property
    def records(self) -> int:
        """Number of records."""
        return self.question.ratings.height

    @property
    def satisfied(self) -> int:
        """Records around which the model holds."""
        return int(np.count_nonzero(_holds(self.measures, self.model)))

    @property
    def too_few(self) -> int:
        """Records with fewer than k records around them."""
        return int(np.count_nonzero(~self.measures.is_large(self.model.k)))

    @property
    def too_flat(self) -> int:
        """Records around which a sensitive issue deviates by less than l."""
        return int(np.count_nonzero(~self.measures.is_spread(self.model.l)))

    @property
    def evaluations(self) -> int:
        """Dissimilarities of single issues that the search evaluated."""
        return self.measures.evaluations

    def witnesses(self, limit: int | None = _LISTED) -> list[Witness]:
        """Return the first records around which the model does not hold; all of them when `limit` is None."""
        return [self._witness(record) for record in self._failing()[:limit].tolist()]

    def failures(self) -> pl.DataFrame:
        """Return a row for every record around which the model does not hold.

        Columns: ``record`` (from 1), ``around``, ``few``, ``flat``, ``spread``, ``issue``; see :class:`Witness`.
        """
        failing, measures = self._failing(), self.measures
        told = measures.at(failing)
        names = pl.Series(self._sensitive_names(), dtype=pl.String)
        asked = told.flattest >= 0
        return pl.DataFrame(
            {
                "record": failing + 1,
                "around": told.sizes,
                "few": ~told.is_large(self.model.k),
                "flat": ~told.is_spread(self.model.l),
                "spread": pl.Series(np.where(asked, told.spreads, np.nan)).fill_nan(None),
                "issue": names.gather(pl.Series(np.where(asked, told.flattest, -1)).replace(-1, None)),
            }
        )

    @cached_property
    def largest_k(self) -> int | None:
        """The largest k that holds with the same ε and l; None where l itself does not hold."""
        whole = self._whole
        return int(whole.sizes.min()) if whole.is_spread(self.model.l).all() else None

    @cached_property
    def largest_l(self) -> float | None:
        """The largest l that holds with the same k and ε; None where k does not hold or no issue is sensitive."""
        whole = self._whole
        smallest = float(whole.spreads.min())
        return smallest if whole.is_large(self.model.k).all() and math.isfinite(smallest) else None

    @cached_property
    def smallest_epsilon(self) -> float | None:
        """The smallest ε, in whole steps of the scale, that holds with the same k and l; None where none does.

        A larger ε takes more records in and may lower the deviation of a group: what holds at this ε need not hold at a
        larger one. The largest that is tried is r, where all records are proximate. It counts again for up to as many ε
        as there are ratings on the scale; for l = 0, the logarithm of that.
        """
        candidates = [units(self.question.ratings.scale, steps) for steps in range(self.question.null + 1)]
        first = self._first_with_k(candidates) if self.model.group == "ball" else 0
        later = candidates[first:]
        return next((epsilon for epsilon in later if self._holds_at(epsilon, self.model.l)), None)

    def curve(self, ks: Sequence[int] = KS, epsilons: Sequence[float] | None = None) -> pl.DataFrame:
        """Count satisfied records over k and ε, with the same l.

        Parameters
        ----------
        ks
            Whole numbers ≥ 1.
        epsilons
            Numbers ≥ 0; None takes every step of the scale (a few of them on a fine scale), and r.

        Returns
        -------
        polars.DataFrame
            Columns ``epsilon``, ``k``, ``l``, ``satisfied``, ``share``; a row for each pair.

        Raises
        ------
        PolicyError
            When a k or an ε is invalid.
        """
        if not len(ks):
            raise PolicyError("ks: name at least one")
        rows = []
        for epsilon in self._epsilons() if epsilons is None else epsilons:
            models = [replace(self.model, k=k, epsilon=epsilon) for k in ks]
            measures = self._asked(replace(models[0], k=max(model.k for model in models)))
            for model in models:
                satisfied = int(np.count_nonzero(_holds(measures, model)))
                rows.append((float(epsilon), model.k, float(model.l), satisfied, satisfied / self.records))
        return pl.DataFrame(rows, schema=["epsilon", "k", "l", "satisfied", "share"], orient="row")

    def notes(self) -> list[str]:
        """Return what a reader should know about the answer."""
        found = []
        if self.question.covers_all:
            found.append(
                f"epsilon reaches r = {figure(self.question.ratings.scale.span)}, the dissimilarity of a missing and a "
                "given rating: every record is proximate to every other"
            )
        if self.question.ratings.times is not None:
            found.append("times of ratings were read, but no model bounds what an attacker learns from them")
        return found

    def to_dict(self) -> dict[str, object]:
        """Return the verdict as plain values, for JSON."""
        return {
            "model": dict(self.model.parameters()),
            "holds": self.holds,
            "records": self.records,
            "satisfied": self.satisfied,
            "too_few": self.too_few,
            "too_flat": self.too_flat,
            "witnesses": [vars(witness) for witness in self.witnesses()],
            "notes": self.notes(),
        }

    def __repr__(self) -> str:
        """Show the verdict and counts."""
        return f"Satisfaction({self.model}: {'holds' if self.holds else 'does not hold'}, {self._share()})"

    def __str__(self) -> str:
        """Return the verdict, the reasons against it, and the first witnesses."""
        lines = [f"{self.model} {'holds' if self.holds else 'does not hold'}: {self._share()}"]
        lines += [f"  {line}" for line in self._reasons()]
        lines += [f"  {self._told(witness)}" for witness in self.witnesses()]
        left = self.records - self.satisfied - _LISTED
        lines += [f"  and {counted(left, 'more record')}"] if left > 0 else []
        return "\n".join([*lines, *(f"  {note}" for note in self.notes())])

    def _share(self) -> str:
        share = percent(self.satisfied / self.records, 3)
        return f"{self.satisfied:,} of {counted(self.records, 'record')} satisfied ({share})"

    def _reasons(self) -> list[str]:
        model, found = self.model, []
        if self.too_few:
            found.append(f"{counted(self.too_few, 'record')} with fewer than {model.k} within {figure(model.epsilon)}")
        if self.too_flat:
            least = f"deviates by less than {figure(model.l)}"
            found.append(f"{counted(self.too_flat, 'record')} around which a sensitive issue {least}")
        return found

    def _told(self, witness: Witness) -> str:
        flat = "flat" in witness.reasons
        about = f", {witness.issue!r} deviates by {figure(witness.spread or 0.0)}" if flat else ""
        return f"record {witness.record}: {counted(witness.around, 'record')} around it{about}"

    def _failing(self) -> NDArray[np.intp]:
        return np.flatnonzero(~_holds(self.measures, self.model))

    def _witness(self, record: int) -> Witness:
        measures = self.measures.at(np.array([record]))
        few, flat = not measures.is_large(self.model.k)[0], not measures.is_spread(self.model.l)[0]
        reasons = (*(["few"] if few else []), *(["flat"] if flat else []))
        around, issue = int(measures.sizes[0]), int(measures.flattest[0])
        if issue < 0:
            return Witness(record + 1, around, reasons)
        return Witness(record + 1, around, reasons, float(measures.spreads[0]), self._sensitive_names()[issue])

    def _sensitive_names(self) -> list[str]:
        ratings = self.question.ratings
        return [ratings.names[place] for place in np.flatnonzero(ratings.sensitive)]

    @cached_property
    def _whole(self) -> Measures:
        return self.search(replace(self.question, whole=True))

    def _asked(self, model: RatingAnonymity) -> Measures:
        return self.search(replace(self.question, model=model))

    def _holds_at(self, epsilon: float, l: float) -> bool:  # noqa: E741
        model = replace(self.model, epsilon=epsilon, l=l)
        return bool(_holds(self._asked(model), model).all())

    def _first_with_k(self, candidates: Sequence[float]) -> int:
        """Return the place of the first ε with k records around every record; larger ones have no fewer."""
        low, high = 0, len(candidates)
        while low < high:
            middle = (low + high) // 2
            if self._holds_at(candidates[middle], 0):
                high = middle
            else:
                low = middle + 1
        return low

    def _epsilons(self) -> list[float]:
        scale = self.question.ratings.scale
        steps = np.unique(np.linspace(0, scale.size, min(scale.size + 1, _MOST_EPSILONS)).astype(np.int64))
        return [units(scale, int(step)) for step in steps]


def _holds(measures: Measures, model: RatingAnonymity) -> NDArray[np.bool_]:
    """Tell around which records the model holds; bool (n,)."""
    return measures.is_large(model.k) & measures.is_spread(model.l)
