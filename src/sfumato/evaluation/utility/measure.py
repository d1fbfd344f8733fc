"""Measuring how useful a release of any kind is, and what it keeps of its original, in one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, PolicyError, SfumatoError, raise_all
from sfumato.evaluation.attacks.posterior import posterior_blocks, sensitive_of
from sfumato.evaluation.utility.answers import (
    QueryErrors,
    Questions,
    drawn_workload,
    estimated_answers,
    exact_answers,
    large_populations,
    summarize,
)
from sfumato.evaluation.utility.classifiers import LEARNERS, Accuracy, Encoding, Learner, TrainedOnce, accuracies
from sfumato.evaluation.utility.joint import (
    Joint,
    Original,
    Rows,
    contingency_table,
    drawn_records,
    estimate_histogram,
    expected_by_label,
    factors_of,
    read_joint,
    read_release_rows,
)
from sfumato.evaluation.utility.queries import AGGREGATES, AttributeDomain, Bins, Floats, Query, Workload, coarse
from sfumato.hierarchy.tree import Hierarchy
from sfumato.notebook import bar, card, lines, notebook_section, notebook_table
from sfumato.numbers import counted, figure, percent
from sfumato.progress import Progress, shown
from sfumato.published import Published, PublishedTable, RandomizedTable
from sfumato.published.protocol import order_by_content
from sfumato.randomness import seed_problems
from sfumato.recoding import Recoding
from sfumato.release.release import Release
from sfumato.release.verify import read_release, refuse_swapped
from sfumato.table.reading import read_with
from sfumato.table.row_order import order_rows as settled_table
from sfumato.table.schema import Schema
from sfumato.table.table import Table

if TYPE_CHECKING:
    from sfumato.drawing import Drawing

_DISTRIBUTION_BINS = 256


_PAIR_BINS, _PAIR_CATEGORIES = 10, 50


@dataclass(frozen=True)
class DistributionKept:
    """How far an attribute's published distribution is from the original; `earth_mover`: None for categories."""

    attribute: str
    total_variation: float
    earth_mover: float | None


@dataclass(frozen=True)
class Association:
    """φ² of two attributes, in [0, 1], before and after publishing."""

    attributes: tuple[str, str]
    before: float
    after: float

    @property
    def change(self) -> float:
        """Return what publishing added; negative if the association got weaker."""
        return self.after - self.before


@dataclass(frozen=True)
class Correlations:
    """Distributions and associations before and after."""

    distributions: tuple[DistributionKept, ...]
    associations: tuple[Association, ...]

    @property
    def mean_change(self) -> float:
        """Return the mean of |φ² after − φ² before| over all pairs; 0 without pairs."""
        return float(np.mean([abs(pair.change) for pair in self.associations])) if self.associations else 0.0

    @property
    def kept(self) -> float:
        """Return the share of the original association that is left, Σ min(before, after) / Σ before; else 1."""
        before = sum(pair.before for pair in self.associations)
        return sum(min(pair.before, pair.after) for pair in self.associations) / before if before > 0 else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "distributions": [asdict(each) for each in self.distributions],
            "associations": [{**asdict(each), "attributes": list(each.attributes)} for each in self.associations],
            "mean_change": self.mean_change,
            "kept": self.kept,
        }


def correlations(original: Joint, published: Joint, domains: Mapping[str, AttributeDomain]) -> Correlations:
    """Compare single attributes and pairs of a release with the original.

    Numbers in at most 256 bins of about equal frequency; for φ² in 10, missing ones among the values, all but the 49
    most frequent categories joined: Σ (f_ij − f_i f_j)² / (f_i f_j) over min(d₁, d₂) − 1 for the values that occur.
    """
    names = [name for name in domains if name in published.spreads]
    return Correlations(
        tuple(_distribution(original, published, domains[name]) for name in names),
        _associations(original, published, names, domains),
    )


def pairwise_contingency(table: Floats) -> float:
    """Return φ² of a table of counts or shares; 0 where a side has only one value."""
    held = table[np.ix_(table.sum(axis=1) > 0, table.sum(axis=0) > 0)]
    least = min(held.shape, default=0)
    if least < 2:
        return 0.0
    shares = held / held.sum()
    independent = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    # Shares below the least number that floats hold have a product of 0, and add nothing.
    known = independent > 0
    return float(((shares[known] - independent[known]) ** 2 / independent[known]).sum() / (least - 1))


