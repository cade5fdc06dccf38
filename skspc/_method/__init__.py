"""The paper: cluster, align, vote and train, with the losses and the rule to stop."""
