"""No message and no log line repeats the user, the password or the key of an address."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.errors import without_credentials

MARK = "geh3im"
ADDRESSES = [
    f"s3://{MARK}@bucket/out",
    f"s3://AKIA{MARK}:{MARK}/with/slashes@bucket/out",
    f"postgresql://me:{MARK}@nowhere.invalid:5432/db",
    f"postgresql://me:{MARK} with blanks@h/d",
    f"postgresql:me:{MARK}@h/d",
    f"postgresql:/me:{MARK}@h:port/d",
    f"postgres://h/d?user=me&password={MARK}",
    f"https://h/t.csv?sig={MARK}",
    f"abfss://c@account.invalid/x?account_key={MARK}",
    f"duckdb:///nowhere.db?token={MARK}",
]
ROLES = ("--quasi", "a", "-k", "2")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n1\n")
    return path


@pytest.mark.parametrize("logging", [(), ("--log-json",)], ids=["lines", "json"])
@pytest.mark.parametrize("address", ADDRESSES)
def test_refusals_of_commands(table: Path, address: str, logging: tuple[str, ...]) -> None:
    out = str(table.with_name("out"))
    for words in (
        ("anonymize", str(table), *ROLES, "--out", address),
        ("anonymize", address, *ROLES, "--out", out),
        ("anonymize", str(table), *ROLES, "--out", out, "--policy", address),
        ("anonymize", str(table), *ROLES, "--out", out, "--audit", address, "--hierarchies", address),
        ("verify", address),
        ("measure", str(table), address),
        ("settle", address),
    ):
        done = CliRunner().invoke(app, [*logging, *words], prog_name="sfumato")
        assert MARK not in done.stdout + done.stderr, words


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("setting", ["population", "hierarchy", "format"])
def test_refusals_of_policies(table: Path, setting: str, address: str) -> None:
    lines = {
        "population": f'population = "{address}"',
        "hierarchy": f'columns.quasi-identifying.a.hierarchy = "{address}"',
        "format": f'output.format = "{address}"',
    }
    roles = "" if setting == "hierarchy" else 'columns.quasi-identifying = ["a"]\n'
    policy = table.with_name("policy.toml")
    policy.write_text(f'{lines[setting]}\n{roles}[[models]]\nname = "k-anonymity"\nk = 2\n')
    done = CliRunner().invoke(app, ["anonymize", str(table), "--policy", str(policy), "--out", f"{table}.out"])
    assert done.exit_code == 2, done.output
    assert MARK not in done.stdout + done.stderr


@pytest.mark.parametrize("address", ADDRESSES)
def test_refusals_of_calls(address: str) -> None:
    for call in (sf.read_table, sf.verify):
        with pytest.raises((sf.SfumatoError, OSError)) as refused:
            call(address, *([sf.Schema(quasi_identifying=["a"])] if call is sf.read_table else []))
        if isinstance(refused.value, sf.SfumatoError):
            assert MARK not in str(refused.value)


def test_other_text_stays() -> None:
    for text in (
        "column 'a@b': 3 records; leave it out",
        "t.csv: column a@b is missing",
        "noise: amount must be above 0",
        "--model k-anonymity:k=3,shares=false",
        "C:\\tables\\t.csv: no such file",
    ):
        assert without_credentials(text) == text
