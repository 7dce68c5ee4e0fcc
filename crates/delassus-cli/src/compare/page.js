"use strict";
// Draws the report in this page. Every number comes from it; nothing is computed here but places on the screen.
(() => {
  const report = JSON.parse(document.getElementById("report").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const COLOURS = 10;
  const BEST = 8;
  const FEW_DECADES = 50;
  const works = [
    ...report.works.map((work) => ({ ...work, name: work.work, scene: false, tolerance: report.tolerance })),
    ...report.scenes.map((scene) => ({ ...scene, name: scene.scene, scene: true })),
  ];
  const ranked = report.profiles.map((profile) => profile.solver);
  const solvers = [...ranked, ...report.solvers.filter((solver) => !ranked.includes(solver))]
    .filter((solver) => works.some((work) => work.runs.some((run) => run.label === solver)));
  // The best variant of each solver: these are shown first, and no two of them share a colour.
  const kin = (solver) => solver.split(",")[0];
  const first = solvers.filter((solver, i) => solvers.findIndex((other) => kin(other) === kin(solver)) === i);
  const best = [...first, ...solvers.filter((solver) => !first.includes(solver))].slice(0, BEST);
  const coloured = [...best, ...solvers.filter((solver) => !best.includes(solver))];
  const shown = new Set(best);
  const place = (solver) => coloured.indexOf(solver);
  const colour = (solver) => `var(--c${place(solver) % COLOURS})`;
  const byId = (id) => document.getElementById(id);

  function element(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "class") node.className = value;
      else if (key in node && typeof value !== "string") node[key] = value;
      else node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  }
  function draw(name, attributes = {}, ...children) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  // Numbers for people.
  const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  const raised = (n) => (n < 0 ? "⁻" : "") + [...String(Math.abs(n))].map((d) => RAISED[d]).join("");
  const power = (exponent) => (exponent === 0 ? "1" : exponent === 1 ? "10" : `10${raised(exponent)}`);
  const small = (x) => (x === null ? "∞" : x === 0 ? "0" : x.toExponential(2));
  const plain = (x) => (x < 1e-3 ? x.toExponential() : String(x));
  function time(seconds) {
    if (seconds === null) return "–";
    if (seconds < 1e-3) return `${(1e6 * seconds).toFixed(1)} µs`;
    if (seconds < 1) return `${(1e3 * seconds).toFixed(2)} ms`;
    return `${seconds.toFixed(2)} s`;
  }
  const counted = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
  const short = (name) => (name.length <= 60 ? name : `…${name.slice(-59)}`);

  // Marks tell solvers of one colour apart.
  function mark(solver, x, y, size = 3.4) {
    const fill = colour(solver);
    const at = (points) => draw("polygon", { points: points.map(([u, v]) => `${x + size * u},${y + size * v}`).join(" "), fill });
    switch (Math.floor(place(solver) / COLOURS) % 4) {
      case 0: return draw("circle", { cx: x, cy: y, r: size, fill });
      case 1: return at([[-1, -1], [1, -1], [1, 1], [-1, 1]]);
      case 2: return at([[0, -1.3], [1.2, 0.9], [-1.2, 0.9]]);
      default: return at([[0, -1.4], [1.4, 0], [0, 1.4], [-1.4, 0]]);
    }
  }
  function swatch(solver, dashed) {
    const line = draw("line", { x1: 1, x2: 25, y1: 7, y2: 7, stroke: colour(solver), "stroke-width": 2 });
    if (dashed) line.setAttribute("stroke-dasharray", "5 3");
    return draw("svg", { width: 26, height: 14, class: "swatch", "aria-hidden": "true" }, line, mark(solver, 13, 7));
  }

  // One axis: logarithmic in whole decades, or linear from low to high.
  function axis(values, { log, low, high, from, to }) {
    if (!log) {
      const scale = (x) => from + ((x - low) / (high - low || 1)) * (to - from);
      const step = [1, 2, 5, 10].map((s) => s * 10 ** Math.floor(Math.log10((high - low || 1) / 5))).find((s) => (high - low) / s <= 6);
      const ticks = [];
      for (let x = Math.ceil(low / step) * step; x <= high + 1e-9 * step; x += step) ticks.push({ at: scale(x), text: `${+x.toPrecision(6)}` });
      return { scale, ticks, clamp: (x) => x };
    }
    const positive = values.filter((x) => x > 0 && Number.isFinite(x));
    const least = low ?? (positive.length ? Math.min(...positive) : 1e-6);
    const most = high ?? (positive.length ? Math.max(...positive) : 1);
    // Whole decades, or 1, 2, 5, 10 where there are few.
    const digits = least * FEW_DECADES < most ? [1] : [1, 2, 5];
    const stops = [];
    for (let e = Math.floor(Math.log10(least) + 1e-9); e <= Math.log10(most) + 2; e++) stops.push(...digits.map((digit) => ({ digit, e, x: digit * 10 ** e })));
    const begin = stops.findLastIndex(({ x }) => x <= least * (1 + 1e-9));
    const end = Math.max(stops.findIndex(({ x }) => most * (1 - 1e-9) <= x), begin + 1);
    const [first, last] = [stops[begin].x, stops[end].x];
    const clamp = (x) => Math.min(Math.max(x, first), last);
    const scale = (x) => from + (Math.log(clamp(x) / first) / Math.log(last / first)) * (to - from);
    const every = Math.ceil((end - begin) / 8);
    const text = ({ digit, e, x }) => (digits.length === 1 ? power(e) : 1e-3 <= x && x < 1e4 ? plain(+x.toPrecision(1)) : digit === 1 ? power(e) : `${digit}·${power(e)}`);
    // Numbers beyond an end stand on it, and its label says so.
    const beyond = (i) => (i === begin && positive.some((x) => x < 0.999 * first) ? "≤ " : i === end && positive.some((x) => x > 1.001 * last) ? "≥ " : "");
    const ticks = stops.slice(begin, end + 1).map((stop, k) => ({ at: scale(stop.x), text: k % every ? "" : beyond(begin + k) + text(stop) }));
    return { scale, ticks, clamp };
  }

  // A plot: title, axes with units, a curve and marks for each solver.
  function plot(figure, { title, x, y, series, target, say }) {
    const [width, height, left, right, top, bottom] = [480, 330, 60, 14, 10, 46];
    figure.replaceChildren(element("figcaption", {}, title));
    const visible = series.filter((s) => shown.has(s.solver) && s.points.length);
    if (!visible.length) {
      figure.append(element("p", { class: "empty" }, series.length ? "No solver with data is ticked." : "There is nothing to show."));
      return;
    }
    const points = visible.flatMap((s) => s.points);
    const across = axis(points.map((p) => p[0]), { ...x, from: left, to: width - right });
    const up = axis([...points.map((p) => p[1]), ...(target ? [target] : [])], { ...y, from: height - bottom, to: top });
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}: ${y.label} against ${x.label}` });
    for (const { at, text } of across.ticks) {
      svg.append(draw("line", { class: "grid", x1: at, x2: at, y1: top, y2: height - bottom }));
      // The last label must not stand out of the picture.
      const last = width - right - at < 12 && text.length > 3;
      svg.append(draw("text", { x: last ? width - 2 : at, y: height - bottom + 16, "text-anchor": last ? "end" : "middle" }, text));
    }
    for (const { at, text } of up.ticks) {
      svg.append(draw("line", { class: "grid", x1: left, x2: width - right, y1: at, y2: at }));
      svg.append(draw("text", { x: left - 7, y: at + 4, "text-anchor": "end" }, text));
    }
    svg.append(draw("rect", { class: "frame", x: left, y: top, width: width - left - right, height: height - top - bottom }));
    svg.append(draw("text", { class: "title", x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, x.label));
    svg.append(draw("text", { class: "title", x: 15, y: (top + height - bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 15 ${(top + height - bottom) / 2})` }, y.label));
    if (target) svg.append(draw("line", { class: "target", x1: left, x2: width - right, y1: up.scale(target), y2: up.scale(target) }));
    const groups = visible.map((s) => {
      const at = s.points.map((p) => [across.scale(p[0]), up.scale(p[1])]);
      const path = at.map(([u, v], i) => (i && s.steps ? `H${u.toFixed(1)}V${v.toFixed(1)}` : `${i ? "L" : "M"}${u.toFixed(1)} ${v.toFixed(1)}`)).join("");
      const end = s.steps ? `H${width - right}` : "";
      const curve = draw("path", { class: "curve", d: path + end, stroke: colour(s.solver) });
      if (s.dashed) curve.setAttribute("stroke-dasharray", "6 4");
      const stride = Math.max(1, Math.ceil(at.length / 6));
      const marks = at.filter((_, i) => (at.length - 1 - i) % stride === 0);
      const group = draw("g", {}, curve, ...marks.map(([u, v]) => mark(s.solver, u, v, at.length === 1 ? 5 : 3)));
      svg.append(group);
      return { group, at, s };
    });
    if (target) {
      // At an end of the line, above or below it, where it hides least.
      const at = up.scale(target);
      const hidden = ({ x, y, room }) => (top < y - 12 && y < height - bottom ? 0 : 1e3) + groups.flatMap((g) => g.at).filter(([u, v]) => Math.abs(u - x - room / 2) < 40 && Math.abs(v - y + 4) < 12).length;
      const spots = [-5, 13].flatMap((aside) => [{ x: width - right - 4, y: at + aside, room: -60, anchor: "end" }, { x: left + 4, y: at + aside, room: 60, anchor: "start" }]);
      const { x, y, anchor } = spots.reduce((best, spot) => (hidden(spot) < hidden(best) ? spot : best));
      svg.append(draw("text", { class: "halo", x, y, "text-anchor": anchor }, "tolerance"));
    }
    watch(svg, groups, { width, say });
    figure.append(svg);
  }

  // The nearest point speaks.
  function watch(svg, groups, { width, say }) {
    const tip = byId("tip");
    const leave = () => {
      tip.hidden = true;
      for (const { group } of groups) group.classList.remove("faint", "strong");
    };
    svg.addEventListener("pointerleave", leave);
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const [u, v] = [event.clientX - box.left, event.clientY - box.top].map((z) => (z * width) / box.width);
      let best = { far: 40 ** 2 };
      for (const { group, at, s } of groups) {
        at.forEach(([a, b], i) => {
          const far = (a - u) ** 2 + (b - v) ** 2;
          if (far < best.far) best = { far, group, s, point: s.points[i] };
        });
      }
      if (!best.group) return leave();
      for (const { group } of groups) {
        group.classList.toggle("faint", group !== best.group);
        group.classList.toggle("strong", group === best.group);
      }
      tip.textContent = `${best.s.solver}\n${say(best.point)}`;
      tip.hidden = false;
      tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
      tip.style.top = `${Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)}px`;
    });
  }

  // Residuals far below the tolerance or far above the start say no more than their sign does.
  function span(work, all) {
    const series = all.filter((s) => shown.has(s.solver));
    const laws = series.flatMap((s) => s.points.map((p) => p[1])).filter((law) => law > 0);
    const starts = series.map((s) => s.points[0]?.[1] ?? 0);
    const high = Math.max(work.tolerance, ...laws.map((law) => Math.min(law, 1e2 * Math.max(1e4 * work.tolerance, ...starts))));
    // Where all solvers are single points there is room for what pivoting reaches.
    const least = series.some((s) => s.points.length > 1) ? 1e-4 * work.tolerance : 1e-18;
    const low = Math.min(work.tolerance, ...laws.map((law) => Math.max(law, least)));
    return { low, high };
  }
  const law = (series, work) => ({ log: true, label: "law residual [m/s]", ...span(work, series) });

  function oneWork() {
    const work = works[byId("work").selectedIndex];
    if (!work) return;
    byId("work-about").textContent = work.scene
      ? `${work.title || work.name}: ${work.bodies} bodies, ${work.joints} joints, ${work.steps} steps of ${work.dt} s, to ${plain(work.tolerance)} m/s in every step.`
      : `${work.kind}, ${work.n_blocks} blocks, ${work.n_rows} rows, to ${plain(work.tolerance)} m/s${work.warm ? ", from the impulses in the file" : ""}.`;
    const curve = (run, points) => ({ solver: run.label, dashed: run.fit === "approximate", points: points.filter((p) => p[1] !== null) });
    const target = work.tolerance;
    if (work.scene) {
      const cost = work.runs.map((run) => curve(run, [[1e-3 * run.ms_per_step, run.law]]));
      plot(byId("precision"), { title: "Work and precision: worst residual", x: { log: true, label: "time per step [s]" }, y: law(cost, work), series: cost, target, say: ([t, r]) => `${time(t)} per step, worst ${small(r)} m/s` });
      const through = work.runs.map((run) => curve(run, run.history.map((p) => [p[0], p[1]])));
      const end = Math.max(...work.runs.flatMap((run) => run.history.map((p) => p[0])), work.dt);
      plot(byId("history"), { title: "Residual through the run", x: { label: "simulated time [s]", low: 0, high: end }, y: law(through, work), series: through, target, say: ([t, r]) => `${small(r)} m/s at ${t.toFixed(3)} s` });
      return;
    }
    // A solver that does not iterate is one point.
    const precise = work.runs.map((run) => curve(run, run.history.length ? run.history.map((p) => [p[1], p[2]]) : [[run.elapsed_s, run.residual.law]]));
    plot(byId("precision"), { title: "Work and precision: residual against time", x: { log: true, label: "time [s]" }, y: law(precise, work), series: precise, target, say: ([t, r]) => `${small(r)} m/s after ${time(t)}` });
    const swept = work.runs.map((run) => curve(run, run.history.length ? run.history.map((p) => [p[0], p[2]]) : [[Math.max(run.iterations, 1), run.residual.law]]));
    plot(byId("history"), { title: "Residual against iterations", x: { log: true, label: "iterations (sweeps or pivots)" }, y: law(swept, work), series: swept, target, say: ([n, r]) => `${small(r)} m/s after ${n}` });
  }

  function allWorks() {
    const dashed = (solver) => works.some((work) => work.runs.some((run) => run.label === solver && run.fit === "approximate"));
    const profiles = report.profiles.map((profile) => ({ solver: profile.solver, steps: true, dashed: dashed(profile.solver), points: profile.points }));
    const slowest = Math.max(10, ...profiles.flatMap((s) => s.points.map((p) => p[0])));
    plot(byId("profile"), {
      title: `Performance profile over ${works.length} works`,
      x: { log: true, label: "factor τ of the fastest solver's time", low: 1, high: Math.min(slowest, 1e4) },
      y: { label: "share of works done within τ", low: 0, high: 1 },
      series: profiles,
      say: ([tau, share]) => `${(100 * share).toFixed(0)} % of works within ${tau.toFixed(2)}×`,
    });
    const family = byId("family").value;
    const growth = report.growth.filter((g) => g.family === family);
    const unit = growth[0]?.unit ?? "rows";
    plot(byId("growth"), {
      title: family ? `Growth with size: ${short(family)}` : "Growth with size",
      x: { log: true, label: `size [${unit}]` },
      y: { log: true, label: unit === "rows" ? "time to the tolerance [s]" : "time per step [s]" },
      series: growth.map((g) => ({ solver: g.solver, dashed: dashed(g.solver), points: g.points, exponent: g.exponent })),
      say: ([n, t]) => `${time(t)} at ${n} ${unit}`,
    });
    const slopes = growth.filter((g) => shown.has(g.solver)).map((g) => `${g.solver} ${g.exponent.toFixed(2)}`);
    if (slopes.length) byId("growth").append(element("p", { class: "hint" }, `Exponents of growth: ${slopes.join(" · ")}`));
    if (!growth.length) byId("growth").replaceChildren(element("figcaption", {}, "Growth with size"), element("p", { class: "empty" }, "Name works of one family in several sizes, as problem:pile:100 problem:pile:1000."));
  }

  // A solver that chose, with what it took for which part, and who went on.
  function named(run) {
    if (!run.chosen) return run.label;
    const parts = run.chosen.map((part) => (part.islands ? `${part.solver} (${counted(part.islands, "island")})` : part.solver));
    return `${run.label} → ${parts.join(" and ")}${run.fallback ? `, ${run.fallback}` : ""}`;
  }

  const PROBLEM = [
    ["work", (run, work) => short(work.name)],
    ["solver", (run) => named(run)],
    ["time", (run) => run.elapsed_s, time],
    ["status", (run) => run.status],
    ["fit", (run) => run.fit],
    ["iterations", (run) => run.iterations, String],
    ["law [m/s]", (run) => run.residual.law, small],
    ["relative", (run) => run.residual.relative, small],
    ["worst block", (run) => run.residual.worst_block, (x) => (x === null ? "–" : String(x))],
  ];
  const SCENE = [
    ["scene", (run, work) => short(work.name)],
    ["solver", (run) => run.label],
    ["ms/step", (run) => run.ms_per_step, (x) => x.toFixed(4)],
    ["fit", (run) => run.fit],
    ["steps", (run) => run.steps, String],
    ["not solved", (run) => run.unsolved_steps, String],
    ["worst law [m/s]", (run) => run.law, small],
    ["penetration [m]", (run) => run.penetration, small],
    ["energy change [J]", (run) => run.energy_change, small],
    ["iterations/step", (run) => run.iterations_per_step, (x) => x.toFixed(1)],
    ["worst block", (run) => (run.worst_block ? `step ${run.worst_block.step}, ${run.worst_block.name}` : "–")],
  ];
  function table(caption, all, list) {
    // One work needs no column for its name.
    const columns = list.length === 1 ? all.slice(1) : all;
    let order = null;
    const rows = list.flatMap((work) => work.runs.map((run) => ({ run, work })));
    const body = element("tbody");
    const heads = columns.map(([name, , format], c) => {
      const head = element("th", { class: format ? "number" : "", scope: "col" }, element("button", { type: "button" }, name));
      head.addEventListener("click", () => {
        order = { c, down: order?.c === c && !order.down };
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
        fill();
      });
      return head;
    });
    function fill() {
      const key = order && columns[order.c][1];
      const sorted = order ? [...rows].sort((a, b) => {
        const [x, y] = [key(a.run, a.work), key(b.run, b.work)];
        const way = typeof x === "string" ? x.localeCompare(y) : (x ?? Infinity) - (y ?? Infinity);
        return order.down ? -way : way;
      }) : rows;
      body.replaceChildren(...sorted.map(({ run, work }) => element("tr", { class: run.reached ? "" : "missed" }, ...columns.map(([name, value, format]) => {
        const cell = element("td", { class: format ? "number" : "" });
        if (name === "solver") cell.append(swatch(run.label, run.fit === "approximate"));
        cell.append(format ? format(value(run, work)) : value(run, work));
        if (run.message && name === "solver") cell.title = run.message;
        return cell;
      }))));
    }
    fill();
    return element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...heads)), body);
  }
  function tables() {
    const current = works[byId("work").selectedIndex];
    const list = byId("only").checked ? works.filter((work) => work === current) : works;
    const [problems, scenes] = [list.filter((work) => !work.scene), list.filter((work) => work.scene)];
    byId("tables").replaceChildren();
    if (problems.length) byId("tables").append(table("Problems", PROBLEM, problems));
    if (scenes.length) byId("tables").append(table("Scenes", SCENE, scenes));
    const misfits = list.filter((work) => work.misfits.length).map((work) => `${short(work.name)}: ${work.misfits.join("; ")}`);
    if (misfits.length) byId("tables").append(element("p", { class: "hint" }, `No rule for a law of the work: ${misfits.join(" · ")}`));
    byId("tables").append(element("p", { class: "hint" }, "Grey rows did not reach the tolerance. The residual is always that of the work's own law; an approximate solver obeys a nearby law, and so keeps some residual."));
  }

  function legend() {
    const reached = (solver) => works.filter((work) => work.runs.some((run) => run.label === solver && run.reached)).length;
    byId("legend").replaceChildren(...solvers.map((solver) => {
      const box = element("input", { type: "checkbox", checked: shown.has(solver) });
      box.addEventListener("change", () => {
        if (box.checked) shown.add(solver); else shown.delete(solver);
        plots();
      });
      const dashed = works.some((work) => work.runs.some((run) => run.label === solver && run.fit === "approximate"));
      return element("li", {}, element("label", {}, box, swatch(solver, dashed), element("span", { class: "name" }, solver.replaceAll(",", ",\u200b")), element("span", { class: "count" }, `${reached(solver)}/${works.length}`)));
    }));
  }
  function plots() {
    oneWork();
    allWorks();
  }
  function show(list) {
    shown.clear();
    list.forEach((solver) => shown.add(solver));
    legend();
    plots();
  }

  const runs = works.reduce((sum, work) => sum + work.runs.length, 0);
  byId("about").textContent = `${counted(works.length, "work")}, ${counted(solvers.length, "solver")}, ${counted(runs, "run")}. Times are the shortest of repeated runs on one thread; residuals are measured by the same judge for all. delassus ${report.version}.`;
  if (report.missing.length) {
    byId("missing").hidden = false;
    byId("missing").textContent = `Interrupted: ${counted(report.missing.length, "run")} missing, the first ${report.missing[0].solver} on ${short(report.missing[0].work)}.`;
  }
  byId("work").append(...works.map((work) => element("option", {}, short(work.name))));
  const families = [...new Set(report.growth.map((g) => g.family))];
  byId("family").append(...families.map((name) => element("option", { value: name }, short(name))));
  byId("family-label").hidden = families.length < 2;
  byId("set").hidden = works.length < 2;
  byId("only").parentElement.hidden = works.length < 2;
  byId("work").addEventListener("change", () => { oneWork(); tables(); });
  byId("family").addEventListener("change", allWorks);
  byId("only").addEventListener("change", tables);
  byId("best").addEventListener("click", () => show(best));
  byId("all").addEventListener("click", () => show(solvers));
  byId("none").addEventListener("click", () => show([]));
  legend();
  plots();
  tables();
})();
