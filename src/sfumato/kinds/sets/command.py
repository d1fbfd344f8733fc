"""``--kind sets``: what commands do with sets of items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from sfumato.cli.kind_words import KeyForm, KindWritten, RepeatSeed, Threads
from sfumato.cli.options import (
    COLUMNS,
    KNOWN,
    METHOD,
    PRIVACY,
    READING,
    AsJson,
    Hierarchies,
    PolicyFile,
    Settings,
    argument,
    option,
)
from sfumato.cli.progress import progress_bar, say_result
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sfumato.kinds.sets.policy import SetPolicy


# Options that the commands on sets share, and the policy that they mean.


SetsFile = Annotated[Path, argument("SETS", "CSV or Parquet file.")]
OPTIONS: dict[tuple[str | int, ...], str] = {
    ("threads",): "--threads",
    ("model", "k"): "-k",
    ("model", "m"): "-m",
    ("change", "method"): "--method",
    ("change", "class-size"): "--class-size",
    ("anonymizer",): "--anonymizer",
    ("anonymizer", "name"): "--anonymizer",
    ("output", "format"): "--format",
    **{("sets", key): f"--{key}" for key in ("form", "person", "item", "item-separator", "hierarchy", "key-form")},
}
"""What messages call a key that an option set."""
ADVICE = {
    "-k: is missing": "-k: give the number of records that must hold each combination, e.g. -k 5",
    "-m: is missing": "-m: give the number of items that an attacker may know, e.g. -m 2",
}


@dataclass(frozen=True)
class SetReading:
    """What is read, and from where."""

    form: Annotated[
        Literal["long", "wide"] | None,
        READING(
            "long: a row for each item of a person. wide: a row for each person, with a column of whole sets.", "FORM"
        ),
    ] = None
    person: Annotated[
        str | None,
        COLUMNS("Long form: column of people, or several that say together who it is; default the first.", "NAMES"),
    ] = None
    key_form: KeyForm = None
    item: Annotated[
        str | None,
        COLUMNS("Column of items, by default the second; wide form: of whole sets, by default the last.", "NAME"),
    ] = None
    item_separator: Annotated[str | None, READING("Wide form: what stands between items; default ';'.", "TEXT")] = None
    hierarchy: Annotated[
        Path | None, COLUMNS("CSV with a line for each item: the item, then ever coarser names.", "FILE", "--hierarchy")
    ] = None
    quasi: Annotated[
        list[str] | None, COLUMNS("Columns beside the sets that an attacker may know, too.", "NAMES", "--quasi")
    ] = None
    hierarchies: Hierarchies = None


@dataclass(frozen=True)
class SetMaking:
    """What is promised, and how it is reached."""

    k: Annotated[int | None, PRIVACY("Records that hold each combination.", None, "-k")] = None
    m: Annotated[int | None, PRIVACY("Items that an attacker may know.", None, "-m")] = None
    method: Annotated[
        Literal["mixed", "apriori", "optimal", "suppress"] | None,
        METHOD(
            "apriori, optimal: generalize items. suppress: leave them out. mixed, default with a hierarchy: either.",
            "NAME",
        ),
    ] = None
    class_size: Annotated[int | None, METHOD("With --quasi: records of each class, at least; default k.", "COUNT")] = (
        None
    )
    anonymizer: Annotated[str | None, METHOD("With --quasi: what makes the classes; default mondrian.", "NAME")] = None


def set_policy_of(
    policy: Path | None, read: SetReading, make: SetMaking, settings: Sequence[str], problems: list[str], **more: Any
) -> SetPolicy:
    """Make the policy that the options mean, `more` being keys of other parts; all mistakes are named at once."""
    from sfumato.cli.kind_words import KindWords, kind_policy_of
    from sfumato.cli.words import key_named
    from sfumato.kinds.sets.policy import SetPolicy

    sets: dict[str, Any] = {"form": read.form, "person": key_named(read.person), "item": read.item}
    sets |= {"item-separator": read.item_separator, "key-form": read.key_form}
    sets |= {"hierarchy": None if read.hierarchy is None else str(read.hierarchy)}
    parts = {
        "sets": sets,
        "columns": _beside(read, problems),
        "model": {"k": make.k, "m": make.m},
        "change": {"method": make.method, "class-size": make.class_size},
        "anonymizer": {"name": make.anonymizer},
        "output": {"format": more.get("format")},
    }
    words = KindWords(policy, {"threads": more.get("threads")}, parts, problems, None, settings)
    return kind_policy_of(words, SetPolicy.from_mapping, OPTIONS, ADVICE)


def _beside(read: SetReading, problems: list[str]) -> dict[str, Any]:
    """Return the columns beside the sets as a policy writes them."""
    from sfumato.cli.words import all_names, hierarchy_files

    names = all_names(read.quasi)
    if not names:
        if read.hierarchies is not None:
            problems.append("--hierarchies: is about columns beside the sets; name some with --quasi")
        return {}
    files: dict[str, Path] = {}
    if read.hierarchies is not None:
        try:
            files, found = hierarchy_files(read.hierarchies, names)
            problems += found
        except InputError as error:
            problems += error.problems
    return {"quasi-identifying": {name: {"hierarchy": str(files[name])} if name in files else {} for name in names}}


# ``anonymize``: from sets and a policy to a verified release.


def anonymize(
    sets: SetsFile,
    policy: PolicyFile = None,
    make: SetMaking = SetMaking(),
    read: SetReading = SetReading(),
    settings: Settings = None,
    threads: Threads = None,
    seed: RepeatSeed = None,
    written: KindWritten = KindWritten(),  # noqa: B008 - a frozen value
) -> None:
    """Generalize items, or leave them out, so that whoever knows m items of somebody finds k records that fit.

    The result is recounted before it is written. With --save-policy and without --out, only the policy is written.
    """
    from sfumato.cli.kind_words import seed_problem
    from sfumato.kinds.sets.make import anonymize_sets
    from sfumato.kinds.sets.release import save_sets
    from sfumato.kinds.sets.sets import read_sets

    problems = [*seed_problem(seed), *written.problems()]
    own = set_policy_of(policy, read, make, settings or (), problems, threads=threads, format=written.format)
    written.publish(
        own,
        lambda progress: anonymize_sets(read_sets(sets, **own.reading()), own, seed=seed, progress=progress),
        save_sets,
        ("sets", sets, policy),
    )


# ``attack``: looking for people by a few of their items, before and after.


def attack(
    sets: SetsFile,
    policy: PolicyFile = None,
    known: Annotated[int | None, KNOWN("Known items of each victim; default m, or 2.", "COUNT")] = None,
    about: Annotated[
        Literal["any", "popular", "rare"], KNOWN("Which of their items: any, popular or rare.", "KIND")
    ] = "any",
    victims: Annotated[int, KNOWN("People to look for; 0 for all.", "COUNT")] = 1000,
    make: SetMaking = SetMaking(),
    read: SetReading = SetReading(),
    settings: Settings = None,
    threads: Threads = None,
    seed: RepeatSeed = None,
    quiet: Annotated[bool, option("Show no progress.", None, "--quiet")] = False,
    as_json: AsJson = False,
) -> None:
    """Try to find people by a few of their items, in sets as they are and in what is published of them.

    For the steward: the original decides who is right. With a policy, or -k and -m, a release is made (never written)
    and attacked, too; otherwise the original alone is. It is played with one item more as well, beyond the promise.
    """
    from sfumato.cli.kind_words import seed_problem
    from sfumato.kinds.sets.attack import attack_sets
    from sfumato.kinds.sets.make import anonymize_sets
    from sfumato.kinds.sets.sets import read_sets

    is_bare = policy is None and make.k is None and make.m is None
    problems = seed_problem(seed)
    problems += ["--known: must be a whole number of at least 1"] if known is not None and known < 1 else []
    problems += ["--victims: must be 0 or above"] if victims < 0 else []
    if is_bare:
        problems += [
            f"--{option.name.replace('_', '-')}: says how a release is made; add -k and -m, or --policy"
            for option in fields(make)
            if getattr(make, option.name) is not None
        ]
        make = SetMaking(k=1, m=1)
    meant = set_policy_of(policy, read, make, settings or (), problems, threads=threads)
    with progress_bar(quiet=quiet or as_json) as progress:
        progress("reading", 0, 1)
        original = read_sets(sets, **meant.reading())
        release = None if is_bare else anonymize_sets(original, meant, seed=seed, progress=progress)
        found = attack_sets(original, release, known=known, items=about, victims=victims or None, seed=seed)
    say_result(found.to_dict(), str(found), as_json=as_json)


def check(
    sets: SetsFile,
    m: Annotated[int, PRIVACY("Largest number of known items.", None, "-m")] = 3,
    policy: PolicyFile = None,
    read: SetReading = SetReading(),
    settings: Settings = None,
    threads: Annotated[int | None, METHOD("Threads; default all cores.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say which k^m-anonymity sets have as they are, wherever they come from.

    For 1 to m items that somebody may know of a person: the fewest records that hold any combination of items that
    occurs. Items are counted as they stand there.
    """
    from sfumato.kinds.sets.check import check_sets
    from sfumato.kinds.sets.sets import read_sets

    # A policy needs a model, and nothing is promised here.
    making = SetMaking() if policy is not None else SetMaking(k=1, m=1)
    meant = set_policy_of(policy, read, making, settings or (), [], threads=threads)
    found = check_sets(read_sets(sets, **meant.reading()), m, threads=meant.threads)
    say_result(found.to_dict(), str(found), as_json=as_json)
