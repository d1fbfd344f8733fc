from __future__ import annotations

import tomllib
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS, Mondrian
from sfumato.errors import InputError, PolicyError
from sfumato.hierarchy import Groups, HierarchyTable, Intervals, dates, groups, intervals, prefixes, read_hierarchy
from sfumato.models import MODELS, EntropyLDiversity, KAnonymity
from sfumato.policy.entries import ForeignEntry
from sfumato.policy.file import read_policy
from sfumato.policy.mistakes import spell
from sfumato.policy.policy import Policy
from sfumato.recoding import Recoding
from sfumato.table.schema import Attribute, Kind, Schema

MARK = "geheim-4711"

FULL = """
purpose = "yearly statistics"
recipient = "the ministry"
suppression-limit = 0.02
threads = 2

[source]
separator = ";"
encoding = "latin1"
quote = ""
missing = ["?"]

[columns]
identifying = ["name"]
insensitive = ["visits"]
others = "drop"

[columns.quasi-identifying.zip]
hierarchy = { kind = "prefixes", keep = [3, 2] }
weight = 2

[columns.quasi-identifying.age]
kind = "numeric"
domain = [0, 120]
hierarchy = { kind = "intervals", widths = [5, 10] }

[columns.quasi-identifying.born]
kind = "date"
domain = [1900-01-01, "2020-12-31"]

[columns.quasi-identifying.work]
hierarchy = { kind = "groups", members = { paid = ["city", "shop"], unpaid = ["none"] } }

[columns.sensitive]
disease = {}

[[models]]
name = "k-anonymity"
k = 5

[[models]]
name = "entropy-l-diversity"
l = 3
attribute = "disease"

[anonymizer]
name = "mondrian"
mode = "relaxed"

[recoding]
suppressed = "star"

[output]
format = "parquet"
"""

SMALL: dict[str, Any] = {
    "columns": {"quasi-identifying": ["age", "sex"], "sensitive": ["disease"]},
    "models": [{"name": "k-anonymity", "k": 5}],
}


def parsed(text: str) -> Policy:
    return Policy.from_mapping(tomllib.loads(text))


def problems_of(mapping: dict[str, Any]) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        Policy.from_mapping(mapping)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return list(caught.value.problems)


def with_column(**settings: Any) -> dict[str, Any]:
    return {**SMALL, "columns": {"quasi-identifying": {"age": settings}, "sensitive": ["disease"]}}


# what a policy means


def test_a_policy_file_means_what_it_says():
    policy = parsed(FULL)
    schema = policy.to_schema()
    assert schema.identifying == ("name",)
    assert list(schema.quasi_identifying) == ["zip", "age", "born", "work"]
    assert schema.quasi_identifying["zip"] == Attribute(hierarchy=prefixes(3, 2), weight=2)
    assert schema.quasi_identifying["age"] == Attribute(Kind.NUMERIC, intervals(5, 10), (0, 120))
    assert schema.quasi_identifying["born"].domain == ("1900-01-01", "2020-12-31")
    assert schema.quasi_identifying["work"].hierarchy == groups({"paid": ["city", "shop"], "unpaid": ["none"]})
    assert schema.sensitive == {"disease": Attribute()}
    assert schema.others == "drop"
    assert policy.to_models() == [KAnonymity(5), EntropyLDiversity(3, attribute="disease")]
    assert policy.to_anonymizer() == Mondrian(mode="relaxed")
    assert policy.to_recoding() == Recoding(suppressed="star")
    assert policy.suppression_limit == 0.02
    assert policy.source.reading() == {
        "separator": ";",
        "encoding": "latin1",
        "quote": None,
        "missing": ("?",),
        "header": True,
        "columns": None,
        "strip": True,
    }
    assert policy.output.format == "parquet"


def test_what_is_left_out_has_the_defaults_of_the_library():
    policy = Policy.from_mapping(SMALL)
    assert policy.to_anonymizer() == Mondrian()
    assert policy.to_recoding() == Recoding()
    assert policy.suppression_limit == 0.0
    assert policy.threads is None
    assert policy.to_schema() == Schema(quasi_identifying=["age", "sex"], sensitive=["disease"])


def test_columns_without_settings_may_be_a_list_or_empty_tables():
    tables = {**SMALL, "columns": {"quasi-identifying": {"age": {}, "sex": {}}, "sensitive": {"disease": {}}}}
    assert Policy.from_mapping(tables) == Policy.from_mapping(SMALL)
    assert Policy.from_mapping(tables).to_mapping()["columns"]["quasi-identifying"] == ["age", "sex"]


