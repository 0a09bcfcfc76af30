"""Training of the modular network over text, and its table."""
