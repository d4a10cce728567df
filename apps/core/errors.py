"""The five kinds of refusal, so that every interface maps them to statuses in one table.

A concrete refusal is defined beside what raises it, as a subclass of one of these; its message is written for the
person who reads it and names the thing at fault.
"""


class StudioError(Exception):
    """A refusal that is the caller's to read: never a bug of ours.

    `field` names the input at fault where there is one, so that a form can show the message beside it.
    """

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class Invalid(StudioError):
    """What was given breaks a rule."""


class NotFound(StudioError):
    """There is no such thing, or not for you: the two are told apart by nobody."""


class Conflict(StudioError):
    """It was possible a moment ago; something has changed since."""


class Denied(StudioError):
    """You are known, and this is not yours to do."""


class Unavailable(StudioError):
    """A part we need does not answer; trying again later can help."""
