"""Attackers who learn sensitive values from a release of any kind, and the attack that they make.

All that naive Bayes needs is, for each quasi-identifying attribute, the expected number of published records with a
value of it and a sensitive value. A generalized record counts in parts for all values that its label covers; in a
bucket, values in different columns are paired with each other alike. The trees are scikit-learn's, an optional
dependency. Beside both stands somebody who has not seen the release, but knows others like the people in the data.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import Form
from sfumato.errors import PolicyError
from sfumato.evaluation.attacks.original_values import (
    ExactPart,
    LabelSpread,
    TableCells,
    distinct_people,
    exact_parts,
    number_alike,
    number_texts,
    shared_names,
    table_cells,
    unread_notes,
)
from sfumato.evaluation.attacks.people import Cohort, cohort_of, generator_of, nothing_shared
from sfumato.evaluation.attacks.placement import sum_by_code
from sfumato.evaluation.attacks.posterior import (
    OwnValues,
    blocks_of_people,
    peoples_posterior,
    posterior_blocks,
    sensitive_of,
)
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.verdicts import Beliefs, allowed_guess, draw_curve
from sfumato.evaluation.utility.joint import drawn_records, read_joint
from sfumato.evaluation.utility.queries import AttributeDomain, Floats, domains_of
from sfumato.kernels.grouping import first_records
from sfumato.options import Checked, Limit
from sfumato.published import MarginalTables, Published, PublishedTable, RandomizedTable
from sfumato.published.apart import COUNT
from sfumato.rates import Rate
from sfumato.recoding.choice import Recoding
from sfumato.table.encoding import encode
from sfumato.table.header import exactly
from sfumato.table.schema import text_of
from sfumato.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Answers:
    """Possible answers, numbered from 0.

    `code_of`: Code of each published value; None is the missing value. `edges`: If answers are ranges of numbers: the
    first number of each range except the lowest.
    """

    size: int
    code_of: Mapping[str | None, int]
    edges: NDArray[np.float64] | None

    @classmethod
    def of(cls, values: pl.Series, records: NDArray[np.float64], *, numeric: bool, ranges: int) -> Answers:
        """Take each published value as an answer, or equally filled ranges of more than `ranges` numbers."""
        texts, codes = number_texts(values)
        if not numeric or len(texts) <= ranges:
            return cls(len(texts), {text: code for code, text in enumerate(texts)}, None)
        numbers = _numbers(pl.Series(texts, dtype=pl.String))
        edges = _edges(numbers, sum_by_code(codes, records, len(texts)), ranges)
        ranks = _ranks(numbers, edges)
        return cls(len(edges) + 2, dict(zip(texts, ranks.tolist(), strict=True)), edges)

    def codes(self, column: pl.Series) -> NDArray[np.int64]:
        """Return the answer that is right for each value of an original column, `_NOT_PUBLISHED` if none is."""
        if self.edges is not None:
            return _ranks(_numbers(column), self.edges)
        return np.array([self.code_of.get(text, _NOT_PUBLISHED) for text in text_of(column).to_list()], dtype=np.int64)

    def codes_of_texts(self, texts: tuple[str | None, ...]) -> NDArray[np.int64]:
        """Return the answer that stands for each published value; any answer for a value that no record has."""
        return np.array([self.code_of.get(text, 0) for text in texts], dtype=np.int64)


def usual_share(truth: NDArray[np.int64], person: NDArray[np.int64]) -> float:
    """Return the share of the people whose right answer is the most frequent one: the best possible guess.

    truth, person : int64 (n,), the right answer of each record, and whose it is; an answer counts once for each person.
    """
    pairs = np.unique(np.column_stack([person, truth]), axis=0)
    had = pairs[pairs[:, 1] >= 0, 1]
    return float(np.bincount(had, minlength=1).max() / max(1, len(np.unique(person))))


def _numbers(column: pl.Series) -> NDArray[np.float64]:
    return column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()


def _edges(numbers: NDArray[np.float64], records: NDArray[np.float64], ranges: int) -> NDArray[np.float64]:
    is_number = np.isfinite(numbers)
    order = np.argsort(numbers[is_number])
    rising, below = numbers[is_number][order], np.cumsum(records[is_number][order])
    cuts = below[-1] * np.arange(1, ranges) / ranges
    return np.unique(rising[np.minimum(np.searchsorted(below, cuts, side="right"), len(rising) - 1)])


def _ranks(numbers: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the range of each number; anything that is not a number has an answer of its own, the last."""
    return np.where(np.isfinite(numbers), np.searchsorted(edges, numbers, side="right"), len(edges) + 1)


