// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { startExamples } from "../src/studio/examples";
import { startProfiles } from "../src/studio/profiles";
import { isBell } from "../src/studio/runs";
import { startSubmit } from "../src/studio/submit";
import { themeAfter } from "../src/studio/theme";

startSubmit();
startExamples();

describe("a form", () => {
  let submits = 0;
  const form = (): HTMLFormElement => document.querySelector("form") as HTMLFormElement;
  const submit = (): boolean => form().dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));

  beforeEach(() => {
    vi.useFakeTimers();
    submits = 0;
    document.body.innerHTML = '<form data-submit-keys><textarea></textarea><button>Run</button></form>';
    form().addEventListener("submit", () => (submits += 1));
  });
  afterEach(() => void vi.useRealTimers());

  test("is not submitted twice", () => {
    expect(submit()).toBe(true);
    vi.advanceTimersByTime(1_000);
    expect(submit()).toBe(false);
    expect(submits).toBe(1);
    expect(form().querySelector("button")?.getAttribute("aria-disabled")).toBe("true");
  });

  test("can be submitted again when the answer never came", () => {
    submit();
    vi.advanceTimersByTime(20_000);
    expect(submit()).toBe(true);
  });

  test("can be submitted again when somebody else kept it from being sent", () => {
    form().addEventListener("submit", (event) => event.preventDefault(), { once: true });
    submit();
    vi.advanceTimersByTime(1);
    expect(submit()).toBe(true);
  });

  test("of htmx can be submitted again once its request is over", () => {
    form().setAttribute("hx-post", "/");
    submit();
    form().dispatchEvent(new Event("htmx:afterRequest", { bubbles: true }));
    expect(submit()).toBe(true);
  });

  test.each(["ctrlKey", "metaKey"])("is submitted by Enter with %s", (modifier) => {
    const requested = vi.spyOn(form(), "requestSubmit").mockImplementation(() => undefined);
    const press = (init: object): boolean =>
      document.querySelector("textarea")!.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, ...init }));
    press({});
    expect(requested).not.toHaveBeenCalled();
    press({ [modifier]: true });
    expect(requested).toHaveBeenCalledOnce();
  });
});

describe("an example", () => {
  const box = (): HTMLTextAreaElement => document.querySelector("textarea") as HTMLTextAreaElement;
  const back = (): HTMLButtonElement => document.querySelector("[data-put-back]") as HTMLButtonElement;
  const click = (selector: string, init: MouseEventInit = {}): boolean =>
    document
      .querySelector(selector)!
      .dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ...init }));

  beforeEach(() => {
    document.body.innerHTML =
      '<textarea id="task"></textarea><a data-example="One\nof them">1</a><b data-example="Two">2</b>' +
      '<button type="button" data-put-back hidden>Put back</button>';
  });

  test("fills the box and stays on the page", () => {
    expect(click("a")).toBe(false);
    expect(box().value).toBe("One\nof them");
    expect(back().hidden).toBe(true);
  });

  test("lets what was written be put back, also after another example", () => {
    box().value = "My own task";
    click("a");
    click("b");
    expect([box().value, back().hidden]).toEqual(["Two", false]);
    click("[data-put-back]");
    expect([box().value, back().hidden]).toEqual(["My own task", true]);
  });

  test("opened in another tab replaces nothing", () => {
    box().value = "My own task";
    expect(click("a", { ctrlKey: true })).toBe(true);
    expect(box().value).toBe("My own task");
  });
});

test("the theme goes from auto to light to dark and round again", () => {
  expect([themeAfter("auto"), themeAfter("light"), themeAfter("dark")]).toEqual(["light", "dark", "auto"]);
});

test("only word of runs, or of events, refreshes a list", () => {
  const said = ['{"t":"runs"}', '{"t":"audit"}', '{"t":"other"}', "{", "null"];
  expect(said.map((data) => isBell(data))).toEqual([true, true, false, false, false]);
});

describe("what belongs to the chosen profile", () => {
  const box = (worker: string): HTMLInputElement => document.querySelector(`[value="${worker}"]`) as HTMLInputElement;
  const choose = (profile: string): void => {
    const field = document.querySelector<HTMLInputElement>(`[name="profile"][value="${profile}"]`)!;
    field.checked = true;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  };
  beforeEach(() => {
    document.body.innerHTML = `<input type="radio" name="profile" value="ultra" checked><input type="radio" name="profile" value="mini">
      <p data-of="ultra">A model plans.</p><p data-of="mini">One answers.</p>
      <label data-of="ultra mini"><input type="checkbox" name="workers" value="atlas"></label>
      <label data-of="ultra"><input type="checkbox" name="workers" value="birch" checked></label>`;
    startProfiles();
  });

  test("is shown, and the rest is neither seen nor sent", () => {
    expect([...document.querySelectorAll<HTMLElement>("p")].map((part) => part.hidden)).toEqual([false, true]);
    choose("mini");
    expect([...document.querySelectorAll<HTMLElement>("p")].map((part) => part.hidden)).toEqual([true, false]);
    expect([box("atlas").disabled, box("birch").disabled]).toEqual([false, true]);
  });

  test("is as it was left when the profile is chosen again", () => {
    choose("mini");
    choose("ultra");
    expect([box("birch").disabled, box("birch").checked]).toEqual([false, true]);
  });
});
