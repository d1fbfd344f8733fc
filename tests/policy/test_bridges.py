"""Policies from the files of other programs: what is carried over runs and verifies, what is not is said."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.policy.bridges import reader_of

CRITERIA = {
    "5-anonymity": sf.KAnonymity(5),
    "distinct-3-diversity for attribute 'ill'": sf.DistinctLDiversity(3, "ill"),
    "shannon-entropy-2.5-diversity for attribute 'ill'": sf.EntropyLDiversity(2.5, "ill"),
    "entropy-2.0-diversity for attribute 'ill'": sf.EntropyLDiversity(2, "ill"),
    "recursive-(3.0,2)-diversity for attribute 'ill'": sf.RecursiveLDiversity(3, 2, "ill"),
    "0.3-closeness with equal distance for attribute 'ill'": sf.TCloseness(0.3, "equal", "ill", "original"),
    "0.3-closeness with equal ground-distance for attribute 'ill'": sf.TCloseness(0.3, "equal", "ill", "original"),
    "(0.1, 0.2 (0.2), 0.05)-avg-reidentification-risk": sf.AverageRisk(0.1),
    "(5.0E-4)-sample-uniqueness": sf.SampleUniques(0.0005),
    "basic-1.5-likeness for attribute 'ill'": sf.BasicBetaLikeness(1.5, "ill", "original"),
    "enhanced-2.0-likeness for attribute 'ill'": sf.EnhancedBetaLikeness(2, "ill", "original"),
    "1.5-disclosure privacy for attribute 'ill'": sf.DeltaDisclosure(1.5, "ill", "original"),
    "(0.1)-avg-reidentification-risk": sf.AverageRisk(0.1),
    "(<0.05)-sample-uniques": sf.SampleUniques(0.05),
    "(4)-map": sf.KMap(4),
    "(0.1,0.8)-presence": sf.DeltaPresence(0.8, 0.1),
}


def people(path: Path, separator: str = ";") -> Path:
    draw = random.Random(2)
    rows = [
        [f"n{number}", str(draw.randint(20, 59)), draw.choice(["Ay", "Bo", "<Cy & Co>"]), draw.choice("abcde"), "x"]
        for number in range(300)
    ]
    head = ["name", "age", "town", "ill", "note"]
    path.write_text("\n".join(separator.join(row) for row in [head, *rows]) + "\n")
    return path


def project(
    path: Path, criteria: list[str], *, max_level: str = "All", extra: str = "", outliers: float = 0.05
) -> Path:
    columns = {
        "name": ("IDENTIFYING", "String", ""),
        "age": ("QUASI_IDENTIFYING", "Integer", f"<ref>hierarchies/age.csv</ref><min>All</min><max>{max_level}</max>"),
        "town": ("QUASI_IDENTIFYING", "String", extra),
        "ill": ("SENSITIVE", "String", ""),
        "note": ("INSENSITIVE", "String", ""),
    }
    assigned = "".join(
        f"<assigment><name>{name}</name><type>{role}_ATTRIBUTE</type><datatype>{kind}</datatype>{more}</assigment>"
        for name, (role, kind, more) in columns.items()
    )
    asked = "".join(f"<criterion>{escape(each)}</criterion>" for each in criteria)
    weights = "<attributeWeight><attribute>age</attribute><weight>0.75</weight></attributeWeight>"
    parts = {
        "metadata.xml": "<metadata><version>3.9.1</version><vocabulary>2.0</vocabulary></metadata>",
        "project.xml": "<project><name>p</name><separator>;</separator></project>",
        "input/definition.xml": f"<definition>{assigned}</definition>",
        "input/config.xml": f"<config><relativeMaxOutliers>{outliers}</relativeMaxOutliers><metric>Loss (0.5)</metric>"
        f"<attributeWeights>{weights}</attributeWeights><criteria>{asked}</criteria></config>",
        "input/hierarchies/age.csv": "".join(f"{age};{age // 10}x;*\n" for age in range(20, 60)),
    }
    with zipfile.ZipFile(path, "w") as written:
        for name, text in parts.items():
            written.writestr(name, text)
    return path


def run(*words: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [str(word) for word in words], prog_name="sfumato")
    return done.exit_code, done.stdout, done.stderr


def test_an_arx_project_becomes_a_policy_that_runs(tmp_path: Path):
    given = project(tmp_path / "p.deid", ["5-anonymity", "distinct-3-diversity for attribute 'ill'"])
    out = tmp_path / "policy.toml"
    code, _, differences = run("init", given, "--out", out)
    assert code == 0
    assert "Unpack it" in differences
    assert "Loss (0.5)" in differences
    policy = sf.Policy.from_file(out)
    assert policy.suppression_limit == 0.05
    assert policy.to_schema().identifying == ("name",)
    release = sf.anonymize(sf.read_table(people(tmp_path / "input.csv"), policy), policy, seed=1)
    assert release.report.verification.ok
    assert sf.DistinctLDiversity(3, "ill") in policy.to_models()
    again, _, refused = run("init", given, "--out", out)
    assert again == 2
    assert "already exists" in refused
    assert run("init", given, "--out", out, "--overwrite")[0] == 0
    assert run("init", given, "--out", "-")[1].count('name = "k-anonymity"') == 1


@pytest.mark.parametrize(("criterion", "model"), CRITERIA.items())
def test_each_promise_is_carried_over(criterion: str, model: object, tmp_path: Path):
    found = _from(project(tmp_path / "p.deid", [criterion]), tmp_path)
    assert found.policy.to_models() == [model]


def test_what_is_not_carried_over_is_said(tmp_path: Path):
    more = "<microAggregationFunction>Arithmetic mean</microAggregationFunction>"
    given = project(tmp_path / "p.deid", ["(1.0, 1.0E-6)-differential privacy"], max_level="1", extra=more)
    said = " ".join(_from(given, tmp_path).differences)
    for part in ("differential privacy", "levels All to 1", "microaggregated", "k = 5 is put"):
        assert part in said


@pytest.mark.parametrize("kind", ["no zip", "no part", "no xml", "a document type", "another policy"])
def test_damaged_projects_are_refused_in_words(kind: str, tmp_path: Path):
    path = tmp_path / "p.deid"
    if kind == "no zip":
        path.write_text("nothing")
    else:
        bad = {"no xml": "<project>", "a document type": "<!DOCTYPE p [<!ENTITY a 'b'>]><project>&a;</project>"}
        with zipfile.ZipFile(path, "w") as written:
            if kind != "no part":
                written.writestr("project.xml", bad.get(kind, "<project/>"))
    with pytest.raises(sf.InputError):
        _from(path, tmp_path)
    code, _, told = run("init", path, "--out", tmp_path / "policy.toml")
    assert code == 2
    assert "Traceback" not in told


SAVED_CRITERIA = [
    "3-anonymity",
    "recursive-(4.0,2)-diversity for attribute 'ill'",
    "0.9-closeness with hierarchical ground-distance for attribute 'ill'",
    "(0.34, 0.5 (0.5), 1.0)-avg-reidentification-risk",
    "grassberger-entropy-2.0-diversity for attribute 'ill'",
    "(0.01)-population-uniqueness (dankar)",
    "(5)-map estimated as (4)-anonymity (Poisson)",
    "profitability (prosecutor)",
    "(2.0, 1.0E-6)-DP",
    "Inclusion",
]


def as_saved(name: str, /, *inner: str, **texts: object) -> str:
    """Write an element as ARX's writer does: tabs, no declaration, and every letter beyond ASCII as a number."""
    plain = {
        key: escape(str(text), {"'": "&apos;"}).encode("ascii", "xmlcharrefreplace") for key, text in texts.items()
    }
    own = "".join(f"\t<{key}>{text.decode()}</{key}>\n" for key, text in plain.items())
    return f"<{name}>\n{own}{''.join(inner)}</{name}>\n"