def test_the_order_of_quasi_identifying_columns_is_kept():
    mapping = {**SMALL, "columns": {"quasi-identifying": ["z", "a", "m"], "sensitive": ["disease"]}}
    text = Policy.from_mapping(mapping).to_toml()
    assert list(parsed(text).columns.quasi_identifying) == ["z", "a", "m"]


def test_a_date_may_be_a_date_of_toml_or_of_python():
    policy = Policy.from_mapping(with_column(kind="date", domain=[date(1990, 1, 1), "1999-12-31"]))
    assert policy.columns.quasi_identifying["age"].domain == ("1990-01-01", "1999-12-31")


@pytest.mark.parametrize("name", MODELS)
def test_every_model_of_the_library_can_be_written_in_a_policy(name):
    settings: dict[str, Any] = {"values": ["HIV", "a, b"], "p": 0.5}
    settings |= {
        "k": 4,
        "l": 3,
        "t": 0.5,
        "c": 2.5,
        "m": 2,
        "alpha": 0.5,
        "beta": 1.5,
        "delta": 1.5,
        "delta-max": 0.6,
        "risk": 0.5,
        "share": 0.5,
        "benefit": 10,
        "loss": 30,
        "gain": 8,
        "cost": 2,
    }
    settings |= {"fraction": 0.3} if name == "population-uniques" else {}
    keys = Policy.json_schema()["$defs"][MODELS[name].__name__]["properties"]
    entry = {"name": name, **{key: value for key, value in settings.items() if key in keys}}
    policy = Policy.from_mapping({**SMALL, "models": [entry]})
    (model,) = policy.to_models()
    assert type(model) is MODELS[name]
    assert parsed(policy.to_toml()).to_models() == [model]


@pytest.mark.parametrize("name", [*ANONYMIZERS, *PUBLISHERS])
def test_every_anonymizer_can_be_named(name):
    described = {**ANONYMIZERS, **PUBLISHERS}[name]
    models = SMALL["models"] if getattr(described, "promises", True) else []
    policy = Policy.from_mapping({**SMALL, "anonymizer": {"name": name}, "models": models})
    assert policy.to_anonymizer() == described()


def test_a_policy_of_a_call_is_the_policy_that_says_the_same():
    schema = Schema(
        identifying=["name"],
        quasi_identifying={"age": intervals(5, 10), "born": dates("year"), "zip": Attribute(domain=("1", "2"))},
        sensitive=["disease"],
    )
    recoding = Recoding(forms={"zip": "set"})
    policy = Policy.of(schema, [KAnonymity(5)], Mondrian(), recoding, 0.25)
    assert policy.to_schema() == schema
    assert policy.to_recoding() == recoding
    assert parsed(policy.to_toml()) == policy


def test_a_model_from_outside_is_carried_and_only_named():
    class Outsider:
        name = "outsider"

    schema, outsider = Schema(quasi_identifying=["age"]), Outsider()
    policy = Policy.of(schema, [outsider], Mondrian(), Recoding(), 0.0)  # type: ignore[list-item]
    assert tomllib.loads(policy.published())["models"] == [{"name": "outsider"}]
    assert policy.to_models() == [outsider]
    with pytest.raises(PolicyError, match="not part of this library"):
        ForeignEntry(name="outsider").build()


# files


def test_a_file_written_and_read_back_is_the_same_policy(tmp_path):
    policy = parsed(FULL)
    policy.to_file(tmp_path / "policy.toml")
    assert Policy.from_file(tmp_path / "policy.toml") == policy


def test_hierarchy_files_are_found_beside_the_policy(tmp_path, monkeypatch):
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "sex.csv").write_text("F;*\nM;*\n")
    text = '[columns]\nsensitive=["d"]\n[columns.quasi-identifying.sex]\nhierarchy="sex.csv"\n'
    (folder / "policy.toml").write_text(text + '[[models]]\nname="k-anonymity"\nk=2\n')
    policy = Policy.from_file(folder / "policy.toml")
    expected = HierarchyTable((("F", "*"), ("M", "*")))
    assert policy.to_schema().quasi_identifying["sex"].hierarchy == expected

    other = tmp_path / "elsewhere"
    other.mkdir()
    policy.to_file(other / "copy.toml")
    assert tomllib.loads((other / "copy.toml").read_text())["columns"]["quasi-identifying"]["sex"]["hierarchy"] == {
        "kind": "file",
        "path": "../policies/sex.csv",
    }
    monkeypatch.chdir(other)
    assert Policy.from_file("copy.toml").to_schema().quasi_identifying["sex"].hierarchy == expected


