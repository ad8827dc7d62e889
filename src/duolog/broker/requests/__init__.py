"""A request on its way to its answer: what an API declares, what its handler gets, its place in line.

Start reading at `api`.
"""
