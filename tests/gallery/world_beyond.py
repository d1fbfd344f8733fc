"""More of the world: what the first three hundred files do not have, each with its truth and what must come of it."""

# ruff: noqa: E501
# fmt: off
from __future__ import annotations

import bz2
import decimal
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat

from gallery.follow import World
from gallery.people import AGE, BORN, CITY, COUNT, PAY, comma, file, grouped, rows, text
from gallery.world_columns import MONTHS, dated, lettered, named, of, written
from gallery.world_files import FRAME, GERMAN, LINES, NAMES, PLAIN, RECORDS, SHEET, TRUTH, book, frame, w

WHOLE = [int(pay * 100) for pay in PAY]
SMALL = [round(pay / 1000, 2) for pay in PAY]
EVERY = range(COUNT)
# A half is owed.
OWED = [pay if i % 2 else -pay for i, pay in enumerate(PAY)]


def same(name: str, cells: Sequence[str], comes: str = "right", says: str = "", title: str = "pay") -> World:
    """Return the world of a column that is text."""
    return of(name, cells, cells, comes, says, title)


def signed(form: str) -> Callable[[float], str]:
    return lambda pay: form.format(f"{abs(pay):.2f}") if pay < 0 else f"{pay:.2f}"


def apart(mark: str) -> Callable[[int], str]:
    return lambda whole: f"{whole:,}".replace(",", mark)


def signs(first: int) -> Callable[[float], str]:
    return lambda pay: "".join(chr(first + int(c)) if c.isdigit() else c for c in f"{pay:.2f}")


MORE_NUMBERS = [
    *written({
        "Bengali digits": signs(0x9E6), "Gurmukhi digits": signs(0xA66), "Gujarati digits": signs(0xAE6), "Tamil digits": signs(0xBE6),
        "Thai digits": signs(0xE50), "Khmer digits": signs(0x17E0), "Myanmar digits": signs(0x1040), "Lao digits": signs(0xED0),
        "zero-width blanks": lambda p: f"\u200b{p:.2f}", "a mark of direction": lambda p: f"\u200e{p:.2f}\u200f", "a byte order mark in each cell": lambda p: f"\ufeff{p:.2f}",
        "times ten to": lambda p: f"{p / 1000:.5f}×10^3", "x 10^": lambda p: f"{p / 1000:.5f} x 10^3", "times ten in superscript": lambda p: f"{p / 1000:.5f}·10³",
        "euros at once": lambda p: f"€{grouped(',', '.')(p)}", "euros behind, at once": lambda p: f"{comma(p)}€", "code at once": lambda p: f"EUR{p:.2f}", "code behind, at once": lambda p: f"{p:.2f}EUR",
        "Swiss francs": lambda p: f"CHF {grouped(chr(39), '.')(p)}", "Fr.": lambda p: f"Fr. {p:.2f}", "SFr.": lambda p: f"SFr. {grouped('’', '.')(p)}", "reais": lambda p: f"R$ {grouped('.', ',')(p)}", "rupiah": lambda p: f"Rp {grouped('.', ',')(p)}", "rupiah at once": lambda p: f"Rp{grouped('.', ',')(p)}",
        "dong": lambda p: f"{grouped('.', ',')(p)} ₫", "pesos": lambda p: f"₱{grouped(',', '.')(p)}", "naira": lambda p: f"₦{grouped(',', '.')(p)}", "baht": lambda p: f"฿{p:.2f}", "shekels": lambda p: f"₪{p:.2f}", "hryvnia": lambda p: f"{comma(p)} ₴", "roubles": lambda p: f"{grouped(' ', ',')(p)} руб.", "yuan": lambda p: f"{p:.2f}元", "yen": lambda p: f"{p:.2f}円", "won": lambda p: f"{p:.2f}원", "rand": lambda p: f"R {grouped(' ', '.')(p)}", "leva": lambda p: f"{comma(p)} лв.", "dinars": lambda p: f"{p:.2f} د.ك", "Canadian dollars": lambda p: f"C$ {grouped(',', '.')(p)}", "Mexican pesos": lambda p: f"MX${p:.2f}",
        "per cent and a blank": lambda p: f"{comma(p)} %", "per cent, no-break": lambda p: f"{comma(p)}\u00a0%", "full-width per cent": lambda p: f"{p:.2f}％",
        "units in capitals here and there": lambda p: f"{p:.2f} {'KG' if p > 5000 else 'kg'}", "units with and without a blank": lambda p: f"{p:.2f}{' ' if p > 5000 else ''}kg",
        "thousands here and there": lambda p: f"{p:,.2f}" if p > 5000 else f"{p:.2f}",
        "µ of two kinds": lambda p: f"{p:.2f} {chr(0xB5) if p > 5000 else chr(0x3BC)}g",
    }),
    *written({
        "commas in whole numbers": apart(","), "points in whole numbers": apart("."), "blanks in whole numbers": apart(" "), "narrow blanks in whole numbers": apart("\u202f"), "apostrophes in whole numbers": apart("'"),
    }, [whole + 10_000_000 for whole in WHOLE]),
    *written({"underscores in whole numbers": apart("_")}, [whole + 10_000_000 for whole in WHOLE], "asked"),
    *written({
        "minus before euros at once": lambda p: f"{'-' if p < 0 else ''}€{abs(p):.2f}", "euros before minus": lambda p: f"€{p:.2f}", "euros, blank, minus": lambda p: f"€ {comma(p)}", "dollars in brackets, grouped": lambda p: f"(${-p:,.2f})" if p < 0 else f"${p:,.2f}", "trailing minus, grouped": lambda p: f"{grouped('.', ',')(abs(p))}{'-' if p < 0 else ''}",
        "a hyphen that does not break": lambda p: f"{p:.2f}".replace("-", "\u2011"), "a figure dash": lambda p: f"{p:.2f}".replace("-", "\u2012"), "an em dash for a minus": lambda p: f"{p:.2f}".replace("-", "\u2014"), "a hyphen of Unicode": lambda p: f"{p:.2f}".replace("-", "\u2010"), "brackets and euros behind": lambda p: f"({comma(-p)} €)" if p < 0 else f"{comma(p)} €",
    }, OWED),
    same("CR and DR", [f"{abs(p):.2f} {'DR' if p < 0 else 'CR'}" for p in OWED], "asked", "several units"),
    same("minus and unit behind", [f"{abs(p):.2f}-€" if p < 0 else f"{p:.2f}€" for p in OWED], "asked", "several units"),
    of("whole francs", [f"{12 + i}.-" for i in EVERY], [12 + i for i in EVERY]),
    of("whole kroner", [f"{12 + i},-" for i in EVERY], [12 + i for i in EVERY]),
    of("whole francs and a dash", [f"CHF {12 + i}.–" for i in EVERY], [12 + i for i in EVERY]),
    of("fractions without a zero", [f",{10 + i}" for i in EVERY], [round((10 + i) / 100, 2) for i in EVERY]),
    of("points without a zero", [f".{10 + i}" for i in EVERY], [round((10 + i) / 100, 2) for i in EVERY]),
    of("a point behind", [f"{12 + i}." for i in EVERY], [12 + i for i in EVERY]),
    of("short exponents", [f"{1 + i}e3" for i in EVERY], [(1 + i) * 1000 for i in EVERY], "asked"),
    of("two marks of fractions", [f"{p:.2f}" if i % 2 else comma(p) for i, p in enumerate(SMALL)], SMALL),
    of("thousands and millions", [f"{1 + i}.5{'k' if i % 2 else 'M'}" for i in EVERY], [(1.5 + i) * (1e3 if i % 2 else 1e6) for i in EVERY]),
    same("per cent and shares", [f"{1 + i}.5%" if i % 2 else f"0.{10 + i}" for i in EVERY], "asked", "several units"),
    same("ages of children", [f"{1 + i} {'years' if i % 2 else 'months'}" for i in EVERY], "asked", "several units"),
    same("weeks and days", [f"{1 + i} {'weeks' if i % 2 else 'days'}" for i in EVERY], "asked", "several units"),
    same("euros and francs", [f"{p:.2f} {'EUR' if i % 2 else 'CHF'}" for i, p in enumerate(PAY)], "asked", "several units"),
    same("three currencies before", [f"{'€$£'[i % 3]}{p:.2f}" for i, p in enumerate(PAY)], "asked", "several units"),
    same("currencies before and behind", [f"€ {p:.2f}" if i % 2 else f"{p:.2f} $" for i, p in enumerate(PAY)], "asked", "several units"),
    same("flags of Eurostat", [f"{p:.2f}{' p' if i % 5 == 1 else ' b' if i % 7 == 1 else ''}" for i, p in enumerate(PAY)], "asked"),
    same("approximate", [f"ca. {p:.2f}" if i % 4 == 0 else f"{p:.2f}" for i, p in enumerate(PAY)], "asked"),
    same("tildes", [f"~{p:.2f}" if i % 4 == 0 else f"{p:.2f}" for i, p in enumerate(PAY)], "asked"),
    same("marks of footnotes", [f"{p:.2f}{'*' if i % 4 == 0 else ''}" for i, p in enumerate(PAY)], "asked"),
    same("above detection", [f"> {50 + i}" if i % 5 == 0 else f"{p:.2f}" for i, p in enumerate(PAY)], "asked"),
    same("plus or minus", [f"{p:.1f} ± 0.{i % 9 + 1}" for i, p in enumerate(SMALL)]),
    same("north and south", [f"{10 + i}.{10 + i} {'NS'[i % 2]}" for i in EVERY], "asked"),
    same("north and south at once", [f"{10 + i}.{10 + i}{'NS'[i % 2]}" for i in EVERY], "asked"),
    same("degrees and minutes", [f"{40 + i % 9}°{10 + i}′{i + 10}″N" for i in EVERY]),
    same("feet and inches", [f"{5 + i % 2}'{i % 12}\"" for i in EVERY]),
    of("halves", [f"{i + 1} ½" if i % 2 else str(i + 1) for i in EVERY], [i + 1.5 if i % 2 else i + 1 for i in EVERY]),
    same("Roman numbers", ["I", "II", "III", "IV"] * 10),
    same("hexadecimal", [f"0x{i + 16:02X}" for i in EVERY]),
    same("Chinese ten thousands", [f"{i + 1}.5万" if i % 2 else f"{i + 1}.25亿" for i in EVERY], "asked", "several units"),
    of("#N/A", ["#N/A", *(f"{p:.2f}" for p in PAY[1:])], [None, *PAY[1:]]),
    of("#DIV/0!", ["#DIV/0!", *(f"{p:.2f}" for p in PAY[1:])], [None, *PAY[1:]], "asked"),
    of(r"\N of databases", ["\\N", *(f"{p:.2f}" for p in PAY[1:])], [None, *PAY[1:]]),
    of("<NA>", ["<NA>", *(f"{p:.2f}" for p in PAY[1:])], [None, *PAY[1:]]),
    of("(null)", ["(null)", *(f"{p:.2f}" for p in PAY[1:])], [None, *PAY[1:]]),
    of("1.#QNAN", ["1.#QNAN", *(f"{p:.2f}" for p in PAY[1:])], [None, *PAY[1:]], "asked"),
    of("an em dash", ["—", *(f"{p:.2f}" for p in PAY[1:])], [None, *PAY[1:]], "asked"),
    of("a colon of Eurostat", [":", *(f"{p:.2f}" for p in PAY[1:])], [None, *PAY[1:]], "asked"),
    of("dots", ["…", *(f"{p:.2f}" for p in PAY[1:])], [None, *PAY[1:]], "asked"),
    of("NaN", ["NaN", *(f"{p:.2f}" for p in PAY[1:])], [None, *PAY[1:]]),
    same("telephones", [f"0171 {234567 + i}" for i in EVERY], title="phone"),
    same("telephones with a plus", [f"+49 171 {234567 + i}" for i in EVERY], title="phone"),
    same("telephones in the American way", [f"({212 + i}) 555-{1000 + i}" for i in EVERY], title="phone"),
    same("account numbers", [f"DE{10 + i} 1234 5678 9012 3456 {10 + i}" for i in EVERY], title="iban"),
    same("numbers of a card", [f"{4000 + i} 1234 5678 {1000 + i}" for i in EVERY], title="card"),
    same("social security numbers", [f"{100 + i}-{10 + i}-{1000 + i}" for i in EVERY], title="ssn"),
    same("personal numbers", [f"{b:%y%m%d}-{1000 + i}" for i, b in enumerate(BORN)], title="pnr"),
    same("scores of games", [f"{i % 5}:{i % 3}" for i in EVERY], title="score"),
    same("ratios", [f"{i % 5 + 1}/{i % 7 + 5}" for i in EVERY], title="ratio"),
    same("ranges with a dash", [f"{a // 10 * 10}–{a // 10 * 10 + 9}" for a in AGE]),
    same("ranges in words", [f"{a // 10 * 10} to {a // 10 * 10 + 9}" for a in AGE]),
    same("ranges in brackets", [f"({a // 10 * 10}, {a // 10 * 10 + 10}]" for a in AGE]),
    same("ranges of money", [f"${a // 10 * 10},000 to ${a // 10 * 10 + 9},999" for a in AGE]),
]

