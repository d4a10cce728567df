/* Between the bytes of a passkey and the letters that JSON has for them. */
import { beforeAll, describe, expect, it, vi } from "vitest";

let bytes: (text: string) => Uint8Array<ArrayBuffer>;
let letters: (buffer: ArrayBuffer) => string;

beforeAll(async () => {
  vi.stubGlobal("document", { querySelectorAll: () => [] });
  ({ bytes, letters } = await import("../src/passkeys"));
});

describe("a passkey's bytes", () => {
  it("are the same after there and back, whatever their number", () => {
    for (let length = 0; length < 70; length += 1) {
      const made = Uint8Array.from({ length }, (_, at) => (at * 37 + length * 11) % 256);
      expect(bytes(letters(made.buffer))).toEqual(made);
    }
  });

  it("are written as addresses may hold them, without padding", () => {
    expect(letters(Uint8Array.of(251, 255, 254, 1).buffer)).toBe("-__-AQ");
    expect(bytes("-__-AQ")).toEqual(Uint8Array.of(251, 255, 254, 1));
  });
});
