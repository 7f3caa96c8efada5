"""The console: pages made on the server, which a little script keeps fresh; without it they work all the same."""
