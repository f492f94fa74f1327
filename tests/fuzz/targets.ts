/** What is read from strangers, and what must hold of it whatever they send. A target throws where it does not. */
import { createParser } from 'eventsource-parser';
import { AppError } from '../../server/contract/errors.ts';
import { optionKeys, optionRow, optionValue } from '../../server/contract/options.ts';
import { quotaOf } from '../../server/contract/pricing/charge.ts';
import { defaultPriceText } from '../../server/contract/pricing/defaults.ts';
import { compilePriceTables, priceOptionKeys, resolvePrices } from '../../server/contract/pricing/tables.ts';
import { provisionDocument } from '../../server/contract/provision.ts';
import { channelRows, logRow, tokenRow, userRow } from '../../server/domain/import/rows.ts';
import { createVault } from '../../server/domain/secrets/vault.ts';
import { keptCookie } from '../../server/http/authenticate.ts';
import { clientAddress } from '../../server/http/client-ip.ts';
import { pathOf } from '../../server/http/http-server.ts';
import { pathKindOf } from '../../server/http/path-kind.ts';
import { SseSplitter } from '../../server/protocols/shared/sse.ts';
import { emptyUsage } from '../../server/protocols/shared/usage.ts';
import { readCredential } from '../../server/relay/intake/authorize.ts';
import { formOf } from '../../server/relay/intake/form.ts';
import { outline } from '../../server/relay/intake/json-text.ts';
import { forgivenPath, plainPath, relayRouteFor } from '../../server/relay/intake/routes.ts';
import { audioSeconds } from '../../server/relay/shared/recordings/length.ts';
import { hostileRecordings } from '../support/hostile-recordings.ts';
import { altered } from './alter.ts';
import type { Damage } from './damage.ts';

export type Target = (damage: Damage) => void | Promise<void>;

function holds(is: boolean, what: string, value: unknown): void {
  if (!is) throw new Error(`${what}: ${JSON.stringify(value)?.slice(0, 500)}`);
}
/** Only errors that a caller can be told. */
const told = <T>(read: () => T): T | null => {
  try {
    return read();
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
};

const encoder = new TextEncoder();
const events = [
  'data: {"a":1}\n\n',
  'event: x\ndata: y\n\n',
  ': ping\n\n',
  'data: a\r\ndata: b\r\n\r\n',
  'id: 7\ndata: [DONE]\n\n',
];
const chat = '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi \\u00e9"}],"stream":true,"n":1}';
const form =
  '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\nContent-Type: audio/mpeg\r\n\r\nsound\r\n--b--\r\n';
const vault = createVault(Buffer.from('key of the tests'));
const provisioned = JSON.stringify({
  version: 1,
  options: { RetryTimes: '1' },
  channels: [{ name: 'c', type: 'openai', models: ['m'], key: 'k' }],
  users: [{ username: 'u' }],
});

function sse({ damaged, pick, whole }: Damage): void {
  // A line that begins an event ends the one before it here, which others hear only with the empty line.
  const text = `${damaged(Array.from({ length: 4 }, () => pick(events)).join(''))}\n\n`;
  const bytes = encoder.encode(text);
  const read = (sizes: () => number) => {
    const splitter = new SseSplitter();
    const frames = [];
    for (let at = 0; at < bytes.length; ) {
      const size = Math.max(1, sizes());
      frames.push(...splitter.push(bytes.slice(at, at + size)));
      at += size;
    }
    return {
      data: frames.map((frame) => frame.data),
      bytes: frames.reduce((sum, frame) => sum + frame.bytes.length, 0),
    };
  };
  const once = read(() => bytes.length);
  const cut = read(() => whole(9));
  holds(JSON.stringify(once) === JSON.stringify(cut), 'cut elsewhere it reads otherwise', text);
  // Line ends of one kind are read alike by everybody.
  if (text.includes('\r') || text.includes('\ufeff')) return;
  const received: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => void received.push(data) });
  parser.feed(new TextDecoder().decode(bytes));
  const linesOf = (events: readonly string[]) =>
    events.flatMap((data) => data.split('\n')).filter((line) => line !== '');
  const said = linesOf(once.data);
  holds(said.join('\n') === linesOf(received).join('\n'), 'another reader hears something else', {
    text,
    said,
    heard: received,
  });
}