def _distribution(original: Joint, published: Joint, domain: AttributeDomain) -> DistributionKept:
    bins = coarse(domain, _DISTRIBUTION_BINS, domain.attribute.size)
    before, after = (_shares(estimate_histogram(joint, domain.name, bins)) for joint in (original, published))
    if bins.uppers is None or not bins.count:
        return DistributionKept(domain.name, total_variation(before, after), None)
    known = [_shares(shares[:-1]) for shares in (before, after)]
    moved = earth_mover_over_numbers(known[0], known[1], bins.uppers)
    return DistributionKept(domain.name, total_variation(before, after), moved)


def _shares(counts: Floats) -> Floats:
    total = counts.sum()
    return counts / total if total > 0 else counts


def _associations(
    original: Joint, published: Joint, names: Sequence[str], domains: Mapping[str, AttributeDomain]
) -> tuple[Association, ...]:
    bins: dict[str, Bins] = {name: coarse(domains[name], _PAIR_BINS, _PAIR_CATEGORIES) for name in names}
    return tuple(
        Association(
            pair, *(pairwise_contingency(contingency_table(joint, *pair, bins=bins)) for joint in (original, published))
        )
        for pair in combinations(names, 2)
    )


def total_variation(one: Floats, other: Floats) -> float:
    """Return ½ Σ |p − q|, in [0, 1]: the share of the records that would have to change."""
    return float(np.abs(one - other).sum() / 2)


def earth_mover_over_numbers(one: Floats, other: Floats, numbers: Floats) -> float:
    """Return the work of moving one distribution over rising numbers to the other, over the width of all, in [0, 1]."""
    width = numbers[-1] - numbers[0]
    if width <= 0:
        return 0.0
    ahead = np.abs(np.cumsum(one - other))[:-1]
    return float((ahead * np.diff(numbers)).sum() / width)


def earth_movers(one: Floats, other: Floats, domain: AttributeDomain) -> Floats:
    """Return t-closeness's distance between rows of distributions, in [0, 1]: over ranks, a hierarchy, or alike."""
    extra = one - other
    if domain.attribute.hierarchy is not None:
        return _over_hierarchy(extra, domain.attribute.hierarchy)
    if domain.attribute.is_numeric:
        steps = max(extra.shape[1] - 1, 1)
        ordered: Floats = np.abs(np.cumsum(extra, axis=1))[:, :-1].sum(axis=1) / steps
        return ordered
    equal: Floats = np.abs(extra).sum(axis=1) / 2
    return equal


def jensen_shannon(one: Floats, other: Floats) -> Floats:
    """Return ½ KL(P‖M) + ½ KL(Q‖M) with M halfway, for rows of distributions; in [0, ln 2], natural logarithm."""
    middle = (one + other) / 2
    return np.maximum((_divergence(one, middle) + _divergence(other, middle)) / 2, 0.0)


def _divergence(one: Floats, other: Floats) -> Floats:
    ratio = np.divide(one, other, out=np.ones(np.broadcast_shapes(one.shape, other.shape)), where=one > 0)
    terms: Floats = (one * np.log(ratio)).sum(axis=-1)
    return terms


def _over_hierarchy(extra: Floats, hierarchy: Hierarchy) -> Floats:
    """Move surplus between the children of each node, level by level; a step at level j costs j over the height."""
    moved = np.zeros(len(extra))
    below = extra
    starts = np.arange(hierarchy.size)
    for level, rung in enumerate(hierarchy.levels[1:], start=1):
        # First child of each node among the nodes one level down.
        first = np.searchsorted(starts, rung.starts[:-1])
        surplus = np.add.reduceat(np.maximum(below, 0), first, axis=1)
        lack = np.add.reduceat(np.maximum(-below, 0), first, axis=1)
        moved += np.minimum(surplus, lack).sum(axis=1) * level / hierarchy.height
        below = np.add.reduceat(below, first, axis=1)
        starts = np.asarray(rung.starts[:-1])
    return moved


# Privacy against utility: the direct comparison of Brickell and Shmatikov, and the measures of Li and Li.


