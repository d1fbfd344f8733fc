"""Policies from the files of other programs: an ARX project, a script with sdcMicro's calls, Amnesia's rules.

Each becomes a policy that runs here, with the hierarchies that it holds and a list of what differs. No code of a script
is run, and no serialized object is read.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from sfumato.errors import InputError
from sfumato.policy.policy import Policy

_MOST = 64 << 20
"""Bytes of a part of a project, unpacked, that are read."""
_ORIGINAL = {"reference": "original"}


@dataclass(frozen=True)
class Bridge:
    """What was read: a policy, texts of hierarchies by path, which hold original values, and what differs."""

    policy: Policy
    hierarchies: Mapping[Path, str]
    differences: tuple[str, ...]


def reader_of(path: str | Path) -> Callable[[Path, Path], Bridge] | None:
    """Return what reads such a file, called with its path and a folder for hierarchies; None for all other files."""
    file = Path(path)
    if file.suffix.lower() in (".deid", ".r"):
        return _from_arx if file.suffix.lower() == ".deid" else _from_sdcmicro
    if file.suffix.lower() != ".txt" or not file.is_file():
        return None
    with file.open("rb") as opened:
        return _from_amnesia if opened.read(len(_RULES)) == _RULES else None


def _bridge(columns: dict[str, Any], found: dict[str, Any], said: list[str], files: dict[Path, str]) -> Bridge:
    models = found.pop("models", [])
    if not models:
        said.append("No promise was read: k-anonymity with k = 5 is put. Say what is promised.")
    mapping = {"models": models or [{"name": "k-anonymity", "k": 5}], **found}
    return Bridge(Policy.from_mapping({**mapping, "columns": {"others": "drop", **columns}}), files, tuple(said))


def _file_of(name: str, folder: Path, files: Mapping[Path, str]) -> Path:
    """Return a path of its own for the hierarchy of a column."""
    safe = re.sub(r"[^\w-]", "_", name)
    return folder / (f"{safe}.csv" if folder / f"{safe}.csv" not in files else f"{safe}-{len(files)}.csv")


# ARX: a zip of XML and CSV.

_ROLES = {"IDENTIFYING": "identifying", "SENSITIVE": "sensitive", "INSENSITIVE": "insensitive"}
_QUASI = "quasi-identifying"
_OF = r" for attribute '(?P<attribute>.*)'"
_FIGURE = r"[\d.]+(?:E-?\d+)?"
"""As Java writes a number: below a thousandth 1.0E-4."""
_CRITERIA: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (r"(?P<k>\d+)-anonymity", "k-anonymity", {}),
    (rf"distinct-(?P<l>\d+)-diversity{_OF}", "distinct-l-diversity", {}),
    (rf"(?:shannon-)?entropy-(?P<l>{_FIGURE})-diversity{_OF}", "entropy-l-diversity", {}),
    (rf"recursive-\((?P<c>{_FIGURE}),(?P<l>\d+)\)-diversity{_OF}", "recursive-l-diversity", {}),
    (
        rf"(?P<t>{_FIGURE})-closeness with (?P<distance>equal|hierarchical|ordered) (?:ground-)?distance{_OF}",
        "t-closeness",
        _ORIGINAL,
    ),
    (rf"basic-(?P<beta>{_FIGURE})-likeness{_OF}", "basic-beta-likeness", _ORIGINAL),
    (rf"enhanced-(?P<beta>{_FIGURE})-likeness{_OF}", "enhanced-beta-likeness", _ORIGINAL),
    (rf"(?P<delta>{_FIGURE})-disclosure privacy{_OF}", "delta-disclosure", _ORIGINAL),
    (rf"\(<?(?P<risk>{_FIGURE})(?:, .*)?\)-avg-reidentification-risk", "average-risk", {}),
    (rf"\(<?(?P<share>{_FIGURE})\)-sample-uniq\w+", "sample-uniques", {}),
    (r"\((?P<k>\d+)\)-map", "k-map", {}),
    (rf"\((?P<delta_min>{_FIGURE}), ?(?P<delta_max>{_FIGURE})\)-presence", "delta-presence", {}),
)
_ALSO = {
    r"\(.*, .*-avg-reidentification-risk": "its other bounds, of the highest risk and of records at risk, are not "
    "carried over. See highest-risk",
    r".*-(?:map|presence)": "it speaks of a population: name it (population, or subset)",
    r"Inclusion": "it is a research subset, and no promise. Mark its records: see subset",
    r".*-population-uniqueness.*": "it is not carried over. See population-uniques, which asks for the population",
    r".*estimated as.*": "it is not carried over. See k-map with estimate, which asks for the population",
    r"grassberger-.*": "it is not carried over. Entropy l-diversity of what is published is stricter",
}
"""What is said of a criterion beside, or in place of, what is carried over."""


def _from_arx(path: Path, folder: Path) -> Bridge:
    """Read an ARX project. Raises ``InputError`` where it is none, or is damaged."""
    try:
        with zipfile.ZipFile(path) as project:
            return _arx(project, folder)
    except (OSError, zipfile.BadZipFile, KeyError, ElementTree.ParseError, UnicodeDecodeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: is no ARX project that can be read, or is damaged") from None


def _arx(project: zipfile.ZipFile, folder: Path) -> Bridge:
    separator = _xml(project, "project.xml").findtext("separator") or ";"
    config, columns = _xml(project, "input/config.xml"), dict[str, Any]()
    weights = {each.findtext("attribute"): each.findtext("weight") for each in config.iter("attributeWeight")}
    files, said = dict[Path, str](), ["The table is data/input.csv in the project. Unpack it before you publish."]
    said += _unlike_here(config)
    for each in _xml(project, "input/definition.xml").iter("assigment"):
        name = each.findtext("name") or ""
        role = _ROLES.get((each.findtext("type") or "").removesuffix("_ATTRIBUTE"), _QUASI)
        said += [f"Column {name!r}: {sentence}" for sentence in _unlike(each) if role != "identifying"]
        if role in ("identifying", "insensitive"):
            columns.setdefault(role, []).append(name)
            continue
        entry = columns.setdefault(role, {}).setdefault(name, {})
        if weight := float(weights.get(name) or 0):
            entry["weight"] = weight
        elif name in weights:
            said.append(f"Column {name!r}: its loss counts nothing there (weight 0). Here it counts as much as others.")
        ref = each.findtext("ref")
        if ref is not None:
            place = _file_of(name, folder, files)
            files[place] = _text(project, f"input/{ref}")
            entry["hierarchy"] = {"kind": "file", "path": str(place), "separator": separator}
        elif (each.findtext("datatype") or "") in ("Integer", "Decimal"):
            entry["kind"] = "numeric"
    found: dict[str, Any] = {"anonymizer": {"name": "optimal"}, "source": {"separator": separator}}
    found["models"] = list(_criteria(config, said))
    found["suppression-limit"] = min(float(config.findtext("relativeMaxOutliers") or 0), 1.0)
    if (star := config.findtext("suppressionString") or "*") != "*":
        said.append(f"A suppressed value is written {star!r} there. Here it is a star.")
    if metric := config.findtext("metric"):
        said.append(f"The quality model is {metric!r}. Here it is the loss: see the options of 'optimal' for others.")
    return _bridge(columns, found, said, files)


def _unlike(column: ElementTree.Element) -> Iterator[str]:
    low, high = ((column.findtext(end) or "All") for end in ("min", "max"))
    if (low, high) != ("All", "All"):
        yield f"levels {low} to {high} are allowed there. Cut the hierarchy: here every level is."
    if any("microaggregation" in child.tag.lower() for child in column):
        yield "it is microaggregated there. Here recoding.numeric = 'mean' does so for all columns of numbers."
    kind = column.findtext("datatype")
    if kind == "Ordinal":
        yield "its order of values is not carried over. See the setting order."
    elif column.findtext("format"):
        yield f"the project says how values of {kind} are written. See the settings decimal, thousands and dates."
    if column.findtext("responseVariable") == "true":
        yield "it is to be predicted there. See the objective 'classification', and sfumato measure --what utility."


def _unlike_here(config: ElementTree.Element) -> Iterator[str]:
    """Say which settings of a whole project are not carried over."""
    if float(config.findtext("relativeMaxOutliers") or 0):
        yield "Suppressed records are left out. There they stay as rows of *: see recoding.suppressed = 'star'."
    if config.findtext("practicalMonotonicity") == "true":
        yield "Monotonicity is assumed there, which may miss the best. Here it is never assumed."
    types = [each.text or "" for each in config.iterfind("suppressedAttributeTypes/type")]
    if more := [each for each in types if not each.startswith("QUASI")]:
        named = ", ".join(each.removesuffix("_ATTRIBUTE").lower() for each in more)
        yield f"Suppressed records lose {named} values there. See recoding.suppressed."


def _criteria(config: ElementTree.Element, said: list[str]) -> Iterator[dict[str, Any]]:
    for text in (each.text or "" for each in config.iter("criterion")):
        read = [(found, name, more) for way, name, more in _CRITERIA if (found := re.fullmatch(way, text)) is not None]
        beside = [f"The promise {text!r}: {more}." for way, more in _ALSO.items() if re.fullmatch(way, text)]
        said += beside[:1]
        if not read and not beside:
            said.append(f"The promise {text!r} is not carried over. The page 'Coming from ARX' says what is like it.")
        for found, name, more in read:
            given = {key.replace("_", "-"): value for key, value in found.groupdict().items()}
            words = ("attribute", "distance")
            yield {
                "name": name,
                **{key: each if key in words else _number(each) for key, each in given.items()},
                **more,
            }


def _number(text: str) -> float:
    return int(float(text)) if float(text).is_integer() else float(text)


def _text(project: zipfile.ZipFile, name: str) -> str:
    if project.getinfo(name).file_size > _MOST:
        raise InputError(f"{name}: is larger than {_MOST >> 20} MB; no project has such a part")
    read = project.read(name)
    try:
        return read.decode("utf-8")
    except UnicodeDecodeError:  # hierarchies are written as the machine writes, which on Windows long was this
        return read.decode("cp1252")


def _xml(project: zipfile.ZipFile, name: str) -> ElementTree.Element:
    text = _text(project, name)
    if "<!DOCTYPE" in text:
        raise InputError(f"{name}: declares a document type, which no project does")
    return ElementTree.fromstring(text)


# sdcMicro: calls in a script of R.

_CALL = re.compile(r"\b([A-Za-z]\w*)\s*\(")
_QUOTED = re.compile(r"""(["'])(.*?)\1""")
_COMMENT = re.compile(r"""("[^"\n]*"|'[^'\n]*')|#[^\n]*""")
_SUPPRESSING = ("kAnon", "localSuppression")
_ELSEWHERE = {
    "microaggregation": "MDAV with Recoding(numeric='mean')",
    "addNoise": "randomization.Noise",
    "rankSwap": "randomization.RankSwapping",
    "mafast": "MDAV with Recoding(numeric='mean')",
    "LocalRecProg": "an anonymizer such as k-member",
    "dataGen": "--kind private-sample, or private-marginals with --synthetic",
    "shuffle": "randomization.Shuffling",
    "pram": "randomization.PRAM",
    "topBotCoding": "randomization.TopBottomCoding",
    "recordSwap": "randomization.Swapping",
    "localSupp": "CellSuppression, for a k instead of a risk",
    "globalRecode": "a hierarchy of the column",
    "groupAndRename": "a hierarchy of the column",
    "ldiversity": "a model, such as distinct-l-diversity, which a release keeps",
}
_OF_SUPPRESSION = {
    "combs": "asks for a k of subsets. Here the largest holds of all keys: see subset-k-anonymity.",
    "importance": "is not carried over. Here it is the option importance of cell-suppression.",
}
_ARGUMENTS = ("dat", "keyVars", "numVars", "pramVars", "ghostVars", "weightVar", "hhId", "strataVar", "sensibleVar")
_NOTES = {
    "numVars": "continuous keys. Here classes are made of them, too.",
    "weightVar": "weights. They are published as they are: see whether they tell who somebody is.",
    "hhId": "households. It is removed: see --set people.rows=household.",
    "strataVar": "strata. It is published as it is: see the option strata of clusterings.",
    "ghostVars": "columns that follow others. Suppress them by hand.",
}


def _from_sdcmicro(path: Path, _: Path) -> Bridge:
    """Read what a script asks of sdcMicro; only names and numbers that it writes out. ``InputError`` without a call."""
    try:
        script = _COMMENT.sub(lambda found: found[1] or "", path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path}: cannot be read as a text") from None
    calls = [(found[1], _arguments(script, found.end())) for found in _CALL.finditer(script)]
    made = next((given for name, given in calls if name == "createSdcObj"), None)
    if made is None:
        raise InputError(f"{path}: calls no createSdcObj, which says what the columns are")
    made = {_formal(name): text for name, text in made.items()}
    roles, said = {name: _names(made.get(name, ""), script) for name in (*_ARGUMENTS, "excludeVars")}, list[str]()
    taken = {name for role in ("keyVars", "pramVars", "numVars", "sensibleVar") for name in roles[role]}
    for role in ("weightVar", "strataVar", "hhId", "excludeVars"):
        said += [f"{name}: of two roles there. Here it has the first." for name in roles[role] if name in taken]
        roles[role] = [name for name in roles[role] if name not in taken]
    said += [f"{', '.join(roles[name])}: {note}" for name, note in _NOTES.items() if roles[name]]
    columns: dict[str, Any] = {
        _QUASI: {name: {"kind": "categorical"} for name in [*roles["keyVars"], *roles["pramVars"]]}
        | {name: {"kind": "numeric"} for name in roles["numVars"]},
        "sensitive": roles["sensibleVar"],
        "insensitive": [*roles["weightVar"], *roles["strataVar"]],
        "identifying": [*roles["hhId"], *roles["excludeVars"]],
    }
    if both := sorted({*columns[_QUASI]} & {*columns["sensitive"]}):
        said.append(f"{', '.join(both)}: keys and sensitive there. Here a column has one role: they are sensitive.")
        columns[_QUASI] = {name: entry for name, entry in columns[_QUASI].items() if name not in both}
    suppressing: list[Mapping[str, str]] = []
    for name, given in calls:
        if name in _SUPPRESSING:
            suppressing.append(given)
        elif name == "undolast":
            suppressing = suppressing[:-1]
        elif name in _ELSEWHERE:
            said.append(f"{name} is not carried over. Here it is {_ELSEWHERE[name]}.")
    found = _suppression(suppressing[-1], said) if suppressing else {"anonymizer": {"name": "mondrian"}}
    if not columns[_QUASI]:
        raise InputError(f"{path}: names no key variables in quotes; write their names, not their places")
    said.append("A suppressed cell is a value of its own here. There it is alike to every value.")
    return _bridge({role: names for role, names in columns.items() if names}, found, [*dict.fromkeys(said)], {})


def _suppression(given: Mapping[str, str], said: list[str]) -> dict[str, Any]:
    """Return what the last call of local suppression asks for; by place, k is the second one, in a pipe the first."""
    number = r"^\W*(?:c\()?\d"
    asked = next((given[key] for key in ("k", "keyVars", "dat") if re.search(number, given.get(key, ""))), None)
    said += [f"{name}: {note}" for name, note in _OF_SUPPRESSION.items() if given.get(name, "NULL") != "NULL"]
    if asked is None and "k" in given:  # a variable
        return {"anonymizer": {"name": "cell-suppression"}}
    k = 2 if asked is None else _largest_number(asked)
    return {"anonymizer": {"name": "cell-suppression"}, "models": [{"name": "k-anonymity", "k": k}]}


def _arguments(script: str, begin: int) -> dict[str, str]:
    """Return the arguments of a call that is open at `begin`, by their names; those without one as createSdcObj's."""
    parts, depth, quote, last = list[str](), 1, "", begin
    for place in range(begin, len(script)):
        letter = script[place]
        if quote or letter in "\"'":
            quote = "" if letter == quote else quote or letter
        elif letter in "([{)]}":
            depth += 1 if letter in "([{" else -1
        if not depth or (letter == "," and depth == 1 and not quote):
            parts.append(script[last:place].strip())
            last = place + 1
        if not depth:
            break
    named = (re.fullmatch(r"(?:([\w.]+)\s*=(?!=))?\s*(.*)", part, re.DOTALL) for part in parts)
    places = iter(_ARGUMENTS)
    return {found[1] or next(places, "..."): found[2] for found in named if found is not None}


def _formal(name: str) -> str:
    """Return the parameter of createSdcObj whose beginning was written, as R takes it: w for weightVar."""
    meant = [each for each in (*_ARGUMENTS, "excludeVars") if each.startswith(name)]
    return meant[0] if len(meant) == 1 else name


def _names(text: str, script: str) -> list[str]:
    """Return the texts that an argument writes out, or those of the variable that it names."""
    if text.startswith("~"):
        return re.findall(r"[A-Za-z.][\w.]*", text)
    if re.fullmatch(r"[A-Za-z][\w.]*", text) and text != "NULL":
        assigned = re.search(rf"\b{re.escape(text)}\s*(?:<-|=)\s*(c\([^)]*\)|\"[^\"]*\"|'[^']*')", script)
        text = assigned[1] if assigned else ""
    return [found[2] for found in _QUOTED.finditer(text)]


def _largest_number(text: str) -> int:
    return max(map(int, re.findall(r"\d+", text)), default=2)


# Amnesia: the rules of a solution, as text.

_RULES = b"Anonymization rules:"


def _from_amnesia(path: Path, folder: Path) -> Bridge:
    """Read the rules of a solution. Raises ``InputError`` where a line is no rule."""
    columns, files, name = dict[str, Any](), dict[Path, str](), ""
    rows: dict[str, list[tuple[str, str]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        value, arrow, label = line.partition("->" if "->" in line else ",")  # earlier versions wrote a comma
        if not line:
            name = ""
        elif not name:
            name = line
            rows.setdefault(name, [])
        elif not arrow:
            raise InputError(f"{path}: a line of a column is no rule, such as 4711->47**")
        else:
            rows[name].append((value, label))
    for column, rules in rows.items():
        columns[column] = {}
        if any(value != label for value, label in rules):
            place = _file_of(column, folder, files)
            said_of = sorted(each for each in set(rules) if each[0] not in ("", "(null)"))
            files[place] = "".join(f"{_cell(value)};{_cell(label)}\n" for value, label in said_of)
            columns[column] = {"hierarchy": {"kind": "file", "path": str(place), "separator": ";"}}
    if not columns:
        raise InputError(f"{path}: has no rules")
    said = [
        "The rules name no k, and no column beside those that they generalize.",
        "One level is known of each column. The search here may take it, the values, or a star.",
        "Rules do not say which column is one of sets. For such a table see --kind sets.",
    ]
    return _bridge({_QUASI: columns}, {"anonymizer": {"name": "optimal"}}, said, files)


def _cell(text: str) -> str:
    quoted = text.replace('"', '""')
    return f'"{quoted}"' if any(mark in text for mark in ';"\n,\t') else text
