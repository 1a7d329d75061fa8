// Formats instants, numbers and values as text. An instant stays a string, because a JavaScript
// number would lose its nanoseconds.

const eastern = new Intl.DateTimeFormat('en-CA', {
  timeZone: 'America/New_York', year: 'numeric', month: '2-digit', day: '2-digit',
  hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23', timeZoneName: 'short',
});

// Convert an instant to milliseconds since the epoch, without smaller fractions, and back.
export const ms = instant => Date.parse(instant);
export const instant = millis => new Date(millis).toISOString().replace(/\.000Z$/, 'Z');

const formatted = new Map(); // by second; a list formats the same instants each time it is redrawn
const FORMATTED_MAX = 2000;

function partsAt(second) {
  let parts = formatted.get(second);
  if (!parts) {
    if (formatted.size >= FORMATTED_MAX) formatted.clear();
    const part = Object.fromEntries(eastern.formatToParts(second * 1000).map(({type, value}) => [type, value]));
    parts = {
      date: `${part.year}-${part.month}-${part.day}`, time: `${part.hour}:${part.minute}:${part.second}`,
      zone: part.timeZoneName,
    };
    formatted.set(second, parts);
  }
  return parts;
}

export function inEastern(text) {
  const millis = typeof text === 'number' ? text : ms(text);
  if (!Number.isFinite(millis)) return {date: '', time: String(text ?? ''), zone: ''};
  const fraction = '.' + String(((millis % 1000) + 1000) % 1000).padStart(3, '0');
  return {...partsAt(Math.floor(millis / 1000)), fraction};
}

export const easternTime = text => inEastern(text).time;
export const easternFraction = text => inEastern(text).fraction || '';
export const shortTime = text => easternTime(text) + easternFraction(text);

export const utc = text => {
  const millis = typeof text === 'number' ? text : ms(text);
  return Number.isFinite(millis) ? new Date(millis).toISOString().replace('T', ' ').replace('Z', ' UTC') : '';
};

// Adds thousands separators and keeps the decimals: "12500.50" becomes "12,500.50".
export function grouped(text) {
  const [, sign, whole, rest] = /^(-?)(\d+)(.*)$/.exec(String(text)) || [, '', '', String(text)];
  return sign + whole.replace(/\B(?=(\d{3})+$)/g, ',') + rest;
}

// Returns the last part of a resource name: 8f3a61c4 of firms/atlas-fcm/accounts/8f3a61c4.
export const lastPart = name => String(name || '').split('/').pop();

export const words = name => String(name || '').toLowerCase().replaceAll('_', ' ');

export const shown = value =>
  value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);

// Returns the title of a row without the JSON that it may end with.
export const headline = row => String(row.title || row.kind).split(' {')[0].replace(/ +/g, ' ').trim();

export const plural = (count, noun) => `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;

// Pad prices with zeros to the same number of decimals, so that they align in a column.
export const decimals = text => (String(text ?? '').split('.')[1] || '').length;
export const padded = (text, places) =>
  places && text ? text + (text.includes('.') ? '' : '.') + '0'.repeat(Math.max(0, places - decimals(text))) : text;
