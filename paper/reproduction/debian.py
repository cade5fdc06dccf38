"""Data sets that Debian has: one-line descriptions of its packages, and tables of the R package mlbench.

    apt-get update && apt-get install r-cran-mlbench && pip install rdata

Descriptions are classed by the sections of their packages, 600 of each at most, chosen by chance; they are those of the
release that is installed (rows in `results.jsonl` are of Debian 12). Tables are read from the files of the package; R
itself is not asked. The first descriptions, DNA and letters had a part in when UMAP is left out (docs/clusterers.md).
"""

import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import numpy as np

N_ROWS = {
    "descriptions": 4358,
    "descriptions_2": 4615,
    "descriptions_3": 3670,
    "dna": 3186,
    "soybean": 683,
    "votes": 435,
    "letter": 20_000,
    "satellite": 6435,
    "vehicle": 846,
    "vowel": 990,
}
SECTIONS = {
    "descriptions": "games sound graphics fonts math mail video electronics database science",
    "descriptions_2": "net text x11 web editors kernel hamradio haskell java gnu-r",
    "descriptions_3": "php ocaml lisp games admin mail fonts golang",
}
TABLES = {  # the file, and the columns of features; the class is beside them
    "dna": ("DNA", slice(0, 180)),
    "soybean": ("Soybean", slice(1, None)),
    "votes": ("HouseVotes84", slice(1, None)),
    "letter": ("LetterRecognition", slice(1, None)),
    "satellite": ("Satellite", slice(0, 36)),
    "vehicle": ("Vehicle", slice(0, 18)),
    "vowel": ("Vowel", slice(1, 10)),  # not who spoke
}
MLBENCH = Path("/usr/lib/R/site-library/mlbench/data")
MOST_OF_A_SECTION = 600
PARTS = re.compile(r"-(dev|doc|data|dbg|common)$")  # of packages whose descriptions say the same


def stored(name):
    """Rows (N, n_features), or texts (N,), and classes as int64."""
    rows, classes = descriptions(SECTIONS[name].split()) if name in SECTIONS else table(*TABLES[name])
    return rows, np.unique(classes, return_inverse=True)[1].astype(np.int64)


def descriptions(sections):
    """Texts of packages in these sections, and the sections."""
    if shutil.which("apt-cache") is None:
        raise FileNotFoundError("Descriptions of packages are Debian's: there is no apt-cache here.")
    packages = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    texts, classes = read_descriptions(packages, sections)
    if set(classes) != set(sections):  # no lists, or those of a system with other names of sections
        raise FileNotFoundError("apt-cache knows no packages of Debian's sections: apt-get update, on Debian.")
    return texts, classes


def read_descriptions(packages, sections):
    """Texts, each of one of these sections alone, and their sections, of what apt-cache tells of all packages."""
    of_section = defaultdict(set)
    for package in packages.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Section|Description)(?:-en)?: (.*)", package, re.MULTILINE))
        if "Description" in fields and not PARTS.search(fields["Package"]):
            of_section[fields.get("Section")].add(fields["Description"])
    random = np.random.default_rng(0)
    of_section = {section: random.permutation(sorted(of_section[section]))[:MOST_OF_A_SECTION] for section in sections}
    texts = np.concatenate(list(of_section.values()))
    classes = np.repeat(sections, [len(its_texts) for its_texts in of_section.values()])
    once = np.isin(texts, [text for text, n in zip(*np.unique(texts, return_counts=True), strict=True) if n == 1])
    return texts[once], classes[once]


def table(file, columns):
    """Rows and classes of one of mlbench's tables: numbers standardised, answers as 1, -1 and 0, symbols one-hot."""
    path = MLBENCH / f"{file}.rda"
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there: apt-get install r-cran-mlbench")
    try:
        import rdata
    except ImportError:
        raise FileNotFoundError(f"{path} is read by rdata, which is not installed: pip install rdata") from None
    from sklearn.preprocessing import StandardScaler

    frame = next(iter(rdata.read_rda(path).values()))
    features = frame.iloc[:, columns]
    names = ["Class", "class", "classes", "lettr"]
    classes = frame[next(name for name in names if name in frame)].astype(str).to_numpy()
    if file == "Soybean":
        return symbols(features), classes
    if file == "HouseVotes84":
        return np.select([features == "y", features == "n"], [1.0, -1.0]), classes
    numbers = features.astype(str).to_numpy().astype(np.float64)
    return (numbers if file == "DNA" else StandardScaler().fit_transform(numbers)), classes


def symbols(features):
    """Columns of 0 and 1, one for each symbol of each column of a frame; what lacks is a symbol too."""
    columns = [column.astype(object).fillna("?").astype(str).to_numpy() for _, column in features.items()]
    return np.column_stack([(column[:, None] == np.unique(column)).astype(np.float64) for column in columns])
