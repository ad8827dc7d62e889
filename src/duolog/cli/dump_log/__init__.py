"""Reads the files of a data directory for people: what stands where, and what is damaged."""
