"""Members of the library, what they borrow and bring to be mended, and the invoices that follow.

Prices, deposits and amounts are whole quarters, so that sums are exact on any engine.
"""

from datetime import date, timedelta

FIRST_NAMES = (
    "Anna", "Anton", "Aylin", "Béla", "Clara", "Cem", "Dana", "Đorđe", "Eva", "Fatou", "Finn", "Giulia", "Hélène", "Ida",
    "Jakub", "Kofi", "Lea", "Mehmet", "Nora", "Óscar", "Pia", "Quentin", "Ruth", "Stanisław", "Tilda", "Uwe", "Vera", "Yui",
)  # fmt: skip
LAST_NAMES = (
    "Albrecht", "Bartoš", "Conte", "D'Angelo", "Eriksen", "Fuchs", "García", "Horváth", "Ivanova", "Jansen", "Kaya",
    "Lindner", "Mensah", "Novák", "Öztürk", "Peeters", "Ruiz", "Schäfer", "Traoré", "von Stein", "Weiß", "Zając",
)  # fmt: skip
DISTRICTS = ("Old Town", "Old Town", "Riverside", "Riverside", "Mühlenviertel", "St. Anna", "New Docks", "Hilltop")
KINDS = ("standard", "standard", "standard", "reduced", "reduced", "family", "association")
# kind of thing: what is wrong with it, parts that go into it
FAULTS = {
    "electric": (
        "does not turn on",
        "does not turn on",
        "loose cable",
        "Loose cable",
        "smells burnt 🔥",
        "blows the fuse",
    ),
    "machine": ("does not turn on", "loose cable", "no power", "  makes a strange noise ", "smells burnt 🔥", "leaks"),
    "bicycle": ("flat tyre", "flat tyre", "squeaks", "brakes too late"),
    "cloth": ("torn seam", "torn seam", "broken zip", "moth holes"),
    "plain": ("squeaks", "loose joint", "no idea", "dropped it"),
}
PARTS = {
    "electric": (11, 8, 9, 10, 12, 22, 23), "machine": (1, 2, 3, 14, 15, 4, 16, 13, 17), "bicycle": (20, 21, 13, 7, 5),
    "cloth": (18, 19), "plain": (5, 6, 7),
}  # fmt: skip
ITEMS = {
    "toaster": "electric", "floor lamp": "electric", "bicycle": "bicycle", "radio": "electric", "kettle": "electric",
    "vacuum cleaner": "electric", "Kettle": "electric", "jacket": "cloth", "jeans": "cloth", "chair": "plain",
    "hair dryer": "electric", "music box": "plain", "teddy bear 🧸": "cloth", "mixer": "electric", "clock": "plain",
    "laptop": "electric", "umbrella": "plain", "cargo bike": "bicycle",
}  # fmt: skip
HAND_TOOLS = {"5", "6", "7", "14", "21", "22"}  # categories whose tools have no motor
OUTCOMES = ("fixed", "fixed", "fixed", "fixed", "partly fixed", "beyond repair", "needs a part")
ORDERS = ("PO-114", "PO-115", "po-114", "", None, None, None, None, None)
NEVER_LENT = {"13", "22", "49", "58"}  # tools that nobody has asked for yet
NEW_MEMBERS = 12  # the last ones have joined and not borrowed yet


def generate(tables: dict[str, list[dict]], draw) -> dict[str, list[tuple]]:
    """Rows of member, loan, repair, repair_part and invoice, in column order; tables are the hand-written ones."""
    members = _members(draw)
    loans = _loans(tables, members, draw)
    repairs = _repairs(tables, members, draw)
    used = _used_parts(tables["tool"], repairs, draw)
    invoices = _invoices(tables, members, repairs, used, draw)
    return {"member": members, "loan": loans, "repair": repairs, "repair_part": used, "invoice": invoices}


def _members(draw) -> list[tuple]:
    days = sorted(draw.day("2016-01-04", "2024-10-31") for _ in range(150))
    rows = []
    for joined_on in days:
        name = f"{draw.pick(FIRST_NAMES)} {draw.pick(LAST_NAMES)}"
        district = draw.pick(DISTRICTS) if draw.chance(0.92) else None
        phone = f"0{draw.whole(30, 89)} {draw.whole(100000, 999999)}" if draw.chance(0.7) else draw.pick(("", None))
        recruiter = draw.skewed(rows)[0] if rows and draw.chance(0.3) else None
        rows.append((len(rows) + 1, name, joined_on, draw.pick(KINDS), district, phone, recruiter))
    return rows


