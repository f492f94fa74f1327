/**
 * What a changed channel costs the relay loop: how long the change itself holds it, and what the plans that it makes new cost the
 * requests that ask for them.
 *
 *     bun scripts/lab/measure/changed-channel.ts [--channels 5000] [--models 500] [--rounds 20]
 */
import type { ChannelSnapshot, SnapshotDelta } from '../../../server/contract/snapshot.ts';
import { makePlan } from '../../../server/relay/admission/plan.ts';
import { outline } from '../../../server/relay/intake/json-text.ts';
import { readPrompt } from '../../../server/relay/intake/prompt.ts';
import { relayRouteFor } from '../../../server/relay/intake/routes.ts';
import { createAffinity } from '../../../server/relay/routing/affinity.ts';
import { Health } from '../../../server/relay/routing/health.ts';
import { createRelayState } from '../../../server/relay/state/state.ts';

const args = process.argv.slice(2);
const number = (name: string, fallback: number): number =>
  args.includes(name) ? Number(args[args.indexOf(name) + 1]) : fallback;
const count = number('--channels', 5000);
const iterations = number('--rounds', 20);
const models = Array.from({ length: number('--models', 500) }, (_, at) => `model-${at}`);

const channelOf = (id: number, weight = 0): ChannelSnapshot => ({
  id,
  name: `c${id}`,
  type: 1,
  keys: ['k'],
  baseUrl: '',
  organization: '',
  other: '',
  models,
  groups: ['default'],
  priority: 0,
  weight,
  status: 1,
  autoBan: false,
  tag: '',
  testModel: '',
  modelMapping: {},
  statusCodeMapping: {},
  paramOverride: {},
  setting: {},
});
const nothing = () => undefined;
const state = createRelayState(
  {
    observeUser: nothing,
    observeToken: nothing,
    evictUser: nothing,
    evictToken: nothing,
    observeBudgets: nothing,
  },
  Date.now,
);
const ratios = Object.fromEntries(models.map((model, at) => [model, 1 + (at % 9)]));
state.apply({
  kind: 'snapshot',
  seq: 0,
  users: [],
  tokens: [],
  channels: Array.from({ length: count }, (_, at) => channelOf(at + 1)),
  options: { ModelRatio: JSON.stringify(ratios) },
});
const health = new Health({ now: () => performance.now(), random: Math.random, failure: nothing });
const deps = { state, health, affinity: createAffinity(() => performance.now()), random: Math.random };
const user = {
  id: 1,
  username: 'u',
  role: 1,
  status: 1,
  group: 'default',
  balance: 1e12,
  used: 0,
  balanceVersion: 0,
  overrun: 0,
  setting: {},
};
const principal = { user, token: null, keyHmac: '', group: 'default', pinnedChannel: null };
const matched = relayRouteFor('/v1/chat/completions');
if (matched === undefined) throw new Error('no route');
const { route } = matched;

function request(model: string): number {
  const body = { model, messages: [{ role: 'user', content: 'hello there' }] };
  const text = JSON.stringify(body);
  const shape = outline(text);
  if (!shape.ok) throw new Error('no outline');
  const parsed = {
    requestId: 'r',
    startedMs: 0,
    route,
    protocol: route.protocol,
    operation: route.operation,
    model,
    stream: true,
    json: { text, shape, bytes: new TextEncoder().encode(text) },
    form: null,
    body,
    prompt: readPrompt(body),
    request: new Request('http://relay/'),
    clientHeaders: {},
  };
  const startedAt = performance.now();
  const plan = makePlan(deps, parsed, principal);
  if (plan.candidates.at(0) === undefined) throw new Error('no channel');
  const took = performance.now() - startedAt;
  const expected = ratios[model];
  if (plan.prices.modelRatio !== expected) throw new Error(`${model} at ${plan.prices.modelRatio}`);
  return took;
}

const all = (): number[] => models.map(request);
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
const max = (values: readonly number[]): number => Math.max(...values);
const ms = (value: number): string => `${value.toFixed(3)} ms`;

all();
all();
const baseline = all();
const before: number[] = [];
const after: number[] = [];
for (let round = 0; round < iterations; round++) {
  const delta: SnapshotDelta = {
    kind: 'delta',
    seq: round + 1,
    users: [],
    tokens: [],
    channels: [channelOf(1 + Math.floor(Math.random() * count), round + 1)],
    options: {},
    removed: { users: [], tokens: [], channels: [] },
  };
  const startedAt = performance.now();
  state.apply(delta);
  before.push(performance.now() - startedAt);
  after.push(...all());
}
console.log(`${count} channels of ${models.length} models, one changed ${iterations} times`);
console.log(`the change holds the loop for ${ms(median(before))} (median), ${ms(max(before))} at most`);
console.log(
  `a request plans in ${ms(median(baseline))}, the first of its model after a change in ${ms(median(after))} (median), ${ms(max(after))} at most`,
);
