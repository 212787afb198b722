"""Three seasons, club against club on four boards, with the ratings before and the transfers between them.

Fees are whole quarters of a crown and points whole halves, so that sums are exact and equal in any order of addition.
"""

from datetime import date, timedelta

SEASONS = {"2021/22": 2021, "2022/23": 2022, "2023/24": 2023}
CLUBS = {"2021/22": range(1, 9), "2022/23": range(1, 9), "2023/24": (1, 2, 3, 4, 5, 6, 9, 10)}
SQUAD = 6
FIRST_OF_CLUB = {1: 1, 2: 7, 3: 13, 4: 19, 5: 25, 6: 31, 7: 37, 8: 43, 9: 49, 10: 55}  # the club's first six players
STRENGTH = {"GM": 2520, "IM": 2420, "WGM": 2340, "FM": 2290, "WIM": 2230, "WFM": 2090, "": 1960}
START_TIMES = ("10:00", "14:00", "14:00", "18:30")
OPENINGS = ("B90", "B12", "C65", "C42", "D37", "D85", "E60", "A45", "B01", "C00", "D02", "E15", "A10")
WINS = {"1-0": 1.0, "½-½": 0.5, "0-1": 0.0}
REPORTS = (
    "Close match ♟️", "Bus broke down, start 30 min late", "", "Phone rang on board 2 📵", "Decided in the last minute!",
    "Great crowd 👏 at the venue", "Protest by the guests withdrawn",
)  # fmt: skip
CLOCKS = ("2", "5", "9", "12", "12", "31", "47", "4.5", "")
STAGES = ("stage", "Stage", "online")


def generate(tables: dict[str, list[dict]], draw) -> dict[str, list[tuple]]:
    """Rows of squad, rating, fixture, game and transfer, in column order; tables are the hand-written ones."""
    ratings = _ratings(tables, draw)
    squads, transfers = _squads_and_transfers(draw)
    fixtures = _fixtures(draw)
    games = _games(fixtures, squads, ratings, draw)
    return {"squad": squads, "rating": ratings, "fixture": fixtures, "game": games, "transfer": transfers}


def _ratings(tables, draw) -> list[tuple]:
    """Twice a year; the youngest are listed from the year in which they turn twelve."""
    rows = []
    for player in tables["player"]:
        player_id, born = int(player["player_id"]), int(player["born"][:4] or 1950)
        elo = STRENGTH[player["title"]] - 20 + 5 * draw.whole(0, 12)
        if not player["title"]:
            elo -= 90 * (born > 2004) + 60 * (born < 1960)
        if player_id in (60, 62):
            continue  # registered, never rated
        for year in range(2021, 2025):
            for month in (1, 7):
                elo += draw.whole(-22, 22) + 14 * (born > 2000)
                if year >= born + 12:
                    rows.append((player_id, f"{year}-{month:02d}-01", elo, draw.skewed(range(16))))
    return rows


def _squads_and_transfers(draw) -> tuple[list[tuple], list[tuple]]:
    members = {club: list(range(first, first + SQUAD)) for club, first in FIRST_OF_CLUB.items()}
    squads, transfers = [], []
    for season, year in SEASONS.items():
        if year > 2021:
            transfers += _transfers(members, year, len(transfers), draw)
        for club in CLUBS[season]:
            for order, player in enumerate(sorted(members[club])[:SQUAD], start=1):
                squads.append((season, club, player, order))
    return squads, transfers


def _transfers(members, year, done, draw) -> list[tuple]:
    """Swaps between clubs in summer, both of them paid or free; some leave for good, others come back from abroad."""
    rows = []
    for _ in range(9):
        one, other = draw.pick(range(1, 11)), draw.pick(range(1, 11))
        leaver, comer = draw.pick(members[one]), draw.pick(members[other])
        if one == other or any(row[1] in (leaver, comer) for row in rows):
            continue
        for player, old, new in ((leaver, one, other), (comer, other, one)):
            members[old].remove(player)
            members[new].append(player)
            fee = draw.skewed(range(41)) * 12.25 if draw.chance(0.6) else None
            agreed_on = draw.day(f"{year}-06-01", f"{year}-08-31")
            rows.append((done + len(rows) + 1, player, old, new, agreed_on, fee))
    for player, old, new in ((60, None, draw.whole(1, 6)), (61 if year == 2023 else 62, None, 10)):
        rows.append((done + len(rows) + 1, player, old, new, draw.day(f"{year}-06-01", f"{year}-08-31"), 0.0))
    leaver = draw.whole(49, 54)
    rows.append(
        (done + len(rows) + 1, leaver, next(c for c, m in members.items() if leaver in m), None, f"{year}-12-31", None)
    )
    return rows


def _fixtures(draw) -> list[tuple]:
    """Everyone against everyone once: one stays, the others turn around."""
    rows = []
    for season, year in SEASONS.items():
        clubs = list(CLUBS[season])
        day = date(year, 10, 2) + timedelta(days=draw.whole(0, 6))
        for number in range(1, 8):
            for a, b in zip(clubs[:4], reversed(clubs[4:]), strict=True):
                home, away = (a, b) if draw.chance(0.5) else (b, a)
                starts_at = f"{(day + timedelta(days=draw.pick((0, 0, 0, 1)))).isoformat()} {draw.pick(START_TIMES)}"
                spectators = 5 * draw.skewed(range(2, 40)) if draw.chance(0.85) else None
                report = draw.pick(REPORTS) if draw.chance(0.35) else None
                rows.append((len(rows) + 1, season, number, home, away, starts_at, spectators, report))
            clubs = [clubs[0], clubs[-1], *clubs[1:-1]]
            day += timedelta(days=draw.pick((14, 21, 28)))
    return rows


def _games(fixtures, squads, ratings, draw) -> list[tuple]:
    rows = []
    for fixture_id, season, _, home, away, starts_at, _, _ in fixtures:
        list_day = f"{starts_at[:4]}-{'01' if starts_at[5:7] < '07' else '07'}-01"
        elo = {player: points for player, listed_on, points, _ in ratings if listed_on == list_day}
        teams = []
        for club in (home, away):
            team = [player for year, its, player, _ in squads if (year, its) == (season, club)]
            while len(team) > 4:
                team.remove(draw.pick(team))
            teams.append(team)
        for board, (host, guest) in enumerate(zip(*teams, strict=True), start=1):
            white, black = (guest, host) if board % 2 else (host, guest)
            result = _result(elo.get(white, 1800) - elo.get(black, 1800), draw)
            moves = (draw.whole(12, 45) if result == "½-½" else draw.whole(18, 88)) if result in WINS else None
            opening = draw.skewed(OPENINGS) if moves and draw.chance(0.94) else None
            clock = draw.pick(CLOCKS) if moves and draw.chance(0.7) else None
            table = draw.pick(STAGES) if draw.chance(0.1) else board + 4 * (fixture_id % 2)
            rows.append((fixture_id, board, white, black, result, moves, opening, clock, table))
    return rows


def _result(ahead: int, draw) -> str | None:
    """From White's rating advantage; a few games are lost by default or were never played."""
    if draw.chance(0.04):
        return draw.pick(("+/-", "-/+", None))
    chance = min(max(500 + 35 + ahead, 60), 940)  # of 1000, for White
    drawn = 300 if abs(ahead) < 200 else 160
    roll = draw.whole(1, 1000)
    if roll <= drawn:
        return "½-½"
    return "1-0" if (roll - drawn) * 1000 <= chance * (1000 - drawn) else "0-1"
