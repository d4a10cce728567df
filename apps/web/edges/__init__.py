"""A run's access edges, tried one by one."""
