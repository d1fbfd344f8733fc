"""The scoring attack: which record fits a few roughly known ratings best, and whether it stands out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError, raise_all
from sfumato.evaluation.attacks.of_kinds import Asked, KindEvidence, made_anew
from sfumato.evaluation.attacks.protocol import AttackResult
from sfumato.kernels.ratings.rows import score_records
from sfumato.kinds.ratings.policy import RatingPolicy
from sfumato.kinds.ratings.ratings import Ratings, order_ratings
from sfumato.kinds.ratings.reading import read_ratings
from sfumato.kinds.ratings.release import RatingRelease
from sfumato.numbers import counted, figure
from sfumato.options import Count, Limit, Seed, check_arguments
from sfumato.parallel import each
from sfumato.progress import thread_count
from sfumato.randomness import permutation
from sfumato.rates import Rate

_OUTSIDERS = "people who are not in the data"
_SELVES = "the same people, each with their own record taken away"
_PART = 256  # people


@check_arguments
def attack_ratings(
    original: Ratings,
    release: RatingRelease | None = None,
    *,
    known: Count = 8,
    error: Annotated[float, Limit(0)] = 0.0,
    issues: IssueChoice = "any",
    threshold: Annotated[float, Limit(0, above=True)] = 1.5,
    with_sensitive: bool = False,
    victims: Count | None = 1000,
    control: Ratings | None = None,
    seed: Seed = None,
    threads: int | None = None,
) -> RatingAttack:
    """Play the scoring attack on ratings as they are, and on a release of them.

    The attacker knows some ratings of a victim roughly. For each known rating, every record whose own rating of the
    issue is near to it scores 1 ÷ log of the records that rated the issue. The best record is taken for the victim's if
    it stands out: if its score lies above the second one by `threshold` standard deviations of all scores.

    Parameters
    ----------
    original
        The ratings that the release was made from.
    release
        As :func:`sfumato.anonymize_ratings` returns it; None attacks the original alone.
    known
        Ratings that are known of each victim; all of them if somebody gave fewer.
    error
        By how much a known rating may be off, in the units of the scale; the attacker knows the error.
    issues
        Which ratings are known: of the victim's most rated issues (``"popular"``), least rated ones (``"rare"``), or
        ``"any"``.
    threshold
        Eccentricity from which on a record stands out, above 0.
    with_sensitive
        Whether the attacker knows ratings of sensitive issues, too, which (k, ε, l)-anonymity assumes nobody does.
    victims
        People to try, drawn from those with ratings that may be known; None tries all.
    control
        People who are in neither, rating the same issues on the same scale, see :func:`sfumato.hold_out_ratings`. None
        takes the victims themselves, each without their own record.
    seed
        For tests and studies: draws the same victims and known ratings, whatever the order of the records.
    threads
        Upper bound; None takes ``SFUMATO_THREADS``, or all cores. Never changes the result.

    Returns
    -------
    RatingAttack

    Raises
    ------
    PolicyError
        When a setting is invalid, the release was made from other ratings, or nobody has a rating that may be known.

    Notes
    -----
    The attacker knows the same ratings before and after. A victim who was left out of the release is not found. Cost:
    for each victim, the ratings of the known issues.

    *Sensitive ratings.* The record that alone scores highest also tells how the victim rated sensitive issues, whether
    it stands out or not; see :func:`sfumato.kinds.ratings.attack.tell_ratings`.

    References
    ----------
    A. Narayanan, V. Shmatikov, "Robust de-anonymization of large sparse datasets", IEEE S&P 2008: the scores with
    weights and the eccentricity. An issue that a single record rated would have infinite weight; it gets the weight of
    one that two rated; dates are not used.
    """
    raise_all(PolicyError, _misfits(original, release, control))
    knowledge = RatingKnowledge(known, float(error), issues, with_sensitive)
    random = np.random.default_rng(seed)
    original, number_of = order_ratings(original)
    people = _drawn(with_ratings(original, knowledge), victims, random)
    raters = original.raters
    theirs = choose_known_ratings(original, people, raters, knowledge, random)
    control = None if control is None else order_ratings(control)[0]
    others = None if control is None else _outsiders(original, control, knowledge, victims, random)
    hidden = None if with_sensitive else _sensitive_of(original, people)
    of_others = hidden
    if control is not None and others is not None:
        of_others = None if with_sensitive else _sensitive_of(control, others[0])
    groups = _Groups(theirs, None if others is None else others[1], hidden, of_others)
    count = thread_count(threads)
    before = _rates(original, people, groups, knowledge, threshold, count)
    after = None
    if release is not None:
        record_of = np.full(original.height, -1, dtype=np.int64)
        record_of[release.origin] = np.arange(len(release.origin))
        after = _rates(release.ratings, record_of[number_of[people]], groups, knowledge, threshold, count)
    told = _SELVES if control is None else _OUTSIDERS
    return RatingAttack(knowledge, float(threshold), len(people), before, after, told)


def evidence(published: Ratings, asked: Asked) -> KindEvidence:
    """Make the release anew, play the scoring attack on it, and say what was lost."""
    from sfumato.kinds.ratings.make import anonymize_ratings

    policy = RatingPolicy.from_mapping(asked.policy)
    original = read_ratings(asked.original, **policy.reading(asked.seed))
    release = anonymize_ratings(original, policy, progress=asked.progress)
    control = None if asked.control is None else read_ratings(asked.control, **policy.reading(asked.seed))
    results: list[AttackResult] = []
    for error in dict.fromkeys((float(release.model.epsilon), 0.0)) if asked.attacks else ():
        seed, threads = asked.seed, asked.threads
        played = attack_ratings(original, release, error=error, control=control, seed=seed, threads=threads)
        assert played.after is not None
        results += _results(played, played.after, release)
    shown = {"ratings": published.to_frame()}
    notes = (made_anew(shown, {"ratings": release.to_frame()}, "record"),)
    others = None if control is None else control.height
    return KindEvidence(original.height, results, {}, release.report.figures, notes, others)


def _results(played: RatingAttack, after: ScoringRates, release: RatingRelease) -> Iterator[AttackResult]:
    """Write what scoring found as results of attacks: of records that stand out, and of sensitive ratings."""
    error, model = played.knowledge.error, release.model
    knows = f"{counted(played.knowledge.known, 'rating')} of a person, to within {figure(error)}"
    bound = 1 / model.k if error >= model.epsilon else None
    exact = f"the release promises nothing about who knows ratings more exactly than within {figure(model.epsilon)}"
    notes = () if bound is not None else (exact,)
    helps = "a larger k or epsilon"
    goal = "for whom one record stands out, and it is theirs"
    yield AttackResult("scoring", knows, goal, after.found, after.control, notes=notes, helps=helps, allowed=bound)
    if after.told is not None:
        goal = "whose rating of a sensitive issue was named"
        of_others = after.told_of_control
        yield AttackResult("sensitive-ratings", knows, goal, after.told, of_others, notes=notes, helps=helps)


def _drawn(candidates: NDArray[np.int64], most: int | None, random: np.random.Generator) -> NDArray[np.int64]:
    if not len(candidates):
        raise PolicyError("nobody has a rating that an attacker may know; there is nothing to attack with")
    if most is None or most >= len(candidates):
        return candidates
    return np.sort(random.choice(candidates, most, replace=False))


def _outsiders(
    original: Ratings, control: Ratings, knowledge: RatingKnowledge, most: int | None, random: np.random.Generator
) -> tuple[NDArray[np.int64], _KnownOfPeople]:
    """Draw people of the control group, and what is known of them, by the popularity of issues in the original."""
    count_of = dict(zip(original.names, original.raters.tolist(), strict=True))
    raters = np.array([count_of.get(name, 0) for name in control.names], dtype=np.int64)
    people = _drawn(with_ratings(control, knowledge), most, random)
    return people, choose_known_ratings(control, people, raters, knowledge, random)


@dataclass(frozen=True, eq=False, repr=False)
class _Groups:
    """What is known of the victims and of the control group, None where that is the victims, and what they hide."""

    theirs: _KnownOfPeople
    others: _KnownOfPeople | None
    hidden: SensitiveRatings | None
    hidden_of_others: SensitiveRatings | None


@dataclass(frozen=True, eq=False, repr=False)
class _Scored:
    """Results of scoring for each person; see :func:`sfumato.kernels.ratings.rows.score_records`."""

    best: NDArray[np.int64]
    ties: NDArray[np.int64]
    fits: NDArray[np.bool_]
    eccentricity: NDArray[np.float64]

    @property
    def sole(self) -> NDArray[np.int64]:
        """Return the record that alone has the highest score of each person, int64; −1 for none."""
        return np.where(self.ties == 1, self.best, -1)


def _rates(
    published: Ratings,
    own: NDArray[np.int64],
    groups: _Groups,
    knowledge: RatingKnowledge,
    threshold: float,
    threads: int,
) -> ScoringRates:
    """Attack published records; `own`, int64 (people,), is for scoring: the record of each victim, −1 for none."""
    steps = published.scale.steps_within(knowledge.error)
    scored = _scored(published, groups.theirs, own, steps, threads)
    if groups.others is None:
        control = _scored(published, groups.theirs, own, steps, threads, is_gone=True)
    else:
        nobody = np.full(len(groups.others.starts) - 1, -1, dtype=np.int64)
        control = _scored(published, groups.others, nobody, steps, threads)
    accepted = scored.eccentricity >= threshold
    right = accepted & (scored.best == own)
    chances = scored.fits / np.maximum(scored.ties, 1)
    people, by_guessing = len(own), 1 / published.height
    named = np.count_nonzero(control.eccentricity >= threshold)
    return ScoringRates(
        published.height,
        Rate(int(right.sum()), people, by_guessing),
        Rate(int((accepted & ~right).sum()), people, 0.0),
        Rate(int(named), len(control.best), 0.0),
        Rate(float(chances.sum()), people, by_guessing),
        tell_ratings(published, scored.sole, groups.hidden),
        tell_ratings(published, control.sole, groups.hidden_of_others),
    )


def _scored(
    published: Ratings,
    known: _KnownOfPeople,
    own: NDArray[np.int64],
    steps: int,
    threads: int,
    *,
    is_gone: bool = False,
) -> _Scored:
    known = known.among(published.names)
    rows = _by_issue(published)

    def part(first: int) -> _Scored:
        some = known.of(first, min(first + _PART, len(own)))
        mine = own[first : first + _PART]
        return _Scored(
            *score_records(some.starts, some.issues, some.codes, mine, is_gone, *rows, steps, published.height)
        )

    parts = each(part, range(0, len(own), _PART), threads)
    fields = ("best", "ties", "fits", "eccentricity")
    return _Scored(*(np.concatenate([getattr(found, field) for found in parts]) for field in fields))


def _by_issue(ratings: Ratings) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return ratings as compressed rows of issues: starts, records, codes."""
    order = np.argsort(ratings.issues, kind="stable")
    records = np.repeat(np.arange(ratings.height, dtype=np.int64), np.diff(ratings.starts))
    starts = np.append(0, np.cumsum(ratings.raters)).astype(np.int64)
    return starts, records[order], ratings.codes[order].astype(np.int64)


