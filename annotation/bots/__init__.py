"""Simulated annotators, which use the site over HTTP as people do."""

from annotation.bots.behaviours import BEHAVIOURS, Behaviour, Bot, make_bots
from annotation.bots.driving import run_bots
from annotation.bots.walker import Answer, Ask, Plan, Walk, walk
from foundation.simulated_people import BotError, Think

__all__ = [
    "BEHAVIOURS",
    "Answer",
    "Ask",
    "Behaviour",
    "Bot",
    "BotError",
    "Plan",
    "Think",
    "Walk",
    "make_bots",
    "run_bots",
    "walk",
]
