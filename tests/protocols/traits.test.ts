/** What the relay needs of a dialect is in its row: walked for every codec, so that a new one cannot forget it. */
import { expect, test } from 'vitest';
import { modelLimits } from '../../server/contract/model-limits.ts';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { allCodecs, codecs } from '../../server/protocols/registry.ts';
import { withLimit } from '../../server/relay/admission/answer-limit.ts';
import { answerLimit } from '../../server/relay/admission/meter.ts';
import { outline } from '../../server/relay/intake/json-text.ts';
import { checkMembers } from '../../server/relay/intake/members.ts';
import type { ParsedRequest } from '../../server/relay/intake/parsed-request.ts';
import { noPrompt } from '../../server/relay/intake/prompt.ts';
import { isRelayPath, relayRouteFor } from '../../server/relay/intake/routes.ts';
import { dialectOf } from '../../server/relay/shared/render-error.ts';

const ids = Object.keys(codecs) as ProtocolId[];
const chatOf = (id: ProtocolId) => codecs[id].definition.routes.find(({ operation }) => operation === 'chat');
const filled = (path: string) => path.replace('{model}', 'm');

function parsedOf(protocol: ProtocolId, body: Record<string, unknown>): ParsedRequest {
  const text = JSON.stringify(body);
  const shape = outline(text);
  const matched = relayRouteFor(filled(chatOf(protocol)?.path ?? ''));
  if (!shape.ok || matched === undefined) throw new Error('no parsed');
  const json = { text, shape, bytes: new TextEncoder().encode(text) };
  checkMembers(json, body, matched);
  return {
    requestId: 'r',
    clientHeaders: {},
    startedMs: 0,
    route: matched.route,
    protocol,
    operation: 'chat',
    model: 'm',
    stream: false,
    json,
    form: null,
    body,
    prompt: noPrompt,
    request: new Request('http://relay/'),
  };
}

/** No channel says anything about it. */
const unbound = {
  limits: modelLimits('m'),
  overriddenLimit: 0,
  overriddenChoices: 1,
  freesLimit: false,
  thought: null,
};

test.each(ids)('%s: its chat is served, belongs to the relay, and its errors are its own', (id) => {
  expect(codecs[id].id).toBe(id);
  const route = chatOf(id);
  expect(route).toBeDefined();
  for (const { path, operation } of codecs[id].definition.routes) {
    expect(relayRouteFor(filled(path))?.route).toMatchObject({ protocol: id, operation });
    expect(isRelayPath(filled(path))).toBe(true);
  }
  expect(dialectOf(filled(route?.path ?? ''))).toBe(id);
  expect(codecs[id].definition.label).not.toBe('');
});

test('no two dialects share a path, a name or an operation', () => {
  for (const list of [
    allCodecs.flatMap(({ definition }) => definition.routes.map(({ path }) => path)),
    allCodecs.map(({ definition }) => definition.label),
    allCodecs.flatMap(({ definition }) => [definition.chatOperation]),
  ])
    expect(new Set(list).size).toBe(list.length);
});

test.each(ids)('%s: a limit is written where it is read, and a lower one stays', (id) => {
  const model = modelLimits('m');
  const short = withLimit(parsedOf(id, { model: 'm' }), 50, model);
  expect(short).not.toBeNull();
  if (short === null) return;
  expect(answerLimit(short, unbound)).toMatchObject({ tokens: 50, named: true });
  const again = withLimit(parsedOf(id, { ...short.body }), 20, model);
  expect(again === null ? null : answerLimit(again, unbound).tokens).toBe(20);
  const higher = withLimit(parsedOf(id, { ...short.body }), 500, model);
  expect(higher === null ? null : answerLimit(higher, unbound).tokens).toBe(50);
  const decoded = codecs[id].translation.decodeRequest(
    { ...requestOf(id), ...short.body },
    { model: 'm', stream: false },
  );
  expect(decoded.maxTokens).toBe(50);
});

test.each(ids)('%s: no parser can read another limit than ours', (id) => {
  const { limit } = codecs[id].definition;
  for (const name of limit.names) {
    expect(() => parsedOf(id, { model: 'm', [name.toUpperCase()]: 9 })).toThrow(/could be read as/);
    expect(() => parsedOf(id, { model: 'm', [name]: '9' })).toThrow(/must be a number/);
  }
  for (const object of limit.nested?.objects ?? []) {
    expect(() => parsedOf(id, { model: 'm', [object.toUpperCase()]: {} })).toThrow(/could be read as/);
    for (const name of limit.nested?.names ?? []) {
      expect(() => parsedOf(id, { model: 'm', [object]: { [name.toUpperCase()]: 9 } })).toThrow(/could be read as/);
      expect(() => parsedOf(id, { model: 'm', [object]: { [name]: '9' } })).toThrow(/must be a number/);
    }
  }
});

/** The least that makes a request in each dialect. */
const requestOf = (id: ProtocolId): Record<string, unknown> => {
  const { translation } = codecs[id];
  const common = codecs['openai-chat'].translation.decodeRequest(
    { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
    { model: 'm', stream: false },
  );
  return translation.encodeRequest(common, []);
};

test.each(ids)('%s: an error has its message, whole and in a stream', (id) => {
  const error = { status: 429, type: 'rate_limit_error', code: 'slow', message: 'too fast', requestId: 'r1' };
  expect(JSON.stringify(codecs[id].client.encodeError(error))).toContain('too fast');
  expect(codecs[id].client.encodeStreamError(error)).toContain('too fast');
  const read = codecs[id].upstream.decodeError(429, JSON.stringify(codecs[id].client.encodeError(error)));
  expect(read).toMatchObject({ status: 429, message: 'too fast' });
  expect(codecs[id].definition.countAnswer(7)).toBeTypeOf('object');
});

test('Anthropic’s list of models, page by page, forwards and back', () => {
  const { models } = codecs['anthropic-messages'].definition;
  if (models === undefined) throw new Error('no list of models');
  const { list, card } = models;
  const cards = ['a', 'b', 'c', 'd', 'e'].map((name) => card(name, {} as never));
  const page = (query: string) => {
    const { data, ...rest } = list(cards, new URLSearchParams(query)) as {
      data: { id: string }[];
      has_more: boolean;
      first_id: string | null;
      last_id: string | null;
    };
    return [data.map(({ id }) => id).join(''), rest.has_more, rest.first_id, rest.last_id];
  };
  expect(page('limit=2')).toEqual(['ab', true, 'a', 'b']);
  expect(page('limit=2&after_id=b')).toEqual(['cd', true, 'c', 'd']);
  expect(page('limit=2&after_id=d')).toEqual(['e', false, 'e', 'e']);
  expect(page('limit=2&before_id=d')).toEqual(['bc', true, 'b', 'c']);
  expect(page('before_id=c')).toEqual(['ab', false, 'a', 'b']);
  expect(page('before_id=a')).toEqual(['', false, null, null]);
});
