/* A graph as layout sees it, with what is folded in it, and which of its keys stand for what cannot be seen. */
import type { Level } from "./arrange";
import type { Boxes } from "./geometry";
import type { Card, Graph } from "./model";

type Openness = { isOpen(key: string): boolean };

export function levelOf(graph: Graph, folds: Openness, prefix = ""): Level {
  return {
    prefix,
    nodes: [...graph.cards, ...graph.notes, ...(graph.sink === null ? [] : [graph.sink])],
    rounds: graph.rounds.map(({ key, members }) => ({ key, members, isFolded: !folds.isOpen(key) })),
    inside: new Map(
      graph.cards.flatMap((card) =>
        card.nest !== null && folds.isOpen(card.key)
          ? [[card.key, levelOf(card.nest.graph, folds, `${card.key}/`)] as const]
          : [],
      ),
    ),
  };
}

/** The key in `boxes` that is seen where `key` would be: itself, or the round it is folded in. */
export function seenAs(graph: Graph, boxes: Boxes): (key: string) => string | undefined {
  const folded = new Map(graph.rounds.flatMap((round) => round.members.map((member) => [member, round.key])));
  return (key) => {
    if (boxes.has(key)) return key;
    const round = folded.get(key);
    return round !== undefined && boxes.has(round) ? round : undefined;
  };
}

/** The cards of `graph` that are seen, those of the nested runs that are unfolded among them, in the order of the steps. */
export function seenCards(graph: Graph, folds: Openness): Card[] {
  const hidden = new Set(graph.rounds.filter(({ key }) => !folds.isOpen(key)).flatMap(({ members }) => members));
  return graph.cards
    .filter(({ key }) => !hidden.has(key))
    .flatMap((card) =>
      card.nest !== null && folds.isOpen(card.key) ? [card, ...seenCards(card.nest.graph, folds)] : [card],
    );
}
