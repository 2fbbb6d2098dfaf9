// The network of a run, computed as `sfnn predict` does it: with the same draws of the hidden
// units, so that its probabilities are the same, and sums in double precision.
"use strict";

// --- random numbers by index: kernels/philox.hpp ------------------------------------------------

const kMul0 = 0xD2511F53, kMul1 = 0xCD9E8D57, kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;

// The upper 32 bits of a product of 32-bit numbers.
function high(a, b) {
  const a0 = a & 0xffff, a1 = a >>> 16, b0 = b & 0xffff, b1 = b >>> 16;
  const middle = a1 * b0 + ((a0 * b0) >>> 16);
  return (a1 * b1 + (middle >>> 16) + ((a0 * b1 + (middle & 0xffff)) >>> 16)) >>> 0;
}

// Philox4x32-10: four words.
function philox(counter, key) {
  let [c0, c1, c2, c3] = counter, [k0, k1] = key;
  for (let round = 0; round < 10; ++round) {
    const p0 = high(kMul0, c0), p1 = high(kMul1, c2);
    [c0, c1, c2, c3] = [p1 ^ c1 ^ k0, Math.imul(kMul1, c2), p0 ^ c3 ^ k1, Math.imul(kMul0, c0)];
    k0 = (k0 + kWeyl0) | 0;
    k1 = (k1 + kWeyl1) | 0;
  }
  return [c0 >>> 0, c1 >>> 0, c2 >>> 0, c3 >>> 0];
}

// In (0, 1], in the steps of a float.
function uniform_from_word(word) {
  return Math.fround(Math.fround(word) * 2 ** -32 + 2 ** -33);
}

// The uniforms that the units of example 0 draw with, particle by particle; kept, as they do not
// depend on the input.
class Uniforms {
  constructor(seed, step, site, units) {
    Object.assign(this, {seed, step, site, units, of_particle: []});
  }
  at(particle) {
    return this.of_particle[particle] ??= this.drawn(particle);
  }
  drawn(particle) {
    const values = new Float32Array(4 * Math.ceil(this.units / 4));
    for (let block = 0; 4 * block < this.units; ++block) {
      const words = philox([this.site << 24 | block, this.step, particle, 0], this.seed);
      for (let k = 0; k < 4; ++k) values[4 * block + k] = uniform_from_word(words[k]);
    }
    return values;
  }
}

// --- scalar functions: kernels/activations.hpp, kernels/output.hpp -------------------------------

const sigmoid = a => 1 / (1 + Math.exp(-a));
const softplus = a => Math.max(a, 0) + Math.log1p(Math.exp(-Math.abs(a)));
const kActivations = {sigmoid, tanh: Math.tanh, relu: a => Math.max(a, 0)};
const kOutputs = [
  "softmax", "bernoulli", "poisson", "gaussian", "gaussian-learnt", "gaussian-learnt-each", "gaussian-predicted"
];

function entropy(p) {  // of a coin, in bits
  return p <= 0 || p >= 1 ? 0 : -(p * Math.log2(p) + (1 - p) * Math.log2(1 - p));
}

function softmax(o) {
  const most = Math.max(...o), terms = Array.from(o, a => Math.exp(a - most));
  const sum = terms.reduce((a, b) => a + b);
  return Float64Array.from(terms, term => term / sum);
}

function log_factorial(t) {
  let z = t + 1, product = 1;
  for (; z < 8; ++z) product *= z;
  const r = 1 / z, series = r * (1 / 12 - r * r * (1 / 360 - r * r / 1260));
  return (z - 0.5) * Math.log(z) - z + 0.9189385332046727 + series - Math.log(product);
}

// The class where the cumulative probability passes u.
function drawn_class(p, u) {
  let below = 0;
  for (let i = 0; i + 1 < p.length; ++i) {
    below = Math.fround(below + Math.fround(p[i]));
    if (u <= below) return i;
  }
  return p.length - 1;
}

// The count where the probabilities, added from the mode outwards, pass u.
function drawn_count(rate, u) {
  const mode = Math.floor(rate);
  let above = Math.exp(mode * Math.log(rate) - rate - log_factorial(mode));
  if (rate === 0 || (u -= above) <= 0) return mode;
  let below = above, largest = mode, least = mode;
  while (above > 0 || below > 0) {
    above *= rate / ++largest;
    if ((u -= above) <= 0) return largest;
    below = least > 0 ? below * least-- / rate : 0;
    if ((u -= below) <= 0) return least;
  }
  return mode;
}

// --- the network --------------------------------------------------------------------------------

