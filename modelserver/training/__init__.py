"""Training of every system: one loop, a trainer and a command for each."""