_SENSITIVE_BINS = 64
"""Bins of about equal frequency into which sensitive numbers are divided when populations are compared."""


@dataclass(frozen=True)
class DirectComparison:
    """The gain of an attacker and of a researcher, both over the table without quasi-identifying attributes.

    `adversary`: accuracy of naming the likeliest value, by chance among equals. `classifier`: of one trained on the
    release, on others.
    """

    baseline: float
    adversary: float
    classifier: float | None = None

    @property
    def privacy_loss(self) -> float:
        """Return the gain of the attacker's accuracy."""
        return self.adversary - self.baseline

    @property
    def utility_gain(self) -> float | None:
        """Return the gain of the classifier's accuracy; None without one."""
        return None if self.classifier is None else self.classifier - self.baseline


@dataclass(frozen=True)
class TradeOff:
    """Privacy and utility of one release, to be compared with other releases of the same table.

    `privacy_loss`: The largest Jensen-Shannon divergence, over all people, between the sensitive values of the whole
    table and what the release says about the person; in [0, ln 2]. `utility_loss`: The mean, over large populations, of
    the earth mover's distance between the sensitive values that a population has and those that the release says it
    has, in [0, 1]; None if no population is large enough.
    """

    sensitive: str
    direct: DirectComparison
    privacy_loss: float
    utility_loss: float | None
    populations: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        direct = {
            **asdict(self.direct),
            "privacy_loss": self.direct.privacy_loss,
            "utility_gain": self.direct.utility_gain,
        }
        return {**asdict(self), "direct": direct}


def guessing_accuracy(shares: Floats, truth: NDArray[np.integer]) -> Floats:
    """Return each person's chance that the likeliest value is the true one, −1 being none, (m,)."""
    most = shares.max(axis=1, keepdims=True)
    likeliest = (shares >= most - 1e-12) & (most > 0)
    right = np.take_along_axis(likeliest, np.maximum(truth, 0)[:, None], axis=1)[:, 0] & (truth >= 0)
    chance: Floats = right / np.maximum(likeliest.sum(axis=1), 1)
    return chance


def privacy_losses(shares: Floats, prior: Floats) -> Floats:
    """Return the Jensen-Shannon divergence of each person's belief from the prior, (m,); 0 if there is none."""
    has_records = shares.sum(axis=1) > 0
    return np.where(has_records, jensen_shannon(shares, np.broadcast_to(prior, shares.shape)), 0.0)


def utility_loss(
    original: Joint, published: Joint, populations: Workload, sensitive: AttributeDomain, *, support: float
) -> tuple[float | None, int]:
    """Return the mean distance between true and published sensitive distributions of large populations, and how many.

    `support`: least share of the records. If a release has nobody of a population, it says no more about it than about
    the whole table. The distance is that of t-closeness: over ranks of numbers, in at most 64 bins; over the hierarchy;
    otherwise all alike. One query each.
    """
    if not 0 < support <= 1:
        raise InputError("support: must be above 0, at most 1")
    if sensitive.name in populations.attributes:
        raise InputError(f"populations: must not be chosen by {sensitive.name!r} itself")
    before = np.array([_values_of(original, query, sensitive) for query in populations])
    large = before.sum(axis=1) >= max(support * original.total, 1.0)
    if not large.any():
        return None, 0
    chosen = [query for query, is_large in zip(populations, large, strict=True) if is_large]
    after = np.array([_values_of(published, query, sensitive) for query in chosen])
    everybody = _values_of(published, Query(()), sensitive)
    after = np.where(after.sum(axis=1, keepdims=True) > 0, after, everybody)
    moved = earth_movers(_rows(before[large]), _rows(after), sensitive)
    return float(moved.mean()), len(chosen)


