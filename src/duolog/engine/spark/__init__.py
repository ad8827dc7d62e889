"""The Spark session: its settings, its slots and executors, and the translation of its failures into errors."""
