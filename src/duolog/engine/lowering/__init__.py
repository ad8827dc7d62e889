"""Lower a plan to the kernel's spec. Start with `lower`, which walks the plan.

stores         what checkpoints record of a plan's stores, their names, and queries of them
nodes          from plan node and input row to kernel nodes and a row, one file for each family
expressions    expressions and steps of aggregates as Spark SQL; Python functions
sql_functions  SQL functions as Spark SQL, one file for each family
formats        the bytes of a topic <-> columns
spark_sql      the text of Spark SQL, and the form of it that checkpoints record
spec           the kernel's spec: kinds of nodes and their fields, windows, ticks

Each room imports only those below it in this list.
"""
