"""Plan queries: from a SELECT and the catalog to a logical plan. Start with `planner`."""
