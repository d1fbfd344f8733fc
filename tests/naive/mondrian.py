"""Mondrian k-anonymity, the obvious slow way (the 'naive twin').

Written from the rules in `algorithms.md` (section 2 recodings, section 3 metrics, section 4 Mondrian,
section 25 published figures) and from appendix 7.1 of thesis S4, not from any other program.
Everything is a plain list; a class is a sorted list of 0-based record indices; classes come out sorted
by their first record.
"""

from collections.abc import Callable, Sequence
from typing import Literal

Number = int | float
Column = Sequence[Number]
Rows = list[int]
Allow = Callable[[Rows], bool]
Mode = Literal["strict", "relaxed"]
SplitRule = Literal["median", "median+fallback"]
Tree = int | tuple["Tree", ...]  # a leaf is its code; an inner node is the tuple of its children
Box = tuple[tuple[Number, Number], ...]


class Infeasible(ValueError):
    """No table at all satisfies the request (algorithms.md, conventions: n < k)."""


# ------------------------------------------------------------------------------------ small parts


def spread(column: Column, rows: Sequence[int]) -> Number:
    """Largest minus smallest value of the rows (section 4: 'from data in P (tight)'); 0 if no rows."""
    values = [column[row] for row in rows]
    return max(values) - min(values) if values else 0


def table_ranges(columns: Sequence[Column]) -> list[Number]:
    """The default normaliser: max - min of each attribute over the whole table (section 4, width)."""
    return [spread(column, range(len(column))) for column in columns]


def ratio(width: Number, scale: Number) -> float:
    """A width over its normaliser; an attribute without any range has width 0."""
    return width / scale if scale else 0.0


def widest_first(widths: Sequence[float], order: Sequence[int]) -> list[int]:
    """Attributes by width, widest first, ties by declared order (section 4, choose_dimension)."""
    return sorted(order, key=lambda attribute: -widths[attribute])  # sorted() is stable


