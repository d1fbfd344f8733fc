"""Drawings of the report: losses of attributes, risk before and after, attacks with their intervals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.drawing import COLOURS, canvas, canvases, svg_of
from sfumato.evaluation.attacks.verdicts import IN_WORDS, Verdict

BEFORE, AFTER = "#999999", COLOURS[0]
MARKS: dict[Verdict, dict[str, Any]] = {
    "succeeds": {"marker": "o", "color": COLOURS[1]},
    "no better": {"marker": "o", "color": COLOURS[0]},
    "undecided": {"marker": "o", "color": COLOURS[0], "markerfacecolor": "white"},
}
CURVES: dict[str, tuple[str, dict[str, Any]]] = {
    "inside": ("attacker", {"color": COLOURS[1], "marker": "o"}),
    "control": ("on people not in the data", {"color": COLOURS[4], "marker": "D", "linestyle": "--"}),
    "population": ("somebody who knows only those", {"color": COLOURS[0], "marker": "s", "linestyle": "-."}),
}
CURVES_ABREAST = 2
_HEAD = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_NAMES = re.compile(r'(\bid="|url\(#|xlink:href="#)')


def draw_report(content: Mapping[str, Any]) -> dict[str, str]:
    """Draw the figures of the content; name → inline SVG.

    Raises
    ------
    PolicyError
        When matplotlib is not installed.
    """
    drawn = {
        "losses": _losses(content.get("losses")),
        "risk": _risk(content.get("risk"), "record" if content.get("repeated") else "person"),
        "attacks": _attacks(content.get("attacks")),
        "curves": _curves(content.get("attacks")),
        "distributions": _distributions(content.get("utility")),
        "associations": _associations(content.get("utility")),
    }
    return {name: svg for name, svg in drawn.items() if svg}


def _losses(losses: Mapping[str, Any] | None) -> str:
    shares = dict(losses["attribute_ncp"]) if losses else {}
    if not shares:
        return ""
    return _bars("losses", list(shares), list(shares.values()), "information lost (share of what there was to lose)")


def _distributions(utility: Mapping[str, Any] | None) -> str:
    found = utility["correlations"]["distributions"] if utility else []
    if not found:
        return ""
    names = [one["attribute"] for one in found]
    return _bars(
        "distributions", names, [one["total_variation"] for one in found], "change of the distribution (share)"
    )


def _bars(name: str, labels: Sequence[str], widths: Sequence[float], across: str) -> str:
    figure, axes = canvas(across, "", height=0.8 + 0.3 * len(labels))
    places = range(len(labels))
    axes.barh(places, widths, color=AFTER, height=0.62)
    for place, width in zip(places, widths, strict=True):
        axes.annotate(f"{100 * width:.3g}%", (width, place), (4, 0), textcoords="offset points", va="center", size=8)
    axes.set_yticks(list(places), labels)
    axes.invert_yaxis()
    axes.set_xlim(0, max(1e-3, max(widths)) * 1.12)
    axes.grid(visible=False, axis="y")
    return _inline(figure, name)


def _risk(risk: Mapping[str, Any] | None, counted: str) -> str:
    """Draw the share of people, or of records where these are counted, above each threshold, before and after."""
    if not risk or "after" not in risk or "before" not in risk:
        return ""
    everybody = "people" if counted == "person" else "records"
    rows = [
        (f"highest risk of a {counted}", risk["before"]["highest"], risk["after"]["highest"]),
        ("average risk", risk["before"]["average"], risk["after"]["average"]),
        *(
            (f"{everybody} above {one['threshold']}", one["share"], other["share"])
            for one, other in zip(risk["before"]["above"], risk["after"]["above"], strict=True)
        ),
    ]
    figure, axes = canvas(f"probability, or share of the {everybody}", "", height=0.9 + 0.42 * len(rows))
    for place, (_, before, after) in enumerate(rows):
        axes.barh(place - 0.19, before, color=BEFORE, height=0.34, label="before" if not place else None)
        axes.barh(place + 0.19, after, color=AFTER, height=0.34, label="after" if not place else None, hatch="//")
        for shift, width in ((-0.19, before), (0.19, after)):
            axes.annotate(
                f"{100 * width:.3g}%", (width, place + shift), (4, 0), textcoords="offset points", va="center", size=8
            )
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.12)
    axes.grid(visible=False, axis="y")
    axes.legend(frameon=False, fontsize="small", loc="lower right")
    return _inline(figure, "risk")


def _attacks(attacks: Mapping[str, Any] | None) -> str:
    """Draw every attack's success with its interval and its verdict, beside guessing and the control group."""
    played = [result for result in attacks["results"] if result["unplayed"] is None] if attacks else []
    results = [result for result in played if result["success"]["people"]]
    if not results:
        return ""
    figure, axes = canvas(f"share of the {_counted(results)}", "", height=1.0 + 0.34 * len(results))
    for place, result in enumerate(results):
        success, control, mark = result["success"], result.get("control"), MARKS[result["verdict"]]
        axes.plot([success["low"], success["high"]], [place, place], color=mark["color"], linewidth=2.2)
        axes.plot(success["share"], place, **mark, zorder=3)
        axes.plot(
            success["baseline"], place, "|", color="#000000", markersize=13, label="guessing" if not place else None
        )
        if control and control["people"]:
            axes.plot(control["share"], place, "D", color=COLOURS[4], markersize=5, markerfacecolor="none")
    axes.set_yticks(range(len(results)), [_named(result, results) for result in results])
    axes.invert_yaxis()
    axes.set_xlim(-0.02, 1.02)
    if any(result.get("control") for result in results):
        axes.plot([], [], "D", color=COLOURS[4], markersize=5, markerfacecolor="none", label="people not in the data")
    for verdict in dict.fromkeys(result["verdict"] for result in results):
        axes.plot([], [], **MARKS[verdict], linestyle="-", label=IN_WORDS[verdict])
    axes.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return _inline(figure, "attacks")


