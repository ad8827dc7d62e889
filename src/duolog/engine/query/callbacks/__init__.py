"""Call users' functions and print records when the kernel asks this process to."""
