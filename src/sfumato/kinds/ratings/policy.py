"""The policy of anonymous ratings: everything that they are made from except the data, as one value.

It neither reads nor changes ratings; :func:`sfumato.anonymize_ratings` takes it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal

import tomli_w
from pydantic import Field, field_validator

from sfumato.kinds.ratings.ratings import Ratings, SensitiveIssues, scale_of
from sfumato.kinds.ratings.reading import Form
from sfumato.models.of_kinds import RatingAnonymity
from sfumato.policy.entries import PolicyPart, as_json, described_as_mapping, describing, entry_for, problems_reported
from sfumato.policy.parts import Layout, Output
from sfumato.policy.whole_policy import LaidOutPolicy

Method = Literal["groups", "plan"]
"""How ratings are made anonymous: groups that keep most, or the baseline of the literature."""

ModelPart: Any = entry_for(RatingAnonymity)


class RatingColumns(PolicyPart):
    """The layout of ratings in the source; see :func:`sfumato.read_ratings`."""

    form: Form = "long"
    user: str | tuple[str, ...] | None = None
    issue: str | None = None
    rating: str | None = None
    time: str | None = None
    issues: tuple[str, ...] | None = None
    scale: tuple[float, float] | tuple[float, float, float] | None = None
    key_form: str | None = None

    @field_validator("scale")
    @classmethod
    def _is_a_scale(cls, scale: Any) -> Any:
        with problems_reported(["scale"]):
            scale_of(scale)
        return scale


class SensitivePart(PolicyPart):
    """Which issues are sensitive; see :class:`sfumato.SensitiveIssues`."""

    names: tuple[str, ...] = ()
    file: str | None = None
    share: Annotated[float, Field(gt=0, lt=1)] | None = None
    drawn: Literal["random", "most-rated"] = "random"

    def build(self, seed: int | None = None) -> SensitiveIssues:
        """Return the choice; a policy holds no seed."""
        return SensitiveIssues(self.names, self.file, self.share, self.drawn, seed)


class Change(PolicyPart):
    """What may be done to ratings; see :func:`sfumato.anonymize_ratings`."""

    method: Method = "groups"
    invent: bool = False
    keep: Annotated[int, Field(ge=1)] | None = None
    times: bool = False


class RatingPolicy(LaidOutPolicy):
    """What anonymous ratings are made from: how to read them, what is sensitive, what is promised, what may be done.

    Make it with :meth:`from_file` or :meth:`from_mapping`; equal by value.

    Attributes
    ----------
    purpose, recipient : str or None
        Free text for the report.
    suppression_limit : float
        Share of the records that may be left out, from 0 up to, not including, 1.
    threads : int or None
        None: all cores. It never changes the result.
    source : Layout
        How a text file is read.
    ratings : RatingColumns
    sensitive : SensitivePart
    model : Entry
        A :class:`sfumato.RatingAnonymity`.
    change : Change
    output : Output
    """

    made_by: ClassVar[str] = "RatingPolicy.from_file"
    blanks: ClassVar[str] = "users, issues and ratings"

    suppression_limit: Annotated[float, Field(ge=0, lt=1)] = 0.0
    threads: Annotated[int, Field(ge=1)] | None = None
    source: Layout = Layout()
    ratings: RatingColumns = RatingColumns()
    sensitive: SensitivePart = SensitivePart()
    model: ModelPart
    change: Change = Change()
    output: Output = Output()

    @classmethod
    def of(
        cls,
        model: RatingAnonymity,
        *,
        method: Method,
        invent: bool,
        keep: int | None,
        suppression_limit: float,
        times: bool,
    ) -> RatingPolicy:
        """Make a policy from the arguments of a call; it does not say how the ratings were read."""
        change = {"method": method, "invent": invent, "keep": keep, "times": times}
        with describing("model"):
            mapping = {
                "model": described_as_mapping(model),
                "change": {name: value for name, value in change.items() if value is not None},
                "suppression-limit": suppression_limit,
            }
            return cls.model_validate_json(as_json(mapping))

    def published(self) -> str:
        """Return the edition that goes into a release, as the text of a policy file.

        It says what was promised and how it was reached, and nothing about the steward's files, columns or machine. The
        sensitive issues are in ``release.json``, if somebody has a published rating of them.
        """
        mapping = self.model_copy(update={"threads": None}).to_mapping()
        for part in ("source", "sensitive", "ratings"):
            del mapping[part]
        if self.ratings.scale is not None:
            mapping["ratings"] = {"scale": list(self.ratings.scale)}
        return tomli_w.dumps(mapping)

    def reading(self, seed: int | None = None) -> dict[str, Any]:
        """Return how ratings are read, for :func:`sfumato.read_ratings`; `seed` draws the same sensitive issues."""
        return {**self.ratings.model_dump(), "sensitive": self.sensitive.build(seed), "reading": self._layout()}

    def read(self, source: object, *, seed: int | None = None) -> Ratings:
        """Read ratings: the old way to write ``sfumato.read_ratings(source, **policy.reading(seed))``."""
        from sfumato.kinds.ratings.reading import read_ratings

        return read_ratings(source, **self.reading(seed))

    def anonymize(self, ratings: Ratings, **run: Any) -> Any:
        """Make ratings anonymous: the old way to write ``sfumato.anonymize_ratings(ratings, policy)``."""
        # By name, because a policy is in a lower layer than what is made from it.
        return import_module("sfumato.kinds.ratings.make").anonymize_ratings(ratings, self, **run)
