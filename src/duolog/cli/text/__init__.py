"""Text formats that the commands read and write: times, JSON and encodings."""
