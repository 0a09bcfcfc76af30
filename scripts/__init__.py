"""Programs that set up, start and test Touchstone on one machine."""
