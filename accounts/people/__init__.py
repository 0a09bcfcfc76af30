"""Forms and mails about people."""
