"""Module-wise faithfulness: how well a system's modules put out what they are named for.

`boxes` and `spans` score outputs against gold, `reference` changes gold as the released code of
Subramanian et al. (2020) does, `compare` tests whether two systems differ, `files` reads all from files.
"""
