"""The setup: roles, promises, history, and what a page may say of them."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter

import pytest

import sfumato as sf
from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS
from sfumato.models import MODELS
from sfumato.studio.draft import Draft
from sfumato.studio.forms import entry_from, method_form, model_form
from sfumato.studio.routes.promises import STARTS
from sfumato.studio.routes.runs import weaker
from studio.desks import ROLES, opened, people, waited

PAGES = ["/", "/columns", "/sizes", "/sizes/more", "/hierarchies?column=4", "/promises", "/runs", "/look", "/compare"]


@pytest.fixture
def studio(tmp_path):
    with opened(tmp_path, people(tmp_path / "people.csv")) as one:
        yield one.enter()


def settings(name):
    """Every option of a method with a value that is not the default, where a form can be filled in without a table."""
    made = {
        "columns": "[['age', 'sex'], ['zip', 'sick']]",
        "within": "5",
        "attributes": "age\nzip",
        "values": "flu",
        "attribute": "sick",
    }
    form = model_form({"name": name}) if name in MODELS else method_form({"name": name})
    filled = {}
    for field in form.fields:
        if field.key in made:
            filled[field.name] = made[field.key]
        elif field.widget == "choice":
            filled[field.name] = next(choice for choice in reversed(field.choices) if choice != field.default)
        elif field.widget == "yes-no":
            filled[field.name] = "no" if field.default == "yes" else "yes"
        elif field.widget == "number":
            low = 2 if field.low is None else field.low
            high = low + 3 if field.high is None else field.high
            filled[field.name] = str(int(low) + 3) if field.is_whole else f"{low + (high - low) * 0.3:g}"
    return form, filled


@pytest.mark.parametrize("name", [*MODELS, *ANONYMIZERS, *PUBLISHERS])
def test_every_form_takes_what_a_policy_says_and_says_it_again(name):
    form, filled = settings(name)
    entry = entry_from(form, filled)
    assert set(entry) == {"name", *(key.removeprefix("option.") for key in filled)}
    again = model_form(entry) if name in MODELS else method_form(entry)
    assert entry_from(again, {field.name: field.value for field in again.fields}) == entry
    assert entry_from(form, {}) == {"name": name}
    for field in form.fields:
        assert field.help, field.key
        # What a form shows as the default means the same as saying nothing.
        assert entry_from(form, {field.name: field.default}) == {"name": name}


@pytest.mark.parametrize("name", MODELS)
def test_a_promise_begins_as_one_that_can_be_kept(studio, name):
    studio.set_up()
    assert studio.post("/setup/promises", what="add", name=name).status_code == 200
    assert studio.get("/promises").status_code == 200
    if name in STARTS:
        assert studio.desk.draft.problems() == []


@pytest.mark.parametrize("name", [*ANONYMIZERS, *PUBLISHERS])
def test_every_method_has_a_page_and_gives_the_policy_of_the_command_line(studio, tmp_path, name):
    studio.set_up()
    if name in PUBLISHERS and not PUBLISHERS[name].promises:
        studio.post("/setup/promises", what="remove", place="0")
    assert studio.post("/setup/promises", what="method", name=name).status_code == 200
    assert studio.get("/promises").status_code == 200
    draft = studio.desk.draft
    if draft.problems():
        pytest.skip("; ".join(draft.problems()))
    promised = [] if not draft.rest.get("models") else ["-k", "3"]
    from typer.testing import CliRunner

    from sfumato.cli.app import app

    words = ["anonymize", "x.csv", "--identifying", "name", "--quasi", "age,sex,zip", "--sensitive", "sick"]
    words += [
        "--set",
        "columns.insensitive=ward",
        "--set",
        "column.zip.kind=numeric",
        *promised,
        "--anonymizer",
        name,
        "--save-policy",
        str(tmp_path / "policy.toml"),
    ]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.stderr
    # The words of the command make the same policy, to the byte.
    assert studio.get("/policy.toml").text == (tmp_path / "policy.toml").read_text(encoding="utf-8")


def test_no_column_has_a_role_and_nothing_runs_before_each_has(studio):
    assert set(studio.desk.draft.roles.values()) == {"undecided"}
    studio.post("/setup/promises", what="add", name="k-anonymity")
    for column, role in list(ROLES.items())[:-1]:
        studio.post("/setup/column", column=column, what="role", value=role)
        assert "undecided" in studio.get("/columns").text
        answer = studio.post("/runs/start", what="release")
        assert answer.status_code == 422
        assert "undecided" in answer.json()["problems"][0]
    assert studio.desk.jobs.all == []


def test_proposals_are_only_proposed(studio):
    text = studio.get("/columns").text
    assert "looks like something that identifies people" in text
    assert "5 digits in every value" in text
    assert set(studio.desk.draft.roles.values()) == {"undecided"}


def test_class_sizes_follow_the_roles(studio):
    studio.set_up()
    table = sf.read_table(studio.desk.project.table, studio.desk.draft.policy())
    report = sf.risk(table)
    assert f"{report.sample_uniques} people alone" in studio.get("/sizes").text
    studio.post("/setup/column", column="zip", what="role", value="insensitive")
    fewer = sf.risk(table, quasi_identifying=["age", "sex"]).sample_uniques
    assert f"{fewer} people alone" in studio.get("/sizes").text
    assert fewer < report.sample_uniques
    more = studio.get("/sizes/more").text
    # zip is not known now; if it were, the uniques would be those of before.
    assert f"{report.sample_uniques:,}</td>" in more


def test_an_outdated_count_is_not_answered(studio):
    studio.set_up()
    assert studio.get("/sizes?n=7").status_code == 200
    assert studio.get("/sizes?n=6").status_code == 204


def test_a_person_or_a_wish_is_in_one_column_at_most(studio):
    for column in ("name", "ward"):
        studio.post("/setup/column", column=column, what="role", value="person")
    assert studio.desk.draft.of_role("person") == ["ward"]
    assert studio.desk.draft.roles["name"] == "undecided"


def test_several_columns_get_a_role_at_once_in_one_step_of_the_history(studio):
    def give(**fields):
        return studio.post("/setup/columns", **fields)

    before = studio.desk.head.number
    assert give(what="chosen", role="quasi-identifying", columns=["age", "sex", "nobody"]).json()["said"] == (
        "quasi-identifying: 2 columns."
    )
    assert studio.desk.head.number == before + 1
    assert give(what="pattern", role="sensitive", pattern="S*").status_code == 200
    assert studio.desk.draft.of_role("sensitive") == ["sex", "sick"]
    assert give(what="others").status_code == 200
    assert studio.desk.draft.undecided == []
    assert studio.desk.draft.of_role("left out") == ["name", "zip", "ward"]
    stands = studio.desk.head.number
    for fields in (
        {"what": "chosen", "role": "sensitive"},
        {"what": "chosen", "role": "sensitive", "columns": "nobody"},
        {"what": "pattern", "role": "sensitive", "pattern": "x*"},
        {"what": "pattern", "role": "sensitive", "pattern": ""},
        {"what": "others"},
        {"what": "chosen", "role": "person", "columns": ["age", "sex"]},
        {"what": "chosen", "role": "king", "columns": ["age"]},
        {"what": "king", "role": "sensitive", "columns": ["age"]},
    ):
        assert give(**fields).status_code == 422, fields
    assert studio.desk.head.number == stands
    studio.post("/history/go", to="undo")
    assert studio.desk.draft.undecided == ["name", "zip", "ward"]


def test_spellings_of_a_key_are_a_question_with_two_answers(tmp_path):
    file = people(tmp_path / "people.csv")
    lines = file.read_text().replace("Person0002", "person0001").replace("Person0003", "PERSON0001")
    file.write_text(lines)
    with opened(tmp_path, file) as one:
        studio = one.enter()
        studio.set_up()
        studio.post("/setup/column", column="name", what="role", value="person")
        page = studio.get("/columns").text
        assert "3 differ from another only in capitals" in page
        assert "the same person</button>" in page
        assert "different people</button>" in page
        assert "erson0001" not in page
        for answer in ("fold", "exact"):
            studio.post("/setup/column", column="name", what="key-form", value=answer)
            assert studio.desk.draft.mapping()["columns"]["key-form"] == answer
            assert "differ from another" not in studio.get("/columns").text
        draft = Draft.of_policy(studio.desk.draft.policy(), list(ROLES))
        assert draft.key_form == "exact"
        assert Draft.from_dict(draft.to_dict()).key_form == "exact"
        # In another role the answer means nothing, and is there when the role comes back.
        studio.post("/setup/column", column="name", what="role", value="quasi-identifying")
        assert "key-form" not in str(studio.desk.draft.mapping()["columns"])
        studio.post("/setup/column", column="name", what="role", value="person")
        studio.post("/setup/column", column="name", what="key-form", value="")
        assert "3 differ from another only in capitals" in studio.get("/columns").text


def test_what_stops_a_run_is_asked_at_its_column_and_answered_by_a_click(tmp_path):
    file = people(tmp_path / "people.csv")
    with opened(tmp_path, file) as one:
        studio = one.enter()
        studio.set_up()
        assert studio.desk.draft.policy().columns.accept == {}
        studio.post("/setup/column", column="name", what="role", value="insensitive")
        assert "Runs stop until you say" in studio.get("/columns").text
        studio.post("/setup/column", column="name", what="accept", value="identifier")
        page = studio.get("/columns").text
        assert "Runs stop" not in page
        assert "Published although this was found: identifier" in page
        policy = studio.desk.draft.policy()
        assert policy.columns.accept == {"identifier:name": "answered in the studio"}
        assert Draft.of_policy(policy, list(ROLES)).policy() == policy
        studio.post("/setup/column", column="name", what="accept", value="identifier")
        assert "Runs stop until you say" in studio.get("/columns").text


def test_undo_redo_and_branches(studio):
    studio.set_up()
    last = studio.desk.head.number
    for _ in range(3):
        assert studio.post("/history/go", to="undo").status_code == 200
    assert studio.desk.head.number == last - 3
    for _ in range(3):
        studio.post("/history/go", to="redo")
    assert studio.desk.head.number == last
    assert studio.post("/history/go", to="redo").status_code == 422
    # Going on from an older state overwrites nothing.
    studio.post("/history/go", to="3")
    before = len(studio.desk.project.history.entries)
    studio.post("/setup/column", column="ward", what="role", value="sensitive")
    entries = studio.desk.project.history.entries
    assert len(entries) == before + 1
    assert entries[-1].parent == 3
    assert studio.desk.project.history.depths()[entries[-1].number] == 1
    assert studio.desk.project.history.entry(last).draft.roles["sick"] == "sensitive"
    page = studio.get(f"/history?with={last}").text
    assert "ward: sensitive" in page


def test_two_tabs_make_a_branch_and_lose_nothing(studio):
    first = studio.desk.head.number
    studio.post("/setup/column", column="age", what="role", value="quasi-identifying")
    answer = studio.post("/setup/column", entry=str(first), column="sex", what="role", value="sensitive")
    assert "branch" in answer.json()["said"]
    assert studio.desk.draft.roles["age"] == "undecided"
    assert [entry.parent for entry in studio.desk.project.history.entries] == [None, first, first]


def test_everything_is_there_again_after_the_server_was_killed(tmp_path):
    table = people(tmp_path / "people.csv")
    with opened(tmp_path, table) as studio:
        studio.enter().set_up()
        entries, draft = studio.desk.project.history.entries, studio.desk.draft
        studio.desk.project.close()
        with opened(tmp_path) as again:
            assert again.desk.project.history.entries == entries
            assert again.desk.draft == draft


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"column": "nobody", "what": "role", "value": "sensitive"}, "not in the table"),
        ({"column": "age", "what": "role", "value": "king"}, "none of the roles"),
        ({"column": "age", "what": "king", "value": "1"}, "none of the changes"),
        ({"column": "sick", "what": "kind", "value": "numeric"}, "declared numeric"),
        ({"entry": "99", "column": "age", "what": "role", "value": "sensitive"}, "no such entry"),
        ({"entry": "x", "column": "age", "what": "role", "value": "sensitive"}, "whole number"),
        ({"column": "age", "what": "weight", "value": "nan"}, "weight: must be a number"),
    ],
)
def test_what_cannot_be_set_is_said_in_a_sentence(studio, fields, said):
    answer = studio.post("/setup/column", **fields)
    assert answer.status_code == 422
    assert said in " ".join(answer.json()["problems"])
    assert len(studio.desk.project.history.entries) == 1


@pytest.mark.parametrize("value", ["nan", "inf", "-Infinity", "1e999"])
def test_what_is_no_finite_number_is_refused(studio, value):
    studio.post("/setup/promises", what="add", name="t-closeness")
    answer = studio.post("/setup/promises", **{"what": "model", "place": "0", "option.t": value})
    assert answer.status_code == 422
    assert "must be a number" in " ".join(answer.json()["problems"])
    assert studio.get("/promises").status_code == 200


def test_an_imported_policy_is_the_setup(studio):
    studio.set_up()
    text = studio.get("/policy.toml").text
    studio.post("/setup/column", column="ward", what="role", value="sensitive")
    assert studio.post("/setup/policy", policy=text).status_code == 200
    assert studio.get("/policy.toml").text == text
    assert studio.post("/setup/policy", policy=text.replace("ward", "tower")).status_code == 422
    assert studio.post("/setup/policy", policy="= no").status_code == 422


def test_drafts_and_policies_say_the_same():
    columns = {"identifying": ["a"], "quasi-identifying": {"c": {"kind": "numeric"}, "b": {}}, "others": "drop"}
    columns["accept"] = []  # the studio asks, whoever wrote the policy
    policy = sf.Policy.from_mapping({"columns": columns, "models": [{"name": "k-anonymity", "k": 2}]})
    draft = Draft.of_policy(policy, ["a", "b", "c", "d"])
    assert draft.roles == {"c": "quasi-identifying", "b": "quasi-identifying", "a": "identifying", "d": "left out"}
    assert draft.policy().to_toml() == policy.to_toml()
    assert Draft.from_dict(tomllib.loads(__import__("tomli_w").dumps(draft.to_dict()))) == draft
    with pytest.raises(sf.PolicyError, match="'c' of the policy"):
        Draft.of_policy(policy, ["a", "b"])


class TestHierarchies:
    def test_drafts_follow_the_values(self, studio):
        studio.set_up()
        for column, kind in (("2", "intervals"), ("3", "flat"), ("4", "intervals")):
            assert studio.post("/setup/hierarchy", column=column, what="draft").status_code == 200
            name = studio.desk.table.names[int(column) - 1]
            assert studio.desk.draft.settings[name]["hierarchy"]["kind"] == kind
        studio.post("/setup/column", column="zip", what="kind", value="categorical")
        assert "hierarchy" not in studio.desk.draft.settings["zip"]
        studio.post("/setup/hierarchy", column="4", what="draft")
        assert studio.desk.draft.settings["zip"]["hierarchy"]["kind"] == "prefixes"
        assert studio.get("/hierarchies?column=4").status_code == 200

    def test_levels_are_looked_at_and_decide_nothing(self, studio):
        studio.set_up()
        policy = studio.get("/policy.toml").text
        studio.post("/setup/hierarchy", column="2", what="rule", kind="intervals", steps="10, 20")
        changed = studio.get("/policy.toml").text
        before = studio.get("/sizes").text
        studio.post("/setup/column", column="age", what="level", value="2")
        assert studio.get("/sizes").text != before
        assert "a preview" in studio.get("/sizes").text
        assert studio.get("/policy.toml").text == changed != policy

    def test_a_rule_is_tried_before_it_is_used(self, studio):
        studio.set_up()
        before = studio.desk.head.number
        asked = "/hierarchies/trial?column=5&kind=order&steps="
        studio.post("/setup/column", column="ward", what="role", value="quasi-identifying")
        page = studio.get(f"{asked}2").text
        assert re.findall(r'<th scope="row">(\d)</th><td class="n">(\d+)</td>', page) == [
            ("0", "3"),
            ("1", "2"),
            ("2", "1"),
        ]
        wards = Counter(studio.desk.table.texts("ward").to_list())
        assert f'a to b <span class="count soft">{wards["a"] + wards["b"]}</span>' in page
        for steps in ("", "1", "two", "-3"):
            assert "steps:" in studio.get(asked + steps).text
        assert 'class="small bad"' in studio.get("/hierarchies/trial?column=2&kind=intervals&steps=0").text
        assert studio.desk.head.number == before + 1
        assert studio.post("/setup/hierarchy", column="5", what="rule", kind="order", steps="2").status_code == 200
        tree = studio.desk.preview.hierarchy("ward", studio.desk.draft.attribute("ward"))
        assert [path[1] for path in tree.paths] == ["a to b", "a to b", "c"]
        studio.post("/values", value="hide")
        assert "a to b" not in studio.get(f"{asked}2").text
        studio.post("/values", value="show")

    def test_edits_by_hand(self, studio):
        studio.set_up()
        studio.post("/setup/hierarchy", column="5", what="draft")
        assert studio.post("/setup/column", column="ward", what="role", value="quasi-identifying").status_code == 200
        text = "a;a;*\nb;b;*\nc;c;*\n"
        assert studio.post("/setup/hierarchy", column="5", what="table", text=text).status_code == 200
        edits = [
            ({"how": "merge", "nodes": "1.0,1.1", "label": "early"}, [("a", "early"), ("b", "early"), ("c", "c")]),
            ({"how": "rename", "nodes": "1.0", "label": "first"}, [("a", "first"), ("b", "first"), ("c", "c")]),
            ({"how": "move", "nodes": "0.2", "label": "first"}, [("a", "first"), ("b", "first"), ("c", "first")]),
            ({"how": "ungroup", "nodes": "1.0"}, [("a", "a"), ("b", "b"), ("c", "c")]),
            ({"how": "merge", "nodes": "0.1,0.2", "label": "late"}, [("a", "a"), ("b", "late"), ("c", "late")]),
        ]
        for fields, expected in edits:
            answer = studio.post("/setup/hierarchy", column="5", what="edit", **fields)
            assert answer.status_code == 200, answer.text
            tree = studio.desk.preview.hierarchy("ward", studio.desk.draft.attribute("ward"))
            assert sorted(path[:2] for path in tree.paths) == expected
        studio.post("/setup/hierarchy", column="5", what="edit", how="insert", level="1")
        assert studio.desk.preview.hierarchy("ward", studio.desk.draft.attribute("ward")).height == 3
        studio.post("/setup/hierarchy", column="5", what="edit", how="drop", level="2")
        assert studio.desk.preview.hierarchy("ward", studio.desk.draft.attribute("ward")).height == 2
        # Every edit can be undone, as each wrote a file of its own.
        for _ in range(3):
            studio.post("/history/go", to="undo")
        tree = studio.desk.preview.hierarchy("ward", studio.desk.draft.attribute("ward"))
        assert sorted(path[:2] for path in tree.paths) == edits[-2][1]

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"what": "table", "text": "a;x;*\n"}, "are not in it"),
            ({"what": "table", "text": ""}, "no rows"),
            ({"what": "table", "text": "a;x;*\nb;x;+\nc;x;*\n"}, "two parents"),
            ({"what": "rule", "kind": "intervals", "steps": "five"}, "numbers separated by commas"),
            ({"what": "rule", "kind": "king", "steps": ""}, "must be intervals"),
            ({"what": "edit", "how": "merge", "nodes": "0.0,0.1", "label": "x"}, "draft one first"),
            ({"what": "king"}, "none of the changes"),
        ],
    )
    def test_what_is_no_hierarchy_is_refused_and_shown_by_no_value(self, studio, fields, said):
        studio.set_up()
        answer = studio.post("/setup/hierarchy", column="5", **fields)
        assert answer.status_code == 422
        assert said in " ".join(answer.json()["problems"])
        assert str(studio.desk.project.folder) not in answer.text


class TestHostileTable:
    """Everything that a table can say is text, wherever it stands."""

    ATTACK = '<script>alert(1)</script><img src=x onerror="alert(2)">'

    @pytest.fixture
    def hostile(self, tmp_path):
        cells = [self.ATTACK, "=cmd()", "\x1b[31mred", "ا" * 50, "🧑" * 20, "x" * 10_000]
        header = ["name", '"<b>age</b>"', "sick"]
        quoted = ['"' + cell.replace('"', '""') + '"' for cell in cells]
        rows = [f"{quoted[row % 6]},{20 + row % 5},{quoted[(row + 1) % 6]}" for row in range(60)]
        path = tmp_path / "hostile.csv"
        path.write_text("\n".join([",".join(header), *rows]) + "\n", encoding="utf-8")
        with opened(tmp_path, path) as studio:
            yield studio.enter()

    def test_names_cells_and_labels_are_text(self, hostile):
        hostile.set_up({"name": "insensitive", "<b>age</b>": "quasi-identifying", "sick": "sensitive"})
        assert hostile.post("/setup/hierarchy", column="3", what="draft").status_code in (200, 422)
        hostile.post("/setup/hierarchy", column="2", what="draft")
        for path in [*PAGES[:4], "/hierarchies?column=2", "/hierarchies?column=3", "/promises", "/runs"]:
            answer = hostile.get(path)
            assert answer.status_code == 200, path
            assert "<script>alert" not in answer.text, path
            assert "<b>age</b>" not in answer.text, path
            assert 'onerror="alert' not in answer.text, path
        rows = hostile.get("/grid?of=original&start=0&count=6").json()["rows"]
        assert rows[0][0] == self.ATTACK
        assert len(rows[5][0]) == 10_000
        assert hostile.get("/grid").headers["content-type"] == "application/json"

    def test_no_value_is_in_what_is_kept_or_said(self, hostile, capfd):
        hostile.set_up({"name": "insensitive", "<b>age</b>": "quasi-identifying", "sick": "sensitive"})
        hostile.post("/setup/column", column="name", what="kind", value="numeric")
        kept = "".join(path.read_text() for path in hostile.desk.project.folder.rglob("*.toml"))
        assert "alert" not in kept
        assert "alert" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("columns", [1, 400])
def test_narrow_and_wide_tables(tmp_path, columns):
    names = [f"c{number}" for number in range(columns)]
    rows = [",".join(str((row * number) % 7) for number in range(columns)) for row in range(30)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join(names), *rows]) + "\n", encoding="utf-8")
    with opened(tmp_path, path) as studio:
        studio.enter().post("/setup/column", column="c0", what="role", value="quasi-identifying")
        assert studio.get("/columns").status_code == 200
        assert len(studio.get("/grid").json()["names"]) == columns


def test_values_can_be_kept_off_the_screen(studio):
    studio.set_up()
    studio.post("/values", value="hide")
    rows = studio.get("/grid?of=original").json()["rows"]
    assert {cell for row in rows for cell in row} == {"•••"}
    studio.post("/setup/hierarchy", column="4", what="draft")
    assert "471" not in studio.get("/hierarchies?column=4").text.partition("<main")[2]
    studio.post("/values", value="show")
    assert "Person0000" in json.dumps(studio.get("/grid?of=original").json())


@pytest.mark.parametrize("query", ["start=x", "count=-1&start=-5", "start=999999999", "of=7", "of=x"])
def test_odd_questions_for_rows(studio, query):
    assert studio.get(f"/grid?{query}").status_code in (200, 404, 422)


def test_counts_follow_what_a_column_itself_says_of_its_values(tmp_path):
    # Which texts are missing, and how days are written, is said of one column and holds for it alone.
    table, roles = tmp_path / "own.csv", {"age": "quasi-identifying", "day": "quasi-identifying", "sick": "sensitive"}
    rows = (f"{-9 if row % 5 == 0 else 20 + row % 7},0{1 + row % 9}.02.2020,{row % 4}" for row in range(60))
    table.write_text("\n".join(["age,day,sick", *rows]) + "\n", encoding="utf-8")
    with opened(tmp_path, table) as studio:
        studio.enter()
        for column, role in roles.items():
            assert studio.post("/setup/column", column=column, what="role", value=role).status_code == 200
        studio.post("/setup/promises", what="add", name="k-anonymity")
        before = studio.desk.profile("age")
        assert (before.missing, before.distinct) == (0, 8)
        assert studio.post("/setup/answer", option="missing", column="age", value="-9").status_code == 200
        assert studio.post("/setup/answer", option="dates", column="day", value="dd.mm.yyyy").status_code == 200
        after = studio.desk.profile("age")
        assert (after.missing, after.distinct) == (12, 7)
        assert str(studio.desk.profile("day").kind) == "date"
        # The same counts as of the table that a run reads.
        draft = studio.desk.draft
        counted = sf.risk(sf.read_table(table, draft.policy().to_schema()))
        sizes = studio.desk.preview.sizes(studio.desk.attributes(draft))
        assert sizes.uniques == counted.sample_uniques
        assert studio.post("/runs/start", what="release").status_code == 200
        assert waited(studio.desk.jobs, 1, 120).state == "done"
        page = studio.get("/look/1/person?row=1")
        assert (page.status_code, "fits in the release" in page.text) == (200, True)


def test_more_people_than_there_are_is_said_before_the_run_and_never_proposed(tmp_path):
    with opened(tmp_path, people(tmp_path / "people.csv", rows=60)) as studio:
        studio.enter()
        studio.set_up(k="61")
        for path in ("/promises", "/runs"):
            assert "there are only 60 record(s)" in studio.get(path).text
        lower = [draft.rest["models"][0]["k"] for _, draft in weaker(studio.desk.draft, 60)]
        assert lower == [61, 61, 60, 30]
        asked = {"what": "model", "place": "0", "option.k": "60"}
        assert studio.post("/setup/promises", **asked).status_code == 200
        assert "there are only" not in studio.get("/promises").text
