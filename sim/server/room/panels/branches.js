// The branches of this run as a tree, and the first difference between two of them.

import {query, read, roomUrl} from '../control.js';
import {grouped} from '../format.js';
import {backToNow, viewBranch} from '../run.js';
import {useKeys} from '../store.js';
import {html, useEffect, useState} from '../vendor/preact-htm.js';
import {usePresent} from '../views.js';
import {ViewContent, Empty, Tag, cx} from '../widgets.js';

const COMPARED_MAX = 400;

// Returns [branch, depth] pairs, each branch after its parent.
function asTree(branches) {
  const ordered = [];
  const visit = (parent, depth) => {
    for (const one of branches.filter(other => (other.parent || '') === parent)) {
      ordered.push([one, depth]);
      visit(one.name, depth + 1);
    }
  };
  visit('', 0);
  const seen = new Set(ordered.map(([one]) => one.name));
  return ordered.concat(branches.filter(one => !seen.has(one.name)).map(one => [one, 0]));
}

const ancestry = (branches, name) => {
  const line = [];
  for (let at = branches.find(one => one.name === name); at; at = branches.find(one => one.name === at.parent)) line.unshift(at);
  return line;
};

// Returns the last input that two branches have in common.
function sharedUntil(branches, left, right) {
  const one = ancestry(branches, left), other = ancestry(branches, right);
  let common = 0;
  while (common < one.length && common < other.length && one[common].name === other[common].name) common++;
  if (!common) return 0;
  const ends = [one[common], other[common]].filter(Boolean).map(branch => branch.from_seq);
  const lasts = [one, other].map(line => line.at(-1).last_seq);
  return Math.min(...ends, ...lasts);
}

const rowText = row => (row ? `${row.kind} ${row.title} ${row.subject || ''} ${row.status ?? ''} ${(row.events || []).join(' ')} ${row.at}` : '');

function Comparison({branches, left, right}) {
  const [pair, setPair] = useState(null);
  const from = sharedUntil(branches, left, right);
  useEffect(() => {
    let cancelled = false;
    const rowsOf = branch => read('/history' + query({after: from, limit: COMPARED_MAX, branch})).then(answer => answer.rows);
    Promise.all([rowsOf(left), rowsOf(right)]).then(both => cancelled || setPair(both), problem => cancelled || setPair(problem.message));
    return () => { cancelled = true; };
  }, [left, right, from]);
  if (!pair) return html`<${Empty}>…<//>`;
  if (typeof pair === 'string') return html`<${Empty}>${pair}<//>`;
  const count = Math.max(pair[0].length, pair[1].length);
  const first = [...Array(count).keys()].find(place => rowText(pair[0][place]) !== rowText(pair[1][place]));
  if (first === undefined) return html`<${Empty}>No difference after input ${from}${count >= COMPARED_MAX ? ` in the next ${COMPARED_MAX} inputs` : ''}.<//>`;
  const shown = [...Array(Math.min(12, count - first)).keys()].map(place => first + place);
  return html`<div class="scroll" tabindex="0"><p>They share everything up to input <b class="num">${grouped(from)}</b>; the first difference:</p>
    <table class="pair" data-testid="first-difference"><thead><tr><th></th><th>${left}</th><th>${right}</th></tr></thead>
    <tbody>${shown.map(place => html`<tr key=${place} class=${cx(rowText(pair[0][place]) !== rowText(pair[1][place]) && 'differs')}>
      <td class="num">${from + place + 1}</td>
      ${pair.map(rows => html`<td>${rows[place] ? html`${rows[place].kind} ${rows[place].title} <i>${rows[place].subject}</i> ${rows[place].status ?? ''}` : html`<span class="faint">–</span>`}</td>`)}</tr>`)}</tbody></table></div>`;
}

// A link to the control room of a fork, which is another instance with its own history.
function RoomLink({name}) {
  const worlds = usePresent('/worlds', 'worlds');
  const found = (worlds.rows || []).find(one => one.world === name);
  return found ? html`<a href=${roomUrl(found.control)} target="_blank" rel="noreferrer">its room ↗</a>` : '';
}

export function Branches() {
  const {viewedBranch, branch} = useKeys('viewedBranch', 'branch');
  const view = usePresent('/branches', 'branches');
  const [other, setOther] = useState('');
  const branches = view.rows || [];
  const shown = viewedBranch || branch;
  return html`<div class="fill split" data-testid="branches">
    <${ViewContent} view=${view} empty="No branch.">
      <ul class="plain tree scroll" tabindex="0">${asTree(branches).map(([one, depth]) => html`<li key=${one.name} class=${cx('branch', one.name === shown && 'chosen')}
          style=${{paddingLeft: 8 + depth * 18 + 'px'}} data-testid="branch" data-name=${one.name} data-current=${String(one.current)}>
        ${depth > 0 && html`<span class="faint" aria-hidden="true">└ </span>`}<b>${one.name}</b>
        ${one.current && html`<${Tag} tone="good">running<//>`} ${one.forked && html`<${Tag}>instance ${one.forked}<//>`}
        <span class="faint num">${one.parent ? `from input ${grouped(one.from_seq)} of ${one.parent}, ` : ''}up to ${grouped(one.last_seq)}</span>
        <span class="buttons">${one.forked ? html`<${RoomLink} name=${one.forked} />` : html`${one.current ? viewedBranch && html`<button class="quiet" onClick=${backToNow}>Look</button>`
          : html`<button class="quiet" onClick=${() => viewBranch(one.name)} disabled=${one.name === viewedBranch}>Look</button>`}
        ${one.name !== shown && html`<button class="quiet" aria-pressed=${other === one.name} onClick=${() => setOther(one.name)}>Compare</button>`}`}</span></li>`)}</ul>
      ${other && other !== shown && branches.some(one => one.name === other)
        ? html`<${Comparison} branches=${branches} left=${shown} right=${other} />`
        : html`<${Empty}>A rewind leaves a branch behind and begins another. Compare shows the first difference between two.<//>`}
    <//>
  </div>`;
}
