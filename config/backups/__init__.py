"""Backups of a site: one archive with all that people made.

encryption   a stream of bytes under a key
archive      named files with digests in one stream
manifest     what an archive holds, and of which version
databases    consistent copies of SQLite and PostgreSQL
backup       writes the archive
restore      checks it and puts it in place
"""
