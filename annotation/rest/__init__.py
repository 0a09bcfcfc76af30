"""REST API of annotation projects: their data, and annotating itself."""