def _rows(counts: Floats) -> Floats:
    shares: Floats = counts / np.maximum(counts.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return shares


def _values_of(joint: Joint, query: Query, sensitive: AttributeDomain) -> Floats:
    """Return how many of the records of a query have each value, without the missing one."""
    by_label = expected_by_label(joint, factors_of(joint, query), sensitive.name)
    return joint.spreads[sensitive.name].tally(by_label, _bins(sensitive))[:-1]


def _bins(sensitive: AttributeDomain) -> Bins:
    """Return a bin for each code under a hierarchy, else for each value; numbers in at most 64."""
    if sensitive.attribute.hierarchy is not None:
        return Bins(np.arange(sensitive.attribute.size + 1), None)
    return coarse(sensitive, _SENSITIVE_BINS, sensitive.attribute.size)


def frontier(points: Sequence[tuple[float, float]]) -> tuple[int, ...]:
    """Return the places of the points that no other point beats in both privacy loss and utility loss.

    `points`: Privacy loss and utility loss of each release. Result: By rising privacy loss; of equal points only the
    first.

    Cost O(p log p).

    Examples
    --------
    >>> frontier([(0.5, 0.1), (0.2, 0.3), (0.5, 0.2), (0.1, 0.9)])
    (3, 1, 0)
    """
    found: list[int] = []
    for place in sorted(range(len(points)), key=lambda place: (*points[place], place)):
        if not found or points[place][1] < points[found[-1]][1]:
            found.append(place)
    return tuple(found)


@dataclass(frozen=True)
class _AttackerView:
    """What a release tells of one sensitive attribute, as ``DirectComparison`` and ``TradeOff`` say."""

    sensitive: str
    baseline: float
    adversary: float
    privacy_loss: float


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseView:
    """A release and its original, both read, the latter once for all releases of it."""

    published: Published
    original: Original
    recoding: Recoding
    after: Joint
    weighted: Joint

    @classmethod
    def of(
        cls,
        release: Release | Published | str | Path,
        original: Original,
        recoding: Recoding | None = None,
        weights: str | None = None,
    ) -> ReleaseView:
        """Read a release, and its weights if named; InputError when it cannot be read against the original."""
        opened = read_release(release)
        chosen, published = recoding or opened.policy.recoding(), order_by_content(opened.published)

        def read(rows: Published) -> tuple[Joint, Joint]:
            after = read_joint(rows, original.domains, chosen)
            return after, after if weights is None else read_joint(rows, original.domains, chosen, weights)

        try:
            return cls(published, original, chosen, *read(published))
        except SfumatoError:
            # A message names rows as they stand in the release.
            read(opened.published)
            raise

    @property
    def domains(self) -> Mapping[str, AttributeDomain]:
        """Attributes of the original."""
        return self.original.domains

    @property
    def having_values(self) -> list[str]:
        """Return the published attributes of which the original has at least one value."""
        return [name for name in self.after.spreads if self.domains[name].attribute.size]

    def learnt(
        self,
        holdout: Table,
        targets: Sequence[str] | None = None,
        learners: Sequence[Learner] = LEARNERS,
        encoding: Encoding = "midpoint",
        seed: int | None = None,
        trained: TrainedOnce | None = None,
    ) -> tuple[Accuracy, ...]:
        """Train classifiers on release and original, and test them on held-out records; None: the usual targets."""
        return accuracies(
            self.original.joint,
            self.after,
            settled_table(holdout),
            self.domains,
            targets=self._usual_targets() if targets is None else targets,
            learners=learners,
            encoding=encoding,
            seed=seed,
            trained=trained,
        )

    def attacker_views(self) -> tuple[list[_AttackerView], str]:
        """Return what attackers gain by asking the release about every person, or why that is unknown."""
        names = [name for name in sensitive_of(self.published) if name in self.domains]
        if not names:
            return [], "the release has no sensitive attribute"
        if isinstance(self.published, RandomizedTable):
            return [], "a randomized table says nothing certain about single people"
        try:
            return [self._attacker_view(name) for name in names], ""
        except InputError as error:
            return [], "; ".join(error.problems)

    def rows(self, weights: str | None = None, seed: int | None = None) -> Rows:
        """Return the release's records one by one; where its rows are none, they are put together at random."""
        if isinstance(self.published, (PublishedTable, RandomizedTable)):
            return read_release_rows(self.published, self.domains, self.recoding, weights)
        labels = drawn_records(self.after, np.random.default_rng(seed))
        return Rows(self.after.spreads, labels, np.ones(len(next(iter(labels.values())))))

    def _attacker_view(self, sensitive: str) -> _AttackerView:
        right, most, table = 0.0, 0.0, self.original.table
        for rows, beliefs in posterior_blocks(self.published, table, sensitive=sensitive, recoding=self.recoding):
            truth = beliefs.codes_of(table.frame[sensitive][rows])
            right += float(guessing_accuracy(beliefs.shares, truth).sum())
            most = max(most, float(privacy_losses(beliefs.shares, beliefs.prior).max()))
        frequent = int(np.bincount(self.domains[sensitive].codes).max())
        return _AttackerView(sensitive, frequent / table.height, right / table.height, most)

    def _usual_targets(self) -> list[str]:
        schema = self.original.table.schema
        quasi = [name for name in schema.quasi_identifying if self.domains[name].numbers is None]
        return [name for name in [*schema.sensitive, *quasi[:1]] if name in self.after.spreads]


def error_figures(questions: Questions, published: Joint) -> tuple[dict[str, QueryErrors], dict[str, str]]:
    """Return the errors of each aggregate, and why some have none."""
    errors = questions.errors(published)
    aggregates = np.array([query.aggregate for query in questions.workload])
    found: dict[str, QueryErrors] = {}
    unmeasured: dict[str, str] = {}
    for aggregate in AGGREGATES:
        own = errors[aggregates == aggregate]
        if not np.all(np.isnan(own)):
            found[aggregate] = summarize(own)
        elif len(own):
            unmeasured[f"{aggregate} queries"] = "none has an answer in the original"
    return found, unmeasured


QUERIES = 1000


_POPULATIONS = 200


_SUPPORT = 0.01
"""Populations whose sensitive values are compared, and the share of all records that each must have."""


def answer(
    workload: Workload | Query,
    original: Table,
    release: Release | Published | str | Path | None = None,
    *,
    recoding: Recoding | None = None,
    weights: str | None = None,
) -> NDArray[np.float64]:
    """Answer aggregate queries, exactly from the original, or as well as a release allows.

    Parameters
    ----------
    workload
        Queries, or one.
    original
        The original table; with a release, only its schema, domains and hierarchies are used.
    release
        A release in memory, a release folder, or published tables of any kind; None answers from the original.
    recoding
        How a generalized table was published; None takes what a release says, else the defaults.
    weights
        A column of the original, or of the release, that says how many people each record stands for; these are
        counted, and their numbers added and averaged.

    Returns
    -------
    numpy.ndarray
        float64, one per query; NaN for an average over nobody.

    Raises
    ------
    PolicyError
        With every query that does not suit the table.
    InputError
        When the release cannot be read against the original.

    Examples
    --------
    >>> import polars as pl, sfumato as sf
    >>> people = pl.DataFrame({"age": [20, 21, 30, 39], "illness": ["flu", "cold", "flu", "flu"]})
    >>> table = sf.read_table(people, sf.Schema(quasi_identifying=["age"], sensitive=["illness"]))
    >>> release = sf.anonymize(table, sf.KAnonymity(2))
    >>> query = sf.queries.Query((sf.queries.Range("age", 30, 34), sf.queries.Among("illness", ("flu",))))
    >>> sf.queries.answer(query, table), sf.queries.answer(query, table, release)
    (array([1.]), array([1.]))
    """
    asked = Workload((workload,)) if isinstance(workload, Query) else workload
    _refuse_strangers(original, recoding, weights=weights)
    if release is None:
        return exact_answers(asked, original, weights)
    opened = read_release(release)
    read_as = recoding or opened.policy.recoding()
    return estimated_answers(asked, opened.published, original, recoding=read_as, weights=weights)


def measure_utility(
    release: Release | Published | str | Path,
    original: Any,
    *,
    schema: Schema | None = None,
    workload: Workload | None = None,
    holdout: Table | None = None,
    targets: Sequence[str] | None = None,
    classifiers: Sequence[Learner] = LEARNERS,
    encoding: Encoding = "midpoint",
    recoding: Recoding | None = None,
    weights: str | None = None,
    seed: int | None = None,
    progress: Progress = shown,
) -> Utility:
    """Measure what a release of any kind keeps: answers, distributions, associations, classifiers.

    Parameters
    ----------
    release
        A release in memory, a release folder, or published tables.
    original
        The table that it was made from.
    schema
        The roles of the columns, where `original` is a file or a frame that was not read yet.
    workload
        Queries to answer; None draws 1000 counts about published columns, and as many sums and averages if there are
        numbers.
    holdout
        Original records that the release was *not* made from, as :func:`sfumato.hold_out` splits them off; classifiers
        are tested on them. None leaves classifiers out.
    targets
        What classifiers predict; None takes the sensitive attributes and the first quasi-identifying one of categories.
    classifiers
        Some of ``"decision-tree"``, ``"naive-bayes"``, ``"logistic-regression"``; they need scikit-learn.
    encoding
        How a classifier reads a generalized cell: ``"midpoint"``, ``"bounds"`` or ``"expand"``.
    recoding
        How a generalized table was published; None takes what a release says, else the defaults.
    weights
        A column of the original, and of the release, that says how many people each record stands for: answers,
        distributions, associations and the utility loss of populations are then those of the people. Classifiers and
        attackers still count records, whom they are about.
    seed
        For queries, populations and for combining rows; None draws from the operating system.
    progress
        Called with (what, done, total).

    Returns
    -------
    Utility

    Raises
    ------
    PolicyError
        With every option that does not suit, and when scikit-learn is needed and not installed.
    InputError
        When the release cannot be read against the original.

    Notes
    -----
    For how each kind answers see :func:`~sfumato.evaluation.utility.answers.estimated_answers`. The trade-off is that
    of Brickell and Shmatikov (*The cost of privacy*, KDD 2008) and of Li and Li (*On the tradeoff between privacy and
    utility in data publishing*, KDD 2009): 200 populations that hold at least 1% of the records; what a release says
    about a person is computed as attacks do. The researcher of the direct comparison uses the first of the classifiers.
    """
    refuse_swapped(original, "measure_utility(release, original)")
    original = read_with(original, schema)
    _refuse_strangers(original, recoding, holdout, weights)
    raise_all(PolicyError, seed_problems(seed))
    progress("reading", 0, 4)
    view = ReleaseView.of(release, Original.of(original, weights), recoding, weights)
    progress("queries", 1, 4)
    asked = workload or _usual_workload(view, seed)
    queries, unanswered = error_figures(Questions.about(asked, view.domains, view.original.weights), view.weighted)
    progress("classifiers", 2, 4)
    unmeasured = dict(unanswered)
    learnt: tuple[Accuracy, ...] = ()
    if holdout is None:
        unmeasured["classifiers"] = "no records were held out to test them on"
    elif not classifiers:
        unmeasured["classifiers"] = "none was asked for"
    else:
        learnt = view.learnt(holdout, targets, classifiers, encoding, seed)
    progress("trade-off", 3, 4)
    trade_offs, reason = _trade_offs(view, learnt, seed)
    if reason:
        unmeasured["trade-off"] = reason
    progress("trade-off", 4, 4)
    if lacking := [name for name in view.domains if name not in view.after.spreads]:
        unmeasured["columns"] = f"not published: {', '.join(lacking)}"
    kept = correlations(view.original.weighted, view.weighted, view.domains)
    published = round(view.after.total)
    return Utility(
        view.published.kind, original.height, published, queries, kept, learnt, trade_offs, unmeasured, weights
    )


def _refuse_strangers(original: object, recoding: object, holdout: object = None, weights: object = None) -> None:
    problems = [] if isinstance(original, Table) else ["original: must be a table; read it with sfumato.read_table"]
    if holdout is not None and not isinstance(holdout, Table):
        problems.append("holdout: must be a table; make one with sfumato.hold_out")
    if recoding is not None and not isinstance(recoding, Recoding):
        problems.append("recoding: must be a Recoding")
    if weights is not None and not isinstance(weights, str):
        problems.append("weights: must be the name of a column")
    raise_all(PolicyError, problems)


def _usual_workload(view: ReleaseView, seed: int | None) -> Workload:
    published = view.having_values
    numbers = [name for name in published if view.domains[name].numbers is not None]
    aggregates = AGGREGATES if numbers else AGGREGATES[:1]
    count = QUERIES * len(aggregates)
    return drawn_workload(
        view.original, count, aggregates=aggregates, of=numbers or None, attributes=published, seed=seed
    )


def _trade_offs(view: ReleaseView, learnt: Sequence[Accuracy], seed: int | None) -> tuple[tuple[TradeOff, ...], str]:
    """Return a trade-off for each sensitive attribute, or why there is none."""
    views, reason = view.attacker_views()
    if reason:
        return (), reason
    quasi = [name for name in view.having_values if name in view.original.table.schema.quasi_identifying]
    populations = large_populations(view.original, quasi, _POPULATIONS, seed=seed)
    found = []
    for each in views:
        domain = view.domains[each.sensitive]
        accuracy = next((one.release for one in learnt if one.target == each.sensitive), None)
        loss, count = utility_loss(view.original.weighted, view.weighted, populations, domain, support=_SUPPORT)
        direct = DirectComparison(each.baseline, each.adversary, accuracy)
        found.append(TradeOff(each.sensitive, direct, each.privacy_loss, loss, count))
    return tuple(found), ""


DIGITS = 3


_MOST_PAIRS = 5


@dataclass(frozen=True)
class Utility:
    """How useful a release is, measured against its original. It is for the data steward.

    * `kind`: kind of the release, as in ``release.json``.
    * `records`, `published`: records of the original, and in the release (marginals: as many as the largest table
      counts).
    * `queries`: errors of counts, sums and averages, under the name of the aggregate.
    * `correlations`: single attributes, and pairs of them.
    * `classifiers`: empty without held-out records.
    * `trade_offs`: one for each sensitive attribute.
    * `unmeasured`: what was not measured, and why.
    * `weights`: the column by which records were weighted.
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

    def _repr_html_(self) -> str:
        """Show notebooks the figures; no value of the table is among them."""
        queries = [(_asked(name, each), percent(each.median, DIGITS)) for name, each in self.queries.items()]
        changed = [(each.attribute, bar(each.total_variation)) for each in self.correlations.distributions]
        pairs = [(" and ".join(each.attributes), _three(each.before), _three(each.after)) for each in self._strongest()]
        learnt = [(f"{one.target}, {one.learner}", bar(one.release), bar(one.original)) for one in self.classifiers]
        more = [*self._trade_off_lines(), *(f"not measured: {what}, {why}" for what, why in self.unmeasured.items())]
        return card(
            "Utility",
            f"{counted(self.published, 'record')}, made from {self.records:,}",
            notebook_section("Median errors of queries", notebook_table(("", ""), queries, (1,))),
            notebook_section("Share of the distribution that changed", notebook_table(("", ""), changed)),
            notebook_section("Associations of pairs (φ²)", notebook_table(("", "before", "after"), pairs, (1, 2))),
            notebook_section("Classifiers are right", notebook_table(("", "release", "original"), learnt)),
            lines(more),
        )

    def plot(self) -> Drawing:
        """Draw how much of each distribution changed, and every association of a pair before and after.

        Raises
        ------
        PolicyError
            When matplotlib is not installed (``pip install 'sfumato[report]'``).
        """
        from sfumato.drawing import Drawing, bars, canvases

        found, pairs = self.correlations.distributions, self.correlations.associations
        figure, (changed, kept) = canvases(1, 2, width=10.8, height=max(3.2, 0.8 + 0.3 * len(found)))
        names, shares = [each.attribute for each in found], [100 * each.total_variation for each in found]
        bars(changed, names, {"changed": shares}, "change of the distribution (%)")
        kept.plot([each.before for each in pairs], [each.after for each in pairs], "o", markerfacecolor="none")
        kept.axline((0, 0), slope=1, color="#999999", linewidth=1, linestyle="--")
        kept.set_xlabel("association of a pair before (φ²)")
        kept.set_ylabel("after (φ²)")
        return Drawing(figure)

    def _strongest(self) -> list[Association]:
        return sorted(self.correlations.associations, key=lambda pair: -pair.before)[:_MOST_PAIRS]

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
        rows = [
            (" and ".join(pair.attributes), f"{_three(pair.before)} before, {_three(pair.after)} after")
            for pair in self._strongest()
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


def _three(value: float) -> str:
    return figure(value, DIGITS)


def _points(share: float) -> str:
    return f"{figure(100 * share, DIGITS)} percentage points"


def _aligned(rows: list[tuple[str, str]]) -> list[str]:
    width = max(len(name) for name, _ in rows)
    return [f"  {name:<{width}}  {text}" for name, text in rows]
