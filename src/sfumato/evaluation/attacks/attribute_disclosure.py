"""What everybody who fits a person discloses of them: homogeneity, background knowledge, skewness and similarity.

Attacks on sensitive values make claims about some people only: those about whom the release makes the attacker sure
enough. They are scored on these people, and so is the best possible guess without the release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.errors import PolicyError, SfumatoError
from sfumato.evaluation.attacks.posterior import TELLING, OwnValues, Posterior, posteriors_of_people, sensitive_of
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.verdicts import SURE, Beliefs, Certainty, allowed_guess, draw_curve
from sfumato.hierarchy.tree import HierarchySpecification
from sfumato.options import Checked, Limit, Share
from sfumato.rates import Rate
from sfumato.table.schema import is_measured, text_of
from sfumato.table.table import Table


@dataclass(frozen=True)
class Homogeneity(Checked):
    """The homogeneity attack.

    Parameters
    ----------
    threshold
        Share of the records that fit a person from which on the attacker claims their most frequent sensitive value;
        above 0, at most 1. At 1 the attacker is certain.

    Raises
    ------
    PolicyError
        When the threshold is not such a share.

    References
    ----------
    A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam, "ℓ-diversity: privacy beyond k-anonymity", ICDE
    2006, section 1.

    Notes
    -----
    *Departure.* The paper is about one class; here all records that fit count, in whatever class, and any kind of
    release that gives a distribution of the sensitive value can be attacked.
    """

    name: ClassVar[str] = "homogeneity"
    kinds: ClassVar[frozenset[str]] = TELLING
    needs: ClassVar[tuple[str, ...]] = ("sensitive",)

    threshold: Share = 1.0

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute."""
        surely = "with certainty" if self.threshold == 1 else f"at least {100 * self.threshold:g} % sure"
        return tuple(
            _result_of(
                target,
                name,
                self._claims,
                attack=self.name,
                knows="everybody's quasi-identifying values, and who is in the data",
                goal=f"whose {name} was told {surely}",
                helps="l-diversity or t-closeness on top of k-anonymity, or larger classes",
                bound=allowed_guess(target.models_of_victims, name),
            )
            for name in sensitive_of(target.published)
        )

    def _claims(self, known: Posterior, own: OwnValues) -> _Claims:
        return _likeliest(known, own, known.codes_of(own.column), known.shares, known.prior, self.threshold)


