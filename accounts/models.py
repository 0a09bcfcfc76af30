"""The user: a person of the team. Participants are no users; they live in studyapp."""

from django.contrib.auth.models import AbstractUser


class User(AbstractUser):
    """A researcher, annotator or adjudicator. Ours from the first migration, so that it can grow."""
