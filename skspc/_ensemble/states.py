"""States of modules whose tensors hold the members one after the other along their first dimension."""

import torch


def some_members(state, which, n_members):
    """Some members' part of a state; single numbers are shared."""
    return {
        name: value.unflatten(0, (n_members, -1))[which].flatten(0, 1) if value.ndim else value
        for name, value in state.items()
    }


def join_members(states):
    """Join states of groups to that of all their members."""
    return {
        name: torch.cat([state[name] for state in states]) if value.ndim else value for name, value in states[0].items()
    }


def check_members_first(module, n_members):
    """Refuse a module whose tensors cannot hold the members one after the other."""
    for name, value in module.state_dict().items():
        if value.ndim and value.shape[0] % n_members:
            raise ValueError(
                f"network builds {name!r} of shape {tuple(value.shape)} for {n_members} members. Along its first "
                f"dimension it must hold the members one after the other: give it {n_members} equal parts."
            )


@torch.no_grad()
def restore_diverged(tensors, before, n_members):
    """Give members that have a value that is infinite or NaN all their values from before: indices of these members."""
    shape = (n_members, -1)
    finite = [torch.isfinite(value).unflatten(0, shape).flatten(1).all(dim=1) for value in tensors.values()]
    diverged = ~torch.stack(finite).all(dim=0)
    if diverged.any():
        for name, value in tensors.items():
            value.unflatten(0, shape)[diverged] = before[name].unflatten(0, shape)[diverged]
    return diverged.nonzero().flatten().tolist()
