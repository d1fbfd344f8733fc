"""``sfumato evidence`` and ``sfumato report``: for whom a release is made, as a form, and the page that is signed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from sfumato.cli.options import (
    OUTPUT,
    AsJson,
    Hierarchies,
    Overwrite,
    Panel,
    PolicyFile,
    Quiet,
    ReleasePlace,
    Settings,
    argument,
)
from sfumato.cli.outcome import complain, say, say_fitted
from sfumato.cli.progress import progress_bar
from sfumato.errors import InputError, raise_all

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy
    from sfumato.table.table import Table

HELP = """The evidence for a named recipient: what is assumed of them, what was counted, what was attacked.

init writes a form for the recipient. write makes the page, as sfumato report does.
task writes a package for a person who is to look for people; score holds the answers against the key.
log writes down what was decided when, over versions of a policy.
"""


def init(
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Policy file to write; - for standard output, the form alone.")
    ] = Path("-"),
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Policy of the release, which the form is added to.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a form: who gets the release, under which controls, and how likely somebody tries.

    It is the section [context] of a policy. Lines that are not filled in are asked for by name. A policy file for each
    recipient serves one release folder: the release holds nothing of this section.
    """
    from sfumato.evidence.standards import form_of_answers
    from sfumato.policy.file import read_policy
    from sfumato.whole_files import PRIVATE, read_regular_text, write_whole

    text = form = Path(__file__).with_name("evidence_form.toml").read_text(encoding="utf-8") + form_of_answers()
    if policy is not None:
        if "context" in read_policy(policy):
            raise InputError(f"{policy}: has a section [context] already; edit it, or name another policy")
        if str(out) != "-" and out.absolute().parent != policy.absolute().parent:
            raise InputError(f"--out: name a file beside {policy}; hierarchies that it names are looked for there")
        text = f"{read_regular_text(policy).rstrip()}\n\n{form}"
    if str(out) == "-":
        return say(text.rstrip("\n"))
    if out.exists() and not overwrite:
        raise InputError(f"{out}: already exists; name another file or add --overwrite")
    try:
        write_whole(out, text, PRIVATE)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror})") from None
    say(f"Form written to {out}. Fill it in, then:\n  sfumato evidence write RELEASE --original TABLE --policy {out}")


def task(
    release: ReleasePlace,
    original: Annotated[str, typer.Option(metavar="FILE", help="The table that the release was made from.")],
    control: Annotated[str, typer.Option(metavar="FILE", help="People who are not in the data.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The package to hand over; a new folder.")],
    key: Annotated[Path, typer.Option(metavar="FILE", help="Who is who, for you alone; a new file.")],
    people: Annotated[int, typer.Option(metavar="COUNT", help="People in the register; half are in the data.")] = 40,
    sources: Annotated[str, typer.Option(metavar="TEXT", help="What else the person may use, in words.")] = "none",
    policy: PolicyFile = None,
    seed: Annotated[int | None, typer.Option(help="Draws the same people; for tests.")] = None,
) -> None:
    """Write a package for somebody who is to look for people in a release, and the key to the answers.

    The package holds the release, a register of people with the values that others may know, a form, and rules. The
    policy is the release's own unless --policy names the one that made it.
    """
    from sfumato.cli.released import policy_file, release_problem
    from sfumato.cli.words import Words, policy_of
    from sfumato.evidence.intruder import make_task
    from sfumato.table.reading import read_table

    if problem := release_problem(release):
        raise InputError(problem)
    meant = policy_of(Words(policy=policy_file(release, policy)))
    tables = read_table(original, meant), read_table(control, meant.beside(control))
    say_fitted(make_task(release, *tables, out, key, people=people, sources=sources, seed=seed))


def log(
    policy: Annotated[Path, typer.Argument(metavar="POLICY", help="The policy of a release, of any kind.")],
    to: Annotated[Path, typer.Option(metavar="FILE", help="The log; begun where it is not there.")],
    by: Annotated[str, typer.Option(metavar="TEXT", help="Who decided it: name and office.")],
    why: Annotated[str, typer.Option(metavar="TEXT", help="For which reason.")],
    on: Annotated[
        str | None, typer.Option(metavar="DAY", help="The day of the decision; beside when it is recorded.")
    ] = None,
) -> None:
    """Write down what changed in a policy since its last version in the log, who decided it, and why.

    Call it whenever the policy was changed. sfumato evidence write --decisions FILE shows the log, and refuses a policy
    that was changed after the last entry. The time at which it is recorded is that of your clock.
    """
    from sfumato.evidence.context import log_decision

    say_fitted(log_decision(policy, to, by, why, on))


