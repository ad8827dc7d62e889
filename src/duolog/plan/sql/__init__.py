"""The functions of SQL: names, signatures and what they are for. How each is computed is the engine's to say."""
