"""Folders of noisy marginals: what they hold, what is recounted, what is attested, what tampering comes to."""

from __future__ import annotations

import builtins
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
from sfumato.errors import InputError, PolicyError, VerificationError
from sfumato.kinds.noisy_counts.check import NOBODYS, Budget, BudgetStep
from sfumato.kinds.private.make import NO_SEED
from sfumato.models.protocol import Outcome

pytest.importorskip("opendp", reason="OpenDP is not installed; pip install 'sfumato[dp]'")

SETS = [["age", "sex"], ["sex", "ill"]]


def frame(people: int = 300) -> pl.DataFrame:
    draw = np.random.default_rng(4)
    ill = np.where(draw.random(people) < 0.3, "SECRETflu", "none")
    return pl.DataFrame(
        {"klient": np.arange(people) // 2, "age": draw.integers(0, 100, people), "ill": ill}
    ).with_columns(sex=pl.Series(np.where(draw.random(people) < 0.5, "f", "m")))


def schema(**more: Any) -> sf.Schema:
    quasi = {
        "age": sf.Attribute("numeric", domain=(0, 100)),
        "sex": sf.Attribute("categorical", domain=("f", "m")),
    }
    ill = sf.Attribute("categorical", domain=("none", "=flu", "cold"))
    return sf.Schema(quasi_identifying=quasi, sensitive={"ill": ill}, **{"others": "drop", **more})


def released(model: sf.DifferentialPrivacy | None = None, **more: Any) -> sf.PrivateRelease:
    settings = {"marginals": SETS, "bins": {"age": 5}, "synthetic": True, **more}
    return sf.publish_privately(sf.read_table(frame(), schema()), model or sf.DifferentialPrivacy(1), **settings)


@pytest.fixture(scope="module")
def release() -> sf.PrivateRelease:
    return released()


@pytest.fixture
def folder(tmp_path: Path, release: sf.PrivateRelease) -> Path:
    return sf.save_private(release, tmp_path / "release")


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads((folder / "release.json").read_text())
    edit(content)
    (folder / "release.json").write_text(json.dumps(content))


def rewrite(folder: Path, text: str, name: str = "marginal_1") -> None:
    """Change a table as somebody would who knows how to hide it."""
    (folder / f"{name}.csv").write_text(text)
    sha256, rows = hashlib.sha256(text.encode()).hexdigest(), len(text.splitlines()) - 1
    change(folder, lambda content: content["tables"][name].update(sha256=sha256, rows=rows))


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_folder_is_recounted_as_far_as_it_can_be(tmp_path: Path, format: Any, delta: float):
    release = released(sf.DifferentialPrivacy(2, delta), marginals=None, two_way=1)
    sf.save_private(release, tmp_path / "out", format=format)
    found = sf.verify(tmp_path / "out")
    assert found.ok
    assert sf.verify(release).ok
    (promised,) = [check for check in found.checks if check.promise.startswith("differential-privacy")]
    # Nobody can see in a file that noise was drawn.
    assert promised.outcome is Outcome.UNDECIDABLE
    assert "the steward attests it" in promised.detail
    told = str(found)
    assert "every marginal has every cell of the declared domains once" in told
    assert f"costs no more than ε = 2, δ = {delta:g}" in told
    assert f"{'discrete Gaussian' if delta else 'discrete Laplace'}, standard deviation" in told
    names = {path.name for path in (tmp_path / "out").iterdir()}
    tables = {f"marginal_{place}.{format}" for place in (1, 2, 3, 4)}
    assert names == {*tables, f"synthetic.{format}", "release.json", "policy.toml", "report.json", "report.txt"}


def test_synthetic_records_are_said_to_be_nobodys(folder: Path, tmp_path: Path):
    assert json.loads((folder / "release.json").read_text())["structure"]["synthetic"] == NOBODYS
    assert NOBODYS in (folder / "report.txt").read_text()
    change(folder, lambda content: content["structure"].pop("synthetic"))
    with pytest.raises(VerificationError):
        sf.verify(folder)
    plain = sf.save_private(released(synthetic=False), tmp_path / "plain")
    assert not (plain / "synthetic.csv").exists()
    assert NOBODYS not in (plain / "report.txt").read_text()
    assert sf.verify(plain).ok


def test_nothing_in_the_folder_was_counted_without_noise(tmp_path: Path):
    table = sf.read_table(frame(), schema(person="klient"))
    model = sf.DifferentialPrivacy(1, max_records=1)
    release = sf.publish_privately(table, model, bins={"age": 5}, complete=["ill"], synthetic=True)
    notes = "\n".join(release.notes)
    assert "records without a value in a complete column" in notes
    assert "records of people with more than 1 record do not count" in notes
    out = sf.save_private(release, tmp_path / "out")
    report = json.loads((out / "report.json").read_text())
    assert report["notes"] == []
    assert "original" not in report["records"]
    texts = "".join(path.read_text() for path in out.iterdir())
    assert "klient" not in texts.replace('person = "klient"', "")
    # A value that nobody declared is nowhere, whoever has it.
    assert "SECRETflu" not in texts
    assert "one person with all of their records more; at most one record of each count" in texts


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
        lambda content: content["models"][0].update(epsilon=-1),
        lambda content: content["models"][0].update(delta=1e-6),
        lambda content: content["models"][0].update(max_records=1),
        lambda content: content.update(models=[]),
        lambda content: content["structure"]["budget"]["steps"][0].update(scale=1.9),
        lambda content: content["structure"]["budget"]["steps"][0].update(spent=0.9),
        lambda content: content["structure"]["budget"]["steps"][0].update(spent=1.1),
        lambda content: content["structure"]["budget"]["steps"][0].update(times=1, scale=1.0),
        lambda content: content["structure"]["budget"]["steps"][0].update(what="nothing"),
        lambda content: content["structure"]["budget"]["steps"][0].update(scale=float("inf")),
        lambda content: content["structure"]["budget"].update(mechanism="discrete Gaussian"),
        lambda content: content["structure"].update(neighbours="two tables that are the same"),
        lambda content: content["structure"]["domains"]["sex"].update(labels=["m", "f"], missing=False),
        lambda content: content["structure"]["domains"]["sex"].update(labels=["m", "x"]),
        lambda content: content["structure"]["domains"]["age"].update(borders=[0, 1]),
        lambda content: content["structure"]["sets"].reverse(),
        lambda content: content["structure"].update(sensitive=["hat"]),
        lambda content: content["tables"].pop("marginal_2"),
        lambda content: content["tables"].pop("synthetic"),
        lambda content: content.update(kind="sets"),
        lambda content: content.update(format=99),
        lambda content: content.update(suppression_limit=0.5),
    ],
)
def test_a_changed_description_is_not_believed(folder: Path, edit: Callable[[dict[str, Any]], object]):
    change(folder, edit)
    try:
        is_ok = sf.verify(folder).ok
    except VerificationError:
        is_ok = False
    assert not is_ok


