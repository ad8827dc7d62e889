"""The schema registry for clients of the server, each within its own rights."""
