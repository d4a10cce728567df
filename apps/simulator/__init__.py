"""A server of simulated models that speaks OpenAI's protocol: for demos, tests, load and faults. It stands alone."""
