"""What reports and receipts say, as plain values, and the page that shows it: no script, no network."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import import_module, resources
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from sfumato.anonymizers.clustering.bounds import lower_bound
from sfumato.errors import PolicyError, SfumatoError, VerificationError, raise_all
from sfumato.evaluation.attacks import CRITERIA
from sfumato.evaluation.attacks.placement import place_people
from sfumato.evaluation.attacks.play import Attacks, attack
from sfumato.evaluation.attacks.protocol import AttackResult
from sfumato.evaluation.losses import measure
from sfumato.evaluation.risk.adversaries import DEFAULT
from sfumato.evaluation.risk.measure import Sample, risk
from sfumato.evaluation.risk.report import RiskReport
from sfumato.evaluation.utility.answers import query_workload
from sfumato.evaluation.utility.describe import describe
from sfumato.evaluation.utility.measure import Utility, measure_utility
from sfumato.evidence.context import Decision, abridge, log_in_words
from sfumato.evidence.standards import annex_section, texts
from sfumato.evidence.subgroups import (
    CellChanges,
    cell_changes,
    starred_shares,
    subgroup_losses,
    suppressed_subgroups,
)
from sfumato.metrics import Losses
from sfumato.models import known_model, known_models
from sfumato.models.protocol import Outcome, entry_words, least_class_size, limits_of_values, says, smallest_allowed
from sfumato.numbers import counted, figure, percent
from sfumato.policy.policy import Policy
from sfumato.progress import Progress, silent
from sfumato.published import BucketizedTables, Published, PublishedTable
from sfumato.published.checks.generalized import Verification
from sfumato.published.checks.people import limits_of_people
from sfumato.published.protocol import roles_of
from sfumato.registry import OWN_KINDS
from sfumato.release.agreement import PublishedPolicy
from sfumato.release.anonymize import population_of
from sfumato.release.description import Description, build_model, versions
from sfumato.release.release import Release, audit_file
from sfumato.release.reports import loss_figures
from sfumato.release.signature import hashes_of_files
from sfumato.release.transaction import SIGNATURE
from sfumato.release.verify import verify
from sfumato.table.encoding import encode
from sfumato.table.schema import Kind, Schema, text_of
from sfumato.table.table import Table

_DIGITS = 6
LEAST = 10
"""Original records that a subgroup must have to be reported."""

_QUERIES, _FEW = 500, 20
_LOOSE = 0.001  # φ² below which two columns hardly go together, so that its ratio says nothing
_GUESS = "attribute-inference"
_NO_GUESS = (
    "no attack guesses {name}, of which no promise speaks, in this kind of release; call it sensitive in another "
    "policy, and play: sfumato attack TABLE --policy OTHER --hold-out 0.2"
)


@dataclass(frozen=True, eq=False, repr=False)
class ReportedRelease:
    """A release that was opened and recounted, with what a report needs of its original."""

    release: Release | Path | str | Published  # in memory, a folder, the URL of a database, or a table of others
    published: Published
    description: Description
    verification: Verification  # recounted now, from the release alone
    policy: PublishedPolicy  # the release's own edition
    full_policy: Policy | None  # the steward's
    files: Mapping[str, str]  # name of each data file, and its sha256; empty for a release in memory
    original: Table | None
    control: Table | None
    earlier: Sequence[Release | Path | str]  # earlier releases of the same people

    @property
    def several(self) -> bool:
        """Tell whether people may have several records: a column says who they are, and nobody counted one each."""
        return self.description.people is not None and not (self.original is not None and _is_one_each(self.original))


def _is_one_each(original: Table) -> bool:
    return original.people is not None and len(np.unique(original.people)) == original.frame.height


@dataclass(frozen=True)
class ReportOptions:
    """What to measure: attacks, the lower bound; and how; and what was decided on the way."""

    attacks: bool | float  # seconds that they may take
    bound: bool
    seed: int | None
    threads: int
    progress: Progress
    decisions: Sequence[Decision] = ()


def report_content(subject: ReportedRelease, wishes: ReportOptions) -> dict[str, Any]:
    """Measure everything, and return it as plain values."""
    wishes.progress("risk", 1, 5)
    risks = _risks(subject)
    wishes.progress("losses", 2, 5)
    losses = _losses(subject)
    wishes.progress("utility", 3, 5)
    utility = _kept(subject, wishes)
    wishes.progress("attacks", 4, 5)
    attacks = _attacks(subject, wishes)
    wishes.progress("writing", 5, 5)
    return {
        "made": datetime.now(UTC).date().isoformat(),
        **_occasion(subject),
        "kind": {"name": subject.published.kind, "meaning": texts("kinds").get(subject.published.kind, "")},
        "method": method_in_words(subject),
        "records": _records(subject),
        "columns": columns_content(subject),
        "others": None if subject.original is None else subject.original.schema.others,
        "dropped": [] if subject.original is None else list(subject.original.dropped),
        "unprotected": _unprotected(subject),
        "promises": _promises(subject),
        "uncovered": [str(each) for each in subject.verification.uncovered],
        "recounted_from": _recounted_from(subject),
        "risk": risks,
        **_people(subject),
        **_repeated_key(subject.original, subject.published, subject.description, subject.policy),
        "one_each": _one_each(subject.original),
        "attacks": attacks,
        "losses": losses,
        "bound": _bound(subject, losses, wishes),
        "utility": utility,
        "described": _described(subject),
        "purpose_figures": _purpose_figures(subject, utility, wishes.seed),
        "suppression": _suppression(subject),
        "subgroups": _subgroups(subject),
        "earlier": _earlier(subject, wishes),
        "limits": report_limits(subject.published, subject.description, subject.policy),
        "files": dict(subject.files),
        "goes": recipient_files(subject.release),
        "stays": _stays(subject),
        "versions": versions(),
        "policy": subject.full_policy.to_toml() if subject.full_policy else subject.policy.text or "",
        "published_policy": subject.policy.text or "",
        **decisions_content(wishes),
    }


def decisions_content(wishes: ReportOptions) -> dict[str, Any]:
    """Return what was decided on the way, and what the times of it are worth."""
    found = [decision.to_dict() for decision in wishes.decisions]
    return {"decisions": found, "log": log_in_words(found) if found else ""}


def report_limits(published: Published, description: Description, policy: PublishedPolicy) -> list[str]:
    """Say what a release does not protect against."""
    sensitive = tuple(description.sensitive)
    models = list(filter(None, map(build_model, description.models)))
    of_people = () if description.people is None else limits_of_people(models, sensitive)
    options = (policy.algorithm() or ("", {}))[1]
    blind = bool(options.get("blind")) or options.get("split") == "blind"
    return [*published.limits, *limits_of_values(models, sensitive, blind=blind), *of_people, *LIMITS]


def refuse_broken(verification: Verification) -> None:
    """Raise VerificationError with every check that forbids writing a report."""
    wrong = [check for check in verification.checks if check.outcome is Outcome.BROKEN]
    if wrong:
        raise VerificationError(
            *(f"{check.promise}: {check.outcome}; {check.detail}" for check in wrong),
            "no report is written about a release that breaks its promises or was changed",
        )


def _occasion(subject: ReportedRelease) -> dict[str, Any]:
    policy = subject.full_policy
    stated = policy.context or policy if policy else None
    return {"purpose": stated and stated.purpose, "recipient": stated and stated.recipient}


def method_in_words(subject: ReportedRelease) -> str | None:
    """Say which anonymizer made the release, and what it does; where the steward left the choice, that it was taken."""
    from sfumato.anonymizers import ANONYMIZERS, PUBLISHERS

    named = subject.policy.algorithm()
    if named is None:
        return None
    name = named[0]
    made = next((registry[name] for registry in (ANONYMIZERS, PUBLISHERS) if name in registry), None)
    words = (made.__doc__ or "").partition("\n")[0].rstrip(".")
    asked = None if subject.full_policy is None else subject.full_policy.anonymizer
    asked_name = getattr(asked, "name", name)
    taken = f", which {asked_name} took for this table" if asked_name != name else ""
    return f"{name}{taken}{f': {words[:1].lower()}{words[1:]}' if words else ''}"


def _records(subject: ReportedRelease) -> dict[str, Any]:
    original = None if subject.original is None else subject.original.frame.height
    return {"original": original, "published": subject.verification.records}


def columns_content(subject: ReportedRelease) -> list[dict[str, Any]]:
    """List every column with its role, what happens to it, and its hierarchy."""
    table = subject.original
    if table is None:
        published = [name for frame in subject.published.tables.values() for name in frame.columns]
        sensitive = dict.fromkeys(subject.description.sensitive, "sensitive")
        quasi = dict.fromkeys(subject.description.structure.get("quasi_identifying", ()), "quasi-identifying")
        added = getattr(subject.published, "added", ())
        roles = {
            name: {**quasi, **sensitive}.get(name, "insensitive")
            for name in dict.fromkeys(published)
            if name not in added
        }
        return [_column(subject, name, role, None) for name, role in roles.items()]
    codes = encode(table)
    encoded = {attribute.name: attribute for attribute in (*codes.attributes, *codes.sensitive)}
    roles = {
        **dict.fromkeys(table.schema.identifying, "identifying"),
        **dict.fromkeys(table.schema.quasi_identifying, "quasi-identifying"),
        **dict.fromkeys(table.schema.sensitive, "sensitive"),
        **dict.fromkeys(table.schema.insensitive, "insensitive"),
    }
    roles = {**dict.fromkeys(table.schema.key_columns, "identifying"), **roles}
    return [_column(subject, name, role, encoded.get(name)) for name, role in roles.items()]


def _column(subject: ReportedRelease, name: str, role: str, attribute: Any) -> dict[str, Any]:
    hierarchy = None if attribute is None else attribute.hierarchy
    uncovered = {each.column for each in subject.verification.uncovered if each.name == "sensitive"}
    columns = [frame[name] for frame in subject.published.tables.values() if name in frame.columns]
    done = cell_changes(columns[0], attribute) if columns else None
    return {
        "name": name,
        "role": role,
        "treatment": _treatment(role, done, _untouched(subject, name, columns), is_covered=name not in uncovered),
        "is_bounded": role == "sensitive" and name not in uncovered,
        "kind": _kind_of(subject.original, name, attribute),
        "distinct": _distinct(subject.original, name, attribute),
        "published": columns[0].n_unique() if columns else None,
        **{
            key: getattr(done, key) if isinstance(subject.published, PublishedTable) and done is not None else None
            for key in ("changed", "typical", "largest")
        },
        "levels": None if hierarchy is None else len(hierarchy.levels),
    }


def _kind_of(original: Table | None, name: str, attribute: Any) -> str | None:
    if attribute is not None or original is None or name not in original.frame.columns:
        return None if attribute is None else str(attribute.kind)
    dtype = original.frame.schema[name]
    return str(Kind.NUMERIC if dtype.is_numeric() else Kind.DATE if dtype == pl.Date else Kind.CATEGORICAL)


def _distinct(original: Table | None, name: str, attribute: Any) -> int | None:
    if attribute is not None:
        return int(attribute.cardinality)
    is_there = original is not None and name in original.frame.columns
    return original.frame[name].n_unique() if original is not None and is_there else None


def _untouched(subject: ReportedRelease, name: str, columns: Sequence[pl.Series]) -> str:
    """Say what cells are that are no interval, no group and no star."""
    known = subject.original is not None and subject.published.kind == "generalized-table"
    if known and columns and name in subject.original.frame.columns:  # type: ignore[union-attr]
        before, after = (text_of(one).unique() for one in (subject.original.frame[name], columns[0]))  # type: ignore[union-attr]
        if after.is_in(before.implode(), nulls_equal=True).all():
            return "unchanged: every cell is a value of the original"
    return str(texts("untouched").get(subject.published.kind, "every cell is a single value"))


def _treatment(role: str, done: CellChanges | None, untouched: str, *, is_covered: bool) -> str:
    """Say what was done to a column, from its published cells, and what its role promises."""
    if role == "identifying" or done is None:
        return str(texts("roles")["identifying" if role == "identifying" else "unpublished"])
    words = [
        f"{what} in {percent(share, 3)} of the cells"
        for what, share in (("intervals", done.intervals), ("groups of values", done.groups), ("*", done.suppressed))
        if share
    ]
    rest = ["; the other cells are single values"] if done.changed < 1 else []
    cells = "".join([", ".join(words), *rest]) if words else untouched
    more = texts("roles")["uncovered" if role == "sensitive" and not is_covered else role]
    return f"{cells}; {more}" if more else cells


def _unprotected(subject: ReportedRelease) -> list[dict[str, str | None]]:
    """List the columns that no promise speaks of; of those of which nobody said `publish` with what they look like."""
    names = roles_of(subject.published).unprotected
    table = subject.original
    names_to_publish = () if table is None else table.schema.publish
    sentences = {
        name: table.look(name).sentence() for name in names if table is not None and name not in names_to_publish
    }
    return [{"name": name, "looks": sentences.get(name) or None} for name in names]


def _promises(subject: ReportedRelease) -> list[dict[str, Any]]:
    models = list(subject.description.models)
    # By name and parameters first: several promises may have one name.
    known = {entry_words(each): promise_in_words(each) for each in models}
    known |= {str(each.get("name")): promise_in_words(each) for each in models}
    if isinstance(subject.published, PublishedTable) and subject.published.pseudonyms is not None:
        known["fingerprints"] = subject.published.pseudonyms.sentence()
    return promises_content(subject.verification, known)


def promises_content(verification: Verification, known: Mapping[str, str]) -> list[dict[str, Any]]:
    """List every check with what came of it; `known`: what each model promises, in words, by its name."""
    return [
        {
            "promise": check.promise,
            "meaning": next((words for name, words in known.items() if check.promise.startswith(name)), ""),
            "outcome": str(check.outcome),
            "achieved": [str(value) for value in check.achieved],
            "detail": check.detail,
        }
        for check in verification.checks
    ] + [
        {
            "promise": wishes.promise,
            "meaning": texts("wishes")[wishes.letter],
            "outcome": str(wishes.outcome),
            "achieved": [],
            "detail": wishes.detail,
        }
        for wishes in verification.wishes
    ]


def _risks(subject: ReportedRelease) -> dict[str, Any] | None:
    """Measure risk before and after, for kinds of release whose records can be grouped by their published values."""
    # None where people have several records: what is counted here are records.
    if subject.several:
        return None
    found: dict[str, Any] = {}
    original, policy = subject.original, subject.full_policy
    own = None if policy is None or policy.context is None else policy.context.threshold
    more = {0.33, *(() if own is None else (own.value,))} - {0.09, 0.2}
    limits: Any = (*DEFAULT, *sorted(more))
    everybody = None if original is None or policy is None else population_of(original, policy)
    if original is not None:
        found["before"] = _risk_figures(risk(original, population=everybody, combinations=1, thresholds=limits))
        found["before"] |= _at_both_ends(policy, original, original.frame.height)
    if isinstance(subject.published, PublishedTable | BucketizedTables):
        shown = subject.published.data if isinstance(subject.published, PublishedTable) else subject.published.quasi
        recoding = None if everybody is None else subject.policy.recoding()
        by: dict[str, Any] = {"quasi_identifying": subject.published.quasi_identifying, "combinations": 1}
        after = risk(shown, population=everybody, recoding=recoding, thresholds=limits, **by)
        found["after"] = _risk_figures(after)
        found["after"] |= _at_both_ends(policy, shown, shown.height, **by)
    return found or None


def _at_both_ends(policy: Policy | None, table: Any, records: int, **more: Any) -> dict[str, Any]:
    """Return the journalist's risk at both ends of the population that the policy states; nothing where none is."""
    stated = policy.context.population if policy and policy.context else None
    if policy is None or stated is None or not records:
        return {}
    if stated.least < records:
        raise PolicyError(f"context.population.least: is below the {records:,} records of the table")
    found = []
    for people in dict.fromkeys((stated.least, stated.most)):
        sample = Sample(sampling_fraction=records / people)
        report = risk(table, sample=sample, **{"combinations": 1, **more}).journalist
        assert report is not None
        found.append({"people": people, "highest": report.highest, "average": report.average})
    return {"population": found}


