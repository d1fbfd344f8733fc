"""From a table to a release: settings, failures, and what they say."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.anonymizers.protocol import Problem
from sfumato.classes.partition import Partition
from sfumato.cli.app import app
from sfumato.progress import thread_count


def table(diseases: str = "aabbccab", wages: list[float] | None = None) -> sf.Table:
    frame = pl.DataFrame(
        {
            "age": [20 + i for i in range(len(diseases))],
            "disease": list(diseases),
            "wage": wages or [float(i) for i in range(len(diseases))],
        }
    )
    return sf.read_table(frame, sf.Schema(quasi_identifying=["age"], sensitive=["disease", "wage"]))


# a promise that cannot be kept


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (sf.KAnonymity(9), ["k-anonymity", "k = 9", "only 8 record", "lower k"]),
        (
            sf.AlphaKAnonymity(0.2, 9, attribute="disease"),
            ["alpha-k-anonymity", "k = 9", "0.2", "0.375", "raise alpha"],
        ),
        (
            sf.DistinctLDiversity(4, attribute="disease"),
            ["distinct-l-diversity", "'disease'", "l = 4", "l = 3", "lower l"],
        ),
        (sf.ProbabilisticLDiversity(3, attribute="disease"), ["probabilistic", "l = 3", "l = 2.66667", "lower l"]),
        (sf.EntropyLDiversity(3, attribute="disease"), ["entropy", "l = 3", "only l = 2.95", "lower l"]),
        (sf.RecursiveLDiversity(0.5, 2, attribute="disease"), ["recursive", "c = 0.5", "raise c"]),
        (sf.RecursiveLDiversity(9, 4, attribute="disease"), ["recursive", "l = 4", "fewer distinct values", "lower l"]),
    ],
)
def test_the_error_says_which_model_how_far_it_came_and_what_to_relax(model, says):
    with pytest.raises(sf.UnsatisfiableError) as caught:
        sf.anonymize(table(), model)
    for words in says:
        assert words in str(caught.value)
    assert caught.value.exit_code == 1


def test_every_model_that_fails_has_a_line_of_its_own():
    models = [
        sf.KAnonymity(9),
        sf.DistinctLDiversity(4, attribute="disease"),
        sf.DistinctLDiversity(9),
        sf.KAnonymity(2),
    ]
    with pytest.raises(sf.UnsatisfiableError) as caught:
        sf.anonymize(table(), models)
    assert len(caught.value.problems) == 3
    assert "'wage'" in caught.value.problems[2]


def test_t_is_always_reached_by_one_class_and_by_nothing_smaller_when_it_is_0():
    release = sf.anonymize(table(), sf.TCloseness(0))
    assert release.report.classes == 1
    assert release.data["age"].unique().to_list() == ["[20..27]"]


def test_suppression_that_does_not_help_is_said_so():
    with pytest.raises(sf.UnsatisfiableError, match="suppressing up to 2 records does not help"):
        sf.anonymize(table("aaaaaaab"), sf.ProbabilisticLDiversity(2, attribute="disease"), suppression_limit=0.25)


def test_a_single_record():
    alone = table("a")
    assert sf.anonymize(alone, sf.KAnonymity(1)).data.height == 1
    with pytest.raises(sf.UnsatisfiableError, match="only 1 record"):
        sf.anonymize(alone, sf.KAnonymity(2))


# settings


def test_all_wrong_settings_are_named_at_once():
    with pytest.raises(sf.PolicyError) as caught:
        sf.anonymize(
            pl.DataFrame({"age": [1]}),  # type: ignore[arg-type]
            [sf.KAnonymity, 5],  # type: ignore[list-item]
            anonymizer="mondrian",  # type: ignore[arg-type]
            recoding="interval",  # type: ignore[arg-type]
            suppression_limit=1.5,
            seed=-1,
        )
    assert len(caught.value.problems) == 7


@pytest.mark.parametrize("models", [[], (), None, "k-anonymity", [None], {"k": 5}])
def test_what_is_no_model_is_refused(models):
    with pytest.raises(sf.PolicyError, match="model"):
        sf.anonymize(table(), models)


@pytest.mark.parametrize("limit", [-0.1, 1.1, float("nan"), "much"])
def test_a_limit_that_is_no_fraction_is_refused(limit):
    with pytest.raises(sf.PolicyError, match="suppression_limit"):
        sf.anonymize(table(), sf.KAnonymity(2), suppression_limit=limit)


@pytest.mark.parametrize("anonymizer", ["mondrian", sf.Mondrian, 5])
def test_what_is_no_anonymizer_is_refused(anonymizer):
    with pytest.raises(sf.PolicyError, match="anonymizer"):
        sf.anonymize(table(), sf.KAnonymity(2), anonymizer=anonymizer)


def test_models_and_forms_that_the_columns_do_not_fit_are_named_before_any_work():
    class Never:
        name = "never"
        decides_regions = False

        def solve(self, problem: Problem) -> Partition:
            raise AssertionError("worked all the same")

    models = [sf.DistinctLDiversity(2, attribute="height"), sf.TCloseness(0.5, attribute="weight"), sf.KAnonymity(2)]
    recoding = sf.Recoding(forms={"age": "ancestor", "height": "set"})
    with pytest.raises(sf.PolicyError) as caught:
        sf.anonymize(table(), models, recoding=recoding, anonymizer=Never())
    found = "\n".join(caught.value.problems)
    assert len(caught.value.problems) == 4 - ("recoding, forms" not in found) - ("needs a hierarchy" not in found)
    for words in ("'height'", "'weight'"):
        assert words in found


def test_models_of_sensitive_values_need_a_sensitive_column():
    plain = sf.read_table(pl.DataFrame({"age": [1, 2]}), sf.Schema(quasi_identifying=["age"]))
    with pytest.raises(sf.PolicyError, match="no sensitive attribute"):
        sf.anonymize(plain, sf.DistinctLDiversity(2))


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_threads_that_cannot_be_are_refused(threads):
    with pytest.raises(sf.PolicyError, match="threads"):
        sf.anonymize(table(), sf.KAnonymity(2), threads=threads)


@pytest.mark.parametrize("words", ["0", "-1", "many", "1.5"])
def test_a_wrong_environment_is_named(words, monkeypatch):
    monkeypatch.setenv("SFUMATO_THREADS", words)
    with pytest.raises(sf.PolicyError, match="SFUMATO_THREADS"):
        sf.anonymize(table(), sf.KAnonymity(2))
    assert thread_count(3) == 3
    monkeypatch.setenv("SFUMATO_THREADS", "2")
    assert thread_count(None) == 2
    monkeypatch.delenv("SFUMATO_THREADS")
    assert thread_count(None) >= 1


def test_progress_goes_through_the_steps():
    seen: list[tuple[str, int, int]] = []
    sf.anonymize(table(), sf.KAnonymity(2), progress=lambda *step: seen.append(step))
    whats = [what for what, _, _ in seen]
    assert whats[0] == "encoding"
    assert whats[-4:] == ["recoding", "verifying", "measuring", "done"]


def test_an_interruption_in_progress_ends_the_run():
    def stop(what: str, done: int, total: int) -> None:
        if what == "verifying":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sf.anonymize(table(), sf.KAnonymity(2), progress=stop)


# an anonymizer that does not keep its word


class Careless:
    """Returns one class a record whatever was asked."""

    name = "careless"
    decides_regions = False

    def solve(self, problem: Problem) -> Partition:
        return Partition(np.arange(problem.table.height, dtype=np.int32), problem.table.height)


def test_a_solution_that_breaks_a_model_never_becomes_a_release():
    with pytest.raises(sf.VerificationError) as caught:
        sf.anonymize(table(), [sf.KAnonymity(2), sf.DistinctLDiversity(2)], anonymizer=Careless())
    assert "k-anonymity (k=2): broken; 8 of 8 classes with 8 records break it" in caught.value.problems
    assert len(caught.value.problems) == 2


def test_an_anonymizer_of_ones_own_is_named_in_the_policy_and_the_release_verifies(tmp_path):
    release = sf.anonymize(table(), sf.KAnonymity(1), anonymizer=Careless())
    folder = release.save(tmp_path / "out")
    assert sf.verify(folder).ok
    assert "careless" in (folder / "policy.toml").read_text()
    assert sf.measure(table(), folder).normalized_ncp == 0


# values that are awkward to publish


def kept(frame: pl.DataFrame, folder: Path, *, k: int = 2, **schema: Any) -> pl.DataFrame:
    """Release, save both ways, verify, and read the published CSV again."""
    release = sf.anonymize(sf.read_table(frame, sf.Schema(**schema)), sf.KAnonymity(k), seed=0)
    for format in ("parquet", "csv"):
        assert sf.verify(release.save(folder / format, format=format)).ok
    return pl.read_csv(folder / "csv" / "data.csv")


def test_zero_has_one_sign(tmp_path):
    published = kept(pl.DataFrame({"a": [0.0, -0.0, 0.0, -0.0]}), tmp_path, k=4, quasi_identifying=["a"])
    assert (tmp_path / "csv" / "data.csv").read_text().split() == ["a", *["0.0"] * 4]
    assert published.height == 4


def test_not_a_number_is_missing(tmp_path):
    frame = pl.DataFrame({"a": [float("nan"), None, 1.5, 1.5], "b": [1] * 4})
    published = kept(frame, tmp_path, quasi_identifying=["a", "b"])
    assert published["a"].null_count() == 2


@pytest.mark.parametrize("values", [["x", "x", None, None], [1, 1, None, None], [None] * 4, [True, True, None, None]])
def test_a_lone_column_with_missing_values_keeps_its_records(values, tmp_path):
    kept(pl.DataFrame({"a": values}), tmp_path, quasi_identifying=["a"])
    assert len((tmp_path / "csv" / "data.csv").read_text().splitlines()) == 5
    assert "" not in (tmp_path / "csv" / "data.csv").read_text().splitlines()


@pytest.mark.parametrize(
    ("values", "hierarchy"),
    [
        ([1.0, 2.0, 2.5, 11.0], sf.intervals(5, 10)),
        ([1, 2, 3, 11], sf.intervals(5, 10)),
        ([True, False, True, None], sf.flat()),
        ([date(2000, 1, day) for day in (1, 2, 3, 4)], sf.dates()),
        (["a", "a", None, "b"], sf.groups({"x": ["a", "b"], "y": ["c"]})),
        ([None] * 4, sf.prefixes(1)),
        (["a"] * 4, sf.flat()),
    ],
)
def test_a_sensitive_column_of_any_kind_with_a_hierarchy_is_verified_from_the_folder(values, hierarchy, tmp_path):
    frame = pl.DataFrame({"q": [1, 1, 2, 2], "s": pl.Series(values)})
    schema = sf.Schema(quasi_identifying=["q"], sensitive={"s": hierarchy})
    release = sf.anonymize(sf.read_table(frame, schema), [sf.KAnonymity(2), sf.TCloseness(1.0)])
    for format in ("csv", "parquet"):
        verification = sf.verify(release.save(tmp_path / format, format=format))
        assert verification.ok
        in_memory = sf.verify(release).checks
        assert tuple(check for check in verification.checks if check in in_memory) == in_memory


@pytest.mark.parametrize("name", ["a,b", 'a"b', "ü", "*", "^a", "1", "nan", "a b"])
def test_a_column_may_have_any_name(name, tmp_path):
    frame = pl.DataFrame({name: [1, 1, 2, 2], "s": ["a", "b", "a", "b"], "x": [1, 2, 3, 4]})
    kept(frame, tmp_path, quasi_identifying=[name], sensitive=["s"], insensitive=["x"])
    frame = pl.DataFrame({"q": [1, 1, 2, 2], name: ["a", "b", "a", "b"]})
    schema = sf.Schema(quasi_identifying=["q"], sensitive=[name])
    for source in (frame, frame.to_pandas(), frame.to_arrow(), _parquet(frame, tmp_path)):
        table = sf.read_table(source, schema)
        assert table.frame[:, 1].cast(pl.String).to_list() == ["a", "b", "a", "b"]
        assert table.frame[:, 0].to_list() == [1, 1, 2, 2]


def _parquet(frame: pl.DataFrame, folder: Path) -> Path:
    frame.write_parquet(folder / "t.parquet")
    return folder / "t.parquet"


@pytest.mark.parametrize("name", ["", " a", "a ", "\ufeffa", "\n", "a\nb", "a\rb", "a\x1b[2J", "^a.*$"])
def test_a_name_that_readers_would_change_is_refused(name):
    with pytest.raises(sf.InputError, match="rename"):
        sf.read_table(pl.DataFrame({name: [1], "b": [2]}), sf.Schema(quasi_identifying=["b"], others="drop"))


@pytest.mark.parametrize(
    "values", [[1e69, -1e69, 1e-320, 5.0], [1e-69, 3e-69] * 2, [2**62, 2**62 + 1] * 2, [1e69, 2e69] * 2]
)
@pytest.mark.parametrize("numeric", ["interval", "mean"])
def test_numbers_at_the_edge_of_what_floats_hold(values, numeric, tmp_path):
    table = sf.read_table(pl.DataFrame({"a": values}), sf.Schema(quasi_identifying=["a"]))
    for k in (2, 4):
        release = sf.anonymize(table, sf.KAnonymity(k), recoding=sf.Recoding(numeric=numeric))
        assert sf.verify(release.save(tmp_path / str(k))).ok
        assert 0 <= release.report.losses.normalized_ncp <= 1


def test_numbers_that_cannot_be_computed_with_are_refused():
    huge = sf.read_table(pl.DataFrame({"a": [1e300, 5.0]}), sf.Schema(quasi_identifying=["a"]))
    with pytest.raises(sf.InputError, match="1 record"):
        sf.anonymize(huge, sf.KAnonymity(1))


def test_values_like_formulas_and_notation_are_carried_as_text(tmp_path):
    odd = ["=1+1", "*", "{a|b}", "\\N", "[1..2]", "x\ry", 'q,"uo"te\nd', "@cmd"]
    frame = pl.DataFrame({"q": odd * 2, "s": odd * 2})
    release = sf.anonymize(
        sf.read_table(frame, sf.Schema(quasi_identifying=["q"], sensitive=["s"])), sf.KAnonymity(2), seed=0
    )
    assert sf.verify(release.save(tmp_path / "out")).ok
    assert (
        sf.measure(sf.read_table(frame, sf.Schema(quasi_identifying=["q"], sensitive=["s"])), release).normalized_ncp
        == 0
    )
    assert sorted(release.data["s"].cast(pl.String)) == sorted(odd * 2)


# the command line says the same


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["-k", "9"], 1, ["k = 9", "only 8 record", "lower k"]),
        (["-k", "2", "--model", "distinct-l-diversity:l=4"], 1, ["l = 4", "l = 3"]),
        (["-k", "0"], 2, ["-k"]),
        (["-k", "2", "--suppression", "2"], 2, ["--suppression"]),
        (["-k", "2", "--anonymizer", "none"], 2, ["--anonymizer"]),
        (["-k", "2", "--model", "t-closeness:t=0.5,attribute=height"], 2, ["height"]),
        (["-k", "2"], 0, []),
    ],
)
def test_exit_codes(words, code, says, tmp_path):
    frame = pl.DataFrame({"age": range(20, 28), "disease": list("aabbccab")})
    frame.write_csv(tmp_path / "t.csv")
    fixed = ["anonymize", str(tmp_path / "t.csv"), "--quasi", "age", "--sensitive", "disease"]
    result = CliRunner().invoke(app, [*fixed, *words, "--out", str(tmp_path / "out")])
    assert result.exit_code == code, result.stderr
    for part in says:
        assert part in result.stderr
    assert (tmp_path / "out").exists() == (code == 0)
