"""The content of an annotation: labels, answers to nodes, changes. Pure."""