@dataclass(frozen=True)
class BackgroundKnowledge(Checked):
    """The attack of somebody who knows values that a person does *not* have.

    Parameters
    ----------
    excluded
        How many values the attacker asks about for each person, at least 1. Those that the person does not have are
        excluded; of who has one of them nothing is claimed.
    choice
        ``"worst"``: the most frequent ones among the records that fit but for the likeliest one, which may then be left
        alone; ``"random"``: any. The truth has no say.
    threshold
        Belief from which on the attacker claims the likeliest value that is left; above 0, at most 1.

    Raises
    ------
    PolicyError
        With every wrong option.

    References
    ----------
    A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam, "ℓ-diversity: privacy beyond k-anonymity", ICDE
    2006, sections 1 and 3: distinct ℓ-diversity withstands ℓ − 2 excluded values, and no more.
    """

    name: ClassVar[str] = "background-knowledge"
    kinds: ClassVar[frozenset[str]] = TELLING
    needs: ClassVar[tuple[str, ...]] = ("sensitive",)

    excluded: Annotated[int, Limit(1)] = 1
    choice: Literal["worst", "random"] = "worst"
    threshold: Share = 1.0

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute."""
        claim = partial(self._claims, np.random.default_rng(target.seed))
        surely = "with certainty" if self.threshold == 1 else f"at least {100 * self.threshold:g} % sure"
        values = "1 value" if self.excluded == 1 else f"{self.excluded} values"
        which = "those that help most" if self.choice == "worst" else "at random"
        return tuple(
            _result_of(
                target,
                name,
                claim,
                attack=self.name,
                knows=f"everybody's quasi-identifying values, who is in the data, and whether people have {values} of "
                f"{name} ({which})",
                goal=f"whose {name} was told {surely}",
                helps=f"l-diversity with an l above {self.excluded + 1}, or t-closeness",
            )
            for name in sensitive_of(target.published)
        )

    def _claims(self, generator: np.random.Generator, known: Posterior, own: OwnValues) -> _Claims:
        truth = known.codes_of(own.column)
        asked = self._asked(generator, known)
        tried = ~(asked & own.matrix(truth, len(known.values))).any(axis=1)
        left = known.without(asked)
        total = left.sum(axis=1) if known.groups is None else (left.sum(axis=1) > 0).astype(np.float64)
        made = tried & (total > 0) & (left.max(axis=1) >= (self.threshold - SURE) * total)
        prior = np.where(asked, 0.0, known.prior)
        several = (prior > 0).sum(axis=1) > 1 if self.threshold == 1 else None
        belief = np.where(tried, left.max(axis=1) / np.where(total > 0, total, 1.0), _UNTRIED)
        right, guessed = own.right(truth, left.argmax(axis=1)), own.right(truth, prior.argmax(axis=1))
        chance = _chance(known, prior.max(axis=1) / np.maximum(prior.sum(axis=1), SURE))
        return _Claims(made, right, chance, guessed, several=several, belief=belief)

    def _asked(self, generator: np.random.Generator, known: Posterior) -> NDArray[np.bool_]:
        """Choose the values that the attacker asks about for each person, bool (people, values)."""
        people, values = known.shares.shape
        # If fewer values fit than are asked about, the most frequent others are, which helps most.
        worth = known.shares + SURE * known.prior if self.choice == "worst" else generator.random((people, values))
        if self.choice == "worst":
            np.put_along_axis(worth, worth.argmax(axis=1)[:, None], -1.0, axis=1)
        count, asked = min(self.excluded, values - 1), np.zeros((people, values), dtype=np.bool_)
        if count:
            np.put_along_axis(asked, np.argpartition(-worth, count - 1, axis=1)[:, :count], True, axis=1)
        return asked


_UNTRIED = -1.0
"""In place of the belief in somebody of whom the attacker knows the value without the release."""


@dataclass(frozen=True)
class Skewness(Checked):
    """The skewness attack.

    Parameters
    ----------
    gain
        How many times likelier than in the whole release a value must be among the records that fit a person before the
        attacker claims it; above 1.

    Raises
    ------
    PolicyError
        When the gain is not such a number.

    References
    ----------
    N. Li, T. Li, S. Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and ℓ-diversity", ICDE 2007,
    section 3.
    """

    name: ClassVar[str] = "skewness"
    kinds: ClassVar[frozenset[str]] = TELLING
    needs: ClassVar[tuple[str, ...]] = ("sensitive",)

    gain: Annotated[float, Limit(1, above=True)] = 3.0

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute."""
        return tuple(
            _result_of(
                target,
                name,
                self._claims,
                attack=self.name,
                knows="everybody's quasi-identifying values, and who is in the data",
                goal=f"whose {name} is the one that is at least {self.gain:g} times likelier among those who fit",
                helps="t-closeness or β-likeness, which keep every class near the whole table",
            )
            for name in sensitive_of(target.published)
        )

    def _claims(self, known: Posterior, own: OwnValues) -> _Claims:
        truth = known.codes_of(own.column)
        usual = known.usual
        gains = known.shares / np.where(usual > 0, usual, 1)
        claimed = gains.argmax(axis=1)
        highest = gains.max(axis=1)
        apart = np.abs(known.rows - known.prior).sum(axis=1)[known.candidates > 0] / 2
        figures = {"highest_gain": float(highest.max()), "farthest_from_the_whole": float(apart.max(initial=0.0))}
        chance = usual[np.arange(len(claimed)), claimed]
        return _Claims(highest >= self.gain - SURE, own.right(truth, claimed), chance, highest=figures)


