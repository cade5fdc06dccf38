"""Autoencoders batched over ensemble members, and their settings."""

from ._conv import MIN_IMAGE_SIZE, ConvNetwork
from ._mlp import MLPNetwork

__all__ = ["MIN_IMAGE_SIZE", "ConvNetwork", "MLPNetwork"]
