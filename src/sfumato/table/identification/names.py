"""What a column is called: words for identifiers, English and German."""

from __future__ import annotations

import re
import unicodedata

from sfumato.table.identification.sorts import Sort

_NUMBER = r"(id|ids|ident|nr|nbr|no|num|number|code|key|nummer|kennung)"

_WORDS: dict[Sort, tuple[str, ...]] = {
    Sort.MAIL: (r"e ?mail\w*", "mails?", r"mail ?ad+ress\w*"),
    Sort.ADDRESSES: ("ip", "ipv[46]", r"ip ?ad+ress\w*"),
    Sort.DEVICES: (
        "imei", "imsi", "udid", "mac", r"mac ?ad+ress\w*", f"device {_NUMBER}", f"serial( {_NUMBER})?",
        "serial ?n(o|r|umber)", "seriennummer", "geraete ?(id|nr|nummer|kennung)", "sim ?(id|number)",
    ),
    Sort.LINKS: ("urls?", "web ?sites?", "webseite", "home ?page", "hyperlink", "web ad+ress", "weblink"),
    Sort.TELEPHONES: (
        f"(tele|mobile |cell ?|home |work )?phones?( {_NUMBER})?", "tel", r"telef\w*", r"telephone\w*", "telnr",
        r"handy\w*",
        "mobil(e ?|funk)?n(umber|ummer|r)", "rufnummer", f"(tele)?fax(nummer|nr| {_NUMBER})?",
    ),
    Sort.SOCIAL: (
        "ssn", "nino", r"social security\w*", r"sozialversicherung\w*", "sv ?(nr|nummer)",
        r"rentenversicherung\w*", "rvnr",
        r"steuer ?(id|nr|nummer)\w*", r"steueridentifikation\w*", "tax ?(id|number|payer id)", "itin",
        r"national id\w*",
        r"(personal)?ausweis\w*", r"passport\w*", r"reisepass\w*", "nhs ?(no|nr|number)", "ahv ?(nr|nummer)?",
        "personnummer",
    ),
    Sort.VEHICLES: (
        "vin", "(licen[cs]e |number |registration )plates?", "((car|auto|kfz) ?)?(kennzeichen|plate)",
        f"kfz {_NUMBER}",
        "nummernschild", r"fahrgestell\w*", "fahrzeug ?(id|nr|nummer)", f"vehicle {_NUMBER}",
    ),
    Sort.LICENCES: (
        f"(driver s? ?|drivers )?licen[cs]e( {_NUMBER})?", r"fuehrerschein\w*", f"certificate {_NUMBER}",
        "zertifikats?n(r|ummer)", "approbations?n(r|ummer)",
    ),
    Sort.INSURANCE: (
        "health plan.*", f"(health )?insurance {_NUMBER}", f"policy {_NUMBER}", f"beneficiary( {_NUMBER})?", "kvnr",
        "(kranken|pflege)?versicherungs?n(r|ummer)", r"krankenversicherten\w*", r"versicherten ?\w*n(r|ummer)",
        "versicherten ?id", "policen?n(r|ummer)", f"member {_NUMBER}",
    ),
    Sort.ACCOUNTS: (
        "iban", f"account {_NUMBER}", "bank account", "konto ?(nr|nummer)?", r"kreditkarte\w*",
        f"credit ?cards?( {_NUMBER})?", f"card {_NUMBER}", "karten?n(r|ummer)",
        f"(customer|client|kunden) ?{_NUMBER}",
    ),
    Sort.RECORDS: (
        "mrn", f"(medical |health |patient )?record {_NUMBER}", "aktenzeichen", "akten?n(r|ummer)", r"krankenakte\w*",
        f"(user|person|personal|people|subject|participant|respondent|student|employee|staff|worker) ?{_NUMBER}",
        f"(mitarbeiter|teilnehmer|probanden?|schueler|studenten|household|haushalts?|matrikel|player) ?{_NUMBER}",
        f"(patients?|patienten?|case|fall|encounter|hospital|admission|aufnahme|visit) ?{_NUMBER}",
    ),
    Sort.CODES: (
        "uu?id", "guid", _NUMBER, "user ?names?", "benutzer(name)?", "login", r"pseudonym\w*", "nick ?name",
    ),
    Sort.BIRTHS: (
        "dob", "birth ?(date|day)s?", "date of birth", "geb", "geburts?(datum|tag|dat)?", "geb ?(dat|datum|tag)",
        "geburts? (datum|tag)", "born", "geboren( am)?",
    ),
    Sort.POSTCODES: (r"zip ?\d?", "zip ?codes?", "post ?codes?", "postal( codes?)?", "postleitzahl(en)?", r"plz ?\d?"),
    Sort.COORDINATES: (
        "lat", "lon", "lng", "long", "latitude", "longitude", "breitengrad", "laengengrad", "koordinaten?",
        "([xy] )?coord(inate)?s?", "gps", "geo ?(location|hash|code|point|position)", "easting", "northing",
        "rechtswert",
        "hochwert", "utm",
    ),
    Sort.PLACES: (
        "ad+ress(e|es)?( line)?", "anschrift", "street( ad+ress| name)?", "str", "strasse", "strassenname",
        "house (number|no)", "hausnummer", "city", "town", "village", "(wohn|geburts|heimat)?ort", "stadt",
        "gemeinde",
        "county", "landkreis", "ortsteil", "stadtteil", "birth ?place", "place of birth", "neighbou?rhood",
        "census tract",
        "block group", "parish",
    ),
    Sort.NAMES: (
        "names?", "(first|last|given|family|middle|full|maiden|birth|mothers?|fathers?|parents?) ?names?",
        "(patients?|client|customer|person|people|contact|doctor|physician|employee|player|student) ?names?",
        "surname", "forename", "(vor|nach|zu|familien|geburts|ruf|maedchen|patienten|kunden|voll|spieler)name",
        "name vorname",
    ),
    Sort.BODIES: (
        "fingerprints?", "finger ?abdruck", "iris ?scan", r"retina\w*", "voice ?prints?", "stimmabdruck",
        "biometric.*", "biometrie", "face ?(id|print)", "genome?", "dna",
    ),
    Sort.PICTURES: ("(face |patient )?(photo|photograph|picture|portrait|selfie|avatar|foto|lichtbild|passbild)s?",),
    Sort.FREE_TEXT: (
        "((doctor|nurse|clinical) )?notes?", "notiz(en)?", "comments?", "kommentare?", "bemerkung(en)?", "remarks?",
        "frei ?text", "free ?text", "anamnese", "narrative", "anmerkung(en)?",
    ),
    Sort.AGES: ("ages?", "alter", "age (in )?years?", "lebensalter"),
}  # fmt: skip
"""For each sort whole names that mean it, once they are in small letters and parted at every change of case or sign."""

