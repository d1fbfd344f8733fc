"""The page of all paths that ``--set`` takes, and the tables of options on pages of anonymizers and models.

``python docs/site/settings.py`` writes them down anew, from the docstrings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sfumato.policy.policy import Policy

REFERENCE = Path(__file__).parents[1] / "reference"

HEAD = """# Every setting of a policy

`--set PATH=VALUE` sets any option of a policy from the command line, by the names of
[policy files](../how-to/policy-files.md), with the same checks. It counts before other options and before the file, and
may be repeated.

* **A path** has a dot between keys: `source.separator`. A key with a dot or a blank at its end stands in double quotes.
* **Without a dot** it is an option of the anonymizer: `--anonymizer mdav --set gamma=0.5`. Keys at the top of every
  policy need no dot: `--set suppression-limit=0.05`, `purpose`, `recipient`, `threads`, `withstand`.
* `policy.KEY` is a key at the top of the file: `policy.threads`.
* `column.NAME.KEY` is a setting of a quasi-identifying or sensitive column, whatever its role: `column.pay.decimal`.
* `models[0].k` is a key of the first model. Whole models are added with `--model`.
* **A value** is written as in TOML, or is text: `true`, `5`, `word`. Lists may be written `a,b` or `["a", "b"]`; a tab
  is `tab`.

```bash
sfumato anonymize patients.csv --quasi age,sex,zip --others drop -k 5 --out set-release/ \\
    --set 'source.missing=?' --set column.age.weight=2 --set output.format=parquet --set split-rule=median --quiet
```

The tables below are made from the JSON Schema of policies.
"""
PARTS = {
    "policy": ("At the top of the file", None),
    "source": ("How the table is read", "Source"),
    "columns": ("What the columns are", "Columns"),
    "column.NAME": ("Settings of one column", "Column"),
    "people": ("People who have several records", "People"),
    "recoding": ("How classes are published", "Recoding"),
    "output": ("How the release is written", "TableOutput"),
    "subset": ("A research subset", "Subset"),
    "context": ("For whom it is made", "Context"),
}
"""Group of paths → its title, and the part of the schema that it is."""


def page() -> str:
    """Return the page."""
    schema = Policy.json_schema()
    parts = [
        _part(prefix, title, schema["$defs"][name] if name else _top(schema)) for prefix, (title, name) in PARTS.items()
    ]
    return "\n".join([HEAD, *parts, _anonymizers(schema)])


def paths(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield every path, but those of anonymizers."""
    for prefix, (_, name) in PARTS.items():
        for key in (schema["$defs"][name] if name else _top(schema))["properties"]:
            yield f"{prefix}.{key}"


def _top(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys at the top that are no part of their own."""
    own = {prefix.partition(".")[0] for prefix in PARTS} | {"anonymizer"}
    return {"properties": {key: setting for key, setting in schema["properties"].items() if key not in own}}


def _part(prefix: str, title: str, part: Mapping[str, Any]) -> str:
    rows = [f"| `{prefix}.{key}` | {_told(setting)} |" for key, setting in part["properties"].items()]
    return "\n".join([f"## {title}", "", "| path | is |", "|---|---|", *rows, ""])


def _anonymizers(schema: Mapping[str, Any]) -> str:
    """Name the options of each; what they mean stands on the page of each."""
    mapping = schema["properties"]["anonymizer"]["discriminator"]["mapping"]
    lines = ["## The anonymizer", "", "| anonymizer | options, explained on its page |", "|---|---|"]
    for name, place in mapping.items():
        keys = [f"`{key}`" for key in schema["$defs"][place.rpartition("/")[2]]["properties"] if key != "name"]
        page = f"{name}.md" if (REFERENCE / f"{name}.md").is_file() else "randomization.md"
        lines.append(f"| [`{name}`]({page}) | {', '.join(keys)} |")
    return "\n".join([*lines, ""])


def _told(setting: Mapping[str, Any]) -> str:
    """Return what a setting is, and what it takes."""
    text = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", setting.get("description", ""))
    text = text.replace("``", "`").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
    words = [word for kind in (setting, *setting.get("anyOf", ())) for word in kind.get("enum", ())]
    return f"{text} One of {', '.join(f'`{word}`' for word in words)}." if words and not _lists(text, words) else text


def _lists(text: str, words: list[str]) -> bool:
    return all(str(word) in text for word in words)


_TABLE = re.compile(r"^\| (option|parameter) \|.*\n\|[-|]+\|\n(?:\|.*\n)+", re.MULTILINE)


def pages() -> Iterator[tuple[Path, str]]:
    """Yield every page of an anonymizer or a model, and its text with tables as docstrings say."""
    schema = Policy.json_schema()
    places = dict(schema["properties"]["anonymizer"]["discriminator"]["mapping"])
    models = schema["properties"]["models"]["items"]["discriminator"]["mapping"]
    owners = {
        **dict.fromkeys(sorted(REFERENCE.glob("*.md")), places),
        **dict.fromkeys(sorted((REFERENCE / "models").glob("*.md")), models),
    }
    for path, names in owners.items():
        text = path.read_text(encoding="utf-8")
        if path.stem in names or any(f"`{name}`\n" in text for name in names):
            yield path, _with_tables(text, path, names, schema["$defs"])


def _with_tables(text: str, path: Path, names: Mapping[str, str], parts: Mapping[str, Any]) -> str:
    """Return a page whose tables are made anew: each is of whom the heading above names, else the page."""

    def table(found: re.Match[str]) -> str:
        heading = text[: found.start()].rpartition("\n## ")[2].partition("\n")[0]
        named = re.search(r"`([a-z-]+)`$", heading)
        name = named[1] if named and named[1] in names else path.stem
        return _options(parts[names[name].rpartition("/")[2]], found[1], path) if name in names else found[0]

    return _TABLE.sub(table, text)


def _options(part: Mapping[str, Any], what: str, path: Path) -> str:
    required = part.get("required", ())
    keys = {key: each for key, each in part["properties"].items() if key != "name"}
    defaults = {key: "required" if key in required else _default(each.get("default")) for key, each in keys.items()}
    rows = [f"| `{key}` | {defaults[key]} | {_linked(_told(each), path)} |" for key, each in keys.items()]
    return "\n".join([f"| {what} | default | meaning |", "|---|---|---|", *rows, ""])


def _default(value: object) -> str:
    return "none" if value in (None, [], {}) else f"`{json.dumps(value, ensure_ascii=False)}`"


def _linked(text: str, path: Path) -> str:
    """Link decisions to their records, and what several anonymizers share to where it is explained."""

    def record(found: re.Match[str]) -> str:
        (file,) = (REFERENCE.parent / "decisions").glob(f"{int(found[1]):04}-*.md")
        return f"[decision {found[1]}]({'../' * (1 + (path.parent != REFERENCE))}decisions/{file.name})"

    return re.sub(r"decision record (\d+)", record, re.sub(r"[;,] see `sfumato\.[^`]*`", "", text))


if __name__ == "__main__":
    REFERENCE.joinpath("settings.md").write_text(page(), encoding="utf-8")
    for place, content in pages():
        place.write_text(content, encoding="utf-8")
