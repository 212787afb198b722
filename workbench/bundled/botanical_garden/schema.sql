CREATE TABLE family (
    family_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    "EnglishName" TEXT
);

CREATE TABLE species (
    species_id INTEGER PRIMARY KEY,
    family_id INTEGER NOT NULL REFERENCES family (family_id),
    latin_name TEXT NOT NULL,
    english_name TEXT,
    native_to TEXT NOT NULL,
    "Max Height" REAL,
    is_endangered INTEGER NOT NULL
);

CREATE TABLE bed (
    bed_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    section TEXT NOT NULL,
    "order" INTEGER,
    area REAL NOT NULL,
    opened TEXT NOT NULL
);

CREATE TABLE gardener (
    gardener_id INTEGER PRIMARY KEY,
    full_name TEXT NOT NULL,
    joined_on TEXT NOT NULL,
    left_on TEXT,
    mentor_id INTEGER REFERENCES gardener (gardener_id)
);

CREATE TABLE plant (
    plant_id INTEGER PRIMARY KEY,
    species_id INTEGER NOT NULL REFERENCES species (species_id),
    bed_id INTEGER REFERENCES bed (bed_id),
    planted_on TEXT,
    origin TEXT NOT NULL,
    girth TEXT
);

CREATE TABLE observation (
    observation_id INTEGER PRIMARY KEY,
    plant_id INTEGER NOT NULL REFERENCES plant (plant_id),
    gardener_id INTEGER NOT NULL REFERENCES gardener (gardener_id),
    seen_on TEXT NOT NULL,
    "Stage" TEXT NOT NULL,
    note TEXT
);