_PATTERNS = tuple((sort, re.compile("|".join(words))) for sort, words in _WORDS.items())
_STEMS = tuple(
    (sort, re.compile(stem))
    for sort, stem in (
        (Sort.MAIL, "email|mailadr"),
        (Sort.TELEPHONES, "telefon|telephone|phone ?n|handyn"),
        (Sort.SOCIAL, "social ?sec|sozialvers|passport|reisepass|steuerid"),
        (Sort.ACCOUNTS, r"\biban|kontonummer|credit ?card|kreditkart"),
        (Sort.INSURANCE, "versichertenn|versicherungsn|kvnr"),
        (Sort.BIRTHS, "geburtsdat|geburtstag|birth ?dat|birthday|date of birth"),
        (Sort.POSTCODES, "postleitzahl|zip ?code|post ?code|postal ?code"),
        (Sort.COORDINATES, "latitude|longitude|breitengrad|laengengrad"),
        (Sort.PLACES, "wohnort|anschrift|adresse|address"),
        (Sort.NAMES, "vorname|nachname|surname|forename|last ?name|first ?name"),
        (Sort.FREE_TEXT, "freitext|free ?text|bemerkung|kommentar|anmerkung"),
        (Sort.DATES, r"\b(date|datetime|timestamp|zeitstempel|zeitpunkt)$|datum$"),
    )
)
"""Parts of names that mean it in any company, such as ``patient_email_2``."""

_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def sort_by_name(name: str) -> Sort | None:
    """Return what a column of this name holds, if the name says so.

    A name means a sort if all of it does: ``first_name`` and ``PatientName`` are names of people, ``product_name`` is
    not. A year of birth and a birth weight are no dates of birth.
    """
    plain = _in_words(name)
    whole = (sort for sort, pattern in _PATTERNS if pattern.fullmatch(plain))
    parts = (sort for sort, stem in _STEMS if stem.search(plain))
    return next(whole, None) or next(parts, None)


def _in_words(name: str) -> str:
    parted = re.sub(r"(?<=[a-zäöüß])(?=[A-ZÄÖÜ])", " ", unicodedata.normalize("NFC", name))
    small = parted.lower().translate(_UMLAUTS)
    return " ".join(re.findall(r"[^\W_]+", small))
