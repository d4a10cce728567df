/* Put a canvas into a page. */
import { createElement } from "react";
import { createRoot } from "react-dom/client";
import { Canvas, type CanvasProps } from "./Canvas";

export function mountCanvas(host: HTMLElement, props: CanvasProps): void {
  createRoot(host).render(createElement(Canvas, props));
}
