"""Sign: the report, the policy and the command that do the same; and handing the release over."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import polars as pl
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from sfumato.errors import InputError, SfumatoError
from sfumato.hierarchy.tree import text_of
from sfumato.policy.policy import Policy
from sfumato.release.table_files import write_tables
from sfumato.release.transaction import MARK, RECEIPT, folder_and_audit
from sfumato.release.verify import read_release
from sfumato.studio.desk import Desk
from sfumato.studio.draft import Draft
from sfumato.studio.guard import FRAMED
from sfumato.studio.jobs import POLICY, REPORT, Job, attack_order, report_order, stated_context
from sfumato.studio.pages import (
    answering,
    decisions,
    desk_of,
    figures,
    notes_of,
    open_findings,
    page,
    page_entry,
    promise,
    reading,
    text,
    whole,
)
from sfumato.studio.routes.columns import BRANCHED
from sfumato.table.schema import Kind
from sfumato.table.writers import check_writer_installed
from sfumato.table.writing import FORMATS, NO_FORMAT, Format
from sfumato.whole_files import write_whole

# The release of last time: what changed in the table since, its policy as the setup, and what must be played first.


# Formats in which a release is handed over, as the page calls them.
FORMAT_NAMES = {"csv": "CSV", "parquet": "Parquet", "xlsx": "Excel (xlsx)", "sav": "SPSS (sav)", "dta": "Stata (dta)"}


def chosen(desk: Desk) -> str | None:
    """Return the name of the release of last time; empty: there is none; None: nobody has said."""
    earlier = desk.project.earlier
    return earlier if not earlier or earlier in desk.beside() else None


def choose(desk: Desk, name: str) -> None:
    """Say which release is that of last time; an empty name: these people were never published."""
    if name:
        beside(desk, name)
    desk.project.keep_earlier(name)


def beside(desk: Desk, name: str) -> Path:
    """Return the folder of a release beside the table."""
    found = desk.beside()
    if name not in found:
        raise InputError("earlier: choose one of the releases beside the table")
    return found[name]


def signed_policy(folder: Path) -> Policy:
    """Return the policy of a release as it was published."""
    path = folder / POLICY
    if not path.is_file():
        raise InputError("the release has no policy")
    return Policy.from_file(path)


def replayed(desk: Desk, folder: Path) -> Draft:
    """Return the setup that the policy of a release means for the table as it is now.

    Columns that it does not know are undecided; a hierarchy that it withholds is that of the setup.
    """
    draft = Draft.of_policy(signed_policy(folder), desk.table.names)
    settings = {
        name: {**{key: its for key, its in desk.draft.settings.get(name, {}).items() if key == "hierarchy"}, **its}
        for name, its in {**{name: {} for name in draft.roles}, **draft.settings}.items()
    }
    rest = {name: its for name, its in settings.items() if its}
    return Draft(draft.roles, rest, {}, {**draft.rest}).with_rest("source", desk.draft.rest.get("source"))


def differences(desk: Desk, folder: Path) -> list[str]:
    """Say what is different in the table since a release; no value is shown."""
    try:
        policy, published = signed_policy(folder), read_release(folder).published
    except SfumatoError as error:
        return [f"its policy cannot be read: {line}" for line in error.problems]
    named = _named(policy)
    sentences = [f"column {name!r} is gone" for name in named if name not in desk.table.names]
    if policy.to_mapping()["columns"].get("others", "error") == "error":
        sentences += [f"column {name!r} is new" for name in desk.table.names if name not in named]
    records = next(iter(published.tables.values())).height
    if records != desk.table.height and published.kind == "generalized-table":
        sentences.append(f"{records:,} records were published, and the table has {desk.table.height:,} now")
    if not any("is gone" in line for line in sentences):
        sentences += _misfits(desk, replayed(desk, folder))
    return sentences


def _named(policy: Policy) -> list[str]:
    columns = policy.to_mapping()["columns"]
    lists = [[role] if isinstance(role, str) else list(role) for key, role in columns.items() if key != "others"]
    return [name for names in lists for name in names]


def _misfits(desk: Desk, draft: Draft) -> list[str]:
    """Say which columns no longer fit their settings, such as values without a place in a hierarchy."""
    found = []
    for name in draft.of_role("quasi-identifying"):
        try:
            with desk.lock:
                desk.preview.sizes({name: draft.attribute(name)}, {})
                desk.preview.hierarchy(name, draft.attribute(name))
        except SfumatoError as error:
            found += [f"column {name!r}: {line}" for line in error.problems]
    return found


def played_beside(desk: Desk, job: Job) -> dict[str, Job]:
    """Return the earlier releases beside which a release was attacked, by name."""
    attacks = [each for each in desk.jobs.of_kind("attack") if each.about == job.number and each.state == "done"]
    names = {str(path): name for name, path in desk.beside().items()}
    played = {
        each.words[each.words.index("--earlier") + 1]: each for each in reversed(attacks) if "--earlier" in each.words
    }
    return {names[path]: each for path, each in played.items() if path in names}


def lacking(desk: Desk, job: Job) -> list[str]:
    """Say what must be done before a release is handed over; nothing with a severe finding open leaves the house."""
    severe = [name for finding in desk.open_in(job) for name in finding.columns]
    found = f"Say first what is open under “What is open”: {', '.join(dict.fromkeys(severe))}." if severe else ""
    return [line for line in (found, _lacking_beside(desk, job)) if line]


def _lacking_beside(desk: Desk, job: Job) -> str:
    """Say what must be done about earlier releases; empty: nothing."""
    name = chosen(desk)
    if not desk.beside() or name == "":
        return ""
    if name is None:
        return "Releases lie beside the table. Say first which of them is of the same people, or that none is."
    if name not in played_beside(desk, job):
        return f"Attack this release and {name} together first."
    return ""


def sign(request: Request) -> Response:
    """Show what is signed."""
    desk = desk_of(request)
    releases = desk.releases()
    if not releases:
        return page(request, "nothing.html", "/sign", title="Sign", what="There is no release to sign yet.")
    number = request.path_params.get("number")
    job, _ = desk.release(releases[0].number if number is None else int(number))
    reports = [each for each in desk.jobs.of_kind("report") if each.about == job.number]
    earlier = chosen(desk)
    return page(
        request,
        "sign.html",
        "/sign",
        job=job,
        releases=releases,
        stale=desk.staleness(job),
        figures=figures(job),
        promises=[promise(model) for model in desk.project.history.entry(job.entry).draft.rest.get("models", ())],
        report=next((each for each in reports if each.state == "done"), None),
        current=[each for each in reports if not each.has_ended],
        failed=reports[0] if reports and reports[0].state == "failed" else None,
        policy=desk.policy_of(job).to_toml(),
        folder=desk.release_folder(job),
        decisions=decisions(desk, desk.project.history.entry(job.entry)),
        beside=desk.beside(),
        earlier=earlier,
        differences=differences(desk, desk.beside()[earlier]) if earlier else [],
        checked=played_beside(desk, job),
        lacking=lacking(desk, job),
        stated=stated_context(desk.project),
        formats=FORMAT_NAMES,
        separated=SEPARATED,
        format=desk.policy_of(job).output.format,
        severe=desk.open_in(job),
        findings=open_findings(job),
        notes=notes_of(job),
        playing=[each for each in desk.jobs.of_kind("attack") if each.about == job.number and not each.has_ended],
    )


def make_report(request: Request, sent: FormData) -> str:
    """Order the report."""
    desk = desk_of(request)
    job, _ = desk.release(whole(text(sent, "run"), "run"))
    earlier = [beside(desk, text(sent, "earlier"))] if text(sent, "earlier") else []
    folder, edition = desk.jobs.folder_of(job.number), text(sent, "edition", "internal")
    log = decisions(desk, desk.project.history.entry(job.entry))
    desk.jobs.add(report_order(desk.project, job, folder, edition, earlier, log))
    return "The report is being made."


def attack_beside(request: Request, sent: FormData) -> str:
    """Order attacks on a release, beside the one of last time if it is named."""
    desk = desk_of(request)
    job, _ = desk.release(whole(text(sent, "run"), "run"))
    earlier = beside(desk, text(sent, "earlier")) if text(sent, "earlier") else None
    entry = desk.project.history.entry(page_entry(sent))
    desk.jobs.add(attack_order(desk.project, entry, job, desk.jobs.folder_of(job.number), earlier))
    return "The attacks are in the queue."


def say_earlier(request: Request, sent: FormData) -> str:
    """Say which release is that of last time, or that there is none."""
    desk, name = desk_of(request), text(sent, "earlier")
    choose(desk, name)
    return f"The release of last time is {name}." if name else "These people were not published before."


def replay(request: Request, sent: FormData) -> str:
    """Make the policy of last time the setup."""
    desk = desk_of(request)
    draft = replayed(desk, beside(desk, text(sent, "earlier")))
    _, branches = desk.change(page_entry(sent), lambda before: draft)
    left = f" {len(draft.undecided)} column(s) are new and undecided." if draft.undecided else ""
    return BRANCHED if branches else f"The policy of last time is the setup now.{left}"


_NOT_PORTABLE = re.compile(r'(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?|.*[<>:"|?*\x00-\x1f].*|.*[ .]')
"""Names that a recipient on Windows could not copy a folder under."""


def hand_over(request: Request, sent: FormData) -> str:
    """Copy a release into a folder beside the table, and write a receipt for its recipient beside that."""
    desk = desk_of(request)
    job, _ = desk.release(whole(text(sent, "run"), "run"))
    name = text(sent, "name").strip()
    if not name or name in (".", "..") or Path(name).name != name or "\\" in name or "\0" in name:
        raise InputError("name: give the name of a new folder, without a path")
    if _NOT_PORTABLE.fullmatch(name):
        raise InputError("name: Windows cannot have a folder of this name; choose another")
    if lack := lacking(desk, job):
        raise InputError(*lack)
    asked = text(sent, "format") or desk.policy_of(job).output.format
    format: Format | None = next((known for known in FORMATS if known == asked), None)
    if format is None:
        raise InputError(f"format: {NO_FORMAT}")
    check_writer_installed(format)
    marks = Marks(text(sent, "separator", ",") or ",", text(sent, "decimal", ".") or ".").checked()
    target = desk.project.place / name
    proof = target.with_name(f"{name}{RECEIPT}")
    tables = {} if marks == Marks() else _with_marks(desk, job, marks)
    sheets = {target.with_name(f"{name}-{table}.csv"): its for table, its in tables.items()}
    for path in (proof, *sheets):
        if path.exists():
            raise InputError(f"{path.name}: is there already; take it away, or name another folder")
    copy_release(desk.release_folder(job), target, proof, format, _numbers(desk, job))
    for (path, content), published in zip(sheets.items(), tables, strict=True):
        write_whole(path, content)
        _recounted(desk, job, path, marks, published)
    beside = ", ".join([f"the receipt for its recipient in {proof.name}", *(path.name for path in sheets)])
    return f"The release is in {target}; beside it {beside}."


@dataclass(frozen=True)
class Marks:
    """How a CSV file for a spreadsheet is written: what parts fields, and what stands before fractions."""

    separator: str = ","
    decimal: str = "."

    def checked(self) -> Marks:
        """Return the marks, or raise InputError."""
        if self.separator not in SEPARATED or self.decimal not in (".", ","):
            raise InputError("separator: must be a comma, a semicolon or a tab; decimal: a point or a comma")
        if self.separator == self.decimal:
            raise InputError("separator: one mark cannot both part fields and stand before fractions")
        return self

    def text(self, cells: Mapping[str, Sequence[str | None]]) -> str:
        """Write columns of cells; ``InputError`` where reading them again would give others."""
        written = io.StringIO()
        writer = csv.writer(written, delimiter=self.separator, lineterminator="\n")
        rows = [["" if cell is None else cell for cell in row] for row in zip(*cells.values(), strict=True)]
        writer.writerows([list(cells), *rows])
        found = list(csv.reader(io.StringIO(written.getvalue(), newline=""), delimiter=self.separator))
        if found != [list(cells), *rows]:
            raise InputError("the table cannot be written with these marks; take others")
        return written.getvalue()

    def cells(self, column: pl.Series, *, ends: bool) -> list[str | None]:
        """Return cells with the mark before fractions. `ends`: they are ends of ranges, which have a point."""
        texts = text_of(column).to_list()
        known = [cell for cell in texts if cell]
        old = "." if ends else "," if any("," in cell for cell in known) else "."
        if not ends and not all(_NUMBER.fullmatch(cell) and (old in cell or _WHOLE.fullmatch(cell)) for cell in known):
            return texts
        shown = _swapped(texts, old, self.decimal)
        back = _swapped(shown, self.decimal, old)
        if back != texts:
            raise InputError(f"column {column.name!r} cannot be written with “{self.decimal}” before fractions")
        return shown


SEPARATED = {",": "comma", ";": "semicolon", "\t": "tab"}
_WHOLE, _NUMBER = re.compile(r"[+-]?\d+"), re.compile(r"[+-]?\d+(?:[.,]\d+)?")


def _swapped(cells: Sequence[str | None], old: str, new: str) -> list[str | None]:
    fraction = re.compile(rf"(?<=\d){re.escape(old)}(?=\d)")
    return [None if cell is None else fraction.sub(new, cell) for cell in cells]


def _recounted(desk: Desk, job: Job, path: Path, marks: Marks, name: str) -> None:
    """Read a written sheet again, as its recipient does; it goes where it is not the verified table, cell by cell."""
    table = desk.release(job.number)[1].published.tables[name]
    with path.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file, delimiter=marks.separator)
    ends = _ends(desk, job)
    cells = {its.name: marks.cells(its, ends=its.name in ends) for its in table}
    expected = [["" if cell is None else cell for cell in row] for row in zip(*cells.values(), strict=True)]
    if (names, rows) != (table.columns, expected):
        path.unlink()
        raise InputError(f"{path.name}: is not the release that was verified, and was removed; hand it over once more")


def _with_marks(desk: Desk, job: Job, marks: Marks) -> dict[str, str]:
    """Write the tables of a release with marks of one's own; every number of a file then has the same mark."""
    ends = _ends(desk, job)
    return {
        name: marks.text({its.name: marks.cells(its, ends=its.name in ends) for its in table})
        for name, table in desk.release(job.number)[1].published.tables.items()
    }


