/** Live plots: residual against sweeps, energy, penetration, time per step. */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { PANES } from "./colour";
import { number } from "./format";
import type { Head, Layout, Sample } from "./protocol";

/** Steps kept for the plots. */
const KEPT = 4000;
/** Milliseconds between two drawings. */
const PERIOD = 200;

const LAST_STEP = ["Law residual, last step", "m/s", "sweeps", true, true] as const;
const EVERY_STEP = ["Law residual, every step", "m/s", "time [s]", true] as const;

interface Series { label: string; colour: string; dash?: number[] }

class Plot {
  /** Where a recording stands. */
  mark: number | null = null;
  private plot: uPlot | null = null;
  private key = "";
  private readonly holder = document.createElement("div");
  private readonly legend = document.createElement("span");

  /** `spans`: lines go on over numbers that are not there. */
  constructor(parent: HTMLElement, readonly title: string, private readonly unit: string, private readonly xUnit: string, private readonly log = false, private readonly spans = false) {
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    caption.append(`${title} [${unit}]`, this.legend);
    this.legend.className = "legend";
    figure.append(caption, this.holder);
    this.holder.className = "plot";
    this.holder.setAttribute("role", "img");
    this.holder.setAttribute("aria-label", `Plot of ${title}`);
    parent.append(figure);
    new ResizeObserver(() => this.fit()).observe(figure);
  }

  private size(): { width: number; height: number } {
    const box = this.holder.getBoundingClientRect();
    return { width: Math.max(Math.floor(box.width), 60), height: Math.max(Math.floor(box.height), 60) };
  }

  private fit(): void {
    this.plot?.setSize(this.size());
  }

  reset(): void {
    this.plot?.destroy();
    this.plot = null;
  }

  /** Draws; the last value of each line is put into words for those who cannot see it. */
  draw(series: Series[], data: (number | null)[][]): void {
    const key = JSON.stringify(series);
    if (!this.plot || key !== this.key) {
      this.reset();
      this.key = key;
      this.name(series);
      this.plot = new uPlot(this.options(series), data as uPlot.AlignedData, this.holder);
    } else {
      this.plot.setData(data as uPlot.AlignedData);
    }
    const words = series.map((s, i) => `${s.label} ${number(data[i + 1]?.findLast((x) => x !== null) ?? 0, 3)} ${this.unit}`);
    this.holder.setAttribute("aria-label", `Plot of ${this.title}: ${words.join(", ")}`);
  }

  /** Which line is which, beside the title: inside the plot it would hide lines. */
  private name(series: Series[]): void {
    const names = series.length < 2 ? [] : series.map(({ label, colour, dash }) => {
      const name = document.createElement("span");
      name.textContent = label;
      name.style.setProperty("--line-colour", colour);
      name.style.setProperty("--line-style", !dash ? "solid" : dash[0]! < 4 ? "dotted" : "dashed");
      return name;
    });
    this.legend.replaceChildren(...names);
  }

  private drawMark(plot: uPlot, ink: string): void {
    if (this.mark === null) return;
    const x = Math.round(plot.valToPos(this.mark, "x", true));
    // The plot remembers its own style and would not set it again.
    plot.ctx.save();
    plot.ctx.strokeStyle = ink;
    plot.ctx.lineWidth = devicePixelRatio;
    plot.ctx.beginPath();
    plot.ctx.moveTo(x, plot.bbox.top);
    plot.ctx.lineTo(x, plot.bbox.top + plot.bbox.height);
    plot.ctx.stroke();
    plot.ctx.restore();
  }

  /** Moves the mark, or takes it away. */
  stand(at: number | null): void {
    if (this.mark === at) return;
    this.mark = at;
    this.plot?.redraw(false);
  }

