"""Comparisons: what is run, what is written down, what goes on after an interruption, and what is recommended."""

from __future__ import annotations

import json
import re
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import drawing
from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.comparison import compare as module
from sfumato.comparison import plan as shared_work
from sfumato.comparison.compare import fingerprint
from sfumato.comparison.comparison import dominated, draw_comparison, recommend
from sfumato.comparison.plan import Run, RunOutcome, plan
from sfumato.drawing import style_of
from sfumato.evaluation.utility import classifiers

MARK = "geheim"


@pytest.fixture(scope="module")
def table() -> sf.Table:
    draw = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "age": draw.integers(41_000, 41_040, 240),
            "town": draw.choice([f"{MARK}-a", f"{MARK}-b", f"{MARK}-c"], 240),
            "height": draw.integers(150, 200, 240),
            "illness": draw.choice([f"{MARK}-{name}" for name in ("flu", "cold", "gout", "cough")], 240),
        }
    )
    return sf.read_table(frame, sf.Schema(quasi_identifying=["age", "town", "height"], sensitive=["illness"]))


def compared(table: sf.Table, **settings: Any) -> sf.Comparison:
    given: dict[str, Any] = {"anonymizers": ["mondrian", "mdav"], "values": (10, 3), "seed": 5, "queries": 0}
    given |= settings
    return sf.compare(table, **{name: value for name, value in given.items() if value is not None})


def test_every_run_has_a_row_with_the_figures_of_its_release(table):
    found = compared(table, repetitions=2)
    assert found.frame.select("anonymizer", "k", "repetition").rows() == [
        (label, k, repetition) for repetition in (0, 1) for k in (3, 10) for label in ("mondrian", "mdav")
    ]
    row = found.frame.row(2, named=True)
    report = sf.anonymize(table, sf.KAnonymity(10), anonymizer=sf.Mondrian(), seed=5).report
    assert row["status"] == "done"
    assert row["loss"] == report.losses.normalized_ncp
    assert row["discernibility"] == report.losses.discernibility
    assert row["highest_risk"] == report.highest_risk
    assert (found.frame["seconds"] > 0).all()


def test_any_parameter_records_or_attributes_may_vary(table):
    diverse = sf.compare(
        table,
        [sf.KAnonymity(4), sf.DistinctLDiversity(2)],
        anonymizers=["mondrian"],
        vary="l",
        values=[2, 3],
        queries=0,
    )
    assert diverse.frame["loss"][0] < diverse.frame["loss"][1]
    records = compared(table, models=[sf.KAnonymity(3)], vary="records", values=[60, 120])
    assert records.frame["records_used"].to_list() == [60, 60, 120, 120]
    attributes = compared(table, models=[sf.KAnonymity(3)], vary="attributes", values=[1, 3])
    assert attributes.frame.filter(pl.col("anonymizer") == "mdav")["loss"].is_sorted()


def test_threads_change_no_figure_but_times(table):
    one, two = (
        compared(table, threads=threads, queries=20, repetitions=2).frame.drop("seconds", "cpu_seconds")
        for threads in (1, 2)
    )
    assert one.equals(two)


def test_queries_and_classifiers_are_measured_on_request(table):
    found = compared(table, queries=30, classifiers=True, values=[5])
    assert found.frame["count_error"].null_count() == 0
    assert found.frame["accuracy_naive-bayes_illness"].is_between(0, 1).all()
    assert found.frame["records"].to_list() == [160.0, 160.0]


def test_whoever_cannot_gets_a_row_that_says_why_and_the_others_go_on(table):
    found = compared(table, anonymizers=["mondrian", "bucketization"], values=[5, 300])
    status = dict(zip(found.frame.select("anonymizer", "k").iter_rows(), found.frame["status"], strict=True))
    assert status == {
        ("mondrian", 5): "done",
        ("bucketization", 5): "refused",
        ("mondrian", 300): "impossible",
        ("bucketization", 300): "refused",
    }
    text = str(found)
    assert re.search(r"bucketization, k = 5, 300: .*k-anonymity", text)
    assert re.search(r"mondrian, k = 300: .*240", text)
    assert MARK not in text


