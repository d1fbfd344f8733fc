"""What a report says of a release that is no table of records, and of a table that another program published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import polars as pl

from sfumato.errors import InputError, PolicyError, VerificationError, raise_all
from sfumato.evaluation.attacks.of_kinds import Asked, FindsEvidence, KindEvidence
from sfumato.evaluation.attacks.play import read_frame
from sfumato.evaluation.attacks.protocol import AttackResult
from sfumato.evaluation.attacks.verdicts import Certainty
from sfumato.evidence.content import (
    LIMITS,
    ReportedRelease,
    ReportOptions,
    attacks_content,
    decisions_content,
    promises_content,
    recipient_files,
    refuse_broken,
)
from sfumato.models.protocol import Outcome
from sfumato.policy.entries import checked
from sfumato.policy.file import read_policy
from sfumato.policy.parts import Context
from sfumato.policy.policy import Policy
from sfumato.published import PublishedTable, RandomizedTable
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.recount import recount
from sfumato.rates import Rate
from sfumato.recoding.notation import STAR
from sfumato.registry import OWN_KINDS, loaded
from sfumato.release.agreement import PublishedPolicy
from sfumato.release.description import (
    Description,
    SensitiveDescription,
    build_own_model,
    own_kind,
    versions,
)
from sfumato.release.own_kinds import OwnDescription, OwnKind
from sfumato.release.transaction import MARK, SERIES
from sfumato.release.verify import mark_of, verify
from sfumato.series.attacks import Played, SeriesAttacks, attack_releases, attack_with_keys
from sfumato.series.description import WITHDRAWAL, SeriesFolder
from sfumato.series.reading import ReadRelease
from sfumato.series.verify import verify_series
from sfumato.table.reading import read_table
from sfumato.table.schema import Kind
from sfumato.table.table import Table
from sfumato.table.writing import sha256_of


@dataclass(frozen=True, eq=False, repr=False)
class OwnSubject:
    """A release folder of a kind of its own, opened and recounted.

    `policy`: the steward's, as plain values, without what it says of the recipient; None where it says no more.
    """

    folder: Path
    kind: OwnKind[Any, Any]
    description: OwnDescription[Any]
    published: Any
    verification: Verification
    own: PublishedPolicy
    policy: Mapping[str, Any] | None
    context: Context | None


def is_own(release: object) -> bool:
    """Tell whether a release is a folder that holds no table of records."""
    folder = Path(release) if isinstance(release, str | Path) else None
    return folder is not None and (folder / MARK).is_file() and own_kind(mark_of(folder)) is not None


def own_subject(folder: Path, policy: Path | None) -> OwnSubject:
    """Open and recount a release; `policy`: a file of the steward's, which may say no more than for whom it is.

    Raises ``VerificationError`` when it breaks a promise or was changed; ``PolicyError`` for mistakes in the policy.
    """
    verification = verify(folder)
    refuse_broken(verification)
    mark = mark_of(folder)
    kind: OwnKind[Any, Any] = OWN_KINDS[own_kind(mark) or ""]
    description, tables = kind.read_folder(folder, mark)
    said = {} if policy is None else read_policy(policy)
    stated = said.pop("context", None)
    context = None if stated is None else checked(Context, stated)
    own = PublishedPolicy.of_folder(folder)
    return OwnSubject(
        folder, kind, description, kind.assemble(tables, description), verification, own, said or None, context
    )


_NOT_MEASURED = ("others", "risk", "losses", "bound", "utility", "suppression", "one_each", "purpose_figures")


def own_content(subject: OwnSubject, original: Any, control: Any, wishes: ReportOptions) -> dict[str, Any]:
    """Measure everything that the kind can, and return it as plain values; keys as of a table."""
    kind, said = subject.kind, subject.policy or subject.own.content
    if control is not None and not kind.compares:
        raise PolicyError(f"control: no attack on {kind.name} is played on other people; leave it out")
    files = {"the original": original, "people who are not in the data": control}
    found = _found(subject, original, control, said, wishes)
    built = [build_own_model(kind.model, entry) for entry in subject.description.models]
    words = {
        model.name: kind.promise.format(**model.parameters()) for model in built if model is not None and kind.promise
    }
    stated = (
        said
        if subject.context is None
        else {"purpose": subject.context.purpose, "recipient": subject.context.recipient}
    )
    limits = [*(loaded(kind.release).limits if kind.release else ()), *LIMITS[1:]]
    results = () if found is None else found.results
    return {
        "made": datetime.now(UTC).date().isoformat(),
        "purpose": stated.get("purpose"),
        "recipient": stated.get("recipient"),
        "kind": {"name": kind.name, "meaning": kind.meaning or kind.name},
        "method": None,
        "records": {"original": None if found is None else found.original, "published": subject.verification.records},
        "columns": _columns(subject),
        "promises": promises_content(subject.verification, words),
        "uncovered": [str(each) for each in subject.verification.uncovered],
        "recounted_from": "the published data",
        **_known(found),
        "attacks": None
        if found is None or not wishes.attacks
        else attacks_content(kind.name, results, found.unplayed, found.original, found.control),
        "figures": {} if found is None else dict(found.figures),
        "limits": [*limits, *(found.notes if found else ())],
        "published_limits": limits,
        "files": {entry.file: entry.sha256 for entry in subject.description.facts.values()},
        "versions": versions(),
        "policy": subject.own.text or "",
        "published_policy": subject.own.text or "",
        "goes": recipient_files(subject.folder),
        "stays": [{"what": what, "name": Path(one).name} for what, one in files.items() if isinstance(one, str | Path)],
        **dict.fromkeys(_NOT_MEASURED),
        **{name: [] for name in ("dropped", "unprotected", "described", "subgroups", "earlier")},
        **decisions_content(wishes),
    }


def _found(
    subject: OwnSubject, original: Any, control: Any, policy: Mapping[str, Any], wishes: ReportOptions
) -> KindEvidence | None:
    """Ask the kind; None without an original, or where it has no attacks and no figures."""
    if original is None or not subject.kind.evidence:
        return None
    wishes.progress("attacks", 4, 5)
    find: FindsEvidence = loaded(subject.kind.evidence)
    asked = Asked(original, policy, bool(wishes.attacks), wishes.seed, wishes.threads, control, wishes.progress)
    return find(subject.published, asked)


def _known(found: KindEvidence | None) -> dict[str, Any]:
    """Say how surely whoever knows what the promise speaks of finds a person: as it bounds it, and on average."""
    within = [one for one in (found.results if found else ()) if one.allowed is not None and one.success.people]
    if not within:
        return {}
    best = max(within, key=lambda one: one.success.share)
    known: dict[str, Any] = {"knows": best.knows, "highest": best.allowed, "average": best.success.share}
    for one in found.before if found else ():
        if best.knows.startswith(one.knows):
            fewest = next(value for name, value in one.figures.items() if name.startswith("fewest"))
            known["before"] = {"highest": 1 / fewest, "average": one.success.share}
    return {"known": known}


def _columns(subject: OwnSubject) -> list[dict[str, Any]]:
    """List what is published; a column that numbers records is none."""
    sensitive = getattr(subject.published, "sensitive", ())
    hidden = {sensitive} if isinstance(sensitive, str) else {*(sensitive if isinstance(sensitive, tuple) else ())}
    names = [
        name
        for entry in subject.description.facts.values()
        for name in entry.columns
        if name not in subject.kind.tallies
    ]
    treatment = subject.kind.meaning.rpartition("; ")[2]
    return [
        {
            "name": name,
            "role": "sensitive" if name in hidden else "quasi-identifying",
            "is_bounded": name in hidden,
            "treatment": "a promise covers it" if name in hidden else treatment,
            **dict.fromkeys(("kind", "distinct", "published", "changed", "typical", "largest", "levels")),
        }
        for name in dict.fromkeys(names)
    ]


# A table of records that another program published: there is no folder to recount, and nobody promised anything.

_TEXT = Kind.CATEGORICAL
FOREIGN = (
    "Another program published this file, and promised nothing of it, so that no attack is excused. Its columns are "
    "read by the names and roles of the steward's policy."
)
_BROKEN = "The file does not keep what the policy asks: {}."


def is_file(release: object) -> bool:
    """Tell whether a release is a single file: a table that another program published."""
    return isinstance(release, str | Path) and Path(release).is_file()


def file_subject(path: Path, original: Table, policy: Policy, control: Table | None) -> ReportedRelease:
    """Take a published file for a release that promises nothing; what the policy asks is recounted all the same.

    Where the policy names a randomization, and so no model, values are taken for changed at random.

    Raises
    ------
    InputError
        When the file has columns that the original lacks, publishes who people are, or has none of what others know.
    """
    frame, schema = read_frame(path), original.schema
    known = (*schema.quasi_identifying, *schema.sensitive, *schema.insensitive)
    named = {*schema.identifying, *schema.key_columns} & {*frame.columns}
    # By number: where there is no header, names are cells.
    odd = [place for place, name in enumerate(frame.columns, 1) if name not in known and name not in named]
    problems = [f"{path}: publishes {name!r}, which says who people are; take it out first" for name in sorted(named)]
    problems += [f"{path}: no column of the original: {', '.join(map(str, odd))} (by number)"] if odd else []
    raise_all(InputError, problems)
    quasi, sensitive = (
        tuple(name for name in roles if name in frame.columns) for roles in (schema.quasi_identifying, schema.sensitive)
    )
    models = policy.to_models()
    left = [name for name in schema.quasi_identifying if name not in quasi]
    # What is left out altogether is as good as suppressed.
    grouped = PublishedTable(frame.with_columns(pl.lit(STAR).alias(name) for name in left), (*quasi, *left), sensitive)
    published = grouped if models else RandomizedTable(frame, quasi, sensitive)
    # Of what is declared alone: what others may have must not hang on the values of the original.
    hidden = {name: replace(schema.sensitive[name], kind=schema.sensitive[name].kind or _TEXT) for name in sensitive}
    kinds = {name: SensitiveDescription(each.kind or _TEXT) for name, each in hidden.items()}
    people: Literal["audit"] | None = None if original.people is None else "audit"
    description = Description(published.kind, published.structure, kinds, (), policy.suppression_limit, people)
    counted = recount(published, models, hidden, description.attested)
    return ReportedRelease(
        published,
        published,
        description,
        counted,
        PublishedPolicy(policy.published()),
        policy,
        {path.name: sha256_of(path)},
        original,
        control,
        (),
    )


def broken_in_words(verification: Verification) -> list[str]:
    """Say what a table of others does not keep of what the policy asks."""
    broken = [f"{check.promise}" for check in verification.checks if check.outcome is Outcome.BROKEN]
    return [FOREIGN, *([_BROKEN.format(", ".join(broken))] if broken else [])]


# A series: its last release, and what all of them tell together.


def is_series(release: object) -> bool:
    """Tell whether a release is the folder of a series."""
    return isinstance(release, str | Path) and (Path(release) / SERIES).is_file()


@dataclass(frozen=True, eq=False, repr=False)
class SeriesSubject:
    """A series that holds, with those who came with each release; or everybody in each, where people also leave."""

    folder: Path
    releases: Sequence[Path]
    originals: Sequence[Path]
    policy: Policy
    leave: bool

    @classmethod
    def of(cls, folder: Path, originals: Sequence[Path], policy: Policy) -> SeriesSubject:
        """Recount a series; ``VerificationError`` where it breaks a promise."""
        releases = SeriesFolder.open(folder).releases
        if not verify_series(folder).ok:
            raise VerificationError(f"{folder}: breaks a promise or was changed; sfumato verify says which")
        read = [ReadRelease.of(path) for path in releases]
        leave = any(one.published.invented or (one.place is not None and one.place.way == WITHDRAWAL) for one in read)
        if policy.columns.person is not None:
            raise PolicyError("policy: people have several records; sfumato series attack tells of such a series")
        if leave and len(policy.columns.identifying) != 1:
            raise PolicyError("policy: people leave this series; name the one identifying column that says who is who")
        return cls(folder, releases, originals, policy, leave)

    def people(self) -> Table:
        """Read everybody who is in the last release."""
        columns, names = self.policy.columns, list(self.policy.columns.identifying)
        # Names stay until all are read together, to tell whether anybody stands there twice.
        shown = columns.model_copy(update={"identifying": (), "insensitive": (*columns.insensitive, *names)})
        policy = self.policy.model_copy(update={"columns": shown})
        frames = [policy.read(path).frame for path in (self.originals[-1:] if self.leave else self.originals)]
        # Each table has categories of its own.
        frames = [one.cast({pl.Enum: pl.String, pl.Categorical: pl.String}) for one in frames]
        frames = [one.with_columns(pl.col(names).cast(pl.String)) for one in frames]
        return read_table(pl.concat(frames, how="vertical_relaxed"), self.policy.to_schema())

    def results(self) -> tuple[list[AttackResult], dict[str, str]]:
        """Play what joins the releases; return the results, and why others were not played."""
        if len(self.releases) < 2:
            return [], {"series": "one release is no series yet"}
        if self.leave:
            key = next(iter(self.policy.columns.identifying))
            found = attack_with_keys(self.releases, self.originals, key, self.policy)
        else:
            found = attack_releases(self.releases, self.originals, self.policy)
        results = [_joined(one, found) for one in found.played if one.cases]
        return results, {
            f"series: {one.attack}": one.unplayed or "it is about nobody here" for one in found.played if not one.cases
        }


def _joined(played: Played, found: SeriesAttacks) -> AttackResult:
    """Write an attack on a series as those on one release; guessing and one release alone leave what is promised."""
    least = {name: number for name in ("least_rows", "least_values") if (number := getattr(played, name)) is not None}
    return AttackResult(
        f"series: {played.attack}",
        f"what others may know of one person, and in which of the {found.releases} releases the person is",
        f"who are left fewer {found.counts}s than the {found.promised} that each release promises",
        Rate(played.below, played.cases, 0.0),
        None if played.by_chance is None else Rate(played.by_chance, played.cases, 0.0),
        figures={"promised": found.promised, **least, "left_one_or_none": played.alone},
        helps="a series: sfumato series start",
        certainty=Certainty(played.below),
    )
