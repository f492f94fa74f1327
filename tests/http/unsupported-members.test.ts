/** What the upstream of a channel does not take: listed, stored, confirmed and deleted by administrators, kept with the channel, and asked of the upstream itself. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { probeFormOf } from '../../server/providers/knowledge/probe-questions.ts';
import { choosyUpstream } from '../support/choosy-upstream.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { randomOf } from '../support/random.ts';
import { completion, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let id: number;

const ok = choosyUpstream(new Set(), 'param');

beforeAll(async () => {
  upstream = await startUpstream(ok);
  gateway = await createTestGateway({ channelTests: true });
  await gateway.option('ModelRatio', '{"m":2,"gpt-4o-mini":1}');
  id = await gateway.channel(upstream.url, { models: 'm,n', model_mapping: '{"n":"x"}' });
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

const call = async (endpoint: string, input: unknown) => {
  const answer = await gateway.call(endpoint, input);
  await gateway.sync();
  return answer as never;
};
const member = 'openai-chat:seed';

interface Row {
  readonly member: string;
  readonly for_all: boolean;
  readonly source: string;
  readonly users: number;
  readonly expires_time: number;
}

test('members that an upstream does not take are listed with how often and by how many they were met, confirmed, stored and deleted', async () => {
  const note = (userId: number) =>
    gateway.services.unsupportedMembers.note({ channelId: id, model: 'm', members: [member], userId });
  await note(7);
  await note(7);
  const list = async () => (await call('channel.unsupported', { id })) as Row[];
  expect(await list()).toMatchObject([
    { member, count: 2, users: 1, for_all: false, source: 'learnt', demand: 'absent' },
  ]);
  expect(gateway.state.unsupportedOf(id)).toBeUndefined();
  expect(await call('channel.unsupported_confirm', { id, model: 'm', member })).toMatchObject({
    ...{ source: 'hand', for_all: true, expires_time: 0 },
  });
  expect(gateway.state.unsupportedOf(id)?.get('m')).toHaveLength(1);
  await call('channel.unsupported_store', { id, members: [{ model: 'x', member: 'openai-chat:top_p' }] });
  expect((await list()).map((row) => row.member)).toEqual([member, 'openai-chat:top_p']);
  await call('channel.unsupported_delete', { id, model: 'm', member });
  expect(gateway.state.unsupportedOf(id)?.get('m')).toBeUndefined();
  await expect(call('channel.unsupported_delete', { id, model: 'm', member })).rejects.toMatchObject({
    code: 'not_found',
  });
  await expect(call('channel.unsupported', { id: 999 })).rejects.toMatchObject({ code: 'not_found' });
  await expect(call('channel.unsupported_store', { id: 999, members: [] })).rejects.toMatchObject({
    code: 'not_found',
  });
});

test('routes say what is not sent, for the model as the upstream calls it', async () => {
  const explained = (await call('route.explain', { model: 'n' })) as { channels: { not_sent: string[] }[] };
  expect(explained.channels[0]?.not_sent).toEqual(['openai-chat:top_p']);
  const other = (await call('route.explain', { model: 'm' })) as { channels: { not_sent: string[] }[] };
  expect(other.channels[0]?.not_sent).toEqual([]);
});

interface Report {
  readonly calls: number;
  readonly dialect: string;
  readonly dollars: number | null;
  readonly spent: number | null;
  readonly lines: readonly {
    readonly question: string;
    readonly upstream: string;
    readonly rows: string;
    readonly differs: boolean;
    readonly member: string;
    readonly words: string;
  }[];
}

/** Twelve upstreams: what each is asked in, its type, and in which words it refuses. */
const kinds = [
  ['openai-chat', 1, 'param'],
  ['openai-chat', 20, 'quotes'],
  ['openai-chat', 8, 'text'],
  ['openai-responses', 1, 'quotes'],
  ['openai-responses', 8, 'param'],
  ['anthropic-messages', 14, 'place'],
  ['anthropic-messages', 14, 'message'],
  ['gemini-generate', 24, 'google'],
  ['gemini-generate', 24, 'param'],
  ['cohere-chat', 34, 'message'],
  ['ollama-chat', 4, 'text'],
  ['ollama-chat', 4, 'param'],
] as const;