def _misfits(original: Ratings, release: RatingRelease | None, control: Ratings | None) -> Iterator[str]:
    """Say which arguments do not belong to the others."""
    if release is not None and not _made_from(original, release):
        yield "the release was not made from these ratings; give those that it was made from"
    if control is not None and control.scale != original.scale:
        yield "control has another scale than original; read both with the same scale"


def _made_from(original: Ratings, release: RatingRelease) -> bool:
    return set(original.names) == set(release.ratings.names) and original.height == release.loss.records


IssueChoice = Literal["any", "popular", "rare"]


@dataclass(frozen=True)
class RatingKnowledge:
    """How much an attacker knows of everybody.

    `known`: Number of ratings; all, if somebody gave fewer. `error`: By how much each may be off, in the units of the
    scale. `issues`: The issues that they are about: ``"popular"``, the most rated of a person's; ``"rare"``, the least
    rated; ``"any"``. `with_sensitive`: Whether ratings of sensitive issues are among them.
    """

    known: int
    error: float
    issues: IssueChoice
    with_sensitive: bool


@dataclass(frozen=True, eq=False, repr=False)
class _KnownOfPeople:
    """Known ratings, as compressed rows. `starts`: int64 (people + 1,). `issues`, `codes`: int64 (entries,)."""

    starts: NDArray[np.int64]
    issues: NDArray[np.int64]
    codes: NDArray[np.int64]
    names: tuple[str, ...]

    def among(self, names: Sequence[str]) -> _KnownOfPeople:
        """Return the same with issues numbered as in other ratings, without those that they do not have."""
        place_of = {name: place for place, name in enumerate(names)}
        numbers = np.array([place_of.get(name, -1) for name in self.names], dtype=np.int64)[self.issues]
        people = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        kept = numbers >= 0
        counts = np.bincount(people[kept], minlength=len(self.starts) - 1)
        starts = np.append(0, np.cumsum(counts)).astype(np.int64)
        return _KnownOfPeople(starts, numbers[kept], self.codes[kept], tuple(names))

    def of(self, first: int, last: int) -> _KnownOfPeople:
        """Return what is known of the people from `first` up to, not including, `last`."""
        begin, end = self.starts[first], self.starts[last]
        starts = self.starts[first : last + 1] - begin
        return _KnownOfPeople(starts, self.issues[begin:end], self.codes[begin:end], self.names)


