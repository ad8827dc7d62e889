"""Help for writing statements: what can follow, and what is wrong before anything runs.

The shell and the page of the server share it. Start reading at `completion`.
"""
