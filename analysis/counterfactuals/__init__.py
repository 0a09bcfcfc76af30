"""Right for the right reasons: counterfactual questions, and the parts of a text that ought to count.

After Ray Choudhury, Rogers and Augenstein 2022 (Machine Reading, Fast and Slow). Plain text in, plain text
out: any data set of questions over a context can be probed.
"""
