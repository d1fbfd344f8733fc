"""Membership inference: decide who was in the data, by how much better a release fits them than chance would.

The score, `lift`, is the number of published records that fit a person's values, each divided by how often a record
would fit them if the attributes had nothing to do with each other (with the frequencies of the release itself). Without
that division, people with frequent values would seem to be members. Noise and swapping leave nobody's values unchanged,
so no record fits; but the nearest record is nearer to somebody whose own record is there than to somebody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Annotated, Any, ClassVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import group_records
from sfumato.errors import InputError, UnsatisfiableError
from sfumato.evaluation.attacks.minimality import models_of
from sfumato.evaluation.attacks.nearest_linkage import nearest_links
from sfumato.evaluation.attacks.original_values import (
    ExactPart,
    exact_parts,
    number_part_rows,
    shared_names,
    table_cells,
    unread_notes,
)
from sfumato.evaluation.attacks.people import KEY, Cohort, Victims, cohort_of, generator_of, nothing_shared
from sfumato.evaluation.attacks.placement import sum_by_code
from sfumato.evaluation.attacks.posterior import covered_by_one
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.kernels.grouping import first_records
from sfumato.options import Checked, Limit, Share
from sfumato.progress import silent
from sfumato.published import Published, PublishedTable, RandomizedTable
from sfumato.rates import CONFIDENCE, Rate
from sfumato.recoding.choice import Recoding
from sfumato.release.anonymize import anonymize
from sfumato.table.schema import Schema
from sfumato.table.table import Table


@dataclass(frozen=True)
class MembershipInference(Checked):
    """The attack that separates people who are in the data from people who are not, by how well the release fits them.

    Parameters
    ----------
    knows_sensitive
        Whether the attacker knows the sensitive values of the people, too: the strongest attacker.
    false_positives
        Share of the outsiders that may be taken for members, above 0 to 1.

    Raises
    ------
    PolicyError
        With every wrong option.

    Notes
    -----
    *Played.* Everybody in the data and in the control group gets a score, :func:`lift`:
    published records that fit, divided by those expected by chance. In a randomized table, people whom no record fits
    are ranked below, by how near the nearest one is, :func:`_nearness`. There are
    two results.

    *People with several records* get the geometric mean of the scores of those that are known, and 0 if the release
    lets no record be one of these, or if all rows of a person lie in one class and none covers them.

    *The pair test*: of a member and an outsider, the attacker names the one with the higher score as the member. The
    rate is the area under the ROC curve (AUC), by guessing ½. Wilson's interval is taken as if as many pairs had been
    tried as the smaller group has people. By Birnbaum's bound on the variance of the area, that is too wide rather than
    too narrow; the figures ``auc_low`` and ``auc_high`` hold the narrower interval of Hanley and McNeil, as Newcombe
    solves it.

    *The sure ones*: true positives where `false_positives` of the control group pass, as N. Carlini and others
    ("Membership inference attacks from first principles", S&P 2022) recommend; an average hides who is found. By
    guessing as many members pass as outsiders.

    Cost that of the score, and O(n log n).

    References
    ----------
    R. Shokri and others, "Membership inference attacks against machine learning models", S&P 2017; for released counts
    N. Homer and others, 2008. The score follows their likelihood ratio , with what a release discloses.
    """

    name: ClassVar[str] = "membership-inference"
    kinds: ClassVar[frozenset[str]] = frozenset(
        {"generalized-table", "bucketized-tables", "sliced-table", "marginal-tables", "randomized-table"}
    )
    needs: ClassVar[tuple[str, ...]] = ("control",)

    knows_sensitive: bool = True
    false_positives: Share = 0.01

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it: the pair test, and the true positives among few false ones."""
        if target.control is None:
            raise InputError(
                "membership-inference: needs a control group, people who could have been in the data but are not; "
                "leave some records out of the release and give them as control"
            )
        cohort = cohort_of(target)
        members, outsiders = cohort.both(self._of_people(target, cohort))
        notes = unread_notes(target.published, cohort.frame)
        return self.judged(members, outsiders, notes)

    def judged(
        self, members: NDArray[np.float64], outsiders: NDArray[np.float64], notes: tuple[str, ...]
    ) -> tuple[AttackResult, AttackResult]:
        """Judge scores of people in the data and of others, float64 each: the pair test, and the sure ones."""
        return self._pairs(members, outsiders, notes), self._sure(members, outsiders)

    def _of_people(self, target: Target, cohort: Cohort) -> NDArray[np.float64]:
        """Score people: the geometric mean over their known records, below 0 if no published record fits one."""
        known = cohort.known
        table = cohort.table if len(known.places) == cohort.table.height else cohort.table.take(known.places)
        scores = self._scores(target, table)
        if known.alone:
            return scores
        owner = known.owners
        unfit = scores <= 0
        logs = np.log(np.where(unfit, 1.0, scores))
        found = np.exp(np.bincount(owner, logs, minlength=known.people) / known.counts)
        below = np.bincount(owner, np.where(unfit, scores, 0.0), minlength=known.people) / known.counts
        found = np.where(np.bincount(owner, unfit, minlength=known.people) > 0, below, found)
        if target.rows.together and isinstance(target.published, PublishedTable):
            return np.where(covered_by_one(target.published, table, owner, known.people, target.recoding), found, 0.0)
        return found

    def _scores(self, target: Target, people: Table) -> NDArray[np.float64]:
        scores = lift(target.published, people, recoding=target.recoding, sensitive=self.knows_sensitive)
        unfit = scores == 0
        if not isinstance(target.published, RandomizedTable) or not unfit.any():
            return scores
        some = people.take(np.flatnonzero(unfit))
        scores[unfit] = _nearness(target.published, some, sensitive=self.knows_sensitive, threads=target.threads)
        return scores

    def _pairs(
        self, members: NDArray[np.float64], outsiders: NDArray[np.float64], notes: tuple[str, ...]
    ) -> AttackResult:
        discrimination = Discrimination.of(members, outsiders)
        low, high = discrimination.interval
        smaller = min(discrimination.members, discrimination.outsiders)
        fitting = {"fitting_members": (members > 0).mean(), "fitting_outsiders": (outsiders > 0).mean()}
        return AttackResult(
            attack=self.name,
            knows=self._knows,
            goal="who were told from somebody who is not in the data",
            success=Rate(discrimination.area * smaller, smaller, 0.5),
            figures={"auc": discrimination.area, "auc_low": low, "auc_high": high, **fitting},
            notes=notes,
            helps=_HELPS,
        )

    def _sure(self, members: NDArray[np.float64], outsiders: NDArray[np.float64]) -> AttackResult:
        true, false = accepted(members, outsiders, self.false_positives)
        allowed, share = self.false_positives * len(outsiders), 100 * self.false_positives
        few = f"the control group is small: {allowed:.3g} of its people may pass, so that the border is unsure"
        return AttackResult(
            attack=self.name,
            knows=self._knows,
            goal=f"who were found while {share:g} % of those not in the data were taken for members",
            success=Rate(true, len(members), self.false_positives),
            control=Rate(false, len(outsiders), self.false_positives),
            notes=(few,) if allowed < _ENOUGH else (),
            helps=_HELPS,
        )

    @property
    def _knows(self) -> str:
        return "everybody's quasi-identifying" + (" and sensitive" if self.knows_sensitive else "") + " values"


