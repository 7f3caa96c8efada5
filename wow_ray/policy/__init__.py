"""What is decided: pure functions and values, without clock, dice, I/O, await or logging."""
