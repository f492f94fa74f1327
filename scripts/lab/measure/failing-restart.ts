/**
 * What a restart forgets of a model that fails: `node scripts/launch.mjs lab/measure/failing-restart [stop|kill|take-over] [500|404|429|timeout]`.
 * One hundred requests of a model that fails at one of two channels, beside one hundred of a sound one, sixteen at once; in the middle the
 * gateway is stopped and started anew, killed twelve seconds after the failures, or replaced by a new process. Where nobody listens,
 * or a server says that it is shutting down, a client asks again, as SDKs do; an answer that breaks off is a failure.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { command, end, endAll, freePort, ownProgram, start, waitForResponse } from '../../../cli/bench/process.ts';

const how = process.argv[2] ?? 'stop';
const fault = process.argv[3] ?? '500';
const half = 50;
const atOnce = 16;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Calls of the failing model at the channel where it fails, since the last restart. */
let atFailing = 0;
const completion = (model: string): object => ({
  ...{ id: 'c', object: 'chat.completion', model },
  choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
});
const upstream = (fails: boolean) =>
  Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      const { model } = (await request.json()) as { model: string };
      const isFailure = fails && model === 'a';
      if (isFailure) atFailing++;
      await Bun.sleep(isFailure && fault === 'timeout' ? 5000 : 20);
      if (!isFailure || fault === 'timeout') return Response.json(completion(model));
      return Response.json({ error: { message: 'no', type: 'error' } }, { status: Number(fault) });
    },
  });
const [failing, sound] = [upstream(true), upstream(false)];

const folder = mkdtempSync(join(tmpdir(), 'gateway-failing-'));
const run = (args: readonly string[], input = ''): Promise<string> => command(ownProgram, folder, args, input);
await run(['setup', '--username', 'root', '--password-stdin', '--mode', 'self'], 'password1');
const names = ['failing', 'sound'] as const;
for (const [at, { port }] of [failing, sound].entries()) {
  const to = ['--base-url', `http://127.0.0.1:${port}`, '--models', 'a,b', '--first-byte-seconds', '1'];
  await run(['channel', 'add', '--type', 'openai', '--name', names[at] ?? '', ...to, '--key-stdin'], 'k');
}
const key = await run(['token', 'create', '--name', 'measure', '--quota', 'unlimited', '-q']);
const port = freePort();
const base = `http://127.0.0.1:${port}`;
const serve = async (...more: readonly string[]): Promise<Bun.Subprocess> => {
  const child = start(null, [...ownProgram, 'serve', '--port', String(port), '--relays', '2', ...more], {
    GATEWAY_DATA_DIR: folder,
  });
  await waitForResponse(`${base}/readyz`, (status) => status === 200);
  return child;
};

const tallies = { a: { ok: 0, failed: 0 }, b: { ok: 0, failed: 0 } };
let again = 0;
/** What was answered instead of an answer. */
const refusals = new Set<string>();
async function ask(model: 'a' | 'b', number: number): Promise<void> {
  for (;;) {
    const response = await fetch(`${base}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      // Conversations that begin alike stay with their channel.
      body: JSON.stringify({ model, messages: [{ role: 'user', content: `question ${number}` }] }),
    }).catch(() => null);
    const text = response === null ? '' : await response.text().catch(() => null);
    if (response === null || (response.status === 503 && text?.includes('shutting_down') === true)) {
      again++;
      await Bun.sleep(20);
      continue;
    }
    const isServed = response.ok && text !== null;
    if (!isServed) refusals.add(`${model}: ${response.status} ${text?.slice(0, 200)}`);
    tallies[model][isServed ? 'ok' : 'failed']++;
    return;
  }
}
let asked = 0;
async function besides(count: number): Promise<void> {
  const left = { a: count, b: count };
  const place = async (model: 'a' | 'b'): Promise<void> => {
    while (left[model]-- > 0) await ask(model, asked++);
  };
  await Promise.all(Array.from({ length: atOnce }, (_, at) => place(at % 2 === 0 ? 'a' : 'b')));
}
const conditions = async (): Promise<string> => {
  const { channels } = JSON.parse(await run(['route', 'explain', 'a', '--json'])) as {
    readonly channels: readonly { readonly name: string; readonly condition: string; readonly wait_ms: number }[];
  };
  return channels.map(({ name, condition, wait_ms }) => `${name} ${condition} ${wait_ms} ms`).join(', ');
};

try {
  let gateway = await serve();
  await besides(half);
  say(`before: ${atFailing} calls of the failing model at the channel where it fails; ${await conditions()}`);
  // Health is written every ten seconds.
  if (how === 'kill') await Bun.sleep(12_000);
  atFailing = 0;
  const rest = besides(half);
  if (how === 'take-over') {
    const before = gateway;
    gateway = await serve('--take-over');
    await before.exited;
  } else {
    if (how === 'kill') {
      await rest;
      gateway.kill('SIGKILL');
      await gateway.exited;
    } else await end(gateway);
    say(`kept: ${statSync(join(folder, 'health.json')).size} bytes`);
    gateway = await serve();
  }
  say(`after: ${await conditions()}`);
  await rest;
  await besides(half);
  const { a, b } = tallies;
  say(
    `${how}, ${fault}: the other model ${b.ok} of ${b.ok + b.failed} served, the failing one ${a.ok} of ${a.ok + a.failed}`,
  );
  say(`${again} asked again; after the first half ${atFailing} calls of the failing model where it fails`);
  for (const line of [...refusals].slice(0, 10)) say(line);
  process.exitCode = b.failed === 0 ? 0 : 1;
} finally {
  await endAll();
  await Promise.all([failing.stop(true), sound.stop(true)]);
  rmSync(folder, { recursive: true, force: true });
}
process.exit();
