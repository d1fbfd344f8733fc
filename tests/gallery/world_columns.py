"""Numbers, dates and letters as the world writes them: columns of text files, each with its truth."""

# ruff: noqa: E501
# fmt: off
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from typing import Any

from gallery.follow import World
from gallery.people import AGE, BORN, COUNT, EARLY, PAY, comma, day, file, grouped, text

HALF = [pay if i % 2 else -pay for i, pay in enumerate(PAY)]


def of(
    name: str, cells: Sequence[str], truth: Sequence[Any], comes: str = "right", says: str = "", title: str = "pay"
) -> World:
    """Return the world of one column beside ages, tabs between."""
    content = text(["age", title], [[str(age), cell] for age, cell in zip(AGE, cells, strict=True)], "\t")
    return World(name, file(content), {title: list(truth)}, comes, says)


def written(
    table: dict[str, Callable[[float], str]], truth: Sequence[Any] = PAY, comes: str = "right"
) -> Iterator[World]:
    for name, write in table.items():
        yield of(name, [write(pay) for pay in truth], truth, comes)


def digits(first: int) -> Callable[[float], str]:
    return lambda pay: "".join(chr(first + int(c)) if c.isdigit() else c for c in f"{pay:.2f}")


def indian(pay: float) -> str:
    whole, rest = f"{pay * 1000:.2f}".split(".")
    head, tail = whole[:-3], whole[-3:]
    while head:
        head, tail = head[:-2], f"{head[-2:]},{tail}"
    return f"{tail}.{rest}"


