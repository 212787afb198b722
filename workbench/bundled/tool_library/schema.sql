CREATE TABLE category (
    category_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    parent_id INTEGER REFERENCES category (category_id)
);

CREATE TABLE tool (
    tool_id INTEGER PRIMARY KEY,
    category_id INTEGER NOT NULL REFERENCES category (category_id),
    name TEXT NOT NULL,
    "Brand" TEXT,
    bought_on TEXT,
    price REAL,
    "condition" TEXT NOT NULL,
    weight TEXT
);

CREATE TABLE member (
    member_id INTEGER PRIMARY KEY,
    full_name TEXT NOT NULL,
    joined_on TEXT NOT NULL,
    "Membership Type" TEXT NOT NULL,
    district TEXT,
    phone TEXT,
    recruited_by INTEGER REFERENCES member (member_id)
);

CREATE TABLE loan (
    loan_id INTEGER PRIMARY KEY,
    tool_id INTEGER NOT NULL REFERENCES tool (tool_id),
    member_id INTEGER NOT NULL REFERENCES member (member_id),
    out_at TEXT NOT NULL,
    due_on TEXT NOT NULL,
    returned_at TEXT,
    deposit REAL NOT NULL
);

CREATE TABLE repair (
    repair_id INTEGER PRIMARY KEY,
    member_id INTEGER REFERENCES member (member_id),
    tool_id INTEGER REFERENCES tool (tool_id),
    item TEXT NOT NULL,
    fault TEXT,
    came_in TEXT NOT NULL,
    finished_on TEXT,
    outcome TEXT,
    minutes INTEGER
);

CREATE TABLE part (
    part_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    size NUMERIC,
    unit_price REAL NOT NULL,
    in_stock INTEGER NOT NULL,
    "Reorder At" INTEGER,
    supplier TEXT
);

CREATE TABLE repair_part (
    repair_id INTEGER NOT NULL REFERENCES repair (repair_id),
    part_id INTEGER NOT NULL REFERENCES part (part_id),
    quantity INTEGER NOT NULL,
    PRIMARY KEY (repair_id, part_id)
);

CREATE TABLE invoice (
    invoice_id INTEGER PRIMARY KEY,
    member_id INTEGER NOT NULL REFERENCES member (member_id),
    repair_id INTEGER REFERENCES repair (repair_id),
    issued_on TEXT NOT NULL,
    amount REAL NOT NULL,
    "order" TEXT,
    paid_on TEXT
);
