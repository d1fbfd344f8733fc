"""``sfumato compare``: many releases of one table, side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from sfumato.cli.options import (
    ANONYMIZERS,
    METHOD,
    OUTPUT,
    PRIVACY,
    PUBLISHERS,
    AsJson,
    Original,
    PolicyFile,
    Quiet,
    RoleOptions,
    Settings,
)
from sfumato.cli.outcome import complain, say
from sfumato.cli.progress import progress_bar

if TYPE_CHECKING:
    from sfumato.comparison.comparison import Comparison, PrivateWay
    from sfumato.policy.policy import Policy

DIVERSITIES = ("entropy", "distinct", "probabilistic", "recursive")
People = Literal["asked", "both"]
VARIED = {"k": "-k", "l": "-l", "t": "-t", "records": "--records", "attributes": "--attributes"}


@dataclass(frozen=True)
class Varied:
    """What is promised; one of the lists may have several values."""

    k: Annotated[str | None, PRIVACY("k-anonymity, e.g. 2,5,10.", "LIST", "-k")] = None
    l: Annotated[  # noqa: E741
        str | None,
        PRIVACY(
            f"l-diversity, e.g. 2,3,4 or distinct:2,3,4. Kinds: {', '.join(DIVERSITIES)}; default entropy.",
            "[KIND:]LIST",
            "-l",
        ),
    ] = None
    t: Annotated[str | None, PRIVACY("t-closeness, e.g. 0.1,0.2.", "LIST", "-t")] = None
    model: Annotated[list[str] | None, PRIVACY("Any other privacy model; repeatable.", "NAME:P=V")] = None
    suppression: Annotated[float | None, PRIVACY("Fraction of the records that may be suppressed, e.g. 0.02.")] = None
    records: Annotated[str | None, METHOD("Numbers of random records, e.g. 1000,10000.", "LIST")] = None
    attributes: Annotated[str | None, METHOD("Numbers of attributes, e.g. 2,4,8.", "LIST")] = None


@dataclass(frozen=True)
class Ways:
    """What is compared, and how."""

    anonymizers: Annotated[
        str, METHOD(f"Which anonymizers, separated by commas: {ANONYMIZERS}, {PUBLISHERS}.", "NAMES")
    ] = "mondrian,k-member,datafly"
    private: Annotated[
        list[str] | None,
        PRIVACY("Policy of noisy counts or of a private sample to put beside the others; repeatable.", "LABEL=FILE"),
    ] = None
    people: Annotated[
        People,
        PRIVACY("With --person: both compares k of records with k of people, rows together and apart.", "asked|both"),
    ] = "asked"
    repetitions: Annotated[int, METHOD("How often everything is repeated.")] = 1
    queries: Annotated[int, METHOD("Random counts that releases have to answer; 0 for none.")] = 200
    classifiers: Annotated[
        bool, METHOD("Also train classifiers on releases; test on a held-out third.", None, "--classifiers")
    ] = False
    bound: Annotated[bool, METHOD("Also compute how little any release with these k must lose.", None, "--bound")] = (
        False
    )
    within: Annotated[float | None, METHOD("Ends after so long with what is finished by then.", "SECONDS")] = None
    settings: Settings = None
    seed: Annotated[int | None, METHOD("Makes the figures repeatable.")] = None


@dataclass(frozen=True)
class ComparisonWritten:
    """What is written."""

    out: Annotated[
        Path | None, OUTPUT("Folder of tables and drawings; runs that are finished there are not repeated.", "FOLDER")
    ] = None
    no_drawings: Annotated[bool, OUTPUT("Tables only.", None, "--no-drawings")] = False
    quiet: Quiet = False
    as_json: AsJson = False


def compare(
    table: Original,
    policy: PolicyFile = None,
    roles: RoleOptions = RoleOptions(),  # noqa: B008 - a frozen value
    varied: Varied = Varied(),
    ways: Ways = Ways(),
    written: ComparisonWritten = ComparisonWritten(),
) -> None:
    """Make releases with several anonymizers, and put losses, risks, utility and times side by side.

    One of the lists -k, -l, -t, --records, --attributes may have several values: that parameter varies. An interrupted
    comparison continues when the same command is given again. What it writes is for the data steward.
    """
    from sfumato.cli.settings import names_in
    from sfumato.cli.words import Words, diversity_word, model_words, policy_of

    names, out = names_in(ways.anonymizers), written.out
    diversity, _, levels = (varied.l or "").rpartition(":")
    lists, problems = _lists({name: getattr(varied, name) for name in VARIED} | {"l": levels or varied.l})
    if diversity and diversity not in DIVERSITIES:
        problems.append(f"-l: {diversity!r} is not one of {', '.join(DIVERSITIES)}")
    vary, problems = _varied(lists, problems)
    firsts = {name: values[0] for name, values in lists.items() if values}
    asked, more = model_words(
        k=int(firsts["k"]) if "k" in firsts else None,
        l=diversity_word(float(firsts["l"]), diversity or "entropy") if "l" in firsts else None,
        t=float(firsts["t"]) if "t" in firsts else None,
        others=varied.model or (),
    )
    if not asked and policy is None and not problems:
        problems.append("-k, -l, -t or --model: ask for at least one privacy model, e.g. -k 2,5,10")
    beside = _private(ways.private or (), problems)
    words = Words(
        policy=policy,
        **roles.words,
        models=asked,
        suppression=varied.suppression,
        settings=ways.settings or (),
        problems=(*problems, *more, *_name_problems(names), *_drawing_problems(out, no_drawings=written.no_drawings)),
    )
    meant, quiet = policy_of(words), written.quiet or written.as_json
    found = _compared(table, meant, names, (vary, lists[vary]), ways, beside, out, quiet=quiet)
    if out is not None:
        found.save(out, drawings=not written.no_drawings)
    _report(found, written)


def _compared(
    table: str,
    policy: Policy,
    names: Sequence[str],
    varied: tuple[str, Sequence[float]],
    ways: Ways,
    private: Mapping[str, PrivateWay],
    folder: Path | None,
    *,
    quiet: bool,
) -> Comparison:
    from sfumato.comparison.compare import Figures
    from sfumato.comparison.compare import compare as run
    from sfumato.comparison.plan import FOUND
    from sfumato.table.reading import read_table

    vary, values = varied
    with progress_bar(quiet=quiet) as bar:
        told = {"comparing"}

        def progress(what: str, done: int, total: int) -> None:
            """Draw the bar, and print what each run came to above it."""
            if what.startswith(FOUND) and what not in told and not quiet:
                told.add(what)
                complain([f"{done}/{total} {what.removeprefix(FOUND)}"])
            bar(what, done, total)

        progress("reading", 0, 1)
        return run(
            read_table(table, policy),
            policy,
            anonymizers=names,
            vary={vary: values},
            threads=policy.threads,
            progress=progress,
            repetitions=ways.repetitions,
            figures=Figures(ways.queries, ways.classifiers, within=ways.within, private=private, bound=ways.bound),
            people=ways.people,
            seed=ways.seed,
            folder=folder,
        )


def _private(texts: Sequence[str], problems: list[str]) -> dict[str, PrivateWay]:
    """Read the policies of releases under differential privacy; gather what is wrong with them."""
    from sfumato.errors import SfumatoError
    from sfumato.kinds.noisy_counts.policy import PrivatePolicy
    from sfumato.kinds.private_sample.policy import PrivateSamplePolicy
    from sfumato.policy.file import read_policy

    found: dict[str, PrivateWay] = {}
    for text in texts:
        label, equals, file = (part.strip() for part in text.partition("="))
        if not (label and equals and file):
            problems.append("--private: write a label and a policy file, e.g. counts=counts.toml")
            continue
        if label in found:
            problems.append(f"--private: the label {label!r} is there twice; give each policy its own")
        try:
            kind = PrivateSamplePolicy if "sampling" in read_policy(file) else PrivatePolicy
            found[label] = kind.from_file(file)
        except SfumatoError as error:
            problems.extend(f"--private {label}: {problem}" for problem in error.problems)
    return found


def _lists(texts: dict[str, str | None]) -> tuple[dict[str, list[float]], list[str]]:
    """Read the lists of values; whole numbers stay whole."""
    lists: dict[str, list[float]] = {}
    problems: list[str] = []
    for name, text in texts.items():
        if text is None:
            continue
        try:
            lists[name] = [float(part) if "." in part else int(part) for part in text.split(",") if part.strip()]
        except ValueError:
            problems.append(f"{VARIED[name]}: write numbers separated by commas, e.g. 2,5,10")
    return lists, problems


def _varied(lists: dict[str, list[float]], problems: list[str]) -> tuple[str, list[str]]:
    several = [name for name, values in lists.items() if len(values) > 1]
    if len(several) > 1:
        options = " and ".join(VARIED[name] for name in several)
        problems = [*problems, f"{options}: only one of them may have several values"]
    named = [*several, *(name for name in ("records", "attributes") if name in lists), *lists]
    if not named and not problems:
        problems = [*problems, "-k: say what varies, e.g. -k 2,5,10"]
    return (named or ["k"])[0], problems


def _name_problems(names: Sequence[str]) -> list[str]:
    known = f"{ANONYMIZERS}, {PUBLISHERS}".split(", ")
    unknown = [name for name in names if name not in known]
    if unknown:
        from sfumato.anonymizers import ANONYMIZERS as OWN
        from sfumato.anonymizers import PUBLISHERS as OTHERS

        unknown = [name for name in unknown if name not in OWN and name not in OTHERS]
    return [f"--anonymizers: {name!r} is not one of {', '.join(known)}" for name in unknown]


def _drawing_problems(out: Path | None, *, no_drawings: bool) -> list[str]:
    """Check, before the work, whether drawings can be made."""
    from importlib.util import find_spec

    if out is None or no_drawings or find_spec("matplotlib"):
        return []
    return ["--out: drawings need matplotlib; install it with: pip install 'sfumato[report]', or add --no-drawings"]


def _report(comparison: Comparison, written: ComparisonWritten) -> None:
    out, quiet = written.out, written.quiet
    if written.as_json:
        say(json.dumps([*comparison.frame.to_dicts(), *comparison.private.to_dicts()], indent=2))
    elif not quiet:
        from sfumato.cli.summary import fitted

        answer = comparison.recommendation
        say("\n".join([*fitted([answer], ""), str(comparison).replace(answer, "").strip()]))
    if out is not None and not quiet:
        complain([f"comparison written to {out}; it is for the data steward, not for publishing"])
