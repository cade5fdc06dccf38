"""A group of members as one batched torch module, which trains and is asked as one."""

import copy

import torch

from .._runtime.arrays import take_rows, to_numpy
from .._runtime.seeding import BATCHES, HEADS, NOISE_STREAM, WEIGHTS, derive_seed
from .._runtime.steps import make_step, release
from ..networks._heads import build_heads
from .states import check_members_first, restore_diverged, some_members

ROWS_PER_CHUNK = 512  # rows encoded at once outside training


class MemberGroup:
    """Autoencoders with their pseudo-classifiers, side by side on batches of their own.

    Which members stand in a group is a matter of time and memory alone: weights, batches, noise and augmentation are
    drawn from streams of each member's own, and no operation on the CPU sums over, or goes by, the members beside it.

    Parameters
    ----------
    network : object with ``build(input_shape, generators)`` and ``noise``
    input_shape : tuple
        Shape of one row as the network takes it.
    seed : int
        Of the whole ensemble.
    members : range
        Which of the ensemble's members these are.
    device : torch.device
    augmentation : callable, optional
        Takes a member's batch (B, *input_shape) and its generator; returns the batch to encode in training. Decoders
        have to bring back the batch as it was.
    precision : torch.dtype, default=torch.float32
        Of the products in training.
    """

    def __init__(self, network, input_shape, seed, members, device, augmentation=None, precision=torch.float32):
        self.network, self.input_shape, self.seed, self.members = network, input_shape, seed, members
        self.device, self.augmentation, self.precision = device, augmentation, precision
        self.autoencoder = network.build(input_shape, self._generators(WEIGHTS)).to(device)
        check_members_first(self.autoencoder, len(members))
        parts = [self.autoencoder] if augmentation is None else [self.autoencoder, augmentation]
        self.is_recordable = all(map(is_recordable, parts))
        self.n_clusters: int | None = None
        self.diverged: frozenset[int] = frozenset()  # members, in the last training
        self.heads = torch.nn.Sequential()  # drawn by reset_heads, once the number of clusters is settled

    def _generators(self, *path, device="cpu"):
        """One generator a member, each from a seed of its own."""
        seeds = [derive_seed(self.seed, *path, member) for member in self.members]
        return [torch.Generator(device).manual_seed(seed) for seed in seeds]

    def reset_heads(self, n_clusters):
        """Draw new pseudo-classifiers."""
        self.n_clusters = n_clusters
        heads = build_heads(self.autoencoder.latent_size, n_clusters, self._generators(HEADS))
        self.heads = heads.to(self.device)

    def train(self, objective, plan):
        """Lower an objective by Adam: a generator, which yields after each step, so that groups can take turns.

        Parameters
        ----------
        objective : objective of `skspc._method.objectives`
            Of all members; the group takes its part.
        plan : TrainingPlan

        Returns
        -------
        losses : dict
            Each loss of the objective, mean over the last epoch: tensors (K,).
        """
        part = objective.of(self.members, self.device)
        parameters, batch_size = list(part.parameters(self)), min(plan.batch_size, part.n_rows)
        shufflers = self._generators(BATCHES, part.stage)
        # To read them back from a card would be to wait for each step before the next one's rows are gathered.
        batches_lie_on = self.device if torch.is_tensor(part.X) else torch.device("cpu")
        step = make_step(
            lambda *batch, generators: part.losses(Networks(self, generators), *batch),
            parameters,
            plan.learning_rate,
            self._generators(NOISE_STREAM, part.stage, device=self.device),
            self.precision,
            self.is_recordable or part.of_heads_alone,
        )
        before = copy.deepcopy(self._tensors())
        self.autoencoder.train()
        self.heads.train()
        sums: dict[str, torch.Tensor] = {}
        try:
            for _ in range(plan.n_epochs):
                sums = {}
                for rows in self._epoch_batches(part.n_rows, batch_size, shufflers).to(batches_lie_on):
                    for name, loss in step(*part.take(rows, self.device)).items():
                        sums[name] = sums[name] + loss if name in sums else loss.clone()
                    yield
        finally:
            release(parameters)
        diverged = restore_diverged(self._tensors(), before, len(self.members))
        self.diverged = frozenset(self.members[i] for i in diverged)
        return {name: total / (part.n_rows // batch_size) for name, total in sums.items()}

    def _tensors(self):
        """Tensors of all weights, each with the members one after the other."""
        states = self.autoencoder.state_dict(prefix="autoencoder."), self.heads.state_dict(prefix="heads.")
        return {name: value for state in states for name, value in state.items() if value.ndim}

    def _epoch_batches(self, n_rows, batch_size, shufflers):
        """Shuffle rows for each member: a tensor (steps, K, batch_size).

        Every batch is full, since batch normalisation needs more than one row; the rows left over differ from
        epoch to epoch.
        """
        orders = torch.stack([torch.randperm(n_rows, generator=shuffler) for shuffler in shufflers])
        n_steps = n_rows // batch_size
        batches = orders[:, : n_steps * batch_size].unflatten(1, (n_steps, batch_size))
        return batches.transpose(0, 1)

    @torch.no_grad()
    def encode(self, X):
        """Encode rows (N, *input_shape) in evaluation mode, without noise: ndarray (K, N, m)."""
        self.autoencoder.eval()

        def encode(which):
            chunk = take_rows(X, which, self.device)
            return self._encode_chunk(chunk)[:, : len(chunk)]

        return _chunk_by_chunk(encode, len(X))

    def _encode_chunk(self, chunk):
        """Encode rows (n, *input_shape), filled up where results go by how many they are: (K, n or more, m)."""
        on_cuda, dtype = self.device.type == "cuda", chunk.dtype
        # Of a batch of one image, convolutions make other last digits; CUDA's kernels go by the size of a batch.
        n_lacking = (ROWS_PER_CHUNK if on_cuda else 2) - len(chunk)
        if n_lacking > 0:
            chunk = torch.cat([chunk, chunk[:1].expand(n_lacking, *chunk.shape[1:])])
        chunk = chunk.expand(len(self.members), *chunk.shape)
        if on_cuda:
            return self.autoencoder.encode(chunk.to(next(self.autoencoder.parameters()).dtype)).to(dtype)
        return self.autoencoder.encode(chunk)

    @torch.no_grad()
    def classify(self, latents):
        """Softmax of each head on latents (K, N, m): ndarray (K, N, C); of latents that are not finite, 1 / C."""
        self.heads.eval()
        probabilities = torch.softmax(self.heads(torch.as_tensor(latents, device=self.device)), dim=2)
        return to_numpy(probabilities.nan_to_num(1 / probabilities.shape[2]))

    @torch.no_grad()
    def reconstruction_errors(self, X, latents):
        """l1 distance of rows (N, *input_shape) to what is decoded of their latents (K, N, m): ndarray (K, N)."""
        self.autoencoder.eval()

        def errors(which):
            rows = take_rows(X, which, self.device)
            z = torch.as_tensor(latents[:, which], device=self.device)
            decoded = self.autoencoder.decode(z.float() if self.device.type == "cuda" else z)  # see `for_inference`
            return (decoded - rows).abs().flatten(2).mean(dim=2)

        return _chunk_by_chunk(errors, len(X))

    def state(self):
        """Copy the weights, to the CPU: a dict by module name."""
        modules = {"autoencoder": self.autoencoder, "heads": self.heads}
        return {
            part: {name: value.detach().to("cpu", copy=True) for name, value in module.state_dict().items()}
            for part, module in modules.items()
        }

    def halves(self):
        """Split the group in two, with copies of its members' weights."""
        middle = len(self.members) // 2
        return [self._part(slice(0, middle)), self._part(slice(middle, None))]

    def _part(self, which):
        """A group of some of the members."""
        members = self.members[which]
        part = MemberGroup(
            self.network, self.input_shape, self.seed, members, self.device, self.augmentation, self.precision
        )
        if self.n_clusters is not None:
            part.reset_heads(self.n_clusters)
        part = part.to(self.device, next(self.autoencoder.parameters()).dtype)
        for name, state in self.state().items():
            getattr(part, name).load_state_dict(some_members(state, which, len(self.members)))
        return part

    def to(self, device, dtype=torch.float32):
        """Copy the group to a device and a dtype; None keeps the dtype."""
        moved = self._copied(device)
        moved.autoencoder.to(device=device, dtype=dtype)
        moved.heads.to(device=device, dtype=dtype)
        return moved

    def for_inference(self, device):
        """Copy the group to a device, in dtypes in which a row's result does not depend on the rows beside it.

        Autoencoders are in float32 on CUDA, where `encode` makes all chunks of one size, and many cards compute float64
        at a 64th of the speed.
        """
        moved = self._copied(device)
        if device.type == "cuda":
            moved.autoencoder.to(device, torch.float32)
        elif hasattr(moved.autoencoder, "for_inference"):
            moved.autoencoder.for_inference(device)
        else:
            moved.autoencoder.to(device, torch.float64)
        moved.heads.to(device, torch.float64)
        return moved

    def _copied(self, device):
        copied = copy.copy(self)
        copied.device = device
        copied.autoencoder, copied.heads = copy.deepcopy(self.autoencoder), copy.deepcopy(self.heads)
        return copied


class Networks:
    """The paper's f, g and h of some members, as they are in training: f augments rows and adds noise to latents.

    Parameters
    ----------
    group : MemberGroup
    generators : list of torch.Generator
        One a member.
    """

    def __init__(self, group, generators):
        self.group, self.generators = group, generators

    def f(self, x):
        """Encode batches (K, B, *input_shape), with noise in proportion to each latent's spread over it: (K, B, m)."""
        latents, noise = self.group.autoencoder.encode(self._augmented(x)), self.group.network.noise
        if noise == 0:
            return latents
        spread = latents.detach().std(dim=1, keepdim=True)
        shape, device = latents.shape[1:], latents.device
        draws = [torch.randn(shape, generator=each, device=device, dtype=torch.float32) for each in self.generators]
        return latents + noise * spread * torch.stack(draws)

    def g(self, z):
        """Decode latents (K, B, m): (K, B, *input_shape)."""
        return self.group.autoencoder.decode(z)

    def h(self, z):
        """Logits of latents (K, B, m): (K, B, C)."""
        return self.group.heads(z)

    def _augmented(self, x):
        """Augment batches to be encoded: what is reconstructed are the rows as they were."""
        if self.group.augmentation is None:
            return x
        with torch.autocast(x.device.type, enabled=False):  # its products too are of the batch's own dtype
            # Copies: a batch may be changed in place.
            return torch.stack([self._augment(batch.clone(), of) for batch, of in zip(x, self.generators, strict=True)])

    def _augment(self, batch, generator):
        augmentation, shape = self.group.augmentation, batch.shape
        augmented = augmentation(batch, generator)
        if not torch.is_tensor(augmented) or (augmented.shape, augmented.dtype) != (shape, batch.dtype):
            is_tensor = torch.is_tensor(augmented)
            made = f"{tuple(augmented.shape)}, {augmented.dtype}" if is_tensor else f"{augmented!r:.60}"
            raise ValueError(
                f"augmentation={augmentation!r} made of a batch of {tuple(shape)}, {batch.dtype}: {made}. "
                "It must return a tensor of the same shape and dtype."
            )
        return augmented


def is_recordable(part):
    """Whether a module or an augmentation says that it can be part of a CUDA graph: it or its class, no parent."""
    return any(getattr(owner, "__dict__", {}).get("is_recordable", False) for owner in (part, type(part)))


def _chunk_by_chunk(function, n_rows):
    """What a function returns for a slice of so many rows (K, n, ...), of all rows: ndarray (K, n_rows, ...).

    All of it goes into one tensor: small results that are kept between large temporary ones hold the memory of these.
    """
    whole = None
    for start in range(0, n_rows, ROWS_PER_CHUNK):
        part = function(slice(start, start + ROWS_PER_CHUNK))
        if whole is None:
            whole = part.new_empty(len(part), n_rows, *part.shape[2:])
        whole[:, start : start + ROWS_PER_CHUNK] = part
    return to_numpy(whole)