DUTCH = ["maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag"]
GERMAN_DAYS = ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"]
FRENCH_DAYS = ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"]
ROMAN = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"]
MORE_MONTHS = {
    "Catalan": "gener febrer març abril maig juny juliol agost setembre octubre novembre desembre",
    "Slovene": "januar februar marec april maj junij julij avgust september oktober november december",
    "Lithuanian": "sausio vasario kovo balandžio gegužės birželio liepos rugpjūčio rugsėjo spalio lapkričio gruodžio",
    "Estonian": "jaanuar veebruar märts aprill mai juuni juuli august september oktoober november detsember",
    "Bulgarian": "януари февруари март април май юни юли август септември октомври ноември декември",
    "Serbian": "јануар фебруар март април мај јун јул август септембар октобар новембар децембар",
    "Serbian in Latin letters": "januar februar mart april maj jun jul avgust septembar oktobar novembar decembar",
    "Basque": "urtarrila otsaila martxoa apirila maiatza ekaina uztaila abuztua iraila urria azaroa abendua",
    "Galician": "xaneiro febreiro marzo abril maio xuño xullo agosto setembro outubro novembro decembro",
    "Icelandic": "janúar febrúar mars apríl maí júní júlí ágúst september október nóvember desember",
    "Welsh": "Ionawr Chwefror Mawrth Ebrill Mai Mehefin Gorffennaf Awst Medi Hydref Tachwedd Rhagfyr",
    "Albanian": "janar shkurt mars prill maj qershor korrik gusht shtator tetor nëntor dhjetor",
    "Arabic of Egypt": "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
    "Hebrew": "ינואר פברואר מרץ אפריל מאי יוני יולי אוגוסט ספטמבר אוקטובר נובמבר דצמבר",
    "Hindi": "जनवरी फ़रवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर",
    "Malay": "Januari Februari Mac April Mei Jun Julai Ogos September Oktober November Disember",
    "Tagalog": "Enero Pebrero Marso Abril Mayo Hunyo Hulyo Agosto Setyembre Oktubre Nobyembre Disyembre",
    "Swahili": "Januari Februari Machi Aprili Mei Juni Julai Agosti Septemba Oktoba Novemba Desemba",
    "Belarusian": "студзеня лютага сакавіка красавіка мая чэрвеня ліпеня жніўня верасня кастрычніка лістапада снежня",
    "Macedonian": "јануари февруари март април мај јуни јули август септември октомври ноември декември",
    "Persian of Gregorian": "ژانویه فوریه مارس آوریل مه ژوئن ژوئیه اوت سپتامبر اکتبر نوامبر دسامبر",
}
THAI = "มกราคม กุมภาพันธ์ มีนาคม เมษายน พฤษภาคม มิถุนายน กรกฎาคม สิงหาคม กันยายน ตุลาคม พฤศจิกายน ธันวาคม"
HAN = "〇一二三四五六七八九"


def han(number: int) -> str:
    """Write a number up to 31 as China does."""
    tens, ones = divmod(number, 10)
    return ("" if not tens else "十" if tens == 1 else HAN[tens] + "十") + (HAN[ones] if ones else "")


