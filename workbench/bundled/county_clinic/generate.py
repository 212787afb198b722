"""Two years of visits, who looked after them, the samples that were taken and what the laboratory found.

Measured values are whole quarters of their unit, so that sums are exact and equal in any order of addition.
"""

from datetime import datetime, timedelta

FIRST_NAMES = {
    "f": ("Ada", "Agnès", "Beatriz", "Claire", "Dörte", "Edith", "Fatima", "Greta", "Ida", "Jana", "Maeve", "Zofia"),
    "m": ("Alan", "Bruno", "Cem", "Dario", "Emil", "François", "Georg", "Håkon", "Ivo", "José", "Karl", "Wen"),
}  # fmt: skip
LAST_NAMES = (
    "Abbott", "Baum", "Castel", "D'Arcy", "Engström", "Fay", "Gruber", "Hollis", "Ilves", "Jansen", "Kovač", "Lamb",
    "McKay", "Núñez", "Otte", "Pryce", "Quayle", "Rossi", "Szabó", "Tan", "Usher", "Voss", "Wójcik", "Young",
)  # fmt: skip
TOWNS = ("Alderbrook", "Alderbrook", "Nether Hollow", "St. Orla", "Köpping", "Vale-on-Tarn", "alderbrook", "Marsh End")
PHONES = ("0417", "0417", "0418", "0570")
# ward: reasons people come with, as the front desk types them
REASONS = {
    1: ("Fall", "Chest pain", "Burn", "fever 🤒", "Headache", "Fall", None),
    2: ("Chest pain", "Fever 🤒", "Weight loss", "Dizziness", " Follow-up"),
    3: ("Appendicitis", "Fracture", "Follow-up", "Hernia"),
    4: ("Fever 🤒", "Cough", "Sore throat", "Check-up", ""),
    5: ("Birth 👶", "Check-up", "check-up", "Birth 👶"),
    6: ("Check-up", "CHECK-UP", "Vaccination 💉", "Follow-up", "Sore throat", "Cough", None),
    7: ("Fall", "Dizziness", "Weight loss", "Follow-up"),
    8: ("Check-up", "Itchy eyes", "Follow-up"),
}  # fmt: skip
WARDS = (1, 1, 1, 1, 6, 6, 6, 6, 2, 2, 3, 4, 4, 5, 7, 8)  # the palliative ward has not been opened to patients yet
OVERNIGHT = {2: 9, 3: 7, 5: 4, 7: 14}  # ward: most nights
PANELS = {
    "blood": ((1, 2, 3), (1, 2, 3, 4), (4, 5, 6, 7), (5, 6, 7, 8), (8, 9), (10,), (1, 11), (12,), (4,)),
    "urine": ((13, 14, 15), (13, 14)),
    "swab": ((16,), (17,), (16, 17), (18,)),
}
QUARTERS = {  # test: usual values in quarters of its unit
    1: (40, 68), 2: (12, 52), 3: (440, 1720), 5: (528, 584), 6: (13, 23), 7: (160, 480), 8: (14, 34), 9: (18, 34),
    10: (1, 24), 11: (28, 1240), 12: (80, 380), 15: (20, 32),
}  # fmt: skip
WORDS = {
    13: ("neg", "neg", "neg", "+", "++"), 14: ("neg", "neg", "trace", "+"), 16: ("neg", "neg", "pos"),
    17: ("neg", "neg", "neg", "pos", "invalid"), 18: ("no growth", "no growth", "S. aureus", 1000, 50000, 100000),
}  # fmt: skip
REMARKS = ("haemolysed", "repeat 🔁", "", "taken fasting", "label unreadable, réétiqueté", "Taken Fasting")
VOLUMES = ("2.5", "5", "5", "7.5", "10", "")


def generate(tables: dict[str, list[dict]], draw) -> dict[str, list[tuple]]:
    """Rows of patient, visit, care, sample and result, in column order; tables are the hand-written ones."""
    patients = _patients(draw)
    visits = _visits(patients, draw)
    care = _care(tables, visits, draw)
    samples = _samples(tables, visits, care, draw)
    results = _results(tables, samples, draw)
    return {"patient": patients, "visit": visits, "care": care, "sample": samples, "result": results}


def _patients(draw) -> list[tuple]:
    rows = []
    while len(rows) < 140:
        sex = draw.pick(("f", "m"))
        first, last = draw.pick(FIRST_NAMES[sex]), draw.pick(LAST_NAMES)
        born = draw.day("1932-01-01", "2021-12-31") if draw.chance(0.95) else None
        town = draw.skewed(TOWNS) if draw.chance(0.92) else None
        number = f"{draw.pick(PHONES)} {draw.whole(10000, 99999)}"
        phone = number if draw.chance(0.75) else draw.pick(("", None))
        insurance = f"{draw.whole(120, 29999):07d}" if draw.chance(0.85) else None
        row = (first, last, born, sex if draw.chance(0.96) else None, town, phone, insurance)
        for _ in range(2 if draw.chance(0.03) else 1):  # a few are registered a second time instead of looked up
            rows.append((len(rows) + 1, *row))
    return rows