test('differences that are planted in an upstream are all found, none is invented, and no more is spent than was said', async () => {
  const random = randomOf(20261129);
  const before = (await gateway.logs()).length;
  for (const [dialect, type, manner] of kinds) {
    const ids = probeFormOf(dialect)
      .questions.map((question) => question.id)
      .filter((one) => one !== 'plain');
    const planted = ids.toSorted(() => random() - 0.5).slice(0, 5);
    upstream.script(choosyUpstream(new Set(planted), manner));
    const setting = JSON.stringify({ dialect });
    const channel = await gateway.channel(upstream.url, { type, models: 'm', setting });
    const plan = (await call('channel.probe_plan', { id: channel })) as Report;
    const report = (await call('channel.probe', { id: channel })) as Report;
    const found = report.lines.filter(({ upstream: taken }) => taken === 'refused').map(({ question }) => question);
    expect([dialect, found.toSorted()]).toEqual([dialect, planted.toSorted()]);
    expect(report.lines.filter(({ upstream: taken }) => taken === 'unclear')).toEqual([]);
    for (const { question, upstream: taken, words } of report.lines)
      expect([question, words.includes(question)]).toEqual([question, taken === 'refused']);
    expect([plan.dialect, report.lines.length]).toEqual([dialect, plan.calls]);
    expect(report.spent).toBeGreaterThan(0);
    expect(report.spent).toBeLessThanOrEqual(plan.dollars ?? 0);
    const members = report.lines.flatMap((line) => (line.member === '' ? [] : [{ model: 'm', member: line.member }]));
    await call('channel.unsupported_store', { id: channel, source: 'probe', members });
    const again = (await call('channel.probe', { id: channel })) as Report;
    expect(again.lines.filter(({ member: storable }) => storable !== '')).toEqual([]);
  }
  // Nobody pays for it, and the channels that were made for it are gone.
  const rows = (await gateway.logs()).slice(0, -before || undefined);
  expect(rows.every(({ quota }) => quota === 0)).toBe(true);
  expect((await gateway.services.channels.list({}, 0, 100)).total).toBe(kinds.length + 1);
  upstream.script(ok);
});

test('an upstream that answers nothing is not judged, and what it says is cut and cannot act', async () => {
  const hostile = `\u001b[31m${'x'.repeat(500)}`;
  upstream.script((response) => {
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: hostile } }));
  });
  const failed = await call('channel.probe', { id }).catch((error: unknown) => error);
  expect(failed).toMatchObject({ code: 'check_failed' });
  const { detail } = (failed as { params: { detail: string } }).params;
  expect(detail.length).toBeLessThanOrEqual(200);
  expect(detail).not.toContain('\u001b');
  upstream.script(ok);
});

test('a probe stops where another question may cost more than was announced', async () => {
  const channel = await gateway.channel(upstream.url, { models: 'm' });
  const plan = (await call('channel.probe_plan', { id: channel })) as Report;
  const asked = upstream.requests.length;
  // Each answer reports a fifth of what all may cost, far more than a question should; the one in a stream reports nothing.
  const tokens = Math.ceil(((plan.dollars ?? 0) * 500_000) / 5 / 2);
  upstream.script((response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(completion(tokens, 0))),
  );
  const report = (await call('channel.probe', { id: channel })) as Report;
  const calls = upstream.requests.length - asked;
  expect([calls, report.lines.length]).toEqual([6, plan.calls]);
  expect(report.spent).toBeLessThan((plan.dollars ?? 0) * 1.2);
  const rest = report.lines.slice(calls);
  expect(rest.every(({ upstream: found, differs, words }) => found === 'unclear' && !differs && words !== '')).toBe(
    true,
  );
  upstream.script(ok);
});

