"""Writes of accounts: workspaces, roles, invitations, tokens, audit log."""
