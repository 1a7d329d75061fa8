// Reads views of the exchange at the moment shown, and reads them again when the moment changes.
//
// Panels that are drawn together share requests: the views of one moment with the same filters are
// one request. While a request runs, each panel remembers only the last view that it needed. A slow
// request for a moment that is no longer shown is aborted.

import {readWithSeq, query} from './control.js';
import {branchQuery} from './run.js';
import {patch, state, useKeys} from './store.js';
import {useLayoutEffect, useReducer, useRef} from './vendor/preact-htm.js';

const NOT_READ = {rows: null, seq: NaN, problem: '', key: ''};
const SLOW_MS = 300; // a request that takes longer may be aborted

// Reads one path at a time for one component. While a request runs, only the latest target is kept.
// A target is {key, path, answerKey, moment, subject}: `key` tells targets apart, and `answerKey`
// is the key of the answer that has the rows.
class Reader {
  constructor(onChange) {
    this.onChange = onChange;
    this.result = NOT_READ;
    this.target = null;
    this.busy = false;
    this.ended = false;
  }

  get outdated() {
    return !this.ended && this.target && this.target.key !== this.result.key;
  }

  end() {
    this.ended = true;
  }

  async load(target) {
    this.target = target;
    if (this.busy) return;
    this.busy = true;
    while (this.outdated) {
      const {key, path, answerKey, moment, subject} = this.target;
      try {
        const {value, seq} = await readWithSeq(path);
        const rows = answerKey ? value[answerKey] : value;
        this.result = {rows, seq: moment ?? (Number.isFinite(seq) ? seq : state.last), problem: '', key, subject};
      } catch (problem) {
        this.fail(this.target.key === key ? this.target : {key, subject}, problem);
      }
      if (!this.ended) this.onChange();
    }
    this.busy = false;
  }

  fail({key, subject}, problem) {
    this.result = {...this.result, problem: problem.message, key, subject};
    if (problem.status === 404) this.result.rows = null;
  }
}

// Reads a view in one request with the views that other components need of the same moment.
class SharedReader extends Reader {
  load(target) {
    this.target = target;
    batch.load(this);
  }

  end() {
    super.end();
    batch.readers.delete(this);
  }
}

// The requests of all shared readers.
const batch = {
  readers: new Set(),
  busy: false,
  planned: false,
  running: null, // {moment, since, abort} of the requests that run

  load(reader) {
    this.readers.add(reader);
    if (this.busy) this.abortIfSlow();
    else if (!this.planned) {
      this.planned = true;
      queueMicrotask(() => this.sendAll()); // components drawn in the same task share requests
    }
  },

  // Aborts a slow request for a moment that is no longer shown.
  abortIfSlow() {
    const {running} = this;
    if (!running || running.moment === null || running.moment === state.moment || running.timer) return;
    const left = Math.max(0, SLOW_MS - (performance.now() - running.since));
    running.timer = setTimeout(() => running.moment !== state.moment && running.abort.abort(), left);
  },

  async sendAll() {
    this.planned = false;
    if (this.busy) return;
    this.busy = true;
    for (;;) {
      const outdated = [...this.readers].filter(reader => reader.outdated);
      if (!outdated.length) break;
      this.running = {moment: state.moment, since: performance.now(), abort: new AbortController()};
      await Promise.all(groupByRequest(outdated).map(group => this.sendGroup(group)));
      clearTimeout(this.running.timer);
    }
    this.running = null;
    this.busy = false;
  },

  async sendGroup(group, alone = false) {
    const targets = group.map(reader => reader.target);
    const [{base, filterQuery, moment}] = targets;
    const views = [...new Set(targets.map(target => target.answerKey).filter(Boolean))].map(name => 'view=' + name);
    const path = base + [filterQuery, ...views].filter(Boolean).join('&');
    try {
      const {value} = await readWithSeq(path, this.running.abort.signal);
      if (moment === state.moment) patch({momentAt: moment === null ? null : value.at});
      group.forEach((reader, place) => {
        const {key, answerKey, subject} = targets[place];
        reader.result = {rows: answerKey ? value[answerKey] : value, seq: value.seq, problem: '', key, subject};
      });
    } catch (problem) {
      if (problem.name === 'AbortError') return; // `sendAll` sends the latest targets next
      if (group.length > 1 && !alone) {
        for (const reader of group) await this.sendGroup([reader], true); // find the view that failed
        return;
      }
      group.forEach((reader, place) => reader.fail(targets[place], problem));
    }
    for (const reader of group) if (!reader.ended) reader.onChange();
  },
};

// Groups readers by moment and filters. A reader without a view joins any group of its moment.
function groupByRequest(readers) {
  const groups = new Map();
  for (const reader of readers.sort((one, other) => Boolean(other.target.answerKey) - Boolean(one.target.answerKey))) {
    const {base, filterQuery, answerKey, group = base + filterQuery} = reader.target;
    const joined = answerKey ? groups.get(group) : [...groups.values()].find(([other]) => other.target.base === base);
    if (joined) joined.push(reader);
    else groups.set(group, [reader]);
  }
  return [...groups.values()];
}

function useReader(target, ReaderClass = Reader) {
  const [, redraw] = useReducer(count => count + 1, 0);
  const reader = useRef(null);
  if (!reader.current) reader.current = new ReaderClass(redraw);
  useLayoutEffect(() => {
    reader.current.ended = false;
    return () => reader.current.end();
  }, []);
  useLayoutEffect(() => { if (target) reader.current.load(target); }, [target && target.key]);
  const {result} = reader.current;
  return target && result.subject !== target.subject ? NOT_READ : result;
}

// Returns {rows, seq, problem} of a view with `filters`; `rows` is null before the first
// answer. Without a name, `rows` describes the moment itself: {seq, at, branch, digest}.
export function useView(name, filters = {}) {
  const {moment, version, viewedBranch, connection} = useKeys('moment', 'version', 'viewedBranch', 'connection');
  const filterQuery = query(moment === null ? filters : {...filters, ...branchQuery()}).slice(1);
  const base = moment === null ? '/state?' : `/history/${moment}/state?`;
  const subject = name + query(filters); // while it loads, rows of another instrument are not shown
  const key = `${base} ${filterQuery} ${moment === null ? `${version} ${connection}` : viewedBranch}`;
  return useReader(name === '' ? null : {base, filterQuery, answerKey: name || '', subject, moment, key: `${name} ${key}`}, SharedReader);
}

// Returns {seq, at, branch, digest} of the moment shown, as `rows` of a view.
export const useMoment = () => useView(undefined);

// Like useView, for paths that exist for the present only.
export function usePresent(path, answerKey) {
  const {version, connection} = useKeys('version', 'connection');
  return useReader(path ? {path, answerKey, moment: null, key: `${path} ${version} ${connection}`} : null);
}

// Like useView, for an answer that never changes: it is read once.
export const useOnce = (path, answerKey) => useReader(path ? {path, answerKey, moment: null, key: path} : null);
