"""Declared labels: one bin or two of a grid, nodes, and no sets; held against a naive twin, and recounted."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive.ends import CLOSER, islice_steps, rounded_numbers
from recoding.small_tables import attribute_of
from sfumato.errors import PolicyError
from sfumato.models.protocol import Outcome
from sfumato.recoding.choice import on_declared_grid, rounded_texts, with_declared_grid
from sfumato.release.agreement import DECLARED
from sfumato.table.schema import Kind

DECLARED_LABELS = sf.Recoding(labels="declared")


@examples(150)
@given(st.lists(st.integers(-3000, 3000), min_size=2, max_size=12, unique=True), st.sampled_from([1, 7, 50]), st.data())
def test_intervals_equal_the_twin(numbers: list[int], factor: int, data: st.DataObject) -> None:
    values = sorted(number * factor for number in numbers)
    low = data.draw(st.integers(0, len(values) - 2))
    high = data.draw(st.integers(low + 1, len(values) - 1))
    exact = [Fraction(value) for value in values]
    begin, stop = rounded_numbers(exact, exact[low], exact[high], most=2)
    attribute = with_declared_grid(attribute_of(list(values)))
    text = rounded_texts(attribute, np.array([low], dtype=np.int32), np.array([high], dtype=np.int32))
    assert text.to_list() == [f"[{begin}..{stop - 1}]"]


@examples(200)
@given(st.integers(-400, 400), st.integers(1, 300))
def test_bins_of_a_grid_are_found_by_trying_all(begin: int, width: int) -> None:
    stop = begin + width
    trying = any(
        step >= 1 and begin % step == 0 and stop % step == 0 and (stop - begin) / step <= 2
        for step in islice_steps(100, CLOSER)
    )
    found = on_declared_grid(np.array([float(begin)]), np.array([float(stop)]), Kind.NUMERIC)
    assert found.tolist() == [trying]
    assert (
        on_declared_grid(np.array([0.0]), np.array([float(stop)]), Kind.NUMERIC, (0.0, float(stop))).all() or stop < 1
    )


def _table(*, groups: bool = True) -> sf.Table:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, 400),
            "born": [date(1950, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 20000, 400)],
            "sex": rng.choice(["f", "m"], 400),
            "colour": rng.choice(["red", "green", "blue", "black"], 400, p=[0.7, 0.1, 0.1, 0.1]),
        }
    )
    colour = sf.groups({"bright": ["red", "green"], "dark": ["blue", "black"]}) if groups else None
    quasi = {"age": None, "born": None, "sex": None, "colour": colour}
    return sf.read_table(frame, sf.Schema(quasi_identifying=quasi, others="drop"))


def test_labels_are_nodes_and_bins_and_verify_recounts_them(tmp_path: Path) -> None:
    for anonymizer in (sf.Mondrian(), sf.KMember()):
        release = sf.anonymize(_table(), sf.KAnonymity(5), anonymizer=anonymizer, recoding=DECLARED_LABELS, seed=1)
        assert set(release.data["colour"].cast(pl.String)) <= {"red", "green", "blue", "black", "bright", "dark", "*"}
        assert set(release.data["sex"].cast(pl.String)) <= {"f", "m", "{f|m}"}
        release.save(tmp_path / anonymizer.name)
        checks = {check.promise: check.outcome for check in sf.verify(tmp_path / anonymizer.name).checks}
        assert checks[DECLARED] is Outcome.HOLDS


@pytest.mark.parametrize("ends", ["rounded", "tight"])
def test_least_labels_that_are_called_declared_are_found(tmp_path: Path, ends: str) -> None:
    release = sf.anonymize(_table(), sf.KAnonymity(5), recoding=sf.Recoding(ends=ends), seed=1)  # type: ignore[arg-type]
    release.save(tmp_path / "release")
    policy = tmp_path / "release" / "policy.toml"
    text = policy.read_text(encoding="utf-8")
    policy.write_text(text.replace("[recoding]", '[recoding]\nlabels = "declared"').replace('ends = "tight"\n', ""))
    checks = {check.promise: check for check in sf.verify(tmp_path / "release").checks}
    assert checks[DECLARED].outcome is Outcome.BROKEN
    assert "age" in str(checks[DECLARED].detail)


def test_what_has_no_declared_label_is_refused_in_one_go() -> None:
    with pytest.raises(PolicyError, match="declared labels need a hierarchy"):
        sf.anonymize(_table(groups=False), sf.KAnonymity(5), recoding=DECLARED_LABELS)
    with pytest.raises(PolicyError, match="mean of a class"):
        sf.anonymize(_table(), sf.KAnonymity(5), recoding=sf.Recoding(numeric="mean", labels="declared"))  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="decides itself"):
        sf.anonymize(_table(), sf.KAnonymity(5), anonymizer=sf.Incognito(), recoding=DECLARED_LABELS)
    with pytest.raises(PolicyError, match="tight ends are values"):
        sf.Recoding(labels="declared", ends="tight")
    with pytest.raises(PolicyError, match="must be 'least' or 'declared'"):
        sf.Recoding(labels="public")  # type: ignore[arg-type]


def test_least_is_what_nothing_means() -> None:
    assert sf.Recoding(labels="least") == sf.Recoding()
    assert "labels" not in sf.Recoding().to_policy()
    assert sf.Recoding.from_policy(DECLARED_LABELS.to_policy()) == DECLARED_LABELS
    assert hash(DECLARED_LABELS) != hash(sf.Recoding())
