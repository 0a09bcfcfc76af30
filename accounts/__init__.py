"""Users, roles and login."""
