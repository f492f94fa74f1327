/** Thirty conversations that are broken on purpose, against a double that diagnoses as the providers do: place, culprit and money. */
import { expect, test } from 'vitest';
import { sharedGateway } from '../support/shared-gateway.ts';
import { type Received, sendJson } from '../support/upstream.ts';

const bench = await sharedGateway();
const { gateway, upstream } = bench;

type Members = Record<string, unknown>;
type Kind = 'Messages' | 'Responses';
const tokens = 20_000;
const models = { Messages: 'claude-opus-4-5', Responses: 'gpt-5.6' } as const;
const mark = { cache_control: { type: 'ephemeral' } };

/** A turn of a conversation, as an agent sends it. */
function bodyOf(kind: Kind, turns: number) {
  const tools = ['read', 'write', 'run', 'find'].map((name) =>
    kind === 'Messages'
      ? { name, description: `to ${name}`, input_schema: { type: 'object' } }
      : { type: 'function', name, description: `to ${name}`, parameters: { type: 'object' } },
  );
  const said = Array.from({ length: turns }, (_, at) => ({
    role: at % 2 === 0 ? 'user' : 'assistant',
    content: `turn ${at}`,
  }));
  return {
    body: (kind === 'Messages'
      ? {
          model: models[kind],
          max_tokens: 50,
          tools,
          system: [{ type: 'text', text: 'be kind', ...mark }],
          messages: said,
        }
      : { model: models[kind], max_output_tokens: 50, tools, instructions: 'be kind', input: said }) as Members,
    tools: tools as Members[],
    said: said as Members[],
  };
}

/** What the double keeps of a request, and compares. */
interface Print {
  readonly key: string;
  readonly model: string;
  readonly head: string;
  readonly tools: string;
  readonly said: readonly string[];
}
const prints = new Map<string, Print>();
let count = 0;

const printOf = (kind: Kind, body: Members, headers: Received['headers']): Print => ({
  key: String(headers['x-api-key'] ?? headers.authorization),
  model: String(body.model),
  head: JSON.stringify(kind === 'Messages' ? body.system : body.instructions),
  tools: JSON.stringify(body.tools),
  said: ((kind === 'Messages' ? body.messages : body.input) as unknown[]).map((one) => JSON.stringify(one)),
});
const goesOn = (one: Print, other: Print): boolean => one.said.every((text, at) => other.said[at] === text);
const isHit = (one: Print, other: Print): boolean =>
  one.key === other.key && one.head === other.head && one.tools === other.tools && goesOn(one, other);

function changeOf(kind: Kind, before: Print | undefined, now: Print): string | null {
  if (before === undefined || before.key !== now.key) return 'not found';
  if (before.tools !== now.tools) return 'tools_changed';
  if (before.head !== now.head) return kind === 'Messages' ? 'system_changed' : 'input_changed';
  return goesOn(before, now) ? null : kind === 'Messages' ? 'messages_changed' : 'input_changed';
}

function answerOf(kind: Kind, id: string, hit: boolean, change: string | null): Members {
  const read = hit ? tokens : 0;
  if (kind === 'Messages')
    return {
      ...{ id, type: 'message', role: 'assistant', model: models[kind], content: [{ type: 'text', text: 'hi' }] },
      ...{ stop_reason: 'end_turn', stop_sequence: null },
      diagnostics:
        change === null
          ? null
          : change === 'not found'
            ? { cache_miss_reason: { type: 'previous_message_not_found' } }
            : { cache_miss_reason: { type: change, cache_missed_input_tokens: tokens } },
      usage: {
        input_tokens: 12,
        cache_read_input_tokens: read,
        cache_creation_input_tokens: tokens - read,
        output_tokens: 3,
      },
    };
  return {
    ...{ id, object: 'response', created_at: 1, status: 'completed', model: models[kind] },
    output: [
      {
        type: 'message',
        id: 'm',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'hi', annotations: [] }],
      },
    ],
    ...(change === null
      ? {}
      : {
          prompt_cache_diagnostics:
            change === 'not found'
              ? { type: 'comparison_response_not_found' }
              : { type: 'cache_miss', reason: change, cache_missed_tokens: tokens },
        }),
    usage: {
      input_tokens: tokens + 12,
      input_tokens_details: { cached_tokens: read },
      output_tokens: 3,
      total_tokens: tokens + 15,
    },
  };
}

const serve = (kind: Kind) =>
  upstream.script((response, { body, headers }: Received) => {
    const sent = JSON.parse(String(body)) as Members;
    const print = printOf(kind, sent, headers);
    const named =
      kind === 'Messages'
        ? (sent.diagnostics as Members | undefined)?.previous_message_id
        : (sent.prompt_cache_options as Members | undefined)?.comparison_response_id;
    const last = [...prints.values()].at(-1);
    const hit = last !== undefined && isHit(last, print);
    const change = typeof named === 'string' ? changeOf(kind, prints.get(named), print) : null;
    const id = `up_${++count}`;
    prints.set(id, print);
    sendJson(response, answerOf(kind, id, hit, change));
  });

