"""Forms of staff and participants."""
