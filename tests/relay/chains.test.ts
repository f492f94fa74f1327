/** Requests for virtual models: which target is tried, what makes the next one follow, and what is charged. */
import type { ServerResponse } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import type { ChainTarget } from '../../server/contract/virtual-models.ts';
import { often } from '../support/often.ts';
import { randomOf } from '../support/random.ts';
import { sharedGateway } from '../support/shared-gateway.ts';
import { completion, type Received, sendJson, sendStream } from '../support/upstream.ts';

const { gateway, upstream, key, row } = await sharedGateway({ random: () => 0 });
const dear = 'gpt-4o';
const cheap = 'gpt-4o-mini';

type Answer = (response: ServerResponse, received: Received) => unknown;
const answers = new Map<string, Answer>();
const good: Answer = (response) => sendJson(response, completion(200, 20));
const failing =
  (status: number, message = 'no', headers: Record<string, string> = {}): Answer =>
  (response) =>
    sendJson(response, { error: { message } }, status, headers);
const modelOf = ({ body }: Received): string => (JSON.parse(String(body)) as { model: string }).model;
const called = (): string[] => upstream.requests.map(modelOf);

/** Each model is served by a channel of its own, so that failures of one are not the other's. */
async function open(models: readonly string[], groups: Readonly<Record<string, string>> = {}): Promise<number[]> {
  upstream.script((response, received) => (answers.get(modelOf(received)) ?? good)(response, received));
  const ids: number[] = [];
  for (const name of models)
    ids.push(await gateway.channel(upstream.url, { name, models: name, group: groups[name] ?? 'default' }));
  return ids;
}
async function chain(targets: readonly ChainTarget[], fields: Readonly<Record<string, unknown>> = {}): Promise<void> {
  await gateway.services.virtualModels.create({ name: 'coder', targets, ...fields });
  await gateway.sync();
}
interface Asked {
  readonly headers?: Record<string, string>;
  readonly key?: string;
  readonly body?: Readonly<Record<string, unknown>>;
}
async function ask({ headers = {}, key: own = key, body = {} }: Asked = {}) {
  const messages = [{ role: 'user', content: 'hi' }];
  const response = await gateway.chat(own, { model: 'coder', messages, max_tokens: 50, ...body }, headers);
  return { status: response.status, text: await response.text(), headers: response.headers };
}
const detailsOf = async (): Promise<Record<string, unknown>> =>
  JSON.parse((await row())?.other ?? '{}') as Record<string, unknown>;

afterEach(async () => {
  answers.clear();
  const all = await gateway.services.virtualModels.list();
  for (const { id } of all) await gateway.services.virtualModels.update(id, { targets: [{ model: 'x' }] });
  for (const { id } of all) await gateway.services.virtualModels.remove(id);
  await gateway.option('RetryTimes', '0');
  await gateway.option('GroupLimits', '{}');
});

test('the first target serves, under its own name and at its own price', async () => {
  await open([dear, cheap]);
  await chain([{ model: cheap }, { model: dear }]);
  expect((await ask()).status).toBe(200);
  expect(called()).toEqual([cheap]);
  const virtual = await row();
  expect(virtual).toMatchObject({ model_name: cheap, prompt_tokens: 200, completion_tokens: 20 });
  expect(await detailsOf()).toMatchObject({ virtual_model: 'coder' });
  await ask({ body: { model: cheap } });
  const plain = await row();
  expect(plain?.quota).toBe(virtual?.quota);
  expect(JSON.parse(plain?.other ?? '{}')).not.toHaveProperty('virtual_model');
});

test('a target that fails is followed by the next, which is charged at its price, and the row says so', async () => {
  await open([dear, cheap]);
  answers.set(cheap, failing(500));
  await chain([{ model: cheap }, { model: dear }]);
  expect((await ask()).status).toBe(200);
  expect(called()).toEqual([cheap, dear]);
  const served = await row();
  expect(served?.model_name).toBe(dear);
  expect(await detailsOf()).toMatchObject({
    virtual_model: 'coder',
    admin_info: {
      chain: [
        { model: cheap, group: 'default', outcome: 'failed', failure: 'unavailable' },
        { model: dear, outcome: 'served' },
      ],
    },
  });
  await ask({ body: { model: dear } });
  expect((await row())?.quota).toBe(served?.quota);
});

