"""Nearly distinct text is no longer published as sets of exact values without a word."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf


def table_of(count: int, kind: str | None = None, **more: object) -> sf.Table:
    """Six of ten records have a text of their own."""
    texts = [f"t{i}" if i % 10 < 6 else "same" for i in range(count)]
    frame = pl.DataFrame({"text": texts, "age": [i % 7 for i in range(count)]})
    quasi = {"text": sf.Attribute(kind=kind), "age": None}  # type: ignore[arg-type]
    return sf.read_table(frame, sf.Schema(quasi_identifying=quasi, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [None, "categorical"])
def test_nearly_distinct_text_is_refused_unless_somebody_says_that_it_is_published(kind: str | None) -> None:
    with pytest.raises(sf.SchemaError, match=r"'text' .* most of its values differ \(73 values in 120 records\)"):
        sf.anonymize(table_of(120, kind), sf.KAnonymity(3))
    assert sf.anonymize(table_of(120, kind, publish=["text"]), sf.KAnonymity(3)).report.classes <= 40


def test_half_of_the_records_with_a_value_of_their_own_is_not_most() -> None:
    texts = [f"t{i}" if i % 2 else "same" for i in range(98)]
    schema = sf.Schema(quasi_identifying=["text"])
    assert sf.anonymize(
        sf.read_table(pl.DataFrame({"text": [*texts, "same", "same"]}), schema), sf.KAnonymity(2)
    ).report
    with pytest.raises(sf.SchemaError, match="most of its values differ"):
        sf.anonymize(sf.read_table(pl.DataFrame({"text": [*texts, "a", "same"]}), schema), sf.KAnonymity(2))


@pytest.mark.parametrize(("count", "publish"), [(40, []), (60, ["text"])])
def test_sets_of_exact_values_are_charged_as_lost(count: int, publish: list[str]) -> None:
    report = sf.anonymize(table_of(count, publish=publish), sf.KAnonymity(3), seed=1).report
    told, charged = [note for note in report.notes if "exact values" in note or "counted as lost" in note]
    assert f"'text': {6 * count // 10 + 1} different values in {count} records" in told
    losses = report.losses
    # Every cell of the text that is a set is lost wholly; ages lose what was measured.
    expected = (losses.changed["text"] / count + losses.attribute_ncp["age"]) / 2
    assert losses.changed["text"] > count / 2
    assert f"it is {100 * expected:.3g}" in charged
    assert expected > 2 * losses.normalized_ncp


def test_a_hierarchy_answers() -> None:
    frame = pl.DataFrame({"text": [f"t{i:03}" for i in range(200)]})
    schema = sf.Schema(quasi_identifying={"text": sf.Attribute(hierarchy=sf.prefixes(3, 2))})
    report = sf.anonymize(sf.read_table(frame, schema), sf.KAnonymity(3)).report
    assert not any("exact values" in note for note in report.notes)