def _visits(patients, draw) -> list[tuple]:
    arrivals = []
    regulars = patients[:128]  # the last ones are registered and have not come yet
    while len(arrivals) < 300:
        patient_id, ward = draw.skewed(regulars)[0], draw.pick(WARDS)
        born = patients[patient_id - 1][3]
        is_child = born is not None and born > "2008"
        if (ward == 4) != is_child and ward in (2, 3, 4, 5, 7):
            ward = 4 if is_child else 6
        if ward == 5 and patients[patient_id - 1][4] == "m":
            ward = 1
        at = datetime.fromisoformat(draw.day("2023-01-02", "2024-12-30"))
        hour = draw.whole(0, 23) if ward == 1 else draw.whole(7, 15)
        arrivals.append((at + timedelta(hours=hour, minutes=draw.whole(0, 59)), patient_id, ward))
    rows = []
    for at, patient_id, ward in sorted(arrivals):
        nights = draw.whole(1, OVERNIGHT[ward]) if ward in OVERNIGHT else 0
        stay = timedelta(days=nights, minutes=draw.whole(2, 36) * 10)
        left = at + stay if draw.chance(0.95) else None
        triage = draw.pick((1, 2, 3, 3, 4, 4, 5)) if ward == 1 and draw.chance(0.93) else None
        row = (patient_id, ward, str(at), str(left) if left else None, draw.pick(REASONS[ward]), triage)
        rows.append((len(rows) + 1, *row))
    return rows


def _care(tables, visits, draw) -> list[tuple]:
    rows = []
    for visit_id, _, ward, arrived_at, *_ in visits:
        day = arrived_at[:10]
        on_duty = [p for p in tables["staff"] if p["hired_on"] <= day and (p["left_on"] or "9999") >= day]
        for role, share in (("doctor", 0.85), ("nurse", 0.8)):
            able = [p for p in on_duty if p["role"] == role]
            own = [p for p in able if p["ward_id"] == str(ward)]
            if draw.chance(share):
                person = draw.pick(own if own and draw.chance(0.85) else able)
                rows.append((visit_id, int(person["staff_id"]), role))
    return rows


def _samples(tables, visits, care, draw) -> list[tuple]:
    nurses = {}
    for visit_id, staff_id, role in care:
        if role == "nurse":
            nurses[visit_id] = staff_id
    rows = []
    for visit_id, _, ward, arrived_at, _, reason, _ in visits:
        for _ in range(0 if ward == 8 else draw.pick((0, 1, 1, 2))):
            throat = reason in ("Sore throat", "Cough", "Fever 🤒", "fever 🤒")
            kind = "swab" if throat and draw.chance(0.7) else draw.pick(("blood", "blood", "blood", "urine"))
            taken = datetime.fromisoformat(arrived_at) + timedelta(minutes=5 * draw.whole(1, 30))
            volume = draw.pick(VOLUMES) if kind != "swab" else None
            remark = draw.pick(REMARKS) if draw.chance(0.25) else None
            by = nurses.get(visit_id) if draw.chance(0.95) else None
            rows.append((len(rows) + 1, visit_id, kind, str(taken), by, volume, remark))
    return rows


def _results(tables, samples, draw) -> list[tuple]:
    rows = []
    for sample_id, _, kind, taken_at, _, _, remark in samples:
        taken = datetime.fromisoformat(taken_at)
        checkers = [
            int(p["staff_id"])
            for p in tables["staff"]
            if p["role"] == "technician" and p["hired_on"] <= taken_at and (p["left_on"] or "9999") >= taken_at
        ]
        tests = dict.fromkeys(draw.pick(PANELS[kind]))
        if kind == "blood" and draw.chance(0.4):
            tests |= dict.fromkeys(draw.pick(PANELS[kind]))
        for test in tests:
            value = _value(test, remark, draw)
            reported = taken + timedelta(minutes=15 * draw.skewed(range(2, 40)), seconds=draw.whole(0, 59))
            done = value is not None
            checker = draw.pick(checkers) if done and draw.chance(0.92) else None
            rows.append((sample_id, test, value, str(reported) if done else None, checker))
    return rows


def _value(test: int, remark: str | None, draw) -> int | float | str | None:
    """A number where one was measured, a word where there is none to give, nothing while it is still pending."""
    if draw.chance(0.03):
        return None
    if test in WORDS:
        return draw.pick(WORDS[test])
    if test == 6 and (remark == "haemolysed" or draw.chance(0.06)):
        return "haemolysed"
    if test == 4:
        return "<1" if draw.chance(0.3) else draw.skewed(range(4, 480)) / 4
    low, high = QUARTERS[test]
    return draw.whole(low, high) / 4
