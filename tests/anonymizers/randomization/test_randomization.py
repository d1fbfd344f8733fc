"""Randomizing methods from a table to a release: what stays, what changes, what is refused."""

from __future__ import annotations

import math
import os
from collections import Counter
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.anonymizers import PUBLISHERS, Publisher
from sfumato.published import KINDS, RandomizedTable

METHODS = [
    sf.Swapping(share=0.5),
    sf.Swapping(share=1.0, attributes=["age"], keep=["sex", "disease"]),
    sf.RankSwapping(share=0.2),
    sf.Shuffling(),
    sf.Shuffling(attributes=["height"], given=["age"]),
    sf.Noise(amount=0.5),
    sf.Noise(amount=0.5, correlated=True),
    sf.PRAM(retention=0.3),
    sf.PRAM(retention=0.3, invariant=False, attributes=["sex", "disease"]),
    sf.Rounding(),
    sf.Rounding(base={"age": 5, "height": 0.5}, unbiased=False),
    sf.TopBottomCoding(),
    sf.TopBottomCoding(lowest={"age": 30}, highest={"born": "1990-01-01"}),
    sf.Sampling(fraction=0.3),
]
EACH = pytest.mark.parametrize("method", METHODS, ids=repr)
ROWS = 300


def people(rows: int = ROWS) -> sf.Table:
    rng = np.random.default_rng(7)
    ages = rng.integers(18, 90, rows)
    frame = pl.DataFrame(
        {
            "age": ages,
            "height": np.round(rng.normal(170, 10, rows), 1),
            "born": [date(2024 - int(age), 1 + int(age) % 12, 1) for age in ages],
            "sex": rng.choice(["f", "m", "x"], rows),
            "disease": rng.choice(["flu", "cold", "gout", "burn"], rows),
            "visits": rng.integers(0, 9, rows),
        }
    ).with_columns(
        pl.when(pl.int_range(rows) % 11 == 0).then(None).otherwise(pl.col("height")).alias("height"),
        pl.when(pl.int_range(rows) % 13 == 0).then(None).otherwise(pl.col("sex")).alias("sex"),
    )
    schema = sf.Schema(
        quasi_identifying=["age", "height", "born", "sex"], sensitive=["disease"], insensitive=["visits"]
    )
    return sf.read_table(frame, schema)


def randomized(method: Publisher, table: sf.Table | None = None, seed: int | None = None) -> pl.DataFrame:
    return sf.anonymize(table or people(), anonymizer=method, seed=seed).tables["data"]


def test_all_of_them_are_here():
    here = {type(method) for method in METHODS}
    assert here == {each for each in PUBLISHERS.values() if each.kind == RandomizedTable.kind}


@EACH
def test_types_roles_and_honesty(method, tmp_path):
    table = people()
    release = sf.anonymize(table, anonymizer=method)
    data = release.tables["data"]
    assert data.schema == table.frame.schema
    assert (release.published.quasi_identifying, release.published.sensitive) == (
        ("age", "height", "born", "sex"),
        ("disease",),
    )
    assert "No privacy model is promised" in str(release.report)
    assert "No privacy model is promised" in str(release.report.for_release())
    assert "No privacy model is enforced" in " ".join(release.report.notes)
    folder = release.save(tmp_path / "out")
    assert not sf.verify(folder).ok
    sf.verify(folder).raise_if_broken()
    assert release.report.suppressed == 0


@EACH
def test_what_is_missing_and_what_is_not_randomized_stays(method):
    table, data = people(), randomized(method)
    if not isinstance(method, (sf.PRAM, sf.Sampling)):
        for name in data.columns:
            assert data[name].null_count() == table.frame[name].null_count()
    if not isinstance(method, sf.Sampling):
        assert Counter(data["visits"]) == Counter(table.frame["visits"])
        assert data.height == table.height


@EACH
def test_a_policy_makes_the_same_method(method, tmp_path):
    table = people()
    policy = sf.Policy.of(table.schema, (), method, sf.Recoding(), 0.0)
    policy.to_file(tmp_path / "policy.toml")
    assert sf.Policy.from_file(tmp_path / "policy.toml").to_anonymizer() == method


@EACH
def test_same_seed_same_table_and_none_another(method):
    table = people()
    assert randomized(method, table, 3).equals(randomized(method, table, 3))
    assert not randomized(method, table, 3).equals(randomized(method, table, 4))
    assert not randomized(method, table).equals(randomized(method, table))


