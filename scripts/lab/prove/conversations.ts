/**
 * Sends generated conversations of every disorder in each client's dialect through a gateway in memory, or through an executable, to
 * strict doubles of the providers: `node scripts/launch.mjs lab/prove/conversations [--gateway dist/gateway] [--count 10000] [--seed N]
 * [--share 1/8] [--only TEXT] [--schemas FOLDER] [--examples]`.
 * Counted as wrong: what the double refuses, what the vendor's schema refuses (`openai-openapi.json` of FOLDER), a result at another
 * call, a word that went, a thought or a picture that went without being declared, a call whose name comes back changed. `--count` is for each pair of dialects,
 * `--share 2/8` sends the second eighth of it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import type { ProtocolId } from '../../../server/protocols/canonical.ts';
import { codecs } from '../../../server/protocols/registry.ts';
import type { Exchange } from '../../../tests/doubles/serve.ts';
import { aliasOf, type GridTarget } from '../../../tests/practice/grid/targets.ts';
import { pairsIn, type UpstreamWire } from '../../../tests/support/conversation-pairs.ts';
import {
  type Conversation,
  conversationOf,
  type Item,
  stepsOf,
  toolNames,
  undeclaredIn,
} from '../../../tests/support/conversations.ts';
import { type ConversationSite, openConversationSite } from './conversation-site.ts';

const optionOf = (name: string, fallback: string): string => {
  const at = process.argv.indexOf(name);
  return at < 0 ? fallback : (process.argv[at + 1] ?? fallback);
};
const count = Number(optionOf('--count', '10000'));
const seed = Number(optionOf('--seed', '20261129'));
const [part = 1, parts = 1] = optionOf('--share', '1/1').split('/').map(Number);
const only = optionOf('--only', '');
const schemas = optionOf('--schemas', '');
const executable = optionOf('--gateway', '');

const target = (double: string, model: string, fields: GridTarget['fields'] = {}): GridTarget => ({
  ...{ double, model, fields },
  own: {},
});

const targets: Readonly<Record<UpstreamWire, readonly GridTarget[]>> = {
  'openai-chat': [
    target('openai', 'gpt-4o'),
    target('azure', 'gpt-4.1', { other: '2025-04-01-preview' }),
    target('mistral', 'mistral-large-latest'),
    target('groq', 'openai/gpt-oss-120b'),
    target('cerebras', 'gpt-oss-120b'),
    target('openrouter', 'anthropic/claude-opus-4.7'),
    target('together', 'openai/gpt-oss-20b'),
    target('xai', 'grok-4.3'),
    target('deepseek', 'deepseek-v4-pro'),
    target('moonshot', 'kimi-k2.5'),
    target('zhipu', 'glm-4.6'),
    target('ali', 'qwen-plus'),
    target('minimax', 'MiniMax-M2.5'),
    target('fireworks', 'accounts/fireworks/models/kimi-k2p6'),
    target('siliconflow', 'Qwen/Qwen3-32B'),
    target('volcengine', 'doubao-seed-1-6-251015'),
    target('vllm', 'Qwen/Qwen3.6-27B'),
    target('lm-studio', 'qwen/qwen3.6-35b-a3b'),
  ],
  'openai-responses': [target('openai', 'gpt-5.5'), target('openai', 'gpt-6.2-sol')],
  'anthropic-messages': [
    target('anthropic', 'claude-haiku-4-5-20251001'),
    target('anthropic', 'claude-opus-4-8'),
    target('bedrock', 'claude-sonnet-4-5-20250929'),
    target('vertex', 'claude-sonnet-4-5@20250929'),
  ],
  'gemini-generate': [
    target('gemini', 'gemini-2.5-flash'),
    target('gemini', 'gemini-3-pro-preview'),
    target('vertex', 'gemini-3-flash-preview'),
  ],
  'cohere-chat': [target('cohere', 'command-a-03-2025'), target('cohere', 'command-a-reasoning-08-2025')],
  'ollama-chat': [target('ollama', 'qwen3')],
  converse: [target('bedrock', 'amazon.nova-pro-v1:0')],
};

const wireOf = ({ path, body }: Exchange): UpstreamWire => {
  if (path.endsWith('/chat/completions') || path.endsWith('/chatcompletion_v2')) return 'openai-chat';
  if (path.endsWith('/responses')) return 'openai-responses';
  if (/generateContent$/i.test(path)) return 'gemini-generate';
  if (path.endsWith('/v2/chat')) return 'cohere-chat';
  if (path.endsWith('/api/chat')) return 'ollama-chat';
  if (/\/converse(?:-stream)?$/.test(path)) return 'converse';
  if (Array.isArray(body.messages)) return 'anthropic-messages';
  throw new Error(`no wire is known for ${path}`);
};

/** Variants that fit twice are no fault, and what older specifications call nullable may be null. */
function loosened(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(loosened);
  if (typeof value !== 'object' || value === null) return value;
  const { oneOf, discriminator: _, nullable, ...rest } = value as Item;
  const made = Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, loosened(inner)]));
  const whole = oneOf === undefined ? made : { ...made, anyOf: loosened(oneOf) };
  return nullable === true ? { anyOf: [whole, { type: 'null' }] } : whole;
}