  private options(series: Series[]): uPlot.Options {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--soft").trim();
    const line = style.getPropertyValue("--line").trim();
    const font = `10px ${style.getPropertyValue("--font").trim()}`;
    const axis = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 3 } };
    // As many digits as the distance from one line of the grid to the next has.
    const labels = (splits: (number | null)[], log: boolean) => {
      const known = splits.filter((x) => x !== null);
      const apart = known.length < 2 || log ? 0 : Math.abs(known[1]! - known[0]!);
      const digits = [0, 1, 2, 3, 4].find((n) => Math.abs(apart * 10 ** n - Math.round(apart * 10 ** n)) < 1e-6) ?? 5;
      const largest = Math.max(...known.map(Math.abs));
      const plain = 1e-4 <= apart && largest < 1e6;
      return splits.map((x) => {
        if (x === null) return "";
        if (plain) return x.toFixed(digits).replace("-", "−");
        return number(x, 3).replace(/(\.\d*?)0+(?=e|$)/, "$1").replace(/\.(?=e|$)/, "");
      });
    };
    // Over many decades the lines between them would run together into bars.
    const decades = (_: uPlot, splits: number[]) => {
      const known = splits.filter((x) => 0 < x);
      const many = 1e3 * Math.min(...known) < Math.max(...known);
      return many ? splits.map((x) => (Math.abs(Math.log10(x) - Math.round(Math.log10(x))) < 1e-6 ? x : null)) : splits;
    };
    return {
      ...this.size(),
      legend: { show: false },
      cursor: { show: false },
      padding: [6, 16, 0, 0],
      // Before there is anything to draw, the limits are null; without limits there would be no axis, and no room for labels.
      scales: { x: { time: false, range: (_, low, high) => (low < high ? [low, high] : [low ?? 0, (low ?? 0) + 1]) }, y: this.log ? { distr: 3, range: (_, low, high) => (high ? uPlot.rangeLog(low || high, high, 10, false) : [1e-9, 1]) } : { range: (_, low, high) => (low || high ? uPlot.rangeNum(low, high, 0.1, true) : [0, 1]) } },
      hooks: { draw: [(plot) => this.drawMark(plot, ink)] },
      axes: [
        { ...axis, size: 24, gap: 2, values: (_, splits) => labels(splits, false), label: this.xUnit, labelSize: 12, labelFont: font, labelGap: 0 },
        { ...axis, ...(this.log ? { grid: { ...axis.grid, filter: decades }, ticks: { ...axis.ticks, filter: decades } } : {}), size: 56, gap: 3, values: (_, splits) => labels(splits, this.log), space: 22 },
      ],
      series: [{}, ...series.map((s): uPlot.Series => ({ label: s.label, stroke: s.colour, width: 1.5, dash: s.dash, points: { show: (plot) => plot.data[0].length < 4, size: 5 }, spanGaps: this.spans }))],
    };
  }
}

export class Plots {
  private readonly parent: HTMLElement;
  private residual: Plot;
  private readonly energy: Plot;
  private readonly penetration: Plot;
  private readonly time: Plot;
  private samples: Sample[][] = [[], []];
  private drawn = 0;
  /** A drawing that is put off. */
  private later: ReturnType<typeof setTimeout> | undefined;
  private fixed = false;
  /** The first plot is over the sweeps of the last step. */
  private sweeps = false;
  private head: Head | null = null;
  /** Energy of the first step seen [J]. */
  private start: number | null = null;
  /** The last step that was asked for again. */
  private asked = -1;

  /** `ask` asks for the numbers of all steps after one. */
  constructor(parent: HTMLElement, private readonly ask: (after: number) => void) {
    this.parent = parent;
    this.residual = new Plot(parent, ...EVERY_STEP);
    this.energy = new Plot(parent, "Energy", "J", "time [s]");
    this.penetration = new Plot(parent, "Worst penetration", "mm", "time [s]");
    // One slow step must not hide all others.
    this.time = new Plot(parent, "Time per step", "ms", "time [s]", true);
  }

  begin(layout: Layout): void {
    this.fixed = layout.recording !== null;
    if (this.fixed) this.setSweeps(false);
    this.samples = [layout.recording?.samples ?? [], []];
    this.start = null;
    this.asked = -1;
    this.head = null;
    this.restyle();
    if (this.fixed) this.draw();
  }

  /** Whether every sweep of the last step is judged, and so plotted. */
  setSweeps(sweeps: boolean): void {
    if (this.sweeps === sweeps) return;
    this.sweeps = sweeps;
    const old = this.parent.firstElementChild!;
    this.residual.reset();
    this.residual = sweeps ? new Plot(this.parent, ...LAST_STEP) : new Plot(this.parent, ...EVERY_STEP);
    old.replaceWith(this.parent.lastElementChild!);
  }

  private all(): Plot[] {
    return [this.residual, this.energy, this.penetration, this.time];
  }

  /** Colours changed: everything is drawn anew. */
  restyle(): void {
    for (const plot of this.all()) plot.reset();
    this.drawn = 0;
    if (this.head || this.fixed) this.draw();
  }

  /** Takes numbers over. Steps that are taken anew replace the old ones and all after them. */
  merge(panes: Sample[][]): void {
    panes.forEach((samples, i) => {
      const known = (this.samples[i] ??= []);
      const first = samples[0];
      if (!first) return;
      this.start ??= first.kinetic + first.potential;
      let at = known.length;
      while (0 < at && first.step <= known[at - 1]!.step) at--;
      known.splice(at, known.length - at, ...samples);
      if (KEPT + 200 < known.length) known.splice(0, known.length - KEPT);
    });
  }

