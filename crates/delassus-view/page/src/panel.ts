/** The panel at the side: solvers, step, display, and the numbers of the last step. */

import { BodyTree } from "./bodies";
import { amount, choice, section, tick } from "./controls";
import { Dials } from "./dials";
import { norm, number, vector } from "./format";
import { QUALITIES, type Level, type Quality } from "./quality";
import { slice, type BodyLine, type Choice, type Command, type Display, type FrictionLaw, type Frame, type Head, type Layout, type Parameters, type Selected, type Settings, type SolverLine } from "./protocol";

export interface LocalShow { joints: boolean; shadows: boolean; follow: boolean; quality: Quality }

const NAMES = ["A", "B"] as const;
const STATUS: Record<string, string> = { solved: "good", "partly-solved": "fair", "iteration-limit": "fair", "time-limit": "fair", stalled: "fair" };

export function statusClass(status: string): string {
  return STATUS[status] ?? "bad";
}

export class Panel {
  private readonly solvers: HTMLElement;
  private readonly stepBody: HTMLElement;
  private readonly displayBody: HTMLElement;
  private readonly numbers: HTMLElement;
  private readonly body: HTMLElement;
  private readonly bodyTitle: HTMLElement;
  private readonly level = document.createElement("p");
  private shown = "";
  readonly tree: BodyTree;
  private readonly dials: Dials;

  constructor(private readonly parent: HTMLElement, private readonly send: (command: Command) => void, private readonly local: LocalShow, private readonly onLocal: () => void) {
    this.body = section(parent, "Body");
    this.body.className = "table";
    const holder = (title: string, id: string, className: string) => {
      const body = section(parent, title);
      body.id = id;
      body.className = className;
      return body;
    };
    const keys = holder("Keyframes", "keyframes", "keys");
    this.dials = new Dials(holder("Joints", "joints", "dials"), holder("Actuators", "actuators", "dials"), keys, send);
    this.solvers = document.createElement("div");
    parent.append(this.solvers);
    this.numbers = section(parent, "Last step");
    this.numbers.className = "table";
    this.stepBody = section(parent, "Step");
    this.displayBody = section(parent, "Display");
    const bodies = section(parent, "Bodies", false);
    bodies.className = "bodies";
    this.tree = new BodyTree(bodies, (body) => send({ type: "select", body }), onLocal);
    this.level.id = "level";
    this.bodyTitle = this.body.parentElement!.querySelector("summary")!;
    this.showBody(null, null);
  }

  /** Another scene: its bodies, joints and keyframes. */
  setLayout(layout: Layout): void {
    this.tree.setLayout(layout);
    this.dials.setLayout(layout);
  }

  /** Forms follow what the server says is chosen; nothing is rebuilt while it is the same. */
  settings(settings: Settings, catalogue: SolverLine[]): void {
    const live = settings.panes.length > 0;
    this.solvers.hidden = !live;
    this.stepBody.parentElement!.hidden = !live;
    this.numbers.parentElement!.hidden = !live;
    this.tree.setSelected(settings.selected);
    const { panes, parameters, display } = settings;
    const key = JSON.stringify([panes, parameters, display, this.local]);
    if (key === this.shown) return;
    this.shown = key;
    const focus = document.activeElement instanceof HTMLElement && this.parent.contains(document.activeElement) ? document.activeElement.id : "";
    const order = [...this.parent.querySelectorAll("input, select")].findIndex((e) => e.id === focus);
    this.solvers.replaceChildren();
    panes.forEach((pane, i) => this.solver(i, pane, panes.length, catalogue));
    if (parameters) this.step(parameters);
    this.display(display, live);
    if (0 <= order) ([...this.parent.querySelectorAll<HTMLElement>("input, select")][order])?.focus();
  }

  private solver(index: number, current: Choice, count: number, catalogue: SolverLine[]): void {
    const body = section(this.solvers, count === 1 ? "Solver" : `Solver ${NAMES[index]}`);
    body.dataset.pane = NAMES[index];
    const [name = "", ...pairs] = current.spec.split(",");
    const set = new Map(pairs.map((pair) => pair.split("=") as [string, string]));
    const entry = catalogue.find((line) => line.name === name);
    const change = (next: Partial<Choice>) => this.send({ type: "solver", pane: index, ...current, ...next });
    const spec = () => [name, ...[...set].map(([key, value]) => `${key}=${value}`)].join(",");
    choice(body, "Method", catalogue.map((line) => line.name), name, (value) => change({ spec: value }), entry?.about);
    for (const [key, values] of entry?.keys ?? []) {
      const options = values.split("|");
      const now = set.get(key) ?? options[0]!;
      const put = (value: string) => {
        set.set(key, value);
        change({ spec: spec() });
      };
      if (1 < options.length) choice(body, key, options, now, put);
      else amount(body, key, Number(now), [0, 1024], (value) => put(String(value)));
    }
    amount(body, "Tolerance [m/s]", current.tolerance, [0, 1], (value) => change({ tolerance: value ?? 0 }), "Largest acceptable law residual of a step");
    amount(body, "Most sweeps", current.iterations, [1, 1e6], (value) => change({ iterations: Math.round(value ?? 1) }), "Of a step; pivots are limited by the size of the problem");
  }