def _recounted_from(subject: ReportedRelease) -> str:
    with_audit = subject.description.people == "audit" and subject.verification.people is not None
    return "the published data and the steward's audit file" if with_audit else "the published data"


def _people(subject: ReportedRelease) -> dict[str, Any]:
    """Return the risk of people who have several records; without figures where it is not known who is who."""
    if not subject.several:
        return {}
    found = subject.verification.people
    if found is None:
        return {"people": {}}
    figures = {"highest": found.largest_share, "average": subject.verification.classes / found.people}
    if subject.original is None:
        return {"people": figures}
    before = risk(subject.original, combinations=1).prosecutor
    return {"people": {**figures, "before": {"highest": before.highest, "average": before.average}}}


def _risk_figures(report: RiskReport) -> dict[str, Any]:
    prosecutor = report.prosecutor
    return {
        "highest": prosecutor.highest,
        "average": prosecutor.average,
        "unique": report.sample_uniques,
        "smallest": round(1 / prosecutor.highest),
        "records": report.keys.height,
        "classes": report.keys.count,
        "above": [
            {
                "threshold": str(threshold),
                "source": threshold.source,
                "records": above.records,
                "share": above.share,
            }
            for threshold in report.thresholds
            for above in [prosecutor.above(threshold)]
        ],
        **(
            {"journalist": {"highest": found.highest, "average": found.average}} if (found := report.journalist) else {}
        ),
    }