STAMPED = [datetime(b.year, b.month, b.day, 13, 5, 7) for b in BORN]
MORE_DATES = [
    *dated({f"{name} months, more": named(words, "{d} {m} {y}") for name, words in MORE_MONTHS.items()}),
    *dated({
        "Vietnamese": lambda b: f"{b.day} tháng {b.month} năm {b.year}", "Vietnamese with day": lambda b: f"ngày {b.day} tháng {b.month} năm {b.year}",
        "Chinese words": lambda b: "".join(HAN[int(c)] for c in str(b.year)) + f"年{han(b.month)}月{han(b.day)}日",
        "Chinese with time": lambda b: f"{b.year}年{b.month}月{b.day}日 13:05", "Korean at once": lambda b: f"{b.year}년{b.month}월{b.day}일",
        "Roman months": lambda b: f"{b.day}.{ROMAN[b.month - 1]}.{b.year}", "Roman months and blanks": lambda b: f"{b.day} {ROMAN[b.month - 1]} {b.year}", "Roman months and slashes": lambda b: f"{b.day}/{ROMAN[b.month - 1]}/{b.year}",
        "blanks behind points": lambda b: f"{b.day}. {b.month}. {b.year}",
        "German days of the week": lambda b: f"{GERMAN_DAYS[b.weekday()]}, {b:%d.%m.%Y}", "short German days of the week": lambda b: f"{GERMAN_DAYS[b.weekday()][:2]} {b:%d.%m.%Y}", "short German days and points": lambda b: f"{GERMAN_DAYS[b.weekday()][:2]}., {b:%d.%m.%Y}", "German days and names": lambda b: f"{GERMAN_DAYS[b.weekday()]}, {b.day}. {MONTHS['German'].split()[b.month - 1]} {b.year}", "French days of the week": lambda b: f"{FRENCH_DAYS[b.weekday()]} {b.day} {MONTHS['French'].split()[b.month - 1]} {b.year}", "Dutch days of the week": lambda b: f"{DUTCH[b.weekday()]} {b.day} {MONTHS['Dutch'].split()[b.month - 1]} {b.year}", "Spanish with commas": lambda b: f"{b.day} de {MONTHS['Spanish'].split()[b.month - 1]} del {b.year}",
        "SQL Server": lambda b: f"{b:%b} {b.day:2} {b.year}  1:05PM", "DB2": lambda b: f"{b}-13.05.00.000000", "basic ISO": lambda b: f"{b:%Y%m%d}T130507Z", "basic ISO without a zone": lambda b: f"{b:%Y%m%d}T130507", "ISO without seconds": lambda b: f"{b}T13:05", "ISO with nine digits": lambda b: f"{b}T13:05:07.123456789Z", "ISO with a zone and a blank": lambda b: f"{b} 13:05:07 +0100", "ISO in small letters": lambda b: f"{b}t13:05:07z", "ISO with a named zone": lambda b: f"{b}T13:05:07+01:00[Europe/Paris]", "ctime": lambda b: b.strftime("%a %b %d 13:05:07 %Y"), "Unix date": lambda b: b.strftime("%a %b %d 13:05:07 CET %Y"), "time stamps of mail": lambda b: b.strftime("%a, %d %b %Y 13:05:07 +0000"), "slashes, year first, time": lambda b: f"{b:%Y/%m/%d} 13:05", "time stamps of a log": lambda b: b.strftime("%d/%b/%Y:13:05:07 +0100"), "comma before the time": lambda b: f"{b:%d.%m.%Y}, 13:05", "Uhr": lambda b: f"{b:%d.%m.%Y} 13:05 Uhr", "um": lambda b: f"{b:%d.%m.%Y} um 13:05", "time first": lambda b: f"13:05 {b:%d.%m.%Y}", "points in the time": lambda b: f"{b:%d.%m.%Y} 13.05", "klo": lambda b: f"{b.day}.{b.month}.{b.year} klo 13.05", "at": lambda b: f"{b:%b} {b.day}, {b.year} at 1:05 PM", "à": lambda b: f"{b:%d/%m/%Y} à 13h05", "h for hours": lambda b: f"{b:%d/%m/%Y} 13h05", "narrow blank before PM": lambda b: f"{b.month}/{b.day}/{b.year}, 1:05:07\u202fPM",
        "capitals": lambda b: b.strftime("%d-%b-%Y").upper(), "year, month, day with names": lambda b: b.strftime("%Y-%b-%d"), "at once, small": lambda b: b.strftime("%d%b%Y").lower(), "month name, day, year with hyphens": lambda b: b.strftime("%b-%d-%Y"), "underscores": lambda b: b.strftime("%Y_%m_%d"), "ordinal words": lambda b: f"the {b.day}{ {1: 'st', 2: 'nd', 3: 'rd', 21: 'st', 22: 'nd', 23: 'rd', 31: 'st'}.get(b.day, 'th')} of {b:%B}, {b.year}", "month and ordinal": lambda b: f"{b:%B} {b.day}{ {1: 'st', 2: 'nd', 3: 'rd', 21: 'st', 22: 'nd', 23: 'rd', 31: 'st'}.get(b.day, 'th')}, {b.year}", "dates in brackets": lambda b: f"[{b}]", "dates in single quotes": lambda b: f"'{b}'", "quoted ISO twice": lambda b: f"\"\"\"{b}\"\"\"", "ISO with a blank before": lambda b: f" {b}", "days of .NET": lambda b: f"/Date({(b - date(1970, 1, 1)).days * 86400000})/",
        "weeks of ISO": lambda b: b.strftime("%G-W%V-%u"),
    }),
    *dated({"two digits, Japan": lambda b: f"{b:%y}/{b:%m}/{b:%d}", "two digits and time": lambda b: f"{b:%d.%m.%y} 13:05", "apostrophe before two digits": lambda b: f"{b:%d %b} '{b:%y}", "packed with time": lambda b: f"{b:%Y%m%d}130507", "Thai months": lambda b: f"{b.day} {THAI.split()[b.month - 1]} {b.year + 543}"}, comes="asked"),
    *dated({"Taiwan": lambda b: f"民國{b.year - 1911}年{b.month}月{b.day}日"}),
    same("ordinal days of ISO", [b.strftime("%Y-%j") for b in BORN], "asked", title="born"),
    same("quarters", [f"{1980 + i // 4}Q{i % 4 + 1}" for i in EVERY], title="quarter"),
    same("quarters with a hyphen", [f"{1980 + i // 4}-Q{i % 4 + 1}" for i in EVERY], title="quarter"),
    same("quarters first", [f"Q{i % 4 + 1} {1980 + i // 4}" for i in EVERY], title="quarter"),
    same("half years", [f"{1980 + i // 2}H{i % 2 + 1}" for i in EVERY], title="half"),
    same("calendar weeks", [f"KW {i + 1}/2020" for i in EVERY], title="week"),
    same("weeks of ISO alone", [f"2020-W{i + 1:02}" for i in EVERY], title="week"),
    same("days without a year", [f"{b:%d.%m.}" for b in BORN], title="birthday"),
    same("days without a year, slashes", [f"{b.day}/{b.month}" for b in BORN], title="birthday"),
    same("fiscal years", [f"FY{1980 + i % 20}" for i in EVERY], title="year"),
    same("decades", [f"{1900 + i % 9 * 10}s" for i in EVERY], title="decade"),
    of("packed months", [f"{b:%Y%m}" for b in BORN], [int(f"{b:%Y%m}") for b in BORN], title="month"),
    of("Persian years", [f"{1330 + i}/{i % 12 + 1:02}/{i % 28 + 1:02}" for i in EVERY], [f"{1330 + i}/{i % 12 + 1:02}/{i % 28 + 1:02}" for i in EVERY], "asked", title="born"),
    of("years of the Hegira", [f"{1400 + i}-{i % 12 + 1:02}-{i % 28 + 1:02}" for i in EVERY], [f"{1400 + i}-{i % 12 + 1:02}-{i % 28 + 1:02}" for i in EVERY], "asked", title="born"),
    of("no day of the calendar", ["31.02.1990", *(f"{b:%d.%m.%Y}" for b in BORN[1:])], [None, *BORN[1:]], "asked", title="born"),
    of("days of nobody", ["00.00.0000", *(f"{b:%d.%m.%Y}" for b in BORN[1:])], [None, *BORN[1:]], "asked", title="born"),
    of("day and time mixed", [f"{b:%d.%m.%Y}" + (" 00:00" if i % 3 else "") for i, b in enumerate(BORN)], BORN, "asked", title="born"),
    same("both orders in one column", [f"{b:%d/%m/%Y}" if i % 2 else f"{b:%m/%d/%Y}" for i, b in enumerate(BORN)], "asked", title="born"),
    of("hours and minutes in letters", [f"{i % 24}h{i + 10}" for i in EVERY], [(i % 24 * 60 + i + 10) * 60 for i in EVERY], title="lasted"),
    of("hours, minutes, seconds in letters", [f"{i}h{i + 10}m{i}s" for i in EVERY], [i * 3600 + (i + 10) * 60 + i for i in EVERY], title="lasted"),
    of("days and hours", [f"{i + 1}d {i % 24}h" for i in EVERY], [(i + 1) * 86400 + i % 24 * 3600 for i in EVERY], title="lasted"),
    of("times with fractions", [f"{i % 24:02}:{i:02}:07.250" for i in EVERY], [(i % 24 * 60 + i) * 60 + 7 for i in EVERY], title="at"),
    of("subtitles", [f"00:{i:02}:30,250" for i in EVERY], [i * 60 + 30 for i in EVERY], title="at"),
    of("durations of .NET", [f"{i + 1}.0{i % 10}:30:00" for i in EVERY], [(i + 1) * 86400 + i % 10 * 3600 + 1800 for i in EVERY], title="lasted"),
    of("weeks of ISO durations", [f"P{i + 1}W" for i in EVERY], [(i + 1) * 604800 for i in EVERY], title="lasted"),
    same("months of ISO durations", [f"P{i}Y{i % 12}M" for i in EVERY], title="lasted"),
    of("negative durations", [f"{'-' if i % 2 else ''}{i + 1:02}:30:00" for i in EVERY], [(-1 if i % 2 else 1) * ((i + 1) * 3600 + 1800) for i in EVERY], title="delay"),
    of("minutes and a quote", [f"{i + 1} min" for i in EVERY], [i + 1 for i in EVERY], title="lasted"),
    of("French days and hours", [f"{i + 2} jours {i % 24} heures" for i in EVERY], [(i + 2) * 86400 + i % 24 * 3600 for i in EVERY], title="lasted"),
    of("one hour, several hours", [f"{i + 1} hour{'s' if i else ''} {i} min" for i in EVERY], [(i + 1) * 3600 + i * 60 for i in EVERY], title="lasted"),
]


def latin(encoding: str, words: str, comes: str = "asked") -> World:
    content, truth = lettered(words)
    return World(f"{encoding} of {words.split()[0]}", file(content.encode(encoding)), truth, comes)


def lost(change: Callable[[str], str]) -> bytes:
    return change(lettered("Köln Düsseldorf Gießen Würzburg München Lübeck Saarbrücken Nürnberg")[0]).encode()