UNITS_BEHIND = ["€", "$", "£", "¥", "%", "₹", "₽", "₺", "₩", "zł", "Kč", "Ft", "kr", "lei", "EUR", "USD", "GBP", "CHF", "SEK", "PLN", "INR", "BRL", "mg/dl", "mmol/l", "mmHg", "kg", "g", "µg", "ml", "l", "°C", "°F", "km/h", "m²", "cm", "‰", "bpm", "kcal", "kJ", "IU/l", "IE", "U/l", "kWh", "mSv", "points"]
UNITS_BEFORE = ["€", "$", "£", "¥", "₹", "CHF", "R$", "US$", "EUR", "Rs.", "NT$", "A$", "kr", "HK$"]
NUMBERS = [
    *written(
        {
            "decimal commas": comma,
            "points and commas": grouped(".", ","),
            "commas and points": grouped(",", "."),
            "blanks": grouped(" ", ","),
            "no-break blanks": grouped("\u00a0", ","),
            "narrow blanks": grouped("\u202f", ","),
            "thin blanks": grouped("\u2009", "."),
            "apostrophes": grouped("'", "."),
            "curly apostrophes": grouped("’", "."),
            "apostrophes and commas": grouped("'", ","),
            "full-width digits": digits(0xFF10),
            "Arabic digits": digits(0x0660),
            "Persian digits": digits(0x06F0),
            "Devanagari digits": digits(0x0966),
            "plus signs": lambda pay: f"+{pay:.2f}",
            "exponents": lambda pay: f"{pay:.5e}",
            "exponents with commas": lambda pay: f"{pay:.5E}".replace(".", ","),
            "quoted commas": lambda pay: f'"{comma(pay)}"',
            "bare percent": lambda pay: f"{pay:.2f}%",
            "grouped euros": lambda pay: grouped(".", ",")(pay) + " €",
            "dollars and commas": lambda pay: "$" + grouped(",", ".")(pay),
            "no-break euros": lambda pay: f"{comma(pay)}\u00a0€",
            **{f"{unit} behind": lambda pay, unit=unit: f"{pay:.2f} {unit}" for unit in UNITS_BEHIND},
            **{f"{unit} before": lambda pay, unit=unit: f"{unit} {comma(pay)}" for unit in UNITS_BEFORE},
            "kg without a blank": lambda pay: f"{pay:.2f}kg",
            "mg/dl and commas": lambda pay: f"{comma(pay)}mg/dl",
        }
    ),
    *written(
        {
            "trailing minus": lambda pay: f"{abs(pay):.2f}{'-' if pay < 0 else ''}",
            "trailing minus and comma": lambda pay: f"{comma(abs(pay))}{'-' if pay < 0 else ''}",
            "brackets": lambda pay: f"({-pay:.2f})" if pay < 0 else f"{pay:.2f}",
            "brackets and thousands": lambda pay: f"({grouped(',', '.')(-pay)})" if pay < 0 else grouped(",", ".")(pay),
            "brackets and dollars": lambda pay: f"(${-pay:.2f})" if pay < 0 else f"${pay:.2f}",
            "a minus of its own": lambda pay: f"{pay:.2f}".replace("-", "−"),
            "a dash for a minus": lambda pay: f"{pay:.2f}".replace("-", "–"),
            "a full-width minus": lambda pay: f"{pay:.2f}".replace("-", "－"),
            "minus before euros": lambda pay: f"{comma(pay)} €",
            "minus and blank": lambda pay: f"{'- ' if pay < 0 else ''}{abs(pay):.2f}",
        },
        HALF,
    ),
    of("lakhs", [indian(pay) for pay in PAY], [round(pay * 1000, 2) for pay in PAY]),
    of(
        "numbers of a spreadsheet",
        [f'="{i:05}"' for i in range(COUNT)],
        [f"{i:05}" for i in range(COUNT)],
        title="ward",
    ),
    of(
        "zip codes as text",
        [f'="0{1067 + i}"' for i in range(COUNT)],
        [f"0{1067 + i}" for i in range(COUNT)],
        title="zip",
    ),
    of(
        "codes after an apostrophe",
        [f"'0{1067 + i}" for i in range(COUNT)],
        [f"0{1067 + i}" for i in range(COUNT)],
        title="zip",
    ),
    of(
        "postcodes of four digits",
        [str(1010 + i) for i in range(COUNT)],
        [str(1010 + i) for i in range(COUNT)],
        "asked",
        title="plz",
    ),
    of(
        "Dutch postcodes",
        [f"{1010 + i} AB" for i in range(COUNT)],
        [f"{1010 + i} AB" for i in range(COUNT)],
        "asked",
        title="zip",
    ),
    of(
        "codes with a letter",
        [f"A{100 + i}" for i in range(COUNT)],
        [f"A{100 + i}" for i in range(COUNT)],
        title="ward",
    ),
    of(
        "ICD codes",
        [f"E{10 + i % 20}.{i % 9}" for i in range(COUNT)],
        [f"E{10 + i % 20}.{i % 9}" for i in range(COUNT)],
        title="icd",
    ),
    of(
        "age groups",
        [f"{a // 10 * 10}-{a // 10 * 10 + 9}" for a in AGE],
        [f"{a // 10 * 10}-{a // 10 * 10 + 9}" for a in AGE],
    ),
    of(
        "two currencies",
        [f"{p:.2f} {'€' if i % 2 else '$'}" for i, p in enumerate(PAY)],
        [f"{p:.2f} {'€' if i % 2 else '$'}" for i, p in enumerate(PAY)],
        "asked",
        "several units",
    ),
    of(
        "two units",
        [f"{p:.2f} {'mg/dl' if i % 2 else 'mmol/l'}" for i, p in enumerate(PAY)],
        [f"{p:.2f} {'mg/dl' if i % 2 else 'mmol/l'}" for i, p in enumerate(PAY)],
        "asked",
        "several units",
    ),
    of(
        "some with a unit",
        [f"{p:.2f}{' kg' if i % 2 else ''}" for i, p in enumerate(PAY)],
        [f"{p:.2f}{' kg' if i % 2 else ''}" for i, p in enumerate(PAY)],
        "asked",
        "several units",
    ),
    of(
        "points of three digits",
        [f"{12 + i}.{100 + i}" for i in range(COUNT)],
        [(12 + i) * 1000 + 100 + i for i in range(COUNT)],
        "asked",
    ),
    of(
        "points of fractions",
        [f"{12 + i}.{100 + i}" for i in range(COUNT)],
        [float(f"{12 + i}.{100 + i}") for i in range(COUNT)],
        "asked",
    ),
    of(
        "commas of three digits",
        [f"{12 + i},{100 + i}" for i in range(COUNT)],
        [(12 + i) * 1000 + 100 + i for i in range(COUNT)],
        "asked",
    ),
    of(
        "commas of fractions",
        [f"{12 + i},{100 + i}" for i in range(COUNT)],
        [float(f"{12 + i}.{100 + i}") for i in range(COUNT)],
        "asked",
    ),
    of(
        "eight marks of a missing value",
        ["NA", "n/a", "-", ".", "unknown", "k.A.", "?", "missing", *(comma(p) for p in PAY[8:])],
        [None] * 8 + PAY[8:],
        "asked",
    ),
    of("a top code", [*(str(a) for a in range(51, 90)), "90+"], [*(str(a) for a in range(51, 90)), "90+"], "asked"),
    of("below detection", ["<0.5", *(f"{p:.2f}" for p in PAY[1:])], [None, *PAY[1:]], "asked"),
    of("long whole numbers", [f"{10**20 + i}" for i in range(COUNT)], [f"{10**20 + i}" for i in range(COUNT)]),
    of("telephone numbers in groups", [f"612 345 {100 + i}" for i in range(COUNT)], [f"612 345 {100 + i}" for i in range(COUNT)], "asked"),
    of("area codes in brackets", [f"({212 + i})" for i in range(COUNT)], [f"({212 + i})" for i in range(COUNT)], "asked"),
    of("numbers that look like days", [f"{1 + i % 28}.{1 + i % 12}.{1000 + i}" for i in range(COUNT)], [f"{1 + i % 28}.{1 + i % 12}.{1000 + i}" for i in range(COUNT)], "asked"),
    of("hours with a point", [f"{i % 24}.{10 + i} Uhr" for i in range(COUNT)], [i % 24 * 60 + 10 + i for i in range(COUNT)]),
    of("diagnoses of four chapters", [f"{'ABCJ'[i % 4]}{i + 10}.{i % 9}" for i in range(COUNT)], [f"{'ABCJ'[i % 4]}{i + 10}.{i % 9}" for i in range(COUNT)]),
    of("telephones at once", [f"+49171{1000000 + 77 * i}" for i in range(COUNT)], [f"+49171{1000000 + 77 * i}" for i in range(COUNT)]),
    of("years of two digits first", [f"{b:%y-%m-%d}" for b in BORN], BORN, "asked"),
    of("halves in full", [f"{i} 1/2" if i % 2 else f"{i}" for i in range(COUNT)], [i + 0.5 if i % 2 else i for i in range(COUNT)]),
    of("blood pressure", [f"{110 + i}/{60 + i}" for i in range(COUNT)], [f"{110 + i}/{60 + i}" for i in range(COUNT)]),
    of("addresses of the net", [f"10.0.0.{i}" for i in range(COUNT)], [f"10.0.0.{i}" for i in range(COUNT)]),
    of("streets", [f"{i + 1} Main Street" if i % 2 else f"{i + 1} Elm Road" for i in range(COUNT)], [f"{i + 1} Main Street" if i % 2 else f"{i + 1} Elm Road" for i in range(COUNT)]),
    of("published intervals", [f"[{i * 10}..{i * 10 + 10})" for i in range(COUNT)], [f"[{i * 10}..{i * 10 + 10})" for i in range(COUNT)]),
    of("versions", [f"{i}.{i % 5}.1" for i in range(COUNT)], [f"{i}.{i % 5}.1" for i in range(COUNT)]),
    of("school years", [f"{1980 + i}/{(81 + i) % 100:02}" for i in range(COUNT)], [f"{1980 + i}/{(81 + i) % 100:02}" for i in range(COUNT)]),
    of("wards with a number", [f"Ward {i % 7 + 1}" for i in range(COUNT)], [f"Ward {i % 7 + 1}" for i in range(COUNT)]),
    of("floors", [f"{i % 5 + 1}. floor" for i in range(COUNT)], [f"{i % 5 + 1}. floor" for i in range(COUNT)]),
    of("infinite", ["inf", *(f"{p:.2f}" for p in PAY[1:])], [float("inf"), *PAY[1:]]),
]

