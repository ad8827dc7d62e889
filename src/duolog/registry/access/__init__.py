"""Who may use the registry: users of a file, their passwords, and the subjects they may see.

passwords.py has the hashes, users.py the file, authentication.py the check of a request's header.
"""
