"""Image files: cleaned, named by their content, in a folder or a bucket."""
