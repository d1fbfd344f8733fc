"""Every word of the studio is in each catalogue, and a further language is one file."""

from __future__ import annotations

import ast
import re
from html import unescape
from html.parser import HTMLParser
from importlib import resources

import pytest

from sfumato.evidence.standards import is_asked, standards
from sfumato.findings.meaning import Meaning
from sfumato.models import MODELS
from sfumato.models.protocol import BESIDE_THE_TABLE
from sfumato.published.apart import BucketizedTables, MarginalTables, SlicedTable
from sfumato.published.protocol import PublishedTable, RandomizedTable
from sfumato.studio import words
from sfumato.studio.forms import method_form, method_names, model_form, one_line, part_form
from sfumato.studio.pages import _environment, page_line
from studio.desks import opened, people, waited

STUDIO = resources.files("sfumato.studio")
CATALOGUES = sorted(file.name for file in words.FOLDER.iterdir())
# Patterns, headers and what the terminal shows hold no words of a page.
NO_WORDS = re.compile(
    r"\\|\(\?|\(set\||^\(SELECT|default-src|^%Y|; url=|^text/|<!doctype|^--|attachment;|^~/|\n|sfumato |X-Name|\]\*|^ |"
    r" in Python |"
    r"^The (studio|release) (is|was) (open|idle)|^The address works|^studio: |page Columns|text under|^“How it|"
    r"^“Of a|^choose “|^The page|^the (button|role) “|password in|^database: leave"
)