MONTHS = {
    "English": "January February March April May June July August September October November December",
    "German": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "Austrian": "Jänner Feber März April Mai Juni Juli August September Oktober November Dezember",
    "French": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "Spanish": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "Italian": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "Portuguese": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "Dutch": "januari februari maart april mei juni juli augustus september oktober november december",
    "Danish": "januar februar marts april maj juni juli august september oktober november december",
    "Swedish": "januari februari mars april maj juni juli augusti september oktober november december",
    "Finnish": "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta syyskuuta lokakuuta marraskuuta joulukuuta",
    "Polish": "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
    "Czech": "ledna února března dubna května června července srpna září října listopadu prosince",
    "Slovak": "januára februára marca apríla mája júna júla augusta septembra októbra novembra decembra",
    "Hungarian": "január február március április május június július augusztus szeptember október november december",
    "Romanian": "ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie",
    "Croatian": "siječnja veljače ožujka travnja svibnja lipnja srpnja kolovoza rujna listopada studenoga prosinca",
    "Turkish": "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık",
    "Russian": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    "Ukrainian": "січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня",
    "Greek": "Ιανουαρίου Φεβρουαρίου Μαρτίου Απριλίου Μαΐου Ιουνίου Ιουλίου Αυγούστου Σεπτεμβρίου Οκτωβρίου Νοεμβρίου Δεκεμβρίου",
    "Indonesian": "Januari Februari Maret April Mei Juni Juli Agustus September Oktober November Desember",
}
SHORT = {
    "English": "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    "German": "Jan. Feb. März Apr. Mai Juni Juli Aug. Sept. Okt. Nov. Dez.",
    "French": "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
    "Spanish": "ene feb mar abr may jun jul ago sep oct nov dic",
    "Italian": "gen feb mar apr mag giu lug ago set ott nov dic",
    "Portuguese": "jan fev mar abr mai jun jul ago set out nov dez",
    "Dutch": "jan feb mrt apr mei jun jul aug sep okt nov dec",
    "Polish": "sty lut mar kwi maj cze lip sie wrz paź lis gru",
    "Russian": "янв фев мар апр мая июн июл авг сен окт ноя дек",
    "Turkish": "Oca Şub Mar Nis May Haz Tem Ağu Eyl Eki Kas Ara",
}
RECENT = [date(1990, 1, 8) + timedelta(days=300 * i) for i in range(COUNT)]
ERAS = (("令和", date(2019, 5, 1)), ("平成", date(1989, 1, 8)), ("昭和", date(1926, 12, 25)))


