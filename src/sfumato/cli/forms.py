"""Commands that have several forms, each with options of its own: by kind of release, or by what is measured.

The registry of kinds says which kinds there are. The folder of a kind names its ``COMMANDS``, which stand in the module
``command`` beside it, as functions of the same names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module

from sfumato.errors import PolicyError, raise_all
from sfumato.registry import OWN_KINDS

SERIES = {verb: {"series": f"sfumato.cli.series:{verb}"} for verb in ("verify", "attack", "compare")}
"""What is done with a series of releases as with one."""
MARKS = {"series": "series.json"}
"""The file by which a folder says of which form it is."""
MEASURED = {"measure": {"utility": "sfumato.cli.measure:utility", "columns": "sfumato.cli.measure:columns"}}


@dataclass(frozen=True)
class Forms:
    """The forms of a command.

    Attributes
    ----------
    flag : str
        The option that names one.
    what : str
        What it names, for help.
    usual : str
        The form without the option.
    places : mapping
        Every other form → where it stands, as ``module:function``.
    """

    flag: str
    what: str
    usual: str
    places: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """All forms, the usual one first."""
        return self.usual, *self.places

    @property
    def help(self) -> str:
        """What help says of the option."""
        return f"{self.what}: {', '.join(self.names)}. {self.flag} NAME --help shows the options of one."

    def of_folder(self, words: Sequence[str]) -> str:
        """Return the form that a folder says it is of, or the usual one."""
        folders = [word for word in words if not word.startswith("-") and os.path.isdir(word)]
        if len(words) > 1 and "series" in self.places and {*words[:2]} <= {*folders}:
            return "series"  # several releases
        if "series" in self.places and any(word.partition("=")[0] == "--ledger" for word in words):
            return "series"  # whose folder may not be there yet, after a run that was killed
        for form in (form for form in MARKS if form in self.places):
            if any(os.path.isfile(os.path.join(folder, MARKS[form])) for folder in folders):
                return form
        return self.usual

    def refuse_others(self, form: str, words: Sequence[str], options: Callable[[str], Mapping[str, bool]]) -> None:
        """Raise PolicyError with every option that this form lacks and another one has.

        `options` returns the options of a form, and whether each takes a value.
        """
        unknown = dict.fromkeys(_unknown(words, options(form)))
        owners = {other: options(other) for other in self.names if other != form} if unknown else {}
        having = {flag: [other for other, known in owners.items() if flag in known] for flag in unknown}
        raise_all(
            PolicyError,
            [
                f"{flag}: is an option of {self.flag} {' or '.join(others)}; this is {self.flag} {form}: leave it out"
                for flag, others in having.items()
                if others
            ],
        )


def _unknown(words: Sequence[str], known: Mapping[str, bool]) -> Iterator[str]:
    """Return the options among the words that are not known."""
    given = iter(words)
    for word in given:
        flag, equals, _ = word.partition("=")
        flag = flag if flag.startswith("--") else flag[:2]
        if word == "--":
            return
        if flag not in known and len(flag) > 1 and flag[0] == "-":
            yield flag
        elif known.get(flag) and flag == word and not equals:
            next(given, None)


def forms_of(command: str) -> Forms | None:
    """Return the forms of a command; None where it has one alone."""
    if command in MEASURED:
        return Forms("--what", "What is measured", "losses", MEASURED[command])
    places = {kind: f"{folder}.command:{command}" for kind, folder in _folders() if command in _commands(folder)}
    places |= SERIES.get(command, {})
    return Forms("--kind", "Kind of release", "tables", places) if places else None


def _folders() -> Iterator[tuple[str, str]]:
    """Return each kind of the registry, and the package in which it lies; none is loaded."""
    for kind, place in OWN_KINDS.unloaded().items():
        module = place.partition(":")[0] if isinstance(place, str) else type(place).__module__
        if folder := module.rpartition(".")[0]:
            yield kind, folder


def _commands(folder: str) -> Sequence[str]:
    return getattr(import_module(folder), "COMMANDS", ())


def form_in(command: str, words: Sequence[str]) -> tuple[Forms | None, str, list[str]]:
    """Return the forms of a command, the one that its words ask for, and the other words."""
    forms, name, others = forms_of(command), None, list[str]()
    if forms is None:
        return None, "", list(words)
    given = iter(words)
    for word in given:
        flag, equals, value = word.partition("=")
        if word == "--":
            others += [word, *given]
        elif flag == forms.flag:
            name = value if equals else next(given, "")
        else:
            others.append(word)
    if name is not None and name not in forms.names and name in OWN_KINDS:  # of another package, which is loaded now
        forms = forms_of(command) or forms
    if name is not None and name not in forms.names:
        raise PolicyError(f"{forms.flag}: {command} has no {name!r}; it has {', '.join(forms.names)}")
    return forms, name or forms.of_folder(others), others
