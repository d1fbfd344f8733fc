"""Hierarchies: one editor for drafted, imported and hand-made ones; the tree by keyboard, and the same as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.errors import HierarchyError, InputError, SfumatoError
from sfumato.hierarchy import (
    Hierarchy,
    draft_hierarchy,
    draft_rule,
    hierarchy_from_paths,
    hierarchy_text,
    read_hierarchy,
)
from sfumato.hierarchy.tree import ROOT, listed_values, text_of
from sfumato.studio.desk import MOST_DRAFTED, Desk
from sfumato.studio.draft import WITH_SETTINGS, Draft
from sfumato.studio.forms import finite_number
from sfumato.studio.pages import answering, desk_of, fragment, page, reading, text, whole
from sfumato.studio.routes.columns import told_branch
from sfumato.table.schema import Kind

# Changes to a hierarchy by hand: each takes the paths from the original values to the root, and returns others.
#
# Whether what comes out is a hierarchy is checked where hierarchies are built; its errors say what is wrong.


Paths = Sequence[tuple[str, ...]]


def renamed(tree: Hierarchy, level: int, node: int, label: str) -> Hierarchy:
    """Give a node another label, on every level on which it stands alone."""
    old, leaves = tree.levels[level].labels[node], _leaves(tree, level, node)
    if level == 0:
        raise HierarchyError("an original value keeps its text; rename a group")
    return _changed(tree, leaves, lambda path: (path[0], *(label if its == old else its for its in path[1:])))


def grouped(tree: Hierarchy, level: int, nodes: Sequence[int], label: str) -> Hierarchy:
    """Put several nodes of a parent into one of the same level; original values get a level above where needed."""
    if len(nodes) < 2:
        raise HierarchyError("choose at least two nodes to merge")
    if level == 0:
        tree, level = tree if tree.height > 1 else with_level(tree, 0), 1
        nodes = sorted({int(tree.node_of[1][leaf]) for leaf in nodes})
    leaves = [leaf for node in nodes for leaf in _leaves(tree, level, node)]
    return _changed(tree, leaves, lambda path: (*path[:level], label, *path[level + 1 :]))


def ungrouped(tree: Hierarchy, level: int, node: int) -> Hierarchy:
    """Take a node away: its children stand in its place."""
    if not 0 < level < tree.height:
        raise HierarchyError("choose a group: original values and the root stay")
    leaves = _leaves(tree, level, node)
    return _changed(tree, leaves, lambda path: (*path[:level], path[level - 1], *path[level + 1 :]))


def moved(tree: Hierarchy, level: int, nodes: Sequence[int], group: int) -> Hierarchy:
    """Put nodes of a level, with all below them, into a group of the next level."""
    above = level + 1
    if above >= tree.height or not 0 <= group < len(tree.levels[above].labels):
        raise HierarchyError("there is no such group above these")
    target = tree.paths[_leaves(tree, above, group)[0]]
    leaves = [leaf for node in nodes for leaf in _leaves(tree, level, node)]
    return _changed(tree, leaves, lambda path: (*path[:above], *target[above:]))


def with_level(tree: Hierarchy, level: int) -> Hierarchy:
    """Insert a level above another, with the same nodes, so that they can be merged there."""
    return hierarchy_from_paths([(*path[: level + 1], path[level], *path[level + 1 :]) for path in tree.paths])


def without_level(tree: Hierarchy, level: int) -> Hierarchy:
    """Take a level away."""
    if not 0 < level < tree.height:
        raise HierarchyError("original values and the root stay; choose a level between them")
    return hierarchy_from_paths([(*path[:level], *path[level + 1 :]) for path in tree.paths])


def _leaves(tree: Hierarchy, level: int, node: int) -> range:
    if not 0 <= level <= tree.height or not 0 <= node < len(tree.levels[level].labels):
        raise HierarchyError("there is no such node; load the page again")
    starts = tree.levels[level].starts
    return range(starts[node], starts[node + 1])


def _changed(tree: Hierarchy, leaves: Iterable[int], change: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Hierarchy:
    chosen = set(leaves)
    paths = [change(path) if leaf in chosen else path for leaf, path in enumerate(tree.paths)]
    if any(ROOT in path[:-1] for path in paths):
        raise HierarchyError(f"'{ROOT}' is the label of the root; choose another")
    return hierarchy_from_paths(paths)


Making = Callable[[Desk, str, FormData], Mapping[str, Any] | None]

# Nodes of a level that are shown; a rule over more values needs no hand.
MOST_NODES = 1_000


@dataclass(frozen=True)
class Shown:
    """A hierarchy as the page shows it.

    * `levels`: from the original values to the root, levels of too many nodes left out.
    * `nodes`: nodes of each level.
    * `tree`: nested (level, node, label, records, children) from the root down.
    * `text`: as a file has it; empty where it is too long to be edited.
    """

    nodes: list[int]
    tree: list[Any]
    text: str
    smallest: list[int]


def hierarchies(request: Request) -> Response:
    """Show the columns that may have a hierarchy, and the one of a column."""
    desk = desk_of(request)
    names = [name for name, role in desk.draft.roles.items() if role in WITH_SETTINGS]
    asked = request.query_params.get("column")
    column = _column(desk, asked) if asked else next(iter(names), None)
    if column is None:
        what = "No column is quasi-identifying or sensitive yet."
        return page(request, "nothing_yet.html", "/hierarchies", title="Hierarchies", what=what)
    shown, problems = _shown(desk, column, desk.draft)
    described = desk.draft.settings.get(column, {}).get("hierarchy")
    return page(
        request,
        "hierarchies.html",
        "/hierarchies",
        names=[(list(desk.table.names).index(name) + 1, name, _kind_of(desk, name)) for name in names],
        column=column,
        number=list(desk.table.names).index(column) + 1,
        profile=desk.profile(column),
        described=described if isinstance(described, Mapping) else {"kind": "file"} if described else {},
        shown=shown,
        problems=problems,
        most=MOST_DRAFTED,
        levels_now=_levels(desk, column, desk.draft, shown),
    )


def _column(desk: Desk, asked: str) -> str:
    number = whole(asked, "column")
    if not 1 <= number <= len(desk.table.names):
        raise InputError("column: there is no such column")
    return desk.table.names[number - 1]


def _kind_of(desk: Desk, name: str) -> str:
    described = desk.draft.settings.get(name, {}).get("hierarchy")
    if described is None:
        return ""
    return str(described.get("kind")) if isinstance(described, Mapping) else "file"


def try_rule(request: Request) -> Response:
    """Show what a rule would make of a column, before it is used."""
    desk, asked = desk_of(request), request.query_params
    column = _column(desk, asked.get("column", ""))
    shown, problems, levels = None, list[str](), list[tuple[int, int, int, int]]()
    try:
        described = _described(desk, column, asked)
        draft = desk.draft.with_setting(column, "hierarchy", described)
        shown, problems = _shown(desk, column, draft)
        levels = _levels(desk, column, draft, shown)
    except SfumatoError as error:
        problems = list(error.problems)
    return fragment(
        "hierarchy_trial.html", shown=shown, problems=problems, levels=levels, column=column, is_blank=desk.is_blank
    )


def _shown(desk: Desk, column: str, draft: Draft) -> tuple[Shown | None, list[str]]:
    try:
        attribute = draft.attribute(column)
        with desk.lock:
            tree = desk.preview.hierarchy(column, attribute)
            if tree is None:
                return None, []
            records = [sizes.tolist() for sizes in desk.preview.node_sizes(column, attribute)]
    except SfumatoError as error:
        return None, list(error.problems)
    nodes = [len(level.labels) for level in tree.levels]
    text = hierarchy_text(tree) if tree.size <= MOST_DRAFTED else ""
    return Shown(nodes, [_node(tree, records, tree.height, 0)], text, [min(each) for each in records]), []


def _node(tree: Hierarchy, records: list[list[int]], level: int, node: int) -> tuple[Any, ...]:
    label, count = tree.levels[level].labels[node], records[level][node]
    if level == 0 or len(tree.levels[level - 1].labels) > MOST_NODES:
        return level, node, label, count, []
    start, stop = tree.levels[level].starts[node : node + 2]
    below = tree.node_of[level - 1]
    children = range(int(below[start]), int(below[stop - 1]) + 1)
    return level, node, label, count, [_node(tree, records, level - 1, child) for child in children]


def _levels(desk: Desk, column: str, draft: Draft, shown: Shown | None) -> list[tuple[int, int, int, int]]:
    """Return for each level: its nodes, its smallest node, and how many people are alone at it, others as they are."""
    if shown is None or draft.roles[column] != "quasi-identifying":
        return []
    attributes = desk.attributes(draft)
    others = {name: level for name, level in draft.levels.items() if name != column}
    found = []
    for level, nodes in enumerate(shown.nodes):
        with desk.lock:
            alone = desk.preview.sizes(attributes, {**others, column: level}).uniques
        found.append((level, nodes, shown.smallest[level], alone))
    return found


def change_hierarchy(request: Request, sent: FormData) -> str:
    """Draft, describe, paste or edit a hierarchy."""
    desk, what = desk_of(request), text(sent, "what")
    column = _column(desk, text(sent, "column"))
    makes: Mapping[str, Making] = {
        "draft": _drafted,
        "rule": _ruled,
        "table": _pasted,
        "edit": _edited,
        "none": lambda *_: None,
    }
    if what not in makes:
        raise InputError("what: is none of the changes that this page can make")
    described = makes[what](desk, column, sent)
    return told_branch(request, sent, lambda draft: draft.with_setting(column, "hierarchy", described))


def _drafted(desk: Desk, column: str, sent: FormData) -> Mapping[str, Any]:
    profile = desk.profile(column)
    values = desk.table.typed(column, desk.draft.reading(column))[0]
    rule = draft_rule(values)
    if rule is not None:
        return dict(rule.to_policy())
    if profile.distinct > MOST_DRAFTED:
        raise HierarchyError(
            f"column {column!r} has {profile.distinct:,} values, too many to group by hand; it may be identifying, or "
            "have prefixes"
        )
    return _kept(desk, column, draft_hierarchy(values))


def _ruled(desk: Desk, column: str, sent: FormData) -> Mapping[str, Any]:
    described = _described(desk, column, {key: text(sent, key) for key in ("kind", "steps", "start")})
    if described["kind"] != "table":
        return described
    return _kept(desk, column, hierarchy_from_paths([tuple(row) for row in described["rows"]]))


def _described(desk: Desk, column: str, said: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the hierarchy that a rule means."""
    kind, steps = said.get("kind", ""), [part.strip() for part in said.get("steps", "").split(",") if part.strip()]
    try:
        if kind == "order":
            return _in_order(desk, column, [int(part) for part in steps])
        if kind == "intervals":
            start = finite_number(said.get("start", "0") or "0")
            return {
                "kind": kind,
                "widths": [finite_number(part) for part in steps],
                **({"start": start} if start else {}),
            }
        if kind == "prefixes":
            return {"kind": kind, "keep": [int(part) for part in steps]}
    except ValueError:
        raise InputError("steps: write numbers separated by commas, such as 5, 10, 20") from None
    if kind == "dates":
        return {"kind": kind, "units": steps}
    if kind == "flat":
        return {"kind": kind}
    raise InputError("kind: must be intervals, order, prefixes, dates or flat")


