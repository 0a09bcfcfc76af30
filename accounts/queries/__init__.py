"""Reads of workspaces, roles and the audit log."""
