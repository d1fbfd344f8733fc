"""What columns are called: identifiers in English and German, and names that only sound like them."""

from __future__ import annotations

import pytest

from sfumato.table.identification import Sort, sort_by_name

MEANT = {
    Sort.NAMES: "name Name first_name lastName PatientName Vorname NACHNAME Familienname surname",
    Sort.POSTCODES: "zip ZIP zip_code zipcode PLZ plz5 Postleitzahl postcode home_zip_code",
    Sort.PLACES: "address Adresse street Straße city Wohnort Gemeinde birthplace county",
    Sort.COORDINATES: "lat lon Latitude Breitengrad gps geo_point x_coord Koordinaten",
    Sort.BIRTHS: "dob birth_date birthday DateOfBirth Geburtsdatum geb_dat GebDatum patientBirthDate",
    Sort.DATES: "admission_date Aufnahmedatum date Datum timestamp discharge_datetime",
    Sort.TELEPHONES: "phone phone_number Telefon tel Handynummer mobile_number fax Telefonnummer_privat",
    Sort.MAIL: "email e-mail E_Mail mail mail_address Emailadresse patient_email_2",
    Sort.SOCIAL: "ssn SSN social_security_number Sozialversicherungsnummer Steuer-ID passport_no tax_id",
    Sort.RECORDS: "mrn MRN medical_record_number patient_id PatientID Fallnummer case_no patient_nbr user_id "
    "household_id Aktenzeichen encounter_id",
    Sort.INSURANCE: "health_plan_id Versichertennummer KVNR insurance_number member_id PolicyID",
    Sort.ACCOUNTS: "iban IBAN account_number Kontonummer credit_card Kundennummer customer_id",
    Sort.LICENCES: "license_number driver_license Führerscheinnummer certificate_no",
    Sort.VEHICLES: "vin VIN license_plate Kennzeichen Fahrgestellnummer kfz_kennzeichen",
    Sort.DEVICES: "imei device_id serial_number Seriennummer mac_address Gerätenummer",
    Sort.LINKS: "url URL website Webseite homepage",
    Sort.ADDRESSES: "ip ip_address IPAddress ipv4 IP-Adresse",
    Sort.BODIES: "fingerprint Fingerabdruck iris_scan biometric_template",
    Sort.PICTURES: "photo Lichtbild portrait face_photo",
    Sort.CODES: "id ID uuid username pseudonym key",
    Sort.FREE_TEXT: "note notes Bemerkung comment Freitext clinical_notes Kommentar_Arzt",
    Sort.AGES: "age Alter age_years",
}

NEAR_MISSES = """
product_name country_name file_name brand named rename_count unzip_time zipper birth_weight birth_year
Geburtsjahr Geburtsgewicht latency longevity late platform plateau latin kidney idle ideology avoid paid valid
candidate update mandate telescope fairness skip ship recipe vinegar vintage wine blackmail_count mailbox_size
photosynthesis notebook_hours noted Noten wage salary income Einkommen average page language stage sex disease
visit_count education-num hours-per-week number_of_children accountability license_fees_paid urban Sport
Report Transport Ortung Stadtgröße_klasse kind state Bundesland country capital-gain score rating
"""


@pytest.mark.parametrize(("sort", "name"), [(sort, name) for sort, names in MEANT.items() for name in names.split()])
def test_names_that_mean_an_identifier(sort: Sort, name: str) -> None:
    assert sort_by_name(name) is sort


@pytest.mark.parametrize("name", NEAR_MISSES.split())
def test_names_that_only_sound_like_it(name: str) -> None:
    assert sort_by_name(name) is None


def test_every_letter_of_the_rule_has_names() -> None:
    letters = {sort.letter for sort in MEANT}
    assert letters >= set("ABCDFGHIJKLMNOPQR")  # E, fax numbers, stands with D