def saved_project(path: Path) -> Path:
    """Write a project with all that WorkerSave of ARX 3.9 writes of a study."""
    levels = {"ref": "hierarchies/{}.csv", "min": "All", "max": "All"}
    columns = {
        "name": {"type": "IDENTIFYING_ATTRIBUTE", "datatype": "String"},
        "age": {"type": "QUASI_IDENTIFYING_ATTRIBUTE", "datatype": "Integer", "format": "#", "locale": "DE", **levels},
        "town": {"type": "QUASI_IDENTIFYING_ATTRIBUTE", "datatype": "String", **levels, "min": "0", "max": "1"},
        "pay": {
            "type": "QUASI_IDENTIFYING_ATTRIBUTE",
            "datatype": "Decimal",
            "microaggregationFunction": "Arithmetic mean",
            "microaggregationIgnoreMissingData": "true",
        },
        "ill": {"type": "SENSITIVE_ATTRIBUTE", "datatype": "String", "responseVariable": "true", **levels},
        "note": {"type": "INSENSITIVE_ATTRIBUTE", "datatype": "Ordinal", "format": '"secret-low","secret-high"'},
    }
    assigned = [
        as_saved("assigment", **{"name": name, **{key: text.format(name) for key, text in more.items()}})
        for name, more in columns.items()
    ]
    weights = [as_saved("attributeWeight", attribute=name, weight=0.5) for name in ("age", "town", "pay")]
    config = as_saved(
        "config",
        as_saved("suppressedAttributeTypes", type="SENSITIVE_ATTRIBUTE"),
        as_saved("attributeWeights", *weights),
        as_saved("criteria", *(as_saved("x", criterion=each)[4:-5] for each in SAVED_CRITERIA)),
        suppressTuplesInNonAnonymousOutput="true",
        practicalMonotonicity="true",
        relativeMaxOutliers="0.2",
        metric="Loss (0.5/0.5)",
    )
    hierarchies = {
        "age": "".join(f"{age};{age // 10}0-{age // 10}9;*\n" for age in range(20, 60)),
        "town": 'Köln;*\nBonn;*\n"A;B";*\n',
        "ill": "".join(f"{each};{'ab' if each in 'ab' else 'cde'};*\n" for each in "abcde"),
    }
    parts = {
        "metadata.xml": as_saved("metadata", version="3.9.1", vocabulary="2.0"),
        "project.xml": as_saved("project", name="Ärzte", separator=";", escape='"', quote='"', linebreak="UNIX"),
        "lattice.xml": "<!-- ARX XML Vocabulary Version 2.0 -->\n<lattice>\n</lattice>\n",
        "data/input.csv": "name;age\n",
    }
    for side in ("input", "output"):
        parts |= {f"{side}/config.xml": config, f"{side}/definition.xml": as_saved("definition", *assigned)}
        parts |= {f"{side}/hierarchies/{name}.csv": text for name, text in hierarchies.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as written:
        for name in ("project.dat", "input/config.dat", "output/config.dat", "filter.dat", "lattice.dat"):
            written.writestr(name, b"\xac\xed\x00\x05sr")
        for name, text in parts.items():
            written.writestr(name, text.encode("cp1252"))
    return path


def test_a_project_as_arx_saves_it_becomes_a_policy_that_runs(tmp_path: Path):
    out = tmp_path / "policy.toml"
    code, told, said = run("init", saved_project(tmp_path / "study.deid"), "--out", out)
    assert (code, "3 hierarchy files" in told) == (0, True)
    policy = sf.Policy.from_file(out)
    assert policy.to_models() == [
        sf.KAnonymity(3),
        sf.RecursiveLDiversity(4, 2, "ill"),
        sf.TCloseness(0.9, "hierarchical", "ill", "original"),
        sf.AverageRisk(0.34),
    ]
    draw, towns = random.Random(5), ["Köln", "Bonn", '"A;B"']
    rows = [
        f"n{i};{draw.randint(20, 59)};{draw.choice(towns)};{draw.randint(1, 9)};{draw.choice('abcde')};x"
        for i in range(200)
    ]
    (tmp_path / "input.csv").write_text("\n".join(["name;age;town;pay;ill;note", *rows]) + "\n")
    release = sf.anonymize(sf.read_table(tmp_path / "input.csv", policy), policy, seed=1)
    assert release.report.verification.ok
    expected = {
        "grassberger": "Entropy l-diversity of what is published is stricter",
        "population-uniqueness": "asks for the population",
        "estimated as": "k-map with estimate",
        "profitability": "Coming from ARX",
        "DP": "Coming from ARX",
        "Inclusion": "research subset, and no promise",
        "avg-reidentification": "records at risk, are not carried over",
        "'town'": "levels 0 to 1",
        "'pay'": "microaggregated",
        "'age'": "values of Integer are written",
        "'ill'": "to be predicted",
        "'note'": "its order of values is not",
        "Monotonicity": "assumed there",
        "Suppressed records are": "rows of *",
        "Suppressed records lose": "sensitive values",
        "quality model": "Loss (0.5/0.5)",
        "data/input.csv": "Unpack",
    }
    lines = said.splitlines()
    assert {key for key, text in expected.items() if any(key in line and text in line for line in lines)} == {*expected}
    assert len(lines) == len(expected)
    assert "secret" not in said + out.read_text()


SCRIPT = """
library(sdcMicro)
keys <- c("age", 'town')  # the "keys"
sdc <- createSdcObj(people, keyVars = keys, numVars = NULL, sensibleVar = "ill",
                    excludeVars = c("name", "note"))
sdc <- kAnon(sdc, k = c(4), importance = c(1, 2))   # addNoise(sdc)
sdc <- microaggregation(sdc, aggr = 3, method = "mdav")
"""


def test_a_script_of_sdcmicro_becomes_a_policy_that_runs(tmp_path: Path):
    path = tmp_path / "script.R"
    path.write_text(SCRIPT)
    found = _from(path, tmp_path)
    schema = found.policy.to_schema()
    assert (list(schema.quasi_identifying), list(schema.sensitive)) == (["age", "town"], ["ill"])
    assert schema.identifying == ("name", "note")
    assert found.policy.to_models() == [sf.KAnonymity(4)]
    said = " ".join(found.differences)
    assert "microaggregation is not" in said
    assert "addNoise" not in said
    table = sf.read_table(people(tmp_path / "people.csv"), found.policy)
    assert sf.anonymize(table, found.policy, seed=1).report.verification.ok
    path.write_text("createSdcObj(people, c('age'), weightVar='note')")
    bare = _from(path, tmp_path)
    assert list(bare.policy.to_schema().insensitive) == ["note"]
    assert "k = 5 is put" in " ".join(bare.differences)
    for call, k in {
        "kAnon(sdc, 3)": 3,
        "sdc |> localSuppression(4)": 4,
        "kAnon(sdc, k=c(7,3), combs=c(2,3))": 7,
        "kAnon(sdc, k=3, combs=NULL); sdc <- kAnon(sdc, k=9); sdc <- undolast(sdc)": 3,
        "kAnon(sdc, k=wanted)": 5,  # which is said
    }.items():
        path.write_text(f"sdc <- createSdcObj(people, ~age+town); {call}")
        read = _from(path, tmp_path)
        assert read.policy.to_models() == [sf.KAnonymity(k)]
        assert ("combs" in " ".join(read.differences)) == ("combs=c" in call)
    path.write_text("createSdcObj(people, keyVars = 'age', numVars = 'pay', sensibleVar = 'pay')")
    assert list(_from(path, tmp_path).policy.columns.sensitive) == ["pay"]
    path.write_text("createSdcObj(people, keyVars = 'age', w = 'weight')")  # R takes beginnings of names
    assert _from(path, tmp_path).policy.columns.insensitive == ("weight",)
    path.write_text("createSdcObj(people, keyVars = c(1, 3))")
    with pytest.raises(sf.InputError, match="not their places"):
        _from(path, tmp_path)
    path.write_text("x <- 1")
    with pytest.raises(sf.InputError, match="createSdcObj"):
        _from(path, tmp_path)


def test_rules_of_amnesia_become_a_policy_that_runs(tmp_path: Path):
    path, out = tmp_path / "rules.txt", tmp_path / "policy.toml"
    ages = "".join(f"{age}->{age // 10 * 10}-{age // 10 * 10 + 9}\n" for age in range(20, 60))
    path.write_text(
        f"Anonymization rules:\nage\n{ages}\ntown\nAy->Ay\nBo->Bo\n<Cy & Co>-><Cy & Co>\n(null)->(null)\n\n"
    )
    code, told, said = run("init", path, "--out", out)
    assert code == 0
    assert "1 hierarchy" in told
    assert "no k" in said
    policy = sf.Policy.from_file(out)
    release = sf.anonymize(sf.read_table(people(tmp_path / "people.csv"), policy), policy, seed=1)
    assert {*release.data["age"].cast(str)} <= {*map(str, range(20, 60)), "20-29", "30-39", "40-49", "50-59", "*"}
    path.write_text("Anonymization rules:\nage\n21,20-29\n\n")  # an earlier version
    assert [*_from(path, tmp_path).hierarchies.values()] == ["21;20-29\n"]
    path.write_text("Anonymization rules:\nage\n20\n")
    with pytest.raises(sf.InputError, match="no rule"):
        _from(path, tmp_path)
    path.write_text("name,age\n")
    assert reader_of(path) is None


def _from(path: Path, folder: Path):
    reader = reader_of(path)
    assert reader is not None
    return reader(path, folder / "hierarchies")


def test_columns_of_two_roles_and_of_no_weight_are_told_of(tmp_path: Path):
    """Strata that are keys as well, as many scripts have them, and columns whose loss counts nothing."""
    script = tmp_path / "s.R"
    script.write_text(
        's <- createSdcObj(d, keyVars=c("age", "region"), strataVar="region", weightVar="w")\nmafast(s)\n'
    )
    found = _from(script, tmp_path)
    assert found.policy.to_schema().insensitive == ("w",)
    assert [line[:21] for line in found.differences if "region" in line] == ["region: of two roles "]
    assert any("mafast is not carried over" in line for line in found.differences)
    given = project(tmp_path / "p.deid", ["5-anonymity"])
    with zipfile.ZipFile(given) as read:
        parts = {name: read.read(name).decode() for name in read.namelist()}
    changed = parts["input/config.xml"].replace("<weight>0.75", "<weight>0.0")
    parts["input/config.xml"] = changed.replace("<metric>", "<suppressionString>NULL</suppressionString><metric>")
    with zipfile.ZipFile(given, "w") as written:
        for name, text in parts.items():
            written.writestr(name, text)
    said = " ".join(_from(given, tmp_path).differences)
    assert "'age': its loss counts nothing there (weight 0)" in said
    assert "written 'NULL' there" in said
