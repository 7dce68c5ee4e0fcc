/** Small pieces of a form, each with its label. */

let counter = 0;

export function section(parent: HTMLElement, title: string, open = true): HTMLElement {
  const details = document.createElement("details");
  details.open = open;
  const summary = document.createElement("summary");
  summary.textContent = title;
  const body = document.createElement("div");
  body.className = "fields";
  details.append(summary, body);
  parent.append(details);
  return body;
}

function row(parent: HTMLElement, label: string, control: HTMLElement, hint?: string): void {
  const id = `control-${++counter}`;
  const tag = document.createElement("label");
  tag.htmlFor = id;
  tag.textContent = label;
  control.id = id;
  if (hint) tag.title = control.title = hint;
  parent.append(tag, control);
}

export function choice(parent: HTMLElement, label: string, options: string[], value: string, change: (value: string) => void, hint?: string): HTMLSelectElement {
  const select = document.createElement("select");
  for (const option of options) select.add(new Option(option, option));
  select.value = value;
  select.onchange = () => change(select.value);
  row(parent, label, select, hint);
  return select;
}

/** A number; what is no number within the range stays as it was typed, with a word about what is wrong. */
export function amount(parent: HTMLElement, label: string, value: number | null, range: [number, number], change: (value: number | null) => void, hint?: string): HTMLInputElement {
  const input = document.createElement("input");
  input.type = "text";
  input.inputMode = "decimal";
  input.autocomplete = "off";
  const text = (x: number) => (x !== 0 && Math.abs(x) < 1e-3 ? String(x.toExponential()) : String(x));
  input.value = value === null ? "" : text(value);
  const fault = document.createElement("p");
  fault.className = "fault";
  fault.hidden = true;
  fault.setAttribute("role", "alert");
  input.onchange = () => {
    const typed = input.value.trim().replace("−", "-");
    const next = typed === "" ? null : Number(typed);
    const legal = next === null ? value === null || label.startsWith("Friction") : range[0] <= next && next <= range[1];
    input.setAttribute("aria-invalid", String(!legal));
    fault.hidden = legal;
    if (legal) return change(next);
    const still = value === null ? "that of the scene" : text(value);
    fault.textContent = `${label}: give a number from ${text(range[0])} to ${text(range[1])}; it is still ${still}`;
  };
  row(parent, label, input, hint);
  parent.append(fault);
  return input;
}

export function tick(parent: HTMLElement, label: string, value: boolean, change: (value: boolean) => void, hint?: string): HTMLInputElement {
  const input = document.createElement("input");
  input.type = "checkbox";
  input.checked = value;
  input.onchange = () => change(input.checked);
  row(parent, label, input, hint);
  return input;
}
