"""A small certificate authority in a directory, for TLS in the first hour.

Start reading at `authority.py`.
"""
