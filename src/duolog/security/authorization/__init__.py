"""Decisions about operations on resources, by Kafka's model of access control lists.

Start reading at `authorizer.py`.
"""