def test_an_interrupted_comparison_goes_on_where_it_stopped(table, tmp_path, monkeypatch):
    folder = tmp_path / "comparison"
    calls: list[Run] = []
    real = module.outcome_of

    def counted(run: Run, *shared: Any) -> RunOutcome:
        calls.append(run)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(run, *shared)

    monkeypatch.setattr(module, "outcome_of", counted)
    with pytest.raises(KeyboardInterrupt):
        compared(table, folder=folder, threads=1)
    with (folder / "runs.jsonl").open("a") as file:
        file.write('{"anonymizer": "mdav", "val')  # a line that was cut off
    found = compared(table, folder=folder, threads=1)
    assert [calls.count(run) for run in calls[:2]] == [1, 1]
    assert len({run.key for run in calls}) == 4
    assert found.frame.drop("seconds", "cpu_seconds").equals(compared(table).frame.drop("seconds", "cpu_seconds"))
    compared(table, folder=folder, values=[3, 10, 20])
    assert '"value": 20' in (folder / "runs.jsonl").read_text()
    assert MARK not in (folder / "comparison.json").read_text()


def test_a_stopped_comparison_of_several_threads_keeps_what_is_finished(table, tmp_path):
    folder = tmp_path / "comparison"
    settings: dict[str, Any] = {"folder": folder, "threads": 2, "values": range(2, 12), "queries": 20}

    def stopping(what: str, done: int, total: int) -> None:
        if what.startswith("found: ") and done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compared(table, progress=stopping, **settings)
    kept = (folder / "runs.jsonl").read_text().splitlines()
    assert 3 <= len(kept) < 20
    found = compared(table, **settings)
    assert (folder / "runs.jsonl").read_text().splitlines()[: len(kept)] == kept
    whole = compared(table, **{**settings, "folder": None})
    assert found.frame.drop("seconds", "cpu_seconds").equals(whole.frame.drop("seconds", "cpu_seconds"))


def test_what_is_not_finished_in_time_is_said_to_be_so_and_gone_on_with(table, tmp_path, monkeypatch):
    folder, lines = tmp_path / "comparison", []
    real, blocked = module.outcome_of, threading.Event()

    def slow(run: Run, *shared: Any) -> RunOutcome:
        if run.anonymizer == "mdav":
            blocked.wait(60)
        return real(run, *shared)

    def told(what: str, done: int, total: int) -> None:
        lines.append(what)

    settings: dict[str, Any] = {"folder": folder, "threads": 2, "progress": told}
    with monkeypatch.context() as patched:
        patched.setattr(module, "outcome_of", slow)
        began = time.monotonic()
        partial = compared(table, figures=sf.Figures(0, within=3), queries=None, **settings)
        assert time.monotonic() - began < 10
        blocked.set()
    status = dict(zip(partial.frame.select("anonymizer", "k").iter_rows(), partial.frame["status"], strict=True))
    assert {status["mdav", k] for k in (3, 10)} == {"unfinished"}
    assert status["mondrian", 3] == "done"
    assert any(line.startswith("found: mondrian, k = 3: loss ") for line in lines)
    assert partial.recommendation.startswith("Recommendation so far: mondrian")
    assert re.search("mdav, k = 3, 10: not finished within the time given", str(partial))
    whole = compared(table, **settings)
    assert whole.frame.drop("seconds", "cpu_seconds").equals(compared(table).frame.drop("seconds", "cpu_seconds"))
    nothing = compared(table, figures=sf.Figures(0, within=1e-9), queries=None)
    assert nothing.frame["status"].to_list() == ["unfinished"] * 4
    assert "none; no run" in str(nothing)
    with pytest.raises(sf.PolicyError, match="within: "):
        compared(table, figures=sf.Figures(0, within=0), queries=None)


