/** Many requests of all kinds at once against balances of all sizes: no balance drops below zero, no caller who could pay is refused, and bytes are unchanged where the money suffices. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ledgerStats } from '../../db/ledger/sqlite/stats.ts';
import { sqliteOf } from '../../db/open.ts';
import type { Account } from '../../server/billing/balances/account.ts';
import { Balances } from '../../server/billing/balances/money.ts';
import { reportsOf } from '../../server/billing/ledger/verify.ts';
import { systemTimers } from '../../server/contract/timers.ts';
import { sealedBlobOf } from '../../server/domain/secrets/vault.ts';
import type { TokenCounter } from '../../server/relay/admission/counting/counter.ts';
import { countedBound, countedTexts, promptBound, readPrompt, sumOf } from '../../server/relay/intake/prompt.ts';
import { createRelay, type Relay } from '../../server/relay/relay.ts';
import { defaultLimits } from '../../server/relay/relay-deps.ts';
import { figure } from '../support/figure.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { often } from '../support/often.ts';
import { randomOf } from '../support/random.ts';
import { paired } from '../support/relay-memory.ts';
import { mediaAnswer, mediaOrder } from './mixtures/media.ts';
import { startTalkUpstream, type TalkSum, talk } from './mixtures/talks.ts';

/** Dollars per million tokens, longest answer, least answer worth having; from the makers' documents. */
const models = {
  'gpt-4o-mini': { input: 0.15, output: 0.6, cap: 16_384, floor: 16, margin: 1 },
  'gpt-5-mini': { input: 0.25, output: 2, cap: 128_000, floor: 4096, margin: 1 },
  'claude-sonnet-4-5': { input: 3, output: 15, cap: 64_000, floor: 4096, margin: 1.5 },
  'gemini-2.5-flash': { input: 0.3, output: 2.5, cap: 65_536, floor: 4096, margin: 1.5 },
  // An unknown model: the documented default.
  'practice-small': { input: 1, output: 3, cap: 32_768, floor: 16, margin: 1.5 },
} as const;
type Model = keyof typeof models;

/** A tokenizer of the test's own: three bytes a token. */
const tokensOf = (text: string): number => Math.ceil(Buffer.byteLength(text) / 3);
/** All strings of a body, as a model reads them. */
const stringsIn = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
};
const tokensIn = (body: unknown): number => sumOf(stringsIn(body).map(tokensOf));
const counter: TokenCounter = {
  count: (_model, texts) => Promise.resolve(texts.map(tokensOf)),
  close: () => undefined,
};

interface GeneratedRequest {
  readonly path: string;
  readonly type: string;
  readonly bytes: Buffer;
  readonly body: Record<string, unknown>;
  /** Quota it costs at most where that is known before; 0 = it depends. */
  readonly need: number;
  readonly model: Model | null;
  /** 0 = none was named. */
  readonly limit: number;
  readonly choices: number;
  readonly stream: boolean;
  /** How much of what is allowed the upstream writes. */
  readonly part: number;
}

interface Seen {
  spare: number;
  available: number;
  admitted: boolean;
  sent: string;
  received: string | null;
}

const talkModel = 'gpt-4o-realtime-preview';

let gateway: TestGateway;
/** Four, as in threads of their own: they have the money's memory in common, and nothing else. */
let relayThreads: { readonly relay: Relay; readonly follow: () => void }[];
let talks: ReturnType<typeof startTalkUpstream>;
let seen: Map<number, Seen>;
/** By the marks that requests carry. */
let parts: Map<string, number>;
let serial = 0;
/** Requests at the upstream, and the most of them at once. */
let under = 0;
let most = 0;

const chatBody = (model: Model, words: string, limit: number, choices: number, stream: boolean) => ({
  model,
  messages: [{ role: 'user', content: words }],
  ...(limit > 0 ? { [model === 'gpt-5-mini' ? 'max_completion_tokens' : 'max_tokens']: limit } : {}),
  ...(choices > 1 ? { n: choices } : {}),
  ...(stream ? { stream } : {}),
});