test.each([
  ['rate_limited', failing(429, 'slow', { 'retry-after': '60' })],
  ['key', failing(401)],
  ['no_model', failing(404)],
  ['unavailable', failing(503)],
  ['context_too_long', failing(400, 'maximum context length is 10 tokens, resulted in 20 tokens')],
  [
    'content_refused',
    (response: ServerResponse) =>
      sendJson(response, { error: { message: 'filtered', code: 'content_filter', type: 'content_filter' } }, 400),
  ],
] as const)('a target that waits for %s follows that failure and no other', async (failure, answer) => {
  await open([dear, cheap]);
  const other = failure === 'key' ? 'timeout' : 'key';
  await chain([{ model: cheap }, { model: 'never', after: [other] }, { model: dear, after: [failure] }]);
  answers.set(cheap, answer);
  expect((await ask()).status).toBe(200);
  expect(called()).toEqual([cheap, dear]);
});

test.each([
  ["a client's mistake", failing(400, 'bad temperature'), 400],
  ['a prompt that is too long', failing(400, 'maximum context length is 10 tokens, resulted in 20 tokens'), 400],
] as const)('%s ends at the target that met it, where none asks for it', async (_name, answer, status) => {
  await open([dear, cheap]);
  answers.set(cheap, answer);
  await chain([{ model: cheap }, { model: dear }]);
  expect((await ask()).status).toBe(status);
  expect(called()).toEqual([cheap]);
});

test('attempts within a target follow RetryTimes, and going on counts as none', async () => {
  await gateway.option('RetryTimes', '1');
  await open([dear, cheap]);
  answers.set(cheap, failing(500));
  await chain([{ model: cheap }, { model: dear }]);
  expect((await ask()).status).toBe(200);
  expect(called()).toEqual([cheap, cheap, dear]);
});

test('ten calls are made at most, however long the chain is', async () => {
  await gateway.option('RetryTimes', '2');
  const models = ['gpt-4o', 'gpt-4o-mini', 'gpt-4.1', 'gpt-4.1-mini', 'gpt-4.1-nano'];
  await open(models);
  for (const model of models) answers.set(model, failing(500));
  await chain(models.map((model) => ({ model })));
  expect((await ask()).status).toBeGreaterThanOrEqual(500);
  expect(called()).toHaveLength(10);
});

test('after the first byte nothing follows', async () => {
  await open([dear, cheap]);
  const chunk = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hel' } }] })}\n\n`;
  answers.set(cheap, (response) => sendStream(response, [new TextEncoder().encode(chunk)]));
  await chain([{ model: cheap }, { model: dear }]);
  const { text } = await ask({ body: { stream: true } });
  expect(text).toContain('Hel');
  expect(called()).toEqual([cheap]);
});

test.each<[string, ChainTarget, Asked, Asked]>([
  ['longer prompts', { model: dear, prompt_over: 100 }, { body: prompt('word '.repeat(400)) }, {}],
  ['shorter prompts', { model: dear, prompt_up_to: 100 }, {}, { body: prompt('word '.repeat(400)) }],
  ['pictures', { model: dear, images: true }, { body: picture() }, {}],
  ['no pictures', { model: dear, images: false }, {}, { body: picture() }],
  ['thinking', { model: dear, thinking: true }, { body: { reasoning_effort: 'high' } }, {}],
  ['sub-agents', { model: dear, classes: ['subagent'] }, says('subagent'), says('main')],
  ['auxiliary work', { model: dear, classes: ['auxiliary'] }, says('auxiliary'), {}],
  [
    'compactions',
    { model: dear, classes: ['compaction'] },
    { headers: { 'x-openai-subagent': 'compact' } },
    says('main'),
  ],
  [
    'one kind of agent',
    { model: dear, agent_types: ['Explore'] },
    { headers: { 'x-claude-code-agent-type': 'Explore' } },
    { headers: { 'x-claude-code-agent-type': 'Plan' } },
  ],
])('a target for %s takes those alone', async (_name, target, meant, other) => {
  await open([dear, cheap]);
  await chain([target, { model: cheap }]);
  await ask(meant);
  await ask(other);
  expect(called()).toEqual([dear, cheap]);
});
function says(value: string): Asked {
  return { headers: { 'x-claude-code-request-class': value } };
}
function prompt(content: unknown): Readonly<Record<string, unknown>> {
  return { messages: [{ role: 'user', content }] };
}
function picture(): Readonly<Record<string, unknown>> {
  return prompt([{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }]);
}

