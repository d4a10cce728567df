/* What can stand where one is writing in a filter. Pure: the text and the place in it make the offers. */

export type Offered = {
  readonly fields: readonly { readonly name: string; readonly kind: string; readonly hint: string }[];
  readonly values: Readonly<Record<string, readonly (readonly [string, string])[]>>;
};

/** What would be written over the text from `from` to the place one is at. */
export type Offer = { readonly from: number; readonly text: string; readonly label: string; readonly hint: string };

const MOST = 8;

/** The offers for the condition that ends at `caret`: fields while its name is written, then values that are known. */
export function offersAt(text: string, caret: number, offered: Offered): Offer[] {
  const written = /(?:^|\s)-?(?:([A-Za-z_]+)([:=]))?([^\s":=<>]*)$/.exec(text.slice(0, caret));
  if (written === null) return [];
  const [, field, , begun = ""] = written;
  const from = caret - begun.length;
  if (field !== undefined) return valuesOf(field.toLowerCase(), begun, from, offered);
  if (begun === "") return [];
  return offered.fields
    .filter(({ name }) => name.startsWith(begun.toLowerCase()))
    .slice(0, MOST)
    .map(({ name, kind, hint }) => ({ from, text: name + (kind === "number" || kind === "time" ? ">" : ":"), label: name, hint }));
}

function valuesOf(field: string, begun: string, from: number, { values }: Offered): Offer[] {
  const said = begun.toLowerCase();
  const fits = ([value, hint]: readonly [string, string]): boolean =>
    value.toLowerCase().includes(said) || hint.toLowerCase().includes(said);
  return (values[field] ?? [])
    .filter(fits)
    .filter(([value]) => value !== begun)
    .slice(0, MOST)
    .map(([value, hint]) => ({ from, text: `${/\s/.test(value) ? JSON.stringify(value) : value} `, label: value, hint }));
}

/** The text with an offer taken, and where one is in it then. */
export function taken(text: string, caret: number, { from, text: offer }: Offer): { text: string; caret: number } {
  const rest = text.slice(caret);
  const put = offer.endsWith(" ") && /^\s/.test(rest) ? offer.trimEnd() : offer;
  return { text: text.slice(0, from) + put + rest, caret: from + put.length };
}
