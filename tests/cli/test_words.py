from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sfumato.anonymizers import Auto, Mondrian
from sfumato.cli.app import app
from sfumato.cli.settings import Setting, names_in
from sfumato.cli.words import Words, diversity_word, hierarchy_files, model_words, policy_of
from sfumato.errors import InputError, PolicyError
from sfumato.models import (
    AlphaKAnonymity,
    EntropyLDiversity,
    KAnonymity,
    RecursiveLDiversity,
)
from sfumato.policy.policy import Policy

NO_MODELS: dict[str, Any] = {"k": None, "l": None, "t": None, "others": ()}


def words(roles: dict[str, list[str]], said: dict[str, Any] | None = None, **more: Any) -> Words:
    models, problems = model_words(**{**NO_MODELS, **({"k": 5} if said is None else said)})
    return Words(roles=roles, models=models, problems=problems, **more)


ROLES = {"quasi-identifying": ["age,sex"], "sensitive": ["disease"]}


def problems_of(said: Words) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        policy_of(said)
    return list(caught.value.problems)


def policy_file(folder: Path, text: str) -> Path:
    path = folder / "policy.toml"
    path.write_text(text)
    return path


BASE = """
suppression-limit = 0.1
[source]
separator = ";"
[columns]
identifying = ["name"]
sensitive = ["disease"]
[columns.quasi-identifying.age]
weight = 2
[columns.quasi-identifying.zip]
hierarchy = "zip.csv"
[[models]]
name = "k-anonymity"
k = 3
[[models]]
name = "t-closeness"
t = 0.5
[anonymizer]
name = "mondrian"
mode = "relaxed"
"""


def test_words_alone_make_a_policy():
    policy = policy_of(
        words(
            {"identifying": ["name", "phone"], **ROLES},
            {"k": 5, "l": diversity_word(3.0, "recursive", c=4.0), "others": ["alpha-k-anonymity:alpha=0.5,k=3"]},
            others="drop",
            settings=[
                "split_rule=median",
                "hierarchy-cuts=true",
                'source.separator="\\t"',
                "source.missing=?",
                "source.header=false",
                "source.columns=name,age,sex",
            ],
            suppression=0.02,
            format="parquet",
        )
    )
    assert policy.columns.identifying == ("name", "phone")
    assert list(policy.columns.quasi_identifying) == ["age", "sex"]
    assert policy.columns.others == "drop"
    assert policy.to_models() == [KAnonymity(5), RecursiveLDiversity(c=4, l=3), AlphaKAnonymity(alpha=0.5, k=3)]
    assert policy.to_anonymizer() == Mondrian(split_rule="median", hierarchy_cuts=True)
    assert policy.source.separator == "\t"
    assert policy.source.columns == ("name", "age", "sex")
    assert policy.suppression_limit == 0.02
    assert policy.output.format == "parquet"


def test_words_and_file_and_program_make_the_same_policy(tmp_path):
    text = (
        "[columns]\nquasi-identifying=['age','sex']\nsensitive=['disease']\n[anonymizer]\nname='auto'\n"
        "[[models]]\nname='k-anonymity'\nk=5\n[[models]]\nname='entropy-l-diversity'\nl=2.5\n"
    )
    said = policy_of(words(ROLES, {"k": 5, "l": 2.5}))
    assert said == Policy.from_file(policy_file(tmp_path, text))
    built = Policy.of(said.to_schema(), [KAnonymity(5), EntropyLDiversity(2.5)], Auto(), said.to_recoding(), 0.0)
    assert said == built


def test_words_go_before_the_file(tmp_path):
    policy = policy_of(
        words(
            {"sensitive": ["age"], "quasi-identifying": ["sex"]},
            {"k": 7},
            policy=policy_file(tmp_path, BASE),
            others="keep",
            settings=["split-rule=median", "policy.threads=2"],
            suppression=0.0,
        )
    )
    assert list(policy.columns.quasi_identifying) == ["zip", "sex"]
    assert list(policy.columns.sensitive) == ["disease", "age"]
    assert policy.columns.sensitive["age"].weight == 2
    assert policy.columns.identifying == ("name",)
    assert [(type(model).__name__, model.parameters()) for model in policy.to_models()] == [
        ("TCloseness", policy.to_models()[0].parameters()),
        ("KAnonymity", {"k": 7}),
    ]
    assert policy.to_anonymizer() == Mondrian(mode="relaxed", split_rule="median")
    assert policy.suppression_limit == 0.0
    assert policy.threads == 2
    assert policy.source.separator == ";"


def test_a_file_without_words_is_the_file(tmp_path):
    path = policy_file(tmp_path, BASE)
    assert policy_of(Words(policy=path)) == Policy.from_file(path)
    assert policy_of(Words(policy=path)).columns.quasi_identifying["zip"].hierarchy.path == str(tmp_path / "zip.csv")


