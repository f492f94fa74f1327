/** Why a provider's cache was missed: conversations that were broken on purpose, at a known block, by a known hand. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cacheMissIn, cacheMissText } from '../../server/contract/cache-miss.ts';
import { loggedPrices } from '../../server/contract/pricing/charge.ts';
import type { Prices } from '../../server/contract/pricing/price.ts';
import type { ChannelSnapshot } from '../../server/contract/snapshot.ts';
import type { Usage } from '../../server/protocols/canonical.ts';
import { emptyUsage } from '../../server/protocols/shared/usage.ts';
import { CacheWatch, lostBy, type WatchedTurn } from '../../server/relay/admission/cache-watch.ts';
import type { ParsedRequest } from '../../server/relay/intake/parsed-request.ts';
import { type ApiFixture, createApiFixture } from '../support/api.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

const channel = (id: number, more: Partial<ChannelSnapshot> = {}): ChannelSnapshot => ({
  ...{ id, name: `c${id}`, type: 1, keys: ['k'], baseUrl: '', organization: '', other: '', models: [], groups: [] },
  ...{
    priority: 0,
    weight: 0,
    status: 1,
    autoBan: true,
    tag: '',
    testModel: '',
    modelMapping: {},
    statusCodeMapping: {},
  },
  ...{ paramOverride: {}, setting: {} },
  ...more,
});

type Body = Record<string, unknown> & { tools: unknown[]; system?: unknown; messages?: unknown[]; input?: unknown[] };
const protocols = ['anthropic-messages', 'openai-chat', 'openai-responses'] as const;
type Protocol = (typeof protocols)[number];
const turnsOf = (protocol: Protocol) => (protocol === 'openai-responses' ? 'input' : 'messages');

/** Of so many turns, with tools and instructions. */
function bodyOf(protocol: Protocol, turns: number): Body {
  const tools = ['a', 'b', 'c', 'd'].map((name) => ({ name, input_schema: { type: 'object' } }));
  const messages = Array.from({ length: turns }, (_, at) => ({
    role: at % 2 === 0 ? 'user' : 'assistant',
    content: [{ type: 'text', text: `turn ${at}` }],
  }));
  if (protocol === 'anthropic-messages')
    return {
      tools,
      system: [{ type: 'text', text: 'be kind', cache_control: { type: 'ephemeral' } }],
      messages: marked(messages),
    };
  return protocol === 'openai-chat' ? { tools, messages } : { tools, instructions: 'be kind', input: messages };
}
/** The last one asks for a cache, as agents do. */
const marked = (messages: readonly { role: string; content: readonly object[] }[]) =>
  messages.map((one, at) =>
    at < messages.length - 1
      ? one
      : { ...one, content: one.content.map((block) => ({ ...block, cache_control: { type: 'ephemeral' } })) },
  );

const turn = (protocol: Protocol, body: Body, more: Partial<WatchedTurn> = {}): WatchedTurn => ({
  ...{ userId: 1, conversation: 's', parsed: { protocol, operation: 'chat', body, json: null } },
  ...{ channel: channel(1), key: 'k' },
  ...{ model: 'm', rules: null, sentMs: 0 },
  usage: {
    ...emptyUsage,
    input: 100,
    cacheRead: 20_000,
    ...(protocol === 'anthropic-messages' ? { cacheWrite5m: 400 } : {}),
  },
  ...more,
});
const missed = { ...emptyUsage, input: 21_000 };

