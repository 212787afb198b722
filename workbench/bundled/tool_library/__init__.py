"""A city's tool library and repair workshop: members, tools in a tree of categories, loans, repairs, parts, invoices."""
