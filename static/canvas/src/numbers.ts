/* How numbers are written. The pages that Django renders write them the same way. */

const WHOLE = new Intl.NumberFormat("en-US");

export const count = (value: number): string => WHOLE.format(value);

/** "0.61 s", "14.2 s", "2 min 05 s" */
export function seconds(ms: number): string {
  const s = ms / 1000;
  if (s < 1) return `${s.toFixed(2)} s`;
  if (s < 60) return `${(Math.floor(s * 10) / 10).toFixed(1)} s`;
  return `${Math.floor(s / 60)} min ${String(Math.floor(s % 60)).padStart(2, "0")} s`;
}

export const plural = (value: number, one: string): string => `${count(value)} ${one}${value === 1 ? "" : "s"}`;

/** "1", "1 and 3", "1, 3 and 4" */
export function list(items: readonly (string | number)[]): string {
  if (items.length < 2) return items.join("");
  return `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}

export const capitalised = (words: string): string => words.slice(0, 1).toUpperCase() + words.slice(1);

/** "$0.031", "$1.24", "$0.00042": small sums keep two digits that mean something, so that none reads as nothing. */
export function usd(value: number): string {
  if (value === 0) return "$0";
  const digits = value >= 1 ? 2 : value >= 0.1 ? 3 : 1 - Math.floor(Math.log10(value));
  return `$${value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}