GERMAN_TOWNS = "Köln Düsseldorf Gießen Würzburg München Lübeck Saarbrücken Nürnberg"
MORE_ENCODINGS = [
    latin("cp874", "กรุงเทพ เชียงใหม่ ขอนแก่น ภูเก็ต นครราชสีมา อุดรธานี สงขลา ระยอง"),
    latin("tis-620", "เชียงราย กรุงเทพ ขอนแก่น ภูเก็ต นครราชสีมา อุดรธานี สงขลา ระยอง"),
    latin("cp1258", "Huế Hà Đông Mỹ Tho".replace("ế", "ê").replace("ỹ", "y")),
    latin("iso-8859-3", "Ħamrun Żabbar Żurrieq Birkirkara Għarb Żejtun Mosta Ġzira"),
    latin("iso-8859-4", "Šiauliai Panevėžys Klaipėda Mažeikiai Kėdainiai Telšiai Tauragė"),
    latin("iso-8859-13", "Šiauliai Klaipėda Panevėžys Mažeikiai Kėdainiai Telšiai Tauragė"),
    latin("iso-8859-16", "Iași Bucureşti".replace("ş", "ș") + " Timișoara Constanța Galați Brăila Târgoviște Botoșani"),
    latin("cp1250", "Timişoara Iaşi Constanţa Galaţi Brăila Târgovişte Botoşani Ploieşti"),
    latin("mac-cyrillic", "Москва Воронеж Казань Самара Омск Челябинск Уфа Волгоград Пермь Красноярск"),
    latin("cp855", "Воронеж Москва Казань Самара Омск Челябинск Уфа Волгоград Пермь Красноярск"),
    latin("cp437", "Köln Gießen Zürich Württemberg Málaga Würzburg Nürnberg"),
    latin("cp858", "Genève Köln Århus Málaga Zürich Orléans"),
    latin("cp862", "ירושלים חיפה אשדוד נתניה רחובות חולון אשקלון הרצליה מודיעין לוד"),
    latin("cp864", "ﺍﻟﻘﺎﻫﺮﺓ") if False else latin("cp1256", "تهران مشهد اصفهان کرج شیراز تبریز قم اهواز".replace("ی", "ي").replace("ک", "ك")),
    latin("cp737", "Αθήνα Θεσσαλονίκη Πάτρα Ηράκλειο Λάρισα Βόλος Ιωάννινα Τρίκαλα Χαλκίδα Σέρρες"),
    latin("cp857", "İstanbul Diyarbakır Eskişehir Şanlıurfa Muğla Kırşehir Ağrı Balıkesir Çorum Tekirdağ"),
    latin("cp865", "Århus Tromsø Bodø Malmö Göteborg Ålesund Drøbak Hønefoss"),
    latin("cp775", "Šiauliai Panevėžys Klaipėda Mažeikiai Kėdainiai Telšiai Tauragė Ukmergė"),
    latin("big5hkscs", "臺北市 高雄市 臺中市 臺南市 新北市 桃園市 基隆市 新竹市"),
    latin("gb2312", "北京市 上海市 广州市 深圳市 成都市 杭州市 重庆市 武汉市"),
    latin("hz", "北京市 上海市 广州市 深圳市 成都市 杭州市 重庆市 武汉市"),
    latin("iso-2022-kr", "서울시 부산시 인천시 대구시 대전시 광주시 울산시 수원시"),
    latin("utf-7", GERMAN_TOWNS),
    latin("cp037", "Köln Düsseldorf Gießen München"),
    latin("cp500", "Düsseldorf Köln Gießen München"),
    latin("cp273", "Gießen Köln Düsseldorf München"),
    World("one letter of cp1252", file(("age,city\n" + "".join(f"{a},{'Köln' if i == 20 else 'Bonn'}\n" for i, a in enumerate(AGE))).encode("cp1252")), {"age": AGE, "city": ["Köln" if i == 20 else "Bonn" for i in EVERY]}, "asked"),
    World("one letter of cp1250", file(("age,city\n" + "".join(f"{a},{'Łomża' if i == 20 else 'Radom'}\n" for i, a in enumerate(AGE))).encode("cp1250")), {"age": AGE, "city": ["Łomża" if i == 20 else "Radom" for i in EVERY]}, "asked"),
    World("names of columns in cp1252", file("Größe,Straße\n".encode("cp1252") + b"".join(f"{a},x\n".encode() for a in AGE)), {"Größe": AGE}, "asked"),
    World("a euro and quotes of Windows", file(("age,note\n" + "".join(f"{a},“€ {i % 3}”\n" for i, a in enumerate(AGE))).encode("cp1252")), {"age": AGE, "note": [f"“€ {i % 3}”" for i in EVERY]}, "asked"),
    World("letters that were lost", file(lost(lambda t: t.replace("ö", "\ufffd").replace("ü", "\ufffd").replace("ß", "\ufffd"))), lettered(GERMAN_TOWNS)[1], "refused", "letters"),
    World("entities of HTML", file(lost(lambda t: t.replace("ö", "&ouml;").replace("ü", "&uuml;").replace("ß", "&szlig;"))), lettered(GERMAN_TOWNS)[1], "refused", "HTML"),
    World("numbers of HTML", file(lost(lambda t: t.replace("ö", "&#246;").replace("ü", "&#252;").replace("ß", "&#xDF;"))), lettered(GERMAN_TOWNS)[1], "refused", "HTML"),
    World("decomposed letters", file(__import__("unicodedata").normalize("NFD", lettered(GERMAN_TOWNS)[0])), {"age": AGE, "city": [__import__("unicodedata").normalize("NFD", c) for c in lettered(GERMAN_TOWNS)[1]["city"]]}),
    World("marks in the middle", file(b"".join(b"\xef\xbb\xbf" + line.encode() if i in (0, 9) else line.encode() for i, line in enumerate(LINES))), TRUTH),
    World("UTF-16 packed", file(gzip.compress(PLAIN.encode("utf-16"))), TRUTH),
    World("UTF-16 of semicolons", file(GERMAN.encode("utf-16-le")), TRUTH),
    World("UTF-16 with a title", file(("People\n\n" + PLAIN).encode("utf-16")), TRUTH),
]


def line_of(cells: Sequence[object], mark: str) -> str:
    return mark.join(map(str, cells))


TABLE = [NAMES, *FRAME.rows()]


def boxed() -> str:
    bar = "+------+----------+----------+\n"
    return bar + "".join(f"| {a:>4} | {b:>8} | {c:<8} |\n" + (bar if i == 0 else "") for i, (a, b, c) in enumerate(TABLE)) + bar


def page(number: int) -> str:
    return f"\fReport of 2020, page {number}\n"