type Content = Pick<GeneratedRequest, 'path' | 'body'> & Partial<GeneratedRequest>;
const generated = (content: Content): GeneratedRequest => ({
  type: 'application/json',
  bytes: Buffer.from(JSON.stringify(content.body)),
  need: 0,
  model: null,
  limit: 0,
  choices: 1,
  stream: false,
  part: 1,
  ...content,
});

/** A request of any kind, with its own mark in the words. */
const randomRequest = (random: () => number, mark: string): GeneratedRequest => generated(contentOf(random, mark));

function contentOf(random: () => number, mark: string): Content {
  const among = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const words = `${mark} ${'Some words, 一些字, 🙂. '.repeat(Math.floor(random() ** 4 * 300))}`;
  const stream = random() < 0.5;
  const choices = random() < 0.2 ? 1 + Math.floor(random() * 4) : 1;
  const limit = random() < 0.5 ? 0 : among([1, 20, 500, 4096, 8192, 128_000, 1e308]);
  const part = among([0, 0.1, 0.5, 1, 1, 1]);
  const common = { limit, choices, stream, part };
  const one = { ...common, choices: 1 };
  switch (Math.floor(random() * 16)) {
    case 0:
    case 1:
    case 2: {
      const model = among(['gpt-4o-mini', 'gpt-5-mini', 'practice-small'] as const);
      return { ...common, path: '/v1/chat/completions', model, body: chatBody(model, words, limit, choices, stream) };
    }
    case 3: {
      const body = {
        model: 'gpt-4o-mini',
        prompt: words,
        best_of: choices,
        ...(limit > 0 ? { max_tokens: limit } : {}),
        ...(stream ? { stream } : {}),
      };
      return { ...common, path: '/v1/completions', model: 'gpt-4o-mini', body };
    }
    case 4:
    case 5: {
      const model = among(['gpt-4o-mini', 'gpt-5-mini'] as const);
      const body = {
        model,
        input: words,
        ...(limit > 0 ? { max_output_tokens: limit } : {}),
        ...(stream ? { stream } : {}),
      };
      return { ...one, path: '/v1/responses', model, body };
    }
    case 6:
    case 7: {
      const budget = limit > 2048 && random() < 0.5 ? { thinking: { type: 'enabled', budget_tokens: 2048 } } : {};
      const body = {
        model: 'claude-sonnet-4-5',
        messages: [{ role: 'user', content: words }],
        ...(limit > 0 ? { max_tokens: limit } : {}),
        ...budget,
        ...(stream ? { stream } : {}),
      };
      return { ...one, path: '/v1/messages', model: 'claude-sonnet-4-5', body };
    }
    case 8:
    case 9: {
      const config = {
        ...(limit > 0 ? { maxOutputTokens: limit } : {}),
        ...(choices > 1 ? { candidateCount: choices } : {}),
      };
      const body = {
        contents: [{ role: 'user', parts: [{ text: words }] }],
        ...(Object.keys(config).length > 0 ? { generationConfig: config } : {}),
      };
      const path = `/v1beta/models/gemini-2.5-flash:${stream ? 'streamGenerateContent' : 'generateContent'}`;
      return { ...common, path, model: 'gemini-2.5-flash', body };
    }
    case 10:
      return { ...one, path: '/v1/embeddings', model: null, body: { model: 'text-embedding-3-small', input: words } };
    case 11:
      return {
        ...one,
        path: '/v1/images/generations',
        model: null,
        body: { model: 'dall-e-3', prompt: words, n: choices },
        need: choices * 20_000,
      };
    default:
      return { body: {}, ...mediaOrder(random, mark, words) };
  }
}