@EACH
def test_the_order_of_the_input_is_not_seen(method):
    rows = 4000
    table = people(rows)
    frame = table.frame.with_columns(pl.int_range(rows).alias("visits"))
    data = randomized(method, sf.Table(frame, table.schema, table.kinds))
    correlation = data.with_row_index("row").select(pl.corr("row", "visits")).item()
    assert abs(correlation) < 6 / math.sqrt(data.height)


def test_swapping_keeps_what_it_is_told_to_keep():
    table = people()
    data = randomized(sf.Swapping(share=1.0, attributes=["age", "born"], keep=["sex", "disease"]), table)
    for names in (["age", "born", "sex", "disease"], ["height", "sex", "disease", "visits"]):
        assert Counter(data.select(names).rows()) == Counter(table.frame.select(names).rows())
    assert Counter(data.rows()) != Counter(table.frame.rows())


def test_swapping_everything_but_the_sensitive_value():
    table = people()
    data = randomized(sf.Swapping(share=1.0), table)
    quasi = ["age", "height", "born", "sex"]
    assert Counter(data.select(quasi).rows()) == Counter(table.frame.select(quasi).rows())
    assert Counter(data.select("age", "visits").rows()) != Counter(table.frame.select("age", "visits").rows())


def test_rank_swapping_keeps_every_column():
    table = people()
    release = sf.anonymize(table, anonymizer=sf.RankSwapping(share=0.1))
    for name in ("age", "height", "born"):
        assert Counter(release.tables["data"][name]) == Counter(table.frame[name])
    assert release.report.figures["changed_cells"] > 0.5


def correlated(rows: int) -> sf.Table:
    """Income hangs together with age and rent, in ranks; rent stays."""
    draw = np.random.default_rng(11)
    age = draw.normal(size=rows)
    income = 0.6 * age + 0.8 * draw.normal(size=rows)
    rent = 0.7 * income + 0.7 * draw.normal(size=rows)
    frame = pl.DataFrame({"age": age, "income": np.exp(income), "rent": rent**3})
    return sf.read_table(frame, sf.Schema(quasi_identifying=["age", "income"], sensitive=["rent"]))


def test_shuffling_keeps_columns_and_how_ranks_hang_together():
    table = correlated(4000)
    data = randomized(sf.Shuffling(), table, 1)
    for name in table.frame.columns:
        assert Counter(data[name]) == Counter(table.frame[name])
    for one, other in (("age", "income"), ("income", "rent"), ("age", "rent")):
        before, after = (
            each.select(pl.corr(one, other, method="spearman")).item() for each in (table.frame, data)
        )  # fmt: skip
        # Six standard deviations of a correlation.
        assert abs(before - after) < 6 / math.sqrt(4000)


def test_shuffled_values_say_nothing_of_their_record_beyond_what_stays():
    table = correlated(4000)
    # Rent tells which record a row is.
    rows = randomized(sf.Shuffling(attributes=["income"], given=["age"]), table, 2).sort("rent")
    own = table.frame.sort("rent")
    assert rows["rent"].equals(own["rent"])
    assert rows["age"].equals(own["age"])
    scores = [each["income"].rank().to_numpy() for each in (own, rows)]
    ages = np.column_stack([np.ones(4000), own["age"].rank().to_numpy()])
    left = [each - ages @ np.linalg.lstsq(ages, each)[0] for each in scores]
    assert abs(np.corrcoef(left)[0, 1]) < 6 / math.sqrt(4000)
    # Of the columns that stay, those alone that are given keep their relation.
    lost = rows.select(pl.corr("income", "rent", method="spearman")).item()
    assert lost < own.select(pl.corr("income", "rent", method="spearman")).item() - 0.2


def test_shuffling_follows_exactly_where_nothing_is_left_open():
    age = np.arange(200)
    frame = pl.DataFrame({"age": age, "birth": 2000 - age, "flat": np.ones(200), "rent": age * 3})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["age", "birth", "flat"], sensitive=["rent"]))
    data = randomized(sf.Shuffling(), table, 3)
    assert data.sort("rent").equals(frame.select(data.columns))


def test_noise_keeps_means_and_correlations():
    table = people(20_000)
    data = randomized(sf.Noise(amount=0.6, correlated=True, attributes=["age", "born"]), table)
    ages, born = table.frame["age"], table.frame["born"].to_physical()
    noisy = data["age"]
    assert abs(noisy.mean() - ages.mean()) < 6 * 0.6 * ages.std() / math.sqrt(20_000)
    assert noisy.var() == pytest.approx(ages.var() * 1.36, rel=0.06)
    before = np.corrcoef(ages, born)[0, 1]
    assert np.corrcoef(noisy, data["born"].to_physical())[0, 1] == pytest.approx(before, abs=0.01)
    assert data["height"].null_count() == table.frame["height"].null_count()


