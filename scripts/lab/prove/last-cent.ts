/**
 * Can the last cent of a balance be spent, and can nobody spend more than his allowance beyond it?
 * `node scripts/launch.mjs lab/prove/last-cent --seed N --turns 1000 [--letters 600000] [--only sessions|least|parallel|liars] [--recording FILE [--program NAME]]`.
 *
 * Users who paid in $5 work with agents' sessions of about 15,000, 50,000 and 150,000 tokens against a provider that bills by the published
 * rules of prompt caching (`last-cent/provider.ts` and `openai.ts`, which share no line with gateway). What is due is computed by them alone.
 * With a recording of `lab/agents/record` the sessions are those of real programs, varied by the seed; liars stay as they are.
 */

import { topUpRef } from '../../../server/billing/ledger/commands.ts';
import { systemTimers } from '../../../server/contract/timers.ts';
import { encodingFor } from '../../../server/relay/admission/counting/encodings.ts';
import { createTestGateway } from '../../../tests/support/gateway.ts';
import { OpenAiProvider, openAiStreamOf } from './last-cent/openai.ts';
import { type Billed, type CachingProvider, Provider, priceOf, streamOf } from './last-cent/provider.ts';
import { type Recorded, RecordedSession, recordedIn } from './last-cent/recorded.ts';
import { type AgentSession, prose, type Random, randomFrom, Session } from './last-cent/sessions.ts';
import { flag, numberFlag } from './planted/flags.ts';

const seed = numberFlag('seed', 1);
const mostTurns = numberFlag('turns', 1000);
const only = flag('only');
const dollar = 500_000;
const paidIn = 5 * dollar;
const allowance = 2 * dollar;
const model = 'claude-sonnet-4-5';
const openAiModel = 'gpt-5';
const messagesPath = '/v1/messages';
/** Turns after which the user is away for longer than the provider keeps a prompt: the next one is billed in full. */
const pauseShare = numberFlag('pauses', 0.002);
/** The shortest answer that is worth asking for, at $15 a million tokens: no stream begins with less. */
const shortestAnswer = 4096 * 7.5;
const sizes = flag('letters') === undefined ? [600_000, 200_000, 60_000] : [numberFlag('letters', 0)];

type Json = Readonly<Record<string, unknown>>;
const random = randomFrom(seed);
const between = (low: number, high: number): number => low + random() * (high - low);
let laterMs = 0;
const timers = { ...systemTimers, monoNow: () => systemTimers.monoNow() + laterMs };
const minutesPass = (minutes: number): void => {
  laterMs += minutes * 60_000;
};

/** Letters that the provider's tokens have. */
let lettersPerToken = (_text: string): number => 4;
const rules = { lettersPerToken: (text: string) => lettersPerToken(text), now: timers.monoNow };
const provider = new Provider(rules);
const openAi = new OpenAiProvider(rules);
const providerOf = (path: string): CachingProvider => (path.endsWith(messagesPath) ? provider : openAi);
/** What the next answers write. */
let answerTokens = 200;
/** What an upstream says of itself, where it is not the provider. */
let forged: ((billed: Billed) => Billed) | null = null;
let gate = Promise.resolve();
let sent = 0;
/** As the last prompt went out: the gateway takes it from a conversation whose answers show no thoughts, as these are. */
let lastThinking: unknown;

async function upstreamFetch(url: string, init?: { readonly body?: unknown }): Promise<Response> {
  const raw = init?.body ?? '';
  const body = JSON.parse(typeof raw === 'string' ? raw : Buffer.from(raw as Uint8Array).toString()) as Json;
  sent++;
  lastThinking = body.thinking;
  const { pathname } = new URL(url);
  const named = [body.max_tokens, body.max_output_tokens, body.max_completion_tokens].filter((one) => one != null);
  const billed = providerOf(pathname).bill(body, Math.min(answerTokens, ...named.map(Number)));
  await gate;
  const words = 'word '.repeat(billed.output);
  const reported = forged === null ? billed : forged(billed);
  const stream = pathname.endsWith(messagesPath)
    ? streamOf(model, words, reported)
    : openAiStreamOf(pathname, openAiModel, words, reported);
  return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
}

