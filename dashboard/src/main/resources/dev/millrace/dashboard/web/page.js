'use strict';
// The whole page. Everything that comes from a job goes into textContent, so that no name is markup.
(() => {
  const $ = (id) => document.getElementById(id);
  const SVG = 'http://www.w3.org/2000/svg';
  const WAITING = new Set(['pull', 'push', 'reduce', 'wait']);
  const FEW = 40;
  let job = null;
  let logAfter = 0;
  let shownTask = null;
  let every = 1000;

  const el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
  const svg = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

  function fill(e, attributes, children) {
    for (const [k, v] of Object.entries(attributes)) {
      if (k === 'on') {
        for (const [event, f] of Object.entries(v)) e.addEventListener(event, f);
      } else if (v !== null && v !== undefined && v !== false) {
        e.setAttribute(k, v === true ? '' : v);
      }
    }
    for (const c of children) e.append(c instanceof Node ? c : document.createTextNode(String(c)));
    return e;
  }

  function set(e, text) {
    if (e.textContent !== text) e.textContent = text;
  }

  // ---- words ----

  const isNumber = (v) => typeof v === 'number' && Number.isFinite(v);
  const number = (v, digits = 3) => !isNumber(v) ? '–'
    : Math.abs(v) >= 10 ** digits ? Math.round(v).toLocaleString('en')
      : String(Number(v.toPrecision(digits)));
  const percent = (v) => isNumber(v) ? Math.round(100 * v) + ' %' : '–';

  function bytes(v) {
    if (!isNumber(v)) return '–';
    for (const [size, name] of [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']]) {
      if (v >= size) return number(v / size) + ' ' + name;
    }
    return Math.round(v) + ' B';
  }

  function duration(seconds) {
    if (!isNumber(seconds)) return '–';
    const s = Math.round(seconds);
    return s < 100 ? s + ' s' : s < 6000 ? Math.round(s / 60) + ' min' : Math.floor(s / 3600) + ' h ' + Math.floor(s % 3600 / 60) + ' min';
  }

  const clock = (millis) => new Date(millis).toTimeString().slice(0, 8);

  // ---- the head ----

  function showHead() {
    const j = job.job;
    set($('name'), j.name || 'Millrace job');
    document.title = (isNumber(j.step) && j.steps ? Math.floor(100 * j.step / j.steps) + ' % ' : '') + (j.name || 'Millrace');
    set($('mode'), j.mode || '');
    const bar = $('progress');
    if (isNumber(j.steps) && j.steps > 0) {
      bar.value = Math.min(1, (j.step || 0) / j.steps);
      bar.hidden = false;
    } else {
      bar.hidden = true;
    }
    const up = job.tasks.filter((t) => t.up).length;
    const facts = [
      ['Step', number(j.step, 9) + (isNumber(j.steps) ? ' of ' + number(j.steps, 9) : '')],
      ['Loss', number(j.loss, 4)],
      ['Steps/s', number(j.stepsPerSecond)],
      ['Examples/s', number(j.examplesPerSecond)],
      ['Time left', duration(j.secondsLeft)],
      ['Checkpoint', isNumber(j.savedStep) ? 'step ' + number(j.savedStep, 9) + ', ' + duration(job.time / 1000 - j.savedAt) + ' ago' : '–'],
      ['Tasks', up === job.tasks.length ? String(up) : up + ' of ' + job.tasks.length + ' answer'],
    ];
    const list = $('facts');
    if (list.children.length !== facts.length) {
      list.replaceChildren(...facts.map(([k]) => el('div', {}, el('dt', {}, k), el('dd', {}))));
    }
    facts.forEach(([, v], i) => set(list.children[i].lastChild, v));
  }

  function showVerdict() {
    const v = job.verdict;
    const card = $('verdict');
    card.classList.toggle('slow', v.state === 'slow');
    card.classList.toggle('even', v.state === 'even');
    set($('verdict-mark'), v.state === 'slow' ? '▲' : v.state === 'even' ? '✓' : '?');
    set($('verdict-state'), v.state === 'slow' ? 'Slow' + (v.since ? ' since ' + clock(v.since * 1000) : '') + ': ' + v.cause
      : v.state === 'even' ? 'Nothing is slow' : 'Not enough evidence');
    set($('verdict-text'), v.sentence);
    const list = $('verdict-evidence');
    if (list.dataset.of !== v.evidence.join('\n')) {
      list.dataset.of = v.evidence.join('\n');
      list.replaceChildren(...v.evidence.map((e) => el('li', {}, e)));
    }
    $('blamed').hidden = job.blamed.length === 0;
    const old = $('blamed-list');
    if (old.children.length !== job.blamed.length) {
      old.replaceChildren(...job.blamed.toReversed().map((b) => el('li', {}, (b.since ? clock(b.since * 1000) + ' ' : '') + b.sentence)));
    }
  }

  // ---- tables ----

  /** Keeps rows and cells that are there, so that a focused button stays focused. */
  function table(t, heads, rows) {
    const head = heads.map((h) => h.text).join('|');
    if (t.dataset.head !== head) {
      t.dataset.head = head;
      t.tHead.replaceChildren(el('tr', {}, ...heads.map((h) => el('th', { scope: 'col', class: h.class, title: h.title }, h.text))));
      t.tBodies[0].replaceChildren();
    }
    const body = t.tBodies[0];
    rows.forEach((cells, i) => {
      const row = body.rows[i] || body.appendChild(el('tr'));
      row.className = cells.slow ? 'slow' : '';
      cells.forEach((c, k) => {
        const cell = row.cells[k] || row.appendChild(el('td'));
        if (c.click) {
          if (!cell.firstChild || cell.firstChild.nodeName !== 'BUTTON') {
            cell.replaceChildren(el('button', { type: 'button', on: { click: (e) => c.click(e.currentTarget.dataset.name) } }));
          }
          set(cell.firstChild, c.text);
          cell.firstChild.dataset.name = c.name;
        } else {
          set(cell, c.text);
        }
        cell.className = c.class || '';
        if (isNumber(c.part)) cell.style.setProperty('--part', (0.75 * Math.min(1, c.part)).toFixed(2));
      });
    });
    while (body.rows.length > rows.length) body.deleteRow(-1);
  }

  const own = (t) => job.phases.reduce((sum, p) => sum + (WAITING.has(p) ? 0 : t.phaseMillis[p] || 0), 0);

  function median(values) {
    const s = values.filter(isNumber).sort((a, b) => a - b);
    return s.length === 0 ? 0 : (s[(s.length - 1) >> 1] + s[s.length >> 1]) / 2;
  }

  function select(tasks, weight) {
    const wanted = $('filter').value.trim().toLowerCase();
    const matching = tasks.filter((t) => t.name.toLowerCase().includes(wanted));
    if (matching.length <= FEW) return matching;
    return matching.map((t) => [weight(t), t]).sort((a, b) => b[0] - a[0]).slice(0, FEW).map((p) => p[1]);
  }

  function showMatrix() {
    const training = job.tasks.filter((t) => t.training && t.phaseMillis);
    const used = job.phases.filter((p) => training.some((t) => t.phaseMillis[p] > 0));
    const middle = median(training.map(own));
    const shown = select(training, (t) => (t.up ? 0 : 1e9) + own(t));
    set($('shown'), shown.length < training.length ? 'the slowest ' + shown.length + ' of ' + training.length + ' tasks' : '');
    table($('matrix'),
      [{ text: 'task' }, { text: 'now', class: 'text' }, { text: 'steps/s' },
        ...used.map((p) => ({ text: p, class: WAITING.has(p) ? 'waiting' : '' })), { text: 'step' }],
      shown.map((t) => {
        const slow = training.length > 1 && own(t) > 1.4 * middle && own(t) - middle > 0.1 * t.stepMillis;
        const cells = [
          { text: (slow ? '▲ ' : '') + t.name, name: t.name, click: openTask },
          { text: !t.up ? '✕ ' + t.failure : t.phase ? t.phase + (t.phaseSeconds > 2 ? ' for ' + duration(t.phaseSeconds) : '') : 'between steps', class: t.up ? 'text' : 'text down' },
          { text: number(t.stepsPerSecond) },
          ...used.map((p) => ({ text: number(t.phaseMillis[p], 2), class: 'heat', part: t.phaseMillis[p] / t.stepMillis })),
          { text: number(t.stepMillis) },
        ];
        cells.slow = slow || !t.up;
        return cells;
      }));
    showServers();
  }

  function showServers() {
    const servers = job.tasks.filter((t) => t.server);
    const place = $('servers');
    if (servers.length === 0) {
      place.replaceChildren();
      return;
    }
    if (!place.firstChild) {
      place.append(el('h2', {}, 'Parameter servers'), el('table', {}, el('thead'), el('tbody')));
    }
    table(place.lastChild,
      [{ text: 'task' }, { text: 'parts/s', title: 'parts of workers\' steps' }, { text: 'ms a part' }, { text: 'at once' }, { text: 'sent/s' }, { text: 'tensors' }],
      select(servers, (t) => t.partMillis || 0).map((t) => [
        { text: t.name + (t.up ? '' : ' ✕ ' + t.failure), name: t.name, click: openTask },
        { text: number(t.partsPerSecond) }, { text: number(t.partMillis) }, { text: number(t.queue) },
        { text: bytes(Object.values(t.sent || {}).reduce((a, b) => a + b, 0)) }, { text: bytes(t.tensorBytes) }]));
  }

  function showUsage() {
    table($('usage'),
      ['task', 'host', 'processors', 'GC', 'memory', 'heap', 'tensors', 'disk read/s', 'written/s', 'sent/s', 'TCP again/s', 'staleness', 'clock ahead', 'starts'].map((h, i) => ({ text: h, class: i === 1 ? 'text' : '' })),
      select(job.tasks, (t) => t.cpu || 0).map((t) => [
        { text: t.name, name: t.name, click: openTask }, { text: t.up ? t.host || '–' : '✕ ' + t.failure, class: t.up ? 'text' : 'text down' },
        { text: isNumber(t.cpu) ? number(t.cpu, 2) + ' of ' + t.processors : '–', class: 'heat', part: t.processors ? t.cpu / t.processors : 0 },
        { text: percent(t.gc), class: 'heat', part: 2 * (t.gc || 0) },
        { text: bytes(t.residentBytes) }, { text: bytes(t.heapBytes) }, { text: bytes(t.tensorBytes) },
        { text: bytes(t.diskRead) }, { text: bytes(t.diskWritten) },
        { text: bytes(Object.values(t.sent || {}).reduce((a, b) => a + b, 0)) },
        { text: number(t.retransmitted) }, { text: number((t.gauges || {}).staleness, 3) },
        { text: isNumber(t.clockAheadMillis) ? number(t.clockAheadMillis, 2) + ' ms' : '–' }, { text: String(t.starts) }]));
  }

  // ---- the picture of the cluster ----

  function showPicture() {
    const blamed = job.verdict.state === 'slow' ? job.verdict.task : '';
    const servers = job.tasks.filter((t) => t.job === 'ps').slice(0, 16);
    const others = job.tasks.filter((t) => t.job !== 'ps');
    const shown = select(others, (t) => t.name === blamed ? 1e9 : t.stepMillis || 0).slice(0, 16);
    const columns = Math.max(servers.length, shown.length, 1);
    const width = Math.max(360, columns * 118);
    const at = new Map();
    const put = (list, y) => list.forEach((t, i) => at.set(t.name, [width * (i + 0.5) / list.length, y]));
    put(servers, 34);
    put(shown, servers.length ? 190 : 60);
    const height = servers.length ? 224 : 100;
    const flows = [];
    const marks = [];
    for (const t of [...servers, ...shown]) {
      const from = at.get(t.name);
      for (const [to, rate] of Object.entries(t.sent || {})) {
        const end = at.get(to);
        if (end && rate > 100) {
          flows.push(svg('line', { class: 'flow', x1: from[0], y1: from[1], x2: end[0], y2: end[1], 'stroke-width': Math.min(12, 1 + Math.log2(1 + rate / 2e4)) },
            svg('title', {}, t.name + ' sends ' + bytes(rate) + '/s to ' + to)));
        }
      }
      for (const [to, part] of Object.entries(t.waits || {})) {
        const end = at.get(to);
        if (end && part >= 0.1 && t.training) {
          flows.push(svg('line', { class: 'wait', x1: from[0], y1: from[1], x2: end[0], y2: end[1] }));
          const y = from[1] + (end[1] - from[1]) * 0.38;
          marks.push(svg('text', { class: 'waits', x: from[0] + (end[0] - from[0]) * 0.38, y, 'text-anchor': 'middle' }, percent(part)));
        }
      }
    }
    const boxes = [...at].map(([name, [x, y]]) => {
      const t = job.tasks.find((o) => o.name === name);
      return svg('g', {},
        svg('rect', { class: 'box' + (!t.up ? ' gone' : name === blamed ? ' slow' : ''), x: x - 52, y: y - 24, width: 104, height: 48, rx: 8 }),
        svg('text', { x, y: y - 4, 'text-anchor': 'middle' }, (name === blamed ? '▲ ' : !t.up ? '✕ ' : '') + (name.length > 14 ? name.slice(0, 13) + '…' : name), svg('title', {}, name + ' at ' + t.address)),
        svg('text', { class: 'soft', x, y: y + 13, 'text-anchor': 'middle' },
          !t.up ? 'no answer' : t.training ? number(t.stepsPerSecond) + ' steps/s' : t.server ? number(t.partsPerSecond) + ' parts/s' : 'up'));
    });
    const hidden = job.tasks.length - at.size;
    $('picture').replaceChildren(
      svg('svg', { viewBox: '0 0 ' + width + ' ' + height, width, height, role: 'img', 'aria-label': 'Tasks and what they send to each other' }, ...flows, ...boxes, ...marks),
      ...(hidden > 0 ? [el('p', { class: 'hint' }, hidden + ' more tasks; use the filter above.')] : []));
  }

  // ---- charts ----

  /** A chart of lines over a common axis; it keeps its zoom when the lines change. */
  class Chart {
    constructor(title, axis) {
      this.axis = axis;
      this.range = null;
      this.lines = [];
      this.reading = el('output', {});
      this.drawing = svg('svg', { viewBox: '0 0 400 180', preserveAspectRatio: 'none', tabindex: 0, role: 'img', 'aria-label': title });
      this.legend = el('div', { class: 'legend' });
      this.element = el('figure', {}, el('figcaption', {}, el('b', {}, title), this.reading), this.drawing, this.legend);
      const position = (e) => {
        const box = this.drawing.getBoundingClientRect();
        return Math.max(0, Math.min(1, ((e.clientX - box.left) / box.width * 400 - 46) / 348));
      };
      let from = null;
      this.drawing.addEventListener('pointerdown', (e) => { from = position(e); });
      this.drawing.addEventListener('pointermove', (e) => {
        this.cursor = position(e);
        this.selecting = from === null ? null : [from, this.cursor];
        this.draw();
      });
      this.drawing.addEventListener('pointerleave', () => { this.cursor = null; this.selecting = from = null; this.draw(); });
      this.drawing.addEventListener('pointerup', (e) => {
        const to = position(e);
        if (from !== null && Math.abs(to - from) > 0.03) this.zoom(Math.min(from, to), Math.max(from, to));
        from = this.selecting = null;
        this.draw();
      });
      this.drawing.addEventListener('dblclick', () => { this.range = null; this.draw(); });
      this.drawing.addEventListener('keydown', (e) => {
        const move = { ArrowLeft: [-0.2, 0.8], ArrowRight: [0.2, 1.2], '+': [0.2, 0.8], '=': [0.2, 0.8], '-': [-0.3, 1.3] }[e.key];
        if (e.key === '0') this.range = null;
        else if (move) this.zoom(...move);
        else return;
        e.preventDefault();
        this.draw();
      });
    }

    zoom(a, b) {
      const [x0, x1] = this.extent();
      const [least, most] = this.all();
      this.range = [Math.max(least, x0 + a * (x1 - x0)), Math.min(most, x0 + b * (x1 - x0))];
      if (this.range[1] - this.range[0] >= most - least || this.range[1] <= this.range[0]) this.range = null;
    }

    all() {
      let least = Infinity;
      let most = -Infinity;
      for (const l of this.lines) {
        if (l.x.length) {
          least = Math.min(least, l.x[0]);
          most = Math.max(most, l.x[l.x.length - 1]);
        }
      }
      return least < most ? [least, most] : [least === Infinity ? 0 : least, (least === Infinity ? 0 : least) + 1];
    }

    extent() {
      return this.range || this.all();
    }

    update(lines) {
      this.lines = lines;
      const names = lines.map((l) => l.name).join('|');
      if (this.names !== names) {
        this.names = names;
        this.legend.replaceChildren(...(lines.length < 2 ? [] : lines.map((l, i) =>
          el('span', {}, svg('svg', { viewBox: '0 0 30 8', 'aria-hidden': 'true' }, svg('line', { x1: 0, x2: 30, y1: 4, y2: 4, class: 'c' + i % 8, 'stroke-width': 3, 'stroke-dasharray': Chart.dash(i) })), ' ' + l.name))));
      }
      this.draw();
    }

    static dash(i) {
      return ['', '7 3', '2 3', '9 3 2 3', '12 4', '4 2', '1 2', '6 2 1 2 1 2'][i % 8];
    }

    draw() {
      const [x0, x1] = this.extent();
      let y0 = Infinity;
      let y1 = -Infinity;
      for (const l of this.lines) {
        l.x.forEach((x, i) => {
          if (x >= x0 && x <= x1 && isNumber(l.y[i])) {
            y0 = Math.min(y0, l.y[i]);
            y1 = Math.max(y1, l.y[i]);
          }
        });
      }
      if (y0 === Infinity) { y0 = 0; y1 = 1; }
      if (y0 > 0 && y0 < y1 * 0.5) y0 = 0;
      if (y0 === y1) { y1 = y0 + (Math.abs(y0) || 1) * 0.1; }
      const px = (x) => 46 + 348 * (x - x0) / (x1 - x0);
      const py = (y) => 152 - 142 * (y - y0) / (y1 - y0);
      const parts = [];
      for (let k = 0; k <= 2; k++) {
        const y = y0 + (y1 - y0) * k / 2;
        parts.push(svg('line', { class: 'axis', x1: 46, x2: 394, y1: py(y), y2: py(y) }),
          svg('text', { class: 'soft', x: 42, y: py(y) + 4, 'text-anchor': 'end' }, number(y)));
      }
      const label = (x) => this.axis === 'time' ? clock(x * 1000) : number(x, 9);
      parts.push(svg('text', { class: 'soft', x: 46, y: 170 }, label(x0)), svg('text', { class: 'soft', x: 394, y: 170, 'text-anchor': 'end' }, label(x1)));
      const read = [];
      this.lines.forEach((l, n) => {
        let d = '';
        let nearest = -1;
        const wanted = this.cursor === null || this.cursor === undefined ? null : x0 + this.cursor * (x1 - x0);
        l.x.forEach((x, i) => {
          if (x < x0 || x > x1 || !isNumber(l.y[i])) return;
          d += (d ? 'L' : 'M') + px(x).toFixed(1) + ' ' + py(l.y[i]).toFixed(1);
          if (wanted !== null && (nearest < 0 || Math.abs(x - wanted) < Math.abs(l.x[nearest] - wanted))) nearest = i;
        });
        parts.push(svg('path', { d: d || 'M0 0', class: 'c' + n % 8, fill: 'none', 'stroke-width': 1.8, 'stroke-dasharray': Chart.dash(n), 'vector-effect': 'non-scaling-stroke' }));
        if (nearest >= 0) {
          parts.push(svg('line', { class: 'axis', x1: px(l.x[nearest]), x2: px(l.x[nearest]), y1: 10, y2: 152 }));
          read.push((n === 0 ? label(l.x[nearest]) + ': ' : '') + number(l.y[nearest], 4));
        } else if (l.y.length && n === 0) {
          read.push(number(l.y.findLast(isNumber), 4));
        }
      });
      if (this.selecting) {
        const [a, b] = [Math.min(...this.selecting), Math.max(...this.selecting)];
        parts.push(svg('rect', { class: 'zoom', x: 46 + 348 * a, y: 10, width: 348 * (b - a), height: 142 }));
      }
      set(this.reading, read.join(', '));
      this.drawing.replaceChildren(...parts);
    }
  }

  const charts = new Map();

  function chart(place, title, axis, lines) {
    const key = place.id + '|' + title;
    if (!charts.has(key)) {
      charts.set(key, new Chart(title, axis));
      place.append(charts.get(key).element);
    }
    charts.get(key).update(lines);
  }

  const losses = { x: [], y: [] };

  async function showSeries() {
    const s = await get('/api/series');
    const x = s.seconds;
    const place = $('live-charts');
    if (isNumber(job.job.loss)) {
      losses.x.push(job.time / 1000);
      losses.y.push(job.job.loss);
      if (losses.x.length > 3600) { losses.x.shift(); losses.y.shift(); }
      chart(place, 'loss, since this page was opened', 'time', [{ name: 'loss', x: losses.x, y: losses.y }]);
    }
    chart(place, 'steps/s of all tasks', 'time', [{ name: 'steps/s', x, y: s.steps }]);
    if (s.examples.some((v) => v > 0)) chart(place, 'examples/s', 'time', [{ name: 'examples/s', x, y: s.examples }]);
    chart(place, 'processors in use', 'time', [{ name: 'processors', x, y: s.cpu }]);
  }

  // ---- one task ----

  function openTask(name) {
    shownTask = name;
    for (const key of [...charts.keys()]) if (key.startsWith('task-charts|')) charts.delete(key);
    $('task-charts').replaceChildren();
    $('task-card').hidden = false;
    set($('task-name'), name);
    showTask().then(() => $('task-card').scrollIntoView({ block: 'nearest' }));
  }

  async function showTask() {
    if (shownTask === null) return;
    const h = await get('/api/task?name=' + encodeURIComponent(shownTask));
    if (!h) return;
    const place = $('task-charts');
    const per = (a, b) => a.map((v, i) => b[i] > 0 ? v / b[i] : null);
    const phases = job.phases.filter((p) => h[p].some((v) => v > 0));
    if (phases.length) {
      chart(place, 'milliseconds of a step by phase', 'time', phases.map((p) => ({ name: p, x: h.seconds, y: per(h[p], h.steps) })));
      chart(place, 'longest step, ms', 'time', [{ name: 'longest', x: h.seconds, y: h.longest }]);
    }
    if (h.parts.some((v) => v > 0)) {
      chart(place, 'milliseconds of a part', 'time', [{ name: 'runs', x: h.seconds, y: per(h.partsRun, h.parts) }, { name: 'waits', x: h.seconds, y: per(h.partsWait, h.parts) }]);
      chart(place, 'parts at once', 'time', [{ name: 'at most', x: h.seconds, y: h.queue }]);
    }
    chart(place, 'part of the time', 'time', [{ name: 'processors', x: h.seconds, y: per(h.cpu, h.sampled) }, { name: 'garbage collection', x: h.seconds, y: per(h.gc, h.sampled) }, { name: 'waits for disks', x: h.seconds, y: per(h.diskWait, h.sampled) }]);
    chart(place, 'disk, bytes/s', 'time', [{ name: 'read', x: h.seconds, y: h.diskRead }, { name: 'written', x: h.seconds, y: h.diskWritten }]);
  }

  // ---- curves of event files ----

  const runs = new Set();
  let knownRuns = '';

  async function showCurves() {
    const all = await get('/api/runs') || [];
    if (all.join('\n') !== knownRuns) {
      if (knownRuns === '' && all.length) runs.add(all[0]);
      knownRuns = all.join('\n');
      $('runs').replaceChildren(el('legend', {}, 'Compare runs of the folder'), ...all.map((r, i) => el('label', {},
        el('input', { type: 'checkbox', checked: runs.has(r), on: { change: (e) => { if (e.target.checked) runs.add(r); else runs.delete(r); showCurves(); } } }), ' ' + r + (i === 0 ? ' (this run)' : ''))));
    }
    $('runs').hidden = all.length === 0;
    const curves = all.length ? await get('/api/curves?runs=' + encodeURIComponent([...runs].join('\n'))) : {};
    const place = $('event-charts');
    for (const [tag, series] of Object.entries(curves)) {
      chart(place, tag, 'step', Object.entries(series).map(([run, s]) => ({ name: run, x: s.steps, y: s.values })));
    }
  }

  // ---- events, log, graph ----

  function showEvents() {
    const list = $('event-list');
    if (list.children.length === job.events.length && job.events.length > 0) return;
    list.replaceChildren(...(job.events.length === 0 ? [el('li', {}, 'Nothing yet.')]
      : job.events.toReversed().map((e) => el('li', { class: e.echo ? 'echo' : '' }, clock(e.time) + ' ' + (e.failure ? (e.echo ? '↳ most likely a consequence: ' : '✕ ') : '✓ ') + e.task + ' ' + e.text))));
  }

  let logRound = Promise.resolve();

  /** One after the other: two rounds at once would show lines twice. */
  function showLog(fresh) {
    logRound = logRound.catch(() => {}).then(() => readLog(fresh));
    return logRound;
  }

  async function readLog(fresh) {
    const lines = $('log-lines');
    if (fresh) {
      logAfter = 0;
      lines.replaceChildren();
    }
    const select = $('log-task');
    if (select.options.length !== job.tasks.length + 1) {
      const chosen = select.value;
      select.replaceChildren(el('option', { value: '' }, 'all'), ...job.tasks.map((t) => el('option', { value: t.name }, t.name)));
      select.value = chosen;
    }
    const q = new URLSearchParams({ after: logAfter, task: select.value, text: $('log-text').value });
    if ($('log-warnings').checked) q.set('warnings', '1');
    const more = await get('/api/log?' + q);
    if (more.length) lines.querySelector('.none')?.remove();
    for (const l of more) {
      logAfter = Math.max(logAfter, l.number);
      lines.append(el('div', { class: l.warning ? 'warning' : '' }, clock(l.time) + ' ', el('b', {}, l.task), ' ' + (l.warning ? '▲ ' : '') + l.text));
    }
    while (lines.children.length > 1000) lines.firstChild.remove();
    if (more.length && $('log-follow').checked) lines.scrollTop = lines.scrollHeight;
    if (lines.children.length === 0) lines.append(el('div', { class: 'none' }, 'No lines. The log has what tasks print that this command has started.'));
  }

  let graphShown = '';

  async function showGraph() {
    const g = await get('/api/graph');
    const key = JSON.stringify(g);
    if (key === graphShown) return;
    graphShown = key;
    const place = $('graph-table');
    if (!g.groups) {
      place.replaceChildren(el('p', { class: 'hint' }, 'The graph is in the folder of the job, once it has one (--log-dir).'));
      return;
    }
    const devices = [...new Set(g.groups.flatMap((x) => Object.keys(x.devices)))].sort();
    const t = el('table', {}, el('thead'), el('tbody'));
    const reads = (name) => g.edges.filter((e) => e.to === name).sort((a, b) => b.count - a.count).slice(0, 4).map((e) => e.from + (e.count > 1 ? ' ×' + e.count : '')).join(', ');
    table(t, [{ text: 'part of the graph' }, ...devices.map((d) => ({ text: 'nodes on ' + d })), { text: 'reads from', class: 'text' }],
      g.groups.slice(0, 200).map((x) => [{ text: x.name }, ...devices.map((d) => ({ text: x.devices[d] ? String(x.devices[d]) : '', class: 'heat', part: x.devices[d] ? Math.min(1, 0.15 + x.devices[d] / 60) : 0 })), { text: reads(x.name), class: 'text' }]));
    place.replaceChildren(el('p', { class: 'hint' }, g.nodes + ' nodes'), t);
  }

  // ---- the rounds ----

  async function get(path) {
    const answer = await fetch(path, { cache: 'no-store' });
    if (!answer.ok) {
      if (answer.status === 404) return null;
      throw new Error(answer.status === 401 ? 'the key is no longer valid' : 'answer ' + answer.status);
    }
    return answer.json();
  }

  let round = 0;

  async function look() {
    try {
      if (!document.hidden || round === 0) {
        job = await get('/api/job');
        every = job.tasks.length > 200 ? 3000 : 1000;
        showHead();
        showVerdict();
        showMatrix();
        showUsage();
        showPicture();
        showEvents();
        await Promise.all([showSeries(), showTask(), showLog(false)]);
        if (round % 10 === 0) await Promise.all([showCurves(), showGraph()]);
        round++;
      }
      set($('live'), 'live');
      $('live').classList.remove('off');
    } catch (e) {
      set($('live'), e instanceof TypeError ? 'no connection to the command; it may have ended' : e.message);
      $('live').classList.add('off');
    }
    setTimeout(look, every);
  }

  // ---- controls ----

  const themes = ['system', 'light', 'dark'];

  function theme(name) {
    if (name === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    set($('theme'), 'Colours: ' + name);
    localStorage.setItem('theme', name);
  }

  theme(themes.includes(localStorage.getItem('theme')) ? localStorage.getItem('theme') : 'system');
  $('theme').addEventListener('click', () => theme(themes[(themes.indexOf(localStorage.getItem('theme')) + 1) % 3]));
  $('task-close').addEventListener('click', () => { shownTask = null; $('task-card').hidden = true; });
  $('filter').addEventListener('input', () => { if (job) { showMatrix(); showUsage(); showPicture(); } });
  for (const id of ['log-task', 'log-text', 'log-warnings']) {
    $(id).addEventListener(id === 'log-text' ? 'input' : 'change', () => job && showLog(true));
  }
  look();
})();
