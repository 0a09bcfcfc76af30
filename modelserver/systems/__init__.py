"""Readers and the parts they are built of; ``base`` defines a system."""
