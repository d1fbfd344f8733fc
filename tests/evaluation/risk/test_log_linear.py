"""Log-linear risk: fitted means against Newton's method on the terms themselves, and against known populations."""

from __future__ import annotations

import json
import math
from itertools import combinations, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from sfumato.cli.app import app
from sfumato.errors import PolicyError
from sfumato.evaluation.risk import log_linear
from sfumato.evaluation.risk.adversaries import keys_of
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
    full = log_linear._fitted(counts.astype(np.float64), list(combinations(range(3), order)))[0]
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


def survey(records: int, seed: int) -> pl.DataFrame:
    drawn = np.random.default_rng(seed)
    columns = {name: drawn.integers(0, size, records) for name, size in (("a", 4), ("b", 3), ("c", 3))}
    columns["d"] = (columns["a"] + drawn.integers(0, 2, records)) % 4
    return pl.DataFrame(columns).with_columns(w=drawn.choice([2.0, 10.0, 40.0], records))


def test_chosen_terms_are_those_of_a_poisson_regression() -> None:
    frame = survey(90, 2)
    quasi = ["a", "b", "c", "d"]
    chosen = risk(frame, quasi_identifying=quasi, sampling_fraction=0.1, log_linear=[("d", "a"), ("c",)]).log_linear
    assert chosen is not None
    assert chosen.terms == (("a", "d"), ("b",), ("c",))
    # Of a term of two columns and two apart, the likeliest means are products of shares.
    counts = np.zeros((4, 3, 3, 4))
    for row in frame.select(quasi).iter_rows():
        counts[row] += 1
    together = counts.sum(axis=(1, 2))
    wanted = (
        together[:, None, None, :]
        * counts.sum(axis=(0, 2, 3))[None, :, None, None]
        * counts.sum(axis=(0, 1, 3))[None, None, :, None]
        / 90**2
    )
    alone = [row for row in frame.select(quasi).iter_rows() if counts[row] == 1]
    assert sorted(chosen.means) == pytest.approx(sorted(wanted[row] / 0.1 for row in alone), rel=1e-6)
    assert chosen.parameters == 1 + 3 + 3 + 9 + 2 + 2
    seen = counts > 0
    assert chosen.deviance == pytest.approx(2 * (counts[seen] * np.log(counts[seen] / wanted[seen])).sum(), rel=1e-6)
    plain = risk(frame, quasi_identifying=quasi, sampling_fraction=0.1, log_linear=1).log_linear
    assert plain is not None
    assert chosen.criterion is not None
    assert plain.criterion is not None
    assert chosen.criterion < plain.criterion  # d hangs on a
    every = risk(frame, quasi_identifying=quasi, sampling_fraction=0.1, log_linear=2).log_linear
    named = risk(
        frame, quasi_identifying=quasi, sampling_fraction=0.1, log_linear=list(combinations(quasi, 2))
    ).log_linear
    assert every is not None
    assert named is not None
    assert every.to_dict() == named.to_dict()


def test_pseudo_likelihood_fits_weighted_counts() -> None:
    frame = survey(60, 5)
    options = {"quasi_identifying": ["a", "b"], "weights": "w", "log_linear_estimate": "pseudo-likelihood"}
    found = risk(frame, log_linear=1, **options).log_linear
    assert found is not None
    weighted, counts = np.zeros((4, 3)), np.zeros((4, 3))
    for a, b, weight in frame.select("a", "b", "w").iter_rows():
        weighted[a, b] += weight
        counts[a, b] += 1
    means = weighted.sum(axis=1)[:, None] * weighted.sum(axis=0)[None, :] / weighted.sum()
    others = [means[a, b] * (1 - 1 / w) for a, b, w in frame.select("a", "b", "w").iter_rows() if counts[a, b] == 1]
    assert len(others) == len(found.unique)
    assert found.expected_uniques == pytest.approx(sum(math.exp(-x) for x in others), rel=1e-6)
    assert found.expected_matches == pytest.approx(sum((1 - math.exp(-x)) / x for x in others), rel=1e-6)
    assert found.criterion is None
    assert "pseudo-likelihood" in str(risk(frame, log_linear=2, **options))
    # Where all weights are equal it is the standard estimate.
    alike = frame.with_columns(w=pl.lit(12.5))
    both = [
        risk(alike, quasi_identifying=["a", "b", "c"], weights="w", log_linear=2, log_linear_estimate=each).log_linear
        for each in ("standard", "pseudo-likelihood")
    ]
    assert both[0].expected_uniques == pytest.approx(both[1].expected_uniques, rel=1e-9)


def test_terms_and_estimates_that_do_not_fit_are_all_named() -> None:
    frame = survey(20, 1)

    def problems(**options: object) -> tuple[str, ...]:
        with pytest.raises(PolicyError) as error:
            risk(frame, quasi_identifying=["a", "b"], **options)
        return error.value.problems

    assert len(problems(log_linear=[["a", "town"], [], "b"], sampling_fraction=0.1)) == 2
    assert "'town' is no quasi-identifying column" in " ".join(problems(log_linear=[["town"]], sampling_fraction=0.1))
    told = problems(log_linear=1, sampling_fraction=0.1, log_linear_estimate="pseudo-likelihood")
    assert told == ("log_linear_estimate: pseudo-likelihood needs the sampling weights of records (weights)",)
    assert "belongs to log_linear" in problems(weights="w", log_linear_estimate="pseudo-likelihood")[0]
    assert "must be one of" in problems(log_linear=1, weights="w", log_linear_estimate="wild")[0]


def test_the_command_takes_terms_and_the_estimate(tmp_path: Path) -> None:
    survey(60, 5).write_csv(tmp_path / "survey.csv")
    said = ["risk", str(tmp_path / "survey.csv"), "--quasi", "a,b,d", "--weights", "w", "--json"]
    asked = ["--log-linear-term", "a,d", "--log-linear-estimate", "pseudo-likelihood"]
    result = CliRunner().invoke(app, [*said, *asked])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["log_linear"]["terms"] == [["a", "d"], ["b"]]
    result = CliRunner().invoke(app, [*said, *asked, "--log-linear", "2"])
    assert result.exit_code == 2
    assert "give one of the two" in result.output


def test_bad_input_gets_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"a": ["x", "y"], "b": ["p", "q"]})
    with pytest.raises(PolicyError) as error:
        risk(frame, quasi_identifying=["a", "b"], log_linear=3)
    assert len(error.value.problems) == 2
    monkeypatch.setattr(log_linear, "_MOST_CELLS", 3)
    with pytest.raises(PolicyError, match="4 combinations of values, at most 3"):
        risk(frame, quasi_identifying=["a", "b"], sampling_fraction=0.1, log_linear=1)