interface Break {
  readonly name: string;
  readonly by: string;
  /** '' = whatever the dialect calls the place. */
  readonly at: string | ((protocol: Protocol) => string);
  change(body: Body, protocol: Protocol): Partial<WatchedTurn> | undefined;
}
const rule = (changed: Partial<ChannelSnapshot>): Partial<WatchedTurn> => ({ channel: channel(1, changed) });
const breaks: readonly Break[] = [
  {
    name: 'a tool is changed',
    by: 'client',
    at: 'tools[2]',
    change: ({ tools }) => void tools.splice(2, 1, { name: 'other' }),
  },
  { name: 'a tool is added', by: 'client', at: 'tools[4]', change: ({ tools }) => void tools.push({ name: 'e' }) },
  { name: 'a tool is taken away', by: 'client', at: 'tools[3]', change: ({ tools }) => void tools.pop() },
  {
    name: 'the instructions are changed',
    by: 'client',
    at: (protocol) =>
      ({ 'anthropic-messages': 'system[0]', 'openai-chat': 'messages[0]', 'openai-responses': 'instructions' })[
        protocol
      ],
    change(body, protocol) {
      if (protocol === 'anthropic-messages') body.system = [{ type: 'text', text: 'the time is 12:01' }];
      else if (protocol === 'openai-chat' && body.messages !== undefined)
        body.messages[0] = { role: 'user', content: 'x' };
      else body.instructions = 'the time is 12:01';
      return undefined;
    },
  },
  {
    name: 'an earlier turn is rewritten',
    by: 'client',
    at: (protocol) => `${turnsOf(protocol)}[4]`,
    change(body, protocol) {
      const turns = body[turnsOf(protocol)];
      if (turns !== undefined) turns[4] = { role: 'user', content: 'summarised' };
      return undefined;
    },
  },
  {
    name: 'turns are left out',
    by: 'client',
    at: (protocol) => `${turnsOf(protocol)}[1]`,
    change: (body, protocol) => void body[turnsOf(protocol)]?.splice(1, 2),
  },
  { name: 'another channel serves it', by: 'channel', at: 'channel', change: () => ({ channel: channel(2) }) },
  { name: 'another key of the channel', by: 'channel', at: 'key', change: () => ({ key: 'k2' }) },
  {
    name: 'the channel gets a system prompt',
    by: 'gateway',
    at: 'settings',
    change: () => rule({ setting: { system_prompt: 'be brief' } }),
  },
  {
    name: 'the channel overrides a member',
    by: 'gateway',
    at: 'settings',
    change: () => rule({ paramOverride: { reasoning_effort: 'low' } }),
  },
];

const cases = protocols.flatMap((protocol) => breaks.map((one) => [protocol, one.name, one] as const));
test.each(cases)('%s: %s', (protocol, _name, { by, at, change }) => {
  const watch = new CacheWatch();
  expect(watch.answered(turn(protocol, bodyOf(protocol, 7)))).toBeNull();
  // It goes on undisturbed, and the marks of its cache move.
  expect(watch.answered(turn(protocol, bodyOf(protocol, 9)))).toBeNull();
  const body = bodyOf(protocol, 11);
  const more = change(body, protocol) ?? {};
  expect(watch.answered(turn(protocol, body, { ...more, usage: missed }))).toEqual({
    ...{ by, at: typeof at === 'string' ? at : at(protocol) },
    tokens: protocol === 'anthropic-messages' ? 20_400 : 20_096,
  });
});

test('a miss without a change is blamed on the time or on the upstream; a model of another name is another upstream', () => {
  const after = (more: Partial<WatchedTurn>) => {
    const watch = new CacheWatch();
    watch.answered(turn('openai-chat', bodyOf('openai-chat', 3)));
    return watch.answered(turn('openai-chat', bodyOf('openai-chat', 5), { usage: missed, ...more }))?.by;
  };
  expect(after({})).toBe('upstream');
  expect(after({ sentMs: 300_000 })).toBe('upstream');
  expect(after({ sentMs: 300_001 })).toBe('time');
  expect(after({ model: 'n' })).toBe('channel');
});

test('a prompt that was to stay for an hour is missed after that', () => {
  const hour = { ...emptyUsage, input: 10, cacheRead: 5000, cacheWrite1h: 5000 };
  const by = (sentMs: number) => {
    const watch = new CacheWatch();
    watch.answered(turn('anthropic-messages', bodyOf('anthropic-messages', 3), { usage: hour }));
    return watch.answered(turn('anthropic-messages', bodyOf('anthropic-messages', 5), { usage: missed, sentMs }))?.by;
  };
  expect([by(3_600_000), by(3_600_001)]).toEqual(['upstream', 'time']);
});

test('a client that asks for no cache any more is told so', () => {
  const watch = new CacheWatch();
  watch.answered(turn('anthropic-messages', bodyOf('anthropic-messages', 3)));
  const { cache_control: _mark, ...plain } =
    (bodyOf('anthropic-messages', 5).system as { cache_control: unknown }[])[0] ?? {};
  const body = JSON.parse(
    JSON.stringify(bodyOf('anthropic-messages', 5), (name, value) => (name === 'cache_control' ? undefined : value)),
  ) as Body;
  expect(plain).toEqual({ type: 'text', text: 'be kind' });
  expect(watch.answered(turn('anthropic-messages', body, { usage: missed }))).toMatchObject({
    ...{ by: 'client', at: 'cache_control' },
  });
});

