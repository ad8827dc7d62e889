"""A request on its way to its answer: the API, the context of its handler, its place in line.

Start reading at `api`.
"""