@pytest.mark.parametrize("threads", [1, 2])
def test_what_no_release_changes_is_worked_out_once(table, threads, monkeypatch):
    read: list[int] = []
    trained: list[int] = []
    real_prepared, real_predictions = shared_work.prepared, classifiers.predict_classes

    def prepared(part: sf.Table, shared: Any) -> Any:
        read.append(len(part.schema.quasi_identifying))
        return real_prepared(part, shared)

    def predictions(*given: Any) -> Any:
        trained.append(1)
        return real_predictions(*given)

    monkeypatch.setattr(shared_work, "prepared", prepared)
    monkeypatch.setattr(classifiers, "predict_classes", predictions)
    compared(table, queries=20, classifiers=True, threads=threads)
    assert read == [3]
    learners_and_targets, runs = 3 * 2, 4
    assert len(trained) == learners_and_targets * (runs + 1)
    compared(table, models=[sf.KAnonymity(3)], vary="attributes", values=[2, 1, 3], threads=threads)
    # Which of two threads comes first is nobody's promise.
    assert sorted(read, reverse=True) == [3, 3, 2, 1]


def test_figures_are_those_of_measuring_the_release_alone(table):
    found = compared(table, queries=40, classifiers=True, values=[5])
    used, held = sf.hold_out(table, 1 / 3, seed=5)
    workload = sf.query_workload(used, 40, seed=5)
    for row in found.frame.iter_rows(named=True):
        way = {"mondrian": sf.Mondrian(), "mdav": sf.MDAV()}[row["anonymizer"]]
        release = sf.anonymize(used, sf.KAnonymity(5), anonymizer=way, seed=5)
        alone = sf.measure_utility(release, used, workload=workload, holdout=held, seed=5)
        assert row["count_error"] == alone.queries["count"].median
        assert row["privacy_loss_illness"] == alone.trade_offs[0].privacy_loss
        accuracies = {f"accuracy_{each.learner}_{each.target}": each.release for each in alone.classifiers}
        assert {name: row[name] for name in accuracies} == accuracies


def test_what_takes_longest_comes_first():
    few = plan(["mondrian"], [sf.KAnonymity(2)], "records", [10, 300, 20], 2)
    assert [(run.repetition, run.value) for run in few.longest_first(list(few.runs()))] == [
        (0, 300), (0, 20), (0, 10), (1, 300), (1, 20), (1, 10),
    ]  # fmt: skip
    small = plan(["mondrian", "mdav"], (), "k", [5, 2], 1)
    assert small.longest_first(list(small.runs())) == list(small.runs())


def test_other_settings_another_table_or_another_folder_are_refused(table, tmp_path):
    folder = tmp_path / "comparison"
    compared(table, folder=folder, values=[3])
    for settings in ({"seed": 6}, {"queries": 5}, {"anonymizers": ["mdav"]}, {"suppression_limit": 0.1}):
        with pytest.raises(sf.InputError, match="other settings"):
            compared(table, folder=folder, **settings)
    fewer = sf.read_table(table.frame.head(100), table.schema)
    with pytest.raises(sf.InputError, match="another table"):
        compared(fewer, folder=folder)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(sf.InputError, match="holds no comparison"):
        compared(table, folder=tmp_path / "mine")
    with pytest.raises(sf.InputError, match="no such folder"):
        compared(table, folder=tmp_path / "nowhere" / "comparison")


def test_runs_that_drew_other_records_are_not_continued(table, tmp_path):
    """Those of a version that drew records by their places: its folders do not say how they were drawn."""
    folder = tmp_path / "comparison"
    compared(table, models=[sf.KAnonymity(3)], folder=folder, vary="records", values=[100])
    compared(table, models=[sf.KAnonymity(3)], folder=folder, vary="records", values=[100, 200])
    mark = folder / "comparison.json"
    identity = json.loads(mark.read_text())
    assert identity.pop("drawn") == "settled"
    mark.write_text(json.dumps(identity))
    with pytest.raises(sf.InputError, match="other settings"):
        compared(table, models=[sf.KAnonymity(3)], folder=folder, vary="records", values=[100])


def test_where_nothing_is_drawn_runs_of_earlier_versions_are_continued(table, tmp_path):
    folder = tmp_path / "comparison"
    compared(table, folder=folder, values=[3])
    assert "drawn" not in json.loads((folder / "comparison.json").read_text())