def _loans(tables, members, draw) -> list[tuple]:
    lent = [tool for tool in tables["tool"] if tool["tool_id"] not in NEVER_LENT]
    borrowers = members[:-NEW_MEMBERS]
    free_from = dict.fromkeys((tool["tool_id"] for tool in lent), "2022-01-01")
    days = sorted(draw.day("2022-01-03", "2024-12-14") for _ in range(1100))
    rows = []
    for day in days:
        tool, member = draw.pick(lent), draw.skewed(borrowers)
        if free_from[tool["tool_id"]] > day or (tool["bought_on"] or "") >= day or member[2] > day:
            continue
        out = date.fromisoformat(day)
        due = out + timedelta(days=draw.pick((3, 7, 7, 14)))
        back = due + timedelta(days=draw.whole(-3, 0) if draw.chance(0.75) else draw.skewed(range(1, 40)))
        back = max(back, out + timedelta(days=1))
        is_back = back.isoformat() <= "2024-12-20" and not draw.chance(0.012)
        returned_at = f"{back.isoformat()} {draw.pick(('09:30', '12:15', '17:05', '18:40'))}" if is_back else None
        out_at = f"{day} {draw.pick(('09:15', '10:40', '16:30', '18:05', '18:55'))}"
        deposit = int(float(tool["price"] or 40) * 4) // 5 / 4
        free_from[tool["tool_id"]] = (back if is_back else due + timedelta(days=90)).isoformat()
        rows.append((len(rows) + 1, int(tool["tool_id"]), member[0], out_at, due.isoformat(), returned_at, deposit))
    return rows


def _repairs(tables, members, draw) -> list[tuple]:
    mendable = [tool for tool in tables["tool"] if tool["condition"] in ("worn", "good", "in repair")]
    days = sorted(draw.day("2022-01-10", "2024-12-13") for _ in range(270))
    rows = []
    while len(rows) < len(days):
        came_in = days[len(rows)]
        own = [member for member in members if member[2] <= came_in]
        tool = draw.pick(mendable) if draw.chance(0.25) else None
        if tool and (tool["bought_on"] or "") > came_in:
            continue
        member = None if tool or draw.chance(0.06) else draw.pick(own)[0]
        item = tool["name"] if tool else draw.skewed(list(ITEMS))
        kind = ITEMS.get(item) or ("plain" if tool["category_id"] in HAND_TOOLS else "machine")
        fault = draw.pick(FAULTS[kind]) if draw.chance(0.9) else None
        finished = date.fromisoformat(came_in) + timedelta(days=draw.skewed((0, 0, 1, 2, 4, 7, 7, 14, 21, 28, 35, 60)))
        is_done = finished.isoformat() <= "2024-12-20" and not draw.chance(0.05)
        outcome = draw.pick(OUTCOMES) if is_done else None
        minutes = 5 * draw.skewed(range(2, 37)) if is_done and draw.chance(0.93) else None
        finished_on = finished.isoformat() if is_done else None
        tool_id = int(tool["tool_id"]) if tool else None
        rows.append((len(rows) + 1, member, tool_id, item, fault, came_in, finished_on, outcome, minutes))
    return rows


def _used_parts(tools, repairs, draw) -> list[tuple]:
    hand_tools = {tool["name"] for tool in tools if tool["category_id"] in HAND_TOOLS}
    rows = []
    for repair_id, _, _, item, _, _, _, outcome, _ in repairs:
        kind = ITEMS.get(item) or ("plain" if item in hand_tools else "machine")
        needed = {}
        for _ in range(draw.pick((0, 1, 1, 1, 2, 3)) if outcome in ("fixed", "partly fixed") else 0):
            needed[draw.skewed(PARTS[kind])] = draw.pick((1, 1, 1, 2, 2, 4))
        rows += [(repair_id, part_id, quantity) for part_id, quantity in sorted(needed.items())]
    return rows


def _invoices(tables, members, repairs, used, draw) -> list[tuple]:
    prices = {int(part["part_id"]): float(part["unit_price"]) for part in tables["part"]}
    fees = {"standard": 36, "reduced": 18, "family": 54, "association": 120}
    drafts = []
    for member in members:
        for year in range(max(2023, int(member[2][:4])), 2025):
            issued_on = f"{year}{member[2][4:]}".replace("02-29", "02-28")
            drafts.append((member[0], None, issued_on, float(fees[member[3]])))
    for repair in repairs:
        parts = sum(prices[part_id] * quantity for repair_id, part_id, quantity in used if repair_id == repair[0])
        if repair[1] and repair[6] and parts:
            drafts.append((repair[1], repair[0], repair[6], parts + draw.pick((0, 0, 2.5, 5))))
    rows = []
    drafts.sort(key=lambda draft: (draft[2], draft[0], draft[1] or 0))
    for member_id, repair_id, issued_on, amount in drafts:
        paid = (date.fromisoformat(issued_on) + timedelta(days=draw.skewed(range(60)))).isoformat()
        paid_on = paid if paid <= "2024-12-20" and not draw.chance(0.07) else None
        for _ in range(2 if draw.chance(0.015) else 1):  # some were sent out twice
            rows.append((len(rows) + 1, member_id, repair_id, issued_on, amount, draw.pick(ORDERS), paid_on))
    return rows
