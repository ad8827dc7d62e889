"""The Spark session: settings, slots, executors, and the translation of failures into errors."""
