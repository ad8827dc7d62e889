"""Analyses of a finished plan: sub-topologies, levels, and what each sub-topology needs.

Start with `cuts`, which cuts a plan at its shuffles, then `levels`, which orders the parts.
"""