def test_top_and_bottom_coding_by_shares_and_by_bounds():
    table = people()
    ages = sorted(table.frame["age"])
    data = randomized(sf.TopBottomCoding(bottom=0.1, top=0.2, attributes=["age"]), table)
    assert (data["age"].min(), data["age"].max()) == (ages[30], ages[ROWS - 1 - 60])
    assert data.filter(pl.col("age") == ages[30]).height >= 30
    data = randomized(sf.TopBottomCoding(lowest={"age": 40}, highest={"born": date(1980, 1, 1)}), table)
    assert data["age"].min() == 40
    assert data["born"].max() == date(1980, 1, 1)


def test_sampling_draws_so_many_and_says_what_each_stands_for(tmp_path):
    table = people()
    release = sf.anonymize(table, anonymizer=sf.Sampling(fraction=0.2))
    drawn = Counter(release.tables["data"].rows())
    assert sum(drawn.values()) == 60
    assert drawn <= Counter(table.frame.rows())
    assert release.published.weight == 5
    read = KINDS["randomized-table"].assemble(release.tables, release.published.structure)
    assert read.weight == 5
    assert sf.answer(sf.Query((sf.Range("age", 0, 200),)), table, release) == pytest.approx([ROWS])
    assert sf.anonymize(table, anonymizer=sf.Sampling(fraction=1e-9)).tables["data"].height == 1


@pytest.mark.parametrize("weight", [0.5, math.inf, math.nan, True, "2", None])
def test_a_weight_that_is_none_is_refused(weight):
    frame = people().frame
    structure = {"quasi_identifying": ["age"], "sensitive": [], "weight": weight}
    with pytest.raises(sf.InputError, match="weight"):
        RandomizedTable.assemble({"data": frame}, structure)


BAD_OPTIONS = [
    (sf.Swapping, {"share": 0}),
    (sf.Swapping, {"share": 1.2}),
    (sf.Swapping, {"attributes": "age"}),
    (sf.Swapping, {"attributes": []}),
    (sf.Swapping, {"keep": [1]}),
    (sf.Swapping, {"attributes": ["age"], "keep": ["age"]}),
    (sf.RankSwapping, {"share": math.nan}),
    (sf.RankSwapping, {"share": True}),
    (sf.RankSwapping, {"attributes": ["age", "age"]}),
    (sf.Shuffling, {"given": ["age", "age"]}),
    (sf.Noise, {"amount": 0}),
    (sf.Noise, {"amount": "much"}),
    (sf.Noise, {"correlated": "yes"}),
    (sf.PRAM, {"retention": -0.1}),
    (sf.PRAM, {"invariant": 1}),
    (sf.Rounding, {"base": 0}),
    (sf.Rounding, {"base": {}}),
    (sf.Rounding, {"base": {"age": -5}}),
    (sf.Rounding, {"unbiased": None}),
    (sf.TopBottomCoding, {"bottom": 0.6}),
    (sf.TopBottomCoding, {"lowest": ["age"]}),
    (sf.TopBottomCoding, {"highest": {"age": math.inf}}),
    (sf.Sampling, {"fraction": 0}),
    (sf.Sampling, {"fraction": 2}),
]


@pytest.mark.parametrize(("method", "options"), BAD_OPTIONS)
def test_bad_options(method, options):
    with pytest.raises(sf.PolicyError, match=method.name):
        method(**options)


BAD_FITS = [
    (sf.Swapping(attributes=["age", "hight"], keep=["sexx"]), sf.PolicyError, ["hight", "sexx"]),
    (sf.Swapping(keep=["age", "height", "born", "sex"]), sf.PolicyError, ["every quasi-identifying attribute is kept"]),
    (sf.Swapping(keep=["disease"]), sf.PolicyError, ["no record would change"]),
    (sf.RankSwapping(attributes=["sex"]), sf.PolicyError, ["'sex' is categorical"]),
    (
        sf.Shuffling(attributes=["age"], given=["age", "sex"]),
        sf.PolicyError,
        ["'sex' is categorical", "'age' is shuffled and given"],
    ),
    (sf.Noise(attributes=["visits"]), sf.PolicyError, ["visits"]),
    (sf.PRAM(attributes=["age"]), sf.PolicyError, ["'age' is numeric"]),
    (sf.Rounding(base={"sex": 2}), sf.PolicyError, ["'sex'"]),
    (sf.Rounding(base=0.5), sf.InputError, ["must be whole"]),
    (sf.TopBottomCoding(lowest={"sex": 2}), sf.PolicyError, ["'sex'"]),
    (sf.TopBottomCoding(lowest={"age": 0.5}), sf.InputError, ["holds whole numbers"]),
    (sf.TopBottomCoding(lowest={"age": "old"}), sf.InputError, ["no number"]),
    (sf.TopBottomCoding(lowest={"born": 5}), sf.InputError, ["no date"]),
    (sf.TopBottomCoding(lowest={"age": 90}, highest={"age": 20}), sf.InputError, ["lies above"]),
]


