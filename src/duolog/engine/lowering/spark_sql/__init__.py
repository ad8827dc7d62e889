"""The text of Spark SQL: names, types and literals, and the form that a checkpoint records."""
