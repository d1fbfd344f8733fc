"""Runs of anonymizers that are timed alone: encoded table in, published classes out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from sfumato.anonymizers.protocol import Anonymizer, Problem
from sfumato.classes.generalized import GeneralizedTable
from sfumato.metrics import Rule, discernibility, normalized_certainty_penalty
from sfumato.models import KAnonymity
from sfumato.papers.setting import Setting
from sfumato.parallel import each
from sfumato.recoding import TIGHT, recode
from sfumato.table.encoding import EncodedTable


@dataclass(frozen=True, eq=False)
class Method:
    """A method of publishing, with its view of the table.

    Attributes
    ----------
    label : str
        Its name on curves and in tables.
    anonymizer : Anonymizer
    table : EncodedTable
        The table that it solves.
    published : EncodedTable
        The table on which its losses are counted; the same records in the same order.
    rule : str
        How categories count in losses.
    suppressible : bool
        Whether it may suppress k records.
    """

    label: str
    anonymizer: Anonymizer
    table: EncodedTable
    published: EncodedTable
    rule: Rule = "auto"
    suppressible: bool = False

    def run(self, k: int, seed: int) -> dict[str, Any]:
        """Publish with k-anonymity and return figures; ``seconds`` is the time of this thread alone."""
        limit = k if self.suppressible else 0
        began = time.thread_time()
        solved = self.anonymizer.solve(Problem(self.table, [KAnonymity(k)], suppression_limit=limit, seed=seed))
        recoded = recode(self.published, solved, TIGHT)
        seconds = time.thread_time() - began
        return {
            "method": self.label,
            "k": k,
            "loss": normalized_certainty_penalty(recoded, self.rule),
            "discernibility": discernibility(recoded),
            "classes": distinct_published(recoded),
            "suppressed": solved.suppressed,
            "seconds": seconds,
        }


def distinct_published(recoded: GeneralizedTable) -> int:
    """Count how many different published records there are, without suppressed ones."""
    return pl.DataFrame({str(place): column.per_class for place, column in enumerate(recoded.columns)}).n_unique()


def run_all(jobs: Sequence[Callable[[], dict[str, Any]]], setting: Setting, what: str) -> pl.DataFrame:
    """Run jobs, several at a time, and put their results into a table, in the order of the jobs."""
    done = 0

    def one(job: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        nonlocal done
        row = job()
        done += 1
        setting.progress(what, done, len(jobs))
        return row

    setting.progress(what, 0, len(jobs))
    return pl.DataFrame(each(one, jobs, setting.threads), infer_schema_length=None)