def score(
    answers: Annotated[Path, typer.Argument(metavar="ANSWERS", help="The form of a package, filled in.")],
    key: Annotated[Path, typer.Option(metavar="FILE", help="The key of the package.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the result, for sfumato evidence write --intruder.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Hold the answers of somebody who looked for people against the key, with intervals."""
    from sfumato.evidence.intruder import score_answers
    from sfumato.whole_files import PRIVATE, write_whole

    if out is not None and out.exists() and not overwrite:
        raise InputError(f"{out}: already exists; name another file or add --overwrite")
    found = score_answers(answers, key)
    text = json.dumps(found, indent=2, ensure_ascii=False)
    if out is not None:
        try:
            write_whole(out, text + "\n", PRIVATE)
        except OSError as error:
            raise InputError(f"{out}: cannot be written ({error.strerror})") from None
    return say(text) if as_json else say_fitted("\n".join(found["sentences"]))


# ``report``, and ``evidence write``: everything about one release on one page, to be read, signed and kept.


Edition = Literal["internal", "public"]
MEASURED = Panel("What is measured")


@dataclass(frozen=True)
class Compared:
    """What a release is compared with, and how."""

    original: Annotated[
        list[str] | None,
        MEASURED("The table that the release was made from; of a series who came with each release, repeated.", "FILE"),
    ] = None
    control: Annotated[str | None, MEASURED("People who were not in the data, for attacks.", "FILE")] = None
    earlier: Annotated[
        list[str] | None,
        MEASURED(
            "Earlier release of the same people, or a .toml that lists all that was published; repeatable.", "RELEASE"
        ),
    ] = None
    no_attacks: Annotated[bool, MEASURED("Play no attacks.", None, "--no-attacks")] = False
    within: Annotated[
        float | None, MEASURED("What attacks may take in all; slow ones are cut, and named as not played.", "SECONDS")
    ] = None
    bound: Annotated[bool, MEASURED("Also compute how little any release must lose.", None, "--bound")] = False
    threads: Annotated[int | None, MEASURED("Threads; default all cores.")] = None
    seed: Annotated[int | None, MEASURED("Makes the figures repeatable.")] = None


@dataclass(frozen=True)
class Page:
    """The page that is written."""

    edition: Annotated[
        Edition,
        OUTPUT(f"{' or '.join(get_args(Edition))}; public leaves out what was counted on the original.", "NAME"),
    ] = "internal"
    out: Annotated[Path | None, OUTPUT("Page to write, .html, or .json for machines.", "FILE")] = None
    short: Annotated[
        Path | None,
        OUTPUT(
            "Also write the report to sign, .html or .docx, of four printed pages at most; --out is its annex.", "FILE"
        ),
    ] = None
    overwrite: Overwrite = False
    quiet: Quiet = False
    as_json: AsJson = False


def report(
    release: Annotated[
        str, argument("RELEASE|FILE", "Folder of a release, the URL of a database, or a table that others published.")
    ],
    compared: Compared = Compared(),
    policy: PolicyFile = None,
    decisions: Annotated[
        Path | None, OUTPUT("JSON with what was decided on the way, for the internal edition.", "FILE")
    ] = None,
    intruder: Annotated[
        Path | None,
        OUTPUT("What sfumato evidence score wrote of a person who tried; for the internal edition.", "FILE"),
    ] = None,
    hierarchies: Hierarchies = None,
    settings: Settings = None,
    page: Page = Page(),
) -> None:
    """Recount a release, measure risk before and after, play attacks, and write it all on one page that can be signed.

    A release that breaks a promise or was changed is refused. Without --original, the page says only what the release
    itself shows. The policy is the release's own unless --policy names the one that made it.
    """
    from sfumato.evidence.context import log_problem, read_decisions
    from sfumato.evidence.release_report import report as make_report

    raise_all(InputError, _problems(release, compared, page))
    log = [] if decisions is None else read_decisions(decisions)
    raise_all(InputError, [problem for problem in [log_problem(log, policy)] if problem])
    with progress_bar(quiet=page.quiet or page.as_json) as progress:
        made = make_report(
            release,
            **_given(release, compared, policy, hierarchies, settings),
            earlier=compared.earlier or (),
            attacks=not compared.no_attacks if compared.within is None else compared.within,
            bound=compared.bound,
            seed=compared.seed,
            progress=progress,
            decisions=log,
            intruder=intruder,
        )
    made = made.beside(
        {
            "the steward's policy, with what is assumed of the recipient": policy,
            "the log of decisions": decisions,
            "what a person found who tried": intruder,
            **{
                f"what was published of these people ({place})": Path(name)
                for place, name in enumerate(compared.earlier or (), 1)
                if name.endswith(".toml")
            },
            "this evidence, to sign": page.short,
            "this evidence, the annex": page.out,
        },
        page.out,
    )
    targets = {name: path for name, path in (("report", page.out), ("short report", page.short)) if path is not None}
    for name, path in targets.items():
        made.save(path, page.edition, overwrite=page.overwrite, short=name == "short report")
    if page.as_json:
        say(json.dumps(_nameless(made.to_dict(page.edition)), indent=2))
    elif not page.quiet:
        say_fitted("\n".join(made.to_dict(page.edition)["summary"]))
    if not page.quiet:
        owner = "; it is for the data steward alone" if page.edition == "internal" else ""
        complain([f"{name} written to {path}{owner}" for name, path in targets.items()])


def _given(
    release: str, compared: Compared, policy: Path | None, hierarchies: Path | None, settings: Sequence[str] | None
) -> dict[str, Any]:
    """Read the original, and the people beside it; of a kind that is no table of records the report reads them."""
    from sfumato.cli.released import policy_file
    from sfumato.cli.settings import Setting
    from sfumato.cli.words import Words, policy_of
    from sfumato.evidence.of_kinds import is_file, is_own, is_series

    original = compared.original[0] if compared.original else None
    if is_own(release):
        needless = {"--hierarchies": hierarchies, "--set": settings}
        wrong = [f"{name}: is for releases of tables; leave it out" for name, one in needless.items() if one]
        raise_all(InputError, wrong)
        return {"original": original, "control": compared.control, "policy": policy, "threads": compared.threads}
    threads = [] if compared.threads is None else [Setting(("threads",), compared.threads, "--threads")]
    file = is_file(release) or is_series(release)
    if file and (policy is None or original is None):
        raise InputError(f"{release}: name the --original, and the --policy that says what its columns are")
    words = Words(
        policy=policy if file else policy_file(release, policy),
        hierarchies=hierarchies,
        settings=[*(settings or ()), *threads],
    )
    meant = policy_of(words)
    return {
        "original": compared.original if is_series(release) else _read(meant, original),
        "control": _read(meant.beside(compared.control), compared.control),
        "policy": meant if policy else None,
        "threads": meant.threads,
    }


def _read(policy: Policy, file: str | None) -> Table | None:
    from sfumato.table.reading import read_table

    return None if file is None else read_table(file, policy)


def _problems(release: str, compared: Compared, page: Page) -> list[str]:
    """Check, before the work, whether it can be done and its result be written."""
    from sfumato.cli.released import release_problem
    from sfumato.evidence.of_kinds import is_file, is_series

    problem = None if is_file(release) or is_series(release) else release_problem(release)
    problems = [problem] if problem else []
    if len(compared.original or ()) > 1 and not is_series(release):
        problems.append("--original: is one table; only a series has several")
    if compared.control is not None and compared.original is None:
        problems.append("--control: is used only with --original; give both, or leave it out")
    if compared.within is not None and (compared.no_attacks or compared.within <= 0):
        problems.append("--within: takes seconds above 0, of attacks that are played; leave out --no-attacks")
    if page.out is not None and page.out == page.short:
        problems.append("--short: is the file of --out, too; name another")
    for option, out, endings in (("--out", page.out, (".html", ".json")), ("--short", page.short, (".html", ".docx"))):
        if out is None:
            continue
        if out.suffix not in endings:
            problems.append(f"{option}: name a file that ends in {' or '.join(endings)}")
        if not out.parent.is_dir():
            problems.append(f"{option}: {out.parent}: there is no such folder; make it first")
        elif out.exists() and not page.overwrite:
            problems.append(f"{option}: {out} already exists; name another file or add --overwrite")
        problems += _missing_libraries(option, out)
    return problems


def _missing_libraries(option: str, out: Path) -> list[str]:
    from importlib.util import find_spec

    if out.suffix == ".docx" and not find_spec("docx"):
        return [f"{option}: Word files need python-docx; install it with: pip install 'sfumato[word]'"]
    if out.suffix == ".json" or (find_spec("jinja2") and find_spec("matplotlib")):
        return []
    return [f"{option}: pages need Jinja and matplotlib; install them with: pip install 'sfumato[report]'"]


write = report


def _nameless(content: dict[str, Any]) -> dict[str, Any]:
    """Leave out what subgroups are called: values of the original, which stand in the saved page alone."""

    def of(place: dict[str, Any]) -> dict[str, Any]:
        groups = [{key: value for key, value in one.items() if key != "group"} for one in place["subgroups"]]
        return {**place, "subgroups": groups}

    suppression = content.get("suppression")
    found = of(content) if "subgroups" in content else content
    return {**found, "suppression": of(suppression)} if suppression and "subgroups" in suppression else found
