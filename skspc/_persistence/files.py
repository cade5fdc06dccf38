"""Files written whole or not at all."""

import os
import uuid
from pathlib import Path


def write_atomically(path, data, what):
    """Write a file whole or not at all: what stood there stays until the new one is on the disk.

    Parameters
    ----------
    path : str or path-like
    data : bytes
    what : str
        What it is, for the message of an error.

    Raises
    ------
    OSError
        Of the kind at hand (no such folder, no permission, no space left), naming ``path``.
    """
    path = Path(path)
    temporary = path.with_name(f".skspc-{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise OSError(error.errno, f"{what} was not saved: {error.strerror}", str(path)) from error
    finally:
        if os.path.exists(temporary):
            temporary.unlink()
