"""The scoring attack: against its definition, where it must work, and where it must not."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive.rating_scores as naive
import sfumato as sf
from examples import examples
from naive.ratings import Record
from naive.surveys import surveys
from sfumato.kinds.ratings.attack import IssueChoice, RatingKnowledge, choose_known_ratings, with_ratings
from sfumato.kinds.ratings.ratings import order_ratings

DATA = pytest.mark.skipif(
    "SFUMATO_DATA" not in os.environ, reason="SFUMATO_DATA does not name the folder of public data"
)


def dictionaries(ratings: sf.Ratings) -> list[naive.Known]:
    found: list[naive.Known] = [{} for _ in range(ratings.height)]
    for record, issue, rating, *_ in ratings.to_frame().rows():
        found[record - 1][issue] = rating
    return found


def known_by(ratings: sf.Ratings, knowledge: RatingKnowledge, seed: int) -> tuple[list[int], list[naive.Known]]:
    """What the attack draws when it tries everybody, whom it numbers by what they hold."""
    by_content, number_of = order_ratings(ratings)
    people = with_ratings(by_content, knowledge)
    if not len(people):
        return [], []
    drawn = choose_known_ratings(by_content, people, by_content.raters, knowledge, np.random.default_rng(seed))
    values, names = by_content.scale.values(), by_content.names
    rows = [
        {names[drawn.issues[at]]: values[drawn.codes[at]] for at in range(drawn.starts[row], drawn.starts[row + 1])}
        for row in range(len(people))
    ]
    return number_of[people].tolist(), rows


def sparse(users: int = 60, issues: int = 400, each: int = 20) -> sf.Ratings:
    """Everybody rates other issues, as in sparse data."""
    random = np.random.default_rng(5)
    rows = [
        (user, f"i{issue}", int(random.integers(1, 6)))
        for user in range(users)
        for issue in random.choice(issues, each, replace=False)
    ]
    return sf.read_ratings(pl.DataFrame(rows, schema=["user", "issue", "rating"], orient="row"), scale=(1, 5))


@examples(80)
@given(
    surveys(),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.5, 1.0, 30.0]),
    st.sampled_from(get_args(IssueChoice)),
    st.sampled_from([0.1, 1.37]),
    st.booleans(),
    st.integers(0, 3),
)
def test_as_defined(
    survey: tuple[sf.Ratings, list[Record]],
    known: int,
    error: float,
    issues: IssueChoice,
    threshold: float,
    with_sensitive: bool,
    seed: int,
) -> None:
    ratings, _ = survey
    knowledge = RatingKnowledge(known, error, issues, with_sensitive)
    people, told = known_by(ratings, knowledge, seed)
    options: dict[str, Any] = {"known": known, "error": error, "issues": issues, "threshold": threshold}
    if not people:
        with pytest.raises(sf.PolicyError, match="nobody has a rating"):
            sf.attack_ratings(ratings, with_sensitive=with_sensitive, **options)
        return
    release = None
    if ratings.height >= 2:
        release = sf.anonymize_ratings(ratings, sf.RatingAnonymity(2, 1), suppression_limit=0.4, seed=seed)
    attack = sf.attack_ratings(ratings, release, victims=None, with_sensitive=with_sensitive, seed=seed, **options)
    assert attack.people == len(people)
    sides = [(attack.before, ratings, list(range(ratings.height)))]
    if release is not None and attack.after is not None:
        sides.append((attack.after, release.ratings, release.origin.tolist()))
    for rates, published, origin in sides:
        records = dictionaries(published)
        own = [origin.index(person) if person in origin else None for person in people]
        expected = [naive.outcome(records, row, error, threshold, at) for row, at in zip(told, own, strict=True)]
        assert rates.found.successes == sum(found for found, _, _ in expected)
        assert rates.wrong.successes == sum(wrong for _, wrong, _ in expected)
        assert rates.guessed.successes == pytest.approx(sum(chance for *_, chance in expected))
        named = [naive.named_without(records, row, error, threshold, at) for row, at in zip(told, own, strict=True)]
        assert rates.control.successes == sum(named)
        issues_hidden = {name for name, one in zip(ratings.names, ratings.sensitive, strict=True) if one}
        hides = [
            {issue: rating for issue, rating in dictionaries(ratings)[person].items() if issue in issues_hidden}
            for person in people
        ]
        if with_sensitive or not any(hides):
            assert rates.told is None
            continue
        told_of = [naive.inferred(records, row, error, hidden) for row, hidden in zip(told, hides, strict=True)]
        assert rates.told is not None
        assert rates.told.people == sum(map(len, hides))
        assert rates.told.successes == sum(right for right, _ in told_of)
        assert rates.told.baseline * rates.told.people == pytest.approx(sum(usual for _, usual in told_of))
        # Of the control group the own record does not score, but its ratings are among the usual ones.
        assert rates.told_of_control is not None
        assert rates.told_of_control.baseline == rates.told.baseline


@examples(60)
@given(surveys(), st.integers(1, 3), st.sampled_from([0.0, 1.0]), st.sampled_from(get_args(IssueChoice)))
def test_what_is_known_is_what_they_gave(
    survey: tuple[sf.Ratings, list[Record]], known: int, error: float, issues: IssueChoice
) -> None:
    ratings, _ = survey
    people, told = known_by(ratings, RatingKnowledge(known, error, issues, False), 1)
    records, raters = dictionaries(ratings), dict(zip(ratings.names, ratings.raters.tolist(), strict=True))
    hidden = {name for name, is_hidden in zip(ratings.names, ratings.sensitive, strict=True) if is_hidden}
    for person, row in zip(people, told, strict=True):
        mine = {issue: rating for issue, rating in records[person].items() if issue not in hidden}
        assert len(row) == min(known, len(mine))
        assert all(abs(mine[issue] - rating) <= error + 1e-9 for issue, rating in row.items())
        counts = sorted(raters[issue] for issue in mine)
        chosen = sorted(raters[issue] for issue in row)
        if issues == "rare":
            assert chosen == counts[: len(chosen)]
        if issues == "popular":
            assert chosen == counts[len(counts) - len(chosen) :]


def test_who_is_found_is_told_and_who_is_not_there_is_not() -> None:
    """Sensitive ratings follow from nothing: only a victim's own record tells them."""
    ratings = sparse()
    hidden = replace(ratings, sensitive=np.arange(len(ratings.names)) % 2 == 0)
    stay, out = sf.hold_out_ratings(hidden, 0.3, seed=1)
    attack = sf.attack_ratings(stay, known=6, control=out, seed=1)
    assert attack.before.told is not None
    assert attack.before.told_of_control is not None
    assert attack.before.told.share > 0.95
    assert attack.before.told.baseline < 0.7
    low, high = attack.before.told_of_control.interval
    assert low <= attack.before.told_of_control.baseline <= high
    assert attack.to_dict()["before"]["told"]["people"] == attack.before.told.people  # type: ignore[index]
    assert "sensitive ratings told:" in str(attack)
    assert "not played, because" in str(sf.attack_ratings(ratings, seed=1))
    assert sf.attack_ratings(stay, with_sensitive=True, seed=1).before.told is None