def test_counts_that_do_not_agree_are_found(folder: Path):
    lines = (folder / "marginal_1.csv").read_text().splitlines()
    place = next(place for place, line in enumerate(lines[1:], 1) if float(line.rpartition(",")[2]) > 5)
    head, _, count = lines[place].rpartition(",")
    lines[place] = f"{head},{float(count) + 0.1}"
    rewrite(folder, "\n".join(lines) + "\n")
    found = sf.verify(folder)
    assert not found.ok
    assert "broken: fitted counts are not negative, have one total" in str(found)
    lines[place] = f"{head},-1"
    rewrite(folder, "\n".join(lines) + "\n")
    assert "broken: fitted counts are not negative" in str(sf.verify(folder))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda lines: lines[:-1],
        lambda lines: [*lines[:-1], lines[1]],
        lambda lines: [lines[0], lines[1].replace("[0..20)", "[0..21)"), *lines[2:]],
        lambda lines: [lines[0], *(line.rpartition(",")[0].rpartition(",")[0] + ",1.5,1" for line in lines[1:])],
    ],
)
def test_a_table_without_every_cell_is_not_read(folder: Path, spoil: Callable[[list[str]], list[str]]):
    rewrite(folder, "\n".join(spoil((folder / "marginal_1.csv").read_text().splitlines())) + "\n")
    with pytest.raises(VerificationError, match="was changed"):
        sf.verify(folder)


