"""The JVM process: find Java and the jars, start it, bound it, and end it without orphans."""
