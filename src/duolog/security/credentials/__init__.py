"""Credentials: what is stored so that a password or a token can be verified.

Start reading at `scram.py`. Neither passwords nor tokens can be computed from what is stored.
"""
