"""Attacks on noisy counts and synthetic records: they find members without noise, and stay below what ε allows."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import sfumato as sf

pytest.importorskip("opendp", reason="OpenDP is not installed; pip install 'sfumato[dp]'")


def listed(letter: str, count: int) -> sf.Attribute:
    return sf.Attribute("categorical", domain=tuple(f"{letter}{number}" for number in range(count)))


def people(seed: int) -> sf.Table:
    draw = np.random.default_rng(seed)
    job, place, ill = draw.integers(0, 12, 200), draw.integers(0, 10, 200), draw.integers(0, 4, 200)
    columns = {"age": draw.integers(20, 80, 200), "zip": [f"z{number}" for number in place]}
    columns |= {"job": [f"j{number}" for number in job], "ill": [f"d{number}" for number in ill]}
    quasi = {"age": sf.Attribute("numeric", domain=(20, 80)), "zip": listed("z", 10), "job": listed("j", 12)}
    return sf.read_table(pl.DataFrame(columns), sf.Schema(quasi_identifying=quasi, sensitive={"ill": listed("d", 4)}))


MEMBERS, OTHERS = people(1), people(2)


def areas(epsilon: float) -> list[float]:
    """The least area under the ROC curve that fits what membership inference found, on counts and on records."""
    release = sf.publish_privately(
        MEMBERS, sf.DifferentialPrivacy(epsilon), marginals=[["zip", "job", "ill"], ["age"]], bins={"age": 6},
        complete=["zip", "job", "ill", "age"], synthetic=True,
    )  # fmt: skip
    inside, outside = release.in_cells(MEMBERS), release.in_cells(OTHERS)
    assert inside.frame["age"].dtype == pl.Categorical
    found = []
    for published in (release.as_marginals(), release.as_records()):
        attacked = sf.attack(published, inside, control=outside, attacks=["membership-inference"], seed=1)
        found.append(attacked["membership-inference"][0].figures["auc_low"])
    return found


def test_members_are_found_without_noise_and_hidden_by_it():
    counts, records = areas(200.0)
    assert counts > 0.7
    # Records are drawn anew in every run: 0.571 on average, with a standard deviation of 0.016 over 30 draws.
    assert records > 0.5
    # Chance of a false alarm of the interval: 1 in 40 beyond a bound that no attack reaches; so with some room.
    assert max(areas(0.2)) < math.exp(0.2) / (1 + math.exp(0.2)) + 0.03


def test_other_attacks_are_named_with_a_reason():
    release = sf.publish_privately(
        MEMBERS, sf.DifferentialPrivacy(1.0), marginals=[["zip", "ill"]], complete=["zip", "ill"], synthetic=True
    )
    inside, outside = release.in_cells(MEMBERS), release.in_cells(OTHERS)
    counts = sf.attack(release.as_marginals(), inside, control=outside, seed=1)
    records = sf.attack(release.as_records(), inside, control=outside, seed=1)
    assert {"definetti", "linkage", "minimality"} <= set(counts.unplayed)
    assert {"definetti", "homogeneity", "minimality"} <= set(records.unplayed)
    for name in ("membership-inference", "attribute-inference", "singling-out"):
        assert counts[name]
        assert records[name]
    plain = sf.publish_privately(MEMBERS, sf.DifferentialPrivacy(1.0), marginals=[["zip"]], complete=["zip"])
    with pytest.raises(sf.PolicyError, match="no synthetic records"):
        plain.as_records()
