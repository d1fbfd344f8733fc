"""No sentence that is printed has more than twenty words: every text of the package is read, split at its stops."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import sfumato

SOURCE = Path(sfumato.__file__).parent
MOST = 20

STAND_IN_REPORTS = (
    "cannot be seen in what was drawn",
    "finds the buckets where a person may be",
    "cost no more than ε",
    "does not stand up to a second release of the same people",
    "is in classes of the same sensitive values (the signature)",
    "learns from the whole table how values go together",
    "who knows more than m items of somebody",
)
"""Of sentences that reports of earlier releases hold, which `verify` compares word by word."""

NO_SENTENCES = (
    "papers/hospital.py",  # names of the people who are made up
    "findings/meaning.py",  # words of many languages
    "table/columns.py",  # units
    "table/written_forms.py",  # units
)


def texts(tree: ast.Module) -> Iterator[str]:
    """Return every text that is no docstring; what is filled in counts as one word."""
    quiet = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            quiet |= {id(part) for part in node.values}
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "one" for part in node.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in quiet:
            yield node.value


def long_sentences(text: str) -> Iterator[str]:
    """Find what is too long between stops; a sentence that ends with one is read across its colons and semicolons."""
    for sentence in re.split(r"(?<=[.!?])\s+|\n", text):
        is_code = re.search(r"[<{]|select |SELECT|--\w+.*--\w+.*--", sentence)
        whole = sentence.rstrip().endswith((".", "!", "?"))
        for part in [sentence] if whole else re.split(r"(?<=[;:])\s+", sentence):
            if len(re.findall(r"[\w'%=-]+", part)) > MOST and not is_code:
                yield part


def of_tables(value: object) -> Iterator[str]:
    """Return every text of a file of TOML."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    yield from (text for part in parts for text in of_tables(part))
    if isinstance(value, str):
        yield " ".join(value.split())


def test_no_sentence_of_the_command_line_that_lies_beside_its_code_is_longer() -> None:
    read = [text for path in SOURCE.glob("cli/*.toml") for text in of_tables(tomllib.loads(path.read_text("utf-8")))]
    assert len(read) > 40
    assert [sentence for text in read for sentence in long_sentences(text)] == []


def test_no_printed_sentence_has_more_than_twenty_words() -> None:
    found = [
        f"{path.relative_to(SOURCE)}: {sentence}"
        for path in sorted(SOURCE.rglob("*.py"))
        if not path.as_posix().endswith(NO_SENTENCES)
        for text in texts(ast.parse(path.read_text(encoding="utf-8")))
        for sentence in long_sentences(text)
        if not any(part in sentence for part in STAND_IN_REPORTS)
    ]
    assert found == []


def test_a_long_sentence_is_found() -> None:
    words = "one two three four five six seven eight nine ten"
    assert [*long_sentences(f"Short. {words} {words} more; short")] == [f"{words} {words} more;"]
    assert [*long_sentences(f"{words}; {words} more.")] == [f"{words}; {words} more."]
    assert [*long_sentences(f"{words}; {words} more")] == []
    assert [*texts(ast.parse('"""Docstring."""\nprint(f"a {b} c", "d")'))] == ["a one c", "d"]
