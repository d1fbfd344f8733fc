"""The report on a release: one self-contained page for the steward, or the edition for others.

The edition for others holds no figure that was counted on the original, and no small count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from sfumato.drawing import COLOURS, canvas, canvases, svg_of
from sfumato.errors import InputError, PolicyError, raise_all, write_errors
from sfumato.evaluation.attacks.play import NAMES
from sfumato.evaluation.attacks.verdicts import Verdict
from sfumato.evidence.content import (
    LEAST,
    ReportedRelease,
    ReportOptions,
    answers_content,
    as_known,
    attacks_in_words,
    columns_content,
    method_in_words,
    promise_in_words,
    recipient_files,
    refuse_broken,
    render,
    report_content,
    report_limits,
    result_content,
)
from sfumato.evidence.context import ESTIMATED, OTHERS, Decision, context_content, law_content, review_content
from sfumato.evidence.intruder import read_score
from sfumato.evidence.standards import (
    annex_section,
    counts_in_words,
    glossary_of,
    page_questions,
    standards_content,
    texts,
)
from sfumato.models.protocol import Outcome
from sfumato.numbers import counted, percent
from sfumato.policy.parts import Context
from sfumato.policy.policy import Policy
from sfumato.progress import Progress, beating, shown, silent, thread_count
from sfumato.published.protocol import named
from sfumato.release.agreement import PublishedPolicy, policy_contradictions
from sfumato.release.description import versions
from sfumato.release.release import Release, audit_file
from sfumato.release.transaction import no_release
from sfumato.release.verify import open_folder, read_release, refuse_swapped, verify
from sfumato.table.databases.address import is_database
from sfumato.table.reading import read_with
from sfumato.table.schema import Schema
from sfumato.table.table import Table
from sfumato.table.writing import sha256_of
from sfumato.whole_files import PRIVATE, PUBLIC, write_whole

if TYPE_CHECKING:
    from sfumato.evidence.of_kinds import SeriesSubject

Edition = Literal["internal", "public"]


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseReport:
    """Everything about one release, for the data steward to read, sign and keep.

    Attributes
    ----------
    content : dict
        Plain values, with figures measured on the original.
    published : dict
        The edition for others: of two originals that publish the same table it is the same.
    annex : Path or None
        The page that was written before the short report, which names its sha256.
    """

    content: dict[str, Any]
    published: dict[str, Any]
    annex: Path | None = None

    def beside(self, files: Mapping[str, Path | None], annex: Path | None = None) -> ReleaseReport:
        """Return the same with files that stay with the steward, by what they hold, and the annex that was written."""
        named = [{"what": what, "name": path.name} for what, path in files.items() if path is not None]
        content = {**self.content, "stays": [*self.content["stays"], *named]}
        return replace(self, content=content, annex=annex)

    def to_dict(self, edition: Edition = "internal") -> dict[str, Any]:
        """Return plain values, for JSON: the same content as the page.

        Parameters
        ----------
        edition
            ``"internal"``: for the data steward alone. ``"public"``: without figures that were measured on the
            original, small counts masked.
        """
        if edition not in get_args(Edition):
            raise PolicyError(f"edition: must be one of {', '.join(get_args(Edition))}")
        shown = self.content if edition == "internal" else self.published
        content = {**shown, "edition": edition, "least": LEAST}
        return {**content, "summary": summary_of(content), "doubts": doubts_of(content)}

    def html(self, edition: Edition = "internal") -> str:
        """Return the page: one file without scripts or anything loaded from elsewhere. Needs Jinja and matplotlib."""
        content = self.to_dict(edition)
        drawings = _draw_report(content) if edition == "internal" else {}
        return render({**content, "glossary": glossary_of(render({**content, "glossary": {}}, drawings))}, drawings)

    def short_html(self, edition: Edition = "internal") -> str:
        """Return the short report, to be signed: four printed pages at most; :meth:`html` is its annex.

        What has no room is counted, and stands in the annex. Needs Jinja and matplotlib.
        """
        content = self.to_dict(edition)
        counts, tried = counts_in_words(content["standards"]), content.get("intruder") or {"sentences": ()}
        # Each of these stands under a heading of its own.
        elsewhere = {counts, *tried["sentences"], *_attacks(content["attacks"]), *_loss(content["losses"])}
        elsewhere |= {*_of_everything(content.get("together"))[:1]}
        said = [one for one in content["summary"] if one not in elsewhere and not one.startswith(ESTIMATED)]
        annex = None if self.annex is None else {"name": self.annex.name, "sha256": sha256_of(self.annex)}
        left = open_points(content)
        points = {
            "open": left,
            "standards_in_words": counts,
            "summary": said,
            "annex": annex,
        }
        # The annex explains attacks that were not played.
        shown = {"open": [one for one in left if not one.startswith(_UNPLAYED)], "glossary": {}}
        words = glossary_of(render({**content, **points, **shown}, {}, "short.html"))
        return render({**content, **points, "glossary": words}, {}, "short.html")

    def save(
        self, path: str | Path, edition: Edition = "internal", *, overwrite: bool = False, short: bool = False
    ) -> Path:
        """Write the page; or the short report, as Word under a name in ``.docx``; or, in ``.json``, the plain values.

        Raises
        ------
        InputError
            When the file already exists, or cannot be written.
        PolicyError
            When the page is to be a Word file and is not the short report, or python-docx is not installed.
        """
        target = Path(path)
        if target.exists() and not overwrite:
            raise InputError(f"{target}: already exists; name another file, or overwrite it")
        content: str | bytes
        if target.suffix == ".json":
            content = json.dumps(self.to_dict(edition), indent=2, ensure_ascii=False) + "\n"
        elif target.suffix != ".docx":
            content = (self.short_html if short else self.html)(edition) + "\n"
        elif short:
            from sfumato.evidence.word import word_of

            content = word_of(self.short_html(edition), self.content["made"])
        else:
            raise PolicyError("path: only the short report is written as a Word file; end the name in .html or .json")
        with write_errors(f"{target}: the report"):
            write_whole(target, content, PRIVATE if edition == "internal" else PUBLIC)
        return target

    def _repr_html_(self) -> str:
        """Show the page in a notebook."""
        return self.html()

    def __repr__(self) -> str:
        """Name the kind."""
        return f"ReleaseReport({self.content['kind']['name']})"

    def __str__(self) -> str:
        """Write the summary."""
        return "\n".join(self.to_dict()["summary"])


def report(
    release: Release | str | Path,
    original: Any = None,
    *,
    schema: Schema | None = None,
    policy: Policy | str | Path | None = None,
    control: Table | str | Path | None = None,
    earlier: Sequence[Release | str | Path] = (),
    attacks: bool | float = True,
    bound: bool = False,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = shown,
    decisions: Sequence[Decision] = (),
    intruder: str | Path | None = None,
) -> ReleaseReport:
    """Measure everything about a release, and put it on one page.

    Parameters
    ----------
    release
        A release folder of any kind, or a release of a table in memory. It is recounted first. Or a file with a table
        of records that another program published; `original` and `policy` say what its columns are. Or the folder of a
        series: then `original` are the files of those who came with each release, in order; where people also leave,
        of everybody in each.
    original
        The table it was made from; of other kinds its file. Without it, the report says nothing about risk before,
        attacks, and loss.
    schema
        The roles of the columns, where `original` is a file or a frame that was not read yet.
    policy
        The steward's own policy, for purpose and recipient, and to repeat the release. Of other kinds than tables its
        file, where it may also hold nothing but a section ``[context]``.
    control
        People who were not in the data, for the attacks; of other kinds than tables their file.
    earlier
        Earlier releases of the same people; or a file ``.toml`` that lists all that was published of them, tables of
        counts among it (see :func:`sfumato.evidence.together.read_publications`), which needs `original`.
    attacks
        Play the default set of attacks; or seconds that they may take, so that slow ones are cut and named as such.
    bound
        Compute how little any release of the table must lose; takes a while.
    seed
        For tests and studies; None draws from the operating system.
    threads
        None reads ``SFUMATO_THREADS``, else takes all cores.
    progress
        Called with (what, done, total).
    decisions
        What was decided on the way, for the internal edition.
    intruder
        The file that ``sfumato evidence score`` wrote of a person who tried, for the internal edition.

    Returns
    -------
    ReleaseReport

    Raises
    ------
    VerificationError
        When the release breaks a promise or was changed: nobody should sign that.
    InputError, PolicyError
        With everything that is wrong with the arguments.
    """
    from sfumato.evidence.of_kinds import broken_in_words, file_subject, is_file, is_own, is_series

    refuse_swapped(original, "report(release, original)")
    count, tried = thread_count(threads), None if intruder is None else read_score(intruder)
    wishes = ReportOptions(attacks, bound, seed, count, silent, tuple(decisions))
    if not isinstance(release, Release) and is_own(release):
        given = {"schema": schema, "earlier": earlier or None, "bound": bound or None}
        needless = [name for name, one in given.items() if one is not None]
        problems = [f"{name}: is for releases of tables; leave it out" for name in needless]
        problems += ["policy: name the file of the policy"] if isinstance(policy, Policy) else []
        raise_all(PolicyError, problems)
        file = None if policy is None else Path(str(policy))
        return beating(
            progress,
            "verifying",
            lambda beat: _own_report(release, (original, control), file, replace(wishes, progress=beat), tried),
        )
    stated = policy if isinstance(policy, Policy) else None
    series = _series(release, original, stated) if is_series(release) else None
    original = read_with(original, schema) if series is None else series.people()
    outside = control if isinstance(control, Table) else None
    tables = {"original": original, "control": control}
    wrong = [name for name, one in tables.items() if not isinstance(one, Table | None)]
    problems = [] if stated is policy else ["policy: must be a Policy; use Policy.from_file"]
    foreign = not is_database(release) and is_file(release)
    if foreign and not (isinstance(original, Table) and stated):
        problems.append("release: is a file; give the original and a policy that says what its columns are")
    raise_all(InputError, [*(f"{name}: is not a Table; use read_table" for name in wrong), *problems])

    def work(beat: Progress) -> ReleaseReport:
        beat("verifying", 0, 5)
        lists = [one for one in earlier if isinstance(one, str | Path) and Path(one).suffix == ".toml"]
        others = [one for one in earlier if one not in lists]
        if foreign and stated is not None and isinstance(original, Table):
            subject = replace(file_subject(Path(str(release)), original, stated, outside), earlier=_releases(others))
        else:
            subject = _subject(release if series is None else series.releases[-1], original, stated, outside, others)
        together = _together(subject, lists)
        content = report_content(subject, replace(wishes, progress=beat))
        content |= {
            "is_file": foreign,
            "limits": [*content["limits"], *(broken_in_words(subject.verification) if foreign else ())],
        }
        if series is not None:
            content = _with_series(content, series)
        # What the steward's policy asked for is not published; what was taken is.
        shown: dict[str, Any] = {"method": method_in_words(replace(subject, full_policy=None))}
        # Who is who stays with the steward, and with it whether anybody has several records.
        shown |= {} if subject.description.people is None else {"people": {}, "risk": None}
        public = public_edition({**content, **shown, "columns": columns_content(replace(subject, original=None))})
        joined = [] if together is None else together["published"][1:]
        stays = [*content["stays"], *({"what": "what was published of these people", "name": name} for name in joined)]
        content |= {"intruder": tried, "together": together, "stays": stays}
        return _both_editions(None if stated is None else stated.context, content, public)

    return beating(progress, "verifying", work)


def _series(folder: Release | str | Path, originals: Any, policy: Policy | None) -> SeriesSubject:
    from sfumato.evidence.of_kinds import SeriesSubject

    named = [originals] if isinstance(originals, str | Path) else originals
    files = isinstance(named, Sequence) and bool(named) and all(isinstance(one, str | Path) for one in named)
    if policy is None or not files:
        raise InputError("release: is a series; give the policy, and as original the files of who came, in order")
    return SeriesSubject.of(Path(str(folder)), [Path(one) for one in named], policy)


def _with_series(content: Mapping[str, Any], series: SeriesSubject) -> dict[str, Any]:
    """Add what all releases tell together to what the last one tells."""
    said = f"This page is about the last of {counted(len(series.releases), 'release')} of a series, all of which hold."
    goes, of_last = recipient_files(series.folder), series.releases[-1].name
    who = {"what": "who is who in the series, and who waits", "name": "the ledger of the series"}
    found = {
        **content,
        "limits": [said, *content["limits"]],
        "goes": goes,
        "stays": [
            *({"what": "the original", "name": path.name} for path in series.originals),
            *(one for one in content["stays"] if one["what"] != "the original"),
            who,
        ],
        "files": {f"{of_last}/{name}": digest for name, digest in content["files"].items()},
        "earlier": [{"release": path.name, "holds": True} for path in series.releases[:-1]],
    }
    if content["attacks"] is None:
        return found
    results, unplayed = series.results()
    attacks, left = content["attacks"], {*NAMES, "intersection"} if results else set()
    others = {name: reason for name, reason in attacks["unplayed"].items() if name not in left}
    joined = [*attacks["results"], *map(result_content, results)]
    return {**found, "attacks": {**attacks, "results": joined, "unplayed": {**others, **unplayed}}}


def _own_report(
    release: str | Path,
    people: tuple[Any, Any],
    policy: Path | None,
    wishes: ReportOptions,
    tried: dict[str, Any] | None,
) -> ReleaseReport:
    """Report on a release that is no table of records."""
    from sfumato.evidence.of_kinds import own_content, own_subject

    wishes.progress("verifying", 0, 5)
    subject = own_subject(Path(release), policy)
    content = own_content(subject, *people, wishes)
    return _both_editions(subject.context, {**content, "intruder": tried}, public_edition(content))


def _together(subject: ReportedRelease, lists: Sequence[str | Path]) -> dict[str, Any] | None:
    """Join the release with all that the lists name; None where there is no list."""
    from sfumato.evidence.together import joined, publication_of, read_publications

    if not lists:
        return None
    if subject.original is None:
        raise InputError("earlier: a list of what was published is joined only with the original; give it, too")
    others = [one for path in lists for one in read_publications(path, subject.original)]
    return joined([publication_of(subject.release, "this release"), *others], subject.original)


def _both_editions(context: Context | None, *editions: Mapping[str, Any]) -> ReleaseReport:
    internal, public = (_for_recipient(context, one) for one in editions)
    return ReleaseReport(internal, public)


def _for_recipient(context: Context | None, content: Mapping[str, Any]) -> dict[str, Any]:
    """Add what is assumed of the recipient, and what standards ask."""
    content = {"is_file": False, **content, "attacks": _one_list(content)}
    found = {**content, "answers": answers_content(content)}
    found["review"] = review_content(context, content, texts("events"))
    found |= {"context": None if context is None else context_content(context, content)}
    found["standards"] = standards_content(context, found)
    said = next((one for one in context.answers if one.question == OTHERS), None) if context else None
    return {
        **found,
        "others_said": "" if said is None else f"Other releases: {said.answer} ({said.name}, {said.role}). ",
        "law": law_content(context, found, page_questions()),
        "unanswered": _open_owner(context, found["made"]),
    }


def _one_list(content: Mapping[str, Any]) -> dict[str, Any] | None:
    """List each attack either among the results or, with its reason, among those that were not played."""
    attacks, together = content["attacks"], content.get("together")
    if not attacks:
        return None
    unplayed = {**attacks["unplayed"], **{one["attack"]: one["unplayed"] for one in attacks["results"]}}
    unplayed = {name: reason for name, reason in unplayed.items() if reason is not None}
    if together and "intersection" in unplayed:
        others = ", ".join(together["published"][1:])
        place = f"section {annex_section('earlier')} of the annex"
        how = " as a table of counts" if others.endswith(".csv") else ""
        unplayed["intersection"] = f"needs another release of records, while {others} was joined{how}: {place}"
    return {**attacks, "results": [one for one in attacks["results"] if one["unplayed"] is None], "unplayed": unplayed}


def _open_owner(context: Context | None, made: str) -> str | None:
    """Say who answers what nobody has, and by when."""
    owner = None if context is None else context.unanswered
    if owner is None:
        return None
    late = " Whoever signs before that day leaves them open." if owner.day > made else ""
    return f"{owner.name}, {owner.role}, is to answer by {owner.day}.{late}"


def _placed(release: Release | str | Path) -> Release | str | Path:
    """Take a text for the name of a folder, unless it is the URL of a database."""
    return release if isinstance(release, Release) or is_database(release) else Path(release)


def _subject(
    release: Release | str | Path,
    original: Table | None,
    policy: Policy | None,
    control: Table | None,
    earlier: Sequence[Release | str | Path],
) -> ReportedRelease:
    audit = None if isinstance(release, Release) or is_database(release) else audit_file(Path(release))
    verification = verify(release, audit=audit if audit is not None and audit.is_file() else None)
    refuse_broken(verification)
    opened = read_release(release)
    if opened.description is None:
        raise InputError("release: is not a release; give a release, or the folder of one")
    if policy is not None and opened.policy.text is not None:
        content = PublishedPolicy(policy.published()).content
        raise_all(PolicyError, policy_contradictions(content, opened.policy.content))
    return ReportedRelease(
        _placed(release),
        opened.published,
        opened.description,
        verification,
        opened.policy,
        policy,
        {entry.file: entry.sha256 for entry in opened.files.values()},
        original,
        control,
        _releases(earlier),
    )


def _releases(named: Sequence[Release | str | Path]) -> list[Release | str | Path]:
    """Take each for a release, and refuse what is none."""
    found = [_placed(one) for one in named]
    raise_all(InputError, [problem for one in found if isinstance(one, Path) and (problem := no_release(one))])
    return found


_UNPLAYED = "Attacks that were not played"
_BROKEN = str(Outcome.BROKEN)
_MASKED = 10
"""Counts below this are masked."""
_UNCOUNTED = (
    "Risks and promises of this page count records, unless they say people. A person who has several may be found with "
    "a higher chance."
)
_STEWARD = "What the steward's attacks found depends on the original. It stands in the steward's evidence alone."


def public_edition(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what may be given to others: a function of what is published, and of what the steward states.

    Left out: risks, losses, answers, subgroups, attacks and what was decided on the way, which depend on the original.
    An attacker who knows all records but one could try every value for that one and see which gives the same figures.

    Parameters
    ----------
    content
        Of the internal edition, with the ``columns`` that the release shows.
    """
    limits = [*content.get("limits", ()), *(() if "people" in content else (_UNCOUNTED,))]
    return {
        **{key: value for key, value in content.items() if key not in ("repeated", "known")},
        "records": {"original": None, "published": _masked(content["records"]["published"])},
        "unprotected": [{**column, "looks": None} for column in content.get("unprotected", ())],
        "risk": _published_risk(content["risk"]),
        **_attested(content),
        "limits": content.get("published_limits", limits),
        "figures": {},
        **dict.fromkeys(("attacks", "losses", "bound", "utility", "one_each", "purpose_figures")),
        "described": [],
        "stays": [],
        "dropped": [],
        "subgroups": [],
        "suppression": _published_suppression(content["suppression"]),
        "earlier": [{key: one[key] for key in ("release", "holds")} for one in content["earlier"]],
        "policy": content["published_policy"],
        "decisions": [],
        "log": "",
    }


