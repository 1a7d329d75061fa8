// The rows of the history of one branch.
//
// Rows are read in pages when they are shown, and only the most recently used pages stay in memory.
// One pass over the whole branch keeps two things about each input: a byte with its marks, which
// the scrubber draws, and a line of text, which the filter searches.

import {query, read} from './control.js';

const PAGE = 200, PAGES_MAX = 80, INDEX_PAGE = 1000;
const SEARCHABLE_MAX = 150_000;

export const REFUSED = 1, FAULT = 2, FILL = 4, STATE = 8, MAINTENANCE = 16, STEP = 32;
const EVENT_MARKS = {
  Traded: FILL, StateChanged: STATE, Settled: STATE, MaintenanceChanged: MAINTENANCE,
  FaultStruck: FAULT,
};

export function marksOf(row) {
  let marks = 0;
  for (const name of row.events || []) marks |= EVENT_MARKS[name] || 0;
  if (isBad(row)) marks |= REFUSED;
  if (row.kind === 'step') marks |= STEP;
  if (row.kind === 'control' && /^(fault|preset)\./.test(row.title) || / fault |injected/.test(row.result || '')) marks |= FAULT;
  return marks;
}

// Returns whether the input was refused or failed.
export const isBad = row => row.ok === false;

const textOf = row =>
  [row.kind, row.title, row.subject, row.caller, row.status, row.verdict, row.result].filter(part => part !== null && part !== undefined)
    .join(' ').toLowerCase();

export class Rows {
  // `onChange` is called when rows have arrived; `branch` is '' for the running branch.
  constructor(branch, onChange) {
    this.branch = branch;
    this.onChange = onChange;
    this.last = 0;
    this.indexed = 0;
    this.marks = new Uint8Array(1024);
    this.searchTexts = [];
    this._pages = new Map();
    this._reading = new Set();
    this._indexing = false;
    this._closed = false;
  }

  close() {
    this._closed = true;
  }

  // Returns the row of an input. If it is not in memory, begins to read it and returns undefined.
  at(seq) {
    const number = Math.floor((seq - 1) / PAGE);
    const page = this._pages.get(number);
    if (page) {
      this._pages.delete(number); // the most recently used page is last
      this._pages.set(number, page);
      const row = page[(seq - 1) % PAGE];
      if (row) return row;
    }
    if (seq >= 1 && seq <= this.last) this._read(number);
    return undefined;
  }

  // Returns the row of an input and waits for it if necessary.
  async row(seq) {
    const known = this.at(seq);
    if (known) return known;
    const {rows} = await this._history(seq - 1, 1);
    return rows.find(row => row.seq === seq);
  }

  _history(after, limit) {
    return read('/history' + query({after, limit, branch: this.branch}));
  }

  async _read(number) {
    if (this._reading.has(number)) return;
    this._reading.add(number);
    try {
      const {rows} = await this._history(number * PAGE, PAGE);
      if (this._closed) return;
      for (const row of rows) this._store(row);
      this.onChange();
    } catch {
      // The page shows that the connection is lost; `at` reads these rows again when they are
      // needed.
    } finally {
      this._reading.delete(number);
    }
  }

  _store(row) {
    const number = Math.floor((row.seq - 1) / PAGE);
    if (!this._pages.has(number)) {
      this._pages.set(number, []);
      if (this._pages.size > PAGES_MAX) this._pages.delete(this._pages.keys().next().value);
    }
    this._pages.get(number)[(row.seq - 1) % PAGE] = row;
  }

  // Adds the row of a new input.
  add(row) {
    this._store(row);
    this.last = Math.max(this.last, row.seq);
    if (row.seq === this.indexed + 1) this._addToIndex(row);
  }

  _addToIndex(row) {
    if (row.seq >= this.marks.length) {
      const more = new Uint8Array(this.marks.length * 2);
      more.set(this.marks);
      this.marks = more;
    }
    this.marks[row.seq] = marksOf(row);
    if (row.seq <= SEARCHABLE_MAX) this.searchTexts[row.seq] = textOf(row);
    this.indexed = row.seq;
  }

  // Reads all rows after `indexed` in the background, for their marks and search texts.
  async indexAll() {
    if (this._indexing) return;
    this._indexing = true;
    try {
      while (!this._closed && this.indexed < this.last) {
        const {rows} = await this._history(this.indexed, INDEX_PAGE);
        if (!rows.length || this._closed) break;
        for (const row of rows) if (row.seq === this.indexed + 1) this._addToIndex(row);
        if (this.indexed < rows.at(-1).seq) break;
        this.onChange();
        await new Promise(done => setTimeout(done, 10));
      }
    } catch {
      // the next row starts it again
    } finally {
      this._indexing = false;
    }
  }

  // Returns the inputs whose text contains all words. `from` continues an earlier search.
  search(words, from = 1) {
    const found = [];
    for (let seq = from; seq <= Math.min(this.indexed, SEARCHABLE_MAX); seq++) {
      const text = this.searchTexts[seq];
      if (text !== undefined && words.every(word => text.includes(word))) found.push(seq);
    }
    return found;
  }

  get searchedAll() {
    return this.last <= SEARCHABLE_MAX && this.indexed >= this.last;
  }
}
