"""Write city.csv, an invented city: where 300 people were every four hours of a Friday and a Saturday. Nobody in it exists."""

import csv
import random

QUARTERS = [(46.066, 14.452), (46.094, 14.508), (46.028, 14.470), (46.020, 14.540), (46.072, 14.560)]
WORKPLACES = [(46.050, 14.505), (46.058, 14.514), (46.008, 14.490)]
EVENINGS = [(46.048, 14.508), (46.053, 14.500)]
ILLNESSES = ["none", "none", "none", "asthma", "diabetes", "migraine"]


def near(place, spread):
    return tuple(random.gauss(middle, spread) for middle in place)


random.seed(1)
with open("city.csv", "w", newline="", encoding="utf-8") as file:
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(["person", "latitude", "longitude", "time", "illness"])
    for person in range(300):
        home = near(random.choices(QUARTERS, [5, 4, 3, 2, 2])[0], 0.003)
        work = near(random.choices(WORKPLACES, [5, 4, 2])[0], 0.002)
        begins = random.choices([8, 14, 22], [8, 1, 1])[0]  # by day, late, by night
        illness = random.choice(ILLNESSES)
        for day in (6, 7):
            for hour in range(2, 24, 4):
                at_work = day == 6 and (hour - begins) % 24 < 9
                goes_out = not at_work and random.random() < (0.15 if day == 6 else 0.25) and hour > 9
                place = work if at_work else near(random.choice(EVENINGS), 0.002) if goes_out else home
                north, east = near(place, 0.0003)
                minute = random.randrange(60)
                rows.writerow([f"P{person:03}", f"{north:.5f}", f"{east:.5f}", f"2026-03-{day:02}T{hour:02}:{minute:02}+01:00", illness])
