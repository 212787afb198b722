"""A ferry company between a mainland and eight invented islands: harbours, vessels, routes, sailings, tickets."""
