"""The edit page: a form of a workflow, judged with every change."""