const count = await encodingFor(model);
const gateway = await createTestGateway({
  engine: 'sqlite',
  quota: 0,
  upstreamFetch: upstreamFetch as unknown as typeof fetch,
  relay: {
    timers,
    counter: {
      count: async (_model, texts) => texts.map((text) => (text === '' ? 0 : count(text))),
      close: () => undefined,
    },
  },
});
await gateway.channel('https://api.anthropic.com', { type: 14, models: model });
await gateway.channel('', { type: 1, models: openAiModel });

const recordingFile = flag('recording');
const program = flag('program');
const everything = recordingFile === undefined ? null : recordedIn(recordingFile);
const recording = everything && {
  ...everything,
  sessions: everything.sessions.filter((one) => program === undefined || one.program === program),
};
/** 0 = nothing was recorded. */
const programs = new Set(recording?.sessions.map((one) => one.program)).size;
if (recording !== null) {
  const byProgram = Map.groupBy(recording.sessions, (one) => one.program);
  const texts = [...byProgram].map(([name, all]) => `${name} ${all.length}`);
  console.log(`${recording.requests} recorded requests, conversations: ${texts.join(', ')}`);
}

interface User {
  readonly id: number;
  readonly name: string;
  readonly key: string;
}
const users: User[] = [];

async function newUser(quota = paidIn): Promise<User> {
  const name = `user${users.length + 1}`;
  const id = await gateway.services.users.create({
    ...{ username: name, password: 'password1', displayName: '', role: 1, quota: 0 },
  });
  gateway
    .raw()
    .prepare(
      "INSERT INTO top_ups (user_id, trade_no, method, amount, quota, money, currency, created_at) VALUES (?, ?, 'epay', 1, ?, 730, 'cny', 1)",
    )
    .run(id, name, quota);
  await gateway.sync();
  const paid = await gateway.ledger.execute({
    ...{
      type: 'topup',
      ref: topUpRef(name),
      tradeNo: name,
      userId: id,
      amount: quota,
      callbackId: 0,
      at: 1,
      log: null,
    },
  });
  if (paid.status !== 'done') throw new Error(`top-up: ${JSON.stringify(paid)}`);
  const { key } = await gateway.services.tokens.create(id, { name: 't', unlimited_quota: true });
  await gateway.sync();
  const user = { id, name, key };
  users.push(user);
  return user;
}

async function moneyOf({ id }: User): Promise<{ readonly balance: number; readonly overrun: number }> {
  await gateway.ledger.drain();
  const [row] = await gateway.rows<{ readonly balance: number; readonly overrun: number }>(
    'SELECT balance, overrun FROM accounts WHERE id = ?',
    id,
  );
  if (row === undefined) throw new Error('no account');
  return row;
}

let moves = 0;
/** Leaves the user so much, whatever he had. */
async function leave(user: User, quota: number): Promise<void> {
  const { balance } = await moneyOf(user);
  const amount = Math.abs(quota - balance);
  if (amount === 0) return;
  const more = { ref: `move${++moves}`, userId: user.id, amount, at: 1, log: null };
  await gateway.ledger.execute(quota > balance ? { type: 'grant', ...more } : { type: 'deduct', ...more });
}

/** @returns whether it was served. */
async function ask({ key }: User, body: Json, path = messagesPath): Promise<boolean> {
  const response = await gateway.send(key, path, body, { headers: { 'anthropic-version': '2023-06-01' } });
  const text = await response.text();
  return response.status === 200 && /message_stop|response\.completed|"finish_reason":"stop"/.test(text);
}
const askedBy = (user: User, session: AgentSession, tail: string | null = null): Promise<boolean> =>
  ask(user, session.body(tail), session.path);

const wrong: string[] = [];
const shown = (quota: number): string => `$${(quota / dollar).toFixed(4)}`;
const part = (share: number): string => `${(100 * share).toFixed(2)} %`;
const sorted = (values: readonly number[]): readonly number[] => values.toSorted((a, b) => a - b);
const atShare = (values: readonly number[], share: number): number =>
  sorted(values)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;

const newSession = (own: Random, letters: number, user: User, maxTokens = 8192): Session =>
  new Session(own, { model, name: user.name, letters, maxTokens });