def _in_order(desk: Desk, column: str, together: Sequence[int]) -> Mapping[str, Any]:
    """Put so many values that follow each other into a group; then so many groups into one above, and so on."""
    if not together or min(together) < 2:
        raise InputError("steps: say how many values make a group, such as 3; then how many groups one above, 3, 2")
    order = desk.reviewed()[column].judgement.order
    declared = desk.draft.attribute(column).domain if desk.draft.kind(column) is Kind.ORDERED else None
    values = text_of(listed_values(desk.table.typed(column, desk.draft.reading(column))[0], column)).to_list()
    if len(values) > MOST_DRAFTED:
        raise HierarchyError(f"column {column!r} has {len(values):,} values, too many for this; take intervals")
    known = list(map(str, declared or (order.labels if order is not None else ())))
    values.sort(key=lambda value: known.index(value) if value in known else len(known))
    paths, size = [[value] for value in values], 1
    for many in together:
        size *= many
        for start in range(0, len(values), size):
            group = values[start : start + size]
            label = group[0] if len(group) == 1 else f"{group[0]} to {group[-1]}"
            for path in paths[start : start + size]:
                path.append(label)
    return {"kind": "table", "rows": [[*path, ROOT] for path in paths]}


def _pasted(desk: Desk, column: str, sent: FormData) -> Mapping[str, Any]:
    number = list(desk.table.names).index(column) + 1
    path = desk.project.keep_hierarchy(number, text(sent, "text").replace("\r\n", "\n"))
    try:
        read_hierarchy(path).build(desk.preview.distinct(column, desk.draft.reading(column)).values, name=column)
    except HierarchyError as error:
        path.unlink(missing_ok=True)
        raise HierarchyError(*(problem.replace(str(path), "the table") for problem in error.problems)) from None
    return {"kind": "file", "path": str(path)}