def _curves(attacks: Mapping[str, Any] | None) -> str:
    """Draw how often attackers are right about the people of whom they are surest, a drawing beside the other."""
    results = attacks["results"] if attacks else []
    drawn = [result for result in results if result.get("curve") and result["curve"]["looks"]]
    if not drawn:
        return ""
    rows = -(-len(drawn) // CURVES_ABREAST)
    figure, places = canvases(rows, CURVES_ABREAST, height=0.6 + 2.5 * rows)
    for place, result in zip(places, drawn, strict=False):
        _curve(place, result["curve"], result["success"]["baseline"])
        place.set_xlabel(f"surest % of the {_counted([result])}")
        place.set_title(_named(result, results), fontsize="medium", loc="left")
    for place in places[len(drawn) :]:
        place.set_visible(False)
    named = dict(zip(*reversed(_legend(places[: len(drawn)])), strict=True))
    figure.legend(named.values(), named.keys(), frameon=False, fontsize="small", loc="outside upper left", ncols=3)
    return _inline(figure, "curves")


def _curve(axes: Any, curve: Mapping[str, Any], guessing: float) -> None:
    """Draw one: the attacker with intervals, the same of others, and who knows only others; promise and guessing."""
    looks = [look for look in curve["looks"] if look["surest"] is not None]
    shares = [100 * look["surest"] for look in looks]
    low, high = ([look["inside"][end] for look in looks] for end in ("low", "high"))
    axes.fill_between(shares, low, high, color=COLOURS[1], alpha=0.2, linewidth=0)
    for name, (label, look) in CURVES.items():
        there = [one[name]["share"] if name in one else None for one in looks]
        if None not in there:
            axes.plot(shares, there, label=label, markersize=4, **look)
    axes.axhline(guessing, color="#000000", linewidth=1, linestyle=":", label="guessing")
    if curve["bound"] is not None:
        axes.axhline(curve["bound"], color=COLOURS[2], linewidth=1.6, label="promised at most")
    axes.set_xscale("log")
    axes.set_xticks(shares, [f"{share:g}" for share in shares])
    axes.minorticks_off()
    axes.set_ylim(-0.03, 1.05)
    axes.set_ylabel("right")


def _counted(results: Sequence[Mapping[str, Any]]) -> str:
    """Return what attacks count: records where all of them do, else people."""
    return "records" if all(result["counts"] == "records" for result in results) else "people"


def _legend(places: Sequence[Any]) -> tuple[list[Any], list[str]]:
    handles, labels = [], []
    for place in places:
        one, name = place.get_legend_handles_labels()
        handles += one
        labels += name
    return handles, labels


def _named(result: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> str:
    """Name a result; those of one attack are numbered."""
    alike = [one for one in results if one["attack"] == result["attack"]]
    number = f" {1 + alike.index(result)}" if len(alike) > 1 else ""
    return f"{result['attack']}{number}"


def _associations(utility: Mapping[str, Any] | None) -> str:
    """Draw the association of every pair before against after."""
    pairs = utility["correlations"]["associations"] if utility else []
    if not pairs:
        return ""
    figure, axes = canvas("association of a pair before (φ²)", "after (φ²)", width=4.6, height=4.0)
    before, after = [pair["before"] for pair in pairs], [pair["after"] for pair in pairs]
    most = max([*before, *after, 1e-3]) * 1.06
    axes.plot([0, most], [0, most], color="#999999", linewidth=1, linestyle="--")
    axes.plot(before, after, "o", color=AFTER, markersize=5, markerfacecolor="none")
    axes.set_xlim(0, most)
    axes.set_ylim(0, most)
    return _inline(figure, "associations")


def _inline(figure: Any, name: str) -> str:
    """Return the drawing without what only a separate file needs, and with inner names of its own."""
    return _NAMES.sub(rf"\g<1>{name}-", _HEAD.sub("", svg_of(figure, name), count=1))
