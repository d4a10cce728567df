"""The list of runs: filters, saved views, peeks, and the palette that finds runs from anywhere."""
