"""What somebody would say of people in the data who has not seen the release, but knows others like them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.attacks.belief_curve import Beliefs
from sfumato.evaluation.attacks.boosting import boosted_trees
from sfumato.evaluation.attacks.cohort import Cohort
from sfumato.evaluation.attacks.naive_bayes import naive_bayes
from sfumato.published import RandomizedTable
from sfumato.recoding.choice import Recoding
from sfumato.table.table import Table


def known_from_others(
    cohort: Cohort, sensitive: str, *, ranges: int, trees: np.random.Generator | None = None
) -> Beliefs | None:
    """Train naive Bayes on the control group with its true values, and judge the people in the data.

    Parameters
    ----------
    cohort
        Everybody on whom the attack is tried.
    sensitive
        The attribute to name.
    ranges
        If there are more distinct numbers than this, as many equally filled ranges of the control group are named.
    trees
        If given, gradient-boosted trees are trained instead, with its draws.

    Returns
    -------
    Beliefs or None
        Of the people in the data; None without a control group.

    Notes
    -----
    It is the learner that attackers train on a release, :mod:`sfumato.evaluation.attacks.naive_bayes`, on values as
    they are. Cost O((n + m · a) · q).
    """
    if not cohort.outsiders:
        return None
    inside, outside = slice(0, cohort.members), slice(cohort.members, None)
    members = cohort.table.take(inside)
    others = _as_it_is(cohort.table.take(outside), sensitive)
    model = naive_bayes(others, members, sensitive, recoding=Recoding(), ranges=ranges)
    told = cohort.known.told[cohort.known.told < cohort.members]
    owner, truth = cohort.known.person_of[: cohort.members], model.answers.codes(members.frame[sensitive])
    if trees is None:
        return beliefs_of(model.shares(told), owner[told], truth, owner)
    # Who is judged comes first; the others' values are read by the same codes.
    learnt = boosted_trees(others, cohort.table, sensitive, model.answers, recoding=Recoding(), generator=trees)
    return beliefs_of(learnt.shares(told), owner[told], truth, owner)


def beliefs_of(
    shares: NDArray[np.float64], owner: NDArray[np.int64], truth: NDArray[np.int64], person: NDArray[np.int64]
) -> Beliefs:
    """Name the likeliest answer of each person by what is believed of their known records together.

    Parameters
    ----------
    shares
        float64 (r, a): belief in each answer for each known record.
    owner
        int64 (r,): whose they are, of m people.
    truth, person
        int64 (n,): the right answer of every record, and whose it is; the named answer is right if any has it.
    """
    people = int(person.max(initial=-1)) + 1
    sums, none = np.zeros((people, shares.shape[1])), np.ones((people, shares.shape[1]))
    np.add.at(sums, owner, shares)
    np.multiply.at(none, owner, 1 - shares)
    named = sums.argmax(axis=1)
    right = np.zeros(people)
    right[person[truth == named[person]]] = 1
    return Beliefs(1 - np.take_along_axis(none, named[:, None], axis=1)[:, 0], right)


def _as_it_is(people: Table, sensitive: str) -> RandomizedTable:
    """Take the records of some people for a release that changed nothing."""
    names = tuple(name for name in people.schema.quasi_identifying if name in people.frame.columns)
    return RandomizedTable(people.frame, names, (sensitive,))