def test_synthetic_records_that_are_somebodys_are_found(folder: Path):
    held = (folder / "synthetic.csv").read_text().splitlines()
    rewrite(folder, "\n".join([held[0], *[held[1]] * (len(held) - 1)]) + "\n", "synthetic")
    assert "broken: synthetic records follow the fitted counts" in str(sf.verify(folder))
    rewrite(folder, "\n".join([held[0], "[0..20),f,tb", *held[2:]]) + "\n", "synthetic")
    with pytest.raises(VerificationError, match="outside of the declared domains"):
        sf.verify(folder)


def test_a_policy_that_says_otherwise_is_found(folder: Path):
    text = (folder / "policy.toml").read_text()
    for old, new, field in (
        ("epsilon = 1", "epsilon = 0.1", "models"),
        ("synthetic = true", "synthetic = false", "synthetic records"),
        ('"sex",\n        "ill"', '"sex",\n        "hat"', "marginals"),
    ):
        assert old in text
        changed = text.replace(old, new)
        (folder / "policy.toml").write_text(changed)
        digest = hashlib.sha256(changed.encode()).hexdigest()
        change(folder, lambda content, digest=digest: content["files"].update({"policy.toml": digest}))
        assert f"broken: policy.toml and release.json name the same {field}" in str(sf.verify(folder))


def test_a_seed_is_refused():
    with pytest.raises(PolicyError, match="hides nobody") as caught:
        released(seed=1)
    assert caught.value.problems == (NO_SEED,)


def test_two_releases_are_not_the_same(release: sf.PrivateRelease):
    assert any(
        (one != other).any() for one, other in zip(release.published.noisy, released().published.noisy, strict=True)
    )


def test_without_opendp_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "opendp"]:
        monkeypatch.delitem(sys.modules, name)
    plain = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("opendp"):
            raise ImportError(name)
        return plain(name, *rest, **more)

    monkeypatch.setattr(sys, "meta_path", [_Without(), *sys.meta_path])
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"sfumato\[dp\]"):
        released()


class _Without:
    def find_spec(self, name: str, *_: object) -> None:
        if name.startswith("opendp"):
            raise ImportError(name)


def test_wrong_settings_are_told_together():
    with pytest.raises(PolicyError) as caught:
        sf.publish_privately(
            frame(), "much", marginals="age", two_way=-1, choice="any", bins=[1], levels={"age": -1}, complete="age",
            synthetic="yes", seed=3,
        )  # type: ignore[arg-type]  # fmt: skip
    told = "\n".join(caught.value.problems)
    for words in (
        "table is not", "model is neither", "seed:", "marginals: must", "two_way: must", "choice: unknown",
        "bins: must", "levels.age: must", "complete: must", "synthetic: must",
    ):  # fmt: skip
        assert words in told


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": 0}, "epsilon must be a number above 0"),
        ({"epsilon": float("nan")}, "epsilon must"),
        ({"epsilon": 1, "delta": 1}, "delta must be a number from 0 to below 1"),
        ({"epsilon": -1, "delta": -0.1, "max_records": 0}, "max_records must"),
    ],
)
def test_a_promise_that_is_none_is_refused(settings: dict[str, Any], words: str):
    with pytest.raises(PolicyError, match=words) as caught:
        sf.DifferentialPrivacy(**settings)
    assert len(caught.value.problems) == (3 if len(settings) == 3 else 1)


