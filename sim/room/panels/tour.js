// A short guided tour on the first visit. It stands beside the page and stops nobody.

import {roomOf, tryAct} from '../control.js';
import {patch, useKeys} from '../store.js';
import {html, useEffect} from '../vendor/preact-htm.js';

const SEEN = 'room.tour';
const SCENARIO = 'injected-faults';

const STEPS = [
  ['', 'Something goes wrong', 'The bundled scenario “injected-faults” fails on purpose. Start it, open its room, and find out why in five steps; or follow the steps here.'],
  ['clock-next', 'Move time', 'Nothing happens by itself on a manual clock. “Next event” moves to the next due instant; the history grows by a row for each input.'],
  ['history', 'Find the row', 'Refused calls and failed steps are red. Type 503 or failed into the filter, and choose a row.'],
  ['detail', 'Ask why', 'The detail shows what was asked and answered, the rule behind it, what would have worked, and the chain of causes as links.'],
  ['scrubber', 'Go back', 'Drag the line, or use the arrow keys: everything on the page shows that moment, while the exchange stands where it was.'],
  ['fork-here', 'Try it again', '“Fork here” starts another instance from that moment; “Rewind here” moves this one. Remove the fault there, and see the call succeed.'],
];

export function beginTour() {
  if (!localStorage.getItem(SEEN)) patch({tour: 0});
}

export function Tour() {
  const {tour, toured} = useKeys('tour', 'toured');
  useEffect(beginTour, []);
  const target = tour >= 0 ? STEPS[tour][0] : '';
  useEffect(() => {
    const element = target ? document.querySelector(`[data-testid="${target}"]`) : null;
    element?.classList.add('pointed');
    return () => element?.classList.remove('pointed');
  }, [target]);
  if (tour < 0) return null;
  const [, title, says] = STEPS[tour];
  const end = () => {
    localStorage.setItem(SEEN, 'seen');
    patch({tour: -1});
  };
  const start = async () => {
    const made = await tryAct('POST', '/worlds', {scenario: SCENARIO, clock: 'manual'});
    if (made) patch({toured: roomOf(made.control)});
  };
  return html`<aside class="tour" data-testid="tour" aria-label="Guided tour"
      onKeyDown=${event => event.key === 'Escape' && end()}>
    <p class="faint num">${tour + 1} of ${STEPS.length}</p>
    <h2>${title}</h2><p>${says}</p>
    <div class="buttons">
      ${tour === 0 && (toured ? html`<a href=${toured} target="_blank" rel="noreferrer">Open its room ↗</a>`
        : html`<button onClick=${start} data-testid="tour-start">Start the scenario</button>`)}
      ${tour > 0 && html`<button onClick=${() => patch({tour: tour - 1})}>Back</button>`}
      ${tour < STEPS.length - 1
        ? html`<button class="main" data-testid="tour-next" onClick=${() => patch({tour: tour + 1})}>Next</button>`
        : html`<button class="main" onClick=${end}>Done</button>`}
      <button class="quiet" data-testid="tour-end" onClick=${end}>Close</button>
    </div>
  </aside>`;
}
