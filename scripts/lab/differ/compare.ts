/** Puts what one side did into lines that do not depend on the time, on ports or on chance, and names what differs. */
import type { Case } from './case.ts';
import type { Row } from './site.ts';
import type { Received } from './upstream.ts';

export interface ClientView {
  /** 0 = no whole head arrived. */
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
  /** How the body ended, where it did not end well. */
  readonly failure: string;
  readonly requestId: string | null;
}

/** Lines by the place they belong to, `client body` and the like. */
export type View = ReadonlyMap<string, readonly string[]>;

export interface Difference {
  readonly caseId: number;
  readonly name: string;
  readonly place: string;
  readonly reference: string;
  readonly tree: string;
  /** The same for differences of the same kind. */
  readonly group: string;
}

const requestId = /(?<![0-9a-z])20\d{15}[0-9a-z]{8}(?![0-9a-z])/g;
const token = /[A-Za-z\d_-]{12,}/g;
const signedToken = /\b(eyJ[\w-]+)\.(eyJ[\w-]+)\.[\w-]+/g;
const kind = /^[A-Za-z]{1,12}[_-]/;
const startedAt = Date.now();
/** Clocks of both builds during a run, and what they may add to them as an expiry. */
const isNow = (ms: number): boolean => ms > startedAt - 60_000 && ms < Date.now() + 3_700_000;

/** @param known texts in which what looks like chance is none. */
export function createNormaliser(ports: readonly number[], known: string) {
  const names = new Map<string, string>();
  const decoded = (part: string) => Buffer.from(part, 'base64url').toString('utf8');
  return (text: string): string => {
    let result = text;
    for (const port of ports)
      result = result.replaceAll(`127.0.0.1:${port}`, '<host>').replaceAll(`localhost:${port}`, '<host>');
    return result
      .replace(signedToken, (_, head, claims) => `<signed ${decoded(head)} ${decoded(claims)}>`)
      .replace(/(?<=Signature=)[0-9a-f]{64}/g, '<signature>')
      .replace(requestId, '<request id>')
      .replace(/\d{8}T\d{6}Z/g, '<time>')
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?/g, (all) =>
        isNow(Date.parse(all)) ? '<time>' : all,
      )
      .replace(/\b\d{10}\b/g, (all) => (isNow(Number(all) * 1000) ? '<seconds>' : all))
      .replace(/\b\d{13}\b/g, (all) => (isNow(Number(all)) ? '<milliseconds>' : all))
      .replace(token, (all) => {
        if (!/\d/.test(all) || !/[A-Za-z]/.test(all) || known.includes(all)) return all;
        const named = names.get(all) ?? `${kind.exec(all)?.[0] ?? ''}<chance ${names.size + 1}>`;
        names.set(all, named);
        return named;
      });
  };
}

/** Columns that say when and in which order, not what. */
const ignoredColumns: ReadonlySet<string> = new Set(['id', 'created_at', 'use_time', 'request_id', 'at', 'ref']);
/** Rows of refusals are a sample, and say how many have none. */
const refusedType = 5;
/** Durations among the facts of a row. */
const ignoredDetails: ReadonlySet<string> = new Set([
  'frt',
  'ms',
  'use_time',
  'duration_ms',
  'first_ms',
  'wait_ms',
  'timing',
  'skipped',
]);

const withoutTimes = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(withoutTimes)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .filter(([name]) => !ignoredDetails.has(name))
            .map(([name, inner]) => [name, withoutTimes(inner)]),
        )
      : value;

function detailsOf(text: string): string {
  try {
    return JSON.stringify(withoutTimes(JSON.parse(text)));
  } catch {
    return text;
  }
}

const isRefusal = (row: Row | undefined): boolean => Number(row?.type) === refusedType;

