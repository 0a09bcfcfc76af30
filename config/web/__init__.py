"""Pages and middleware of the whole site."""