def test_every_hierarchy_file_that_cannot_be_read_is_named(tmp_path):
    columns = {name: {"hierarchy": str(tmp_path / f"{name}.csv")} for name in ("age", "sex")}
    policy = Policy.from_mapping({**SMALL, "columns": {"quasi-identifying": columns}})
    with pytest.raises(PolicyError) as caught:
        policy.to_schema()
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "columns.quasi-identifying.age",
        "columns.quasi-identifying.sex",
    ]


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"k = \n", PolicyError, "policy.toml: is not valid TOML at line 1, column 5: here should stand a value; text"),
        (b"[columns]\nage = [1,\n", PolicyError, "policy.toml: is not valid TOML at end of document"),
        (f'a = {{"{MARK}" = 1, "{MARK}" = 2}}'.encode(), PolicyError, "policy.toml: is not valid TOML at line 1"),
        (b"a = '\xff'", PolicyError, "policy.toml: is not UTF-8 text"),
        (b"a = " + b"[" * 5000, PolicyError, "policy.toml: is nested too deeply"),
        (None, InputError, "policy.toml: cannot be read"),
    ],
)
def test_a_file_that_is_no_toml_is_named_with_line_and_column(tmp_path, content, error, message):
    path = tmp_path / "policy.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(error) as caught:
        read_policy(path)
    assert str(caught.value).startswith(message)
    assert MARK not in str(caught.value)


# mistakes


def test_five_mistakes_are_five_lines_in_one_run():
    text = """
    supression-limit = 0.02
    [columns]
    quasi-identifying = ["age"]
    sensitive = ["disease"]
    others = "dorp"
    [[models]]
    name = "k-anonymity"
    k = 0
    [[models]]
    name = "entropy-l-diversty"
    l = 2
    [anonymizer]
    name = "mondrian"
    mode = "relaxt"
    """
    problems = problems_of(tomllib.loads(text))
    assert len(problems) == 5
    assert all("\n" not in problem for problem in problems)
    for start in (
        "columns.others: unknown name; did you mean 'drop'? allowed: error, drop, keep",
        "models[0].k: must be a whole number of at least 1",
        "models[1].name: unknown name; did you mean 'entropy-l-diversity'? allowed: ",
        "anonymizer.mode: unknown name; did you mean 'relaxed'? allowed: strict, relaxed",
        "supression-limit: unknown key; did you mean 'suppression-limit'? allowed: ",
    ):
        assert sum(problem.startswith(start) for problem in problems) == 1, start


