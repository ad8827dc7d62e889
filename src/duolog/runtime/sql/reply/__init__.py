"""Replies to statements: pull and push queries, PRINT, SHOW, and rows that INSERT writes."""
