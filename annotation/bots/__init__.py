"""Simulated annotators, which use the site over HTTP as people do."""

from annotation.bots.behaviours import BEHAVIOURS, Behaviour, Bot, BotError, make_bots, parse_mix
from annotation.bots.driving import run_bots
from annotation.bots.walker import Answer, Ask, Plan, Think, Walk, walk

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
    "parse_mix",
    "run_bots",
    "walk",
]
