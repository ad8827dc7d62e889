"""Run statements that return rows or write them: SELECT, PRINT, SHOW, INSERT and DELETE."""
