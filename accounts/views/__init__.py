"""Pages of people, invitations, tokens and the audit log."""
