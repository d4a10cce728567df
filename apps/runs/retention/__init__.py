"""How long the texts of runs are kept: policies, legal holds, and erasing that leaves every trail verifiable."""