/** @param at its number: programs take turns. */
function agentSession(at: number, own: Random, letters: number, user: User): AgentSession {
  const recorded: Recorded | undefined = recording?.sessions[at % Math.max(1, recording.sessions.length)];
  if (recorded === undefined) return newSession(own, letters, user);
  const named = recorded.path.endsWith(messagesPath) ? model : openAiModel;
  return new RecordedSession(own, recorded, { model: named, name: user.name, letters, maxTokens: 0 });
}
/** What its next turn costs. */
const billOf = ({ path }: AgentSession, body: Json): Billed =>
  providerOf(path).bill(body.thinking === undefined ? body : { ...body, thinking: lastThinking }, answerTokens, false);
/**
 * Of the shortest answer that is worth asking for, with one search at $0.01 that reads 10,000 tokens where its provider may make one.
 * Where a program says how long its model may think, that is part of the prompt: a shorter one would not be read from the cache.
 */
function shortestOf(session: AgentSession, { rates }: Billed): number {
  if (!(session instanceof RecordedSession)) return 4096 * rates.output;
  const search = session.searches ? 0.01 * dollar + 10_000 * rates.input : 0;
  return (session.namedAnswer ?? 4096) * rates.output + search;
}

/** Until a turn is refused. */
async function sessions(): Promise<void> {
  let turns = 0;
  for (let at = 0; turns < mostTurns; at++) {
    const letters = sizes[at % sizes.length] ?? 60_000;
    const user = await newUser();
    const perToken = between(3.6, 4.4);
    lettersPerToken = () => perToken;
    const session = agentSession(Math.floor(at / sizes.length), randomFrom(seed * 1000 + at), letters, user);
    let own = 0;
    let due = 0;
    let shortest = 0;
    let isCached = false;
    for (;;) {
      answerTokens = Math.floor(between(40, 700));
      const body = session.body();
      const billed = billOf(session, body);
      due = priceOf(billed);
      shortest = shortestOf(session, billed);
      isCached = billed.read > 0;
      if (!(await ask(user, body, session.path))) break;
      own++;
      session.goOn('word '.repeat(answerTokens));
      minutesPass(random() < pauseShare ? 6 : between(0.05, 1.5));
      if (turns + own >= mostTurns) break;
    }
    turns += own;
    const { balance, overrun } = await moneyOf(user);
    const ended = turns < mostTurns;
    console.log(
      `session of ${letters / 4000}k tokens${session instanceof RecordedSession ? ` (${session.program})` : ''}: ${own} turns, spent ${part((paidIn - balance) / paidIn)}${ended ? `, left ${shown(balance)}, next turn ${shown(due)}` : ' so far'}, overrun ${shown(overrun)}`,
    );
    if (!ended) break;
    // What is left does not pay for the next turn, or it is little of what was paid in.
    if (balance >= Math.max(due * 2, due * 1.25 + shortest))
      wrong.push(`${user.name} was refused with ${shown(balance)} where the turn costs ${shown(due)}`);
    const by = session instanceof RecordedSession ? session.program : '';
    shares.push({ letters, by, share: (paidIn - balance) / paidIn, left: balance / due, isCached });
  }
  console.log(`${turns} turns`);
}
/** `isCached`: its next turn would have read what the one before wrote: after a pause nothing of a long prompt is there. */
const shares: {
  readonly letters: number;
  /** The program, '' = none was recorded. */
  readonly by: string;
  readonly share: number;
  readonly left: number;
  readonly isCached: boolean;
}[] = [];