function json({ damaged }: Damage): void {
  const text = damaged(chat);
  const found = outline(text);
  let other: unknown;
  try {
    other = JSON.parse(text);
  } catch {
    other = undefined;
  }
  const isObject = typeof other === 'object' && other !== null && !Array.isArray(other);
  if (!isObject) return;
  // What others read as an object has the same members here, or is refused for its size.
  if (!found.ok) {
    holds(found.reason === 'too_deep', 'an object that was refused as none', { text, found });
    return;
  }
  for (const [name, value] of Object.entries(other as object)) {
    const member = found.members.findLast(({ key }) => key === name);
    const seen = member === undefined ? undefined : text.slice(member.valueStart, member.valueEnd);
    const same = seen !== undefined && JSON.stringify(JSON.parse(seen)) === JSON.stringify(value);
    holds(same, 'a member that stands elsewhere', { text, name, seen });
  }
}

function multipart({ damaged, pick }: Damage): void {
  const body = encoder.encode(damaged(form));
  const type = pick(['multipart/form-data; boundary=b', damaged('multipart/form-data; boundary="b"')]);
  try {
    const read = formOf(type, body);
    for (const [name, value] of read.fields)
      holds(typeof name === 'string' && typeof value === 'string', 'a field', name);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    holds(error.row.status === 400 || error.row.status === 413, 'another status', error.code);
  }
}

const headerNames = [
  'authorization',
  'x-api-key',
  'x-goog-api-key',
  'api-key',
  'mj-api-secret',
  'sec-websocket-protocol',
];
function headers({ damaged, pick, whole }: Damage): void {
  const request = new Request(`http://x/v1/models?key=${encodeURIComponent(damaged('sk-abc').toWellFormed())}`);
  for (let n = whole(3); n >= 0; n--) {
    try {
      request.headers.set(pick(headerNames), damaged('Bearer sk-abcdefgh-12'));
    } catch {
      // No header for anybody.
    }
  }
  const found = readCredential(request);
  holds(found === null || (typeof found.key === 'string' && !found.key.startsWith('sk-')), 'a key', found);
  const address = clientAddress('10.0.0.1', damaged('1.2.3.4, 10.0.0.2, [::1]:80'), (peer) => peer.startsWith('10.'));
  holds(typeof address === 'string' && address.length < 5000, 'an address', address);
}

function urls({ damaged, pick }: Damage): void {
  const url = damaged(
    pick([
      '/v1/chat/completions',
      '/v1beta/models/m:generateContent?alt=sse',
      '/api/user/self',
      '/v1/v1/messages',
      '/assets/x.js',
    ]),
  );
  const path = pathOf(url.startsWith('/') ? `http://x${url}` : `/${url}`);
  holds(path.startsWith('/') && !path.includes('?'), 'a path', path);
  const once = plainPath(forgivenPath(path));
  const matched = relayRouteFor(once);
  holds(matched === undefined || matched.route.path.length > 1, 'a route', once);
  holds(['relay', 'api', 'console', 'nowhere'].includes(pathKindOf(path)), 'a place', path);
  // Whatever is no plain path of the API must not be taken for one.
  if (pathKindOf(path) === 'api') holds(/^\/+api(?:\/|$)/i.test(path), 'the API', path);
}

function cookies({ damaged }: Damage): void {
  const header = damaged('__Host-session=abc; session=def; other="x; session=ghi"');
  const kept = keptCookie({ headers: { cookie: header } } as never, 'session');
  holds(typeof kept === 'string' && (kept === '' || header.includes(kept) || header.includes('%')), 'a cookie', {
    header,
    kept,
  });
}