test('a target names its channel, and no other serves it', async () => {
  await open([cheap]);
  const [second] = await open([cheap]);
  await chain([{ model: cheap, channel: second ?? 0 }]);
  await ask();
  expect((await row())?.channel).toBe(second);
});

test('another group is reached where the user may use it, at its prices', async () => {
  await gateway.option('GroupRatio', '{"default":1,"vip":2,"secret":3}');
  await gateway.option('UserUsableGroups', '{"default":"d","vip":"v"}');
  await open([dear, cheap], { [dear]: 'secret', [cheap]: 'vip' });
  await chain([
    { model: dear, group: 'secret' },
    { model: cheap, group: 'vip' },
  ]);
  expect((await ask()).status).toBe(200);
  expect(called()).toEqual([cheap]);
  expect(await row()).toMatchObject({ group: 'vip' });
  expect(await detailsOf()).toMatchObject({ group_ratio: 2 });
});

test('no request leaves the boundary, the group of its key among what it must not be', async () => {
  await gateway.option('GroupRatio', '{"default":1,"vip":2}');
  await gateway.option('UserUsableGroups', '{"default":"d","vip":"v"}');
  await open([dear, cheap], { [dear]: 'default', [cheap]: 'vip' });
  await chain([{ model: dear }, { model: cheap, group: 'vip' }], { boundary: 'vip' });
  await ask();
  expect(called()).toEqual([cheap]);
});

test("the key's model list must hold the virtual name and each target that can be reached", async () => {
  await open([dear, cheap]);
  await chain([{ model: cheap }, { model: dear, after: ['key'] }]);
  const limited = async (model_limits: string) =>
    (await gateway.token({ model_limits_enabled: true, model_limits })).key;
  expect((await ask({ key: await limited(`${cheap},${dear}`) })).status).toBe(403);
  const without = await ask({ key: await limited(`coder,${cheap}`) });
  expect([without.status, without.text]).toEqual([403, expect.stringContaining(dear)]);
  expect(called()).toEqual([]);
  expect((await ask({ key: await limited(`coder,${cheap},${dear}`) })).status).toBe(200);
});

test('a target without a price or a channel is passed over', async () => {
  await open(['unheard-of', cheap]);
  await chain([{ model: 'nobody-has-it' }, { model: 'unheard-of' }, { model: cheap }]);
  expect((await ask()).status).toBe(200);
  expect(called()).toEqual([cheap]);
  expect(await detailsOf()).toMatchObject({
    admin_info: {
      chain: [
        { model: 'nobody-has-it', outcome: 'failed', failure: 'no_model' },
        { model: 'unheard-of', outcome: 'no_price' },
        { model: cheap, outcome: 'served' },
      ],
    },
  });
});

test('a target whose channel is ejected is passed over without a call, and tried where nothing follows', async () => {
  await open([dear, cheap]);
  answers.set(cheap, failing(500));
  for (let times = 0; times < 8; times++) await ask({ body: { model: cheap } });
  upstream.requests.length = 0;
  await chain([{ model: cheap }, { model: dear }]);
  await ask();
  expect(called()).toEqual([dear]);
  answers.set(dear, failing(400));
  await gateway.services.virtualModels.create({ name: 'last', targets: [{ model: cheap }] });
  await gateway.sync();
  await ask({ body: { model: 'last' } });
  expect(called()).toEqual([dear, cheap]);
});

