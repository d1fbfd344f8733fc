"""Ratings in every form, and what bad input gets."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.kinds.ratings.ratings import Ratings

LONG = pl.DataFrame(
    {
        "userId": [70, 70, 3, 3, 5],
        "movieId": [20, 3, 3, 20, 100],
        "rating": [4.5, 0.5, 1.0, 5.0, 3.0],
        "timestamp": [9, 8, 7, 6, 5],
    }
)


def rows(ratings: Ratings) -> list[tuple[int, str, float]]:
    return [(record, issue, rating) for record, issue, rating, *_ in ratings.to_frame().rows()]


EXPECTED = [(1, "3", 0.5), (1, "20", 4.5), (2, "3", 1.0), (2, "20", 5.0), (3, "100", 3.0)]


def as_csv(folder: Path) -> Path:
    LONG.write_csv(folder / "ratings.csv")
    return folder / "ratings.csv"


def as_gzip(folder: Path) -> Path:
    path = folder / "ratings.csv.gz"
    path.write_bytes(gzip.compress(as_csv(folder).read_bytes()))
    return path


def as_parquet(folder: Path) -> Path:
    LONG.write_parquet(folder / "ratings.parquet")
    return folder / "ratings.parquet"


SOURCES = {
    "csv": as_csv,
    "gzip": as_gzip,
    "parquet": as_parquet,
    "polars": lambda _: LONG,
    "pandas": lambda _: LONG.to_pandas(),
    "arrow": lambda _: LONG.to_arrow(),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_long_form_from_every_source(kind: str, tmp_path: Path) -> None:
    ratings = sf.read_ratings(SOURCES[kind](tmp_path), sensitive="100")
    assert rows(ratings) == EXPECTED
    assert ratings.scale == sf.Scale(0.5, 5, 0.5)
    assert (ratings.starts.dtype, ratings.issues.dtype, ratings.codes.dtype) == (np.int64, np.int32, np.uint8)
    assert ratings.sensitive.tolist() == [False, False, True]
    assert ratings.times is None
    assert ratings.raters.tolist() == [2, 2, 1]


def test_rows_in_any_order_are_sorted_and_users_numbered_by_first_appearance() -> None:
    drawn = np.random.default_rng(3)
    pairs = drawn.permutation(20 * 30)[:200]
    frame = pl.DataFrame({"u": pairs // 30, "i": pairs % 30, "r": drawn.integers(1, 6, 200)})
    ratings = sf.read_ratings(frame, scale=(1, 5))
    number = {user: place for place, user in enumerate(frame["u"].unique(maintain_order=True), 1)}
    assert rows(ratings) == [
        (record, str(issue), rating)
        for record, issue, rating in sorted((number[user], issue, rating) for user, issue, rating in frame.rows())
    ]


def test_columns_by_name_without_header_and_with_text_ids(tmp_path: Path) -> None:
    path = tmp_path / "u.data"
    path.write_text("Toy Story\tann\t3\nSpeed\tann\t5\nSpeed\tbob\t1\n")
    layout: dict[str, Any] = {"separator": "\t", "header": False, "columns": ["film", "who", "stars"]}
    ratings = sf.read_ratings(path, user="who", issue="film", rating="stars", scale=(1, 5), **layout)
    assert rows(ratings) == [(1, "Speed", 5.0), (1, "Toy Story", 3.0), (2, "Speed", 1.0)]


def test_times_are_kept_where_declared_alone_and_follow_their_ratings() -> None:
    ratings = sf.read_ratings(LONG, time="timestamp")
    assert ratings.times is not None
    assert ratings.times.to_list() == [8, 9, 7, 6, 5]


def test_an_empty_rating_is_no_rating_and_its_user_stays() -> None:
    frame = LONG.with_columns(rating=pl.when(pl.col("userId") == 3).then(None).otherwise("rating"))
    ratings = sf.read_ratings(frame, time="timestamp")
    assert rows(ratings) == [(1, "3", 0.5), (1, "20", 4.5), (3, "100", 3.0)]
    assert ratings.height == 3
    assert ratings.times is not None
    assert ratings.times.to_list() == [8, 9, 5]


WIDE = "id,joy,rest,pay,home\na,1,2,,x\nb,,,99,y\nc,3,6,4,z\n"


@pytest.mark.parametrize("issues", [["joy", "rest", "pay"], ["[jr]*", "pay"], ["???", "rest"]])
def test_wide_form(issues: list[str], tmp_path: Path) -> None:
    path = tmp_path / "survey.csv"
    path.write_text(WIDE)
    ratings = sf.read_ratings(path, form="wide", user="id", issues=issues, missing="99", sensitive=["p*"])
    assert rows(ratings) == [(1, "joy", 1), (1, "rest", 2), (3, "joy", 3), (3, "rest", 6), (3, "pay", 4)]
    assert ratings.height == 3
    assert ratings.names == ("joy", "rest", "pay")
    assert ratings.sensitive.tolist() == [False, False, True]
    assert ratings.scale == sf.Scale(1, 6)


def test_wide_form_of_a_pandas_frame_with_nan() -> None:
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": [-10, 10]})
    ratings = sf.read_ratings(frame, form="wide", scale=(-10, 10))
    assert rows(ratings) == [(1, "a", 1.0), (1, "b", -10.0), (2, "b", 10.0)]
    assert ratings.scale.span == 21


def test_wide_and_long_form_are_the_same_ratings() -> None:
    wide = sf.read_ratings(
        LONG.drop("timestamp").pivot("movieId", index="userId", values="rating"),
        form="wide",
        user="userId",
        issues=["3", "20", "100"],
    )
    assert sorted(rows(wide)) == sorted(rows(sf.read_ratings(LONG)))


@pytest.mark.parametrize(
    ("ratings", "scale"),
    [
        ([1, 2, 5], sf.Scale(1, 5, 1)),
        ([0.5, 3, 4], sf.Scale(0.5, 4, 0.5)),
        ([-10, 10, 0], sf.Scale(-10, 10, 10)),
        ([-9.5, 3.25], sf.Scale(-9.5, 3.25, 12.75)),
        ([4], sf.Scale(4, 4, 1)),
        ([0.1, 0.2, 0.30000000000000004 - 4e-17], sf.Scale(0.1, 0.3, 0.1)),
    ],
)
def test_the_scale_that_is_found(ratings: list[float], scale: sf.Scale) -> None:
    frame = pl.DataFrame({"u": range(len(ratings)), "i": [1] * len(ratings), "r": pl.Series(ratings, dtype=pl.Float64)})
    assert sf.read_ratings(frame).scale == scale


def test_a_fine_scale_takes_two_bytes() -> None:
    frame = pl.DataFrame({"u": [1, 2], "i": [1, 1], "r": [-9.99, 3.14]})
    ratings = sf.read_ratings(frame, scale=(-10, 10, 0.01))
    assert ratings.codes.dtype == np.uint16
    assert rows(ratings) == [(1, "1", pytest.approx(-9.99)), (2, "1", pytest.approx(3.14))]


NETFLIX = "1:\n1488844,3,2005-09-06\n822109,5,2005-05-13\n10:\n822109,1,2004-01-01\n3:\n885013,4,2005-10-19\n"


@pytest.mark.parametrize("packed", [False, True])
def test_films_with_their_ratings_below_them(packed: bool, tmp_path: Path) -> None:
    path = tmp_path / "combined_data"
    path.write_bytes(gzip.compress(NETFLIX.encode()) if packed else NETFLIX.encode())
    ratings = sf.read_ratings(path, form="netflix", scale=(1, 5))
    assert rows(ratings) == [(1, "1", 3), (2, "1", 5), (2, "10", 1), (3, "3", 4)]
    assert ratings.names == ("1", "3", "10")
    assert ratings.times is None
    times = sf.read_ratings(path, form="netflix", scale=(1, 5), time="time").times
    assert times is not None
    assert [str(time) for time in times] == ["2005-09-06", "2005-05-13", "2004-01-01", "2005-10-19"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,2,2005-01-01\n", "the first line is not a film"),
        ("", "the first line is not a film"),
        ("1:\n7,3,2005-01-01\nx\n", "1 line(s) are neither a film nor user,rating,date, first line 3"),
        ("1:\n7,3,2005-01-01,x,y\n", "the file cannot be read"),
        ("1:\n7,9,2005-01-01\n", "1 rating(s) are off the scale"),
        ("1:\n", "there are no ratings"),
    ],
)
def test_files_that_netflix_did_not_ship(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_text(text)
    assert words in problems(path, form="netflix", scale=(1, 5))[0]
    assert "no such file" in problems(tmp_path / "none", form="netflix")[0]


# sensitive issues


def many() -> pl.DataFrame:
    return pl.DataFrame([{"u": user, "i": f"i{issue}", "r": 1} for user in range(10) for issue in range(user + 1)])


def chosen(choice: object) -> list[str]:
    ratings = sf.read_ratings(many(), scale=(1, 5), sensitive=choice)
    return [name for name, is_sensitive in zip(ratings.names, ratings.sensitive, strict=True) if is_sensitive]


def test_sensitive_by_name_pattern_and_file(tmp_path: Path) -> None:
    listed = tmp_path / "list.txt"
    listed.write_text("i1\n\n i[23] \n")
    assert chosen("i4") == ["i4"]
    assert chosen(["i4", "i[56]"]) == ["i4", "i5", "i6"]
    assert chosen(sf.SensitiveIssues(["i9"], file=listed)) == ["i1", "i2", "i3", "i9"]


def test_a_name_goes_before_a_pattern() -> None:
    frame = pl.DataFrame({"u": [1, 1, 1], "i": ["why?", "whyx", "b"], "r": [1, 1, 1]})
    ratings = sf.read_ratings(frame, sensitive=["why?"])
    assert ratings.sensitive.tolist() == [False, True, False]


def test_sensitive_shares() -> None:
    assert chosen(sf.SensitiveIssues(share=0.3, drawn="most-rated")) == ["i0", "i1", "i2"]
    assert chosen(sf.SensitiveIssues(share=0.01, drawn="most-rated")) == ["i0"]
    first = chosen(sf.SensitiveIssues(share=0.3, seed=1))
    assert len(first) == 3
    assert chosen(sf.SensitiveIssues(share=0.3, seed=1)) == first
    assert any(chosen(sf.SensitiveIssues(share=0.3, seed=seed)) != first for seed in range(2, 9))


def test_other_sensitive_issues_for_the_same_ratings() -> None:
    ratings = sf.read_ratings(many(), scale=(1, 5), sensitive="i1")
    assert ratings.with_sensitive(["i2"]).sensitive.nonzero()[0].tolist() == [2]
    assert ratings.with_sensitive([]).sensitive.sum() == 0


# bad input

HIDDEN = "geheim"


def problems(source: object, **settings: Any) -> list[str]:
    with pytest.raises(sf.SfumatoError) as caught:
        sf.read_ratings(source, **settings)
    assert caught.value.exit_code == 2
    assert HIDDEN not in str(caught.value)
    return [problem.removeprefix("table: ") for problem in caught.value.problems]


def test_everything_that_is_wrong_is_told_at_once() -> None:
    frame = pl.DataFrame({"u": ["a", "a", "b", "b"], "i": ["x", "x", "x", "y"], "r": [1, 2, 9, 7]})
    assert problems(frame, scale=(1, 5), sensitive=["nope", "no*"]) == [
        "2 rating(s) are off the scale of 5 ratings from 1 to 5, first in row 3; correct them, list them as missing, "
        "or give another scale",
        "1 rating(s) are of an issue that the same user has rated before, first in row 2; keep one of them",
        "sensitive: there is no issue 'nope'; check the spelling",
        "sensitive: no issue fits the pattern 'no*'; check the spelling",
    ]


def test_the_row_of_a_repeated_rating_is_the_later_one_whatever_the_order() -> None:
    frame = pl.DataFrame({"u": [2, 1, 2, 1, 2, 2], "i": [7, 7, 3, 7, 9, 7], "r": [1, 2, None, 4, 5, 5]})
    assert "2 rating(s)" in (found := problems(frame)[0])
    assert "first in row 4;" in found


def test_missing_users_and_issues_and_ratings_that_are_no_numbers() -> None:
    frame = pl.DataFrame({"u": [HIDDEN, None, ""], "i": ["x", "y", None], "r": ["1", HIDDEN, "inf"]})
    found = problems(frame)
    assert [text.split(";")[0] for text in found] == [
        "2 row(s) have no user, first row 2",
        "1 row(s) have no issue, first row 3",
        "column 'r' should hold ratings, but 1 row(s) hold no number, first in row 2",
    ]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"user": "nobody"}, "user: there is no column 'nobody'"),
        ({"user": "movieId"}, "one column is used twice"),
        ({"time": "when"}, "time: there is no column 'when'"),
        ({"form": "tall"}, "form must be one of long, wide, netflix"),
        ({"issues": ["a"]}, "the long form takes no issues"),
        ({"form": "wide", "issue": "a", "time": "b"}, "the wide form takes no issue or time"),
        ({"form": "netflix"}, "form 'netflix' reads a text file"),
        ({"form": "wide", "user": "a"}, "user: there is no column 'a'"),
        ({"form": "wide", "issues": ["a*"]}, "no column fits the pattern 'a*'"),
        ({"form": "wide", "user": "userId"}, "2 row(s) belong to a user who already has one, first row 2"),
        ({"scale": (5, 1)}, "scale: high lies below low"),
        ({"scale": (1, 5, 0)}, "scale: step must be above 0"),
        ({"scale": (1, 5, 3)}, "scale: no whole number of steps"),
        ({"scale": (1, "5")}, "scale: low, high and step must be numbers"),
        ({"scale": (0, 1, 1e-9)}, "scale: there are more than 4096"),
        ({"scale": 5}, "scale must be a Scale"),
        ({"scale": (1, 5)}, "3 rating(s) are off the scale"),
        ({"sensitive": 5}, "names must be a list"),
        ({"sensitive": ["*"]}, "every issue is sensitive"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], words: str) -> None:
    frame = LONG.with_columns(rating=pl.Series([4.5, 0.5, 1.5, 5.0, 3.0]))
    assert words in problems(frame, **settings)[0]


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"share": 0}, "share must be"),
        ({"share": 1}, "share must be"),
        ({"share": float("nan")}, "share must be"),
        ({"drawn": "least"}, "drawn must be"),
        ({"seed": -1}, "seed must be"),
        ({"names": [1]}, "names must be"),
    ],
)
def test_choices_that_cannot_be(choice: dict[str, Any], words: str) -> None:
    with pytest.raises(sf.PolicyError, match=words):
        sf.SensitiveIssues(**choice)


def test_a_list_that_cannot_be_read(tmp_path: Path) -> None:
    choice = sf.SensitiveIssues(file=tmp_path / "none.txt")
    assert problems(LONG, sensitive=choice) == [
        "none.txt: the list of sensitive issues cannot be read; it must be UTF-8"
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,31,2.5,12345\n1,32,2.5,12345\n", "the first row holds only numbers"),
        ("u,i\n1,2\n", "the long form needs a column each"),
        ("u,i,r\n", "there are no ratings"),
        ("u,i,r\n1,2,\n", "there is no rating to find the scale from"),
        ("u,i,r\n1,2,0.1234567\n", "more than 6 decimals"),
        ("u,i,r\n1,2,0.0001\n2,2,3\n3,3,2\n", "more than 4096"),
    ],
)
def test_files_that_cannot_be_ratings(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_text(text)
    assert words in problems(path)[0]


def test_a_header_that_is_a_record_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_text(f"{HIDDEN},{HIDDEN},3\na,b,4\n")
    assert "several columns have the same name: column 1, column 2" in problems(path)[0]


def test_no_values_in_the_repr() -> None:
    assert repr(sf.read_ratings(LONG)) == "Ratings(3 records, 3 issues, 0 of them sensitive, 5 ratings)"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"starts": [0]}, "no records"),
        ({"starts": [0, 3, 2, 5]}, "must rise"),
        ({"issues": [1, 0, 0, 1, 2]}, "must rise"),
        ({"issues": [0, 1, 0, 1, 3]}, "must rise"),
        ({"codes": [9, 9, 9, 9, 10]}, "beyond the scale"),
        ({"codes": [1]}, "do not fit together in length"),
        ({"sensitive": [True]}, "one entry for each name"),
        ({"times": [1]}, "one entry for each rating"),
    ],
)
def test_arrays_that_do_not_fit(change: dict[str, list[int]], words: str) -> None:
    from dataclasses import replace

    good = sf.read_ratings(LONG)
    dtypes = {"starts": np.int64, "issues": np.int32, "codes": np.uint8, "sensitive": np.bool_, "times": np.int64}
    arrays = {name: np.array(value, dtype=dtypes[name]) for name, value in change.items()}
    with pytest.raises(sf.InputError, match=words):
        replace(good, **arrays)


@pytest.mark.skipif("SFUMATO_DATA" not in os.environ, reason="SFUMATO_DATA does not name the folder of public data")
def test_public_data_has_its_published_sizes() -> None:
    folder = Path(os.environ["SFUMATO_DATA"])
    movies = sf.read_ratings(folder / "ml-latest-small" / "ratings.csv.gz")
    assert (movies.height, len(movies.names), len(movies.issues)) == (610, 9724, 100_836)
    assert movies.scale == sf.Scale(0.5, 5, 0.5)
    survey = sf.read_ratings(folder / "bfi" / "bfi.csv", form="wide", issues=["[ACENO]?"], missing="NA")
    assert (survey.height, len(survey.names), len(survey.issues)) == (2800, 25, 2800 * 25 - 508)
    assert survey.scale == sf.Scale(1, 6)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("geheim1,film,99.5\nbob,film,x\n", {}),
        ("bob,film,geheim1\nbob,other,x\n", {}),
        ("geheim1,7,5\nq,z,3\nq,x,5\n", {"form": "wide"}),
        ("geheim1,7,5\nq,z,3\nq,x,5\n", {"form": "wide", "user": "7"}),
        ("film:\ngeheim1,x,2005-01-01\n", {"form": "netflix"}),
    ],
)
def test_a_record_that_is_taken_for_the_header_is_not_shown(text, options, tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text(text)
    with pytest.raises(sf.InputError) as caught:
        sf.read_ratings(path, **options)
    assert "geheim1" not in str(caught.value)
    assert "99.5" not in str(caught.value)


def test_names_that_the_caller_gave_and_those_of_a_frame_are_shown(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("who,what,stars\nbob,film,x\n")
    with pytest.raises(sf.InputError, match="column 'stars' should hold ratings"):
        sf.read_ratings(path, rating="stars")
    with pytest.raises(sf.InputError, match=r"column 3 \(named by number, .*\) should hold ratings"):
        sf.read_ratings(path)
    with pytest.raises(sf.InputError, match="column 'stars' should hold ratings"):
        sf.read_ratings(pl.read_csv(path))
