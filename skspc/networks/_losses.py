"""The losses of the paper's Eq. (2), per row and member."""

import torch.nn.functional as F


def reconstruction_loss(decoded, x):
    """l1 distance of each row to its reconstruction, mean over features: (K, B)."""
    return (decoded - x).abs().flatten(2).mean(dim=2)


def pseudo_label_loss(logits, targets):
    """Cross-entropy of each row's pseudo-label: logits (K, B, C), targets (K, B) -> (K, B)."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view_as(targets)
