"""Anonymous ratings that may be published, what they cost, and their folder."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import PolicyError, VerificationError
from sfumato.kinds.ratings.check import RATINGS, TABLE, Satisfaction, check_ratings, decided, rating_verification
from sfumato.kinds.ratings.policy import RatingPolicy
from sfumato.kinds.ratings.ratings import MOST_DECIMALS, Ratings, Scale, found_scale
from sfumato.models.of_kinds import RatingAnonymity
from sfumato.published.checks.generalized import Verification
from sfumato.release.formulas import Formulas, frames_without_formulas
from sfumato.release.own_kinds import ChangedRelease, Saver, Written, saver
from sfumato.release.reports import KindReport

if TYPE_CHECKING:
    from sfumato.kinds.ratings.make import RatingLoss
    from sfumato.kinds.ratings.policy import Method


@dataclass(frozen=True, eq=False, repr=False)
class RatingRelease(ChangedRelease):
    """Anonymous ratings; made by :func:`sfumato.anonymize_ratings`.

    Only `ratings` (or :meth:`to_frame`) is for publication.

    Attributes
    ----------
    ratings : Ratings
        What may be published: records in random order, issues by name.
    satisfaction : Satisfaction
        The decision on these ratings; it holds.
    loss : RatingLoss
        What it cost: totals, and counts of single issues for the steward alone.
    kept : tuple of str
        Issues that were to stay published.
    method : str
        ``"groups"`` or ``"plan"``.
    origin : numpy.ndarray
        int64 (records,): the number of each published record in the input, from 0. Steward only: it undoes everything.
    notes : tuple of str
        For the steward.
    policy : RatingPolicy or None
        What the release was made from.

    Raises
    ------
    VerificationError
        When the model does not hold: such a release cannot be made.
    """

    ratings: Ratings
    satisfaction: Satisfaction
    loss: RatingLoss
    kept: tuple[str, ...]
    method: Method
    origin: NDArray[np.int64]
    notes: tuple[str, ...] = ()
    policy: RatingPolicy | None = None

    kind = RATINGS
    made_by = "anonymize_ratings"
    policy_kind = RatingPolicy
    settings = ("suppression_limit",)
    limits = (
        "An attacker who knows ratings more exactly than within epsilon, or ratings of sensitive issues, may find "
        "fewer records.",
        "Which issues are published around a record is what everybody around it rated.",
    )

    def __post_init__(self) -> None:
        """Refuse what does not hold, or what was not decided on these ratings."""
        if self.satisfaction.question.ratings is not self.ratings or not self.satisfaction.holds:
            raise VerificationError("these ratings were not found to satisfy the model; nothing is published")

    @property
    def model(self) -> RatingAnonymity:
        """What holds."""
        return self.satisfaction.model

    @property
    def kept_loss(self) -> RatingLoss | None:
        """The loss on the issues that were to stay published; None where none were named."""
        return self.loss.of(self.kept) if self.kept else None

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The only table."""
        return {TABLE: self.to_frame()}

    def written(self, policy: RatingPolicy | None, formulas: Formulas | None) -> Written:
        """Return what is written into a folder; ratings are decided once more as they stand there."""
        answer = _decided_as_published(self)
        shown = answer.question.ratings if formulas is None else _without_formulas(answer.question.ratings, formulas)
        verification = rating_verification(shown, [decided(answer)])
        report = replace(self.reported(policy), verification=verification).for_release()
        # An issue without a published rating is not named: that it is there would tell that somebody had rated it.
        hidden = (shown.raters > 0) & shown.sensitive
        return Written(
            {TABLE: shown.to_frame()},
            {"records": shown.height, "scale": asdict(shown.scale)},
            report,
            np.array(shown.names, dtype=object)[hidden].tolist(),
            report.suppression_limit,
        )

    def contradictions(self, policy: RatingPolicy) -> Iterator[str]:
        """Say what a policy says otherwise than the release was made with."""
        said, made = policy.change.model_dump(), (self.policy or policy).change.model_dump()
        others = (name for name in made if made[name] != said[name])
        yield from (f"the policy says another {name} than the release was made with" for name in others)
        yield from super().contradictions(policy)
        if self.loss.left_out > policy.suppression_limit * self.loss.records + 1e-9:
            yield "more records were left out than the policy allows"

    def reported(self, policy: RatingPolicy | None) -> KindReport:
        """Return the report, in the steward's edition, as of a policy."""
        loss = self.loss
        limit = math.ceil(100 * loss.left_out / loss.records) / 100 if policy is None else policy.suppression_limit
        options = {} if policy is None else policy.change.model_dump(exclude_none=True, exclude_defaults=True)
        set_to = [f"{name}={value}" for name, value in options.items() if name != "method"]
        counts = {name: getattr(loss, name) for name in ("changed", "removed", "invented", "charge")}
        return self.report_of(
            policy,
            anonymizer=f"{self.method} ({', '.join(set_to)})" if set_to else self.method,
            original=loss.records,
            published=self.ratings.height,
            suppression_limit=limit,
            verification=self.verification,
            hides_original=True,  # how many were left out hangs on what each of them rated
            figures={
                "ratings": loss.ratings, "published_ratings": loss.published, **counts, "share_lost": loss.share,
            },
        )  # fmt: skip

    @property
    def verification(self) -> Verification:
        """The decision, as a promise."""
        return rating_verification(self.ratings, [decided(self.satisfaction)])

    def recount(self) -> Verification:
        """Decide anew on the ratings alone."""
        return rating_verification(self.ratings, [decided(check_ratings(self.ratings, self.model))])

    def to_frame(self) -> pl.DataFrame:
        """Return the ratings in long form: ``record`` (a random number), ``issue``, ``rating`` and perhaps ``time``."""
        return self.ratings.to_frame()

    def to_dict(self) -> dict[str, object]:
        """Return what may be told in a report as plain values, for JSON; nothing about single issues or records."""
        loss = self.kept_loss
        return {
            "method": self.method,
            "satisfaction": self.satisfaction.to_dict(),
            "loss": self.loss.to_dict(),
            "kept_issues": len(self.kept),
            "kept_loss": None if loss is None else loss.to_dict(),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        """Show the model and sizes."""
        return f"RatingRelease({self.model}, {self.ratings!r})"

    @property
    def beside_loss(self) -> tuple[str, ...]:
        """What was lost of the issues that were to stay."""
        loss = self.kept_loss
        return () if loss is None else (f"on the {len(self.kept)} issues that were to stay: {loss}",)

    def __str__(self) -> str:
        """Return the verdict, what was lost, and the notes."""
        return "\n".join(
            [str(self.satisfaction), *(f"  {line}" for line in (self.loss, *self.beside_loss, *self.notes))]
        )


save_ratings: Saver[RatingRelease, RatingPolicy] = saver(
    RatingRelease, "save_ratings", "anonymous ratings", "the ratings"
)


def _without_formulas(ratings: Ratings, formulas: Formulas) -> Ratings:
    """Return the ratings with issues and times as they are to be written."""
    tables = {"issues": pl.DataFrame({"issue": pl.Series(ratings.names, dtype=pl.String)})}
    # Issues without a published rating are not written.
    tables["issues"] = tables["issues"].filter(pl.Series(ratings.raters > 0))
    if ratings.times is not None:
        tables["times"] = pl.DataFrame({"time": ratings.times})
    escaped = frames_without_formulas(tables, formulas)
    if escaped is tables:
        return ratings
    names = np.array(ratings.names, dtype=object)
    names[ratings.raters > 0] = escaped["issues"]["issue"].to_list()
    times = escaped["times"]["time"] if "times" in escaped else None
    return replace(ratings, names=tuple(names.tolist()), times=times)


def _decided_as_published(release: RatingRelease) -> Satisfaction:
    """Decide with a scale found in what is published: one found in all ratings may tell of an unpublished one."""
    ratings = release.ratings
    if not ratings.scale_found:
        return release.satisfaction
    # Places on a scale, as floats, may be off by the last digits; no rating has more than six decimals.
    values = np.round(ratings.scale.values()[ratings.codes], MOST_DECIMALS)
    scale = found_scale(np.unique(values).tolist()) if len(values) else Scale(0, 1)
    if scale == ratings.scale:
        return release.satisfaction
    places = scale.codes(values)
    codes = places.astype(np.uint8) if scale.size <= 256 else places.astype(np.uint16)
    answer = check_ratings(replace(ratings, scale=scale, codes=codes), release.model)
    if not answer.holds:
        raise PolicyError(
            "scale: was found in the ratings. Without those that are not published the model does not hold on it; "
            "declare it when ratings are read, as scale=(1, 5)"
        )
    return answer
