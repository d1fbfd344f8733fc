"""What results show of themselves: drawings, cards of notebooks, classes, and the papers behind a run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import drawing
from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.evaluation.attacks import ATTACKS
from sfumato.models import MODELS
from sfumato.registry import citations

QUASI, SECRET = ["age", "town"], "illness"


@pytest.fixture(scope="module")
def table() -> sf.Table:
    draw = np.random.default_rng(8)
    frame = pl.DataFrame(
        {
            "age": draw.integers(20, 80, 300),
            "town": draw.choice(["Ay", "Bo & Co", "<b>"], 300),
            "illness": draw.choice(["flu", "<i>gout", "burn"], 300),
        }
    )
    return sf.read_table(frame, sf.Schema(quasi_identifying=QUASI, sensitive=[SECRET]))


@pytest.fixture(scope="module")
def release(table: sf.Table) -> sf.Release:
    return sf.anonymize(table, [sf.KAnonymity(5), sf.DistinctLDiversity(2)], seed=1)


def shown(table: sf.Table, release: sf.Release) -> dict[str, Any]:
    compared = sf.compare(
        table, sf.KAnonymity(2), anonymizers=["mondrian"], vary={"k": [2, 5]}, figures=sf.Figures(0), seed=1
    )
    return {
        "release": release,
        "comparison": compared,
        "risk": sf.risk(table),
        "attack": sf.attack(release, table, attacks=["homogeneity", "linkage"], seed=1),
        "utility": sf.measure_utility(release, table, seed=1),
        "columns": sf.describe(release, table),
        "check": sf.check(table),
    }


def test_every_result_draws_itself_and_has_a_card(table, release, tmp_path: Path):
    for name, result in shown(table, release).items():
        card = result._repr_html_()
        assert card.startswith("<style>")
        assert "<b>" not in card
        assert "<i>gout" not in card
        if name == "check":
            continue
        drawn = result.plot()
        assert "<svg" in drawn._repr_svg_()
        assert drawn.save(tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in drawn.save(tmp_path / f"{name}.svg").read_text()
    with pytest.raises(sf.PolicyError, match="must end with"):
        drawn.save(tmp_path / "drawing.gif")
    with pytest.raises(sf.InputError, match="a folder that exists"):
        drawn.save(tmp_path / "nowhere" / "drawing.svg")


def test_drawings_hold_the_figures(table, release):
    results = shown(table, release)
    loss, size, width = results["release"].plot().figure.axes
    assert [bar.get_width() for bar in loss.patches] == [
        pytest.approx(100 * each) for each in release.report.losses.attribute_ncp.values()
    ]
    assert sum(bar.get_height() for bar in size.patches) == release.data.height
    assert [line.get_label() for line in width.lines] == ["age"]
    curve, _ = results["comparison"].plot().figure.axes
    assert list(curve.lines[0].get_ydata()) == results["comparison"].means().sort("k")["loss"].to_list()
    before = results["columns"].plot().figure.axes[1].containers[0]
    assert sorted(bar.get_width() for bar in before) == sorted(Counter(table.frame["town"].to_list()).values())
    with pytest.raises(sf.PolicyError, match="no release has both"):
        results["comparison"].plot(loss="beauty")


def test_classes_are_those_that_are_published(table, release):
    found = release.classes
    naive = Counter(release.data.select(pl.col(QUASI).cast(pl.String)).rows())
    assert dict(zip(found.select(pl.col(QUASI).cast(pl.String)).rows(), found["records"], strict=True)) == naive
    assert found["records"].is_sorted()
    assert found["records"].min() == release.report.smallest_class
    assert found[f"distinct {SECRET}"].min() >= 2
    buckets = sf.anonymize(table, sf.DistinctLDiversity(2), anonymizer=sf.Bucketization(), seed=1)
    for asked in (lambda: buckets.classes, buckets.plot):
        with pytest.raises(sf.PolicyError, match="has none"):
            asked()


def test_papers_are_named(table, release):
    words = release.cite()
    assert "k-member: J.-W. Byun" in words
    assert 'k-anonymity: L. Sweeney, "k-anonymity' in words
    assert "Departure" not in words
    results = shown(table, release)
    assert "mondrian: K. LeFevre" in results["comparison"].cite()
    assert "homogeneity: A. Machanavajjhala" in results["attack"].cite()
    unnamed = {"best", "auto", "sample-uniques"}
    for known in (ANONYMIZERS, PUBLISHERS, MODELS, ATTACKS):
        for name in known:
            assert citations([known[name]]).count("\n") == 1 or name in unnamed, name


def test_without_matplotlib_the_extra_is_named(release, monkeypatch):
    def absent(module: str) -> Any:
        raise ImportError

    monkeypatch.setattr(drawing, "import_module", absent)
    with pytest.raises(sf.PolicyError, match=r"sfumato\[report\]"):
        release.plot()
