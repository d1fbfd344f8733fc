"""Parts whose sensitive values are imagined from the range: against plain words, and against every part there is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from sfumato.anonymizers.layout import space_of
from sfumato.kernels.mondrian.cuts import Options, count_whole, imagine, imagined_holds, new_workspace
from sfumato.kernels.predicates import holds
from sfumato.models.compiled import compile_rules
from sfumato.models.protocol import PrivacyModel
from sfumato.table.encoding import encode

DIVERSE = [
    sf.DistinctLDiversity(2),
    sf.DistinctLDiversity(3),
    sf.ProbabilisticLDiversity(2),
    sf.EntropyLDiversity(1.8),
    sf.RecursiveLDiversity(1.5, 2),
    sf.AlphaKAnonymity(0.6, 2),
    sf.GuardedValues(("v0",), 0.4),
]

histograms = st.lists(st.integers(1, 5), min_size=1, max_size=4)


class Range:
    """A range of records with given sensitive counts, as kernels see it."""

    def __init__(self, counts: Sequence[int], model: PrivacyModel, margin: float) -> None:
        values = [f"v{place}" for place, count in enumerate(counts) for _ in range(count)]
        frame = pl.DataFrame({"age": range(len(values)), "disease": values})
        table = encode(sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["disease"])))
        compiled = compile_rules([model], table)
        options = Options(1, True, False, True, True, False, False, False, margin)
        self.rules = compiled.arrays
        self.size = len(values)
        self.work = new_workspace(space_of(table.attributes), self.rules, options)
        codes = np.concatenate([table.codes.astype(np.uint32), compiled.codes.astype(np.uint32)], axis=1)
        count_whole(codes, np.ones(self.size, np.int32), 0, self.size, self.rules, self.work)
        self.whole: list[int] = self.work.whole.tolist()

    def imagined(self, part: int) -> list[int]:
        counts = np.full(len(self.whole), 99, dtype=np.int64)
        imagine(part, self.size, -1, self.rules, self.work, counts)
        return list(counts.tolist())

    def accepts(self, part: int) -> bool:
        """Tell whether a part of that size is thought to satisfy the rules."""
        counts = np.full(len(self.whole), 99, dtype=np.int64)
        return bool(imagined_holds(part, self.size, self.rules, self.work, counts))

    def satisfied(self, counts: Sequence[int]) -> bool:
        return bool(holds(sum(counts), np.array(counts, dtype=np.int64), self.rules, self.work.scratch))


def plainly(whole: Sequence[int], part: int, margin: float) -> list[int]:
    size, room, counts = sum(whole), part, [0] * len(whole)
    for value in sorted(range(len(whole)), key=lambda value: -whole[value]):
        expected = part * whole[value] / size
        variance = expected * (1 - whole[value] / size) * (size - part) / max(1, size - 1)
        counts[value] = min(room, whole[value], math.ceil(expected + margin * math.sqrt(variance) - 1e-9))
        room -= counts[value]
    return counts


@given(histograms, st.integers(1, 20), st.sampled_from([0.0, 0.5, 1.0, 2.5, 20.0]))
@examples(80)
def test_as_in_plain_words(counts: list[int], part: int, margin: float) -> None:
    assume(part < sum(counts))
    given_range = Range(counts, DIVERSE[0], margin)
    found = given_range.imagined(part)
    assert found == plainly(given_range.whole, part, margin)
    assert sum(found) == part


@pytest.mark.parametrize("model", DIVERSE, ids=repr)
@given(counts=histograms, part=st.integers(1, 20))
@examples(40)
def test_with_a_huge_margin_no_part_breaks_what_the_imagined_one_satisfies(
    model: PrivacyModel, counts: list[int], part: int
) -> None:
    assume(part < sum(counts))
    given_range = Range(counts, model, 1e9)
    parts = [each for each in product(*(range(count + 1) for count in given_range.whole)) if sum(each) == part]
    imagined = given_range.imagined(part)
    assert tuple(imagined) in parts
    assert given_range.accepts(part) == all(given_range.satisfied(each) for each in parts)


def test_what_is_guarded_comes_first() -> None:
    given_range = Range([3, 2, 4], sf.GuardedValues(("v1",), 0.4), 1e9)
    counts = np.full(3, 99, dtype=np.int64)
    imagine(3, 9, 0, given_range.rules, given_range.work, counts)
    guarded = given_range.whole.index(2)
    assert counts[guarded] == 2
    assert counts[given_range.whole.index(4)] == 1
    assert not given_range.accepts(3)
    assert given_range.accepts(5)


def test_two_sensitive_attributes_are_imagined_each_by_itself() -> None:
    frame = pl.DataFrame({"age": range(6), "one": list("aaaabc"), "two": list("xyxyxy")})
    table = encode(sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["one", "two"])))
    compiled = compile_rules([sf.DistinctLDiversity(2)], table)
    options = Options(1, True, False, True, True, False, False, False, 1e9)
    work = new_workspace(space_of(table.attributes), compiled.arrays, options)
    codes = np.concatenate([table.codes.astype(np.uint32), compiled.codes.astype(np.uint32)], axis=1)
    count_whole(codes, np.ones(6, np.int32), 0, 6, compiled.arrays, work)
    counts = np.zeros(5, dtype=np.int64)
    imagine(5, 6, -1, compiled.arrays, work, counts)
    assert sorted(counts[:3].tolist()) == [0, 1, 4]
    assert sorted(counts[3:].tolist()) == [2, 3]
