"""Progress and counts of a running query, as Spark and the kernels of all JVMs report them."""
