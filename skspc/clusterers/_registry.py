"""Clusterers and reducers by name: the built-in ones, registered ones, and those of installed packages."""

from collections.abc import Callable, Iterable
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, Protocol, TypeVar, cast

from numpy.typing import NDArray
from sklearn.cluster import KMeans

from .._docstrings import filled_in
from ._hdbscan import HDBSCANCut
from ._umap import UMAPReducer
from ._wrapped import AgglomerativeClusterer, GaussianMixtureClusterer

NAMED = """name : str
    Not that of a built-in one. A name registered before is given to the new factory."""
REGISTERED = """Raises
------
ValueError
    For the name of a built-in one.
TypeError
    If the name is not a string, or the factory cannot be called."""
FOUND = """Raises
------
ValueError
    For an unknown name.
TypeError
    For an object without ``{method}``.
ImportError
    If a package offers the name and cannot be imported."""
LISTED = """List the names that ``{kind}`` can be: built in, registered, and offered by installed packages.

Returns
-------
names : list of str
    Sorted."""
SHARED = {"named": NAMED, "registered": REGISTERED, "found": FOUND, "listed": LISTED}
of_clusterers = filled_in(**SHARED, kind="clusterer", method="fit_predict")
of_reducers = filled_in(**SHARED, kind="reducer", method="fit_transform")

BUILT_IN_CLUSTERERS: dict[str, Callable[[], Any]] = {
    "hdbscan": HDBSCANCut,
    "gmm": GaussianMixtureClusterer,
    "kmeans": partial(KMeans, n_init=10),
    "agglomerative": AgglomerativeClusterer,
}
BUILT_IN_REDUCERS: dict[str, Callable[[], Any]] = {"umap": UMAPReducer}


class Clusterer(Protocol):
    """Latents or their embedding (N, d) to labels (N,), negative ones for noise."""

    def fit_predict(self, X: NDArray[Any], /) -> NDArray[Any]: ...


class Reducer(Protocol):
    """Latents (N, m) to their embedding (N, d)."""

    def fit_transform(self, X: NDArray[Any], /) -> NDArray[Any]: ...


Part = TypeVar("Part")


class Registry(Generic[Part]):
    """Factories by name, of a kind: a parameter of `SPCClustering`, whose instances must have a method.

    Packages offer theirs as entry points of the group ``skspc.<kind>s``.
    """

    def __init__(
        self, kind: str, method: str, built_in: dict[str, Callable[[], Part]], settled_by_fit: tuple[str, ...] = ()
    ) -> None:
        self.kind, self.method, self._built_in, self._settled_by_fit = kind, method, built_in, settled_by_fit
        self._registered: dict[str, Callable[[], Part]] = {}

    def register(self, name: str, factory: Callable[[], Part]) -> None:
        """Let a name stand for what a factory makes; see `register_clusterer`."""
        if not isinstance(name, str) or not name:
            raise TypeError(f"name={name!r} of a {self.kind} must be a string with at least one character.")
        if name in (*self._built_in, *self._settled_by_fit):
            raise ValueError(f"name={name!r} is a built-in {self.kind}. Register yours by another name.")
        if not callable(factory):
            raise TypeError(
                f"factory={factory!r} of the {self.kind} {name!r} cannot be called. Pass a class, or a function "
                f"without arguments that returns an instance with a method {self.method!r}."
            )
        self._registered[name] = factory

    def names(self) -> list[str]:
        """All names, sorted."""
        offered = {point.name for point in self._entry_points()}
        return sorted({*self._built_in, *self._registered, *offered})

    def get(self, value: str | Part) -> Part:
        """Return a new instance for a name, or the object itself once it has been checked."""
        if isinstance(value, str):
            factory = self._factory(value)
            try:
                made = factory()
            except TypeError as error:  # it asks for arguments, or cannot be called
                raise TypeError(
                    f"{self.kind}={value!r} stands for {factory!r}, which cannot be called without arguments: {error}. "
                    "Register a class, or a function, that can."
                ) from error
            self._check(made, f"The {self.kind} registered as {value!r} is {made!r}, which")
            return made
        self._check(value, f"{self.kind}={value!r}")
        return value

    def _factory(self, name: str) -> Callable[[], Part]:
        for table in (self._built_in, self._registered):
            if name in table:
                return table[name]
        offered = [point for point in self._entry_points() if point.name == name]
        if len({point.value for point in offered}) > 1:
            values = " and ".join(repr(point.value) for point in offered)
            raise ValueError(
                f"{self.kind}={name!r} is offered by the entry points {values}. Uninstall all but one, or register "
                f"the one you mean by skspc.clusterers.register_{self.kind}."
            )
        if offered:
            try:
                return cast(Callable[[], Part], offered[0].load())
            except Exception as error:  # whatever a package does when it is imported
                raise ImportError(
                    f"{self.kind}={name!r} is offered by the entry point {offered[0].value!r}, which cannot be "
                    f"loaded: {error!r}. Mend or uninstall that package."
                ) from error
        known = sorted([*self.names(), *self._settled_by_fit])
        raise ValueError(
            f"{self.kind}={name!r} is not known. Known names: {', '.join(map(repr, known))}; or pass an object "
            f"with a method {self.method!r}, or give it a name by skspc.clusterers.register_{self.kind} (in each "
            "process that fits: joblib's workers are processes of their own)."
        )

    def _entry_points(self) -> Iterable[EntryPoint]:
        """Entry points of installed packages; a name that is built in or registered is not looked up here."""
        return entry_points(group=f"skspc.{self.kind}s")

    def _check(self, part: object, subject: str) -> None:
        """Refuse what cannot do the work; ``subject`` begins the sentence."""
        if isinstance(part, type):
            raise TypeError(f"{subject} is a class. Pass an instance, e.g. {part.__name__}().")
        if not callable(getattr(part, self.method, None)):
            raise TypeError(
                f"{subject} has no method {self.method!r} to call. Pass a name "
                f"({', '.join(map(repr, self.names()))}) or an instance that has one."
            )


