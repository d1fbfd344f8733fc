"""The index of the site's search: which page says a word, and how much it is about it. ``search.js`` ranks by it.

Nothing of the ranking is here but the weights of words: title, what readers ask, headings, first lines and text
count each by itself (BM25, no field drowns another), and how rare a word is over all pages.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from api import api_entries

HERE = Path(__file__).parent
_WORDS = tomllib.loads((HERE / "words.toml").read_text(encoding="utf-8"))
SILENT = frozenset(_WORDS["silent"].split())


def _asked() -> dict[str, tuple[str, ...]]:
    """Read page → what people type who want it."""
    parts = (HERE / "asked.txt").read_text(encoding="utf-8").split("\n\n")
    return {page[1:]: tuple(lines) for page, *lines in (part.strip().split("\n") for part in parts)}


ASKED = _asked()

FIELDS = {"title": 9.0, "asked": 13.0, "headings": 3.0, "first": 2.0, "text": 1.6}
"""Field → what a page gets for a word that it is full of there."""
_LENGTH = {"title": 0.75, "asked": 0.4, "headings": 0.4, "first": 0.3, "text": 0.6}
"""Field → how much its length counts."""

_STANDING = (
    ("docs/tutorials/", 1.0), ("docs/how-to/", 1.0), ("docs/explanation/", 0.93), ("docs/reference/", 0.95),
    ("docs/notebooks/", 0.6), ("docs/", 0.95), ("api/", 0.6), ("", 0.6),
)  # fmt: skip
"""Beginning of a page's place → how much it counts beside others that say the same."""

_KINDS = {"docs/reference/attacks/": "attack", "docs/reference/models/": "model"}
"""Folder → what its pages are about, each by its title."""

_TOP = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
_SCALE = 100
_APART = ("singling",)
"""Words whose ending is no ending: who singles out looks for no single thing."""


@dataclass(frozen=True)
class Page:
    """What the search knows of a page, or of a name of the API."""

    place: str  # from the top of the site, with .html
    title: str
    first: str
    headings: tuple[str, ...] = ()
    text: str = ""
    asked: tuple[str, ...] = ()

    @property
    def standing(self) -> float:
        """How much it counts."""
        return next(share for start, share in _STANDING if self.place.startswith(start))


def words(text: str) -> list[str]:
    """Return the words of a text, joined ones also in one: k, anonymity, kanonymity."""
    found = list[str]()
    for run in re.findall(r"\w+(?:[-_.]\w+)*", text.lower()):
        parts = [part for part in re.split(r"[-_.]", run) if part]
        found += parts if len(parts) == 1 or len(parts) > 3 else [*parts, "".join(parts)]
    return [word for word in found if word not in SILENT]


def stem(word: str) -> str:
    """Cut plurals and endings, so that forms of one word meet."""
    if word in _APART:
        return word
    for ending, instead in (
        ("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("izers", "izer"), ("s", ""),
    ):  # fmt: skip
        if word.endswith(ending) and len(word) > len(ending) + 2 and not word.endswith(("ss", "us", "is")):
            word = word[: len(word) - len(ending)] + instead
            break
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) > len(ending) + 3:
            word = word.removesuffix(ending)
            return word[:-1] if word[-1] == word[-2] and word[-1] not in "sl" else word
    return word.removesuffix("e") if len(word) > 4 else word


def pages_of(folder: Path) -> list[Page]:
    """Read the pages for readers, as they lie in the repository or were laid out, and the names of the API.

    Raises ``KeyError`` when a page of `ASKED` is not there any more.
    """
    names = [*sorted(path.relative_to(folder) for path in folder.glob("docs/**/*.md")), *map(Path, _TOP)]
    places = [str(name.with_suffix("")) for name in names if "decisions" not in name.parts]
    if gone := ASKED.keys() - {*places}:
        raise KeyError(f"docs/site/asked.txt names pages that are not there: {', '.join(sorted(gone))}")
    pages = [_read(place, (folder / f"{place}.md").read_text(encoding="utf-8")) for place in places]
    return pages + [Page(*entry) for entry in api_entries()]