@dataclass(frozen=True)
class Similarity(Checked):
    """The similarity attack.

    Parameters
    ----------
    level
        For sensitive attributes with a hierarchy: the attacker claims a node of this level (1 is the one above single
        values) if it holds the values of all records that fit.
    width
        For numbers and dates without a hierarchy: the attacker claims a range if the values of all records that fit lie
        within this share of the range of the whole release; above 0, at most 1.

    Raises
    ------
    PolicyError
        With every wrong option.

    References
    ----------
    N. Li, T. Li, S. Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and ℓ-diversity", ICDE 2007,
    section 3.
    """

    name: ClassVar[str] = "similarity"
    kinds: ClassVar[frozenset[str]] = TELLING
    needs: ClassVar[tuple[str, ...]] = ("sensitive",)

    level: Annotated[int, Limit(1)] = 1
    width: Share = 0.1

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute whose values can be near each other."""
        results = []
        for name in sensitive_of(target.published):
            described = target.original.schema.sensitive.get(name)
            if described is not None and described.hierarchy is not None:
                nodes = self._nodes(target, name, described.hierarchy)
                claim_in_words = f"within one node of level {self.level}"
                results.append(self._result(target, name, partial(_in_one_node, nodes), claim_in_words))
            elif is_measured(target.original.kinds[name]):
                claim_in_words = f"within {100 * self.width:g} % of its range"
                results.append(self._result(target, name, partial(_in_one_range, self.width), claim_in_words))
        if not results:
            raise PolicyError(
                "similarity: needs a sensitive attribute with numbers, dates or a hierarchy; other values are near "
                "none but themselves, which is homogeneity"
            )
        return tuple(results)

    def _result(self, target: Target, name: str, claim: partial[_Claims], claim_in_words: str) -> AttackResult:
        return _result_of(
            target,
            name,
            claim,
            attack=self.name,
            knows=f"everybody's quasi-identifying values, who is in the data, and which values of {name} are near",
            goal=f"whose {name} was told to {claim_in_words}",
            helps="t-closeness with the distance of ordered values or of a hierarchy, which counts near values as near",
        )

    def _nodes(self, target: Target, name: str, described: HierarchySpecification) -> dict[str | None, str]:
        """Return the node above each value that anybody has."""
        tables = [target.original, *([] if target.control is None else [target.control])]
        texts = pl.concat([text_of(table.frame[name]) for table in tables]).drop_nulls().unique().sort()
        try:
            hierarchy = described.build(texts, name=name)
        except SfumatoError as error:
            raise PolicyError(*(f"similarity: {problem}" for problem in error.problems)) from None
        if self.level >= len(hierarchy.levels):
            raise PolicyError(f"similarity, level: the hierarchy of {name!r} has levels up to {hierarchy.height}")
        node_of, labels = hierarchy.node_of, hierarchy.levels[self.level].labels
        return {label: labels[node_of[self.level, leaf]] for leaf, label in enumerate(hierarchy.leaves)}


def _in_one_node(nodes: dict[str | None, str], known: Posterior, own: OwnValues) -> _Claims:
    """Claim the node that holds every value of those who fit; a value without a node is one of its own."""
    # A missing value has no node above it; the number of a value that was never published is none of these.
    numbers = {label: number for number, label in enumerate(dict.fromkeys(nodes.values()))}
    missing = len(numbers)
    node_of = np.array([numbers[nodes[value]] if value in nodes else missing for value in known.values])
    truth = np.array([numbers[nodes[text]] if text in nodes else missing for text in text_of(own.column).to_list()])
    shares = known.summed(node_of, missing + 1)
    prior = np.array([known.prior[node_of == node].sum() for node in range(missing + 1)])
    return replace(_likeliest(known, own, truth, shares, prior, 1.0), belief=None)


def _likeliest(
    known: Posterior,
    own: OwnValues,
    truth: NDArray[np.int64],
    shares: NDArray[np.float64],
    prior: NDArray[np.float64],
    threshold: float,
) -> _Claims:
    """Claim what is likeliest among those who fit from a threshold on; `prior` is of the whole release."""
    belief = shares.max(axis=1)
    several = np.full(own.people, prior.max() < 1 - SURE) if threshold == 1 else None
    right, guessed = (own.right(truth, one) for one in (shares.argmax(axis=1), np.full(own.people, prior.argmax())))
    return _Claims(belief >= threshold - SURE, right, _chance(known, prior.max()), guessed, several, belief)


def _in_one_range(width: float, known: Posterior, own: OwnValues) -> _Claims:
    """Claim the range of the values of those who fit, if it is narrow."""
    numbers = _numbers(pl.Series(known.values, dtype=pl.String), own.column.dtype)
    truth = _measured(own.column)
    published = numbers[known.prior > 0]
    if not np.isfinite(published).any():
        nobody = np.zeros(own.people)
        return _Claims(nobody > 0, nobody, nobody, several=nobody > 0)
    narrow = width * (np.nanmax(published) - np.nanmin(published))
    made, low, high = _narrowest(known, numbers)
    made &= high - low <= narrow + SURE
    right = own.any((low[own.person] <= truth) & (truth <= high[own.person]))
    start, share = _densest(numbers, known.prior, narrow)
    # A missing value is in no range; without one, the whole release may be a narrow range itself.
    spread = np.ptp(published) if np.isfinite(published).all() else np.inf
    several = np.full(own.people, spread > narrow + SURE)
    guessed = own.any((start <= truth) & (truth <= start + narrow + SURE))
    return _Claims(made, right, _chance(known, share), guessed, several=several)


def _chance(known: Posterior, share: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the chance that any of each person's records has what has this share of the release; float64 (m,)."""
    records = np.ones(len(known.shares)) if known.groups is None else known.groups.known
    return np.asarray(1 - (1 - share) ** records, dtype=np.float64)