@pytest.mark.parametrize(
    ("mapping", "expected"),
    [
        ({}, ["columns: is missing", "models: is missing"]),
        ({**SMALL, "models": []}, ["models: is empty; name at least one"]),
        ({**SMALL, "models": [3]}, ["models[0]: must be a table"]),
        ({**SMALL, "models": {"name": "k-anonymity", "k": 3}}, ["models: must be a list"]),
        ({**SMALL, "models": [{"name": "k-anonymity"}]}, ["models[0].k: is missing"]),
        ({**SMALL, "models": [{"name": "k-anonymity", "k": "5"}]}, ["models[0].k: must be a whole number"]),
        ({**SMALL, "models": [{"name": "k-anonymity", "k": True}]}, ["models[0].k: must be a whole number"]),
        ({**SMALL, "models": [{"name": "k-anonymity", "k": 2.5}]}, ["models[0].k: must be a whole number"]),
        ({**SMALL, "models": [{"name": "t-closeness", "t": float("nan")}]}, ["models[0].t: must be a finite number"]),
        ({**SMALL, "suppression-limit": 1.5}, ["suppression-limit: must be at most 1"]),
        ({**SMALL, "suppression-limit": "all"}, ["suppression-limit: must be a number"]),
        ({**SMALL, "threads": 0}, ["threads: must be at least 1"]),
        ({**SMALL, "seed": 3}, None),
        (
            {**SMALL, "source": {"separator": ";;"}},
            ["source.separator: must be one ASCII character that is neither a letter, a digit nor a line end"],
        ),
        (
            {**SMALL, "source": {"header": False}},
            ["source: a file without header needs columns, the names of its columns in order"],
        ),
        ({**SMALL, "source": {"missing": "?"}}, ["source.missing: must be a list"]),
        ({**SMALL, "source": {"header": "no"}}, ["source.header: must be true or false"]),
        ({**SMALL, "columns": 3}, ["columns: must be a table"]),
        ({**SMALL, "columns": {"quasi-identifying": {}}}, ["columns.quasi-identifying: is empty; name at least one"]),
        (with_column(weight=-1), ["columns.quasi-identifying.age.weight: must be above 0"]),
        (
            with_column(kind="numeric", domain=[5, 1]),
            ["columns.quasi-identifying.age.domain: must rise: its first value is the lowest, its second the highest"],
        ),
        (with_column(domain=[True]), ["columns.quasi-identifying.age.domain: must be a number or text"]),
        (
            with_column(hierarchy={"kind": "intervals", "widths": ["5"]}),
            ["columns.quasi-identifying.age.hierarchy.widths[0]: must be a number"],
        ),
        (
            with_column(hierarchy={"kind": "file"}),
            ["columns.quasi-identifying.age.hierarchy.path: is missing"],
        ),
        ({**SMALL, "x": {1, 2}}, ["policy: may only hold text, numbers, dates, true, false, lists and tables"]),
    ],
)
def test_each_mistake_names_its_key_and_what_is_allowed(mapping, expected):
    problems = problems_of(mapping)
    if expected is None:  # there is no seed in a policy
        assert problems[0].startswith("seed: unknown key")
    else:
        assert problems == expected


def test_settings_of_one_column_are_all_checked_at_once():
    settings = {"kind": "numric", "weight": 0, "hierarchy": {"kind": "prefixes", "keep": [1, 2]}, "wieght": 1}
    keys = [problem.split(":")[0] for problem in problems_of(with_column(**settings))]
    assert sorted(keys) == [
        f"columns.quasi-identifying.age{end}" for end in (".hierarchy", ".kind", ".weight", ".wieght")
    ]


def test_a_column_with_two_roles_is_found_beside_other_mistakes():
    columns = {"identifying": ["sex"], "quasi-identifying": ["age", "sex", "age"], "sensitive": ["disease"]}
    problems = problems_of({**SMALL, "columns": columns, "threads": 0})
    assert problems == [
        "threads: must be at least 1",
        "columns: column 'sex' is named 2 times, as identifying and quasi-identifying; name it once",
        "columns: column 'age' is named 2 times, as quasi-identifying; name it once",
    ]


def test_a_model_of_sensitive_values_needs_a_sensitive_column():
    columns = {"quasi-identifying": ["age"]}
    models = [{"name": "k-anonymity", "k": 2}, {"name": "t-closeness", "t": 0.2}]
    (problem,) = problems_of({"columns": columns, "models": models})
    assert problem.startswith("models[1]: ")
    assert "sensitive" in problem


def test_a_form_for_a_column_that_is_not_there_is_found():
    mapping = {**SMALL, "recoding": {"forms": {"agee": "set"}}}
    assert problems_of(mapping) == ["recoding.forms.agee: names no quasi-identifying column; name one, or leave it out"]


def test_column_names_are_quoted_where_toml_quotes_them():
    mapping = {**SMALL, "columns": {"quasi-identifying": {'post "code"\n': {"weight": 0}}}}
    assert problems_of(mapping) == [r'columns.quasi-identifying."post \"code\"\n".weight: must be above 0']


def test_other_names_for_keys_are_used_for_the_longest_beginning():
    names = {("models", 0): "--model", ("models", 0, "k"): "-k"}
    assert spell(("models", 0, "k"), names) == "-k"
    assert spell(("models", 0, "kk"), names) == "--model.kk"
    assert spell(("models", 1, "k"), names) == "models[1].k"