def test_finds_people_in_sparse_ratings_and_nobody_among_equals() -> None:
    ratings = sparse()
    release = sf.anonymize_ratings(ratings, sf.RatingAnonymity(60, 0), seed=1)
    attack = sf.attack_ratings(ratings, release, known=6, error=1, seed=1)
    assert attack.after is not None
    assert attack.before.found.share > 0.9
    assert attack.after.found.successes == attack.after.wrong.successes == 0
    assert attack.after.guessed.share == pytest.approx(1 / 60)
    assert attack.after.control.successes == 0


def test_exact_knowledge_is_never_worse_than_rough() -> None:
    ratings = sparse(issues=30, each=8)
    exact, rough = (sf.attack_ratings(ratings, known=2, error=error, seed=1) for error in (0, 4))
    assert exact.before.guessed.share > rough.before.guessed.share


def test_knowing_sensitive_ratings_breaks_what_the_model_assumes() -> None:
    rows = [(user, "open", 3) for user in range(8)] + [(user, f"s{user}", 5) for user in range(8)]
    ratings = sf.read_ratings(pl.DataFrame(rows, schema=["u", "i", "r"], orient="row"), scale=(1, 5), sensitive="s*")
    release = sf.anonymize_ratings(ratings, sf.RatingAnonymity(8, 0), seed=1)
    safe = sf.attack_ratings(ratings, release, known=2, seed=1)
    broken = sf.attack_ratings(ratings, release, known=2, with_sensitive=True, seed=1)
    assert safe.after is not None
    assert broken.after is not None
    assert (safe.after.found.share, broken.after.found.share) == (0, 1)


