// The page: an input to draw on or to set, and what the network makes of it at once.
"use strict";

const kDraws = 10;      // that are shown one by one
const kMostBars = 20;   // outputs that are shown if they are not a picture
const kSliceMs = 12;    // of computing, before the page is drawn again

const byId = id => document.getElementById(id);

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function number_text(value) {
  return Number(value.toPrecision(3)).toString().replace("-", "\u2212");
}

// --- pictures -----------------------------------------------------------------------------------

function picture_canvas(shape, label) {
  const canvas = element("canvas", {width: shape.width, height: shape.height, className: "picture"});
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  return canvas;
}

// values from low (black) to high (white); with three channels, red, green and blue side by side
function paint(canvas, values, {channels, low, high}) {
  const context = canvas.getContext("2d"), image = context.createImageData(canvas.width, canvas.height);
  for (let pixel = 0; 4 * pixel < image.data.length; ++pixel) {
    for (let k = 0; k < 3; ++k) {
      const value = values[pixel * channels + (channels === 3 ? k : 0)];
      image.data[4 * pixel + k] = 255 * (value - low) / (high - low);  // clamps
    }
    image.data[4 * pixel + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

// --- the input: pixels to draw on ---------------------------------------------------------------

class PixelInput {
  constructor(shape, x, changed) {
    Object.assign(this, {shape, x, changed, erases: false, size: shape.width > 16 ? 2 : 1});
    this.canvas = picture_canvas(shape, "The input: draw here");
    this.canvas.id = "input";
    this.canvas.addEventListener("pointerdown", event => this.begin(event));
    this.canvas.addEventListener("pointermove", event => this.move(event));
    for (const end of ["pointerup", "pointercancel"])
      this.canvas.addEventListener(end, () => this.last = null);
    byId("input-place").append(this.canvas, this.tools());
    this.show();
  }

  tools() {
    const pen = element("button", {textContent: "Draw", id: "draw"});
    const eraser = element("button", {textContent: "Erase", id: "erase"});
    const choose = erases => {
      this.erases = erases;
      pen.setAttribute("aria-pressed", !erases);
      eraser.setAttribute("aria-pressed", erases);
    };
    pen.onclick = () => choose(false);
    eraser.onclick = () => choose(true);
    choose(false);
    const size = element("input", {type: "range", min: 1, max: 4, value: this.size, id: "size"});
    size.oninput = () => this.size = Number(size.value);
    const tools = element("div", {className: "tools"}, pen, eraser,
                          element("label", {}, "Pen ", size));
    if (this.shape.channels === 3) {
      this.color = element("input", {type: "color", value: "#ffffff", id: "color"});
      tools.append(element("label", {}, "Colour ", this.color));
    }
    return tools;
  }

  set(x) {
    this.x.set(x);
    this.show();
  }
  clear() { this.set(new Float32Array(this.x.length).fill(this.shape.low)); }
  show() { paint(this.canvas, this.x, this.shape); }

  pixel_at(event) {
    const box = this.canvas.getBoundingClientRect();
    return {column: (event.clientX - box.left) / box.width * this.shape.width,
            row: (event.clientY - box.top) / box.height * this.shape.height};
  }

  begin(event) {
    event.preventDefault();
    this.canvas.setPointerCapture(event.pointerId);
    this.last = this.pixel_at(event);
    this.stroke(this.last, this.last);
  }
  // The browser reports the points that it has passed since the last frame, too.
  move(event) {
    if (!this.last) return;
    const passed = event.getCoalescedEvents?.() ?? [];
    for (const point of passed.length ? passed : [event]) {
      const next = this.pixel_at(point);
      this.stroke(this.last, next);
      this.last = next;
    }
  }

  stroke(from, to) {
    const steps = 1 + Math.ceil(3 * Math.hypot(to.column - from.column, to.row - from.row));
    for (let k = 0; k <= steps; ++k)
      this.dab(from.column + (to.column - from.column) * k / steps,
               from.row + (to.row - from.row) * k / steps);
    this.show();
    this.changed();
  }

  // Sets the pixels whose centres the pen covers, and the one below its middle.
  dab(column, row) {
    const {width, height} = this.shape, radius = this.size / 2;
    for (let i = Math.floor(row - radius); i <= row + radius; ++i) {
      for (let j = Math.floor(column - radius); j <= column + radius; ++j) {
        const middle = i === Math.floor(row) && j === Math.floor(column);
        const covered = middle || Math.hypot(i + 0.5 - row, j + 0.5 - column) < radius;
        if (covered && i >= 0 && i < height && j >= 0 && j < width) this.put(i * width + j);
      }
    }
  }
  put(pixel) {
    const {channels, low, high} = this.shape;
    for (let k = 0; k < channels; ++k) {
      const share = this.color ? parseInt(this.color.value.substr(1 + 2 * k, 2), 16) / 255 : 1;
      this.x[pixel * channels + k] = this.erases ? low : low + share * (high - low);
    }
  }
}

// --- the input: numbers to set ------------------------------------------------------------------

class SliderInput {
  constructor({low, high, whole}, x, changed) {
    Object.assign(this, {x, low, rows: []});
    const list = element("div", {className: "sliders"});
    for (let i = 0; i < x.length; ++i) {
      const step = whole[i] ? 1 : (high[i] - low[i]) / 1000 || 1;
      const slider = element("input", {type: "range", min: low[i], max: high[i], step});
      const value = element("output");
      slider.oninput = () => {
        this.x[i] = Number(slider.value);
        value.textContent = number_text(this.x[i]);
        changed();
      };
      this.rows.push({slider, value});
      list.append(element("label", {}, element("span", {textContent: `x${i + 1}`}), slider, value));
    }
    byId("input-place").append(list);
    this.show();
  }
  set(x) {
    this.x.set(x);
    this.show();
  }
  clear() { this.set(this.low); }
  show() {
    this.rows.forEach(({slider, value}, i) => {
      slider.value = this.x[i];
      value.textContent = number_text(this.x[i]);
    });
  }
}

class NoInput {
  constructor() {
    byId("input-place").textContent = "This network has no input: it draws y from nothing. " +
        "Resample shows other draws.";
    byId("clear").hidden = true;
  }
  set() {}
  clear() {}
}

// --- what the network says ----------------------------------------------------------------------

// y as pictures, below the input if they continue it.
class PictureView {
  constructor(network) {
    this.network = network;
    const {y, x} = network, below = y.below_x ? x.height : 0;
    this.shape = {width: y.width, height: y.height + below};
    this.mean = picture_canvas(this.shape, "The mean of y");
    byId("mean").append(this.mean);
    this.draws = Array.from({length: kDraws}, (_, m) => {
      const canvases = [picture_canvas(this.shape, `Draw ${m + 1}: E[y|h]`),
                        picture_canvas(this.shape, `Draw ${m + 1}: y`)];
      byId("draws").append(element("div", {className: "draw"}, ...canvases));
      return canvases;
    });
    byId("draws-text").textContent = `Each column: above ${network.output === "bernoulli" ?
        "P(y|h), the probability of each pixel" : "E[y|h]"}; below, a sample y drawn from it.`;
  }
  paint(canvas, x, y) {
    const {below_x, channels, low, high} = this.network.y;
    paint(canvas, below_x ? [...x, ...y] : y, {channels, low, high});
  }
  show_mean(mean, x) { this.paint(this.mean, x, mean); }
  show_draw(m, particle, x) {
    this.paint(this.draws[m][0], x, particle.mean);
    this.paint(this.draws[m][1], x, particle.y);
  }
}

// Classes, or bits that are not a picture: a bar per probability.
class BarView {
  constructor(network) {
    this.is_class = network.output === "softmax";
    this.count = Math.min(network.D_out, kMostBars);
    this.bars = Array.from({length: this.count}, (_, i) => this.bar(i));
    byId("mean").append(element("div", {className: "bars"}, ...this.bars.map(bar => bar.row)));
    this.draws = Array.from({length: kDraws}, () => this.small_chart());
    byId("draws-text").textContent = (this.is_class ?
        "Each column: P(y|h), a bar per class, and a class drawn from it." :
        "Each column: P(y|h), a bar per bit, and bits drawn from it.") +
        (this.count < network.D_out ? ` The first ${this.count} of ${network.D_out}.` : "");
  }
  bar(i) {
    const fill = element("i"), value = element("output");
    const row = element("div", {className: "bar"},
        element("span", {textContent: this.is_class ? i : `y${i + 1}`}),
        element("b", {}, fill), value);
    return {row, fill, value};
  }
  small_chart() {
    const fills = Array.from({length: this.count}, () => element("i"));
    const y = element("output");
    byId("draws").append(element("div", {className: "draw"},
        element("div", {className: "columns"}, ...fills), y));
    return {fills, y};
  }
  show_mean(mean) {
    const most = Math.max(...mean);
    this.bars.forEach(({row, fill, value}, i) => {
      fill.style.width = `${100 * mean[i]}%`;
      value.textContent = mean[i].toFixed(3);
      row.classList.toggle("best", this.is_class && mean[i] === most);
    });
  }
  show_draw(m, {mean, y}) {
    const {fills, y: text} = this.draws[m];
    fills.forEach((fill, i) => {
      fill.style.height = `${Math.max(2, 100 * mean[i])}%`;
      fill.classList.toggle("drawn", this.is_class ? i === y : y[i] === 1);
    });
    text.textContent = this.is_class ? y : "";
  }
}

// Numbers: a line each, with a dot per draw.
class TrackView {
  constructor(network) {
    this.count = Math.min(network.D_out, kMostBars);
    this.range = {low: network.y.low.slice(), high: network.y.high.slice()};
    this.tracks = Array.from({length: this.count}, (_, i) => this.track(i));
    byId("mean").append(element("div", {className: "tracks"}, ...this.tracks.map(t => t.row)));
    byId("draws-text").textContent =
        "Bar: the mean. Full dots: E[y|h] of each draw; rings: y drawn from it." +
        (this.count < network.D_out ? ` The first ${this.count} of ${network.D_out}.` : "");
  }
  track(i) {
    const dots = Array.from({length: kDraws}, () => element("i", {className: "dot"}));
    const rings = Array.from({length: kDraws}, () => element("i", {className: "ring"}));
    const mean = element("i", {className: "middle"}), value = element("output");
    const row = element("div", {className: "track"}, element("span", {textContent: `y${i + 1}`}),
                        element("b", {}, ...rings, ...dots, mean), value);
    return {row, dots, rings, mean, value};
  }
  place(mark, i, value) {
    const low = this.range.low[i], high = this.range.high[i];
    const share = high > low ? (value - low) / (high - low) : 0.5;
    mark.style.left = `${100 * Math.min(1, Math.max(0, share))}%`;
  }
  show_mean(mean) {
    this.tracks.forEach((track, i) => {
      this.place(track.mean, i, mean[i]);
      track.value.textContent = number_text(mean[i]);
    });
  }
  show_draw(m, {mean, y}) {
    this.tracks.forEach((track, i) => {
      this.place(track.dots[m], i, mean[i]);
      this.place(track.rings[m], i, y[i]);
    });
  }
}

// --- hidden units -------------------------------------------------------------------------------

// A square per unit: how random it is, given the layers below, on average over the draws.
class HiddenView {
  constructor(network) {
    this.network = network;
    this.layers = network.hidden.map((layer, l) => {
      const units = layer.n_s || layer.n_d, width = Math.min(units, 40);
      const canvas = picture_canvas({width, height: Math.ceil(units / width)}, `Hidden layer ${l + 1}`);
      canvas.style.width = `${width / 40 * 100}%`;
      const caption = element("figcaption");
      byId("hidden").append(element("figure", {}, caption, canvas));
      return {canvas, caption};
    });
  }

  show(sums, count) {
    const decided = entropy(this.network.decided);
    const colors = ["off", "on", "random"].map(name => rgb_of(`--${name}`));
    this.layers.forEach(({canvas, caption}, l) => {
      const {n_s, n_d, fixed} = this.network.hidden[l], {p, bits} = sums[l];
      if (n_s === 0) {
        caption.textContent = `Layer ${l + 1}: ${n_d} deterministic units, nothing to draw`;
        canvas.hidden = true;
        return;
      }
      const context = canvas.getContext("2d");
      let random = 0;
      for (let j = 0; j < n_s; ++j) {
        const is_random = bits[j] / count > decided;
        random += is_random;
        const color = is_random ? colors[2] : colors[p[j] / count > 0.5 ? 1 : 0];
        context.globalAlpha = is_random ? 0.35 + 0.65 * bits[j] / count : 1;
        context.clearRect(j % canvas.width, Math.floor(j / canvas.width), 1, 1);
        context.fillStyle = color;
        context.fillRect(j % canvas.width, Math.floor(j / canvas.width), 1, 1);
      }
      caption.textContent = `Layer ${l + 1}: ${random} of ${n_s} ` +
          (fixed ? "noise units are random, as they are meant to be" :
                   "stochastic units are still random for this input");
    });
  }
}

function rgb_of(variable) {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

// --- the whole ----------------------------------------------------------------------------------

class Play {
  constructor(model) {
    const network = this.network = new Network(model);
    this.examples = floats_from(model.examples);
    this.example = 0;
    this.x = new Float32Array(network.D_in);
    this.M = network.samples ? network.particles : 1;
    const changed = () => this.restart();
    this.input = network.D_in === 0 ? new NoInput() :
        network.x.height > 0 ? new PixelInput(network.x, this.x, changed) :
                               new SliderInput(network.x, this.x, changed);
    this.view = network.y.height > 0 ? new PictureView(network) :
        network.is_gaussian || network.output === "poisson" ? new TrackView(network) :
                                                              new BarView(network);
    this.hidden = new HiddenView(network);
    document.querySelector("main").classList.toggle("wide", !(network.x.height > 0));
    this.buttons();
    this.show_example(0);
  }

  buttons() {
    const count = this.network.D_in === 0 ? 0 : this.examples.length / this.network.D_in;
    byId("example").hidden = count === 0;
    byId("example").onclick = () => this.show_example((this.example + 1) % count);
    byId("clear").onclick = () => {
      this.input.clear();
      this.restart();
    };
    byId("resample").onclick = () => {
      const [low, high] = this.network.seed;
      this.network.reseed([(low + 1) >>> 0, high]);
      this.restart();
    };
    byId("show-hidden").onchange = event => {
      byId("hidden-panel").hidden = !event.target.checked;
      this.show();
    };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.show());
  }

  show_example(k) {
    this.example = k;
    const {D_in} = this.network;
    this.input.set(this.examples.subarray(k * D_in, (k + 1) * D_in));
    this.restart();
  }

  // A new input or new draws: the first ones at once, the others frame by frame.
  restart() {
    const {network} = this;
    this.answer = new Answer(network, this.x);
    this.count = 0;
    this.shown = [];
    this.mean_sum = new Float64Array(network.D_out);
    this.sums = network.hidden.map(
        layer => ({p: new Float64Array(layer.n_s), bits: new Float64Array(layer.n_s)}));
    if (!this.pending) this.pending = requestAnimationFrame(() => this.slice());
  }

  slice() {
    const end = performance.now() + kSliceMs;
    while (this.count < this.M && (this.count < kDraws || performance.now() < end)) this.add();
    this.show();
    this.pending = this.count < this.M ? requestAnimationFrame(() => this.slice()) : 0;
  }

  add() {
    const particle = this.answer.particle(this.count);
    if (this.count < kDraws) this.shown.push(particle);
    ++this.count;
    particle.mean.forEach((value, i) => this.mean_sum[i] += value);
    particle.layers.forEach(({p}, l) => p?.forEach((value, j) => {
      this.sums[l].p[j] += value;
      this.sums[l].bits[j] += entropy(value);
    }));
  }

  // A deterministic network has one particle; y is still drawn from it ten times.
  draw(m) {
    const particle = this.shown[m % this.shown.length];
    return m < this.shown.length ? particle :
        {...particle, y: this.network.draw(particle.mean, particle.sigma, m)};
  }

  mean() { return Array.from(this.mean_sum, sum => sum / this.count); }
  is_done() { return !this.pending && this.count === this.M; }

  show() {
    this.view.show_mean(this.mean(), this.x);
    for (let m = 0; m < kDraws; ++m) this.view.show_draw(m, this.draw(m), this.x);
    byId("mean-title").textContent = this.network.samples ?
        `Mean of ${this.count} draws` : "No hidden randomness: one answer";
    byId("seed").textContent = `seed ${seed_text(this.network.seed)}`;
    if (!byId("hidden-panel").hidden) this.hidden.show(this.sums, this.count);
  }
}

function seed_text([low, high]) { return (BigInt(high) << 32n | BigInt(low)).toString(); }

const play = new Play(JSON.parse(byId("model").textContent));
