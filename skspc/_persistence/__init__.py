"""What is kept on disk: models and checkpoints."""
