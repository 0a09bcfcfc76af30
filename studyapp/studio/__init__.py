"""The studio's editing of a draft: plain data in, plain data out.

Pure: no Django.
"""
