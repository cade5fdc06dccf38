"""Pseudo-classifiers: the h_j of the paper."""

from torch import nn

from ._layers import MemberLinear

N_HIDDEN = 25  # the paper, Implementation Details


def build_heads(latent_size, n_clusters, generators):
    """Build K classifiers from latents to clusters: (K, B, m) -> logits (K, B, C)."""
    return nn.Sequential(
        MemberLinear(latent_size, N_HIDDEN, generators), nn.LeakyReLU(), MemberLinear(N_HIDDEN, n_clusters, generators)
    )
