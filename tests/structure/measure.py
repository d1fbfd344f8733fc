"""Measure how the package is built: modules, lines, imports, names, commands and what a plain release loads.

``python tests/structure/measure.py [FOLDER]`` prints the figures of a checkout, as JSON. Lines of code are lines with
code on them, imports among them; docstrings, comments and blank lines are not.
"""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
import tokenize
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean

HERE = Path(__file__).resolve().parents[2]
PROTOCOL_VERBS = {"reading", "writing", "end_interrupted", "claims_of", "main"}
SHORT = 40
"""A module with fewer lines of code is short."""


@dataclass(frozen=True)
class Imported:
    """One import: the module that it names, and whether it is read when the importer is loaded."""

    module: str
    at_load: bool
    for_types: bool


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    name: str
    path: Path
    tree: ast.Module
    text: str

    @property
    def folder(self) -> str:
        return self.name if self.path.stem == "__init__" else self.name.rpartition(".")[0]

    @cached_property
    def docstring_lines(self) -> set[int]:
        lines: set[int] = set()
        for node in ast.walk(self.tree):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        return lines

    @cached_property
    def code_lines(self) -> set[int]:
        skipped = {
            tokenize.COMMENT,
            tokenize.NL,
            tokenize.NEWLINE,
            tokenize.INDENT,
            tokenize.DEDENT,
            tokenize.ENDMARKER,
        }
        lines: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type not in skipped:
                lines.update(range(token.start[0], token.end[0] + 1))
        return lines - self.docstring_lines

    @cached_property
    def import_lines(self) -> int:
        nodes = [node for node in ast.walk(self.tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
        return sum(node.end_lineno - node.lineno + 1 for node in nodes)

    @cached_property
    def public_definitions(self) -> list[str]:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        return [node.name for node in self.tree.body if isinstance(node, kinds) and not node.name.startswith("_")]

    def strings(self) -> set[str]:
        found = (node.value for node in ast.walk(self.tree) if isinstance(node, ast.Constant))
        return {value.partition(":")[0] for value in found if isinstance(value, str) and value.startswith("sfumato.")}


class Package:
    """The package of a checkout."""

    def __init__(self, checkout: Path = HERE) -> None:
        self.source = checkout / "src"
        self.modules = {module.name: module for module in self._read()}

    def _read(self) -> list[Module]:
        modules = []
        for path in sorted((self.source / "sfumato").rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            parts = path.relative_to(self.source).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            modules.append(Module(name, path, ast.parse(text), text))
        return modules

    def imports_of(self, module: Module) -> list[Imported]:
        """Return what a module imports of the package; a name of a folder counts as the module of that name."""
        types = {
            id(inner)
            for node in module.tree.body
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            for inner in node.body
        }
        top = {id(node) for node in module.tree.body}
        found = []
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sfumato":
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                names = [name if name in self.modules else str(node.module) for name in inner]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names if alias.name.split(".")[0] == "sfumato"]
            else:
                continue
            found += [Imported(name, id(node) in top, id(node) in types) for name in names if name != module.name]
        return found

    @cached_property
    def imports(self) -> dict[str, list[Imported]]:
        return {name: self.imports_of(module) for name, module in self.modules.items()}

    @cached_property
    def importers(self) -> dict[str, set[str]]:
        result: dict[str, set[str]] = {name: set() for name in self.modules}
        for name, found in self.imports.items():
            for one in found:
                result.setdefault(one.module, set()).add(name)
        return result

    @cached_property
    def apart(self) -> set[str]:
        """Modules that a registry names or that somebody imports when they are needed: they have a reason to be."""
        lazy = {one.module for found in self.imports.values() for one in found if not one.at_load and not one.for_types}
        named = {text for module in self.modules.values() for text in module.strings()}
        return (lazy | named | set(self.public_names().values())) & set(self.modules)

    def _stub(self) -> list[str]:
        return (self.source / "sfumato" / "__init__.pyi").read_text(encoding="utf-8").splitlines()

    def single_importer(self) -> list[str]:
        """Return the modules that one module of their own folder imports, and nobody else."""

        def is_single(name: str) -> bool:
            home = self.modules[name]
            return {self.modules[importer].folder for importer in self.importers[name]} == {home.folder}

        plain = (name for name, module in self.modules.items() if module.path.stem != "__init__")
        return [name for name in plain if name not in self.apart and len(self.importers[name]) == 1 and is_single(name)]

    def short(self) -> list[str]:
        """Return the modules with few lines of code."""
        plain = (module for name, module in self.modules.items() if name not in self.apart)
        return [module.name for module in plain if module.path.stem != "__init__" and len(module.code_lines) < SHORT]

    def longest_chain(self) -> list[str]:
        """Return the longest chain of modules that import each other when they are loaded."""
        longest: dict[str, list[str]] = {}

        def follow(name: str) -> list[str]:
            if name not in longest:
                longest[name] = [name]  # a circle ends here
                below = [follow(one.module) for one in self.imports[name] if one.at_load and one.module in self.modules]
                longest[name] = [name, *max(below, key=len, default=[])]
            return longest[name]

        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(10_000)
        try:
            return max((follow(name) for name in self.modules), key=len)
        finally:
            sys.setrecursionlimit(limit)

    def repeated_names(self) -> dict[str, int]:
        """Return the public functions and classes of modules that are defined in several, and in how many.

        Not counted: the verbs that each database, and each paper, has to have, and commands, which are named as on the
        command line.
        """
        counts = Counter(
            name
            for module in self.modules.values()
            for name in set(module.public_definitions)
            if name not in PROTOCOL_VERBS
            and not module.name.startswith("sfumato.cli.")
            and module.path.stem != "command"
        )
        return {name: count for name, count in sorted(counts.items()) if count > 1}

    def public_names(self) -> dict[str, str]:
        """Return the public names of the package, and the module that each lives in; not those of the last version."""
        lines = (line.split() for line in self._stub())
        return {words[3]: words[1] for words in lines if words[:1] == ["from"] and words[3] != "*"}

    def widest_function(self) -> tuple[str, int]:
        """Return the public function or method with the most parameters, and how many."""
        functions = (
            (f"{name}.{node.name}", len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs))
            for name, module in self.modules.items()
            for node in ast.walk(module.tree)
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
        )
        return max(functions, key=lambda pair: pair[1])


PLAIN_RELEASE = """
import os, sys, tempfile
from pathlib import Path
import sfumato as sf
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    rows = [f"{20 + i % 50},{'mf'[i % 2]},{'abcd'[i % 4]}" for i in range(400)]
    Path("t.csv").write_text("\\n".join(["age,sex,disease", *rows]) + "\\n")
    schema = sf.Schema(quasi_identifying=["age", "sex"], sensitive=["disease"])
    table = sf.read_table("t.csv", schema)
    sf.anonymize(table, [sf.KAnonymity(5), sf.EntropyLDiversity(2)], anonymizer=sf.Mondrian()).save("out")
    assert sf.verify("out").ok
    loaded = [module for name, module in sys.modules.items() if name.split(".")[0] == "sfumato"]
    print("\\n".join(sorted({module.__file__ for module in loaded if getattr(module, "__file__", None)})))
"""


WARM_CALL = """
import sys
from pathlib import Path
import polars as pl
import sfumato as sf
rows = range(400)
frame = pl.DataFrame({"age": [20 + i % 50 for i in rows], "sex": ["mf"[i % 2] for i in rows]})
frame = frame.with_columns(ill=pl.Series(["abcd"[i % 4] for i in rows]))
schema = sf.Schema(quasi_identifying=["age", "sex"], sensitive=["ill"])
def run():
    sf.anonymize(frame, [sf.KAnonymity(5), sf.EntropyLDiversity(2)], schema=schema, anonymizer=sf.Mondrian())
run()
entered = set()
def enter(frame, event, _):
    if event == "call" and frame.f_code.co_name not in ("<module>",):
        entered.add(frame.f_code.co_filename)
sys.setprofile(enter)
run()
sys.setprofile(None)
home = str(Path(sf.__file__).parent)
print("\\n".join(sorted(file for file in entered if file.startswith(home))))
"""

COMMANDS = """
import typer
from sfumato.cli.app import app
def walk(command, name):
    inner = getattr(command, "commands", None)
    if inner is None:
        flags = [one for one in command.params if one.param_type_name == "option" and not getattr(one, "hidden", False)]
        print(name, len(flags), sep=":")
    elif not command.hidden:
        for key, one in inner.items():
            if not one.hidden:
                walk(one, f"{name} {key}".strip())
walk(typer.main.get_command(app), "")
"""


def output_of(package: Package, program: str) -> list[str]:
    """Return the lines that a program prints which runs on the package, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(package.source)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout.splitlines()


def command_flags(package: Package) -> dict[str, int]:
    """Return each command that help lists, and its number of flags."""
    return {name: int(count) for name, _, count in (line.rpartition(":") for line in output_of(package, COMMANDS))}


def figures(package: Package) -> dict[str, object]:
    """Return the figures of the whole."""
    modules = list(package.modules.values())
    code = sum(len(module.code_lines) for module in modules)
    name, parameters = package.widest_function()
    plain = [Path(line) for line in output_of(package, PLAIN_RELEASE)]
    flags = command_flags(package)
    at_load = [{one.module for one in package.imports[module.name]} for module in modules]
    return {
        "modules": len(modules),
        "lines of code": code,
        "lines of docstrings": sum(len(module.docstring_lines) for module in modules),
        "modules with one importer in their own folder": len(package.single_importer()),
        f"modules under {SHORT} lines of code": len(package.short()),
        "project imports a module": round(mean(len(found) for found in at_load), 1),
        "largest number of project imports": max(len(found) for found in at_load),
        "longest chain": len(package.longest_chain()),
        "share of imports": round(sum(module.import_lines for module in modules) / code, 3),
        "public names": len(package.public_names()),
        "public names with several meanings": len(package.repeated_names()),
        "most parameters": [name, parameters],
        "modules of a plain release": len(plain),
        "lines of a plain release": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in plain),
        "modules that a warm call enters": len(output_of(package, WARM_CALL)),
        "commands": len(flags),
        "most flags": list(max(flags.items(), key=lambda pair: pair[1])),
        "rooms": {
            room: [
                sum(1 for module in modules if module.name.split(".")[1:2] == [room]),
                sum(len(module.code_lines) for module in modules if module.name.split(".")[1:2] == [room]),
            ]
            for room in sorted({module.name.split(".")[1] for module in modules if "." in module.name})
            if (package.source / "sfumato" / room).is_dir()
        },
    }


if __name__ == "__main__":
    print(json.dumps(figures(Package(Path(sys.argv[1]) if sys.argv[1:] else HERE)), indent=2, ensure_ascii=False))