test('an answer that reports no usage is taken to cost the most that it may', async () => {
  const channel = await gateway.channel(upstream.url, { models: 'm' });
  upstream.script((response) => {
    const { usage: _, ...answer } = completion(12, 2);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  const report = (await call('channel.probe', { id: channel })) as Report;
  expect(report.spent).toBeCloseTo(report.dollars ?? 0, 9);
  upstream.script(ok);
});

test('an upstream that fails by itself leaves a question open', async () => {
  upstream.script((response, received) =>
    received.body.includes('"seed"') ? response.writeHead(503).end() : ok(response, received),
  );
  const report = (await call('channel.probe', { id })) as Report;
  expect(report.lines.find(({ question }) => question === 'seed')).toMatchObject({
    upstream: 'unclear',
    differs: false,
  });
  upstream.script(ok);
});

test('a dialect that the provider does not serve is not asked, though the channel names it', async () => {
  const named = (dialect: string) =>
    gateway.channel(upstream.url, { type: 8, models: 'm', setting: JSON.stringify({ dialect }) });
  expect(await call('channel.probe_plan', { id: await named('anthropic-messages') })).toMatchObject({
    dialect: 'openai-chat',
  });
  expect(await call('channel.probe_plan', { id: await named('openai-responses') })).toMatchObject({
    dialect: 'openai-responses',
  });
});

test('what an upstream is asked in is what requests go out in; a wire that no client has is not asked', async () => {
  const planAt = async (type: number, model: string) =>
    call('channel.probe_plan', { id: await gateway.channel(upstream.url, { type, models: model }), model });
  expect(await planAt(4, 'm')).toMatchObject({ dialect: 'ollama-chat' });
  expect(await planAt(34, 'm')).toMatchObject({ dialect: 'cohere-chat' });
  expect(await planAt(33, 'claude-sonnet-4-6')).toMatchObject({ dialect: 'anthropic-messages' });
  await expect(planAt(33, 'amazon.nova-lite-v1:0')).rejects.toMatchObject({ code: 'params_invalid' });
});

test('a probe of a model without a price says so', async () => {
  const channel = await gateway.channel(upstream.url, { models: 'unpriced-model' });
  expect(await call('channel.probe_plan', { id: channel })).toMatchObject({ dollars: null });
  await expect(call('channel.probe_plan', { id: 999 })).rejects.toMatchObject({ code: 'not_found' });
});

test('a declarative file says what is not taken, an export has it, and what was learnt stays beside it', async () => {
  const channel = await gateway.channel(upstream.url, { name: 'declared', models: 'm' });
  await gateway.services.unsupportedMembers.note({
    channelId: channel,
    model: 'm',
    members: ['openai-chat:metadata'],
    userId: 7,
  });
  const apply = async (unsupported: readonly string[] | undefined) => {
    const channels = [{ name: 'declared', type: 'openai', ...(unsupported === undefined ? {} : { unsupported }) }];
    return (await call('provision.apply', { document: { version: 1, channels } })) as {
      action: string;
      fields: string[];
    }[];
  };
  const stored = async () => ((await call('channel.unsupported', { id: channel })) as Row[]).map((row) => row.member);
  expect(await apply([`m ${member}`])).toMatchObject([{ action: 'update', fields: ['unsupported: 0 → 1'] }]);
  expect(await apply([`m ${member}`])).toMatchObject([{ action: 'unchanged' }]);
  // Blanks around and between name nothing else, and a line twice is one.
  expect(await apply([` m   ${member} `, `m ${member}`])).toMatchObject([{ action: 'unchanged' }]);
  expect(await apply(undefined)).toMatchObject([{ action: 'unchanged' }]);
  expect(await stored()).toEqual(['openai-chat:metadata', member]);
  const site = (await call('provision.export', {})) as { channels: { name: string; unsupported?: string[] }[] };
  expect(site.channels.find(({ name }) => name === 'declared')?.unsupported).toEqual([`m ${member}`]);
  expect(await apply([])).toMatchObject([{ fields: ['unsupported: 1 → 0'] }]);
  expect(await stored()).toEqual(['openai-chat:metadata']);
  await expect(apply(['m openai-chat:messages'])).rejects.toMatchObject({ code: 'params_invalid' });
  await expect(apply([member])).rejects.toMatchObject({ code: 'params_invalid' });
});

test.each([
  ['a member that may not be left out', { model: 'm', member: 'openai-chat:messages' }],
  ['a member of no model', { model: '', member }],
])('where one of several is %s, none is stored', async (_name, wrong) => {
  const channel = await gateway.channel(upstream.url, { models: 'm' });
  const stored = call('channel.unsupported_store', { id: channel, members: [{ model: 'm', member }, wrong] });
  await expect(stored).rejects.toMatchObject({ code: 'params_invalid' });
  expect(await call('channel.unsupported', { id: channel })).toEqual([]);
});

test('confirmations and probes stand in the audit log with their user', async () => {
  await gateway.services.unsupportedMembers.note({ channelId: id, model: 'm', members: [member], userId: 7 });
  await call('channel.unsupported_confirm', { id, model: 'm', member });
  await call('channel.probe', { id });
  const { items } = (await call('audit.list', { page_size: 5 })) as { items: { action: string }[] };
  expect(items.map(({ action }) => action).slice(0, 2)).toEqual(['channel.probe', 'channel.unsupported_confirm']);
});
