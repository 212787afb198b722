"""A county clinic and its laboratory: wards, staff, patients and visits, samples, and what was measured in them."""
