"""Configs that can change at run time: topics, brokers, groups, client metrics, loggers.

    rows        a setting as clients read it: value, source, synonyms, type
    editing     the operations set, delete, append and subtract on what is set
    resources   the kinds of resources; one module for each kind of those that are no topics
    store       what is set for them, on the disk

Start with `resources`. May import the broker's settings and controller; knows no sockets.
"""