def _attested(content: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what was counted of people, who are not in the published table."""
    if "people" not in content:
        return {}
    return {"people": {}, "promises": [{**promise, "achieved": []} for promise in content["promises"]]}


def _published_risk(risk: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Keep the risks that any recipient can count."""
    if not risk or "after" not in risk:
        return None
    known = {key: value for key, value in risk["after"].items() if key != "journalist"}
    after = {**known, "unique": _masked(known["unique"]), "above": []}
    after["above"] = [{**one, "records": _masked(one["records"])} for one in risk["after"]["above"]]
    return {"after": after}


def _published_suppression(suppression: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if suppression is None else {"attributes": dict(suppression["attributes"]), "subgroups": []}


def _masked(number: int) -> int | str:
    return number if number == 0 or number >= _MASKED else f"fewer than {_MASKED}"


def summary_of(content: Mapping[str, Any]) -> list[str]:
    """Return a few sentences: promises, risk, attacks, loss."""
    return [
        *_promises(content),
        *(f"{each[0].upper()}{each[1:]}." for each in content.get("uncovered", ())),
        *_unprotected(content.get("unprotected", ())),
        *_risk(content["risk"], content.get("repeated", None if content.get("edition") != "public" else _UNCOUNTED)),
        *_risk_of_people(content.get("people")),
        *_risk_of_known(content.get("known")),
        *((content.get("context") or {"verdict": {"sentences": ()}})["verdict"]["sentences"]),
        *([counts_in_words(content["standards"])] if content.get("context") and "standards" in content else []),
        *([_STEWARD] if content.get("edition") == "public" else _attacks(content["attacks"])),
        *((content.get("intruder") or {"sentences": ()})["sentences"]),
        *_of_everything(content.get("together")),
        *_loss(content["losses"]),
    ]


def open_points(content: Mapping[str, Any]) -> list[str]:
    """Return what should keep a steward from signing at once, and what nobody has answered."""
    context, attacks = content.get("context"), content["attacks"] or {"results": (), "unplayed": {}}
    outcomes = {
        one["promise"]: one["outcome"] for one in content["promises"] if one["meaning"] or one["outcome"] == _BROKEN
    }
    return [
        *(
            f"{promise}: {'is not kept' if outcome == _BROKEN else 'cannot be decided from the release'}."
            for promise, outcome in outcomes.items()
            if outcome != "holds"
        ),
        *(f"{each[0].upper()}{each[1:]}." for each in content.get("uncovered", ())),
        *(f"Column {one['name']!r}: {one['looks']}" for one in content.get("unprotected", ()) if one["looks"]),
        *([content["repeated"]] if "repeated" in content else []),
        *(
            f"Attacks that {words} and that no promise allows: {', '.join(as_known(attacks['results'], found))}."
            for words, verdict in (("succeed", "succeeds"), ("may succeed, for all that was tried,", "undecided"))
            if (found := [one for one in attacks["results"] if one["verdict"] == verdict and not _is_harmless(one)])
        ),
        *([f"{_UNPLAYED}: {_reasons(unplayed)}."] if (unplayed := attacks["unplayed"]) else []),
        *(one["sentence"] for one in (content.get("together") or {"findings": ()})["findings"]),
        *(
            []
            if content["earlier"] or content.get("together") or any(map(_of_series, attacks["results"]))
            else [f"{content['others_said']}No earlier release of these people was named, so that none was joined."]
        ),
        *(
            f"{one['release']}: breaks what was promised, or what both together keep."
            for one in content["earlier"]
            if _beats(one)
        ),
        *(["Nobody has said who gets the release, and how likely an attempt is."] if context is None else []),
        *([context["verdict"]["sentences"][0]] if context and context["verdict"]["outcome"] != "kept" else []),
        *(context["doubts"] if context else []),
        *(
            [f"Published, though the purpose does not name them: {', '.join(unnamed)}."]
            if (unnamed := (content.get("purpose_figures") or {"unnamed": ()})["unnamed"])
            else []
        ),
        *_unanswered(content.get("standards", ()), content.get("unanswered")),
    ]


def _unanswered(standards: Sequence[Mapping[str, Any]], owner: str | None) -> list[str]:
    """Say how many questions nobody answers, and who should."""
    asked, left = sum(len(one["questions"]) for one in standards), sum(len(one["open"]) for one in standards)
    who = owner or "Nobody is named who should, nor by when: whoever signs leaves them open."
    listed = f"Section {annex_section('standards')} of the annex lists each."
    return [f"Nobody has answered {left:,} of {asked:,} questions of standards. {who} {listed}"] if left else []


def _of_series(result: Mapping[str, Any]) -> bool:
    return str(result["attack"]).startswith("series: ")


def doubts_of(content: Mapping[str, Any]) -> bool:
    """Tell whether something in the report should keep a steward from signing at once."""
    attacks = content["attacks"] or {"results": []}
    beyond = any(not _is_harmless(result) for result in attacks["results"])
    undecided = any(
        one["outcome"] != "holds" for one in content["promises"] if one["meaning"] or one["outcome"] == _BROKEN
    )
    beyond = beyond or any(column["looks"] for column in content.get("unprotected", ()))
    beyond = beyond or bool(content.get("uncovered")) or bool((content.get("together") or {"findings": ()})["findings"])
    beyond = beyond or bool(content.get("context") and content["context"]["verdict"]["outcome"] != "kept")
    return beyond or undecided or bool(content.get("repeated")) or any(_beats(one) for one in content["earlier"])


def _beats(earlier: Mapping[str, Any]) -> bool:
    return not earlier["holds"] or any(
        result["succeeds"] or _undecided(result) for result in earlier.get("attacks", ())
    )


def _is_harmless(result: Mapping[str, Any]) -> bool:
    """Tell whether an attack fails, is within what is promised, or was not played."""
    return result["is_allowed"] or not (result["succeeds"] or _undecided(result))


def _undecided(result: Mapping[str, Any]) -> bool:
    return result["verdict"] == "undecided" and result["unplayed"] is None


def _promises(content: Mapping[str, Any]) -> list[str]:
    models = [promise for promise in content["promises"] if promise["meaning"]]
    broken = [promise for promise in content["promises"] if promise["outcome"] == _BROKEN]
    if broken:
        return [f"The file does not keep what the policy asks: {_listed(broken)}."]
    if content.get("is_file"):
        kept = [promise for promise in content["promises"] if promise["outcome"] == "holds"]
        nobody = "Nobody promises anything of this file."
        return [f"{nobody} Recounted from it, it keeps what the policy asks: {_listed(kept)}." if kept else nobody]
    if not models:
        return ["This release promises no privacy model."]
    holding, source = [promise for promise in models if promise["outcome"] == "holds"], content["recounted_from"]
    if len(holding) == len(models):
        return [f"Every promise of a privacy model holds, recounted from {source}: {_listed(holding)}."]
    others = _listed([promise for promise in models if promise not in holding])
    return [
        *([f"Recounted from {source}, these promises hold: {_listed(holding)}."] if holding else []),
        f"From {source} nobody can decide {others}. The steward answers for it.",
    ]


def _unprotected(columns: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say which columns no promise speaks of."""
    if not columns:
        return []
    looking = f" {counted(sum(bool(column['looks']) for column in columns), 'column')}"
    doubtful = f" Of these,{looking} may identify people; see below." if any(one["looks"] for one in columns) else ""
    as_is = "they are" if len(columns) > 1 else "it is"
    return [f"No promise protects {named(column['name'] for column in columns)}: published as {as_is}.{doubtful}"]


def _listed(promises: list[Mapping[str, Any]]) -> str:
    return "; ".join(promise["promise"] for promise in promises)


_FINDS = "knows the quasi-identifying columns alone finds a person of the table with a chance of"


def _risk(risk: Mapping[str, Any] | None, repeated: str | None) -> list[str]:
    if not risk or "after" not in risk:
        return [repeated] if repeated else []
    highest = percent(risk["after"]["highest"], 3)
    who = "If every record is another person, whoever" if repeated else "Whoever"
    after = f"{who} {_FINDS} {highest} at most"
    if "before" not in risk:
        sentence = f"{after}, {percent(risk['after']['average'], 3)} on average."
    else:
        sentence = (
            f"{after} ({percent(risk['before']['highest'], 3)} before), {percent(risk['after']['average'], 3)} on "
            f"average ({percent(risk['before']['average'], 3)} before)."
        )
    return [sentence, repeated] if repeated else [sentence]


def _of_everything(together: Mapping[str, Any] | None) -> list[str]:
    """Say what all publications tell together."""
    if together is None:
        return []
    number = counted(len(together["published"]), "publication")
    found = [one["sentence"] for one in together["findings"]]
    unjoined = [f"{name} was not joined: {reason}." for name, reason in together["unjoined"].items()]
    return [*(found or [f"Of {number}, none together tell of anybody what fewer of them do not."]), *unjoined]


def _risk_of_people(people: Mapping[str, Any] | None) -> list[str]:
    if people is None:
        return []
    if not people:
        return ["The risk of people is not counted: they may have several records, and who is who is not published."]
    highest, average = percent(people["highest"], 3), percent(people["average"], 3)
    return [f"Whoever {_FINDS} {highest} at most, {average} on average."]


def _risk_of_known(known: Mapping[str, Any] | None) -> list[str]:
    if known is None:
        return []
    highest, average = percent(known["highest"], 3), percent(known["average"], 3)
    return [
        f"By {known['knows']}, somebody is found with a chance of {highest} at most, as promised. It is {average} "
        "on average of those who were tried."
    ]


def _attacks(attacks: Mapping[str, Any] | None) -> list[str]:
    if not attacks:
        return ["No attack was played."]
    found = [
        {**one, "succeeds": one["succeeds"] and not one["is_allowed"]}
        for one in attacks["results"]
        if not one["unplayed"]
    ]
    return [attacks_in_words(found)]


def _reasons(unplayed: Mapping[str, str]) -> str:
    """Name attacks by why they were not played; what would play them stands in the annex."""
    names: dict[str, list[str]] = {}
    for name, reason in unplayed.items():
        names.setdefault(reason.partition(";")[0], []).append(name)
    return "; ".join(f"{', '.join(found)} ({reason})" for reason, found in names.items())


def _loss(losses: Mapping[str, Any] | None) -> list[str]:
    return [f"{percent(losses['normalized_ncp'], 3)} of the information was lost."] if losses else []


_BEFORE, _AFTER = "#999999", COLOURS[0]
_MARKS: dict[Verdict, dict[str, Any]] = {
    "succeeds": {"marker": "o", "color": COLOURS[1]},
    "no better": {"marker": "o", "color": COLOURS[0]},
    "undecided": {"marker": "o", "color": COLOURS[0], "markerfacecolor": "white"},
}
_CURVES: dict[str, tuple[str, dict[str, Any]]] = {
    "inside": ("attacker", {"color": COLOURS[1], "marker": "o"}),
    "control": ("on people not in the data", {"color": COLOURS[4], "marker": "D", "linestyle": "--"}),
    "population": ("somebody who knows only those", {"color": COLOURS[0], "marker": "s", "linestyle": "-."}),
}
_CURVES_ABREAST = 2
_HEAD = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_NAMES = re.compile(r'(\bid="|url\(#|xlink:href="#)')


def _draw_report(content: Mapping[str, Any]) -> dict[str, str]:
    """Draw the figures of the content; name → inline SVG. Raises ``PolicyError`` when matplotlib is not installed."""
    drawn = {
        "losses": _losses(content.get("losses")),
        "risk": _draw_risk(content.get("risk"), "record" if content.get("repeated") else "person"),
        "attacks": _draw_attacks(content.get("attacks")),
        "curves": _curves(content.get("attacks")),
        "distributions": _distributions(content.get("utility")),
        "associations": _associations(content.get("utility")),
    }
    return {name: svg for name, svg in drawn.items() if svg}


def _losses(losses: Mapping[str, Any] | None) -> str:
    shares = dict(losses["attribute_ncp"]) if losses else {}
    if not shares:
        return ""
    return _bars("losses", list(shares), list(shares.values()), "information lost (share of what there was to lose)")


def _distributions(utility: Mapping[str, Any] | None) -> str:
    found = utility["correlations"]["distributions"] if utility else []
    if not found:
        return ""
    names = [one["attribute"] for one in found]
    return _bars(
        "distributions", names, [one["total_variation"] for one in found], "change of the distribution (share)"
    )


def _bars(name: str, labels: Sequence[str], widths: Sequence[float], across: str) -> str:
    figure, axes = canvas(across, "", height=0.8 + 0.3 * len(labels))
    places = range(len(labels))
    axes.barh(places, widths, color=_AFTER, height=0.62)
    for place, width in zip(places, widths, strict=True):
        axes.annotate(f"{100 * width:.3g}%", (width, place), (4, 0), textcoords="offset points", va="center", size=8)
    axes.set_yticks(list(places), labels)
    axes.invert_yaxis()
    axes.set_xlim(0, max(1e-3, max(widths)) * 1.12)
    axes.grid(visible=False, axis="y")
    return _inline(figure, name)


def _draw_risk(risk: Mapping[str, Any] | None, counted: str) -> str:
    """Draw the share of people, or of records where these are counted, above each threshold, before and after."""
    if not risk or "after" not in risk or "before" not in risk:
        return ""
    everybody = "people" if counted == "person" else "records"
    rows = [
        (f"highest risk of a {counted}", risk["before"]["highest"], risk["after"]["highest"]),
        ("average risk", risk["before"]["average"], risk["after"]["average"]),
        *(
            (f"{everybody} above {one['threshold']}", one["share"], other["share"])
            for one, other in zip(risk["before"]["above"], risk["after"]["above"], strict=True)
        ),
    ]
    figure, axes = canvas(f"probability, or share of the {everybody}", "", height=0.9 + 0.42 * len(rows))
    for place, (_, before, after) in enumerate(rows):
        axes.barh(place - 0.19, before, color=_BEFORE, height=0.34, label="before" if not place else None)
        axes.barh(place + 0.19, after, color=_AFTER, height=0.34, label="after" if not place else None, hatch="//")
        for shift, width in ((-0.19, before), (0.19, after)):
            axes.annotate(
                f"{100 * width:.3g}%", (width, place + shift), (4, 0), textcoords="offset points", va="center", size=8
            )
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.12)
    axes.grid(visible=False, axis="y")
    axes.legend(frameon=False, fontsize="small", loc="lower right")
    return _inline(figure, "risk")


def _draw_attacks(attacks: Mapping[str, Any] | None) -> str:
    """Draw every attack's success with its interval and its verdict, beside guessing and the control group."""
    results = [result for result in attacks["results"] if result["success"]["people"]] if attacks else []
    if not results:
        return ""
    figure, axes = canvas(f"share of the {_counted(results)}", "", height=1.0 + 0.34 * len(results))
    for place, result in enumerate(results):
        success, control, mark = result["success"], result.get("control"), _MARKS[result["verdict"]]
        axes.plot([success["low"], success["high"]], [place, place], color=mark["color"], linewidth=2.2)
        axes.plot(success["share"], place, **mark, zorder=3)
        axes.plot(
            success["baseline"], place, "|", color="#000000", markersize=13, label="guessing" if not place else None
        )
        if control and control["people"]:
            axes.plot(control["share"], place, "D", color=COLOURS[4], markersize=5, markerfacecolor="none")
    axes.set_yticks(range(len(results)), [result["label"] for result in results])
    axes.invert_yaxis()
    axes.set_xlim(-0.02, 1.02)
    if any(result.get("control") for result in results):
        axes.plot([], [], "D", color=COLOURS[4], markersize=5, markerfacecolor="none", label="people not in the data")
    for verdict, words in dict.fromkeys((result["verdict"], result["headline"]) for result in results):
        axes.plot([], [], **_MARKS[verdict], linestyle="-", label=words)
    axes.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return _inline(figure, "attacks")


def _curves(attacks: Mapping[str, Any] | None) -> str:
    """Draw how often attackers are right about the people of whom they are surest, a drawing beside the other."""
    results = attacks["results"] if attacks else []
    drawn = [result for result in results if result.get("curve") and result["curve"]["looks"]]
    if not drawn:
        return ""
    rows = -(-len(drawn) // _CURVES_ABREAST)
    figure, places = canvases(rows, _CURVES_ABREAST, height=0.6 + 2.5 * rows)
    for place, result in zip(places, drawn, strict=False):
        _curve(place, result["curve"], result["curve"]["looks"][0]["inside"]["baseline"])
        place.set_xlabel(f"surest % of the {_counted([result])}")
        place.set_title(result["label"], fontsize="medium", loc="left")
    for place in places[len(drawn) :]:
        place.set_visible(False)
    named = dict(zip(*reversed(_legend(places[: len(drawn)])), strict=True))
    figure.legend(named.values(), named.keys(), frameon=False, fontsize="small", loc="outside upper left", ncols=3)
    return _inline(figure, "curves")


def _curve(axes: Any, curve: Mapping[str, Any], guessing: float) -> None:
    """Draw one: the attacker with intervals, the same of others, and who knows only others; promise and guessing."""
    looks = [look for look in curve["looks"] if look["surest"] is not None]
    shares = [100 * look["surest"] for look in looks]
    low, high = ([look["inside"][end] for look in looks] for end in ("low", "high"))
    axes.fill_between(shares, low, high, color=COLOURS[1], alpha=0.2, linewidth=0)
    for name, (label, look) in _CURVES.items():
        there = [one[name]["share"] if name in one else None for one in looks]
        if None not in there:
            axes.plot(shares, there, label=label, markersize=4, **look)
    axes.axhline(guessing, color="#000000", linewidth=1, linestyle=":", label="guessing")
    if curve["bound"] is not None:
        axes.axhline(curve["bound"], color=COLOURS[2], linewidth=1.6, label="promised at most")
    axes.set_xscale("log")
    axes.set_xticks(shares, [f"{share:g}" for share in shares])
    axes.minorticks_off()
    axes.set_ylim(-0.03, 1.05)
    axes.set_ylabel("right")


def _counted(results: Sequence[Mapping[str, Any]]) -> str:
    """Return what attacks count: records where all of them do, else people."""
    return "records" if all(result["counts"] == "records" for result in results) else "people"


def _legend(places: Sequence[Any]) -> tuple[list[Any], list[str]]:
    handles, labels = [], []
    for place in places:
        one, name = place.get_legend_handles_labels()
        handles += one
        labels += name
    return handles, labels


def _associations(utility: Mapping[str, Any] | None) -> str:
    """Draw the association of every pair before against after."""
    pairs = utility["correlations"]["associations"] if utility else []
    if not pairs:
        return ""
    figure, axes = canvas("association of a pair before (φ²)", "after (φ²)", width=4.6, height=4.0)
    before, after = [pair["before"] for pair in pairs], [pair["after"] for pair in pairs]
    most = max([*before, *after, 1e-3]) * 1.06
    axes.plot([0, most], [0, most], color="#999999", linewidth=1, linestyle="--")
    axes.plot(before, after, "o", color=_AFTER, markersize=5, markerfacecolor="none")
    axes.set_xlim(0, most)
    axes.set_ylim(0, most)
    return _inline(figure, "associations")


def _inline(figure: Any, name: str) -> str:
    """Return the drawing without what only a separate file needs, and with inner names of its own."""
    return _NAMES.sub(rf"\g<1>{name}-", _HEAD.sub("", svg_of(figure, name), count=1))


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
        "kind": texts("kinds").get(published.kind, published.kind),
        "promises": [promise_in_words(model) for model in description.models],
        "checks": counted.to_dict()["checks"],
        "limits": report_limits(published, description, opened.policy),
        "files": {path.name: sha256_of(path) for path in sorted(folder.iterdir()) if path.is_file()},
    }
    return render(content, {}, "receipt.html")