def lower_median(values: Sequence[Number]) -> Number:
    """The smallest value whose cumulative count reaches half: index (n-1)//2 of the sorted values."""
    return sorted(values)[(len(values) - 1) // 2]


def cut_at_most(column: Column, rows: Rows, value: Number) -> tuple[Rows, Rows]:
    """The cut {<= value} | {> value}."""
    return [r for r in rows if column[r] <= value], [r for r in rows if column[r] > value]


def cut_below(column: Column, rows: Rows, value: Number) -> tuple[Rows, Rows]:
    """The cut {< value} | {>= value}."""
    return [r for r in rows if column[r] < value], [r for r in rows if column[r] >= value]


def allowable(parts: Sequence[Rows], k: int, allow: Allow | None) -> bool:
    """Every part has k records and satisfies the extra monotone predicate (section 4, extra predicates)."""
    return all(len(part) >= k and (allow is None or allow(part)) for part in parts)


def in_order(classes: list[Rows]) -> list[Rows]:
    """Each class sorted, classes sorted by first record."""
    return sorted(sorted(rows) for rows in classes)


def check_input(columns: Sequence[Column], k: int, allow: Allow | None) -> int:
    """The number of records; Infeasible if even the table as one class is not allowed (conventions)."""
    n = len(columns[0])
    everyone = list(range(n))
    if n < k or (allow is not None and not allow(everyone)):
        raise Infeasible(f"{n} records cannot be one class with k={k} and the predicate")
    return n


# ------------------------------------------------------------------------------------ cuts


def strict_cut(column: Column, rows: Rows, k: int, rule: SplitRule, allow: Allow | None) -> list[Rows] | None:
    """The strict cut of the rows along one attribute, or None if there is no allowable one.

    Section 4: 'median' knows only {<= median} | {> median}. 'median+fallback' also knows
    {< median} | {>= median} and takes the allowable one closest to half (tie: the first).
    A zero-width attribute gives an empty side and so is never allowable.
    """
    if spread(column, rows) == 0:
        return None
    median = lower_median([column[row] for row in rows])
    cuts = [cut_at_most(column, rows, median)]
    if rule == "median+fallback":
        cuts.append(cut_below(column, rows, median))
    good = [list(cut) for cut in cuts if allowable(cut, k, allow)]
    return min(good, key=lambda cut: abs(2 * len(cut[0]) - len(rows)), default=None)


def relaxed_cut(column: Column, rows: Rows, k: int, allow: Allow | None) -> list[Rows] | None:
    """The relaxed cut: L={<}, R={>}, and M={= median} fills L in record order up to floor(n/2)."""
    if len(rows) < 2 * k:
        return None
    median = lower_median([column[row] for row in rows])
    left = [row for row in rows if column[row] < median]
    middle = [row for row in rows if column[row] == median]
    right = [row for row in rows if column[row] > median]
    room = len(rows) // 2 - len(left)
    parts = [sorted(left + middle[:room]), sorted(middle[room:] + right)]
    return parts if allowable(parts, k, allow) else None


def relaxed_candidates(widths: Sequence[float], order: Sequence[int]) -> list[int]:
    """Relaxed may cut a zero-width attribute only when all are zero-width (section 4): then the first."""
    wide = [attribute for attribute in widest_first(widths, order) if widths[attribute] > 0]
    return wide or [order[0]]


# ------------------------------------------------------------------------------------ Mondrian


def mondrian(
    columns: Sequence[Column],
    k: int,
    *,
    mode: Mode = "strict",
    split_rule: SplitRule = "median",
    ranges: Sequence[Number] | None = None,
    order: Sequence[int] | None = None,
    allow: Allow | None = None,
) -> list[Rows]:
    """Mondrian (section 4): cut the widest attribute that has an allowable cut, until none has.

    `order` lists the attributes in their declared order (it only breaks ties of width); `ranges` are
    the width normalisers; `split_rule` is not used by mode='relaxed'.
    """
    scales = table_ranges(columns) if ranges is None else ranges
    declared = list(range(len(columns))) if order is None else list(order)

    def parts_of(rows: Rows) -> list[Rows] | None:
        widths = [ratio(spread(column, rows), scale) for column, scale in zip(columns, scales, strict=True)]
        if mode == "relaxed":
            cuts = (relaxed_cut(columns[j], rows, k, allow) for j in relaxed_candidates(widths, declared))
        else:
            cuts = (strict_cut(columns[j], rows, k, split_rule, allow) for j in widest_first(widths, declared))
        return next((cut for cut in cuts if cut), None)

    return cut_until_done(list(range(check_input(columns, k, allow))), parts_of)


def cut_until_done(everyone: Rows, parts_of: Callable[[Rows], list[Rows] | None]) -> list[Rows]:
    """anonymize(P) of section 4 with a work list in place of the recursion."""
    waiting, done = [everyone], []
    while waiting:
        rows = waiting.pop()
        parts = parts_of(rows)
        if parts is None:
            done.append(rows)
        else:
            waiting.extend(parts)
    return in_order(done)


# ------------------------------------------------------------------------------------ n-ary hierarchy cuts


def leaves(tree: Tree) -> list[int]:
    """The codes under a node, left to right."""
    if isinstance(tree, tuple):
        return [leaf for child in tree for leaf in leaves(child)]
    return [tree]


def common_ancestor(tree: Tree, values: set[Number]) -> Tree:
    """The lowest node that has all the values under it (the leaf itself for a single value)."""
    for child in tree if isinstance(tree, tuple) else ():
        if values <= set(leaves(child)):
            return common_ancestor(child, values)
    return tree


def tree_width(tree: Tree, column: Column, rows: Rows) -> float:
    """Leaves under the common ancestor over all leaves; 0 for a single value (section 3, NCP cell)."""
    values = {column[row] for row in rows}
    if len(values) <= 1:
        return 0.0
    return len(leaves(common_ancestor(tree, values))) / len(leaves(tree))


def tree_cut(tree: Tree, column: Column, rows: Rows, k: int, allow: Allow | None) -> list[Rows] | None:
    """Cut into the children of the common ancestor; allowable iff every non-empty part is (section 4)."""
    values = {column[row] for row in rows}
    node = common_ancestor(tree, values)
    if len(values) <= 1 or not isinstance(node, tuple):
        return None
    under = [set(leaves(child)) for child in node]
    parts = [[row for row in rows if column[row] in codes] for codes in under]
    parts = [part for part in parts if part]
    return parts if allowable(parts, k, allow) else None


def mondrian_hierarchy(
    columns: Sequence[Column],
    trees: Sequence[Tree | None],
    k: int,
    *,
    split_rule: SplitRule = "median",
    ranges: Sequence[Number] | None = None,
    order: Sequence[int] | None = None,
    allow: Allow | None = None,
) -> list[Rows]:
    """'Basic Mondrian' (section 4): attributes with a tree get n-ary cuts, the others the strict cut."""
    scales = table_ranges(columns) if ranges is None else ranges
    declared = list(range(len(columns))) if order is None else list(order)

    def width(j: int, rows: Rows) -> float:
        tree = trees[j]
        return ratio(spread(columns[j], rows), scales[j]) if tree is None else tree_width(tree, columns[j], rows)

    def cut(j: int, rows: Rows) -> list[Rows] | None:
        tree = trees[j]
        if tree is None:
            return strict_cut(columns[j], rows, k, split_rule, allow)
        return tree_cut(tree, columns[j], rows, k, allow)

    def parts_of(rows: Rows) -> list[Rows] | None:
        widths = [width(j, rows) for j in range(len(columns))]
        return next((parts for j in widest_first(widths, declared) if (parts := cut(j, rows))), None)

    return cut_until_done(list(range(check_input(columns, k, allow))), parts_of)


# ------------------------------------------------------------------------------------ single-dimensional


def slabs(column: Column, cuts: Sequence[Number]) -> list[Rows]:
    """The records between neighbouring cut points of one attribute, a cut c meaning {<= c} | {> c}."""
    groups: dict[int, Rows] = {}
    for row, value in enumerate(column):
        groups.setdefault(sum(cut < value for cut in cuts), []).append(row)
    return [groups[key] for key in sorted(groups)]


def cells(columns: Sequence[Column], cuts: Sequence[Sequence[Number]]) -> list[Rows]:
    """The non-empty cells of the product of all attributes' cuts."""
    groups: dict[tuple[int, ...], Rows] = {}
    for row in range(len(columns[0])):
        key = tuple(sum(c < column[row] for c in own) for column, own in zip(columns, cuts, strict=True))
        groups.setdefault(key, []).append(row)
    return list(groups.values())


def single_dimensional_cuts(
    columns: Sequence[Column],
    k: int,
    *,
    ranges: Sequence[Number] | None = None,
    order: Sequence[int] | None = None,
    allow: Allow | None = None,
) -> list[list[Number]]:
    """The cut points of each attribute that single-dimensional greedy Mondrian makes (section 4).

    Section 4 fixes which cuts are allowable but not the greedy choice; by analogy with the
    multidimensional rule: of all slabs (the records between two neighbouring cuts of one attribute) take
    the widest, ties by declared order and then lowest values; cut it at the lower median of its own
    records; if that is not allowable try the next slab; stop when no slab can be cut.
    """
    scales = table_ranges(columns) if ranges is None else ranges
    declared = list(range(len(columns))) if order is None else list(order)
    check_input(columns, k, allow)
    cuts: list[list[Number]] = [[] for _ in columns]
    while (more := next_table_cut(columns, cuts, k, scales, declared, allow)) is not None:
        cuts = more
    return cuts


def mondrian_single_dimensional(
    columns: Sequence[Column],
    k: int,
    *,
    ranges: Sequence[Number] | None = None,
    order: Sequence[int] | None = None,
    allow: Allow | None = None,
) -> list[Rows]:
    """Single-dimensional greedy Mondrian: cuts go across the whole table; allowable iff every cell has
    0 or >= k records (section 4). The classes are the non-empty cells."""
    return in_order(cells(columns, single_dimensional_cuts(columns, k, ranges=ranges, order=order, allow=allow)))


def next_table_cut(
    columns: Sequence[Column],
    cuts: list[list[Number]],
    k: int,
    scales: Sequence[Number],
    declared: Sequence[int],
    allow: Allow | None,
) -> list[list[Number]] | None:
    """The cuts with one allowable cut more, or None."""
    pieces = [(j, rows) for j in declared for rows in slabs(columns[j], cuts[j])]
    pieces.sort(key=lambda piece: -ratio(spread(columns[piece[0]], piece[1]), scales[piece[0]]))
    for j, rows in pieces:
        median = lower_median([columns[j][row] for row in rows])
        if median == max(columns[j][row] for row in rows):
            continue  # {> median} of the slab is empty: no cut
        more = [[*own, median] if i == j else own for i, own in enumerate(cuts)]
        if allowable(cells(columns, more), k, allow):
            return more
    return None


# ------------------------------------------------------------------------------------ UTD toolbox

# Appendix 7.1 of thesis S4: sex and native-country are mapped to integers, native-country in the order
# of the leaves of its taxonomy; age is itself. The appendix prints 'TrinidadTobago' for Trinadad&Tobago.
TOOLBOX_SEXES = ("Female", "Male")
TOOLBOX_COUNTRIES = (
    "United-States",
    "Outlying-US(Guam-USVI-etc)",
    "Canada",
    "Mexico",
    "Honduras",
    "Guatemala",
    "Nicaragua",
    "El-Salvador",
    "Ecuador",
    "Peru",
    "Columbia",
    "Caribbean",
    "Puerto-Rico",
    "Dominican-Republic",
    "Jamaica",
    "Cuba",
    "Haiti",
    "Trinadad&Tobago",
    "France",
    "England",
    "Ireland",
    "Scotland",
    "Holand-Netherlands",
    "Italy",
    "Greece",
    "Portugal",
    "Yugoslavia",
    "Hungary",
    "Germany",
    "Poland",
    "Philippines",
    "Thailand",
    "Cambodia",
    "Vietnam",
    "Laos",
    "India",
    "Japan",
    "China",
    "South",
    "Hong",
    "Taiwan",
    "Iran",
)
TOOLBOX_DOMAIN: Box = ((0, 100), (0, 1), (0, 41))  # the roots of the three hierarchies


def toolbox_columns(lines: Sequence[str], limit: int = 5000) -> list[list[int]]:
    """Age, sex and native-country of the first `limit` complete lines of adult.data (section 25), coded."""
    fields = [[field.strip() for field in line.split(",")] for line in lines]
    complete = [f for f in fields if len(f) == 15 and "?" not in f][:limit]
    return [
        [int(f[0]) for f in complete],
        [TOOLBOX_SEXES.index(f[9]) for f in complete],
        [TOOLBOX_COUNTRIES.index(f[13]) for f in complete],
    ]


def mondrian_toolbox(columns: Sequence[Column], k: int, domain: Box) -> list[tuple[Rows, Box]]:
    """Strict median Mondrian with *box* widths (section 25): the classes, each with its published box.

    The one difference from mondrian(columns, k): an attribute's width is that of the region, not of the
    data in it. The root region is the hierarchies' domain, and a cut at m turns [low, high] into
    [low, m] and (m, high], each of width 'upper end minus lower end'. Ties: first attribute.
    """
    waiting: list[tuple[Rows, Box]] = [(list(range(check_input(columns, k, None))), domain)]
    done: list[tuple[Rows, Box]] = []
    while waiting:
        rows, box = waiting.pop()
        sides = toolbox_cut(columns, k, domain, rows, box)
        if sides is None:
            done.append((rows, box))
        else:
            waiting.extend(sides)
    return sorted(done)


def toolbox_cut(columns: Sequence[Column], k: int, domain: Box, rows: Rows, box: Box) -> list[tuple[Rows, Box]] | None:
    """The first allowable median cut of a region, widest side of the box first; None if there is none."""
    widths = [ratio(high - low, top - bottom) for (low, high), (bottom, top) in zip(box, domain, strict=True)]
    for j in widest_first(widths, range(len(columns))):
        parts = strict_cut(columns[j], rows, k, "median", None)
        if parts is not None:
            median, (low, high) = lower_median([columns[j][row] for row in rows]), box[j]
            return [(parts[0], with_side(box, j, (low, median))), (parts[1], with_side(box, j, (median, high)))]
    return None


def with_side(box: Box, j: int, side: tuple[Number, Number]) -> Box:
    """The box with side j replaced."""
    return (*box[:j], side, *box[j + 1 :])


# ------------------------------------------------------------------------------------ metric


def gcp(columns: Sequence[Column], classes: Sequence[Rows], categorical: Sequence[bool]) -> float:
    """GCP (section 3): NCP / (n*d) on data ranges; categorical = distinct values in class / in table."""
    scales = [len(set(c)) if cat else spread(c, range(len(c))) for c, cat in zip(columns, categorical, strict=True)]
    total = 0.0
    for rows in classes:
        for column, cat, scale in zip(columns, categorical, scales, strict=True):
            distinct = len({column[row] for row in rows})
            width = (distinct if distinct > 1 else 0) if cat else spread(column, rows)
            total += len(rows) * ratio(width, scale)
    return total / (len(columns[0]) * len(columns))
