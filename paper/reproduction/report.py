"""Tables in Markdown, made of the rows of a results file and the paper's figures alone."""

import json
from dataclasses import dataclass

import numpy as np

from .data import N_ROWS, TITLES
from .methods import METHODS, TABLES, configure, is_configured_as, settled
from .paper import CLUSTER_SIZES, printed_figure

BEGIN, END = "<!-- results -->", "<!-- /results -->"
COMMAND = "python paper/reproduce.py"
EMPTY = "No runs are recorded yet."
COLUMNS = (
    *("data", "method", "K", "accuracy", "NMI", "paper: accuracy", "paper: NMI", "agreed %", "seconds", "MiB"),
    *("seeds", "commit", "device", "command"),
)
# Of the README: what a visitor decides by. Whole data sets, the method's own settings.
README_ROWS = (
    *(("digits", "umap-hdbscan"), ("digits", "evoc-told"), ("digits", "n2d-clustpy")),
    *(("digits", "spc"), ("digits", "spc-affine")),
    ("usps", "spc-affine"),
    *(("stackoverflow_titles", "kmeans"), ("stackoverflow_titles", "spc")),
)
README_COLUMNS = ("data", "method", "accuracy", "NMI", "seconds", "seeds", "device")
ORACLE_COLUMNS = (
    *("data", "method", "K", "accuracy", "NMI", "oracle: accuracy", "oracle: NMI", "oracle: round", "seeds"),
)
HEADINGS = {
    "main": "Main results",
    "ablations": "Ablations",
    "ensemble-size": "Ensemble size",
    "cluster-sizes": "Sizes of the predicted clusters",
}
NOTES = {
    "main": """\
Accuracy and NMI in percent, of the labels that the fit chose without the classes: mean over the seeds named, with the
standard deviation of a run in brackets. Seconds are those of the whole fit in a new process, imports left out; MiB is
that process's peak resident memory. A "+" behind a commit means changes that were not committed. Both fits
of all of MNIST go on from one pretrained ensemble, which took 9207 s beside other work; their seconds are those of the
rest, the later ones beside other work too. UMAP
+ HDBSCAN and EVoC are not told the number of clusters, unless the row says so; their noise is wrong in the accuracy and
one more cluster in the NMI. Peers get the pixels or features that SPC gets. The paper's SPC and SPC-GMM have K = 15.

Methods of ClustPy have its own defaults, a fully connected autoencoder among them. ClustPy scales nothing itself:
pixels and counts are brought to [0, 1] by one range, features with negative values stay as they are. VaDE takes nothing
outside [0, 1], so that each of such features is brought there by its own range. DeepECT grows a tree of at most 20
leaves, which is cut to the number of clusters. N2D has t-SNE in two dimensions: by default it has as many as clusters,
which scikit-learn's t-SNE refuses above three. EVoC compares rows by the cosine, and had its compiled functions on
disk.""",
    "ablations": """\
The paper's headings are followed: A1 trains on consensus labels, A2 on each member's own; its caption and text swap the
two. The paper's figures are for K = 15 where nothing else is said; A1 and A2 here have the default's K. With K = 1 (A3,
A4) there is one labelling, which only noise can disagree with: its agreed rows are all rows but noise, and where
HDBSCAN leaves no noise, agreement is whole and no training round is run. Selection by agreement then means "not noise",
and the round kept is the one with the least of it. The paper does not say for which K it reports A5.""",
    "ensemble-size": "The labelling of all latents side by side is one more voter, except for K = 1 (see A3 above).",
    "cluster-sizes": "Largest first, since names of clusters mean nothing; of the lowest seed. The paper has one run.",
}
PAPER_NOTE = (
    'The paper is Mahon & Lukasiewicz, "Selective Pseudo-Label Clustering", KI 2021. Its figures are as printed, with '
    "its spread in brackets. USPS's .94 is there too, though five runs with mean 98.40 and best 98.44 have a standard "
    "deviation of .09 at most."
)
README_NOTE = """\
SPC is `SPCClustering`; its peers get the pixels or features that it gets. Accuracy and NMI in percent, of the labels
that the fit chose without the classes: mean over the seeds named, with the standard deviation of a run in brackets.
Seconds are those of the whole fit in a new process, imports left out. UMAP + HDBSCAN is not told the number of
clusters. Its noise, and EVoC's, is wrong in the accuracy and one more cluster in the NMI."""
ORACLE_NOTE = (
    "Not a result: the round with the highest accuracy among those of a fit, which takes the classes to know. It shows "
    "what choosing the round without them costs."
)


