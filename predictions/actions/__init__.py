"""The only code of this app that writes."""
