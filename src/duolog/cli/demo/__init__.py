"""`duolog demo`: a year of flights out of New York becomes two live tables.

    dataset ─▶ load ─▶ topics ─▶ topology (runtime, Spark) ─▶ result topics ─▶ tables ─▶ screen
       └───────────────────────────────────────────────────────────────────────▶ check

May import what `cli` may. Start with `command`, which wires the others; each has one noun.
"""
