"""Where it runs, found out by running it: hosts × situations, and the table in the README that says so."""
