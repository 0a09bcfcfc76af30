"""Rules of studies as pure functions: states, assignment, timing, sizes."""
