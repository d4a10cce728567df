// @vitest-environment happy-dom
import { describe, expect, it } from "vitest";
import { mark, nameOf } from "../src/keep";

describe("a placeholder", () => {
  it("is named after the words whose place it takes, as far as a name may have them", () => {
    expect(nameOf("Q1 to Q4")).toBe("Q1 to Q4");
    expect(nameOf("größte Region")).toBe("größte Region");
    expect(nameOf(' "a" {b}\n(c): ')).toBe("a b c");
    expect(nameOf("__init__")).toBe("init__");
    expect(nameOf("x".repeat(60))).toHaveLength(40);
    expect([nameOf(""), nameOf("{}%"), nameOf("--")]).toEqual(["value", "value", "value"]);
  });

  it("stands where the words stood, and its name is selected", () => {
    document.body.innerHTML = "<textarea>Which region grew most?</textarea>";
    const field = document.querySelector("textarea") as HTMLTextAreaElement;
    field.setSelectionRange(6, 12);

    mark(field);

    expect(field.value).toBe("Which {region} grew most?");
    expect(field.value.slice(field.selectionStart, field.selectionEnd)).toBe("region");
  });
});