def in_python(source):
    """Return the sentences of a module: its texts with a blank in them; what they fill in is numbered."""
    tree = ast.parse(source)
    inner = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            if any(isinstance(part, ast.Constant) and len(part.value) > 1 for part in node.values):
                yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inner.add(node.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inner:
            yield node.value


def numbered(text):
    """Number what a sentence fills in."""
    counter = iter(range(1, 20))
    return re.sub(r"\{\}", lambda _: f"{{{next(counter)}}}", text)


def messages():
    """Return every message of the studio's own pages, scripts and answers, with where it stands."""
    found = {}
    for file in sorted(STUDIO.joinpath("templates").iterdir(), key=str):
        for message in words.template_messages(file.read_text(encoding="utf-8")):
            found.setdefault(message, file.name)
    found.update(dict.fromkeys(words.script_messages(), "scripts"))
    for folder in (STUDIO, STUDIO.joinpath("routes")):
        for file in folder.iterdir():
            if file.name.endswith(".py") and file.name not in ("words.py", "guard.py", "serve.py"):
                for text in in_python(file.read_text(encoding="utf-8")):
                    if " " in text.strip() and re.search(r"[^\W\d_]{2}", text) and not NO_WORDS.search(text):
                        found.setdefault(numbered(text), file.name)
    return found


@pytest.mark.parametrize("name", CATALOGUES)
def test_no_word_of_the_studio_is_missing(name):
    said = dict(words.entries(words.FOLDER.joinpath(name).read_text(encoding="utf-8")))
    assert {message: where for message, where in messages().items() if not said.get(message)} == {}
    assert [message for message in said if message and words.places(said[message]) != words.places(message)] == []
    blanks = [message for message, its in said.items() if message and message[:1].isspace() != its[:1].isspace()]
    assert blanks == []


def of_attacks():
    """Return what attacks say that they found, and what helps against it."""
    for file in resources.files("sfumato.evaluation.attacks").iterdir():
        if file.name.endswith(".py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.keyword) and node.arg in ("goal", "helps"):
                    whole = isinstance(node.value, (ast.Constant, ast.JoinedStr))
                    yield from map(numbered, in_python(ast.unparse(node.value)) if whole else ())


def of_findings():
    """Return the questions of the review, without patterns and what the command line says, and reasons of meanings."""
    reasons = ast.walk(
        ast.parse(resources.files("sfumato.findings").joinpath("meaning.py").read_text(encoding="utf-8"))
    )
    for node in reasons:
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Judgement" and "order" not in ast.unparse(node):
            yield from map(numbered, in_python(ast.unparse(node.args[1])))
    for text in in_python(resources.files("sfumato.findings").joinpath("review.py").read_text(encoding="utf-8")):
        if text.endswith((".", "?")) and " " in text and not text.startswith(("-", "{}{}")):
            yield numbered(text)


def form_of(name):
    """Return the form of a model or method that nobody has filled in."""
    return (model_form if name in MODELS else method_form)({"name": name})


def core():
    """Return the sentences of models, findings, attacks and releases as the core writes them, with places."""
    yield from (model.in_words for model in MODELS.values())
    names = [*MODELS, *(name for group in method_names().values() for name in group)]
    yield from (one_line(name).replace("`", "") for name in names)
    forms = [*map(form_of, names), *(part_form(part, {}) for part in ("Recoding", "People"))]
    yield from (field.help.replace("`", "") for form in forms for field in form.fields)
    yield from (part for form in forms for part in words.paragraphs(form.why))
    yield from of_attacks()
    yield from of_findings()
    yield from map(str, Meaning)
    yield from BESIDE_THE_TABLE
    for kind in (PublishedTable, RandomizedTable, BucketizedTables, SlicedTable, MarginalTables):
        yield from kind.limits
    yield from (one.ask for standard in standards() for one in standard.questions if is_asked(one))


@pytest.mark.parametrize("name", CATALOGUES)
def test_no_sentence_of_the_core_is_missing(name):
    said = dict(words.entries(words.FOLDER.joinpath(name).read_text(encoding="utf-8")))
    assert sorted({message for message in core() if message and not said.get(message)}) == []


@pytest.mark.parametrize("language", words.languages())
def test_no_form_speaks_python(language):
    names = [*MODELS, *(name for group in method_names().values() for name in group)]
    forms = [*map(form_of, names), *(part_form(part, {}) for part in ("Recoding", "People"))]
    said = [
        text for form in forms for text in (form.what, *words.paragraphs(form.why), *(one.help for one in form.fields))
    ]
    chosen = words.reader.set(language)
    try:
        shown = map(words.help_text, said)
        assert [
            text for text in shown if re.search(r"\b(True|False|None)\b|[a-z]_[a-z]|:\w+:|\w=[\"'TFN]|sfumato\.", text)
        ] == []
        refused = page_line("rows='apart' needs attribute_choice='least-loss' and blind=True")
        assert refused == f"rows 'apart' needs attribute choice 'least-loss' and blind {words.say('“yes”')}"
    finally:
        words.reader.reset(chosen)


class Shown(HTMLParser):
    """What somebody reads or hears on a page, but for what is typed and for names of policy files."""

    def __init__(self, page):
        super().__init__()
        self.texts, self._text, self._open = [], "", []
        self.feed(page)
        self.texts.append(self._text)

    def handle_starttag(self, tag, attrs):
        its = dict(attrs)
        if tag not in ("input", "meta", "link", "br", "rect", "circle", "line", "polyline"):
            is_typed = tag in ("pre", "code", "style", "iframe", "textarea")
            self._open.append((tag, is_typed or its.get("translate") == "no" or its.get("lang") == "en"))
        self.texts += [value for name, value in attrs if name in ("aria-label", "title", "data-unit", "data-sure")]

    def handle_endtag(self, tag):
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        self._text += " " if any(is_typed for _, is_typed in self._open) else data


def untranslated(page):
    """Return the words of a page that stand outside the brackets of the invented language."""
    for text in Shown(page).texts:
        outside = text
        while (inner := re.sub(r"⟦[^⟦⟧]*⟧", " ", outside)) != outside:
            outside = inner
        yield from re.findall(r"(?<![\w./-])(?!zz)[a-zA-Z]{3,}(?![\w/-])", outside)


@pytest.fixture
def invented(tmp_path, monkeypatch):
    """Add a language that puts every message into brackets, by one file."""
    folder = tmp_path / "languages"
    folder.mkdir()
    german = words.FOLDER.joinpath("de.po").read_text(encoding="utf-8")
    lines = ['msgid ""\nmsgstr "X-Name: Zz\\n"\n']
    for message, said in words.entries(german):
        if said and message:
            body = message.strip()
            quoted = [
                text.replace("\\", "\\\\").replace('"', '\\"') for text in (message, message.replace(body, f"⟦{body}⟧"))
            ]
            lines.append(f'msgid "{quoted[0]}"\nmsgstr "{quoted[1]}"\n')
    (folder / "zz.po").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(words, "FOLDER", folder)
    caches = (words.catalogue, words.languages, words._said, _environment)
    for cache in caches:
        cache.cache_clear()
    yield {"accept-language": "zz,en;q=0.5"}
    for cache in caches:
        cache.cache_clear()


NAMES = {"Sfumato", "English", "auto", "Pitman", "Zayatz"}
PATHS = [
    *("/", "/layout", "/columns", "/hierarchies?column=2", "/promises", "/runs", "/look", "/look/1/person?row=3"),
    *("/look/1/groups", "/look/1/classes", "/look/1/seen?one=zzage", "/look/1/seen?one=zzage&two=zzzip", "/review"),
    *("/look/1/regression?target=zzage&on=zzzip", "/look/1/population?people=500", "/compare", "/attack", "/sign"),
    *("/history?from=1", "/sizes", "/sizes/more", "/sign/recipient"),
]


def test_a_further_language_is_one_file_and_every_page_speaks_it(invented, tmp_path):
    rows = [f"zz{row % 40},{20 + row % 5},{10_000 + row % 12},zz{row % 3}" for row in range(80)]
    table = tmp_path / "zztable.csv"
    table.write_text("\n".join(["zzname,zzage,zzzip,zzsick", *rows]) + "\n", encoding="utf-8")
    roles = ("identifying", "quasi-identifying", "quasi-identifying", "sensitive")
    with opened(tmp_path, table) as studio:
        studio.enter()
        for column, role in zip(("zzname", "zzage", "zzzip", "zzsick"), roles, strict=True):
            studio.post("/setup/column", column=column, what="role", value=role)
        studio.post("/setup/column", column="zzzip", what="kind", value="categorical")
        studio.post("/setup/promises", what="add", name="k-anonymity")
        studio.post("/setup/hierarchy", column="2", what="draft")
        studio.post("/runs/start", what="release")
        studio.post("/compare/lattice")
        waited(studio.desk.jobs, 1, 120)
        studio.post("/sign/attack", run="1")
        for job in studio.desk.jobs.all:
            assert waited(studio.desk.jobs, job.number, 120).state == "done"
        left = {}
        for path in PATHS:
            page = studio.get(path, **invented)
            assert page.status_code == 200, path
            left[path] = sorted({*untranslated(page.text)} - NAMES)
        assert {path: some for path, some in left.items() if some} == {}


DECLARED = (
    "Spalte 'sick' ist als Zahl erklärt, aber 80 Datensätze enthalten etwas anderes als eine Zahl, zuerst in Zeile 1; "
    "verbessern, ihren Text als fehlend nennen, oder eine andere Art erklären"
)
LACKS = "45 von 45 verschiedenen Werten stehen nicht darin; sie aufnehmen"
REFUSED = [
    ("/setup/column", {"column": "sick", "what": "kind", "value": "numeric"}, DECLARED),
    ("/setup/hierarchy", {"column": "2", "what": "table", "text": "f;*"}, f"Hierarchie von 'age': {LACKS}"),
    (
        "/setup/hierarchy",
        {"column": "3", "what": "rule", "kind": "intervals", "steps": "5, 7"},
        "hierarchy: intervals: Breite 2 muss ein Vielfaches von Breite 1 sein, und größer",
    ),
    ("/setup/layout", {"encoding": "x"}, "encoding: muss der Name eines Zeichensatzes sein, zum Beispiel 'utf-8'"),
    ("/setup/policy", {"policy": "k = 3"}, "k: unbekannter Schlüssel; erlaubt: purpose"),
    ("/setup/promises", {"what": "options", "option.hierarchy-cuts": "x"}, "hierarchy cuts: muss ja oder nein sein"),
    ("/sign/recipient/state", {"author.name": "A"}, "author.day: fehlt"),
    ("/setup/promises", {"what": "model", "place": "0", "option.k": "0"}, "k: muss eine ganze Zahl von mindestens 1"),
    (
        "/setup/promises",
        {"what": "model", "place": "1", "option.l": "2", "option.attribute": "x"},
        "distinct-l-diversity: es gibt keine sensible Spalte 'x'",
    ),
    ("/setup/column", {"column": "ward", "what": "role", "value": "wished-k"}, "Spalte 'ward': 80 Datensätze wünschen"),
]


def test_errors_of_the_library_are_said_in_the_language_of_whoever_asks(tmp_path):
    with opened(tmp_path, people(tmp_path / "people.csv", 80)) as studio:
        studio.client.headers["accept-language"] = "de"
        studio.enter().set_up()
        studio.post("/setup/promises", what="method", name="mondrian")
        studio.post("/setup/promises", what="add", name="distinct-l-diversity")
        for path, fields, said in REFUSED:
            answer = studio.post(path, **fields)
            if answer.status_code == 200:
                assert said in unescape(studio.get("/promises").text)
                studio.post("/history/go", to="undo")
            else:
                assert said in "\n".join(answer.json()["problems"])
        assert studio.post("/setup/column", column="ward", what="role", value="sensitive").json()["said"] == ""
        studio.client.cookies.clear()
        assert "die das Terminal zeigt" in studio.get("/").text
    gone = "Lauf 7 hat keine Freigabe gemacht: x: diesen Ordner einer Freigabe gibt es nicht"
    assert words.catalogue("de").say("run 7 made no release: x: no such release folder") == gone