def test_naming_an_algorithm_that_the_file_does_not_name_drops_its_options(tmp_path):
    path = policy_file(tmp_path, BASE.replace('name = "mondrian"\n', 'name = "other"\n'))
    assert policy_of(Words(policy=path, anonymizer="mondrian")).to_anonymizer() == Mondrian()


def test_mistakes_are_named_after_the_options_and_come_all_at_once():
    said = words(
        {"quasi-identifying": ["age,age"], "sensitive": ["disease"]},
        {"k": 0, "l": 0.5, "others": ["t-closenes:t=0.1", "t-closeness:t"]},
        others="dorp",
        anonymizer="mondrain",
        settings=[Setting(("source", "separator"), ";;", "--separator"), "policy.threads=0", "mode=relaxed"],
        suppression=2.0,
    )
    problems = problems_of(said)
    starts = [
        "--model (number 2): write settings as name=value",
        "--quasi: names a column twice",
        "--suppression: must be at most 1",
        "--set policy.threads: must be at least 1",
        "--separator: must be one ASCII character",
        "--others: unknown name; did you mean 'drop'?",
        "-k: must be a whole number of at least 1",
        "-l: must be a number of at least 1",
        "--model (number 1).name: unknown name; did you mean 't-closeness'?",
        "--model (number 2).t: is missing",
        "--anonymizer: unknown name; did you mean 'mondrian'?",
    ]
    assert len(problems) == len(starts)
    for start, problem in zip(starts, problems, strict=True):
        assert problem.startswith(start)


def test_mistakes_in_the_words_and_in_the_file_come_together(tmp_path):
    path = policy_file(tmp_path, BASE.replace("weight = 2", "weight = -2"))
    assert problems_of(words({}, {"k": 0}, policy=path)) == [
        "columns.quasi-identifying.age.weight: must be above 0",
        "-k: must be a whole number of at least 1",
    ]


def test_nothing_said_names_what_is_needed():
    assert problems_of(Words()) == [
        "--quasi: is missing; name the columns that an attacker may know, e.g. --quasi age,sex,zip",
        "privacy model (-k, -l, --model): is missing; ask for at least one, e.g. -k 5",
    ]


def test_a_policy_file_of_wrong_types_is_complained_about_not_fallen_over(tmp_path):
    text = "columns = 3\nmodels = 4\nanonymizer = 5\nsource = 6\noutput = 7\n"
    said = words({"identifying": ["a"]}, policy=policy_file(tmp_path, text), settings=["mode=x"], format="csv")
    assert problems_of(said) == [
        "--set mode: stands below what is no table or list, or has fewer entries",
        "source: must be a table",
        "columns: must be a table",
        "models: must be a list",
        "anonymizer: must be a table",
        "output: must be a table",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a,b", ["a", "b"]), (" a , b ,", ["a", "b"]), ('"a,b",c', ["a,b", "c"]), ("", []), ("post code", ["post code"])],
)
def test_names_are_split_at_commas(text, expected):
    assert names_in(text) == expected


def test_values_are_read_like_toml_and_else_are_text():
    models, _ = model_words(**{**NO_MODELS, "others": ["m:a=1,b=0.5,c=true,d=word,e='quoted'"]})
    assert models[0].settings == {"a": 1, "b": 0.5, "c": True, "d": "word", "e": "quoted"}


# kinds


def test_columns_of_codes_are_categories_and_keep_their_other_settings(tmp_path):
    path = policy_file(tmp_path, BASE)
    policy = policy_of(Words(policy=path, categorical=["age,disease", "zip"]))
    quasi, sensitive = policy.columns.quasi_identifying, policy.columns.sensitive
    assert [quasi["age"].kind, quasi["zip"].kind, sensitive["disease"].kind] == ["categorical"] * 3
    assert quasi["age"].weight == 2
    assert quasi["zip"].hierarchy.path == str(tmp_path / "zip.csv")
    assert policy_of(Words(policy=path)).columns.quasi_identifying["age"].kind is None


def test_codes_without_a_role_are_a_mistake_each():
    said = words({**ROLES, "identifying": ["name"]}, categorical=["age,zip,name,zip"])
    assert problems_of(said) == [
        "--categorical: 'zip' is not a quasi-identifying or sensitive column; give it a role",
        "--categorical: 'name' is not a quasi-identifying or sensitive column; give it a role",
    ]


def test_kinds_of_columns_of_a_wrong_type_are_left_to_the_check(tmp_path):
    said = Words(
        policy=policy_file(tmp_path, BASE.replace("weight = 2", "") + "[columns.sensitive]\n"),
        categorical=["age"],
    )
    with pytest.raises(PolicyError):
        policy_of(said)
    text = "[columns]\nquasi-identifying = { age = 3 }\n[[models]]\nname = 'k-anonymity'\nk = 2\n"
    said = Words(policy=policy_file(tmp_path, text), categorical=["age"])
    assert problems_of(said) == ["columns.quasi-identifying.age: must be a table"]