def test_fingerprints_tell_tables_apart():
    frame = pl.DataFrame({"a": ["x", "y", None], "b": [1, 2, 3]})
    alike = frame.with_columns(pl.col("a").cast(pl.Categorical))
    others = [frame.rename({"a": "c"}), frame[[1, 0, 2]], frame.with_columns(a=pl.lit("x")), frame.head(2)]
    assert fingerprint(frame) == fingerprint(alike)
    assert len({fingerprint(one) for one in [frame, *others]}) == 5


def test_mistakes_are_told_all_at_once(table):
    with pytest.raises(sf.PolicyError) as caught:
        sf.compare(
            table, sf.KAnonymity(2), anonymizers=["mondrian", "mandrian"], values=[0, 5], repetitions=0, queries=-1
        )
    text = "\n".join(caught.value.problems)
    for part in ("mandrian", "repetitions", "queries", "k must"):
        assert part in text
    with pytest.raises(sf.PolicyError, match="no model has a parameter 'l'"):
        compared(table, vary="l")
    with pytest.raises(sf.PolicyError, match="only 240"):
        compared(table, models=[sf.KAnonymity(2)], vary="records", values=[100, 241])
    with pytest.raises(sf.PolicyError, match="only 3"):
        compared(table, models=[sf.KAnonymity(2)], vary="attributes", values=[4])
    with pytest.raises(sf.PolicyError, match="at least one"):
        compared(table, values=[])
    with pytest.raises(sf.PolicyError, match="at least one"):
        compared(table, anonymizers=[])


def test_labels_name_variants_of_one_anonymizer():
    laid = plan([sf.Mondrian(), sf.Mondrian(mode="relaxed"), "mdav"], (), "k", [2], 1)
    assert list(laid.anonymizers)[2] == "mdav"
    assert "relaxed" in list(laid.anonymizers)[1]
    named = plan({"strict": sf.Mondrian()}, (), "k", [2], 1)
    assert [run.anonymizer for run in named.runs()] == ["strict"]


