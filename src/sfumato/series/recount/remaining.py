"""Privacy models on the rows that several releases together leave.

What remains of a class to an attacker is a list of rows, so many of each value: the most that can be the person's at
once. It is no sample of anything, and values that remain more often are not for that more likely the person's. So only
such models make sense on it as count the rows of one class among themselves:

* k rows; l different values among them;
* bounds on shares *of the rows that remain*: probabilistic, entropy and recursive l-diversity, (α, k)-anonymity,
  guarded values. Whoever picks one of the rows that remain, blindly, is right no more often than they allow.

Models that compare a class with the whole table (t-closeness, β-likeness, δ-disclosure) are refused: they speak of the
distribution of a class, and what remains is none. So are models of people with several records: rows are counted here,
and which of them are one person's is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.classes.statistics import ClassStatistics, SensitiveCounts, counts_of, number_values
from sfumato.errors import PolicyError, raise_all
from sfumato.models.protocol import PrivacyModel
from sfumato.models.rule_traits import TRAITS
from sfumato.series.recount.released import Places
from sfumato.table.encoding import EncodedAttribute


@dataclass(frozen=True, eq=False, repr=False)
class SensitiveValues:
    """What the numbers of values say of each sensitive attribute.

    Letters: v values (combinations of all that a row publishes beside its class), s sensitive attributes.

    Attributes
    ----------
    attributes : sequence of EncodedAttribute
    codes : numpy.ndarray
        Integers (v, s): code of each value in each attribute.
    """

    attributes: Sequence[EncodedAttribute]
    codes: NDArray[np.integer]


def check_models(models: Sequence[PrivacyModel], attributes: Sequence[str]) -> None:
    """Refuse models that mean nothing for the rows that several releases leave.

    Raises
    ------
    PolicyError
        With every such model and the reason.
    """
    problems = []
    for model in models:
        try:
            traits = [TRAITS[rule.code] for rule in model.rules(attributes)]
        except NotImplementedError:
            traits = []
        if any(each.relative for each in traits):
            problems.append(
                f"{model.name}: what two releases leave of a class is no distribution that could be compared with the "
                "whole table; in a series use a model of single classes, such as distinct or probabilistic l-diversity"
            )
        elif not traits:
            problems.append(f"{model.name}: no model of single classes; a series cannot be recounted for it")
    raise_all(PolicyError, problems)


def holds_on(places: Places, models: Sequence[PrivacyModel], values: SensitiveValues) -> NDArray[np.bool_]:
    """Tell of which lists of rows every model holds; of empty ones it does, as they are nobody's.

    Parameters
    ----------
    places
        Rows that remain: :attr:`~sfumato.series.recount.pair.PairRecount.both`, `new` or
        :attr:`~sfumato.series.recount.several.Histories.left`.
    models, values
        What was promised of every class, and what the numbers of values mean.

    Returns
    -------
    numpy.ndarray
        bool (c,)

    Raises
    ------
    PolicyError
        See :func:`check_models`.
    """
    check_models(models, [attribute.name for attribute in values.attributes])
    verdict = np.ones(places.count, dtype=np.bool_)
    lists, list_of = np.unique(places.class_of, return_inverse=True)
    if not len(lists):
        return verdict
    sizes = np.bincount(list_of, weights=places.rows).astype(np.int64)
    counted = {
        attribute.name: _counted(attribute, values.codes[places.value_of, index], list_of, places.rows, len(lists))
        for index, attribute in enumerate(values.attributes)
    }
    statistics = ClassStatistics(sizes, counted)
    for model in models:
        verdict[lists] &= model.holds(statistics)
    return verdict


def _counted(
    attribute: EncodedAttribute,
    codes: NDArray[np.integer],
    list_of: NDArray[np.int64],
    rows: NDArray[np.int64],
    count: int,
) -> SensitiveCounts:
    occurrences = np.bincount(codes, weights=rows, minlength=attribute.cardinality).astype(np.int64)
    value_of, code_of = number_values(attribute, occurrences)
    keys, place = np.unique(list_of * len(code_of) + value_of[codes], return_inverse=True)
    counts = np.bincount(place, weights=rows).astype(np.int64)
    starts = np.searchsorted(keys, np.arange(count + 1) * len(code_of)).astype(np.int64)
    return counts_of(attribute, code_of, starts, (keys % len(code_of)).astype(np.int32), counts, occurrences[code_of])
