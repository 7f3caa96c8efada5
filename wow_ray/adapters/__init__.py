"""What is plugged in: each module fits one outside thing to the ports."""