function optionValues({ damaged, pick, signs, value }: Damage): void {
  const key = pick(optionKeys);
  const { kind, fallback } = optionRow(key);
  const text = pick([() => damaged(fallback), () => JSON.stringify(value()) ?? '', () => signs(8)])();
  const complaint = kind.check(text);
  if (complaint !== null) {
    holds(complaint.zh !== '' && complaint.en !== '', 'a complaint without words', key);
    return;
  }
  const stored = kind.clean?.(text) ?? text;
  holds(kind.check(stored) === null, 'cleaned it is refused', { key, text, stored });
  optionValue(new Map([[key, stored]]), key);
}

function priceMaps({ damaged, pick, value, whole }: Damage): void {
  const key = pick(priceOptionKeys);
  const text = pick([() => damaged(defaultPriceText(key).slice(0, 600)), () => JSON.stringify(value()) ?? ''])();
  if (optionRow(key).kind.check(text) !== null) return;
  const tables = compilePriceTables((name) => (name === key ? text : defaultPriceText(name)), 0);
  for (const model of ['gpt-4o', 'a', '__proto__', 'constructor', 'default']) {
    const prices = resolvePrices(tables, model, { group: 'default', userGroup: 'default', acceptUnset: true });
    if (prices === null) continue;
    const cost = quotaOf({ ...emptyUsage, input: whole(1e6), output: whole(1e6), cacheRead: whole(1e6) }, prices);
    holds(Number.isSafeInteger(cost) && cost >= 0, 'a cost', { key, text, model, cost });
  }
}

const columns = [
  'id',
  'user_id',
  'key',
  'name',
  'username',
  'password',
  'role',
  'status',
  'group',
  'quota',
  'used_quota',
  'type',
  'models',
  'base_url',
  'model_mapping',
  'setting',
  'created_at',
  'created_time',
  'deleted_at',
  'access_token',
  'content',
  'prompt_tokens',
  'model_name',
  'other',
  'expired_time',
  'remain_quota',
  'unlimited_quota',
  'model_limits',
];
function importFiles({ damaged, pick, signs, whole, random }: Damage): void {
  // What a database's cell may be.
  const cell = () =>
    pick([
      () => signs(4),
      () => damaged(chat),
      () => null,
      () => (random() - 0.5) * 10 ** whole(30),
      () => whole(9),
      () => new Date(whole(9) * 1e11),
    ])();
  const row = Object.fromEntries(Array.from({ length: whole(columns.length) }, () => [pick(columns), cell()])) as never;
  const family = pick(['new-api', 'one-api'] as const);
  for (const made of [
    told(() => userRow(row, 1, '')),
    told(() => tokenRow(row, vault, 1)),
    ...(told(() => channelRows(row, family, vault)) ?? []),
    told(() => logRow(row, family)),
  ])
    for (const [name, cell] of Object.entries(made ?? {})) {
      const storable =
        cell === null ||
        typeof cell === 'string' ||
        typeof cell === 'bigint' ||
        (typeof cell === 'number' && Number.isFinite(cell));
      holds(storable, `a cell of ${name}`, { row, cell: String(cell) });
    }
}

function applyFiles({ damaged, pick, value }: Damage): void {
  const text = pick([
    () => damaged(provisioned),
    () => JSON.stringify({ version: 1, channels: [value()], users: value(), options: value() }),
  ])();
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return;
  }
  const read = provisionDocument.safeParse(document);
  if (!read.success) holds(read.error.issues.length > 0, 'a refusal without a reason', text);
}

const recordingFiles = Object.values(hostileRecordings).map((made) => new Uint8Array(made(64)));
function recordings({ pick, random, whole }: Damage): void {
  const { file, words } = altered(pick(recordingFiles), random);
  const seen = whole(4) === 0 ? file.subarray(0, whole(file.length)) : file;
  const seconds = audioSeconds(seen, file.length);
  holds(Number.isFinite(seconds) && seconds >= 0, 'a length', { words, seconds });
}

export const targets: Readonly<Record<string, Target>> = {
  sse,
  json,
  multipart,
  headers,
  urls,
  cookies,
  'option values': optionValues,
  'price maps': priceMaps,
  'import files': importFiles,
  'apply files': applyFiles,
  recordings,
};