def _ends(desk: Desk, job: Job) -> list[str]:
    """Name the columns whose cells are ends of ranges."""
    labels = getattr(desk.release(job.number)[1].published, "quasi_identifying", ())
    return [name for name in labels if name in desk.table.names and desk.profile(name).kind is Kind.NUMERIC]


def _numbers(desk: Desk, job: Job) -> dict[str, Kind]:
    """Return the kinds of quasi-identifying numbers and dates, which formats with types hold as such."""
    try:
        quasi = desk.schema(desk.policy_of(job)).quasi_identifying
    except SfumatoError:
        # The table is another one by now; labels stay texts.
        return {}
    kinds = {name: its.kind for name, its in quasi.items() if its.hierarchy is None}
    return {name: kind for name, kind in kinds.items() if kind in (Kind.NUMERIC, Kind.DATE)}


def copy_release(
    release: Path,
    target: Path,
    proof: Path,
    format: Format | None = None,
    numbers: Mapping[str, Kind] = MappingProxyType({}),
) -> None:
    """Copy a release in a format, and write its receipt, which recounts the copy; both take their places, or neither.

    `format`: None leaves the tables as they are. `numbers`: kinds of columns that formats with types hold as numbers.
    """
    with folder_and_audit(target, proof) as (folder, written):
        opened = read_release(release)
        tables = {facts.file for facts in opened.files.values()}
        for path in release.iterdir():
            if path.name not in tables:
                shutil.copyfile(path, folder / path.name)
        if format is None or all(name.endswith(f".{format}") for name in tables):
            for name in tables:
                shutil.copyfile(release / name, folder / name)
        else:
            facts = write_tables(opened.published, folder, format, numbers=numbers)
            content = json.loads((release / MARK).read_text(encoding="utf-8"))
            content["tables"] = {name: its.to_dict() for name, its in facts.items()}
            (folder / MARK).write_text(
                json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline=""
            )
        written.write_text(_receipt(folder, target.name), encoding="utf-8", newline="")
        # For its recipient, as the release is.
        shutil.copymode(folder / MARK, written)


