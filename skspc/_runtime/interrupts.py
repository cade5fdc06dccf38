"""Ctrl-C where little is left to do, and much would be lost."""


def done_though_interrupted(function):
    """What a function returns, and whether Ctrl-C came, after which it is called once more; a second time ends it."""
    try:
        return function(), False
    except KeyboardInterrupt:
        return function(), True
