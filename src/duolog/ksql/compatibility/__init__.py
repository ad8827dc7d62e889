"""Differences from ksqlDB: the statements it does not have, and the refusals that only strict mode keeps."""
