"""Every anonymizer × every model × every kind of table: a release that everybody can recount, or the right error."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, note
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from guarantees import recount
from guarantees.combinations import PARAMETERS, RECODINGS, SETTINGS, described, models
from guarantees.tables import Drawn, plain, tables
from naive.models import needed_records
from sfumato.anonymizers.protocol import Anonymizer
from sfumato.models import MODELS
from sfumato.models.protocol import PrivacyModel

OF_POPULATION = {
    "delta-presence",
    "average-risk",
    "highest-risk",
    "profitability",
    "sample-uniques",
    "population-uniques",
}
"""Models that may need a table of the population, or speak of the whole table; they have tests of their own."""


def test_every_model_has_parameters_and_a_twin():
    assert set(PARAMETERS) == set(recount.TWIN_OF) == set(MODELS) - OF_POPULATION


def test_the_option_variants_are_there():
    words = " ".join(SETTINGS)
    for option in (
        "relaxed",
        "'median'",
        "anywhere",
        "widest",
        "least-loss",
        "region",
        "hierarchy_cuts=True",
        "blind=True",
    ):
        assert option in words


def check(
    drawn: Drawn,
    wanted: Sequence[PrivacyModel],
    anonymizer: Anonymizer,
    recoding: sf.Recoding,
    limit: float,
    seed: int | None,
) -> None:
    """Anonymize; whatever comes out must be right."""
    table = sf.read_table(drawn.frame, drawn.schema)
    if anonymizer.decides_regions:
        means = getattr(anonymizer, "aggregates", False) and recoding.numeric == "mean"
        own = {"numeric": "mean", "average": recoding.average} if means else {}
        recoding = sf.Recoding(suppressed=recoding.suppressed, **own)
    feasible = all(recount.one_class_holds(described(model), drawn.original, drawn.sensitive) for model in wanted)
    note(f"{wanted} feasible={feasible}")
    try:
        release = sf.anonymize(
            table, wanted, anonymizer=anonymizer, recoding=recoding, suppression_limit=limit, seed=seed, threads=2
        )
    except sf.UnsatisfiableError:
        assert not feasible
        return
    except sf.PolicyError:
        if not refused(anonymizer, wanted, limit):
            raise
        return
    assert feasible or limit
    assert sf.verify(release).ok
    with tempfile.TemporaryDirectory() as folder:
        for format in ("csv", "parquet"):
            saved = release.save(Path(folder) / format, format=format)
            verification = sf.verify(saved)
            assert verification.ok, str(verification)
            in_memory = sf.verify(release).checks
            assert tuple(check for check in verification.checks if check in in_memory) == in_memory
        check_by_hand(release, Path(folder) / "csv" / "data.csv", drawn, wanted)
    check_counts(release, drawn, wanted, recoding, limit)
    if "mean" not in repr(recoding):
        assert sf.measure(table, release).normalized_ncp == pytest.approx(release.report.losses.normalized_ncp)


def refused(anonymizer: Anonymizer, wanted: Sequence[PrivacyModel], limit: float) -> bool:
    """Tell whether an anonymizer may refuse models where records may be suppressed, or tables without numbers."""
    if isinstance(anonymizer, sf.Best) and anonymizer.objective == "squared-error":
        return True
    lasting = {"k-map", "k-anonymity", "distinct-l-diversity", "subset-k-anonymity", "wildcard-k-anonymity"}
    return isinstance(anonymizer, sf.Samarati) and limit > 0 and any(model.name not in lasting for model in wanted)


def check_by_hand(release: sf.Release, path: Path, drawn: Drawn, wanted: Sequence[PrivacyModel]) -> None:
    header, rows = recount.read_csv(path)
    assert header == [name for name in drawn.frame.columns if name != "id"]
    assert len(rows) == release.report.published
    columns = recount.columns_of(header, rows)
    checks = sf.verify(release).checks
    for model, verdict in zip(map(described, wanted), checks, strict=False):
        assert recount.holds(model, columns, drawn.quasi, drawn.sensitive), verdict
        by_hand = recount.achieved(model, columns, drawn.quasi, drawn.sensitive)
        ours = [value.value for value in verdict.achieved][-len(by_hand) :]
        for theirs, own in zip(by_hand, ours, strict=True):
            assert theirs == own or math.isclose(theirs, own, rel_tol=1e-9, abs_tol=1e-9)


def _asked_size(model: PrivacyModel) -> int:
    parameters = dict(model.parameters())
    if model.name == "k-map":
        return needed_records(**parameters)
    return int(parameters.get("k", 1))


def check_counts(
    release: sf.Release, drawn: Drawn, wanted: Sequence[PrivacyModel], recoding: sf.Recoding, limit: float
) -> None:
    report = release.report
    starred = recoding.suppressed == "star"
    assert report.original == drawn.frame.height == report.published + (0 if starred else report.suppressed)
    assert report.suppressed <= limit * report.original + 1e-9
    smallest = max([1, *(_asked_size(model) for model in wanted)])
    assert report.suppressed == 0 or report.suppressed >= smallest
    sizes = release.data.group_by(drawn.quasi).len()["len"]
    assert (report.classes, report.smallest_class, report.largest_class) == (len(sizes), sizes.min(), sizes.max())
    assert "id" not in release.data.columns
    for name in (*drawn.sensitive, "note"):
        before, after = Counter(drawn.original[name]), Counter(plain(value) for value in release.data[name])
        assert after == before if report.original == report.published else after < before


@pytest.mark.parametrize("setting", SETTINGS)
@given(tables(sensitive=1), st.sampled_from(RECODINGS), st.data())
@examples(10, HealthCheck.data_too_large)
def test_every_setting(setting, drawn, recoding, data):
    names = data.draw(st.lists(st.sampled_from(list(PARAMETERS)), min_size=1, max_size=2, unique=True))
    wanted = [data.draw(models(name, drawn.sensitive)) for name in names]
    check(drawn, wanted, SETTINGS[setting], recoding, data.draw(st.sampled_from([0.0, 0.3])), 1)


@pytest.mark.parametrize("name", PARAMETERS)
@given(tables(sensitive=1), st.sampled_from(RECODINGS), st.sampled_from(list(SETTINGS)), st.data())
@examples(20, HealthCheck.data_too_large)
def test_every_model(name, drawn, recoding, setting, data):
    wanted = [data.draw(models(name, drawn.sensitive))]
    check(drawn, wanted, SETTINGS[setting], recoding, data.draw(st.sampled_from([0.0, 0.1, 0.5, 1.0])), None)


@given(tables(sensitive=2), st.sampled_from(list(SETTINGS)), st.data())
@examples(60, HealthCheck.data_too_large)
def test_many_models_and_several_sensitive_attributes_at_once(drawn, setting, data):
    names = data.draw(st.lists(st.sampled_from(list(PARAMETERS)), min_size=2, max_size=5))
    wanted = [data.draw(models(name, drawn.sensitive)) for name in names]
    check(drawn, wanted, SETTINGS[setting], sf.Recoding(), 0.0, None)


@given(tables(sensitive=0), st.sampled_from(list(SETTINGS)), st.integers(1, 6))
@examples(60, HealthCheck.data_too_large)
def test_no_sensitive_attribute(drawn, setting, k):
    check(drawn, [sf.KAnonymity(k)], SETTINGS[setting], sf.Recoding(), 0.0, None)
