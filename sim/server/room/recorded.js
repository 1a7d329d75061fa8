// Answers the calls of the control plane from the run that is stored in a report. A report consists
// of parts. Each part is gzipped JSON in base64 and is unpacked when it is first needed.
//
// A position is an index into the journal: it counts the lines of all branches, and the starts of
// runs before them, so it identifies a moment on any branch. The state of a view is stored as all
// its rows at some positions, and as splices `[place, removed, rows]` in between.
// `sim/read/report` writes the parts.

const UNPACKED_MAX = 48; // maximum number of unpacked parts in memory

export const isReport = document.getElementById('run') !== null;

async function unpack(id) {
  const packed = atob(document.getElementById(id).textContent);
  const bytes = Uint8Array.from(packed, letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return JSON.parse(await new Response(stream).text());
}

const parts = new Map();

function loadPart(number) {
  const stored = parts.get(number);
  parts.delete(number); // the most recently used part is last
  parts.set(number, stored || unpack('part-' + number));
  if (parts.size > UNPACKED_MAX) parts.delete(parts.keys().next().value);
  return parts.get(number);
}

let run = null;
const loadRun = () => (run ||= unpack('run'));

class CallProblem extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// Returns the last index of a sorted list whose value is at most `limit`, or -1.
function lastIndexUpTo(list, limit, valueOf) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (valueOf(list[middle]) <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// ---- branches and positions

function branchOf(index, name) {
  const branch = index.branches.find(one => (name ? one.name === name : one.current));
  if (!branch) throw new CallProblem(400, `there is no branch ${name}`);
  return branch;
}

// Returns the branch that input `seq` was written on: `branch` itself or one of its ancestors.
function ownerOf(index, branch, seq) {
  let at = branch;
  while (seq <= at.from_seq && at.parent) at = branchOf(index, at.parent);
  return at;
}

function positionOf(index, name, seq) {
  const branch = branchOf(index, name);
  if (!(seq >= 0 && seq <= branch.last_seq)) throw new CallProblem(404, `${branch.name} has the inputs 0..${branch.last_seq}, not ${seq}`);
  const owner = ownerOf(index, branch, seq);
  return owner.first + seq - owner.from_seq - 1;
}

// Returns the row that a series has at exactly this position, or undefined.
async function rowAt(series, position) {
  const place = lastIndexUpTo(series, position, ([first]) => first);
  if (place < 0) return undefined;
  const rows = await loadPart(series[place][1]);
  const row = rows[lastIndexUpTo(rows, position, one => one.p)];
  return row && row.p === position ? row : undefined;
}

// ---- rows and records

async function page(index, {after = 0, limit = 100, branch = '', kind}) {
  const {last_seq: last} = branchOf(index, branch);
  const rows = [];
  for (let seq = Number(after) + 1; seq <= Math.min(last, Number(after) + Number(limit)); seq++)
    rows.push(await rowAt(index.rows, positionOf(index, branch, seq)));
  const end = Number(after) + rows.length;
  return {rows: kind ? rows.filter(row => row.kind === kind) : rows, next: end < last ? end : null, last};
}

const EMPTY_RECORD = {answer: null, events: [], frames: [], frames_sent: 0, closed: [], answered: [], webhooks: [], fired: [], steps: [], why: null};
const CAUSES_MAX = 20;

async function record(index, seq, branch) {
  const position = positionOf(index, branch, seq);
  const stored = await rowAt(index.records, position);
  if (!stored) throw notRecorded(index, position);
  const row = await rowAt(index.rows, position);
  const causes = [];
  for (let at = row; at.caused_by && causes.length < CAUSES_MAX;) {
    at = await rowAt(index.rows, positionOf(index, branch, at.caused_by));
    causes.unshift(at);
  }
  return {...EMPTY_RECORD, ...row, ...stored, causes};
}

// Returns the error for a position that has neither a record nor a state.
function notRecorded(index, position) {
  const {health: {notices, reached, stopped}, since} = index;
  return new CallProblem(409, position < since ? `this report has ${notices[0]}`
    : `this version repeats the run up to input ${reached} only: ${stopped}`);
}

// ---- states

const cursors = new Map(); // by view: the last position read and its rows, from which reading goes on

async function stateAt(index, view, position) {
  const series = index.states[view];
  if (!series) throw new CallProblem(404, `the report has no view ${view}`);
  if (position > index.until || position < index.since) throw notRecorded(index, position);
  const number = series[lastIndexUpTo(series, position, ([first]) => first)][1];
  const changes = await loadPart(number);
  let cursor = cursors.get(view);
  if (!cursor || cursor.number !== number || cursor.position > position) cursor = {number, position: changes[0][0], next: 1, rows: changes[0][2]};
  let {next, rows} = cursor;
  if (next < changes.length && changes[next][0] <= position) rows = rows.slice();
  for (; next < changes.length && changes[next][0] <= position; next++)
    for (const [place, removed, added] of changes[next][2]) rows.splice(place, removed, ...added);
  cursors.set(view, {number, position, next, rows});
  return rows;
}

const CONCERNS_ACCOUNT = {
  trades: (row, account) => row.taker === account || row.maker === account,
  default: (row, account) => row.account === account,
};

// Returns the fills, performance or quotes of an account up to an input. They are stored once, as
// of the end of the branch; a row holds from the input `seq` on.
async function figures(index, name, seq, {branch = '', account, last}) {
  const owner = ownerOf(index, branchOf(index, branch), seq);
  const ofBranch = index.figures[owner.name];
  if (!ofBranch) throw notRecorded(index, Infinity);
  const number = ofBranch[name][account];
  const rows = number === undefined ? [] : (await loadPart(number)).filter(row => row.seq <= seq);
  return {[name]: last ? rows.slice(-Number(last)) : rows};
}

// Returns several views of one moment. Each view applies the filters that it has: symbol or
// account.
async function views(index, seq, query, names) {
  const position = positionOf(index, query.branch, seq), row = seq ? await rowAt(index.rows, position) : null;
  const at = row ? row.at : index.health.start;
  const {digest = ''} = (row && await rowAt(index.records, position)) || (seq === index.health.seq && !query.branch ? index : {});
  const result = {seq, at, branch: ownerOf(index, branchOf(index, query.branch), seq).name, digest};
  for (const name of names) Object.assign(result, await viewAt(index, name, seq, query));
  return result;
}

const FIGURE_VIEWS = ['fills', 'performance', 'quotes'];

const viewAt = (index, name, seq, query) => (FIGURE_VIEWS.includes(name) ? figures(index, name, seq, query)
  : view(index, name, positionOf(index, query.branch, seq), query));

async function view(index, name, position, {symbol, account, last}) {
  let rows = await stateAt(index, name, position);
  if (symbol) rows = rows.filter(row => row.symbol === symbol);
  if (account) rows = rows.filter(row => (CONCERNS_ACCOUNT[name] || CONCERNS_ACCOUNT.default)(row, account));
  if (symbol && name === 'instruments' && !rows.length)
    throw new CallProblem(404, `nothing had happened to ${symbol} by then; a report has the instruments that its run touches`);
  return {[name]: last ? rows.slice(-Number(last)) : rows};
}

async function instruments(index, position, {text = '', limit = 20}) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const books = new Set((await stateAt(index, 'books', position)).map(row => row.symbol));
  const rows = (await stateAt(index, 'instruments', position)).filter(row => words.every(word => row.symbol.toLowerCase().includes(word)));
  rows.sort((one, other) => books.has(other.symbol) - books.has(one.symbol)); // those with a book first; the sort is stable
  return {instruments: rows.slice(0, Number(limit)).map(({symbol, state}) => ({symbol, state})), found: rows.length};
}

const FRAMES_MAX = 50;

// Returns the last frames of a stream up to a position, oldest first.
async function frames(index, stream, position) {
  const sent = index.frames[stream] || [];
  const found = [];
  for (let place = lastIndexUpTo(sent, position, one => one); place >= 0 && found.length < FRAMES_MAX; place--) {
    const [row, stored] = [await rowAt(index.rows, sent[place]), await rowAt(index.records, sent[place])];
    for (const frame of stored.frames.filter(one => one.stream === Number(stream)).reverse())
      if (found.length < FRAMES_MAX) found.unshift({seq: row.seq, at: row.at, body: frame.body});
  }
  const open = (await stateAt(index, 'sessions', position)).some(row => row.id === Number(stream));
  return {frames: found, after: index.since, open};
}

// ---- the calls

const ROUTES = [
  [/^\/health$/, index => index.health],
  [/^\/clock$/, index => ({now: index.health.now, mode: 'manual', next_due: index.next_due})],
  [/^\/branches$/, index => ({branches: index.branches})],
  [/^\/script$/, index => index.script],
  [/^\/digest$/, index => ({digest: index.digest, seq: index.health.seq})],
  [/^\/catalogue\/(quirks|assumptions)$/, (index, query, kind) => ({[kind]: index.catalogue[kind]})],
  [/^\/history$/, (index, query) => page(index, query)],
  [/^\/history\/(\d+)$/, (index, query, seq) => record(index, Number(seq), query.branch)],
  [/^\/history\/(\d+)\/state\/(\w+)$/, (index, query, seq, name) => viewAt(index, name, Number(seq), query)],
  [/^\/history\/(\d+)\/state$/, (index, query, seq, names) => views(index, Number(seq), query, names)],
  [/^\/state$/, (index, query, names) => views(index, index.health.seq, query, names)],
  [/^\/history\/(\d+)\/streams\/(\d+)\/frames$/, (index, query, seq, id) => frames(index, id, positionOf(index, query.branch, Number(seq)))],
  [/^\/state\/(\w+)$/, (index, query, name) => viewAt(index, name, index.health.seq, query)],
  [/^\/streams\/(\d+)\/frames$/, (index, query, id) => frames(index, id, lastPosition(index))],
  [/^\/instruments$/, (index, query) => instruments(index, lastPosition(index), query)],
];

const lastPosition = index => positionOf(index, '', index.health.seq);

// Returns {status, value, seq}: what the control plane would have answered at the end of the run.
export async function answer(verb, path) {
  const [where, query = ''] = path.split('?');
  const index = await loadRun();
  for (const [pattern, reply] of verb === 'GET' ? ROUTES : []) {
    const matched = pattern.exec(where);
    if (!matched) continue;
    try {
      const parameters = new URLSearchParams(query), names = parameters.getAll('view');
      return {status: 200, value: await reply(index, Object.fromEntries(parameters), ...matched.slice(1), names), seq: index.health.seq};
    } catch (problem) {
      if (!(problem instanceof CallProblem)) throw problem;
      return {status: problem.status, value: {message: problem.message}, seq: NaN};
    }
  }
  return {status: 404, value: {message: `a report does not answer ${verb} ${where}`}, seq: NaN};
}
