"""Commands of the analysis: files in; printed or written results out."""
