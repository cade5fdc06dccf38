"""Names shared by all modules."""

NOISE = -1
"""Label code of a row that a labelling leaves without a cluster."""
