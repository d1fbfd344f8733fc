"""Log-linear risk: fitted means against Newton's method on the terms themselves, and against known populations."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import polars as pl
import pytest

from sfumato.errors import PolicyError
from sfumato.evaluation.risk import log_linear
from sfumato.evaluation.risk.keys import keys_of
from sfumato.evaluation.risk.measure import risk


def newton(counts: np.ndarray, order: int) -> np.ndarray:
    """Means of a Poisson regression on indicators of all terms, by Newton's method with a little ridge."""
    cells = list(product(*map(range, counts.shape)))
    columns = [np.ones(len(cells))]
    for size in range(1, order + 1):
        for chosen in combinations(range(counts.ndim), size):
            for levels in product(*(range(1, counts.shape[place]) for place in chosen)):
                columns.append(
                    np.array([all(cell[p] == v for p, v in zip(chosen, levels, strict=True)) for cell in cells], float)
                )
    design, observed = np.column_stack(columns), counts.ravel()
    beta = np.zeros(design.shape[1])
    beta[0] = math.log(observed.mean())
    for _ in range(200):
        means = np.exp(design @ beta)
        step = np.linalg.solve(
            design.T @ (design * means[:, None]) + 1e-10 * np.eye(len(beta)), design.T @ (observed - means)
        )
        beta += step * min(1.0, 2.0 / (np.abs(step).max() + 1e-12))
    return np.exp(design @ beta).reshape(counts.shape)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_means_are_the_likeliest_ones(order: int, seed: int) -> None:
    drawn = np.random.default_rng(seed)
    counts = drawn.poisson(4, (3, 2, 4)) + 1
    rows = [cell for cell in product(range(3), range(2), range(4)) for _ in range(counts[cell])]
    keys = keys_of([pl.Series(f"k{place}", column) for place, column in enumerate(zip(*rows, strict=True))])
    found = log_linear.log_linear_risk(keys, 0.1, order)
    wanted = newton(counts, order)
    for place, mean in zip(found.unique.tolist(), found.means.tolist(), strict=True):
        first = rows[int(keys.first_rows[place]) - 1]
        assert mean == pytest.approx(wanted[first] / 0.1, rel=1e-3)
    full = log_linear._fitted(counts.astype(np.float64), order)[0]
    assert full == pytest.approx(wanted, rel=1e-3)


def test_a_population_that_the_model_describes_is_told_rightly() -> None:
    drawn = np.random.default_rng(7)
    shares = [drawn.dirichlet(np.ones(size)) for size in (12, 9, 8)]
    people = np.column_stack([drawn.choice(len(share), 20_000, p=share) for share in shares])
    cells = np.ravel_multi_index(tuple(people.T), (12, 9, 8))
    everybody = np.bincount(cells, minlength=12 * 9 * 8)
    told, true = [], []
    for _ in range(12):
        sample = drawn.random(20_000) < 0.02
        frame = pl.DataFrame(people[sample], schema=["a", "b", "c"], orient="row")
        report = risk(frame, quasi_identifying=["a", "b", "c"], sampling_fraction=0.02, log_linear=1, combinations=0)
        alone = np.bincount(cells[sample], minlength=len(everybody)) == 1
        assert report.log_linear is not None
        told.append((report.log_linear.expected_uniques, report.log_linear.expected_matches))
        true.append((np.count_nonzero(alone & (everybody == 1)), (1 / everybody[alone]).sum()))
    assert np.mean(told, axis=0) == pytest.approx(np.mean(true, axis=0), rel=0.25)
    assert sum(each[1] for each in told) == pytest.approx(sum(each[1] for each in true), rel=0.1)


def test_the_formulas_by_hand() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "y", "y"], "b": ["p", "p", "p", "q"]})
    found = risk(frame, quasi_identifying=["a", "b"], sampling_fraction=0.5, log_linear=1).log_linear
    assert found is not None
    # Means of the sample are products of shares: (y, p) 2 · 3 / 4, (y, q) 2 · 1 / 4.
    others = [2 * 3 / 4 / 0.5 * 0.5, 2 * 1 / 4 / 0.5 * 0.5]
    assert found.expected_uniques == pytest.approx(sum(math.exp(-x) for x in others))
    assert found.expected_matches == pytest.approx(sum((1 - math.exp(-x)) / x for x in others))
    everybody = risk(frame, quasi_identifying=["a", "b"], sampling_fraction=1, log_linear=2).log_linear
    assert everybody is not None
    assert everybody.expected_uniques == everybody.expected_matches == 2
    assert "log-linear" in str(risk(frame, quasi_identifying=["a", "b"], sampling_fraction=0.5, log_linear=1))
    told = risk(frame, quasi_identifying=["a", "b"], sampling_fraction=0.5, log_linear=1).to_dict()
    assert told["log_linear"]["expected_uniques"] == found.expected_uniques


def test_bad_input_gets_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"a": ["x", "y"], "b": ["p", "q"]})
    with pytest.raises(PolicyError) as error:
        risk(frame, quasi_identifying=["a", "b"], log_linear=3)
    assert len(error.value.problems) == 2
    monkeypatch.setattr(log_linear, "MOST_CELLS", 3)
    with pytest.raises(PolicyError, match="4 combinations of values, at most 3"):
        risk(frame, quasi_identifying=["a", "b"], sampling_fraction=0.1, log_linear=1)