/** The output of an upstream that keeps to the limit it was given. */
function allowedBy(body: Record<string, unknown>, model: Model): number {
  const config = (body.generationConfig ?? {}) as Record<string, number | undefined>;
  const named =
    (body.max_completion_tokens as number | undefined) ??
    (body.max_tokens as number | undefined) ??
    (body.max_output_tokens as number | undefined) ??
    config.maxOutputTokens;
  const times = Math.max(Number(body.n ?? 1), Number(body.best_of ?? 1), Number(config.candidateCount ?? 1));
  return Math.min(named ?? models[model].cap, models[model].cap) * times;
}

const markOf = (text: string): string => /#\d+#/.exec(text)?.[0] ?? '';
const sse = (frames: readonly unknown[], end = ''): Response =>
  new Response(
    frames
      .map((frame) => {
        const type = (frame as { type?: string }).type;
        return `${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(frame)}\n\n`;
      })
      .join('') + end,
    { headers: { 'content-type': 'text/event-stream' } },
  );

/** Answers in each dialect: words that are as long as the usage says, and the usage. */
function answerTo(url: string, body: Record<string, unknown>, text: string, model: Model): Response {
  const mark = markOf(text);
  const prompt = tokensIn(body);
  const output = Math.floor(allowedBy(body, model) * (parts.get(mark) ?? 0)) || 1;
  // Words of thinking models stay hidden; others write what they are paid for.
  const words = models[model].floor > 16 ? 'x' : 'x'.repeat(Math.min(output * 3, 60_000));
  const third = Math.ceil(words.length / 3);
  const texts = [words.slice(0, third), words.slice(third, 2 * third), words.slice(2 * third)].filter(
    (part) => part !== '',
  );
  if (url.includes('/messages')) {
    const usage = { input_tokens: prompt, output_tokens: output };
    if (body.stream !== true)
      return Response.json({
        id: 'm',
        type: 'message',
        role: 'assistant',
        model,
        content: [{ type: 'text', text: words }],
        stop_reason: 'end_turn',
        usage,
      });
    return sse([
      {
        type: 'message_start',
        message: {
          id: 'm',
          type: 'message',
          role: 'assistant',
          model,
          content: [],
          usage: { input_tokens: prompt, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      ...texts.map((part) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: part } })),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: output } },
      { type: 'message_stop' },
    ]);
  }
  if (url.includes('enerateContent')) {
    const usageMetadata = { promptTokenCount: prompt, candidatesTokenCount: output, totalTokenCount: prompt + output };
    const candidate = (part: string, finish: object) => ({
      candidates: [{ index: 0, content: { role: 'model', parts: [{ text: part }] }, ...finish }],
    });
    if (url.includes('streamGenerate'))
      return sse([
        ...texts.map((part) => candidate(part, {})),
        { ...candidate('.', { finishReason: 'STOP' }), usageMetadata },
      ]);
    return Response.json({ ...candidate(words, { finishReason: 'STOP' }), usageMetadata });
  }
  if (url.includes('/responses')) {
    const usage = { input_tokens: prompt, output_tokens: output, total_tokens: prompt + output };
    const done = {
      id: 'r',
      object: 'response',
      status: 'completed',
      model,
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: words }] }],
      usage,
    };
    if (body.stream !== true) return Response.json(done);
    return sse([
      { type: 'response.created', response: { id: 'r', status: 'in_progress', model, output: [] } },
      ...texts.map((delta) => ({
        type: 'response.output_text.delta',
        output_index: 0,
        content_index: 0,
        item_id: 'i',
        delta,
      })),
      { type: 'response.completed', response: done },
    ]);
  }
  const usage = { prompt_tokens: prompt, completion_tokens: output, total_tokens: prompt + output };
  const chat = url.includes('/chat/');
  const choice = (part: string, whole: boolean) =>
    chat ? { index: 0, [whole ? 'message' : 'delta']: { role: 'assistant', content: part } } : { index: 0, text: part };
  if (body.stream !== true)
    return Response.json({
      id: 'c',
      object: 'chat.completion',
      model,
      choices: [{ ...choice(words, true), finish_reason: 'stop' }],
      usage,
    });
  const frame = (choices: readonly object[]) => ({ id: 'c', object: 'chat.completion.chunk', model, choices });
  return sse(
    [
      ...texts.map((part) => frame([{ ...choice(part, false), finish_reason: null }])),
      frame([{ ...choice('', false), finish_reason: 'stop' }]),
      { ...frame([]), usage },
    ],
    'data: [DONE]\n\n',
  );
}

