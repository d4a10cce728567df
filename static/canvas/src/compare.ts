/* The page of two runs beside each other: the graph of both leads to the steps, and n and p to what differs. */
import "./canvas/flow.css";
import { Folds } from "./canvas/folds";
import { EMPTY, type GraphModel } from "./canvas/model";
import { mountCanvas } from "./canvas/mount";
import { graphOf, readMerged } from "./compare/merged";
import { goByKeys, show } from "./compare/steps";
import { Store } from "./store";
import { readWorkers } from "./workers";

function compare(host: HTMLElement): void {
  const merged = readMerged();
  const model = new Store<GraphModel>({ ...EMPTY, ...graphOf(merged, readWorkers()) });
  const select = (step: string | null): void => model.change({ selection: { step, edge: null } });

  const lead = (key: string | null): void => {
    select(key);
    const step = merged.steps.find((each) => each.key === key);
    if (step === undefined) return;
    const row = document.getElementById(step.anchor);
    if (row === null) location.assign(step.url); // it is on another page of the list, or filtered out of it
    else show(row);
  };

  goByKeys((row) => select(merged.steps.find(({ anchor }) => anchor === row.id)?.key ?? null));
  mountCanvas(host, {
    store: model,
    folds: new Folds(),
    inPage: true,
    actions: { selectStep: lead, selectEdge: ({ reader }) => lead(reader), showSink: () => undefined },
  });
}

const host = document.getElementById("canvas");
if (host !== null) compare(host);
else goByKeys(() => undefined);
