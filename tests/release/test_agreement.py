"""``policy.toml`` and ``release.json`` say the same, or the release is not in order; and its recount loads no maker."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.cli.app import app
from sfumato.published.checks.generalized import Outcome
from sfumato.published.protocol import Roles
from sfumato.release.agreement import PROMISE

Edit = Callable[[dict[str, Any]], Any]


def table(**more: Any) -> sf.Table:
    rows = 60
    frame = pl.DataFrame(
        {
            "age": [20 + i % 7 for i in range(rows)],
            "sex": ["f", "m", "m"] * (rows // 3),
            "visits": list(range(rows)),
            "disease": ["flu", "cold", "gout", "burn"] * (rows // 4),
        }
    )
    roles = {"quasi_identifying": ["age", "sex"], "sensitive": ["disease"], "insensitive": ["visits"]}
    return sf.read_table(frame, sf.Schema(**{**roles, **more}))


def ratings() -> sf.Ratings:
    rows = [(user, issue, 1 + (user + place) % 3) for user in range(9) for place, issue in enumerate("abs")]
    return sf.read_ratings(pl.DataFrame(rows, schema=["u", "i", "r"], orient="row"), scale=(1, 5), sensitive="s")


def saved(kind: str, folder: Path) -> Path:
    """Write a release folder of a kind."""
    if kind == "ratings":
        return sf.save_ratings(sf.anonymize_ratings(ratings(), sf.RatingAnonymity(3, 1), seed=1), folder)
    models, anonymizer = {
        "generalized": ([sf.KAnonymity(3), sf.DistinctLDiversity(2)], None),
        "sliced": ([sf.ProbabilisticLDiversity(2)], sf.Slicing()),
        "bucketized": ([sf.ProbabilisticLDiversity(2)], sf.Bucketization(members="random")),
        "marginals": ([sf.KAnonymity(3)], sf.Marginals(columns=(("age", "disease"),))),
        "randomized": ([], sf.Swapping()),
    }[kind]
    return sf.anonymize(table(), models, anonymizer=anonymizer, seed=1).save(folder)


KINDS = {
    "generalized": Roles(("age", "sex"), ("disease",), ("visits",)),
    "sliced": Roles(("age", "sex"), ("disease",), ("visits",)),
    "bucketized": Roles(("age", "sex"), ("disease",)),
    "marginals": Roles(("age",), ("disease",)),
    "randomized": Roles(("age", "sex"), ("disease",), ("visits",)),
    "ratings": Roles((), ("s",)),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved("generalized", tmp_path / "out")


def describe(folder: Path, edit: Edit) -> None:
    content = json.loads((folder / "release.json").read_text())
    edit(content)
    (folder / "release.json").write_text(json.dumps(content))


def rewrite(folder: Path, old: str, new: str) -> None:
    text = (folder / "policy.toml").read_text()
    assert old in text
    (folder / "policy.toml").write_text(text.replace(old, new))


def broken(folder: Path) -> list[str]:
    """Return what is said of every field of which the two files say different things."""
    verification = sf.verify(folder)
    assert not verification.ok
    broken = [check for check in verification.checks if check.outcome is Outcome.BROKEN]
    wrong = [check for check in broken if check.promise.startswith("policy.toml and release.json")]
    return [str(check).removesuffix(": one of them was changed)") for check in wrong]


def said(field: str, policy: str, release: str) -> str:
    return (
        f"broken: policy.toml and release.json name the same {field} (policy.toml says {policy}, "
        f"release.json says {release}"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_agrees_and_says_its_roles(kind, tmp_path):
    verification = sf.verify(saved(kind, tmp_path / "out"))
    assert verification.ok is (kind != "randomized")
    assert verification.roles == KINDS[kind]
    assert verification.to_dict()["roles"] == KINDS[kind].to_dict()
    assert f"  holds: {PROMISE}" in str(verification).splitlines()


def test_the_roles_stand_on_lines_of_their_own(folder):
    lines = str(sf.verify(folder)).splitlines()
    assert lines[1:3] == ["  roles: quasi-identifying age, sex; sensitive disease", "  unprotected: visits"]


def test_in_memory_as_in_a_folder():
    release = sf.anonymize(table(), sf.KAnonymity(3), seed=1)
    verification = sf.verify(release)
    assert verification.roles == KINDS["generalized"]
    assert PROMISE in [check.promise for check in verification.checks]


# one of the files is changed


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "randomized"])
def test_a_weaker_model_in_the_description(kind, tmp_path):
    out = saved(kind, tmp_path / "out")
    parameter = "l" if kind in ("sliced", "bucketized") else "k"
    describe(out, lambda content: content["models"][0].update({parameter: 1}))
    (sentence,) = broken(out)
    assert sentence.startswith("broken: policy.toml and release.json name the same models (policy.toml says ")
    assert f"{parameter}=1" in sentence.partition("release.json says")[2]


@pytest.mark.parametrize("kind", KINDS)
def test_another_suppression_limit(kind, tmp_path):
    out = saved(kind, tmp_path / "out")
    describe(out, lambda content: content.update(suppression_limit=0.25))
    assert broken(out) == [said("suppression limit", "0.0", "0.25")]


def test_a_model_that_is_dropped(folder):
    describe(folder, lambda content: content["models"].pop())
    both = "distinct-l-diversity (l=2), k-anonymity (k=3)"
    (sentence,) = broken(folder)
    assert sentence in (
        said("models", both, "k-anonymity (k=3)"),
        said("models", "k-anonymity (k=3), distinct-l-diversity (l=2)", "k-anonymity (k=3)"),
    )


def test_a_model_that_the_policy_drops_or_only_names(folder):
    rewrite(folder, "k = 3", "k = 4")
    assert len(broken(folder)) == 1
    rewrite(folder, ", k = 4", "")
    assert len(broken(folder)) == 1


def test_the_order_of_models_and_columns_says_nothing(folder):
    describe(folder, lambda content: content["models"].reverse())
    describe(folder, lambda content: content["structure"]["quasi_identifying"].reverse())
    assert sf.verify(folder).ok


def test_a_role_that_is_dropped(folder):
    describe(folder, lambda content: content["structure"].update(quasi_identifying=["age"]))
    assert broken(folder) == [
        said("quasi-identifying columns", "age, sex", "age"),
        said("unprotected columns", "visits", "sex, visits"),
    ]


def test_a_column_that_is_insensitive_and_to_be_published_is_named_once(folder):
    rewrite(folder, "insensitive = [", 'publish = ["visits"]\ninsensitive = [')
    describe(folder, lambda content: content["structure"].update(quasi_identifying=["age"]))
    assert said("unprotected columns", "visits", "sex, visits") in broken(folder)


def test_a_sensitive_column_that_becomes_unprotected(folder):
    def edit(content: dict[str, Any]) -> None:
        content["structure"].update(sensitive=[])
        content.update(sensitive={}, models=[content["models"][0]])

    describe(folder, edit)
    assert said("sensitive columns", "disease", "none") in broken(folder)


@pytest.mark.parametrize("kind", ["sliced", "randomized"])
def test_roles_of_other_kinds(kind, tmp_path):
    out = saved(kind, tmp_path / "out")
    rewrite(out, '"sex"', '"town"')
    assert broken(out) == [said("quasi-identifying columns", "age, town", "age, sex")]


def test_a_kind_that_publishes_a_choice_may_leave_columns_out_but_not_change_them(tmp_path):
    out = saved("marginals", tmp_path / "out")
    rewrite(out, '"age"', '"town"')
    assert broken(out) == [said("quasi-identifying columns", "town, sex", "age")]


def test_kept_columns_are_unprotected_without_being_named(tmp_path):
    columns = {"quasi-identifying": ["age", "sex"], "sensitive": ["disease"], "others": "keep"}
    policy = sf.Policy.from_mapping({"columns": columns, "models": [{"name": "k-anonymity", "k": 3}]})
    frame = table().frame.with_columns(pl.col("visits") % 7)
    verification = sf.verify(sf.anonymize(sf.read_table(frame, policy), policy).save(tmp_path / "out"))
    assert verification.ok
    assert verification.roles is not None
    assert verification.roles.unprotected == ("visits",)


@pytest.mark.parametrize(
    "text",
    [
        "no [toml",
        "",
        "columns = 5\nmodels = []",
        "models = 7\n[columns]\nquasi-identifying = ['age', 'sex']",
        "suppression-limit = 'x'\nmodels = [{name = 'k-anonymity', k = 3}, {name = 'distinct-l-diversity', l = 2}]\n"
        "[columns]\nquasi-identifying = ['age', 'sex']\nsensitive = ['disease']\ninsensitive = ['visits']",
        "models = ['geheim']\n[columns]\nquasi-identifying = ['age', 'sex']",
    ],
)
def test_a_damaged_policy_is_broken_and_shows_nothing(folder, text):
    (folder / "policy.toml").write_text(text)
    verification = sf.verify(folder)
    assert f"  broken: {PROMISE} (policy.toml is damaged)" in str(verification).splitlines()
    assert not verification.ok
    assert "geheim" not in str(verification)


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_without_a_policy_says_so(kind, tmp_path):
    out = saved(kind, tmp_path / "out")
    (out / "policy.toml").unlink()
    describe(out, lambda content: content.pop("files"))
    verification = sf.verify(out)
    assert verification.ok is (kind != "randomized")
    line = f"  not verifiable from the release: {PROMISE} (the release has no policy.toml)"
    assert line in str(verification).splitlines()


def test_the_command_ends_with_1(folder):
    rewrite(folder, "k = 3", "k = 25")
    done = CliRunner().invoke(app, ["verify", str(folder)])
    assert done.exit_code == 1
    assert "policy.toml says" in done.output
    assert "roles: quasi-identifying age, sex; sensitive disease" in done.output
    done = CliRunner().invoke(app, ["verify", str(folder), "--json"])
    assert json.loads(done.output)["roles"]["unprotected"] == ["visits"]


def test_no_report_is_written_about_it(folder):
    rewrite(folder, "k = 3", "k = 25")
    with pytest.raises(sf.VerificationError, match="name the same models"):
        sf.report(folder, attacks=False)


def test_a_column_cannot_pass_for_a_line():
    roles = Roles(("a\n  holds: k-anonymity (k=99)", "b, c", " d"), ("e",))
    assert roles.lines() == ["roles: quasi-identifying 'a\\n  holds: k-anonymity (k=99)', 'b, c', ' d'; sensitive e"]


# what is not the library's own


@dataclass(frozen=True)
class Strict(sf.KAnonymity):
    """A model of somebody else's that takes over a name of the library."""


