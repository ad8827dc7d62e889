"""A running query: launch it, watch it, restart it, and report its progress and metrics.

    query         one application from start to end; start reading here
    supervision   checks while it runs, restarts, bounds of micro-batches, choice of triggers
    callbacks     calls from the kernel into this process: users' functions, records to print
    launch        the start of one Spark query: sources, triggers, transactions, client settings
    reports       progress and counts, as Spark and the kernels of all JVMs report them

Each room imports only those below it in this list.
"""
