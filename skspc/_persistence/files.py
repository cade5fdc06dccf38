"""Files written whole or not at all, at the place that a path names."""

import errno
import os
import stat
import uuid
from contextlib import contextmanager, suppress


@contextmanager
def os_errors(what, path):
    """Let every error of a path be an OSError of its kind that begins with ``what`` and names the path."""
    try:
        yield
    except (OSError, ValueError) as error:  # a ValueError: a NUL byte, or a name that cannot be encoded
        number = getattr(error, "errno", None) or errno.EINVAL
        raise OSError(number, f"{what}: {getattr(error, 'strerror', None) or error}", os.fsdecode(path)) from error


def find_place(path):
    """Find the place that a path names, and its os.stat_result, or None where nothing is.

    ``~`` is expanded, and links are followed, those to nothing too. Nothing else of the path is simplified: what the
    system refuses, such as ``file/../other``, stays refused, by an OSError or ValueError.
    """
    place = os.path.expanduser(os.fsdecode(path))
    try:
        found = os.stat(place)
    except FileNotFoundError:
        if not place:
            raise
        found = None
    while os.path.islink(place):  # it ends: of links in a circle there is no stat
        place = os.path.join(os.path.dirname(place), os.readlink(place))
    return place, found


def find_file(path):
    """Find the place of a file, as `find_place`; an OSError too if something else is there, or only a folder can be."""
    place, found = find_place(path)
    if os.path.basename(place) in ("", os.curdir, os.pardir) or (found is not None and stat.S_ISDIR(found.st_mode)):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "A pipe, device or socket is there, not a regular file. Pass another path")
    return place, found


def write_atomically(path, data, what):
    """Write a file whole or not at all: what stood there stays until the new one is on the disk.

    A file that is replaced leaves its mode, and its owner and group where that is allowed, to the new one. ``~`` is
    expanded; of a link the target is written, and the link stays. An OSError of the kind at hand (no such folder, no
    regular file, no permission, no space left) names ``path``, and ``what`` was to be written.
    """
    with os_errors(f"{what} was not saved", path):
        place, found = find_file(path)
        temporary = os.path.join(os.path.dirname(place), f".skspc-{uuid.uuid4().hex}.tmp")
        mode = 0o666 if found is None else stat.S_IMODE(found.st_mode)  # from the start: what is private stays so
        try:
            with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if found is not None:
                _keep_owner_and_mode(temporary, found)
            os.replace(temporary, place)
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)


def _keep_owner_and_mode(path, found):
    for owner, group in ((-1, found.st_gid), (found.st_uid, -1)):
        with suppress(OSError, AttributeError):  # not everyone may give files away; on Windows nobody can
            os.chown(path, owner, group)
    with suppress(OSError):  # some file systems have no modes
        os.chmod(path, stat.S_IMODE(found.st_mode))
