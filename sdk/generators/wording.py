"""Names and comments for the languages that write words together."""
import re


def pascal(text):
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[_\W]+", text))


def camel(text):
    name = pascal(text)
    return name[:1].lower() + name[1:]


def wrapped(text, before, width=100):
    """Lines of TEXT, each after BEFORE."""
    lines, line = [], ""
    for word in text.split():
        if line and len(before) + len(line) + len(word) + 1 > width:
            lines.append(before + line)
            line = ""
        line += (" " if line else "") + word
    return lines + [before + line] if line else lines
