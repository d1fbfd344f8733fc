"""Information loss and utility, one file per family."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sfumato.classes.partition import GeneralizedTable
from sfumato.metrics.losses import (
    Losses,
    Rule,
    attribute_penalties,
    average_class_size,
    cell_penalties,
    certainty_penalty,
    changed_cells,
    classification_metric,
    discernibility,
    entropy_loss,
    iloss,
    loss_metric,
    measure_losses,
    minimal_distortion,
    normalized_certainty_penalty,
    normalized_entropy,
    precision,
    squared_error,
    under_rule,
    utility,
)

Metric = Callable[[GeneralizedTable], float]

METRICS: Mapping[str, Metric] = {
    "discernibility": discernibility,
    "average-class-size": average_class_size,
    "minimal-distortion": minimal_distortion,
    "ncp": certainty_penalty,
    "normalized-ncp": normalized_certainty_penalty,
    "iloss": iloss,
    "lm": loss_metric,
    "precision": precision,
    "entropy": normalized_entropy,
    "squared-error": squared_error,
    "utility": utility,
}
"""Metrics of a recoded table alone, by the name that the command line and comparisons use."""
