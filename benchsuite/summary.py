"""Tables of medians and ranges from rows of single runs."""

import statistics


def grouped(rows, *names):
    """Rows grouped by the values of some fields, in order of first appearance."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row.get(name, "") for name in names), []).append(row)
    return groups


def values(rows, name):
    return [row[name] for row in rows if name in row]


def median(rows, name):
    found = values(rows, name)
    return statistics.median(found) if found else None


def rates(rows):
    """Rows with `rate`, the amount per second."""
    return [
        {**row, "rate": row["amount"] / row["seconds"]}
        for row in rows
        if row.get("amount") and row.get("seconds")
    ]


def spread(rows, name, scale=1.0):
    """`median (minimum–maximum)`, to about three significant digits."""
    found = [value / scale for value in values(rows, name)]
    if not found:
        return "—"
    if len(found) == 1:
        return number(found[0])
    return f"{number(statistics.median(found))} ({number(min(found))}–{number(max(found))})"


def number(value):
    for limit, digits in [(0.1, 4), (1, 3), (10, 2), (100, 1)]:
        if abs(value) < limit:
            return f"{value:.{digits}f}"
    return f"{value:.0f}"


def table(head, lines):
    """A Markdown table."""
    rule = "|" + "---|" * len(head)
    return "\n".join([row(head), rule, *map(row, lines)]) + "\n"


def row(cells):
    return "| " + " | ".join(map(str, cells)) + " |"


def failures(rows):
    """A list of the systems that failed, with their errors."""
    seen = grouped([row for row in rows if "failure" in row], "system", "failure")
    lines = [
        f"- {system} ({', '.join(sorted({row['graph'] for row in found}))}): {failure}"
        for (system, failure), found in seen.items()
    ]
    return "\nFailed:\n\n" + "\n".join(lines) + "\n" if lines else ""


def is_ours(system):
    return system.startswith("nearfar")
