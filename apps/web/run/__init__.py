"""A run's page: its head, outline, views and panel, and what a person does with a run."""
