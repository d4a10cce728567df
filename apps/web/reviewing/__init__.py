"""Looking back at what was done: a run on one page that prints, signing off, ratings."""
