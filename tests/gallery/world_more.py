"""A hold-out of odd files, and what comes of each: what was not met is left out, and stands in the notes."""

# ruff: noqa: E501, E701, E702, E731, E741, F401, PLR, ANN, C408, RUF, BLE001, I001, PERF
# fmt: off
from __future__ import annotations

import bz2
import collections
import dataclasses
import gzip
import io
import json
import tarfile
import zipfile
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import zstandard
from openpyxl.styles import Font

from gallery.follow import World
from gallery.people import AGE, BORN, CITY, COUNT, EARLY, PAY, comma, file, grouped, rows, text
from gallery.world_beyond import EVERY, OWED, TABLE, latin, line_of, same
from gallery.world_columns import dated, lettered, named, of, written
from gallery.world_files import FRAME, GERMAN, LINES, NAMES, PLAIN, RECORDS, SHEET, TRUTH, book, frame, w

BODY = "".join(LINES[1:])
G = {}
def num(name, f, truth=PAY, comes="right"): return of(name, [f(p) for p in truth], list(truth), comes)
N=[]
for u in ["kWh/m²","pcs","Stk.","Tsd. €","Mio. €","k€","pct","percent","Prozent","p.c.","mm Hg","/µl","G/l","mEq/L","ng/dL","mg/kg","kg/m2","cells/µl","10^9/l","Jahre","años","лет","lat","jaar","€/h","€ pro Monat","‰ vol","dB(A)","x","Punkte","km²"]:
    N.append(num(f"unit {u}", lambda p,u=u: f"{p:.2f} {u}"))
for u in ["S/","Bs","Q","L","KSh","GH₵","₨","Tk","৳","RM","S$","B/.","֏","₮","₭","ден","Nr.","No.","#","№","n=","BMI","%"]:
    N.append(num(f"before {u}", lambda p,u=u: f"{u} {p:.2f}"))
for u in ["k","M","K","GH₵","%"]:
    N.append(num(f"behind at once {u}", lambda p,u=u: f"{p:.2f}{u}"))