def with_ratings(ratings: Ratings, knowledge: RatingKnowledge) -> NDArray[np.int64]:
    """Return the records with ratings that may be known; int64, rising."""
    counts = np.bincount(_records(ratings)[_open_ratings(ratings, knowledge)], minlength=ratings.height)
    return np.flatnonzero(counts).astype(np.int64)


def choose_known_ratings(
    ratings: Ratings,
    people: NDArray[np.int64],
    raters: NDArray[np.int64],
    knowledge: RatingKnowledge,
    random: np.random.Generator,
) -> _KnownOfPeople:
    """Draw what is known of some records; each is off by up to the error, evenly, but stays on the scale."""
    theirs = ratings.take(people)
    places = np.flatnonzero(_open_ratings(theirs, knowledge))
    person = _records(theirs)[places]
    popularity = {"any": 0, "popular": -1, "rare": 1}[knowledge.issues] * raters[theirs.issues[places]]
    order = np.lexsort((random.random(len(places)), popularity, person))
    counts = np.bincount(person, minlength=len(people))
    rank = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    chosen = places[order[rank < knowledge.known]]
    starts = np.append(0, np.cumsum(np.minimum(counts, knowledge.known))).astype(np.int64)
    steps = ratings.scale.steps_within(knowledge.error)
    off = random.integers(-steps, steps + 1, size=len(chosen))
    codes = np.clip(theirs.codes[chosen].astype(np.int64) + off, 0, ratings.scale.size - 1)
    return _KnownOfPeople(starts, theirs.issues[chosen].astype(np.int64), codes, ratings.names)


