"""Differences from ksqlDB: extensions, and the refusals that only strict mode keeps."""