def _receipt(folder: Path, name: str) -> str:
    # Here: it loads reports and attacks, and no page needs them before.
    from sfumato.evidence.release_report import receipt

    return receipt(folder, name)


def show_receipt(request: Request) -> Response:
    """Show the receipt of a release, as its recipient gets it."""
    desk = desk_of(request)
    try:
        job, _ = desk.release(int(request.path_params["number"]))
        name = desk.project.table.stem + "-release"
        page = _receipt(desk.release_folder(job), name)
    except SfumatoError:
        return PlainTextResponse("There is no such file.\n", 404)
    return HTMLResponse(page, headers={"Content-Security-Policy": FRAMED})


def files(request: Request) -> Response:
    """Return a report or a policy of a job; nothing else can be named."""
    desk, name = desk_of(request), str(request.path_params["name"])
    try:
        path = desk.jobs.folder_of(desk.jobs.get(int(request.path_params["number"])).number) / name
    except InputError:
        return PlainTextResponse("There is no such file.\n", 404)
    if name not in (REPORT, POLICY) or not path.is_file() or path.is_symlink():
        return PlainTextResponse("There is no such file.\n", 404)
    if name == POLICY:
        return FileResponse(path, media_type="text/plain; charset=utf-8", filename=POLICY)
    # Nobody but a frame without rights shows it: it comes from a template, but holds texts of the table.
    return FileResponse(path, media_type="text/html; charset=utf-8", headers={"Content-Security-Policy": FRAMED})


ROUTES = [
    Route("/sign", reading(sign)),
    Route("/sign/{number:int}", reading(sign)),
    Route("/sign/{number:int}/receipt", show_receipt),
    Route("/sign/earlier", answering(say_earlier), methods=["POST"]),
    Route("/sign/replay", answering(replay), methods=["POST"]),
    Route("/sign/report", answering(make_report), methods=["POST"]),
    Route("/sign/attack", answering(attack_beside), methods=["POST"]),
    Route("/sign/hand-over", answering(hand_over), methods=["POST"]),
    Route("/files/{number:int}/{name}", files),
]
