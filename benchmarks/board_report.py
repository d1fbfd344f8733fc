"""Measures of the public benchmark's report for one file, as JSON: run by an interpreter that has ``sdnist`` 2.4.

``python benchmarks/board_report.py FILE.csv SOURCE ROOT REGION``: SOURCE is the folder of the excerpts, ROOT, made
anew, the layout that the package reads, REGION one of ``national``, ``ma`` and ``tx``. Its own functions measure; only
its drawings are left out.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

NUMBERS = ("AGEP", "DENSITY", "PINCP", "POVPIP", "PWGTP", "WGTP")


FOLDERS = {"national": "national", "ma": "massachusetts", "tx": "texas"}


def lay_out(source: Path, root: Path, region: str) -> None:
    """Write table, schema and words where the package looks for them; the schema says what occurs in the table."""
    words = json.loads((source / "data_dictionary.json").read_text())
    text = gzip.decompress((source / f"{region}2019.csv.gz").read_bytes()).decode()
    rows = list(csv.DictReader(text.splitlines()))
    schema = {name: _entry(name, {row[name] for row in rows}) for name in rows[0]}
    (root / FOLDERS[region]).mkdir(parents=True, exist_ok=True)
    (root / FOLDERS[region] / f"{region}2019.csv").write_text(text)
    places = {code: {"name": name} for code, name in words["PUMA"]["values"].items()}
    for name, content in (
        (f"{FOLDERS[region]}/{region}2019.json", {"schema": schema}),
        ("config.json", {}),
        ("mappings.json", {"PUMA": places}),
        ("data_dictionary.json", words),
    ):
        (root / name).write_text(json.dumps(content))


def _entry(name: str, values: set[str]) -> dict[str, Any]:
    nullable, known = "N" in values, values - {"N"}
    entry: dict[str, Any] = {"dtype": "object" if nullable or name == "PUMA" else "int64"}
    if name == "DENSITY":
        entry["dtype"] = "float64"
    if nullable:
        entry |= {"has_null": True, "null_value": "N"}
    if name in NUMBERS:
        return entry | {"min": min(map(float, known)), "max": max(map(float, known))}
    if name == "PUMA":
        return entry | {"values": sorted(known)}
    ordered = sorted(known, key=float)
    return entry | {"values": ["N", *ordered] if nullable else [int(value) for value in ordered]}


def scores(path: Path, root: Path, region: str) -> dict[str, Any]:
    """Return what the report says of a file, in figures."""
    utils, load, dataset = (import_module(f"sdnist.{name}") for name in ("utils", "load", "report.dataset"))
    metrics = {name: import_module(f"sdnist.metrics.{name}") for name in (
        "kmarginal", "unique_exact_matches", "propensity", "pearson_correlation", "regression", "inconsistency",
    )}  # fmt: skip
    data = dataset.Dataset(path, utils.SimpleLogger(), load.TestDatasetName[f"{region}2019"], root, False)
    marginals = metrics["kmarginal"].KMarginal(
        data.d_target_data, data.d_synthetic_data, data.config["k_marginal"]["group_features"]
    )
    matched = metrics["unique_exact_matches"].unique_exact_matches(data.c_target_data, data.c_synthetic_data)
    pairs = metrics["pearson_correlation"].PearsonCorrelationDifference(
        data.t_target_data, data.t_synthetic_data, data.config["correlation_features"]
    )
    pairs.compute()
    with tempfile.TemporaryDirectory() as folder:
        propensity = metrics["propensity"].PropensityMSE(data.t_target_data, data.t_synthetic_data, Path(folder))
        propensity.compute_score()
        adults = [
            utils.to_num(frame[["EDU", "PINCP_DECILE"]].copy()) for frame in (data.target_data, data.c_synthetic_data)
        ]
        line = metrics["regression"].LinearRegressionMetric(*adults, data.data_dict, Path(folder) / "line")
        line.compute()
        broken = metrics["inconsistency"].Inconsistencies(data.c_synthetic_data, Path(folder))
        broken.compute()
    differences = pairs.pp_corr_diff.abs().to_numpy()
    # A column of one value correlates with nothing.
    apart = [value for i in range(len(differences)) for j in range(i) if (value := differences[i, j]) == value]
    return {
        "features": len(data.features),
        "dropped": sorted(data.validation_log.get("values_out_of_bound", {})),
        "records": len(data.c_synthetic_data),
        "k_marginal": int(marginals.compute_score()),
        "matched": int(matched[0]),
        "matched_of_unique": float(matched[1]),
        "propensity": float(propensity.pmse_score),
        "correlation": float(sum(apart) / len(apart)),
        "slope": float(line.s_slope),
        "slope_before": float(line.t_slope),
        "inconsistent": sum(entry["Percent Records Inconsistent"] for entry in broken.report_data["summary"]),
    }


def main() -> None:
    """Lay the table out, and print the figures of one file."""
    os.environ["MPLBACKEND"] = "agg"
    path, source, root = map(Path, sys.argv[1:4])
    lay_out(source, root, sys.argv[4])
    print("\n" + json.dumps(scores(path, root, sys.argv[4])))


if __name__ == "__main__":
    main()
