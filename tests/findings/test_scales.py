"""Orders of labels: found where a person would see one, and nowhere else."""

from __future__ import annotations

import random

import pytest

from sfumato.findings.meaning import order_of

ORDERED = [
    ["low", "medium", "high"],
    ["gering", "mittel", "hoch", "sehr hoch"],
    ["befriedigend", "gut", "Sehr gut"],
    ["never", "rarely", "sometimes", "often", "always"],
    ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"],
    ["<18", "18-64", "65+"],
    ["under 5", "5 to 9", "10 or more"],
    ["0", "1-2", "3+"],
    ["[0-10)", "[10-20)", "[20-30)", "[30-40)"],
    ["0 bis 10", "11 bis 20", "über 20"],
    ["1.000-2.000 €", "2.000-3.000 €", "über 3.000 €"],
    ["0-4999", "5000-9999", "more 9999"],
    ["12.0_18.5", "18.5_to_24.9", "25.0_to_29.9", "30.0_plus"],
    ["Norm", ">7", ">8"],
    ["0_hrs", "1_hr", "2_hr", "More_4_hr"],
    ["Rural areas", "Urban below 20,000", "Urban 20,000-100,000", "Urban 100,000 and over"],
    ["stage I", "stage II", "stage IV"],
    ["Q1", "Q2", "Q3", "Q4"],
    ["1 - never", "2 - sometimes", "3 - always"],
    ["B-", "A", "A+"],
    ["TPL", "TPL+", "TPL++"],
    ["jan", "feb", "mar", "dec"],
    ["Mo", "Di", "Mi", "Do"],
    ["Preschool", "1st-4th", "9th", "HS-grad", "Some-college", "Bachelors", "Masters", "Doctorate"],
    ["8th Grade", "9 - 11th Grade", "High School", "Some College", "College Grad"],
    ["PRIMARY/NO EDUCATION", "VOCATIONAL/GRAMMAR", "SECONDARY", "POST-SECONDARY OR HIGHER"],
    ["1", "2", "3", "more"],
    ["not too happy", "pretty happy", "happy", "very happy"],
    ["never", "less than once a year", "once a year", "2-3 times a month", "every week", "more than once a week"],
    ["Never", "Occas", "Regul", "Heavy"],
    ["AsstProf", "AssocProf", "Prof"],
]
UNORDERED = [
    ["red", "green", "blue"],
    ["A", "B", "AB", "0"],
    ["A", "B", "C"],
    ["A11", "A12", "A13"],
    ["V01", "V02", "V03"],
    ["BMW 3", "VW 2", "Audi 4"],
    ["ICD 1", "ICD 2", "ICD 3"],
    ["10-19", "20-29", "15-25"],
    ["25-00703", "25-02800", "25-01300"],
    ["married", "single", "divorced"],
    ["NO", "<30", ">30", "unknown to us"],
    ["2", "1", "3"],
    ["low", "high"],
    ["low", "medium", "purple"],
    ["White", "Black", "Other"],
    ["very happy", "pretty sad", "not too happy"],
    ["Heavy", "Red", "Occas"],
]


@pytest.mark.parametrize("labels", ORDERED, ids=lambda labels: labels[0])
def test_an_order_is_found_whatever_the_order_of_the_labels(labels: list[str]) -> None:
    for seed in range(3):
        mixed = random.Random(seed).sample(labels, len(labels))
        found = order_of(mixed)
        assert found is not None
        assert list(found.labels) == labels


@pytest.mark.parametrize("labels", UNORDERED, ids=lambda labels: labels[0])
def test_no_order_is_found_where_there_is_none(labels: list[str]) -> None:
    assert order_of(labels) is None