test('a conversation that names itself stays with its target, others begin anew', async () => {
  await open([dear, cheap]);
  answers.set(cheap, failing(503));
  await chain([{ model: cheap }, { model: dear }]);
  const session = { headers: { 'x-session-id': 'one' } };
  await ask(session);
  answers.delete(cheap);
  upstream.requests.length = 0;
  await ask(session);
  await ask({ headers: { 'x-session-id': 'two' } });
  await ask();
  expect(called()).toEqual([dear, cheap, cheap]);
});

test('a stored response is continued where it was made, wherever its conversation is now', async () => {
  await open([dear, cheap]);
  await chain([{ model: cheap }, { model: dear }]);
  let made = 0;
  const responding: Answer = (response, received) =>
    sendJson(response, {
      ...{ id: `resp_${++made}`, object: 'response', status: 'completed', model: modelOf(received) },
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] }],
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    });
  for (const model of [dear, cheap]) answers.set(model, responding);
  const respond = async (members: object = {}) => {
    const headers = { 'x-session-id': 'kept' };
    const response = await gateway.send(key, '/v1/responses', { model: 'coder', input: 'hi', ...members }, { headers });
    await response.text();
    return response.status;
  };
  expect(await respond()).toBe(200);
  answers.set(cheap, failing(500));
  expect(await respond()).toBe(200);
  answers.set(cheap, responding);
  upstream.requests.length = 0;
  expect(await respond({ previous_response_id: 'resp_1' })).toBe(200);
  expect(called()).toEqual([cheap]);
});

test('within a turn that is signed no other model follows, and after it one may', async () => {
  await open([dear, cheap]);
  answers.set(cheap, failing(503));
  await chain([{ model: cheap }, { model: dear }]);
  const signed = {
    role: 'assistant',
    content: '',
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
    reasoning_details: [{ type: 'reasoning.text', text: 'hm', signature: 'c2ln' }],
  };
  const turn = [{ role: 'user', content: 'hi' }, signed, { role: 'tool', tool_call_id: 'a', content: '1' }];
  expect((await ask({ body: { messages: turn } })).status).toBe(502);
  expect(called()).toEqual([cheap]);
  upstream.requests.length = 0;
  expect((await ask({ body: { messages: [...turn, { role: 'user', content: 'go on' }] } })).status).toBe(200);
  expect(called().at(-1)).toBe(dear);
});

test('a target that cannot be covered is skipped, before the first call and after one', async () => {
  await open([dear, cheap]);
  const usd = 500_000;
  const poor = async () =>
    (await gateway.token({ unlimited_quota: false, remain_quota: Math.floor(0.0002 * usd) })).key;
  await chain([{ model: dear, prompt_over: 0 }, { model: cheap }]);
  const body = { messages: [{ role: 'user', content: 'word '.repeat(300) }], max_tokens: 16 };
  expect((await ask({ key: await poor(), body })).status).toBe(200);
  expect(called()).toEqual([cheap]);
  expect(await detailsOf()).toMatchObject({
    admin_info: { chain: [{ model: dear, outcome: 'uncovered' }, { model: cheap }] },
  });
  upstream.requests.length = 0;
  answers.set(cheap, failing(503));
  await gateway.services.virtualModels.create({ name: 'up', targets: [{ model: cheap }, { model: dear }] });
  await gateway.sync();
  expect((await ask({ key: await poor(), body: { ...body, model: 'up' } })).status).toBe(502);
  expect(called()).toEqual([cheap]);
  expect(await detailsOf()).toMatchObject({
    admin_info: {
      chain: [
        { model: cheap, outcome: 'failed', failure: 'unavailable' },
        { model: dear, outcome: 'uncovered' },
      ],
    },
  });
});