const upstream = (async (input: string | URL | Request, init?: RequestInit) => {
  const url = String(input);
  const sent = Buffer.from(await new Response(init?.body as BodyInit).arrayBuffer());
  const text = sent.toString('utf8');
  const mark = markOf(text);
  const record = seen.get(Number(mark.slice(1, -1)));
  if (record !== undefined) record.received = sent.toString('latin1');
  const made = mediaAnswer(url, sent);
  if (made !== null) return made;
  const body = JSON.parse(text) as Record<string, unknown>;
  most = Math.max(most, ++under);
  await new Promise((resolve) => setImmediate(resolve));
  under--;
  if (url.includes('/embeddings'))
    return Response.json({
      object: 'list',
      data: [{ embedding: [0], index: 0 }],
      usage: { prompt_tokens: tokensIn(body), total_tokens: tokensIn(body) },
    });
  if (url.includes('/images'))
    return Response.json({
      created: 1,
      data: Array.from({ length: Number(body.n ?? 1) }, () => ({ url: 'http://x/1.png' })),
    });
  const model = (url.includes('gemini') ? 'gemini-2.5-flash' : body.model) as Model;
  return answerTo(url, body, text, model);
}) as typeof fetch;

/** The product's own balances, with what they said to whom. Each request has a key of its own. */
class WatchedBalances extends Balances {
  private readonly watched = new Set<Account>();

  override account(userId: number, tokenId: number): Account {
    const account = super.account(userId, tokenId);
    const record = seen.get(tokenId);
    if (record === undefined || this.watched.has(account)) return account;
    this.watched.add(account);
    const [spare, available, reserve] = [account.availableWith, account.available, account.reserve].map((one) =>
      one.bind(account),
    ) as [Account['availableWith'], Account['available'], Account['reserve']];
    account.availableWith = (...terms) => {
      record.spare = spare(...terms);
      return record.spare;
    };
    account.available = (...terms) => {
      record.available = available(...terms);
      return record.available;
    };
    account.reserve = (...terms) => {
      const answer = reserve(...terms);
      if (answer.ok) record.admitted = true;
      return answer;
    };
    return account;
  }
}

/** Where works are kept is not what this is about, and each would be a commit. */
const noop = async () => undefined;

beforeAll(async () => {
  gateway = await createTestGateway({ engine: 'sqlite' });
  seen = new Map();
  parts = new Map();
  for (const fields of [
    { type: 1, models: 'gpt-4o-mini,gpt-5-mini,practice-small,text-embedding-3-small,dall-e-3,tts-1,whisper-1' },
    { type: 14, models: 'claude-sonnet-4-5' },
    { type: 24, models: 'gemini-2.5-flash' },
    { type: 2, models: 'mj_imagine' },
    { type: 36, models: 'suno_music' },
  ])
    await gateway.channel('http://upstream.test', fields);
  talks = startTalkUpstream();
  await gateway.channel(talks.url, { models: talkModel });
  relayThreads = [1, 2, 3, 4].map((thread) => {
    const { money, follow } = paired(gateway.balances.money, thread);
    const relay = createRelay({
      state: gateway.state,
      balances: new WatchedBalances(money),
      ledger: gateway.ledger,
      counter,
      fetch: upstream,
      // What is waited for comes at once here, or not at all.
      timers: { ...systemTimers, monoNow: () => 20 * systemTimers.monoNow() },
      random: Math.random,
      keyHmac: gateway.vault.keyHmac,
      encryptedBlob: sealedBlobOf(gateway.vault),
      tasks: { ...gateway.services.tasks, addDrawing: noop, addSong: noop },
      findSession: async () => 0,
      failure: () => undefined,
      report: () => undefined,
      limits: { ...defaultLimits, maxCommitWaitMs: 60_000 },
    });
    return { relay, follow };
  });
  // Whatever any commit leaves behind is looked at, not only the end.
  gateway.raw().exec(`CREATE TEMP TABLE lows (id INTEGER, balance INTEGER);
    CREATE TEMP TRIGGER low AFTER UPDATE ON main.accounts WHEN new.id > 0 AND new.balance < 0
    BEGIN INSERT INTO lows VALUES (new.id, new.balance); END`);
});
afterAll(async () => {
  await gateway.close();
  await talks.stop();
});

