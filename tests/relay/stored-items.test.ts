/** What an upstream keeps belongs to whom it was made for; the upstream knows our key alone. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AppError } from '../../server/contract/errors.ts';
import { providerByType } from '../../server/providers/catalogue.ts';
import { endpointFor } from '../../server/providers/provider.ts';
import { compileSettings } from '../../server/relay/state/settings.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendJson, sendStream, startUpstream, type Upstream } from '../support/upstream.ts';

let gateway: TestGateway;
let upstream: Upstream;
let mine: string;
let theirs: string;

const response = (id: string) => ({
  id,
  object: 'response',
  status: 'completed',
  model: 'gpt-4o-mini',
  output: [{ type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] }],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
});
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'hi' }],
  container: { id: 'container_mine' },
  stop_reason: 'end_turn',
  usage: { input_tokens: 1, output_tokens: 1 },
};

beforeEach(async () => {
  gateway = await createTestGateway();
  upstream = await startUpstream((answer, { path }) =>
    sendJson(answer, path.endsWith('/messages') ? message : response('resp_mine')),
  );
  await gateway.option('SelfUseModeEnabled', 'true');
  for (const name of ['one', 'two']) await gateway.channel(upstream.url, { name, type: 1 });
  await gateway.channel(upstream.url, { name: 'three', type: 14, models: 'claude' });
  mine = (await gateway.token()).key;
  const other = await gateway.services.users.create({
    username: 'other',
    password: 'password1',
    displayName: '',
    role: 1,
    quota: 1_000_000,
  });
  theirs = (await gateway.services.tokens.create(other, { name: 't', unlimited_quota: true })).key;
  await gateway.sync();
});
afterEach(async () => {
  await gateway.close();
  await upstream.stop();
});

const ask = (key: string, body: object, path = '/v1/responses') =>
  gateway.relay.handle(
    new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}` },
      body: JSON.stringify({ model: 'gpt-4o-mini', input: 'hi', ...body }),
    }),
    path,
    { ip: () => '127.0.0.1' },
  );

describe('what another tenant’s upstream keeps', () => {
  test.each([false, true])('a response goes on for its owner alone (stream: %s)', async (stream) => {
    if (stream) {
      upstream.script((answer) =>
        sendStream(answer, [
          Buffer.from(
            ['response.created', 'response.completed']
              .map((type) => `event: ${type}\ndata: ${JSON.stringify({ type, response: response('resp_mine') })}\n\n`)
              .join(''),
          ),
        ]),
      );
    }
    const first = await ask(mine, { stream });
    expect(first.status).toBe(200);
    await first.text();
    expect(upstream.requests).toHaveLength(1);
    const stolen = await ask(theirs, { previous_response_id: 'resp_mine' });
    expect(stolen.status).toBe(400);
    expect(await stolen.text()).toContain('previous_response_not_found');
    expect(upstream.requests).toHaveLength(1);
    for (let turn = 0; turn < 4; turn++) {
      expect((await ask(mine, { previous_response_id: 'resp_mine' })).status).toBe(200);
    }
  });

  test.each([
    ['a conversation', { conversation: 'conv_mine' }, { conversation: { id: 'conv_mine' } }],
    ['a container', { tools: [{ type: 'code_interpreter', container: 'cntr_mine' }] }, undefined],
  ])('%s goes on for who used it first', async (_, used, alike) => {
    expect((await ask(mine, used)).status).toBe(200);
    expect((await ask(theirs, alike ?? used)).status).toBe(400);
    expect(upstream.requests).toHaveLength(1);
    expect((await ask(mine, alike ?? used)).status).toBe(200);
  });

  test('a container of Anthropic’s is named by the response', async () => {
    const body = { model: 'claude', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
    expect((await ask(mine, body, '/v1/messages')).status).toBe(200);
    expect((await ask(theirs, { ...body, container: 'container_mine' }, '/v1/messages')).status).toBe(400);
    expect((await ask(theirs, { ...body, container: { id: 'container_mine' } }, '/v1/messages')).status).toBe(400);
    expect(upstream.requests).toHaveLength(1);
    expect((await ask(mine, { ...body, container: 'container_mine' }, '/v1/messages')).status).toBe(200);
  });

  test.each(['GET', 'DELETE', 'POST'])('%s of a kept response reaches no upstream', async (method) => {
    await (await ask(mine, {})).text();
    const path = '/v1/responses/resp_mine';
    const request = new Request(`http://gateway${path}`, { method, headers: { authorization: `Bearer sk-${theirs}` } });
    const answer = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
    expect(answer.status).toBe(501);
    expect(upstream.requests).toHaveLength(1);
  });
});

describe('names in addresses', () => {
  const badNames = ['..', '../../x', 'a/../b', 'a\\..\\b', './x', 'x/..', 'a\u0000b', 'a\nb', 'x\ud800'];

  test.each(badNames)('a model called %j is refused', async (model) => {
    const before = upstream.requests.length;
    expect((await ask(mine, { model })).status).toBe(400);
    const path = `/v1beta/models/${encodeURIComponent(model.toWellFormed())}:generateContent`;
    if (model.isWellFormed()) expect((await ask(mine, { model: undefined, contents: [] }, path)).status).toBe(400);
    expect(upstream.requests).toHaveLength(before);
  });

  test.each(['../../x', 'v1/../../x', '..', 'v1?x=', 'v1#', 'v1%2e%2e', 'v1 x'])(
    'version %j of Gemini is refused, and not used where it is stored',
    async (version) => {
      const table = JSON.stringify({ default: version });
      await expect(gateway.services.options.set('gemini.version_settings', table, 100)).rejects.toBeInstanceOf(
        AppError,
      );
      await gateway.database.query
        .insertInto('options')
        .values({ key: 'gemini.version_settings', value: table, updated_at: 0 })
        .execute();
      const stored = new Map([['gemini.version_settings', table]]);
      expect(compileSettings(stored, 0).geminiVersion('gemini-2.5-flash')).toBe('v1beta');
      const provider = providerByType(24);
      if (provider === undefined) throw new Error('no such provider');
      const details = { baseUrl: '', model: 'gemini-2.5-flash', other: version };
      expect(endpointFor(provider, 'generate', details)).toBeNull();
      expect(endpointFor(provider, 'generate', { ...details, other: 'v1', model: '..' })).toBeNull();
      expect(endpointFor(provider, 'generate', { ...details, other: 'v1', model: 'a$&b' })).toContain(
        '/v1/models/a%24%26b:',
      );
    },
  );

  test.each(['../x', 'a/../../b', 'v1?x', 'v1#', 'a\u0000'])(
    'a channel is not saved with %j for an address',
    async (bad) => {
      await expect(gateway.channel(upstream.url, { type: 24, other: bad })).rejects.toMatchObject({
        code: 'params_invalid',
      });
      const mapping = JSON.stringify({ 'gpt-4o-mini': bad.replace(/[?#].*/, '/..') });
      await expect(gateway.channel(upstream.url, { model_mapping: mapping })).rejects.toMatchObject({
        code: 'params_invalid',
      });
    },
  );
});
