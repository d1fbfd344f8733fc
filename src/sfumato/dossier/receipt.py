"""What the recipient of a release gets beside it: how to check it, what it promises, and what it does not protect."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from sfumato.dossier.content import KINDS, promise_in_words, refuse_broken, render, report_limits
from sfumato.release.description import versions
from sfumato.release.verify import open_folder, verify
from sfumato.table.writing import sha256_of


def receipt(folder: Path, name: str | None = None) -> str:
    """Return one HTML page for the recipient of a release folder: no script, nothing loaded, nothing of the original.

    `folder`: it is recounted first. `name`: what the recipient will call it; None takes the folder's. Raises
    ``VerificationError`` when the release breaks a promise, or was changed. Raises ``PolicyError`` when Jinja is not
    installed. Cost of a recount and of a hash of every file.
    """
    counted = verify(folder)
    refuse_broken(counted)
    opened = open_folder(folder)
    published, _ = opened.read()
    description, edition = opened.description, opened.policy.content
    content = {
        "name": name or folder.name,
        "made": datetime.now(UTC).date().isoformat(),
        "versions": versions(),
        "occasion": [(key, str(edition[key])) for key in ("purpose", "recipient") if edition.get(key)],
        "kind": KINDS.get(published.kind, published.kind),
        "promises": [promise_in_words(model) for model in description.models],
        "checks": counted.to_dict()["checks"],
        "limits": report_limits(published, description, opened.policy),
        "files": {path.name: sha256_of(path) for path in sorted(folder.iterdir()) if path.is_file()},
    }
    return render(content, {}, "receipt.html")
