"""A community radio station and its record archive: artists, recordings, programmes, hosts, airplay, requests."""
