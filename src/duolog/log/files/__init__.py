"""Files on disk: the only door to the disk, open files, and small files with a checksum."""
