"""Two runs as one graph, as the canvas reads it: every step once, and every read with the run that has it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import networkx as nx

from apps.runs.models import Step
from apps.web.comparing.compared import Comparison
from apps.web.comparing.paired import Row
from apps.web.comparing.sides import Side
from apps.web.words.figures import listed


def merged(comparison: Comparison, *, url: Callable[[Row], str]) -> dict[str, Any]:
    """The steps and edges of both; `url` is where a step is told of alone."""
    edges = list(_edges(comparison))
    return {"steps": [_step(row, url(row)) for row in _in_order(comparison.rows, edges)], "edges": edges}


def _in_order(rows: Sequence[Row], edges: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Each step behind all that it reads in either run, else as they are listed; so too where that goes in a circle."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(_key(row) for row in rows)
    graph.add_edges_from((edge["source"], edge["reader"]) for edge in edges)
    if not nx.is_directed_acyclic_graph(graph):
        return list(rows)
    by_key = {_key(row): row for row in rows}
    return [by_key[key] for key in nx.lexicographical_topological_sort(graph, lambda key: by_key[key].number)]


def _step(row: Row, url: str) -> dict[str, Any]:
    line, said = row.line, listed(row.said)
    return {
        "key": _key(row),
        "anchor": row.anchor,
        "url": url,
        "number": line.number,
        "title": line.title,
        "role": line.row.role,
        "difference": row.what,
        "state": line.state,
        "worker": line.row.worker,
        "label": row.label,
        "text": said[:1].upper() + said[1:],
    }


def _key(row: Row) -> str:
    return f"pair:{row.number}"


def _edges(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """Reads between steps that stand there, those of A first; a read that both have is one edge."""
    a, b = (_reads(comparison, side) for side in comparison.sides)
    for edge in a | b:
        source, reader = edge
        difference = "same" if edge in a and edge in b else "only-a" if edge in a else "only-b"
        carried = a.get(edge, False) or b.get(edge, False)
        yield {"source": source, "reader": reader, "difference": difference, "carried": carried}


def _reads(comparison: Comparison, side: Side) -> dict[tuple[str, str], bool]:
    """Every read in one of the runs between the keys of the graph, and whether something passed."""
    rows = {line.row.key: row for row in comparison.rows if (line := row.a if side is comparison.a else row.b)}
    return {
        (_key(rows[source]), _key(rows[step.key])): side.lines[source].row.status in Step.DONE
        for step in side.workflow.steps
        for source in step.access
        if source in rows and step.key in rows
    }
