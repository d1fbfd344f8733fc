"""A package with plug-ins that was written for version 0.2 runs as it did, with warnings at most."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import sfumato as sf

PACKAGE = Path(__file__).with_name("written_for_0_2")
PROGRAM = """
import json
from pathlib import Path
import polars as pl
from typer.testing import CliRunner
import sfumato as sf
from sfumato.cli.app import app

def run(line):
    done = CliRunner().invoke(app, line.split())
    assert done.exit_code == 0, (line, done.output)
    return done.output

pl.DataFrame({"age": [20 + n % 40 for n in range(240)], "ill": ["flu", "cold", "gout"] * 80}).write_csv("in.csv")
ROLES = "--quasi age --sensitive ill --seed 1 --quiet"
run(f"anonymize in.csv {ROLES} --model dozens:dozens=2 --anonymizer in-a-row --set size=30 --out dozens")
run(f"anonymize in.csv {ROLES} -k 5 --model maximum-share:share=0.5 --anonymizer sorted-runs --out runs")
run(f"anonymize in.csv {ROLES} --model maximum-share:share=0.5 --out share")
assert "holds: dozens (dozens=2)" in run("verify dozens")
assert "holds: maximum-share (share=0.5)" in run("verify runs")
refused = CliRunner().invoke(app, f"anonymize in.csv {ROLES} --model even --out never".split())
schema = sf.Schema(quasi_identifying=["age"], sensitive=["ill"])
table = sf.read_table("in.csv", schema)
found = sf.compare(table, anonymizers=["in-a-row", "mondrian"], values=[3], metrics=["exact-ages"], queries=0, seed=1)
from mypackage import Dozens, InARow
own = sf.anonymize(table, Dozens(2), anonymizer=InARow(24), seed=1)
print(json.dumps({
    "policy": sf.Policy.from_file("runs/policy.toml").to_mapping()["models"],
    "refused": [refused.exit_code, "merg" in refused.output, "Traceback" in refused.output],
    "exact": found.means().sort("anonymizer")["exact-ages"].to_list(),
    "classes": [json.loads(Path(f"{name}/report.json").read_text())["classes"] for name in ("dozens", "runs", "share")],
    "own": own.report.classes,
}))
"""


def test_it_runs_as_it_did(tmp_path: Path) -> None:
    paths = [str(Path(sf.__file__).parents[1]), str(PACKAGE)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "SFUMATO_KERNELS": "interpreted"}
    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", PROGRAM],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == AS_IT_DID
    assert "DeprecationWarning" in done.stderr
    assert "is the form of the last version" in done.stderr


AS_IT_DID = {
    "policy": [{"name": "k-anonymity", "k": 5}, {"name": "maximum-share", "share": 0.5}],
    "refused": [2, True, False],
    "exact": [0.0, 1.0],
    "classes": [
        {"count": 8, "smallest": 30, "largest": 30, "average": 30.0},
        {"count": 48, "smallest": 5, "largest": 5, "average": 5.0},
        {"count": 40, "smallest": 6, "largest": 6, "average": 6.0},
    ],
    "own": 10,
}
"""What version 0.2 printed."""
