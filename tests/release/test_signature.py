"""A signature is over every file and no other; strangers' programs read it; what is taken back does not count."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.models.protocol import Outcome
from sfumato.release.signature import SIGNED

pytest.importorskip("cryptography")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    table = pl.DataFrame({"age": [20 + i % 40 for i in range(200)], "ill": ["flu", "gout"] * 100})
    schema = sf.Schema(quasi_identifying=["age"], sensitive=["ill"])
    sf.anonymize(table, [sf.KAnonymity(5)], schema=schema, seed=1).save(tmp_path / "out")
    assert run("sign", "--new-key", tmp_path / "own.key")[0] == 0
    assert run("sign", "--new-key", tmp_path / "other.key")[0] == 0
    return tmp_path


def run(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(word) for word in words], prog_name="sfumato")
    return done.exit_code, done.stdout + done.stderr


def signed(place: Path, *more: object) -> Path:
    code, said = run("sign", place / "out", "--key", place / "own.key", *more)
    assert code == 0, said
    return place / "out"


def outcome(place: Path, key: str = "own.key.pub", **more: Any) -> Any:
    checks = sf.verify(place / "out", key=place / key, **more).checks
    return next(check for check in checks if check.promise == SIGNED)


def test_keys_are_for_their_owner_and_are_never_replaced(place: Path) -> None:
    assert stat.S_IMODE((place / "own.key").stat().st_mode) == 0o600
    before = (place / "own.key").read_bytes()
    code, said = run("sign", "--new-key", place / "own.key")
    assert (code, (place / "own.key").read_bytes()) == (2, before)
    assert "is there already" in said


def test_whoever_has_the_key_sees_that_it_is_signed_and_others_are_told_so(place: Path) -> None:
    folder = signed(place, "--by", "A. Steward")
    assert outcome(place).outcome is Outcome.HOLDS
    assert re.search(r"claimed by A. Steward \(key \w{16}\); revocation: not checked", outcome(place).detail)
    code, said = run("verify", folder)
    assert code == 0
    assert said.startswith("! verified: every promise holds; signed, key not checked  asked")
    assert outcome(place, "other.key.pub").outcome is Outcome.BROKEN


def test_without_a_signature_a_key_finds_none(place: Path) -> None:
    assert outcome(place).outcome is Outcome.BROKEN
    assert sf.verify(place / "out").ok


CHANGES: dict[str, Callable[[Path], object]] = {
    "a byte": lambda folder: (folder / "report.txt").write_text((folder / "report.txt").read_text() + " "),
    "added": lambda folder: (folder / "more.csv").write_text("a"),
    "added below": lambda folder: ((folder / "sub").mkdir(), (folder / "sub" / "x").write_text("a")),
    "missing": lambda folder: (folder / "report.txt").unlink(),
    "a link": lambda folder: (folder / "link").symlink_to("data.csv"),
    "payload": lambda folder: _edit(folder, lambda content: content.update(payload=_again(content["payload"]))),
    "no signature": lambda folder: _edit(folder, lambda content: content.update(signatures=[])),
    "another's": lambda folder: _edit(folder, lambda content: content["signatures"][0].update(keyid="0" * 64)),
    "kind": lambda folder: _edit(folder, lambda content: content.update(payloadType="text/plain")),
    "a list": lambda folder: _edit(folder, lambda content: content.update(payload=_encoded("[]"))),
    "no JSON": lambda folder: _edit(folder, lambda content: content.update(payload=_encoded("x"))),
    "deep": lambda folder: _edit(folder, lambda content: content.update(payload=_encoded("[" * 100_000))),
    "nothing": lambda folder: (folder / "signature.json").write_text("{}"),
    "no text": lambda folder: (folder / "signature.json").write_bytes(b"\xff" * 9),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_refused(change: Callable[[Path], object], place: Path) -> None:
    change(signed(place))
    assert outcome(place).outcome is Outcome.BROKEN
    assert not sf.verify(place / "out", key=place / "own.key.pub").ok


def _edit(folder: Path, change: Callable[[Any], object]) -> None:
    content = json.loads((folder / "signature.json").read_text())
    change(content)
    (folder / "signature.json").write_text(json.dumps(content))


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _again(payload: str) -> str:
    """The same statement with a blank more."""
    return base64.b64encode(base64.b64decode(payload) + b" ").decode()


def test_a_second_person_countersigns_and_neither_key_stands_for_the_other(place: Path) -> None:
    folder = signed(place)
    assert run("sign", folder, "--key", place / "other.key", "--by", "B. Officer")[0] == 0
    names = {"own.key.pub": "nobody by name", "other.key.pub": "B. Officer"}
    for key, name in names.items():
        (other,) = {*names.values()} - {name}
        assert outcome(place, key).outcome is Outcome.HOLDS
        assert outcome(place, key).detail.startswith(f"claimed by {name} (key ")
        assert re.search(rf"{other} \(key \w+\) signed, too", outcome(place, key).detail)
        # Twice by one key says nothing more.
        assert run("sign", folder, "--key", place / key.removesuffix(".pub"))[0] == 2
    # Each takes back its own statement, and leaves that of the other.
    assert run("sign", folder, "--key", place / "other.key", "--revoke", place / "r.json")[0] == 0
    assert outcome(place, "other.key.pub", revocations=place / "r.json").outcome is Outcome.BROKEN
    assert outcome(place, "own.key.pub", revocations=place / "r.json").outcome is Outcome.HOLDS
    (folder / "report.txt").write_text("changed")
    code, said = run("sign", folder, "--key", place / "other.key")
    assert code == 2
    assert "nothing was signed" in said


def test_a_signature_is_taken_back_by_its_own_key_alone(place: Path) -> None:
    folder = signed(place)
    code, said = run("sign", folder, "--key", place / "other.key", "--revoke", place / "no.json")
    assert (code, (place / "no.json").exists()) == (2, False)
    assert "which alone can revoke it" in said
    (place / "lists").mkdir()
    assert run("sign", folder, "--key", place / "own.key", "--revoke", place / "lists" / "r.json")[0] == 0
    assert outcome(place, revocations=place / "lists").outcome is Outcome.BROKEN
    assert outcome(place, revocations=place / "lists" / "r.json").detail == "its key has revoked it"
    # Of another release it says nothing, and one that cannot be read is not passed over.
    (folder / "signature.json").unlink()
    signed(place, "--by", "again")
    assert outcome(place, revocations=place / "lists").detail.endswith("; not revoked by what was given")
    (place / "lists" / "s.json").write_text("{")
    code, said = run("verify", folder, "--key", place / "own.key.pub", "--revocations", place / "lists")
    assert code == 2
    assert "s.json" in said


def test_a_forged_revocation_revokes_nothing(place: Path) -> None:
    folder = signed(place)
    shutil.copytree(folder, place / "copy")
    content = json.loads((folder / "signature.json").read_text())
    digest = hashlib.sha256(base64.b64decode(content["payload"])).hexdigest()
    forged = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "signature.json", "digest": {"sha256": digest}}],
        "predicateType": "urn:sfumato:revocation:v1",
        "predicate": {},
    }
    content["payload"] = base64.b64encode(json.dumps(forged).encode()).decode()
    (place / "forged.json").write_text(json.dumps(content))
    assert outcome(place, revocations=place / "forged.json").outcome is Outcome.HOLDS


@pytest.mark.parametrize("text", ["[]", '"x"', "x", '{"predicate": 1, "predicateType": "urn:sfumato:revocation:v1"}'])
def test_a_revocation_that_is_no_statement_is_named(text: str, place: Path) -> None:
    signed(place)
    content = json.loads((place / "out" / "signature.json").read_text())
    (place / "odd.json").write_text(json.dumps({**content, "payload": _encoded(text)}))
    code, said = run("verify", place / "out", "--key", place / "own.key.pub", "--revocations", place / "odd.json")
    assert code == 2
    assert "Traceback" not in said


def test_a_signed_statement_with_an_odd_predicate_is_read(place: Path) -> None:
    from sfumato.release.signature import STATEMENT, Envelope, _private_key, _with_signature, hashes_of_files

    subjects = [{"name": name, "digest": {"sha256": digest}} for name, digest in hashes_of_files(place / "out").items()]
    content = {"_type": STATEMENT, "subject": subjects, "predicateType": "urn:sfumato:release:v1", "predicate": "x"}
    envelope = _with_signature(Envelope(json.dumps(content).encode(), {}), _private_key(place / "own.key"))
    (place / "out" / "signature.json").write_text(envelope.to_json())
    assert outcome(place).outcome is Outcome.HOLDS


@pytest.mark.skipif(shutil.which("openssl") is None, reason="another program checks the signature")
def test_a_stranger_checks_it(place: Path) -> None:
    """OpenSSL, and the encoding as DSSE writes it down."""
    folder = signed(place)
    content = json.loads((folder / "signature.json").read_text())
    payload, kind = base64.b64decode(content["payload"]), "application/vnd.in-toto+json"
    (place / "said").write_bytes(f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload)
    (place / "sig").write_bytes(base64.b64decode(content["signatures"][0]["sig"]))
    words = ["pkeyutl", "-verify", "-pubin", "-inkey", place / "own.key.pub", "-rawin", "-in", place / "said"]
    done = subprocess.run(
        ["openssl", *map(str, words), "-sigfile", str(place / "sig")], capture_output=True, check=False
    )
    assert done.returncode == 0, done
    statement = json.loads(payload)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    del hashes["signature.json"]
    assert {each["name"]: each["digest"]["sha256"] for each in statement["subject"]} == hashes


def test_all_mistakes_at_once(place: Path) -> None:
    code, said = run("sign")
    assert code == 2
    assert "RELEASE: name the folder" in said
    assert "--key: name the file" in said
    code, said = run("sign", place / "out", "--key", place / "own.key.pub")
    assert code == 2
    assert "holds no private key" in said
    code, said = run("verify", place / "out", "--revocations", place)
    assert code == 2
    assert "give the key, too" in said
    code, said = run("verify", place / "out", "--key", place / "own.key")
    assert code == 2
    assert "holds no public key" in said
    assert (place / "own.key").read_text().splitlines()[1] not in said


def test_a_series_is_signed_as_a_whole(place: Path) -> None:
    """One statement over all releases: one that is added, changed or gone is refused."""
    frame = pl.DataFrame({"who": range(100), "age": [20 + i % 40 for i in range(100)], "ill": ["flu", "gout"] * 50})
    policy = {"columns": {"identifying": ["who"], "quasi-identifying": ["age"], "sensitive": ["ill"]}}
    meant = sf.Policy.from_mapping({**policy, "models": [{"name": "k-anonymity", "k": 5}]})
    series = sf.Series.start(place / "months", meant, key="who", table=frame)
    series.append(frame.with_columns(pl.col("who") + 1000))
    folder, own = place / "months", place / "own.key"
    code, said = run("sign", folder, "--key", own, "--by", "A. Steward")
    assert code == 0, said
    code, said = run("verify", folder, "--key", f"{own}.pub")
    assert code == 0, said
    assert "claimed by A. Steward" in " ".join(said.split())
    assert run("verify", folder, "--key", place / "other.key.pub")[0] == 1
    assert run("sign", folder, "--key", own, "--revoke", place / "back.json")[0] == 0
    assert run("verify", folder, "--key", f"{own}.pub", "--revocations", place / "back.json")[0] == 1
    table = series.releases[0] / "data.csv"
    whole = table.read_bytes()
    table.write_bytes(whole[:-2] + bytes([whole[-2] ^ 1]) + whole[-1:])
    assert run("verify", folder, "--key", f"{own}.pub")[0] == 1
    table.write_bytes(whole)
    assert run("verify", folder, "--key", f"{own}.pub")[0] == 0
    # A statement about a series is none about its releases, nor the other way.
    release = series.releases[0]
    (release / "signature.json").write_bytes((folder / "signature.json").read_bytes())
    assert not sf.verify(release, key=f"{own}.pub").ok
    (release / "signature.json").unlink()
    series.append(frame.with_columns(pl.col("who") + 2000))
    code, said = run("verify", folder, "--key", f"{own}.pub")
    assert code == 1
    assert " added" in said


def test_a_page_of_evidence_has_a_statement_of_its_own(place: Path) -> None:
    page, own = place / "to-sign.html", place / "own.key"
    page.write_text(
        "<li>Nobody has answered 43 of 185 questions of standards. B. Officer is to answer.</li>"
        '<p><span class="not">Not answered</span>, and no figure of this page can: motives; who&#39;s heard.</p>'
    )
    code, said = run("sign", page, "--key", own, "--by", "A. Steward")
    assert code == 0, said
    words = " ".join(said.split())
    assert "Nobody has answered 43 of 185 questions of standards." in words
    assert "no figure of this page can: motives; who's heard." in words
    assert words.index("43 of 185") < words.index("1 file signed")
    statement = place / "to-sign.html.signature.json"
    assert stat.S_IMODE(statement.stat().st_mode) == 0o600
    content = json.loads(base64.b64decode(json.loads(statement.read_text())["payload"]))
    assert content["subject"] == [
        {"name": page.name, "digest": {"sha256": hashlib.sha256(page.read_bytes()).hexdigest()}}
    ]
    assert run("verify", page, "--key", f"{own}.pub")[0] == 0
    assert run("verify", page)[0] == 2
    assert run("verify", page, "--key", place / "other.key.pub")[0] == 1
    page.write_text("<p>evidence, changed</p>")
    code, said = run("verify", page, "--key", f"{own}.pub")
    assert code == 1
    assert "to-sign.html was changed" in " ".join(said.split())