_ENOUGH = 5
"""Fewest false positives for which the border is certain."""


_HELPS = (
    "larger classes, a release of a small sample of the population, or labels without gaps between classes: "
    "global-mondrian, or mondrian with extent 'region'; what fits members alone gives them away"
)


_HALVINGS = 60


@dataclass(frozen=True)
class Discrimination:
    """How often a member drawn has a higher score than an outsider drawn, ties by halves: the area under the curve."""

    area: float
    members: int
    outsiders: int

    @classmethod
    def of(cls, members: NDArray[np.float64], outsiders: NDArray[np.float64]) -> Discrimination:
        """Compare two groups of scores. Cost O(n log n)."""
        rising = np.sort(outsiders)
        below = np.searchsorted(rising, members, side="left").sum()
        up_to = np.searchsorted(rising, members, side="right").sum()
        pairs = len(members) * len(outsiders)
        return cls(float((below + up_to) / (2 * pairs)), len(members), len(outsiders))

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the area: all areas whose spread allows the observed one.

        The spread of Hanley and McNeil (1982) with group sizes averaged (Newcombe 2006, method 5), solved for the area.
        Ties make it too wide.
        """
        return self._end(0.0), self._end(1.0)

    def _end(self, far: float) -> float:
        """Find, by bisection, the end that is as far from the area as the spread allows."""
        z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
        near = self.area
        for _ in range(_HALVINGS):
            middle = (near + far) / 2
            if abs(self.area - middle) <= z * self._spread(middle):
                near = middle
            else:
                far = middle
        return (near + far) / 2

    def _spread(self, area: float) -> float:
        average = (self.members + self.outsiders) / 2 - 1
        share = (1 - area) / (2 - area) + area / (1 + area)
        variance = area * (1 - area) * (1 + average * share) / (self.members * self.outsiders)
        return float(np.sqrt(variance))


def accepted(
    members: NDArray[np.float64], outsiders: NDArray[np.float64], false_positives: float
) -> tuple[float, float]:
    """Count members and outsiders whose scores pass when at most a share of outsiders may, as chances where tied."""
    # A product such as 0.29 · 100 falls short of the whole number that it stands for.
    allowed = false_positives * len(outsiders) + 1e-9
    if allowed >= len(outsiders):
        return float(len(members)), float(len(outsiders))
    border = -np.sort(-outsiders)[int(allowed)]
    above, at = (outsiders > border).sum(), (outsiders == border).sum()
    part = (allowed - above) / at
    passed = (members > border).sum() + part * (members == border).sum()
    return float(passed), float(above + part * at)


def lift(published: Published, people: Table, *, recoding: Recoding, sensitive: bool) -> NDArray[np.float64]:
    """Score how well a release fits each person.

    `people`: m people with original values. `recoding`: How a generalized table was published. `sensitive`: Whether the
    sensitive values of the people are known, too. Result: float64 (m,): 0 if no published record fits; 1 if as many fit
    as by chance. Raises InputError when release and people share no attribute, or the people's values cannot be read.

    *Generalized*: a class of n' records whose labels cover shares p₁, p₂ … of all records counts n' ÷ (n p₁ p₂ …), and
    the classes that cover a person are added up. *Sliced* (with it bucketized tables, marginals and randomized tables,
    see `original_values`): the matching degree of the person's values over all buckets, as Li, Li, Zhang and Molloy
    (2012) define it, divided by the product of the shares of the single values; an attribute in several columns counts
    once.
    """
    if isinstance(published, PublishedTable):
        names = shared_names(published, people, sensitive=sensitive)
        if not names:
            raise nothing_shared()
        cells = table_cells(published, people, names, recoding)
        return _steadied(cells.sum_fitting(cells.class_weights))
    return _steadied(_of_pieces(exact_parts(published), people, sensitive))


def _steadied(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round to ten digits: sums in another order differ in the last digits, and ties must stay ties."""
    digits, exponents = np.frexp(scores)
    return np.ldexp(np.round(digits, 10), exponents)


