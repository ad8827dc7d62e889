"""Configs that can change at run time: topics, brokers, groups, client metrics, loggers.

    rows        a setting as clients read it: value, source, synonyms, type
    editing     the operations set, delete, append and subtract on what is set
    resources   the kinds of resources; one module for each kind of resource other than topics
    store       their dynamic configs on disk

Start with `resources`. May import the broker's settings and controller; knows no sockets.
"""
