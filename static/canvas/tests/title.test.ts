import { expect, test } from "vitest";
import { title } from "../src/title";

test.each([
  ["Growth per region.", "Growth per region"],
  ["compute the growth. Then explain it.", "Compute the growth"],
  ["Please compute the growth of each region", "Compute the growth of each region"],
  ["You are a careful analyst. Your task is to compute growth.", "Compute growth"],
  ["First, list the regions", "List the regions"],
  ["## Step 2: verify", "Verify"],
  ["Costs rose by 3.5 % in Q4", "Costs rose by 3.5 % in Q4"],
  ["Recompute every figure from the raw table, without looking at the first answer", "Recompute every figure from the raw table"],
  ["", "Untitled"],
  ["  \n ", "Untitled"],
  ["…", "…"],
  ["überprüfe alles", "Überprüfe alles"],
])("%j is titled %j", (instruction, expected) => {
  expect(title(instruction)).toBe(expected);
});

test("a long clause is cut between words", () => {
  const made = title("Compare the quarterly growth figures of all regions with those of the previous year");
  expect(made).toBe("Compare the quarterly growth figures of all…");
});

test("a long word without blanks is cut all the same", () => {
  expect(Array.from(title("𝔸".repeat(200)))).toHaveLength(49);
});