def _of_pieces(pieces: Sequence[ExactPart], people: Table, sensitive: bool) -> NDArray[np.float64]:
    wanted = [*people.schema.quasi_identifying, *(people.schema.sensitive if sensitive else ())]
    wanted = [name for name in wanted if name in people.frame.columns]
    telling = [piece for piece in pieces if any(name in piece.label_of for name in wanted)]
    if not telling:
        raise nothing_shared()
    parts, expected, past = [], np.ones(people.height), set[str]()
    for piece in telling:
        names = tuple(name for name in wanted if name in piece.label_of)
        before = tuple(name for name in names if name in past)
        parts.append(_part(piece, people.frame, names, before))
        for name in names:
            if name not in past:
                expected *= _share_of(piece, people.frame, name)
        past.update(names)
    degree = _degree(telling[0], parts)
    return np.divide(degree, expected, out=np.zeros(len(degree)), where=expected > 0)


@dataclass(frozen=True, eq=False, repr=False)
class _PieceEvidence:
    """What one piece says: each person's vector, and of rows in a bucket that agree so far, the share with it."""

    held: NDArray[np.int64]
    shares: pl.DataFrame

    @property
    def pairs(self) -> int:
        """Return pairs of a person and a bucket that holds the person's vector."""
        buckets = self.shares.group_by("vector").len("buckets")
        return int(pl.DataFrame({"vector": self.held}).join(buckets, on="vector")["buckets"].sum())


