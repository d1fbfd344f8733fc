"""Write city.csv: where 300 people of an invented city were, every four hours of a Friday and a Saturday."""

import csv
import random

QUARTERS = [(46.066, 14.452), (46.094, 14.508), (46.028, 14.470), (46.020, 14.540), (46.072, 14.560)]
WORKPLACES = [(46.050, 14.505), (46.058, 14.514), (46.008, 14.490)]
MIDDLE = (46.050, 14.505)
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
                place = home
                if day == 6 and (hour - begins) % 24 < 9:
                    place = work
                elif hour > 9 and random.random() < (0.1 if day == 6 else 0.15):
                    place = near(MIDDLE, 0.003 if day == 6 else 0.08)  # an evening in town, a trip on the weekend
                north, east = near(place, 0.0003)
                stamp = f"2026-03-{day:02}T{hour:02}:{random.randrange(60):02}+01:00"
                rows.writerow([f"P{person:03}", f"{north:.5f}", f"{east:.5f}", stamp, illness])