_NOT_PUBLISHED = -1
"""Code of a value that no answer stands for."""


_BINS = 32
"""Equally filled ranges in which an attribute of many numbers is counted."""


@dataclass(frozen=True, eq=False, repr=False)
class NaiveBayes:
    """The trained classifier, and the people to judge: records with each answer, and with value and answer; codes."""

    answers: Answers
    prior: NDArray[np.float64]
    counts: tuple[NDArray[np.float64], ...]
    codes: tuple[NDArray[np.int64], ...]

    def shares(self, rows: NDArray[np.integer] | slice) -> NDArray[np.float64]:
        """Return how likely each answer is for some people; chances are drawn to the value's share by one record."""
        smoothed = self.prior + 1 / max(1, len(self.prior))
        logs = np.tile(np.log(smoothed / smoothed.sum()), (len(self.codes[0][rows]), 1))
        for counts, codes in zip(self.counts, self.codes, strict=True):
            chances = _log_chances(counts, self.prior)
            logs += np.vstack([chances, np.zeros(chances.shape[1])])[codes[rows]]
        logs -= logs.max(axis=1, keepdims=True)
        shares = np.exp(logs)
        result: NDArray[np.float64] = shares / shares.sum(axis=1, keepdims=True)
        return result


def naive_bayes(published: Published, people: Table, sensitive: str, *, recoding: Recoding, ranges: int) -> NaiveBayes:
    """Train on a release of any kind and read the people to judge; O((n + codes · a) · q) for n records."""
    numeric = people.frame.schema[sensitive].is_numeric()
    if isinstance(published, PublishedTable):
        return _of_labels(published, people, sensitive, recoding, numeric, ranges)
    return _of_pieces(exact_parts(published), people, sensitive, numeric, ranges)


def _of_labels(
    published: PublishedTable, people: Table, sensitive: str, recoding: Recoding, numeric: bool, ranges: int
) -> NaiveBayes:
    names = shared_names(published, people, sensitive=False)
    if not names:
        raise nothing_shared()
    cells = table_cells(published, people, names, recoding, tallied=sensitive)
    column = published.data[sensitive]
    answers = Answers.of(column, np.ones(len(column)), numeric=numeric, ranges=ranges)
    learnt = [
        _binned(_by_answer(cells, spread, answers), spread.mass, each.codes.astype(np.int64), each.attribute.is_numeric)
        for spread, each in zip(cells.spreads, cells.known, strict=True)
    ]
    prior = sum_by_code(
        answers.codes_of_texts(cells.publication.values), cells.publication.totals.astype(np.float64), answers.size
    )
    return NaiveBayes(answers, prior, tuple(counts for counts, _ in learnt), tuple(codes for _, codes in learnt))


def _by_answer(cells: TableCells, spread: LabelSpread, answers: Answers) -> NDArray[np.float64]:
    """Spread the records of each answer over the codes of one attribute: float64 (d, a)."""
    publication = cells.publication
    class_of = np.repeat(np.arange(len(publication.sizes)), np.diff(publication.starts))
    label, labels = spread.label_of[class_of], len(spread.cover)
    answer_of = answers.codes_of_texts(publication.values)[publication.value_of]
    held = sum_by_code(label * answers.size + answer_of, publication.counts, labels * answers.size)
    per_label = held.reshape(labels, answers.size)
    return np.column_stack([spread.over_codes(per_label[:, answer]) for answer in range(answers.size)])


