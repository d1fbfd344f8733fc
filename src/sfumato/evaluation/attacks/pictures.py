"""Results of attacks as a picture in text: shares with their intervals on one scale, beside guessing."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.evaluation.attacks.protocol import AttackResult

SUCCESS, GUESSING, CONTROL, INTERVAL = "●", "|", "◇", "─"


def draw_results(results: Sequence[AttackResult], width: int) -> str:
    """Draw one line for each result with at least one person, on a scale from 0 to 1 of `width` letters.

    The verdict stands at its end.
    """
    tried = [result for result in results if result.success.people]
    if not tried:
        return "nothing to draw: no attack had anybody to try it on"
    longest = max(len(result.attack) for result in tried)
    lines = [f"{result.attack:<{longest}}  {_line(result, width)}  {_word(result)}" for result in tried]
    scale = f"{'':<{longest}}  0{'1':>{width - 1}}"
    legend = f"{SUCCESS} success with its interval, {GUESSING} guessing, {CONTROL} people who are not in the data"
    return "\n".join([*lines, scale, legend])


def _word(result: AttackResult) -> str:
    return result.verdict if result.unplayed is None else "not played"


def _line(result: AttackResult, width: int) -> str:
    letters = [" "] * width
    low, high = (_place(end, width) for end in result.success.interval)
    letters[low : high + 1] = INTERVAL * (high + 1 - low)
    letters[_place(result.success.baseline, width)] = GUESSING
    if result.control is not None and result.control.people:
        letters[_place(result.control.share, width)] = CONTROL
    letters[_place(result.success.share, width)] = SUCCESS
    return "".join(letters)


def _place(share: float, width: int) -> int:
    return round(min(max(share, 0.0), 1.0) * (width - 1))
