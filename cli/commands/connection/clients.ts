/** Other programs through the gateway: their environment, their start, and a first question. */

import { homeOf } from '../../../server/app/data-dir.ts';
import {
  type Agent,
  type AgentSettings,
  agentOf,
  agents,
  lineFor,
  setupSteps,
} from '../../../server/contract/agents.ts';
import type { Token } from '../../../server/contract/entities.ts';
import { TokenStatus } from '../../../server/contract/enum.ts';
import { AppError } from '../../../server/contract/errors.ts';
import { displayedKey } from '../../../server/contract/token-key.ts';
import { type CommandRun, type FlagValues, needed, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { type Audience, addressOf, audiences, variablesFor } from '../../parts/access.ts';
import { type AgentRun, prepareRun, settingsFor } from '../../parts/agent-run.ts';
import { isId, only, rowsOf } from '../../parts/list-output.ts';

const dialects: readonly string[] = audiences;
const isAudience = (name: string): name is Audience => dialects.includes(name);

/** Which client `--for` means: an agent, or any client of a dialect; null = no particular one. @throws AppError usage */
function clientOf(flags: FlagValues): Agent | Audience | null {
  const target = text(flags.for);
  if (target === undefined) return null;
  const agent = agents.find(({ name }) => name === target);
  if (agent !== undefined) return agent;
  if (isAudience(target)) return target;
  const known = [...audiences, ...agents.map(({ name }) => name)];
  throw new AppError('usage', { detail: `--for ${target}: ${known.join(', ')}` });
}

/**
 * The named token, else the first enabled one, its key as programs want it. Only tokens of the user who runs the command:
 * a program on the operator's machine spends only the operator's money. @throws AppError not_found
 */
export async function tokenFor(context: Context, name: string | undefined): Promise<Token> {
  const client = await context.client();
  const own = await rowsOf(client, 'token.list', { owner: 'self' });
  if (name !== undefined) {
    const named = own.filter((token) => (isId(name) ? token.id === Number(name) : token.name === name));
    const token = only(named, context.say('自己的令牌', 'token of your own'), name);
    if (token.kind !== undefined) throw new AppError('key_hidden');
    return withMaskedKey(token);
  }
  const found = own.findLast((token) => token.status === TokenStatus.enabled && token.kind === undefined);
  if (found === undefined)
    throw new AppError('not_found', {
      what: context.say(
        '自己的可用令牌（gateway token create）',
        'an enabled token of your own (gateway token create)',
      ),
    });
  return withMaskedKey(found);
}

/**
 * The key that a program has to itself, by its name. @returns key null = there is none yet; `reader` is one with which the site can be
 * asked for its models meanwhile, '' = none. @throws AppError not_found where it is off: that was somebody's will
 */
export async function ownKeyNamed(
  context: Context,
  name: string,
): Promise<{ readonly key: string | null; readonly reader: string }> {
  const tokens = await rowsOf(await context.client(), 'token.list', { owner: 'self' });
  const keys = tokens.filter(({ kind }) => kind === undefined);
  const isOn = ({ status }: Token): boolean => status === TokenStatus.enabled;
  const own = keys.filter((token) => token.name === name);
  const key = own.find(isOn);
  if (key === undefined && own.length > 0)
    throw new AppError('not_found', {
      what: context.say(
        `可用的令牌“${name}”（gateway token enable，或指定 --token）`,
        `an enabled API key “${name}” (gateway token enable, or --token)`,
      ),
    });
  const reader = key ?? keys.findLast(isOn);
  return { key: key === undefined ? null : displayedKey(key.key), reader: displayedKey(reader?.key ?? '') };
}

const withMaskedKey = (token: Token): Token => ({ ...token, key: displayedKey(token.key) });

async function agentSettings(context: Context, flags: FlagValues, agent: Agent): Promise<AgentSettings> {
  const { key } = await tokenFor(context, text(flags.token));
  return context.during(settingsFor(agent, { url: addressOf(context), key, model: text(flags.model) }));
}

async function variablesOf(context: Context, flags: FlagValues): Promise<Record<string, string>> {
  const client = clientOf(flags);
  if (client !== null && typeof client !== 'string') {
    const { environment = {} } = client.always(await agentSettings(context, flags, client));
    return { ...environment };
  }
  const { key } = await tokenFor(context, text(flags.token));
  return variablesFor(client, addressOf(context), key);
}

const quoted = (value: string): string => `'${value.replaceAll("'", "'\\''")}'`;
const shells = {
  sh: (name: string, value: string) => `export ${name}=${quoted(value)}`,
  fish: (name: string, value: string) => `set -gx ${name} ${quoted(value)}`,
  powershell: (name: string, value: string) => `$env:${name} = '${value.replaceAll("'", "''")}'`,
} as const;

/** Prints a key on purpose: `eval "$(gateway env)"` is what it is for. */
export const env: CommandRun = async (context, flags) => {
  const shell = text(flags.shell) ?? 'sh';
  if (!Object.hasOwn(shells, shell))
    throw new AppError('usage', { detail: `--shell ${shell}: ${Object.keys(shells).join(', ')}` });
  const variables = await variablesOf(context, flags);
  const line = shells[shell as keyof typeof shells];
  context.output.object(
    variables,
    Object.entries(variables).map(([name, value]) => line(name, value)),
    Object.keys(variables).join(' '),
    variables,
  );
};

const defaultRun = (environment: AgentRun['environment']): AgentRun => ({
  environment,
  arguments: [],
  close: () => undefined,
});

export const exec: CommandRun = async (context, flags, first, command) => {
  const client = clientOf(flags);
  const agent = client === null ? agentOf(first) : typeof client === 'string' ? undefined : client;
  const run =
    agent?.once === undefined
      ? defaultRun(await variablesOf(context, flags))
      : prepareRun(agent, await agentSettings(context, flags, agent), homeOf(context.env));
  await context.close();
  try {
    const child = Bun.spawn([first, ...run.arguments, ...command.slice(1)], {
      env: { ...context.env, ...run.environment },
      stdin: 'inherit',
      stdout: 'inherit',
      stderr: 'inherit',
    });
    // A terminal sends Ctrl-C to its whole process group: the program decides what it means, and its files stay until it has exited.
    process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'));
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
    const code = await child.exited;
    run.close();
    process.exit(code);
  } catch (error) {
    run.close();
    throw new AppError('not_found', { what: first }, error);
  }
};

/** Prints a key on purpose, as `env` does. */
export const list: CommandRun = async (context, flags, name) => {
  const selected = name === '' ? agents : agents.filter((agent) => agent.name === name);
  if (selected.length === 0)
    throw new AppError('usage', { detail: `${name}: ${agents.map((agent) => agent.name).join(', ')}` });
  const rows = [];
  for (const agent of selected) {
    const steps = setupSteps(agent, await agentSettings(context, flags, agent));
    rows.push({ name: agent.name, label: agent.label, run: lineFor(agent), steps });
  }
  const shell = context.say('在终端中', 'in a shell');
  const lines = rows.flatMap(({ label, run, steps }, index) => [
    ...(index === 0 ? [] : ['']),
    `${label}: ${run}`,
    ...noteOf(selected[index], context),
    ...steps.flatMap(({ path, text: content }) => [
      '',
      `# ${path === '' ? shell : path}`,
      ...content.trimEnd().split('\n'),
    ]),
  ]);
  context.output.object(rows, lines, rows.map((row) => row.name).join(' '));
};

const noteOf = (agent: Agent | undefined, context: Context): readonly string[] =>
  agent?.note === undefined ? [] : [context.say(agent.note.zh, agent.note.en)];

interface Delta {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly error?: { readonly message?: string };
}

/** Text of a stream's frames; the frames themselves when `raw`. */
async function* chunksOf(body: ReadableStream<Uint8Array>, raw: boolean): AsyncGenerator<string> {
  const { createParser } = await import('eventsource-parser');
  const pieces: string[] = [];
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data === '[DONE]') return;
      const delta = JSON.parse(data) as Delta;
      if (delta.error !== undefined) throw new AppError('upstream_invalid', {}, delta.error);
      pieces.push(delta.choices?.[0]?.delta?.content ?? '');
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    const frames = decoder.decode(chunk, { stream: true });
    if (raw) yield frames;
    else {
      parser.feed(frames);
      yield* pieces.splice(0);
    }
  }
}