def _losses(subject: ReportedRelease) -> dict[str, Any] | None:
    if isinstance(subject.release, Release):
        losses = getattr(subject.release.report, "losses", None)
    elif subject.original is not None and isinstance(subject.published, PublishedTable):
        data = subject.release.data if isinstance(subject.release, PublishedTable) else subject.release
        assert not isinstance(data, Published)
        losses = measure(subject.original, data, recoding=subject.policy.recoding())
    else:
        losses = None
    return loss_figures(losses, _DIGITS) if isinstance(losses, Losses) else None


def _bound(
    subject: ReportedRelease, losses: Mapping[str, Any] | None, wishes: ReportOptions
) -> dict[str, float] | None:
    size = least_class_size(known_models(subject.description.models))
    if not (wishes.bound and subject.original is not None and losses and size):
        return None
    wishes.progress("lower bound", 2, 5)
    least = lower_bound(encode(subject.original), size, threads=wishes.threads)
    ratio = losses["normalized_ncp"] / least if least else None
    return {"normalized_ncp": least, **({} if ratio is None else {"ratio": ratio})}


def _kept(subject: ReportedRelease, wishes: ReportOptions) -> dict[str, Any] | None:
    if subject.original is None:
        return None
    try:
        queries = query_workload(subject.original, _QUERIES, seed=wishes.seed)
    except PolicyError:
        # Nothing can be asked of a table whose columns have no value.
        return None
    utility: Utility = measure_utility(
        subject.release,
        subject.original,
        workload=queries,
        classifiers=(),
        seed=wishes.seed,
    )
    return utility.to_dict()