def _open_ratings(ratings: Ratings, knowledge: RatingKnowledge) -> NDArray[np.bool_]:
    """Tell which ratings an attacker may know; bool (z,)."""
    if knowledge.with_sensitive:
        return np.ones(len(ratings.issues), dtype=np.bool_)
    shown: NDArray[np.bool_] = ~ratings.sensitive[ratings.issues]
    return shown


def _records(ratings: Ratings) -> NDArray[np.int64]:
    return np.repeat(np.arange(ratings.height), np.diff(ratings.starts))


@dataclass(frozen=True)
class ScoringRates:
    """Success of the attack on one set of records: of whom one record stood out, theirs (`found`) or not (`wrong`).

    By guessing: one of all. `control`: the same of people who are not there. `guessed`: the chance to pick the right
    one among those that score highest. `told`, `told_of_control`: of ratings of sensitive issues, those that are named,
    by the record that alone scores highest if it rated the issue, else as most do, which is also the guess; None where
    there are none, or the attacker knows such.
    """

    records: int
    found: Rate
    wrong: Rate
    control: Rate
    guessed: Rate
    told: Rate | None = None
    told_of_control: Rate | None = None

    def to_dict(self) -> dict[str, object]:
        """Return plain values, for JSON."""
        return {
            "records": self.records,
            "found": self.found.to_dict(),
            "wrong": self.wrong.to_dict(),
            "control": self.control.to_dict(),
            "guessed": self.guessed.to_dict(),
            "told": None if self.told is None else self.told.to_dict(),
            "told_of_control": None if self.told_of_control is None else self.told_of_control.to_dict(),
        }

    def lines(self) -> list[str]:
        """Return one line per rate."""
        return [
            f"found: {self.found}",
            f"taken for somebody else: {self.wrong.without_baseline}",
            f"named although their record is not there: {self.control.without_baseline}",
            f"right among the records that fit best: {self.guessed}",
            *self._of_values(),
        ]

    def _of_values(self) -> list[str]:
        if self.told is None:
            return ["sensitive ratings told: not played, because none is there that the attacker does not know"]
        of_others = "" if self.told_of_control is None else f"; of the control group {self.told_of_control}"
        return [f"sensitive ratings told: {self.told}{of_others}"]


