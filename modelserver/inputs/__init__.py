"""Items as numbers: features, tokens, windows, and the way back to text."""
