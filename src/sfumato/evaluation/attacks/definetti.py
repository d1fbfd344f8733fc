"""The deFinetti attack: what all buckets together disclose about the values inside one (Kifer, 2009).

Which rows of a bucket have which of its sensitive values is learnt by expectation maximization with a naive Bayes
model: the chance of an attribute's value given the sensitive value is taken from all rows, each counted for the
sensitive values of its bucket by its chances; the chances of a row follow from the model and from the sensitive values
of the bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.classes.partition import group_records
from sfumato.errors import InputError
from sfumato.evaluation.attacks.learners import (
    Answers,
    NaiveBayes,
    as_it_is,
    beliefs_of,
    bins_of,
    boosted_trees,
    has_scikit_learn,
    known_from_others,
    require_scikit_learn,
    usual_share,
)
from sfumato.evaluation.attacks.minimality import ClassesAgain, classes_again
from sfumato.evaluation.attacks.original_values import (
    ExactPart,
    exact_parts,
    number_alike,
    number_part_rows,
    unread_notes,
)
from sfumato.evaluation.attacks.people import Cohort, cohort_of, generator_of, nothing_shared
from sfumato.evaluation.attacks.placement import place_people, sum_by_code
from sfumato.evaluation.attacks.posterior import sensitive_of
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.verdicts import SURE, Beliefs, allowed_guess, draw_curve
from sfumato.kernels.grouping import first_records
from sfumato.kernels.linking import matching_chances
from sfumato.options import Checked, Limit
from sfumato.published import PublishedTable
from sfumato.rates import Rate
from sfumato.recoding.choice import Recoding
from sfumato.table.header import columns_of
from sfumato.table.table import Table


@dataclass(frozen=True)
class DeFinetti(Checked):
    """The deFinetti attack on buckets and slices.

    Parameters
    ----------
    rounds
        Rounds of learning, 1 or more.
    exact
        Buckets with at most this many states (the product of count + 1 over their sensitive values) are computed
        exactly, larger ones approximately; 1 or more.
    ranges
        A numeric sensitive attribute with more distinct values than this is guessed in as many equally filled ranges,
        2 or more.

    Raises
    ------
    PolicyError
        With every wrong option.

    Notes
    -----
    *Idea.* A bucket with l different sensitive values seems to leave chances of 1/l each. But if smokers have cancer
    more often in the data, then in a bucket with a smoker, a non-smoker, a cancer and a flu, the smoker is the likelier
    one to have cancer; and how often smokers have it can be learnt from all buckets together. Records are exchangeable,
    not random worlds, which by de Finetti's theorem makes the buckets samples of one unknown law.

    *Played.* A naive Bayes model of the quasi-identifying values given the sensitive one is learnt by expectation
    maximization, starting from the buckets' own shares (:mod:`sfumato.evaluation.attacks.definetti`); in a sliced
    table each column apart from the sensitive attribute has links of its own, and attributes in its column are used as
    they are. Everybody in the data is looked up by their quasi-identifying values. Rows that agree are treated alike,
    and the likeliest value is named; equally likely ones share.

    *By guessing*: the better of the best guess from the buckets alone (random worlds, figure ``random_worlds``, at most
    1/l if the release is l-diverse) and the most frequent value (figure ``prior``). The control group is judged by
    the naive Bayes model alone, because its people are in no bucket: what is learnt about them is knowledge of the
    population.

    *Departures.* Kifer samples permutations, assigns the likeliest one, and trains again; here the chances over all
    permutations are used, exactly where buckets are small, scaled to the right sums (Sinkhorn) in large ones. A row is
    left out when its own chances are computed. Numbers are counted in 32 equally filled ranges. If an attribute
    is in several columns of a slice, each copy counts.

    *People with several records.* What is believed of each known record adds up; the value named is right if any record
    of the person has it.

    Cost O(rounds · e · attributes) for e pairs of a row and a value of its bucket.

    References
    ----------
    D. Kifer, "Attacks on privacy and deFinetti's theorem", SIGMOD 2009.
    """

    name: ClassVar[str] = "definetti"
    kinds: ClassVar[frozenset[str]] = frozenset({"bucketized-tables", "sliced-table"})
    needs: ClassVar[tuple[str, ...]] = ("sensitive",)

    rounds: Annotated[int, Limit(1)] = 10
    exact: Annotated[int, Limit(1)] = 256
    ranges: Annotated[int, Limit(2)] = 20

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute."""
        cohort, pieces = cohort_of(target), exact_parts(target.published)
        notes = unread_notes(target.published, cohort.frame)
        return tuple(
            self._played(pieces, cohort, name, notes, allowed_guess(target.models_of_victims, name))
            for name in sensitive_of(target.published)
        )

    def _played(
        self,
        pieces: tuple[ExactPart, ...],
        cohort: Cohort,
        sensitive: str,
        notes: tuple[str, ...],
        allowed: float | None,
    ) -> AttackResult:
        buckets = _read_buckets(pieces, cohort.table, sensitive, ranges=self.ranges)
        truth = buckets.answers.codes(cohort.frame[sensitive])
        inside, person = truth[: cohort.members], cohort.known.person_of[: cohort.members]
        told = cohort.known.places[cohort.known.places < cohort.members]
        guesses = _guess(buckets, told, person[told], rounds=self.rounds, exact=self.exact)
        right, by_chance = (guesses.right(each, person, inside) for each in (guesses.learnt, guesses.worlds))
        usual = usual_share(inside, person)
        members = Beliefs(guesses.belief(cohort.insiders), right, by_chance)
        others, usual_of_others = _of_others(guesses.model, cohort, truth) if cohort.outsiders else (None, 0.0)
        population = known_from_others(cohort, sensitive, ranges=self.ranges)
        return AttackResult(
            attack=self.name,
            knows="everybody's quasi-identifying values, and who is in the data",
            goal=f"whose {sensitive} was guessed" + ("" if buckets.answers.edges is None else " to the right range"),
            success=Rate(float(right.sum()), cohort.insiders, max(float(by_chance.mean()), usual)),
            control=None if others is None else Rate(float(others.right.sum()), others.people, usual_of_others),
            figures={"random_worlds": float(by_chance.mean()), "prior": usual},
            notes=notes,
            helps="more sensitive values in each bucket, t-closeness of the buckets, or generalizing the values that "
            "the sensitive one depends on",
            allowed=allowed,
            curve=draw_curve(members, others, population, guessing=(usual, usual_of_others), bound=allowed),
        )