const never = { at: 0, used: 0 };

/** A user with a balance, and a key for each request. */
/** How many of his balances each new user has paid in. */
let paidTimes = 0;

async function newUser(id: number, balance: number, keys: readonly number[]): Promise<void> {
  const raw = gateway.raw();
  raw.prepare("INSERT INTO users (id, username, password_hash, created_at) VALUES (?, ?, 'x', 1)").run(id, `u${id}`);
  raw.prepare('INSERT INTO accounts (id) VALUES (?)').run(id);
  if (balance > 0)
    await gateway.ledger.execute({ type: 'grant', ref: `g${id}`, userId: id, amount: balance, at: 1, log: null });
  gateway.state.apply({
    kind: 'delta',
    seq: 0,
    channels: [],
    options: {},
    removed: { users: [], tokens: [], channels: [] },
    users: [
      {
        id,
        username: `u${id}`,
        role: 1,
        status: 1,
        group: 'default',
        balance,
        used: 0,
        balanceVersion: balance > 0 ? 1 : 0,
        overrun: 0,
        paidIn: paidTimes * balance,
        setting: {},
      },
    ],
    tokens: keys.map((key) => ({
      id: key,
      userId: id,
      name: 't',
      keyHmac: gateway.vault.keyHmac(`key${key}`),
      status: 1,
      expiresAt: -1,
      unlimited: true,
      quotaLimit: 0,
      used: 0,
      modelLimits: null,
      oldKey: null,
      allowIps: [],
      group: '',
      limits: null,
      periods: { day: never, month: never },
    })),
  });
}

async function ask(key: number, { path, type, bytes }: GeneratedRequest): Promise<{ status: number; text: string }> {
  seen.set(key, { spare: 0, available: 0, admitted: false, sent: bytes.toString('latin1'), received: null });
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-key${key}`, 'content-type': type, 'content-length': String(bytes.length) },
    body: new Uint8Array(bytes),
  });
  const one = relayThreads[key % relayThreads.length];
  one?.follow();
  const response = await one?.relay.handle(request, path, { ip: () => '127.0.0.1' });
  return { status: response?.status ?? 0, text: (await response?.text()) ?? '' };
}

/** A conversation instead of a request. */
async function converse(sum: TalkSum, userId: number, key: number): Promise<void> {
  const request = new Request(`http://gateway/v1/realtime?model=${talkModel}`, {
    headers: { authorization: `Bearer sk-key${key}`, 'openai-beta': `talk ${key}` },
  });
  const free = () => gateway.balances.account(userId, key).available();
  const one = relayThreads[key % relayThreads.length];
  if (one === undefined) throw new Error('no relay');
  one.follow();
  const reached = await one.relay.realtime(request, { ip: () => '127.0.0.1' });
  if (!(reached instanceof Response))
    return talk(randomOf(key), reached, { mark: `talk ${key}`, upstream: talks, free, sum });
  expect(reached.status).toBe(403);
  sum.turns++;
  sum.rejected++;
  if (free() > 10_000) sum.rejectedWrongly++;
}

