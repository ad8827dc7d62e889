"""Principals: the names of users and roles in access control lists.

Start reading at `principal.py`.
"""
