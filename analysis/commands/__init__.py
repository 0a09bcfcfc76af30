"""Commands: typed functions that read files, call the analysis, and print or write its results."""
