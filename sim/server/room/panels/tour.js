// A short guided tour, shown on the first visit. It does not block the rest of the page.

import {roomUrl, tryCall} from '../control.js';
import {remember, remembered} from '../memory.js';
import {isReport} from '../recorded.js';
import {patch, state, useKeys} from '../store.js';
import {html, useEffect} from '../vendor/preact-htm.js';

const SEEN = 'room.tour';
const SCENARIO = 'injected-faults';

const STEPS = [
  ['', 'Why did the third order fail?', 'A bundled scenario sends the same order four times, and the third is answered 503. Open it in an instance of its own, and find out why in five steps.'],
  ['clock-next', 'Move time', 'The clock stands until it is told to move. Press “Next event” a few times, or +1m: the history grows by a row for each input, the steps below by a ✓ or ✗.'],
  ['history', 'Find the row', 'What was refused is red. Type 503 into the filter, and choose the row.'],
  ['detail', 'Ask why', 'Here is what was asked and answered, the rule behind it, what would have worked, and the inputs that led to it, as links. It was a fault, f1.'],
  ['scrubber', 'Go back', 'Drag the line, or press the arrow keys on it, to just before the row: everything shows that moment, while the exchange stands where it was.'],
  ['fork-here', 'Try it again', '“Fork here” starts another instance from that moment. Remove f1 under Faults in its room, move its clock, and see the third order succeed.'],
];

export function beginTour() {
  if (!isReport && !remembered(SEEN) && state.tour < 0) patch({tour: 0});
}

export function Tour() {
  const {tour, tourRoom, health} = useKeys('tour', 'tourRoom', 'health');
  useEffect(beginTour, []);
  const target = tour >= 0 ? STEPS[tour][0] : '';
  useEffect(() => {
    const element = target ? document.querySelector(`[data-testid="${target}"]`) : null;
    element?.classList.add('pointed');
    return () => element?.classList.remove('pointed');
  }, [target]);
  if (tour < 0) return null;
  const [, title, instructions] = STEPS[tour];
  const otherRun = tour === 0 && health?.scenario !== SCENARIO; // the run is not the one that the steps describe
  const end = () => {
    remember(SEEN, 'seen');
    patch({tour: -1});
  };
  const start = async () => {
    const instance = await tryCall('POST', '/worlds', {scenario: SCENARIO, clock: 'manual'});
    if (instance) patch({tourRoom: roomUrl(instance.control, {tour: 1})});
  };
  return html`<aside class="tour" data-testid="tour" aria-label="Guided tour"
      onKeyDown=${event => event.key === 'Escape' && end()}>
    <span class="count num">${tour + 1} of ${STEPS.length}</span>
    <h2>${title}</h2><p>${instructions}</p>
    <div class="buttons">
      ${otherRun && (tourRoom ? html`<a href=${tourRoom} target="_blank" rel="noreferrer">Open its room ↗</a>`
        : html`<button class="main" onClick=${start} data-testid="tour-start">Start it</button>`)}
      ${tour > 0 && html`<button onClick=${() => patch({tour: tour - 1})}>Back</button>`}
      ${tour < STEPS.length - 1
        ? html`<button class=${otherRun ? '' : 'main'} data-testid="tour-next" onClick=${() => patch({tour: tour + 1})}>${otherRun ? 'Only read it' : 'Next'}</button>`
        : html`<button class="main" onClick=${end}>Done</button>`}
      <button class="quiet" data-testid="tour-end" onClick=${end}>Close</button>
    </div>
  </aside>`;
}