def _of_pieces(pieces: tuple[ExactPart, ...], people: Table, sensitive: str, numeric: bool, ranges: int) -> NaiveBayes:
    holding = next(piece for piece in pieces if sensitive in piece.label_of)
    column = holding.frame[holding.label_of[sensitive]]
    answers = Answers.of(column, holding.records, numeric=numeric, ranges=ranges)
    counts, codes = [], []
    for name in people.schema.quasi_identifying:
        with_both = [piece for piece in pieces if {name, sensitive} <= piece.label_of.keys()]
        with_it = [piece for piece in pieces if name in piece.label_of]
        if name not in people.frame.columns or not with_it:
            continue
        piece = with_both[0] if with_both else with_it[0]
        rows, held = number_alike(piece.frame[piece.label_of[name]], people.frame[name])
        size = int(max(rows.max(initial=0), held.max(initial=0))) + 1
        if with_both:
            answer = answers.codes(piece.frame[piece.label_of[sensitive]])
            table = _crossed(rows, answer, piece.records, size, answers.size)
        else:
            answer = answers.codes(column)
            table = _paired(piece, rows, size, holding, answer, answers.size)
        told = _binned(table, table.sum(axis=1), held, people.frame.schema[name].is_numeric())
        counts.append(told[0])
        codes.append(told[1])
    if not counts:
        raise nothing_shared()
    prior = sum_by_code(answers.codes(column), holding.records, answers.size)
    return NaiveBayes(answers, prior, tuple(counts), tuple(codes))


def _crossed(
    rows: NDArray[np.int64], answer: NDArray[np.int64], records: NDArray[np.float64], size: int, answers: int
) -> NDArray[np.float64]:
    return sum_by_code(rows * answers + answer, records, size * answers).reshape(size, answers)


def _paired(
    piece: ExactPart, rows: NDArray[np.int64], size: int, holding: ExactPart, answer: NDArray[np.int64], answers: int
) -> NDArray[np.float64]:
    """Pair every value in a bucket with every answer in it: float64 (size, answers)."""
    left = _in_buckets(piece.bucket, rows, piece.records)
    right = _in_buckets(holding.bucket, answer, holding.records)
    in_bucket = pl.DataFrame({"bucket": holding.bucket, "n": holding.records}).group_by("bucket").agg(pl.sum("n"))
    pairs = (
        left.join(right, on="bucket", suffix="_answer")
        .join(in_bucket, on="bucket")
        .group_by("code", "code_answer")
        .agg((pl.col("records") * pl.col("records_answer") / pl.col("n")).sum().alias("expected"))
    )
    table = np.zeros((size, answers))
    # Sums in another order differ in the last digits, which must not decide between answers.
    table[pairs["code"].to_numpy(), pairs["code_answer"].to_numpy()] = pairs["expected"].to_numpy().round(10)
    return table


def _in_buckets(bucket: NDArray[np.int64], code: NDArray[np.int64], records: NDArray[np.float64]) -> pl.DataFrame:
    frame = pl.DataFrame({"bucket": bucket, "code": code, "records": records})
    return frame.group_by("bucket", "code").agg(pl.sum("records"))


