"""Plants in the beds that suit their family, and six years of what the gardeners saw on them."""

from datetime import date, timedelta

# family: beds its plants stand in; families with trunks have their girth measured
HOMES = {
    "Sapindaceae": (10, 10, 11, 16), "Rosaceae": (15, 15, 14, 17), "Fagaceae": (8, 8, 8, 16), "Liliaceae": (14, 5, 13),
    "Orchidaceae": (3, 3, 3, 13), "Ericaceae": (7, 7, 6), "Cactaceae": (2,), "Pinaceae": (9, 9, 9, 16),
    "Asteraceae": (17, 14, 5, 6), "Cupressaceae": (9, 11), "Droseraceae": (13, 13, 4), "Cycadaceae": (1,),
    "Asphodelaceae": (2, 17, 1), "Nymphaeaceae": (12,),
}  # fmt: skip
TREES = {"Sapindaceae", "Fagaceae", "Pinaceae", "Cupressaceae"}
WANTED = {"Tulipa sprengeri", "Abies nebrodensis", "Cycas rumphii"}  # on the wish list: the garden has none
ORIGINS = ("seed", "seed", "seed", "cutting", "cutting", "exchange", "gift", "wild")
PLANTING_DAYS = ("03-16", "04-05", "04-20", "10-04", "10-19", "11-08")
MONTHS = {"bud": (2, 3, 3, 4), "flower": (3, 4, 5, 5, 6, 6, 7, 8), "fruit": (7, 8, 9, 9, 10), "leaf fall": (10, 11)}
STAGES = ("bud", "flower", "flower", "flower", "fruit", "leaf fall")
NOTES = (
    "🌸 full bloom", "bees 🐝 all over it", "aphids, again", "late frost ❄️, tips brown", "étiquette lost",
    "smells of vanilla", "shown to the school class", "needs staking",
)  # fmt: skip


def generate(tables: dict[str, list[dict]], draw) -> dict[str, list[tuple]]:
    """Rows of plant and observation, in column order; tables are the hand-written ones, draw is `Seeded`."""
    plants = _plants(tables, draw)
    return {"plant": plants, "observation": _observations(tables, plants, draw)}


def _plants(tables, draw) -> list[tuple]:
    families = {family["family_id"]: family["name"] for family in tables["family"]}
    opened = {int(bed["bed_id"]): int(bed["opened"][:4]) for bed in tables["bed"]}
    grown = [species for species in tables["species"] if species["latin_name"] not in WANTED]
    rows = []
    while len(rows) < 620:
        species = draw.pick(grown)
        family = families[species["family_id"]]
        bed = draw.pick(HOMES[family])
        year = draw.whole(max(opened[bed] + 1, 1950), 2024) if draw.chance(0.5) else draw.whole(2013, 2024)
        planted_on = f"{year}-{draw.pick(PLANTING_DAYS)}" if draw.chance(0.95) else None
        girth = _girth(2025 - year, draw) if family in TREES else None
        in_nursery = year >= 2022 and draw.chance(0.3)
        row = (int(species["species_id"]), None if in_nursery else bed, planted_on, draw.pick(ORIGINS), girth)
        rows.append((len(rows) + 1, *row))
    return rows


def _girth(age: int, draw) -> str | None:
    """As people write it down: mostly a bare number, at times with the unit, blank, or not at all."""
    centimetres = 4 + age * draw.whole(8, 32) // 10
    if draw.chance(0.1):
        return draw.pick(("", None))
    return f"{centimetres} cm" if draw.chance(0.12) else str(centimetres)


def _observations(tables, plants, draw) -> list[tuple]:
    rows = []
    while len(rows) < 1250:
        plant = draw.pick(plants)
        stage = draw.pick(STAGES)
        month = draw.pick(MONTHS[stage])
        seen_on = (date(draw.whole(2019, 2024), month, 1) + timedelta(days=draw.whole(0, 27))).isoformat()
        if plant[3] and plant[3] > seen_on:
            continue
        on_duty = [
            int(person["gardener_id"])
            for person in tables["gardener"]
            if person["joined_on"] <= seen_on and (person["left_on"] or "9999") >= seen_on
        ]
        note = draw.pick(NOTES) if draw.chance(0.15) else None
        row = (plant[0], draw.pick(on_duty), seen_on, stage, note)
        for _ in range(2 if draw.chance(0.02) else 1):  # the same sighting is entered twice now and then
            rows.append((len(rows) + 1, *row))
    return rows
