/** One answer written here, and those recorded from real providers where they are at hand: they are not part of the project. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import type { ChatEvent, ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';
import { parseJson, record } from '../../server/protocols/shared/json.ts';
import { context, encoder, meaning, readStream, streamOf } from './support.ts';

const folder = resolve(import.meta.dirname, '../../../shared/recordings');
const recordings = existsSync(folder)
  ? [...new Bun.Glob('**/*.{json,chunks.txt}').scanSync({ cwd: folder })].sort()
  : [];

/** The dialect of a whole answer or of a stream's first event; null for other kinds of answer. */
function dialectOf(sample: unknown): ProtocolId | null {
  const body = record(sample);
  const type = String(body?.type ?? '');
  if (type === 'message' || type === 'message_start') return 'anthropic-messages';
  const chat = Array.isArray(body?.choices) && !('text' in (record(body.choices[0]) ?? {}));
  return chat ? 'openai-chat' : null;
}

interface Recording {
  readonly name: string;
  readonly dialect: ProtocolId;
  readonly events: () => ChatEvent[];
}

const own = {
  id: 'chatcmpl-own',
  object: 'chat.completion',
  created: 1,
  model: 'gpt-4o-mini',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Good morning.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
};

const recorded = recordings.flatMap((name): Recording[] => {
  const source = readFileSync(join(folder, name), 'utf8');
  if (name.endsWith('.json')) {
    const body = parseJson(source);
    const dialect = dialectOf(body);
    return dialect === null ? [] : [{ name, dialect, events: () => codecs[dialect].upstream.decodeResponse(body) }];
  }
  const lines = source.split('\n').filter((line) => line.trim() !== '');
  const dialect = dialectOf(parseJson(lines[0] ?? ''));
  if (dialect === null) return [];
  const stream = encoder.encode(lines.map((line) => `data: ${line}\n\n`).join(''));
  return [{ name, dialect, events: () => readStream(codecs[dialect], stream) }];
});

const cases: readonly Recording[] = [
  { name: 'own', dialect: 'openai-chat', events: () => codecs['openai-chat'].upstream.decodeResponse(own) },
  ...recorded,
];

const targets = Object.keys(codecs) as ProtocolId[];

test.each(cases.map((one) => [one.name, one] as const))('%s is read, and understood in every dialect', (_name, one) => {
  const events = one.events();
  expect(events.filter(({ type }) => type === 'finish' || type === 'error')).toHaveLength(1);
  // A recording may hold a second message: its usage still counts, its words do not.
  expect(events.findLast(({ type }) => type !== 'usage')?.type).toBe('finish');
  const usage = events.findLast((event) => event.type === 'usage');
  expect(usage?.usage.input).toBeGreaterThanOrEqual(0);
  const { thoughts: _thoughts, ...decoded } = meaning(events);
  for (const target of targets) {
    const again = readStream(codecs[target], encoder.encode(streamOf(codecs[target], events)));
    const { text, calls, finish } = meaning(again);
    expect([target, text, calls]).toEqual([target, decoded.text, decoded.calls]);
    // A call decides, whatever the upstream calls the end.
    const expected = decoded.calls.length > 0 ? 'tool_calls' : decoded.finish;
    if (decoded.finish !== 'other') expect([target, finish]).toEqual([target, expected]);
    const whole = codecs[target].translation.encodeResponse(events, context);
    expect(meaning(codecs[target].upstream.decodeResponse(JSON.parse(JSON.stringify(whole)))).text).toBe(decoded.text);
  }
});

// A full set of recordings has both kinds.
if (recorded.length > 0) {
  test('both kinds of recording and the dialects read here are among them', () => {
    const found = new Set(
      recorded.map(({ name, dialect }) => `${dialect} ${name.endsWith('.json') ? 'whole' : 'stream'}`),
    );
    for (const dialect of ['openai-chat', 'anthropic-messages'])
      for (const form of ['whole', 'stream']) expect(found).toContain(`${dialect} ${form}`);
  });
}