def test_control_group_of_people_who_are_not_there() -> None:
    stay, out = sf.hold_out_ratings(sparse(), 0.25, seed=1)
    assert (stay.height, out.height) == (45, 15)
    attack = sf.attack_ratings(stay, control=out, known=6, seed=1)
    assert attack.before.control.people == 15
    assert attack.control == "people who are not in the data"
    # Nobody of them is found by more than chance: two people who share one rare issue look alike to anybody.
    assert attack.before.control.share < attack.before.found.share
    strangers = sf.read_ratings(pl.DataFrame({"u": [1], "i": ["unheard"], "r": [3]}), scale=(1, 5))
    assert sf.attack_ratings(stay, control=strangers, seed=1).before.control.successes == 0


def test_victims_are_drawn_and_threads_change_nothing() -> None:
    ratings = sparse(users=300)
    one, two = (sf.attack_ratings(ratings, victims=290, error=1, seed=3, threads=threads) for threads in (1, 2))
    assert one.to_dict() == two.to_dict()
    assert one.people == one.before.found.people == 290


def test_people_left_out_of_the_release_are_not_found() -> None:
    ratings = sparse(users=12, issues=16, each=8)
    release = sf.anonymize_ratings(ratings, sf.RatingAnonymity(3, 1), suppression_limit=0.4, seed=1)
    attack = sf.attack_ratings(ratings, release, seed=1)
    assert attack.after is not None
    assert attack.after.records == len(release.origin)
    assert attack.after.found.people == 12


def test_prints_and_serializes() -> None:
    attack = sf.attack_ratings(sparse(), known=6, error=1, issues="rare", seed=1)
    text = str(attack)
    assert text.startswith("Scoring attack on 60 people: 6 ratings of their least rated issues known to within 1")
    assert "Before, among 60 records" in text
    assert "After" not in text
    plain = json.loads(json.dumps(attack.to_dict()))
    assert plain["before"]["found"]["people"] == 60
    assert plain["after"] is None
    assert math.isclose(plain["before"]["found"]["baseline"], 1 / 60)
    assert repr(attack) == f"RatingAttack({attack.before.found.share:.1%} of 60 found)"


def test_all_mistakes_at_once() -> None:
    ratings = sparse(users=4)
    with pytest.raises(sf.PolicyError) as error:
        sf.attack_ratings(
            ratings,
            "release",  # type: ignore[arg-type]
            known=0,
            error=-1,
            issues="odd",  # type: ignore[arg-type]
            threshold=0,
            with_sensitive=1,  # type: ignore[arg-type]
            victims=0,
            control=3,  # type: ignore[arg-type]
            seed=-1,
        )
    assert len(error.value.problems) == 9
    with pytest.raises(sf.PolicyError, match="original must be Ratings"):
        sf.attack_ratings("ratings")  # type: ignore[arg-type]
    other = sf.anonymize_ratings(sparse(users=5), sf.RatingAnonymity(2, 1), seed=1)
    with pytest.raises(sf.PolicyError, match="not made from these"):
        sf.attack_ratings(ratings, other)
    coarse = sf.read_ratings(pl.DataFrame({"u": [1], "i": ["i1"], "r": [3]}), scale=(1, 10))
    with pytest.raises(sf.PolicyError, match="another scale"):
        sf.attack_ratings(ratings, control=coarse)


def test_holding_out() -> None:
    ratings = sparse(users=5)
    stay, out = sf.hold_out_ratings(ratings, 0.01)
    assert (stay.height, out.height) == (4, 1)
    assert stay.names == out.names == ratings.names
    assert sf.hold_out_ratings(ratings, 0.999)[0].height == 1
    for share, message in ((0, "above 0"), (1, "below 1"), ("x", "number")):
        with pytest.raises(sf.PolicyError, match=message):
            sf.hold_out_ratings(ratings, share)  # type: ignore[arg-type]
    with pytest.raises(sf.PolicyError, match="single record"):
        sf.hold_out_ratings(out, 0.5)


@DATA
def test_people_are_found_in_movielens() -> None:
    path = Path(os.environ["SFUMATO_DATA"]) / "ml-latest-small" / "ratings.csv.gz"
    ratings = sf.read_ratings(path, scale=(0.5, 5, 0.5))
    attack = sf.attack_ratings(ratings, known=8, victims=None, seed=1)
    assert attack.before.found.share > 0.95
    assert attack.before.wrong.successes == 0