test("the key's tokens per minute are counted for the target that is tried", async () => {
  const short = 'gpt-3.5-turbo';
  await open([short, dear]);
  await chain([{ model: short }, { model: dear }]);
  answers.set(short, failing(500));
  const { key: own } = await gateway.token({ tpm_limit: 10_000 });
  const gate = Promise.withResolvers<void>();
  answers.set(dear, async (response, received) => {
    await gate.promise;
    await good(response, received);
  });
  const first = ask({ key: own, body: { max_tokens: undefined } });
  await expect.poll(called, { timeout: 2000, interval: 5 }).toEqual([short, dear]);
  answers.set(short, good);
  // A longer answer than the first target's took all that there is.
  expect((await ask({ key: own })).status).toBe(429);
  gate.resolve();
  expect((await first).status).toBe(200);
  expect((await ask({ key: own })).status).toBe(200);
});

const takenAway: [string, (id: number) => Promise<unknown>, number, number][] = [
  // Nothing can be held for it any more, which ends a chain at the failure.
  ['is deleted', (id) => gateway.services.tokens.remove(id, null), 502, 401],
  ['is switched off', (id) => gateway.services.tokens.update(id, null, { status: 2 }, true), 401, 401],
  [
    'may not use the model any more',
    (id) => gateway.services.tokens.update(id, null, { model_limits_enabled: true, model_limits: 'another' }, false),
    403,
    403,
  ],
  [
    'may not be used from there any more',
    (id) => gateway.services.tokens.update(id, null, { allow_ips: '10.0.0.1' }, false),
    403,
    403,
  ],
];
test.each(
  takenAway.flatMap(([name, takeAway, atTarget, atAttempt]) => [
    [name, 'the next target', takeAway, atTarget] as const,
    [name, 'another attempt', takeAway, atAttempt] as const,
  ]),
)('a key that %s while a call fails is not sent on with: %s', async (_name, what, takeAway, status) => {
  await open([dear, cheap]);
  await gateway.option('RetryTimes', what === 'another attempt' ? '2' : '0');
  await chain([{ model: cheap }, { model: dear }]);
  const { id, key: own } = await gateway.token();
  answers.set(cheap, async (response, received) => {
    await takeAway(id);
    await gateway.sync();
    await failing(500)(response, received);
  });
  const model = what === 'another attempt' ? cheap : 'coder';
  expect((await ask({ key: own, body: { model } })).status).toBe(status);
  expect(called()).toEqual([cheap]);
  expect(await row()).toMatchObject({ quota: 0 });
});

test('a key that ran out while a call fails goes on with what it holds', async () => {
  await open([dear, cheap]);
  await chain([{ model: cheap }, { model: dear }]);
  const { id, key: own } = await gateway.token();
  answers.set(cheap, async (response, received) => {
    await gateway.database.query.updateTable('tokens').set({ status: 4 }).where('id', '=', id).execute();
    await gateway.sync();
    await failing(500)(response, received);
  });
  expect((await ask({ key: own })).status).toBe(200);
  expect(called()).toEqual([cheap, dear]);
});

test('the trace names targets that the caller may reach, and no others', async () => {
  await gateway.option('general_setting.route_trace_enabled', 'true');
  await gateway.option('GroupRatio', '{"default":1,"vip":2,"secret":3}');
  await gateway.option('UserUsableGroups', '{"default":"d","vip":"v"}');
  await open([dear, cheap], { [cheap]: 'vip' });
  const targets = [{ model: dear }, { model: cheap, group: 'vip' }];
  await chain([{ model: 'unknown-to-callers', group: 'secret' }, ...targets]);
  const trace = async () => (await ask()).headers.get('x-gateway-trace')?.split('; chain=')[1];
  expect(await trace()).toBe(`${dear} served > ${cheap} not_needed`);
  const { id } = await gateway.services.virtualModels.named('coder');
  await gateway.services.virtualModels.update(id, { boundary: 'vip', targets });
  await gateway.sync();
  expect(await trace()).toBe(`${cheap} served`);
  await gateway.option('general_setting.route_trace_enabled', 'false');
});