def _described(subject: ReportedRelease) -> list[dict[str, Any]]:
    """Return mean, standard deviation and Gini of columns of numbers and dates, before and after; no single value."""
    if subject.original is None:
        return []
    columns = describe(subject.release, subject.original, progress=silent).to_dict()["columns"]
    figures = ("mean", "deviation", "gini")
    return [
        {"column": each["column"]}
        | {side: {name: each[side]["numbers"][name] for name in figures} for side in ("before", "after")}
        for each in columns
        if each["before"]["numbers"] and each["after"]["numbers"]
    ]


def _attacks(subject: ReportedRelease, wishes: ReportOptions) -> dict[str, Any] | None:
    original = subject.original
    if original is None or not wishes.attacks:
        return None
    start = monotonic()
    played: Attacks = attack(
        subject.release,
        original,
        control=subject.control,
        seed=wishes.seed,
        threads=wishes.threads,
        within=None if isinstance(wishes.attacks, bool) else wishes.attacks,
    )
    left = None if isinstance(wishes.attacks, bool) else wishes.attacks - (monotonic() - start)
    results, unplayed = list(played.results), dict(played.unplayed)
    for name in roles_of(subject.published).unprotected:
        if name in original.schema.insensitive:
            _guess(subject, original, name, replace(wishes, attacks=True if left is None else left), results, unplayed)
    found = replace(played, results=tuple(results), unplayed=unplayed)
    return {**found.to_dict(), "results": [result_content(one) for one in _by_weight(results)]}


