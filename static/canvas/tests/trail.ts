/* Writes the trail of a run, numbering and dating its events. */
import type { RunEvent, Verb } from "../src/live/events";

export class Trail {
  readonly events: RunEvent[] = [];

  add(verb: Verb | (string & {}), data: object = {}, texts: Record<string, string> = {}): this {
    const seq = this.events.length + 1;
    const at = new Date(Date.UTC(2026, 0, 1, 0, 0, seq)).toISOString();
    const actor = { kind: "driver", label: "driver 1" };
    this.events.push({ seq, at, verb, actor, data, texts } as unknown as RunEvent);
    return this;
  }

  submitted(more: object = {}): this {
    const data = { profile: "ultra", planner: "conductor", pool: ["atlas"], max_steps: 5, review: false, parent: null, seed: 1, ...more };
    return this.add("run.submitted", data, { task: "Which region grew most?" });
  }

  /** Steps as `{ s3: ["s1", "s2"] }`: key and access list. */
  adopted(steps: Record<string, string[]>, by: "planner" | "person" | "fork" | "review" = "planner"): this {
    const data = {
      by,
      warnings: [],
      steps: Object.entries(steps).map(([key, access]) => ({ key, worker: "atlas", access })),
      sink: "last",
      show_task: true,
      on_failure: "skip",
    };
    const texts = Object.keys(steps).map((key) => [`instruction:${key}`, `Do ${key}.`]);
    return this.add("workflow.adopted", data, Object.fromEntries(texts));
  }

  /** Further steps, as `{ s4: ["s3"] }`, of a later round or of the same one. */
  extended(steps: Record<string, string[]>, round = 2, sink: object = { kind: "last" }): this {
    const data = {
      by: "planner",
      warnings: [],
      steps: Object.entries(steps).map(([key, access]) => ({ key, worker: "atlas", access, role: "", round })),
      sink,
    };
    const texts = Object.keys(steps).map((key) => [`instruction:${key}`, `Do ${key}.`]);
    return this.add("workflow.extended", data, Object.fromEntries(texts));
  }

  /** The planner is asked in `round`, and what it wrote is done with; without `verdict` it is still writing. */
  planned(proposal: number, round: number, verdict?: "kept" | "changed" | null): this {
    this.add("planning.started", { proposal, number: round, round, conductor: "sim" });
    if (verdict === undefined) return this;
    const data = { proposal, number: round, round, verdict, steps: 1, duration_ms: 10 };
    return this.add("planning.done", { ...data, input_tokens: 1, output_tokens: 1, cost_usd: "0" });
  }

  started(step: string, attempt: number, number = 1, more: object = {}): this {
    return this.add("step.started", { step, attempt, number, worker: "atlas", digest: "d", ...more });
  }

  answered(step: string, rule = "last", detail?: object, votes: Record<string, string> = {}): this {
    const data = { rule, step, duration_ms: 9000, cost_usd: "0.01", tokens: 320, ...(detail ? { detail } : {}) };
    return this.add("run.succeeded", data, { answer: "North.", ...votes });
  }

  succeeded(step: string, attempt: number, result = "Fine.", cost: string | null = "0.01"): this {
    const data = {
      step,
      attempt,
      input_tokens: 100,
      cached_tokens: 0,
      output_tokens: 20,
      reasoning_tokens: 0,
      estimated: false,
      cost_usd: cost,
      ttft_ms: 300,
      duration_ms: 1500,
      finish_reason: "stop",
    };
    return this.add("step.succeeded", data, { result });
  }
}