@dataclass(frozen=True)
class Group:
    """The runs of one configuration on one data set, one a seed, by seed."""

    table: str
    dataset: str
    n_rows: int
    title: str
    method: str
    settings: dict
    rows: list

    @property
    def seeds(self):
        return [row["seed"] for row in self.rows]

    @property
    def is_whole(self):
        return self.n_rows == N_ROWS[self.dataset]

    @property
    def data_title(self):
        return TITLES[self.dataset] + ("" if self.is_whole else f", {self.n_rows} rows")

    @property
    def command(self):
        """The command that makes these runs."""
        parts = [COMMAND, f"--table {self.table} --dataset {self.dataset} --method {self.method}"]
        parts += [] if self.is_whole else [f"--n-rows {self.n_rows}"]
        parts += [f"--seeds {' '.join(map(str, self.seeds))}"]
        parts += [f"--set {' '.join(_pairs(self.settings))}"] if self.settings else []
        return " ".join(parts)


def group_rows(rows, table):
    """Runs of a table as it is now, then those made for it with other settings.

    A configuration counts, not the table that a run was first made for. Of runs with the same seed the last counts.

    Returns
    -------
    groups : list of Group
        By data set, then in the order of the table.
    """
    groups = []
    for dataset in TITLES:
        sizes = sorted({row["n_rows"] for row in rows if row["dataset"] == dataset}, reverse=True)
        for n_rows in sizes:
            here = [row for row in rows if (row["dataset"], row["n_rows"]) == (dataset, n_rows)]
            groups += _groups_of_table(here, table)
    return groups


def _groups_of_table(rows, table):
    """Groups of one data set."""
    groups, left = [], [row for row in rows if row["table"] == table]
    for name in TABLES[table]:
        method = METHODS[name]
        found = [row for row in rows if _is_of(row, method)]
        left = [row for row in left if row not in found]
        groups += _make_group(found, table, name, {})
    while left:
        first = left[0]
        found = [row for row in left if _configuration(row) == _configuration(first)]
        left = [row for row in left if row not in found]
        groups += _make_group(found, table, first["method"], _settings(first))
    return groups


def _is_of(row, method):
    same = row["algorithm"] == method.algorithm
    return same and is_configured_as(row, method.algorithm, method.parameters)


def _configuration(row):
    return row["method"], row["algorithm"], settled(row["parameters"], row)


def _settings(row):
    """Parameters in which a row differs from its method as it is now."""
    method = METHODS[row["method"]]
    usual = settled(configure(method.algorithm, method.parameters), row)
    return {name: value for name, value in settled(row["parameters"], row).items() if usual.get(name) != value}


def _pairs(settings):
    """Settings as ``--set`` reads them."""
    return [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in settings.items()]


def _make_group(rows, table, method, settings):
    """A list of one group, or of none without rows."""
    if not rows:
        return []
    last = {row["seed"]: row for row in rows}
    title = ", ".join([METHODS[method].title, *_pairs(settings)])
    kept = [last[seed] for seed in sorted(last)]
    return [Group(table, rows[0]["dataset"], rows[0]["n_rows"], title, method, settings, kept)]


def readme_groups(rows):
    """Groups that `README_ROWS` declares, as far as there are runs of them."""
    whole = [group for group in group_rows(rows, "main") if group.is_whole and not group.settings]
    found = {(group.dataset, group.method): group for group in whole}
    return [found[declared] for declared in README_ROWS if declared in found]


def render_readme(rows):
    """The README's table: the rows that a visitor decides by."""
    groups = readme_groups(rows)
    if not groups:
        return EMPTY
    n_datasets = len({row["dataset"] for row in rows})
    source = (
        f"Written by `{COMMAND} --report` from `paper/results.jsonl`. [All results](docs/results.md): "
        f"{n_datasets} data sets, other methods, the paper's figures, and the command of each row."
    )
    return "\n\n".join([markdown_table(README_COLUMNS, [result_cells(group) for group in groups]), README_NOTE, source])


def render_page(rows):
    """All tables, one under the other."""
    parts = [PAPER_NOTE]
    for table, heading in HEADINGS.items():
        groups = group_rows(rows, table)
        lines = size_table(groups) if table == "cluster-sizes" else result_table(groups)
        parts += [f"## {heading}", lines, NOTES[table]]
    oracle = [group for table in TABLES for group in group_rows(rows, table) if "oracle_best_round" in group.rows[0]]
    distinct = {_identity(group): group for group in reversed(oracle)}
    cells = [oracle_cells(group) for group in reversed(distinct.values())]
    lines = markdown_table(ORACLE_COLUMNS, cells) if cells else EMPTY
    return "\n\n".join([*parts, "## Oracle best round", ORACLE_NOTE, lines])


