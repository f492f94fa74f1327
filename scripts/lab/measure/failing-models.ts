/**
 * Whether a model that fails harms another one of the same channels: `node scripts/launch.mjs lab/measure/failing-models [rounds] [500,404,429,timeout]`.
 * One hundred requests of a failing model beside as many of a sound one, sixteen at once; the same beside a sound neighbour gives the
 * latency to compare with, in turns, so that the load of the machine is in both. Then weights of 0, a dead host with 300 models, and the
 * memory of 5,000 channels with ten keys and 500 models that fail everywhere.
 */

import { heapStats } from 'bun:jsc';
import type { ChannelSnapshot } from '../../../server/contract/snapshot.ts';
import { Health } from '../../../server/relay/routing/health.ts';
import type { UpstreamFailure } from '../../../server/relay/shared/failure.ts';
import { createTestGateway } from '../../../tests/support/gateway.ts';

const rounds = Number(process.argv[2] ?? 3);
const kinds = (process.argv[3] ?? '500,404,429,timeout').split(',') as readonly Fault[];
const requests = 100;
const atOnce = 16;
const answerMs = 20;

type Fault = 'none' | '500' | '404' | '429' | 'timeout';
let fault: Fault = 'none';
let called: string[] = [];
const upstream = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 0,
  async fetch(request) {
    const { model } = (await request.json()) as { model: string };
    called.push(model);
    if (model === 'a' && fault === 'timeout') await Bun.sleep(5000);
    else await Bun.sleep(answerMs);
    if (model === 'a' && fault !== 'none' && fault !== 'timeout')
      return Response.json({ error: { message: 'no', type: 'error' } }, { status: Number(fault) });
    return Response.json({
      ...{ id: 'c', object: 'chat.completion', model },
      choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    });
  },
});
const url = `http://127.0.0.1:${upstream.port}`;

const gateway = await createTestGateway({ quota: 1_000_000_000 });
await gateway.option('SelfUseModeEnabled', 'true');
const { key } = await gateway.token();

interface Answer {
  readonly ok: boolean;
  readonly ms: number;
  /** Ids of the channels that were tried. */
  readonly tried: readonly string[];
}
async function ask(model: string): Promise<Answer> {
  const from = performance.now();
  const path = '/v1/chat/completions';
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  await response.text();
  const [, tried = ''] = /tried=([\d,]*)/.exec(response.headers.get('x-gateway-trace') ?? '') ?? [];
  return { ok: response.ok, ms: performance.now() - from, tried: tried.split(',') };
}

/** Half of the places ask one model, half the other. @returns the answers of the second. */
async function besides(): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  const run = async (model: string, times: { left: number }): Promise<void> => {
    while (times.left-- > 0) {
      const answer = await ask(model);
      if (model === 'b') answers.push(answer);
    }
  };
  const [ofA, ofB] = [{ left: requests }, { left: requests }];
  const places = Array.from({ length: atOnce }, (_, at) => (at % 2 === 0 ? run('a', ofA) : run('b', ofB)));
  await Promise.all(places);
  return answers;
}

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

// A limit of the channel's own holds for every model; that of the site spares those that may think.
const setting = JSON.stringify({ first_answer_seconds: 1 });
const made: number[] = [];
for (const name of ['one', 'two']) made.push(await gateway.channel(url, { name, models: 'a,b', setting }));
await besides();
for (const kind of kinds) {
  const [beside, alone]: [number[], number[]] = [[], []];
  let served = 0;
  let all = 0;
  for (let round = 0; round < rounds; round++) {
    fault = kind;
    const answers = await besides();
    served += answers.filter(({ ok }) => ok).length;
    all += answers.length;
    beside.push(...answers.map(({ ms }) => ms));
    fault = 'none';
    alone.push(...(await besides()).map(({ ms }) => ms));
  }
  const [own, usual] = [median(beside), median(alone)];
  say(
    `${kind}: ${served} of ${all} of the other model served; median ${own.toFixed(1)} ms beside failures, ${usual.toFixed(1)} ms beside a sound model (${((own / usual - 1) * 100).toFixed(1)} %)`,
  );
}
for (const id of made) await gateway.services.channels.remove(id);

await gateway.option('general_setting.plain_weights', 'true');
called = [];
await gateway.channel(url, { name: 'weighty', models: 'w', weight: 5 });
await gateway.channel(url, { name: 'weightless', models: 'w', model_mapping: '{"w":"w-none"}', weight: 0 });
for (let n = 0; n < 200; n++) await ask('w');
say(`weight 0: ${called.filter((model) => model === 'w-none').length} of ${called.length}`);

const names = Array.from({ length: 300 }, (_, at) => `m${at}`);
const dead = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
const deadUrl = `http://127.0.0.1:${dead.port}`;
await dead.stop(true);
const deadId = await gateway.channel(deadUrl, { name: 'dead', models: names.join(','), priority: 9 });
await gateway.channel(url, { name: 'sound', models: names.join(',') });
await gateway.option('general_setting.route_trace_enabled', 'true');
let toDead = 0;
let failed = 0;
for (const model of names) {
  const { ok, tried } = await ask(model);
  if (!ok) failed++;
  toDead += tried.filter((id) => id === String(deadId)).length;
}
say(`dead host with ${names.length} models: ${toDead} calls until it was out, ${failed} requests failed`);

const health = new Health({ now: () => performance.now(), random: Math.random, failure: () => undefined });
const models = Array.from({ length: 500 }, (_, at) => `model-${at}`);
const channels = Array.from(
  { length: 5000 },
  (_, id): ChannelSnapshot => ({
    ...{
      id,
      name: `c${id}`,
      type: 1,
      keys: Array.from({ length: 10 }, (_k, at) => `k${at}`),
      baseUrl: '',
      organization: '',
    },
    ...{
      other: '',
      models,
      groups: ['default'],
      priority: 0,
      weight: 1,
      status: 1,
      autoBan: true,
      tag: '',
      testModel: '',
    },
    ...{ modelMapping: {}, statusCodeMapping: {}, paramOverride: {}, setting: {} },
  }),
);
const failure = { class: 'host', reason: 'status', status: 500, error: null } as unknown as UpstreamFailure;
const refusedKey = { ...failure, class: 'key', status: 401 } as unknown as UpstreamFailure;
/** Objects and the columns that they own. */
const heap = (): number => {
  Bun.gc(true);
  return heapStats().heapSize;
};
const before = heap();
// Each channel at 40 of them: many more pairs than are kept. Then each of its keys by itself.
for (const [number, channel] of channels.entries()) {
  for (let at = 0; at < 40; at++)
    health.failed(channel, models[(number * 7 + at * 13) % 500] ?? '', at % 10, failure, at);
  for (let at = 0; at < 10; at++) health.failed(channel, models[0] ?? '', at, refusedKey, at);
}
say(`5,000 channels, 500 models, ten keys, failing everywhere: heap + ${((heap() - before) / 1e6).toFixed(1)} MB`);
// The health is used, so that it is not collected before.
say(`a pair of them: ${health.condition(channels.at(-1) as ChannelSnapshot, 'model-499')}`);

await gateway.close();
await upstream.stop(true);
process.exit(0);
