"""What the tables are measured on."""

import shutil
import subprocess

import joblib
import torch
from reproduction import machine

from skspc._runtime.devices import resolve_precision

from .rows import Found, Row, cards


def machine_rows(job):
    return [
        Row("card", lambda: card(job.device)),
        Row("driver", driver),
        Row("torch", torch_build),
        Row("processor", lambda: Found(machine.cpu_name(), note=f"{joblib.cpu_count()} cores for this process")),
        Row("skspc", lambda: Found(str(machine.commit()), note=", ".join(map(" ".join, machine.versions().items())))),
    ]


def card(device):
    precision = str(resolve_precision("auto", device)).removeprefix("torch.")
    if not cards(device):
        return Found("none: the CPU", note=f"precision: {precision}")
    names = {torch.cuda.get_device_name(each) for each in cards(device)}
    free, total = (n_bytes / 2**30 for n_bytes in torch.cuda.mem_get_info(cards(device)[0]))
    capability = ".".join(map(str, torch.cuda.get_device_capability(cards(device)[0])))
    note = f"{free:.0f} of {total:.0f} GiB free, compute capability {capability}; precision: {precision}"
    return Found(f"{len(cards(device))} x {', '.join(sorted(names))}", note=note)


def driver():
    if shutil.which("nvidia-smi") is None:
        return Found("not known: there is no nvidia-smi")
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    told = subprocess.run(asked, capture_output=True, text=True, timeout=60)
    return Found(", ".join(sorted(set(told.stdout.split("\n")) - {""})) or f"not known: {told.stderr.strip()}")


def torch_build():
    cudnn = torch.backends.cudnn.version() if torch.backends.cudnn.is_available() else None
    return Found(torch.__version__, note=f"CUDA {torch.version.cuda}, cuDNN {cudnn}")
