"""Pages of participants: entry, consent, questions, recruitment."""
