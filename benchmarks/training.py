"""An ensemble's training against K plain torch modules, one after the other: `python benchmarks/training.py`.

Both sides have the same architecture, float32, batches of the same size, and Adam; the plain side is written as one
would write it, with torch's own layers and all of its threads. They take turns, so that a machine that slows down slows
both; the ratio is that of the median times a step. Rows: an MLP on vectors of 64, and convolutional networks on images
of 16 x 16 and of 8 x 8 (the shipped network there has two convolutions a stage).

On a GPU (`--device cuda`) the plain side is compiled by `torch.compile`.
"""

import argparse
import time
from itertools import pairwise

import numpy as np
import torch
from torch import nn

from skspc._ensemble.ensemble import Ensemble
from skspc._ensemble.plan import TrainingPlan
from skspc._method.objectives import Reconstruction
from skspc._runtime.devices import training_devices
from skspc.networks import ConvNetwork, MLPNetwork
from skspc.networks._conv import stage_sizes
from skspc.networks._mlp import default_hidden

ROWS = {  # name: rows, shape of a row, members, batch size, network
    "MLP, 1797 x 64": (1797, (64,), 15, 64, MLPNetwork()),
    "network R, 16 x 16": (2048, (1, 16, 16), 5, 256, ConvNetwork(convolutions_per_stage=1)),
    "shipped, 8 x 8": (1797, (1, 8, 8), 5, 64, ConvNetwork()),
    "network R, 28 x 28": (2048, (1, 28, 28), 5, 256, ConvNetwork(convolutions_per_stage=1)),
}


def plain_mlp(shape, network, latent_size):
    widths = [shape[0], *default_hidden(network.hidden, shape), latent_size]

    def stack(widths):
        layers = []
        for n_in, n_out in pairwise(widths[:-1]):
            layers += [nn.Linear(n_in, n_out), nn.BatchNorm1d(n_out), nn.LeakyReLU()]
        return nn.Sequential(*layers, nn.Linear(widths[-2], widths[-1]))

    return stack(widths), stack(widths[::-1])


def plain_conv(shape, network, latent_size, n_convolutions):
    """Encoder and decoder of torch's own layers, as `ConvAutoencoder` has them batched."""
    n_channels, height, width = shape
    sizes = stage_sizes(height, width, len(network.channels))
    widths = [n_channels, *network.channels[: len(sizes) - 1]]
    n_flat = widths[-1] * sizes[-1][0] * sizes[-1][1]
    down = []
    for n_in, n_out in pairwise(widths):
        for _ in range(n_convolutions - 1):
            down += [nn.Conv2d(n_in, n_out, 3, padding=1), nn.BatchNorm2d(n_out), nn.LeakyReLU(inplace=True)]
            n_in = n_out
        down += [nn.Conv2d(n_in, n_out, 3, stride=2, padding=1), nn.BatchNorm2d(n_out), nn.LeakyReLU(inplace=True)]
    up = [nn.Linear(latent_size, n_flat), nn.BatchNorm1d(n_flat), nn.LeakyReLU()]
    up.append(nn.Unflatten(1, (widths[-1], *sizes[-1])))
    for stage in reversed(range(len(widths) - 1)):
        padding = tuple(1 - length % 2 for length in sizes[stage])
        up.append(nn.ConvTranspose2d(widths[stage + 1], widths[stage], 3, 2, padding=1, output_padding=padding))
        up += [nn.Tanh()] if stage == 0 else [nn.BatchNorm2d(widths[stage]), nn.LeakyReLU(inplace=True)]
    return nn.Sequential(*down, nn.Flatten(), nn.Linear(n_flat, latent_size)), nn.Sequential(*up)


class PlainMember(nn.Module):
    """One autoencoder, and its loss on a batch with noise on the latents."""

    def __init__(self, encoder, decoder, noise):
        super().__init__()
        self.encoder, self.decoder, self.noise = encoder, decoder, noise

    def forward(self, x):
        latents = self.encoder(x)
        latents = latents + self.noise * latents.detach().std(dim=0) * torch.randn_like(latents)
        return (self.decoder(latents) - x).abs().mean()


def make_plain(shape, network, ensemble):
    autoencoder = ensemble.groups[0].autoencoder
    if isinstance(network, MLPNetwork):
        parts = plain_mlp(shape, network, autoencoder.latent_size)
    else:
        parts = plain_conv(shape, network, autoencoder.latent_size, autoencoder.sizes["convolutions_per_stage"])
    member = PlainMember(*parts, network.noise)
    expected = sum(parameter.numel() for parameter in autoencoder.parameters()) // autoencoder_members(ensemble)
    if sum(parameter.numel() for parameter in member.parameters()) != expected:
        raise RuntimeError("The plain module has not the weights of a member.")
    return member


def autoencoder_members(ensemble):
    return len(ensemble.groups[0].members)


def train_plain(members, X, plan, device):
    """Train one module after the other."""
    for member in members:
        optimiser = torch.optim.Adam(member.parameters(), lr=plan.learning_rate)
        for _ in range(plan.n_epochs):
            order = torch.randperm(len(X), device=device)
            for rows in order[: len(X) // plan.batch_size * plan.batch_size].view(-1, plan.batch_size):
                optimiser.zero_grad()
                member(X[rows]).backward()
                optimiser.step()


def timed(function, device):
    start = time.perf_counter()
    function()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def compare(name, n_epochs, n_turns, scale, device, precision):
    """Milliseconds a step of all members, plain and batched: two lists, one time a turn."""
    n_rows, shape, n_members, batch_size, network = ROWS[name]
    n_rows, n_members = max(batch_size, int(scale * n_rows)), max(2, int(scale * n_members))
    X = np.random.default_rng(0).uniform(-1, 1, (n_rows, *shape)).astype(np.float32)
    plan = TrainingPlan(n_epochs, batch_size, 1e-3)
    n_steps = n_epochs * (n_rows // batch_size)
    ensemble = Ensemble(network, shape, 0, n_members, device, batch_size=batch_size, precision=precision)
    members = [make_plain(shape, network, ensemble).to(device) for _ in range(n_members)]
    if device.type == "cuda":
        members = [torch.compile(member) for member in members]
    rows = torch.from_numpy(X).to(device)
    turns = []
    for turn in range(n_turns + 1):
        plain = timed(lambda: train_plain(members, rows, plan, device), device)
        batched = timed(lambda: ensemble.train(Reconstruction(X), plan), device)
        if turn:  # the first compiles and fills caches
            turns.append((plain * 1000 / n_steps, batched * 1000 / n_steps))
    return np.array(turns).T, n_members


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="*", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows and members, to try the script")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    print(f"{training_devices(device)}, {torch.get_num_threads()} threads, {arguments.precision}")
    print("| network | members | one by one, ms a step of all | batched, ms | ratio (least, most of the turns) |")
    print("| --- | --- | --- | --- | --- |")
    for name in arguments.rows:
        precision = getattr(torch, arguments.precision)
        (plain, batched), n_members = compare(
            name, arguments.epochs, arguments.turns, arguments.scale, device, precision
        )
        ratios = plain / batched
        print(
            f"| {name} | {n_members} | {np.median(plain):.1f} | {np.median(batched):.1f} | "
            f"{np.median(ratios):.2f} ({ratios.min():.2f}, {ratios.max():.2f}) |",
            flush=True,
        )


if __name__ == "__main__":
    main()
