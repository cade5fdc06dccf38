"""The ensemble: K autoencoders with pseudo-classifiers, batched, trained side by side, packed for files."""
