"""Requests that change users, rights, roles and tokens: answers, and the records to append.

    (state, request) ─► answer + changes ─► records ─► on the disk ─► state, answer

The functions are pure. Start reading at `scram.py`.
"""
