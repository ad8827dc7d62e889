"""SQL's functions: names, signatures and descriptions. The engine knows how each is computed."""