def _edited(desk: Desk, column: str, sent: FormData) -> Mapping[str, Any]:
    attribute = desk.draft.attribute(column)
    tree = desk.preview.hierarchy(column, attribute)
    if tree is None or tree.size > MOST_DRAFTED:
        raise HierarchyError("there is no hierarchy that can be edited by hand; draft one first")
    return _kept(desk, column, _edit(tree, sent))


def _edit(tree: Hierarchy, sent: FormData) -> Hierarchy:
    how, label = text(sent, "how"), text(sent, "label").strip()
    chosen = [tuple(map(int, place.split("."))) for place in text(sent, "nodes").split(",") if _is_place(place)]
    if how == "insert":
        return with_level(tree, whole(text(sent, "level"), "level"))
    if how == "drop":
        return without_level(tree, whole(text(sent, "level"), "level"))
    if not chosen or len({level for level, _ in chosen}) > 1:
        raise HierarchyError("choose one node, or several of one level")
    level, node = chosen[0]
    if how in ("rename", "merge") and not label:
        raise HierarchyError("label: give the group a name")
    if how == "rename":
        return renamed(tree, level, node, label)
    if how == "merge":
        return grouped(tree, level, [its for _, its in chosen], label)
    if how == "ungroup":
        return ungrouped(tree, level, node)
    nodes = [its for _, its in chosen]
    if how == "onto":
        above, _, group = text(sent, "onto").partition(".")
        if above != str(level + 1):
            raise HierarchyError("drop it on a group of the next level")
        return moved(tree, level, nodes, whole(group, "onto"))
    if how == "move":
        names = list(tree.levels[level + 1].labels) if level + 1 < tree.height else []
        if label not in names:
            raise HierarchyError("name a group of the next level, as it stands in the tree")
        return moved(tree, level, nodes, names.index(label))
    raise InputError("how: is none of the edits")


def _is_place(place: str) -> bool:
    level, dot, node = place.partition(".")
    return bool(dot) and level.isascii() and node.isascii() and level.isdigit() and node.isdigit() and len(place) < 12


def _kept(desk: Desk, column: str, tree: Hierarchy) -> Mapping[str, Any]:
    number = list(desk.table.names).index(column) + 1
    return {"kind": "file", "path": str(desk.project.keep_hierarchy(number, hierarchy_text(tree)))}


ROUTES = [
    Route("/hierarchies", reading(hierarchies)),
    Route("/hierarchies/trial", reading(try_rule)),
    Route("/setup/hierarchy", answering(change_hierarchy), methods=["POST"]),
]
