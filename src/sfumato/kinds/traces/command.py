"""``--kind traces``: what commands do with traces of people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from sfumato.cli.kind_words import KeyForm, KindWritten, RepeatSeed
from sfumato.cli.options import (
    COLUMNS,
    KNOWN,
    OUTPUT,
    PRIVACY,
    READING,
    AsJson,
    PolicyFile,
    Population,
    Settings,
    argument,
    option,
)
from sfumato.cli.progress import progress_bar, say_result

if TYPE_CHECKING:
    from sfumato.kinds.traces.policy import TracePolicy
    from sfumato.kinds.traces.release import TraceRelease


TracesFile = Annotated[Path, argument("TRACES", "CSV or Parquet file.")]
_KEYS = ("person", "place", "latitude", "longitude", "time", "zone", "sensitive", "hierarchy", "cell", "hours", "stay")
OPTIONS: dict[tuple[str | int, ...], str] = {
    **{("model", key): f"-{key}" for key in ("k", "l", "c")},
    ("output", "format"): "--format",
    ("population",): "--population",
    ("change", "homes"): "--homes",
    **{("traces", key): f"--{key}" for key in (*_KEYS, "key-form")},
}
"""What messages call a key that an option set."""
ADVICE = {
    "-k: is missing": "-k: give the number of people who must fit what is known, e.g. -k 5",
    "-l: is missing": "-l: give the number of points that an attacker may know, e.g. -l 2",
}


@dataclass(frozen=True)
class TraceReading:
    """What is read, and from where."""

    person: Annotated[str | None, COLUMNS("Column of people, or several that say together who it is.", "NAMES")] = None
    key_form: KeyForm = None
    place: Annotated[str | None, COLUMNS("Column of codes of places.", "NAME")] = None
    latitude: Annotated[str | None, COLUMNS("Column of degrees north, instead.", "NAME")] = None
    longitude: Annotated[str | None, COLUMNS("Column of degrees east.", "NAME")] = None
    time: Annotated[str | None, COLUMNS("Column of time stamps or dates.", "NAME")] = None
    zone: Annotated[str | None, READING("Zone whose local times count, e.g. Europe/Rome.", "NAME")] = None
    sensitive: Annotated[str | None, COLUMNS("Column of sensitive values.", "NAME")] = None
    hierarchy: Annotated[
        Path | None, COLUMNS("CSV with a line for each code: the code, then ever coarser names.", "FILE", "--hierarchy")
    ] = None
    cell: Annotated[
        float | None, READING("Side of the finest cells, a power of two; default 0.0078125.", "DEGREES")
    ] = None
    hours: Annotated[int | None, READING("Length of the finest times: 1, 3, 6, 12, 24 or 168; default 1.")] = None
    stay: Annotated[int | None, READING("Shorter stays in a place are no points.", "MINUTES")] = None


@dataclass(frozen=True)
class TracePromise:
    """What is promised."""

    k: Annotated[int | None, PRIVACY("People who fit what is known.", None, "-k")] = None
    l: Annotated[int | None, PRIVACY("Points that an attacker may know.", None, "-l")] = None  # noqa: E741
    c: Annotated[float | None, PRIVACY("Largest share of a sensitive value among them; default 1.", None, "-c")] = None


def trace_policy_of(
    policy: Path | None,
    read: TraceReading,
    promise: TracePromise,
    settings: Sequence[str],
    problems: list[str],
    **more: Any,
) -> TracePolicy:
    """Make the policy that the options mean, or raise with every mistake in the options and in the file."""
    from sfumato.cli.kind_words import KindWords, kind_policy_of
    from sfumato.cli.words import key_named
    from sfumato.kinds.traces.policy import TracePolicy

    columns: dict[str, Any] = {name: getattr(read, name) for name in _KEYS}
    columns |= {"person": key_named(read.person), "key-form": read.key_form}
    columns |= {"hierarchy": None if read.hierarchy is None else str(read.hierarchy)}
    people = more.get("population")
    model = {**vars(promise), "among": None if people is None else "population"}
    parts = {"traces": columns, "model": model, "output": {"format": more.get("format")}}
    parts["change"] = {"homes": more.get("homes")}
    top = {"population": None if people is None else str(people)}
    words = KindWords(policy, top, parts, problems, None, settings)
    return kind_policy_of(words, TracePolicy.from_mapping, OPTIONS, ADVICE)


def anonymize(
    traces: TracesFile,
    policy: PolicyFile = None,
    promise: TracePromise = TracePromise(),
    read: TraceReading = TraceReading(),
    homes: Annotated[
        Literal["keep", "drop"] | None, PRIVACY("Whether points where somebody is on most nights are kept.")
    ] = None,
    settings: Settings = None,
    population: Population = None,
    seed: RepeatSeed = None,
    written: KindWritten = KindWritten(),  # noqa: B008 - a frozen value
    forms: Annotated[
        Path | None,
        OUTPUT("A new folder for the same in wide form, as GeoJSON, and as a page with a map.", "FOLDER"),
    ] = None,
) -> None:
    """Publish coarser places and times, and leave points out, so that who knows L points of somebody finds K people.

    The result is recounted before it is written. With --save-policy and without --out, only the policy is written.
    """
    from sfumato.cli.kind_words import seed_problem
    from sfumato.kinds.traces.forms import write_forms
    from sfumato.kinds.traces.make import anonymize_traces
    from sfumato.kinds.traces.reading import read_traces
    from sfumato.kinds.traces.release import save_traces

    problems = [*seed_problem(seed), *written.problems()]
    problems += ["--forms: is about a release; add --out"] if forms is not None and written.out is None else []
    problems += ["--forms: that folder is there; name a new one"] if forms is not None and forms.exists() else []
    own = trace_policy_of(
        policy, read, promise, settings or (), problems, format=written.format, homes=homes, population=population
    )

    def save(release: TraceRelease, out: Path, **how: Any) -> Path:
        folder = save_traces(release, out, **how)
        if forms is not None:
            write_forms(release, forms, formulas=how["formulas"])
        return folder

    written.publish(
        own,
        lambda progress: anonymize_traces(read_traces(traces, **own.reading()), own, seed=seed, progress=progress),
        save,
        ("traces", traces, policy),
    )


def check(
    traces: TracesFile,
    l: Annotated[int, PRIVACY("Largest number of known points.", None, "-l")] = 3,  # noqa: E741
    policy: PolicyFile = None,
    read: TraceReading = TraceReading(),
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Say which K traces have as they are, wherever they come from.

    For 1 to L points that somebody may know of a person: the fewest people who have any combination that occurs. Places
    and times are taken at the finest grain.
    """
    from sfumato.kinds.traces.check import check_traces
    from sfumato.kinds.traces.reading import read_traces

    # A policy needs a model, and nothing is promised here.
    promise = TracePromise() if policy is not None else TracePromise(k=1, l=1)
    meant = trace_policy_of(policy, read, promise, settings or (), [])
    found = check_traces(read_traces(traces, **meant.reading()), l)
    say_result(found.to_dict(), str(found), as_json=as_json)