def _narrowest(
    known: Posterior, numbers: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    """Return whether records fit each person, and both ends of their values; of several records, the narrowest."""
    groups = known.groups
    held = np.greater(known.shares if groups is None else groups.shares, 0)
    low = np.where(held, numbers, np.inf).min(axis=1)
    high = np.where(held, numbers, -np.inf).max(axis=1)
    found: NDArray[np.bool_] = np.logical_or.reduce(held, axis=1)
    if groups is None:
        return found, low, high
    order = np.lexsort((np.where(found, high - low, np.inf), groups.person))
    best = order[np.flatnonzero(np.append(True, np.diff(groups.person) != 0))]
    return found[best], low[best], high[best]


def _densest(numbers: NDArray[np.float64], prior: NDArray[np.float64], width: float) -> tuple[float, float]:
    """Return the start of the window that holds most of the whole release, and how much."""
    order = np.argsort(numbers)
    order = order[np.isfinite(numbers[order])]
    ends = np.searchsorted(numbers[order], numbers[order] + width + SURE, side="right")
    sums = np.concatenate([[0], np.cumsum(prior[order])])
    held = sums[ends] - sums[:-1]
    return float(numbers[order][held.argmax()]), min(1.0, float(held.max()))


def _numbers(texts: pl.Series, dtype: pl.DataType) -> NDArray[np.float64]:
    """Read published values as numbers; a missing value is not a number, and near nothing."""
    if dtype == pl.Date:
        return _measured(texts.str.to_date("%Y-%m-%d", strict=False))
    return _measured(texts.cast(pl.Float64, strict=False))


def _measured(column: pl.Series) -> NDArray[np.float64]:
    return column.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()


@dataclass(frozen=True, eq=False, repr=False)
class _Claims:
    """Claims about m people.

    `made`: whether anything is claimed about a person. `right`: chance that the claim is right. `chance`: that the best
    one by the whole release is right. `guessed`: 1 for whom that one is right, else 0; None if it hangs on the claim.
    `several`: whether guessing leaves several answers, of claims that leave no doubt; None if a claim may be wrong.
    `belief`: chance that the attacker gives to what would be claimed; None if people are not ranked by it. Each (m,).
    `highest`: Further figures; the highest over all people counts.
    """

    made: NDArray[np.bool_]
    right: NDArray[np.float64]
    chance: NDArray[np.float64]
    guessed: NDArray[np.float64] | None = None
    several: NDArray[np.bool_] | None = None
    belief: NDArray[np.float64] | None = None
    highest: Mapping[str, float] = field(default_factory=dict)

    @property
    def certainty(self) -> Certainty | None:
        """Count the claims that leave no doubt; None if others are made."""
        return None if self.several is None else Certainty.of(self.made, self.right, self.several)

    @property
    def tried(self) -> NDArray[np.bool_]:
        """Tell of whom the attacker does not know the value without the release."""
        return np.ones_like(self.made) if self.belief is None else self.belief > _UNTRIED

    def rate(self) -> Rate:
        """Score the claims that were made, beside what guessing knows of these people, or does for everybody."""
        # Of whom claims are made hangs on the release: how often guessing is right about these is no merit of guessing.
        chance = self.chance[self.made if self.made.any() else self.tried].mean()
        return Rate(float(self.right[self.made].sum()), int(self.made.sum()), max(float(chance), self.guessing))

    @property
    def guessing(self) -> float:
        """Return for how many of those who were tried the best guess is right."""
        return 0.0 if self.guessed is None or not self.tried.any() else float(self.guessed[self.tried].mean())

    def ranked(self) -> Beliefs | None:
        """Return the beliefs about everybody who was tried."""
        of = self.tried
        return None if self.belief is None else Beliefs(self.belief[of], self.right[of], self.chance[of])

    @classmethod
    def joined(cls, parts: Sequence[_Claims]) -> _Claims:
        """Put the claims about all people together."""
        highest = {name: max(part.highest[name] for part in parts) for name in parts[0].highest}
        columns = [[getattr(part, name) for part in parts] for name in cls.__dataclass_fields__ if name != "highest"]
        return cls(*(None if found[0] is None else np.concatenate(found) for found in columns), highest)  # type: ignore[arg-type, call-arg]


_Claim = Callable[[Posterior, OwnValues], _Claims]
"""What is claimed about some people, given what the release says about them and their true values (for scoring)."""


def claimed(target: Target, table: Table, sensitive: str, claim: _Claim) -> _Claims:
    """Make the claims about everybody in a table, a block of people at a time."""
    return _Claims.joined(
        [claim(posterior.known, posterior.own) for posterior in posteriors_of_people(target, table, sensitive)]
    )


def _result_of(
    target: Target,
    sensitive: str,
    claim: _Claim,
    *,
    attack: str,
    knows: str,
    goal: str,
    helps: str,
    bound: float | None = None,
) -> AttackResult:
    """Make a claim about everybody in the data and in the control group, and score it."""
    # The figure ``claimed`` is the share of the people in the data about whom something is claimed. `bound` is what a
    # promise leaves the belief in one person's value, if it leaves anything.
    inside = claimed(target, target.original, sensitive, claim)
    outside = None if target.control is None else claimed(target, target.control, sensitive, claim)
    figures = {"claimed": float(inside.made.mean()), **inside.highest}
    figures |= {} if outside is None else {"claimed_of_control": float(outside.made.mean())}
    people, others = inside.ranked(), None if outside is None else outside.ranked()
    guessing = inside.guessing, 0.0 if outside is None else outside.guessing
    curve = None if people is None else draw_curve(people, others, None, guessing=guessing, bound=bound, claims=True)
    return AttackResult(
        attack,
        knows,
        goal,
        inside.rate(),
        None if outside is None else outside.rate(),
        figures,
        (),
        helps,
        allowed=bound,
        certainty=inside.certainty,
        curve=curve,
    )
