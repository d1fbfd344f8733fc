"""Folders of anonymous ratings: what they hold, what a recipient recounts, what tampering comes to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from examples import examples
from naive.ratings import Record
from naive.surveys import surveys
from sfumato.kinds.ratings.policy import RatingPolicy
from sfumato.models.protocol import Outcome

MARK = "geheim-4711"


def ratings(**more: Any) -> sf.Ratings:
    rows = [(user, issue, 1 + (user + place) % 3) for user in range(9) for place, issue in enumerate("abs")]
    rows += [(9, "only", 5), (9, "s", 1)]
    return sf.read_ratings(
        pl.DataFrame(rows, schema=["u", "i", "r"], orient="row"), scale=(1, 5), sensitive="s", **more
    )


def released(k: int = 3, epsilon: float = 1, l: float = 0, **more: Any) -> sf.RatingRelease:  # noqa: E741
    return sf.anonymize_ratings(ratings(), sf.RatingAnonymity(k, epsilon, l), seed=1, **more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return sf.save_ratings(released(l=0.3), tmp_path / "release")


def described(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "release.json").read_text())
    return content


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    content = described(folder)
    edit(content)
    (folder / "release.json").write_text(json.dumps(content))


def rewrite(folder: Path, text: str) -> None:
    """Change the ratings as somebody would who knows how to hide it."""
    (folder / "ratings.csv").write_text(text)
    rows = len(text.splitlines()) - 1
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    change(folder, lambda content: content["tables"]["ratings"].update(sha256=sha256, rows=rows))


def outcomes(folder: Path) -> list[Outcome]:
    return [check.outcome for check in sf.verify(folder).checks]


def test_what_a_folder_holds(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == [
        "policy.toml",
        "ratings.csv",
        "release.json",
        "report.json",
        "report.txt",
    ]
    content = described(folder)
    assert content["kind"] == "ratings"
    assert content["structure"] == {"records": 10, "scale": {"low": 1.0, "high": 5.0, "step": 1.0}}
    assert content["sensitive"] == ["s"]
    assert content["models"] == [
        {"name": "rating-anonymity", "k": 3, "epsilon": 1, "l": 0.3, "group": "ball", "nulls": "skip"}
    ]
    assert content["tables"]["ratings"]["columns"] == ["record", "issue", "rating"]


def test_a_good_folder_verifies(folder: Path) -> None:
    verification = sf.verify(folder)
    assert verification.ok
    assert verification.records == 10
    assert outcomes(folder) == [Outcome.HOLDS] * 5 + [Outcome.UNDECIDABLE]


@examples(60)
@given(
    surveys(), st.integers(1, 4), st.sampled_from([0.0, 1.0, 30.0]), st.booleans(), st.sampled_from(["csv", "parquet"])
)
def test_every_release_verifies_from_its_folder(
    tmp_path_factory: pytest.TempPathFactory,
    survey: tuple[sf.Ratings, list[Record]],
    k: int,
    epsilon: float,
    invent: bool,
    format: str,
) -> None:
    given, _ = survey
    try:
        release = sf.anonymize_ratings(given, sf.RatingAnonymity(k, epsilon), invent=invent, seed=1)
    except sf.UnsatisfiableError:
        return
    target = sf.save_ratings(release, tmp_path_factory.mktemp("given") / "release", format=format)  # type: ignore[arg-type]
    verification = sf.verify(target)
    assert verification.ok
    assert verification.records == release.ratings.height


def test_records_without_a_rating_are_counted(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1, None, None, 1, None], "b": [None, 2.0, None, None, None]})
    given = sf.read_ratings(frame, form="wide", scale=(1, 5))
    release = sf.anonymize_ratings(given, sf.RatingAnonymity(5, 0), seed=1)
    target = sf.save_ratings(release, tmp_path / "nothing")
    assert (target / "ratings.csv").read_text() == "record,issue,rating\n"
    assert sf.verify(target).ok
    assert sf.verify(target).records == 5
    change(target, lambda content: content["structure"].update(records=4))
    assert Outcome.BROKEN in outcomes(target)


def test_times_are_published_where_asked_for(tmp_path: Path) -> None:
    frame = pl.DataFrame({"u": [1, 2, 3], "i": ["a"] * 3, "r": [1, 2, 2], "when": [10, 20, 30]})
    given = sf.read_ratings(frame, time="when", scale=(1, 5))
    release = sf.anonymize_ratings(given, sf.RatingAnonymity(2, 1), times=True, seed=1)
    target = sf.save_ratings(release, tmp_path / "timed")
    assert described(target)["tables"]["ratings"]["columns"] == ["record", "issue", "rating", "time"]
    assert sf.verify(target).ok


def test_names_of_issues_may_be_awkward(tmp_path: Path) -> None:
    names = ['say "x", then', "a b", "Ü*?[", "1", "null"]
    rows = [(user, name, 3) for user in range(3) for name in names]
    given = sf.read_ratings(pl.DataFrame(rows, schema=["u", "i", "r"], orient="row"), scale=(1, 5), sensitive=["Ü*?["])
    target = sf.save_ratings(sf.anonymize_ratings(given, sf.RatingAnonymity(3, 0), seed=1), tmp_path / "awkward")
    assert described(target)["sensitive"] == ["Ü*?["]
    assert sf.verify(target).ok


def test_a_changed_file_is_noticed(folder: Path) -> None:
    text = (folder / "ratings.csv").read_text()
    (folder / "ratings.csv").write_text(text.replace(",1.0", ",2.0", 1))
    assert outcomes(folder)[0] is Outcome.BROKEN
    assert not sf.verify(folder).ok


def test_a_changed_file_with_its_hash_is_decided_anew(folder: Path) -> None:
    rewrite(folder, (folder / "ratings.csv").read_text() + f"1,{MARK},5\n")
    assert outcomes(folder) == [
        Outcome.HOLDS,
        Outcome.BROKEN,
        Outcome.HOLDS,
        Outcome.HOLDS,
        Outcome.BROKEN,
        Outcome.UNDECIDABLE,
    ]
    verification = sf.verify(folder)
    assert MARK not in str(verification) + json.dumps(verification.to_dict())


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda content: content.update(format=99), "format"),
        (lambda content: content.pop("structure"), "damaged"),
        (lambda content: content.update(tables={}), "damaged"),
        (lambda content: content["tables"].update(other=content["tables"]["ratings"]), "damaged"),
        (lambda content: content["tables"]["ratings"].update(file="../x"), "damaged"),
        (lambda content: content["tables"]["ratings"].update(file="gone.csv"), "missing"),
        (lambda content: content["tables"]["ratings"].update(columns=["x"]), "other columns"),
        (lambda content: content["structure"].update(records=0), "damaged"),
        (lambda content: content["structure"].update(records=True), "damaged"),
        (lambda content: content["structure"].update(records=9), "fewer records"),
        (lambda content: content["structure"].update(records=10**15), "believed"),
        (
            lambda content: content["structure"].update(scale={"low": 1, "high": 2}),
            "off the scale|not on the scale|scale",
        ),
        (lambda content: content["structure"].update(scale={"low": 1, "high": 1e9, "step": 1e-9}), "damaged"),
        (lambda content: content["structure"].update(scale=MARK), "damaged"),
        (lambda content: content.update(sensitive=[MARK]), "1 sensitive issue that nobody rated"),
        (lambda content: content.update(sensitive="s"), "damaged"),
        (lambda content: content.update(sensitive=[]), "no issue is sensitive"),
        (lambda content: content.update(models=[]), "damaged"),
        (lambda content: content.update(models=[MARK]), "damaged"),
        (lambda content: content["models"][0].update(k=0), "damaged"),
        (lambda content: content["models"][0].update(epsilon=float("nan")), "damaged"),
        (lambda content: content["models"][0].update(k=MARK), "damaged"),
        (lambda content: content.update(suppression_limit=2), "damaged"),
        (lambda content: content.update(suppression_limit=MARK), "damaged"),
    ],
)
def test_hostile_descriptions_are_refused(folder: Path, edit: Callable[[dict[str, Any]], object], message: str) -> None:
    change(folder, edit)
    with pytest.raises(sf.VerificationError, match=message) as error:
        sf.verify(folder)
    assert MARK not in str(error.value)
    assert error.value.__cause__ is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "record,issue,rating\n",
        f"record,issue,rating\n1,{MARK},{MARK}\n",
        f"record,issue,rating\n,{MARK},1\n",
        f"record,issue,rating\n1,{MARK},1\n1,{MARK},1\n",
        f"record,issue,rating\n1,{MARK},9\n",
        f"record,issue\n1,{MARK}\n",
    ],
)
def test_hostile_ratings_are_refused_or_broken(folder: Path, text: str) -> None:
    rewrite(folder, text)
    try:
        told = str(sf.verify(folder))
        assert not sf.verify(folder).ok
    except sf.VerificationError as error:
        told = str(error)
    assert MARK not in told


def test_text_that_is_no_json(folder: Path) -> None:
    for text in ("", "[]", "[" * 100_000, '{"kind": "ratings"}', '"ratings"'):
        (folder / "release.json").write_text(text)
        with pytest.raises(sf.VerificationError):
            sf.verify(folder)


def test_what_is_unknown_is_never_said_to_hold(folder: Path) -> None:
    change(folder, lambda content: content["models"].append({"name": "later-model", "x": 1}))
    change(folder, lambda content: content["models"][0].update(later=1))
    assert outcomes(folder)[1:3] == [Outcome.UNDECIDABLE, Outcome.UNDECIDABLE]
    assert not sf.verify(folder).ok


def test_all_models_are_decided(folder: Path) -> None:
    stricter = {"name": "rating-anonymity", "k": 11, "epsilon": 1}
    change(folder, lambda content: content["models"].append(stricter))
    assert outcomes(folder)[1:3] == [Outcome.HOLDS, Outcome.BROKEN]


def test_nothing_of_the_steward_is_written(tmp_path: Path) -> None:
    release = released(suppression_limit=0.2)
    policy = RatingPolicy.from_mapping(
        {
            "purpose": "a study",
            "suppression-limit": 0.2,
            "threads": 2,
            "source": {"missing": [MARK]},
            "ratings": {"user": MARK, "scale": [1, 5]},
            "sensitive": {"names": [MARK]},
            "model": {"k": 3, "epsilon": 1},
        }
    )
    target = sf.save_ratings(release, tmp_path / "release", policy=policy)
    everything = "".join(path.read_text() for path in target.iterdir())
    assert MARK not in everything
    assert "threads" not in everything
    for withheld in ("removed", "changed", "charge", "issue set", *release.notes):
        assert withheld not in (target / "report.txt").read_text()
    assert "a study" in (target / "report.txt").read_text()
    # What only one person rated is nowhere, not even its name.
    assert "only" not in (target / "ratings.csv").read_text() + (target / "release.json").read_text()
    assert release.report.figures["removed"] == release.loss.removed


def test_sensitive_issues_that_nobody_rates_any_more_are_not_named(tmp_path: Path) -> None:
    rows = [(user, "a", 3) for user in range(4)] + [(4, "b", 1), (4, MARK, 1)]
    frame = pl.DataFrame(rows, schema=["u", "i", "r"], orient="row")
    given = sf.read_ratings(frame, scale=(1, 5), sensitive=MARK)
    release = sf.anonymize_ratings(given, sf.RatingAnonymity(2, 0), suppression_limit=0.3, seed=1)
    target = sf.save_ratings(release, tmp_path / "release")
    text = (target / "release.json").read_text()
    assert (MARK in text) == (MARK in (target / "ratings.csv").read_text())
    assert sf.verify(target).ok


def test_a_promise_that_is_worth_little_says_so(tmp_path: Path) -> None:
    target = sf.save_ratings(released(epsilon=5), tmp_path / "everybody")
    assert "every record is proximate to every other" in str(sf.verify(target))
    change(target, lambda content: content.update(sensitive=["a", "b", "only", "s"]))
    assert "4 of 4 issues sensitive" in str(sf.verify(target))


def test_in_memory() -> None:
    verification = sf.verify(released())
    assert verification.ok
    assert [check.outcome for check in verification.checks] == [Outcome.HOLDS]


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(sf.PolicyError) as error:
        sf.save_ratings(3, tmp_path / "x", policy=4, format="x")  # type: ignore[arg-type]
    assert len(error.value.problems) == 3
    other = RatingPolicy.from_mapping({"model": {"k": 2, "epsilon": 1}})
    with pytest.raises(sf.PolicyError, match="another model"):
        sf.save_ratings(released(), tmp_path / "x", policy=other)
    target = sf.save_ratings(released(), tmp_path / "x")
    with pytest.raises(sf.InputError, match="already holds"):
        sf.save_ratings(released(), target)
    assert sf.verify(sf.save_ratings(released(k=2), target, overwrite=True, format="parquet")).ok
    assert not (target / "ratings.csv").exists()


def test_what_takes_tables_says_so(folder: Path) -> None:
    table = sf.read_table(pl.DataFrame({"a": [1]}), sf.Schema(quasi_identifying=["a"]))
    with pytest.raises(sf.VerificationError, match="is of a release of ratings"):
        sf.attack(folder, table)


FORMULA = "=HYPERLINK(geheim)"


def with_formulas(*more: str) -> sf.RatingRelease:
    names = [FORMULA, "-3", "+x", "plain", *more]
    rows = [(user, name, 1 + user % 2) for user in range(6) for name in names] + [(0, "@rare", 1)]
    frame = pl.DataFrame(rows, schema=["u", "i", "r"], orient="row")
    given = sf.read_ratings(frame, scale=(1, 5), sensitive=[FORMULA])
    return sf.anonymize_ratings(given, sf.RatingAnonymity(3, 1, 0.2), seed=1)


def issues_of(folder: Path) -> set[str]:
    return set(pl.read_csv(folder / "ratings.csv", infer_schema=False)["issue"])


def test_issues_like_formulas_are_kept_unless_something_else_is_asked_for(tmp_path: Path) -> None:
    folder = sf.save_ratings(with_formulas(), tmp_path / "kept")
    assert {FORMULA, "-3", "+x", "plain"} <= issues_of(folder)
    assert sf.verify(folder).ok


def test_escaped_issues_are_verified_as_they_stand(tmp_path: Path) -> None:
    folder = sf.save_ratings(with_formulas(), tmp_path / "escaped", formulas="escape")
    assert {f"'{FORMULA}", "-3", "'+x", "plain"} == issues_of(folder)
    verification = sf.verify(folder)
    assert verification.ok, str(verification)
    assert described(folder)["sensitive"] == [f"'{FORMULA}"]
    assert [check.detail for check in verification.checks][1:2] == [
        check.detail for check in sf.verify(sf.save_ratings(with_formulas(), tmp_path / "kept")).checks
    ][1:2]
    parquet = sf.save_ratings(with_formulas(), tmp_path / "parquet", format="parquet", formulas="escape")
    assert FORMULA in set(pl.read_parquet(parquet / "ratings.parquet")["issue"])


def test_refused_issues_are_counted_and_not_shown(tmp_path: Path) -> None:
    with pytest.raises(sf.PolicyError, match="column issue: 2 cells beginning with") as caught:
        sf.save_ratings(with_formulas(), tmp_path / "out", formulas="refuse")
    assert "geheim" not in str(caught.value)
    with pytest.raises(sf.PolicyError, match="an escaped value is there already"):
        sf.save_ratings(with_formulas("'+x"), tmp_path / "out", formulas="escape")
    with pytest.raises(sf.PolicyError, match="formulas must be"):
        sf.save_ratings(with_formulas(), tmp_path / "out", formulas="run")  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_text_times_are_escaped_too(tmp_path: Path) -> None:
    frame = pl.DataFrame({"u": [1, 2, 3], "i": ["a"] * 3, "r": [1, 2, 2], "when": ["=1", "b", "c"]})
    given = sf.read_ratings(frame, time="when", scale=(1, 5))
    release = sf.anonymize_ratings(given, sf.RatingAnonymity(2, 1), times=True, seed=1)
    folder = sf.save_ratings(release, tmp_path / "timed", formulas="escape")
    assert set(pl.read_csv(folder / "ratings.csv", infer_schema=False)["time"]) == {"'=1", "b", "c"}
    assert sf.verify(folder).ok
