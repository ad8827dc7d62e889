"""Users of the registry: the users file, their passwords, and the subjects they may see.

passwords.py has the hashes, users.py the file, authentication.py the check of a request's header.
"""
