"""Settings in lines `name = value`."""


def parse(text):
    """The settings of a text. Empty lines and lines that begin with # do not count; names are lower case."""
    settings = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, found, value = line.partition("=")
        if not found:
            raise ValueError(f"line {number}: no =")
        settings[name.strip().lower()] = value.strip()
    return settings
