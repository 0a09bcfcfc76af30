"""The users: members of the team. Participants are not users."""

from django.contrib.auth.models import AbstractUser


class User(AbstractUser):
    """A researcher, annotator or adjudicator.

    A model of our own from the first migration, so that it can get fields.
    """
