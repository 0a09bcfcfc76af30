"""Settings in the environment: values, databases, Redis."""
