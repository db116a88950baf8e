"""Text in lines of limited width."""


def wrap(text, width):
    """The words of a text in lines of at most `width` characters; a longer word has a line to itself."""
    lines, line = [], ""
    for word in text.split():
        longer = f"{line} {word}" if line else word
        if len(longer) <= width or not line:
            line = longer
        else:
            lines.append(line)
            line = word
    if line:
        lines.append(line)
    return lines