def _part(piece: ExactPart, people: pl.DataFrame, names: tuple[str, ...], before: tuple[str, ...]) -> _PieceEvidence:
    vectors, held = number_part_rows(piece, people, names)
    earlier, _ = number_part_rows(piece, people, before)
    rows = pl.DataFrame({"vector": vectors, "bucket": piece.bucket, "seen": earlier, "records": piece.records})
    # Equal vectors agree on what was seen before.
    agreeing = rows.group_by("vector", "bucket", "seen").agg(pl.sum("records"))
    among = rows.group_by("bucket", "seen").agg(pl.sum("records").alias("among"))
    shares = agreeing.join(among, on=["bucket", "seen"])
    return _PieceEvidence(held, shares.select("vector", "bucket", share=pl.col("records") / pl.col("among")))


def _share_of(piece: ExactPart, people: pl.DataFrame, name: str) -> NDArray[np.float64]:
    """Return the share of the records that have each person's value of one attribute."""
    vectors, held = number_part_rows(piece, people, (name,))
    size = int(max(vectors.max(), held.max())) + 1
    return sum_by_code(vectors, piece.records / piece.records.sum(), size)[held]


def _degree(first: ExactPart, parts: Sequence[_PieceEvidence]) -> NDArray[np.float64]:
    """Add up over the buckets, each by its share of the records, the product of the shares of rows that agree."""
    who_of, count = group_records(np.column_stack([part.held for part in parts]).astype(np.uint32))
    one_of = first_records(who_of, count)
    # The part that fits fewest buckets comes first, so that few pairs are held at a time.
    ordered = sorted(parts, key=lambda part: part.pairs)
    sizes = pl.DataFrame({"bucket": first.bucket, "records": first.records}).group_by("bucket").agg(pl.sum("records"))
    found = pl.DataFrame({"who": np.arange(count), "vector": ordered[0].held[one_of]})
    found = found.join(ordered[0].shares, on="vector").join(sizes, on="bucket")
    found = found.select("who", "bucket", degree=pl.col("share") * pl.col("records") / first.records.sum())
    for part in ordered[1:]:
        held = pl.DataFrame({"who": np.arange(count), "vector": part.held[one_of]})
        found = found.join(held, on="who").join(part.shares, on=["vector", "bucket"])
        found = found.select("who", "bucket", degree=pl.col("degree") * pl.col("share"))
    return sum_by_code(found["who"].to_numpy(), found["degree"].to_numpy(), count)[who_of]


def _nearness(published: RandomizedTable, people: Table, *, sensitive: bool, threads: int) -> NDArray[np.float64]:
    """Score each person by the distance to the nearest record, as NearestLinkage measures it, negated; 0: equal."""
    settings = {**people.schema.quasi_identifying, **(people.schema.sensitive if sensitive else {})}
    names = [name for name in settings if name in published.data.columns and name in people.frame.columns]
    if not names:
        raise nothing_shared()
    victims = Victims.outside(people.frame, Schema(quasi_identifying=settings), np.arange(people.height))
    links = nearest_links(published.data, victims, names, _nothing(published.data.height), Recoding(), threads)
    assert links.distances is not None
    return -links.distances


def _nothing(count: int) -> pl.Series:
    return pl.Series(KEY, [None], dtype=pl.String).new_from_index(0, count)


_FEWEST = 4
"""Fewest people of the control group: half of them make the shadows, half are tried."""

_SALT = 0x5D


