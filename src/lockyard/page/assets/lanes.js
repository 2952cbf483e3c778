// SPDX-License-Identifier: Apache-2.0
// Steps through an execution: shows what each step reads and from which earlier step.

class Lanes {
  constructor(element, spec) {
    this.element = element;
    this.steps = spec.steps;
    this.rows = [...element.querySelectorAll("tbody tr")];
    this.region = element.querySelector(".scroll");
    this.at = this.rows.length - 1;
    this.addButtons();
    this.region.addEventListener("keydown", (event) => {
      const to = { ArrowLeft: this.at - 1, ArrowUp: this.at - 1, ArrowRight: this.at + 1,
        ArrowDown: this.at + 1, Home: 0, End: this.rows.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      this.go(to);
    });
    this.rows.forEach((row, at) => row.addEventListener("click", () => this.go(at)));
    addEventListener("resize", () => this.drawEdges());
    this.go(this.at, false);
  }

  addButtons() {
    const bar = document.createElement("div");
    bar.className = "buttons";
    this.back = button("◂ Step back", "", () => this.go(this.at - 1));
    this.on = button("Step ▸", "", () => this.go(this.at + 1));
    this.count = document.createElement("output");
    bar.append(button("First", "", () => this.go(0)), this.back, this.on,
      button("Last", "", () => this.go(this.rows.length - 1)), this.count);
    this.memory = document.createElement("p");
    this.memory.className = "memory";
    this.also = document.createElement("p");
    this.also.className = "memory";
    this.region.before(bar, this.memory, this.also);
    this.edges = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.edges.setAttribute("class", "edges");
    this.edges.setAttribute("aria-hidden", "true");
    this.region.append(this.edges);
  }

  go(to, scroll = true) {
    this.at = Math.max(0, Math.min(to, this.rows.length - 1));
    const sources = this.steps[this.at].from;
    this.rows.forEach((row, at) => {
      row.classList.toggle("later", at > this.at);
      row.classList.toggle("source", sources.includes(at));
      if (at === this.at) row.setAttribute("aria-current", "step");
      else row.removeAttribute("aria-current");
    });
    this.back.disabled = this.at === 0;
    this.on.disabled = this.at === this.rows.length - 1;
    this.count.textContent = ` Step ${this.at + 1} of ${this.rows.length}`;
    this.showMemory();
    const { also } = this.steps[this.at];
    this.also.textContent = also.length ? `This step could also have read: ${also.join(", ")}` : "";
    this.drawEdges();
    if (scroll) this.rows[this.at].scrollIntoView({ block: "nearest" });
  }

  // Shows the newest value of each word; weak memory may still let threads read older ones.
  showMemory() {
    const words = new Map();
    for (const { word, value, by } of this.steps.slice(0, this.at + 1)) {
      if (word && value !== null) words.set(word, by === null ? value : `${value} (by ${by})`);
    }
    this.memory.textContent = words.size ? "Newest values: " : "";
    let first = true;
    for (const [word, value] of words) {
      const strong = document.createElement("strong");
      strong.textContent = value;
      this.memory.append(`${first ? "" : " · "}${word} = `, strong);
      first = false;
    }
  }

  drawEdges() {
    const box = this.region.getBoundingClientRect();
    const middle = (at, side) => {
      const cell = this.rows[at].querySelector(".step, .end")?.getBoundingClientRect();
      if (!cell) return null;
      return [cell[side] - box.left + this.region.scrollLeft, cell.top + cell.height / 2 - box.top];
    };
    const paths = this.steps[this.at].from.map((from) => {
      const a = middle(from, "right");
      const b = middle(this.at, "left");
      if (!a || !b) return "";
      if (b[0] < a[0]) b[0] = middle(this.at, "right")[0];
      const bend = b[0] < a[0] + 4 ? Math.max(a[0], b[0]) + 40 : (a[0] + b[0]) / 2;
      return `<path d="M${a} C${bend},${a[1]} ${bend},${b[1]} ${b}" fill="none" ` +
        `stroke="currentColor" stroke-width="2"/><circle cx="${b[0]}" cy="${b[1]}" r="4" fill="currentColor"/>`;
    });
    this.edges.setAttribute("width", this.region.scrollWidth);
    this.edges.setAttribute("height", this.region.scrollHeight);
    this.edges.innerHTML = paths.join("");
  }
}
