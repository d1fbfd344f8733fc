"""What the search of the site finds first: pages for readers, by the words that people type, before the API."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

WORDS = {
    "docs/how-to/hierarchies.html": "hierarchy files, dates, postcodes",
    "docs/how-to/frames.html": "pandas, polars, Jupyter notebook",
    "docs/how-to/pipelines.html": "pipeline, exit codes, CI",
    "docs/how-to/compute-with-a-release.html": "compute, mean, regression",
    "docs/how-to/households.html": "households, families",
    "docs/how-to/a-k-of-ones-own.html": "consent, own k",
    "docs/how-to/sets.html": "sets, baskets, transactions",
    "docs/how-to/extend.html": "custom anonymizer, model, plug-in",
    "docs/how-to/sign-a-release.html": "sign, signature, key",
    "docs/how-to/containers.html": "Docker, Podman, container",
    "docs/reference/python.html": "Python API, list of functions",
    "docs/reference/release-folder.html": "release folder, files, JSON",
    "docs/reference/traces.html": "GPS traces, trajectories",
    "docs/reference/coming-from-arx.html": "ARX, import a project",
    "docs/reference/incognito.html": "Incognito, lattice",
    "docs/reference/bucketization.html": "Anatomy, bucketization, buckets",
    "docs/reference/coming-from-amnesia.html": "Amnesia tool",
    "docs/reference/coming-from-sdcmicro.html": "sdcMicro, R",
    "docs/tutorials/first-release.html": "first steps, publish a table",
    "docs/how-to/suppression.html": "suppression",
    "docs/how-to/missing-values.html": "missing values",
    "docs/how-to/attack-a-release.html": "attack",
    "docs/explanation/how-a-release-is-verified.html": "verify a release",
    "docs/how-to/compare.html": "compare algorithms, anonymizers",
    "docs/how-to/one-person-many-records.html": "several records per person, audit file",
    "docs/explanation/is-it-legal.html": "legal, GDPR compliance, HIPAA",
    "docs/how-to/policy-files.html": "policy file, TOML",
    "docs/reference/metrics.html": "information loss",
    "docs/reference/models/delta-presence.html": "delta presence",
    "docs/reference/private-sample.html": "synthetic data",
    "docs/how-to/report.html": "report, PDF",
    "docs/how-to/evidence.html": "evidence for a regulator, ISO 27559",
    "docs/how-to/spark.html": "Spark, Databricks",
    "docs/reference/risk.html": "risk, population uniqueness",
    "docs/how-to/formats.html": "export Excel, SPSS, Stata",
    "docs/how-to/databases.html": "PostgreSQL, SQL, database",
    "docs/how-to/reading-tables.html": "read CSV, encoding",
    "docs/how-to/measure-utility.html": "utility",
    "docs/reference/models/distinct-l-diversity.html": "l-diversity, distinct",
    "docs/reference/mdav.html": "microaggregation, MDAV",
    "docs/reference/randomization.html": "noise, swapping values, PRAM",
    "docs/reference/series.html": "series, monthly releases",
    "docs/tutorials/the-studio.html": "studio, graphical interface",
    "docs/install.html": "installation, install with pip, Windows",
    "docs/how-to/find-quasi-identifiers.html": "quasi-identifiers",
    "docs/how-to/identifying-columns.html": "remove names, identifiers",
    "docs/how-to/large-files.html": "large files, memory",
    "docs/how-to/choose-k.html": "choose k",
    "docs/how-to/choose-an-anonymizer.html": "which algorithm, choose an anonymizer",
    "docs/explanation/random-order-and-seeds.html": "seed, reproducible",
    "docs/how-to/scikit-learn.html": "scikit-learn, machine learning",
}
"""Page → what people type who want it. It is shown as the title of the find, with the page's own title below."""

ASKED = (
    "How to, how can I use, how do I, how many; what is, which, why, is it, are they, should I, "
    "my, the, a, of, in, from, with, for."
)
"""Words of questions: every word of a search must be found, and these say nothing of what is sought."""

_NAME = re.compile(r"_|[a-z][A-Z]")
"""A name of the API that nobody types by chance: read_table, KAnonymity."""


def put_pages_first(site: Path) -> None:
    """Rewrite the index of the search: words that people type lead to pages, and rooms for builders stand back.

    Raises ``KeyError`` when a page of `WORDS` is not there any more.
    """
    index = json.loads((site / "search.json").read_text(encoding="utf-8"))
    pages: dict[str, list[str]] = {}
    for item in index["items"]:
        pages.setdefault(item["location"].partition("#")[0], []).append(f"{item['title']} {item['text']}")
    index["items"] = [_leading(item, pages) for item in index["items"] if _is_for_readers(item)]
    gone = WORDS.keys() - {item["location"] for item in index["items"]}
    if gone:
        raise KeyError(f"docs/site/searching.py names pages that are not there: {', '.join(sorted(gone))}")
    text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    (site / "search.json").write_text(text, encoding="utf-8")
    (site / "search.js").write_text(f"var __index = {text}", encoding="utf-8")


def _is_for_readers(item: dict[str, Any]) -> bool:
    page, _, part = item["location"].partition("#")
    if page.startswith("docs/decisions/") or (part and not page.startswith(("docs/", "api/", "index"))):
        return False
    name = part.rpartition(".")[2]
    return not page.startswith("api/") or bool(part and _NAME.search(name) and page != "api/errors.html")


def _leading(item: dict[str, Any], pages: dict[str, list[str]]) -> dict[str, Any]:
    """Call a page what people type, and let it be found by words of all its parts: they must all be there."""
    words = WORDS.get(item["location"])
    if words is None:
        return item
    return {**item, "title": words, "text": " ".join([*pages[item["location"]], ASKED])}
