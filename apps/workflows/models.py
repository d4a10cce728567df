"""Workflows kept under a name, to be run again: templates."""

from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models.functions import Now

from apps.accounts.models import Project, User
from apps.workflows.workflow import Workflow


class SavedWorkflowQuerySet(models.QuerySet["SavedWorkflow"]):
    def visible_to(self, user: User | AnonymousUser) -> "SavedWorkflowQuerySet":
        return self.filter(project__in=Project.objects.visible_to(user))


class SavedWorkflow(models.Model):
    """A template: a workflow that a person keeps, with the task as a text that has `{placeholders}`."""

    name = models.CharField(max_length=100)
    description = models.CharField(max_length=500, blank=True)
    project = models.ForeignKey(Project, models.CASCADE)
    owner = models.ForeignKey(User, models.PROTECT)
    task = models.TextField(blank=True)
    body = models.JSONField()
    profile = models.CharField(max_length=63, blank=True)  # the one that is offered first
    tags = models.JSONField(default=list)  # that the task of the run carried which it was made from
    told = models.JSONField(null=True)  # what its instructions carry besides, by round; null: no model wrote them
    source = models.CharField(max_length=12, blank=True)  # the code of the run that it was made from
    version = models.PositiveIntegerField(default=1)  # grows with every change, so that a run can say which it was
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now())

    objects = SavedWorkflowQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="saved_workflow_name_is_unique")]
        # The list of templates, by name.
        indexes = [models.Index(fields=["project", "name", "id"], name="saved_workflow_list")]

    def __str__(self) -> str:
        return self.name

    @property
    def trail(self) -> str:
        return f"template:{self.pk}"

    @property
    def workflow(self) -> Workflow:
        return Workflow.model_validate(self.body)
