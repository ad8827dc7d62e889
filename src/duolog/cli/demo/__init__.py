"""`duolog demo`: join and count a year of flights out of New York in two live tables.

    dataset ─▶ load ─▶ topics ─▶ topology (runtime, Spark) ─▶ result topics ─▶ tables ─▶ screen
       └───────────────────────────────────────────────────────────────────────▶ check

Start with `command`, which connects the other modules.
"""
