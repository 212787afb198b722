"""The archive's recordings, a year of what was played from it, and what listeners asked for.

Prices are whole quarters and all other numbers are whole, so that sums are exact on any engine.
"""

from datetime import date, datetime, timedelta

FIRST_DAY, DAYS = date(2024, 1, 1), 366
TITLES = (
    "Harbour Lights", "Slow Train Home", "La Última Llamada", "Paper Moon Over Leeds", "Rain on Tin", "Mitternacht",
    "The Baker's Daughter", "Tramway 28", "Café Noir", "Wrong Number", "Blue Telephone", "Snow in April", "Nobody's Dog",
    "Sunday, Almost", "Ferris Wheel", "Tänk på mig", "The Long Way Down", "Copper Kettle", "Mwana Mboka", "Red Umbrella",
    "Gece Vapuru", "Static", "Hymn for a Fridge", "Left Luggage", "Øde strand", "Kleine Lüge", "Saudade de Domingo",
    "Lighthouse Waltz", "Two Left Shoes", "Ode to the Bus Driver", "Ghost Signal", "Postcard from Nowhere", "Sugar & Salt",
    "Don't Tell the Moon", "Last Orders", "The Cat Came Back Late", "Under the Viaduct", "Hôtel du Nord", "Winter Coat",
    "Bicycle Song", "Elevator Music", "Yesterday's Papers", "Kitchen Radio", "Salt Marsh", "Interlude", "Interlude No. 2",
    "Love Song (Demo)", "LOVE SONG", "Untitled", "Dance of the Umbrellas ☂️",
)  # fmt: skip
FORMATS = ("LP", "LP", "LP", "single", "single", "CD", "CD", "tape", "file")
FIRST_YEARS = {"LP": 1958, "single": 1958, "CD": 1985, "tape": 1970, "file": 2003}
TEMPOS = ("64", "72", "72", "84", "88", "96", "98.5", "104", "112", "120", "120", "128", "132.5", "140")
# programme: formats it plays, tracks in an edition, share of editions whose log was kept, usual number of listeners
TASTES = {
    1: (("CD", "file", "single"), 4, 0.9, 900), 2: (("LP", "single"), 5, 0.85, 420), 3: (("file",), 1, 0.6, 610),
    4: (("LP", "CD", "file"), 4, 0.7, 350), 5: (("LP", "tape", "file"), 4, 0.8, 120), 6: (("CD", "single"), 3, 0.8, 260),
    7: (("file",), 2, 0.5, 90), 8: (("tape", "single", "LP"), 4, 0.8, 380), 9: (("CD", "LP"), 3, 0.75, 180),
    10: (("CD", "tape"), 2, 0.8, 440), 11: (("LP", "CD"), 3, 0.7, 330), 12: (("tape",), 1, 0.5, 150),
}  # fmt: skip
LISTENERS = (
    "Mrs Abernathy", "Żaneta", "Old Pete", "the Kowalskis", "Sam from the bakery", "Émilie", "Dr. Voss", "Bus Driver Ray",
    "Chloe", "chloe", "Ward 7", "Fernando", "Gran Hughes", "Nils & Tuva", "Ayşe", "M. Okonkwo", "Lena", "Class 4b",
)  # fmt: skip
MESSAGES = (
    "for my mum's 80th 🎂", "please, please, please", "we danced to this in 1985", "not the live one!", "¡gracias!",
    "🎸🎸🎸", "for everyone on the night shift", "Is this still in the archive?", "play it LOUD", "for the cat 🐈",
)  # fmt: skip
CHANNELS = ("phone", "phone", "web", "web", "web", "postcard", "voice message")


def generate(tables: dict[str, list[dict]], draw) -> dict[str, list[tuple]]:
    """Rows of recording, airplay and request, in column order; tables are the hand-written ones, draw is `Seeded`."""
    recordings = _recordings(tables, draw)
    airplays = _airplays(tables, recordings, draw)
    return {"recording": recordings, "airplay": airplays, "request": _requests(recordings, airplays, draw)}


