"""Figures of persistent queries: rates, lag and its trend, errors, state, restarts, ages.

    running query ─▶ observation ─▶ history ─▶ figures ─▶ topic, for the other servers
    position, end of each partition ─▶ first unread record ─▶ lag in milliseconds

Start reading with `query_figures` (what there is) and `collector` (who measures, and when).
"""