@pytest.mark.parametrize(
    "hierarchy",
    [
        {"kind": "groups", "members": {MARK: [MARK, MARK]}},
        {"kind": "groups", "members": {MARK: {MARK: []}}},
        {"kind": "groups", "members": {MARK: 3}},
        {"kind": "groups", "members": MARK},
        {"kind": "groups", "members": {"x": [MARK]}, "more": MARK},
        {"kind": "table", "rows": [[MARK, "*"], [MARK, "+"]]},
        {"kind": "table", "rows": [MARK]},
        {"kind": "table", "rows": [[MARK, 3]]},
        {"kind": MARK},
        {"kind": "intervals", "widths": MARK},
        {"kind": "prefixes", "keep": [MARK]},
        {"kind": "dates", "units": [MARK]},
        [MARK],
    ],
)
def test_no_value_of_a_policy_is_in_a_message(hierarchy):
    problems = problems_of(with_column(hierarchy=hierarchy, kind=MARK, weight=MARK, domain=[[MARK]]))
    assert len(problems) >= 4
    assert not any(MARK in problem for problem in problems)


# what is published


def test_the_published_edition_lists_no_original_value():
    mapping = with_column(hierarchy={"kind": "groups", "members": {"x": [MARK]}}, domain=[MARK, "b"])
    mapping["columns"]["sensitive"] = {"disease": {"hierarchy": {"kind": "table", "rows": [[MARK, "*"]]}}}
    mapping["columns"]["quasi-identifying"]["zip"] = {"hierarchy": f"/home/{MARK}/zip.csv"}
    mapping |= {"threads": 3, "source": {"missing": [MARK]}, "purpose": "statistics"}
    policy = Policy.from_mapping(mapping)
    text = policy.published()
    assert MARK not in text
    assert not {"threads", "source"} & tomllib.loads(text).keys()
    published = parsed(text)
    assert published.purpose == "statistics"
    assert published.to_models() == policy.to_models()
    columns = tomllib.loads(text)["columns"]
    assert columns["quasi-identifying"]["age"] == {
        "hierarchy": {"kind": "withheld", "was": "groups"},
        "domain-withheld": True,
    }
    assert columns["quasi-identifying"]["zip"]["hierarchy"]["was"] == "file"
    assert columns["sensitive"]["disease"]["hierarchy"]["was"] == "table"
    assert published.published() == text


def test_the_published_edition_keeps_hierarchies_that_are_rules():
    text = parsed(FULL).published()
    attributes = parsed(text).columns.quasi_identifying
    assert attributes["age"].hierarchy.build() == Intervals(widths=(5, 10))
    assert attributes["zip"].hierarchy.build() == prefixes(3, 2)


def test_what_was_withheld_must_be_named_again():
    policy = parsed(parsed(FULL).published())
    with pytest.raises(PolicyError) as caught:
        policy.to_schema()
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "columns.quasi-identifying.age",
        "columns.quasi-identifying.born",
        "columns.quasi-identifying.work",
    ]


def test_a_program_may_hand_in_any_hierarchy(tmp_path):
    (tmp_path / "zip.csv").write_text(f"{MARK};*\n")
    schema = Schema(
        quasi_identifying={
            "zip": read_hierarchy(tmp_path / "zip.csv"),
            "work": Groups({"x": [MARK]}),
            "age": HierarchyTable(((MARK, "*"),)),
        }
    )
    policy = Policy.of(schema, [KAnonymity(2)], Mondrian(), Recoding(), 0.0)
    assert policy.to_schema() == schema
    assert MARK not in policy.published()


@pytest.mark.parametrize(
    "described",
    [intervals([1, 3]), intervals([0, 5, 9], [0, 9]), intervals([18, 65], [18], open_ends=True), intervals(5, 10)],
)
def test_intervals_of_a_program_are_intervals_of_its_policy(described):
    schema = Schema(quasi_identifying={"visits": described})
    policy = Policy.of(schema, [KAnonymity(2)], Mondrian(), Recoding(), 0.0)
    assert policy.to_schema() == schema
    written = tomllib.loads(policy.published())
    assert Policy.from_mapping(written).to_schema() == schema
    assert "open_ends" not in policy.published()


@pytest.mark.parametrize(
    ("borders", "meant"), [([1, 3], [[1, 3]]), ([0.5, 3], [[0.5, 3]]), ([[1, 3]], [[1, 3]]), ([[1, 2, 3], [1, 3]],) * 2]
)
def test_a_single_list_of_borders_may_stand_alone(borders, meant):
    hierarchy = {"kind": "intervals", "borders": borders, "open-ends": True}
    columns = {"quasi-identifying": {"visits": {"hierarchy": hierarchy}}}
    policy = Policy.from_mapping({"columns": columns, "models": [{"name": "k-anonymity", "k": 2}]})
    assert policy.to_schema().quasi_identifying["visits"].hierarchy == intervals(*meant, open_ends=True)
    assert policy.to_mapping()["columns"]["quasi-identifying"]["visits"]["hierarchy"]["borders"] == meant


