"""Published results beside ours: every number that a release can give.

Each publication declares its claims: the place in the paper, the published value, a function of the released
files that computes it, and the reason if the two are known to differ. The published values are facts, kept
as data in ``published/``.
"""
