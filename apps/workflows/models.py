"""Workflows kept under a name, to be run again."""

from django.db import models
from django.db.models.functions import Now

from apps.accounts.models import Project, User
from apps.workflows.workflow import Workflow


class SavedWorkflow(models.Model):
    """A workflow that a person, or a program, keeps."""

    name = models.CharField(max_length=100)
    project = models.ForeignKey(Project, models.CASCADE)
    owner = models.ForeignKey(User, models.PROTECT)
    body = models.JSONField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="saved_workflow_name_is_unique")]

    def __str__(self) -> str:
        return self.name

    @property
    def workflow(self) -> Workflow:
        return Workflow.model_validate(self.body)