  private step(current: Parameters): void {
    const body = this.stepBody;
    body.replaceChildren();
    const change = (next: Partial<Parameters>) => this.send({ type: "parameters", ...current, ...next });
    amount(body, "dt [s]", current.dt, [1e-5, 0.1], (value) => change({ dt: value ?? current.dt }), "Length of a step");
    amount(body, "Substeps", current.substeps, [1, 64], (value) => change({ substeps: Math.round(value ?? 1) }));
    for (const [i, axis] of ["x", "y", "z"].entries()) {
      amount(body, `Gravity ${axis} [m/s²]`, current.gravity[i]!, [-1000, 1000], (value) => {
        const gravity: [number, number, number] = [...current.gravity];
        gravity[i] = value ?? 0;
        change({ gravity });
      });
    }
    const friction = amount(body, "Friction μ", current.friction, [0, 10], (value) => change({ friction: value }), "Of all materials; empty leaves the scene's own");
    friction.placeholder = "of the scene";
    const law = typeof current.law === "string" ? current.law : "facets";
    choice(body, "Friction law", ["cone", "box", "ellipsoid", "facets"], law, (value) => {
      const next: FrictionLaw = value === "facets" ? { facets: 8 } : (value as "cone" | "box" | "ellipsoid");
      change({ law: next });
    });
  }

  private display(current: Display | null, live: boolean): void {
    const body = this.displayBody;
    body.replaceChildren();
    if (current) {
      const change = (next: Partial<Display>) => this.send({ type: "display", ...current, ...next });
      tick(body, "Contacts and forces", current.contacts, (contacts) => change({ contacts }), "c");
      choice(body, "Colour by", live ? ["body", "force", "residual"] : ["body", "force"], current.colour, (colour) => change({ colour: colour as Display["colour"] }));
      if (live) tick(body, "Judge every sweep", current.history, (history) => change({ history }), "The law residual after every sweep of the last step, as a plot; costs time");
    }
    tick(body, "Joint frames", this.local.joints, (joints) => this.setLocal({ joints }), "j");
    tick(body, "Follow what moves", this.local.follow, (follow) => this.setLocal({ follow }), "o; a body that is picked, or robots, or all");
    tick(body, "Shadows", this.local.shadows, (shadows) => this.setLocal({ shadows }));
    choice(body, "Quality", [...QUALITIES], this.local.quality, (quality) => this.setLocal({ quality: quality as Quality }), "q; automatic leaves out what this machine cannot draw in time");
    body.append(this.level);
  }

  /** Says how finely the scene is drawn. */
  setLevel(level: Level): void {
    this.level.textContent = `Drawn now: ${level.about}`;
  }

  setLocal(next: Partial<LocalShow>): void {
    Object.assign(this.local, next);
    this.onLocal();
  }

  frame(frame: Frame, layout: Layout): void {
    const { head } = frame;
    const first = head.panes[0] ?? head.replay;
    if (first) this.dials.frame(slice(frame, first.dials));
    if (head.panes.length > 0) this.showNumbers(head);
    this.showBody(head, layout);
  }

