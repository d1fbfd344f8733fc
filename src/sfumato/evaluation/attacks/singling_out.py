"""Singling out: a predicate, written down from the release alone, that holds for exactly one record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.evaluation.attacks.cohort import Cohort, cohort_of, generator_of
from sfumato.evaluation.attacks.pieces import unread_notes
from sfumato.evaluation.attacks.predicates import Predicates, mixed, predicates_of, record_numbers
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.options import Checked, Limit
from sfumato.rates import Rate
from sfumato.table.exact_names import columns_of

_SALT = 0x51


@dataclass(frozen=True)
class SinglingOut(Checked):
    """Isolation of records by predicates that are built from the release.

    Parameters
    ----------
    predicates
        Most predicates that are tried, 1 or more.

    Raises
    ------
    PolicyError
        When that is not such a number.

    Notes
    -----
    *Played.* The attacker sees only the release. For the smallest groups of records that the release shows, a predicate
    is written down: the region of a class and one of its sensitive values, or values that share a row (see
    :func:`sfumato.evaluation.attacks.predicates.predicates_of`). If c > 1 records satisfy it according to the release,
    it is narrowed by a random condition of weight 1/c on the whole record, which isolates one of c with chance (1 −
    1/c)^(c−1), never below 1/e. Success is a predicate that holds for exactly one of the original records;
    where people have several, for records of exactly one person.

    *Baseline.* A predicate of weight w (the chance that it holds for somebody of the population) that is written down
    without the release isolates one of n records with chance n·w·(1−w)^(n−1), which is largest, about 37 %, for w =
    1/n. So success counts only against the best such predicate of no more weight. The weight is measured on the control
    group, for all predicates together, and the high end of its interval is taken. Since the chance is concave in the
    weight, that of the mean weight is no less than the mean chance. Without a control group the weight is unknown, and
    success counts against the best predicate of any weight.

    *Control.* How many of the predicates isolate one record of the control group.

    Cost O(m · q) for m people, and the pairs of a person and a predicate that holds.

    References
    ----------
    A. Cohen, K. Nissim, "Towards formalizing the GDPR's notion of singling out", PNAS 2020, and its section on
    k-anonymity. *Departures*: weights are measured, not proven negligible; a sensitive value is part of the predicate
    if it is published beside the class, as in the predicates of M. Giomi and others, "A unified framework for
    quantifying privacy risk in synthetic data", PoPETs 2023.
    """

    name: ClassVar[str] = "singling-out"
    kinds: ClassVar[frozenset[str]] = frozenset(
        {"generalized-table", "bucketized-tables", "sliced-table", "marginal-tables", "randomized-table"}
    )
    needs: ClassVar[tuple[str, ...]] = ()

    predicates: Annotated[int, Limit(1)] = 1000

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it: one result."""
        cohort, generator = cohort_of(target), generator_of(target, _SALT)
        built = predicates_of(
            target.published, cohort.table, count=self.predicates, recoding=target.recoding, generator=generator
        )
        inside, outside = _held(built, cohort, generator)
        tried, members, outsiders = len(built.records), cohort.insiders, cohort.outsiders
        weight = Rate(float(outside.sum()), tried * outsiders, 0.0)
        baseline = isolation_chance(members, weight.interval[1])
        return (
            AttackResult(
                attack=self.name,
                knows="nothing but the release",
                goal="singled out, by one predicate for each",
                success=Rate(int((inside == 1).sum()), tried, baseline),
                control=Rate(int((outside == 1).sum()), tried, baseline) if outsiders else None,
                figures={
                    "records_per_predicate": float(built.records.mean()),
                    **({"weight": weight.share, "weight_high": weight.interval[1]} if outsiders else {}),
                },
                notes=(*_notes(members, outsiders), *unread_notes(target.published, cohort.frame)),
                helps="publishing no small counts: larger classes in which every sensitive value is frequent, columns "
                "and marginals whose values all repeat",
            ),
        )


def isolation_chance(records: int, weight: float) -> float:
    """Return the best chance to isolate one of n records by a predicate of at most a weight, without looking.

    Parameters
    ----------
    records
        n, 1 or more.
    weight
        Largest weight of a predicate, from 0 to 1.

    Examples
    --------
    >>> isolation_chance(2, 1.0), isolation_chance(100, 0.0), isolation_chance(1, 1.0)
    (0.5, 0.0, 1.0)
    """
    best = min(weight, 1 / records)
    return float(records * best * (1 - best) ** (records - 1))


def _held(
    built: Predicates, cohort: Cohort, generator: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the people in the data, and those who are not, for whom each narrowed predicate holds."""
    schema = cohort.table.schema
    names = [name for name in cohort.frame.columns if name not in schema.identifying]
    numbers = record_numbers(columns_of(cohort.frame, names))
    salts = generator.integers(0, 1 << 63, len(built.records), dtype=np.uint64)
    drawn = mixed(numbers[built.person], salts[built.predicate])
    holds = drawn * built.records[built.predicate] < 1
    person, predicate = cohort.known.person_of[built.person[holds]], built.predicate[holds]
    # A predicate that holds for several records of a person holds for one person.
    pairs = np.unique(person * len(salts) + predicate)
    person, predicate = pairs // max(1, len(salts)), pairs % max(1, len(salts))
    inside = person < cohort.insiders
    counts = (np.bincount(predicate[part], minlength=len(salts)) for part in (inside, ~inside))
    members, outsiders = (count.astype(np.int64, copy=False) for count in counts)
    return members, outsiders


def _notes(members: int, outsiders: int) -> tuple[str, ...]:
    if not outsiders:
        return (
            "without a control group nobody can say how much the predicates weigh: they are compared with the best "
            "predicate of any weight, so that lighter ones may have singled out more than they should; give one",
        )
    if 2 * outsiders < members:
        return (
            f"the control group has {outsiders} people and the data {members}: fewer are isolated among few, for which "
            "the baseline is corrected, the control group's rate is not",
        )
    return ()
