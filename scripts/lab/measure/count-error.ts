/** How far the local count of tokens is from what providers reported: `bun scripts/lab/measure/count-error.ts FOLDER` over whole recorded answers (streams are often shortened) and, in files called `requests.json`, requests with what was reported for them: `[{provider, model, body, reported}]`. Nothing of them is kept. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChatEvent, ProtocolId } from '../../../server/protocols/canonical.ts';
import { codecs } from '../../../server/protocols/registry.ts';
import { parseJson, record } from '../../../server/protocols/shared/json.ts';
import { encodingOf } from '../../../server/providers/knowledge/encodings.ts';
import { countTokens } from '../../../server/relay/admission/counting/count.ts';
import { plainWords, tokensAround } from '../../../server/relay/admission/counting/envelope.ts';
import { countLocally } from '../../../server/relay/admission/meter.ts';
import type { ParsedRequest } from '../../../server/relay/intake/parsed-request.ts';
import { readPrompt } from '../../../server/relay/intake/prompt.ts';
import { nothingDelivered } from '../../../server/relay/shared/delivered-text.ts';

interface Sample {
  readonly provider: string;
  readonly error: number;
}

const dialectOf = (sample: unknown): ProtocolId | null => {
  const body = record(sample);
  if (body?.type === 'message' || body?.type === 'message_start') return 'anthropic-messages';
  if (body?.object === 'response' || String(body?.type).startsWith('response.')) return 'openai-responses';
  if (Array.isArray(body?.candidates)) return 'gemini-generate';
  return Array.isArray(body?.choices) && !('text' in (record(body.choices[0]) ?? {})) ? 'openai-chat' : null;
};

function eventsOf(source: string): readonly ChatEvent[] {
  const body = parseJson(source);
  const dialect = dialectOf(body);
  return dialect === null ? [] : codecs[dialect].upstream.decodeResponse(body);
}

/** @returns null for answers whose reported tokens are more than their words: thoughts, calls, pictures. */
function sampleOf(name: string, events: readonly ChatEvent[], count: (text: string) => number): Sample | null {
  const words = events.flatMap((event) => (event.type === 'text-delta' ? [event.text] : [])).join('');
  const other = events.some(({ type }) => /^(?:tool-call|reasoning|media|refusal|unknown|error)/.test(type));
  const usage = events.findLast((event) => event.type === 'usage')?.usage;
  if (words === '' || other || usage === undefined || usage.reasoning > 0 || usage.output < 5) return null;
  const error = Math.abs(countTokens(count, words) - usage.output) / usage.output;
  return { provider: name.split('/')[0] ?? '', error };
}

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
const percent = (value: number): string => `${(value * 100).toFixed(1)} %`;

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('usage: bun scripts/lab/measure/count-error.ts FOLDER');
const counter = {
  count: async (model: string, texts: readonly string[]) => {
    const { countTokens: count } =
      encodingOf(model) === 'cl100k_base'
        ? await import('gpt-tokenizer/encoding/cl100k_base')
        : await import('gpt-tokenizer/encoding/o200k_base');
    return texts.map((text) => countTokens((chunk) => count(chunk), text));
  },
  close: () => undefined,
};

/** A request as it was sent, and the tokens that its provider reported for it. */
interface Requested {
  readonly provider: string;
  readonly model: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly reported: number;
}

async function errorOf({ provider, model, body, reported }: Requested): Promise<Sample> {
  const read = readPrompt(body);
  const prompt = { ...read, ...plainWords(read) };
  const parsed = { operation: 'chat', model, body, prompt } as unknown as ParsedRequest;
  const { input } = await countLocally(counter, parsed, { body: null, text: nothingDelivered });
  return { provider, error: Math.abs(input + tokensAround(body) - reported) / reported };
}

function table(what: string, samples: readonly Sample[]): void {
  if (samples.length === 0) return;
  console.log(`provider\t${what}\tmedian\tp95`);
  for (const [provider, group] of [...Map.groupBy(samples, (sample) => sample.provider), ['all', samples] as const]) {
    const errors = group.map(({ error }) => error).sort((a, b) => a - b);
    console.log([provider, errors.length, percent(at(errors, 0.5)), percent(at(errors, 0.95))].join('\t'));
  }
}

const { countTokens: count } = await import('gpt-tokenizer/encoding/o200k_base');
const names = [...new Bun.Glob('**/*.json').scanSync({ cwd: folder })].sort();
const isRequested = (name: string): boolean => name.endsWith('requests.json');
const answers = names.flatMap((name) => {
  if (isRequested(name)) return [];
  const found = sampleOf(name, eventsOf(readFileSync(join(folder, name), 'utf8')), (text) => count(text));
  return found === null ? [] : [found];
});
table('answers', answers);
const requested = names
  .filter(isRequested)
  .flatMap((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as readonly Requested[]);
table('requests', await Promise.all(requested.map(errorOf)));
