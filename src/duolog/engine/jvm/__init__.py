"""The JVM process: find Java and the jars, prepare the start, bound it, and shut it down without orphans."""
