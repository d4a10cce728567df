"""The page of a project's flow rules and tags."""