/** The smallest balance with which a cached session goes on, as a multiple of what its next turn costs. */
async function least(): Promise<void> {
  const factors = [1, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 8, 12, 20, 40];
  const found: { readonly letters: number; readonly least: number }[] = [];
  let isTooMuch = false;
  for (let at = 0; at < sizes.length * Math.max(3, programs); at++) {
    const letters = sizes[at % sizes.length] ?? 60_000;
    const user = await newUser();
    const perToken = between(3.6, 4.4);
    lettersPerToken = () => perToken;
    const session = agentSession(Math.floor(at / sizes.length), randomFrom(seed * 2000 + at), letters, user);
    for (let turn = 0; turn < 2; turn++) {
      answerTokens = 200;
      if (!(await askedBy(user, session))) throw new Error('a session could not begin');
      session.goOn('word '.repeat(answerTokens));
      minutesPass(0.5);
    }
    answerTokens = Math.floor(between(40, 700));
    const body = session.body();
    const billed = billOf(session, body);
    const due = priceOf(billed);
    let least = Number.POSITIVE_INFINITY;
    for (const factor of factors) {
      await leave(user, Math.ceil(due * factor));
      if (!(await ask(user, body, session.path))) continue;
      least = factor;
      break;
    }
    found.push({ letters, least });
    isTooMuch ||= least > 2 && due * (least - 1.25) > shortestOf(session, billed) * 1.25;
  }
  for (const letters of sizes) {
    const own = sorted(found.flatMap((one) => (one.letters === letters ? [one.least] : [])));
    console.log(
      `smallest balance at which a session of ${letters / 4000}k tokens goes on, in prices of its turn: ${own.join(', ')}`,
    );
  }
  if (isTooMuch)
    wrong.push('a session needs more than twice the price of its turn, and more than the shortest answer besides');
}

/**
 * Ten sub-agents at once on a balance for ten. How long an answer gets nobody knows before it is there: an exact hold has room for the
 * shortest one that is worth asking for beside the nine that run, and takes a text's tokens for half as many again as are counted.
 */
async function parallel(): Promise<void> {
  for (const { factor, besides } of [
    { factor: 1, besides: 0 },
    { factor: 1.1, besides: 0 },
    { factor: 1.25, besides: 0 },
    { factor: 1, besides: shortestAnswer },
    { factor: 1.25, besides: shortestAnswer },
  ]) {
    const served: number[] = [];
    for (const letters of sizes) {
      const user = await newUser();
      lettersPerToken = () => 4;
      const own = randomFrom(seed * 3000 + letters);
      const session = newSession(own, letters, user);
      answerTokens = 200;
      if (!(await ask(user, session.body()))) throw new Error('a session could not begin');
      session.goOn('word '.repeat(answerTokens));
      // One branch has written what all read.
      const tails = Array.from({ length: 11 }, () => prose(own, 1500));
      if (!(await ask(user, session.body(tails[0])))) throw new Error('no branch');
      const bodies = tails.slice(1).map((tail) => session.body(tail));
      const due = bodies.reduce((sum, body) => sum + priceOf(provider.bill(body, answerTokens, false)), 0);
      await leave(user, Math.ceil(due * factor) + besides);
      const results = await Promise.all(bodies.map((body) => ask(user, body)));
      served.push(results.filter(Boolean).length);
    }
    const more = besides > 0 ? ` and the shortest answer (${shown(besides)})` : '';
    console.log(`ten at once on ${factor} times what ten cost${more}: ${served.join(', ')} served`);
    if (besides > 0 && served.some((all) => all < 10)) wrong.push('of ten parallel answers not all are served');
  }
}

