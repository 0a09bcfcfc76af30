"""Training of the modular network over images, and its tables."""
