"""Load by participants and annotators, each on one connection."""