def _of_others(model: NaiveBayes, cohort: Cohort, truth: NDArray[np.int64]) -> tuple[Beliefs, float]:
    """Guess the likeliest value of outsiders by all that is known of them; also the share with the commonest value."""
    known = cohort.known
    others = known.places[known.places >= cohort.members]
    outside, person = truth[cohort.members :], known.person_of[cohort.members :] - cohort.insiders
    found = beliefs_of(model.shares(others), known.person_of[others] - cohort.insiders, outside, person)
    return found, usual_share(outside, person)


@dataclass(frozen=True)
class OthersAndRelease(Checked):
    """Guessing by who knows other people, and the release.

    Parameters
    ----------
    learner
        What learns from the others: ``"naive-bayes"``; ``"gradient-boosting"``, which needs scikit-learn; ``"best"``
        takes trees where they are installed.
    exact, ranges
        As for :class:`DeFinetti`.

    Raises
    ------
    PolicyError
        With every wrong option; when scikit-learn is needed and not installed.

    Notes
    -----
    *Played.* The control group plays a survey of the same population: the attacker knows its sensitive values, and
    learns how quasi-identifying values go with them. Inside a bucket, slice or class all assignments of its sensitive
    values to its people are weighed by that, exactly where there are few (:mod:`sfumato.kernels.linking`), scaled to
    the right sums in others. In a generalized table everybody's class is taken to be known where the algorithm, run
    again, makes the published classes. Where it does not, people are placed in the classes that fit them, and only
    classes that hold exactly the people placed in them are weighed. Of everybody else the learner guesses alone.

    Trees judge rows that have all attributes of a person, so in buckets and classes; the columns of a slice are learnt
    by naive Bayes. What deFinetti learns from the release itself is left out: on Adult it made guesses worse.

    *By guessing*: the better of the best guess from the buckets alone and the most frequent value. Beside each share
    stands the same learner without the release: over those of whom it is surest itself, which the attacker must beat,
    and over the same people. The release tells such an attacker mostly of whom to be sure.
    Only the attacker that was played is meant: no useful release bounds what every outside knowledge tells.

    *People with several records.* As for :class:`DeFinetti`.

    Cost O(e · attributes) for e pairs of a row and a value of its bucket, and that of training.

    References
    ----------
    The assignment is that of D. Kifer, "Attacks on privacy and deFinetti's theorem", SIGMOD 2009; what is learnt comes
    from other people, as in B. Chen, K. LeFevre, R. Ramakrishnan, "Privacy skyline", VLDB 2007.
    """

    name: ClassVar[str] = "others-and-release"
    kinds: ClassVar[frozenset[str]] = frozenset({"bucketized-tables", "generalized-table", "sliced-table"})
    needs: ClassVar[tuple[str, ...]] = ("control", "sensitive")

    learner: Literal["best", "naive-bayes", "gradient-boosting"] = "best"
    exact: Annotated[int, Limit(1)] = 256
    ranges: Annotated[int, Limit(2)] = 20

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it for each sensitive attribute."""
        if self.learner == "gradient-boosting":
            require_scikit_learn()
        cohort, notes = cohort_of(target), unread_notes(target.published, target.original.frame)
        return tuple(self._played(target, cohort, name, notes) for name in sensitive_of(target.published))

    def _played(self, target: Target, cohort: Cohort, sensitive: str, notes: tuple[str, ...]) -> AttackResult:
        known = f"everybody's quasi-identifying values, who is in the data, and all about {cohort.outsiders:,} others"
        goal, allowed = f"whose {sensitive} was guessed", allowed_guess(target.models_of_victims, sensitive)
        pieces = _pieces_with_buckets(target, cohort, sensitive)
        if pieces is None:
            why = "no class holds just the people that fit it alone"
            return AttackResult(self.name, known, goal, Rate(0.0, 0, 0.0), notes=(*notes, why), unplayed=why)
        buckets = _read_buckets(pieces, cohort.table, sensitive, ranges=self.ranges)
        truth = buckets.answers.codes(cohort.frame[sensitive])
        inside, person = truth[: cohort.members], cohort.known.person_of[: cohort.members]
        told = cohort.known.places[cohort.known.places < cohort.members]
        trees = None if self.learner == "naive-bayes" or not has_scikit_learn() else generator_of(target, _SALT)
        shares = None if trees is None else _shares_of_trees(cohort, sensitive, buckets.answers, trees)
        others = np.flatnonzero((np.arange(len(truth)) >= cohort.members) & (truth >= 0))
        taught = _Taught(others, truth[others], shares)
        guesses = _guess(buckets, told, person[told], rounds=1, exact=self.exact, taught=taught)
        right, by_chance = (guesses.right(each, person, inside) for each in (guesses.learnt, guesses.worlds))
        usual = usual_share(inside, person)
        alone = known_from_others(cohort, sensitive, ranges=self.ranges, trees=trees)
        members = _or_alone(Beliefs(guesses.belief(cohort.insiders), right, by_chance), alone)
        return AttackResult(
            attack=self.name,
            knows=known,
            goal=goal + ("" if buckets.answers.edges is None else " to the right range"),
            success=Rate(float(members.right.sum()), cohort.insiders, max(float(by_chance.mean()), usual)),
            figures={
                "random_worlds": float(by_chance.mean()),
                "prior": usual,
                **({} if alone is None else {"others_alone": float(alone.right.mean())}),
            },
            notes=(f"learnt by {'naive Bayes' if trees is None else 'gradient-boosted trees'}", *notes),
            helps="more sensitive values in each bucket or class, and t-closeness",
            allowed=allowed,
            curve=draw_curve(
                members,
                None,
                alone,
                guessing=(usual, 0.0),
                bound=allowed,
                alone="the attacker learnt from them",
                beside_own=True,
            ),
        )


def _or_alone(members: Beliefs, alone: Beliefs | None) -> Beliefs:
    """Guess as who has not seen the release where it says nothing of somebody."""
    if alone is None:
        return members
    unknown = members.belief <= 0
    return Beliefs(
        np.where(unknown, alone.belief, members.belief), np.where(unknown, alone.right, members.right), members.guessed
    )


def _pieces_with_buckets(target: Target, cohort: Cohort, sensitive: str) -> tuple[ExactPart, ...] | None:
    """Split a release into pieces; of a generalized table, the people of its classes and their sensitive values."""
    published = target.published
    if not isinstance(published, PublishedTable):
        return exact_parts(published)
    people = cohort.frame[: cohort.members]
    known = target.remembered.once("classes", (published,), lambda: classes_again(published, target), people.height)
    if known is not None:
        return _known_pieces(published, people, known, sensitive)
    placement = place_people(published, people, target.original.schema, target.recoding)
    names = [each.attribute.name for each in placement.known]
    # The last two stand for whoever fits no class, or several.
    numbers = np.append(np.where(placement.filled, np.cumsum(placement.filled) - 1, -1), [-1, -1])
    row_class, record_class = numbers[placement.class_of], numbers[placement.publication.class_of]
    rows, records = np.flatnonzero(row_class >= 0), np.flatnonzero(record_class >= 0)
    if not len(rows):
        return None
    return (
        ExactPart(
            columns_of(people, names)[rows], dict(zip(names, names, strict=True)), row_class[rows], np.ones(len(rows))
        ),
        ExactPart(published.data[records], {sensitive: sensitive}, record_class[records], np.ones(len(records))),
    )


def _known_pieces(
    published: PublishedTable, people: pl.DataFrame, known: ClassesAgain, sensitive: str
) -> tuple[ExactPart, ...]:
    """Split a table of which everybody's class is known, as :func:`_pieces_with_buckets` does."""
    rows, records = np.flatnonzero(known.of_record >= 0), np.flatnonzero(known.of_row >= 0)
    own = {name: name for name in published.quasi_identifying if name in people.columns}
    return (
        ExactPart(columns_of(people, list(own))[rows], own, known.of_record[rows].astype(np.int64), np.ones(len(rows))),
        ExactPart(published.data[records], {sensitive: sensitive}, known.of_row[records], np.ones(len(records))),
    )


