"""The topics that are served: names, creation, what is configured for each.

Start reading at `topics`.
"""
