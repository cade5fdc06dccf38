"""What stands beside skspc on a card: modules of plain torch, umap-learn and hdbscan, one after the other."""

import hdbscan
import torch
import umap
from training import make_plain, train_plain

from skspc._ensemble.ensemble import Ensemble
from skspc._ensemble.plan import TrainingPlan
from skspc.networks import ConvNetwork

from .rows import N_CLUSTERS, timed


def make_member(X, device):
    """A member of plain torch for images (N, 1, H, W), and the images as it takes them, on the device."""
    batched = Ensemble(ConvNetwork(), X.shape[1:], 0, 1, device)
    return make_plain(X.shape[1:], ConvNetwork(), batched).to(device), torch.from_numpy(X).to(device) / 127.5 - 1


def plain_epoch(X, precision, device):
    """Seconds of an epoch of one member, compiled and recorded on CUDA by torch's own compiler."""
    member, rows = make_member(X, device)
    plan = TrainingPlan(1, min(256, len(X) // 2), 1e-3)
    if device.type == "cuda":
        member = torch.compile(member, mode="reduce-overhead")
    with torch.autocast(device.type, precision, enabled=precision != torch.float32):
        return min([timed(lambda: train_plain([member], rows, plan, device), device)[1] for _ in range(3)][1:])


def plain_pipeline(X, batch_size, device):
    """Seconds of an epoch of one member, and of one clustering of its latents."""
    member, rows = make_member(X, device)
    plan = TrainingPlan(1, batch_size, 1e-3)
    an_epoch = timed(lambda: train_plain([member], rows, plan, device), device)[1]
    with torch.no_grad():
        latents = torch.cat([member.eval().encoder(chunk) for chunk in rows.split(512)]).cpu().numpy()

    def cluster():
        reducer = umap.UMAP(n_neighbors=min(30, len(X) - 1), min_dist=0.0, random_state=0, n_jobs=1)
        size = max(2, len(X) // (2 * N_CLUSTERS))
        hdbscan.HDBSCAN(min_cluster_size=size, min_samples=10).fit(reducer.fit_transform(latents))

    cluster()  # compiles
    return an_epoch, timed(cluster, device)[1]
