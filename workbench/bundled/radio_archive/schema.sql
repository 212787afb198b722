CREATE TABLE artist (
    artist_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    "HomeTown" TEXT,
    formed INTEGER,
    member_of INTEGER REFERENCES artist (artist_id)
);

CREATE TABLE host (
    host_id INTEGER PRIMARY KEY,
    full_name TEXT NOT NULL,
    first_on_air TEXT NOT NULL,
    last_on_air TEXT,
    trained_by INTEGER REFERENCES host (host_id)
);

CREATE TABLE programme (
    programme_id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    "group" TEXT NOT NULL,
    weekday INTEGER NOT NULL,
    "Start Time" TEXT NOT NULL,
    minutes INTEGER NOT NULL,
    language TEXT
);

CREATE TABLE programme_host (
    programme_id INTEGER NOT NULL REFERENCES programme (programme_id),
    host_id INTEGER NOT NULL REFERENCES host (host_id),
    role TEXT NOT NULL,
    since TEXT,
    PRIMARY KEY (programme_id, host_id)
);

CREATE TABLE recording (
    recording_id INTEGER PRIMARY KEY,
    artist_id INTEGER NOT NULL REFERENCES artist (artist_id),
    title TEXT NOT NULL,
    "Release Year" INTEGER,
    format TEXT NOT NULL,
    seconds INTEGER,
    bpm TEXT,
    shelf NUMERIC,
    paid REAL
);

CREATE TABLE airplay (
    airplay_id INTEGER PRIMARY KEY,
    programme_id INTEGER NOT NULL REFERENCES programme (programme_id),
    recording_id INTEGER NOT NULL REFERENCES recording (recording_id),
    host_id INTEGER REFERENCES host (host_id),
    aired_at TEXT NOT NULL,
    "Listeners" INTEGER
);

CREATE TABLE request (
    request_id INTEGER PRIMARY KEY,
    recording_id INTEGER NOT NULL REFERENCES recording (recording_id),
    airplay_id INTEGER REFERENCES airplay (airplay_id),
    asked_at TEXT NOT NULL,
    listener TEXT,
    channel TEXT NOT NULL,
    message TEXT
);