def test_what_promises_little_is_said():
    many = released(sf.DifferentialPrivacy(11, 0.01))
    told = "\n".join(many.notes)
    assert "promises little" in told
    assert "δ times the number of people is 3" in told


def test_labels_like_formulas_are_escaped(tmp_path: Path, release: sf.PrivateRelease):
    sf.save_private(release, tmp_path / "kept")
    sf.save_private(release, tmp_path / "escaped", formulas="escape")
    assert "'=flu" in (tmp_path / "escaped" / "marginal_2.csv").read_text()
    assert sf.verify(tmp_path / "escaped").ok
    with pytest.raises(PolicyError, match="beginning with"):
        sf.save_private(release, tmp_path / "refused", formulas="refuse")


POLICY = """purpose = "planning"
[columns]
sensitive = {ill = {domain = ["none", "=flu"]}}
person = "klient"
others = "drop"
[columns.quasi-identifying]
age = {domain = [0, 100]}
sex = {hierarchy = "sex.csv"}
[model]
epsilon = 3
max-records = 2
[counting]
two-way = 1
bins = {age = 4}
levels = {sex = 0}
"""


def test_a_policy_says_what_a_call_says(tmp_path: Path):
    (tmp_path / "sex.csv").write_text("f;*\nm;*\n")
    (tmp_path / "in.toml").write_text(POLICY)
    frame().with_columns(pl.col("age").cast(pl.String).replace("7", "seven")).write_csv(tmp_path / "in.csv")
    policy = sf.PrivatePolicy.from_file(tmp_path / "in.toml")
    policy.to_file(tmp_path / "again.toml")
    assert sf.PrivatePolicy.from_file(tmp_path / "again.toml") == policy
    table = sf.read_table(tmp_path / "in.csv", policy)
    release = sf.publish_privately(table, policy)
    assert release.published.domains["age"].size == 5
    sf.save_private(release, tmp_path / "out")
    assert sf.verify(tmp_path / "out").ok
    told = (tmp_path / "out" / "policy.toml").read_text()
    assert "sex.csv" not in told
    assert "planning" in str(release.report)
    with pytest.raises(PolicyError, match="bins: the policy says it"):
        sf.publish_privately(table, policy, bins={"age": 2})
    other = sf.read_table(frame(), schema())
    with pytest.raises(PolicyError, match="person: is not the column"):
        sf.publish_privately(other, policy)
    again = policy.model_copy(update={"model": type(policy.model)(epsilon=1)})
    with pytest.raises(PolicyError, match="another model than the release"):
        sf.save_private(release, tmp_path / "no", policy=again)
    assert "counting" in sf.PrivatePolicy.json_schema()["properties"]


def test_a_policy_that_asks_for_no_pairs_says_so():
    said = {"model": {"epsilon": 1}, "columns": {"quasi-identifying": ["age"]}, "counting": {"two-way": 0}}
    assert sf.PrivatePolicy.from_mapping(said).to_mapping()["counting"] == {"two-way": 0, "choice": "data"}


def test_a_policy_names_every_mistake():
    columns = {"quasi-identifying": ["age"]}
    with pytest.raises(PolicyError) as caught:
        sf.PrivatePolicy.from_mapping(
            {
                "model": {"epsilon": 0, "delta": 2},
                "columns": columns,
                "counting": {"choice": "any", "two-way": -1},
                "y": 1,
            }
        )
    assert len(caught.value.problems) == 5


def test_what_is_for_tables_says_what_this_is(folder: Path):
    with pytest.raises(VerificationError, match="of a release of private marginals, which can be verified"):
        sf.measure(frame(), str(folder))  # type: ignore[arg-type]


def test_a_release_shows_no_value(release: sf.PrivateRelease):
    assert repr(release) == "PrivateRelease((ε = 1, δ = 0)-differential privacy, 2 marginals, 30 cells)"
    assert release.to_dict()["marginals"] == SETS
    assert Budget.of(release.budget.to_dict()) == release.budget
    assert release.budget.steps == (BudgetStep("counts", 2, 2.0, 1.0),)
