"""Linkage: find the records that fit a person's known values (Samarati and Sweeney, 1998)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from sfumato.evaluation.attacks.linkage_scores import (
    RECORDS,
    Picks,
    count_outsiders,
    own_rows,
    picks_of,
    read_truth,
    score_links,
)
from sfumato.evaluation.attacks.links import Links, exact_links, known_attributes, known_problems, read_links
from sfumato.evaluation.attacks.people import Victims, key_columns, key_of, known_records, victims_of
from sfumato.evaluation.attacks.protocol import AttackResult, Target
from sfumato.options import Checked


@dataclass(frozen=True)
class Linkage(Checked):
    """The linking attack.

    Parameters
    ----------
    known
        What the attacker knows of everybody: names of quasi-identifying attributes; a number m for the m that
        distinguish most people of the original, found one after the other; None for all.
    weighs
        Whether the attacker weighs the classes that fit by one over their volume; else all that fit are equal.

    Raises
    ------
    PolicyError
        When `known` is neither.

    References
    ----------
    P. Samarati, L. Sweeney, "Protecting privacy when disclosing information: k-anonymity and its enforcement through
    generalization and suppression", 1998.

    Notes
    -----
    Published records are shuffled, so nobody knows which one is whose. In a generalized or bucketized release, the true
    record is among those that fit, unless it was suppressed; an attacker who picks one of c records is right with a
    chance of 1 ÷ c.

    *Weighing.* Where several classes of a generalized table fit, the person is likelier in one whose labels cover few
    values: its records lie closer together. The attacker picks from the class with the smallest volume, the number of
    different vectors of known values that it covers. That the person's own record is there is judged by
    :func:`~sfumato.evaluation.attacks.linkage_scores.spread_originals`. Every class of a k-anonymous table has k
    records, so that 1/k still bounds it. It is an addition here, and left out for people with several records, and
    where more than 4 million pairs of a person and a class fit.

    *People with several records.* Where all rows of a person lie in one class, those rows fit whose class covers all
    known records. Elsewhere a known record may be any row that fits it; these chances add up, and the attacker picks a
    row of the class where the sum is largest. The guess is right if the row is any of the person's.
    """

    name: ClassVar[str] = "linkage"
    kinds: ClassVar[frozenset[str]] = frozenset(RECORDS)
    needs: ClassVar[tuple[str, ...]] = ()

    known: int | tuple[str, ...] | None = None
    weighs: bool = True

    def _mistakes(self) -> Iterable[str]:
        return known_problems(self.name, self.known)

    def play(self, target: Target) -> tuple[AttackResult, ...]:
        """Play it on everybody in the data, or in the register."""
        published = RECORDS[target.published.kind](target.published)
        victims = victims_of(target, published)
        names = known_attributes(self.name, self.known, target, published, victims)
        keys = key_of(published, key_columns(published, target))

        def linked(some: Victims) -> Links:
            return exact_links(published, some, names, keys, target.recoding, together=target.rows.together)

        links = linked(victims)
        figures: dict[str, Any] = count_outsiders(links, victims)
        if target.control is not None:
            known = known_records(target, target.control)
            frame = target.control.frame[known.places]
            others = linked(Victims.outside(frame, target.control.schema, known.owners))
            figures["control_who_fit_one_record"] = float(np.mean(others.candidates == 1))
        picks = self._picks(target, published, victims, names, keys)
        return score_links(target, links, victims, names, attack=self.name, fit="fits", figures=figures, picks=picks)

    def _picks(
        self, target: Target, published: pl.DataFrame, victims: Victims, names: tuple[str, ...], keys: pl.Series
    ) -> Picks | None:
        if not self.weighs or target.published.kind != "generalized-table" or not victims.alone:
            return None
        reading = read_links(published, victims, names, keys, target.recoding)
        truth = reading if target.register is None else read_truth(target, published, victims, names)
        return picks_of(reading, truth, own_rows(victims))
