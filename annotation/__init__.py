"""Gold annotation of boxes and spans, module by module."""