function vendorSchemas(folder: string): ReadonlyMap<UpstreamWire, ValidateFunction> {
  if (folder === '') return new Map();
  const document = loosened(JSON.parse(readFileSync(join(folder, 'openai-openapi.json'), 'utf8'))) as object;
  const ajv = new Ajv2020({ strict: false, validateFormats: false, discriminator: false });
  ajv.addSchema(document, 'openai');
  const compiled = (name: string) => ajv.compile({ $ref: `openai#/components/schemas/${name}` });
  return new Map([
    ['openai-chat', compiled('CreateChatCompletionRequest')],
    ['openai-responses', compiled('CreateResponse')],
  ]);
}

const withLogprobs = (content: unknown): unknown =>
  Array.isArray(content) ? content.map((part: Item) => ({ logprobs: [], ...part })) : content;

/**
 * An answer in the history has neither an id nor probabilities where another provider gave it, and OpenAI takes it so: its own
 * program sends them like that. Source: https://github.com/openai/codex/blob/main/codex-rs/protocol/src/models.rs
 */
function withIds(body: Item): Item {
  const { input } = body;
  if (!Array.isArray(input)) return body;
  return {
    ...body,
    input: input.map((item: Item) =>
      item.type === 'message' && item.role === 'assistant'
        ? { id: 'msg_1', status: 'completed', ...item, content: withLogprobs(item.content) }
        : item,
    ),
  };
}

function requestOf(url: string, client: ProtocolId, model: string, body: Item, stream: boolean): Request {
  const limits: Readonly<Record<ProtocolId, Item>> = {
    'openai-chat': { max_tokens: 200 },
    'openai-responses': { max_output_tokens: 200, store: false },
    'anthropic-messages': { max_tokens: 200 },
    'gemini-generate': { generationConfig: { maxOutputTokens: 200 } },
    'cohere-chat': { max_tokens: 200 },
    'ollama-chat': { options: { num_predict: 200 } },
  };
  const paths: Readonly<Record<ProtocolId, string>> = {
    'openai-chat': '/v1/chat/completions',
    'openai-responses': '/v1/responses',
    'anthropic-messages': '/v1/messages',
    'gemini-generate': `/v1beta/models/${encodeURIComponent(model)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    'cohere-chat': '/v2/chat',
    'ollama-chat': '/api/chat',
  };
  const named = client === 'gemini-generate' ? {} : { model, stream };
  return new Request(`${url}${paths[client]}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...named, ...limits[client], ...body }),
  });
}

interface Sent {
  readonly conversation: Conversation;
  readonly target: GridTarget;
  readonly exchange: Exchange;
  readonly status: number;
  readonly answer: string;
  readonly requestId: string;
}

class Tally {
  sent = 0;
  readonly pairs = new Map<string, number>();
  readonly faults = new Map<string, { times: number; example: string }>();

  count(pair: string): void {
    this.sent++;
    this.pairs.set(pair, (this.pairs.get(pair) ?? 0) + 1);
  }

  fault(kind: string, example: string): void {
    const known = this.faults.get(kind) ?? { times: 0, example };
    this.faults.set(kind, { ...known, times: known.times + 1 });
  }
}

/** All words have to be there; of thoughts and pictures, what is not there has to be listed. */
function faultsOf(sent: Sent, wire: UpstreamWire, dropped: readonly string[]): readonly string[] {
  const { conversation, exchange, answer, status } = sent;
  if (exchange.rejected !== null)
    return [`refused: ${exchange.rejected.rule}: ${exchange.rejected.refusal.message.slice(0, 90)}`];
  const faults: string[] = [];
  if (status !== 200) faults.push(`status ${status}: ${answer.slice(0, 90)}`);
  const text = JSON.stringify(exchange.body);
  const lost = conversation.words.filter((word) => !text.includes(word));
  if (lost.length > 0) faults.push(`words lost: ${lost[0]?.replace(/\d+\.$/, '')}`);
  const twice = conversation.words.find((word) => text.split(word).length > 2);
  if (twice !== undefined) faults.push(`words twice: ${twice.replace(/\d+\.$/, '')}`);
  const arrived = new Map(pairsIn(wire, exchange.body));
  for (const [call, result] of conversation.pairs) {
    const got = arrived.get(call);
    if (got !== (result ?? ''))
      faults.push(
        `pair: ${result === null ? 'without a result' : 'with one'} has ${got === undefined ? 'no call' : got.replace(/\d+/, 'N')}`,
      );
  }
  const missing = conversation.pairs.filter(([, result]) => result === null).length;
  if (missing > 0 && !dropped.some((line) => line.includes('stands in for it')))
    faults.push('undeclared: a result was made');
  for (const what of undeclaredIn(conversation, text, dropped)) faults.push(`undeclared: ${what} is gone`);
  if (conversation.orphans > 0 && !dropped.some((line) => line.includes('sent as text')))
    faults.push('undeclared: a result became text');
  for (const { name } of exchange.said?.calls ?? []) {
    const at = exchange.received?.tools.findIndex((tool) => tool.name === name) ?? -1;
    const own = toolNames[at];
    if (own === undefined || !answer.includes(JSON.stringify(own)))
      faults.push(`name: ${String(own)} came back otherwise`);
    else if (own !== name && answer.includes(JSON.stringify(name)))
      faults.push(`name: that of the upstream came back for ${own}`);
  }
  return faults;
}