def attack(
    traces: TracesFile,
    policy: PolicyFile = None,
    known: Annotated[int, KNOWN("Known points of each victim, at most.", "COUNT")] = 4,
    victims: Annotated[int, KNOWN("People to look for; 0 for all.", "COUNT")] = 1000,
    noise: Annotated[float, KNOWN("Share of the known points that are wrong.", "SHARE")] = 0.0,
    promise: TracePromise = TracePromise(),
    read: TraceReading = TraceReading(),
    settings: Settings = None,
    seed: RepeatSeed = None,
    quiet: Annotated[bool, option("Show no progress.", None, "--quiet")] = False,
    as_json: AsJson = False,
) -> None:
    """Try to find people by a few of their points, in traces as they are and in what is published of them.

    For the steward: the original decides who is right. With a policy, or -k and -l, a release is made (never written)
    and attacked, too; otherwise the original alone is.
    """
    from sfumato.cli.kind_words import seed_problem
    from sfumato.kinds.traces.attack import attack_traces
    from sfumato.kinds.traces.make import anonymize_traces
    from sfumato.kinds.traces.reading import read_traces

    is_bare = policy is None and promise.k is None and promise.l is None
    problems = seed_problem(seed)
    problems += ["--known: must be a whole number of at least 1"] if known < 1 else []
    problems += [] if 0 <= noise < 1 else ["--noise: must be 0 or above and below 1"]
    problems += ["--victims: must be 0 or above"] if victims < 0 else []
    if is_bare and promise.c is not None:
        problems.append("-c: says how a release is made; add -k and -l, or --policy")
    # Nothing is written: without a policy nobody is asked about nights at home.
    homes = None if policy is not None else "keep"
    own = TracePromise(k=1, l=1) if is_bare else promise
    meant = trace_policy_of(policy, read, own, settings or (), problems, homes=homes)
    with progress_bar(quiet=quiet or as_json) as progress:
        progress("reading", 0, 1)
        original = read_traces(traces, **meant.reading())
        release = None if is_bare else anonymize_traces(original, meant, seed=seed, progress=progress)
        found = attack_traces(original, release, known=known, victims=victims or None, noise=noise, seed=seed)
    say_result(found.to_dict(), str(found), as_json=as_json)
