"""Reach a schema registry from commands.

options.py       `--registry` and the user; start here
completion.py    names of subjects, for the shell
refusals.py      the registry's errors, in the words of a command
"""