def _shares_of_trees(
    cohort: Cohort, sensitive: str, answers: Answers, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return how likely trees that were trained on the others find each answer of each record; float64 (n, a)."""
    others = as_it_is(cohort.table.take(slice(cohort.members, None)), sensitive)
    learnt = boosted_trees(others, cohort.table, sensitive, answers, recoding=Recoding(), generator=generator)
    return learnt.shares(slice(None))


_SALT = 0x2E


@dataclass(frozen=True, eq=False, repr=False)
class _Taught:
    """What other people show: places of their records, their answers, and what trees say of every record, if any."""

    places: NDArray[np.int64]
    answer: NDArray[np.int64]
    shares: NDArray[np.float64] | None

    def logs_of(self, column: _KnownColumn, values: int) -> NDArray[np.float64] | None:
        """Return the log of how much likelier each answer is for a row than for others; float64 (n, a)."""
        if self.shares is None:
            return None
        record_of = np.full(int(max(column.vector.max(), column.held.max())) + 1, -1)
        record_of[column.held] = np.arange(len(column.held))
        usual = np.bincount(self.answer, minlength=values) + 1.0
        logs = np.log(self.shares + 1 / max(1, len(self.answer))) - np.log(usual / usual.sum())
        found: NDArray[np.float64] = np.vstack([logs, np.zeros(values)])[record_of[column.vector]]
        return found

    def counts_of(self, column: _KnownColumn, values: int) -> list[NDArray[np.float64]]:
        """Count the answers beside the values of a column; float64 (d, a) for each attribute."""
        return [
            sum_by_code(told[self.places] * values + self.answer, np.ones(len(self.places)), size * values).reshape(
                size, values
            )
            for told, size in zip(column.told, column.sizes, strict=True)
        ]


@dataclass(frozen=True, eq=False, repr=False)
class _KnownColumn:
    """Known attributes sharing rows: bucket, vector, held; `codes`, `told` by attribute, from 0; `answer` of rows."""

    bucket: NDArray[np.int64]
    vector: NDArray[np.int64]
    held: NDArray[np.int64]
    codes: tuple[NDArray[np.int64], ...]
    told: tuple[NDArray[np.int64], ...]
    sizes: tuple[int, ...]
    answer: NDArray[np.int64] | None


@dataclass(frozen=True, eq=False, repr=False)
class _BucketReading:
    """A bucketized or sliced release, read against people."""

    answers: Answers
    stock: BucketStock
    columns: tuple[_KnownColumn, ...]


def _read_buckets(pieces: Sequence[ExactPart], people: Table, sensitive: str, *, ranges: int) -> _BucketReading:
    """Read the pieces of a release with buckets; InputError when it shares no quasi-identifier with people."""
    numeric = people.frame.schema[sensitive].is_numeric()
    holding = next(piece for piece in pieces if sensitive in piece.label_of)
    told = holding.frame[holding.label_of[sensitive]]
    answers = Answers.of(told, holding.records, numeric=numeric, ranges=ranges)
    buckets = 1 + max(int(piece.bucket.max()) for piece in pieces)
    stock = BucketStock.of(holding.bucket, answers.codes(told), holding.records, buckets, answers.size)
    known = [name for name in people.schema.quasi_identifying if name in people.frame.columns]
    columns = []
    for piece in pieces:
        if names := tuple(name for name in known if name in piece.label_of):
            values = piece.frame[piece.label_of[sensitive]] if sensitive in piece.label_of else None
            columns.append(_column(piece, people.frame, names, None if values is None else answers.codes(values)))
    if not columns:
        raise nothing_shared()
    return _BucketReading(answers, stock, tuple(columns))


def _column(
    piece: ExactPart, people: pl.DataFrame, names: tuple[str, ...], answer: NDArray[np.int64] | None
) -> _KnownColumn:
    codes, codes_of_pieces, sizes = [], [], []
    for name in names:
        rows, held = number_alike(piece.frame[piece.label_of[name]], people[name])
        size = int(max(rows.max(), held.max())) + 1
        bin_of = bins_of(sum_by_code(rows, piece.records, size), ordered=people.schema[name].is_numeric())
        codes.append(bin_of[rows])
        codes_of_pieces.append(bin_of[held])
        sizes.append(int(bin_of.max()) + 1)
    vector, held = number_part_rows(piece, people, names)
    return _KnownColumn(piece.bucket, vector, held, tuple(codes), tuple(codes_of_pieces), tuple(sizes), answer)


@dataclass(frozen=True, eq=False, repr=False)
class _Guesses:
    """Guesses about the first people: the likeliest answers by the learnt links and by random worlds; ties share."""

    model: NaiveBayes
    learnt: pl.DataFrame
    worlds: pl.DataFrame

    def right(self, guesses: pl.DataFrame, person: NDArray[np.int64], truth: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the chance that each person's guess is right: any of their values is `truth`."""
        asked = pl.DataFrame({"person": person, "value": truth}).unique()
        found = asked.join(guesses, on=["person", "value"])
        people = int(person.max(initial=-1)) + 1
        return sum_by_code(found["person"].to_numpy(), found["chance"].to_numpy(), people)

    def belief(self, people: int) -> NDArray[np.float64]:
        """Return how sure the attacker is of each person's learnt guess; 0 where no bucket fits."""
        found = np.zeros(people)
        found[self.learnt["person"].to_numpy()] = self.learnt["belief"].to_numpy()
        return found


def _guess(
    buckets: _BucketReading,
    known_places: NDArray[np.int64],
    person: NDArray[np.int64],
    *,
    rounds: int,
    exact: int,
    taught: _Taught | None = None,
) -> _Guesses:
    """Learn the links of each column, from the buckets or what others teach, and guess the values of people."""
    stock, columns = buckets.stock, buckets.columns
    whole = len(columns) == 1
    links = [
        learn_links(
            column.bucket,
            column.codes,
            column.sizes,
            stock,
            rounds=rounds,
            exact=exact,
            counts=None if taught is None else taught.counts_of(column, stock.values),
            logs=None if taught is None or not whole else taught.logs_of(column, stock.values),
        )
        if column.answer is None
        else None
        for column in columns
    ]
    tables = [
        table
        for column, link in zip(columns, links, strict=True)
        for table in (_crossed(column, stock.values) if link is None else link.tables)
    ]
    prior = sum_by_code(stock.value_of, stock.counts, stock.values)
    codes = tuple(codes for column in columns for codes in column.told)
    masses = [_masses(column, link, stock) for column, link in zip(columns, links, strict=True)]
    weights = _of_people(*_weights([column.held[known_places] for column in columns], masses), person)
    model = NaiveBayes(buckets.answers, prior, tuple(tables), codes)
    return _Guesses(model, _likeliest(weights, "learnt"), _likeliest(weights, "worlds"))


def _of_people(who_of: NDArray[np.int64], weights: pl.DataFrame, person: NDArray[np.int64]) -> pl.DataFrame:
    """Add up what is believed of the records of each person: ``person``, ``value``, ``learnt``, ``worlds``, ``belief``.

    The belief is the chance that any of the records has the value, by the learnt links.
    """
    held = pl.DataFrame({"who": who_of, "person": person})
    if held["person"].is_unique().all():
        share = (pl.col("learnt") / pl.sum("learnt").over("who")).fill_nan(0.0)
        return held.join(weights.with_columns(belief=share), on="who").drop("who")
    shares = weights.with_columns((pl.col(name) / pl.sum(name).over("who")).fill_nan(0.0) for name in _BOTH)
    any_of_them = 1 - (1 - pl.col("learnt").sort()).product()
    return held.join(shares, on="who").group_by("person", "value").agg(pl.sum(*_BOTH), belief=any_of_them)


def _crossed(column: _KnownColumn, values: int) -> list[NDArray[np.float64]]:
    """Count the answers beside the values of a column that has them."""
    assert column.answer is not None
    return [
        sum_by_code(codes * values + column.answer, np.ones(len(codes)), size * values).reshape(size, values)
        for codes, size in zip(column.codes, column.sizes, strict=True)
    ]


def _masses(column: _KnownColumn, links: _RowChances | None, stock: BucketStock) -> pl.DataFrame:
    """Return for each vector, bucket and answer the share of the bucket's records with the answer that have the vector.

    ``learnt`` by the links, ``worlds`` by the bucket alone; ``held`` is the number of these records.
    """
    vector, bucket = column.vector, column.bucket
    if links is None:
        rows = pl.DataFrame({"vector": vector, "bucket": bucket, "value": column.answer, "learnt": 1.0, "worlds": 1.0})
    else:
        value, alone = stock.value_of[links.pair], stock.counts[links.pair] / stock.sizes[bucket[links.row]]
        cells = {"vector": vector[links.row], "bucket": bucket[links.row], "value": value}
        rows = pl.DataFrame({**cells, "learnt": links.chance, "worlds": alone})
    held = {"bucket": stock.bucket_of, "value": stock.value_of, "held": stock.counts.astype(np.float64)}
    summed = rows.group_by("vector", "bucket", "value").agg(pl.sum("learnt", "worlds"))
    return summed.join(pl.DataFrame(held), on=["bucket", "value"]).with_columns(
        pl.col("learnt", "worlds") / pl.col("held")
    )


def _weights(
    held: Sequence[NDArray[np.int64]], masses: Sequence[pl.DataFrame]
) -> tuple[NDArray[np.int64], pl.DataFrame]:
    """Weigh each answer for each vector of known values; columns are independent given it, and buckets add up."""
    who_of, count = group_records(np.column_stack(held).astype(np.uint32))
    one_of = first_records(who_of, count)
    who = [pl.DataFrame({"who": np.arange(count), "vector": vectors[one_of]}) for vectors in held]
    places = [mass.select("vector", "bucket").unique() for mass in masses]
    # The column that fits fewest buckets comes first, so that few pairs are held at a time.
    order = sorted(range(len(held)), key=lambda column: _pairs(who[column], places[column]))
    found = who[order[0]].join(places[order[0]], on="vector").select("who", "bucket")
    for column in order[1:]:
        fitting = found.join(who[column], on="who").join(places[column], on=["vector", "bucket"], how="semi")
        found = fitting.select("who", "bucket")
    found = found.join(who[order[0]], on="who").join(masses[order[0]], on=["vector", "bucket"])
    found = found.select("who", "bucket", "value", pl.col("learnt", "worlds") * pl.col("held"))
    for column in order[1:]:
        further = found.join(who[column], on="who").join(masses[column], on=["vector", "bucket", "value"])
        found = further.select(
            "who", "bucket", "value", *(pl.col(name) * pl.col(f"{name}_right") for name in ("learnt", "worlds"))
        )
    return who_of.astype(np.int64), found.group_by("who", "value").agg(pl.sum("learnt", "worlds"))


_BOTH = ("learnt", "worlds")


def _pairs(who: pl.DataFrame, places: pl.DataFrame) -> int:
    return int(who.join(places.group_by("vector").len("fitting"), on="vector")["fitting"].sum())


def _likeliest(weights: pl.DataFrame, by: str) -> pl.DataFrame:
    best = weights.with_columns(best=pl.max(by).over("person"))
    tied = best.filter(pl.col(by) >= pl.col("best") * (1 - SURE), pl.col("best") > 0)
    return tied.select("person", "value", "belief", chance=1 / pl.len().over("person"))


MOST_ENTRIES = 50_000_000
"""Most pairs of a row and a sensitive value of its bucket that fit into memory."""


_SCALING_ROUNDS = 20


_WIDEST = 40.0
"""Largest difference of log weights in a row; a larger one makes no difference to a guess, and may underflow."""


@dataclass(frozen=True, eq=False, repr=False)
class BucketStock:
    """The sensitive values of the buckets: b buckets, z pairs of one and a rising value of it, with its count."""

    starts: NDArray[np.int64]
    value_of: NDArray[np.int64]
    counts: NDArray[np.int64]
    values: int

    @classmethod
    def of(
        cls,
        bucket: NDArray[np.int64],
        value: NDArray[np.int64],
        records: NDArray[np.float64],
        buckets: int,
        values: int,
    ) -> BucketStock:
        """Count the sensitive values of each bucket."""
        keys, place = np.unique(bucket * values + value, return_inverse=True)
        counts = sum_by_code(place, records, len(keys)).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(np.bincount(keys // values, minlength=buckets))]).astype(np.int64)
        return cls(starts, keys % values, counts, values)

    @property
    def bucket_of(self) -> NDArray[np.int64]:
        """Return the bucket of each pair: int64 (z,)."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Return the records of each bucket: int64 (b,)."""
        return sum_by_code(self.bucket_of, self.counts, len(self.starts) - 1).astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class _RowChances:
    """Chances of rows to have the values of their bucket: e entries of a row and a pair of `BucketStock`.

    `tables`: float64 (d, a) for each attribute: expected rows with value and sensitive value.
    """

    row: NDArray[np.int64]
    pair: NDArray[np.int64]
    chance: NDArray[np.float64]
    tables: tuple[NDArray[np.float64], ...]


def learn_links(
    bucket: NDArray[np.int64],
    codes: Sequence[NDArray[np.int64]],
    sizes: Sequence[int],
    stock: BucketStock,
    *,
    rounds: int,
    exact: int,
    counts: Sequence[NDArray[np.float64]] | None = None,
    logs: NDArray[np.float64] | None = None,
) -> _RowChances:
    """Learn the links between rows and sensitive values by expectation maximization; 0 `rounds`: random worlds.

    Each bucket has as many rows as the stock has records; those of at most `exact` states are computed exactly, see
    :mod:`sfumato.kernels.linking`. `counts`: people whose values are known, from whom alone it is learnt; or `logs`, of
    each row. A row's own share in the counts is left out, so that rare values do not confirm themselves. Cost O(rounds
    · e · (attributes + rounds of scaling)).
    """
    entries = int(np.diff(stock.starts)[bucket].sum())
    if entries > MOST_ENTRIES:
        raise InputError(
            f"the buckets have {entries} pairs of a row and a sensitive value, more than the {MOST_ENTRIES} that can "
            "be linked; buckets this large hide links well"
        )
    order = np.argsort(bucket, kind="stable")
    ordered = bucket[order]
    widths = np.diff(stock.starts)[ordered]
    at = np.repeat(np.arange(len(order)), widths)
    pair = np.arange(len(at)) + np.repeat(stock.starts[ordered] - (np.cumsum(widths) - widths), widths)
    row = order[at]
    chance = stock.counts[pair] / stock.sizes[bucket[row]]
    rows = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=len(stock.starts) - 1))]).astype(np.int64)
    places = [each[row] * stock.values + stock.value_of[pair] for each in codes]
    firsts = np.cumsum(widths) - widths
    for _ in range(rounds):
        tables = _tables(places, sizes, chance, stock.values) if counts is None else counts
        found = np.zeros(len(row)) if logs is None else logs[row, stock.value_of[pair]]
        for place, table in zip(places, tables, strict=True) if logs is None else ():
            found += _left_out(table, place, chance if counts is None else np.zeros(len(row)))
        found -= np.repeat(np.maximum.reduceat(found, firsts), widths)
        weights = np.exp(np.maximum(found, -_WIDEST))
        chance = matching_chances(rows, stock.starts, stock.counts, weights, exact, _SCALING_ROUNDS)
    return _RowChances(row, pair, chance, tuple(_tables(places, sizes, chance, stock.values)))


def _tables(
    places: Sequence[NDArray[np.int64]], sizes: Sequence[int], chance: NDArray[np.float64], values: int
) -> list[NDArray[np.float64]]:
    return [
        sum_by_code(place, chance, size * values).reshape(size, values)
        for place, size in zip(places, sizes, strict=True)
    ]


def _left_out(table: NDArray[np.float64], place: NDArray[np.int64], chance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log chance of each entry's value given its sensitive value, learnt from all other rows."""
    # It is drawn towards the value's share of all rows, with the weight of one row.
    values = table.shape[1]
    held, total = table.sum(axis=1), table.sum(axis=0)
    overall = ((held + 1) / (held.sum() + len(held)))[place // values]
    others = np.maximum(table.ravel()[place] - chance, 0.0)
    logs: NDArray[np.float64] = np.log((others + overall) / (np.maximum(total[place % values] - chance, 0.0) + 1))
    return logs
