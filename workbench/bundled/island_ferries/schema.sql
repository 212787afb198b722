CREATE TABLE harbour (
    harbour_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    island TEXT,
    residents INTEGER,
    has_car_ramp INTEGER NOT NULL
);

CREATE TABLE vessel (
    vessel_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    built INTEGER NOT NULL,
    "PaxCapacity" INTEGER NOT NULL,
    "CarCapacity" INTEGER,
    retired_on TEXT
);

CREATE TABLE route (
    route_id INTEGER PRIMARY KEY,
    "from" INTEGER NOT NULL REFERENCES harbour (harbour_id),
    "to" INTEGER NOT NULL REFERENCES harbour (harbour_id),
    "Crossing Minutes" INTEGER NOT NULL,
    season TEXT NOT NULL
);

CREATE TABLE sailing (
    sailing_id INTEGER PRIMARY KEY,
    route_id INTEGER NOT NULL REFERENCES route (route_id),
    vessel_id INTEGER NOT NULL REFERENCES vessel (vessel_id),
    departs_at TEXT NOT NULL,
    status TEXT NOT NULL,
    delay_minutes INTEGER,
    log TEXT
);

CREATE TABLE passenger (
    passenger_id INTEGER PRIMARY KEY,
    full_name TEXT NOT NULL,
    born TEXT,
    home_harbour INTEGER REFERENCES harbour (harbour_id),
    email TEXT
);

CREATE TABLE booking (
    booking_id INTEGER PRIMARY KEY,
    sailing_id INTEGER NOT NULL REFERENCES sailing (sailing_id),
    passenger_id INTEGER NOT NULL REFERENCES passenger (passenger_id),
    booked_on TEXT NOT NULL,
    channel TEXT NOT NULL,
    "Ticket Type" TEXT NOT NULL,
    persons INTEGER NOT NULL,
    price REAL NOT NULL,
    vehicle_length TEXT
);
