"""A year of sailings and the people who book them, drawn from the hand-written harbours, vessels and routes.

Prices are whole quarters of a crown, so that sums are exact and equal in any order of addition on any engine.
"""

from datetime import date, timedelta

FIRST_DAY, DAYS = date(2023, 5, 1), 366
DEPARTURES = ("06:40", "08:15", "11:00", "14:30", "17:45", "20:10")
# route: share of days with a sailing, the regular vessel, its reserve
SERVICE = {
    1: (0.24, 9, 7), 2: (0.24, 9, 7), 3: (0.18, 7, 2), 4: (0.18, 7, 2), 5: (0.2, 4, 2), 6: (0.2, 4, 2),
    7: (0.15, 5, 3), 8: (0.15, 5, 3), 9: (0.3, 3, 5), 10: (0.3, 3, 5), 11: (0.13, 8, 1), 12: (0.13, 6, 4),
    13: (0.13, 6, 4), 14: (0.22, 5, 3), 15: (0.12, 9, 2), 16: (0.18, 8, 6),
}  # fmt: skip
LOGS = (
    "dolphins 🐬 off the bow", "calm sea", "swell from the west, two seasick", "🐬🐬 all the way to the sound",
    "fog signal ⚓ tested", "naïve tourists fed the gulls", "engine note changed, see log book", "rainbow 🌈 over Måsö",
)  # fmt: skip
REASONS = ("storm", "storm", "storm", "fog", "engine trouble", None)
FIRST_NAMES = (
    "Ada", "Ágnes", "Ben", "Björn", "Chloé", "Daniel", "Elif", "Émile", "Freya", "Goran", "Hugo", "Inês", "Jan", "Kaja",
    "Liam", "Łukasz", "Maja", "Nils", "Olga", "Piet", "Rosa", "Søren", "Tove", "Zoë",
)  # fmt: skip
LAST_NAMES = (
    "Aaltonen", "Berg", "Brandt", "Costa", "Dahl", "Duarte", "Ekström", "Fisher", "Gagnon", "Hale", "Ibsen", "Jónsson",
    "Keller", "Lund", "Marsh", "Müller", "Nowak", "O'Shea", "Petit", "Quist", "Rowe", "Šimić", "Thorne", "van der Meer",
)  # fmt: skip
CHANNELS = ("web", "web", "web", "app", "app", "kiosk", "phone")
TICKETS = ("adult", "adult", "adult", "child", "senior", "islander", "car", "car")
FARE_QUARTERS = {"adult": 4, "child": 2, "senior": 3, "islander": 1, "car": 9}  # quarters of the adult fare
VEHICLE_LENGTHS = ("4", "4.5", "4.5", "5", "5", "6.5", "7", "9.5", "11", "12", "18")


def generate(tables: dict[str, list[dict]], draw) -> dict[str, list[tuple]]:
    """Rows of sailing, passenger and booking, in column order; tables are the hand-written ones, draw is `Seeded`."""
    sailings = _sailings(tables, draw)
    passengers = _passengers(tables, draw)
    return {"sailing": sailings, "passenger": passengers, "booking": _bookings(tables, sailings, passengers, draw)}


def _sailings(tables, draw) -> list[tuple]:
    rows = []
    retired = {int(vessel["vessel_id"]): vessel["retired_on"] for vessel in tables["vessel"]}
    for offset in range(DAYS):
        day = FIRST_DAY + timedelta(days=offset)
        is_summer = 5 <= day.month <= 9
        for route in tables["route"]:
            route_id, season = int(route["route_id"]), route["season"]
            share, regular, reserve = SERVICE[route_id]
            if (season != "all year" and (season == "summer") != is_summer) or not draw.chance(share):
                continue
            vessel = regular if draw.chance(0.8) else reserve
            if retired[vessel] and day.isoformat() > retired[vessel]:
                vessel = regular
            departs_at = f"{day.isoformat()} {draw.pick(DEPARTURES)}"
            if draw.chance(0.03 if is_summer else 0.14):
                reason = draw.pick(REASONS)
                rows.append((len(rows) + 1, route_id, vessel, departs_at, "cancelled", None, reason))
                continue
            delay = 0 if draw.chance(0.55) else 5 * draw.skewed(range(1, 20))
            log = draw.pick(LOGS) if draw.chance(0.12) else None
            rows.append((len(rows) + 1, route_id, vessel, departs_at, "sailed", delay, log))
    return rows


def _passengers(tables, draw) -> list[tuple]:
    inhabited = [int(harbour["harbour_id"]) for harbour in tables["harbour"] if harbour["residents"]]
    rows = []
    for passenger_id in range(1, 221):
        first, last = draw.pick(FIRST_NAMES), draw.pick(LAST_NAMES)
        born = draw.day("1938-01-01", "2006-12-31") if draw.chance(0.93) else None
        home = draw.skewed(inhabited) if draw.chance(0.8) else None
        email = f"passenger{passenger_id}@mail.example" if draw.chance(0.75) else None
        rows.append((passenger_id, f"{first} {last}", born, home, email))
    return rows


def _bookings(tables, sailings, passengers, draw) -> list[tuple]:
    ramps = {harbour["harbour_id"] for harbour in tables["harbour"] if harbour["has_car_ramp"] == "1"}
    carries_cars = {int(vessel["vessel_id"]) for vessel in tables["vessel"] if vessel["CarCapacity"]}
    routes = {int(route["route_id"]): route for route in tables["route"]}
    regulars = passengers[:205]  # the last ones have an account and have not travelled yet
    rows = []
    while len(rows) < 1300:
        sailing_id, route_id, vessel, departs_at = draw.pick(sailings)[:4]
        passenger_id, _, _, home, _ = draw.pick(regulars)
        route = routes[route_id]
        ticket = draw.pick(TICKETS)
        if ticket == "islander" and home is None:
            ticket = "adult"
        if ticket == "car" and not (vessel in carries_cars and {route["from"], route["to"]} <= ramps):
            ticket = "adult"
        persons = draw.skewed((1, 2, 3, 4, 5))
        length = draw.skewed(VEHICLE_LENGTHS) if ticket == "car" else None
        adult_fare = (int(route["Crossing Minutes"]) * 6 + 5) // 10  # in quarters of a crown
        quarters = adult_fare * FARE_QUARTERS[ticket] // 4 * (1 if length else persons)
        booked_on = date.fromisoformat(departs_at[:10]) - timedelta(days=draw.skewed(range(45)))
        row = (
            sailing_id,
            passenger_id,
            booked_on.isoformat(),
            draw.pick(CHANNELS),
            ticket,
            persons,
            quarters / 4,
            length,
        )
        for _ in range(2 if draw.chance(0.02) else 1):  # a few people press the button twice
            rows.append((len(rows) + 1, *row))
    return rows
