/* A short title made from an instruction, for cards and announcements. */

const OPENINGS =
  /^(?:(?:please|now|first|next|then|finally)\b[,:]?\s+|your (?:task|job|goal) is to\s+|you (?:should|must|need to|have to|will)\s+|you are [^.!?]*[.!?]\s+|i (?:want|need|would like) you to\s+|(?:sub)?task(?: \d+)?:\s+|step \d+:\s+)/i;
const LONGEST = 48;
const SHORTEST_CLAUSE = 12;

/** The first clause of `instruction` without its courtesies, at most about 48 characters, cut between words. */
export function title(instruction: string): string {
  let text = instruction.replace(/^[\s#>*`_-]+/, "").replace(/\s+/g, " ").trim();
  for (let opening = OPENINGS.exec(text); opening !== null; opening = OPENINGS.exec(text)) {
    text = text.slice(opening[0].length);
  }
  const clause = shortened(firstClause(text)).replace(/[\s.,;:!?–—-]+$/u, "");
  return clause === "" ? "Untitled" : capitalised(clause);
}

function firstClause(text: string): string {
  const sentence = /^.+?[.!?](?=\s|$)/u.exec(text)?.[0] ?? text;
  if (Array.from(sentence).length <= LONGEST) return sentence;
  const ends = Array.from(sentence.matchAll(/[,;:]\s|\s[–—-]\s/gu), (match) => match.index);
  const end = ends.find((index) => index >= SHORTEST_CLAUSE && index <= LONGEST);
  return end === undefined ? sentence : sentence.slice(0, end);
}

function shortened(text: string): string {
  const all = Array.from(text);
  if (all.length <= LONGEST) return text;
  const head = all.slice(0, LONGEST).join("");
  const space = head.lastIndexOf(" ");
  return `${space > LONGEST / 2 ? head.slice(0, space) : head}…`;
}

function capitalised(text: string): string {
  const [first = "", ...rest] = Array.from(text);
  return first.toLocaleUpperCase("en") + rest.join("");
}