@pytest.mark.parametrize(("method", "error", "words"), BAD_FITS, ids=lambda value: repr(value)[:60])
def test_what_does_not_fit_the_table(method, error, words):
    with pytest.raises(error) as caught:
        sf.anonymize(people(), anonymizer=method)
    for word in words:
        assert word in str(caught.value)


def test_models_are_refused():
    with pytest.raises(sf.PolicyError, match="enforces no privacy model"):
        sf.anonymize(people(), sf.KAnonymity(2), anonymizer=sf.Noise())


@pytest.mark.parametrize("method", [sf.Noise(amount=1e6), sf.Rounding(base=2.0**62), sf.Noise(amount=1e300)], ids=repr)
def test_numbers_that_would_not_fit(method):
    table = sf.read_table(pl.DataFrame({"x": [2**62, -(2**62), 5]}), sf.Schema(quasi_identifying=["x"]))
    with pytest.raises(sf.InputError, match="too large"):
        sf.anonymize(table, anonymizer=method, seed=1)


@EACH
def test_values_stay_out_of_messages(method):
    frame = pl.DataFrame({"age": [None], "height": [math.nan], "born": ["secret"], "sex": [None], "disease": ["flu"]})
    schema = sf.Schema(quasi_identifying=["age", "height", "born", "sex"], sensitive=["disease"])
    told = ""
    try:
        assert randomized(method, sf.read_table(frame, schema)).height == 1
    except sf.SfumatoError as error:
        told = str(error)
    assert "secret" not in told


def adult() -> sf.Table:
    if "SFUMATO_DATA" not in os.environ:
        pytest.skip("SFUMATO_DATA is not set: the Adult file is not at hand")
    names = ["age", "work", "weight", "education", "years", "marital", "job", "relation", "race", "sex"]
    names += ["gain", "loss", "hours", "country", "salary"]
    path = Path(os.environ["SFUMATO_DATA"]) / "adult" / "adult.data"
    frame = pl.read_csv(path, has_header=False, new_columns=names, infer_schema=False).with_columns(
        pl.all().str.strip_chars()
    )
    frame = frame.drop_nulls().with_columns(pl.col("age", "hours").cast(pl.Int64))
    quasi = ["age", "work", "education", "marital", "race", "sex", "hours"]
    return sf.read_table(frame, sf.Schema(quasi_identifying=quasi, sensitive=["job"], others="drop"), missing="?")


@pytest.mark.parametrize("name", [name for name, each in PUBLISHERS.items() if each.kind == RandomizedTable.kind])
def test_adult(name):
    table = adult()
    release = sf.anonymize(table, anonymizer=PUBLISHERS[name](), seed=None)
    assert release.tables["data"].height == ((table.height + 1) // 2 if name == "sampling" else table.height)


@pytest.mark.parametrize("method", [sf.Rounding(unbiased=False), sf.Noise()], ids=repr)
def test_no_date_leaves_the_calendar(method):
    frame = pl.DataFrame({"born": [date(1, 1, 2), date(9999, 12, 31)] * 20, "disease": ["flu", "cold"] * 20})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["born"], sensitive=["disease"]))
    with pytest.raises(sf.InputError, match="years 1 to 9999"):
        sf.anonymize(table, [], anonymizer=method, seed=1)


def test_years_beyond_the_calendar_of_a_release_are_described():
    born = pl.Series("born", [-719_170, 2_932_898, 0]).cast(pl.Int32).cast(pl.Date)
    frame = pl.DataFrame({"born": born, "sex": ["f", "m", "x"]})
    table = sf.read_table(frame, sf.Schema(quasi_identifying=["sex"], sensitive=["born"]))
    release = sf.anonymize(table, sf.KAnonymity(1), seed=1)
    (column,) = sf.describe(release, table, columns=["born"]).columns
    assert (column.before.numbers.minimum, column.before.numbers.maximum) == ("0000-12-24", "10000-01-02")