N += [num("per cent before at once", lambda p: f"%{comma(p)}"), num("Lancet points", lambda p: f"{p:.2f}".replace(".","·")),
 num("Arabic separators", lambda p: "".join(chr(0x660+int(c)) if c.isdigit() else c for c in f"{p:,.2f}").replace(".","٫").replace(",","٬")),
 num("full-width points", lambda p: "".join(chr(0xFF10+int(c)) if c.isdigit() else "．" for c in f"{p:.2f}")),
 num("full-width thousands", lambda p: f"{p:,.2f}".replace(",","，")),
 num("Fortran exponents", lambda p: f"{p/1000:.5f}D+03"), num("Fortran small", lambda p: f"{p/1000:.5f}d3"),
 num("francs, quote, minus", lambda p: f"CHF {p:,.2f}".replace(",","'") if p>0 else f"CHF -{-p:,.2f}".replace(",","'"), OWED),
 num("minus, blanks, euros", lambda p: (("−" if p<0 else "")+f"{abs(p):,.2f}".replace(",","\u202f").replace(".",",")+"\u00a0€"), OWED),
 num("brackets in per cent", lambda p: f"({-p:.2f}%)" if p<0 else f"{p:.2f}%", OWED),
 num("plus and minus", lambda p: f"{p:+.2f}", OWED), num("plus, minus, comma", lambda p: f"{p:+.2f}".replace(".",","), OWED),
 num("trailing plus and minus", lambda p: f"{abs(p):.2f}{'-' if p<0 else '+'}", OWED),
 num("S and H", lambda p: f"{comma(abs(p))} {'S' if p<0 else 'H'}", OWED, "asked"),
 of("two dashes", [f"{12+i},-- €" for i in EVERY],[12+i for i in EVERY]),
 of("whole with dash and euros", [f"{12+i},- €" for i in EVERY],[12+i for i in EVERY]),
 of("ordinals", [f"{i+1}th" for i in EVERY],[f"{i+1}th" for i in EVERY]),
 same("numbers as words", (["one","two","three","four","five"]*8), title="n"),
 same("Chinese numerals", (["一","二","三","四","五"]*8), title="n"),
 of("ages with a plus", ["90+" if a>80 else str(a) for a in AGE],["90+" if a>80 else str(a) for a in AGE],"asked",title="years"),
 of("less than", ["<5" if i%6==0 else str(i+5) for i in EVERY],["<5" if i%6==0 else str(i+5) for i in EVERY],"asked",title="n"),
 of("lap times", [f"{1+i//60}:{10+i}.5" for i in EVERY],[60*(1+i//60)+10+i+.5 for i in EVERY],"asked",title="lap"),
 of("suppressed cells", ["•" if i%9==0 else str(100+i) for i in EVERY],[None if i%9==0 else 100+i for i in EVERY],"asked",title="n"),
 of("x for secret", ["x" if i%9==0 else str(100+i) for i in EVERY],[None if i%9==0 else 100+i for i in EVERY],"asked",title="n"),
 of("slash for unsure", ["/" if i%9==0 else str(100+i) for i in EVERY],[None if i%9==0 else 100+i for i in EVERY],"asked",title="n"),
 of("brackets for unsure", [f"({100+i})" if i%9==0 else str(100+i) for i in EVERY],[-(100+i) if i%9==0 else 100+i for i in EVERY],"right",title="n"),
 of("k.A. among numbers", ["k.A." if i%9==0 else str(100+i) for i in EVERY],[None if i%9==0 else 100+i for i in EVERY],"asked",title="n"),
 of("not asked", ["not asked" if i%9==0 else str(100+i) for i in EVERY],[None if i%9==0 else 100+i for i in EVERY],"asked",title="n"),
 of("three words", [["refused","don't know","n.a."][i%3] if i%7==0 else str(100+i) for i in EVERY],[None if i%7==0 else 100+i for i in EVERY],"asked",title="n"),
 of("question marks", [f"{100+i}?" if i%9==0 else str(100+i) for i in EVERY],[f"{100+i}?" if i%9==0 else str(100+i) for i in EVERY],"asked",title="n"),
 of("equals", [f"={100+i}" for i in EVERY],[100+i for i in EVERY],"asked",title="n"),
 of("letters O and l", [("1O"+str(i)) if i%9==0 else str(100+i) for i in EVERY],[("1O"+str(i)) if i%9==0 else str(100+i) for i in EVERY],"asked",title="n"),
 of("a decimal with two marks", [f"{i+1}.5" if i%9 else f"{i+1}..5" for i in EVERY],[f"{i+1}.5" if i%9 else f"{i+1}..5" for i in EVERY],"asked",title="n"),
 of("numbers in German and thousands alone", [f"{1+i}.000" for i in EVERY],[(1+i)*1000 for i in EVERY],"asked",title="n"),
 of("wide and thin", [f"{p:,.2f}".replace(","," \u200a") for p in PAY], PAY, "right"),
]
G["numbers"]=N
D=[]
def dt(name,f,comes="right",truth=BORN): return of(name,[f(b) for b in truth],list(truth),comes,title="born")
def mon(lang, words, form):
    ws=words.split(); return dt(lang, lambda b: form.format(d=b.day,m=ws[b.month-1],y=b.year))
D += [
 mon("Russian with g","января февраля марта апреля мая июня июля августа сентября октября ноября декабря","{d} {m} {y} г."),
 mon("Ukrainian with r","січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня","{d} {m} {y} р."),
 mon("Russian with goda","января февраля марта апреля мая июня июля августа сентября октября ноября декабря","«{d}» {m} {y} года"),
 mon("Lithuanian whole","sausio vasario kovo balandžio gegužės birželio liepos rugpjūčio rugsėjo spalio lapkričio gruodžio","{y} m. {m} {d} d."),
 mon("Latvian whole","janvāris februāris marts aprīlis maijs jūnijs jūlijs augusts septembris oktobris novembris decembris","{y}. gada {d}. {m}"),
 mon("Estonian a","jaanuar veebruar märts aprill mai juuni juuli august september oktoober november detsember","{d}. {m} {y}. a."),
 mon("Georgian","იანვარი თებერვალი მარტი აპრილი მაისი ივნისი ივლისი აგვისტო სექტემბერი ოქტომბერი ნოემბერი დეკემბერი","{d} {m} {y}"),
 mon("Armenian","հունվարի փետրվարի մարտի ապրիլի մայիսի հունիսի հուլիսի օգոստոսի սեպտեմբերի հոկտեմբերի նոյեմբերի դեկտեմբերի","{d} {m} {y}"),
 mon("Azerbaijani","yanvar fevral mart aprel may iyun iyul avqust sentyabr oktyabr noyabr dekabr","{d} {m} {y}"),
 mon("Uzbek","yanvar fevral mart aprel may iyun iyul avgust sentabr oktabr noyabr dekabr","{d} {m} {y} yil"),
 mon("Kazakh","қаңтар ақпан наурыз сәуір мамыр маусым шілде тамыз қыркүйек қазан қараша желтоқсан","{d} {m} {y}"),
 mon("Urdu","جنوری فروری مارچ اپریل مئی جون جولائی اگست ستمبر اکتوبر نومبر دسمبر","{d} {m} {y}"),
 mon("Bengali months","জানুয়ারি ফেব্রুয়ারি মার্চ এপ্রিল মে জুন জুলাই আগস্ট সেপ্টেম্বর অক্টোবর নভেম্বর ডিসেম্বর","{d} {m} {y}"),
 mon("Tamil months","ஜனவரி பிப்ரவரி மார்ச் ஏப்ரல் மே ஜூன் ஜூலை ஆகஸ்ட் செப்டம்பர் அக்டோபர் நவம்பர் டிசம்பர்","{d} {m} {y}"),
 mon("Afrikaans","Januarie Februarie Maart April Mei Junie Julie Augustus September Oktober November Desember","{d} {m} {y}"),
 mon("Irish","Eanáir Feabhra Márta Aibreán Bealtaine Meitheamh Iúil Lúnasa Meán_Fómhair Deireadh_Fómhair Samhain Nollaig".replace("_","-"),"{d} {m} {y}"),
 mon("Maltese","Jannar Frar Marzu April Mejju Ġunju Lulju Awwissu Settembru Ottubru Novembru Diċembru","{d} ta' {m} {y}"),
 mon("Luxembourgish","Januar Februar Mäerz Abrëll Mee Juni Juli August September Oktober November Dezember","{d}. {m} {y}"),
 mon("Faroese","januar februar mars apríl mai juni juli august september oktober november desember","{d}. {m} {y}"),
 mon("Hebrew with b","ינואר פברואר מרץ אפריל מאי יוני יולי אוגוסט ספטמבר אוקטובר נובמבר דצמבר","{d} ב{m} {y}"),
 mon("Catalan del","gener febrer març abril maig juny juliol agost setembre octubre novembre desembre","{d} de {m} del {y}"),
 dt("Catalan elided", lambda b: (lambda m: f"{b.day} {'d’' if m[0] in 'ao' else 'de '}{m} de {b.year}")(["gener", "febrer", "març", "abril", "maig", "juny", "juliol", "agost", "setembre", "octubre", "novembre", "desembre"][b.month-1])),
 dt("French first", lambda b: f"{'1er' if b.day==1 else b.day} {['janvier', 'février', 'mars', 'avril', 'mai', 'juin', 'juillet', 'août', 'septembre', 'octobre', 'novembre', 'décembre'][b.month-1]} {b.year}", truth=[date(1980,1+i%12,1 if i%3==0 else 14) for i in EVERY]),
 mon("French le","janvier février mars avril mai juin juillet août septembre octobre novembre décembre","le {d} {m} {y}"),
 mon("Swedish den","januari februari mars april maj juni juli augusti september oktober november december","den {d} {m} {y}"),
 mon("English of","January February March April May June July August September October November December","{d} of {m} {y}"),
 mon("English the","January February March April May June July August September October November December","{m} the {d}th, {y}"),
 mon("English month, year first","January February March April May June July August September October November December","{y}, {m} {d}"),
 mon("Spanish del","enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre","{d} de {m} del {y}"),
 mon("Thai short","ม.ค. ก.พ. มี.ค. เม.ย. พ.ค. มิ.ย. ก.ค. ส.ค. ก.ย. ต.ค. พ.ย. ธ.ค.","{d} {m} {y}"),
 dt("Thai short, Buddhist", lambda b: f"{b.day} {['ม.ค.', 'ก.พ.', 'มี.ค.', 'เม.ย.', 'พ.ค.', 'มิ.ย.', 'ก.ค.', 'ส.ค.', 'ก.ย.', 'ต.ค.', 'พ.ย.', 'ธ.ค.'][b.month-1]} {b.year+543}"),
 dt("gannen", lambda b: f"平成{'元' if b.year==1989 else b.year-1988}年{b.month}月{b.day}日", truth=[date(1989+i%6,1+i%12,9+i%19) for i in EVERY]),
 dt("Japanese day of week", lambda b: f"{b.year}年{b.month}月{b.day}日（{'月火水木金土日'[b.weekday()]}）"),
 dt("eras with points", lambda b: f"昭和{b.year-1925}.{b.month}.{b.day}", truth=[b.replace(year=1950+b.year%38) for b in BORN]),
 dt("Mongolian", lambda b: f"{b.year} оны {b.month} сарын {b.day}"),
 dt("Korean half days", lambda b: f"{b.year}. {b.month}. {b.day}. 오전 9:05"),
 dt("Chinese half days", lambda b: f"{b.year}/{b.month}/{b.day} 下午 1:05"),
 dt("Azerbaijani il", lambda b: f"{b:%d.%m.%Y}-ci il"),
 dt("day of week behind", lambda b: f"{b:%Y/%m/%d} ({b:%a})"), dt("JavaScript", lambda b: f"{b:%a %b %d %Y}"), dt("JavaScript whole", lambda b: f"{b:%a %b %d %Y} 13:05:07 GMT+0100 (CET)"),
 dt("zone of four", lambda b: f"{b}T13:05+0100"), dt("fraction with comma", lambda b: f"{b}T13:05:07,123"), dt("fourteen digits", lambda b: f"{b:%Y%m%d}130507"), dt("time with point", lambda b: f"{b} 13.05"),
 dt("ISO and week day", lambda b: f"{b} {b:%a}"), dt("short month behind slash", lambda b: f"{b:%d/%b/%Y}"), dt("month first, hyphen", lambda b: f"{b:%b-%d-%Y}"), dt("year, day, month?", lambda b: f"{b:%Y-%d-%m}", "asked"),
 dt("no zeros, two digits", lambda b: f"{b.day}.{b.month}.{b:%y}", "asked"), dt("two digits, name", lambda b: f"{b:%d-%b-%y}", "asked"), dt("two digits, name, comma", lambda b: f"{b:%b} {b.day}, {b:%y}", "asked"), dt("two digits, half days", lambda b: f"{b.month}/{b.day}/{b:%y} 1:05 PM","asked"),
 dt("six digits", lambda b: f"{b:%y%m%d}", "asked"), dt("six digits, day first", lambda b: f"{b:%d%m%y}", "asked"), dt("eight digits, day first", lambda b: f"{b:%d%m%Y}", "asked"), dt("eight digits, month first", lambda b: f"{b:%m%d%Y}", "asked"),
 dt("spaces in between", lambda b: f"{b:%d / %m / %Y}"), dt("points and blanks, two", lambda b: f"{b:%d. %m. %Y}"), dt("comma, day", lambda b: f"{b:%d,%m,%Y}"), dt("dash of Unicode", lambda b: f"{b:%d–%m–%Y}"), dt("ISO with Unicode hyphen", lambda b: f"{b}".replace("-","‐")), dt("quoted year", lambda b: f"{b:%d.%m.}’{b:%y}","asked"),
 dt("geb.", lambda b: f"geb. {b:%d.%m.%Y}"), dt("asterisk", lambda b: f"* {b:%d.%m.%Y}"), dt("Arabic digits of days", lambda b: "".join(chr(0x660+int(c)) if c.isdigit() else c for c in f"{b:%Y/%m/%d}")),
 of("zero days", ["0000-00-00" if i%8==0 else str(b) for i,b in enumerate(BORN)],[None if i%8==0 else b for i,b in enumerate(BORN)],"asked",title="born"),
 of("end of time", ["9999-12-31" if i%8==0 else str(b) for i,b in enumerate(BORN)],[date(9999,12,31) if i%8==0 else b for i,b in enumerate(BORN)],"asked",title="until"),
 of("end of time, German", ["31.12.9999" if i%8==0 else f"{b:%d.%m.%Y}" for i,b in enumerate(BORN)],[date(9999,12,31) if i%8==0 else b for i,b in enumerate(BORN)],"asked",title="until"),
 of("heute", ["heute" if i%8==0 else f"{b:%d.%m.%Y}" for i,b in enumerate(BORN)],[None if i%8==0 else b for i,b in enumerate(BORN)],"asked",title="until"),
 of("days missing in part", [f"{b:%Y-%m}-00" if i%8==0 else str(b) for i,b in enumerate(BORN)],[None if i%8==0 else b for i,b in enumerate(BORN)],"asked",title="born"),
 of("years among days", [str(b.year) if i%8==0 else str(b) for i,b in enumerate(BORN)],[str(b.year) if i%8==0 else str(b) for i,b in enumerate(BORN)],"asked",title="born"),
 of("months among days", [f"{b:%m.%Y}" if i%8==0 else f"{b:%d.%m.%Y}" for i,b in enumerate(BORN)],[f"{b:%m.%Y}" if i%8==0 else f"{b:%d.%m.%Y}" for i,b in enumerate(BORN)],"asked",title="born"),
 of("numbers of a sheet among days", [str((b-date(1899,12,30)).days) if i%8==0 else f"{b:%d.%m.%Y}" for i,b in enumerate(BORN)],BORN,"asked",title="born"),
 of("days with remarks", [f"{b:%d.%m.%Y} (est.)" if i%8==0 else f"{b:%d.%m.%Y}" for i,b in enumerate(BORN)],[f"{b:%d.%m.%Y} (est.)" if i%8==0 else f"{b:%d.%m.%Y}" for i,b in enumerate(BORN)],"asked",title="born"),
 of("minutes and seconds with signs", [f"{i+1}′{10+i}″" for i in EVERY],[60*(i+1)+10+i for i in EVERY],"asked",title="lasted"),
 of("h and min", [f"{i+1} h {10+i} min" for i in EVERY],[3600*(i+1)+60*(10+i) for i in EVERY],title="lasted"),
 of("Std. and Min.", [f"{i+1} Std. {10+i} Min." for i in EVERY],[3600*(i+1)+60*(10+i) for i in EVERY],title="lasted"),
 of("Japanese hours", [f"{i+1}時間{10+i}分" for i in EVERY],[3600*(i+1)+60*(10+i) for i in EVERY],title="lasted"),
 of("years and months of age", [f"{i+1} y {i%12} m" for i in EVERY],[f"{i+1} y {i%12} m" for i in EVERY],"asked",title="aged"),
 of("days and colons", [f"{i+1} days 0{i%9}:30:00" for i in EVERY],[86400*(i+1)+3600*(i%9)+1800 for i in EVERY],title="lasted"),
]
G["dates"]=D
E_=[
 latin("mac-latin2","Łomża Kraków Gdańsk Poznań Wrocław Białystok Rzeszów Częstochowa"),
 latin("iso-8859-10","Tromsø Šiauliai Þingeyri Ålesund Ŋuorra Ísafjörður"), latin("iso-8859-14","Ŵyr Dŵr Llanŷbri Aberŷstwyth Tŷ"),
 latin("cp863","Québec Montréal Trois-Rivières Lévis Gaspé Sept-Îles"), latin("cp861","Þórshöfn Ísafjörður Höfn Akureyri Húsavík"),
 latin("mac-greek","Αθήνα Θεσσαλονίκη Πάτρα Ηράκλειο Λάρισα Βόλος Ιωάννινα Τρίκαλα"), latin("mac-turkish","İstanbul Diyarbakır Eskişehir Şanlıurfa Muğla Kırşehir Ağrı"), latin("mac-iceland","Ísafjörður Þórshöfn Höfn Húsavík Borgarnes"),
 latin("cp869","Αθήνα Θεσσαλονίκη Πάτρα Ηράκλειο Λάρισα Βόλος Ιωάννινα"), latin("ptcp154","Алматы Қарағанды Шымкент Өскемен Ақтөбе Тараз"), latin("kz1048","Қарағанды Алматы Шымкент Өскемен Ақтөбе Тараз"), latin("koi8-t","Душанбе Хуҷанд Қӯрғонтеппа Кӯлоб Ҳисор"),
 latin("johab","서울시 부산시 인천시 대구시 대전시 광주시 울산시 수원시"), latin("euc-jis-2004","東京都 大阪市 名古屋市 札幌市 福岡市 京都市"), latin("iso-2022-jp-2","東京都 大阪市 名古屋市 札幌市 福岡市 京都市"), latin("cp1140","Köln Düsseldorf Gießen München"), latin("cp1026","İstanbul Köln Muğla Çorum"), latin("cp720","القاهرة الجيزة الأقصر أسوان طنطا دمياط"),latin("cp424","ירושלים חיפה אשדוד"),
 World("UTF-16 with a byte too many", file(PLAIN.encode("utf-16")+b"\x00"), TRUTH,"asked"),
 World("one bad byte in UTF-8", file(PLAIN.encode().replace("Köln".encode(), b"K\xffln",1)), TRUTH,"refused","."),
 World("a mark and cp1252", file(b"\xef\xbb\xbf"+PLAIN.encode("cp1252")), TRUTH,"asked"),
 World("two marks", file(b"\xef\xbb\xbf\xef\xbb\xbf"+PLAIN.encode()), TRUTH),
 World("a mark of UTF-16 before UTF-8", file(b"\xff\xfe"+PLAIN.encode()), TRUTH,"refused","."),
 World("cp1252 late", file(b"age,city\n"+b"".join(f"{AGE[i%40]},Bonn\n".encode() for i in range(300_000))+"30,Köln\n".encode("cp1252")), {"age":[AGE[i%40] for i in range(300_000)]+[30],"city":["Bonn"]*300_000+["Köln"]},"asked"),
 World("escapes of JSON in CSV", file(PLAIN.replace("ö","\\u00f6").replace("ü","\\u00fc").replace("Å","\\u00c5").replace("è","\\u00e8")), TRUTH,"refused","."),
 World("per cents of addresses", file(PLAIN.replace("ö","%C3%B6").replace("ü","%C3%BC").replace("Å","%C3%85").replace("è","%C3%A8")), TRUTH,"refused","."),
 World("quoted-printable", file(PLAIN.replace("ö","=C3=B6").replace("ü","=C3=BC").replace("Å","=C3=85").replace("è","=C3=A8")), TRUTH,"refused","."),
 World("question marks for letters", file(PLAIN.replace("ö","?").replace("ü","?").replace("Å","?").replace("è","?")), TRUTH,"refused","."),
 World("three times UTF-8", file(PLAIN.encode().decode("cp1252").encode().decode("cp1252","replace").encode()), TRUTH,"refused","."),
]
G["encodings"]=E_
tot=f"{sum(PAY):.2f}"
L=[]
for word in ["Σ","∑","Gesamt","Insgesamt","ALL","Ukupno","合計","合计","Итого","Razem","Celkem","Toplam","Yhteensä","I alt","Totaal","Grand Total","Summe:","= Total","Összesen","Всього","Totale generale","Sum total"]:
    L.append(w(f"a sum called {word}", PLAIN+f",{tot},{word}\n","asked"))
L += [
 w("sum first", PLAIN.replace("age,pay,city\n",f"age,pay,city\n,{tot},Total\n",1),"asked"),
 w("names again every ten", "".join(LINES[0]*(i%10==0)+l for i,l in enumerate(LINES[1:])),"refused","."),
 w("names below, too", PLAIN+LINES[0],"asked"),
 w("keys above", "Created,2020\nBy,Ann\n\n"+PLAIN), w("keys with colons above", "Created: 2020\nBy: Ann\n\n"+PLAIN), w("many keys above", "Study,S1\nSite,North\nVersion,2\nDate,2020-01-01\n,\n"+PLAIN),
 w("front matter", "---\ntitle: people\n---\n"+PLAIN,"asked"), w("variants", "##fileformat=VCFv4.2\n##source=x\n#"+PLAIN,"refused","."),
 w("conflict", PLAIN.replace(LINES[5],"<<<<<<< HEAD\n"+LINES[5]+"=======\n"+LINES[6]+">>>>>>> other\n"),"refused","."),
 w("comment inside", "".join([*LINES[:9],"# next ward\n",*LINES[9:]]),"refused","."),
 w("comments below", PLAIN+"# end\n# of file\n","asked"),
 w("blank and quotes", "".join(", ".join(f'"{c}"' for c in r)+"\n" for r in [list(map(str,t)) for t in TABLE])),
 w("escaped commas", "age,pay,city\n"+"".join(f"{a},{p},{c}\\, east\n" for a,p,c in FRAME.rows()),"refused","."),
 w("reST grid", "+-----+---------+--------+\n| age | pay     | city   |\n+=====+=========+========+\n"+"".join(f"| {a:<3} | {p:<7} | {c:<6} |\n+-----+---------+--------+\n" for a,p,c in FRAME.rows()),"refused","."),
 w("org table", "| age | pay | city |\n|-----+-----+------|\n"+"".join(f"| {a} | {p} | {c} |\n" for a,p,c in FRAME.rows())),
 w("wiki table", "{| class=wikitable\n! age !! pay !! city\n"+"".join(f"|-\n| {a} || {p} || {c}\n" for a,p,c in FRAME.rows())+"|}\n","refused","."),
 w("Jira", "||age||pay||city||\n"+"".join(f"|{a}|{p}|{c}|\n" for a,p,c in FRAME.rows()),"refused","."),
 w("bars around", "".join("|"+line_of(r,"|")+"|\n" for r in TABLE)),
 w("pandas print", FRAME.to_pandas().to_string(),"refused","."), w("polars print", str(FRAME),"refused","."), w("R print", "  age pay city\n"+"".join(f"{i+1} {a} {p} {c}\n" for i,(a,p,c) in enumerate(FRAME.rows())),"asked"),
 w("many blanks", "".join(f"{a!s:<8}{p!s:<12}{c}\n" for a,p,c in TABLE),"refused","."),
 w("sum of squares", PLAIN.replace("\n",";\n"),"right"),
 w("names with units", PLAIN.replace("age,pay,city","age (years),pay [€],city",1),"refused","."),
 w("age and Age", "Age,"+LINES[0]+"".join("1,"+l for l in LINES[1:])),
 w("two empty first", "".join(",,"+l for l in LINES)), w("numbered", "No.,"+LINES[0]+"".join(f"{i},{l}" for i,l in enumerate(LINES[1:],1))),
 w("SYLK", "ID;PWXL;N;E\nP;PGeneral\nC;Y1;X1;K\"age\"\nE\n","refused",".",".slk"), w("DIF","TABLE\n0,1\n\"EXCEL\"\nVECTORS\n0,3\n\"\"\n","refused","DIF|table|interchange",".dif"),
 w("HL7","MSH|^~\\&|LAB|X|Y\rPID|1||123\r"*20,"refused","."), w("FASTA",">seq1\nACGT\n>seq2\nACGT\n","refused","."), w("KML","<?xml version='1.0'?><kml><Placemark/></kml>","refused","XML|KML",".kml"),
 w("a diff","--- a\n+++ b\n@@ -1 +1 @@\n-30,x\n+31,x\n","refused","."), w("a shebang","#!/bin/sh\necho hi\n","refused","."),
 w("Python code","import os\nprint(1)\n","refused","."), w("HTTP","HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\n\r\n"+PLAIN,"refused","."), w("an error page","{\"error\": \"not found\"}","refused","."),
 w("Git LFS","version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1234\n","refused","LFS"),
 w("ranges and blanks", "age,pay,city\n"+"".join(f"{a},{p},  {c}  \n" for a,p,c in FRAME.rows())),
 w("separated by blanks", "".join(line_of(r," ")+"\n" for r in TABLE)),
 w("returns in cells", "age,pay,city\n"+"".join(f'{a},{p},"{c}\r\n"\n' for a,p,c in FRAME.rows()),"refused","."),
]
for name,data,pat in [("netCDF",b"CDF\x01"+b"\0"*300,"netCDF|NetCDF"),("Matlab",b"MATLAB 5.0 MAT-file, Platform"+b" "*100+b"\x00\x01IM"+b"\0"*200,"MATLAB|Matlab"),("Feather one",b"FEA1"+b"\0"*200+b"FEA1","Feather|Arrow"),("encrypted Parquet",b"PARE"+b"\0"*200+b"PARE","crypt"),("msgpack",b"\x93\x83\xa3age\x1e\xa3pay\xcb@\x93"+b"\0"*50,"."),("BSON",b"\x16\0\0\0\x02hello\0\x06\0\0\0world\0\0","."),("cabinet",b"MSCF\0\0\0\0"+b"\0"*100,"cab|Cabinet|CAB"),("Lotus",b"\0\0\x02\0\x06\x04\x06\0"+b"\0"*100,"Lotus|program|binary|bytes"),("FITS",b"SIMPLE  =                    T"+b" "*2850,"FITS"),("DICOM",b"\0"*128+b"DICM"+b"\0"*100,"DICOM"),("a film",b"\0\0\0\x18ftypmp42"+b"\0"*100,"film|video|MP4"),("a certificate",b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n","certificate|key"),("PGP",b"-----BEGIN PGP MESSAGE-----\n\nabc\n","crypt|PGP"),("SAV cut",b"$FL2@(#) SPSS DATA FILE"+b"\0"*20,"SPSS|statist|cut|read"),("TTF",b"\0\x01\0\0\0\x0b\x80"+b"\0"*100,"."),("DuckDB called csv",None,"."),("LZ4",b"\x04\x22\x4d\x18"+b"\x64\x40\xa7"+b"\0"*50,"LZ4|lz4"),("snappy",b"\xff\x06\0\0sNaPpY"+b"\0"*50,"[Ss]nappy")]:
    if data is not None: L.append(World(name, file(data,name="people.csv"), TRUTH,"refused",pat))
zc=zstandard.ZstdCompressor().compress(PLAIN.encode())
L += [w("zstd",zc,suffix=".csv.zst"),w("zstd without its name",zc),w("empty gzip",gzip.compress(b""),"refused","empty",".csv.gz"),w("gzip of a workbook",gzip.compress(b"PK\x03\x04"+b"\0"*100),"refused",".",".xlsx.gz")]
def zipped(**f):
    b=io.BytesIO()
    with zipfile.ZipFile(b,"w") as z:
        for k,v in f.items(): z.writestr(k.replace("__","."),v)
    return b.getvalue()
L += [w("an empty zip",zipped(),"refused","empty|no file|nothing",".zip"), w("zip of a zip",zipped(a__zip=zipped(b__csv=PLAIN)),"refused",".",".zip"), w("zip with a note",zipped(README__txt="hello",people__csv=PLAIN),"asked",".",".zip"), w("zip in a folder",zipped(**{"data/people__csv":PLAIN}),suffix=".zip"), w("a zip called csv",zipped(b__csv=PLAIN))]
G["layouts"]=L
J=lambda name,v,comes="right",says="": w(name, json.dumps(v) if not isinstance(v,str) else v, comes, says, ".json")
R=FRAME.to_dicts()
G["JSON"]=[J("CKAN",{"success":True,"result":{"fields":[{"id":"age"}],"records":R}}),J("Socrata",{"meta":{"view":{"columns":[{"name":n} for n in NAMES]}},"data":[list(r.values()) for r in R]}),J("GraphQL",{"data":{"people":R}}),J("HAL",{"_links":{},"_embedded":{"people":R}}),J("sheets",{"range":"A1","values":[NAMES]+[list(r.values()) for r in R]},"asked"),J("arrays with names",[NAMES]+[list(r.values()) for r in R],"asked"),J("BigQuery",{"rows":[{"f":[{"v":x} for x in r.values()]} for r in R]},"refused","."),J("Airtable",{"records":[{"id":str(i),"fields":r} for i,r in enumerate(R)]},"refused","."),J("objects one behind the other","".join(json.dumps(r) for r in R),"asked"),J("boxed",[{k:[v] for k,v in r.items()} for r in R],"asked"),J("Vega",{"mark":"bar","data":{"values":R}}),J("three levels",[{**r,"a":{"b":{"c":1}}} for r in R]),J("records inside",[{**r,"visits":[{"d":1},{"d":2}]} for r in R],"refused","."),J("keys with points",[{**r,"a.b":1} for r in R]),J("numbers as text",[{k:str(v) for k,v in r.items()} for r in R]),J("empty objects",[{**r,"x":{}} for r in R]),J("sometimes an object",[{**r,"x":({"y":1} if i%2 else None)} for i,r in enumerate(R)]),J("a null record",[*R[:20],None,*R[20:]],"refused","."),J("key and nulls",[{**r,"z":None} for r in R]),J("JSON5","[{age:1}]","refused","."),J("comma numbers",[{**r,"pay":comma(r["pay"])} for r in R]),J("lines then a total","\n".join(map(json.dumps,R))+"\n"+json.dumps({"total":40})+"\n","refused","."),J("a JSON text of text",json.dumps(json.dumps(R)),"refused","."),J("a list of numbers","[1,2,3]","refused","."),J("a page of many",{"page":1,"next":"x","results":R}),J("truths and texts",[{**r,"t":("yes" if i%2 else True)} for i,r in enumerate(R)],"right"),J("JSON-stat",{"version":"2.0","class":"dataset","id":["a"],"value":[1,2]},"refused","."),]
def bk(name,fill,comes="right",says="",truth=TRUTH,**reading):
    def make(folder):
        b=openpyxl.Workbook(); fill(b); p=folder/"p.xlsx"; b.save(p); return p
    return World(name,make,truth,comes,says,reading)
def put(s,rows_):
    for r in rows_: s.append(list(r))
def merged_head(b): s=b.active; s.append(["People",None,None]); s.merge_cells("A1:C1"); put(s,TABLE)
def merged_cells(b):
    s=b.active; put(s,[["age","pay","city"]]+[[a,p,("Bonn" if i%5==0 else None)] for i,(a,p,c) in enumerate(FRAME.rows())])
    for i in range(0,40,5): s.merge_cells(start_row=i+2,end_row=i+6,start_column=3,end_column=3)
def formulas(b): s=b.active; put(s,[["age","pay","city"]]+[[a,f"={p}*1",c] for a,p,c in FRAME.rows()])
def errors(b): s=b.active; put(s,[["age","pay","city"]]+[[a,"#N/A" if i%8==0 else p,c] for i,(a,p,c) in enumerate(FRAME.rows())])
def hidden_first(b): s=b.active; s.append(["x"]); s.sheet_state="hidden"; t=b.create_sheet("t"); put(t,TABLE); b.active=1
def empty_first(b): t=b.create_sheet("t"); put(t,TABLE)
def two_full(b): put(b.active,TABLE); put(b.create_sheet("t"),TABLE)
def cover(b): s=b.active; put(s,[["Study of 2020"],["made by Ann"]]); put(b.create_sheet("data"),TABLE)
def custom(fmt,col=2):
    def f(b):
        s=b.active; put(s,TABLE)
        for c in s["ABC"[col-1]][1:]: c.number_format=fmt
    return f
def struck(b):
    s=b.active; put(s,TABLE)
    for c in s[5]: c.font=Font(strike=True)
def years(b): put(b.active,[[2019,2020,"city"]]+[[a,p,c] for a,p,c in FRAME.rows()])
def padded(b):
    s=b.active
    for i,r in enumerate(TABLE):
        for j,v in enumerate(r): s.cell(i+4,j+3,v)
def two_heads(b): s=b.active; put(s,[["person", None, "home"], NAMES, *list(FRAME.rows())]); s.merge_cells("A1:B1")
def foot(b): s=b.active; put(s,TABLE); put(s,[[None]*3,["Source: x",None,None]])
def blanktext(b): put(b.active,[NAMES]+[[a,p if i%8 else "  ",c] for i,(a,p,c) in enumerate(FRAME.rows())])
def numtext(b): put(b.active,[NAMES]+[[a,p if i%2 else str(p),c] for i,(a,p,c) in enumerate(FRAME.rows())])
def midtot(b): put(b.active,[*TABLE[:20],["Subtotal",1e6,None],*TABLE[20:]])
def strict_table(b):
    from openpyxl.worksheet.table import Table
    s=b.active; s.append(["note"]); s.append([]); put(s,TABLE); s.add_table(Table(displayName="P",ref="A3:C43"))
def daytext(b): put(b.active,[["age","born","city"]]+[[a,(BORN[i] if i%2 else f"{BORN[i]:%d.%m.%Y}"),c] for i,(a,p,c) in enumerate(FRAME.rows())])
G["workbooks"]=[bk("merged title",merged_head),bk("merged cells",merged_cells,truth={"age":AGE,"pay":PAY,"city":["Bonn"]*len(AGE)}),bk("formulas never counted",formulas,"refused","formula"),bk("errors",errors,"asked",truth={"age":AGE,"pay":[None if i%8==0 else p for i,p in enumerate(PAY)]}),bk("hidden first sheet",hidden_first),bk("empty first sheet",empty_first),bk("two full sheets",two_full,"asked"),bk("a cover",cover,"asked"),bk("custom kg",custom('0.00"kg"')),bk("custom hides",custom(";;;")),bk("scientific",custom("0.00E+00")),bk("thousands hidden",custom("0,")),bk("zip format",custom("00000",1),"asked",truth={"age":[f"{a:05}" for a in AGE]}),bk("struck",struck),bk("years for names",years,"right",truth={"2019":AGE,"2020":PAY}),bk("padded",padded),bk("two heads merged",two_heads,"asked"),bk("foot",foot,"asked"),bk("blank texts",blanktext,"right",truth={"age":AGE,"pay":[p if i%8 else None for i,p in enumerate(PAY)]}),bk("numbers as text by half",numtext,"asked"),bk("subtotal inside",midtot,"refused","."),bk("a table of its own",strict_table),bk("days as text by half",daytext,"asked",truth={"age":AGE,"born":BORN})]
def sav(name,df,comes="right",says="",truth=None,kind="sav",**kw):
    def make(folder):
        p=folder/f"p.{kind}"; (pyreadstat.write_sav if kind=="sav" else pyreadstat.write_dta)(df,str(p),**kw); return p
    return World(name,make,truth,comes,says)
base=pd.DataFrame({"age":AGE,"pay":PAY})
codes=[i%3+1 for i in EVERY]
G["statistical"]=[
 sav("labels with numbers",base.assign(g=codes),truth={"age":AGE,"g":[["1 good","2 fair","3 bad"][c-1] for c in codes]},variable_value_labels={"g":{1:"1 good",2:"2 fair",3:"3 bad"}}),
 sav("labels of refusals",base.assign(g=[-9 if i%8==0 else 100+i for i in EVERY]),"asked",truth={"age":AGE,"g":[None if i%8==0 else 100+i for i in EVERY]},variable_value_labels={"g":{-9:"refused"}}),
 sav("labels of ends",base.assign(g=[i%11 for i in EVERY]),"asked",truth={"age":AGE,"g":[i%11 for i in EVERY]},variable_value_labels={"g":{0:"not at all",10:"fully"}}),
 sav("missing ranges",base.assign(g=[98 if i%8==0 else i for i in EVERY]),truth={"age":AGE,"g":[None if i%8==0 else i for i in EVERY]},missing_ranges={"g":[{"lo":90,"hi":99}]}),
 sav("dollars",base,truth={"age":AGE,"pay":PAY},variable_format={"pay":"DOLLAR10.2"}), sav("commas",base,truth={"age":AGE,"pay":PAY},variable_format={"pay":"COMMA10.2"}), sav("padded texts",base.assign(c=[c+"   " for c in CITY]),truth={"age":AGE,"c":CITY}),
 sav("times",base.assign(t=[time(i%24,5) for i in EVERY]),truth={"age":AGE,"t":[3600*(i%24)+300 for i in EVERY]}),
 sav("Stata labels of some",base.assign(g=[i%11 for i in EVERY]),"asked",truth={"age":AGE,"g":[i%11 for i in EVERY]},kind="dta",variable_value_labels={"g":{0:"no",10:"all"}}),
 sav("Stata missing of kinds",base.assign(g=["a" if i%8==0 else i for i in EVERY]),truth={"age":AGE,"g":[None if i%8==0 else i for i in EVERY]},kind="dta",missing_user_values={"g":["a"]}),
 sav("Stata half years",base.assign(g=list(EVERY)),truth={"age":AGE,"g":[f"{1960+i//2}h{i%2+1}" for i in EVERY]},kind="dta",variable_format={"g":"%th"}),
 sav("Stata texts long",base.assign(c=["x"*3000+str(i%3) for i in EVERY]),truth={"age":AGE,"c":["x"*3000+str(i%3) for i in EVERY]},kind="dta"),
 sav("measures",base.assign(g=codes),"asked",truth={"age":AGE,"g":[str(c) for c in codes]},variable_measure={"g":"nominal"}),
]
def fr(name,make,comes="right",says="",truth=TRUTH): return World(name,lambda folder: make(),truth,comes,says)
P=FRAME.to_pandas()
@dataclasses.dataclass
class Person: age:int; pay:float; city:str
NT=collections.namedtuple("NT","age pay city")
cuts=pd.cut(P["age"],[0,30,50,100]); lab=pd.cut(P["age"],[0,30,50,100],labels=["young","middle","old"])
G["frames"]=[fr("pandas cut",lambda: P.assign(g=cuts),truth={"pay":PAY,"g":[str(c) for c in cuts]}),fr("pandas cut with labels",lambda: P.assign(g=lab),truth={"pay":PAY,"g":list(lab)}),
 fr("columns of two levels",lambda: pd.concat({"a":P},axis=1),"refused","."),fr("arrow types of pandas",lambda: P.convert_dtypes(dtype_backend="pyarrow")),fr("styler",lambda: P.style if hasattr(P,"style") else None,"refused","."),fr("groups",lambda: P.groupby("city"),"refused","."),
 fr("groups of polars",lambda: FRAME.group_by("city"),"refused","."),fr("dataclasses",lambda: [Person(*r) for r in FRAME.rows()],"refused","."),fr("named tuples",lambda: [NT(*r) for r in FRAME.rows()],"refused","."),fr("lists without names",lambda: [list(r) for r in FRAME.rows()],"refused","."),
 fr("an open text",lambda: io.StringIO(PLAIN),"refused","."),fr("open bytes",lambda: io.BytesIO(PLAIN.encode()),"refused","."),fr("an address of the net",lambda: "https://example.org/people.csv","refused","."),fr("s3",lambda: "s3://bucket/people.parquet","refused","."),fr("a number",lambda: 5,"refused","."),
 fr("two dimensions",lambda: FRAME.select("age","pay").to_numpy(),"refused","."),
 fr("polars decimals",lambda: FRAME.with_columns(pl.col("pay").cast(pl.Decimal(10,2)))),fr("polars 128",lambda: FRAME.with_columns(pl.col("age").cast(pl.Int128))),fr("index of two levels",lambda: P.set_index(["city","age"]),"refused|right","."),
 fr("mixed ages",lambda: P.assign(age=[a if i%2 else str(a) for i,a in enumerate(AGE)]),"asked"),fr("None and NaN",lambda: P.assign(age=[None if i%9==0 else float("nan") if i%9==1 else a for i,a in enumerate(AGE)]),truth={"pay":PAY,"age":[None if i%9<2 else a for i,a in enumerate(AGE)]}),fr("pd.NA texts",lambda: P.assign(city=[pd.NA if i%9==0 else c for i,c in enumerate(CITY)]),truth={"pay":PAY,"city":[None if i%9==0 else c for i,c in enumerate(CITY)]}),
 fr("texts nan",lambda: P.assign(city=["nan" if i%9==0 else c for i,c in enumerate(CITY)]),"right",truth={"pay":PAY,"city":["nan" if i%9==0 else c for i,c in enumerate(CITY)]}),fr("Decimal NaN",lambda: P.assign(pay=[__import__("decimal").Decimal("NaN") if i%9==0 else __import__("decimal").Decimal(str(p)) for i,p in enumerate(PAY)]),truth={"age":AGE,"pay":[None if i%9==0 else p for i,p in enumerate(PAY)]}),
 fr("ordered levels",lambda: P.assign(g=pd.Categorical([["lo","mid","hi"][i%3] for i in EVERY],["lo","mid","hi"],ordered=True)),truth={"age":AGE,"g":[["lo","mid","hi"][i%3] for i in EVERY]}),
]

_OPEN = ['Stata half years', 'UTF-16 with a byte too many', 'a mark and cp1252', 'cp1026 of İstanbul', 'cp1252 late', 'cp424 of ירושלים', 'iso-8859-14 of Ŵyr', 'labels of refusals', 'lines then a total', 'measures', 'minutes and seconds with signs', 'sum of squares', 'two marks', 'wide and thin']
_COMES = {"ordinals": ["asked", ""], "lap times": ["right", ""], "equals": ["right", ""], "Irish": ["refused", "holds a date in all records but"], "Thai short, Buddhist": ["asked", ""], "fourteen digits": ["asked", ""], "year, day, month?": ["right", ""], "numbers of a sheet among days": ["asked", ""], "years and months of age": ["right", ""], "one bad byte in UTF-8": ["refused", "the file holds two encodings"], "a mark of UTF-16 before UTF-8": ["refused", "the file holds two encodings"], "escapes of JSON in CSV": ["refused", "letters of the file stand as JSON, addresses or mails write "], "per cents of addresses": ["refused", "letters of the file stand as JSON, addresses or mails write "], "quoted-printable": ["refused", "letters of the file stand as JSON, addresses or mails write "], "question marks for letters": ["refused", "letters of the file may have been lost"], "three times UTF-8": ["refused", "letters of the file were written twice, as UTF"], "sum first": ["asked", ""], "names again every ten": ["right", ""], "names below, too": ["right", ""], "keys above": ["asked", ""], "many keys above": ["asked", ""], "front matter": ["right", ""], "variants": ["refused", "."], "conflict": ["refused", "complete the rows, or check separator and quote"], "comment inside": ["right", ""], "escaped commas": ["refused", "quote fields that hold the separator, or check it"], "reST grid": ["right", ""], "wiki table": ["refused", "the columns are parted by '!!'"], "Jira": ["refused", "complete the rows, or check separator and quote"], "pandas print": ["refused", "the columns are parted by blanks, as those of one width are"], "polars print": ["refused", "the columns are parted by blanks, as those of one width are"], "R print": ["refused", "the columns are parted by blanks, as those of one width are"], "many blanks": ["refused", "the columns are parted by blanks, as those of one width are"], "names with units": ["refused", "."], "SYLK": ["refused", "this is a sheet in SYLK"], "DIF": ["refused", "no column of the schema is in the table, and none of its"], "HL7": ["refused", "no column of the schema is in the table, and none of its"], "FASTA": ["refused", "no column of the schema is in the table, and none of its"], "KML": ["refused", "this is XML, also where its name says"], "a diff": ["refused", "no column of the schema is in the table, and none of its"], "a shebang": ["refused", "no column of the schema is in the table, and none of its"], "Python code": ["refused", "no column of the schema is in the table, and none of its"], "HTTP": ["right", ""], "an error page": ["refused", "this is JSON, but no table"], "Git LFS": ["refused", "this is a pointer of Git LFS"], "separated by blanks": ["refused", "the columns are parted by blanks, as those of one width are"], "returns in cells": ["right", ""], "netCDF": ["refused", "this is a file of arrays"], "Matlab": ["refused", "this is a file of arrays"], "Feather one": ["refused", "this is a Feather file of the first version"], "encrypted Parquet": ["refused", "this Parquet file is encrypted"], "msgpack": ["refused", "the names of the columns cannot be read"], "BSON": ["refused", "no column of the schema is in the table, and none of its"], "cabinet": ["refused", "this is packed in a way that is not read"], "Lotus": ["refused", "this is a sheet of Lotus"], "FITS": ["refused", "this is a file of arrays"], "DICOM": ["refused", "get the table as CSV, Excel or Parquet"], "a film": ["refused", "get the table as CSV, Excel or Parquet"], "a certificate": ["refused", "this is a key, or an encrypted text"], "PGP": ["refused", "this is a key, or an encrypted text"], "SAV cut": ["refused", "the SPSS file is damaged or cut off"], "TTF": ["refused", "the names of the columns cannot be read"], "LZ4": ["refused", "this is packed in a way that is not read"], "snappy": ["refused", "this is packed in a way that is not read"], "empty gzip": ["refused", "it needs a row of column names and records"], "gzip of a workbook": ["refused", "the gzip file holds another packed file, or one of columns"], "an empty zip": ["refused", "this zip archive is empty"], "zip of a zip": ["refused", "the zip file holds another packed file, or one of columns"], "zip with a note": ["right", ""], "Socrata": ["right", ""], "sheets": ["right", ""], "arrays with names": ["right", ""], "BigQuery": ["refused", "values of some keys are of several types"], "Airtable": ["refused", "no column of the schema is in the table, and none of its"], "objects one behind the other": ["right", ""], "boxed": ["refused", "is of type List, which cannot be published"], "records inside": ["right", ""], "a null record": ["refused", "this is JSON, but no table"], "JSON5": ["refused", "this is JSON, but no table"], "a JSON text of text": ["refused", "letters of the file stand as JSON, addresses or mails write "], "a list of numbers": ["refused", "this is JSON, but no table"], "JSON-stat": ["refused", "this is JSON, but no table"], "formulas never counted": ["refused", "cells with a formula that was never calculated, first in row"], "errors": ["right", ""], "two full sheets": ["asked", ""], "a cover": ["asked", ""], "zip format": ["right", ""], "foot": ["asked", ""], "numbers as text by half": ["right", ""], "subtotal inside": ["refused", "holds a number in all records but"], "days as text by half": ["refused", "cells with a date beside"], "columns of two levels": ["refused", "the names of the columns must be text"], "styler": ["refused", "give the path of a CSV or Parquet file, or a polars, pandas "], "groups": ["refused", "give the path of a CSV or Parquet file, or a polars, pandas "], "groups of polars": ["refused", "give the path of a CSV or Parquet file, or a polars, pandas "], "dataclasses": ["refused", "give the path of a CSV or Parquet file, or a polars, pandas "], "named tuples": ["refused", "give the path of a CSV or Parquet file, or a polars, pandas "], "lists without names": ["refused", "give the path of a CSV or Parquet file, or a polars, pandas "], "an open text": ["refused", "give the path of a CSV or Parquet file, or a polars, pandas "], "open bytes": ["refused", "give the path of a CSV or Parquet file, or a polars, pandas "], "an address of the net": ["refused", "this is an address of the web"], "s3": ["refused", "this is an address of a store"], "a number": ["refused", "give the path of a CSV or Parquet file, or a polars, pandas "], "two dimensions": ["refused", "give the path of a CSV or Parquet file, or a polars, pandas "], "index of two levels": ["right", ""], "mixed ages": ["refused", "has values of mixed types"]}
MORE = [
    replace(world, comes=_COMES[world.name][0], says=_COMES[world.name][1]) if world.name in _COMES else world
    for group in G.values() for world in group if world.name not in _OPEN
]
