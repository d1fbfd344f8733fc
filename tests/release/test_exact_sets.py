"""Nearly distinct text is no longer published as sets of exact values without a word."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf


def table_of(count: int, kind: str | None) -> sf.Table:
    """Six of ten records have a text of their own; where nearly all have, reading refuses already."""
    texts = [f"t{i}" if i % 10 < 6 else "same" for i in range(count)]
    frame = pl.DataFrame({"text": texts, "age": [i % 7 for i in range(count)]})
    return sf.read_table(frame, sf.Schema(quasi_identifying={"text": sf.Attribute(kind=kind), "age": None}))  # type: ignore[arg-type]


def test_nearly_distinct_text_is_refused_unless_it_is_declared() -> None:
    with pytest.raises(sf.PolicyError, match="column 'text' is text with 73 different values in 120 records"):
        sf.anonymize(table_of(120, None), sf.KAnonymity(3))
    assert sf.anonymize(table_of(120, "categorical"), sf.KAnonymity(3)).report.classes <= 40


def test_sets_of_exact_values_are_charged_as_lost() -> None:
    report = sf.anonymize(table_of(60, None), sf.KAnonymity(3), seed=1).report
    told, charged = [note for note in report.notes if "exact values" in note or "counted as lost" in note]
    assert "'text': 37 different values in 60 records" in told
    losses = report.losses
    # Every cell of the text that is a set is lost wholly; ages lose what was measured.
    expected = (losses.changed["text"] / 60 + losses.attribute_ncp["age"]) / 2
    assert losses.changed["text"] > 30
    assert f"it is {100 * expected:.3g}" in charged
    assert expected > 2 * losses.normalized_ncp


def test_a_hierarchy_answers() -> None:
    frame = pl.DataFrame({"text": [f"t{i:03}" for i in range(200)]})
    schema = sf.Schema(quasi_identifying={"text": sf.Attribute(hierarchy=sf.prefixes(3, 2))})
    report = sf.anonymize(sf.read_table(frame, schema), sf.KAnonymity(3)).report
    assert not any("exact values" in note for note in report.notes)