@dataclass(frozen=True)
class RatingAttack:
    """The result of the scoring attack; made by :func:`sfumato.attack_ratings`. For the steward.

    Attributes
    ----------
    knowledge : Knowledge
        What the attacker knows.
    threshold : float
        Eccentricity from which on a record stands out.
    people : int
        Victims.
    before : ScoringRates
        On the original ratings.
    after : ScoringRates or None
        On a release of them.
    control : str
        Who the control group is.
    """

    knowledge: RatingKnowledge
    threshold: float
    people: int
    before: ScoringRates
    after: ScoringRates | None
    control: str

    def to_dict(self) -> dict[str, object]:
        """Return plain values, for JSON."""
        return {
            "knowledge": dict(vars(self.knowledge)),
            "threshold": self.threshold,
            "people": self.people,
            "control": self.control,
            "before": self.before.to_dict(),
            "after": None if self.after is None else self.after.to_dict(),
        }

    def __repr__(self) -> str:
        """Show who was found."""
        after = "" if self.after is None else f", then {self.after.found.share:.1%}"
        return f"RatingAttack({self.before.found.share:.1%} of {self.people} found{after})"

    def __str__(self) -> str:
        """Return the result as a few lines of text."""
        known = self.knowledge
        of = {"any": "any", "popular": "their most rated", "rare": "their least rated"}[known.issues]
        hidden = ", sensitive ones among them" if known.with_sensitive else ""
        lines = [
            f"Scoring attack on {self.people:,} people: {counted(known.known, 'rating')} of {of} issues"
            f"{hidden} known to within {figure(known.error)}, threshold {figure(self.threshold)}"
        ]
        for name, rates in (("Before", self.before), ("After", self.after)):
            if rates is not None:
                lines += [f"  {name}, among {counted(rates.records, 'record')}", *(f"    {at}" for at in rates.lines())]
        return "\n".join([*lines, f"  control group: {self.control}"])


