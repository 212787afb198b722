CREATE TABLE club (
    club_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    town TEXT NOT NULL,
    founded INTEGER,
    "Home Venue" TEXT,
    parent_id INTEGER REFERENCES club (club_id)
);

CREATE TABLE player (
    player_id INTEGER PRIMARY KEY,
    "FullName" TEXT NOT NULL,
    title TEXT,
    born TEXT,
    nation TEXT,
    coach_id INTEGER REFERENCES player (player_id)
);

CREATE TABLE squad (
    season TEXT NOT NULL,
    club_id INTEGER NOT NULL REFERENCES club (club_id),
    player_id INTEGER NOT NULL REFERENCES player (player_id),
    "Board Order" INTEGER NOT NULL,
    PRIMARY KEY (season, club_id, player_id)
);

CREATE TABLE rating (
    player_id INTEGER NOT NULL REFERENCES player (player_id),
    listed_on TEXT NOT NULL,
    elo INTEGER NOT NULL,
    games INTEGER NOT NULL,
    PRIMARY KEY (player_id, listed_on)
);

CREATE TABLE fixture (
    fixture_id INTEGER PRIMARY KEY,
    season TEXT NOT NULL,
    round INTEGER NOT NULL,
    home_id INTEGER NOT NULL REFERENCES club (club_id),
    away_id INTEGER NOT NULL REFERENCES club (club_id),
    starts_at TEXT NOT NULL,
    spectators INTEGER,
    report TEXT
);

CREATE TABLE game (
    fixture_id INTEGER NOT NULL REFERENCES fixture (fixture_id),
    board INTEGER NOT NULL,
    white_id INTEGER NOT NULL REFERENCES player (player_id),
    black_id INTEGER NOT NULL REFERENCES player (player_id),
    result TEXT,
    moves INTEGER,
    "ECO" TEXT,
    "Clock Left" TEXT,
    "table" NUMERIC,
    PRIMARY KEY (fixture_id, board)
);

CREATE TABLE transfer (
    transfer_id INTEGER PRIMARY KEY,
    player_id INTEGER NOT NULL REFERENCES player (player_id),
    from_club INTEGER REFERENCES club (club_id),
    to_club INTEGER REFERENCES club (club_id),
    agreed_on TEXT NOT NULL,
    fee REAL
);