def _identity(group):
    """What tells a group from the same runs in another table."""
    return group.dataset, group.n_rows, repr(group.rows)


def result_table(groups):
    return markdown_table(COLUMNS, [result_cells(group) for group in groups]) if groups else EMPTY


def result_cells(group):
    """Cells of one line by column."""
    paper = printed_figure(group.table, group.method, group.dataset) if group.is_whole and not group.settings else None
    shares = [row["agreed_share"] for row in group.rows if "agreed_share" in row]
    return {
        "data": group.data_title,
        "method": group.title,
        "K": str(group.rows[0]["parameters"].get("n_estimators", "-")),
        "accuracy": percent([row["accuracy"] for row in group.rows]),
        "NMI": percent([row["nmi"] for row in group.rows]),
        "paper: accuracy": with_spread(paper.accuracy, paper.accuracy_spread) if paper else "-",
        "paper: NMI": with_spread(paper.nmi, paper.nmi_spread) if paper else "-",
        "agreed %": f"{100 * np.mean(shares):.1f}" if shares else "-",
        "seconds": by_device(group.rows, "seconds"),
        "MiB": by_device(group.rows, "peak_memory_mib"),
        "seeds": f"{len(group.rows)} ({', '.join(map(str, group.seeds))})",
        "commit": ", ".join(dict.fromkeys(short_commit(row["commit"]) for row in group.rows)) + copies(group.rows),
        "device": "; ".join(dict.fromkeys(row["device"] for row in group.rows)),
        "command": f"`{group.command}`",
    }


def oracle_cells(group):
    best = [row["oracle_best_round"] for row in group.rows]
    return {
        **result_cells(group),
        "oracle: accuracy": percent([figures["accuracy"] for figures in best]),
        "oracle: NMI": percent([figures["nmi"] for figures in best]),
        "oracle: round": ", ".join(
            f"{figures['round']} (kept: {row.get('kept', row.get('chosen_round'))})"
            for figures, row in zip(best, group.rows, strict=True)
        ),
    }


def size_table(groups):
    """Predicted sizes, under them those of the classes and the paper's."""
    lines = []
    for position, group in enumerate(groups):
        row = group.rows[0]
        lines.append((group.data_title, f"{group.title}, seed {row['seed']}", row["cluster_sizes"]))
        printed = CLUSTER_SIZES.get((group.dataset, group.method)) if group.is_whole and not group.settings else None
        if printed:
            lines.append((group.data_title, f"{group.title} in the paper", printed))
        is_last = position + 1 == len(groups) or groups[position + 1].data_title != group.data_title
        if is_last:
            lines.append((group.data_title, "classes", row["class_sizes"]))
    names = ("data", "labels", "sizes")
    cells = [dict(zip(names, (*line[:2], ", ".join(map(str, line[2]))), strict=True)) for line in lines]
    return markdown_table(names, cells) if cells else EMPTY


def percent(shares):
    """Mean in percent, and with several the standard deviation of one."""
    spread = 100 * np.std(shares, ddof=1) if len(shares) > 1 else None
    return with_spread(100 * np.mean(shares), spread)


def with_spread(value, spread):
    return f"{value:.2f}" if spread is None else f"{value:.2f} ({spread:.2f})"


def by_device(rows, name):
    """Mean of a figure for each device, in the order in which the devices are named."""
    devices = dict.fromkeys(row["device"] for row in rows)
    return "; ".join(f"{np.mean([row[name] for row in rows if row['device'] == device]):.0f}" for device in devices)


def short_commit(commit):
    if commit is None:
        return "not known"
    return commit[:7] + "+" * commit.endswith("+")


def copies(rows):
    """A word where the data of the runs are not the same to the byte."""
    n_copies = len({row["data"] for row in rows})
    return f"; {n_copies} copies of the data" if n_copies > 1 else ""


def markdown_table(columns, lines):
    """Lines, dicts by column, as a Markdown table."""
    rows = [columns, ["---"] * len(columns), *([line[column] for column in columns] for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def replace_between_markers(path, text):
    """Put text between the markers of a file.

    Raises
    ------
    ValueError
        If the file does not have each marker once, the first before the other.
    """
    content = path.read_text(encoding="utf-8")
    before, begin, rest = content.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end) or BEGIN in rest or END in after:
        raise ValueError(f"{path} needs {BEGIN} and, below it, {END}, each once, for the tables to go between.")
    path.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