def named(words: str, form: str) -> Callable[[date], str]:
    months = words.split()
    return lambda born: form.format(d=born.day, m=months[born.month - 1], y=born.year)


def era(born: date, letters: bool = False) -> str:
    name, first = next((name, first) for name, first in ERAS if born >= first)
    year = born.year - first.year + 1
    if letters:
        return f"{ {'令和': 'R', '平成': 'H', '昭和': 'S'}[name] }{year}.{born.month}.{born.day}".replace(" ", "")
    return f"{name}{'元' if year == 1 else year}年{born.month}月{born.day}日"


def dated(
    table: dict[str, Callable[[date], str]], born: Sequence[date] = BORN, comes: str = "right"
) -> Iterator[World]:
    for name, write in table.items():
        yield of(name, [write(value) for value in born], born, comes, title="born")


DATES = [
    *dated(
        {
            **{f"{form}": day(form) for form in ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y-%m-%d", "%d %m %Y")},
            **{
                f"{form}": day(form)
                for form in (
                    "%d.%m.%Y %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.000", "%Y-%m-%dT%H:%M:%S+02:00",
                    "%m/%d/%Y 01:30 PM", "%d/%m/%Y %H:%M:%S", "%d%b%Y:%H:%M:%S", "%Y-%m-%d %H:%M:%S.000000 UTC", "%d%b%Y", "%d-%b-%Y", "%b %d, %Y",
                    "%a, %d %b %Y", "%A, %B %d, %Y", "%Y年%m月%d日", "%Y년 %m월 %d일", "%Y. %m. %d.",
                )
            },
            **{f"{name} months": named(words, "{d} {m} {y}") for name, words in MONTHS.items()},
            **{f"{name} short months": named(words, "{d}-{m}-{y}") for name, words in SHORT.items()},
            "Spanish of": named(MONTHS["Spanish"], "{d} de {m} de {y}"),
            "Portuguese of": named(MONTHS["Portuguese"], "{d} de {m} de {y}"),
            "German point": named(MONTHS["German"], "{d}. {m} {y}"),
            "Hungarian order": named(MONTHS["Hungarian"], "{y}. {m} {d}."),
            "English th": lambda b: f"{b.day}{ {1: 'st', 2: 'nd', 3: 'rd', 21: 'st', 22: 'nd', 23: 'rd', 31: 'st'}.get(b.day, 'th')} {b:%B %Y}".replace(" st", "st"),
            "full-width days": lambda b: "".join(chr(0xFF10 + int(c)) if c.isdigit() else c for c in f"{b:%Y/%m/%d}"),
        }
    ),
    *dated({"Japanese eras": era, "letters of eras": lambda b: era(b, True)}, RECENT),
    *dated(
        {
            "either order": day("%d/%m/%Y"), "either order, hyphens": day("%m-%d-%Y"), "either order, points": day("%d.%m.%Y"),
        },
        EARLY,
        "asked",
    ),
    *dated(
        {
            "two digits": day("%d.%m.%y"), "two digits, slashes": day("%m/%d/%y"), "packed": day("%Y%m%d"), "two digits, month": day("%d-%b-%y"),
            "Buddhist years": lambda b: f"{b.day}/{b.month}/{b.year + 543}",
        },
        comes="asked",
    ),
    *dated({"births of old people": day("%d.%m.%y")}, [b.replace(year=b.year - 40, day=min(b.day, 28)) for b in BORN], "asked"),
    *dated({"months of years": day("%Y-%m"), "months before years": day("%m/%Y"), "names before years": day("%b %Y")}, [b.replace(day=1) for b in BORN], "asked"),
    of("one word among dates", ["unknown", *(f"{b:%d.%m.%Y}" for b in BORN[1:])], [None, *BORN[1:]], "asked", title="born"),
    of("nulls among dates", ["0000-00-00", *(f"{b:%Y-%m-%d}" for b in BORN[1:])], [None, *BORN[1:]], "asked", title="born"),
    of("two forms", [f"{b:%d.%m.%Y}" if i % 2 else f"{b:%Y-%m-%d}" for i, b in enumerate(BORN)], BORN, "asked", title="born"),
    of("hours and minutes", [f"{i % 24:02}:{i:02}" for i in range(COUNT)], [i % 24 * 60 + i for i in range(COUNT)], title="at"),
    of("long hours", [f"{20 + i}:{i:02}" for i in range(COUNT)], [(20 + i) * 60 + i for i in range(COUNT)], "asked", title="lasted"),
    of("long hours and seconds", [f"{20 + i}:{i:02}:{i:02}" for i in range(COUNT)], [((20 + i) * 60 + i) * 60 + i for i in range(COUNT)], title="lasted"),
    of("times of twelve hours", [f"{i % 12 + 1}:{i:02} {'PM' if i % 2 else 'AM'}" for i in range(COUNT)], [(i % 12 + 1) % 12 * 60 + i + 720 * (i % 2) for i in range(COUNT)], title="at"),
    of("durations in letters", [f"{i + 1}h {i}min" for i in range(COUNT)], [(i + 1) * 3600 + i * 60 for i in range(COUNT)], title="lasted"),
    of("durations of ISO", [f"PT{i + 1}H{i}M" for i in range(COUNT)], [(i + 1) * 3600 + i * 60 for i in range(COUNT)], title="lasted"),
    of("durations of days", [f"{i + 1} days, 0{i % 10}:30:00" for i in range(COUNT)], [(i + 1) * 86400 + i % 10 * 3600 + 1800 for i in range(COUNT)], title="lasted"),
    of("durations of pandas", [f"{i} days 0{i % 10}:30:00" for i in range(COUNT)], [i * 86400 + i % 10 * 3600 + 1800 for i in range(COUNT)], title="lasted"),
    of("durations in words", [f"{i + 1} Std. {i} Min." for i in range(COUNT)], [(i + 1) * 3600 + i * 60 for i in range(COUNT)], title="lasted"),
]

LETTERS = {
    "German": ("cp1252 cp850 mac-roman iso-8859-15", "Köln Düsseldorf Gießen Österreich Würzburg München Lübeck Saarbrücken Größe Jäger"),
    "French": ("cp1252 cp850 mac-roman", "Orléans Besançon Nîmes Béziers Évreux Angoulême Châlons Nevers Genève Tours"),
    "Polish": ("cp1250 iso-8859-2 cp852", "Łódź Kraków Gdańsk Poznań Wrocław Białystok Częstochowa Rzeszów Świętochłowice Żory"),
    "Czech": ("cp1250 iso-8859-2", "Plzeň Děčín Třebíč Žďár Příbram Přerov Jihlava Kroměříž Ústí Olomouc"),
    "Hungarian": ("cp1250 iso-8859-2", "Győr Székesfehérvár Nyíregyháza Kecskemét Pécs Érd Hódmezővásárhely Dunaújváros Sopron Szolnok"),
    "Russian": ("cp1251 koi8-r cp866 iso-8859-5", "Москва Воронеж Казань Самара Омск Челябинск Уфа Волгоград Пермь Красноярск"),
    "Ukrainian": ("cp1251 koi8-u", "Київ Харків Одеса Дніпро Запоріжжя Львів Кривий Миколаїв Маріуполь Вінниця"),
    "Greek": ("cp1253 iso-8859-7", "Αθήνα Θεσσαλονίκη Πάτρα Ηράκλειο Λάρισα Βόλος Ιωάννινα Τρίκαλα Χαλκίδα Σέρρες"),
    "Turkish": ("cp1254 iso-8859-9", "İstanbul Diyarbakır Eskişehir Şanlıurfa Muğla Kırşehir Ağrı Balıkesir Çorum Tekirdağ"),
    "Hebrew": ("cp1255 iso-8859-8", "ירושלים חיפה אשדוד נתניה רחובות חולון אשקלון הרצליה מודיעין לוד"),
    "Arabic": ("cp1256 iso-8859-6", "القاهرة الرياض بغداد دمشق عمان الدوحة الخرطوم بيروت الكويت تونس"),
    "Baltic": ("cp1257", "Šiauliai Panevėžys Klaipėda Mažeikiai Kėdainiai Telšiai Tauragė Ukmergė Visaginas Plungė"),
    "Japanese": ("shift-jis cp932 euc-jp iso-2022-jp", "東京都 大阪府 北海道 神奈川県 愛知県 福岡県 さいたま市 京都府 カナガワ 広島県"),
    "Chinese": ("gb18030 gbk", "北京市 上海市 广州市 深圳市 成都市 杭州市 重庆市 武汉市 西安市 南京市"),
    "Taiwanese": ("big5 cp950", "臺北市 高雄市 臺中市 臺南市 新北市 桃園市 基隆市 新竹市 嘉義市 花蓮縣"),
    "Korean": ("euc-kr cp949", "서울시 부산시 인천시 대구시 대전시 광주시 울산시 수원시 창원시 고양시"),
}


def lettered(names: str) -> tuple[str, dict[str, list[Any]]]:
    words = names.split()
    city = [words[i % len(words)] for i in range(COUNT)]
    return text(["age", "city"], [[str(age), name] for age, name in zip(AGE, city, strict=True)]), {
        "age": AGE,
        "city": city,
    }


ENCODINGS = [
    *(
        World(f"{encoding} {language}", file(lettered(names)[0], encoding), lettered(names)[1], "asked")
        for language, (encodings, names) in LETTERS.items()
        for encoding in encodings.split()
    ),
    *(
        World(f"{encoding} {language}", file(lettered(LETTERS[language][1])[0], encoding), lettered(LETTERS[language][1])[1])
        for encoding in ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le")
        for language in ("Russian", "Japanese", "German")
    ),
    World(
        "two encodings", file(lettered(LETTERS["German"][1])[0].encode() + "33,Köln\n44,Gießen\n".encode("cp1252")), lettered(LETTERS["German"][1])[1], "refused", "two encodings",
    ),
    World("letters twice", file(lettered(LETTERS["German"][1])[0].encode().decode("cp1252").encode()), lettered(LETTERS["German"][1])[1], "refused", "twice"),
]
