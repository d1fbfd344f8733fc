"""Score a linking attack: who was found, and who would have been found by chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sfumato.evaluation.attacks.densest_classes import Picks
from sfumato.evaluation.attacks.links import Links
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.evaluation.attacks.verdicts import Certainty
from sfumato.evaluation.attacks.victims import Victims
from sfumato.models import known_models
from sfumato.models.k_anonymity import KAnonymity
from sfumato.models.says import least_class_size
from sfumato.rates import Rate

RECORDS: dict[str, Callable[[Any], pl.DataFrame]] = {
    "generalized-table": lambda published: published.data,
    "bucketized-tables": lambda published: published.quasi,
    "randomized-table": lambda published: published.data,
}
"""Kind of release → its table with one row for each record; other kinds have none."""

JUDGED = (
    "whether a record is somebody's is judged by the values that linking does not use; guessing counts records that "
    "agree by chance"
)

UNJUDGED = (
    "the release has no values beside the quasi-identifying ones, or the same for all, so that nobody can tell whether "
    "the nearest record is the right one"
)


def outsiders(links: Links, victims: Victims) -> dict[str, float]:
    """Count the people of a register who are not in the data but fit some record."""
    if victims.inside.all():
        return {}
    outside = ~victims.inside
    return {
        "register_not_in_the_data": float(outside.sum()),
        "of_them_fit": float(np.count_nonzero(links.candidates[outside])),
    }


def scored(
    target: Target,
    links: Links,
    victims: Victims,
    names: Sequence[str],
    *,
    attack: str,
    fit: str,
    figures: Mapping[str, float],
    picks: Picks | None = None,
) -> tuple[AttackResult, ...]:
    """Return two results: who was found with certainty, and who by picking one of the candidate records.

    Parameters
    ----------
    links
        Of m people.
    victims
        These people.
    names
        What the attacker knows of them.
    attack, fit
        Name of the attack, and the words for how its records match a person.
    figures
        Further figures.
    picks
        What is picked from, if that is not every candidate.
    """
    inside = victims.inside
    candidates, own, prior = links.candidates[inside], links.own[inside], links.prior[inside]
    people = len(candidates)
    alone = links.sole[inside]
    found = np.maximum(candidates, 1)
    kind = target.published.kind
    # True records are among those that fit unless they are suppressed; unchanged values are always nearest.
    certain = kind == "bucketized-tables" or (attack == "linkage" and kind == "generalized-table")
    chance = np.where(candidates > 0, links.expected[inside] / found, 0.0)
    # Who has more records is found more often by picking any.
    least = len(victims.own.person) / max(1, people * links.records)
    who = "of everybody in the data" if target.register is None else "of the people in a register"
    k = smallest_promised(target.models_of_victims) if kind == "generalized-table" else None
    from_all = float((own / found).sum())
    picked = from_all if picks is None else float((picks.own / np.maximum(picks.rows, 1))[inside].sum())
    where = "" if picks is None else ", in the class that covers least"
    common: dict[str, Any] = {
        "attack": attack,
        "knows": f"{_listed(names)} {who}",
        "helps": "k-anonymity with a larger k, coarser values, or fewer quasi-identifying attributes",
        "notes": () if certain else (JUDGED,) if (prior < 1).any() else (UNJUDGED,),
    }
    return (
        AttackResult(
            goal=_only(victims, fit),
            success=Rate(float((alone & (own == candidates)).sum()), people, _mean(alone * prior, least, certain)),
            figures=figures,
            allowed=None if k is None else float(k == 1),
            # Who holds a register does not know who of it is in the data.
            certainty=Certainty.of(alone, (own == candidates).astype(np.float64), np.full(people, links.records > 1))
            if certain and target.register is None
            else None,
            **common,
        ),
        AttackResult(
            goal=f"{'whose' if victims.alone else 'of whom a'} record was found by picking one that {fit}{where}",
            success=Rate(picked, people, _mean(chance, least, certain)),
            figures={} if picks is None else {"picking_from_all_that_fit": from_all / max(1, people)},
            allowed=_allowed_share(target, k),
            **common,
        ),
    )


def smallest_promised(models: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the size of the smallest class that the promises allow; None if none of them says so."""
    return least_class_size(known_models(models))


def _only(victims: Victims, fit: str) -> str:
    if victims.alone:
        return f"whose record is the only one that {fit}"
    return f"whose records are all that {'fit' if fit == 'fits' else 'are nearest'}"


def _allowed_share(target: Target, k: int | None) -> float | None:
    """Return the largest share of a person in the records that fit, as far as the promises bound it."""
    if not target.rows.promised:
        return None if k is None else 1 / k
    # A class of k people may have most of its records from one of them, unless shares are bounded, too.
    models = known_models(target.models)
    bounds = [1 / model.k for model in models if isinstance(model, KAnonymity) and model.shares is not False]
    return min(bounds, default=None)


def _mean(chances: NDArray[np.float64], least: float, certain: bool) -> float:
    return least if certain or not len(chances) else max(least, float(chances.mean()))


def _listed(names: Sequence[str]) -> str:
    return f"the {', '.join(names)}"