  /** Numbers of steps that no frame carried. */
  fill(panes: Sample[][]): void {
    this.merge(panes);
    this.drawn = 0;
    this.draw();
  }

  add(head: Head): void {
    this.head = head;
    const known = this.samples[0]?.at(-1)?.step ?? 0;
    const first = head.panes[0]?.samples[0];
    // More steps were made than a frame carries.
    if (first && known + 1 < first.step && this.asked < known) {
      this.asked = known;
      this.ask(known);
    }
    this.merge(head.panes.map((pane) => pane.samples));
    if (!this.fixed) this.samples.length = Math.max(head.panes.length, 1);
    // A recording stands somewhere, and so does a run that was taken back.
    const back = head.past !== null && head.step < (this.samples[0]?.at(-1)?.step ?? 0);
    for (const plot of this.all()) if (plot !== this.residual || !this.sweeps) plot.stand(this.fixed || back ? head.time : null);
    if (this.fixed) return;
    clearTimeout(this.later);
    const wait = PERIOD - (performance.now() - this.drawn);
    if (0 < wait) {
      this.later = setTimeout(() => this.draw(), wait);
      return;
    }
    this.draw();
  }

  private draw(): void {
    this.drawn = performance.now();
    const names = this.samples.length < 2 || this.fixed ? [""] : ["A ", "B "];
    const used = this.samples.slice(0, names.length);
    const colour = (i: number) => PANES[i] ?? PANES[0];
    this.drawResidual(names);
    const over = (value: (sample: Sample) => number): (number | null)[][] => joined(used.map((list) => broken(list, value)));
    if (names.length === 1) {
      const [times, total] = over((s) => s.kinetic + s.potential);
      this.energy.draw(
        [{ label: "total", colour: PANES[0] }, { label: "kinetic", colour: PANES[1], dash: [5, 3] }, { label: "potential", colour: "#30a46c", dash: [2, 2] }],
        [times!, total!, over((s) => s.kinetic)[1]!, over((s) => s.potential)[1]!],
      );
    } else {
      // How far two solvers drift is far below what there is.
      this.energy.draw(names.map((name, i) => ({ label: `${name}total − start`, colour: colour(i) })), over((s) => s.kinetic + s.potential - (this.start ?? 0)));
    }
    const each = (label: string) => names.map((name, i) => ({ label: `${name}${label}`, colour: colour(i) }));
    this.penetration.draw(each("penetration"), over((s) => 1e3 * s.penetration));
    this.time.draw(each("step"), over((s) => s.ms));
  }

  private drawResidual(names: string[]): void {
    if (!this.sweeps) {
      const lists = names.map((_, i) => broken(this.samples[i] ?? [], (s) => positive(s.law)));
      this.residual.draw(names.map((name, i) => ({ label: `${name}law`, colour: PANES[i] ?? PANES[0] })), joined(lists));
      return;
    }
    const panes = this.head?.panes ?? [];
    const lists = names.map((_, i) => (panes[i]?.numbers?.history ?? []).map(([sweep, law]): [number, number | null] => [sweep, positive(law)]));
    this.residual.draw(names.map((name, i) => ({ label: `${name}law`, colour: PANES[i] ?? PANES[0] })), joined(lists));
  }
}

/** Numbers over time, with a hole wherever steps are missing: the steps of a recording are thinned evenly. */
function broken(list: Sample[], value: (sample: Sample) => number | null): [number, number | null][] {
  const usual = list.length < 3 ? 1 : Math.max(1, Math.min(list[1]!.step - list[0]!.step, list.at(-1)!.step - list.at(-2)!.step));
  return list.flatMap((sample, i): [number, number | null][] => {
    const before = list[i - 1];
    const point: [number, number | null] = [sample.time, value(sample)];
    return before && before.step + usual < sample.step ? [[0.5 * (before.time + sample.time), null], point] : [point];
  });
}

function positive(x: number | null): number | null {
  return x !== null && 0 < x ? x : null;
}

/** Lists of points over one axis, as the plots want them. */
function joined(lists: [number, number | null][][]): (number | null)[][] {
  if (lists.length === 1) return [lists[0]!.map((p) => p[0]), lists[0]!.map((p) => p[1])];
  const xs = [...new Set(lists.flatMap((list) => list.map((p) => p[0])))].sort((a, b) => a - b);
  return [xs, ...lists.map((list) => {
    const known = new Map(list);
    return xs.map((x) => known.get(x) ?? null);
  })];
}