def _recordings(tables, draw) -> list[tuple]:
    rows, taken = [], set()
    while len(rows) < 260:
        artist, title, medium = draw.skewed(tables["artist"][:35]), draw.pick(TITLES), draw.pick(FORMATS)
        if (artist["artist_id"], title, medium) in taken:
            continue
        taken.add((artist["artist_id"], title, medium))
        first = max(FIRST_YEARS[medium], int(artist["formed"] or 1975))
        year = min(2023, first + draw.skewed(range(25))) if draw.chance(0.93) else None
        seconds = 5 * draw.whole(22, 84) if draw.chance(0.96) else None
        tempo = draw.pick(TEMPOS) if draw.chance(0.7) else draw.pick(("", None))
        paid = draw.whole(2, 96) / 4 if draw.chance(0.65) else None
        rows.append((len(rows) + 1, int(artist["artist_id"]), title, year, medium, seconds, tempo, _shelf(draw), paid))
    return rows


def _shelf(draw) -> int | str | None:
    """Numbered shelves in the hall, lettered ones in the attic, and places that have a name."""
    if draw.chance(0.7):
        return draw.whole(1, 24)
    return draw.pick(("A1", "A2", "A10", "B3", "cellar", "studio 2", None))


def _airplays(tables, recordings, draw) -> list[tuple]:
    presenters = {}
    for link in tables["programme_host"]:
        if link["role"] == "presenter":
            presenters.setdefault(link["programme_id"], []).append(int(link["host_id"]))
    last_days = {int(host["host_id"]): host["last_on_air"] or "9999" for host in tables["host"]}
    on_air = recordings[:235]  # the last ones came in and have not been played yet
    rows = []
    for offset in range(DAYS):
        day = FIRST_DAY + timedelta(days=offset)
        for programme in tables["programme"]:
            taste = TASTES.get(int(programme["programme_id"]))
            if taste is None or int(programme["weekday"]) != day.isoweekday() % 7 or not draw.chance(taste[2]):
                continue
            formats, tracks, _, usual = taste
            hosts = [h for h in presenters.get(programme["programme_id"], []) if last_days[h] >= day.isoformat()]
            host = draw.pick(hosts) if hosts and draw.chance(0.94) else None
            clock = datetime.fromisoformat(f"{day.isoformat()} {programme['Start Time']}:00")
            for _ in range(draw.whole(1, tracks)):
                clock += timedelta(seconds=draw.whole(200, int(programme["minutes"]) * 50 // tracks))
                recording = None
                while recording is None or recording[4] not in formats:
                    recording = draw.skewed(on_air) if draw.chance(0.3) else draw.pick(on_air)
                listeners = usual * draw.whole(60, 140) // 100 // 5 * 5 if draw.chance(0.9) else None
                aired_at = clock.isoformat(sep=" ")
                rows.append((len(rows) + 1, int(programme["programme_id"]), recording[0], host, aired_at, listeners))
    return rows


def _requests(recordings, airplays, draw) -> list[tuple]:
    rows = []
    while len(rows) < 380:
        recording_id = (draw.skewed(recordings) if draw.chance(0.4) else draw.pick(recordings))[0]
        clock = f"{draw.whole(7, 23):02d}:{draw.pick(('00', '05', '15', '20', '40', '50'))}"
        asked_at = f"{draw.day('2024-01-01', '2024-12-20')} {clock}"
        answer = None
        for airplay in airplays:
            if airplay[2] == recording_id and asked_at < airplay[4]:
                answer = airplay[0] if draw.chance(0.6) else None
                break
        listener = draw.pick(LISTENERS) if draw.chance(0.85) else None
        message = draw.pick(MESSAGES) if draw.chance(0.5) else draw.pick(("", None))
        row = (recording_id, answer, asked_at, listener, draw.pick(CHANNELS), message)
        for _ in range(2 if draw.chance(0.03) else 1):  # some send the form twice
            rows.append((len(rows) + 1, *row))
    return rows
