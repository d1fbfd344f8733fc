"""The scoring attack: which record fits a few roughly known ratings best, and whether it stands out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import PolicyError, raise_all
from sfumato.evaluation.attacks.ratings.known_ratings import (
    IssueChoice,
    KnownOfPeople,
    RatingKnowledge,
    known_of,
    with_ratings,
)
from sfumato.evaluation.attacks.ratings.scoring_result import RatingAttack, ScoringRates
from sfumato.evaluation.attacks.ratings.sensitive_ratings import SensitiveRatings, sensitive_of, told
from sfumato.kernels.ratings.scores import score_records
from sfumato.parallel import each
from sfumato.progress import thread_count
from sfumato.rates import Rate
from sfumato.release.ratings.release import RatingRelease
from sfumato.settings import is_finite_number
from sfumato.table.ratings.ratings import Ratings
from sfumato.table.ratings.row_order import settled

OUTSIDERS = "people who are not in the data"
SELVES = "the same people, each with their own record taken away"

_PART = 256  # people


def attack_ratings(
    original: Ratings,
    release: RatingRelease | None = None,
    *,
    known: int = 8,
    error: float = 0.0,
    issues: IssueChoice = "any",
    threshold: float = 1.5,
    with_sensitive: bool = False,
    victims: int | None = 1000,
    control: Ratings | None = None,
    seed: int | None = None,
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
    it stands out or not; see :func:`sfumato.evaluation.attacks.ratings.sensitive_ratings.told`.

    References
    ----------
    A. Narayanan, V. Shmatikov, "Robust de-anonymization of large sparse datasets", IEEE S&P 2008: the scores with
    weights and the eccentricity. An issue that a single record rated would have infinite weight; it gets the weight of
    one that two rated; dates are not used.
    """
    problems = _problems(known, error, issues, threshold, with_sensitive, victims, seed)
    raise_all(PolicyError, [*problems, *_misfits(original, release, control)])
    knowledge = RatingKnowledge(known, float(error), issues, with_sensitive)
    random = np.random.default_rng(seed)
    original, number_of = settled(original)
    people = _drawn(with_ratings(original, knowledge), victims, random)
    raters = original.raters
    theirs = known_of(original, people, raters, knowledge, random)
    control = None if control is None else settled(control)[0]
    others = None if control is None else _outsiders(original, control, knowledge, victims, random)
    hidden = None if with_sensitive else sensitive_of(original, people)
    of_others = hidden
    if control is not None and others is not None:
        of_others = None if with_sensitive else sensitive_of(control, others[0])
    groups = _Groups(theirs, None if others is None else others[1], hidden, of_others)
    count = thread_count(threads)
    before = _rates(original, people, groups, knowledge, threshold, count)
    after = None
    if release is not None:
        record_of = np.full(original.height, -1, dtype=np.int64)
        record_of[release.origin] = np.arange(len(release.origin))
        after = _rates(release.ratings, record_of[number_of[people]], groups, knowledge, threshold, count)
    told = SELVES if control is None else OUTSIDERS
    return RatingAttack(knowledge, float(threshold), len(people), before, after, told)


def _drawn(candidates: NDArray[np.int64], most: int | None, random: np.random.Generator) -> NDArray[np.int64]:
    if not len(candidates):
        raise PolicyError("nobody has a rating that an attacker may know; there is nothing to attack with")
    if most is None or most >= len(candidates):
        return candidates
    return np.sort(random.choice(candidates, most, replace=False))


def _outsiders(
    original: Ratings, control: Ratings, knowledge: RatingKnowledge, most: int | None, random: np.random.Generator
) -> tuple[NDArray[np.int64], KnownOfPeople]:
    """Draw people of the control group, and what is known of them, by the popularity of issues in the original."""
    count_of = dict(zip(original.names, original.raters.tolist(), strict=True))
    raters = np.array([count_of.get(name, 0) for name in control.names], dtype=np.int64)
    people = _drawn(with_ratings(control, knowledge), most, random)
    return people, known_of(control, people, raters, knowledge, random)


@dataclass(frozen=True, eq=False, repr=False)
class _Groups:
    """What is known of the victims and of the control group, None where that is the victims, and what they hide."""

    theirs: KnownOfPeople
    others: KnownOfPeople | None
    hidden: SensitiveRatings | None
    hidden_of_others: SensitiveRatings | None


@dataclass(frozen=True, eq=False, repr=False)
class _Scored:
    """Results of scoring for each person; see :func:`sfumato.kernels.ratings.scores.score_records`."""

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
        told(published, scored.sole, groups.hidden),
        told(published, control.sole, groups.hidden_of_others),
    )


def _scored(
    published: Ratings,
    known: KnownOfPeople,
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


def _problems(
    known: object,
    error: object,
    issues: object,
    threshold: object,
    with_sensitive: object,
    victims: object,
    seed: object,
) -> list[str]:
    """Return a sentence for every invalid setting."""
    found = []
    if not _is_count(known, 1):
        found.append("known must be a whole number of at least 1")
    if not (is_finite_number(error) and error >= 0):  # type: ignore[operator]
        found.append("error must be a number of at least 0, in the units of the scale")
    if issues not in get_args(IssueChoice):
        found.append(f"issues must be one of {', '.join(get_args(IssueChoice))}")
    if not (is_finite_number(threshold) and threshold > 0):  # type: ignore[operator]
        found.append("threshold must be a number above 0")
    if not isinstance(with_sensitive, bool):
        found.append("with_sensitive must be True or False")
    if victims is not None and not _is_count(victims, 1):
        found.append("victims must be a whole number of at least 1, or None for all")
    if seed is not None and not _is_count(seed, 0):
        found.append("seed must be a whole number of at least 0")
    return found


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _misfits(original: object, release: object, control: object) -> list[str]:
    """Return a sentence for every argument that is not of ratings, or does not belong to the others."""
    if not isinstance(original, Ratings):
        return ["original must be Ratings; read them with sfumato.read_ratings(...)"]
    found = []
    if release is not None and not isinstance(release, RatingRelease):
        found.append("release must be a RatingRelease; make one with sfumato.anonymize_ratings(...)")
    elif release is not None and not _made_from(original, release):
        found.append("the release was not made from these ratings; give those that it was made from")
    if control is not None and not isinstance(control, Ratings):
        found.append("control must be Ratings; take them from sfumato.hold_out_ratings(...)")
    elif control is not None and control.scale != original.scale:
        found.append("control has another scale than original; read both with the same scale")
    return found


def _made_from(original: Ratings, release: RatingRelease) -> bool:
    return set(original.names) == set(release.ratings.names) and original.height == release.loss.records