def _binned(
    counts: NDArray[np.float64], mass: NDArray[np.float64], codes: NDArray[np.int64], ordered: bool
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Add up the counts of the values in each range, and read the people's codes as ranges."""
    bin_of = bins_of(mass, ordered=ordered)
    binned = np.zeros((int(bin_of.max()) + 1, counts.shape[1]))
    np.add.at(binned, bin_of, counts)
    return binned, np.append(bin_of, -1)[codes]


def bins_of(mass: NDArray[np.float64], *, ordered: bool) -> NDArray[np.int64]:
    """Return the range of each value: `_BINS` equally filled ones for many rising values, else one for each value.

    `mass`: float64 (d,): records with each value, at least one above 0.
    """
    if not ordered or len(mass) <= _BINS:
        return np.arange(len(mass))
    middle = np.cumsum(mass) - mass / 2
    bin_of: NDArray[np.int64] = np.minimum(_BINS * middle / mass.sum(), _BINS - 1).astype(np.int64)
    return bin_of


def _log_chances(counts: NDArray[np.float64], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of the chance of each value given each answer: float64 (d, a)."""
    held = counts.sum(axis=1)
    overall = (held + 1) / (held.sum() + len(held))
    chances: NDArray[np.float64] = np.log((counts + overall[:, None]) / (counts.sum(axis=0) + 1)[None, :])
    return chances


_MOST_CATEGORIES = 250
"""Most values of an attribute that trees take for categories; of more, their order counts."""


_ROUNDS, _LEAVES = 60, 8
"""Most rounds of boosting, and most leaves of a tree: what is published at random must not be learnt by heart."""


_DRAWS = 5
"""Possible tables behind a release that are learnt from together."""


_FEWEST_TO_STOP = 1000
"""Records from which on a tenth is kept aside, and boosting stops where it no longer gets better on them."""


@dataclass(frozen=True, eq=False, repr=False)
class BoostedTrees:
    """What trained trees say: `chances`, float64 (m, a), of each answer for each of m people, sums of 1."""

    answers: Answers
    chances: Floats

    def shares(self, rows: NDArray[np.integer] | slice) -> Floats:
        """Return how likely each answer is for some people: float64 (people, a)."""
        found: Floats = self.chances[rows]
        return found


def boosted_trees(
    published: Published,
    people: Table,
    sensitive: str,
    answers: Answers,
    *,
    recoding: Recoding,
    generator: np.random.Generator,
) -> BoostedTrees:
    """Train trees on a release and judge people by their quasi-identifying values.

    They learn from five possible tables behind the release: a generalized cell is an original value that it may stand
    for, drawn evenly, and parts of a bucket are combined at random. At most 60 rounds of trees with eight leaves. Cost
    O(60 · a · n · q).
    """
    boosting = _boosting()
    domains = domains_of(encode(people))
    joint = read_joint(published, domains, recoding)
    names = [name for name in people.schema.quasi_identifying if name in joint.spreads]
    tables = [drawn_records(joint, generator) for _ in range(_DRAWS)]
    labels = {name: np.concatenate([table[name] for table in tables]) for name in (*names, sensitive)}
    drawn = {name: joint.spreads[name].draw(labels[name], generator) for name in labels}
    truth = answers.codes(_texts(domains[sensitive], drawn[sensitive]))
    has_answer = truth >= 0
    chances = np.zeros((people.height, answers.size))
    if len(np.unique(truth[has_answer])) < 2:
        chances[:, truth[has_answer][0] if has_answer.any() else 0] = 1.0
        return BoostedTrees(answers, chances)
    model = boosting.HistGradientBoostingClassifier(
        categorical_features=[_is_category(domains[name]) for name in names],
        max_iter=_ROUNDS,
        max_leaf_nodes=_LEAVES,
        early_stopping=len(truth) >= _FEWEST_TO_STOP,
        n_iter_no_change=3,
        random_state=int(generator.integers(0, 1 << 31)),
    )
    train = np.column_stack([_column(domains[name], drawn[name]) for name in names])
    asked = np.column_stack([_column(domains[name], _own(domains[name])) for name in names])
    # More threads wait for each other on a machine that has other work.
    with warnings.catch_warnings(), import_module("threadpoolctl").threadpool_limits(1):
        # Answers that one record has are no mistake here.
        warnings.simplefilter("ignore")
        model.fit(train[has_answer], truth[has_answer])
        chances[:, model.classes_] = model.predict_proba(asked)
    return BoostedTrees(answers, chances)


def require_scikit_learn() -> None:
    """Raise PolicyError if scikit-learn is not installed."""
    _boosting()


def has_scikit_learn() -> bool:
    """Tell whether scikit-learn is installed."""
    return find_spec("sklearn") is not None


def _boosting() -> Any:
    try:
        return import_module("sklearn.ensemble")
    except ImportError:
        raise PolicyError(
            "attribute-inference: gradient boosting needs scikit-learn, which is not installed; install "
            "sfumato[utility], or take naive-bayes"
        ) from None


def _is_category(domain: AttributeDomain) -> bool:
    return domain.numbers is None and domain.attribute.size < _MOST_CATEGORIES


def _own(domain: AttributeDomain) -> NDArray[np.generic]:
    """Return the values of the people: numbers (NaN: missing), or codes."""
    codes = domain.codes.astype(np.int64)
    return codes if domain.numbers is None else np.append(domain.numbers, np.nan)[codes]


def _column(domain: AttributeDomain, values: NDArray[np.generic]) -> Floats:
    """Return values as trees take them; NaN if they are missing."""
    found = values.astype(np.float64)
    return np.where(found >= domain.attribute.size, np.nan, found) if domain.numbers is None else found


def _texts(domain: AttributeDomain, values: NDArray[np.generic]) -> pl.Series:
    """Return drawn values as they are in an original column."""
    labels = pl.Series([*domain.texts, None], dtype=pl.String)
    missing = len(domain.texts)
    if domain.numbers is None:
        return labels.gather(np.minimum(values.astype(np.int64), missing))
    place_of = {number: place for place, number in enumerate(domain.numbers.tolist())}
    return labels.gather([place_of.get(number, missing) for number in values.astype(np.float64).tolist()])


def known_from_others(
    cohort: Cohort, sensitive: str, *, ranges: int, trees: np.random.Generator | None = None
) -> Beliefs | None:
    """Train on the control group with its true values, naive Bayes or `trees`, and judge the people in the data.

    The learner that attackers train on a release, on values as they are. None without a control group. Cost O((n + m ·
    a) · q).
    """
    if not cohort.outsiders:
        return None
    inside, outside = slice(0, cohort.members), slice(cohort.members, None)
    members = cohort.table.take(inside)
    others = as_it_is(cohort.table.take(outside), sensitive)
    model = naive_bayes(others, members, sensitive, recoding=Recoding(), ranges=ranges)
    told = cohort.known.places[cohort.known.places < cohort.members]
    owner, truth = cohort.known.person_of[: cohort.members], model.answers.codes(members.frame[sensitive])
    if trees is None:
        return beliefs_of(model.shares(told), owner[told], truth, owner)
    # Who is judged comes first; the others' values are read by the same codes.
    learnt = boosted_trees(others, cohort.table, sensitive, model.answers, recoding=Recoding(), generator=trees)
    return beliefs_of(learnt.shares(told), owner[told], truth, owner)


def beliefs_of(
    shares: NDArray[np.float64], owner: NDArray[np.int64], truth: NDArray[np.int64], person: NDArray[np.int64]
) -> Beliefs:
    """Name the likeliest answer of each person by the beliefs in known records; right if any record has it."""
    people = int(person.max(initial=-1)) + 1
    sums, none = np.zeros((people, shares.shape[1])), np.ones((people, shares.shape[1]))
    np.add.at(sums, owner, shares)
    np.multiply.at(none, owner, 1 - shares)
    named = sums.argmax(axis=1)
    right = np.zeros(people)
    right[person[truth == named[person]]] = 1
    return Beliefs(1 - np.take_along_axis(none, named[:, None], axis=1)[:, 0], right)


def as_it_is(people: Table, sensitive: str) -> RandomizedTable:
    """Take the records of some people for a release that changed nothing."""
    names = tuple(name for name in people.schema.quasi_identifying if name in people.frame.columns)
    return RandomizedTable(people.frame, names, (sensitive,))


@dataclass(frozen=True)
class AttributeInference(Checked):
    """Prediction of sensitive values by a classifier that was trained on the release.

    The classifier is a Bayesian rule: a prediction from everything published counts as much as `strength` records, and
    is corrected by the sensitive values of the records that fit the person. If no record fits, the prediction decides;
    if many fit, their majority does.

    Parameters
    ----------
    classifier
        What predicts: ``"naive-bayes"``, or ``"gradient-boosting"``, trees that find what several attributes tell
        together; these need scikit-learn and take longer.
    strength
        Number of records that the prediction counts as, above 0.
    ranges
        A numeric sensitive attribute with more distinct values than this is predicted in as many equally filled ranges,
        2 or more.

    Raises
    ------
    PolicyError
        With every wrong option; when scikit-learn is needed and not installed.

    Notes
    -----
    *Played.* For each sensitive attribute, everybody's value is predicted from their quasi-identifying values. By
    guessing: everybody is said to have the value that is most frequent among them. The control group shows how well the
    same classifier does on people who are not in the data; what it learns about them is knowledge about the population,
    not a fault of the release.

    *People with several records.* Each known record is predicted, and the value named that is most likely to be among
    the person's, as if records were independent. It is right if any record of theirs has it.

    Cost O((n + m) · q + m · v) for m people and v sensitive values, plus that of finding the records that fit, and with
    trees that of :func:`sfumato.evaluation.attacks.learners.boosted_trees`.

    References
    ----------
    The measure is that of M. Giomi and others, "A unified framework for quantifying privacy risk in synthetic data",
    PoPETs 2023 (success beyond that on a control group); naive Bayes as an attacker against anonymized tables goes back
    to D. Kifer, "Attacks on privacy and deFinetti's theorem", SIGMOD 2009, and G. Cormode, "Personal privacy vs
    population privacy", KDD 2011. The correction by the fitting records is an addition here.
    """

    name: ClassVar[str] = "attribute-inference"
    kinds: ClassVar[frozenset[str]] = frozenset(
        {"generalized-table", "bucketized-tables", "sliced-table", "marginal-tables", "randomized-table"}
    )
    needs: ClassVar[tuple[str, ...]] = ("sensitive",)

    strength: Annotated[float, Limit(0, above=True)] = 1.0
    ranges: Annotated[int, Limit(2)] = 20
    classifier: Literal["naive-bayes", "gradient-boosting"] = "naive-bayes"

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute."""
        if self.classifier == "gradient-boosting":
            require_scikit_learn()
        cohort = cohort_of(target)
        return tuple(self._played(target, cohort, name) for name in sensitive_of(target.published))

    def _played(self, target: Target, cohort: Cohort, sensitive: str) -> AttackResult:
        model = naive_bayes(target.published, cohort.table, sensitive, recoding=target.recoding, ranges=self.ranges)
        truth = model.answers.codes(cohort.frame[sensitive])
        trees = generator_of(target, _SALT) if self.classifier == "gradient-boosting" else None
        learnt = model if trees is None else _boosted(target, cohort, sensitive, model, trees)
        of_all = self._right if cohort.known.alone else self._right_of_people
        members, others, alone = of_all(target, cohort, sensitive, learnt, truth)
        is_member = np.arange(len(truth)) < cohort.members
        usual = _usual(truth, cohort, is_member)
        usual_of_others = _usual(truth, cohort, ~is_member) if others.people else 0.0
        population = known_from_others(cohort, sensitive, ranges=self.ranges, trees=trees)
        allowed = allowed_guess(target.models_of_victims, sensitive)
        return AttackResult(
            attack=self.name,
            knows="everybody's quasi-identifying values, and who is in the data",
            goal=f"whose {sensitive} was predicted" + ("" if model.answers.edges is None else " to the right range"),
            success=Rate(members.right.sum(), members.people, usual),
            control=Rate(others.right.sum(), others.people, usual_of_others) if others.people else None,
            figures={"answers": model.answers.size, f"{self.classifier.replace('-', '_')}_alone": alone},
            notes=(*_notes(truth), *unread_notes(target.published, cohort.frame)),
            helps="t-closeness or l-diversity with larger classes, so that few records tell nothing about one person",
            allowed=allowed,
            curve=draw_curve(members, others, population, guessing=(usual, usual_of_others), bound=allowed),
        )

    def _right(
        self, target: Target, cohort: Cohort, sensitive: str, model: NaiveBayes | BoostedTrees, truth: NDArray[np.int64]
    ) -> _Predicted:
        """Predict the value of each record."""
        people, who_of = distinct_people(cohort.table)
        named, alone = np.zeros(people.height, dtype=np.int64), np.zeros(people.height, dtype=np.int64)
        belief = np.zeros(people.height)
        published, recoding = _read_nearest(target)
        blocks = posterior_blocks(published, people, sensitive=sensitive, recoding=recoding)
        one_of = first_records(who_of, people.height)
        for rows, known in blocks:
            learnt = model.shares(one_of[rows])
            fitting = known.shares * known.candidates[:, None]
            tallies = _summed(fitting, model.answers.codes_of_texts(known.values), model.answers.size)
            chances = tallies + self.strength * learnt
            named[rows], alone[rows] = chances.argmax(axis=1), learnt.argmax(axis=1)
            belief[rows] = chances.max(axis=1) / chances.sum(axis=1)
        return _split(cohort, belief[who_of], named[who_of] == truth, alone[who_of] == truth)

    def _right_of_people(
        self, target: Target, cohort: Cohort, sensitive: str, model: NaiveBayes | BoostedTrees, truth: NDArray[np.int64]
    ) -> _Predicted:
        """Predict a value that one of the records of each person has."""
        named: list[NDArray[np.bool_]] = []
        alone: list[NDArray[np.bool_]] = []
        belief: list[NDArray[np.float64]] = []
        published = _as_marginal(target.published)
        for some, places in blocks_of_people(cohort.known, model.answers.size):
            part, place_of = cohort.table.take(places), places[some.places]
            known = peoples_posterior(published, part, some, sensitive, target.recoding, together=target.rows.together)
            groups = known.groups
            assert groups is not None
            learnt = model.shares(place_of)
            fitting = (groups.shares * groups.candidates[:, None])[groups.group_of]
            tallies = _summed(fitting, model.answers.codes_of_texts(known.values), model.answers.size)
            chances = tallies + self.strength * learnt
            chances /= chances.sum(axis=1, keepdims=True)
            own = OwnValues(some.person_of, part.frame[sensitive], some.people)
            of_any = [_once(each, some.owners, some.people) for each in (chances, learnt)]
            for found, each in zip((named, alone), of_any, strict=True):
                found.append(own.right(truth[places], each.argmax(axis=1)) > 0)
            belief.append(of_any[0].max(axis=1))
        return _split(cohort, np.concatenate(belief), np.concatenate(named), np.concatenate(alone))


def _boosted(
    target: Target, cohort: Cohort, sensitive: str, model: NaiveBayes, generator: np.random.Generator
) -> BoostedTrees:
    published, recoding = target.published, target.recoding
    return boosted_trees(published, cohort.table, sensitive, model.answers, recoding=recoding, generator=generator)


_Predicted = tuple[Beliefs, Beliefs, float]
"""Of people in the data, and of others; and the share of the former for whom the classifier alone would be right."""

_SALT = 0x6B


def _split(
    cohort: Cohort, belief: NDArray[np.float64], named: NDArray[np.bool_], alone: NDArray[np.bool_]
) -> _Predicted:
    members, others = (
        Beliefs(each, right) for each, right in zip(cohort.both(belief), cohort.both(named.astype(float)), strict=True)
    )
    return members, others, float(cohort.both(alone)[0].mean())


def _once(chances: NDArray[np.float64], owner: NDArray[np.int64], people: int) -> NDArray[np.float64]:
    """Return the chance that any record of each person has each value; float64 (r, a) to (people, a)."""
    missed = np.ones((people, chances.shape[1]))
    np.multiply.at(missed, owner, 1 - chances)
    return 1 - missed


def _usual(truth: NDArray[np.int64], cohort: Cohort, some: NDArray[np.bool_]) -> float:
    """Return the share of some people, given by their records, who have the value that most of them have."""
    return usual_share(truth[some], cohort.known.person_of[some])


def _read_nearest(target: Target) -> tuple[Published, Recoding]:
    """Return how records that fit are looked for: of values drawn inside classes, the nearest ones."""
    published = target.published
    if isinstance(published, RandomizedTable) and published.classes:
        roles = published.quasi_identifying, published.sensitive
        return PublishedTable(published.data, *roles), Recoding(numeric=Form.MEAN)
    return _as_marginal(published), target.recoding


def _as_marginal(published: Published) -> Published:
    """Convert a randomized table to a single marginal; leave other kinds unchanged."""
    if not isinstance(published, RandomizedTable):
        return published
    names = (*published.quasi_identifying, *published.sensitive)
    counted = published.data.group_by(exactly(*names)).agg(pl.len().alias(COUNT))
    return MarginalTables((counted,), (names,), published.sensitive)


def _summed(shares: NDArray[np.float64], code_of: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Add up the published values that each answer stands for."""
    if shares.shape[1] == size and (code_of == np.arange(size)).all():
        return shares
    summed = np.zeros((len(shares), size))
    for place, code in enumerate(code_of):
        summed[:, code] += shares[:, place]
    return summed


def _notes(truth: NDArray[np.int64]) -> tuple[str, ...]:
    missed = int((truth < 0).sum())
    notes = [f"{missed} people have a value that was not published, which cannot be predicted"] if missed else []
    if len(np.unique(truth)) == 1:
        notes.append("everybody has the same value, so that there is nothing to learn about anybody")
    return tuple(notes)
