CREATE TABLE ward (
    ward_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    building TEXT NOT NULL,
    floor INTEGER NOT NULL,
    beds INTEGER
);

CREATE TABLE staff (
    staff_id INTEGER PRIMARY KEY,
    "FullName" TEXT NOT NULL,
    role TEXT NOT NULL,
    ward_id INTEGER REFERENCES ward (ward_id),
    supervisor_id INTEGER REFERENCES staff (staff_id),
    hired_on TEXT NOT NULL,
    left_on TEXT
);

CREATE TABLE patient (
    patient_id INTEGER PRIMARY KEY,
    first_name TEXT NOT NULL,
    last_name TEXT NOT NULL,
    born TEXT,
    sex TEXT,
    town TEXT,
    phone TEXT,
    insurance_no TEXT
);

CREATE TABLE visit (
    visit_id INTEGER PRIMARY KEY,
    patient_id INTEGER NOT NULL REFERENCES patient (patient_id),
    ward_id INTEGER NOT NULL REFERENCES ward (ward_id),
    arrived_at TEXT NOT NULL,
    left_at TEXT,
    "Reason for Visit" TEXT,
    triage INTEGER
);

CREATE TABLE care (
    visit_id INTEGER NOT NULL REFERENCES visit (visit_id),
    staff_id INTEGER NOT NULL REFERENCES staff (staff_id),
    "as" TEXT NOT NULL,
    PRIMARY KEY (visit_id, staff_id)
);

CREATE TABLE lab_test (
    test_id INTEGER PRIMARY KEY,
    code TEXT NOT NULL,
    name TEXT NOT NULL,
    "group" TEXT NOT NULL,
    unit TEXT,
    low REAL,
    high REAL,
    price REAL NOT NULL
);

CREATE TABLE sample (
    sample_id INTEGER PRIMARY KEY,
    visit_id INTEGER NOT NULL REFERENCES visit (visit_id),
    kind TEXT NOT NULL,
    taken_at TEXT NOT NULL,
    taken_by INTEGER REFERENCES staff (staff_id),
    millilitres TEXT,
    remark TEXT
);

CREATE TABLE result (
    sample_id INTEGER NOT NULL REFERENCES sample (sample_id),
    test_id INTEGER NOT NULL REFERENCES lab_test (test_id),
    value NUMERIC,
    "ReportedAt" TEXT,
    checked_by INTEGER REFERENCES staff (staff_id),
    PRIMARY KEY (sample_id, test_id)
);