_clusterers: Registry[Clusterer] = Registry("clusterer", "fit_predict", BUILT_IN_CLUSTERERS, ("auto",))
_reducers: Registry[Reducer] = Registry("reducer", "fit_transform", BUILT_IN_REDUCERS)


@of_clusterers
def register_clusterer(name: str, factory: Callable[[], Clusterer]) -> None:
    """Let ``SPCClustering(clusterer=name)`` use a clusterer of one's own.

    Parameters
    ----------
    {named}
    factory : callable
        Without arguments; returns an instance with ``fit_predict(Z)``: (N, d), float64, to labels (N,), negative ones
        for noise.
        A class will do. If instances have ``n_clusters`` or ``n_components``, and ``random_state``, among their
        parameters (scikit-learn's ``get_params``), these are set.

    {registered}

    Examples
    --------
    >>> from sklearn.cluster import Birch
    >>> from skspc.clusterers import list_clusterers, register_clusterer
    >>> register_clusterer("birch", Birch)
    >>> "birch" in list_clusterers()
    True
    """
    _clusterers.register(name, factory)


@of_clusterers
def get_clusterer(clusterer: str | Clusterer) -> Clusterer:
    """Return a new clusterer for a name, or the object itself once it has been checked.

    Parameters
    ----------
    clusterer : str or object with ``fit_predict``

    Returns
    -------
    clusterer : object with ``fit_predict``

    {found}

    Examples
    --------
    >>> from skspc.clusterers import get_clusterer
    >>> get_clusterer("hdbscan")
    HDBSCANCut()
    """
    return _clusterers.get(clusterer)


@of_clusterers
def list_clusterers() -> list[str]:
    """{listed}

    Examples
    --------
    >>> from skspc.clusterers import list_clusterers
    >>> {"agglomerative", "gmm", "hdbscan", "kmeans"} <= set(list_clusterers())
    True
    """
    return _clusterers.names()


@of_reducers
def register_reducer(name: str, factory: Callable[[], Reducer]) -> None:
    """Let ``SPCClustering(reducer=name)`` use a reducer of one's own.

    Parameters
    ----------
    {named}
    factory : callable
        Without arguments; returns an instance with ``fit_transform(Z)``: (N, m) to (N, d). A class will do. If
        instances have ``random_state``, or ``device="auto"``, among their parameters, these are set.

    {registered}

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from skspc.clusterers import list_reducers, register_reducer
    >>> register_reducer("two components", lambda: PCA(2))
    >>> "two components" in list_reducers()
    True
    """
    _reducers.register(name, factory)


@of_reducers
def get_reducer(reducer: str | Reducer | None) -> Reducer | None:
    """Return a new reducer for a name, the object itself once it has been checked, or None.

    Parameters
    ----------
    reducer : str, object with ``fit_transform``, or None

    Returns
    -------
    reducer : object with ``fit_transform``, or None

    {found}

    Examples
    --------
    >>> from skspc.clusterers import get_reducer
    >>> get_reducer("umap")
    UMAPReducer()
    """
    return None if reducer is None else _reducers.get(reducer)


@of_reducers
def list_reducers() -> list[str]:
    """{listed}

    Examples
    --------
    >>> from skspc.clusterers import list_reducers
    >>> "umap" in list_reducers()
    True
    """
    return _reducers.names()
