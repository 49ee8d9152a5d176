"""Does the toolkit make agents succeed? Tasks, the judge of submissions, statistics over runs, and their report.

What a model says is data: a verdict is computed from a submission's text and the bits that it leaves, never from what
the model claims.
"""
