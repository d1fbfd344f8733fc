"""Write patients.csv, the synthetic table of 1000 patients that the examples use. Nobody in it exists."""

import csv
import random

FIRST = ["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gwen", "Hugo", "Ida", "Jon", "Kaya", "Leo", "Mia", "Nils", "Olga", "Paul", "Rosa", "Sven", "Tina", "Uwe"]
LAST = ["Abel", "Bruck", "Corso", "Dorn", "Egger", "Fabri", "Gall", "Hofer", "Imhof", "Jost", "Kern", "Lang", "Moser", "Nagel", "Ott"]
DISEASES = ["flu", "bronchitis", "pneumonia", "gastritis", "ulcer", "hepatitis"]

random.seed(1)
with open("patients.csv", "w", newline="", encoding="utf-8") as file:
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(["name", "age", "sex", "zip", "disease", "visit_count"])
    for number in range(1000):
        age = 18 + int(70 * random.random() ** 1.3)
        weights = [6, 3, 1 + age / 40, 4, 2, 1]
        rows.writerow(
            [
                f"{FIRST[number % 20]} {'ABCD'[number // 300]}. {LAST[number // 20 % 15]}",
                age,
                random.choice(["female", "male"]),
                random.choice([4710, 4711, 4714, 4731, 4733, 4810, 4812, 4815]),
                random.choices(DISEASES, weights)[0],
                1 + int(4 * random.random() ** 2),
            ]
        )
