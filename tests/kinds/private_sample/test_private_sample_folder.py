"""Folders of private samples: what they hold, what is recounted, what is attested, what tampering comes to."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import PolicyError, UnsatisfiableError, VerificationError
from sfumato.kinds.private.make import NO_SEED
from sfumato.models.protocol import Outcome

pytest.importorskip("opendp", reason="OpenDP is not installed; pip install 'sfumato[dp]'")


def frame(people: int = 2000) -> pl.DataFrame:
    draw = np.random.default_rng(4)
    ill = np.where(draw.random(people) < 0.3, "=flu", "none")
    ill[0] = "SECRET"
    sex = np.where(draw.random(people) < 0.5, "f", "m")
    return pl.DataFrame(
        {"klient": np.arange(people) // 2, "age": draw.integers(0, 100, people), "sex": sex, "ill": ill}
    )


def schema(**more: Any) -> sf.Schema:
    quasi = {
        "age": sf.Attribute("numeric", hierarchy=sf.intervals(10, 20), domain=(0, 99)),
        "sex": sf.Attribute("categorical", domain=("f", "m")),
    }
    ill = sf.Attribute("categorical", domain=("none", "=flu", "cold"))
    return sf.Schema(quasi_identifying=quasi, sensitive={"ill": ill}, **{"others": "drop", **more})


def released(model: sf.DifferentialPrivacy | None = None, **more: Any) -> sf.PrivateSampleRelease:
    table = sf.read_table(frame(), schema())
    return sf.publish_private_sample(table, model or sf.DifferentialPrivacy(2, 1e-5), **more)


@pytest.fixture(scope="module")
def release() -> sf.PrivateSampleRelease:
    return released(levels={"age": 2})


@pytest.fixture
def folder(tmp_path: Path, release: sf.PrivateSampleRelease) -> Path:
    return sf.save_private_sample(release, tmp_path / "release")


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads((folder / "release.json").read_text())
    edit(content)
    (folder / "release.json").write_text(json.dumps(content))


def rewrite(folder: Path, text: str) -> None:
    """Change the records as somebody would who knows how to hide it."""
    (folder / "sample.csv").write_text(text)
    sha256, rows = hashlib.sha256(text.encode()).hexdigest(), len(text.splitlines()) - 1
    change(folder, lambda content: content["tables"]["sample"].update(sha256=sha256, rows=rows))


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_folder_is_recounted_as_far_as_it_can_be(tmp_path: Path, release: sf.PrivateSampleRelease, format: Any):
    out = sf.save_private_sample(release, tmp_path / "out", format=format)
    found = sf.verify(out)
    assert found.ok
    assert sf.verify(release).ok
    (promised,) = [check for check in found.checks if check.promise.startswith("differential-privacy")]
    assert promised.outcome is Outcome.UNDECIDABLE
    assert "the steward attests it" in promised.detail
    told = str(found)
    assert f"alike in all columns with {release.budget.k - 1} others or more" in told
    assert "cost no more than ε = 2, δ = 1e-05" in told
    names = {path.name for path in out.iterdir()}
    assert names == {f"sample.{format}", "release.json", "policy.toml", "report.json", "report.txt"}


def test_nothing_in_the_folder_counts_what_was_left_out(tmp_path: Path):
    table = sf.read_table(frame(), schema(person="klient"))
    release = sf.publish_private_sample(table, sf.DifferentialPrivacy(2, 1e-5, max_records=1))
    notes = "\n".join(release.notes)
    assert "1,000 records do not count, as another one of their person does." in notes
    assert "of 1,000 records are published" in notes
    out = sf.save_private_sample(release, tmp_path / "out")
    assert json.loads((out / "report.json").read_text())["notes"] == []
    texts = "".join(path.read_text() for path in out.iterdir())
    assert "klient" not in texts.replace('person = "klient"', "")
    # A value that nobody declared is nowhere, whoever has it.
    assert "SECRET" not in texts
    assert "1,000 records" not in texts


def test_a_verifier_loads_no_maker_and_no_opendp(folder: Path):
    program = (
        "import sys, sfumato\n"
        f"assert sfumato.verify({str(folder)!r}).ok\n"
        "found = [name for name in sys.modules if name.startswith(('sfumato.anonymizers', 'opendp'))]\n"
        "assert not found, found\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    "edit",
    [
        lambda content: content["models"][0].update(epsilon=0.5),
        lambda content: content["models"][0].update(delta=1e-9),
        lambda content: content["structure"]["budget"].update(k=2),
        lambda content: content["structure"]["budget"].update(share=0.9),
        lambda content: content["structure"]["budget"].update(epsilon=1.999),
        lambda content: content["structure"]["budget"].update(scale=1.0),
        lambda content: content["structure"]["levels"].update(age=1),
    ],
)
def test_another_budget_or_level_is_found(folder: Path, edit: Callable[[dict[str, Any]], object]):
    change(folder, edit)
    assert not sf.verify(folder).ok


@pytest.mark.parametrize(
    "edit",
    [
        lambda content: content["structure"].update(neighbours="two tables"),
        lambda content: content["structure"]["budget"].pop("k"),
        lambda content: content["structure"]["levels"].pop("age"),
        lambda content: content["structure"]["levels"].update(age=True),
        lambda content: content["structure"]["domains"]["sex"].update(labels=["f", "f"]),
        lambda content: content["structure"].update(sensitive=["where"]),
        lambda content: content["models"][0].update(name="k-anonymity"),
        lambda content: content["models"].append(content["models"][0]),
        lambda content: content.update(suppression_limit=0.5),
    ],
)
def test_a_damaged_description_is_refused(folder: Path, edit: Callable[[dict[str, Any]], object]):
    change(folder, edit)
    with pytest.raises(VerificationError):
        sf.verify(folder)


def test_records_that_were_taken_out_or_put_in_are_found(folder: Path):
    lines = (folder / "sample.csv").read_text().splitlines()
    kept = [line for line in lines[1:] if line != lines[1]]
    rewrite(folder, "\n".join([lines[0], *kept, lines[1], ""]))
    found = sf.verify(folder)
    assert not found.ok
    assert "the smallest class has 1 record" in str(found)
    rewrite(folder, "\n".join([*lines, lines[1].replace("none", "plague").replace("=flu", "plague"), ""]))
    with pytest.raises(VerificationError, match="outside of the declared domains"):
        sf.verify(folder)


def test_a_sample_without_records_is_a_release_too(tmp_path: Path):
    table = sf.read_table(frame(10), schema())
    release = sf.publish_private_sample(table, sf.DifferentialPrivacy(1, 1e-6))
    assert release.published.data.height == 0
    for format in ("csv", "parquet"):
        assert sf.verify(sf.save_private_sample(release, tmp_path / format, format=format)).ok


def test_formulas_are_kept_escaped_or_refused(tmp_path: Path, release: sf.PrivateSampleRelease):
    out = sf.save_private_sample(release, tmp_path / "escaped", formulas="escape")
    assert "'=flu" in (out / "sample.csv").read_text()
    assert sf.verify(out).ok
    with pytest.raises(PolicyError):
        sf.save_private_sample(release, tmp_path / "refused", formulas="refuse")


def test_a_ledger_adds_up_samples_and_counts(tmp_path: Path):
    ledger = tmp_path / "budget.json"
    sf.PrivacyLedger.start(ledger, 3, 1e-4)
    quasi = {"sex": sf.Attribute("categorical", domain=("f", "m"))}
    counts = sf.read_table(frame(), sf.Schema(quasi_identifying=quasi, others="drop"))
    sf.publish_privately(counts, sf.DifferentialPrivacy(1), ledger=ledger)
    release = released(ledger=ledger, levels={"age": 2, "sex": 0, "ill": 0})
    assert release.series is not None
    assert (release.series.release, release.series.epsilon) == (2, 3.0)
    assert sf.verify(sf.save_private_sample(release, tmp_path / "out")).ok
    with pytest.raises(UnsatisfiableError, match="nothing was drawn"):
        released(ledger=ledger)


def test_a_budget_is_not_spent_where_nothing_can_be_drawn(tmp_path: Path):
    ledger = tmp_path / "budget.json"
    sf.PrivacyLedger.start(ledger, 3, 1e-4)
    with pytest.raises(PolicyError, match="epsilon: leaves the sample less"):
        released(sf.DifferentialPrivacy(0.005, 1e-5), ledger=ledger)
    assert not sf.PrivacyLedger.read(ledger).releases


def test_a_policy_says_the_same_as_the_call(tmp_path: Path, release: sf.PrivateSampleRelease):
    assert release.policy is not None
    release.policy.to_file(tmp_path / "sample.toml")
    policy = sf.PrivateSamplePolicy.from_file(tmp_path / "sample.toml")
    assert policy.to_sampling() == release.policy.to_sampling()
    (tmp_path / "in.csv").write_text(frame().write_csv())
    table = sf.read_table(tmp_path / "in.csv", policy)
    again = sf.publish_private_sample(table, policy)
    assert again.budget.k == release.budget.k
    told = policy.model_copy(update={"purpose": "Study of flu", "recipient": "Dr. Who"})
    out = sf.save_private_sample(again, tmp_path / "out", policy=told)
    assert "Study of flu" in (out / "report.txt").read_text()
    assert sf.verify(out).ok
    (out / "policy.toml").write_text((out / "policy.toml").read_text().replace("age = 2", "age = 1"))
    assert not sf.verify(out).ok
    with pytest.raises(PolicyError, match="share: the policy says it"):
        sf.publish_private_sample(table, policy, share=0.1)
    other = sf.PrivateSamplePolicy.from_mapping({**policy.to_mapping(), "sampling": {"share": 0.3}})
    with pytest.raises(PolicyError, match="the policy says another sampling"):
        sf.save_private_sample(again, tmp_path / "more", policy=other)


def test_wrong_arguments_are_told_all_at_once():
    with pytest.raises(PolicyError) as caught:
        sf.publish_private_sample(
            "table", "model", search="a", share=True, objective="most", levels={"age": -1}, bins=[1], ledger=3, seed=1
        )  # type: ignore[arg-type]
    assert len(caught.value.problems) == 9
    assert NO_SEED in caught.value.problems
    with pytest.raises(PolicyError, match=r"make one with sfumato\.publish_private_sample"):
        sf.save_private_sample("release", "out")  # type: ignore[arg-type]
    with pytest.raises(PolicyError):
        sf.publish_private_sample(sf.read_table(frame(), schema()), sf.DifferentialPrivacy(1))


def test_the_report_says_what_was_drawn(release: sf.PrivateSampleRelease):
    told = str(release.report)
    assert "50% of the records were drawn" in told
    assert f"classes below k = {release.budget.k} left out" in told
    assert "Levels       age 2" in told
    assert repr(release).startswith("PrivateSampleRelease((ε = 2, δ = 1e-05)")
    assert release.to_dict()["levels"] == dict(release.published.levels)


def test_people_are_compared_as_they_are_published(release: sf.PrivateSampleRelease):
    people = release.in_levels(sf.read_table(frame(), schema()))
    assert set(people.frame.columns) == {"age", "sex", "ill"}
    utility = sf.measure_utility(release.as_records(), people)
    assert utility is not None
    assert utility.kind == "randomized-table"
    more = schema()
    wider = sf.Schema(
        quasi_identifying={**more.quasi_identifying, "klient": sf.Attribute("numeric")}, sensitive=more.sensitive
    )
    assert release.in_levels(sf.read_table(frame(), wider)).frame.equals(people.frame)
    fewer = sf.Schema(quasi_identifying={"age": more.quasi_identifying["age"]}, others="drop")
    with pytest.raises(PolicyError, match="column 'sex': is published, and the table of people lacks it"):
        release.in_levels(sf.read_table(frame(), fewer))
