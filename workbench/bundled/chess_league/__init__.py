"""Three seasons of an invented chess league: clubs, squads, fixtures, games, ratings month by month, transfers."""
