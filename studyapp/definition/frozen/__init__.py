"""The frozen part of a version, its limits, and differences. Pure."""
