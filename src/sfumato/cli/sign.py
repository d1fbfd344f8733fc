"""``sfumato sign``: sign a release for whoever receives it, make a key, or take a signature back."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Annotated

from sfumato.cli.options import argument, option
from sfumato.cli.outcome import complain
from sfumato.errors import InputError, PolicyError, raise_all
from sfumato.numbers import counted

# What a page to sign says of questions that nobody has answered: how many, and which of those that stand on it.
_OPEN = re.compile(
    r"Nobody has answered [^<]*?standards\.|(?<=Not answered</span>, and )no figure of this page can: [^<]*"
)


def sign(
    release: Annotated[
        Path | None, argument("RELEASE|SERIES|PAGE", "Folder of a release or a series, or a page of evidence.")
    ] = None,
    key: Annotated[Path | None, option("Your private key. Keep it to yourself, and a copy of it.", "FILE")] = None,
    by: Annotated[str, option("Who signs, and as what; readers see it.", "TEXT")] = "",
    revoke: Annotated[Path | None, option("Take the signature back: write a statement that says so.", "FILE")] = None,
    new_key: Annotated[Path | None, option("Make a key: FILE for you alone, FILE.pub for everybody.", "FILE")] = None,
) -> None:
    """Sign every file of a release, after recounting it. Whoever has FILE.pub sees that none was changed.

    Of a series one statement covers all releases. The statement about a page of evidence lies beside the page, for the
    steward.

    Of a page it first says how many questions nobody has answered, and names those that stand on it.

    A second person who signs the same folder countersigns. Signing needs no network. The time in a signature is that of
    your clock; nobody proves it.
    """
    from sfumato.release import signature

    raise_all(PolicyError, _usage_problems(release, key, revoke, new_key))
    if new_key is not None:
        name = signature.new_key(new_key)
        return complain(
            [
                f"key {name[: signature.SHOWN]} made: {new_key} is for you alone; give {new_key}.pub to recipients, by "
                "another way than the release"
            ]
        )
    assert release is not None
    assert key is not None
    if revoke is not None:
        signature.revoke(release, key, revoke, by=by)
        return complain([f"{revoke}: takes the signature of {release} back; give it to whoever has the release"])
    if release.suffix == ".html" and release.is_file():
        complain([f"{release}: {unescape(found)}" for found in _OPEN.findall(release.read_text(encoding="utf-8"))])
    signed = signature.sign_folder(release, key, by=by, promises=[] if release.is_file() else _recounted(release))
    count, files = len(signed.statements), counted(len(signed.subjects), "file")
    who = "check it" if release.is_file() else "recipients check it"
    complain(
        [
            f"{release}: {files} signed{'' if count == 1 else f', {count} signatures'}; {who} with: "
            f"sfumato verify {release} --key {key}.pub"
        ]
    )


def _recounted(release: Path) -> list[str]:
    """Recount a release or a series; return what holds. Raises ``InputError`` where something does not."""
    from sfumato.release.transaction import SERIES
    from sfumato.release.verify import verify
    from sfumato.series.verify import verify_series

    if (release / SERIES).is_file():
        series = verify_series(release)
        is_ok, checks = series.ok, series.chain
    else:
        found = verify(release)
        is_ok, checks = found.ok, found.checks
    if not is_ok:
        raise InputError(f"{release}: is not verified, so that nothing was signed; sfumato verify {release} says why")
    return [str(check) for check in checks if check.outcome == "holds"]


def _usage_problems(release: Path | None, key: Path | None, revoke: Path | None, new_key: Path | None) -> list[str]:
    if new_key is not None:
        beside = {"RELEASE": release, "--key": key, "--revoke": revoke}
        return [f"{name}: has nothing to do with --new-key; leave it out" for name, given in beside.items() if given]
    return [
        *(["RELEASE: name the folder of the release"] if release is None else []),
        *(["--key: name the file of your private key; sfumato sign --new-key FILE makes one"] if key is None else []),
    ]
