"""The content of the demo."""