/** Hidden thoughts are charged by the time they took: no two runs agree on it. */
const timedTokens = (row: Row | undefined): number | null => {
  const found = /"estimated_thought":\{"tokens":(\d+)/.exec(String(row?.other))?.[1];
  return found === undefined ? null : Number(found);
};

function rowLines(row: Row | undefined, byTime: boolean): string[] {
  if (row === undefined) return ['no row'];
  return Object.entries(row).flatMap(([name, value]) => {
    if (ignoredColumns.has(name)) return [];
    if (byTime && name === 'completion_tokens') return [`${name} ${Number(value) - (timedTokens(row) ?? 0)}`];
    if (byTime && (name === 'quota' || name === 'amount')) return [];
    if (name !== 'other') return [`${name} ${value}`];
    const details = detailsOf(String(value));
    return [`other ${byTime ? details.replace(/"estimated_thought":\{[^}]*\},?/, '').replace(/\d+/g, '#') : details}`];
  });
}

export interface Rows {
  readonly log: Row | undefined;
  readonly postings: readonly Row[];
}

/** @returns null where one side has sampled a refusal away. */
export function rowViews(
  reference: Rows,
  tree: Rows,
  normalReference: (text: string) => string,
  normalTree: (text: string) => string,
): readonly [View, View] | null {
  const [a, b] = [reference.log, tree.log];
  if ((a === undefined && isRefusal(b)) || (b === undefined && isRefusal(a))) return null;
  const byTime = timedTokens(a) !== null || timedTokens(b) !== null;
  const view = ({ log, postings }: Rows, normal: (text: string) => string): View =>
    new Map([
      ['log row', rowLines(log, byTime).map(normal)],
      ['charge', postings.flatMap((row) => rowLines(row, byTime)).map(normal)],
    ]);
  return [view(reference, normalReference), view(tree, normalTree)];
}

/** Sent while a commit takes long. */
const commitPing = /^: PING\n\n/gm;
const bodyLines = (body: string): string[] => body.replace(commitPing, '').split('\n');

/** Set by the runtime of a build for each connection. */
const ignoredHeaders: ReadonlySet<string> = new Set(['date']);

export function exchangeView(
  received: readonly Received[],
  client: ClientView,
  normal: (text: string) => string,
): View {
  const view = new Map<string, readonly string[]>();
  const put = (place: string, lines: readonly string[]) => view.set(place, lines.map(normal));
  view.set('upstream requests', [String(received.length)]);
  for (const [at, { line, headers, body }] of received.entries()) {
    const attempt = received.length > 1 ? ` ${at + 1}` : '';
    put(`upstream line${attempt}`, [line]);
    put(`upstream headers${attempt}`, headers);
    put(`upstream body${attempt}`, bodyLines(body));
  }
  put('client status', [`${client.status} ${client.failure}`.trim()]);
  put(
    'client headers',
    client.headers.filter(([name]) => !ignoredHeaders.has(name)).map(([name, value]) => `${name}: ${value}`),
  );
  put('client body', bodyLines(client.body));
  return view;
}

const contextLength = 70;
/** The first stretch where two lines part, with some of what they share. */
function excerpts(a: string, b: string): readonly [string, string] {
  let from = 0;
  while (from < a.length && from < b.length && a[from] === b[from]) from++;
  let end = 0;
  while (end < a.length - from && end < b.length - from && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const cut = (text: string): string => {
    const start = Math.max(0, from - contextLength);
    const stop = Math.min(text.length - end + contextLength, from + 4 * contextLength);
    return `${start > 0 ? '…' : ''}${text.slice(start, stop)}${stop < text.length ? '…' : ''}`;
  };
  return [cut(a), cut(b)];
}

/** @returns the first difference of each place. */
export function differences({ id, name }: Case, reference: View, tree: View): Difference[] {
  const found: Difference[] = [];
  for (const place of new Set([...reference.keys(), ...tree.keys()])) {
    const a = reference.get(place) ?? ['(nothing)'];
    const b = tree.get(place) ?? ['(nothing)'];
    const at = Array.from({ length: Math.max(a.length, b.length) }, (_, index) => index).find(
      (index) => a[index] !== b[index],
    );
    if (at === undefined) continue;
    const [left, right] = excerpts(a[at] ?? '(no line)', b[at] ?? '(no line)');
    const shape = (text: string) => text.replace(/\d+/g, '#').replace(/…/g, '').slice(0, 120);
    // What a member is called says more than what stands around it.
    const member = /"([A-Za-z_]+)":[^:]*$/.exec((a[at] ?? '').slice(0, firstMismatch(a[at] ?? '', b[at] ?? '')))?.[1];
    const label = place.startsWith('client body') || place.startsWith('upstream body') || place === 'log row';
    found.push({
      caseId: id,
      name,
      place,
      reference: left,
      tree: right,
      group: `${place.replace(/ \d+$/, '')} | ${label && member !== undefined ? member : `${shape(left)} → ${shape(right)}`}`,
    });
  }
  return found;
}

function firstMismatch(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at;
}