export const chat: CommandRun = async (context, flags, first, words) => {
  const content = first === '-' ? await context.readSecret('PROMPT') : words.join(' ');
  const { PROMPT: prompt } = needed({ PROMPT: content === '' ? undefined : content });
  const { key } = await tokenFor(context, text(flags.token));
  const address = addressOf(context);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const ask = async (path: string, init: RequestInit): Promise<Response> => {
    try {
      return await fetch(`${address}/v1${path}`, { ...init, headers });
    } catch (error) {
      throw new AppError('server_unreachable', { detail: address }, error);
    }
  };
  const model = text(flags.model) ?? (await firstModel(ask));
  const response = await ask('/chat/completions', {
    method: 'POST',
    body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: prompt }] }),
  });
  if (!response.ok || response.body === null) {
    const { error } = (await response.json().catch(() => ({}))) as { error?: { message?: string } };
    throw new AppError('chat_refused', { status: response.status, detail: error?.message ?? '' });
  }
  let answer = '';
  const asText = context.output.format === 'table';
  for await (const piece of chunksOf(response.body, flags.raw === true)) {
    answer += piece;
    if (asText) context.output.raw(piece);
  }
  if (asText) context.output.line('');
  else context.output.object({ model, content: answer }, [], answer);
};

async function firstModel(ask: (path: string, init: RequestInit) => Promise<Response>): Promise<string> {
  const { data } = (await (await ask('/models', {})).json()) as { data?: readonly { id: string }[] };
  const [model] = data ?? [];
  if (model === undefined) throw new AppError('input_needed', { flags: '--model' });
  return model.id;
}
