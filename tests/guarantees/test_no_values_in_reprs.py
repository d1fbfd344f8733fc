"""What a debugger, a notebook or a log prints of the steward's objects shows no value."""

import polars as pl

import sfumato as sf
from sfumato.anonymizers import Mondrian, Problem
from sfumato.classes.statistics import class_statistics
from sfumato.models.compiled import compile_rules
from sfumato.recoding import recode
from sfumato.table.encoding import encode


def test_objects_that_hold_data_do_not_print_it():
    frame = pl.DataFrame({"name": ["SECRET1"] * 6, "town": ["SECRET2", "SECRET3"] * 3, "illness": ["SECRET4"] * 6})
    tree = sf.groups({"all": ["SECRET2", "SECRET3"]})
    schema = sf.Schema(identifying=["name"], quasi_identifying={"town": tree}, sensitive=["illness"])
    table = sf.read_table(frame, schema)
    encoded = encode(table)
    problem = Problem(encoded, [sf.KAnonymity(2)])
    partition = Mondrian().solve(problem)
    generalized = recode(encoded, partition)
    statistics = class_statistics(partition.class_of, partition.count, encoded.sensitive_codes, encoded.sensitive)
    release = sf.anonymize(table, sf.KAnonymity(2))
    held = [
        table,
        encoded,
        *encoded.attributes,
        *encoded.sensitive,
        encoded.attributes[0].hierarchy,
        problem,
        partition,
        generalized,
        *generalized.columns,
        statistics,
        *statistics.sensitive.values(),
        compile_rules(problem.models, encoded),
        release,
    ]
    for thing in held:
        assert "SECRET" not in f"{thing!r} {thing}"