/** Who wants to pay less. Each has been answered, and has little left. */
async function liars(): Promise<void> {
  const letters = 120_000;
  const many = async (user: User, bodies: readonly Json[]) => {
    const opened = Promise.withResolvers<void>();
    gate = opened.promise;
    const before = sent;
    const all = Promise.all(bodies.map((body) => ask(user, body)));
    await Bun.sleep(200);
    opened.resolve();
    gate = Promise.resolve();
    const served = (await all).filter(Boolean).length;
    return { served, sent: sent - before };
  };
  const kinds: Readonly<Record<string, (user: User, session: Session, own: Random) => Promise<readonly Json[]>>> = {
    'another prompt under the same name': async (user, _session, own) =>
      Array.from({ length: 20 }, () => newSession(own, letters, user).body()),
    'a prefix changed in its first letter': async (_user, session) =>
      Array.from({ length: 20 }, (_, at) => {
        const body = session.body();
        const [first, ...others] = body.system as readonly { readonly text: string }[];
        return { ...body, system: [{ ...first, text: `${at % 10}${first?.text ?? ''}` }, ...others] };
      }),
    'the provider forgot it': async (_user, session, own) => {
      provider.forget();
      // No mark: nothing is written, so that each pays for all of it.
      return Array.from({ length: 50 }, () => session.body(prose(own, 400)));
    },
    'texts that the provider makes far more tokens of': async (_user, session, own) => {
      const usual = lettersPerToken;
      lettersPerToken = (text) => (text.includes('zqzq') ? 1.2 : usual(text));
      return Array.from({ length: 20 }, () => session.body(`zqzq${prose(own, 60_000)}`));
    },
    '500 first turns at once': async (user, _session, own) => {
      const body = newSession(own, 40_000, user).body();
      return Array.from({ length: 500 }, (_, at) => ({
        ...body,
        messages: [{ role: 'user', content: `${at} ${prose(own, 4000)}` }],
      }));
    },
    'cached tokens that an upstream of his own reports': async (user, _session, own) => {
      await gateway.channel('https://liar.example', { type: 14, models: `${model}-x` });
      const session = new Session(own, { model: `${model}-x`, name: user.name, letters, maxTokens: 1000 });
      await gateway.option('ModelRatio', JSON.stringify({ [`${model}-x`]: 1.5 }));
      forged = ({ input, read, written, ...rest }) => ({ ...rest, input: 0, written: 0, read: input + read + written });
      for (let at = 0; at < 3; at++) await ask(user, session.body());
      forged = ({ input, read, ...rest }) => ({ ...rest, input: input + read, read: 0 });
      return Array.from({ length: 20 }, () => session.body(prose(own, 400)));
    },
  };
  for (const [kind, prepare] of Object.entries(kinds)) {
    lettersPerToken = () => 4;
    forged = null;
    answerTokens = 100;
    const own = randomFrom(seed * 4000);
    const user = await newUser();
    const session = newSession(own, letters, user, 1000);
    for (let at = 0; at < 3; at++) {
      if (!(await ask(user, session.body()))) throw new Error('a session could not begin');
      session.goOn('word '.repeat(answerTokens));
    }
    const bodies = await prepare(user, session, own);
    await leave(user, Math.round(0.1 * dollar));
    const result = await many(user, bodies);
    const { balance, overrun } = await moneyOf(user);
    console.log(
      `${kind}: ${result.served} of ${bodies.length} served, left ${shown(balance)}, overrun ${shown(overrun)} of ${shown(allowance)}`,
    );
    if (overrun > allowance) wrong.push(`${kind}: owes ${shown(overrun)}`);
  }
  forged = null;
  lettersPerToken = () => 4;
}

const shows = { sessions, least, parallel, liars };
for (const [name, show] of Object.entries(shows)) if (only === undefined || only === name) await show();

for (const [name, all] of Map.groupBy(shares, ({ letters, by }) =>
  `sessions of ${letters / 4000}k tokens ${by}`.trim(),
)) {
  const own = all.filter(({ isCached }) => isCached);
  if (all.length > own.length)
    console.log(`${name}: ${all.length - own.length} ended where a pause had lost the cache`);
  if (own.length === 0) continue;
  const spent = own.map(({ share }) => share);
  console.log(
    `${name}: ${own.length}, share of $5 that was spent: least ${part(Math.min(...spent))}, median ${part(atShare(spent, 0.5))}; left, in prices of the next turn: at most ${Math.max(...own.map(({ left }) => left)).toFixed(2)}`,
  );
}
const [sums] = await gateway.rows<{ readonly spent: number; readonly owed: number; readonly lowest: number }>(
  'SELECT sum(overrun) AS owed, min(balance) AS lowest, (SELECT sum(quota) FROM logs) AS spent FROM accounts WHERE id > 0',
);
console.log(
  `overrun ${shown(sums?.owed ?? 0)} of ${shown(sums?.spent ?? 0)} spent (${part((sums?.owed ?? 0) / Math.max(1, sums?.spent ?? 1))}), lowest balance ${shown(sums?.lowest ?? 0)}`,
);
if ((sums?.lowest ?? 0) < 0) wrong.push('a balance is below zero');
for (const trouble of await gateway.verify()) wrong.push(`ledger: ${JSON.stringify(trouble)}`);
for (const text of wrong) console.log(`WRONG: ${text}`);
await gateway.close();
process.exit(wrong.length === 0 ? 0 : 1);
