"""Tests of the jobs of the annotation app."""