const quotaOf = (model: Model, prompt: number, output: number): number =>
  (prompt * models[model].input + output * models[model].output) / 2;

/** The bounds of the prompt, the larger from its bytes, the smaller from a count. */
function prompts({ body, model }: GeneratedRequest): { readonly bytes: number; readonly counted: number } {
  const prompt = readPrompt(body);
  const tokens = sumOf(countedTexts(prompt).map(tokensOf)) * models[model ?? 'gpt-4o-mini'].margin;
  const bytes = promptBound(prompt, body, Buffer.byteLength(JSON.stringify(body)));
  return { bytes, counted: Math.min(bytes, countedBound(prompt, body, tokens)) };
}

interface Sum {
  requests: number;
  served: number;
  shortened: number;
  rejected: number;
  changedForNothing: number;
  rejectedWrongly: number;
}

const summaryOf = ({
  requests,
  served,
  shortened,
  rejected,
  overrun: beyond,
}: Sum & { readonly overrun: number }): string =>
  `${requests} requests: ${served} served, ${shortened} shortened, ${rejected} refused, overrun ${beyond}`;

/** Without evidence all that a request may cost is held. */
const roomOf = ({ spare, available }: Seen): number => Math.min(spare, available);

/** @returns what is wrong with one answer, as counts. */
function judge(sum: Sum, one: GeneratedRequest, key: number, status: number): void {
  const record = seen.get(key);
  seen.delete(key);
  if (record === undefined) return;
  const room = roomOf(record);
  sum.requests++;
  if (record.admitted) sum.served++;
  if (one.model === null) {
    if (record.received !== null && record.received !== record.sent) sum.changedForNothing++;
    if (record.admitted) return;
    sum.rejected++;
    if (one.need > 0 && Math.ceil(one.need) <= room) sum.rejectedWrongly++;
    return;
  }
  const { cap, floor } = models[one.model];
  const { bytes, counted } = prompts(one);
  if (!record.admitted) {
    sum.rejected++;
    expect(status).toBe(/messages$|responses$/.test(one.path) ? 429 : 403);
    const min = Math.min(floor, one.limit > 0 ? one.limit : cap) * one.choices;
    // The next whole quota, for what is charged is rounded.
    // What may be cut begins with little, but with no more than there is.
    const begins = Math.min(room, record.available);
    if (begins > 0 && quotaOf(one.model, counted, min) + 1 <= begins) sum.rejectedWrongly++;
    return;
  }
  const ours = /,?"stream_options":\{"include_usage":true\}/;
  const changed = record.received !== null && record.received.replace(ours, '') !== record.sent;
  if (!changed) return;
  sum.shortened++;
  const max = quotaOf(one.model, bytes, Math.min(one.limit > 0 ? one.limit : cap, 1e9) * one.choices);
  if (max <= room) sum.changedForNothing++;
}

const lows = (): unknown[] => gateway.raw().prepare('SELECT * FROM lows').all();
const overrun = (): number =>
  -Number(gateway.raw().prepare<number>('SELECT balance FROM accounts WHERE id = -3').pluck().get());
const together = 100;
/** Users who hold a conversation beside their requests. */
const talkShare = 0.1;

