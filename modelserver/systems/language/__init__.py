"""Language models as systems: behind a server, or in a local folder."""
