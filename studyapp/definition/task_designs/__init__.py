"""What single tasks ask and need: preference, prediction, simulation. Pure."""