def _guess(
    subject: ReportedRelease,
    original: Table,
    name: str,
    wishes: ReportOptions,
    results: list[AttackResult],
    unplayed: dict[str, str],
) -> None:
    """Guess a column that no promise speaks of as if it were sensitive; add the result, or why there is none."""
    attack_name = f"{_GUESS}: {name}"
    published, within = subject.published, None if wishes.attacks is True else float(wishes.attacks)
    if not isinstance(published, PublishedTable) or (within is not None and within <= 0):
        late = within is not None and within <= 0
        reason = "was not begun in the time that was given" if late else _NO_GUESS.format(name=name)
        unplayed[attack_name] = reason
        return
    tables = [None if one is None else _with_secret(one, name) for one in (original, subject.control)]
    assert tables[0] is not None
    try:
        played = attack(
            PublishedTable(published.data, published.quasi_identifying, (name,)),
            tables[0],
            attacks=_GUESS,
            control=tables[1],
            recoding=subject.policy.recoding(),
            seed=wishes.seed,
            threads=wishes.threads,
        )
    except SfumatoError as error:
        unplayed[attack_name] = "; ".join(problem.removeprefix(f"{_GUESS}: ") for problem in error.problems)
        return
    results += [replace(one, attack=attack_name) for one in played.results]


def _with_secret(table: Table, *hidden: str) -> Table:
    """Take columns for those that an attacker wants to know."""
    schema, names = table.schema, [*table.schema.quasi_identifying, *hidden]
    kinds = {each: table.kinds[each] for each in schema.quasi_identifying}
    for name in hidden:
        kinds[name] = Kind(_kind_of(table, name, None) or Kind.CATEGORICAL)
    quasi = schema.quasi_identifying
    secret = Schema(quasi_identifying=quasi, sensitive=hidden, others="drop", person=schema.person)
    return replace(table, frame=table.frame.select(names), schema=secret, kinds=kinds, orders={}, codes={})


def attacks_content(
    kind: str, results: Sequence[AttackResult], unplayed: Mapping[str, str], people: int, control: int | None
) -> dict[str, Any]:
    """Write results of attacks as :class:`~sfumato.evaluation.attacks.play.Attacks` writes them."""
    played = Attacks(kind, people, control, tuple(results), unplayed, people)
    return {**played.to_dict(), "results": [result_content(one) for one in _by_weight(results)]}


def _by_weight(results: Sequence[AttackResult]) -> list[AttackResult]:
    """Sort attacks that succeed first, then those that are undecided; of each, those that no promise allows."""
    return sorted(results, key=lambda result: (not result.succeeds, not result.is_undecided, result.is_allowed))


def result_content(result: AttackResult) -> dict[str, Any]:
    """Write one result, with what the page asks of it."""
    found = result.to_dict() | (_PREDICATES if result.attack == "singling-out" else {})
    surest = _first(found.get("curve"))
    first = surest if not result.success.people else None
    about = re.match(r"whose (?!record )(?:generalized )?(.+?) (?:was|is) ", result.goal)
    return {
        **found,
        "guessing": found["success"]["baseline"] if first is None else first["inside"]["baseline"],
        "is_allowed": bool(result.is_allowed),
        "needed": result.needed,
        "surest": _surest(found.get("curve")),
        "first": surest,
        "basis": _basis(found, surest),
        "label": f"{result.attack} of {about[1]}" if about and ":" not in result.attack else result.attack,
    }


