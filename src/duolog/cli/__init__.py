"""The command `duolog`: what a person types, and what the terminal shows.

May import everything but `testing`. A command is loaded when it is called, so that each starts
quickly; standard output is data, standard error is chatter. Start with `main`.
"""