TOTAL = f"{sum(PAY):.2f}"
MORE_LAYOUTS = [
    w("carets", text(NAMES, rows(AGE, PAY, CITY), "^")),
    w("tildes between", text(NAMES, rows(AGE, PAY, CITY), "~")),
    w("colons between", text(NAMES, rows(AGE, PAY, CITY), ":")),
    w("signs of Hive", text(NAMES, rows(AGE, PAY, CITY), "\x01")),
    w("signs of ASCII", "\x1e".join(line_of(r, "\x1f") for r in TABLE), "refused", "."),
    w("two colons between", "".join(line_of(r, "::") + "\n" for r in TABLE)),
    w("two bars between", "".join(line_of(r, "||") + "\n" for r in TABLE)),
    w("semicolon and blank", "".join(line_of(r, "; ") + "\n" for r in TABLE)),
    w("tab of tabs", "".join(line_of(r, "\t\t") + "\n" for r in TABLE)),
    w("Markdown", "| age | pay | city |\n|---|---|---|\n" + "".join(f"| {a} | {b} | {c} |\n" for a, b, c in FRAME.rows())),
    w("box of MySQL", boxed()),
    w("psql", " age |   pay   |  city  \n-----+---------+--------\n" + "".join(f"  {a} | {b} | {c}\n" for a, b, c in FRAME.rows()) + "(40 rows)\n", "asked"),
    w("sqlcmd", "age|pay|city\n---|---|----\n" + "".join(line_of(r, "|") + "\n" for r in FRAME.rows()) + "\n(40 rows affected)\n", "asked"),
    w("ARFF", "@relation people\n@attribute age numeric\n@attribute pay numeric\n@attribute city string\n@data\n" + "".join(line_of(r, ",") + "\n" for r in FRAME.rows()), "refused", "ARFF", suffix=".arff"),
    w("inserts", "".join(f"INSERT INTO people (age, pay, city) VALUES ({a}, {b}, '{c}');\n" for a, b, c in FRAME.rows()), "refused", "SQL", suffix=".sql"),
    w("YAML", "".join(f"- age: {a}\n  pay: {b}\n  city: {c}\n" for a, b, c in FRAME.rows()), "refused", "YAML", suffix=".yaml"),
    w("TOML", "".join(f"[[people]]\nage = {a}\npay = {b}\ncity = '{c}'\n" for a, b, c in FRAME.rows()), "refused", "TOML", suffix=".toml"),
    w("LaTeX", "\\begin{tabular}{lll}\nage & pay & city \\\\\n" + "".join(f"{a} & {b} & {c} \\\\\n" for a, b, c in FRAME.rows()) + "\\end{tabular}\n", "refused", "LaTeX", suffix=".tex"),
    w("cards", "".join(f"BEGIN:VCARD\nFN:{c}\nEND:VCARD\n" for c in CITY), "refused", "cards", suffix=".vcf"),
    w("calendar", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VEVENT\nEND:VCALENDAR\n", "refused", "calendar", suffix=".ics"),
    w("names behind a hash", "#" + PLAIN, "refused", "did you mean '#age'"),
    w("names behind a hash and a blank", "# " + PLAIN, "refused", "did you mean '# age'"),
    w("names with blanks", PLAIN.replace("age,pay,city", " age , pay , city ", 1)),
    w("names in quotes with a mark", "\ufeff" + '"age","pay","city"\n' + "".join(LINES[1:])),
    w("a name with a line end", PLAIN.replace("age,pay,city", '"age",pay,"city\n"', 1)),
    w("a column without a name between", "".join(line_of([r[0], "" if i == 0 else "x", *r[1:]], ",") + "\n" for i, r in enumerate(TABLE)), "refused", "no name|name"),
    w("an empty column without a name between", "".join(line_of([r[0], "", *r[1:]], ",") + "\n" for r in TABLE)),
    w("a blank first line", "\n\n" + PLAIN),
    w("separators above", ",,\n,,\n" + PLAIN),
    w("Ctrl-Z at the end", PLAIN + "\x1a", "asked"),
    w("line ends of two kinds", "".join(line.replace("\n", "\r\n") if i % 2 else line for i, line in enumerate(LINES))),
    w("two returns", PLAIN.replace("\n", "\r\r\n")),
    w("line ends of Unicode", PLAIN.replace("\n", "\u2028"), "refused", "same name"),
    w("pages", "".join(page(i // 20 + 1) + LINES[0] + line if i % 20 == 0 else line for i, line in enumerate(LINES[1:])), "refused", "fields"),
    w("two tables", PLAIN + "\nsummary,mean,n\nall,5000,40\n", "asked", "another table"),
    w("two tables, other widths", PLAIN + "\nward,beds\nnorth,20\nsouth,30\n", "asked", "another table"),
    w("subtotals", "".join([*LINES[:20], f"Subtotal,{TOTAL},\n", *LINES[20:], f"Total,{TOTAL},\n"]), "refused", "add up"),
    w("a mean below", PLAIN + f"{sum(AGE) / COUNT},{sum(PAY) / COUNT:.2f},Mean\n", "asked", "sum|add|footer"),
    w("a German mean below", GERMAN + f"Mittelwert;{comma(sum(PAY) / COUNT)};\n", "asked", "sum|add|footer"),
    w("a number of records below", PLAIN + "N=40,,\n", "asked"),
    w("types below the names", "".join([LINES[0], "int,float,string\n", *LINES[1:]])),
    w("units below the names", "".join([LINES[0], "(years),(EUR),-\n", *LINES[1:]])),
    w("numbers of columns below the names", "".join([LINES[0], "1,2,3\n", *LINES[1:]]), "asked", "numbers the columns"),
    w("descriptions above the names", "".join(["Age of the person,Pay in a month,Home\n", *LINES]), "asked"),
    w("groups above the names", "".join(["who,,where\n", *LINES]), "asked"),
    w("rows that end early", "".join(LINES[:9]) + "".join(f"{line.split(',')[0]},{line.split(',')[1]}\n" for line in LINES[9:12]) + "".join(LINES[12:]), "refused", "fewer than 3 fields"),
    w("rows in quotes", "".join('"' + line.strip().replace('"', '""') + '"\n' for line in LINES)),
    w("rows in quotes with quotes inside", "".join('"' + f'{line.split(",")[0]},{line.split(",")[1]},""{line.strip().split(",")[2]}""' + '"\n' for line in LINES)),
    World("backslashes before quotes", file(PLAIN.replace("Köln", '"K\\"öln"')), {**TRUTH, "city": [c.replace("Köln", 'K"öln') for c in CITY]}),
    w("names of commas, rows of semicolons", LINES[0] + "".join(LINES[1:]).replace(",", ";"), "refused", "separat"),
    w("a tab behind each cell", PLAIN.replace(",", "\t,")),
    w("numbers as formulas", "".join([LINES[0], *(",".join(f'="{c}"' for c in line.strip().split(",")) + "\n" for line in LINES[1:])])),
    w("zero bytes between", PLAIN.replace("a", "a\0", 3), "refused", "."),
    w("one line of everything", PLAIN.replace("\n", " "), "refused", "."),
    w("an index and a title", "People\n\n" + "".join(f"{i or ''},{line}" for i, line in enumerate(LINES))),
    w("two indices", "".join(f"{i or ''},{i or ''},{line}" for i, line in enumerate(LINES))),
    w("Unnamed: 0", "".join(f"{i or 'Unnamed: 0'},{line}" for i, line in enumerate(LINES))),
    w("a note of rights", "# Licence: open\n#\n" + PLAIN + "# end of file\n", "asked", "footer"),
    w("a header of four lines", "Title: people\nDate: 2020-01-01\nRecords: 40\nColumns: age, pay, city\n\n" + PLAIN, "asked"),
    w("semicolons and a comma in the title", "People, of 2020, all\n" + GERMAN),
    w("decimal commas in quotes", text(NAMES, rows(AGE, PAY, CITY, write=[str, comma]))),
    w("tabs and decimal commas", text(NAMES, rows(AGE, PAY, CITY, write=[str, comma]), "\t")),
    w("bz2 of bz2", bz2.compress(bz2.compress(PLAIN.encode())), "refused", "packed", suffix=".csv.bz2"),
    w("gzip of a tab file", gzip.compress(text(NAMES, rows(AGE, PAY, CITY), "\t").encode()), suffix=".tsv.gz"),
    w("xz of JSON lines", lzma.compress(FRAME.write_ndjson().encode()), suffix=".jsonl.xz"),
    w("bz2 of JSON", bz2.compress(json.dumps(RECORDS).encode()), suffix=".json.bz2"),
    w("old lzma", lzma.compress(PLAIN.encode(), format=lzma.FORMAT_ALONE), "refused", "lzma|xz", suffix=".csv.lzma"),
    w("two gzips", gzip.compress(PLAIN[:200].encode()) + gzip.compress(PLAIN[200:].encode()), suffix=".csv.gz"),
    w("compress", b"\x1f\x9d\x90" + bytes(90), "refused", "compress|packed", suffix=".csv.Z"),
    w("brotli", b"\x0b\x02\x80hello\x03", "refused", ".", suffix=".csv.br"),
]


def zipped(**parts: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name.replace("_", ".").replace("@", "_"), content)
    return made.getvalue()


MORE_LAYOUTS += [
    w("zip with a folder of a Macintosh", zipped(**{"people_csv": PLAIN.encode(), "@@MACOSX/._people_csv": b"\0\5\x16\7"}), suffix=".zip"),
    w("zip of JSON", zipped(people_json=json.dumps(RECORDS).encode()), suffix=".zip"),
    w("zip of Parquet", zipped(people_parquet=(lambda b: (FRAME.write_parquet(b), b.getvalue())[1])(io.BytesIO())), "refused", "unpack", suffix=".zip"),
]

NAMED = {str(i): r for i, r in enumerate(RECORDS)}
MORE_JSON = [
    w("JSON by key", json.dumps(NAMED), suffix=".json"),
    w("JSON of a table", json.dumps({"schema": {"fields": [{"name": n} for n in NAMES]}, "data": RECORDS}), suffix=".json"),
    w("OData", json.dumps({"@odata.context": "x", "value": RECORDS}), suffix=".json"),
    w("JSON:API", json.dumps({"data": [{"type": "p", "id": str(i), "attributes": r} for i, r in enumerate(RECORDS)]}), "refused", ".", suffix=".json"),
    w("JSON lines with a mark", b"\xef\xbb\xbf" + FRAME.write_ndjson().encode(), suffix=".jsonl"),
    w("JSON lines of Windows", FRAME.write_ndjson().replace("\n", "\r\n"), suffix=".jsonl"),
    w("JSON lines and blank ones", FRAME.write_ndjson().replace("\n", "\n\n"), suffix=".jsonl"),
    w("JSON without line ends", FRAME.write_ndjson().replace("\n", ""), suffix=".json"),
    w("JSON text sequences", "".join(f"\x1e{json.dumps(r)}\n" for r in RECORDS), suffix=".json"),
    w("JSON lines with commas", ",\n".join(json.dumps(r) for r in RECORDS), suffix=".jsonl"),
    w("JSON with a comma too many", "[" + "".join(json.dumps(r) + "," for r in RECORDS) + "]", "refused", "JSON", suffix=".json"),
    w("JSON with comments", "// people\n" + json.dumps(RECORDS), "refused", "JSON", suffix=".json"),
    w("Python's own writing", repr(RECORDS), "refused", "JSON", suffix=".json"),
    w("JSON in UTF-16", json.dumps(RECORDS).encode("utf-16"), suffix=".json"),
    World("JSON with NaN", file(json.dumps([{**r, "pay": float("nan") if i == 0 else r["pay"]} for i, r in enumerate(RECORDS)]), name="people.json"), {"age": AGE, "pay": [None, *PAY[1:]]}),
    World("JSON lines with NaN", file("\n".join(json.dumps({**r, "pay": float("nan") if i == 0 else r["pay"]}) for i, r in enumerate(RECORDS)), name="people.jsonl"), {"age": AGE, "pay": [None, *PAY[1:]]}),
    World("JSON without a key", file(json.dumps([r if i else {"age": r["age"]} for i, r in enumerate(RECORDS)]), name="people.json"), {"age": AGE, "pay": [None, *PAY[1:]]}),
    World("JSON, a key comes late", file("\n".join(json.dumps(r if i > 30 else {"age": r["age"]}) for i, r in enumerate(RECORDS)), name="people.jsonl"), {"age": AGE, "city": [None] * 31 + CITY[31:]}),
    World("dates of Mongo", file("\n".join(json.dumps({"born": {"$date": f"{b}T00:00:00Z"}}) for b in BORN), name="people.jsonl"), {"born": BORN}),
    World("numbers of Mongo", file("\n".join(json.dumps({"age": {"$numberInt": str(a)}}) for a in AGE), name="people.jsonl"), {"age": AGE}),
    World("long numbers of JSON", file("\n".join(json.dumps({"key": 2**60 + i}) for i in EVERY), name="people.jsonl"), {"key": [2**60 + i for i in EVERY]}),
    World("longer numbers of JSON", file(json.dumps([{"key": 10**20 + i} for i in EVERY]), name="people.json"), {"key": [str(10**20 + i) for i in EVERY]}),
    World("numbers with commas in JSON", file(json.dumps([{"pay": comma(p)} for p in PAY]), name="people.json"), {"pay": PAY}),
    World("two keys alike", file("\n".join(f'{{"age": 1, "age": {a}}}' for a in AGE), name="people.jsonl"), {"age": AGE}, "refused", "twice|key"),
    World("GeoJSON by lines", file("\n".join(json.dumps({"type": "Feature", "properties": r, "geometry": None}) for r in RECORDS), name="people.geojsonl"), {"properties.age": AGE}),
    World("JSON of hits", file(json.dumps({"took": 3, "hits": {"total": 40, "hits": [{"_source": r} for r in RECORDS]}}), name="people.json"), {"_source.age": AGE}),
]


def sheet(change: Callable[[Any, Any], object]) -> Callable[[Path], Path]:
    """Return a workbook of people that is changed; given its book and its sheet."""
    def all_of(made: Any) -> None:
        change(made, made.active)

    return book([[*SHEET], *zip(AGE, BORN, CITY, strict=True)], all_of)


def cells(of_row: Callable[[int], Sequence[Any]], names: Sequence[str], form: str = "General") -> Callable[[Path], Path]:
    def forms(made: Any) -> None:
        for row in made.active.iter_rows(min_row=2):
            row[0].number_format = form

    return book([list(names), *(list(of_row(i)) for i in EVERY)], forms)


def moved(made: Any, page: Any) -> None:
    page.insert_rows(1, 3)
    page.insert_cols(1, 2)


def filtered(made: Any, page: Any) -> None:
    page.auto_filter.ref = f"A1:C{COUNT + 1}"
    page.auto_filter.add_filter_column(0, [str(AGE[0])])
    page.row_dimensions[5].hidden = True


def beside(made: Any, page: Any) -> None:
    for i, row in enumerate([["ward", "beds"], ["north", 20], ["south", 30]], 1):
        for j, value in enumerate(row):
            page.cell(i, 6 + j, value)


def of_1904(made: Any, page: Any) -> None:
    made.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904


def two_rows(made: Any, page: Any) -> None:
    page.insert_rows(1)
    page["A1"] = "person"
    page.merge_cells("A1:C1")


def gap(made: Any, page: Any) -> None:
    page.insert_cols(2)


def below(made: Any, page: Any) -> None:
    page.append([])
    page.append(["Source: hospital"])


def opened(content: str, rows: str) -> Callable[[Path], Path]:
    """Return an OpenDocument sheet with these rows."""
    def make(folder: Path) -> Path:
        spaces = " ".join(f'xmlns:{s}="urn:oasis:names:tc:opendocument:xmlns:{s}:1.0"' for s in ("office", "table", "text")) + ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
        with zipfile.ZipFile(folder / "people.ods", "w") as parts:
            parts.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
            parts.writestr("META-INF/manifest.xml", '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/></manifest:manifest>')
            parts.writestr("content.xml", f'<office:document-content {spaces}><office:body><office:spreadsheet><table:table table:name="People">{content}{rows}</table:table></office:spreadsheet></office:body></office:document-content>')
        return folder / "people.ods"

    return make


def text_cell(value: str, inside: str = "") -> str:
    return f'<table:table-cell office:value-type="string">{inside}<text:p>{value}</text:p></table:table-cell>'


def number_cell(value: object, kind: str = "float") -> str:
    return f'<table:table-cell office:value-type="{kind}" office:value="{value}"><text:p>{value}</text:p></table:table-cell>'


def row_of(*made: str, more: str = "") -> str:
    return f"<table:table-row{more}>{''.join(made)}</table:table-row>"


NOTE = '<office:annotation><dc:creator>Ann</dc:creator><text:p>wrong?</text:p></office:annotation>'
OPEN_HEAD = row_of(text_cell("age"), text_cell("city"))
OPEN_ROWS = [row_of(number_cell(a), text_cell(c)) for a, c in zip(AGE, CITY, strict=True)]
OPEN_TRUTH: dict[str, list[Any]] = {"age": AGE, "city": CITY}
MORE_BOOKS = [
    World("workbook, table in the middle", sheet(moved), SHEET),
    World("workbook, filter", sheet(filtered), SHEET, "asked", "hides|hidden"),
    World("workbook, two tables side by side", sheet(beside), SHEET),
    World("workbook of 1904", sheet(of_1904), SHEET),
    World("workbook, groups above names", sheet(two_rows), SHEET),
    World("workbook, an empty column", sheet(gap), SHEET),
    World("workbook, a source below", sheet(below), SHEET, "asked"),
    World("workbook of per cents", cells(lambda i: [i / 100], ["share"], "0%"), {"share": [i / 100 for i in EVERY]}),
    World("workbook of euros", cells(lambda i: [PAY[i]], ["pay"], '#,##0.00\\ "€"'), {"pay": PAY}),
    World("workbook of codes with zeros", cells(lambda i: [1067 + i], ["zip"], "00000"), {"zip": [f"{1067 + i:05}" for i in EVERY]}),
    World("workbook of times", cells(lambda i: [time(i % 24, i)], ["at"], "hh:mm"), {"at": [(i % 24 * 60 + i) * 60 for i in EVERY]}),
    World("workbook of durations", cells(lambda i: [timedelta(hours=i + 20, minutes=i)], ["lasted"], "[h]:mm"), {"lasted": [(i + 20) * 3600 + i * 60 for i in EVERY]}),
    World("workbook of days and times", cells(lambda i: [STAMPED[i]], ["born"], "yyyy-mm-dd hh:mm"), {"born": BORN}),
    World("workbook of truths", cells(lambda i: [i % 3 == 0], ["smokes"]), {"smokes": [i % 3 == 0 for i in EVERY]}),
    World("workbook of dates as text", cells(lambda i: [f"{BORN[i]:%d.%m.%Y}"], ["born"]), {"born": BORN}),
    World("workbook of days as numbers", cells(lambda i: [(BORN[i] - date(1899, 12, 30)).days], ["born"]), {"born": BORN}, "asked"),
    World("workbook of mixed dates", cells(lambda i: [BORN[i] if i % 2 else f"{BORN[i]:%d.%m.%Y}"], ["born"], "yyyy-mm-dd"), {"born": BORN}, "refused", "."),
    World("workbook of numbers and words", cells(lambda i: [i if i else "none"], ["visits"]), {"visits": [None, *range(1, COUNT)]}, "asked"),
    World("workbook of long numbers", cells(lambda i: [10**17 + i * 1000], ["key"]), {"key": [10**17 + i * 1000 for i in EVERY]}, "refused", "."),
    World("OpenDocument, remarks of readers", opened("", OPEN_HEAD + "".join(row_of(number_cell(a), text_cell(c, NOTE)) for a, c in zip(AGE, CITY, strict=True))), OPEN_TRUTH),
    World("OpenDocument, hidden rows", opened("", OPEN_HEAD + "".join(row.replace("<table:table-row>", '<table:table-row table:visibility="collapse">', 1) if i in (3, 4) else row for i, row in enumerate(OPEN_ROWS))), OPEN_TRUTH, "asked", "hid"),
    World("OpenDocument, filtered rows", opened("", OPEN_HEAD + "".join(row.replace("<table:table-row>", '<table:table-row table:visibility="filter">', 1) if i in (3, 4) else row for i, row in enumerate(OPEN_ROWS))), OPEN_TRUTH, "asked", "hid"),
    World("OpenDocument, hidden column", opened('<table:table-column table:visibility="collapse"/><table:table-column/>', OPEN_HEAD + "".join(OPEN_ROWS)), OPEN_TRUTH, "asked", "hid"),
    World("OpenDocument, repeated rows", opened("", OPEN_HEAD + row_of(number_cell(40), text_cell("Bonn"), more=' table:number-rows-repeated="7"') + OPEN_ROWS[0]), {"age": [40] * 7 + AGE[:1], "city": ["Bonn"] * 7 + CITY[:1]}),
    World("OpenDocument, a million empty rows", opened("", OPEN_HEAD + "".join(OPEN_ROWS) + '<table:table-row table:number-rows-repeated="1048535"><table:table-cell table:number-columns-repeated="1024"/></table:table-row>'), OPEN_TRUTH),
    World("OpenDocument, parts of text", opened("", OPEN_HEAD + "".join(row_of(number_cell(a), text_cell(f"New<text:s/><text:span>{c}</text:span>")) for a, c in zip(AGE, CITY, strict=True))), {"age": AGE, "city": [f"New {c}" for c in CITY]}),
    World("OpenDocument, per cents and money", opened("", row_of(text_cell("share"), text_cell("pay")) + "".join(row_of(number_cell(i / 100, "percentage"), number_cell(p, "currency")) for i, p in enumerate(PAY))), {"share": [i / 100 for i in EVERY], "pay": PAY}),
    World("OpenDocument, days and times", opened("", row_of(text_cell("born")) + "".join(row_of(f'<table:table-cell office:value-type="date" office:date-value="{b}T13:05:07"><text:p>x</text:p></table:table-cell>') for b in BORN)), {"born": BORN}),
    World("OpenDocument, truths", opened("", row_of(text_cell("smokes")) + "".join(row_of(f'<table:table-cell office:value-type="boolean" office:boolean-value="{str(i % 3 == 0).lower()}"><text:p>x</text:p></table:table-cell>') for i in EVERY)), {"smokes": [i % 3 == 0 for i in EVERY]}),
    World("OpenDocument, flat", lambda folder: file(b"<?xml version='1.0'?><office:document xmlns:office='x'/>", name="people.fods")(folder), OPEN_TRUTH, "refused", "flat|XML"),
]


def f(name: str, value: Any, truth: dict[str, list[Any]], comes: str = "right", says: str = "") -> World:
    return frame(name, value, truth, comes, says)


def arrow(column: str, values: Any, kind: Any) -> pa.Table:
    return pa.table({column: pa.array(values, kind)})


EPOCH = [datetime(b.year, b.month, b.day) for b in BORN]
MORE_FRAMES = [
    f("days with a gap", pd.DataFrame({"born": pd.to_datetime([None, *EPOCH[1:]])}), {"born": [None, *BORN[1:]]}),
    f("days as objects", pd.DataFrame({"born": BORN}), {"born": BORN}),
    f("decimals as objects", pd.DataFrame({"pay": [decimal.Decimal(str(p)) for p in PAY]}), {"pay": PAY}),
    f("whole floats with a gap", pd.DataFrame({"age": [None, *map(float, AGE[1:])]}), {"age": [None, *AGE[1:]]}),
    f("categories of numbers", pd.DataFrame({"age": pd.Categorical(AGE)}), {"age": AGE}),
    f("ordered categories", pd.DataFrame({"stage": pd.Categorical(["low", "high"] * 20, ["low", "mid", "high"], ordered=True)}), {"stage": ["low", "high"] * 20}),
    f("truths with a gap", pd.DataFrame({"smokes": pd.array([None, *[True, False] * 19, True], dtype="boolean")}), {"smokes": [None, *[True, False] * 19, True]}),
    f("sparse numbers", pd.DataFrame({"age": pd.arrays.SparseArray(AGE)}), {"age": AGE}),
    f("Arrow inside of pandas", pd.DataFrame({"born": pd.array(BORN, dtype=pd.ArrowDtype(pa.date32()))}), {"born": BORN}),
    f("strings of pandas", pd.DataFrame({"city": pd.array(CITY, dtype="string")}), {"city": CITY}),
    f("quarters of pandas", pd.DataFrame({"q": pd.period_range("1990Q1", periods=COUNT, freq="Q")}), {"q": [p.start_time.date() for p in pd.period_range("1990Q1", periods=COUNT, freq="Q")]}),
    f("years of pandas", pd.DataFrame({"y": pd.period_range("1990", periods=COUNT, freq="Y")}), {"y": [date(1990 + i, 1, 1) for i in EVERY]}),
    f("an index of days", pd.DataFrame({"age": AGE}, index=pd.DatetimeIndex(EPOCH, name="born")), {"born": BORN, "age": AGE}),
    f("an index of periods", pd.DataFrame({"age": AGE}, index=pd.PeriodIndex(EPOCH, freq="D", name="born")), {"born": BORN, "age": AGE}),
    f("an index of intervals", pd.DataFrame({"age": AGE}, index=pd.IntervalIndex.from_breaks([*range(COUNT + 1)], name="g")), {"g": [f"({i}, {i + 1}]" for i in EVERY], "age": AGE}),
    f("an index of categories", pd.DataFrame({"age": AGE}, index=pd.CategoricalIndex(CITY, name="city")), {"city": CITY, "age": AGE}),
    f("zones of objects", pd.DataFrame({"born": [pd.Timestamp(e, tz="Europe/Paris" if i % 2 else "UTC") for i, e in enumerate(EPOCH)]}), {"born": BORN}, "refused", "mixed"),
    f("complex numbers", pd.DataFrame({"z": np.arange(COUNT) * 1j}), {"z": []}, "refused", "."),
    f("columns with numbers for names", pd.DataFrame([[1, 2], [3, 4]]), {"a": []}, "refused", "text"),
    f("a column twice", pd.DataFrame([[1, 2], [3, 4]], columns=["age", "age"]), {"age": []}, "refused", "same name"),
    f("large numbers without sign", pl.DataFrame({"key": pl.Series([2**63 + i for i in EVERY], dtype=pl.UInt64)}), {"key": [str(2**63 + i) for i in EVERY]}),
    f("numbers of 128 bits", pl.DataFrame({"key": pl.Series([2**70 + i for i in EVERY], dtype=pl.Int128)}), {"key": [str(2**70 + i) for i in EVERY]}),
    f("categories of polars", pl.DataFrame({"city": CITY}).with_columns(pl.col("city").cast(pl.Categorical)), {"city": CITY}),
    f("enums", pl.DataFrame({"stage": pl.Series(["low", "high"] * 20, dtype=pl.Enum(["low", "high"]))}), {"stage": ["low", "high"] * 20}),
    f("arrays", pl.DataFrame({"a": pl.Series([[1, 2]] * COUNT, dtype=pl.Array(pl.Int64, 2))}), {"a": []}, "refused", "Array"),
    f("objects", pl.DataFrame({"o": pl.Series([object()] * 3, dtype=pl.Object)}), {"o": []}, "refused", "."),
    f("nulls alone", pl.DataFrame({"n": [None] * COUNT}), {"n": [None] * COUNT}),
    f("a lazy file", pl.LazyFrame({"age": AGE}).with_columns(pl.col("age") + 0), {"age": AGE}),
    f("a lazy query that fails", pl.LazyFrame({"age": AGE}).select(pl.col("nothing")), {"age": AGE}, "refused", "lazy"),
    f("dictionary of Arrow with numbers", pa.table({"age": pa.array(AGE).dictionary_encode()}), {"age": AGE}),
    f("decimals of Arrow", arrow("pay", [decimal.Decimal(str(p)) for p in PAY], pa.decimal128(12, 2)), {"pay": PAY}),
    f("days of Arrow in milliseconds", arrow("born", BORN, pa.date64()), {"born": BORN}),
    f("time stamps of Arrow in nanoseconds", arrow("born", STAMPED, pa.timestamp("ns")), {"born": BORN}),
    f("time stamps of Arrow with a zone", arrow("born", STAMPED, pa.timestamp("us", "Asia/Tokyo")), {"born": [(s + timedelta(hours=9)).date() for s in STAMPED]}),
    f("times of Arrow", arrow("at", [s.time() for s in STAMPED], pa.time32("s")), {"at": [13 * 3600 + 5 * 60 + 7] * COUNT}),
    f("spans of Arrow", arrow("lasted", [timedelta(seconds=i) for i in EVERY], pa.duration("ms")), {"lasted": [*EVERY]}),
    f("half floats", arrow("x", np.arange(COUNT, dtype=np.float16), pa.float16()), {"x": [float(i) for i in EVERY]}),
    f("views of strings", arrow("city", CITY, pa.string_view()), {"city": CITY}),
    f("runs of Arrow", pa.table({"age": pa.RunEndEncodedArray.from_arrays(pa.array([20, COUNT], pa.int32()), pa.array([1, 2]))}), {"age": [1] * 20 + [2] * 20}),
    f("bytes of one width", arrow("key", [f"{i:04}".encode() for i in EVERY], pa.binary(4)), {"key": [f"{i:04}" for i in EVERY]}),
    f("a reader of batches", pa.table(TRUTH).to_reader(), TRUTH),
    f("maps", arrow("m", [[("a", 1)]] * COUNT, pa.map_(pa.string(), pa.int64())), {"m": []}, "refused", "."),
    f("NumPy days", np.array([*zip(AGE, BORN, strict=True)], dtype=[("age", "i4"), ("born", "M8[D]")]), {"age": AGE, "born": BORN}),
    f("NumPy time stamps", np.array([*zip(AGE, STAMPED, strict=True)], dtype=[("age", "i4"), ("born", "M8[s]")]), {"age": AGE, "born": BORN}),
    f("NumPy bytes", np.array([(a, c.encode()) for a, c in zip(AGE, CITY, strict=True)], dtype=[("age", "u1"), ("city", "S20")]), {"age": AGE, "city": CITY}),
    f("NumPy spans", np.array([(timedelta(seconds=i),) for i in EVERY], dtype=[("lasted", "m8[s]")]), {"lasted": [*EVERY]}),
    f("NumPy in the other order", np.array([(a,) for a in AGE], dtype=[("age", ">i4")]), {"age": AGE}),
    f("NumPy inside of another", np.array([((a, 1),) for a in AGE], dtype=[("who", [("age", "i4"), ("n", "i4")])]), {"who.age": AGE}),
    f("NumPy with a mask", np.ma.array(np.array([(a,) for a in AGE], dtype=[("age", "i4")]), mask=[(i == 0,) for i in EVERY]), {"age": [None, *AGE[1:]]}),
    f("NumPy with parts", np.array([([1, 2],)] * 3, dtype=[("a", "i4", 2)]), {"a": []}, "refused", "."),
    f("a dict of arrays", {n: np.array(c) for n, c in TRUTH.items()}, TRUTH),
    f("a dict of Series", {n: pd.Series(c) for n, c in TRUTH.items()}, TRUTH),
    f("tuples", FRAME.rows(), TRUTH, "refused", "not a table"),
    f("a generator", (r for r in RECORDS), TRUTH, "refused", "not a table"),
    f("text instead of a path", io.StringIO(PLAIN), TRUTH, "refused", "not a table|path"),
    f("nothing", None, TRUTH, "refused", "not a table|path"),
    f("a dict of unequal lists", {"age": [1, 2], "pay": [1]}, {"age": []}, "refused", "equally long"),
    f("an Arrow column", pa.array(AGE), {"age": []}, "refused", "not a table"),
]


def parquet(table: Any, name: str = "people.parquet", **more: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        pq.write_table(table, folder / name, **more)
        return folder / name

    return make


def stat(write: str, suffix: str, table: pd.DataFrame, **more: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        getattr(pyreadstat, f"write_{write}")(table, folder / f"people.{suffix}", **more)
        return folder / f"people.{suffix}"

    return make


def base(*lines: str) -> Callable[[Path], Any]:
    def make(folder: Path) -> Any:
        import duckdb

        with duckdb.connect(folder / "people.duckdb") as held:
            for line in lines:
                held.execute(line)
        return f"duckdb:///{folder}/people.duckdb?table=people"

    return make


def small_base(*lines: str) -> Callable[[Path], Any]:
    def make(folder: Path) -> Any:
        import sqlite3

        held = sqlite3.connect(folder / "people.db")
        for line in lines:
            held.execute(line)
        held.commit()
        held.close()
        return f"sqlite:///{folder}/people.db?table=people"

    return make


MORE_STORES = [
    World("Parquet of old time stamps", parquet(pa.table({"born": pa.array(EPOCH, pa.timestamp("ns"))}), use_deprecated_int96_timestamps=True), {"born": BORN}),
    World("Parquet of nested records", parquet(pa.table({"who": pa.array([{"age": a} for a in AGE])})), {"who.age": AGE}, "refused", "."),
    World("Parquet called CSV", parquet(pa.table(TRUTH), "people.csv"), TRUTH),
    World("CSV called Parquet", file(PLAIN, name="people.parquet"), TRUTH),
    World("Parquet without rows", parquet(pa.table({"age": pa.array([], pa.int64())})), {"age": []}, "refused", "no records"),
    World("Parquet packed", lambda folder: file(gzip.compress(parquet(pa.table(TRUTH))(folder).read_bytes()), name="people.parquet.gz")(folder), TRUTH, "refused", "unpack|packed"),
    World("Parquet of zones", parquet(pa.table({"born": pa.array(STAMPED, pa.timestamp("us", "UTC"))})), {"born": BORN}),
    World("Parquet of times", parquet(pa.table({"at": pa.array([s.time() for s in STAMPED], pa.time64("us"))})), {"at": [13 * 3600 + 5 * 60 + 7] * COUNT}),
    World("SPSS dates and gaps", stat("sav", "sav", pd.DataFrame({"born": [None, *BORN[1:]], "age": [None, *map(float, AGE[1:])]})), {"born": [None, *BORN[1:]], "age": [None, *AGE[1:]]}),
    World("SPSS, declared missing", stat("sav", "sav", pd.DataFrame({"age": [999.0, *map(float, AGE[1:])]}), missing_ranges={"age": [999]}), {"age": [None, *AGE[1:]]}),
    World("SPSS, packed", stat("sav", "zsav", pd.DataFrame({"age": AGE}), compress=True), {"age": AGE}),
    World("SPSS time stamps", stat("sav", "sav", pd.DataFrame({"born": pd.to_datetime(STAMPED)})), {"born": BORN}),
    World("SPSS labels of answers", stat("sav", "sav", pd.DataFrame({"a": [1.0, 2.0, 9.0] * 13 + [1.0]}), variable_value_labels={"a": {1: "yes", 2: "no", 9: "refused"}}), {"a": ["yes", "no", "refused"] * 13 + ["yes"]}),
    World("SPSS labels of some", stat("sav", "sav", pd.DataFrame({"age": [999.0, *map(float, AGE[1:])]}), variable_value_labels={"age": {999: "unknown"}}), {"age": [999, *AGE[1:]]}, "asked"),
    World("Stata dates and gaps", stat("dta", "dta", pd.DataFrame({"born": [None, *BORN[1:]]})), {"born": [None, *BORN[1:]]}),
    World("Stata time stamps", stat("dta", "dta", pd.DataFrame({"born": pd.to_datetime(STAMPED)})), {"born": BORN}),
    World("Stata weeks", stat("dta", "dta", pd.DataFrame({"w": [float(i) for i in EVERY]}), variable_format={"w": "%tw"}), {"w": [date(1960, 1, 1) + timedelta(days=7 * i) for i in EVERY]}),
    World("Stata years", stat("dta", "dta", pd.DataFrame({"y": [float(1980 + i) for i in EVERY]}), variable_format={"y": "%ty"}), {"y": [1980 + i for i in EVERY]}),
    World("SAS transport with dates", stat("xport", "xpt", pd.DataFrame({"BORN": BORN})), {"BORN": BORN}),
    World("a huge whole number of DuckDB", base("create table people as select 10000000000000000000000000::hugeint + i as key from range(40) t(i)"), {"key": [str(10**25 + i) for i in EVERY]}),
    World("spans of DuckDB", base("create table people as select to_seconds(i) as lasted from range(40) t(i)"), {"lasted": [*EVERY]}, "refused", "in a query"),
    World("enums of DuckDB", base("create type s as enum ('low', 'high')", "create table people as select (case when i % 2 then 'low' else 'high' end)::s as stage from range(40) t(i)"), {"stage": ["high", "low"] * 20}),
    World("keys of DuckDB", base("create table people as select ('00000000-0000-0000-0000-0000000000' || (i + 10))::uuid as key from range(40) t(i)"), {"key": [f"00000000-0000-0000-0000-0000000000{i + 10}" for i in EVERY]}),
    World("lists of DuckDB", base("create table people as select [i] as a from range(40) t(i)"), {"a": []}, "refused", "."),
    World("structs of DuckDB", base("create table people as select {'age': i} as who from range(40) t(i)"), {"who.age": [*EVERY]}, "refused", "."),
    World("time stamps of DuckDB", base("create table people as select timestamptz '2020-01-01 12:00:00+00' + to_days(i::int) as seen from range(40) t(i)"), {"seen": [date(2020, 1, 1) + timedelta(days=i) for i in EVERY]}),
    World("a view of DuckDB", base("create table t as select i as age from range(40) t(i)", "create view people as select * from t"), {"age": [*EVERY]}),
    World("dates of SQLite", small_base("create table people (born date)", *(f"insert into people values ('{b}')" for b in BORN)), {"born": BORN}),
    World("German dates of SQLite", small_base("create table people (born text)", *(f"insert into people values ('{b:%d.%m.%Y}')" for b in BORN)), {"born": BORN}),
    World("numbers and words of SQLite", small_base("create table people (age integer)", *(f"insert into people values ({a if i else repr('unknown')})" for i, a in enumerate(AGE))), {"age": [None, *AGE[1:]]}, "asked"),
    World("whole and broken numbers of SQLite", small_base("create table people (pay)", *(f"insert into people values ({p if i % 2 else int(p)})" for i, p in enumerate(PAY))), {"pay": [p if i % 2 else int(p) for i, p in enumerate(PAY)]}),
    World("booleans of SQLite", small_base("create table people (smokes boolean)", *(f"insert into people values ({i % 2})" for i in EVERY)), {"smokes": [i % 2 == 1 for i in EVERY]}),
]
TITLED = ["age,city", *(f"{age},{city}" for age, city in zip(AGE, CITY, strict=True))]
SEEN = [
    *dated({"days of the year": lambda day: f"{day:%Y-%j}", "packed days of the year": lambda day: f"{day:%Y%j}"}, comes="asked"),
    *dated({"ISO with blanks": lambda day: f"{day:%Y - %m - %d}"}),
    latin("cp1026", "İzmir Şişli Ağrı Çorum"), latin("cp424", "שלום חיפה"),
    World("two byte order marks", file("\ufeff\ufeff" + "\n".join(TITLED)), {"age": AGE, "city": CITY}),
    World("semicolons at the ends of lines of commas", file("".join(f"{line};\n" for line in TITLED)), {"age": AGE, "city": CITY}),
    World("columns parted by a section sign", file("\n".join(line.replace(",", "§") for line in TITLED)), {"age": AGE, "city": CITY}, "refused", "parted by"),
    World("SPSS, nominal without labels", stat("sav", "sav", pd.DataFrame({"ward": [1.0, 2.0, 3.0, 4.0] * 10}), variable_measure={"ward": "nominal"}), {"ward": ["1", "2", "3", "4"] * 10}),
]
BEYOND = [*SEEN, *MORE_NUMBERS, *MORE_DATES, *MORE_ENCODINGS, *MORE_LAYOUTS, *MORE_JSON, *MORE_BOOKS, *MORE_FRAMES, *MORE_STORES]
