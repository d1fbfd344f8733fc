"""Suppression over a whole run: within the limit, and never a telling number of records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.models.protocol import smallest_allowed
from sfumato.release.problem import settle_suppression
from sfumato.table.encoding import encode


@dataclass(frozen=True)
class Groups:
    """An anonymizer that does as it is told: a class for each record, −1 to leave it out."""

    classes: tuple[int, ...]

    name: ClassVar[str] = "told"
    decides_regions: ClassVar[bool] = False

    def solve(self, problem: Problem) -> Partition:
        return Partition(np.array(self.classes, dtype=np.int32), max(self.classes, default=-1) + 1)


def table(diseases: str, ages: Sequence[int] | None = None) -> sf.Table:
    frame = pl.DataFrame({"age": ages or list(range(len(diseases))), "disease": list(diseases)})
    return sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["disease"]))


def settle(classes: Sequence[int], diseases: str, models: Sequence[object], limit: int, suppressed: str) -> list[int]:
    problem = Problem(encode(table(diseases)), models, limit)  # type: ignore[arg-type]
    partition = Groups(tuple(classes)).solve(problem)
    return settle_suppression(partition, problem, sf.Recoding(suppressed=suppressed)).class_of.tolist()  # type: ignore[arg-type]


def test_the_largest_k_counts():
    assert smallest_allowed([]) == 1
    assert smallest_allowed([sf.TCloseness(0.5)]) == 1
    assert smallest_allowed([sf.KAnonymity(3), sf.AlphaKAnonymity(0.5, 7), sf.KAnonymity(2)]) == 7


@pytest.mark.parametrize("suppressed", ["remove", "star"])
def test_a_solution_that_suppresses_nothing_is_kept(suppressed):
    assert settle([0, 0, 1, 1], "abab", [sf.KAnonymity(2)], 0, suppressed) == [0, 0, 1, 1]


@pytest.mark.parametrize("suppressed", ["remove", "star"])
def test_enough_suppressed_records_are_kept_as_they_are(suppressed):
    assert settle([0, 0, -1, -1], "abab", [sf.KAnonymity(2)], 2, suppressed) == [0, 0, -1, -1]


@pytest.mark.parametrize("suppressed", ["remove", "star"])
def test_one_suppressed_record_takes_the_smallest_class_with_it(suppressed):
    classes = [0, 0, 0, 1, 1, 2, 2, 2, -1]
    assert settle(classes, "abababcab", [sf.KAnonymity(2)], 3, suppressed) == [0, 0, 0, -1, -1, 1, 1, 1, -1]


@pytest.mark.parametrize("suppressed", ["remove", "star"])
def test_the_limit_counts_the_classes_that_go_along(suppressed):
    with pytest.raises(sf.UnsatisfiableError, match=r"1 of 9 records.*limit of 2"):
        settle([0, 0, 0, 1, 1, 2, 2, 2, -1], "abababcab", [sf.KAnonymity(2)], 2, suppressed)
    with pytest.raises(sf.UnsatisfiableError, match="limit allows 1"):
        settle([0, 0, -1, -1], "abab", [sf.KAnonymity(2)], 1, suppressed)


def test_stars_are_a_class_that_satisfies_the_models_too():
    models = [sf.KAnonymity(2), sf.DistinctLDiversity(2)]
    classes = [0, 0, 1, 1, 1, -1, -1]
    assert settle(classes, "ababaaa", models, 7, "star") == [-1, -1, 0, 0, 0, -1, -1]
    assert settle(classes, "ababaaa", models, 7, "remove") == classes


def test_classes_that_break_when_the_whole_table_changes_are_found():
    # Once the two c are gone, half the records are a: the class of one b and three a is too far from that.
    models = [sf.BasicBetaLikeness(0.9)]
    classes = [0, 0, 0, 0, 1, 1, 1, 1, -1, -1]
    diseases = "aaabbbbbcc"
    with pytest.raises(sf.UnsatisfiableError):
        settle(classes, diseases, models, 2, "remove")
    with pytest.raises(sf.UnsatisfiableError):
        sf.anonymize(table(diseases), models, anonymizer=Groups(tuple(classes)), suppression_limit=0.2)


@pytest.mark.parametrize("suppressed", ["remove", "star"])
def test_suppressing_everybody_is_no_release(suppressed):
    with pytest.raises(sf.UnsatisfiableError):
        settle([-1, -1, -1], "abc", [sf.KAnonymity(2)], 3, suppressed)
    with pytest.raises(sf.UnsatisfiableError):
        settle([0, 0, -1], "abc", [sf.KAnonymity(3)], 3, suppressed)


@given(
    st.lists(st.tuples(st.integers(-1, 6), st.sampled_from("aab")), min_size=1, max_size=30),
    st.integers(1, 4),
    st.sampled_from(["remove", "star"]),
    st.sampled_from([0.0, 0.2, 0.5, 1.0]),
    st.sampled_from([None, sf.ProbabilisticLDiversity(1.5), sf.TCloseness(0.4), sf.BasicBetaLikeness(1.0)]),
)
@examples(150)
def test_what_is_published_always_verifies(records, k, suppressed, fraction, model):
    """Whatever an anonymizer returns: what comes out is right, or an error."""
    owners = sorted({owner for owner, _ in records if owner >= 0})
    classes = tuple(owners.index(owner) if owner >= 0 else -1 for owner, _ in records)
    wanted = [sf.KAnonymity(k), *([model] if model else [])]
    original = table("".join(disease for _, disease in records))
    recoding = sf.Recoding(suppressed=suppressed)
    try:
        release = sf.anonymize(
            original, wanted, anonymizer=Groups(classes), recoding=recoding, suppression_limit=fraction
        )
    except (sf.UnsatisfiableError, sf.VerificationError):
        return
    assert sf.verify(release).ok
    assert release.report.suppressed == 0 or k <= release.report.suppressed <= fraction * len(records)
    stars = Counter(release.data["age"].cast(pl.String))["*"]
    assert suppressed == "remove" or stars >= release.report.suppressed


def test_the_report_counts_what_was_suppressed():
    release = sf.anonymize(
        table("abababab"), [sf.KAnonymity(2)], anonymizer=Groups((0, 0, 0, 1, 1, 1, -1, -1)), suppression_limit=0.25
    )
    assert (release.report.original, release.report.published, release.report.suppressed) == (8, 6, 2)
    assert release.report.losses.normalized_ncp > 0.25
    starred = sf.anonymize(
        table("abababab"),
        [sf.KAnonymity(2)],
        anonymizer=Groups((0, 0, 0, 1, 1, 1, -1, -1)),
        suppression_limit=0.25,
        recoding=sf.Recoding(suppressed="star"),
    )
    assert (starred.report.original, starred.report.published, starred.report.suppressed) == (8, 8, 2)
    assert Counter(starred.data["age"].cast(pl.String))["*"] == 2
    assert (starred.report.classes, starred.report.smallest_class, starred.report.largest_class) == (3, 2, 3)
    assert starred.report.highest_risk == 0.5


def test_which_of_several_smallest_classes_goes_does_not_depend_on_their_numbers():
    chosen = [
        settle(classes, "abababab", [sf.KAnonymity(2)], 3, "remove")
        for classes in ([0, 0, 1, 1, 2, 2, 2, -1], [2, 2, 1, 1, 0, 0, 0, -1], [1, 1, 2, 2, 0, 0, 0, -1])
    ]
    assert {tuple(place for place, number in enumerate(classes) if number < 0) for classes in chosen} == {(0, 1, 7)}
