"""A county clinic with its laboratory: wards, staff, patients and their visits, samples, and what was measured in them."""
