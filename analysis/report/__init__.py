"""The report: sections, tables and figures on one page."""