@pytest.mark.parametrize("borders", [[1, "x"], [[1, "x"], [2]]])
def test_wrong_borders_are_found_at_their_place_in_both_forms(borders):
    columns = {"quasi-identifying": {"visits": {"hierarchy": {"kind": "intervals", "borders": borders}}}}
    with pytest.raises(PolicyError) as caught:
        Policy.from_mapping({"columns": columns, "models": [{"name": "k-anonymity", "k": 2}]})
    assert caught.value.problems == ("columns.quasi-identifying.visits.hierarchy.borders[0][1]: must be a number",)


def test_the_json_schema_allows_the_short_forms_and_names_the_keys():
    schema = Policy.json_schema()
    assert schema["additionalProperties"] is False
    assert "suppression-limit" in schema["properties"]
    assert {"type": "array", "items": {"type": "string"}} in schema["$defs"]["Columns"]["properties"]["sensitive"][
        "anyOf"
    ]
    assert {"type": "array", "items": {"type": "number"}} in schema["$defs"]["Intervals"]["properties"]["borders"][
        "anyOf"
    ]


def test_every_setting_has_a_help_text_and_a_place_in_a_form():
    schema = Policy.json_schema()
    parts = {"Policy": schema, **schema["$defs"]}
    lacking = [
        f"{part}.{key}"
        for part, content in parts.items()
        for key, setting in content.get("properties", {}).items()
        if not setting.get("description") or setting["x-group"] not in ("needed", "usual", "rare")
    ]
    assert lacking == []
    k = schema["$defs"]["KAnonymity"]["properties"]["k"]
    assert (k["minimum"], k["x-group"]) == (1, "needed")
    assert k["description"] == "Smallest class size, a whole number ≥ 1."
    assert schema["$defs"]["Best"]["properties"]["within"]["anyOf"][0]["x-unit"] == "seconds"
    # What is said of a setting is said there alone.
    assert "Parameters" not in schema["$defs"]["Mondrian"]["description"]
    assert schema["$defs"]["Mondrian"]["description"].startswith("Cut the table along one attribute")
    block = schema["$defs"]["KMember"]["properties"]["block-size"]
    assert "no blocks" in str(block)


# round trips

names = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=8)
numbers = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6)
hierarchies = st.none() | st.one_of(
    st.lists(st.integers(1, 9), min_size=1, max_size=3, unique=True).map(
        lambda keep: {"kind": "prefixes", "keep": sorted(keep, reverse=True)}
    ),
    st.integers(1, 50).map(lambda width: {"kind": "intervals", "widths": [width, 3 * width]}),
    st.just({"kind": "dates", "units": ["month", "year"]}),
    names.map(lambda name: {"kind": "file", "path": name}),
)
attributes = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(["categorical", "boolean"]),
        "domain": st.lists(names, min_size=1, max_size=4, unique=True) | st.lists(numbers, min_size=1, unique=True),
        "weight": st.floats(0.1, 100) | st.integers(1, 9),
    },
)


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    columns = draw(st.lists(names, min_size=2, max_size=6, unique=True))
    cut = draw(st.integers(1, len(columns) - 1))
    quasi_identifying = {}
    for name in columns[:cut]:
        hierarchy = draw(hierarchies)
        quasi_identifying[name] = draw(attributes) | ({"hierarchy": hierarchy} if hierarchy else {})
    mapping: dict[str, Any] = {
        "columns": {
            "quasi-identifying": quasi_identifying,
            "sensitive": columns[cut:],
            "others": draw(st.sampled_from(["error", "drop", "keep"])),
        },
        "models": [
            {"name": "k-anonymity", "k": draw(st.integers(1, 1000))},
            {"name": "entropy-l-diversity", "l": draw(st.floats(1, 9)), "attribute": columns[cut]},
        ],
        "suppression-limit": draw(st.floats(0, 1)),
        "source": {"missing": draw(st.lists(names, max_size=2)), "header": False, "columns": columns},
        "recoding": {"forms": {columns[0]: "set"}},
    }
    if draw(st.booleans()):
        mapping["purpose"] = draw(names)
    return mapping