test('a stored response is continued at its channel, where a target before it names another', async () => {
  const [first = 0] = await open([cheap]);
  const [second = 0] = await open([cheap]);
  await chain([
    { model: cheap, channel: first },
    { model: cheap, channel: second },
  ]);
  let made = 0;
  answers.set(cheap, (response, received) =>
    sendJson(response, {
      ...{ id: `resp_${++made}`, object: 'response', status: 'completed', model: modelOf(received) },
      output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] }],
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    }),
  );
  const respond = async (members: object = {}) => {
    const response = await gateway.send(key, '/v1/responses', { model: 'coder', input: 'hi', ...members });
    await response.text();
    return [response.status, (await row())?.channel];
  };
  const good = answers.get(cheap);
  answers.set(cheap, (response, received) => {
    answers.set(cheap, good ?? failing(500));
    return failing(404)(response, received);
  });
  expect(await respond()).toEqual([200, second]);
  expect(await respond({ previous_response_id: 'resp_1' })).toEqual([200, second]);
});

let groups = 0;
/** Targets in a group that the key is not in, with windows of its own. @returns a key of that group. */
async function limited(limits: Readonly<Record<string, number>>): Promise<{ vip: string; own: string }> {
  const vip = `vip${++groups}`;
  await gateway.option('GroupRatio', JSON.stringify({ default: 1, [vip]: 1 }));
  await gateway.option('UserUsableGroups', JSON.stringify({ default: 'd', [vip]: 'v' }));
  await gateway.option('GroupLimits', JSON.stringify({ [vip]: limits }));
  await gateway.sync();
  return { vip, own: (await gateway.token({ group: vip })).key };
}
const outcomes = async (): Promise<readonly unknown[]> => {
  const { admin_info: info } = (await detailsOf()) as { admin_info?: { chain: readonly { outcome: string }[] } };
  return info?.chain.map(({ outcome }) => outcome) ?? [];
};

test("requests a minute of a target's group hold for keys of other groups, and count together with its own", async () => {
  const { vip, own } = await limited({ rpm: 2 });
  await open([cheap], { [cheap]: vip });
  await chain([{ model: cheap, group: vip }]);
  expect((await ask()).status).toBe(200);
  expect((await ask({ key: own, body: { model: cheap } })).status).toBe(200);
  const refused = await ask();
  expect([refused.status, refused.text]).toEqual([429, expect.stringContaining(`group ${vip}`)]);
  expect((await ask({ key: own, body: { model: cheap } })).status).toBe(429);
  expect(called()).toEqual([cheap, cheap]);
  expect(await row()).toMatchObject({ quota: expect.any(Number) });
});

test("a target whose group's limits are reached is passed over, before anything is sent and after a failure", async () => {
  const { vip } = await limited({ rpm: 1 });
  const last = 'gpt-4.1';
  await open([dear, cheap, last], { [cheap]: vip });
  await chain([{ model: dear }, { model: cheap, group: vip }, { model: last }]);
  answers.set(dear, failing(404));
  expect((await ask()).status).toBe(200);
  expect((await ask()).status).toBe(200);
  expect(called()).toEqual([dear, cheap, dear, last]);
  await row();
  expect(await outcomes()).toEqual(['failed', 'limits', 'served']);
  upstream.requests.length = 0;
  await gateway.services.virtualModels.create({
    name: 'first',
    targets: [{ model: cheap, group: vip }, { model: last }],
  });
  await gateway.sync();
  expect((await ask({ body: { model: 'first' } })).status).toBe(200);
  expect(called()).toEqual([last]);
  await row();
  expect(await outcomes()).toEqual(['limits', 'served']);
});

