"""Groups of persistent queries, each in a process with a JVM of its own."""
