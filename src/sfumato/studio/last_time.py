"""The release of last time: what changed in the table since, its policy as the setup, and what must be played first."""

from __future__ import annotations

from pathlib import Path

from sfumato.errors import InputError, SfumatoError
from sfumato.policy.policy import Policy
from sfumato.release.opening import open_release
from sfumato.studio.desk import Desk
from sfumato.studio.draft import Draft
from sfumato.studio.jobs import POLICY, Job


def chosen(desk: Desk) -> str | None:
    """Return the name of the release of last time; empty: there is none; None: nobody has said."""
    said = desk.project.earlier
    return said if not said or said in desk.beside() else None


def choose(desk: Desk, name: str) -> None:
    """Say which release is that of last time; an empty name: these people were never published."""
    if name and name not in desk.beside():
        raise InputError("earlier: choose one of the releases beside the table")
    desk.project.keep_earlier(name)


def beside(desk: Desk, name: str) -> Path:
    """Return the folder of a release beside the table."""
    found = desk.beside()
    if name not in found:
        raise InputError("earlier: choose one of the releases beside the table")
    return found[name]


def policy_of(folder: Path) -> Policy:
    """Return the policy of a release as it was published."""
    path = folder / POLICY
    if not path.is_file():
        raise InputError("the release has no policy")
    return Policy.from_file(path)


def replayed(desk: Desk, folder: Path) -> Draft:
    """Return the setup that the policy of a release means for the table as it is now.

    Columns that the policy does not know are undecided, and the table is read as it is now. A hierarchy that the
    published policy withholds is taken from the setup that stands.
    """
    draft = Draft.of_policy(policy_of(folder), desk.table.names)
    settings = {
        name: {**{key: its for key, its in desk.draft.settings.get(name, {}).items() if key == "hierarchy"}, **its}
        for name, its in {**{name: {} for name in draft.roles}, **draft.settings}.items()
    }
    kept = {name: its for name, its in settings.items() if its}
    return Draft(draft.roles, kept, {}, {**draft.rest}).with_rest("source", desk.draft.rest.get("source"))


def differences(desk: Desk, folder: Path) -> list[str]:
    """Say what is different in the table since a release; no value is shown."""
    try:
        policy, published = policy_of(folder), open_release(folder).published
    except SfumatoError as error:
        return [f"its policy cannot be read: {line}" for line in error.problems]
    named = _named(policy)
    said = [f"column {name!r} is gone" for name in named if name not in desk.table.names]
    if policy.to_mapping()["columns"].get("others", "error") == "error":
        said += [f"column {name!r} is new" for name in desk.table.names if name not in named]
    records = next(iter(published.tables.values())).height
    if records != desk.table.height and published.kind == "generalized-table":
        said.append(f"{records:,} records were published, and the table has {desk.table.height:,} now")
    if not any("is gone" in line for line in said):
        said += _misfits(desk, replayed(desk, folder))
    return said


def _named(policy: Policy) -> list[str]:
    columns = policy.to_mapping()["columns"]
    lists = [[said] if isinstance(said, str) else list(said) for key, said in columns.items() if key != "others"]
    return [name for names in lists for name in names]


def _misfits(desk: Desk, draft: Draft) -> list[str]:
    """Say which columns no longer fit their settings, such as values without a place in a hierarchy."""
    found = []
    for name in draft.of_role("quasi-identifying"):
        try:
            with desk.lock:
                desk.preview.sizes({name: draft.attribute(name)}, {})
                desk.preview.hierarchy(name, draft.attribute(name))
        except SfumatoError as error:
            found += [f"column {name!r}: {line}" for line in error.problems]
    return found


def played_beside(desk: Desk, job: Job) -> dict[str, Job]:
    """Return the earlier releases beside which a release was attacked, by name."""
    attacks = [each for each in desk.jobs.of_kind("attack") if each.about == job.number and each.state == "done"]
    names = {str(path): name for name, path in desk.beside().items()}
    played = {
        each.words[each.words.index("--earlier") + 1]: each for each in reversed(attacks) if "--earlier" in each.words
    }
    return {names[path]: each for path, each in played.items() if path in names}


def lacking(desk: Desk, job: Job) -> str:
    """Say what must be done about earlier releases before a release is signed and handed over; empty: nothing."""
    name = chosen(desk)
    if not desk.beside() or name == "":
        return ""
    if name is None:
        return "Releases lie beside the table. Say first which of them is of the same people, or that none is."
    if name not in played_beside(desk, job):
        return f"Attack this release and {name} together first."
    return ""
