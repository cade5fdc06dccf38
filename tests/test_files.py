"""Where files go: links, modes, and what is no file; alike for models, ONNX files and checkpoints."""

import os
import socket
import stat
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs

from skspc import SPCClustering
from skspc._persistence.checkpoints import Checkpoints
from skspc._persistence.files import find_place, write_atomically
from skspc.export import to_onnx

SHORT = {"clusterer": "kmeans", "reducer": None, "n_estimators": 1, "pretrain_epochs": 1, "max_iter": 0}
ROWS = make_blobs(n_samples=60, n_features=4, centers=3, random_state=0)[0]
KIND = "files"


@pytest.fixture(scope="module")
def fitted():
    return SPCClustering(3, random_state=0, **SHORT).fit(ROWS)


@pytest.fixture(params=["model", "ONNX"])
def write(request, fitted, monkeypatch):
    """What writes a file: a function of its path."""
    if request.param == "model":
        return fitted.save
    pytest.importorskip("onnx")
    pytest.importorskip("onnxscript")
    graph = SimpleNamespace(model_proto=SimpleNamespace(SerializeToString=lambda: b"graph"))
    monkeypatch.setattr(torch.onnx, "export", lambda *args, **kwargs: graph)
    return lambda path: to_onnx(fitted, path)


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield
    os.umask(before)


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def make_special(kind, path):
    """Put something there that is no regular file; the error of writing to it."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(os.devnull)
    return IsADirectoryError if kind == "folder" else OSError


# What is no regular file


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "device"])
@pytest.mark.parametrize("through_link", [False, True])
@pytest.mark.case(
    KIND, "a pipe, socket, device or folder where a file should go", origin="zephyr#31362; curl#6882; bazel#31038"
)
def test_what_is_no_regular_file_is_refused_and_stays(write, kind, through_link, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    error = make_special(kind, Path("there"))
    if through_link:
        Path("link").symlink_to("there")
    before = os.lstat("there")
    with pytest.raises(error, match=r"not saved: (Is a directory|A pipe, device or socket is there, not a regular)"):
        write("link" if through_link else "there")
    assert os.path.samestat(os.lstat("there"), before)
    assert len(os.listdir()) == 1 + through_link


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "device"])
@pytest.mark.case(KIND, "a pipe, socket, device or folder to load from", origin="zephyr#31362; curl#6882")
def test_nothing_is_read_from_what_is_no_regular_file(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    error = make_special(kind, Path("there"))
    with pytest.raises(error, match="The model was not read: .*'there'"):  # a pipe would never end
        SPCClustering.load("there")


# Links and modes


@pytest.mark.parametrize("n_links", [1, 3])
@pytest.mark.parametrize("is_dangling", [False, True])
@pytest.mark.case(KIND, "links, links to links, and links to nothing yet", origin="microsoft/terminal#10908")
def test_links_are_written_through(write, n_links, is_dangling, tmp_path):
    (tmp_path / "models").mkdir()
    target, links = tmp_path / "models" / "v1", [tmp_path / f"link{i}" for i in range(n_links)]
    if not is_dangling:
        target.write_bytes(b"old")
    for link, to in zip(links, ["models/v1", *(link.name for link in links)], strict=False):
        link.symlink_to(to)
    write(links[-1])
    assert all(link.is_symlink() for link in links)
    assert len(target.read_bytes()) > 3
    assert os.listdir(target.parent) == ["v1"]
    assert len(os.listdir(tmp_path)) == 1 + n_links


def test_links_in_a_circle_are_an_error(write, tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="not saved: Too many levels of symbolic links"):
        write(tmp_path / "a")


@pytest.mark.parametrize("mode", [0o660, 0o600, 0o444, 0o755])
@pytest.mark.case(KIND, "the mode of what is replaced", origin="mngr#1238")
def test_the_mode_of_a_file_stays(write, mode, umask, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(mode)
    write(path)
    assert mode_of(path) == mode
    write(tmp_path / "new")
    assert mode_of(tmp_path / "new") == 0o640


def test_what_is_private_is_so_before_it_is_whole(monkeypatch, tmp_path):
    path, seen = tmp_path / "model", []
    path.write_bytes(b"old")
    path.chmod(0o600)
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: seen.append(stat.S_IMODE(os.fstat(file).st_mode)) or fsync(file))
    write_atomically(path, b"new", "It")
    assert seen == [0o600]


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root gives files away")
def test_the_owner_of_a_file_stays(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    os.chown(path, 1234, 2345)
    write_atomically(path, b"new", "It")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


@pytest.mark.parametrize("function", ["chown", "chmod"])
def test_where_owner_or_mode_cannot_be_kept_the_file_is_written(function, monkeypatch, tmp_path):
    def refuse(*args):
        raise PermissionError(1, "Operation not permitted")

    path = tmp_path / "model"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, function, refuse)
    write_atomically(path, b"new", "It")
    assert path.read_bytes() == b"new"


def test_a_failed_write_through_a_link_leaves_all_as_it_was(monkeypatch, tmp_path):
    def fail(*args):
        raise OSError(28, "No space left on device")

    path, link = tmp_path / "model", tmp_path / "link"
    path.write_bytes(b"old")
    link.symlink_to("model")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=f"It was not saved: No space left on device: '{link}'"):
        write_atomically(link, b"new", "It")
    assert path.read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["link", "model"]


# Paths

ODD = {  # a path, and the error of every program for it
    "": FileNotFoundError,
    ".": IsADirectoryError,
    "new/": IsADirectoryError,
    "new/..": OSError,
    "file/": NotADirectoryError,
    "file/model": NotADirectoryError,
    "file/../model": NotADirectoryError,
    "missing/model": FileNotFoundError,
    "missing/../model": FileNotFoundError,
    "to_a_folder": IsADirectoryError,
    "nul\0": OSError,
    "nul\0/model": OSError,
    "~nul\0/model": OSError,
    "\ud800": OSError,
    "n" * 300: OSError,
}


@pytest.mark.parametrize("path", ODD, ids=lambda path: ascii(path)[:20])
@pytest.mark.case(KIND, "paths at which no file can be", origin="BERTopic#270, #693")
def test_a_path_that_cannot_be_is_an_os_error(write, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("to_a_folder").symlink_to("new/")
    for act, message in ((write, "was not saved: "), (SPCClustering.load, "was not read: ")):
        with pytest.raises(ODD[path], match=message) as caught:
            act(path)
        assert caught.value.filename == path
        assert caught.value.errno
    assert sorted(os.listdir()) == ["file", "to_a_folder"]


@pytest.mark.case(KIND, "a path with ~", origin="BERTopic#270, #693")
def test_the_home_folder_is_expanded(write, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    write("~/model")
    assert os.listdir(tmp_path) == ["model"]
    assert find_place(Path("~") / "model")[0] == str(tmp_path / "model")


@pytest.mark.parametrize("make", [str, Path, os.fsencode])
def test_strings_paths_and_bytes_are_paths(fitted, make, tmp_path):
    path = make(str(tmp_path / "model"))
    fitted.save(path)
    assert np.array_equal(SPCClustering.load(path).labels_, fitted.labels_)


@pytest.mark.parametrize("path", [None, 0, 1.5])
def test_what_is_no_path_is_a_type_error(fitted, path):
    for act in (fitted.save, SPCClustering.load):
        with pytest.raises(TypeError, match="PathLike"):
            act(path)


# Checkpoints


@pytest.mark.parametrize("path", ["", "file", "file/folder", "file/../folder", "nul\0", "\ud800", "n" * 300, "circle"])
@pytest.mark.case(KIND, "paths at which no folder of checkpoints can be", origin="BERTopic#270, #693")
def test_a_folder_of_checkpoints_that_cannot_be_is_an_os_error(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("circle").symlink_to("circle")
    with pytest.raises(OSError, match="checkpoint=.* cannot be written to, pass another folder: ") as caught:
        SPCClustering(3, checkpoint=path, random_state=0, **SHORT).fit(ROWS)
    assert caught.value.filename == path
    assert sorted(os.listdir()) == ["circle", "file"]


@pytest.mark.case(KIND, "checkpoints below ~, and through a link to nothing yet", origin="BERTopic#270, #693")
def test_checkpoints_below_the_home_folder_and_through_links(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "link").symlink_to("target")
    for folder in ("~", "~/link", Path("~") / "link"):
        assert Checkpoints(folder, "key").folder.is_dir()
    assert sorted(os.listdir(tmp_path)) == ["key", "link", "target"]
    assert os.listdir(tmp_path / "target") == ["key"]


def test_what_is_no_file_is_no_checkpoint(tmp_path):
    folder = Checkpoints(tmp_path, "key").folder
    os.mkfifo(folder / "0001.safetensors")
    (folder / "0002.safetensors").mkdir()
    assert Checkpoints(tmp_path, "key").stored_seed() is None
    assert len(os.listdir(folder)) == 2