/** The newest hundred rows are read at once. */
const batch = 50;

async function look(
  site: ConversationSite,
  sent: readonly Sent[],
  client: ProtocolId,
  tally: Tally,
  schema: ReadonlyMap<UpstreamWire, ValidateFunction>,
): Promise<void> {
  const rows = new Map(
    (await site.logs()).map((row) => [
      row.request_id,
      (JSON.parse(row.other === '' ? '{}' : row.other) as { dropped?: readonly string[] }).dropped ?? [],
    ]),
  );
  for (const one of sent) {
    const wire = wireOf(one.exchange);
    // Bytes of the upstream's own dialect pass as they are.
    if (wire === client) continue;
    tally.count(`${client} to ${wire}`);
    const dropped = rows.get(one.requestId) ?? [];
    const where = `${client} to ${one.target.double} ${one.target.model}`;
    const example = () =>
      `${where}\n    ${JSON.stringify(one.conversation.body.messages ?? one.conversation.body.contents ?? one.conversation.body.input)}\n    ${JSON.stringify(one.exchange.body).slice(0, 3000)}\n    dropped ${JSON.stringify(dropped)}\n    ${one.answer.slice(0, 300)}`;
    for (const fault of faultsOf(one, wire, dropped))
      tally.fault(`${client} to ${wire} (${one.target.double}) | ${fault}`, example());
    const validate = one.target.double === 'openai' ? schema.get(wire) : undefined;
    if (validate !== undefined && !validate(withIds(one.exchange.body))) {
      const depth = (path: string) => path.split('/').length;
      const [error] = (validate.errors ?? []).toSorted((a, b) => depth(b.instancePath) - depth(a.instancePath));
      tally.fault(
        `${client} to ${wire} | schema: ${error?.instancePath.replace(/\d+/g, 'N')} ${error?.message} ${JSON.stringify(error?.params)}`,
        example(),
      );
    }
  }
}

async function prove(): Promise<number> {
  const all = Object.values(targets).flat();
  const site = await openConversationSite(all, executable);
  const schema = vendorSchemas(schemas);
  const tally = new Tally();
  const share = Math.ceil(count / parts);
  const startedAt = performance.now();
  let stream = false;
  for (const [at, client] of (Object.keys(codecs) as ProtocolId[]).entries())
    for (const [place, [wire, own]] of Object.entries(targets).entries()) {
      if (wire === client || !`${client} to ${wire}`.includes(only)) continue;
      const samples = fc.sample(stepsOf('picture', 'thought'), {
        seed: seed + 1000 * part + 100 * at + place,
        numRuns: share,
      });
      let sent: Sent[] = [];
      for (const [number, steps] of samples.entries()) {
        const conversation = conversationOf(steps, client);
        const target = own[number % own.length];
        if (target === undefined) continue;
        stream = !stream;
        const request = requestOf(site.url, client, aliasOf(target), conversation.body, stream);
        request.headers.set('authorization', `Bearer ${site.pinned(target)}`);
        const response = await site.fetch(request);
        const answer = await response.text();
        const [exchange, ...more] = site.take();
        if (exchange === undefined) {
          tally.fault(
            `${client} to ${wire} | nothing was sent: ${response.status} ${answer.slice(0, 120)}`,
            JSON.stringify(conversation.body),
          );
          continue;
        }
        if (more.length > 0)
          tally.fault(
            `${client} to ${wire} (${target.double}) | sent again after: ${exchange.rejected?.rule}`,
            JSON.stringify(conversation.body),
          );
        const requestId = response.headers.get('x-oneapi-request-id') ?? '';
        sent.push({ conversation, target, exchange, status: response.status, answer, requestId });
        if (sent.length < batch) continue;
        await look(site, sent, client, tally, schema);
        sent = [];
      }
      await look(site, sent, client, tally, schema);
    }
  await site.close();
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  for (const [pair, times] of [...tally.pairs].sort()) console.log(`${times}\t${pair}`);
  for (const [kind, { times, example }] of [...tally.faults].sort(([, a], [, b]) => b.times - a.times))
    console.log(`WRONG ${times}\t${kind}${process.argv.includes('--examples') ? `\n    ${example}` : ''}`);
  console.log(
    `${tally.sent} conversations in ${seconds} s, seed ${seed}, share ${part}/${parts}: ${tally.faults.size} kinds of faults`,
  );
  return tally.faults.size;
}

process.exit((await prove()) === 0 ? 0 : 1);