@dataclass(frozen=True)
class Own(sf.KAnonymity):
    """A model of somebody else's with a name of its own."""

    name = "own"  # type: ignore[misc]


@dataclass(frozen=True)
class Elsewhere(Mondrian):
    """An anonymizer of somebody else's."""

    name = "elsewhere"  # type: ignore[misc]


def test_a_model_from_elsewhere_is_used_and_only_named(tmp_path):
    release = sf.anonymize(table(), [sf.KAnonymity(3), Own(5)], anonymizer=Elsewhere(), seed=1)
    assert min(release.data.group_by("age", "sex").len()["len"]) >= 5
    assert '{ name = "own" }' in release.policy
    assert 'name = "elsewhere"' in release.policy
    checks = {check.promise: check for check in sf.verify(release.save(tmp_path / "out")).checks}
    assert checks[PROMISE].outcome is Outcome.HOLDS
    assert checks["model own"].outcome is Outcome.UNDECIDABLE


def test_a_model_from_elsewhere_with_a_name_of_the_library_is_held_against_that_one(tmp_path):
    out = sf.anonymize(table(), Strict(4), seed=1).save(tmp_path / "out")
    assert sf.verify(out).ok
    rewrite(out, "k = 4", "k = 3")
    assert broken(out) == [said("models", "k-anonymity (k=3)", "k-anonymity (k=4)")]


# independence

LOADED = "makers = sorted(name for name in sys.modules if name.startswith('sfumato.anonymizers')); print(makers)"


def ran(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def test_verifying_loads_no_maker(tmp_path):
    folders = [str(saved(kind, tmp_path / kind)) for kind in KINDS]
    program = f"import sys, sfumato as sf; assert all(map(sf.verify, {folders!r})); {LOADED}"
    assert ran(program) == "[]"


def test_the_verifying_command_loads_no_maker(folder):
    program = (
        f"import sys; from sfumato.cli import main; sys.argv = ['sfumato', 'verify', {str(folder)!r}]\n"
        f"try:\n    main()\nexcept SystemExit as end:\n    assert not end.code\n{LOADED}"
    )
    assert ran(program) == "[]"