# hierarchies


def filled(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).write_text("a;*\nb;*\n")
    return folder


def test_files_are_found_by_the_name_of_the_column(tmp_path):
    folder = filled(tmp_path, "age.csv", "adult_hierarchy_sex.CSV", "adult_native_country.csv", "notes.txt", "zip.csv")
    files, problems = hierarchy_files(folder, ["age", "sex", "country", "native_country"])
    assert problems == []
    assert {column: path.name for column, path in files.items()} == {
        "age": "age.csv",
        "sex": "adult_hierarchy_sex.CSV",
        "native_country": "adult_native_country.csv",
    }


def test_a_file_named_exactly_goes_before_others_and_two_others_are_a_mistake(tmp_path):
    folder = filled(tmp_path, "age.csv", "x_age.csv", "a_sex.csv", "b_sex.csv")
    files, problems = hierarchy_files(folder, ["age", "sex"])
    assert files["age"].name == "age.csv"
    assert problems == [f"--hierarchies: 2 files of {folder} fit column 'sex'; name one of them sex.csv"]


def test_a_folder_without_fitting_files_is_a_mistake(tmp_path):
    _, problems = hierarchy_files(tmp_path, ["age"])
    assert len(problems) == 1
    with pytest.raises(InputError):
        hierarchy_files(tmp_path / "none", ["age"])


def test_hierarchies_of_a_folder_go_before_those_of_the_file(tmp_path):
    folder = tmp_path / "hierarchies"
    folder.mkdir()
    filled(folder, "zip.csv", "disease.csv")
    policy = policy_of(Words(policy=policy_file(tmp_path, BASE), hierarchies=folder))
    assert policy.columns.quasi_identifying["zip"].hierarchy.path == str(folder / "zip.csv")
    assert policy.columns.sensitive["disease"].hierarchy.path == str(folder / "disease.csv")
    assert policy.columns.quasi_identifying["age"].weight == 2


def test_the_policy_that_words_mean_can_be_written_and_used_again(tmp_path):
    folder = filled(tmp_path, "sex.csv")
    said = words(ROLES, {"k": 5, "t": 0.2}, hierarchies=folder, others="drop")
    policy = policy_of(said)
    (tmp_path / "deep").mkdir()
    policy.to_file(tmp_path / "deep" / "policy.toml")
    written = tomllib.loads((tmp_path / "deep" / "policy.toml").read_text())
    assert written["columns"]["quasi-identifying"]["sex"]["hierarchy"]["path"] == "../sex.csv"
    again = policy_of(Words(policy=tmp_path / "deep" / "policy.toml"))
    assert again.to_schema() == policy.to_schema()
    assert again.to_models() == policy.to_models()


def test_the_help_page_names_every_anonymizer():
    from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
    from sfumato.cli import options

    assert set(options.ANONYMIZERS.split(", ")) == set(ANONYMIZERS)
    assert set(options.PUBLISHERS.split(", ")) == set(PUBLISHERS)


def test_a_line_break_in_a_name_needs_double_quotes() -> None:
    assert names_in('"age\nclass",sex') == ["age\nclass", "sex"]
    with pytest.raises(PolicyError, match="line break"):
        names_in("age\nclass,sex")


def test_a_bare_l_is_asked_at_a_terminal_and_means_entropy_with_a_warning_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"{20 + i % 50},{'fm'[i % 2]},{'ill' if i % 10 == 0 else 'well'}" for i in range(300)]
    (tmp_path / "t.csv").write_text("\n".join(["age,sex,state", *rows]) + "\n")
    words = ["anonymize", str(tmp_path / "t.csv"), "--quasi", "age,sex", "--sensitive", "state", "-k", "2", "-l", "2"]
    out = tmp_path / "release"
    found = CliRunner().invoke(app, [*words, "--out", str(out)])
    assert found.exit_code == 1
    assert "write --model distinct-l-diversity:l=2 or --model entropy-l-diversity:l=2" in found.stderr
    assert "within reach: distinct-l-diversity up to l = 2\n" in found.stderr
    monkeypatch.setattr("sfumato.cli.review.at_a_terminal", lambda: True)
    found = CliRunner().invoke(app, [*words, "--out", str(out)], input="both\ndistinct\n")
    assert found.exit_code == 0
    assert "entropy: values that are about equally frequent; out of reach here" in found.stderr
    assert "distinct: that many different values in every class; loses " in found.stderr
    assert "distinct-l-diversity" in (out / "policy.toml").read_text()
