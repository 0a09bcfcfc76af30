"""Statistics on plain files: model scores, human measures and the report.

Importing this package imports nothing else. `analysis.scores` needs only the
standard library; the other subpackages need numpy, scipy and pandas.
"""

__version__ = "0.2.0"
