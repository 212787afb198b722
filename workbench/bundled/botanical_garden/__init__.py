"""An invented botanical garden: real plant families and species, its beds, plants, gardeners and what they noted."""