def frontier_of(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    frame = pl.DataFrame(
        {
            "anonymizer": [str(place) for place in range(len(points))],
            "k": [2] * len(points),
            "repetition": [0] * len(points),
            "status": ["done"] * len(points),
            "reason": [""] * len(points),
            "average_risk": [risk for risk, _ in points],
            "loss": [loss for _, loss in points],
        }
    )
    return sf.Comparison(frame, "k").frontier("average_risk", "loss").select("average_risk", "loss").rows()


def test_the_frontier_holds_what_nobody_beats():
    draw = np.random.default_rng(1)
    for _ in range(20):
        points = [tuple(point) for point in draw.integers(0, 8, (12, 2)).astype(float).tolist()]
        beaten = {
            one for one in points for other in points if other != one and other[0] <= one[0] and other[1] <= one[1]
        }
        assert frontier_of(points) == sorted(set(points) - beaten)


def test_recommendations_prefer_the_lowest_loss_and_the_faster_of_equals():
    rows = {
        "anonymizer": ["a", "a", "b", "b", "c"],
        "k": [2, 5, 2, 5, 2],
        "loss": [0.1, 0.2, 0.3, 0.4, 0.01],
        "seconds": [2.0, 2.0, 1.0, 1.0, 1.0],
    }
    told = recommend(pl.DataFrame(rows), "k")
    assert told.startswith("Recommendation: a; its information loss is 15% on average over k, the lowest")
    assert "b comes next with 35% and is 2 times faster" in told
    assert "1 of 3 did not reach every value" in told
    close = recommend(pl.DataFrame({**rows, "loss": [0.1, 0.2, 0.1, 0.205, 0.01]}), "k")
    assert close.startswith("Recommendation: b;")
    assert "fastest" in close
    assert "none" in recommend(pl.DataFrame(rows).clear(), "k")


def test_what_is_saved(table, tmp_path):
    found = compared(table, queries=20)
    folder = found.save(tmp_path / "comparison")
    assert pl.read_csv(folder / "comparison.csv").height == 4
    assert pl.read_parquet(folder / "comparison.parquet").equals(found.frame)
    drawn = sorted(path.name for path in folder.glob("*.svg"))
    assert drawn == [
        "count_error-by-k.svg", "discernibility-by-k.svg", "highest-risk-and-loss.svg", "loss-by-k.svg",
        "risk-and-count_error.svg", "risk-and-loss.svg", "seconds-by-k.svg",
    ]  # fmt: skip
    text = (folder / "loss-by-k.svg").read_text()
    for word in ("information loss", "records of a class", "mondrian", "mdav"):
        assert word in text
    assert draw_comparison(found.means(), "k")["loss-by-k"] == text


def test_losses_are_drawn_above_their_bound_which_holds_at_each_highest_risk(table):
    values = (2, 3, 5)
    found = sf.compare(
        table, anonymizers=["mondrian", "mdav"], vary={"k": values}, figures=sf.Figures(queries=0, bound=True), seed=1
    )
    bounds = {k: sf.lower_bound(table, k) for k in values}
    for row in found.frame.to_dicts():
        assert row["lower_bound"] == bounds[row["k"]] <= row["loss"]
    assert re.search(rf"lower bound +{bounds[2]:.4g} +{bounds[3]:.4g} +{bounds[5]:.4g}\n", str(found))
    _, beside = found.plot("highest_risk").figure.axes
    (line,) = [line for line in beside.lines if line.get_label() == "lower bound"]
    assert line.get_drawstyle() == "steps-pre"
    places, losses = line.get_data()
    for risk in np.linspace(min(places), 0.5, 50):
        # What is drawn at a risk is the value of the next place on the right.
        drawn = losses[int(np.searchsorted(places, risk))]
        assert drawn <= bounds[max(k for k in values if k <= 1 / risk + 1e-9)]
    assert not [
        line
        for line in found.plot().figure.axes[1].lines
        if line.get_label() == "lower bound" and len(line.get_xdata())
    ]
    areas = [each for dots in beside.collections for each in dots.get_sizes()]
    assert max(areas) > 5 * min(areas)


def test_a_method_looks_the_same_in_every_drawing_and_unlike_the_others():
    names = [*ANONYMIZERS, *PUBLISHERS]
    looks = {name: tuple(style_of(name).items()) for name in names}
    assert len(set(looks.values())) == len(names)


def test_without_matplotlib_the_extra_is_named(table, tmp_path, monkeypatch):
    def missing(module: str) -> Any:
        raise ImportError(module)

    monkeypatch.setattr(drawing, "import_module", missing)
    found = compared(table, values=[3])
    with pytest.raises(sf.PolicyError, match=r"sfumato\[report\]"):
        found.save(tmp_path / "drawn")
    assert not Path(tmp_path / "drawn").exists()
    assert (found.save(tmp_path / "tables", drawings=False) / "comparison.csv").is_file()


def test_a_weaker_promise_that_loses_more_is_told_of() -> None:
    """By hand: at k = 3 more is lost than at 5; with t the smaller number promises more."""
    rows = [("a", 2, 0.1), ("a", 3, 0.3), ("a", 5, 0.2), ("b", 2, 0.4), ("b", 5, None)]
    means = pl.DataFrame(rows, schema=["anonymizer", "k", "loss"], orient="row")
    assert list(dominated(means, "k")) == ["a, k = 3: k = 5 promises more and loses less, 20% instead of 30%"]
    closeness = pl.DataFrame({"anonymizer": ["a", "a"], "t": [0.2, 0.4], "loss": [0.1, 0.2]})
    assert list(dominated(closeness, "t")) == ["a, t = 0.4: t = 0.2 promises more and loses less, 10% instead of 20%"]
    assert not list(dominated(means.rename({"k": "records"}), "records"))
    assert not list(dominated(means.drop("loss"), "k"))


def test_a_column_that_repeats_like_the_key_of_people_is_told_of() -> None:
    frame = pl.DataFrame({"who": [f"p{row % 20}" for row in range(60)], "age": range(60)})
    for roles, told in (({"identifying": ["who"]}, True), ({"person": "who"}, False)):
        table = sf.read_table(frame, sf.Schema(quasi_identifying=["age"], **roles))
        found = sf.compare(table, anonymizers=["mondrian"], values=[2], queries=0, seed=1)
        assert ("Column 'who' repeats: 60 records have 20 values." in str(found)) == told