interface Break {
  readonly name: string;
  readonly by: string;
  readonly at: string | Readonly<Record<Kind, string>>;
  change?(kind: Kind, made: ReturnType<typeof bodyOf>): void;
  readonly edit?: Members;
  /** The conversation goes to another channel. */
  readonly moves?: true;
}
const turns = (at: number) => ({ Messages: `messages[${at}]`, Responses: `input[${at}]` });
const breaks: readonly Break[] = [
  {
    name: 'a tool’s words',
    by: 'client',
    at: 'tools[2]',
    change: (_, { tools }) => void Object.assign(tools[2] ?? {}, { description: 'now 12:01' }),
  },
  {
    name: 'a tool more',
    by: 'client',
    at: 'tools[4]',
    change: (_, { tools }) => void tools.push({ ...tools[0], name: 'more' }),
  },
  { name: 'a tool less', by: 'client', at: 'tools[3]', change: (_, { tools }) => void tools.pop() },
  { name: 'tools in another order', by: 'client', at: 'tools[0]', change: (_, { tools }) => void tools.reverse() },
  {
    name: 'the time in the instructions',
    by: 'client',
    at: { Messages: 'system[0]', Responses: 'instructions' },
    change(kind, { body }) {
      if (kind === 'Messages') body.system = [{ type: 'text', text: 'it is 12:01', ...mark }];
      else body.instructions = 'it is 12:01';
    },
  },
  {
    name: 'the first turn',
    by: 'client',
    at: turns(0),
    change: (_, { said }) => void Object.assign(said[0] ?? {}, { content: 'another' }),
  },
  {
    name: 'a turn in the middle',
    by: 'client',
    at: turns(3),
    change: (_, { said }) => void Object.assign(said[3] ?? {}, { content: 'another' }),
  },
  { name: 'turns left out', by: 'client', at: turns(1), change: (_, { said }) => void said.splice(1, 2) },
  {
    name: 'a turn put in',
    by: 'client',
    at: turns(2),
    change: (_, { said }) => void said.splice(2, 0, { role: 'user', content: 'by the way' }),
  },
  {
    name: 'the last turn in other words',
    by: 'client',
    at: turns(6),
    change: (_, { said }) => void Object.assign(said[6] ?? {}, { content: 'shorter' }),
  },
  {
    name: 'a system prompt of the channel',
    by: 'gateway',
    at: 'settings',
    edit: { setting: { system_prompt: 'be brief', system_prompt_override: true } },
  },
  {
    name: 'a second system prompt of the channel',
    by: 'gateway',
    at: 'settings',
    edit: { setting: { system_prompt: 'be long', system_prompt_override: true } },
  },
  { name: 'another key of the channel', by: 'channel', at: 'key', edit: { key: 'sk-other' } },
  { name: 'another channel', by: 'channel', at: 'channel', moves: true, edit: { key: 'sk-second' } },
  { name: 'another channel, and its key', by: 'channel', at: 'channel', moves: true, edit: { key: 'sk-third' } },
];

async function ask(kind: Kind, key: string, session: string, body: Members): Promise<Members> {
  const path = kind === 'Messages' ? '/v1/messages' : '/v1/responses';
  await (await gateway.send(key, path, body, { headers: { 'x-session-id': session } })).text();
  return JSON.parse((await bench.row())?.other ?? '{}') as Members;
}

const setting = { cache_diagnosis: true };
const open = (kind: Kind, more: Members = {}) =>
  gateway.channel(upstream.url, {
    ...{ type: kind === 'Messages' ? 14 : 1, models: models[kind], key: 'sk-first' },
    ...more,
    setting: JSON.stringify({ ...setting, ...(more.setting as object) }),
  });

const cases = (['Messages', 'Responses'] as const).flatMap((kind) =>
  breaks.map((one) => [kind, one.name, one] as const),
);
test('thirty', () => expect(cases).toHaveLength(30));

test.each(cases)('%s: %s', async (kind, name, { by, at, change, edit, moves }) => {
  prints.clear();
  serve(kind);
  const id = await open(kind);
  const { key } = await gateway.token();
  const session = `${kind}-${breaks.findIndex((one) => one.name === name)}`;
  await ask(kind, key, session, bodyOf(kind, 5).body);
  // It goes on undisturbed.
  const before = await ask(kind, key, session, bodyOf(kind, 7).body);
  expect([before.cache_miss, before.cache_diagnosis]).toEqual([undefined, undefined]);
  const made = bodyOf(kind, 9);
  change?.(kind, made);
  if (moves === true) {
    await gateway.services.channels.remove(id);
    await open(kind, edit);
  } else if (edit !== undefined) {
    const { setting: more = {}, ...fields } = edit;
    await gateway.services.channels.update(id, {
      ...fields,
      setting: JSON.stringify({ ...setting, ...(more as object) }),
    });
  }
  await gateway.sync();
  const row = await ask(kind, key, session, made.body);
  const place = typeof at === 'string' ? at : at[kind];
  expect(row.cache_miss).toMatchObject({ by, at: place });
  // The provider, asked by the site, says the same in its own words, where it knows the turn before.
  const reason = place.startsWith('tools')
    ? 'tools_changed'
    : kind === 'Responses'
      ? 'input_changed'
      : place.startsWith('messages')
        ? 'messages_changed'
        : 'system_changed';
  if (by === 'channel') expect((row.cache_diagnosis as Members | undefined)?.reason).not.toBe(reason);
  else expect(row.cache_diagnosis).toEqual({ reason, tokens, asked: true });
  // What the tokens cost now, less what reading them costs: from the row's prices, by a sum of its own.
  const {
    model_ratio: model,
    group_ratio: group,
    cache_ratio: reading,
    cache_creation_ratio: writing,
  } = row as Record<string, number>;
  const { tokens: missed, lost } = row.cache_miss as { tokens: number; lost: number };
  const paid = kind === 'Messages' ? writing : 1;
  const sum = missed * ((paid ?? Number.NaN) - (reading ?? Number.NaN)) * (model ?? Number.NaN) * (group ?? Number.NaN);
  expect(Math.abs(lost - sum)).toBeLessThanOrEqual(1);
  expect(lost).toBeGreaterThan(0);
});
