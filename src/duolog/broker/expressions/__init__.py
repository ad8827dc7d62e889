"""Regular expressions of clients, matched by a helper process.

Start reading at `expressions`. `worker` is the helper process.
"""