test('a request in a target’s group counts there until it ends, however it ends', async () => {
  const { vip, own } = await limited({ concurrency: 1 });
  await open([cheap, dear], { [cheap]: vip });
  await chain([{ model: cheap, group: vip }]);
  const plain = () => ask({ key: own, body: { model: cheap } });
  const gate = Promise.withResolvers<void>();
  answers.set(cheap, async (response, received) => {
    await gate.promise;
    await good(response, received);
  });
  const first = ask();
  await expect.poll(called, { timeout: 2000, interval: 5 }).toEqual([cheap]);
  expect((await plain()).status).toBe(429);
  expect((await ask()).status).toBe(429);
  gate.resolve();
  expect((await first).status).toBe(200);
  answers.set(cheap, failing(400, 'bad temperature'));
  expect((await ask()).status).toBe(400);
  answers.delete(cheap);
  expect((await plain()).status).toBe(200);
  // It was let in by the group, and could not pay: it never ran there.
  const { key: poor } = await gateway.token({ unlimited_quota: false, remain_quota: 0 });
  expect((await ask({ key: poor })).status).toBe(403);
  expect((await plain()).status).toBe(200);
  // What left the group for another target runs there no more.
  const [made] = await gateway.services.virtualModels.list();
  await gateway.services.virtualModels.update(made?.id ?? 0, {
    targets: [{ model: cheap, group: vip }, { model: dear }],
  });
  await gateway.sync();
  const other = Promise.withResolvers<void>();
  answers.set(cheap, failing(404));
  answers.set(dear, async (response, received) => {
    await other.promise;
    await good(response, received);
  });
  upstream.requests.length = 0;
  const moved = ask();
  await expect.poll(called, { timeout: 2000, interval: 5 }).toEqual([cheap, dear]);
  answers.delete(cheap);
  expect((await plain()).status).toBe(200);
  other.resolve();
  expect((await moved).status).toBe(200);
});

test("tokens a minute of a target's group are taken for the target, and what was used stays", async () => {
  const { vip, own } = await limited({ tpm: 1000 });
  await open([cheap], { [cheap]: vip });
  await chain([{ model: cheap, group: vip }]);
  answers.set(cheap, (response) => sendJson(response, completion(800, 200)));
  const first = await ask();
  expect([first.status, first.headers.get('x-ratelimit-limit-tokens')]).toEqual([200, '1000']);
  expect((await ask()).status).toBe(429);
  expect((await ask({ key: own, body: { model: cheap } })).status).toBe(429);
  expect(called()).toEqual([cheap]);
});

test("the key's own group counts a virtual model's request once, and groups without limits count nothing", async () => {
  const { vip, own } = await limited({ rpm: 2 });
  await open([cheap, dear], { [cheap]: vip });
  await chain([
    { model: cheap, group: vip },
    { model: dear, group: 'default' },
  ]);
  expect((await ask({ key: own })).status).toBe(200);
  expect((await ask({ key: own })).status).toBe(200);
  expect((await ask({ key: own })).status).toBe(429);
  for (let at = 0; at < 3; at++) expect((await ask()).status).toBe(200);
  expect(called()).toEqual([cheap, cheap, dear, dear, dear]);
});

test('a virtual model that is disabled, or changed, is so for the next request', async () => {
  await open([dear, cheap]);
  await chain([{ model: cheap }]);
  await ask();
  const [made] = await gateway.services.virtualModels.list();
  await gateway.services.virtualModels.update(made?.id ?? 0, { targets: [{ model: dear }] });
  await gateway.sync();
  await ask();
  await gateway.services.virtualModels.update(made?.id ?? 0, { enabled: false });
  await gateway.sync();
  expect((await ask()).status).toBe(404);
  expect(called()).toEqual([cheap, dear]);
});