def _read(place: str, text: str) -> Page:
    prose = re.sub(r"```.*?```", " ", text, flags=re.DOTALL)
    lines = [_plain(line) for line in prose.splitlines()]
    title = next((line.lstrip("# ") for line in lines if line.startswith("# ")), place)
    headings = tuple(line.lstrip("# ") for line in lines if line.startswith("##"))
    body = [line for line in lines if line and not line.startswith("#")]
    first = next((" ".join(part.split()) for part in _paragraphs(lines)), "")
    is_for_builders = place in ("CHANGELOG", "CONTRIBUTING")
    where = "index" if place == "README" else place
    kinds = [f"{title} {kind}" for folder, kind in _KINDS.items() if place.startswith(folder)]
    asked = (*ASKED.get(place, ()), *kinds)
    return Page(f"{where}.html", title, first, headings, "" if is_for_builders else " ".join(body), asked)


def _paragraphs(lines: list[str]) -> Iterator[str]:
    for part in "\n".join(lines).split("\n\n"):
        if part.strip() and not part.lstrip().startswith(("#", "|", "!", "<", "*", "-")):
            yield part


def _plain(line: str) -> str:
    line = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", line)
    return re.sub(r"<[^>]+>|[`*]", "", line).rstrip()


def index_of(pages: list[Page]) -> dict[str, Any]:
    """Return all that ``search.js`` needs, in plain values."""
    weights = _weights(pages)
    forms = defaultdict(set)
    for page in pages:
        for word in words(" ".join((page.title, *page.asked, *page.headings, page.first, page.text))):
            forms[stem(word)].add(word)
    groups = [[stem(word) for word in group.split()] for group in _WORDS["synonyms"]]
    for word in " ".join(_WORDS["synonyms"]).split():
        forms[stem(word)].add(word)  # a word that no page has leads to what means the same
    meant: dict[str, list[str]] = {}
    for group in groups:
        for word in group:
            others = [other for other in group if other != word and other in weights]
            meant[word] = [*meant.get(word, []), *others]
    return {
        "pages": [[page.place, page.title, _short(page.first), list(page.headings)] for page in pages],
        "standing": [page.standing for page in pages],
        "words": {word: known for known in sorted(forms) for word in sorted(forms[known] | {known})},
        "weights": weights,
        "meant": {word: others for word, others in sorted(meant.items()) if others},
        "lines": _lines(pages),
        "silent": sorted(SILENT),
    }


def _lines(pages: list[Page]) -> list[list[Any]]:
    """Return the number of each page with its title, its headings and what is asked of it, as stems."""
    named = [(number, page) for number, page in enumerate(pages) if not page.place.startswith("api/")]
    return [
        [number, *dict.fromkeys(_stems(text))]
        for number, page in named
        for text in dict.fromkeys((page.title, *page.asked, *page.headings))
        if _stems(text)
    ]


def _stems(text: str) -> list[str]:
    """Return stems of the words as they are typed: joined ones by their parts alone."""
    return [stem(word) for word in re.findall(r"[^\W_]+", text.lower()) if word not in SILENT]


def _short(text: str) -> str:
    return text if len(text) <= 150 else text[:150].rpartition(" ")[0] + " …"


def _weights(pages: list[Page]) -> dict[str, list[int]]:
    """Return stem → number of a page, its weight, the next page, and so on."""
    counts = {field: [_counted(page, field) for page in pages] for field in FIELDS}
    rare = Counter(word for number in range(len(pages)) for word in {w for f in FIELDS for w in counts[f][number]})
    found = defaultdict[str, list[int]](list)
    average = {field: sum(map(Counter.total, each)) / len(pages) or 1.0 for field, each in counts.items()}
    for number in range(len(pages)):
        total = Counter[str]()
        for field, most in FIELDS.items():
            here = counts[field][number]
            size = 1 - _LENGTH[field] + _LENGTH[field] * here.total() / average[field]
            for word, times in here.items():
                total[word] += most * times / (times + 1.2 * size)  # never 0: times >= 1
        for word, score in total.items():
            idf = math.log(1 + (len(pages) - rare[word] + 0.5) / (rare[word] + 0.5))
            if weight := round(_SCALE * idf * score):
                found[word] += [number, weight]
    return dict(found)


def _counted(page: Page, field: str) -> Counter[str]:
    value = getattr(page, field)
    texts = value if isinstance(value, tuple) else (value,)
    found = Counter[str]()
    for text in texts:
        known = [stem(word) for word in words(text)]
        found.update(known)
        if field != "text":
            # Two words beside each other are one more: a page about missing values, not about values.
            found.update(f"{one} {other}" for one, other in pairwise(known))
    return found


def write_index(pages: list[Page], path: Path) -> None:
    """Write the index as a script, which a page that is opened as a file may load, too."""
    text = json.dumps(index_of(pages), ensure_ascii=False, separators=(",", ":"))
    path.write_text(f"var sfumatoIndex={text};\n", encoding="utf-8")
