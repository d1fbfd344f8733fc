"""The linkage kernels against sets of codes; these run without compilation too."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.kernels.linking import UNKNOWN, ClassCoverage, ClassValues, count_candidates, covering_classes

SIZES = (5, 9, 3)


def random_case(seed: int, classes: int) -> tuple[list[list[list[tuple[int, int]]]], dict[str, np.ndarray]]:
    """Labels with up to three runs each, classes with random labels, people with random or unknown codes."""
    draw = np.random.default_rng(seed)
    labels: list[list[list[tuple[int, int]]]] = []
    for size in SIZES:
        ends = [
            np.sort(draw.choice(size + 1, size=2 * draw.integers(0, min(3, (size + 1) // 2) + 1), replace=False))
            for _ in range(6)
        ]
        labels.append([[(int(low), int(high)) for low, high in pairs.reshape(-1, 2)] for pairs in ends])
    flat = [runs for attribute in labels for runs in attribute]
    counts = [draw.choice(4, size=draw.integers(1, 4), replace=False) for _ in range(classes)]
    arrays = {
        "people": np.column_stack([draw.integers(UNKNOWN, size, size=30, dtype=np.int32) for size in SIZES]),
        "label_of": np.column_stack([draw.integers(6 * a, 6 * a + 6, size=classes, dtype=np.int32) for a in range(3)]),
        "runs": np.cumsum([0, *(len(runs) for runs in flat)]).astype(np.int64),
        "low": np.array([low for runs in flat for low, _ in runs], dtype=np.int32),
        "high": np.array([high for runs in flat for _, high in runs], dtype=np.int32),
        "starts": np.cumsum([0, *(len(values) for values in counts)]).astype(np.int64),
        "values": np.concatenate([np.sort(values) for values in counts]).astype(np.int32),
    }
    arrays["counts"] = draw.integers(1, 4, size=len(arrays["values"])).astype(np.int64)
    arrays["sizes"] = np.add.reduceat(arrays["counts"], arrays["starts"][:-1])
    return labels, arrays


def plain(labels: list[list[list[tuple[int, int]]]], arrays: dict[str, np.ndarray]) -> list[tuple[int, int, int]]:
    answers = []
    for person in arrays["people"].tolist():
        tally = [0, 0, 0, 0]
        for owner, of_class in enumerate(arrays["label_of"].tolist()):
            if all(
                code == UNKNOWN or any(low <= code <= high for low, high in labels[a][label - 6 * a])
                for a, (code, label) in enumerate(zip(person, of_class, strict=True))
            ):
                for entry in range(arrays["starts"][owner], arrays["starts"][owner + 1]):
                    tally[arrays["values"][entry]] += int(arrays["counts"][entry])
        best = tally.index(max(tally)) if any(tally) else -1
        answers.append((sum(tally), best, max(tally)))
    return answers


@pytest.mark.parametrize("shifts", [(0, 0, 0), (0, 1, 0), (2, 2, 1), (3, 4, 2)])
@pytest.mark.parametrize(("seed", "classes"), [(1, 1), (2, 20), (3, 64), (4, 65), (5, 150)])
def test_the_same_as_sets_of_codes(shifts: tuple[int, ...], seed: int, classes: int) -> None:
    labels, arrays = random_case(seed, classes)
    # One code more than there are values: that of values which the hierarchy does not know.
    rows = np.cumsum([0, *((size >> shift) + 1 for size, shift in zip(SIZES, shifts, strict=True))]).astype(np.int64)
    covered = (arrays[name] for name in ("label_of", "runs", "low", "high"))
    coverage = ClassCoverage(*covered, rows, np.array(shifts, dtype=np.int64))
    candidates, likeliest, agreeing = count_candidates(
        arrays["people"],
        coverage,
        covering_classes(coverage),
        arrays["sizes"],
        ClassValues(arrays["starts"], arrays["values"], arrays["counts"]),
        4,
    )
    assert list(zip(candidates.tolist(), likeliest.tolist(), agreeing.tolist(), strict=True)) == plain(labels, arrays)
