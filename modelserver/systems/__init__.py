"""Readers and the parts that they are built of; ``base`` says what every system is."""