test('lists of models in every dialect have it, with what each target costs', async () => {
  await gateway.option('GroupRatio', '{"default":1,"vip":2}');
  await gateway.option('UserUsableGroups', '{"default":"d","vip":"v"}');
  await open([dear, cheap], { [cheap]: 'vip' });
  await chain([{ model: dear }, { model: cheap, group: 'vip' }, { model: cheap, group: 'secret' }]);
  const get = async (path: string, headers: Record<string, string>, own = key) => {
    const request = new Request(`http://gateway${path}`, {
      headers: { authorization: `Bearer sk-${own}`, ...headers },
    });
    return (await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' })).json() as Promise<unknown>;
  };
  const targets = [
    { model: dear, group: 'default', price: { input: 2.5, output: 10 } },
    { model: cheap, group: 'vip', price: { input: 0.3, output: 1.2 } },
  ];
  const listed = { data: expect.arrayContaining([expect.objectContaining({ id: 'coder', targets })]) };
  expect(await get('/v1/models', {})).toMatchObject(listed);
  expect(await get('/v1/models/coder', {})).toMatchObject({ id: 'coder', targets });
  expect(await get('/v1/models', { 'anthropic-version': '2023-06-01' })).toMatchObject(listed);
  expect(await get('/v1beta/models', {})).toMatchObject({
    models: expect.arrayContaining([expect.objectContaining({ name: 'models/coder', targets })]),
  });
  expect(await get('/api/tags', {})).toMatchObject({
    models: expect.arrayContaining([expect.objectContaining({ name: 'coder', targets })]),
  });
  const limited = await gateway.token({ model_limits_enabled: true, model_limits: `coder,${dear}` });
  expect(JSON.stringify(await get('/v1/models', {}, limited.key))).not.toContain('coder');
});

test('tokens are counted for the first target', async () => {
  await open([dear, cheap]);
  await chain([{ model: cheap }]);
  const body = { model: 'coder', messages: [{ role: 'user', content: 'one two three' }] };
  const response = await gateway.send(key, '/v1/messages/count_tokens', body);
  expect([response.status, await response.json()]).toEqual([200, { input_tokens: expect.any(Number) }]);
});

test("tokens are counted at the target's own channel and no other", async () => {
  const count = async () => {
    const body = { model: 'coder', messages: [{ role: 'user', content: 'one two three' }] };
    return (await gateway.send(key, '/v1/messages/count_tokens', body)).json();
  };
  upstream.script((response) => sendJson(response, { input_tokens: 77 }));
  const claude = 'claude-sonnet-4-5';
  await gateway.channel(upstream.url, { type: 14, key: 'foreign', models: claude, priority: 10 });
  const own = await gateway.channel(upstream.url, { type: 14, key: 'own', models: claude });
  await chain([{ model: claude, channel: own }]);
  expect(await count()).toEqual({ input_tokens: 77 });
  expect(upstream.requests.map(({ headers }) => headers['x-api-key'])).toEqual(['own']);
});

test('over random chains and failures the served model is charged, and nothing follows its first byte', async () => {
  const next = randomOf(20_261_129);
  const one = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  const ratios: Readonly<Record<string, number>> = { [dear]: 3, [cheap]: 1, 'gpt-4.1': 5, 'gpt-4.1-mini': 2 };
  const models = Object.keys(ratios);
  const zero = Object.fromEntries(models.map((model) => [model, 1]));
  await gateway.option('ModelRatio', JSON.stringify(ratios));
  await gateway.option('CompletionRatio', JSON.stringify(zero));
  await open(models);
  const begun = new TextEncoder().encode(
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hel' } }] })}\n\n`,
  );
  const broken: Answer = (response) => sendStream(response, [begun]);
  await chain([{ model: cheap }]);
  const id = (await gateway.services.virtualModels.named('coder')).id;
  for (let at = 0; at < often(25, 5000); at++) {
    upstream.requests.length = 0;
    const chosen = Array.from({ length: 1 + Math.floor(next() * 4) }, () => one(models));
    await gateway.services.virtualModels.update(id, { targets: chosen.map((model) => ({ model })) });
    await gateway.sync();
    const fails = new Set(models.filter(() => next() < 0.5));
    const isBroken = next() < 0.3;
    for (const model of models) answers.set(model, fails.has(model) ? failing(404) : isBroken ? broken : good);
    const { status } = await ask({ body: { stream: isBroken } });
    const tried = called();
    const log = await row();
    const answered = tried.filter((model) => !fails.has(model));
    if (status >= 400) {
      expect([at, answered, log?.quota]).toEqual([at, [], 0]);
      continue;
    }
    const served = tried.at(-1) ?? '';
    expect([at, answered, log?.model_name]).toEqual([at, [served], served]);
    expect(chosen).toContain(served);
    if (!isBroken) expect([at, log?.quota]).toEqual([at, 220 * (ratios[served] ?? 0)]);
  }
});
