"""From X to the rows that are trained on: checked, scaled, each once."""
