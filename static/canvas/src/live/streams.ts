/*
 * Texts that are being written, put together from pieces that may come twice, overlap, or be missing.
 *
 * Offsets count Unicode code points, as Python does, while a JavaScript string counts UTF-16 units: each text keeps
 * its own count, so that an emoji is never cut in half and an offset never slips.
 */

export type Applied =
  | { kind: "grew"; added: string }
  | { kind: "known" } // nothing in it was new
  | { kind: "gap"; from: number }; // something before it is missing: ask for the text from here

type Text = { text: string; points: number };

export class Streams {
  private readonly texts = new Map<string, Text>();

  /** Put `text`, which starts at code point `offset`, where it belongs in `stream`. */
  apply(stream: string, offset: number, text: string): Applied {
    const have = this.texts.get(stream) ?? { text: "", points: 0 };
    if (offset > have.points) return { kind: "gap", from: have.points };

    const fresh = dropPoints(text, have.points - offset);
    if (fresh === "") return { kind: "known" };

    this.texts.set(stream, { text: have.text + fresh, points: have.points + countPoints(fresh) });
    return { kind: "grew", added: fresh };
  }

  text(stream: string): string {
    return this.texts.get(stream)?.text ?? "";
  }

  /** How far `stream` is known, in code points. */
  points(stream: string): number {
    return this.texts.get(stream)?.points ?? 0;
  }
}

export function countPoints(text: string): number {
  let points = 0;
  for (const _ of text) points += 1;
  return points;
}

/** `text` without its first `points` code points. */
export function dropPoints(text: string, points: number): string {
  if (points <= 0) return text;
  let index = 0;
  for (let left = points; left > 0 && index < text.length; left -= 1) {
    index += (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1;
  }
  return text.slice(index);
}

/** The last `points` code points on one line, with an ellipsis where something was left out. */
export function tail(text: string, points: number): string {
  // Room for surrogate pairs and runs of blanks; of a long text the rest is never looked at.
  const line = text.slice(-4 * points).replace(/\s+/g, " ").trim();
  const all = Array.from(line);
  const left = all.slice(-points).join("").trim();
  return all.length > points || text.length > 4 * points ? `…${left}` : left;
}
