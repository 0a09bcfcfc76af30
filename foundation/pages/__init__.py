"""Parts of pages: tables, charts, paragraphs, and CSV files of them."""
