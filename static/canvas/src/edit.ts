/* The edit page: the canvas draws what the form says, and its operations are posted as the form's. */
import { createElement } from "react";
import "./canvas/flow.css";
import { Folds } from "./canvas/folds";
import { EMPTY, type GraphModel, type Selection } from "./canvas/model";
import { mountCanvas } from "./canvas/mount";
import { countsOf } from "./canvas/watching";
import { graphOf, heirOf, indexOf, lossOf, ofTheWhole, readDocument, whyNot, type Document } from "./edit/document";
import { addAfter, drawn, moveBy } from "./edit/edits";
import { EditBar, type ToolActions, type Tools } from "./edit/EditBar";
import { EditForm } from "./edit/form";
import { History } from "./edit/history";
import { onEditKeys } from "./edit/keys";
import { Matrix } from "./edit/matrix";
import { showViews, viewIn, type View } from "./edit/views";
import { afterSettle, askNothingWhenLeaving } from "./page/htmx";
import { keepInUrl, markOutline, selectByClick, selectByKeys, selectionIn } from "./page/selection";
import { Store } from "./store";
import { readWorkers } from "./workers";

const NOTICE_MS = 6_000;

function edit(host: HTMLElement, triangle: HTMLElement): void {
  const workers = readWorkers();
  const form = new EditForm();
  const asked = selectionIn(location.href);
  const first: Selection = asked.step === null ? { step: host.dataset.selected || null, edge: null } : asked;
  const selected = new Store<string | null>(first.step);
  const model = new Store<GraphModel>({ ...EMPTY, selection: first });
  const folds = new Folds(`edit folds ${host.dataset.code ?? ""}`);
  const tools = new Store<Tools>({
    selection: model.get().selection,
    canMoveEarlier: false,
    canMoveLater: false,
    canUndo: false,
    canRedo: false,
    question: null,
    notice: null,
    problems: [],
  });
  const view = new Store<View>(viewIn(location.href));
  const past = new History(form.state());
  let doc: Document = readDocument();
  /** What was undone or redone is asked for, or comes to rest in the page: it is no change of the person's. */
  let back: "no" | "asked" | "here" = "no";
  let isPreviewOpen = false;
  /** A step is being added: the one that comes back new is selected, and written in. */
  let isAdding = false;
  let fading: ReturnType<typeof setTimeout> | undefined;

  const keys = (): string[] => doc.workflow.steps.map((step) => step.key);

  const choose = (selection: Selection): void => {
    model.change({ selection });
    selected.set(selection.step);
    const key = selection.step;
    tools.change({
      selection,
      canMoveEarlier: key !== null && selection.edge === null && moveBy(doc, key, -1) !== null,
      canMoveLater: key !== null && selection.edge === null && moveBy(doc, key, 1) !== null,
    });
  };
  const selectStep = (step: string | null): void => {
    if (step !== null) folds.reveal(step, model.get());
    choose({ step, edge: null });
  };

  const read = (): void => {
    const before = new Set(keys());
    const was = doc;
    doc = readDocument();
    const graph = graphOf(doc, workers);
    model.change(graph);
    tools.change({ problems: ofTheWhole(doc).map((problem) => problem.message) });
    for (const place of document.querySelectorAll("[data-counts]")) place.textContent = countsOf(graph);
    if (view.get() === "matrix") matrix.show(doc);
    if (back === "no") past.note(form.state());
    if (back === "here") {
      past.settle(form.state());
      back = "no";
    }
    tools.change({ canUndo: past.canUndo, canRedo: past.canRedo });
    const preview = previewed();
    if (preview !== null) preview.open = isPreviewOpen;

    const fresh = isAdding ? keys().find((key) => !before.has(key)) : undefined;
    if (fresh !== undefined) isAdding = false;
    choose(stillThere(fresh === undefined ? model.get().selection : { step: fresh, edge: null }, was));
    form.show(selected.get());
    markOutline(selected.get());
    if (fresh !== undefined) form.focus(fresh);
  };

  /** The selection, or who comes in its place when an operation has taken it away. */
  const stillThere = (selection: Selection, was: Document): Selection => {
    const { step, edge } = selection;
    const reads = edge !== null && doc.workflow.steps.some(({ key, access }) => key === edge.reader && access.includes(edge.source));
    if (step === null || indexOf(doc, step) >= 0) return { step, edge: reads ? edge : null };
    const heir = heirOf(was, step);
    return { step: heir !== null && indexOf(doc, heir) >= 0 ? heir : null, edge: null };
  };

  const notice = (text: string): void => {
    tools.change({ notice: text });
    clearTimeout(fading);
    fading = setTimeout(() => tools.change({ notice: null }), NOTICE_MS);
  };

  const remove = (): void => {
    const { step, edge } = model.get().selection;
    if (edge !== null) return form.post({ op: "deny", reader: edge.reader, source: edge.source });
    if (step === null) return;
    const loss = lossOf(doc, step);
    if (loss === null) form.post({ op: "remove", key: step });
    else tools.change({ question: { title: `Remove step ${indexOf(doc, step) + 1}?`, loss } });
  };

  const answer = (yes: boolean): void => {
    tools.change({ question: null });
    const { step } = model.get().selection;
    if (yes && step !== null) form.post({ op: "remove", key: step });
  };

  const withStep = (then: (step: string) => void) => (): void => {
    const step = selected.get();
    if (step !== null) then(step);
  };

  const goTo = (state: string | null): void => {
    if (state === null) return;
    back = "asked";
    form.restore(state, (isDone) => (back = isDone ? "here" : "no"));
  };

  const acts: ToolActions = {
    add: () => {
      isAdding = true;
      form.post(addAfter(doc, selected.get()));
    },
    duplicate: withStep((key) => {
      isAdding = true;
      form.post({ op: "duplicate", key });
    }),
    remove,
    move: (by) =>
      withStep((key) => {
        const move = moveBy(doc, key, by);
        if (move !== null) form.post(move);
      })(),
    // What was typed a moment ago, and not checked yet, is what is undone first.
    undo: () => {
      past.note(form.state());
      goTo(past.undo());
    },
    redo: () => goTo(past.redo()),
    answer,
  };
  const bar = createElement(EditBar, { store: tools, actions: acts });

  const matrix = new Matrix(
    triangle,
    ({ reader, source }, allowed) => {
      if (!form.tick(reader, source, allowed)) form.post({ op: allowed ? "allow" : "deny", reader, source });
    },
    (step) => {
      if (step !== selected.get()) selectStep(step);
    },
  );
  onEditKeys({
    ...acts,
    write: (field) => withStep((step) => form.focus(step, field))(),
    turn: () => view.set(view.get() === "graph" ? "matrix" : "graph"),
  });
  showViews(view, { graph: host, matrix: triangle });
  view.watch(() => {
    if (view.get() !== "matrix") return;
    matrix.show(doc);
    matrix.focus();
  });

  selected.watch(() => {
    keepInUrl({ step: selected.get(), edge: null });
    markOutline(selected.get());
    form.show(selected.get());
    if (model.get().selection.step !== selected.get()) selectStep(selected.get());
  });
  form.onEnter((step) => {
    if (step !== selected.get()) selectStep(step);
  });
  form.onResize(() => form.show(selected.get()));
  selectByClick(selectStep);
  selectByKeys(keys, selected);
  document.addEventListener("toggle", (event) => {
    // One that is taken out of the page with the form tells of it, too.
    if (event.target === previewed()) isPreviewOpen = previewed()?.open === true;
  }, true);
  // A draft that is thrown away must not be kept once more by what the form has yet to have checked.
  askNothingWhenLeaving((sent) => sent.closest("#draft-said") !== null);
  afterSettle(read);
  read();
  if (view.get() === "matrix") matrix.show(doc);
  form.toTop();

  mountCanvas(host, {
    store: model,
    folds,
    memory: `edit ${host.dataset.code ?? ""}`,
    children: bar,
    actions: {
      selectStep,
      selectEdge: (edge) => {
        choose({ step: edge.reader, edge });
        host.dispatchEvent(new CustomEvent("studio:edge", { bubbles: true, detail: edge }));
      },
      showSink: () => form.focusSink(),
      editing: {
        canRead: (reader, source) => whyNot(doc, reader, source) === null,
        allow: (reader, source) => form.post(drawn(doc, reader, source)),
        refuse: (reader, source) => notice(whyNot(doc, reader, source) ?? "This read cannot be drawn."),
        remove,
      },
    },
  });
}

const previewed = (): HTMLDetailsElement | null => document.querySelector<HTMLDetailsElement>("details#preview");

const host = document.getElementById("canvas");
const triangle = document.getElementById("matrix");
if (host !== null && triangle !== null) edit(host, triangle);
