"""Commands from and to a PostgreSQL server: no password and no value on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from databases import Database, on_server
from sfumato.cli.app import app

SECRET = "geheim"
ROLES = ("--identifying", "name", "--quasi", "age,zip", "--sensitive", "disease")


@pytest.fixture
def clinic(postgresql: Any) -> Database:
    database = on_server(postgresql)
    database.run(
        "CREATE SCHEMA clinic",
        f"""CREATE TABLE clinic.visits AS SELECT '{SECRET}' || g AS name, 20 + g % 50 AS age,
        '0' || (1000 + g % 20)::text AS zip, (ARRAY['flu', 'cold', '{SECRET}'])[g % 3 + 1] AS disease
        FROM generate_series(1, 300) AS g""",
    )
    return database


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(word) for word in words], prog_name="sfumato")
    told = result.stdout + result.stderr
    assert SECRET not in told
    assert "open sesame" not in told
    assert "steward@" not in told
    return result.exit_code, told


def within(url: str, schema: str) -> str:
    """Return the URL of a release in a schema."""
    return f"{url}{'&' if '?' in url else '?'}schema={schema}"


def test_from_and_to_a_database(clinic: Database, tmp_path: Path) -> None:
    policy, url = tmp_path / "policy.toml", clinic.url
    assert run("anonymize", url, "--set", "source.table=clinic.visits", *ROLES, "-k", 5, "--save-policy", policy) == (
        0,
        "",
    )
    assert 'table = "clinic.visits"' in policy.read_text()
    assert "postgresql" not in policy.read_text()
    code, told = run("anonymize", url, "--policy", policy, "--out", within(url, "release_2027"))
    assert code == 0, told
    assert "Release   schema release_2027 of postgresql:///test_" in told
    assert run("verify", within(url, "release_2027"))[0] == 0
    code, told = run("anonymize", url, "--policy", policy, "--out", within(url, "release_2027"))
    assert code == 2
    assert told.startswith("sfumato: --out: schema release_2027 of postgresql:///test_")
    assert run("anonymize", url, "--policy", policy, "--out", within(url, "release_2027"), "--overwrite")[0] == 0
    stored = clinic.run("SELECT string_agg(content, '') FROM release_2027.description")[0][0]
    assert "visits" not in stored
    assert "postgresql" not in stored
    clinic.run("UPDATE release_2027.data SET age = '1'")
    assert run("verify", within(url, "release_2027"))[0] == 1


@pytest.mark.parametrize(
    "words",
    [
        ("risk", "URL", "--set", "source.table=clinic.visits", "--quasi", "age,zip"),
        ("check", "URL", "--set", "source.table=clinic.visits", "--quasi", "age", "--json"),
        ("correlation", "URL", "--set", "source.table=clinic.visits", "--quasi", "age,zip"),
        ("hierarchy", "URL", "age", "--set", "source.table=clinic.visits"),
        ("risk", "URL", "--set", "source.query=QUERY", "--quasi", "age,zip", "--population", "URL"),
    ],
)
def test_whatever_takes_a_table_takes_one_of_a_database(
    clinic: Database, words: tuple[str, ...], tmp_path: Path
) -> None:
    query = tmp_path / "query.sql"
    query.write_text("SELECT age, zip FROM clinic.visits")
    assert (
        run(*({"URL": clinic.url, "source.query=QUERY": f"source.query={query}"}.get(word, word) for word in words))[0]
        == 0
    )


def test_folders_are_measured_against_tables_of_a_database(clinic: Database, tmp_path: Path) -> None:
    url, out = f"{clinic.url}&table=clinic.visits", tmp_path / "release"
    assert run("anonymize", url, *ROLES, "-k", 5, "--out", out, "--quiet")[0] == 0
    assert run("measure", url, out, "--json")[0] == 0
    policy = out / "policy.toml"
    assert run("attack", url, "--policy", policy, "--attack", "linkage", "--hold-out", 0.2)[0] == 0
    assert run("attack", out, "--original", url, "--attack", "linkage", "--control", url)[0] == 0
    assert run("report", out, "--original", url, "--no-attacks")[0] == 0
    assert run("compare", url, "--policy", policy, "--anonymizers", "mondrian", "-k", 5, "--json")[0] == 0


@pytest.mark.parametrize(
    "words",
    [
        ("verify", "postgresql://me:open sesame@host/db?schema=r"),
        (
            "anonymize",
            "postgresql://me:open sesame@host/db",
            "--set",
            "source.table=t",
            *ROLES,
            "-k",
            "2",
            "--out",
            "OUT",
        ),
        (
            "anonymize",
            "URL",
            "--set",
            "source.table=clinic.visits",
            *ROLES,
            "-k",
            "2",
            "--out",
            "postgresql://me:open sesame@h/d",
        ),
        ("measure", "URL", "postgresql://me:open sesame@host/db"),
        (
            "check",
            "--kind",
            "ratings",
            "postgresql://me:open sesame@host/db?password=open sesame",
            "-k",
            "2",
            "--epsilon",
            "1",
        ),
        ("anonymize", "URL", "--set", "source.table=clinic.nowhere", *ROLES, "-k", "2", "--out", "OUT"),
        ("anonymize", "URL", "--set", "source.table=clinic.visits", *ROLES, "-k", "2", "--out", "URL"),
        ("verify", "URL?schema=nowhere"),
    ],
)
def test_refusals_are_sentences_without_a_secret(clinic: Database, words: tuple[str, ...], tmp_path: Path) -> None:
    code, told = run(
        *(
            word.replace("URL?schema=nowhere", within(clinic.url, "nowhere"))
            .replace("URL", clinic.url)
            .replace("OUT", str(tmp_path / "out"))
            for word in words
        )
    )
    assert code in (1, 2)
    assert told.startswith("sfumato: ")
    assert told.count("\n") == 1
    assert not (tmp_path / "out").exists()
