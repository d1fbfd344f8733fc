"""Attacks on private samples: all that take classes are played, and stay within what ε and δ allow."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import sfumato as sf

pytest.importorskip("opendp", reason="OpenDP is not installed; pip install 'sfumato[dp]'")


def people(seed: int) -> sf.Table:
    draw = np.random.default_rng(seed)
    place, ill = draw.integers(0, 5, 1000), draw.integers(0, 2, 1000)
    quasi = {"zip": sf.Attribute("categorical", domain=tuple(f"z{number}" for number in range(5)))}
    columns = {"zip": [f"z{number}" for number in place], "ill": [f"d{number}" for number in ill]}
    secret = {"ill": sf.Attribute("categorical", domain=("d0", "d1"))}
    return sf.read_table(pl.DataFrame(columns), sf.Schema(quasi_identifying=quasi, sensitive=secret))


MEMBERS, OTHERS = people(1), people(2)
MODEL = sf.DifferentialPrivacy(1.0, 1e-4)


def sample() -> sf.PrivateSampleRelease:
    return sf.publish_private_sample(MEMBERS, MODEL, levels={"zip": 0, "ill": 0}, share=0.4)


def test_attacks_on_classes_are_played_and_find_nobody():
    one, two = sample(), sample()
    inside, outside = one.in_levels(MEMBERS), one.in_levels(OTHERS)
    attacked = sf.attack(one.as_classes(), inside, control=outside, earlier=two.as_classes(), seed=1)
    for name in ("linkage", "homogeneity", "background-knowledge", "attribute-inference", "intersection"):
        assert attacked[name]
    # Both values of everybody's class are there, in one sample and in two.
    assert attacked["homogeneity"][0].figures["claimed"] == 0
    assert attacked["intersection"][0].figures["claimed"] == 0
    assert {"definetti", "minimality"} <= set(attacked.unplayed)
    area = attacked["membership-inference"][0]
    assert area.figures["auc_low"] < math.e / (1 + math.e) + MODEL.delta


def test_a_sample_without_records_cannot_be_attacked():
    few = sf.read_table(MEMBERS.frame.head(5), MEMBERS.schema)
    empty = sf.publish_private_sample(few, MODEL, levels={"zip": 0, "ill": 0})
    for view in (empty.as_classes, empty.as_records):
        with pytest.raises(sf.PolicyError, match="the sample has no records"):
            view()
