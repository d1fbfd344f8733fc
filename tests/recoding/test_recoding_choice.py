"""The choice of forms: defaults, policies, and every mistake at once."""

from __future__ import annotations

import pytest

from recoding.small_tables import ZONES, attributes_of, small_table
from sfumato.classes.partition import Form
from sfumato.errors import PolicyError
from sfumato.recoding import Recoding
from sfumato.table.encoding import encode

COLUMNS = {"age": [1, 2], "born": [None, None], "zone": ["n1", "sea"], "word": ["a", None]}
ATTRIBUTES = encode(small_table(COLUMNS, attributes_of(list(COLUMNS), ZONES))).attributes


def test_each_kind_of_attribute_has_a_default() -> None:
    assert Recoding().forms_of(ATTRIBUTES) == (Form.INTERVAL, Form.INTERVAL, Form.ANCESTOR, Form.SET)
    assert Recoding(numeric=Form.MEAN).forms_of(ATTRIBUTES)[:2] == (Form.MEAN, Form.MEAN)


def test_a_named_attribute_goes_before_the_default() -> None:
    chosen = Recoding(numeric="mean", forms={"age": "interval", "zone": "set"})  # type: ignore[arg-type,dict-item]
    assert chosen.forms_of(ATTRIBUTES) == (Form.INTERVAL, Form.MEAN, Form.SET, Form.SET)


def test_it_is_a_value() -> None:
    one = Recoding(forms={"age": Form.SET, "zone": Form.SET})
    other = Recoding(forms={"zone": Form.SET, "age": Form.SET})
    assert one == other
    assert hash(one) == hash(other)
    assert one != Recoding()
    with pytest.raises(TypeError):
        one.forms["age"] = Form.MEAN  # type: ignore[index]


@pytest.mark.parametrize(
    "choice", [Recoding(), Recoding(numeric=Form.MEAN, forms={"zone": Form.SET}, suppressed="star")]
)
def test_a_policy_gives_it_back(choice: Recoding) -> None:
    plain = choice.to_policy()
    assert Recoding.from_policy(plain) == choice
    assert type(plain["numeric"]) is str
    assert all(type(form) is str for form in plain["forms"].values())
    assert Recoding.from_policy({}) == Recoding()


def test_wrong_settings_are_told_together() -> None:
    with pytest.raises(PolicyError) as caught:
        Recoding(numeric="set", forms={"age": "median", "zone": "box"}, suppressed="keep")  # type: ignore[arg-type,dict-item]
    assert len(caught.value.problems) == 4
    with pytest.raises(PolicyError, match="table of column name = form"):
        Recoding(forms=["age"])  # type: ignore[arg-type]


def test_unknown_keys_of_a_policy_are_told_together() -> None:
    with pytest.raises(PolicyError) as caught:
        Recoding.from_policy({"form": {}, "stars": True, "numeric": "mean"})
    assert len(caught.value.problems) == 2
    assert "numeric, forms, ends, suppressed" in caught.value.problems[0]


def test_forms_that_do_not_fit_are_told_together() -> None:
    misfits = {"age": "ancestor", "word": "mean", "zone": "interval", "height": "set"}
    with pytest.raises(PolicyError) as caught:
        Recoding(forms=misfits).forms_of(ATTRIBUTES)  # type: ignore[arg-type]
    assert len(caught.value.problems) == 4
    for name, problem in zip(("height", "age", "zone", "word"), caught.value.problems, strict=True):
        assert repr(name) in problem
