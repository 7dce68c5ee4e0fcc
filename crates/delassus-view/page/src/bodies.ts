/** The list of bodies: links below the links that carry them; to find, pick, hide and look at one alone. */

import type { Layout } from "./protocol";

/** Rows shown at most; a search narrows them down. */
const MOST = 200;

export class BodyTree {
  /** Bodies that are not drawn. */
  readonly hidden = new Set<number>();
  private layout: Layout | null = null;
  private children: number[][] = [];
  private selected: number | null = null;
  private readonly search = document.createElement("input");
  private readonly list = document.createElement("ul");
  private readonly note = document.createElement("p");
  private readonly all = document.createElement("button");

  constructor(parent: HTMLElement, private readonly pick: (body: number | null) => void, private readonly onChange: () => void) {
    this.search.type = "search";
    this.search.id = "body-search";
    this.search.placeholder = "Find a body";
    this.search.autocomplete = "off";
    this.search.oninput = () => this.draw();
    const label = document.createElement("label");
    label.className = "unseen";
    label.htmlFor = this.search.id;
    label.textContent = "Find a body";
    this.all.type = "button";
    this.all.textContent = "Show all";
    this.all.onclick = () => {
      this.hidden.clear();
      this.changed();
    };
    this.list.setAttribute("aria-label", "Bodies");
    const row = document.createElement("div");
    row.className = "search";
    row.append(label, this.search, this.all);
    parent.append(row, this.list, this.note);
  }

  /** Another scene; the same one again keeps what is hidden. */
  setLayout(layout: Layout): void {
    if (this.layout?.name !== layout.name || this.layout.bodies.length !== layout.bodies.length) {
      this.hidden.clear();
      this.search.value = "";
    }
    this.layout = layout;
    this.children = layout.bodies.map(() => []);
    layout.bodies.forEach((line, i) => {
      if (line.parent !== null) this.children[line.parent]?.push(i);
    });
    this.draw();
  }

  setSelected(body: number | null): void {
    if (body === this.selected) return;
    this.selected = body;
    this.draw();
  }

  private changed(): void {
    this.draw();
    this.onChange();
  }

  /** A body and all that it carries. */
  private branch(body: number): number[] {
    return [body, ...(this.children[body] ?? []).flatMap((child) => this.branch(child))];
  }

  private toggle(body: number): void {
    const show = this.hidden.has(body);
    for (const one of this.branch(body)) {
      if (show) this.hidden.delete(one);
      else this.hidden.add(one);
    }
    this.changed();
  }

  private isolate(body: number): void {
    const kept = new Set(this.branch(body));
    this.layout?.bodies.forEach((_, i) => {
      if (kept.has(i)) this.hidden.delete(i);
      else this.hidden.add(i);
    });
    this.changed();
  }

  /** Bodies in the order they are listed, with how deep they stand. */
  private rows(): [number, number][] {
    const bodies = this.layout?.bodies ?? [];
    const wanted = this.search.value.trim().toLowerCase();
    if (wanted) return bodies.flatMap((line, i): [number, number][] => (line.name.toLowerCase().includes(wanted) ? [[i, 0]] : []));
    const rows: [number, number][] = [];
    const add = (body: number, depth: number) => {
      rows.push([body, depth]);
      for (const child of this.children[body] ?? []) add(child, depth + 1);
    };
    bodies.forEach((line, i) => {
      if (line.parent === null) add(i, 0);
    });
    return rows;
  }

  private draw(): void {
    const rows = this.rows();
    this.list.replaceChildren(...rows.slice(0, MOST).map(([body, depth]) => this.row(body, depth)));
    const more = rows.length - MOST;
    const words = [];
    if (rows.length === 0) words.push("No body has this in its name.");
    if (0 < more) words.push(`And ${more} more; search for a name.`);
    if (0 < this.hidden.size) words.push(`${this.hidden.size} hidden.`);
    this.note.textContent = words.join(" ");
    this.all.disabled = this.hidden.size === 0;
  }

  private row(body: number, depth: number): HTMLElement {
    const name = this.layout!.bodies[body]!.name;
    const row = document.createElement("li");
    row.style.setProperty("--depth", String(Math.min(depth, 12)));
    row.classList.toggle("chosen", body === this.selected);
    const show = document.createElement("input");
    show.type = "checkbox";
    show.checked = !this.hidden.has(body);
    show.id = `show-${body}`;
    show.title = "Drawn or hidden, with all that it carries";
    show.onchange = () => this.toggle(body);
    const label = document.createElement("label");
    label.className = "unseen";
    label.htmlFor = show.id;
    label.textContent = `Show ${name}`;
    const pick = document.createElement("button");
    pick.type = "button";
    pick.className = "name";
    pick.textContent = name;
    pick.title = name;
    pick.onclick = () => this.pick(body === this.selected ? null : body);
    const only = document.createElement("button");
    only.type = "button";
    only.textContent = "only";
    only.title = "Hide everything else";
    only.setAttribute("aria-label", `Only ${name}`);
    only.onclick = () => this.isolate(body);
    row.append(label, show, pick, only);
    return row;
  }
}
