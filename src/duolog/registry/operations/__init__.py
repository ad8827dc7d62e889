"""The calls of the rules by each endpoint.

    table.py          operation -> function
    subjects.py, schemas.py, configurations.py, associations.py
    asked.py          the parameters of a call
    permissions.py    subjects that the user may see and change

A function reads the parameters, checks the user's permissions, and calls one method of the rules.
"""