@dataclass(frozen=True, eq=False, repr=False)
class SensitiveRatings:
    """What people rated sensitive issues with, for scoring. `person`, `issue`, `code`: int64, one for each rating."""

    person: NDArray[np.int64]
    issue: NDArray[np.int64]
    code: NDArray[np.int64]
    names: Sequence[str]


def _sensitive_of(ratings: Ratings, people: NDArray[np.int64]) -> SensitiveRatings | None:
    """Return the ratings of sensitive issues by some records; None if there are none."""
    theirs = ratings.take(people)
    hidden = ratings.sensitive[theirs.issues]
    if not hidden.any():
        return None
    person = np.repeat(np.arange(theirs.height), np.diff(theirs.starts))
    issue, code = theirs.issues.astype(np.int64), theirs.codes.astype(np.int64)
    return SensitiveRatings(person[hidden], issue[hidden], code[hidden], ratings.names)


def tell_ratings(published: Ratings, record: NDArray[np.int64], hidden: SensitiveRatings | None) -> Rate | None:
    """Score what published records tell of sensitive ratings, which people hide; None where there are none.

    The record that alone fits (−1: none) tells them; where it did not rate the issue, the most frequent published
    rating (the lowest of equals) does, which is also the guess. An issue that is not published is named wrong. Cost O(z
    log z).
    """
    if hidden is None:
        return None
    place_of = {name: place for place, name in enumerate(published.names)}
    issue = np.array([place_of.get(name, -1) for name in hidden.names], dtype=np.int64)[hidden.issue]
    width, sizes = len(published.names), published.scale.size
    owner = np.repeat(np.arange(published.height, dtype=np.int64), np.diff(published.starts))
    counts = np.bincount(published.issues.astype(np.int64) * sizes + published.codes, minlength=width * sizes)
    by_issue = counts.reshape(width, sizes)
    usual = np.where(by_issue.any(axis=1), by_issue.argmax(axis=1), -1)
    guess = np.where(issue >= 0, usual[issue], -1)
    keys = owner * width + published.issues
    order = np.argsort(keys)
    best = record[hidden.person]
    wanted = best * width + issue
    place = np.minimum(np.searchsorted(keys[order], wanted), max(0, len(keys) - 1))
    found = order[place] if len(keys) else np.zeros(len(wanted), dtype=np.int64)
    rated = (best >= 0) & (issue >= 0) & (keys[found] == wanted) if len(keys) else np.zeros(len(wanted), dtype=np.bool_)
    named = np.where(rated, published.codes[found].astype(np.int64), guess) if len(keys) else guess
    ratings = len(hidden.code)
    return Rate(int((named == hidden.code).sum()), ratings, float((guess == hidden.code).mean()))


@check_arguments
def hold_out_ratings(
    ratings: Ratings, share: Annotated[float, Limit(0, 1, above=True, below=True)], *, seed: Seed = None
) -> tuple[Ratings, Ratings]:
    """Split records at random into those to publish and those to hold out.

    Parameters
    ----------
    ratings
        At least two records.
    share
        Share of the records to hold out, above 0 and below 1; at least one is held out, and at least one stays.
    seed
        For tests and studies: holds out the same records, whatever their order. None draws from the operating system.

    Returns
    -------
    Ratings, Ratings
        Both with all issues, records in the order of the input.

    Raises
    ------
    PolicyError
        When the share is invalid, or there is a single record.
    """
    if ratings.height < 2:
        raise PolicyError("there is a single record; give at least two, so that one can be held out")
    count = min(max(1, round(share * ratings.height)), ratings.height - 1)
    is_out = np.zeros(ratings.height, dtype=np.bool_)
    is_out[order_ratings(ratings)[1][permutation(ratings.height, seed)[:count]]] = True
    stay = ratings.take(np.flatnonzero(~is_out))
    out = ratings.take(np.flatnonzero(is_out))
    return stay, out
