"""The ways to start a run: a task, a template, a run once more, several plans; each told beforehand."""