def _basis(result: Mapping[str, Any], first: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the figures by which an attack is compared: of the surest, where these are higher, else of all."""
    surest = {} if first is None or result["attack"] == "homogeneity" else {**first["inside"], "surest": " surest"}
    figures = max(result["success"], surest, key=lambda one: round(one["share"], 3) if one.get("people") else -1)
    goal = result["goal"].replace(" with certainty", " rightly" if "surest" in figures else " with certainty")
    who = f"{figures['people']:,}{figures.get('surest', '')} {result['counts']}"
    gain = figures["share"] - figures["baseline"]
    return {**figures, "who": who, "goal": goal, "gain": gain} if figures["people"] else None


def _suppression(subject: ReportedRelease) -> dict[str, Any] | None:
    if not isinstance(subject.published, PublishedTable):
        return None
    found: dict[str, Any] = {"attributes": starred_shares(subject.published)}
    if subject.original is not None:
        recoding = subject.policy.recoding()
        groups = suppressed_subgroups(subject.published, subject.original, recoding, LEAST)
        found["subgroups"] = [group.to_dict() for group in groups]
    return found


def _subgroups(subject: ReportedRelease) -> list[dict[str, Any]]:
    """Return what is lost of each subgroup, and how likely somebody of it is found; of records, not of people."""
    published, original = subject.published, subject.original
    if not isinstance(published, PublishedTable) or original is None or subject.several:
        return []
    return [vars(one) for one in subgroup_losses(published, original, subject.policy.recoding(), LEAST)]


def _earlier(subject: ReportedRelease, wishes: ReportOptions) -> list[dict[str, Any]]:
    """Play the intersection of each earlier release with this one, if there is an original to judge by."""
    found = []
    for release in subject.earlier:
        name = release.name if isinstance(release, Path) else repr(release)
        holds = verify(release).ok
        entry: dict[str, Any] = {"release": name, "holds": holds}
        if subject.original is not None and wishes.attacks and subject.description.sensitive:
            played = attack(
                subject.release,
                subject.original,
                attacks="intersection",
                earlier=release,
                seed=wishes.seed,
                threads=wishes.threads,
            )
            entry["attacks"] = [result_content(result) for result in played.results]
        found.append(entry)
    return found


def render(content: Mapping[str, Any], drawings: Mapping[str, str], page: str = "page.html") -> str:
    """Fill in a page; everything but drawings is escaped. Raises ``PolicyError`` when Jinja is not installed."""
    jinja = _jinja()
    environment = jinja.Environment(
        loader=jinja.FunctionLoader(_template),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja.StrictUndefined,
    )
    environment.globals["section"] = annex_section
    environment.filters.update(
        percent=_percent, within=abridge, width=_width, figure=_figure, count=_count, told=_text_of
    )
    safe = {name: import_module("markupsafe").Markup(svg) for name, svg in drawings.items()}
    return str(environment.get_template(page).render(**content, drawings=safe))


def _template(name: str) -> str:
    return resources.files("sfumato.evidence").joinpath(name).read_text(encoding="utf-8")


def _text_of(value: float | str | None) -> str:
    return value if isinstance(value, str) else _figure(value)


def _percent(share: float | None) -> str:
    return "–" if share is None else percent(share, 3)


def _figure(value: float | None) -> str:
    return "–" if value is None else figure(value, 4)


def _width(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4g}"


def _count(number: object) -> str:
    return f"{number:,}" if isinstance(number, int) else "–" if number is None else str(number)


def _jinja() -> Any:
    try:
        return import_module("jinja2")
    except ImportError:
        raise PolicyError(
            "report: Jinja is not installed; install what reports need with: pip install 'sfumato[report]'"
        ) from None


_PREDICATES = {"counts": "groups", "goal": "in which a predicate, one for each group, fits exactly one person"}
"""What singling out counts, and wants."""

LIMITS = (
    "The promises hold against somebody who knows the quasi-identifying columns of people, and nothing more. Somebody "
    "who knows more may learn more.",
    "A second release of the same people can break what each release alone keeps.",
    "Attacks that were not played, or fail today, may work tomorrow. An attack that does not succeed here is no proof.",
)


def promise_in_words(entry: Mapping[str, Any]) -> str:
    """Say what a privacy model promises, from its name and parameters; its name if it is unknown."""
    model = known_model(entry)
    return str(entry.get("name")) if model is None else says(model).sentence()


def _one_each(original: Table | None) -> str | None:
    """Say that the original has one record for each person, by a column that was counted."""
    if original is not None and _is_one_each(original):
        key = ", ".join(original.schema.key_columns)
        return f"The original has {original.frame.height:,} people, one record each (counted by {key})."
    if original is None or original.people is not None or original.repeated is not None or not original.unique_keys:
        return None
    names = original.unique_keys
    which = names[0] if len(names) == 1 else f"one of {', '.join(names)}"
    return (
        f"The original has one record per person, if {which} says who somebody is: all "
        f"{original.frame.height:,} values differ (counted)."
    )


def recipient_files(release: object) -> list[dict[str, str | None]]:
    """List what goes to the recipient, file by file: name, what it holds, sha256; nothing where there is no folder."""
    if not isinstance(release, str | Path) or not Path(release).is_dir():
        return []
    hashes = hashes_of_files(Path(release))
    names = [*hashes, *([SIGNATURE] if (Path(release) / SIGNATURE).is_file() else [])]
    holds = texts("files")
    known = [*holds]
    place = {name: known.index(Path(name).name) if Path(name).name in holds else -1 for name in names}
    return [
        {"name": name, "holds": holds.get(Path(name).name, "published data"), "sha256": hashes.get(name)}
        for name in sorted(names, key=lambda name: (name.count("/"), place[name]))
    ]


def _stays(subject: ReportedRelease) -> list[dict[str, str]]:
    """List what stays with the steward, as far as it is known here."""
    tables = (("the original", subject.original), ("people who are not in the data", subject.control))
    found = [{"what": what, "name": Path(table.source).name} for what, table in tables if table is not None]
    if subject.description.people == "audit":
        found.append({"what": "who is who in the release", "name": _audit_name(subject.release)})
    return found


def _audit_name(release: object) -> str:
    return audit_file(Path(release)).name if isinstance(release, str | Path) else "the audit file"


def _purpose_figures(subject: ReportedRelease, utility: Mapping[str, Any] | None, seed: int | None) -> Any:
    """Return what the columns that the purpose names lost; None where it names none, or nothing was measured."""
    stated = None if subject.full_policy is None else subject.full_policy.context
    original, published = subject.original, subject.published
    if stated is None or not stated.purpose_columns or utility is None or original is None:
        return None
    named = stated.purpose_columns
    known = {*original.schema.quasi_identifying, *original.schema.sensitive, *original.schema.insensitive}
    raise_all(
        PolicyError,
        [f"context.purpose_columns: {name!r} is no column of the release" for name in named if name not in known],
    )
    kept = [utility["correlations"]]
    hidden = [name for name in named if name not in original.schema.quasi_identifying]
    if isinstance(published, PublishedTable) and hidden and {*hidden} <= {*published.data.columns}:
        table = PublishedTable(published.data, published.quasi_identifying, tuple(hidden))
        secret, recoding = _with_secret(original, *hidden), subject.policy.recoding()
        more = measure_utility(table, secret, classifiers=(), recoding=recoding, seed=seed)
        kept.append(more.to_dict()["correlations"])
    changes = {one["attribute"]: one["total_variation"] for each in kept for one in each["distributions"]}
    pairs = {tuple(one["attributes"]): (one["before"], one["after"]) for each in kept for one in each["associations"]}
    every = [{"columns": list(pair), "before": before, "after": after} for pair, (before, after) in pairs.items()]
    ratios = [{**one, "ratio": one["after"] / one["before"]} for one in every if one["before"] >= _LOOSE]
    return {
        "columns": [{"name": name, "distribution": changes.get(name)} for name in named],
        "pairs": [one for one in every if {*one["columns"]} <= {*named}],
        "unnamed": [
            name for frame in published.tables.values() for name in frame.columns if name in known and name not in named
        ],
        "lost": min((one for one in ratios if one["ratio"] < 1), key=lambda one: one["ratio"], default=None),
        "grew": max((one for one in ratios if one["ratio"] > 1), key=lambda one: one["ratio"], default=None),
    }


def _repeated_key(
    original: Table | None, published: Published, description: Description, policy: PublishedPolicy
) -> dict[str, Any]:
    """Say that a column repeats, and how few people classes have by it; nothing where none does."""
    # Classes are counted if their labels and sizes leave no doubt which records of the original they hold.
    repeated = None if original is None else original.repeated
    if original is None or repeated is None:
        return {}
    if not isinstance(published, PublishedTable):
        return {"repeated": repeated.sentence()}
    placed = place_people(published, original.frame, original.schema, policy.recoding())
    sure = np.flatnonzero(placed.filled)
    held = pl.DataFrame({"class": placed.class_of, "person": repeated.people}).filter(pl.col("class").is_in(sure))
    people = held.group_by("class").agg(pl.col("person").n_unique())["person"]
    if not len(people):
        return {"repeated": repeated.sentence()}
    k = smallest_allowed(known_models(description.models))
    few = int((people < k).sum())
    return {
        "repeated": f"{repeated.sentence()} By that column, {counted(len(people), 'class')} are known for sure. The "
        f"smallest has {counted(int(people.min()), 'person')}, and {few:,} have fewer than {k:,}."  # type: ignore[arg-type]
    }


# Three answers that data protection authorities ask for, of a release of any kind: by attacks that were played. Where
# nothing was played the answer says so, why, and what would play it.


class _Question(NamedTuple):
    """One of the three, which attacks are about it, what limits every answer, and what would play it."""

    asks: str
    attacks: tuple[str, ...]
    limits: tuple[str, ...]
    needs: str


QUESTIONS = {
    name: _Question(one["asks"], (*CRITERIA[name], *one["attacks"]), tuple(one["limits"]), one["needs"])
    for name, one in texts("questions").items()
}


def answers_content(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Answer the three questions from what a report found.

    Parameters
    ----------
    content
        Of one edition: ``kind``, ``records``, ``attacks``, ``earlier``, and ``together`` where it is there.

    Returns
    -------
    list of dict
        For each question what it asks, a sentence that answers it, the attacks that were played with their figures,
        those that were not with the reason, what several publications tell together, and limits. *Membership* is a
        fourth one, where an attack of this program is about it.
    """
    found = [{"question": name, **_answer(name, question, content)} for name, question in QUESTIONS.items()]
    return [one for one in found if one["question"] != "membership" or one["is_played"] or one["unplayed"]]


def _answer(name: str, question: _Question, content: Mapping[str, Any]) -> dict[str, Any]:
    results = [*_of_question(question, content), *(_of_earlier(content) if name == "linkability" else ())]
    played = [_as_played(one, source) for one, source in results if one["unplayed"] is None]
    unplayed = [{"attack": one["attack"], "why": one["unplayed"]} for one, _ in results if one["unplayed"] is not None]
    attacks = content["attacks"] or {"unplayed": {}}
    of_kind = {one: why for one, why in attacks["unplayed"].items() if one.partition(":")[0] in question.attacks}
    unplayed += [{"attack": one, "why": why} for one, why in of_kind.items()]
    together = content.get("together") if name == "linkability" else None
    joined = [] if together is None else [one["sentence"] for one in together["findings"]]
    if together is not None and not joined:
        joined = [f"Of {counted(len(together['published']), 'publication')}, none together tell more than fewer do."]
    is_played = bool(played or joined)
    return {
        "asks": question.asks,
        "sentence": (attacks_in_words(played) if played else joined[0])
        if is_played
        else _not_played(name, question, content, unplayed),
        "is_played": is_played,
        "attacks": [*dict.fromkeys(one["attack"] for one, source in results if not source)],
        "played": played,
        "joined": joined,
        "unplayed": unplayed,
        "limits": [*(_guessed(played, content) if name == "inference" else ()), *question.limits],
    }


def _guessed(played: Sequence[Mapping[str, Any]], content: Mapping[str, Any]) -> list[str]:
    """Say which columns attacks on inference were about."""
    more = [one["attack"].partition(": ")[2] for one in played if one["attack"].startswith(f"{_GUESS}: ")]
    names = [one["name"] for one in content["columns"] if one["role"] == "sensitive"] if played else []
    return [f"These attacks are about {', '.join(dict.fromkeys((*names, *more)))} alone."] if names or more else []


def _of_question(question: _Question, content: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    results = (content["attacks"] or {"results": ()})["results"]
    return ((one, "") for one in results if one["attack"].partition(":")[0] in question.attacks)


def _of_earlier(content: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    for one in content["earlier"]:
        yield from ((result, f" with {one['release']}") for result in one.get("attacks", ()))


def _as_played(result: Mapping[str, Any], source: str) -> dict[str, Any]:
    success, control = result["success"], result.get("control")
    within = ", within what is promised" if result["succeeds"] and result["is_allowed"] else ""
    return {
        "attack": f"{result['attack']}{source}",
        "knows": result["knows"],
        "goal": result.get("goal"),
        "headline": f"{result['headline']}{within}",
        "guessing": result["guessing"],
        "succeeds": result["succeeds"] and not result["is_allowed"],
        "allowed": result["allowed"],
        "success": success if success["people"] else None,
        "control": control if control and control["people"] else None,
        "surest": result["surest"],
        "notes": list(result["notes"]),
    }


def _surest(curve: Mapping[str, Any] | None) -> str:
    """Say how often the attacker is right about the first of those of whom they are surest."""
    first = _first(curve)
    if first is None or curve is None:
        return ""
    inside, others, bound = first["inside"], first.get("control"), curve["bound"]
    share, low, high, guessed = (percent(inside[key], 3) for key in ("share", "low", "high", "baseline"))
    more = f", of people who are not in the data {percent(others['share'], 3)}" if others and others["people"] else ""
    more += "" if bound is None else f"; promised at most {percent(bound, 3)}"
    return f"of the {inside['people']:,} surest {share} ({low} to {high}), by guessing {guessed}{more}"


def _first(curve: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the smallest share of the surest that has enough people, else the largest."""
    looks = [one for one in (curve or {"looks": ()})["looks"] if one["surest"] and one["inside"]["people"]]
    return next((one for one in looks if one["inside"]["people"] >= _FEW), looks[-1] if looks else None)


def attacks_in_words(played: Sequence[Mapping[str, Any]]) -> str:
    """Say how many attacks succeed, and which beyond a promise: one with several scores succeeds if one of them does.

    `played`: each score with ``attack``, ``headline``, and whether it ``succeeds`` beyond what is promised.
    """
    beating = {one["attack"] for one in played if one["headline"].startswith("succeeds")}
    doubtful = [one for one in played if one["headline"].startswith("undecided") and one["attack"] not in beating]
    above = [one for one in played if one["succeeds"]]
    bounded = [one for one in above if one.get("allowed") is not None]
    free, beyond, undecided = (
        ", ".join(as_known(played, some)) for some in ([one for one in above if one not in bounded], bounded, doubtful)
    )
    many = counted(len({one["attack"] for one in played}), "attack")
    if not beating:
        found = f"None of {many} {'is known to succeed' if undecided else 'succeeds'}"
    else:
        found = f"{len(beating)} of {many} {'succeeds' if len(beating) == 1 else 'succeed'}"
        found += f"; no promise limits {free}" if free else ""
        found += f"; beyond what a promise allows: {beyond}" if beyond else ""
        found += "" if free or beyond else ", all within what is promised"
    return f"{found}{f'; undecided: {undecided}' if undecided else ''}."


def as_known(played: Sequence[Mapping[str, Any]], some: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name attacks; one that was played with more and with less knowledge with what it knew here."""
    of: dict[str, list[str]] = {}
    for one in some:
        of.setdefault(one["attack"], []).append(one["knows"])
    named = {name: [(one["knows"], one.get("goal")) for one in played if one["attack"] == name] for name in of}
    several = {name for name, all_of_them in named.items() if len({*all_of_them}) > len({of for _, of in all_of_them})}
    return [f"{name} ({'; '.join(dict.fromkeys(of[name]))})" if name in several else name for name in of]


def _not_played(
    name: str, question: _Question, content: Mapping[str, Any], unplayed: Sequence[Mapping[str, str]]
) -> str:
    """Say why nothing was played, and what would play it."""
    kind = content["kind"]["name"]
    reason = OWN_KINDS[kind].unplayed.get(name) if kind in OWN_KINDS else None
    if reason is not None:
        return f"Not played: {reason}."
    if content["records"]["original"] is None:
        return "Not played: who is right is known by the original alone. The steward plays it with --original."
    if content["attacks"] is None:
        return "Not played: attacks were left out. Leave out --no-attacks to play them."
    reasons = "; ".join(dict.fromkeys(re.split(r" \(|;", one["why"])[0] for one in unplayed))
    return f"Not played{f': {reasons}' if reasons else ', as no attack is about it here'}. {question.needs}"