@dataclass(frozen=True)
class ShadowMembership(Checked):
    """Membership inference by somebody who makes releases of people whom they know not to be in the data.

    Parameters
    ----------
    shadows
        Releases that are made, 2 or more.
    knows_sensitive
        Whether the attacker knows the sensitive values of the people, too.
    false_positives
        Share of the outsiders that may be taken for members, above 0 to 1.

    Raises
    ------
    PolicyError
        With every wrong option.

    Notes
    -----
    *Idea.* Some people fit every release well, because many are like them, and others none. A score that is high for
    somebody who is in no shadow says nothing; one that is higher than in all shadows does.

    *Played.* One half of the control group are the people whom the attacker knows. Of random halves of them shadow
    releases are made, by the algorithm and models of the release. Everybody in the data and in the other half of the
    control group gets the score of :class:`~sfumato.evaluation.attacks.membership.MembershipInference` against the
    release and against each shadow; of their logarithms (of 1 + score), what counts is how many standard deviations the
    first lies above the mean of the others. Deviations are drawn half towards the one of all people, as few shadows do
    not tell them. Results are those of membership inference; the figure ``auc_without_shadows`` is its area on the same
    people.

    Not played where people have several records, where the algorithm is not known, or where it cannot meet the models
    with so few people.

    *Departure.* Shokri and others train a classifier on shadows; Carlini and others compare with shadows without the
    person ("offline"), which is done here, with one normal distribution each.

    Cost `shadows` runs of the algorithm, and as many scores of everybody.

    References
    ----------
    R. Shokri, M. Stronati, C. Song, V. Shmatikov, "Membership inference attacks against machine learning models", S&P
    2017; N. Carlini and others, "Membership inference attacks from first principles", S&P 2022.
    """

    name: ClassVar[str] = "shadow-membership"
    kinds: ClassVar[frozenset[str]] = MembershipInference.kinds
    needs: ClassVar[tuple[str, ...]] = ("control", "anonymizer")
    on_demand: ClassVar[str] = "it runs the algorithm once for each shadow; name it to play it"

    shadows: Annotated[int, Limit(2)] = 8
    knows_sensitive: bool = True
    false_positives: Share = 0.01

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it: the pair test, and the true positives among few false ones."""
        assert target.control is not None
        cohort = cohort_of(target)
        if not cohort.known.alone:
            return self._unplayed("people have several records, of whom shadows would need as many")
        if cohort.outsiders < _FEWEST:
            return self._unplayed(f"the control group has fewer than {_FEWEST} people, half of whom make the shadows")
        generator = generator_of(target, _SALT)
        order = generator.permutation(cohort.outsiders)
        known, tried = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
        try:
            releases = [self._shadow(target, known, generator) for _ in range(self.shadows)]
        except UnsatisfiableError:
            return self._unplayed("the algorithm cannot meet the models with so few people as the control group has")
        people = cohort.table.take(np.concatenate([np.arange(cohort.members), cohort.members + tried]))
        plain = self._scores(target, target.published, people)
        scores = _above(plain, np.stack([self._scores(target, each, people) for each in releases]))
        members, outsiders = scores[: cohort.members], scores[cohort.members :]
        without = Discrimination.of(plain[: cohort.members], plain[cohort.members :]).area
        attack = MembershipInference(self.knows_sensitive, self.false_positives)
        pairs, sure = attack.judged(members, outsiders, unread_notes(target.published, people.frame))
        figures = {name: value for name, value in pairs.figures.items() if name.startswith("auc")}
        return (self._named(replace(pairs, figures={**figures, "auc_without_shadows": without})), self._named(sure))

    def _shadow(self, target: Target, known: NDArray[np.int64], generator: np.random.Generator) -> Published:
        """Publish a random half of the people whom the attacker knows."""
        assert target.control is not None
        half = np.sort(generator.permutation(known)[: max(1, len(known) // 2)])
        release = anonymize(
            target.control.take(half),
            models_of(target.models, self.name) if target.models else (),
            anonymizer=cast(Any, target.anonymizer),
            recoding=target.recoding if target.published.kind == "generalized-table" else None,
            seed=int(generator.integers(0, 1 << 31)),
            threads=target.threads,
            progress=silent,
        )
        return release.published

    def _scores(self, target: Target, published: Published, people: Table) -> NDArray[np.float64]:
        return np.log1p(lift(published, people, recoding=target.recoding, sensitive=self.knows_sensitive))

    def _named(self, result: AttackResult) -> AttackResult:
        return replace(
            result, attack=self.name, knows=f"{result.knows}, the algorithm, and people who are not in the data"
        )

    def _unplayed(self, why: str) -> tuple[AttackResult, ...]:
        result = AttackResult(
            attack=self.name,
            knows="everybody's values, the algorithm, and people who are not in the data",
            goal="who were told from somebody who is not in the data",
            success=Rate(0.0, 0, 0.5),
            notes=(why,),
            unplayed=why,
        )
        return (result,)


def _above(scores: NDArray[np.float64], shadows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how many standard deviations each score, (m,), lies above those of the shadows, (shadows, m)."""
    variance = shadows.var(axis=0, ddof=1)
    spread = np.sqrt((variance + variance.mean()) / 2)
    excess = scores - shadows.mean(axis=0)
    found: NDArray[np.float64] = np.divide(excess, spread, out=excess.copy(), where=spread > 0)
    return found
