"""Small files of a partition: recovery point, log start, progress of compaction, leader epochs."""