test('the member that asks a provider for its diagnosis is no part of the prompt', () => {
  const watch = new CacheWatch();
  const asking = (protocol: Protocol, turns: number) => ({
    ...bodyOf(protocol, turns),
    ...{
      diagnostics: { previous_message_id: `m${turns}` },
      prompt_cache_options: { comparison_response_id: `r${turns}` },
    },
  });
  for (const protocol of protocols) {
    watch.answered(turn(protocol, asking(protocol, 3), { conversation: protocol }));
    const later = turn(protocol, asking(protocol, 5), { conversation: protocol, usage: missed });
    expect(watch.answered(later)).toMatchObject({ by: 'upstream', at: '' });
  }
});

test('little that is missed, most that is read, and the like of other users and conversations are no miss', () => {
  const first = turn('openai-chat', bodyOf('openai-chat', 3));
  const later = (more: Partial<WatchedTurn>) => {
    const watch = new CacheWatch();
    watch.answered(first);
    return watch.answered(turn('openai-chat', bodyOf('openai-chat', 5), { usage: missed, ...more }));
  };
  expect(later({})).not.toBeNull();
  expect(later({ usage: { ...emptyUsage, input: 9000, cacheRead: 10_048 } })).toBeNull();
  expect(later({ usage: { ...emptyUsage, input: 9000, cacheRead: 10_047 } })).not.toBeNull();
  expect(later({ userId: 2 })).toBeNull();
  expect(later({ conversation: 't' })).toBeNull();
  const watch = new CacheWatch();
  watch.answered(turn('openai-chat', bodyOf('openai-chat', 3), { usage: { ...emptyUsage, input: 1023 } }));
  expect(watch.answered(turn('openai-chat', bodyOf('openai-chat', 5), { usage: missed }))).toBeNull();
});

test('side questions under a conversation’s name are compared with their own, and what is kept is bounded', () => {
  const watch = new CacheWatch(2);
  const side = { ...bodyOf('openai-chat', 0), messages: [{ role: 'user', content: 'a title, please' }] };
  watch.answered(turn('openai-chat', bodyOf('openai-chat', 3)));
  expect(watch.answered(turn('openai-chat', side, { usage: missed }))).toBeNull();
  expect(watch.answered(turn('openai-chat', bodyOf('openai-chat', 5), { usage: missed }))).toMatchObject({
    by: 'upstream',
  });
  for (const conversation of ['x', 'y', 'z'])
    watch.answered(turn('openai-chat', bodyOf('openai-chat', 3), { conversation }));
  expect(watch.conversations).toBe(2);
});

test('conversations of many short turns cannot take more memory than others: the oldest are forgotten', () => {
  const watch = new CacheWatch(2000, 100);
  const of = (conversation: string, turns: number) =>
    turn('openai-chat', bodyOf('openai-chat', turns), { conversation });
  for (const name of ['x', 'y', 'z']) watch.answered(of(name, 40));
  expect(watch.conversations).toBe(2);
  watch.answered(of('y', 42));
  expect(watch.answered({ ...of('y', 43), usage: missed })).not.toBeNull();
  expect(watch.answered({ ...of('x', 41), usage: missed })).toBeNull();
  // One that grows alone pushes the others out, and stays.
  watch.answered(of('x', 300));
  expect(watch.conversations).toBe(1);
});

test('a change below a member of a long name is found, and the name is neither kept nor logged', () => {
  const watch = new CacheWatch();
  const of = (name: string, value: string, more: Partial<WatchedTurn> = {}) =>
    watch.answered(turn('openai-chat', { ...bodyOf('openai-chat', 3), [name]: [0, value] }, { ...more }));
  const long = 'm'.repeat(65);
  of(long, 'a');
  expect(of(long, 'b', { usage: missed })).toMatchObject({ by: 'client', at: '…[1]' });
  of('m'.repeat(64), 'a', { conversation: 't' });
  const short = of('m'.repeat(64), 'b', { conversation: 't', usage: missed });
  expect(short).toMatchObject({ at: `${'m'.repeat(64)}[1]` });
});

/** Counts how often its turns are read. */
function countedTurn(conversation: string, usage: Partial<Usage>, bytes: number) {
  let reads = 0;
  const body = bodyOf('openai-chat', 3);
  const { messages } = body;
  const get = () => {
    reads++;
    return messages;
  };
  Object.defineProperty(body, 'messages', { enumerable: true, get });
  const json = { bytes: { length: bytes } } as ParsedRequest['json'];
  const one = turn('openai-chat', body, { conversation, usage: { ...emptyUsage, ...usage } });
  return { turn: { ...one, parsed: { ...one.parsed, json } }, reads: () => reads };
}

