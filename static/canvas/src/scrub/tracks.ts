/*
 * Texts as they were: how long each was at a moment comes from its track, the words from the text as it became.
 *
 * A track is fetched with all others of its run, a text once somebody looks at a moment in which it was being written.
 * Of runs from before there were tracks, and of what is still being written, there is nothing until it is done.
 */
import { dropPoints } from "../live/streams";

/** [milliseconds since the call began, code points that were there by then] */
export type Mark = readonly [ms: number, points: number];
export type Track = { at: string; marks: readonly Mark[] };
export type Source = {
  tracks(code: string): Promise<Readonly<Record<string, Track>>>;
  text(code: string, stream: string): Promise<string>;
};

type Known = { code: string; track: Track; text: string | null; isAsked: boolean };

export class Tracks {
  private readonly known = new Map<string, Known>();
  private readonly loaded = new Map<string, Promise<void>>();

  /** `changed` is called when more is known than before. */
  constructor(
    private readonly source: Source,
    private readonly changed: () => void,
  ) {}

  /** Have the tracks of run `code`; each run's are fetched once until `forget`. */
  load(code: string): Promise<void> {
    const before = this.loaded.get(code);
    if (before !== undefined) return before;
    const loading = this.source.tracks(code).then(
      (tracks) => {
        for (const [stream, track] of Object.entries(tracks)) {
          if (!this.known.has(stream)) this.known.set(stream, { code, track, text: null, isAsked: false });
        }
        this.changed();
      },
      () => void this.loaded.delete(code), // asked for again the next time
    );
    this.loaded.set(code, loading);
    return loading;
  }

  /** More may have been written since: have the tracks fetched anew. */
  forget(): void {
    this.loaded.clear();
  }

  /** What `stream` said by `time`; empty where that is not known, or not yet here. */
  text(stream: string, time: number): string {
    const known = this.known.get(stream);
    if (known === undefined) return "";
    const points = pointsAt(known.track.marks, time - Date.parse(known.track.at));
    if (points === 0) return "";
    if (known.text === null) {
      this.fetch(stream, known);
      return "";
    }
    return takePoints(known.text, points);
  }

  private fetch(stream: string, known: Known): void {
    if (known.isAsked) return;
    known.isAsked = true;
    this.source.text(known.code, stream).then(
      (text) => {
        known.text = text;
        this.changed();
      },
      () => {
        known.isAsked = false;
      },
    );
  }
}

/** How many code points were there `ms` after the call began. */
export function pointsAt(marks: readonly Mark[], ms: number): number {
  let [low, high] = [0, marks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((marks[middle] as Mark)[0] <= ms) low = middle + 1;
    else high = middle;
  }
  return marks[low - 1]?.[1] ?? 0;
}

/** The first `points` code points of `text`. */
export function takePoints(text: string, points: number): string {
  return text.slice(0, text.length - dropPoints(text, points).length);
}

/** Asks the studio. */
export const fromStudio: Source = {
  tracks: (code) => json(`/runs/${encodeURIComponent(code)}/tracks/`),
  text: (code, stream) =>
    json<{ text: string }>(`/runs/${encodeURIComponent(code)}/tracks/?stream=${encodeURIComponent(stream)}`).then(
      ({ text }) => text,
    ),
};

async function json<T>(path: string): Promise<T> {
  const answer = await fetch(path, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return (await answer.json()) as T;
}