function floats_from(base64) {
  const bytes = Uint8Array.from(atob(base64), letter => letter.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

class Network {
  constructor(model) {
    Object.assign(this, model);
    const params = floats_from(model.params);
    this.tensor = {};
    for (const {name, offset, rows, cols} of model.tensors)
      this.tensor[name] = {rows, cols, values: params.subarray(offset, offset + rows * cols)};
    this.units = Object.fromEntries(
        Object.entries(model.units).map(([name, text]) => [name, floats_from(text)]));
    this.samples = this.hidden.some(layer => layer.n_s > 0);
    if (!kOutputs.includes(this.output)) throw new Error(`no output '${this.output}' here`);
    this.is_gaussian = this.output.startsWith("gaussian");
    this.reseed(model.seed);
  }

  // seed: its lower and its upper 32 bits
  reseed(seed) {
    this.seed = seed;
    const uniforms = (site, units) => new Uniforms(seed, this.step, site, units);
    this.hidden_uniforms =
        this.hidden.map((layer, l) => uniforms(this.first_site + l, layer.n_s));
    this.output_uniforms = uniforms(this.output_site, this.D_out);
  }

  seen(x) {  // x as the network sees it
    const {x_mean, x_scale} = this.units;
    return Float64Array.from(x, (value, i) => (value - (x_mean?.[i] ?? 0)) / (x_scale?.[i] ?? 1));
  }

  y_scale(i) { return this.units.y_scale?.[i] ?? 1; }
  y_value(i, seen) { return (this.units.y_mean?.[i] ?? 0) + this.y_scale(i) * seen; }

  // out += z W; a network without inputs has no first W
  add_product(out, z, name) {
    const {rows, cols, values} = this.tensor[name] ?? {rows: 0};
    for (let i = 0; i < rows; ++i) {
      if (z[i] === 0) continue;
      for (let j = 0, at = i * cols; j < cols; ++j, ++at) out[j] += z[i] * values[at];
    }
    return out;
  }
  inputs_of(z, W, b) {  // z W + b
    return this.add_product(Float64Array.from(this.tensor[b].values), z, W);
  }

  // E[y|h], in the targets' own units
  mean_of(o) {
    if (this.output === "softmax") return softmax(o);
    const of_one = {bernoulli: sigmoid, poisson: rate_of(this.max_log_rate)}[this.output];
    return Float64Array.from(
        {length: this.D_out}, (_, i) => this.y_value(i, of_one ? of_one(o[i]) : o[i]));
  }

  // Gaussian: the standard deviation of output i, in its own units
  sigma_of(o, i) {
    if (this.output === "gaussian") return this.sigma;
    const rho = this.output === "gaussian-predicted" ? o[this.D_out + i] :
        this.tensor.rho.values[this.output === "gaussian-learnt" ? 0 : i];
    return this.y_scale(i) * Math.exp(this.log_sigma_floor + softplus(rho + this.sigma_shift));
  }

  // y itself, from P(y|h) of particle m: a class, or one number per output
  draw(mean, sigma, m) {
    const u = this.output_uniforms.at(m);
    if (this.output === "softmax") return drawn_class(mean, u[0]);
    if (this.output === "bernoulli") return mean.map((p, i) => u[i] <= p ? 1 : 0);
    if (this.output === "poisson") return mean.map((rate, i) => drawn_count(Math.fround(rate), u[i]));
    return mean.map((value, i) => value + sigma[i] * normal_from(u, i));
  }
}

// A pair of uniforms makes a pair of normals: kernels/box_muller.hpp.
function normal_from(u, i) {
  const first = i & ~1, angle = 2 * Math.PI * u[first + 1];
  return Math.sqrt(-2 * Math.log(u[first])) * (i & 1 ? Math.sin(angle) : Math.cos(angle));
}

function rate_of(most) {
  return o => Math.exp(Math.min(o, most)) * (1 + Math.max(o - most, 0));
}

// One input, and what the network makes of it, particle by particle.
class Answer {
  constructor(network, x) {
    this.network = network;
    this.x = network.seen(x);
    this.products = new Map();  // inputs of layers that all particles share
  }

  // Is the input of layer l the same for all particles?
  is_shared(l) { return this.network.hidden.slice(0, l).every(layer => layer.n_s === 0); }

  inputs_of(l, z, W, b) {
    if (!this.is_shared(l)) return this.network.inputs_of(z, W, b);
    if (!this.products.has(W)) this.products.set(W, this.network.inputs_of(z, W, b));
    return this.products.get(W);
  }

  // p: of the stochastic units; s: their draws; d: the deterministic units
  layer(l, z, m) {
    const {n_s, n_d, fixed, activation} = this.network.hidden[l], name = `layer${l + 1}`;
    const result = {};
    if (n_s > 0) {
      const u = this.network.hidden_uniforms[l].at(m);
      result.p = fixed ? new Float64Array(n_s).fill(0.5) :
          this.inputs_of(l, z, `${name}.W_s`, `${name}.b_s`).map(sigmoid);
      result.s = Uint8Array.from(result.p, (p, j) => u[j] <= p ? 1 : 0);
    }
    if (n_d > 0) {
      const a = this.inputs_of(l, z, `${name}.W_d`, `${name}.b_d`).slice();
      if (n_s > 0) this.network.add_product(a, result.s, `${name}.U`);
      result.d = a.map(kActivations[activation]);
    }
    return result;
  }

  // Everything about draw m of the hidden units: layers, mean (E[y|h]), sigma, y.
  particle(m) {
    const {network} = this, layers = [];
    let z = this.x;
    for (let l = 0; l < network.hidden.length; ++l) {
      layers.push(this.layer(l, z, m));
      z = layers[l].d ?? layers[l].s;
    }
    const o = network.inputs_of(z, "V", "c"), mean = network.mean_of(o);
    const sigma = network.is_gaussian ? mean.map((_, i) => network.sigma_of(o, i)) : null;
    return {layers, mean, sigma, y: network.draw(mean, sigma, m)};
  }
}