@examples(60)
@given(policies())
def test_a_policy_survives_being_written_and_read(mapping):
    policy = Policy.from_mapping(mapping)
    assert parsed(policy.to_toml()) == policy
    assert parsed(policy.to_toml()).to_toml() == policy.to_toml()
    assert parsed(policy.published()).published() == policy.published()


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
known_keys = st.sampled_from([*Policy.json_schema()["properties"]])
column_like = st.dictionaries(
    st.sampled_from(["identifying", "quasi-identifying", "sensitive", "insensitive", "others"]), json_like, max_size=4
)
model_like = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from([*MODELS]), "k": json_like, "l": json_like}), max_size=2
)


@examples(150)
@given(st.dictionaries(known_keys, json_like | column_like | model_like, max_size=4))
def test_whatever_a_policy_holds_ends_as_a_policy_or_as_lines(mapping):
    problems = ["none"]
    try:
        Policy.from_mapping(mapping)
    except PolicyError as error:
        problems = list(error.problems)
    assert problems
    assert all(problem and "\n" not in problem for problem in problems)


class _Unwritable:
    """A hierarchy whose description holds what no policy can."""

    def __init__(self, described: Any) -> None:
        self.described = described

    def build(self, values: Any, *, name: str) -> Any:
        raise AssertionError

    def to_policy(self) -> Any:
        return {"kind": "groups", "members": self.described}


@pytest.mark.parametrize("described", [object(), {MARK: 5}, MARK, {1.5: {MARK}}, {(1,): [MARK]}])
def test_what_no_policy_can_hold_is_refused_without_being_shown(described):
    schema = Schema(quasi_identifying={"age": _Unwritable(described)})
    with pytest.raises(PolicyError, match=r"^columns: cannot be written as a policy") as caught:
        Policy.of(schema, [KAnonymity(5)], Mondrian(), Recoding(), 0.0)
    assert MARK not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    "attribute",
    [
        Attribute(domain=(np.int64(0), np.int64(100))),
        Attribute(domain=[np.float32(0.5), 7]),
        Attribute(kind="date", domain=(date(1990, 1, 1), np.datetime64("2000-01-01"))),
        Attribute(domain=(np.str_("a"), "b")),
        Attribute(weight=np.int64(3)),
        Attribute(weight=np.float32(0.5), domain=(-(2**70), 1e300)),
    ],
)
def test_settings_of_a_program_make_a_policy_that_says_the_same(attribute):
    schema = Schema(quasi_identifying={"age": attribute})
    policy = Policy.of(schema, [KAnonymity(5)], Mondrian(), Recoding(), 0.0)
    assert policy.to_schema().quasi_identifying == {"age": attribute}
    assert Policy.from_mapping(tomllib.loads(policy.to_toml())) == policy


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("census", "models[0].reference: unknown name; allowed: published, original, or a table"),
        (3, "models[0].reference: unknown name; allowed: published, original, or a table"),
        ({"flu": "a", "cold": 0.3}, "models[0].reference.flu: must be a number"),
    ],
)
def test_a_key_that_takes_names_or_a_table_is_one_mistake(reference: object, said: str) -> None:
    models = [{"name": "t-closeness", "t": 0.1, "reference": reference}]
    with pytest.raises(PolicyError) as error:
        Policy.from_mapping({"columns": {"quasi-identifying": ["age"]}, "models": models})
    assert error.value.problems == (said,)


def test_a_policy_says_in_words_what_it_does_and_shows_no_value() -> None:
    columns = {
        "person": "who",
        "quasi-identifying": {"age": {"kind": "numeric", "domain": [17, 98765]}, "sex": {}},
        "sensitive": ["disease", "wage"],
        "insensitive": ["visits"],
        "accept": {"spellings:disease": "Secret reason"},
    }
    models = [{"name": "k-anonymity", "k": 5}, {"name": "distinct-l-diversity", "l": 2, "attribute": "disease"}]
    policy = Policy.from_mapping({"columns": columns, "models": models})
    text = str(policy)
    for part in (
        "who      says who a record is about; removed",
        "age      is published as classes; numeric; declared domain",
        "visits   published as it is; no promise covers it",
        "distinct-l-diversity (l=2, attribute=disease)",
        "no promise covers wage",
        "spellings:disease: answered",
    ):
        assert part in text
    assert "98765" not in text
    assert "Secret" not in text