  private showNumbers(head: Head): void {
    const all = head.panes.map((pane) => pane.numbers);
    const rows: [string, string, (n: NonNullable<(typeof all)[number]>) => number | string | null][] = [
      ["Status", "", (n) => n.status],
      ["Law fit", "", (n) => n.fit],
      ["Iterations", "", (n) => n.iterations],
      ["Law residual", "m/s", (n) => n.residual.law],
      ["… mean square", "m/s", (n) => n.residual.law_rms],
      ["… relative", "", (n) => n.residual.relative],
      ["Momentum", "m/s", (n) => n.residual.momentum],
      ["Feasibility", "m/s", (n) => n.residual.feasibility],
      ["Complementarity", "J", (n) => n.residual.complementarity],
      ["Contacts", "", (n) => n.contacts],
      ["Penetration", "m", (n) => n.penetration],
      ["Joint violation", "m, rad", (n) => n.violation],
      ["Kinetic energy", "J", (n) => n.energy.kinetic],
      ["Potential energy", "J", (n) => n.energy.potential],
      ["Collide", "ms", (n) => 1e3 * n.clock.collide],
      ["Assemble", "ms", (n) => 1e3 * n.clock.assemble],
      ["Solve", "ms", (n) => 1e3 * n.clock.solve],
      ["Integrate", "ms", (n) => 1e3 * n.clock.integrate],
    ];
    const cells = rows.map(([name, unit, value]) => ({ name, unit, values: all.map((n) => (n ? value(n) : undefined)) }));
    const heads = all.length < 2 ? null : NAMES.slice(0, all.length);
    table(this.numbers, cells, heads);
    this.numbers.dataset.step = String(head.step);
    const apart = head.apart;
    all.forEach((n, i) => {
      if (n?.worst) note(this.numbers, `Worst${all.length < 2 ? "" : ` in ${NAMES[i]}`}: ${n.worst}`);
    });
    if (apart) note(this.numbers, `Views apart by ${number(apart[0], 3)} m`);
    all.forEach((n, i) => {
      if (n?.message) note(this.numbers, `${all.length < 2 ? "" : `${NAMES[i]}: `}${n.message}`);
    });
  }

  private showBody(head: Head | null, layout: Layout | null): void {
    const shown = head?.replay ? [head.replay] : (head?.panes ?? []);
    const picked = shown.map((pane) => pane.selected);
    const first = picked.find((p) => p !== null);
    const line = first && layout?.bodies[first.body];
    this.body.parentElement!.hidden = !first || !line;
    if (!first || !line) return;
    this.bodyTitle.textContent = `Body: ${line.name}`;
    const rows: [string, string, (p: Selected) => number | string | null][] = [
      ["Motion", "", (p) => (p.asleep ? "asleep" : line.motion)],
      ["Mass", "kg", () => massOf(line)],
      ["Position", "m", (p) => vector(p.position)],
      ["Velocity", "m/s", (p) => (p.velocity ? vector(p.velocity) : "–")],
      ["Speed", "m/s", (p) => (p.velocity ? norm(p.velocity) : "–")],
      ["Spin", "rad/s", (p) => (p.spin ? vector(p.spin) : "–")],
      ["Kinetic energy", "J", (p) => p.kinetic ?? "–"],
      ["Contacts", "", (p) => p.contacts],
      ["Contact force", "N", (p) => norm(p.contact_force)],
      ["Law residual", "m/s", (p) => p.residual ?? "–"],
    ];
    const cells = rows.map(([name, unit, value]) => ({ name, unit, values: picked.map((p) => (p ? value(p) : undefined)) }));
    table(this.body, cells, picked.length < 2 ? null : NAMES.slice(0, picked.length));
  }
}

interface Cell { name: string; unit: string; values: (number | string | null | undefined)[] }

/** A table that keeps its cells and only changes their text. */
function table(holder: HTMLElement, cells: Cell[], heads: readonly string[] | null): void {
  const key = JSON.stringify([cells.map((c) => c.name), heads]);
  let element = holder.querySelector("table");
  if (!element || element.dataset.key !== key) {
    element = document.createElement("table");
    element.dataset.key = key;
    element.classList.toggle("pair", heads !== null);
    if (heads) {
      const row = element.createTHead().insertRow();
      for (const text of ["", ...heads, ""]) {
        const cell = document.createElement("th");
        cell.scope = "col";
        cell.textContent = text;
        row.append(cell);
      }
    }
    const body = element.createTBody();
    for (const { name, unit, values } of cells) {
      const row = body.insertRow();
      const title = document.createElement("th");
      title.scope = "row";
      title.textContent = name;
      row.append(title);
      values.forEach(() => (row.insertCell().className = "value"));
      const last = row.insertCell();
      last.className = "unit";
      last.textContent = unit;
    }
    holder.replaceChildren(element);
  }
  holder.querySelectorAll("p").forEach((p) => p.remove());
  const body = element.tBodies[0]!;
  cells.forEach(({ name, values }, i) => {
    values.forEach((value, j) => {
      const cell = body.rows[i]!.cells[j + 1]!;
      const text = value === undefined ? "–" : typeof value === "string" ? value : number(value);
      if (cell.textContent !== text) cell.textContent = text;
      cell.title = value === undefined ? "" : String(value);
      if (name === "Status") cell.dataset.status = statusClass(text);
    });
  });
}

/** What forces do not move has no mass that counts. */
function massOf(line: BodyLine): number | string {
  return line.motion === "dynamic" || line.motion === "link" ? line.mass : "–";
}

function note(holder: HTMLElement, text: string): void {
  const p = document.createElement("p");
  p.textContent = text;
  holder.append(p);
}
