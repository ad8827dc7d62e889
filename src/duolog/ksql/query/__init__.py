"""Queries: from a SELECT and the catalog to a logical plan. Start reading in `planner`."""
