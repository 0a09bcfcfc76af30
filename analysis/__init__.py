"""Statistics on plain files: scores of systems, measures of people, and the report that relates the two.

Importing this package imports nothing else. `analysis.scores.hotpotqa` and `analysis.scores.farm_loca`
need only the standard
library; the other modules need numpy, scipy and pandas.
"""

__version__ = "0.2.0"