/** @returns the sums, and each user's overrun beside the balance it began with. */
async function mixtures(
  count: number,
  seed: number,
): Promise<Sum & { readonly overrun: number; readonly worst: number; readonly talks: TalkSum }> {
  const random = randomOf(seed);
  const spoken: TalkSum = {
    turns: 0,
    answered: 0,
    shortened: 0,
    rejected: 0,
    changedForNothing: 0,
    rejectedWrongly: 0,
  };
  const sum: Sum = { requests: 0, served: 0, shortened: 0, rejected: 0, changedForNothing: 0, rejectedWrongly: 0 };
  const before = overrun();
  let worst = 0;
  for (let from = 0; from < count; from += together) {
    const started = new Map<number, number>();
    await Promise.all(
      Array.from({ length: Math.min(together, count - from) }, async () => {
        const id = 1000 + serial++;
        const settings = Array.from({ length: 2 + Math.floor(random() * 3) }, () => {
          const key = 1_000_000 + serial++;
          const one = randomRequest(random, `#${key}#`);
          parts.set(`#${key}#`, one.part);
          return { key, one };
        });
        const balance = Math.floor(10 ** (random() * 6.5));
        started.set(id, balance);
        const talker = random() < talkShare ? [1_000_000 + serial++] : [];
        await newUser(id, balance, [...settings.map(({ key }) => key), ...talker]);
        await Promise.all([
          ...settings.map(async ({ key, one }) => judge(sum, one, key, (await ask(key, one)).status)),
          ...talker.map((key) => converse(spoken, id, key)),
        ]);
      }),
    );
    while (relayThreads.some(({ relay }) => relay.open() > 0)) await Bun.sleep(1);
    parts.clear();
    await gateway.ledger.drain();
    const pending = gateway
      .raw()
      .prepare<{ id: number; overrun: number }>('SELECT id, overrun FROM accounts WHERE overrun > 0')
      .all();
    for (const { id, overrun: owes } of pending)
      if (started.has(id)) worst = Math.max(worst, owes / (started.get(id) ?? 1));
  }
  return { ...sum, overrun: overrun() - before, worst, talks: spoken };
}

describe('thousands of mixtures of parallel requests', () => {
  test('exact, no balance is below zero and nothing overruns', async () => {
    const count = often(800, 8000);
    const results = await mixtures(count, 20_261_122);
    figure(`${summaryOf(results)}, balances below zero ${lows().length}`);
    expect(lows()).toEqual([]);
    expect(results).toMatchObject({ overrun: 0, changedForNothing: 0, rejectedWrongly: 0 });
    expect(results.talks).toMatchObject({ changedForNothing: 0, rejectedWrongly: 0 });
    expect(Math.min(results.served, results.shortened, results.rejected)).toBeGreaterThan(count / 8);
    expect(Math.min(results.talks.answered, results.talks.shortened, results.talks.rejected)).toBeGreaterThan(
      count / 80,
    );
  });

  test('a user who paid in three balances comes to owe three at most', async () => {
    paidTimes = 3;
    const results = await mixtures(often(200, 2000), 7);
    paidTimes = 0;
    figure(`three balances paid in: ${summaryOf(results)}, balances below zero ${lows().length}`);
    expect(lows()).toEqual([]);
    expect(results).toMatchObject({ changedForNothing: 0, rejectedWrongly: 0 });
    expect(results.talks).toMatchObject({ changedForNothing: 0, rejectedWrongly: 0 });
    expect(results.worst).toBeLessThanOrEqual(3);
  });

  test('the books agree', () => {
    // The keys of these users are in no table.
    const wrong = reportsOf(ledgerStats(sqliteOf(gateway.database).raw)).filter(
      ({ violations, examples }) => violations > 0 && !/^tokens/.test(examples[0] ?? ''),
    );
    expect(wrong).toEqual([]);
  });
});

test('a balance for ten has ten of thirty under way at once, and the others when what these hold comes free', async () => {
  const body = chatBody('gpt-4o-mini', '#00000000# hello', 1000, 1, false);
  const each = Math.round(
    quotaOf('gpt-4o-mini', prompts({ body, model: 'gpt-4o-mini' } as unknown as GeneratedRequest).bytes, 1000),
  );
  const id = 1000 + serial++;
  const keys = Array.from({ length: 30 }, () => 1_000_000 + serial++);
  await newUser(id, 10 * each, keys);
  most = 0;
  const one = generated({ path: '/v1/chat/completions', body, model: 'gpt-4o-mini', limit: 1000 });
  const answers = await Promise.all(keys.map((key) => ask(key, one)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(30);
  expect(most).toBe(10);
});
