"""The page of all paths that ``--set`` takes: ``python docs/site/settings.py > docs/reference/settings.md``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.policy.policy import Policy

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
    mapping = schema["properties"]["anonymizer"]["discriminator"]["mapping"]
    lines = ["## The anonymizer", ""]
    for name, place in mapping.items():
        properties = schema["$defs"][place.rpartition("/")[2]]["properties"]
        rows = [f"| `{key}` | {_told(setting)} |" for key, setting in properties.items() if key != "name"]
        if rows:
            lines += [f"### {name}", "", "| path | is |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def _told(setting: Mapping[str, Any]) -> str:
    """Return what a setting is, and what it takes."""
    text = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", setting.get("description", ""))
    text = text.replace("``", "`").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
    words = [word for kind in (setting, *setting.get("anyOf", ())) for word in kind.get("enum", ())]
    return f"{text} One of {', '.join(f'`{word}`' for word in words)}." if words and not _lists(text, words) else text


def _lists(text: str, words: list[str]) -> bool:
    return all(str(word) in text for word in words)


if __name__ == "__main__":
    print(page(), end="")