test('a body is read only where a cache had something, and up to four megabytes', () => {
  const watch = new CacheWatch();
  const read = (...given: Parameters<typeof countedTurn>) => {
    const one = countedTurn(...given);
    watch.answered(one.turn);
    return one.reads() > 0;
  };
  expect(read('small', { input: 1023 }, 1000)).toBe(false);
  expect(read('small', { input: 1024 }, 1000)).toBe(true);
  // What was there before may be missed now.
  expect(read('small', { input: 1023 }, 1000)).toBe(true);
  expect(read('read', { cacheRead: 1024 }, 4 * 1024 * 1024)).toBe(true);
  expect(read('read', { cacheRead: 1024 }, 4 * 1024 * 1024 + 1)).toBe(false);
});

const prices = (more: object): Prices => {
  const found = loggedPrices({
    ...{
      model_ratio: 1.5,
      model_price: -1,
      group_ratio: 2,
      completion_ratio: 5,
      cache_ratio: 0.1,
      cache_creation_ratio: 1.25,
    },
    ...{ input: 0, output: 0 },
    ...more,
  });
  if (found === null) throw new Error('they are prices');
  return found;
};

test('the loss is what the same request costs with those tokens read from the cache', () => {
  // 20,400 tokens were written again in place of being read.
  const written = { ...emptyUsage, input: 600, cacheWrite5m: 20_400, output: 50 };
  expect(lostBy(written, 20_400, prices({}))).toBe(Math.round(20_400 * (1.25 - 0.1) * 1.5 * 2));
  const fresh = { ...emptyUsage, input: 21_000, output: 50 };
  expect(lostBy(fresh, 20_096, prices({}))).toBe(Math.round(20_096 * (1 - 0.1) * 1.5 * 2));
  // No more than there was.
  expect(lostBy({ ...emptyUsage, input: 1000 }, 5000, prices({}))).toBe(Math.round(1000 * 0.9 * 1.5 * 2));
  expect(lostBy(fresh, 20_096, prices({ cache_ratio: 1 }))).toBe(0);
});

test('the words name who and where; what is none of it says nothing', () => {
  const miss = { by: 'client', at: 'tools[2]', tokens: 1, lost: 2 };
  expect(cacheMissIn(miss)).toEqual(miss);
  for (const bad of [
    null,
    1,
    {},
    { ...miss, by: 'toString' },
    { ...miss, at: 1 },
    { ...miss, tokens: '1' },
    { ...miss, lost: null },
  ])
    expect(cacheMissIn(bad)).toBeNull();
  expect(cacheMissText({ ...miss, by: 'client' }, 'en')).toBe('the client changed tools[2]');
  expect(cacheMissText({ ...miss, by: 'time' }, 'zh')).toMatch(/^\p{Script=Han}/u);
});

let api: ApiFixture;
let upstream: Upstream;
let cached = 0;
beforeAll(async () => {
  api = await createApiFixture();
  upstream = await startUpstream((response) =>
    sendJson(response, completion(9000, 10, { prompt_tokens_details: { cached_tokens: cached } })),
  );
  await api.gateway.channel(upstream.url, { models: 'gpt-4o-mini' });
});
afterAll(async () => {
  await api.close();
  await upstream.stop();
});

test('the row of a request says why its cache was missed and what that cost, where its client names the conversation', async () => {
  const { key } = await api.gateway.token();
  const ask = async (system: string, read: number, headers: Record<string, string>) => {
    cached = read;
    const messages = [
      { role: 'system', content: system },
      { role: 'user', content: 'hello' },
    ];
    await (await api.gateway.chat(key, { model: 'gpt-4o-mini', messages }, headers)).text();
    await api.gateway.ledger.drain();
    const { items } = await api.gateway.services.logs.page({}, 1, 1, true);
    return (JSON.parse(items[0]?.other ?? '{}') as { cache_miss?: unknown }).cache_miss;
  };
  const named = { 'x-session-id': 's-1' };
  expect(await ask('be kind', 8960, named)).toBeUndefined();
  expect(await ask('be kind', 8960, named)).toBeUndefined();
  expect(await ask('it is 12:01', 0, named)).toEqual({
    ...{ by: 'client', at: 'messages[0]', tokens: 8960 },
    lost: expect.any(Number),
  });
  expect(await ask('it is 12:02', 0, {})).toBeUndefined();
  expect(await ask('it is 12:03', 0, {})).toBeUndefined();
});
