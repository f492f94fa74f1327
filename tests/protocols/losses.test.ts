/** No member of a request is lost silently: a lost member is listed, or stands here with the reason why its loss does no harm. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { relayRouteFor } from '../../server/relay/intake/routes.ts';
import { fixtures } from './fixtures.ts';
import { harmless, isHarmless, type RequestBody, send, silentLosses } from './silent-losses.ts';

/** Recorded requests of agents and SDKs, where they are at hand. */
const folder = resolve(import.meta.dirname, '../../../shared/client-captures');
interface Requested extends RequestBody {
  readonly name: string;
}
const recorded = (existsSync(folder) ? readdirSync(folder) : [])
  .filter((file) => file.endsWith('.json'))
  .flatMap((file): Requested[] => {
    const { url, body } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { url?: string; body?: unknown };
    const route = relayRouteFor(String(url).split('?')[0] ?? '')?.route;
    if (route?.operation !== 'chat' || typeof body !== 'object' || body === null) return [];
    return [{ name: file, from: route.protocol, body: body as Record<string, unknown> }];
  });
const written = fixtures.flatMap(({ name, dialect, request }): Requested[] =>
  request === null ? [] : [{ name, from: dialect, body: request }],
);

const dialects = Object.keys(codecs) as ProtocolId[];
const cases = [...written, ...recorded].flatMap((requested) =>
  dialects.filter((to) => to !== requested.from).map((to) => [requested.name, to, requested] as const),
);

test.each(cases)('%s, encoded in %s: what is lost is listed', (_name, to, requested) => {
  const places = silentLosses(requested, to);
  expect(places.filter((place) => !isHarmless(place, harmless))).toEqual([]);
});

test.each([
  [
    'anthropic-messages',
    'openai-chat',
    {
      messages: [
        {
          role: 'user',
          content: [{ type: 'document', source: { type: 'text', data: 'x' }, citations: { enabled: true } }],
        },
        { role: 'system', content: 'y', output_config: { effort: 'low' } },
      ],
    },
    ['/messages/0/content/0/citations', '/messages/1/output_config'],
  ],
  [
    'openai-responses',
    'openai-chat',
    { input: 'x', reasoning: { effort: 'low', context: 'all_turns' } },
    ['/reasoning/context'],
  ],
  [
    'openai-responses',
    'anthropic-messages',
    {
      input: [
        { role: 'user', content: [{ type: 'input_image', image_url: 'https://a.example/b.png', detail: 'high' }] },
      ],
      tools: [
        { type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: x' } },
        { type: 'function', name: 'f', parameters: {}, strict: true },
      ],
    },
    ['/messages/0/content/0/detail', '/tools/1/strict', '/tools/0/format'],
  ],
  [
    'openai-chat',
    'gemini-generate',
    {
      messages: [
        { role: 'assistant', content: 'x', reasoning_content: 'y' },
        {
          role: 'user',
          content: [{ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' } }],
        },
      ],
    },
    ['/messages/0/content/0', '/messages/1/content/0/name'],
  ],
] as const)('%s to %s: %j', (from, to, body, expected) => {
  const listed = JSON.parse(send(from, to, { model: 'm', max_tokens: 9, ...body }).listed) as string[];
  for (const place of expected) expect(listed.some((entry) => entry.startsWith(place))).toBe(true);
});

test('a custom tool keeps its grammar among its own', () => {
  const format = { type: 'grammar', syntax: 'lark', definition: 'start: x' };
  const { encoded, listed } = send('openai-responses', 'openai-responses', {
    input: 'x',
    tools: [{ type: 'custom', name: 'patch', format }],
  });
  expect(JSON.parse(encoded).tools).toEqual([{ type: 'custom', name: 'patch', format }]);
  expect(listed).toBe('[]');
});
